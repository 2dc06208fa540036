# SPDX-License-Identifier: BSD-3-Clause
"""The page: what the template is given, and the template made into HTML."""

import math
import pathlib

import jinja2

from page import contests, plots

HERE = pathlib.Path(__file__).resolve().parent


def number_text(value):
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")  # narrow space
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def strip_of(contest, limits):
    """The coloured boxes of the summary, one for each size."""
    boxes = []
    for outcome in contests.outcomes_of(contest, limits):
        leaders = "".join(curve.letter for curve in outcome.leaders)
        is_level = outcome.factor is None
        # Twice as fast or more is the full colour.
        depth = 0 if is_level else min(1.0, math.log2(max(outcome.factor, 1.0))) if not math.isinf(outcome.factor) else 1
        boxes.append({
            "size": contests.size_text(outcome.size) if len(contest.sizes) > 1 or outcome.size else "",
            "text": "=" if is_level else f"{leaders} {contests.factor_text(outcome.factor)}",
            "place": None if is_level else outcome.leaders[0].place, "depth": round(20 + 55 * depth)})
    return boxes


def cells_of(contest, size):
    """One row of the table under a plot."""
    first = contest.curves[0].points.get(size)
    cells = []
    for position, curve in enumerate(contest.curves):
        point = curve.points.get(size)
        if point is None:
            cells.append(None)
            continue
        ratio = None
        if position > 0 and first is not None and first["median"] and point["median"]:
            factor = first["median"] / point["median"]
            ratio = factor if contest.lower_is_better else 1 / factor
        cells.append({"median": number_text(point["median"]),
                      "interval": f"{number_text(point['low'])}\u2013{number_text(point['high'])}",
                      "speed": None if ratio is None else number_text(ratio)})
    return cells


def device_text(rank):
    device = rank.get("device")
    if not device:
        return f"rank {rank['rank']}: {rank['host']}, {rank['memory']} memory"
    where = f", PCI {device['pci_address']}" if device.get("pci_address") else ""
    return f"rank {rank['rank']}: {rank['host']}, {rank['memory']} memory of {device['module']} {device['index']}, {device['name']}{where}"


def about(run):
    """What the page says of a run; of the tests' headings that are alike, one."""
    documents = run.documents

    def different(values):
        return list(dict.fromkeys(values))

    return {
        "letter": run.letter, "label": run.label, "failures": run.failures,
        "facts": [("MPI", different(document["mpi"]["library"].splitlines()[0].strip() for document in documents)),
                  ("sluice-bench", different(f"{document['version']}, commit {document['commit']}" for document in documents)),
                  ("ended (UTC)", [max(document["time_utc"] for document in documents)]),
                  ("ranks", different(device_text(rank) for document in documents for rank in document["ranks"][:4]) +
                   ([f"… {max(len(document['ranks']) for document in documents)} ranks in all"]
                    if any(len(document["ranks"]) > 4 for document in documents) else [])),
                  ("notes", different(note for document in documents for note in document["notes"])),
                  ("environment", different(f"{name}={value}" for document in documents
                                            for name, value in document["environment"].items())),
                  ("command", different(" ".join(document["command"]) for document in documents))]}


def unchecked(runs):
    """Tests whose data nobody looked at: a reader must know."""
    return sorted({f"{run.letter}: {document['test']}" for run in runs for document in run.documents
                   if any("check" not in row for row in document["rows"])})


def section_of(contest, limits, number):
    return {"id": f"test-{number}", "contest": contest, "sentences": contests.sentences_of(contest, limits),
            "strip": strip_of(contest, limits), "svg": plots.svg_text(contest) if plots.has_plot(contest) else "",
            "rows": [(contests.size_text(size), cells_of(contest, size)) for size in contest.sizes]}


def render(runs, limits, title):
    """The whole page as one text; nothing in it is fetched from elsewhere."""
    found = contests.make_contests(runs)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True)
    is_self_race = len(runs) == 1 and any(contest.is_race and len(contest.curves) > 1 for contest in found)
    players = [(curve.letter, curve.label) for curve in next(
        (contest for contest in found if contest.is_race and len(contest.curves) > 1), found[0]).curves] if is_self_race else \
        [(run.letter, run.label) for run in runs]
    wins, level, n_all = contests.tally(found, limits)
    return environment.get_template("page.html.j2").render(
        title=title, runs=[about(run) for run in runs], players=players, wins=wins, level=level, n_all=n_all,
        sections=[section_of(contest, limits, number) for number, contest in enumerate(found)],
        unchecked=unchecked(runs), colours=plots.COLOURS, limits=limits)
