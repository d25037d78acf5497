#!/usr/bin/python3
"""Writes the golden results that tests/test_golden.c holds the C implementation against: for each choice of the
configuration one JSON file with parameters, a batch of unequal lengths, and what PyTorch computes from them in double
precision: the summed loss, all its gradients, the attention, the greedy outputs, and three updates of training.

    /usr/bin/python3 scripts/reference/make_goldens.py [DIRECTORY]        (default: tests/golden)

Needs PyTorch 1.13 or later (Debian: python3-torch).
"""

import argparse
import json
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_

from model import Batch, Config, Translator

# No two sizes, nor their sums that shape a tensor, are equal, so a transposed or misplaced matrix cannot pass.
VOCABULARIES = {"source": 11, "target": 16}
SIZES = {
    "source_embedding": 3,
    "target_embedding": 5,
    "encoder_hidden": 4,
    "decoder_hidden": 6,
    "attention_score": "additive",
    "attention_size": 7,
    "readout_size": 10,
}
# Tokens repeat within and across sentences; the longest source has not the longest target; one side may be empty.
SOURCES = [[4, 9, 4, 0], [3, 10, 7, 5, 5, 8, 3], [6], [8, 3, 9, 6], []]
TARGETS = [[5, 3, 12, 5, 5], [4, 11, 0], [6, 8, 15, 12, 3, 7, 9, 4], [], [9, 3]]
GREEDY_LIMIT = 12
UPDATES = 3

# Adam's epsilon is of the gradients' size: so its place in the formula shows, and an element whose gradient is nearly
# zero is not thrown about by rounding.
ADAM = {"optimizer": "adam", "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3, "clip_norm": 0.2}
ADADELTA = {"optimizer": "adadelta", "learning_rate": 1.0, "rho": 0.95, "adadelta_epsilon": 1e-6, "clip_norm": 0.2}
SGD = {"optimizer": "sgd", "learning_rate": 0.5, "momentum": 0.9, "clip_norm": 0.2}

BASE = {
    "gru": "reset_after",
    "initial_state": "backward",
    "readout": "linear",
    "readout_embedding": True,
    "readout_state": "current",
    "attention_heads": 1,
    "attention_extent": "global",
    "attention_window": 10,
    "order": "bahdanau",
    "input_feeding": True,
}
ALL_TIED = {"tied_embeddings": "all", "source_embedding": 5, "readout_size": 5}
COVERAGE = {**ADAM, "coverage": 0.7}
CASES = {
    "base": ({}, ADAM),
    "sgd": ({}, SGD),
    "linear_without_embedding": ({"readout_embedding": False}, ADAM),
    "linear_previous": ({"readout_state": "previous"}, ADAM),
    "tanh": ({"readout": "tanh"}, ADAM),
    "tanh_previous_without_embedding": (
        {"readout": "tanh", "readout_state": "previous", "readout_embedding": False},
        ADAM,
    ),
    "maxout": ({"readout": "maxout"}, ADAM),
    "mean": ({"initial_state": "mean"}, ADAM),
    "zero": ({"initial_state": "zero"}, ADAM),
    "reset_before": ({"gru": "reset_before"}, ADAM),
    "reset_before_mean": ({"gru": "reset_before", "initial_state": "mean", "readout": "tanh"}, ADAM),
    "paper": ({"gru": "reset_before", "readout": "maxout", "readout_state": "previous"}, ADADELTA),
    "dot": ({"attention_score": "dot", "decoder_hidden": 8}, ADAM),
    "general": ({"attention_score": "general"}, ADAM),
    "concat": ({"attention_score": "concat"}, ADAM),
    "gaussian": ({"attention_score": "gaussian"}, ADAM),
    "fixed": ({"attention_score": "fixed"}, ADAM),
    "heads": ({"attention_heads": 3, "attention_size": 9}, ADAM),
    "scaled_dot_heads_coverage": (
        {"attention_score": "scaled_dot", "attention_heads": 2, "attention_size": 14},
        COVERAGE,
    ),
    "local_m": ({"attention_extent": "local_m", "attention_window": 1}, ADAM),
    "local_p": ({"attention_extent": "local_p", "attention_window": 3}, ADAM),
    "luong": ({"order": "luong", "attention_score": "general"}, ADAM),
    "luong_without_feeding": ({"order": "luong", "attention_score": "concat", "input_feeding": False}, ADAM),
    "luong_local_p_coverage": (
        {
            "order": "luong",
            "attention_score": "dot",
            "decoder_hidden": 8,
            "attention_extent": "local_p",
            "attention_window": 2,
        },
        COVERAGE,
    ),
    "tied": ({"readout": "tanh", "readout_size": 5, "tied_embeddings": "target"}, ADAM),
    "tied_all": ({"readout": "maxout", **ALL_TIED}, ADAM),
    "normalized": ({"layer_normalization": True, "readout": "tanh"}, ADAM),
    "normalized_reset_before_luong": (
        {"layer_normalization": True, "gru": "reset_before", "order": "luong", "readout": "maxout"},
        ADAM,
    ),
    "deep": ({"encoder_layers": 2, "decoder_layers": 3}, ADAM),
    "deep_luong": (
        {
            "encoder_layers": 2,
            "decoder_layers": 2,
            "residual": False,
            "layer_normalization": True,
            "gru": "reset_before",
            "order": "luong",
        },
        ADAM,
    ),
    "conditional": ({"order": "conditional"}, ADAM),
    "conditional_deep_normalized": (
        {
            "order": "conditional",
            "decoder_layers": 2,
            "layer_normalization": True,
            "gru": "reset_before",
            "readout": "maxout",
            "initial_state": "mean",
        },
        ADAM,
    ),
}


def deviation(name, names):
    """Large enough that no gradient is tiny and that the attention prefers some tokens; smaller where energies are
    products of products, so that they do not drive it to one token alone."""
    if name.startswith("attention.heads.") or (name.startswith("attention.") and "attention.log_width" in names):
        return 0.3
    return 1.0 if name.startswith(("encoder.", "attention.")) else 0.5


def draw_parameters(model, seed):
    """Normal, in steps of 1/128, which float, double and a short decimal hold exactly."""
    generator = torch.Generator().manual_seed(seed)
    named = dict(model.parameters_by_name())
    with torch.no_grad():
        for name, parameter in named.items():
            drawn = deviation(name, named) * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_((drawn * 128).round() / 128)


def make_optimizer(training, parameters):
    rate = training["learning_rate"]
    if training["optimizer"] == "adam":
        betas = training["beta1"], training["beta2"]
        return torch.optim.Adam(parameters, lr=rate, betas=betas, eps=training["epsilon"])
    if training["optimizer"] == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=training["rho"], eps=training["adadelta_epsilon"])
    return torch.optim.SGD(parameters, lr=rate, momentum=training["momentum"])


