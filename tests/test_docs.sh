#!/bin/bash
# What docs/adding-a-scene.md shows works as it stands there: its scene, its line in the list, its program, and the way to compile it. The
# parameters of docs/embedding.md are there, with the defaults that it says, and the materials of docs/materials.md, whose examples work.
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
        here && $0 == fence { inside = 1 }' "${3:-$page}"
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

# The materials that are built in, as a world tells them, are the rows of the table; a game's own and reactions are as the page shows.
materials=$WEIR_SOURCE/docs/materials.md
{
    printf '#include <stdio.h>\n#include <weir/weir.h>\nint main(void)\n{\n'
    printf 'weir_world_def def = weir_world_def_default();\ndef.solver = WEIR_SOLVER_MIXTURE;\nweir_world *world;\n'
    printf 'if (weir_world_create(&def, &world) != WEIR_OK) return 1;\n'
    cat <<'C'
    static const char *const kinds[] = {"liquid", "gas", "solid"};
    weir_material_def m, to;
    for (weir_material i = 1; weir_world_material(world, i, &m); i++) {
        printf("| %s | %s | %.7g | %.7g | %.7g | %.7g | %.7g | %.7g %.7g %.7g |\n", m.name, kinds[m.kind], m.density, m.viscosity,
               m.heat_capacity, m.conductivity, m.temperature, m.colour[0], m.colour[1], m.colour[2]);
        if (weir_world_material(world, m.freezes_to, &to))
            printf("| %s | %s | %.7g | %.7g | melts |\n", m.name, to.name, m.melting_point, m.melting_heat);
        if (weir_world_material(world, m.boils_to, &to))
            printf("| %s | %s | %.7g | %.7g | condenses |\n", m.name, to.name, m.boiling_point, m.boiling_heat);
    }
C
    block c "Materials of a game's own" "$materials"
    block c 'Reactions' "$materials"
    printf 'return weir_world_material_ledger(world, slime).held == 512ll * WEIR_FULL && weir_world_reaction_count(world) > 0 ? 0 : 1;\n}\n'
} >materials.c
cc -Wall -Wextra -Werror -Wno-missing-field-initializers $(echo "$words" | sed 's|play.c|materials.c|; s|-o play|-o materials|')
./materials >rows
[ "$(wc -l <rows)" -ge 12 ]
while read -r row; do grep -qxF "$row" "$materials" || { echo "docs/materials.md lacks the row: $row" && exit 1; }; done <rows
{ echo 'world {bounds = box(0, 0, 0, 16, 16, 16), updates = 5}' && block lua "Materials of a game's own" "$materials"; } >slime.lua
"$WEIR_BUILD/weir" run slime.lua --solver mixture --quiet

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
