#!/bin/sh
# Draws the pictures of the README and of docs/ again, into docs/pictures/. Anyone can run it: a few seconds each.
set -eu

root=$(dirname "$(dirname "$(readlink -f "$0")")")
out=$root/docs/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# draw NAME UPDATE SCENE OPTIONS...: the picture of a scene after so many updates. WHOLE: how many the run has, for scenes that do
# something in the middle of theirs.
draw() {
    name=$1 update=$2
    shift 2
    rm -rf "$work/frames"
    "$root/weir" run "$@" --updates "${WHOLE:-$update}" --frame-every "$update" --picture 640x360 --frames "$work/frames" --quiet
    mv "$work/frames/frame-00001.png" "$out/$name.png"
    echo "$out/$name.png: $(wc -c <"$out/$name.png") bytes"
}

draw dambreak-100 104 dambreak
draw dambreak-200 196 dambreak
draw dambreak-voxel 140 dambreak --look voxel
draw dambreak-flow 140 dambreak --look flow
draw tsunami 320 tsunami
draw tube 70 tube --look pressure
draw oilwater 30 oilwater
draw layers 1000 layers
draw burst 112 burst
draw burst-pressure 130 burst --look pressure
draw honey 60 honey --camera 76,52,4.5,14,8,4.5 --fov 32
draw icemelt 60 icemelt
WHOLE=2800
draw kettle 1400 kettle
draw kettle-temperature 1400 kettle --look temperature
unset WHOLE
