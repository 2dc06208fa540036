# SPDX-License-Identifier: BSD-3-Clause
"""The page and the JSON file."""

from paper.claims import PUBLISHED, PUBLISHED_MACHINE, PUBLISHED_OTHERS, PUBLISHED_RATIOS
from paper.drawing import Drawing
from peers.targets import size_text

TITLES = {
    "3": "Figure 3: the stages alone, GB/s",
    "4": "Figure 4: copies by host memory, us",
    "5": "Figure 5: latency staged whole, by staging memory, us",
    "6": "Figure 6: latency by number of blocks, over that of one block",
    "7 latency": "Figure 7 (a, d): latency, us",
    "7 bw": "Figure 7 (b, e): bandwidth, GB/s",
    "7 bibw": "Figure 7 (c, f): both ways, GB/s",
    "8 bcast": "Figure 8 (a): broadcast of 8 ranks on one device, us",
    "8 reduce": "Figure 8 (b): reduce of 8 ranks on one device, us",
    "8 allreduce": "Figure 8 (c): allreduce of 8 ranks on one device, us",
    "8 allgather": "Figure 8 (d): allgather of 8 ranks on one device, us",
}


def in_paper_unit(results, figure, column, size, value, slow):
    """What is shown: in the time of the machine that is imitated."""
    if figure == "3":
        return size / (value / slow) / 1e3
    if figure == "6":
        return value / results.median("6", "1", size)
    return value * slow / 1e3 if figure in ("7 bw", "7 bibw") else value / slow


def figure(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.3g}"


def modelled(results, column, size):
    """What the profile alone says of a cell of figure 6; `results` are the model's."""
    one, cut = (results.median("6", name, size) for name in ("1", column))
    return f" (profile {cut / one:.3g})" if column != "1" and one and cut else ""


def published(where, column, size):
    value = PUBLISHED.get((where, column, size))
    if value is None:
        return ""
    return f" (paper {value / 1e3:g})" if where in ("7 bw", "7 bibw") else f" (paper {value:g})"


def cell(results, where, column, size, about):
    values = results.values(where, column, size)
    if not values:
        return "-"
    shown = sorted(in_paper_unit(results, where, column, size, value, about["slow"]) for value in values)
    middle = in_paper_unit(results, where, column, size, results.median(where, column, size), about["slow"])
    beside = modelled(about["modelled"], column, size) if where == "6" else published(where, column, size)
    if about.get("best_of"):
        return f"{figure(middle)}{beside}"
    return f"{figure(middle)} [{figure(shown[0])}..{figure(shown[-1])}]{beside}"


def section(results, where, about):
    columns = results.columns(where)
    others = [name for name, numbers in PUBLISHED_OTHERS.items() if any(test == where for test, _ in numbers)]
    yield f"### {TITLES[where]}"
    yield ""
    yield "| |" + "".join(f" {column} |" for column in columns) + "".join(f" {name}, paper |" for name in others)
    yield "| --- |" + " --- |" * (len(columns) + len(others))
    for size in results.sizes(where):
        row = f"| {size_text(size)} |" + "".join(f" {cell(results, where, column, size, about)} |" for column in columns)
        row += "".join(f" {PUBLISHED_OTHERS[name].get((where, size), '')} |" for name in others)
        yield row
    yield ""


def verdict_row(verdict):
    claim = verdict.claim
    said = f"at most {claim.at_most:g}" if claim.published is None else f"{claim.published:.3g}"
    ours = "-" if verdict.ours is None else f"{verdict.ours:.3g} [{verdict.low:.3g}..{verdict.high:.3g}]"
    profile = "-" if verdict.profile is None else f"{verdict.profile:.3g}"
    return f"| {claim.figure} | {claim.text} | {said} | {profile} | {ours} | {verdict.word} |"


def page(results, verdicts, about):
    """The whole page, as Markdown."""
    figures = list(dict.fromkeys(where.split()[0] for where in results.sections()))
    word = "EMULATED: " if about.get("is_modelled", about.get("device", "emu") == "emu") else ""
    yield f"## {word}figure{'s' * (len(figures) > 1)} {', '.join(figures)} of the CCGrid'23 paper"
    yield ""
    yield f"The paper's machine: {PUBLISHED_MACHINE}. Here: {about.get('machine', 'see the JSON file')}."
    yield ""
    yield f"{about['note']}"
    yield ""
    of_rounds = (f"The best of {about['best_of']} rounds, for others used the machine" if about.get("best_of") else
                 f"Medians of {results.rounds} rounds' best iterations, all columns in turn, [smallest..largest]")
    yield f"{of_rounds}; commit {about['commit']};"
    yield f"load of the machine ({about['cpus']} cores) before each round {about['load']}. Times are divided by {about['slow']:g}, bandwidths multiplied."
    yield ""
    yield "| figure | the paper says | wanted | profile alone | ours | shape |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield from map(verdict_row, verdicts)
    yield ""
    for where in results.sections():
        yield from section(results, where, about)
    yield from failure_lines(results.failures)


def failure_lines(failures):
    """A line for each reason: the first that it was met at, and how many others."""
    by_reason = {}
    for what, why in failures.items():
        by_reason.setdefault(why, []).append(what)
    for why, where in by_reason.items():
        yield f"Not measured: {where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}: {why}"


def document(results, verdicts, about):
    """The JSON file, schema sluice-paper-ccgrid23 version 1; figures as they were measured, not divided."""
    return {
        "schema": "sluice-paper-ccgrid23",
        "schema_version": 1,
        **{key: value for key, value in about.items() if key != "modelled"},
        "rounds": results.rounds,
        "rows": [{"figure": where, "column": column, "size_bytes": size, "unit": results.units[where]["unit"],
                  "published": PUBLISHED.get((where, column, size)), "median": results.median(where, column, size),
                  "by_round": results.by_round(where, column, size)} for where, column, size in results.cells],
        "failures": results.failures,
        "claims": [{"figure": verdict.claim.figure, "text": verdict.claim.text, "published": verdict.claim.published,
                    "at_most": verdict.claim.at_most, "ours": verdict.ours, "min": verdict.low, "max": verdict.high, "profile": verdict.profile,
                    "verdict": verdict.word} for verdict in verdicts],
    }


def published_points(where, column):
    """What the paper prints for this curve, in the unit that is shown."""
    numbers = PUBLISHED_RATIOS if where == "6" else PUBLISHED
    scale = 1e3 if where in ("7 bw", "7 bibw") else 1
    return {size: value / scale for (figure_, name, size), value in numbers.items() if (figure_, name) == (where, column)}


def drawings(results, about):
    """One figure for each section of the page: our curves, and the paper's numbers where it prints any."""
    made = []
    for where in results.sections():
        if where not in TITLES:
            continue
        curves = {column: {size: in_paper_unit(results, where, column, size, value, about["slow"]) for size in results.sizes(where)
                           if (value := results.median(where, column, size)) is not None} for column in results.columns(where)}
        theirs = {column: points for column in curves if (points := published_points(where, column))}
        for name, numbers in PUBLISHED_OTHERS.items():
            points = {size: value for (test, size), value in numbers.items() if test == where}
            theirs |= {name: points} if points else {}
        unit = "GB/s" if where in ("3", "7 bw", "7 bibw") else "time / time of one block" if where == "6" else "\u00b5s"
        made.append(Drawing(TITLES[where], unit, curves, theirs))
    return made
