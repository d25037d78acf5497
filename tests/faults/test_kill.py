"""A run that is killed or interrupted, at whatever moment, leaves a complete earlier state, and goes on from it to the
bytes of a run that nothing happened to."""
import json
import os
import shutil
import signal
import time
import unittest

from support import CONFIG, LONG, Faults, result

KILLS = 100 if LONG else 10


class Kill(Faults):
    def setUp(self):
        super().setUp()
        self.succeed(self.train())
        self.whole = self.files()
        self.whole_log = self.updates()
        shutil.rmtree(self.path("run"))

    def updates(self):
        return [json.loads(line)["update"] for line in self.read("run/log.jsonl").splitlines()]

    def go_on(self):
        """Arguments of the run as a person would start it again."""
        how = "--resume" if self.read("run/last.state") is not None else "--overwrite"
        return CONFIG + ["--output", self.path("run"), how]

    def check_goes_on(self, context):
        self.assert_model_is_whole()
        self.succeed(self.run_nmt(self.go_on()))
        self.assertEqual(self.files(), self.whole, context)
        self.assertEqual(self.updates(), self.whole_log, context)
        self.assertEqual(self.listing(), ["curves.svg", "last.state", "log.jsonl", "model.safetensors"], context)

    def test_at_random_moments(self):
        begun = time.monotonic()
        self.succeed(self.train("timed"))
        length = time.monotonic() - begun
        kills = 0
        while kills < KILLS:
            process = self.start(self.go_on())
            time.sleep(self.random.uniform(0, length))
            process.kill()
            _, errors = process.communicate()
            if result(process, errors)[0] == 128 + signal.SIGKILL:
                kills += 1
                self.assert_model_is_whole()
            else:
                self.succeed(result(process, errors))
                self.check_goes_on("after %d kills" % kills)
                self.succeed(self.train())  # from the start again
        self.check_goes_on("after %d kills" % kills)

    def test_in_the_middle_of_every_write(self):
        for name in ("counted", "run"):
            os.mkdir(self.path(name))  # so that each run finds one, and makes the same calls
        counts = self.counts(CONFIG + ["--output", self.path("counted")])
        moments = [(call, number) for call in ("open", "write", "fsync", "rename", "close")
                   for number in range(1, counts[call] + 1)]
        self.assertGreater(len(moments), 30)
        for call, number in moments if LONG else self.random.sample(moments, 12):
            fault = "%s:%d:kill" % (call, number)
            status, errors = self.train(fault=fault)
            self.assertEqual(status, 128 + signal.SIGKILL, fault + errors)
            self.check_goes_on(fault)

    def test_while_a_model_is_being_replaced(self):
        """Killed before the third rename of each start, behind a model and a state: going on gets one validation further,
        until there are no three left."""
        renames = self.counts(CONFIG + ["--output", self.path("counted")])["rename"]
        resumed = 0
        for _ in range(renames):
            how = self.go_on()
            resumed += how[-1] == "--resume"
            process = self.start(how, fault="rename:3:kill")
            _, errors = process.communicate()
            if process.returncode == 0:
                break
            self.assertEqual(process.returncode, -signal.SIGKILL, errors)
            self.assert_model_is_whole()
        self.assertGreater(resumed, 2)
        self.assertEqual(process.returncode, 0)
        self.check_goes_on("renames")

    def test_first_signal_saves(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start(CONFIG + ["--output", self.path("run"), "--overwrite", "--set",
                                           "training.epochs=100000"])
            while self.read("run/last.state") is None and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(result(process, errors)[0], 128 + number, errors)
            self.assertIn(b"--resume goes on", errors)
            self.assertIn(self.path("run/last.state").encode(), errors)
            self.assertEqual(self.listing(), ["last.state", "log.jsonl", "model.safetensors"])
            self.assert_model_is_whole()
            shutil.rmtree(self.path("run"))

    def test_a_signal_before_the_first_update_changes_nothing(self):
        self.succeed(self.train(more=["--set", "training.epochs=2"]))
        before, log = self.files(), self.read("run/log.jsonl")
        self.write_corpus(200000)
        process = self.start(CONFIG + ["--output", self.path("run"), "--overwrite",
                                       "--set", "data.train_source=" + self.path("source"),
                                       "--set", "data.train_target=" + self.path("target")])
        while "run.lock" not in self.listing() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(result(process, errors)[0], 128 + signal.SIGINT, errors)
        self.assertIn(b"nothing was changed", errors)
        self.assertEqual((self.files(), self.read("run/log.jsonl")), (before, log))

    def write_corpus(self, lines):
        for name in ("source", "target"):
            with open(self.path(name), "w") as file:
                file.writelines("word%d and more\n" % (line % 1000) for line in range(lines))

    def test_second_signal_ends_at_once(self):
        """The first comes while a state is being saved and cannot be; the second must not wait for that."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self.succeed(self.train(more=["--set", "training.epochs=4"]))
            before = self.files()
            process = self.start(self.go_on(), fault="fsync:1:hang")
            while len(self.listing()) < 5 and process.poll() is None:  # the lock and a temporary file as well
                time.sleep(0.01)
            time.sleep(0.1)
            process.send_signal(number)
            time.sleep(0.2)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            _, errors = process.communicate(timeout=10)
            self.assertEqual(result(process, errors)[0], 128 + number)
            self.assertEqual(self.files(), before)
            self.check_goes_on("signal %d" % number)


if __name__ == "__main__":
    unittest.main()
