# SPDX-License-Identifier: BSD-3-Clause
"""Who is faster where: runs laid over each other, test by test. No drawing here."""

import dataclasses
import json
import math
import pathlib

import compare_runs

LETTERS = "ABCDEFGH"


@dataclasses.dataclass(frozen=True)
class Run:
    """The files of one run. `documents` have one test each; `failures`: what could not be used, and why."""
    letter: str
    label: str
    documents: list
    failures: list


@dataclasses.dataclass(frozen=True)
class Curve:
    """One line of a plot. points: size -> {"median", "low", "high"}. `place`: number among all that are compared."""
    place: int
    letter: str
    label: str
    points: dict
    document: dict


@dataclasses.dataclass(frozen=True)
class Outcome:
    """At one size: the curves that nothing measured puts behind the best, and how far the next one is behind (None: no
    other curve is)."""
    size: int
    leaders: tuple
    factor: float | None
    next_one: str | None


@dataclasses.dataclass(frozen=True)
class Contest:
    """One test (and series) with all curves that have it."""
    test: str
    series: str
    unit: str
    lower_is_better: bool
    curves: list
    is_race: bool = True  # False: the curves are different things, of which none is "faster"

    @property
    def name(self):
        return self.test + ("" if self.series in ("", "direct") else f" {self.series}")

    @property
    def sizes(self):
        return sorted({size for curve in self.curves for size in curve.points})


def size_text(size):
    for unit, bytes_of in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_of and size % bytes_of == 0:
            return f"{size // bytes_of} {unit}"
    return f"{size} B"


def read_folder(path):
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def read_run(number, word):
    """`word`: PATH or LABEL=PATH, a file or a folder with a file for each test. Raises compare_runs.FileError when nothing
    in it can be used."""
    label, separator, rest = word.partition("=")
    path = pathlib.Path(rest if separator else word)
    if not separator:
        label = path.stem if path.suffix == ".json" else path.name or str(path)
    documents, failures = [], []
    for file in read_folder(path):
        try:
            documents.append(compare_runs.read_run(file))
        except compare_runs.FileError as error:
            failures.append(str(error))
    if not documents:
        raise compare_runs.FileError("; ".join(failures) or f"{path}: no .json file in this folder")
    return Run(LETTERS[number], label, documents, failures)


def read_runs(words):
    if len(words) > len(LETTERS):
        raise compare_runs.FileError(f"{len(words)} runs: a page holds up to {len(LETTERS)}")
    return [read_run(number, word) for number, word in enumerate(words)]


def points_of(document, series):
    return {row["size_bytes"]: compare_runs.figure_of(one) for row in document["rows"] for one in row["series"]
            if one["name"] == series}


def key_of(document):
    return document["test"], json.dumps(document["metric"], sort_keys=True)


def curves_of(runs, key, series):
    """A curve for each run's file with this test; a run with several such files has several, told apart by placement."""
    curves = []
    for place, run in enumerate(runs):
        found = [document for document in run.documents if key_of(document) == key]
        for document in found:
            points = points_of(document, series)
            if points:
                more = f" ({' '.join(document['options']['placement'])})" if len(found) > 1 else ""
                curves.append(Curve(place, run.letter, run.label + more, points, document))
    return curves


def make_contests(runs):
    """In the order in which the tests first occur. A single run whose tests have several series (--compare-naive): those
    are laid over each other."""
    keys = list(dict.fromkeys(key_of(document) for run in runs for document in run.documents))
    contests = []
    for key in keys:
        documents = [document for run in runs for document in run.documents if key_of(document) == key]
        metric = documents[0]["metric"]
        names = list(dict.fromkeys(one["name"] for document in documents for row in document["rows"]
                                   for one in row["series"]))
        is_race = True
        groups = [(name, curves_of(runs, key, name)) for name in names]
        if len(documents) == 1 and 1 < len(names) <= len(LETTERS):
            curves = [Curve(place, LETTERS[place], name, points_of(documents[0], name), documents[0])
                      for place, name in enumerate(names)]
            groups, is_race = [("", curves)], names == ["direct", "naive"]
        contests += [Contest(key[0], name, metric["unit"], metric["better"] == "lower", curves, is_race)
                     for name, curves in groups if curves]
    return contests


