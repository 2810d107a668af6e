#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Static checks of everything but the kernel code (make lint does that too): shell, Python, man
# pages, licence lines.  Prints nothing when all is well.
cd "$(dirname "$0")/.." || exit

status=0

# Files of the tree, without what was built.
files()
{
	find . \( -path ./.git -o -path ./build -o -name __pycache__ \) -prune -o -type f "$@" -print
}

is_script()	# FILE INTERPRETER-REGEX
{
	head -n 1 "$1" | grep -qE "^#!.*\b($2)\b"
}

shell=()
python=()
while read -r f; do
	if [[ $f == *.sh ]] || is_script "$f" 'sh|bash|dash'; then
		shell+=("$f")
	elif [[ $f == *.py ]] || is_script "$f" python3; then
		python+=("$f")
	fi
done < <(files | grep -vE '\.(o|ko|so|a|img|bin|xz|zst)$')
shellcheck "${shell[@]}" || status=1
for f in "${python[@]}"; do
	python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$f" || status=1
done

while read -r f; do
	mandoc -T lint -W warning "$f" || status=1
done < <(files -path './docs/*.[1-8]')

while read -r f; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier' || { echo "$f: no SPDX line"; status=1; }
done < <(files \( -name '*.[ch]' ! -name '*.mod.c' -o -name '*.sh' -o -name '*.py' -o -name '*.t' -o -name Makefile \
	-o -name Kbuild \) | while read -r f; do git check-ignore -q "$f" || echo "$f"; done)
exit $status
