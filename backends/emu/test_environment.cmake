# SPDX-License-Identifier: BSD-3-Clause
# The emulated device fails on purpose when this knob says so; the fault tests and the checker proof use it.
set(SLUICE_TEST_FAULT_KNOB SLUICE_EMU_FAULT)
