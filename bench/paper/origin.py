# SPDX-License-Identifier: BSD-3-Clause
"""Which sources a page's figures are from."""

import os
import pathlib
import platform
import subprocess


def machine():
    """The cores that the figures were taken on."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return f"{os.cpu_count()} cores of {line.split(':', 1)[1].strip()}"
    return f"{os.cpu_count()} cores of {platform.machine()}"


def commit(root, build):
    """The sources' commit; of an installation the one that its sluice-bench was built from."""
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    if (root / "bench").is_dir() and done.returncode == 0:
        return done.stdout.strip()
    for program in sorted(build.glob("bin/sluice-bench.*")):
        done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.split()[-1]
    return "unknown"
