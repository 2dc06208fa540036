# SPDX-License-Identifier: BSD-3-Clause
"""The parts of `sluice tune`: what is asked, how it is measured, what is decided."""
