#!/bin/bash
# The launcher on a machine where nothing can be installed: what it says, and when it configures again. Compiler, CMake and sudo are
# stand-ins here, so that headers can come and go.
set -u
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
cp "${WEIR_SOURCE:?where the tree is}/weir" "$root/weir"
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL $*"
    sed 's/^/     /' "$root/err" "$root/calls"
}

# launch: runs the launcher; leaves status, out, err, and in calls what CMake was told.
launch() {
    : >"$root/calls"
    PATH="$root/bin:$PATH" CC=cc HIDDEN="$root/hidden" CALLS="$root/calls" "$root/weir" run >"$root/out" 2>"$root/err" </dev/null
    status=$?
}

# expect WHAT COMMAND...
expect() {
    checks=$((checks + 1))
    local what=$1
    shift
    "$@" || fail "$what"
}

says() { grep -qF -e "$1" "$root/err"; }
configured() { grep -q -e '--preset' "$root/calls"; }
not() { ! "$@"; }

mkdir "$root/bin"
stand_in() { { echo '#!/bin/sh' && cat; } >"$root/bin/$1" && chmod +x "$root/bin/$1"; }
stand_in cc <<'STUB'
header=$(sed -n 's/^#include <\(.*\)>$/\1/p')
! grep -qx -e "$header" "$HIDDEN"
STUB
stand_in cmake <<'STUB'
echo "$*" >>"$CALLS"
[ "$1" = --preset ] || exit 0
mkdir -p build/release
echo '' >build/release/build.ninja
printf '#!/bin/sh\necho ran\n' >build/release/weir
chmod +x build/release/weir
STUB
echo 'exit 0' | stand_in ninja
echo 'exit 1' | stand_in sudo
echo 'echo 1000' | stand_in id

printf 'xxhash.h\npng.h\n' >"$root/hidden"
launch
expect "what cannot be done without stops it" test "$status" -eq 1
expect "and is told with the rest" says "sudo apt-get install libxxhash-dev libpng-dev"
expect "before anything is built" not configured

echo png.h >"$root/hidden"
launch
expect "a wish does not stop it" test "$status" -eq 0
expect "but is told" says "sudo apt-get install libpng-dev"
expect "it configures" configured
expect "and runs" grep -qx ran "$root/out"

launch
expect "the second time it says nothing" test ! -s "$root/err"
expect "and does not configure" not configured

: >"$root/hidden"
launch
expect "a library that came is found" configured
launch
expect "once" not configured

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
