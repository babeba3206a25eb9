#!/bin/bash
# One hash everywhere: builds library and program for another machine, plays scenes there and compares their hashes with
# tests/golden.txt, and hands snapshots over in both directions: tests/machine.sh aarch64, tests/machine.sh windows. Ends with 77 where
# there is no compiler for that machine or nothing that can play it.
set -eu
machine=$1
cd "$(dirname "$0")/.."
root=$PWD
build=$root/build/$machine
native=${WEIR_PROGRAM:-$root/build/release/weir}
cores=$(getconf _NPROCESSORS_ONLN)

has() { command -v "$1" >/dev/null 2>&1; }
compiles() { echo '#include <pthread.h>' | "$1" -fsyntax-only -x c - 2>/dev/null; }
skip() { echo "$1" && exit 77; }
fail() { echo "FAIL: $*" >&2 && exit 1; }

case $machine in
    aarch64)
        compiler=aarch64-linux-gnu-gcc program=$build/weir
        has qemu-aarch64 || skip "no qemu-user here"
        player=(qemu-aarch64 -L /usr/aarch64-linux-gnu) ;;
    windows)
        compiler=x86_64-w64-mingw32-gcc-posix program=$build/weir.exe
        # Debian's wine64 puts neither of them into PATH.
        wine=$(command -v /usr/lib/wine/wine64 wine64 wine | head -n 1)
        WINESERVER=$(command -v /usr/lib/wine/wineserver64 wineserver | head -n 1)
        [ -n "$wine" ] && [ -n "$WINESERVER" ] || skip "no Wine here"
        # Kept, as it takes some seconds to make; without what it would ask for in a window.
        export WINESERVER WINEPREFIX=$build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
        player=("$wine") ;;
    *) fail "no such machine: $machine" ;;
esac
compiles $compiler || skip "no $compiler here"
[ -x "$native" ] || fail "there is no $native to compare with"

cmake --preset "$machine" >/dev/null
cmake --build "build/$machine" --target weir-program --parallel "$cores"

