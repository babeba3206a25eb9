#!/bin/sh
# Drives the program over good and bad input: exit statuses, one line on stderr when something is wrong, JSON that parses, and
# runs that agree with themselves. Usage: test_program.sh PATH-TO-WEIR
weir=${1:-${WEIR_PROGRAM:?usage: test_program.sh PATH-TO-WEIR}}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL $*"
    sed 's/^/     stderr: /' "$work/err"
}

# run ARGUMENTS...: leaves status, $work/out and $work/err.
run() {
    checks=$((checks + 1))
    "$weir" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# refuses TEXT ARGUMENTS...: status 2, nothing on stdout, one line on stderr that begins with "weir: " and holds TEXT.
refuses() {
    text=$1
    shift
    run "$@"
    [ "$status" -eq 2 ] || { fail "$*: status $status, expected 2"; return; }
    [ ! -s "$work/out" ] || { fail "$*: wrote to stdout"; return; }
    [ "$(wc -l <"$work/err")" -eq 1 ] || { fail "$*: stderr is not one line"; return; }
    case $(cat "$work/err") in
    "weir: "*"$text"*) ;;
    *) fail "$*: stderr does not say '$text'" ;;
    esac
}

# works ARGUMENTS...: status 0 and a silent stderr.
works() {
    run "$@"
    [ "$status" -eq 0 ] || { fail "$*: status $status, expected 0"; return; }
    [ ! -s "$work/err" ] || fail "$*: wrote to stderr"
}

# says TEXT: the last run's stdout holds TEXT.
says() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/out" || fail "stdout does not say '$1'"
}

# parses FILE: FILE is JSON, as far as python3 is there to tell; what one build writes is written by all.
parses() {
    checks=$((checks + 1))
    if [ -z "${WEIR_TEST_SHORT:-}" ] && command -v python3 >/dev/null 2>&1; then
        python3 -m json.tool "$1" >/dev/null 2>"$work/err" || fail "$1 is not JSON"
    fi
}

# value KEY FILE: the value of the first line with this key.
value() {
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2" | head -n 1
}

# same WHAT A B
same() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$2' and '$3' differ"
}

# has THING: whether this build has Lua or libpng; without it what needs it is refused, as the test `without` checks.
has() {
    case $1 in
    Lua) run run none.lua ;;
    libpng) run run tube --updates 0 --frames "$work/missing/f" ;;
    esac
    ! grep -q "this build of Weir has no $1 " "$work/err"
}

# ---- Help, lists -----------------------------------------------------------------------------------------------------------

works
says "weir run"
works help
works --help
works help run
for word in "momentum     water that" "classic      van der Scheer" "Those of momentum" "Those of classic" "noise_seed   1       0 to 4294967295"; do says "$word"; done
says "--hash-every"
says "gravity"
works run --help
says "--hash-every"
works help bench
says "triad"
works help devices
says "--backend opencl"
works --version
says "weir "
works scenes
for scene in watercube dambreak damhole fountain shallowwave tsunami tube pool lake puddle raft slosh wave fall column ground downhill ubend terrain waterfall digunderwater ocean locus oilwater layers lockexchange honey kettle icemelt gasroom burst divingbell siphon random blend block; do says "$scene:"; done
says "level_left"
says "8000 updates; solver momentum"
works bench --list
says "momentum-block-128"
says "classic-tsunami"
refuses "unknown command" swim
refuses "unknown option" --swim
refuses "unknown command" help swim
refuses "takes no names" scenes tube
refuses "unknown option" devices --swim

# ---- Wrong scenes, options, values -----------------------------------------------------------------------------------------

