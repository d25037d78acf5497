#!/usr/bin/env python3
"""The committed toy corpus is what its generator writes, and is fit to train on.

    check_toy_corpus.py MAKE_TOY_CORPUS DIRECTORY

Regenerating gives the committed bytes; no sentence, English or Chinese, stands twice, in one split or in two; sentences
have 4 to 16 tokens; every word of every split is in the training part at least 20 times.
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

SIZES = {"train": 5000, "validation": 500, "test": 500}
SIDES = ("en", "zh")
LENGTHS = range(4, 17)
LEAST_COUNT = 20


def regeneration(generator, directory):
    # Another hash seed and another locale: neither may show in the bytes.
    environment = dict(os.environ, PYTHONHASHSEED="1", LC_ALL="C")
    with tempfile.TemporaryDirectory() as again:
        subprocess.run([sys.executable, generator, "--output", again], check=True, env=environment)
        for name in (f"{split}.{side}" for split in SIZES for side in SIDES):
            if pathlib.Path(again, name).read_bytes() != (directory / name).read_bytes():
                yield f"{directory / name}: regenerating it gives other bytes"


def sentences_of(directory, side):
    return {split: (directory / f"{split}.{side}").read_text(encoding="utf-8").split("\n")[:-1] for split in SIZES}


def sizes_and_lengths(directory, side):
    for split, lines in sentences_of(directory, side).items():
        path = directory / f"{split}.{side}"
        if len(lines) != SIZES[split]:
            yield f"{path}: expected {SIZES[split]} lines, found {len(lines)}"
        for number, line in enumerate(lines, 1):
            tokens = line.split(" ")
            if len(tokens) not in LENGTHS or "" in tokens:
                yield f"{path}:{number}: expected 4 to 16 tokens with one space between them: {line!r}"


def repetitions(directory, side):
    first = {}
    for split, lines in sentences_of(directory, side).items():
        for number, line in enumerate(lines, 1):
            place = f"{split}.{side}:{number}"
            if first.setdefault(line, place) != place:
                yield f"{directory / place}: stands at {first[line]} already: {line}"


def rare_words(directory, side):
    sentences = sentences_of(directory, side)
    shown = collections.Counter(word for line in sentences["train"] for word in line.split())
    words = {word for lines in sentences.values() for line in lines for word in line.split()}
    for word in sorted(words):
        if shown[word] < LEAST_COUNT:
            yield f"{directory}: '{word}' is in train.{side} {shown[word]} times, expected {LEAST_COUNT} at least"


def main():
    generator, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    faults = list(regeneration(generator, directory))
    for side in SIDES:
        for check in (sizes_and_lengths, repetitions, rare_words):
            faults += check(directory, side)
    for fault in faults[:20]:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
