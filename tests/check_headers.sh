#!/bin/sh
# Every public header compiles alone, as C and as C++: check_headers.sh INCLUDE_DIRECTORY CC [CXX]
set -u
include=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
count=0
for header in "$include"/nmt/*.h; do
    name=$(basename "$header")
    count=$((count + 1))
    # Twice, for the guard.
    printf '#include <nmt/%s>\n#include <nmt/%s>\nextern int something;\n' "$name" "$name" >"$scratch/header.c"
    cp "$scratch/header.c" "$scratch/header.cpp"
    "$2" -std=c11 -pedantic-errors -Wall -Wextra -Werror -I"$include" -c "$scratch/header.c" -o "$scratch/c.o" ||
        { echo "nmt/$name does not compile alone as C"; failed=1; }
    [ -z "${3:-}" ] ||
        "$3" -std=c++11 -pedantic-errors -Wall -Wextra -Werror -I"$include" -c "$scratch/header.cpp" -o "$scratch/cpp.o" ||
        { echo "nmt/$name does not compile alone as C++"; failed=1; }
    grep -q 'extern "C"' "$header" || [ "$name" = nmt.h ] || { echo "nmt/$name lacks extern \"C\""; failed=1; }
    [ "$name" = nmt.h ] || grep -q "#include <nmt/$name>" "$include/nmt/nmt.h" ||
        { echo "nmt/nmt.h does not include nmt/$name"; failed=1; }
done
[ "$count" -gt 0 ] || { echo "no headers in $include/nmt"; failed=1; }
exit $failed
