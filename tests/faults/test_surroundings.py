"""Locale, time zone, umask, home directory and the size of the terminal change no byte of what is written."""
import os
import stat
import subprocess
import unittest

from support import DATA, NMT, Faults


class Surroundings(Faults):
    def everything(self, name, variables, **options):
        """Bytes of all that a run and the commands behind it write."""
        self.succeed(self.train(more=["--set", "training.epochs=2", "--set", "validation.bleu=true", "--set",
                                            "training.learning_rate=0.0015"], variables=variables, **options))
        model = ["--model", self.path("run/model.safetensors")]
        source, target = (os.path.join(DATA, each) for each in ("train.src", "train.tgt"))
        written = dict(self.files())
        for arguments in (["translate", "--input", source] + model,
                          ["align", "--source", source, "--target", target] + model, ["info", "--json"] + model,
                          ["info", "--config"] + model, ["evaluate", "--reference", target, "--input", source]):
            with open(self.path("out"), "wb") as out:
                self.succeed(self.run_nmt(arguments, variables=variables, stdout=out, **options))
            written[" ".join(arguments[:2])] = self.read("out")
        os.rename(self.path("run"), self.path(name))
        return written

    def setUp(self):
        super().setUp()
        self.usual = self.everything("usual", {})
        self.assertIn(b".", self.usual["align --source"])

    def test_a_locale_with_a_decimal_comma(self):
        variables = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
        if b"de_DE" not in subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, check=False).stdout:
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.path("de_DE.UTF-8")],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if made.returncode > 1 or not os.path.isdir(self.path("de_DE.UTF-8")):
                self.skipTest("no German locale, and none can be made")
            variables["LOCPATH"] = self.directory
        self.assertEqual(self.everything("german", variables), self.usual)

    def test_time_zone(self):
        self.assertEqual(self.everything("far", {"TZ": "Pacific/Kiritimati"}), self.usual)
        self.assertEqual(self.everything("bad", {"TZ": "/no/such:zone"}), self.usual)

    def test_umask(self):
        for name, mask, expected in (("private", 0o077, 0o600), ("open", 0o000, 0o666)):
            self.assertEqual(self.everything(name, {}, preexec_fn=lambda mask=mask: os.umask(mask)), self.usual)
            for each in self.listing(name):
                self.assertEqual(stat.S_IMODE(os.stat(self.path(os.path.join(name, each))).st_mode), expected, each)

    def test_home(self):
        home = self.path("home")
        os.mkdir(home, 0o500)
        self.assertEqual(self.everything("homeless", {"HOME": home}), self.usual)
        self.assertEqual(os.listdir(home), [])
        self.assertEqual(self.everything("unset", {"HOME": "/nonexistent"}), self.usual)

    def test_terminal(self):
        self.assertEqual(self.everything("narrow", {"COLUMNS": "10", "TERM": "dumb", "NO_COLOR": "1"}), self.usual)


if __name__ == "__main__":
    unittest.main()
