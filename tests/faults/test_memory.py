"""Memory runs out at each allocation in turn, of the program and of the libraries that it hands data to: a message, exit
status 1, no crash, old files whole. A few failures are got over; then all is as if nothing had been."""
import os
import re
import unittest

from support import CONFIG, DATA, LONG, Faults

SAMPLE = 60


class Memory(Faults):
    def check(self, arguments, after):
        allocations = self.counts(arguments)["alloc"]
        self.assertGreater(allocations, 20)
        numbers = range(1, allocations + 1)
        if not LONG and allocations > SAMPLE:
            numbers = sorted(self.random.sample(numbers, SAMPLE))
        failed = 0
        for number in numbers:
            status, errors = self.run_nmt(arguments, fault="alloc:%d:12" % number)
            context = "allocation %d of %d: %s" % (number, allocations, errors)
            self.assertIn(status, (0, 1), context)
            if status == 1:
                failed += 1
                self.assertRegex(errors, re.compile("memory", re.IGNORECASE), context)
            after(status, context)
        self.assertGreater(failed, len(numbers) * 9 // 10)

    def test_training(self):
        more = ["--set", "training.epochs=2", "--set", "validation.bleu=true"]
        self.succeed(self.train(more=more))
        before = self.files()

        def after(status, context):
            self.assert_model_is_whole()
            if status == 0:
                self.assertEqual(self.files(), before, context)
            self.assertEqual([name for name in self.listing() if name.startswith((".nmt", "run.lock"))], [], context)
        self.check(CONFIG + ["--output", self.path("run"), "--overwrite"] + more, after)

    def test_going_on(self):
        self.succeed(self.train(more=["--set", "training.epochs=1"]))

        def after(status, context):
            self.assert_model_is_whole()
            self.assertEqual(self.listing(), ["curves.svg", "last.state", "log.jsonl", "model.safetensors"], context)
        self.check(CONFIG + ["--output", self.path("run"), "--resume", "--set", "training.epochs=1"], after)

    def test_other_commands(self):
        self.succeed(self.train())
        model = ["--model", self.path("run/model.safetensors")]
        source, target = (os.path.join(DATA, name) for name in ("train.src", "train.tgt"))
        for arguments in (["translate", "--input", source, "--alignment", self.path("alignment")] + model,
                          ["align", "--source", source, "--target", target] + model,
                          ["evaluate", "--reference", target, "--input", target], ["info", "--json"] + model):
            with open(self.path("out"), "wb") as out:
                self.succeed(self.run_nmt(arguments, stdout=out))
            whole = self.read("out")

            def after(status, context):
                if status == 0:
                    with open(self.path("out"), "wb") as out:
                        self.run_nmt(arguments, stdout=out)
                    self.assertEqual(self.read("out"), whole, context)
            self.check(arguments, after)


if __name__ == "__main__":
    unittest.main()
