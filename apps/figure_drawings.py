#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what apps/figures (all but faces, which has --draw) and apps/data_parallel/compare measured, here or on another machine:

  apps/figure_drawings.py DIR/<name>.json ...

writes DIR/<name>.html beside each, one file that needs nothing else: the page (of the JSON, or of the .md beside it) and our
curves. The papers' own curves are not printed as numbers; what their texts say stands on the page.
Exit status: 0 all were written, 1 a file could not be read or says nothing that can be drawn, 2 wrong command line.
"""

import argparse
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))

from paper import drawing  # noqa: E402  (found through the line above)


class DrawingError(Exception):
    """What is wrong with a file, for people."""


def by_sizes(document, unit, across):
    curves = {f"{row['side']}, {row['variant']}": {int(size): statistics.median(values) for size, values in row["by_size"].items()}
              for row in document["figures"]}
    return unit, curves, (), across


def by_ranks(document):
    curves = {}
    for row in document["figures"]:
        kind, n_ranks = row["case"].split()
        values = next(iter(row["by_size"].values()))
        curves.setdefault(f"{kind}: {row['side']}, {row['variant']}", {})[int(n_ranks)] = statistics.median(values)
    return "us a step", curves, (), "ranks"


def rows(document, unit, curve_of, name_of, scale=1.0):
    """Marks above names: a curve for each of curve_of(row), a name for each of name_of(row)."""
    names = list(dict.fromkeys(name_of(row) for row in document["figures"]))
    curves = {}
    for row in document["figures"]:
        values = next(iter(row["by_size"].values()))
        curves.setdefault(curve_of(row), {})[names.index(name_of(row))] = scale * statistics.median(values)
    return unit, curves, tuple(names), ""


def training(document):
    names = tuple(way for way, runs in document["runs"].items() if runs)
    return "words a second", {"throughput": {at: statistics.median(run["words_per_s"] for run in document["runs"][way]) for at, way in enumerate(names)}}, names, ""


KINDS = {
    "stencil3d": lambda document: by_sizes(document, "us an exchange", "message size, bytes"),
    "stencil2d": lambda document: by_sizes(document, "us a step", "side of a rank's field, bytes"),
    "scaling": by_ranks,
    "fft3d": lambda document: rows(document, "ms", lambda row: row["variant"].split()[1], lambda row: f"{row['side']} {row['variant'].split()[0]}", 1e-3),
}


def drawing_of(document, text):
    """Under the page's first heading."""
    heading = text.strip().splitlines()[0].lstrip("# ") if text.strip() else ""
    kind = training if "runs" in document else KINDS.get(document.get("what"))
    if kind is None or not heading:
        raise DrawingError("is no result of apps/figures or apps/data_parallel/compare with its page")
    unit, curves, names, across = kind(document)
    if not any(curves.values()):
        raise DrawingError("has no figures")
    return drawing.Drawing(heading, unit, curves, {}, names, across=across)


def draw(path):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        beside = path.with_suffix(".md")
        text = document.get("page") or (beside.read_text(encoding="utf-8") if beside.exists() else "")
        made = drawing_of(document, text)
    except (OSError, ValueError, KeyError, AttributeError, StopIteration, statistics.StatisticsError) as error:
        raise DrawingError(f"cannot be read: {error!r}") from error
    drawing.write(path.with_suffix(".html"), text, [made])


def main():
    parser = argparse.ArgumentParser(prog="apps/figure_drawings.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="+", help="JSON files")
    status = 0
    for path in parser.parse_args().results:
        try:
            draw(path)
        except DrawingError as error:
            print(f"figure_drawings: {path} {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
