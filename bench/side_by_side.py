#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs two sluice-bench command lines in turn, several times, and compares them size by size.

For configurations that one process cannot hold, such as host buffers with and without a preloaded library. The runs
alternate (A B, B A, A B, ...), so that a machine that slowly changes its speed does not favour one of them. Each
figure is the median of the runs' medians; in brackets the smallest and largest. Needs nothing but Python.

  bench/side_by_side.py --repeat 7 --limit-us 0.15 --limit-percent 3 \\
    --a "mpiexec -n 2 bin/sluice-bench.mpich latency" \\
    --b "mpiexec -n 2 env LD_PRELOAD=lib/libsluice_mpich.so bin/sluice-bench.mpich latency"

Exit status: 0 done, 1 B is beyond the limits at some size, 2 a run failed or cannot be compared.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile


class RunError(Exception):
    """A run that gave nothing to compare; the text is for the user."""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", required=True, help="the command line to compare with, one argument")
    parser.add_argument("--b", required=True, help="the command line that is judged, one argument")
    parser.add_argument("--label-a", default="A", help="heading of the first (default A)")
    parser.add_argument("--label-b", default="B", help="heading of the second (default B)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--series", help="the series to compare (default: the first of each row)")
    parser.add_argument("--limit-us", type=float, help="largest allowed extra time of B, in us")
    parser.add_argument("--limit-percent", type=float, help="the same in per cent of A; the larger of both counts")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run (default 600)")
    parser.add_argument("--json", help="write the comparison and all medians to this file")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat: at least 1")
    return arguments


def run_once(command, timeout_s):
    """Runs one command with --json added and returns the document it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        words = shlex.split(command) + ["--json", str(path)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunError(f"{command}: {error}") from error
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            raise RunError(f"{command}: exit status {done.returncode}: {last}")
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{command}: no JSON from it: {error}") from error
    if document.get("schema") != "sluice-bench" or document.get("schema_version") not in (1, 2):
        raise RunError(f"{command}: its JSON is not sluice-bench schema version 1")
    return document


def medians_of(document, name):
    """Median of the series of that name, or of the first one, by size."""
    medians = {}
    for row in document["rows"]:
        chosen = [series for series in row["series"] if name in (None, series["name"])]
        if chosen:
            medians[row["size_bytes"]] = chosen[0]["medians"]["median"]
    if not medians:
        raise RunError(f"no row has a series {name or 'at all'}")
    return medians


def measure(arguments):
    """Alternates the two commands; returns the last document of each and the lists of medians, by size."""
    documents = {}
    samples = {"a": {}, "b": {}}
    for turn in range(arguments.repeat):
        order = ("a", "b") if turn % 2 == 0 else ("b", "a")
        for side in order:
            documents[side] = run_once(getattr(arguments, side), arguments.timeout)
            for size, value in medians_of(documents[side], arguments.series).items():
                samples[side].setdefault(size, []).append(value)
    if documents["a"]["metric"] != documents["b"]["metric"] or samples["a"].keys() != samples["b"].keys():
        raise RunError("the two commands measure different things or sizes")
    return documents, samples


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(arguments, document, samples):
    """One row for each size: both spreads, their difference and ratio, and whether B keeps the limits."""
    lower_is_better = document["metric"]["better"] == "lower"
    rows = []
    for size in samples["a"]:
        a, b = samples["a"][size], samples["b"][size]
        middle_a, middle_b = statistics.median(a), statistics.median(b)
        extra = middle_b - middle_a if lower_is_better else middle_a - middle_b
        allowed = []
        if arguments.limit_us is not None and lower_is_better:
            allowed.append(arguments.limit_us)
        if arguments.limit_percent is not None:
            allowed.append(middle_a * arguments.limit_percent / 100)
        rows.append({
            "size_bytes": size,
            "a": {**spread(a), "medians": a},
            "b": {**spread(b), "medians": b},
            "difference": middle_b - middle_a,
            "ratio": spread([y / x if x else 0.0 for x, y in zip(a, b)]),
            "within_limits": extra <= max(allowed) if allowed else None,
        })
    return rows


def print_table(arguments, document, rows):
    unit = document["metric"]["unit"]
    print(f"# {document['test']}, {unit}: medians of {arguments.repeat} runs each, in turn")
    print(f"# A {arguments.label_a}: {arguments.a}")
    print(f"# B {arguments.label_b}: {arguments.b}")
    print(f"{'# Size':<12} {arguments.label_a:>11} {'[min..max]':>21} {arguments.label_b:>11} {'[min..max]':>21}"
          f" {'B - A':>10} {'B/A':>8} {'[min..max]':>18} {'Limit':>8}")
    verdicts = {True: "ok", False: "beyond", None: "-"}
    for row in rows:
        a, b, ratio = row["a"], row["b"], row["ratio"]
        range_a, range_b = f"[{a['min']:.3f}..{a['max']:.3f}]", f"[{b['min']:.3f}..{b['max']:.3f}]"
        range_ratio = f"[{ratio['min']:.3f}..{ratio['max']:.3f}]"
        print(f"{row['size_bytes']:<12} {a['median']:>11.3f} {range_a:>21} {b['median']:>11.3f} {range_b:>21}"
              f" {row['difference']:>10.3f} {ratio['median']:>8.3f} {range_ratio:>18}"
              f" {verdicts[row['within_limits']]:>8}")


def write_json(arguments, documents, rows):
    result = {
        "schema": "sluice-bench-side-by-side",
        "schema_version": 1,
        "repeat": arguments.repeat,
        "series": arguments.series,
        "limits": {"us": arguments.limit_us, "percent": arguments.limit_percent},
        "metric": documents["a"]["metric"],
        "sides": {side: {"label": getattr(arguments, "label_" + side), "command": getattr(arguments, side),
                         **{key: documents[side].get(key) for key in
                            ("test", "version", "commit", "mpi", "ranks", "environment", "options")}}
                  for side in ("a", "b")},
        "rows": rows,
    }
    try:
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"--json: {error}") from error


def main():
    arguments = parse_arguments()
    try:
        documents, samples = measure(arguments)
        rows = compare(arguments, documents["a"], samples)
        print_table(arguments, documents["a"], rows)
        if arguments.json:
            write_json(arguments, documents, rows)
    except RunError as error:
        print(f"side_by_side: {error}", file=sys.stderr)
        return 2
    return 1 if any(row["within_limits"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
