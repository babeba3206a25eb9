#!/bin/bash
# What docs/adding-a-scene.md shows works as it stands there: its scene, its line in the list, its program, and the way to compile it. And
# the parameters of docs/embedding.md are there, with the defaults that it says.
set -eu
[ -e "$WEIR_BUILD/libweir.a" ] || { echo "skipped: the page is for static libraries" && exit 0; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
page=$WEIR_SOURCE/docs/adding-a-scene.md

# block LANGUAGE HEADING: the first block of code in this language under this heading.
block() {
    awk -v fence="\`\`\`$1" -v heading="## $2" '
        $0 == heading { here = 1 }
        inside && $0 == "```" { exit }
        inside { print }
        here && $0 == fence { inside = 1 }' "$page"
}

cd "$place"
mkdir build
ln -s "$WEIR_SOURCE/include" "$WEIR_SOURCE/src" .
ln -s "$WEIR_BUILD" build/release
cp -r "$WEIR_SOURCE/scenes" .
block c 'The file' >scenes/tap.c
sed -i 's/^    ITEM(block).*/    ITEM(block) ITEM(tap)/' scenes/scenes.c
grep -q 'ITEM(tap)' scenes/scenes.c
block c 'Playing it from C' >play.c
block sh 'Playing it from C' >play.sh

# The scene and the list that has it are part of the program here, and of the library in a tree to which they were added. A library that
# is not on this machine is not in the build either.
words=''
for word in $(sed -n 's/\\$//; s/^cc //p; s/^ *-l/-l/p' play.sh); do
    case $word in
    play.c) words="$words play.c scenes/tap.c scenes/scenes.c" ;;
    -l*) if echo 'int main(void) { return 0; }' | cc -x c - "$word" -o trial 2>/dev/null; then words="$words $word"; fi ;;
    *) words="$words $word" ;;
    esac
done
cc -Wall -Wextra -Werror -Wno-missing-field-initializers $words
./play | tee said
# 24 x 24 / 256 cells per update, 500 updates, on 24 x 24 cells: a level of 1.95, of which some is in the air.
awk '{ good = $1 ~ /^[0-9a-f]+$/ && length($1) == 16 && $2 > 1.5 && $2 <= 1.96 } END { exit !good }' said

"$WEIR_BUILD/weir" help run | awk '
    /^Parameters for/ { here = 1 }
    /^Those of/ { own = $3 "." }
    /^SCENE/ { exit }
    here && /^  / { print own $1, $2 }' | sort >there
awk -F'`| *[|] *' '
    /^## / { here = /^## Parameters/ }
    here && /^\| `/ { print $3, $5 }' "$WEIR_SOURCE/docs/embedding.md" | sort >named
[ "$(wc -l <named)" -ge 10 ]
unknown=$(comm -23 named there)
[ -z "$unknown" ] || { echo "docs/embedding.md has parameters or defaults that 'weir help run' has not: $unknown" && exit 1; }
