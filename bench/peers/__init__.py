# SPDX-License-Identifier: BSD-3-Clause
"""The parts of bench/compare_peers, a file for each step."""
