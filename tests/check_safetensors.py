#!/usr/bin/env python3
"""Checks a model file against the safetensors format, by a reader that shares nothing with the program's own.

usage: check_safetensors.py FILE        exit 0 if it is sound, 1 with a message if not, 2 for misuse
"""
import json
import math
import struct
import sys

SIZES = {"F32": 4}
KEYS = {
    "nmt": ["format", "version", "config", "source_vocabulary", "target_vocabulary", "history", "length_ratio"],
    "nmt-state": ["format", "version", "fields"],
}


class Fault(Exception):
    pass


def expect(truth, message):
    if not truth:
        raise Fault(message)


def unique(pairs):
    keys = [key for key, _ in pairs]
    expect(len(set(keys)) == len(keys), f"duplicate key among {keys[:8]}")
    return dict(pairs)


def read_header(data):
    expect(len(data) >= 8, f"{len(data)} bytes are too few for a header length")
    (length,) = struct.unpack("<Q", data[:8])
    expect(length <= 100_000_000, f"header length {length} is over the format's bound")
    expect(8 + length <= len(data), f"header length {length} is over the file's {len(data)} bytes")
    expect(length % 8 == 0, f"header length {length} is no multiple of 8")
    text = data[8 : 8 + length].decode("utf-8")
    expect(text.startswith("{"), "the header does not start with {")
    expect(text.rstrip(" ").endswith("}"), "the header is padded with something other than spaces")
    return json.loads(text, object_pairs_hook=unique), data[8 + length :]


def check_metadata(metadata):
    expect(isinstance(metadata, dict), "no __metadata__")
    for key, value in metadata.items():
        expect(isinstance(value, str), f"__metadata__.{key} is not a string")
    form = metadata.get("format")
    expect(form in KEYS, f"__metadata__.format is {form!r}")
    expect(sorted(metadata) == sorted(KEYS[form]), f"__metadata__ has the keys {sorted(metadata)}")
    for key in KEYS[form][2:]:
        json.loads(metadata[key], object_pairs_hook=unique)
    return form


def check_tensors(tensors, data):
    position = 0
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        expect(sorted(entry) == ["data_offsets", "dtype", "shape"], f"{name}: keys {sorted(entry)}")
        expect(entry["dtype"] in SIZES, f"{name}: dtype {entry['dtype']}")
        begin, end = entry["data_offsets"]
        size = math.prod(entry["shape"]) * SIZES[entry["dtype"]]
        expect(begin == position, f"{name}: starts at {begin}, the tensor before it ends at {position}")
        expect(end - begin == size, f"{name}: {end - begin} bytes for shape {entry['shape']}")
        expect(end <= len(data), f"{name}: ends at {end} of {len(data)} bytes")
        for index, (value,) in enumerate(struct.iter_unpack("<f", data[begin:end])):
            expect(math.isfinite(value), f"{name}: element {index} is {value}")
        position = end
    expect(position == len(data), f"{len(data) - position} bytes behind the last tensor")


def check_vocabularies(metadata, tensors):
    for side in "source", "target":
        words = json.loads(metadata[f"{side}_vocabulary"])
        expect(words[:3] == ["<unk>", "<s>", "</s>"], f"{side} vocabulary starts with {words[:3]}")
        expect(len(set(words)) == len(words), f"{side} vocabulary has a word twice")
        shapes = [entry["shape"] for entry in tensors.values() if entry["shape"][0] == len(words)]
        expect(shapes, f"no tensor has a row for each of the {len(words)} words of the {side} vocabulary")


def check(path):
    with open(path, "rb") as file:
        header, data = read_header(file.read())
    metadata = header.pop("__metadata__", None)
    form = check_metadata(metadata)
    expect(header, "no tensor")
    check_tensors(header, data)
    if form == "nmt":
        check_vocabularies(metadata, header)
    return form, len(header), len(data)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        form, count, size = check(sys.argv[1])
    except (Fault, OSError, ValueError, KeyError, TypeError) as fault:
        print(f"{sys.argv[1]}: {fault}", file=sys.stderr)
        return 1
    print(f"{sys.argv[1]}: {form}, {count} tensors, {size} bytes of float32")
    return 0


if __name__ == "__main__":
    sys.exit(main())
