# SPDX-License-Identifier: BSD-3-Clause
"""`compare_peers --run`: unpacks the bundle, probes the sides, measures round by round, reports after each."""

import dataclasses
import json
import pathlib
import platform
import shlex
import subprocess
import tempfile
import time

from peers import plan, table, targets
from peers.commands import Site, Unavailable, command_of
from peers.preparing import ARCHIVE
from peers.running import Session

BACKENDS = ["cuda", "sycl"]


class MeasureError(Exception):
    """Nothing can be measured; the text says why."""


def site_of(root):
    return Site(root, (root / "flavour").read_text(encoding="utf-8").strip())


def unpack(bundle, folder):
    """Unpacks the bundle, with the archives that were put beside its own, and returns the Site. A bundle that somebody has
    unpacked already is taken as it is."""
    if (bundle / "flavour").exists():
        return site_of(bundle.resolve())
    if not (bundle / ARCHIVE).exists():
        raise MeasureError(f"{bundle / ARCHIVE} is missing: run bench/compare_peers --prepare first")
    for archive in sorted(bundle.glob("*.tar.xz")):
        done = subprocess.run(["tar", "-C", folder, "-xJf", str(archive)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MeasureError(f"{archive} cannot be unpacked: {done.stderr.strip()[:200]}")
    return site_of(pathlib.Path(folder))


def kept_words(words, largest, iterations=0):
    """The words with the sizes and iterations cut; None when no size is left."""
    words = list(words)
    if iterations:
        words[words.index("-i") + 1], words[words.index("-x") + 1] = str(iterations), "1"
    at = words.index("--sizes") + 1
    sizes = [size for size in words[at].split(",") if not largest or int(size) <= largest]
    words[at] = ",".join(sizes)
    return tuple(words) if sizes else None


def chosen_tests(arguments):
    """The tests of the plan that the command line asks for."""
    pipelines = arguments.pipelines_of or arguments.backends[:1]
    tests = []
    for test in plan.all_tests(arguments.backends, pipelines, arguments.blocks):
        if arguments.only and test.name not in arguments.only:
            continue
        runs = [run for run in test.runs if run.side.program not in arguments.without]
        runs = [dataclasses.replace(run, words=cut) for run in runs
                if (cut := kept_words(run.words, arguments.largest, arguments.iterations))]
        if runs:
            tests.append(dataclasses.replace(test, runs=tuple(runs)))
    if not tests:
        raise MeasureError("no test is left to run")
    return tests


def chosen_probes(tests, largest):
    probes = [dataclasses.replace(run, words=kept_words(run.words, largest)) for run in plan.probes(tests)]
    return [run for run in probes if run.words]


def print_commands(site, tests, probes):
    """What a run would start, one line a command."""
    named = [("probe", probes), *((test.name, test.runs) for test in tests)]
    for name, runs in named:
        for run in runs:
            try:
                print(f"{name}: {run.side.name}: {shlex.join(command_of(site, run))}")
            except Unavailable as error:
                print(f"{name}: {run.side.name}: left out: {error}")


def machine():
    """What the figures were taken on."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,pci.bus_id", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=False)
        devices = done.stdout.strip().splitlines() if done.returncode == 0 else []
    except (OSError, subprocess.TimeoutExpired):
        devices = []
    return {"devices": devices, "kernel": platform.release(), "python": platform.python_version()}


def report(session, arguments, about):
    """Writes both files and returns the text."""
    pipelines = arguments.pipelines_of or arguments.backends[:1]
    verdicts = targets.judge_all(session.results, targets.all_targets(arguments.backends, pipelines))
    text = "\n".join(table.lines(session.results, verdicts)) + "\n"
    (arguments.out / "compare_peers.txt").write_text(text, encoding="utf-8")
    document = table.document(session.results, verdicts, {**about, "routes": session.routes})
    (arguments.out / "compare_peers.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return text


def measure_rounds(session, arguments, about):
    for number in range(1, arguments.rounds + 1):
        begin = time.monotonic()
        goes_on = session.measure_round()
        report(session, arguments, about)
        print(f"compare_peers: round {number} of {arguments.rounds}: {time.monotonic() - begin:.0f} s", flush=True)
        if not goes_on:
            print("compare_peers: the time is used up", flush=True)
            break


def measure(arguments):
    tests = chosen_tests(arguments)
    probes = chosen_probes(tests, arguments.largest)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        site = unpack(arguments.bundle, folder)
        print(f"compare_peers: bundle unpacked ({time.monotonic() - begin:.1f} s)", flush=True)
        if arguments.dry_run:
            print_commands(site, tests, probes)
            return 0
        arguments.out.mkdir(parents=True, exist_ok=True)
        about = {"machine": machine(), "backends": arguments.backends,
                 "time_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        print(f"compare_peers: {about['machine']}", flush=True)
        with open(arguments.out / "compare_peers.log", "w", encoding="utf-8", errors="replace") as log:
            session = Session(site, tests, log, arguments.limit_s, arguments.budget_s - (time.monotonic() - begin))
            session.probe(probes)
            measure_rounds(session, arguments, about)
        print(report(session, arguments, about), end="", flush=True)
        return 0 if session.results.cells else 1
