# SPDX-License-Identifier: BSD-3-Clause
# The emulated device fails on purpose when this knob says so; the fault tests and the checker proof use it.
set(SLUICE_TEST_FAULT_KNOB SLUICE_EMU_FAULT)
# The words that it answers when it plays these vendors, for the test of capabilities.
set(SLUICE_TEST_WORDS_ENVIRONMENT SLUICE_EMU_MACHINE=plays=cuda+hip)
set(SLUICE_TEST_SUPPORT_WORDS cuda hip rocm)
set(SLUICE_TEST_MEMORY_KIND_WORDS emu emu:device cuda cuda:host cuda:device cuda:managed rocm rocm:device)
# A device with room for the tests' buffers, and for little of Sluice's own.
set(SLUICE_TEST_LITTLE_MEMORY SLUICE_EMU_MACHINE=memory_bytes=24000000)
# What shows a rank one device less.
set(SLUICE_TEST_FEWER_DEVICES SLUICE_EMU_MACHINE=devices=1)
# A program captures its streams into graphs.
set(SLUICE_TEST_CAPTURES ON)
# How its streams trigger and wait, besides the usual way.
set(SLUICE_TEST_STREAM_FORMS by_kernels:SLUICE_EMU_STREAMS=kernels)
# What leaves a rank without a device.
set(SLUICE_TEST_NO_DEVICES SLUICE_EMU_MACHINE=devices=0)
