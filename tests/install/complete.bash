#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints what bash offers behind a line.
#
# Usage: complete.bash FOLDER LINE    FOLDER: the files of completion
set -uo pipefail
line=$2
read -ra COMP_WORDS <<<"${line//=/ = }"
[[ $line != *" " ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
# shellcheck source=/dev/null
source "$1/${COMP_WORDS[0]}"
# The function that the file registered for the program: `complete -F function names`.
function=$(complete -p "${COMP_WORDS[0]}" | sed 's/.*-F \([^ ]*\) .*/\1/')
COMPREPLY=()
"$function"
printf '%s\n' "${COMPREPLY[@]}"