folder=$(mktemp -d)
end() {
    # Wine stays for some seconds, and would keep ctest waiting.
    [ "$machine" = aarch64 ] || "$WINESERVER" -k 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
cd "$folder"
[ "$machine" = aarch64 ] || "${player[@]}" "$program" --version >/dev/null 2>&1 || true  # makes Wine's folder

foreign() { "${player[@]}" "$program" "$@" </dev/null; }
golden() { awk -v line="$1 $2 16 $3" 'index($0, line " ") == 1 { print $5 }' "$root/tests/golden.txt"; }

# ---- Hashes ----------------------------------------------------------------------------------------------------------------

# hash_at REPORT UPDATE
hash_at() { tr -d ' \n' <"$1" | sed -n 's/.*{"update":'"$2"',"hash":"\([0-9a-f]*\)"}.*/\1/p'; }

# same WHAT REPORT SCENE SOLVER UPDATE
same() {
    local wanted got
    wanted=$(golden "$3" "$4" "$5")
    got=$(hash_at "$2" "$5")
    [ -n "$wanted" ] || fail "golden.txt has no line for $3 $4 16 $5"
    [ "$got" = "$wanted" ] || fail "$1, $3 by $4, update $5: the hash is '$got', and $wanted everywhere else"
    echo "$1, $3 by $4, update $5: $got"
}

threads=2
for scene in dambreak tube fall random; do
    # It has many more cells than the others, and qemu is slow.
    [ $scene = fall ] && updates=12 || updates=80
    for solver in momentum classic; do
        foreign run $scene --solver $solver --size 16 --updates $updates --threads $threads --hash-every 4 --quiet --report a.json
        same "$machine" a.json $scene $solver 12
        [ $updates = 12 ] || same "$machine" a.json $scene $solver $updates
        threads=$((3 - threads))
    done
done
if [ "$machine" = windows ]; then
    foreign run tube --size 16 --updates 80 --simd scalar --hash-every 80 --quiet --report a.json
    same "windows, scalar" a.json tube momentum 80
fi

# ---- Snapshots -------------------------------------------------------------------------------------------------------------

for solver in momentum classic; do
    play=(run dambreak --solver $solver --size 16 --updates 40 --hash-every 40 --quiet)
    foreign "${play[@]}" --save there.weir
    "$native" "${play[@]}" --load there.weir --report b.json
    same "from $machine to here" b.json dambreak $solver 80
    # Plain, as the other machine's build may have no zstd.
    WEIR_PLAIN_SNAPSHOTS=1 "$native" "${play[@]}" --save here.weir
    foreign "${play[@]}" --load here.weir --report c.json
    same "from here to $machine" c.json dambreak $solver 80
done
cmp -s here.weir there.weir || fail "the same world, saved plain, is not the same file"

# ---- What a game may do ----------------------------------------------------------------------------------------------------

libraries=("$build/libweir-formats.a" "$build/libweir.a" -lpthread -lm)
[ "$machine" = windows ] && libraries+=(-static) || libraries+=(-ldl)
$compiler -std=gnu11 -Wall -Wextra -Werror -O1 -I"$root/include" "$root/tests/machine.c" "${libraries[@]}" -o machine.exe
"${player[@]}" ./machine.exe </dev/null || fail "tests/machine.c"
[ "$machine" = windows ] || exit 0

# ---- The program on Windows ------------------------------------------------------------------------------------------------

# ends STATUS WORDS...: runs it with what it says in `said`
ends() {
    local wanted=$1 status=0
    shift
    foreign "$@" >said 2>&1 || status=$?
    [ $status = "$wanted" ] || fail "weir $*: exit status $status and not $wanted; it says: $(cat said)"
}
says() { grep -qF -- "$1" said || fail "it does not say '$1' but: $(cat said)"; }
short=(run dambreak --size 16 --updates 4 --quiet)

ends 0 help run && says --report
ends 2 run dambreak --colour red && says "unknown option --colour"
ends 2 "${short[@]}" --report 'no folder\a.json' && says "No such file or directory"
ends 2 "${short[@]}" --export 'no folder\a.ply' && says "No such file or directory"
ends 2 "${short[@]}" --load nothing.weir && says "cannot read nothing.weir"
grep -q $'\r' said && fail "lines end in Windows' way"

# Names with a drive, backslashes, blanks and letters of any language; a file that is there is replaced.
drive=$(printf 'Z:%s' "$folder" | tr / '\\')
mkdir 'ein Dürfen'
for round in 1 2; do
    ends 0 "${short[@]}" --report "$drive\\ein Dürfen\\水.json" --export 'ein Dürfen\water.ply' --save "$drive\\world.weir"
    [ "$(ls 'ein Dürfen' | sort | tr '\n' ' ')" = "water.ply 水.json " ] || fail "not these files: $(ls 'ein Dürfen')"
done
"$native" "${short[@]}" --export native.ply --report native.json
cmp -s native.ply 'ein Dürfen/water.ply' || fail "the mesh is another one than here"
ends 0 "${short[@]}" --load world.weir

# Films: what is sent to ffmpeg arrives, and nothing is left behind when it fails.
cat >ffmpeg.c <<'CODE'
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <io.h>
int main(int count, char **words)
{
    _setmode(0, _O_BINARY);
    long bytes = 0;
    while (getchar() != EOF) bytes++;
    if (getenv("FFMPEG_FAILS")) return fprintf(stderr, "it is broken\n"), 1;
    FILE *film = fopen(words[count - 1], "wb");
    fprintf(film, "%ld bytes, %s\n", bytes, words[count - 3]);
    return 0;
}
CODE
mkdir bin
$compiler -O1 -static ffmpeg.c -o bin/ffmpeg.exe
export WINEPATH="$drive\\bin"
ends 0 "${short[@]}" --video 'my film.mp4' --frame-every 2 --picture 64x48
[ "$(cat 'my film.mp4')" = "$((3 * 64 * 48 * 3)) bytes, -f" ] || fail "ffmpeg got something else: $(cat 'my film.mp4')"
FFMPEG_FAILS=1 ends 1 "${short[@]}" --video broken.mp4 --picture 64x48 && says "ffmpeg failed: it is broken"
[ -z "$(ls | grep broken)" ] || fail "a film that failed left something behind: $(ls)"

# Ctrl-C, which Wine makes of this signal.
"${player[@]}" "$program" run dambreak --size 16 --updates 1000000 --quiet --report ended.json --export alive.ply --export-every 20 \
    >said 2>&1 </dev/null &
for i in $(seq 600); do
    ls alive* >/dev/null 2>&1 && break
    sleep 0.1
done
kill -INT $!
status=0
wait $! || status=$?
[ $status = 130 ] || fail "Ctrl-C ends with the exit status $status: $(cat said)"
says "interrupted after"
grep -q '"hash"' ended.json || fail "no report after Ctrl-C"

# No wide move may need an alignment that Windows' stack does not have.
x86_64-w64-mingw32-objdump -d "$program" >code
grep -q 'ymm' code || fail "there is no wide code in the program"
if grep -E 'vmov(ap[sd]|dqa[0-9]*) .*[yz]mm' code | grep -q '('; then fail "a wide move needs alignment"; fi