refuses "watercube" run
refuses "unknown scene 'swim'" run swim
refuses "unknown scene" run ''
refuses "unknown scene" run 'two
lines'
refuses "as well" run tube pool
has Lua && refuses "cannot read none.lua" run none.lua
refuses "--swim" run tube --swim
refuses "-x" run tube -x
refuses "no value" run tube --quiet=1
refuses "needs a value" run tube --size
refuses "--report needs a value before --updates" run tube --report --updates 1
refuses "weir run SCENE --load old.weir" run old.weir
refuses "weir run --terrain hill.vox" run hill.vox
refuses "unknown option -updates (did you mean --updates?)" run tube -updates 3
refuses "unknown option --size;" bench --size 3
refuses "size 0" run tube --size 0
refuses "size 100000" run tube --size 100000
refuses "size -48" run tube --size -48
refuses "whole number" run tube --size big
refuses "whole number" run tube --size 48x
refuses "whole number" run tube --size 4.5
refuses "whole number" run tube --size=
refuses "whole number" run tube --size ' 48'
refuses "out of range" run tube --size 99999999999999999999
refuses "out of range" run tube --updates -1
refuses "out of range" run tube --updates 9999999999
refuses "whole number" run tube --updates many
refuses "out of range" run tube --threads 0
refuses "out of range" run tube --threads 100000
refuses "out of range" run tube --seed -1
refuses "out of range" run tube --seed 4294967296
refuses "out of range" run tube --hash-every 0
refuses "momentum, classic, settle or mixture" run tube --solver magic
refuses "cpu or opencl" run tube --backend magic
refuses "device 0 only" run tube --device 1
refuses "device 0 only" run tube --device gpu --backend cpu
works run pool --size 4 --updates 1 --backend cpu --device 0 --quiet
refuses "both write" run tube --save one.weir --report one.weir
refuses "both write" run tube --frames here --video ./here
refuses "would write over ./my.lua" run my.lua --report ./my.lua
refuses "would write over hill.vox" run --terrain hill.vox --export hill.vox
refuses "scalar" run tube --simd mmx
refuses "gravity" run tube --set gravity=nan
refuses "gravity" run tube --set gravity=inf
refuses "gravity" run tube --set gravity=1e9
refuses "not a number" run tube --set gravity=down
refuses "not a number" run tube --set gravity=
refuses "not a number" run tube --set gravity=0.01g
refuses "too large" run tube --set gravity=1e999
refuses "NAME=VALUE" run tube --set gravity
refuses "NAME=VALUE" run tube --set =1
refuses "colour" run tube --set colour=1
refuses "parameter" run tube --set a-name-that-is-longer-than-any-parameter=1
refuses "iterations" run tube --solver classic --set iterations=0
refuses "momentum has it" run tube --solver classic --set viscosity=0.1
refuses "classic has no parameter" run tube --set classic.viscosity=0.1
refuses "momentum.viscosity is 1" run tube --solver classic --set momentum.viscosity=1
refuses "unknown benchmark 'swim';" bench swim
refuses "did you mean block-32?" bench blok-32
refuses "did you mean dambreak?" run dambrake
refuses "did you mean --updates?" run tube --update 3
refuses "did you mean run?" rum tube
refuses "unknown benchmark 'block-3'" bench block-3
refuses "unknown benchmark ''" bench ''
works bench --list block-32
same "block-32 of both solvers" "momentum-block-32 classic-block-32" "$(xargs <"$work/out")"
works bench --list classic-block-64 dambreak
same "what a word of the name means" "momentum-dambreak classic-block-64 classic-dambreak mesh-dambreak" "$(xargs <"$work/out")"
refuses "cpu or opencl" bench --backend magic

# ---- A scene's own solver --------------------------------------------------------------------------------------------------

works help run
says "default the scene's own"
for scene in tube ground terrain locus; do
    works scenes
    own=$(sed -n "/^$scene:/,/; solver /s/.*; solver //p" "$work/out")
    works run "$scene" --size 16 --updates 2 --quiet --report "$work/own.json"
    same "the solver of $scene" "$own" "$(value solver "$work/own.json")"
    for solver in momentum classic; do
        works run "$scene" --size 16 --updates 2 --quiet --report "$work/own.json" --solver $solver
        same "another solver for $scene" $solver "$(value solver "$work/own.json")"
    done
done
rm -f "$work/own.json"

# ---- Devices ---------------------------------------------------------------------------------------------------------------
# Once as the machine is, then as one without OpenCL, and as one with OpenCL but no driver.

