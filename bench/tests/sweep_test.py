#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every test of --list on one device, at two sizes, every iteration checked, in few launches: starting ranks takes longer
than most tests. Fails when a test of --list was not run, not at both sizes, or not checked.

  sweep_test.py [option ...] <tests/launch and its words> -- <sluice-bench> <the device's name>

  --windows D:D       the memory of windows, which the host MPI alone must reach (M:M)
  --lacks A,B         tests that must end with the line that this device cannot do that, and nothing else
  --host-faults A,B   tests in which this host MPI is known to be wrong: not run, and named in the last line
  --spoiler LIBRARY   two tests below a library that spoils what arrives, too, which the sweep must see
"""

import argparse
import collections
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

SIZES = (64, 8200)
BRIEF = ("-i", "3", "-x", "1", "-W", "4", "--check", "all")
# There are no data: a call is timed, or how MPI starts.
NOTHING_TO_CHECK = {"event", "init", "ipc_export", "ipc_open", "launch", "query_pointer", "synchronize", "trigger"}
# Rank 0's copies and kernels, whose results the host looks at; a barrier's data are moments.
CHECKED_BY_HOST = {"copy_list", "copy_ways", "device_reduce", "memcpy", "memcpy_kinds", "pack",
                   "barrier", "barrier_persistent", "ibarrier"}
WITHOUT_SIZES = {"barrier", "barrier_persistent", "ibarrier", "queue_enqueue"} | NOTHING_TO_CHECK
ATOMICS = {"cas_latency", "fop_latency"}
ACCESSES = {"acc_latency", "get_acc_latency", "get_bw", "get_latency", "put_bw", "put_latency"}
# Their sizes are whole blocks of a datatype.
PACKING = {"pack"}
ALONE = {"file_read_sides", "file_write_sides"}  # one rank's, with tests of their own (device_tests.cmake)

Launch = collections.namedtuple("Launch", "tests words sizes has_sluice")


def launches(names, device, windows):
    """Everybody once. sizes: of the rows; windows are handed to the host MPI alone, for libsluice has none in device memory."""
    sizes = ",".join(map(str, SIZES))
    return (Launch(names - WITHOUT_SIZES - ATOMICS - ACCESSES - PACKING, ("-d", device, "--sizes", sizes), SIZES, True),
            Launch(names & WITHOUT_SIZES, ("-d", device), (0,), True),
            Launch(names & PACKING, ("-d", device, "--sizes", "64,8192", "-D", "vector"), (64, 8192), True),
            Launch(names & ACCESSES, ("-d", device, "--sizes", sizes, "--force", *windows.split(":")), SIZES, False),
            Launch(names & ATOMICS, ("-d", device, "--force", *windows.split(":")), (8,), False))


def command_of(words, launch):
    """The launcher's words, without Sluice where the host MPI is to have the windows."""
    if launch.has_sluice or "--sluice" not in words:
        return list(words)
    place = words.index("--sluice")
    return [*words[:place], *words[place + 2:]]


def faults_of(name, document, sizes):
    """What is wrong with one test's result, as lines."""
    faults = []
    if document.get("status") != "ok":
        faults.append(f"{name}: {document.get('error', 'failed')}")
    rows = document.get("rows", [])
    if [row["size_bytes"] for row in rows] != list(sizes):
        faults.append(f"{name}: rows of {[row['size_bytes'] for row in rows]}, not of {list(sizes)}")
    for row in rows:
        check = row.get("check")
        if (check is None) != (name in NOTHING_TO_CHECK):
            faults.append(f"{name}: size {row['size_bytes']} is {'not ' if check is None else ''}checked")
        elif check is not None and not (check["passed"] and check["iterations"] > 0):
            faults.append(f"{name}: size {row['size_bytes']}: the check did not pass: {check}")
    places = {rank.get("checked_on", "nowhere") for rank in document.get("ranks", []) if "device" in rank}
    if name not in NOTHING_TO_CHECK | CHECKED_BY_HOST and places != {"device"}:
        faults.append(f"{name}: checked on {sorted(places)}, not on the device")
    return faults


def refusal_of(name, document):
    """The fault where a test of what the device cannot do did not end so."""
    error = document.get("error", "")
    return [] if document.get("status") == "failed" and "not supported" in error else [f"{name}: is not refused: {error}"]


def judge(names, results, lacking=frozenset()):
    """results: name -> (document, sizes)."""
    faults = [f"{name}: not run" for name in sorted(names - set(results))]
    for name, (document, sizes) in sorted(results.items()):
        faults += refusal_of(name, document) if name in lacking else faults_of(name, document, sizes)
    return faults


