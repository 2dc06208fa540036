# SPDX-License-Identifier: BSD-3-Clause
# cmake -DFATBIN=<file> -DOUT=<file.S> -P embed_kernels.cmake
# Writes an assembler file that carries the compiled kernels as the symbol sluice_copy_kernels.
file(WRITE ${OUT}
     ".section .rodata\n.balign 16\n.globl sluice_copy_kernels\n.hidden sluice_copy_kernels\n"
     ".type sluice_copy_kernels, @object\nsluice_copy_kernels:\n.incbin \"${FATBIN}\"\n"
     ".size sluice_copy_kernels, .-sluice_copy_kernels\n.section .note.GNU-stack,\"\",@progbits\n")