works devices
says "cpu, device 0: "
says "opencl, "
opencl_lines=$(grep -c '^opencl, ' "$work/out")
if grep -q '^opencl, device 0: ' "$work/out"; then
    says "GB/s (copy"
    same "one bandwidth per OpenCL device" "$opencl_lines" "$(grep -c 'GB/s (copy' "$work/out")"
    refuses "there is no OpenCL device 'swim'" run tube --backend opencl --device swim
    refuses "there is no OpenCL device '64'" run tube --device=64 --backend opencl

    # The device says what it is and gives the CPU's hash; next to nothing travels.
    works run tube --size 12 --updates 20 --threads 1 --report "$work/cpu.json"
    same "nothing travels on the CPU" 0 "$(value to_device "$work/cpu.json")"
    works run tube --size 12 --updates 20 --backend opencl --report "$work/device.json"
    parses "$work/device.json"
    says "device   OpenCL device "
    same "the hash of the device" "$(value hash "$work/cpu.json")" "$(value hash "$work/device.json")"
    same "the backend" opencl "$(value backend "$work/device.json")"
    device=$("$weir" devices | sed -n 's/^opencl, device 0: //p')
    checks=$((checks + 1))
    grep -qF "\"device\": \"$device, driver " "$work/device.json" || fail "the report does not name the device $device"
    works run tube --size 12 --updates 20 --backend opencl --device 0 --report -
    parses "$work/out"
    works run dambreak --size 32 --updates 60 --backend opencl --quiet --report "$work/device.json"
    for key in transfer to_device from_device per_update share_of_channels rules_on_host; do
        checks=$((checks + 1))
        grep -q "\"$key\": " "$work/device.json" || fail "the report has no $key"
    done
    checks=$((checks + 1))
    share=$(value share_of_channels "$work/device.json")
    awk "BEGIN { exit !($share > 0 && $share < 0.01) }" || fail "$share of the channels travels per update"

    # A device that computes in other bits is refused.
    WEIR_BREAK_CONTRACT=1
    export WEIR_BREAK_CONTRACT
    refuses "in other bits than the processor" run tube --size 12 --updates 1 --backend opencl --quiet
    unset WEIR_BREAK_CONTRACT

    # One that is lost, or too small, ends the run.
    run_with() {
        run "$@"
        [ "$status" -eq 1 ] || fail "$*: status $status, expected 1"
        [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$*: stderr is not one line"
    }
    WEIR_DEVICE_FAIL_AT=200
    export WEIR_DEVICE_FAIL_AT
    run_with run tube --size 12 --updates 100 --backend opencl --quiet
    grep -q "went back from update" "$work/err" || fail "a lost device is not told"
    unset WEIR_DEVICE_FAIL_AT
    WEIR_DEVICE_MEMORY=1000000
    export WEIR_DEVICE_MEMORY
    run_with run dambreak --size 32 --updates 100 --backend opencl --quiet
    grep -q "MiB" "$work/err" || fail "a device that is too small is not told"
    unset WEIR_DEVICE_MEMORY

    export WEIR_OPENCL_LIBRARY=/nonexistent
    works devices
    says "opencl, no device: "
    says "/nonexistent"
    refuses "/nonexistent" run tube --backend opencl
    works run tube --size 12 --updates 20 --report -
    same "the CPU runs where there is no OpenCL" "$(value hash "$work/cpu.json")" "$(value hash "$work/out")"
    unset WEIR_OPENCL_LIBRARY

    mkdir "$work/vendors"
    export OCL_ICD_VENDORS="$work/vendors"
    works devices
    says "opencl, no device: "
    says "no driver"
    refuses "no driver" run tube --backend opencl
    works run tube --size 12 --updates 20 --report -
    same "the CPU runs where there is no driver" "$(value hash "$work/cpu.json")" "$(value hash "$work/out")"
    unset OCL_ICD_VENDORS
    rm "$work/cpu.json" "$work/device.json"
else
    says "opencl, no device: "
    same "one line tells why there is no OpenCL" 1 "$opencl_lines"
    refuses "OpenCL" run tube --backend opencl
fi

# ---- Files -----------------------------------------------------------------------------------------------------------------

refuses "cannot be written" run tube --updates 1 --report "$work/missing/report.json"
refuses "cannot be written" run tube --updates 1 --report "$work"
refuses "empty" run tube --updates 1 --report ''
refuses "cannot be written" run tube --updates 1 --save "$work/missing/tube.weir"
refuses "cannot be written" run tube --updates 1 --save "$work"
long=$(printf '%0250d' 0)
for option in "save $work/$long" "export $work/$long.ply" "video $work/$long.mp4" "report $work/$long"; do
    refuses "cannot be written: File name too long" run tube --updates 1 "--${option% *}" "${option#* }"
done
refuses "there are .ply, .obj" run tube --updates 1 --export "$work/tube.xyz"
refuses "there are .ply, .obj" run tube --updates 1 --export "$work/tube"
refuses "has no ending" run tube --updates 1 --export .ply
mkdir "$work/stone.mtl"
refuses "stone.mtl cannot be written: it is a folder" run tube --updates 1 --export "$work/stone.obj"
refuses "at most 536870912" run tube --updates 1 --export "$work/tube.vox" --export-box 0,0,0,1000,1000,1000
refuses "a .vti file holds at most" run tube --updates 1 --export "$work/tube.vti" --export-box 0,0,0,1000000,1000000,1000000
refuses "outside the world" run tube --updates 1 --export "$work/tube.vti" --export-box 0,-5,0,8,0,8
refuses "out of range" run tube --updates 1 --export "$work/tube.vti" --export-box=-9223372036854775808,0,0,1,1,1
refuses "out of range" run tube --updates 1 --export "$work/tube.vti" --export-box 0,0,0,1,1,9999999999
refuses "cannot be written" run tube --updates 1 --export "$work/missing/tube.ply"
refuses "needs --export" run tube --updates 1 --export-every 5
refuses "out of range" run tube --updates 1 --export "$work/tube.ply" --export-every 0
refuses "needs --export" run tube --updates 1 --export-box 0,0,0,1,1,1
refuses "for .vti and .vox files" run tube --updates 1 --export "$work/tube.ply" --export-box 0,0,0,1,1,1
for box in '' 1 0,0,0,1,1 0,0,0,1,1,1,1 0,0,0,1,1,1.5 '0, 0,0,1,1,1' 0,0,0,1,1,; do
    refuses "six whole numbers" run tube --updates 1 --export "$work/tube.vti" --export-box "$box"
done
for box in 5,5,5,1,1,1 0,0,0,1,1,0 2,0,0,1,1,1; do
    refuses "--export-box $box holds no cell" run tube --updates 1 --export "$work/tube.vti" --export-box "$box"
done
refuses "" run tube --load "$work/missing.weir"
refuses "" run tube --load "$work"
: >"$work/empty.weir"
refuses "" run tube --load "$work/empty.weir"
head -c 4096 /dev/zero >"$work/zeros.weir"
refuses "" run tube --load "$work/zeros.weir"
# To read from a pipe would be to wait for somebody who writes into it; to write in place of one would be to remove it.
mkfifo "$work/pipe.lua" "$work/pipe.weir" "$work/pipe.vox" "$work/pipe.png" "$work/pipe.obj" "$work/pipe.mp4"
for file in pipe.vox pipe.png pipe.obj; do refuses "it is not a plain file" run --terrain "$work/$file"; done
has Lua && refuses "it is not a plain file" run "$work/pipe.lua"
refuses "it is not a plain file" run tube --load "$work/pipe.weir"
refuses "it is not a plain file" run tube --updates 1 --save "$work/pipe.weir"
refuses "it is not a plain file" run tube --updates 1 --export "$work/pipe.vox"
refuses "it is not a plain file" run tube --updates 1 --video "$work/pipe.mp4"
rm "$work/pipe.lua" "$work/pipe.vox" "$work/pipe.png" "$work/pipe.obj" "$work/pipe.mp4"
same "no report is left behind by a run that was refused" 0 "$(find "$work" -name '*.json*' | wc -l)"
if [ -c /dev/full ]; then
    checks=$((checks + 1))
    "$weir" run pool --size 4 --updates 1 --report - >/dev/full 2>"$work/err"
    [ $? -eq 1 ] || fail "a full disk behind --report - does not fail"
    run run pool --size 4 --updates 1 --quiet --report /dev/full
    [ "$status" -eq 1 ] || fail "a full disk behind --report does not fail: status $status"
fi

# ---- Runs ------------------------------------------------------------------------------------------------------------------

works run pool --size 4 --updates 3
for word in pool momentum updates cells memory drift hash max_flow; do says "$word"; done
works run pool --size 4 --updates 3 --quiet
same "a quiet run prints nothing" 0 "$(wc -c <"$work/out")"
works run pool --size 4 --updates 0 --report -
parses "$work/out"

works run tube --size=24 --updates=40 --hash-every 10 --threads 1 --report "$work/tube.json"
parses "$work/tube.json"
for key in scene solver backend device threads size seed updates seconds update_ms median p99 max cells_updated \
    cells_per_second peak_bricks peak_cells peak_bytes bytes_per_cell mass_start mass_end ledger added removed drained turned \
    drift max_fill mean_excess hash hashes rules transfer rules_on_host probes level_left level_right swings; do
    checks=$((checks + 1))
    grep -q "\"$key\": " "$work/tube.json" || fail "the report has no $key"
done
same "drift" 0 "$(value drift "$work/tube.json")"
same "mass" "$(value mass_start "$work/tube.json")" "$(value mass_end "$work/tube.json")"
same "updates" 40 "$(value updates "$work/tube.json")"
same "hashes asked for" 4 "$(grep -c '"update": ' "$work/tube.json")"
hash=$(value hash "$work/tube.json")
same "a hash of 16 digits" 17 "$(echo "$hash" | tr -d -c '0-9a-f\n' | wc -c)"

# --report - prints the JSON and nothing else, and the same run gives the same hash, on other threads and code paths too.
works run tube --size 24 --updates 40 --threads 2 --report -
parses "$work/out"
same "hash on two threads" "$hash" "$(value hash "$work/out")"
works run tube --size 24 --updates 40 --simd scalar --report -
same "hash of the scalar path" "$hash" "$(value hash "$work/out")"

# Exports, on the way and at the end, leave the run as it is.
works run tube --size 24 --updates 40 --export "$work/tube.glb" --export-every 15 --report -
same "hash of a run with exports" "$hash" "$(value hash "$work/out")"
same "exported files" "tube-000015.glb tube-000030.glb tube-000040.glb" "$(cd "$work" && echo tube*.glb)"
for ending in ply OBJ; do
    works run tube --size 24 --updates 2 --quiet --export "$work/tube.$ending"
    [ -s "$work/tube.$ending" ] || fail "no tube.$ending was written"
done

# The files of a series have one box, that of the world; one that is asked for goes before it.
extents() { cat "$@" | grep -a -o 'WholeExtent="[^"]*"' | sort -u; }
works run fall --size 8 --updates 40 --quiet --export "$work/fall.vti" --export-every 10
same "files of a series" 4 "$(ls "$work"/fall-0000*.vti | wc -l)"
same "boxes of a series" 1 "$(extents "$work"/fall-0000*.vti | wc -l)"
works run fall --size 8 --updates 10 --quiet --export "$work/fall.vti" --export-every 5 --export-box=-1,2,3,4,6,8
same "the box that was asked for" 'WholeExtent="0 5 0 4 0 5"' "$(extents "$work/fall-000005.vti")"
works run tube --size 24 --updates 2 --quiet --export "$work/part.vox" --export-box 0,0,0,5,6,7
same "the size of a part, their z up" "5 7 6" "$(od -An -td4 -j32 -N12 "$work/part.vox" | xargs)"

# An export that fails ends the run; report and snapshot tell of what was done up to there.
mkdir "$work/cut-000030.ply"
run run tube --size 24 --updates 60 --quiet --export "$work/cut.ply" --export-every 15 --report "$work/cut.json" \
    --save "$work/cut.weir"
[ "$status" -eq 1 ] || fail "an export that fails: status $status, expected 1"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "an export that fails is not told in one line"
parses "$work/cut.json"
same "updates up to the failure" 30 "$(value updates "$work/cut.json")"
works run tube --size 24 --updates 10 --load "$work/cut.weir" --report -
same "hash after a failure and a load" "$hash" "$(value hash "$work/out")"
rm "$work/cut.json" "$work/cut.weir"

# A run cut in two by a snapshot ends where the whole one does.
works run tube --size 24 --updates 15 --quiet --save "$work/tube.weir"
works run tube --size 24 --updates 25 --load "$work/tube.weir" --report -
same "hash after save and load" "$hash" "$(value hash "$work/out")"
same "further updates" 25 "$(value updates "$work/out")"
refuses "size 12" run tube --size 12 --updates 1 --load "$work/tube.weir"
refuses "pool" run pool --updates 1 --load "$work/tube.weir"
refuses "" run tube --size 24 --solver classic --updates 1 --load "$work/tube.weir"
head -c 500 "$work/tube.weir" >"$work/short.weir"
refuses "" run tube --size 24 --updates 1 --load "$work/short.weir"

# Every scene plays under both solvers and keeps its ledger.
for scene in watercube:24 dambreak:16 damhole:24 fountain:21 shallowwave:32 tsunami:32 tube:12 pool:4 lake:32 puddle:4 raft:32 slosh:32 wave:32 \
    fall:4 column:8 random:12 block:8; do
    for solver in momentum classic; do
        works run "${scene%:*}" --size "${scene#*:}" --solver $solver --updates 5 --report -
        parses "$work/out"
        same "drift of $scene under $solver" 0 "$(value drift "$work/out")"
    done
done
works run random --seed 7 --updates 5 --report -
first=$(value hash "$work/out")
works run random --seed 8 --updates 5 --report -
checks=$((checks + 1))
[ "$first" != "$(value hash "$work/out")" ] || fail "two seeds give one world"
works run pool --size 4 --updates 2 --set gravity=0.02 --set damping=0.1 --quiet
works run pool --size 4 --updates 2 --set classic.damping=0.1 --set momentum.viscosity=0.1 --quiet

if has Lua; then
    # The script of the documentation.
    works run "$WEIR_SOURCE/scenes/lua/tap.lua" --size 16 --updates 20 --report -
    parses "$work/out"
    same "drift of a script" 0 "$(value drift "$work/out")"
    same "name of a script" tap "$(value scene "$work/out")"

    # Nothing that a script or its name says gives orders to a terminal, or spoils the report: not its letters in other codes either.
    esc=$(printf '\033')
    strange=$work/$(printf 'a\033[31m\302\233b\377').lua
    cat >"$strange" <<'END'
world{bounds = {0, 0, 0, 8, 8, 8}, summary = "\27[2J"}
print("said \27[2J\t\r\n\127\194\155 höher")
probe("deep\27[5m\194\155", function() return 7 end)
probe("bad\27[5m", function() error("no \27[5m") end)
END
    run run "$strange" --updates 1 --report "$work/strange.json"
    says "?[31m"
    says "deep?[5m"
    grep -q 'said ?\[2J   ??? höher' "$work/err" || fail "what a script prints is not as it should be"
    cat "$work/out" "$work/err" "$work/strange.json" >"$work/all"
    parses "$work/strange.json"
    same "control characters" 0 "$(LC_ALL=C tr -d -c '\000-\011\013-\037\177' <"$work/all" | wc -c)"
    same "controls in two bytes" 0 "$(LC_ALL=C grep -c "$(printf '\302\233')" "$work/all")"
    same "a probe's name in the report" 1 "$(grep -c 'deep.u001b\[5m' "$work/strange.json")"
    refuses "??2J" run "$work/none$(printf '\302\233')2J.lua"
    if script -qec true /dev/null >/dev/null 2>&1; then
        script -qec "'$weir' run '$strange' --updates 300" /dev/null >"$work/out" </dev/null
        same "a progress bar with a strange name" 0 "$(grep -c "$esc\[31m" "$work/out")"
    fi
    rm "$strange"
fi

# ---- Pictures --------------------------------------------------------------------------------------------------------------

refuses "--frames DIR or --video FILE" run tube --look voxel
refuses "--frames DIR or --video FILE" run tube --fps 10
refuses "water, voxel, flow, pressure, fill or temperature" run tube --frames "$work/f" --look cubist
refuses "the solver momentum knows no temperature" run tube --frames "$work/f" --look temperature
refuses "out of range" run tube --frames "$work/f" --picture 0x0
refuses "out of range" run tube --frames "$work/f" --picture 100000x100
refuses "out of range" run tube --frames "$work/f" --picture 99999999999999999999x100
for size in 1280 1280x 1280x720x3 x720 -5x5 12.5x7 ' 5x5' nanxnan ''; do
    refuses "WIDTHxHEIGHT" run tube --frames "$work/f" --picture "$size"
done
refuses "out of range" run tube --frames "$work/f" --fps 0
refuses "whole number" run tube --frames "$work/f" --fps 12.5
refuses "out of range" run tube --frames "$work/f" --frame-every 0
refuses "out of range" run tube --frames "$work/f" --speed 0
refuses "out of range" run tube --frames "$work/f" --speed nan
refuses "takes a number" run tube --frames "$work/f" --speed fast
refuses "give one of them" run tube --frames "$work/f" --speed 2 --frame-every 3
refuses "out of range" run tube --frames "$work/f" --fov nan
refuses "out of range" run tube --frames "$work/f" --fov 180
for camera in '' 1,2,3 1,2,3,4,5 1,2,3,4,5,6,7 nan,2,3,4,5,6 1,2,3,4,5,inf 1,2,3,4,5,x 1e99,2,3,4,5,6 '1, 2,3,4,5,6'; do
    refuses "six numbers" run tube --frames "$work/f" --camera "$camera"
done
refuses "looks nowhere" run tube --frames "$work/f" --camera 1,2,3,1,2,3
refuses "must end in .mp4, .webm or .gif" run tube --video "$work/tube.avi"
refuses "must end in .mp4, .webm or .gif" run tube --video .mp4
refuses "empty" run tube --frames ''
if has libpng; then
    refuses "cannot be written to" run tube --frames "$work/missing/f"
    : >"$work/plain"
    refuses "cannot be written to" run tube --frames "$work/plain"
fi
same "nothing was made by what was refused" 0 "$(find "$work" -name 'f' -o -name '*.png' -o -name '*.mp4' | wc -l)"
if has libpng; then
    works run kettle --size 4 --updates 2 --frame-every 2 --frames "$work/warm" --look temperature
fi

# is_picture FILE WIDTH HEIGHT: a PNG of this size, by its first bytes.
is_picture() {
    checks=$((checks + 1))
    head=$(od -An -tx1 -N24 "$1" 2>/dev/null | tr -d ' \n')
    [ "$head" = "$(printf '89504e470d0a1a0a0000000d49484452%08x%08x' "$2" "$3")" ] || fail "$1 is no picture of $2 x $3"
}

run run pool --size 4 --updates 0 --quiet --picture 16x16 --frames "$work/trial"
if [ "$status" -eq 0 ]; then
    # 25 pictures a second of 100 updates: every fourth update, the first one included.
    works run dambreak --size 16 --updates 9 --picture 64x48 --frames "$work/frames" --report "$work/frames.json"
    says "frames   3 of 64 x 48, look water"
    parses "$work/frames.json"
    same "frames in the report" 3 "$(value frames "$work/frames.json")"
    same "frame_ms in the report" 1 "$(grep -c '"frame_ms": ' "$work/frames.json")"
    same "frames in the folder" 3 "$(ls "$work/frames" | wc -l)"
    for i in 0 1 2; do is_picture "$work/frames/frame-0000$i.png" 64 48; done
    works run dambreak --size 16 --updates 9 --picture 64x48 --frames "$work/again" --threads 1 --quiet
    for i in 0 1 2; do
        checks=$((checks + 1))
        cmp -s "$work/frames/frame-0000$i.png" "$work/again/frame-0000$i.png" || fail "picture $i depends on the threads"
    done
    works run dambreak --size 16 --updates 9 --picture 64x48 --quiet --frames "$work/every" --frame-every 3 --look voxel \
        --camera 16,20,60,16,4,8 --fov 30
    same "every third update" 4 "$(ls "$work/every" | wc -l)"
    works run dambreak --size 16 --updates 20 --picture 64x48 --quiet --frames "$work/fast" --speed 2 --fps 20 --look flow
    same "twice as fast" 3 "$(ls "$work/fast" | wc -l)"
    works run dambreak --size 16 --updates 2 --picture 64x48 --quiet --frames "$work/slow" --speed 0.5 --fps 100 --look fill
    same "half as fast" 5 "$(ls "$work/slow" | wc -l)"
    checks=$((checks + 1))
    cmp -s "$work/slow/frame-00001.png" "$work/slow/frame-00002.png" || fail "two pictures of one update differ"
    works run dambreak --size 16 --updates 0 --picture 1x1 --quiet --frames "$work/one" --look pressure
    is_picture "$work/one/frame-00000.png" 1 1

    # Pictures of an earlier, longer run go, up to the first gap, and nothing else in the folder.
    touch "$work/frames/frame-1.png" "$work/frames/frame-00009.png" "$work/frames/notes"
    works run dambreak --size 16 --updates 4 --picture 64x48 --frames "$work/frames"
    says "1 of an earlier run removed"
    same "the folder after a shorter run" "frame-00000.png frame-00001.png frame-00009.png frame-1.png notes" \
        "$(cd "$work/frames" && LC_ALL=C ls | xargs)"

    # A picture that fails ends the run; report and snapshot tell of what was done up to there.
    mkdir -p "$work/cut/frame-00002.png"
    touch "$work/cut/frame-00003.png"
    run run dambreak --size 16 --updates 40 --picture 64x48 --frames "$work/cut" --report "$work/cut.json" --save "$work/cut.weir"
    [ "$status" -eq 1 ] || fail "a picture that fails: status $status, expected 1"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "a picture that fails is not told in one line"
    parses "$work/cut.json"
    says "updates  8 in"
    same "updates up to the failure" 8 "$(value updates "$work/cut.json")"
    same "pictures up to the failure" 2 "$(value frames "$work/cut.json")"
    works run dambreak --size 16 --updates 1 --load "$work/cut.weir" --quiet
    mkdir -p "$work/first/frame-00000.png"
    touch "$work/first/frame-00001.png"
    run run dambreak --size 16 --updates 40 --picture 64x48 --frames "$work/first" --quiet --report "$work/first.json" \
        --save "$work/first.weir"
    [ "$status" -eq 1 ] || fail "a first picture that fails: status $status, expected 1"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "a first picture that fails is not told in one line"
    parses "$work/first.json"
    same "updates before the first picture" 0 "$(value updates "$work/first.json")"
    [ -s "$work/first.weir" ] || fail "no snapshot after a first picture that failed"
    # A run that failed removes nothing.
    [ -e "$work/first/frame-00001.png" ] && [ -e "$work/cut/frame-00003.png" ] || fail "a run that failed removed pictures"
    # On a terminal the sentence has a line of its own.
    if script -qec true /dev/null >/dev/null 2>&1; then
        checks=$((checks + 1))
        script -qec "'$weir' run dambreak --size 16 --updates 40 --picture 64x48 --frames '$work/cut'" /dev/null >"$work/out" </dev/null
        printf '\r\033[Kweir: cannot write' >"$work/wanted"
        grep -qF "$(cat "$work/wanted")" "$work/out" || fail "a failure is printed into the progress bar"
    fi

    # Without ffmpeg the run is made all the same, and its pictures are kept.
    mkdir "$work/no-path"
    checks=$((checks + 1))
    PATH="$work/no-path" "$weir" run dambreak --size 16 --updates 4 --picture 64x48 --quiet --video "$work/none.mp4" \
        >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq 1 ] || fail "a film without ffmpeg: status $status, expected 1"
    grep -q "apt-get install ffmpeg" "$work/err" || fail "a missing ffmpeg is not told"
    same "pictures kept without ffmpeg" 2 "$(ls "$work/none.mp4.frames" | wc -l)"
else
    grep -q "libpng" "$work/err" || fail "a build without libpng does not say so"
fi

if command -v ffmpeg >/dev/null 2>&1; then
    for ending in mp4 webm gif; do
        works run dambreak --size 16 --updates 8 --picture 65x47 --quiet --video "$work/film.$ending"
        checks=$((checks + 1))
        [ -s "$work/film.$ending" ] || fail "there is no film.$ending"
        if command -v ffprobe >/dev/null 2>&1; then
            same "pictures in film.$ending" 3 "$(ffprobe -v error -count_frames -select_streams v -show_entries \
                stream=nb_read_frames -of default=nw=1:nk=1 "$work/film.$ending")"
        fi
    done
    same "nothing is left beside the films" 0 "$(find "$work" -name '*.tmp*' | wc -l)"
    refuses "cannot be written" run tube --updates 1 --video "$work/missing/film.mp4"

    # One that fails ends the run.
    mkdir "$work/broken"
    printf '#!/bin/sh\necho no encoder today >&2\nexit 3\n' >"$work/broken/ffmpeg"
    chmod +x "$work/broken/ffmpeg"
    checks=$((checks + 1))
    PATH="$work/broken:$PATH" "$weir" run dambreak --size 16 --updates 8 --quiet --video "$work/broken.mp4" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq 1 ] || fail "a broken ffmpeg: status $status, expected 1"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "a broken ffmpeg is not told in one line"
    grep -q "no encoder today" "$work/err" || fail "what ffmpeg said is not told"
    same "no film is left behind" 0 "$(find "$work" -name 'broken.mp4*' | wc -l)"
