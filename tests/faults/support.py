"""What the fault tests share: the program under test, a place for its files, and how to break the system under it.

Environment: NMT (the program), NMT_SHIM (shim.c as a library), NMT_LONG=1 (many more rounds).
"""
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

NMT = os.environ["NMT"]
SHIM = os.environ["NMT_SHIM"]
LONG = os.environ.get("NMT_LONG") == "1"
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "data")

# A run with everything that a state holds: dropout, a falling rate, an epoch's order, validations in mid-epoch.
CONFIG = ["train", os.path.join(DATA, "tiny.json"), "--set", "training.epochs=5", "--set", "validation.every=4",
          "--set", "dropout.embedding=0.2", "--set", "training.halve_every=2"]


def result(process, errors):
    """Exit status as a shell has it, and what was said."""
    status = process.returncode
    return (128 - status if status < 0 else status), errors.decode("utf-8", "replace")


class Faults(unittest.TestCase):
    """Each test in a directory of its own."""

    def setUp(self):
        memory = "/dev/shm"  # where there is one, flushing costs nothing
        self.directory = tempfile.mkdtemp(prefix="nmt-faults-", dir=memory if os.access(memory, os.W_OK) else None)
        self.addCleanup(shutil.rmtree, self.directory)
        self.random = random.Random(int(os.environ.get("NMT_SEED", "1")))

    def path(self, name):
        return os.path.join(self.directory, name)

    def environment(self, fault=None, count=None, **more):
        variables = {**os.environ, "LC_ALL": "C", **more}
        if fault is not None or count is not None:
            variables["LD_PRELOAD"] = SHIM
            variables["NMT_FAULT"] = fault or "open:0:0"
        if count is not None:
            variables["NMT_FAULT_COUNT"] = count
        return variables

    def start(self, arguments, fault=None, count=None, variables=None, **options):
        options.setdefault("stdout", subprocess.DEVNULL)
        return subprocess.Popen([NMT] + arguments, cwd=DATA, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env=self.environment(fault, count, **(variables or {})), **options)

    def run_nmt(self, arguments, fault=None, count=None, variables=None, timeout=120, **options):
        process = self.start(arguments, fault, count, variables, **options)
        try:
            _, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail("%s: still running after %d s" % (arguments, timeout))
        return result(process, errors)

    def train(self, name="run", how="--overwrite", more=(), **options):
        return self.run_nmt(CONFIG + ["--output", self.path(name)] + ([how] if how else []) + list(more), **options)

    def succeed(self, outcome):
        status, errors = outcome
        self.assertEqual(status, 0, errors)

    def read(self, name):
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def files(self, name="run"):
        """What a run leaves, without its log, in which times stand."""
        return {each: self.read(os.path.join(name, each)) for each in ("model.safetensors", "last.state")}

    def listing(self, name="run"):
        try:
            return sorted(os.listdir(self.path(name)))
        except FileNotFoundError:
            return []

    def counts(self, arguments):
        """How often a command makes each call that can be made to fail."""
        self.succeed(self.run_nmt(arguments, count=self.path("counts")))
        return self.counted()

    def counted(self):
        """What the last command that ran with `count` left."""
        with open(self.path("counts")) as file:
            return {name: int(number) for name, number in (line.split() for line in file)}

    def assert_model_is_whole(self, name="run"):
        if self.read(os.path.join(name, "model.safetensors")) is not None:
            self.succeed(self.run_nmt(["info", "--model", self.path(os.path.join(name, "model.safetensors"))]))


def limit_file_size(size):
    """For preexec_fn: from `size` bytes on, writes are cut short and then fail, as the kernel does it."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit
