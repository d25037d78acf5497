#!/bin/sh
# Runs one case of the command line: run.sh NMT CASE [MODEL]
#
# CASE/command is run by sh in an empty directory; what it writes and its exit status must be those in CASE/stdout,
# CASE/stderr and CASE/status (no file: nothing written, status 0). The command sees $NMT, $DATA (tests/cli/data) and
# $MODEL, a small model trained beforehand. NMT_CLI_UPDATE=1 writes the expectations instead of checking them.
set -u
case_directory=$(cd "$2" && pwd) || exit 1
NMT=$1
MODEL=${3:-}
DATA=$(cd "$case_directory/../../data" && pwd) || exit 1
LC_ALL=C
# With the kernels that OpenBLAS chooses anyway, named: a case sees no restart for better ones unless it asks for it.
OPENBLAS_CORETYPE=$("$NMT" --version | sed -n 's/^BLAS .*kernels //p')
export NMT MODEL DATA LC_ALL OPENBLAS_CORETYPE
unset NO_COLOR NMT_BLAS_HISTORY

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" && cd "$scratch/work" || exit 1
sh -eu "$case_directory/command" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
echo $? >"$scratch/status"

failed=0
for part in stdout stderr status; do
    expected=$case_directory/$part
    found=$scratch/$part
    if [ "${NMT_CLI_UPDATE:-}" = 1 ]; then
        rm -f "$expected"
        { [ $part = status ] && [ "$(cat "$found")" = 0 ]; } || [ ! -s "$found" ] || cp "$found" "$expected"
        continue
    fi
    if [ ! -f "$expected" ]; then
        expected=$scratch/nothing
        if [ $part = status ]; then echo 0; fi >"$expected"
    fi
    diff -u "$expected" "$found" || failed=1
done
exit $failed