fi

# Terrain from files, and from files that are none; places and wrong places.
printf '\211PNG\r\n\032\n and then nothing' >"$work/bad.png"
has libpng && refuses "the picture cannot be read" run --terrain "$work/bad.png"
refuses "cannot read" run --terrain "$work/nothing.vox"
echo "VOX " >"$work/bad.vox"
refuses "bad.vox: " run dambreak --terrain "$work/bad.vox"
refuses "three whole numbers" run dambreak --terrain "$work/bad.vox@1,2"
refuses "does not end in" run dambreak --terrain "$work/bad"
refuses "--terrain-scale" run dambreak --terrain-scale 2
refuses "--fluid-index" run dambreak --fluid-index 2
refuses "0.000001" run dambreak --terrain "$work/bad.vox" --terrain-scale -1
refuses "1 to 255" run dambreak --terrain "$work/bad.vox" --fluid-index 0
works run pool --size 8 --updates 1 --quiet --export "$work/pool.vox"
refuses "--load" run pool --size 8 --terrain "$work/pool.vox" --load "$work/tube.weir"
works run tube --size 24 --terrain "$work/pool.vox@2,3,0" --updates 2 --report -
same "drift over terrain from a file" 0 "$(value drift "$work/out")"
refuses "lie outside the world" run tube --size 24 --terrain "$work/pool.vox@-1000,3,0"
refuses "out of range" run tube --size 24 --terrain "$work/pool.vox@-2000000000,0,0"
refuses "out of range" run tube --size 24 --terrain "$work/pool.vox@0,0,99999999999999999999"
refuses "--size is for scenes" run --terrain "$work/pool.vox" --size 5
refuses "a place is for scenes" run --terrain "$work/pool.vox@0,0,0"
works run --terrain "$work/pool.vox" --fluid-index 1 --solver classic --updates 2 --report -
same "scene of a file" terrain "$(value scene "$work/out")"
same "water of a file" $((16 * 16 * 8 * 4194304)) "$(value mass_start "$work/out")"
works run --terrain "$work/pool.vox" --updates 30 --report -
hash=$(value hash "$work/out")
works run --terrain "$work/pool.vox" --updates 12 --quiet --save "$work/ground.weir"
works run --terrain "$work/pool.vox" --updates 18 --load "$work/ground.weir" --report -
same "hash of a file's world after save and load" "$hash" "$(value hash "$work/out")"
refuses "not scene terrain" run --terrain "$work/pool.vox" --load "$work/tube.weir"
refuses "there are .ply" run pool --export "$work/pool.xyz"

