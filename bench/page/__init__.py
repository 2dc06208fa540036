# SPDX-License-Identifier: BSD-3-Clause
"""Parts of report_runs: who is faster where, the plots, and the page."""
