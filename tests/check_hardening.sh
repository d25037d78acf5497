#!/bin/sh
# Whether the program has what the build promises against faults that are left: check_hardening.sh READELF PROGRAM
set -u
headers=$("$1" --wide --file-header --program-headers --dynamic --symbols "$2") || exit 1
failed=0
require() {
    if ! printf '%s\n' "$headers" | grep -q -E "$2"; then
        echo "$1 is missing"
        failed=1
    fi
}
require 'position independence' 'Type: +DYN'
require 'a relocation table that is read-only' 'GNU_RELRO'
require 'binding before the start' 'BIND_NOW|Flags:.* NOW'
require 'the stack protector' '__stack_chk_fail'
require 'FORTIFY' '__(memcpy|snprintf|vsnprintf|fprintf|strcat)_chk'
if printf '%s\n' "$headers" | grep -E 'GNU_STACK' | grep -q 'RWE'; then
    echo 'the stack can be executed'
    failed=1
fi
exit $failed
