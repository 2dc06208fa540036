# SPDX-License-Identifier: BSD-3-Clause
"""Parts of report_runs: the page of a job, of its statistics and traces."""
