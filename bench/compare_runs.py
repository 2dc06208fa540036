#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two results of sluice-bench size by size, with intervals; for continuous integration by its exit status.

  sluice-bench compare before.json after.json --limit-percent 3 --limit-us 0.1

A result is a JSON file, or a folder with a file for each test (--json DIR of several tests); files of the same name are
compared, and one that only a single folder has is an error.

The interval of a figure is, with several blocks (--repeat), from the smallest to the largest of their medians, else the
95 % interval of the one block's median. B is worse at a size only when its interval lies wholly on the bad side of A's
and the medians differ by more than the limits. Needs nothing but Python.

Exit status: 0 B is nowhere worse, 1 B is worse at some size, 2 the files cannot be compared.
"""

import argparse
import json
import pathlib
import sys


class FileError(Exception):
    """A file that cannot be used; the text is for the user."""


def parse_arguments():
    parser = argparse.ArgumentParser(prog="sluice-bench compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", help="the run to compare with")
    parser.add_argument("b", help="the run that is judged")
    parser.add_argument("--limit-percent", type=float, default=0.0, help="differences up to this do not count (0)")
    parser.add_argument("--limit-us", type=float, default=0.0, help="the same in us; the larger of both counts (0)")
    parser.add_argument("--json", help="write the comparison to this file")
    return parser.parse_args()


def read_run(path):
    try:
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != "sluice-bench" or document.get("schema_version") not in (1, 2):
        raise FileError(f"{path}: not sluice-bench schema version 1")
    if document["status"] != "ok":
        raise FileError(f"{path}: the run failed: {document.get('error', 'no reason given')}")
    return document


def figure_of(series):
    """Median and interval of one series at one size."""
    blocks = series["blocks"]
    if len(blocks) > 1:
        medians = [block["median"] for block in blocks]
        low, high = min(medians), max(medians)
    else:
        low, high = blocks[0]["median_interval"]
    return {"median": series["medians"]["median"], "low": low, "high": high}


def figures_of(document):
    return {(row["size_bytes"], series["name"]): figure_of(series)
            for row in document["rows"] for series in row["series"]}


def judge(a, b, lower_is_better, arguments):
    """"better", "worse" or "same" for B."""
    allowed = abs(a["median"]) * arguments.limit_percent / 100
    if lower_is_better:
        allowed = max(allowed, arguments.limit_us)
    if abs(b["median"] - a["median"]) <= allowed:
        return "same"
    if b["low"] > a["high"]:
        return "worse" if lower_is_better else "better"
    if b["high"] < a["low"]:
        return "better" if lower_is_better else "worse"
    return "same"


def compare(first, second, arguments):
    if first["test"] != second["test"] or first["metric"] != second["metric"]:
        raise FileError(f"different tests: {first['test']} and {second['test']}")
    a, b = figures_of(first), figures_of(second)
    if a.keys() != b.keys():
        raise FileError("the runs have different sizes or series")
    lower_is_better = first["metric"]["better"] == "lower"
    return [{"size_bytes": size, "series": name, "a": a[size, name], "b": b[size, name],
             "ratio": b[size, name]["median"] / a[size, name]["median"] if a[size, name]["median"] else None,
             "verdict": judge(a[size, name], b[size, name], lower_is_better, arguments)} for size, name in a]


def pairs_of(first, second):
    """The files that belong together."""
    first, second = pathlib.Path(first), pathlib.Path(second)
    if not first.is_dir() and not second.is_dir():
        return [(first, second)]
    names = [{path.name for path in folder.glob("*.json")} for folder in (first, second)]
    alone = sorted(names[0] ^ names[1])
    if alone or not names[0]:
        raise FileError(f"{first} and {second} hold different files: {', '.join(alone) or 'none at all'}")
    return [(first / name, second / name) for name in sorted(names[0])]


def print_table(first, rows, paths):
    print(f"# {first['test']}, {first['metric']['unit']}: A {paths[0]}, B {paths[1]}")
    print(f"{'# Size':<12} {'Series':<20} {'A':>14} {'[low..high]':>30} {'B':>14} {'[low..high]':>30} {'B/A':>8} {'B is':>8}")
    for row in rows:
        a, b = row["a"], row["b"]
        range_a, range_b = f"[{a['low']:.3f}..{a['high']:.3f}]", f"[{b['low']:.3f}..{b['high']:.3f}]"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
        print(f"{row['size_bytes']:<12} {row['series']:<20} {a['median']:>14.3f} {range_a:>30} {b['median']:>14.3f}"
              f" {range_b:>30} {ratio:>8} {row['verdict']:>8}")


def main():
    arguments = parse_arguments()
    results = []
    try:
        for paths in pairs_of(arguments.a, arguments.b):
            first, second = map(read_run, paths)
            rows = compare(first, second, arguments)
            print_table(first, rows, paths)
            results.append({"test": first["test"], "metric": first["metric"], "rows": rows})
        if arguments.json:
            heading = {"schema": "sluice-bench-comparison", "schema_version": 1}
            whole = {**heading, **results[0]} if len(results) == 1 else {**heading, "tests": results}
            pathlib.Path(arguments.json).write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    except (FileError, OSError) as error:
        print(f"sluice-bench compare: {error}", file=sys.stderr)
        return 2
    return 1 if any(row["verdict"] == "worse" for result in results for row in result["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