def outcome_at(contest, size, limits):
    """None when fewer than two curves have this size. limits: .limit_percent and .limit_us, as compare_runs."""
    present = [curve for curve in contest.curves if size in curve.points]
    if len(present) < 2:
        return None
    present.sort(key=lambda curve: curve.points[size]["median"], reverse=not contest.lower_is_better)
    best = present[0].points[size]
    behind = [curve for curve in present[1:]
              if compare_runs.judge(best, curve.points[size], contest.lower_is_better, limits) == "worse"]
    leaders = tuple(sorted((curve for curve in present if curve not in behind), key=lambda curve: curve.place))
    if not behind:
        return Outcome(size, leaders, None, None)
    medians = sorted((best["median"], behind[0].points[size]["median"]))
    factor = medians[1] / medians[0] if medians[0] else math.inf
    return Outcome(size, leaders, factor, behind[0].letter)


def outcomes_of(contest, limits):
    found = [outcome_at(contest, size, limits) for size in contest.sizes] if contest.is_race else []
    return [outcome for outcome in found if outcome is not None]


def factor_text(factor):
    if math.isinf(factor):
        return "infinitely many times"
    return f"{factor:.0f}x" if factor >= 10 else f"{factor:.1f}x" if factor >= 1.1 else f"{factor:.2f}x"


def ranges_of(outcomes):
    """Outcomes of neighbouring sizes with the same leaders, together."""
    ranges = []
    for outcome in outcomes:
        names = [curve.label for curve in outcome.leaders]
        if ranges and [curve.label for curve in ranges[-1][-1].leaders] == names and \
                (ranges[-1][-1].factor is None) == (outcome.factor is None):
            ranges[-1].append(outcome)
        else:
            ranges.append([outcome])
    return ranges


def where_text(outcomes, has_sizes):
    if not has_sizes:
        return ""
    first, last = size_text(outcomes[0].size), size_text(outcomes[-1].size)
    return f" at {first}" if first == last else f" from {first} to {last}"


def sentence_of(outcomes, has_sizes, is_of_two):
    """([("A", 0)], "before is 1.8x faster from 8 B to 4 KiB"): letters and places of those to whom a range of sizes belongs
    (none: to nobody), and the words."""
    where = where_text(outcomes, has_sizes)
    leaders = outcomes[0].leaders
    if outcomes[0].factor is None:
        return [], f"no difference{where}"
    factors = [outcome.factor for outcome in outcomes]
    middle = math.exp(sum(map(math.log, factors)) / len(factors)) if not any(map(math.isinf, factors)) else max(factors)
    spread = ""
    if max(factors) > 1.2 * min(factors):
        spread = f" ({factor_text(min(factors))} to {factor_text(max(factors))})"
    names = " and ".join(curve.label for curve in leaders)
    than = "" if is_of_two else " than the next"
    verb = "is" if len(leaders) == 1 else "are"
    return [(curve.letter, curve.place) for curve in leaders], f"{names} {verb} {factor_text(middle)} faster{than}{spread}{where}"


def sentences_of(contest, limits):
    """The summary of one contest, by ranges of sizes; empty with a single curve."""
    outcomes = outcomes_of(contest, limits)
    has_sizes = len(contest.sizes) > 1 or contest.sizes[0] > 0
    return [sentence_of(group, has_sizes, len(contest.curves) == 2) for group in ranges_of(outcomes)]


def tally(contests, limits):
    """(sizes in which each letter alone is fastest, sizes without difference or with several leaders, all)."""
    wins, level, n_all = {}, 0, 0
    for contest in contests:
        for outcome in outcomes_of(contest, limits):
            n_all += 1
            if outcome.factor is not None and len(outcome.leaders) == 1:
                letter = outcome.leaders[0].letter
                wins[letter] = wins.get(letter, 0) + 1
            else:
                level += 1
    return wins, level, n_all
