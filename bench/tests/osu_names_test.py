#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starts sluice-bench under OSU's names with the words of ReFrame's checks and of scripts, and reads what they read.

  osu_names_test.py <tests/launch and its words> -- <sluice-bench>
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# The words of ReFrame's hpctestlib/microbenchmarks/mpi/osu.py, where point to point ends with D D though there is no device (there
# bandwidth is of 4 MiB).
CHECKS = (("osu_alltoall", 8, ()), ("osu_allreduce", 8, ()), ("osu_latency", 8, ("D", "D")), ("osu_bw", 1024, ("D", "D")))
SCRIPTS = (("osu_iallreduce", ("-m", "64:64", "-r", "cpu", "-t", "2", "-i", "8", "-x", "1", "-f"), r"^64\s+[\d.]+\s+[\d.]+\s"),
           ("osu_latency", ("--message-size", "1:8", "--iterations", "8", "--warmup", "1", "-c"), r"^8\s+[\d.]+.*Pass"),
           ("osu_mbw_mr", ("-m", "8:8", "-W", "4", "-i", "8", "-x", "1"), r"^8\s+[\d.]+\s"),
           ("osu_mbw_mr", ("-p", "1", "-R", "1", "-V", "0", "-u", "3", "-m", "8:8", "-W", "4", "-i", "8", "-x", "1"), r"^8\s+[\d.]+\s"),
           ("osu_bcast", ("-k", "fixed:1", "-T", "all", "-c", "-m", "8:8", "-i", "8", "-x", "1"), r"^8\s+[\d.]+.*Pass"),
           ("osu_put_latency", ("-w", "create", "-s", "fence", "-m", "8", "-i", "8", "-x", "1"), r"^8\s+[\d.]+"))
# What is not here: one line that says what to use instead.
REFUSED = (("osu_hello", (), "sluice-bench: OSU's hello has no counterpart here: init says"),
           ("osu_latency", ("-G", "png"), "sluice-bench: -G: no graphs from here"))


def main():
    separator = sys.argv.index("--")
    launch, program = sys.argv[1:separator + 1], pathlib.Path(sys.argv[separator + 1])
    with tempfile.TemporaryDirectory() as folder:
        def run(name, words, status=0):
            link = pathlib.Path(folder) / name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
            done = subprocess.run([*launch, str(link), *words], capture_output=True, text=True, check=False)
            assert done.returncode == status, f"{name} {words}: {done.stdout}{done.stderr}"
            return done.stdout + done.stderr if status else done.stdout

        for name, size, placement in CHECKS:
            output = run(name, ("-m", str(size), "-x", "2", "-i", "8", *placement))
            found = re.search(rf"^{size}\s+(\S+)", output, re.MULTILINE)
            assert found and float(found[1]) > 0, f"{name}: ReFrame would find no figure in\n{output}"
        for name, words, pattern in SCRIPTS:
            output = run(name, words)
            assert re.search(pattern, output, re.MULTILINE), f"{name} {words}: no {pattern} in\n{output}"
        for name, words, line in REFUSED:
            assert line in run(name, words, 2), f"{name} {words}: no line {line}"
    print(f"{len(CHECKS)} checks and {len(SCRIPTS)} scripts find their figures")


if __name__ == "__main__":
    main()
