#!/bin/sh
# Installs nmt into a scratch directory and builds the embedding example against it twice: through find_package and
# through pkg-config. Both must translate as the program does.
#     check.sh CMAKE BUILD_DIRECTORY SOURCE_DIRECTORY COMPILER MODEL [SANITIZERS]
set -eu
cmake=$1 build=$2 source=$3 compiler=$4 model=$5 sanitize=${6:+-fsanitize=$6}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/installed" >/dev/null
"$cmake" -S "$source" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/installed" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_C_FLAGS="$sanitize" >/dev/null
"$cmake" --build "$scratch/build" >/dev/null
sed "s|^prefix=.*|prefix=$scratch/installed|" "$(find "$scratch/installed" -name nmt.pc)" >"$scratch/nmt.pc"
flags=$(PKG_CONFIG_PATH=$scratch pkg-config --cflags --libs nmt)
# shellcheck disable=SC2086 # several flags in one variable
"$compiler" $sanitize "$source/translate.c" -o "$scratch/translate" $flags

sentence='two red books'
expected=$(echo "$sentence" | "$scratch/installed/bin/nmt" translate --model "$model")
for program in "$scratch/build/translate" "$scratch/translate"; do
    found=$("$program" "$model" "$sentence" | head -n 1)
    if [ "$found" != "$expected" ]; then
        echo "$program: expected '$expected', found '$found'" >&2
        exit 1
    fi
done
if "$scratch/translate" "$scratch/missing" x 2>"$scratch/message"; then
    echo 'expected a missing model to fail' >&2
    exit 1
fi
grep -q 'missing' "$scratch/message"