def prove_judge(names, results, lacking):
    """Results that are wrong in one place each must not pass."""
    name = "allreduce"

    def with_fault(change):
        spoiled = copy.deepcopy(results)
        change(spoiled)
        return spoiled

    for change in (lambda r: r.pop(name), lambda r: r[name][0]["rows"].pop(), lambda r: r[name][0]["rows"][0].pop("check"),
                   lambda r: r[name][0].update(status="failed", error="planted"),
                   lambda r: r[name][0]["rows"][1]["check"].update(passed=False),
                   lambda r: r[name][0]["rows"][1]["check"].update(iterations=0),
                   lambda r: r[name][0]["ranks"][1].update(checked_on="host: planted"),
                   lambda r: r[name][0]["ranks"][1].pop("checked_on")):
        faults = judge(names, with_fault(change), lacking)
        assert len(faults) == 1 and faults[0].startswith(f"{name}: "), f"a planted fault gave {faults}"
    assert judge(names | {"frob"}, results, lacking) == ["frob: not run"], "a test that nobody ran passes"
    assert judge(names, results, lacking | {name}) == [f"{name}: is not refused: "], "what the device can passes as refused"


def run(command, launch, folder):
    """Returns the results that were written, and what was said on stderr where the launch failed."""
    done = subprocess.run([*command, ",".join(sorted(launch.tests)), *launch.words, "--oversubscribe", *BRIEF, "--json",
                           folder if len(launch.tests) > 1 else f"{folder}/{next(iter(launch.tests))}.json"],
                          capture_output=True, text=True, check=False)
    results = {}
    for name in launch.tests:
        path = pathlib.Path(folder) / f"{name}.json"
        if path.exists() and path.stat().st_size > 0:
            results[name] = (json.loads(path.read_text(encoding="utf-8")), launch.sizes)
    return results, "" if done.returncode == 0 else done.stderr


def prove_sight(words, spoiler, device):
    """Data that were spoiled on their way must not pass."""
    place = words.index("--")
    spoiled = [*words[:place], "--preload-above", spoiler, "--env", "SPOIL_MODE=flip", "--env", "SPOIL_MIN_BYTES=8000", *words[place:]]
    launch = Launch({"allreduce", "latency"}, ("-d", device, "--sizes", "64,8200", "M", "M"), SIZES, True)
    with tempfile.TemporaryDirectory() as folder:
        results, _ = run(spoiled, launch, folder)
    found = {fault.split(":")[0] for fault in judge(launch.tests, results) if "size 8200, iteration 0" in fault}
    assert found == launch.tests, f"spoiled data were seen in {found or 'nothing'}: {results}"


def arguments_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", default="M:M")
    parser.add_argument("--lacks", default="")
    parser.add_argument("--host-faults", default="")
    parser.add_argument("--spoiler", default="")
    place = next(i for i, word in enumerate(words) if word.endswith("launch"))  # what follows is not ours
    return parser.parse_args(words[:place]), words[place:]


def main():
    options, words = arguments_of(sys.argv[1:])
    *words, device = words
    lacking, omitted = ({name for name in names.split(",") if name} for names in (options.lacks, options.host_faults))
    listed = subprocess.run([*words, "--list"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listed.splitlines()}
    assert lacking | omitted <= names, f"not in --list: {(lacking | omitted) - names}"
    names -= omitted | ALONE
    results, said = {}, []
    for launch in launches(names, device, options.windows):
        with tempfile.TemporaryDirectory() as folder:
            found, failure = run(command_of(words, launch), launch, folder)
        results.update(found)
        # A launch that ended with its status and no test's line to blame, such as one that ran past its time.
        is_known = launch.tests & lacking and set(found) == launch.tests
        said += [failure] if failure and not is_known else []
    faults = judge(names, results, lacking)
    if faults or said:
        print(*faults, *said, sep="\n")
        sys.exit(1)
    prove_judge(names, results, lacking)
    if options.spoiler:
        prove_sight(words, options.spoiler, device)
    for why, those in (("refused, as this device has no means for them", lacking), ("not run, for the host MPI is wrong in them", omitted)):
        if those:
            print(f"{why}: {', '.join(sorted(those))}")
    print(f"{len(names - lacking)} tests ran on {device}, all but {len(NOTHING_TO_CHECK - lacking)} checked in every iteration")


if __name__ == "__main__":
    main()
