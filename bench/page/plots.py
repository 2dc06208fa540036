# SPDX-License-Identifier: BSD-3-Clause
"""The plots of a page, as SVG and PNG: both axes logarithmic, a band for each curve's interval."""

import io
import math
import re

import matplotlib

matplotlib.use("svg")  # no display; PNG is written by savefig all the same
from matplotlib import pyplot, ticker  # noqa: E402  (after the choice above)

from page import contests  # noqa: E402

# Told apart by readers who do not see all colours (Okabe and Ito), and in black and white by marker and dash.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")
# Narrow, so that its text is still read on a phone.
SIZE_INCHES = (4.5, 3.4)


def axis_text(value, _position=None):
    """1500 -> 1.5k: short, because it stands at an axis."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:g}"


def size_axis(axes, sizes):
    if sizes[0] == 0:
        axes.set_xscale("symlog", base=2, linthresh=1)
    else:
        axes.set_xscale("log", base=2)
    # A label for about every third power of two that there is.
    step = max(1, math.ceil(len(sizes) / 8))
    shown = sizes[::step]
    axes.set_xticks(shown, [contests.size_text(size).replace("iB", "").replace(" B", "").replace(" ", "") for size in shown])
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def draw(contest):
    figure, axes = pyplot.subplots(figsize=SIZE_INCHES, layout="constrained")
    for curve in contest.curves:
        sizes = sorted(curve.points)
        look = {"color": COLOURS[curve.place % len(COLOURS)], "marker": MARKERS[curve.place % len(MARKERS)],
                "linestyle": DASHES[curve.place % len(DASHES)]}
        label = curve.label if len(contest.curves) == 1 else f"{curve.letter}  {curve.label}"
        axes.plot(sizes, [curve.points[size]["median"] for size in sizes], markersize=4, linewidth=1.6, label=label, **look)
        axes.fill_between(sizes, [curve.points[size]["low"] for size in sizes],
                          [curve.points[size]["high"] for size in sizes], alpha=0.2, linewidth=0, color=look["color"])
    size_axis(axes, contest.sizes)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(axis_text)
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xlabel("message size, bytes")
    axes.set_ylabel(f"{contest.unit.replace('us', 'µs')} ({'lower' if contest.lower_is_better else 'higher'} is better)")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small", framealpha=0.8)
    return figure


def has_plot(contest):
    """One size alone is no curve: its table says it."""
    return len(contest.sizes) > 1


def svg_text(contest):
    """Without the XML heading, to stand inside a page. Text stays text: it can be searched and read aloud."""
    figure = draw(contest)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": contest.name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    pyplot.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg"):]


def write_files(contest, folder):
    """NAME.svg and NAME.png."""
    figure = draw(contest)
    name = re.sub(r"[^\w.]+", "-", contest.name)
    for suffix in ("svg", "png"):
        figure.savefig(folder / f"{name}.{suffix}", dpi=200)
    pyplot.close(figure)
