"""Disks that are full, directories that cannot be written, writes that are cut short, flushes and renames that fail: the
old files stay whole, the message names path and cause, the exit status is 1."""
import errno
import json
import os
import shutil
import time
import unittest

from support import CONFIG, DATA, LONG, Faults, limit_file_size

CAUSES = {  # of each call, in turn
    "open": [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EMFILE],
    "write": [errno.ENOSPC, errno.EIO, "short", errno.EDQUOT],
    "fsync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.EACCES, errno.EROFS, errno.EIO],
    "close": [errno.EIO, errno.EDQUOT],
    "truncate": [errno.EIO],
}


def cause_text(cause):
    return os.strerror(errno.ENOSPC if cause == "short" else cause)


class Files(Faults):
    def setUp(self):
        super().setUp()
        self.succeed(self.train("run", more=["--set", "training.epochs=2"]))
        self.before = self.files()

    def check_whole(self, context):
        """Each file as it was or a complete later one, and nothing else in the directory."""
        self.assertEqual(self.listing(), ["curves.svg", "last.state", "log.jsonl", "model.safetensors"], context)
        self.assert_model_is_whole()
        for line in self.read("run/log.jsonl").decode().splitlines():
            json.loads(line)  # no half line
        self.succeed(self.train(how="--resume", more=["--set", "training.epochs=3"]))

    def reset(self):
        for name, content in self.before.items():
            with open(self.path(os.path.join("run", name)), "wb") as file:
                file.write(content)

    def fail_at(self, call, number, cause, name="run"):
        fault = "%s:%d:%s" % (call, number, cause)
        status, errors = self.train(name, how="--resume", more=["--set", "training.epochs=3"], fault=fault)
        self.assertEqual(status, 1, fault + errors)
        self.assertIn(cause_text(cause), errors, fault)
        self.assertIn(self.path(name), errors, fault)
        return fault

    def test_every_call_of_a_run(self):
        count = self.counts(CONFIG + ["--output", self.path("run"), "--resume", "--set", "training.epochs=3"])
        for call, causes in CAUSES.items():
            numbers = list(range(1, count[call] + (call != "close")))  # the last to be closed is the lock
            self.assertTrue(numbers, call)
            if not LONG and len(numbers) > 6:
                numbers = sorted(self.random.sample(numbers, 6))
            for each, number in enumerate(numbers):
                self.reset()
                self.check_whole(self.fail_at(call, number, causes[each % len(causes)]))

    def test_what_fails_before_a_file_is_replaced_leaves_it(self):
        """The state, the second file of a validation: up to its rename it is the old one to the last bit."""
        for call, number in (("open", 4), ("fsync", 3), ("close", 2), ("rename", 2)):
            self.reset()
            fault = self.fail_at(call, number, errno.EIO)
            self.assertEqual(self.read("run/last.state"), self.before["last.state"], fault)

    def test_a_full_disk_at_every_length(self):
        """Without a shim: the kernel writes up to the limit and no further."""
        model, state = (len(self.before[name]) for name in ("model.safetensors", "last.state"))
        sizes = [0, 1, model // 2, model - 1, model, (model + state) // 2, state - 1]
        for size in sizes + [self.random.randrange(state) for _ in range(40 if LONG else 3)]:
            self.reset()
            status, errors = self.train(how="--resume", more=["--set", "training.epochs=3"],
                                        preexec_fn=limit_file_size(size))
            self.assertEqual(status, 1, errors)
            self.assertRegex(errors, "File too large|No space left on device")  # the latter of a short write at once
            self.check_whole("%d bytes" % size)

    def test_an_output_file_of_a_command(self):
        model = self.path("run/model.safetensors")
        text, output = os.path.join(DATA, "train.src"), self.path("output")
        arguments = ["translate", "--model", model, "--input", text, "--output", output]
        with open(output, "w") as file:
            file.write("old")
        for call, number in self.counts(arguments).items():
            for each in range(1, number + 1 if call in CAUSES else 1):
                with open(output, "w") as file:
                    file.write("old")
                cause = CAUSES[call][each % len(CAUSES[call])]
                status, errors = self.run_nmt(arguments, fault="%s:%d:%s" % (call, each, cause))
                self.assertEqual((status, cause_text(cause) in errors, output in errors), (1, True, True), errors)
                if call != "fsync" or each == 1:  # the second is of the directory, behind the rename
                    self.assertEqual(self.read("output"), b"old")
                self.assertEqual([name for name in os.listdir(self.directory) if name.startswith(".nmt")], [])

    def test_standard_output(self):
        model = self.path("run/model.safetensors")
        text = os.path.join(DATA, "train.src")
        with open(text, "rb") as file:
            before = file.read()
        commands = [["translate", "--model", model, "--input", text], ["info", "--model", model],
                    ["align", "--model", model, "--source", text, "--target", os.path.join(DATA, "train.tgt")],
                    ["evaluate", "--reference", text, "--input", text], ["train", "--help-config"], ["--help"]]
        for command in commands:
            with open("/dev/full", "w") as full:
                status, errors = self.run_nmt(command, stdout=full)
            self.assertEqual(status, 1, command)
            self.assertIn("No space left on device", errors)
            status, errors = self.run_nmt(command, preexec_fn=lambda: os.close(1))
            self.assertEqual(status, 1, command)
            self.assertIn("Bad file descriptor", errors)
        with open(text, "rb") as file:
            self.assertEqual(file.read(), before, "the input was written over")

    def test_closed_standard_error(self):
        """Messages must not go into the file that got its number."""
        def close_all():
            for number in range(3):
                os.close(number)
        self.succeed(self.train())
        expected = self.files()
        status, _ = self.train(preexec_fn=close_all)
        self.assertEqual(status, 0)
        self.assertEqual(self.files(), expected)

    def test_no_message_goes_into_a_file(self):
        """Without a standard error the first file that is opened to stay, the lock, would get its number."""
        process = self.start(CONFIG + ["--output", self.path("running"), "--set", "training.epochs=1000000"],
                             preexec_fn=lambda: os.close(2))
        while self.read("running/last.state") is None and process.poll() is None:
            time.sleep(0.01)
        self.assertRegex(self.read("running/run.lock"), b"^%d [^\n]+\n$" % process.pid)
        process.kill()
        process.communicate()

    def test_the_corpus_changes(self):
        with open(os.path.join(DATA, "train.src"), "rb") as file:
            text = file.read()
        for change in (lambda file: file.truncate(5), lambda file: file.write(b"z")):
            with open(self.path("train.src"), "wb") as file:
                file.write(text)
            process = self.start(CONFIG + ["--output", self.path("changing"), "--set", "training.epochs=1000000",
                                           "--overwrite", "--set", "data.train_source=" + self.path("train.src")])
            while self.read("changing/last.state") is None and process.poll() is None:
                time.sleep(0.01)
            with open(self.path("train.src"), "r+b") as file:
                change(file)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn(self.path("train.src") + ":", errors.decode())
            self.assertIn("the text changed while it was being read", errors.decode())
            self.assert_model_is_whole("changing")
            self.assertEqual(self.listing("changing"), ["last.state", "log.jsonl", "model.safetensors"])
            shutil.rmtree(self.path("changing"))


if __name__ == "__main__":
    unittest.main()
