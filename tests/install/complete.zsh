# SPDX-License-Identifier: BSD-3-Clause
# Prints what zsh offers behind a line: in a terminal of its own, as zsh completes nowhere else.
#
# Usage: zsh -f complete.zsh FOLDER LINE    FOLDER: the files of completion
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PROMPT_SP=; unsetopt prompt_sp zle_bracketed_paste; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D
LISTMAX=10000; bindkey '^I' list-choices; zle-line-init() { zle -M rea'dy' }; zle -N zle-line-init"
# The line editor is there: what is typed before would not be completed.
zpty -r -m shell output "*ready*"
# What is listed comes before the line that is typed next.
zpty -w -n shell "$2"$'\t'$'\C-u'"echo do'ne'"$'\n'
zpty -r -m shell output "*done*"
print -r -- $output
