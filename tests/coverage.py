"""Lines of src/ that the tests ran, folder by folder, from the counts of a build with NMT_COVERAGE:

    coverage.py BUILD SRC [FLOOR]

Fails when less than FLOOR per cent of the lines outside cli/ ran. A line that was compiled twice (in float and in
double) ran if either did.
"""
import collections
import json
import os
import subprocess
import sys


def main(build, source, floor="0"):
    source = os.path.realpath(source)
    counted = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names
               if name.endswith(".gcda")]
    lines = collections.defaultdict(dict)  # path within src -> line -> ran
    for path in counted:
        printed = subprocess.run(["gcov", "--json-format", "--stdout", path], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, check=True).stdout
        for report in map(json.loads, filter(None, printed.splitlines())):
            for file in report["files"]:
                name = os.path.realpath(os.path.join(report["current_working_directory"], file["file"]))
                if name.startswith(source + os.sep):
                    ran = lines[os.path.relpath(name, source)]
                    for line in file["lines"]:
                        ran[line["line_number"]] = ran.get(line["line_number"], False) or line["count"] > 0
    folders = collections.defaultdict(lambda: [0, 0])
    for name, ran in lines.items():
        for key in [name.split(os.sep)[0]] + ([] if name.startswith("cli" + os.sep) else ["all but cli"]):
            folders[key][0] += sum(ran.values())
            folders[key][1] += len(ran)
    for key, (ran, total) in sorted(folders.items(), key=lambda item: (item[0] == "all but cli", item[0])):
        print("%-12s %5.1f %%  %5d of %5d lines" % (key, 100 * ran / total, ran, total))
    ran, total = folders["all but cli"]
    if total == 0 or 100 * ran / total < float(floor):
        print("expected at least %s %% outside cli/" % floor, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
