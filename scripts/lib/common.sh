# shellcheck shell=bash
# What scripts/quickstart and scripts/test share: messages, and the packages the project is built from. Sourced, not run.

say() {
    printf '==> %s\n' "$*"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# How many compilers to run at once.
processors() {
    nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
}

# Is there what the Debian package $1 brings? Asked of the thing itself, so that one built by hand will do.
is_present() {
    case $1 in
    build-essential) command -v cc >/dev/null && command -v make >/dev/null && command -v ld >/dev/null ;;
    cmake | pkg-config | python3 | valgrind | clang-tidy | cppcheck) command -v "$1" >/dev/null ;;
    libopenblas-dev) pkg-config --exists openblas 2>/dev/null ;;
    libcjson-dev) pkg-config --exists libcjson 2>/dev/null ;;
    libutf8proc-dev) pkg-config --exists libutf8proc 2>/dev/null ;;
    libsentencepiece-dev) pkg-config --exists sentencepiece 2>/dev/null && command -v c++ >/dev/null ;;
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;;
    libcmocka-dev) pkg-config --exists cmocka 2>/dev/null ;;
    *) fail "no check for package $1" ;;
    esac
}

# Prints those of the named packages that are missing, a line each.
missing_packages() {
    local package
    for package in "$@"; do
        is_present "$package" || printf '%s\n' "$package"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "installing packages needs root, and there is no sudo; as root: apt-get install ${missing[*]}"
    fi
}

# Installs what is missing of the named Debian packages; on another system says what to install and stops.
ensure_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -eq 0 ] && return
    if ! command -v apt-get >/dev/null; then
        printf '%s: missing, by their Debian names: %s\n' "${0##*/}" "${missing[*]}" >&2
        printf 'This is not Debian or Ubuntu: install a C11 compiler, CMake 3.20, pkg-config, and the development\n' >&2
        printf 'files of OpenBLAS, cJSON and utf8proc (for the tests also cmocka and Python 3), then run it again.\n' >&2
        exit 1
    fi
    say "Installing ${missing[*]} (apt-get)"
    as_root apt-get update -q || say "The package lists could not be renewed; going on with those that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" ||
        fail "apt-get could not install ${missing[*]}"
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -eq 0 ] || fail "still missing after the installation: ${missing[*]}"
}

# Parts the project is built without where they are missing: text in pieces, compressed text.
optional_packages=(libsentencepiece-dev zlib1g-dev)

# Installs what is missing of them where that can be done; else says what will be missing and goes on.
offer_packages() {
    local missing
    mapfile -t missing < <(missing_packages "${optional_packages[@]}")
    [ "${#missing[@]}" -eq 0 ] && return
    if command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }; then
        say "Installing ${missing[*]} (apt-get)"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" && return
    fi
    say "Going on without ${missing[*]}: no text in SentencePiece pieces, or none compressed with gzip"
}
