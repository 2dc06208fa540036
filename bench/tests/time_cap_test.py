#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every test of --list with a time cap, and counts blocks: one when the time is over at once, six (which an interval
takes) when any interval will do. What ignores the cap runs the hundred blocks that a cap allows at most.

  time_cap_test.py <tests/launch and its words> -- <sluice-bench> <the device's name>
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ON_A_DEVICE = {"copy_list", "copy_ways", "device_reduce", "memcpy", "memcpy_kinds", "pack", "queue_latency", "queue_overlap"}
DEVICE_CALLS = {"event", "ipc_export", "ipc_open", "launch", "query_pointer", "queue_enqueue", "synchronize", "trigger"}
WITHOUT_SIZES = {"barrier", "barrier_persistent", "ibarrier", "cas_latency", "fop_latency"}
ONCE = {"init"}  # MPI starts once
ALONE = {"file_read_sides", "file_write_sides"}  # one rank's
CASES = ((("--time-cap", "1e-9", "--precision", "1e-9"), "time", 1), (("--time-cap", "1e6", "--precision", "1e9"), "precision", 6))


def main():
    *launch, device = sys.argv[1:]

    def run(*words):
        done = subprocess.run([*launch, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    names = {line.split()[0] for line in run("--list").splitlines()} - ALONE
    named = ON_A_DEVICE | DEVICE_CALLS | WITHOUT_SIZES | ONCE
    assert named <= names, f"not in --list: {named - names}"
    groups = ((names - named, ("--sizes", "64")), (WITHOUT_SIZES, ()), (DEVICE_CALLS, ("-d", device)),
              (ON_A_DEVICE - {"pack"}, ("--sizes", "64", "-d", device)), ({"pack"}, ("--sizes", "64", "-d", device, "-D", "vector")))
    with tempfile.TemporaryDirectory() as folder:
        for cap, reason, n_blocks in CASES:
            for tests, words in groups if reason == "time" else groups[2:]:  # where tests of a family share a driver, bench.schema has it
                json_path = folder if len(tests) > 1 else f"{folder}/{next(iter(tests))}.json"
                run(",".join(sorted(tests)), *words, "-i", "2", "-x", "0", "--check", "none", *cap, "--json", json_path)
                for name in tests:
                    row = json.loads((pathlib.Path(folder) / f"{name}.json").read_text(encoding="utf-8"))["rows"][0]
                    found = {(series["name"], len(series["blocks"])) for series in row["series"]}
                    assert found and {n for _, n in found} == {n_blocks}, f"{name} with {cap}: blocks {found}, not {n_blocks}"
                    assert row["stopped_by"] == reason, f"{name} with {cap}: stopped by {row['stopped_by']}"
    print(f"{len(names - ONCE)} tests end with their time, and those on a device with their precision")


if __name__ == "__main__":
    main()
