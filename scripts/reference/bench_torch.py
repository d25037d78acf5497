"""The PyTorch side of scripts/bench: trains or decodes as a job on standard input says, and prints what it measured.

A job is a JSON object: `mode` (train or decode), `model` (the fields of model.Config but for the vocabularies), the
paths `source`, `target`, `source_vocabulary`, `target_vocabulary`, `threads`, `batch_size`; to train `pool`, `warm_up`
and `updates` (0: one pass over the text); to decode `weights` (a model file of nmt), `sentences` and `output`.

Everything that is not the model's work is left out of the time: batches are made beforehand.
"""

import ctypes
import json
import random
import resource
import struct
import sys
import time
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_

from model import END, START, Batch, Config, Translator

UNKNOWN, FIRST_WORD = 0, 3


def read_vocabulary(path):
    words = Path(path).read_text(encoding="utf-8").split("\n")[:-1]
    return {word: number for number, word in enumerate(words, start=FIRST_WORD)}


def read_sentences(path, numbers):
    with open(path, encoding="utf-8") as lines:
        return [[numbers.get(word, UNKNOWN) for word in line.split()] for line in lines]


def blas_core():
    """The kernels of the OpenBLAS that PyTorch has loaded; the loader gives the same library again."""
    try:
        name = ctypes.CDLL("libblas.so.3").openblas_get_corename
        name.restype = ctypes.c_char_p
        return name().decode()
    except (OSError, AttributeError):
        return "unknown"


def make_batches(sources, targets, size, pool):
    """As nmt plans an epoch: shuffled, sorted by length within pools, cut, and the batches of a pool shuffled again."""
    generator = random.Random(1)
    order = list(range(len(sources)))
    generator.shuffle(order)
    batches = []
    for start in range(0, len(order), size * pool):
        some = sorted(order[start : start + size * pool], key=lambda i: (len(targets[i]), len(sources[i])))
        cut = [some[i : i + size] for i in range(0, len(some), size)]
        generator.shuffle(cut)
        batches += cut
    return [Batch.of([sources[i] for i in one], [targets[i] for i in one]) for one in batches]


def train(job, model, source_words, target_words):
    batches = make_batches(
        read_sentences(job["source"], source_words),
        read_sentences(job["target"], target_words),
        job["batch_size"],
        job["pool"],
    )
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.001)

    def update(batch):
        optimizer.zero_grad(set_to_none=True)
        (model.loss(batch) / batch.tokens).backward()
        clip_grad_norm_(parameters, 5.0)
        optimizer.step()

    for batch in batches[: job["warm_up"]]:
        update(batch)
    measured = batches[: job["updates"] or len(batches)]
    start = time.perf_counter()
    for batch in measured:
        update(batch)
    return {"seconds": time.perf_counter() - start, "tokens": sum(batch.tokens for batch in measured)}


def load_weights(model, path):
    """A safetensors file: the length of a JSON header, the header, the numbers."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    with torch.no_grad():
        for name, parameter in model.parameters_by_name():
            begin, end = header[name]["data_offsets"]
            values = torch.frombuffer(bytearray(data[8 + length + begin : 8 + length + end]), dtype=torch.float32)
            parameter.copy_(values.view(parameter.shape))


@torch.no_grad()
def greedy(model, sources, lengths, limits):
    """The numbers of the likeliest words, a list a sentence, without </s>."""
    memory, state = model.encode(sources, lengths)
    tokens = torch.full_like(lengths, START)
    steps = []
    going = torch.ones_like(tokens, dtype=torch.bool)
    for step in range(int(limits.max())):
        embedded = model.decoder.embedding(tokens)
        features, state, _ = model.decoder(embedded, state, model.attention, memory, step)
        tokens = model.readout(features, embedded).argmax(dim=-1)
        going = going & (tokens != END) & (step < limits)
        steps.append(torch.where(going, tokens, torch.full_like(tokens, END)))
        if not bool(going.any()):
            break
    return [[t for t in row if t != END] for row in torch.stack(steps, dim=1).tolist()]


def decode(job, model, source_words, target_words):
    load_weights(model, job["weights"])
    model.eval()
    sentences = read_sentences(job["source"], source_words)[: job["sentences"]]
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    batches = []
    for start in range(0, len(order), job["batch_size"]):
        some = order[start : start + job["batch_size"]]
        batch = Batch.of([sentences[i] for i in some], [[] for _ in some])
        limits = torch.tensor([3 * len(sentences[i]) + 10 for i in some])
        batches.append((some, batch.sources, batch.source_lengths, limits))
    outputs = [[] for _ in sentences]
    greedy(model, *batches[0][1:])
    start = time.perf_counter()
    for some, *batch in batches:
        for i, output in zip(some, greedy(model, *batch)):
            outputs[i] = output
    seconds = time.perf_counter() - start
    words = ["<unk>", "<s>", "</s>"] + list(target_words)
    text = "".join(" ".join(words[number] for number in output) + "\n" for output in outputs)
    Path(job["output"]).write_text(text, encoding="utf-8")
    return {"seconds": seconds, "tokens": sum(map(len, outputs)) + len(outputs)}


def main():
    job = json.load(sys.stdin)
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    source_words = read_vocabulary(job["source_vocabulary"])
    target_words = read_vocabulary(job["target_vocabulary"])
    sizes = len(source_words) + FIRST_WORD, len(target_words) + FIRST_WORD
    config = Config(*sizes, **job["model"])
    result = {"train": train, "decode": decode}[job["mode"]](job, Translator(config), source_words, target_words)
    result["core"] = blas_core()
    result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