def train(model, batch, training):
    """UPDATES updates on the mean loss of a target token; returns the summed loss before each."""
    parameters = list(model.parameters())
    optimizer = make_optimizer(training, parameters)
    losses = []
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss, objective = model.loss_and_objective(batch, training.get("coverage", 0))
        (objective / batch.tokens).backward()
        norm = clip_grad_norm_(parameters, training["clip_norm"])
        assert norm > 1.5 * training["clip_norm"], f"clipping would not show at norm {norm}"
        optimizer.step()
        losses.append(loss.item())
    return losses


def tensors(named):
    """{name: {shape, values}}; v_a, here a matrix of one row, becomes the vector that it is."""
    return {
        name: {"shape": list(tensor.squeeze().shape) or [1], "values": tensor.detach().flatten().tolist()}
        for name, tensor in named
    }


def alignments(model, batch):
    """For each sentence the attention [T+1, S+1] without padding."""
    with torch.no_grad():
        _, alpha = model(batch)
    return [
        alpha[i, : len(target) + 1, : len(source) + 1].tolist()
        for i, (source, target) in enumerate(zip(SOURCES, TARGETS))
    ]


def make_golden(seed, choices, training):
    section = {**SIZES, **BASE, **choices}
    shared = section.get("tied_embeddings") == "all"
    words = {"source": VOCABULARIES["target" if shared else "source"], "target": VOCABULARIES["target"]}
    model = Translator(Config(words["source"], words["target"], **section)).double()
    draw_parameters(model, seed)
    batch = Batch.of(SOURCES, TARGETS)

    loss, objective = model.loss_and_objective(batch, training.get("coverage", 0))
    objective.backward()
    greedy, lead = model.greedy(batch, GREEDY_LIMIT)
    assert lead > 1e-4, f"rounding could change a greedy choice that leads by {lead}"
    golden = {
        "config": {**({"vocabulary": {"shared": True}} if shared else {}), "model": section, "training": training},
        **{f"{side}_vocabulary_size": size for side, size in words.items()},
        "batch": {"sources": SOURCES, "targets": TARGETS},
        "parameters": tensors(model.parameters_by_name()),
        "loss": loss.item(),
        "objective": objective.item(),
        "gradients": tensors((name, parameter.grad) for name, parameter in model.parameters_by_name()),
        "alpha": alignments(model, batch),
        "greedy_limit": GREEDY_LIMIT,
        "greedy": greedy,
    }
    losses = train(model, batch, training)
    golden["updates"] = {"losses": losses, "parameters": tensors(model.parameters_by_name())}
    return golden


def to_json(value, indent=0):
    """JSON with nine significant digits, one line for each tensor, row or list of tokens."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict) and "values" not in value:
        inner = ",\n".join(f"{' ' * indent} {json.dumps(k)}: {to_json(v, indent + 1)}" for k, v in value.items())
        return f"{{\n{inner}\n{' ' * indent}}}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[" + f",\n{' ' * (indent + 1)}".join(to_json(row, indent + 1) for row in value) + "]"
    if isinstance(value, list):
        return "[" + ",".join(to_json(item) for item in value) + "]"
    return json.dumps(value)


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=root / "tests" / "golden")
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    for seed, (name, (choices, training)) in enumerate(CASES.items(), start=1):
        golden = make_golden(seed, choices, training)
        (directory / f"{name}.json").write_text(to_json(golden) + "\n", encoding="utf-8")
        print(f"{name}: loss {golden['loss']:.6f}, greedy {golden['greedy']}")


if __name__ == "__main__":
    main()
