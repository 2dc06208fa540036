# SPDX-License-Identifier: BSD-3-Clause
# Prints what fish offers behind a line.
#
# Usage: fish complete.fish FOLDER LINE    FOLDER: the files of completion
source $argv[1]/(string split ' ' -- $argv[2])[1].fish
complete -C $argv[2]
