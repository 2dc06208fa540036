# SPDX-License-Identifier: BSD-3-Clause
"""The page: what the template is given, and the template made into HTML."""

import math
import pathlib
import statistics

import jinja2
import markupsafe

from page import contests, plots

HERE = pathlib.Path(__file__).resolve().parent


def number_text(value):
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")  # narrow space
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def paint_of(places, depth):
    """The leaders' colours side by side, the deeper the farther they lead."""
    shades = [f"color-mix(in srgb, {plots.COLOURS[place % len(plots.COLOURS)]} {depth}%, white)" for place in places]
    width = 100 / len(shades)
    stops = [f"{shade} {round(width * number)}% {round(width * (number + 1))}%" for number, shade in enumerate(shades)]
    return shades[0] if len(shades) == 1 else f"linear-gradient(90deg, {', '.join(stops)})"


def box_of(outcome):
    """The coloured box of the overview for one size."""
    is_level = outcome.factor is None
    # Twice as fast or more is the full colour.
    depth = 0 if is_level else min(1.0, math.log2(max(outcome.factor, 1.0))) if not math.isinf(outcome.factor) else 1
    return {"text": "=" if is_level else "".join(curve.letter for curve in outcome.leaders),
            "factor": "" if is_level else contests.factor_text(outcome.factor),
            "paint": "" if is_level else paint_of([curve.place for curve in outcome.leaders], round(25 + 50 * depth))}


def failures_of(contest, runs):
    """(letter, place, reason) of the runs in which this test failed."""
    return [(run.letter, place, run.failed[contest.name]) for place, run in enumerate(runs) if contest.name in run.failed]


def overview_of(name, members, players, limits):
    """What the overview says of a family: its score in words, and a row of boxes for each test."""
    races = [section for section in members if section["outcomes"] or section["failed"]]
    factors, level, n_all = contests.factors_of([section["contest"] for section in races], limits)
    sizes = sorted({outcome.size for section in races for outcome in section["outcomes"]})
    rows = [(section, [box_of(by_size[size]) if size in by_size else None for size in sizes])
            for section in races for by_size in ({outcome.size: outcome for outcome in section["outcomes"]},)]
    score = [(letter, place, label, len(factors[letter]), contests.factor_text(statistics.median(factors[letter])))
             for place, (letter, label) in enumerate(players) if letter in factors]
    n_failed = {}
    for letter, place, _ in (one for section in members for one in section["failed"]):
        n_failed[letter, place] = n_failed.get((letter, place), 0) + 1
    return {"name": name, "failed": [(letter, place, n) for (letter, place), n in n_failed.items()], "score": sorted(score, key=lambda one: -one[3]), "level": level, "n_all": n_all, "rows": rows,
            "sizes": [contests.size_text(size).replace("iB", "").replace(" ", "") if size else "\u2013" for size in sizes],
            "sections": members}


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
    memory = f"{rank['memory']} memory" + (f" to send and {rank['recv_memory']} memory to receive" if "recv_memory" in rank else "")
    if not device:
        return f"rank {rank['rank']}: {rank['host']}, {memory}"
    where = f", PCI {device['pci_address']}" if device.get("pci_address") else ""
    return f"rank {rank['rank']}: {rank['host']}, {memory} of {device['module']} {device['index']}, {device['name']}{where}"


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
                   if any("check" not in row and row["size_bytes"] > 0 for row in document["rows"])})


def section_of(contest, limits, number, runs):
    # A long name may be broken behind each of its words.
    name = markupsafe.Markup("_<wbr>").join(contest.name.split("_"))
    return {"id": f"test-{number}", "contest": contest, "name": name, "failed": failures_of(contest, runs), "sentences": contests.sentences_of(contest, limits),
            "outcomes": contests.outcomes_of(contest, limits), "svg": plots.svg_text(contest) if plots.has_plot(contest) else "",
            "rows": [(contests.size_text(size) if size else "\u2013", cells_of(contest, size)) for size in contest.sizes]}


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
    names = {contest.name for contest in found}
    # Where nobody else has the test, there is no row to say it in.
    lonely = [(run.letter, name, reason) for run in runs for name, reason in run.failed.items() if name not in names]
    sections = [section_of(contest, limits, number, runs) for number, contest in enumerate(found)]
    families = [overview_of(name, members, players, limits) for name in contests.FAMILIES
                if (members := [section for section in sections if section["contest"].family == name])]
    return environment.get_template("page.html.j2").render(
        title=title, runs=[about(run) for run in runs], players=players, wins=wins, level=level, n_all=n_all,
        families=families, lonely=lonely, alone=[section for section in sections if not section["outcomes"] and not section["failed"]] if n_all else [],
        unchecked=unchecked(runs), colours=plots.COLOURS, limits=limits)
