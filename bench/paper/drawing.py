# SPDX-License-Identifier: BSD-3-Clause
"""A paper's page as one HTML file: the text and tables of the Markdown page, and under each heading its figure, our curves
with the paper's printed numbers beside them. Needs matplotlib; without it the page is left out, in one line."""

import dataclasses
import html
import io
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OWN_PYTHON = HERE.parents[1] / ".venv/report/bin/python"  # made by tools/setup
STYLE = """
body { margin: 0 auto; padding: 1rem; max-width: 62rem; font: 16px/1.45 system-ui, "DejaVu Sans", sans-serif; color: #1a1a1a; }
h2 { font-size: 1.4rem; } h3 { font-size: 1.1rem; margin: 2rem 0 .3rem; border-bottom: 1px solid #d8d8d8; }
svg { display: block; width: 100%; max-width: 44rem; height: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .5rem; text-align: left; border-bottom: 1px solid #d8d8d8; vertical-align: top; }
@media print { body { max-width: none; font-size: 9pt; padding: 0; } svg { max-width: 13cm; } tr, svg { break-inside: avoid; } }
"""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclasses.dataclass
class Drawing:
    """The figure under one heading. curves: name -> {x: y}, ours, as lines; published: name -> {x: y}, the paper's, as marks
    alone; a name that is in both has one colour. x are what `across` says, or, where `names` says so, rows by number. spans: name -> {x: (least, most)}
    of ours. The scale of y is logarithmic, unless is_linear."""
    heading: str
    unit: str
    curves: dict
    published: dict
    names: tuple = ()
    spans: dict = dataclasses.field(default_factory=dict)
    is_linear: bool = False
    across: str = "message size, bytes"


def axis_text(value, _position=None):
    return f"{value:g}" if value < 1000 else f"{value / 1000:g}k"


def size_text(size):
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def svg_of(drawing, pyplot, ticker):
    figure, axes = pyplot.subplots(figsize=(6.4, 3.9), layout="constrained")
    all_names = list(dict.fromkeys([*drawing.curves, *drawing.published]))
    for number, name in enumerate(all_names):
        look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        ours, theirs = drawing.curves.get(name, {}), drawing.published.get(name, {})
        if ours:
            axes.plot(sorted(ours), [ours[x] for x in sorted(ours)], linestyle="" if drawing.names else "-", markersize=4, linewidth=1.4,
                      label=name, **look)
        for x, (least, most) in drawing.spans.get(name, {}).items():
            axes.vlines(x, least, most, color=look["color"], linewidth=1.4)
        if theirs:
            axes.plot(sorted(theirs), [theirs[x] for x in sorted(theirs)], linestyle="", markersize=10, markerfacecolor="none",
                      markeredgewidth=1.8, label=f"{name}, the paper", **look)
    xs = sorted({x for points in (*drawing.curves.values(), *drawing.published.values()) for x in points})
    if drawing.names:
        axes.set_xticks(range(len(drawing.names)), [name.replace(" ", "\n") for name in drawing.names], fontsize="small")
    else:
        axes.set_xscale("log", base=2)
        axes.set_xticks(xs[::max(1, len(xs) // 8)], [size_text(x) for x in xs[::max(1, len(xs) // 8)]])
        axes.set_xlabel(drawing.across)
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    if not drawing.is_linear:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(axis_text)
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_ylabel(drawing.unit)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="x-small", framealpha=0.8)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    pyplot.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg"):]


def table_of(lines):
    rows = [[html.escape(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    yield '<div class="scroll"><table>'
    for number, cells in enumerate(rows):
        if number != 1:  # the line of dashes
            yield "<tr>" + "".join(f"<{kind}>{cell}</{kind}>" for kind in ("th" if number == 0 else "td",) for cell in cells) + "</tr>"
    yield "</table></div>"


def body_of(markdown, svgs):
    """The Markdown that our pages are made of: headings, tables, paragraphs. svgs: heading -> picture."""
    for block in re.split(r"\n\s*\n", markdown.strip()):
        lines = block.splitlines()
        while lines and lines[0].startswith("#"):
            level, text = len(lines[0]) - len(lines[0].lstrip("#")), lines.pop(0).lstrip("# ")
            yield f"<h{level}>{html.escape(text)}</h{level}>"
            yield svgs.get(text, "")
        if lines and lines[0].startswith("|"):
            yield from table_of(lines)
        elif lines:
            yield "<p>" + html.escape(" ".join(lines)) + "</p>"


def render(markdown, drawings):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("svg")
    from matplotlib import pyplot, ticker  # pylint: disable=import-outside-toplevel
    matplotlib.rcParams["svg.fonttype"] = "none"
    svgs = {drawing.heading: svg_of(drawing, pyplot, ticker) for drawing in drawings if drawing.curves or drawing.published}
    title = html.escape(markdown.strip().splitlines()[0].lstrip("# "))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{STYLE}</style></head><body>\n" + "\n".join(filter(None, body_of(markdown, svgs))) + "\n</body></html>\n")


def write(path, markdown, drawings):
    """Writes the page; what is missing for it is said in one line, for the page is an extra beside text and JSON."""
    try:
        path.write_text(render(markdown, drawings), encoding="utf-8")
        print(f"drawn: {path}", flush=True)
    except ImportError as missing:
        if OWN_PYTHON.exists() and pathlib.Path(sys.prefix).resolve() != OWN_PYTHON.parents[1].resolve():
            write_elsewhere(path, markdown, drawings)
            return
        print(f"sluice-bench paper: {missing.name} is missing for {sys.executable}, so that {path.name} is left out: install "
              "python3-matplotlib, or run tools/setup in the sources", file=sys.stderr)


def write_elsewhere(path, markdown, drawings):
    """The same by the private environment's interpreter."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); from paper import drawing; given = drawing.json.load(sys.stdin); "
            "drawing.write(drawing.pathlib.Path(sys.argv[2]), given['text'], [drawing.loaded(one) for one in given['drawings']])")
    given = {"text": markdown, "drawings": [dataclasses.asdict(drawing) for drawing in drawings]}
    subprocess.run([str(OWN_PYTHON), "-c", code, str(HERE.parent), str(path)], input=json.dumps(given), text=True, check=False,
                   env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def loaded(values):
    """A Drawing that was sent as JSON, whose keys are texts."""
    def points(curves):
        return {name: {int(x): y for x, y in curve.items()} for name, curve in curves.items()}
    return Drawing(values["heading"], values["unit"], points(values["curves"]), points(values["published"]), tuple(values["names"]),
                   points(values["spans"]), values["is_linear"], values["across"])
