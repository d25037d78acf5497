#!/usr/bin/env python3
"""The order of the house: who may include whom. Usage: check_floors.py SOURCE_DIRECTORY

A file includes only from floors below its own and from its own folder; folders on one floor do not know each other.
Each outside library has one place that knows it. The command line sees the public headers alone.
"""
import fnmatch
import pathlib
import re
import sys

FLOORS = {
    "core": 0,
    "ops": 1, "data": 1,
    "layers": 2,
    "model": 3,
    "decode": 4, "metrics": 4, "report": 4,
    "train": 5,
    "cli": 6,
}

# Header of a library: the files that may include it, and how many of them may do so.
LIBRARIES = {
    "cblas*.h": (["core/blas*"], 1),
    "openblas_config.h": (["core/blas*"], 1),
    "*cJSON*.h": (["core/json*"], 1),
    "utf8proc.h": (["data/text*", "core/utf8*"], 1),
    "sentencepiece_*.h": (["data/piece_library.cpp"], 1),
    "zlib.h": (["core/gzip*"], 1),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def library_rule(header):
    for pattern, rule in LIBRARIES.items():
        if fnmatch.fnmatchcase(pathlib.PurePosixPath(header).name, pattern):
            return pattern, rule
    return None, None


def check_own(name, folder, header):
    """A header of the house, written "folder/file.h"."""
    target = header.split("/")[0] if "/" in header else None
    if target not in FLOORS:
        return f'includes "{header}": expected "folder/file.h" with a folder of the house'
    if folder == "cli" and target != "cli":
        return f'includes "{header}": the command line sees <nmt/...> and "cli/..." alone'
    if target != folder and FLOORS[target] >= FLOORS[folder]:
        return f'includes "{header}": {target} (floor {FLOORS[target]}) is not below {folder} (floor {FLOORS[folder]})'
    return None


def check(root):
    faults = []
    knowing = {}
    files = sorted(path for path in root.rglob("*") if path.suffix in (".c", ".h", ".cpp"))
    for path in files:
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[0]
        if folder not in FLOORS:
            faults.append(f"{name}: its folder has no floor")
            continue
        for kind, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            pattern, rule = library_rule(header)
            fault = None
            if rule is not None:
                knowing.setdefault(pattern, set()).add(name)
                if not any(fnmatch.fnmatchcase(name, allowed) for allowed in rule[0]):
                    fault = f"includes <{header}>: only {' or '.join(rule[0])} may"
            elif kind == '"':
                fault = check_own(name, folder, header)
            if fault is not None:
                faults.append(f"{name}: {fault}")
    for pattern, names in knowing.items():
        if len(names) > LIBRARIES[pattern][1]:
            faults.append(f"{pattern} is included by {', '.join(sorted(names))}: expected one place")
    return files, faults


def main():
    files, faults = check(pathlib.Path(sys.argv[1]))
    for fault in faults:
        print(fault)
    if not files:
        print(f"no sources in {sys.argv[1]}")
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
