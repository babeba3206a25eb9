#!/bin/bash
# The table of laws in docs/how-it-works.md is true: each is written once, where the table says, and called by the files it names. A law
# that both machines call is in the table.
set -eu
cd "$WEIR_SOURCE/src"
page=../docs/how-it-works.md
table=$(sed -n '/^### Where each law is written/,/^## /s/^| \(.*`.*\) |$/\1/p' "$page")
failed=''

wrong() {
    echo "$page: $*"
    failed=yes
}

# Files of the tree, by the short names of the table.
place() { if [ -e "$1" ]; then echo "$1"; else echo "solvers/$1"; fi; }

# Files in which a law is written.
written_in() { grep -lrE "^(RULE [a-z0-9_]+ $1\(|#define $1[ (])" --include=*.h --include=*.cl --include=*.c . | sed 's,^\./,,'; }

laws=0
while IFS='|' read -r law written callers; do
    [ -n "$law" ] || continue
    IFS='`' read -r _ file _ name _ <<<"$written"
    found=$(written_in "$name" | tr '\n' ' ')
    [ "$found" = "$(place "$file") " ] || wrong "$name ($law) is written in: ${found:-no file}"
    for caller in $(grep -o '`[^`]*`' <<<"$callers" | tr -d '`'); do
        grep -qw "$name" "$(place "$caller")" || wrong "$caller does not call $name ($law)"
    done
    laws=$((laws + 1))
done <<<"$table"
[ "$laws" -gt 40 ] || wrong "only $laws laws were found in the table"

for name in $(grep -hoE '^RULE [a-z0-9_]+ rule_[a-z_]+' cells/{forces,gradient,neighbours}.h solvers/*/*.h | awk '{ print $3 }'); do
    grep -qrw "$name" --include=cpu_* . && grep -qrw "$name" --include=*.cl . || continue
    grep -q "\`$name\`" <<<"$table" || wrong "$name, which both machines call, is not in the table"
done
[ -z "$failed" ]
