# SPDX-License-Identifier: BSD-3-Clause
"""Parts of bench/paper_ccgrid23."""