# Signals end the run after the update at work, with a report, a snapshot and a film of what was done. A shell without job control
# starts background programs deaf to SIGINT, so the program is started through env where that helps.
film=''
command -v ffmpeg >/dev/null 2>&1 && film="--picture 64x48 --frame-every 1 --video $work/cut.mp4"
signals='TERM 143 HUP 129'
env --default-signal=INT true 2>/dev/null && signals="INT 130 $signals"
started_by() { if [ "$1" = INT ]; then echo env --default-signal=INT; fi; }
# A run that is at work writes its first mesh; a busy machine may take a while to get there.
alive="--export $work/alive.ply --export-every 20"
wait_for_life() {
    for i in $(seq 600); do
        ls "$work"/alive* >/dev/null 2>&1 && break
        sleep 0.1
    done
}
set -- $signals
while [ $# -gt 0 ]; do
    rm -f "$work"/cut.* "$work"/alive*
    $(started_by "$1") "$weir" run tube --size 16 --updates 1000000 --quiet $film --report "$work/cut.json" --save "$work/cut.weir" \
        $alive >"$work/out" 2>"$work/err" &
    process=$!
    wait_for_life
    checks=$((checks + 1))
    kill "-$1" $process
    wait $process
    status=$?
    [ "$status" -eq "$2" ] || fail "a run that got SIG$1 ends with status $status"
    grep -q "interrupted after" "$work/err" || fail "a run that got SIG$1 does not say so"
    parses "$work/cut.json"
    works run tube --size 16 --updates 1 --load "$work/cut.weir" --quiet
    [ -z "$film" ] || [ -s "$work/cut.mp4" ] || fail "SIG$1 leaves no film"
    same "nothing but what was asked for is left by SIG$1" "$([ -z "$film" ] && echo 2 || echo 3)" "$(ls -A "$work" | grep -c '^\.*cut\.')"
    shift 2
done

# A report that waits for its reader gives up.
if command -v timeout >/dev/null 2>&1; then
    checks=$((checks + 1))
    timeout -k 10 5 "$weir" run tube --size 16 --updates 1 --quiet --report "$work/pipe.weir" 2>"$work/err"
    grep -q "could not be written" "$work/err" || fail "a report that waits for a reader does not end at SIGTERM"
fi

# Under nohup a closed terminal is none of its business.
if command -v nohup >/dev/null 2>&1; then
    checks=$((checks + 1))
    rm -f "$work"/alive*
    nohup "$weir" run tube --size 16 --updates 800 --quiet --report "$work/hup.json" $alive >"$work/out" 2>"$work/err" </dev/null &
    process=$!
    wait_for_life
    kill -HUP $process 2>/dev/null
    wait $process
    status=$?
    [ "$status" -eq 0 ] || fail "a run under nohup ends with status $status at SIGHUP"
fi

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
