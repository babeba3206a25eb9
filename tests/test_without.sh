#!/bin/bash
# Builds that lack something. Without each of the packages that Weir can do without, the files that ask for it still compile without a
# warning; without any of them the program is built, plays a scene to the golden hash, and refuses what it cannot do with one line that
# names the package.
set -u
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
packages='ZSTD OPENCL PNG ASSIMP LUA'
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL $*"
    sed 's/^/     /' "$place/log"
}

# expect WHAT COMMAND...: the command succeeds; what it says is shown when it does not.
expect() {
    checks=$((checks + 1))
    local what=$1
    shift
    "$@" >"$place/log" 2>&1 || fail "$what"
}

# configure PACKAGE...: without these, and as they are found with the others.
configure() {
    local package switches=()
    for package in $packages; do
        case " $* " in
        *" $package "*) switches+=("-DWEIR_USE_$package=OFF") ;;
        *) switches+=("-DWEIR_USE_$package=ON") ;;
        esac
    done
    expect "configured without $*" cmake -S "$WEIR_SOURCE" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DWEIR_BUILD_TESTS=ON -DWEIR_WARNINGS_AS_ERRORS=ON "${switches[@]}"
}

# ---- Without each ----------------------------------------------------------------------------------------------------------

for package in $packages; do
    configure "$package"
    # What changes with the package is what asks for its macro.
    mapfile -t files < <(grep -rl --include='*.c' "WEIR_HAVE_$package" "$WEIR_SOURCE"/{src,scenes,app,tests})
    objects=()
    for file in "${files[@]}"; do
        objects+=($(ninja -C "$place/build" -t targets all | sed -n "s|^\([^:]*/${file##*/}\.o\):.*|\1|p"))
    done
    expect "some files ask for $package" test "${#objects[@]}" -gt 0 -a "${#objects[@]}" -ge "${#files[@]}"
    expect "the files that ask for $package compile without it" ninja -C "$place/build" "${objects[@]}"
done

# ---- Without any -----------------------------------------------------------------------------------------------------------

configure $packages
expect "the program is built without $packages" cmake --build "$place/build" --target weir-program
[ -x "$place/build/weir" ] || exit 1
weir=$place/build/weir

# refuses TEXT ARGUMENTS...: status 2, nothing on stdout, one line that holds TEXT.
refuses() {
    local text=$1 status
    shift
    checks=$((checks + 1))
    PATH=${search:-$PATH} "$weir" "$@" >"$place/out" 2>"$place/log" </dev/null
    status=$?
    [ "$status" -eq 2 ] || { fail "$*: status $status, expected 2"; return; }
    [ ! -s "$place/out" ] || { fail "$*: wrote to stdout"; return; }
    [ "$(wc -l <"$place/log")" -eq 1 ] || { fail "$*: stderr is not one line"; return; }
    grep -qF -e "$text" "$place/log" || fail "$*: stderr does not say '$text'"
}

expect "help" "$weir" help run
expect "scenes" "$weir" scenes
expect "devices" "$weir" devices

plays() {
    "$weir" run "$@" --report - | grep -F "\"hash\": \"$hash\""
}
hash=$(sed -n 's/^dambreak momentum 16 12 //p' "$WEIR_SOURCE/tests/golden.txt")
expect "dambreak has the golden hash" plays dambreak --size 16 --updates 12 --save "$place/plain.weir" --export "$place/dambreak.glb"
hash=$(sed -n 's/^dambreak classic 16 12 //p' "$WEIR_SOURCE/tests/golden.txt")
expect "and so it has with classic" plays dambreak --solver classic --size 16 --updates 12

# Snapshots: a plain one is read by both builds; a packed one is not read, but told from a damaged one.
hash=$("$weir" run dambreak --size 16 --updates 3 --load "$place/plain.weir" --report - | sed -n 's/^ *"hash": "\(.*\)",$/\1/p')
expect "a plain snapshot goes on" test "${#hash}" -eq 16
weir=$WEIR_PROGRAM
expect "in the full build as well, to the same hash" plays dambreak --size 16 --updates 3 --load "$place/plain.weir"
expect "the full build saves" "$weir" run dambreak --size 16 --updates 1 --quiet --save "$place/packed.weir"
weir=$place/build/weir
if [ "$(od -An -tu1 -j12 -N1 "$place/packed.weir" | tr -d ' ')" = 1 ]; then
    refuses "has no zstd (Debian: libzstd-dev)" run dambreak --size 16 --load "$place/packed.weir"
fi

printf 'world{bounds = {0, 0, 0, 8, 8, 8}}\n' >"$place/scene.lua"
printf 'v 0 0 0\n' >"$place/mesh.obj"
cp "$WEIR_SOURCE/docs/pictures/tube.png" "$place/map.png"
refuses "has no Lua (Debian: liblua5.4-dev)" run "$place/scene.lua"
refuses "has no assimp (Debian: libassimp-dev)" run --terrain "$place/mesh.obj"
refuses "has no libpng (Debian: libpng-dev)" run --terrain "$place/map.png"
refuses "has no libpng (Debian: libpng-dev)" run tube --updates 1 --frames "$place/frames"
refuses "has no OpenCL (Debian: opencl-headers)" run tube --updates 1 --backend opencl
mkdir "$place/no-path"
search=$place/no-path refuses "no ffmpeg here" run tube --updates 1 --video "$place/film.mp4"
expect "nothing is left of what was refused" test ! -e "$place/frames" -a ! -e "$place/film.mp4" -a ! -e "$place/film.mp4.frames"

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
