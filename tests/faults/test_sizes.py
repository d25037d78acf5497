"""Memory does not grow with the length of a run or of a text, and what is very large is answered, or refused with a
message, within a memory that is bounded by it."""
import re
import unittest

from support import CONFIG, LONG, Faults

KILOBYTE, MEGABYTE = 1024, 1024 * 1024
UPDATES = 10000 if LONG else 800
LINES = 1000000 if LONG else 20000
WORDS = 1000000 if LONG else 100000
PAIRS = 10000000 if LONG else 200000
FLAT = 1 * MEGABYTE  # what a longer run may take more, of noise


class Sizes(Faults):
    def peak(self, arguments, **options):
        """Exit status, messages, and the most memory that the command held, in bytes."""
        status, errors = self.run_nmt(arguments, count=self.path("counts"), timeout=1200, **options)
        return status, errors, KILOBYTE * self.counted()["peak"]

    def succeeding_peak(self, arguments, **options):
        status, errors, most = self.peak(arguments, **options)
        self.assertEqual(status, 0, errors)
        self.assertGreater(most, MEGABYTE)
        return most

    def say(self, form, *values):
        if LONG:
            print("%s: %s" % (self._testMethodName, form % values), flush=True)

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return self.path(name)

    def sentences(self, count):
        """Of one to twelve words out of fifty."""
        for _ in range(count):
            yield " ".join("w%d" % self.random.randrange(50) for _ in range(self.random.randint(1, 12)))

    def training(self, source, target, *more):
        return ["train", CONFIG[1], "--output", self.path("run"), "--overwrite", "--set", "data.train_source=" + source,
                "--set", "data.train_target=" + target, "--set", "data.validation_source=null", "--set",
                "data.validation_target=null"] + [part for each in more for part in ("--set", each)]

    def model(self):
        self.succeed(self.train())
        return ["--model", self.path("run/model.safetensors")]

    def test_updates(self):
        text = self.write("text", self.sentences(300))
        more = ["training.epochs=1000000", "validation.every=100", "dropout.embedding=0.2", "training.average_decay=0.9",
                "data.validation_source=" + text, "data.validation_target=" + text]
        few = self.succeeding_peak(self.training(text, text, "training.max_updates=%d" % (UPDATES // 5), *more))
        status, errors, many = self.peak(self.training(text, text, "training.max_updates=%d" % UPDATES, *more))
        self.assertEqual(status, 0, errors)
        reported = float(re.search(r"peak memory ([0-9.]+) MB", errors).group(1)) * MEGABYTE
        self.assertAlmostEqual(reported, many, delta=FLAT)
        self.say("%d updates %.1f MB, %d updates %.1f MB", UPDATES // 5, few / MEGABYTE, UPDATES, many / MEGABYTE)
        self.assertLess(many, few + FLAT)

    def test_translated_lines(self):
        model = self.model()
        peaks = []
        for lines in (LINES // 5, LINES):
            text = self.write("text", self.sentences(lines))
            with open(self.path("out"), "wb") as out:
                peaks.append(self.succeeding_peak(["translate", "--input", text] + model, stdout=out))
            with open(self.path("out"), "rb") as out:
                self.assertEqual(sum(1 for _ in out), lines)
        self.say("%d lines %.1f MB, %d lines %.1f MB", LINES // 5, peaks[0] / MEGABYTE, LINES, peaks[1] / MEGABYTE)
        self.assertLess(peaks[1], peaks[0] + FLAT)

    def test_a_line_of_a_megabyte(self):
        """One word, and words of one letter: left out of training and counted, and answered or refused elsewhere."""
        model = self.model()
        for name, line in (("word", "x" * MEGABYTE), ("words", "x " * (MEGABYTE // 2))):
            text = self.write(name, ["w1 w2", line, "w3"])
            for arguments in (self.training(text, text, "training.epochs=1"),
                              ["translate", "--input", text] + model, ["translate", "--beam", "2", "--input", text] + model,
                              ["align", "--source", text, "--target", text] + model,
                              ["score", "--source", text, "--target", text] + model,
                              ["evaluate", "--reference", text, "--input", text]):
                status, errors, most = self.peak(arguments)
                context = "%s of %s: status %d, %.1f MB: %s" % (arguments[0], name, status, most / MEGABYTE, errors[-300:])
                self.say("%s", context)
                self.assertIn(status, (0, 1), context)
                self.assertLess(most, 200 * MEGABYTE, context)

    def test_a_vocabulary_of_a_million_words(self):
        names = ["v%07d" % i for i in range(WORDS)]
        text = self.write("text", (" ".join(names[i:i + 10]) for i in range(0, WORDS, 10)))
        most = self.succeeding_peak(self.training(text, text, "training.max_updates=2", "training.batch_size=8"))
        self.say("%d words: training %.1f MB", WORDS, most / MEGABYTE)
        self.assertLess(most, 100 * MEGABYTE + WORDS * 1500)
        line = self.write("line", ["v0000001 v%07d" % (WORDS - 1)])
        most = self.succeeding_peak(["translate", "--input", line, "--model", self.path("run/model.safetensors")])
        self.say("%d words: translating %.1f MB", WORDS, most / MEGABYTE)
        self.assertLess(most, 100 * MEGABYTE + WORDS * 1000)

    def test_a_corpus_of_ten_million_lines(self):
        block = "".join(line + "\n" for line in self.sentences(PAIRS // 100))
        for name in ("source", "target"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.writelines(block for _ in range(100))
        most = self.succeeding_peak(self.training(self.path("source"), self.path("target"), "training.max_updates=2"))
        self.say("%d pairs: %.1f MB, %.1f bytes a pair", PAIRS, most / MEGABYTE, most / PAIRS)
        self.assertLess(most, 50 * MEGABYTE + PAIRS * 100)


if __name__ == "__main__":
    unittest.main()
