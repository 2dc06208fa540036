#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command on the emulated Level Zero driver and looks at all calls of its processes, as the loader's layers tell them.

  native_trace.py [--findings N] [--balanced] [--print] -- command [argument ...]

A finding is a call that was refused for what it was given: by the loader's validation layer, if the environment has that on, or
by the driver. Exit status: that of the command, or 1 when there are not exactly N findings (default 0), no call was seen, or,
with --balanced, processes made more of something than they gave back. --print: the calls of each process, in their order.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

MISUSE = {0x78000005: "INVALID_NULL_HANDLE", 0x78000007: "INVALID_NULL_POINTER", 0x78000008: "INVALID_SIZE",
          0x78000009: "UNSUPPORTED_SIZE", 0x7800000A: "UNSUPPORTED_ALIGNMENT", 0x7800000C: "INVALID_ENUMERATION",
          0x7800000D: "UNSUPPORTED_ENUMERATION"}
# What is made, by which calls, and what gives it back.
PAIRS = {("zeCommandListCreate", "zeCommandListCreateImmediate"): "zeCommandListDestroy",
         ("zeCommandQueueCreate",): "zeCommandQueueDestroy", ("zeFenceCreate",): "zeFenceDestroy",
         ("zeEventPoolCreate",): "zeEventPoolDestroy", ("zeEventCreate",): "zeEventDestroy",
         ("zeMemAllocDevice", "zeMemAllocHost", "zeMemAllocShared"): "zeMemFree",
         ("zeMemOpenIpcHandle",): "zeMemCloseIpcHandle"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--findings", type=int, default=0, metavar="N")
    parser.add_argument("--balanced", action="store_true")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def run(command, folder):
    """The command's exit status, and (call, result) of each of its processes."""
    words = [word for word in (os.environ.get("SLUICE_EMU_LEVEL_ZERO"), f"trace={folder}/calls") if word]
    done = subprocess.run(command, check=False, env={**os.environ, "ZE_ENABLE_TRACING_LAYER": "1", "SLUICE_EMU_LEVEL_ZERO": ",".join(words)})
    processes = []
    for path in sorted(pathlib.Path(folder).iterdir()):
        lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
        processes.append([(call, int(result, 16)) for call, result, _ in lines])
    return done.returncode, processes


def kept(calls):
    """What a process made and never gave back: (what gives it back, how many)."""
    done = collections.Counter(call for call, result in calls if result == 0)
    for made, given_back in PAIRS.items():
        n_left = sum(done[call] for call in made) - done[given_back]
        if n_left != 0:
            yield given_back, n_left


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        status, processes = run(arguments.command, folder)
    if arguments.print:
        for number, calls in enumerate(processes):
            print("\n".join(f"{number} {call} {result:#x}" for call, result in calls))
    found = collections.Counter((call, MISUSE[result]) for calls in processes for call, result in calls if result in MISUSE)
    for (call, what), n in found.items():
        print(f"native_trace: {call}: {what}, {n} times")
    left = [one for calls in processes for one in kept(calls)]
    for given_back, n in left if arguments.balanced else []:
        print(f"native_trace: {n} more made than given back by {given_back}")
    n_calls, n_found = sum(map(len, processes)), sum(found.values())
    print(f"native_trace: {n_calls} calls of {len(processes)} processes, {n_found} findings, {arguments.findings} expected")
    is_right = n_calls > 0 and n_found == arguments.findings and not (arguments.balanced and left)
    return status or (0 if is_right else 1)


if __name__ == "__main__":
    sys.exit(main())
