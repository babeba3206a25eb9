#!/bin/bash
# The launcher on a machine where nothing can be installed: what it says, and when it configures again. Compiler, CMake and sudo are
# stand-ins here, so that headers can come and go.
set -u
root=$(mktemp -d "${TMPDIR:-/tmp}/weir launcher XXXXXX") || exit 1  # with blanks, as people have them
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tree"/{cmake,include,src,scenes,app}
cp "${WEIR_SOURCE:?where the tree is}/weir" "$root/tree/weir"
touch "$root/tree/CMakeLists.txt"
as_user=
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL $*"
    sed 's/^/     /' "$root/err" "$root/calls"
}

# launch ARGUMENTS...: runs the launcher, by default with "run"; leaves status, out, err, and in calls what CMake was told.
launch() {
    : >"$root/calls"
    PATH="$root/bin:$PATH" CC=cc HIDDEN="$root/hidden" CALLS="$root/calls" $as_user "$root/tree/weir" "${@:-run}" \
        >"$root/out" 2>"$root/err" </dev/null
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
printf '#!/bin/sh\necho ran "$@"\n' >build/release/weir
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
expect "and runs" grep -qx "ran run" "$root/out"

launch
expect "the second time it says nothing" test ! -s "$root/err"
expect "and does not configure" not configured

: >"$root/hidden"
launch
expect "a library that came is found" configured
launch
expect "once" not configured

launch help
expect "the help names the program's commands" grep -qx "ran help" "$root/out"
expect "and the launcher's" grep -qF "./weir test" "$root/out"
launch help run
expect "the help on one command is the program's" grep -qx "ran help run" "$root/out"
expect "alone" not grep -qF "./weir test" "$root/out"
launch test --help
expect "the tests are explained" grep -qF "./weir test" "$root/out"
expect "without building them" not grep -q . "$root/calls"

# A checkout that belongs to somebody else, or lies on a disk that cannot be written to. Root may write everywhere, so it takes another's
# place.
if [ "$(command id -u)" -eq 0 ]; then
    as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chmod 755 "$root"
    chmod 666 "$root/calls"
fi
if $as_user true 2>/dev/null; then
    chmod -R a+rX,a-w "$root/tree"
    launch
    expect "what is built runs where nothing can be written" grep -qx "ran run" "$root/out"
    expect "without a word" test "$status" -eq 0 -a ! -s "$root/err"
    launch help
    expect "and has its help" grep -qx "ran help" "$root/out"
    launch test
    expect "tests are not run there" test "$status" -eq 1
    expect "which is told" says "cannot be written to"
    touch -d '1 hour' "$root/tree/CMakeLists.txt"
    launch
    expect "what has changed since it was built does not run" test "$status" -eq 1
    expect "which is told in one line" test "$(grep -c 'cannot be written to' "$root/err")" -eq "$(wc -l <"$root/err")"
    touch -d '1 hour ago' "$root/tree/CMakeLists.txt"
    chmod -R u+w "$root/tree"
    rm -r "$root/tree/build"
    chmod a-w "$root/tree"
    launch
    expect "what is not built does not run" test "$status" -eq 1
    expect "which is told as well" says "cannot be written to"
    chmod -R u+w "$root/tree"
fi
as_user=

# A machine where packages can be installed, but not all of them are there.
rm -rf "$root/tree/build"
echo 'echo 0' | stand_in id
stand_in apt-get <<'STUB'
echo "apt-get $*" >>"$CALLS"
case "$*" in *libpng-dev* | *liblua5.4-dev*) exit 100 ;; esac
sed -i /zstd.h/d "$HIDDEN"
STUB
printf 'png.h\nzstd.h\nlua5.4/lua.h\n' >"$root/hidden"
launch
expect "a package that does not exist is no error" test "$status" -eq 0
expect "it is told" says "no libpng-dev here; going on without it"
expect "the next one is tried all the same" grep -q 'install.*libzstd-dev' "$root/calls"
expect "the package lists are asked for once" test "$(grep -c ' update$' "$root/calls")" -eq 1
expect "and the program runs" grep -qx "ran run" "$root/out"

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
