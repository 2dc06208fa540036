# SPDX-License-Identifier: BSD-3-Clause
"""Who is faster where: runs laid over each other, test by test. No drawing here."""

import collections
import dataclasses
import json
import math
import pathlib

import compare_runs

LETTERS = "ABCDEFGH"
FAMILIES = ("Point to point", "Collectives", "Collectives, non-blocking", "Collectives, persistent", "One-sided", "Device calls")
NO_MESSAGES = ("launch", "event", "synchronize", "query_pointer", "ipc_export", "ipc_open", "memcpy", "pack", "init")


@dataclasses.dataclass(frozen=True)
class Run:
    """The files of one run. `documents` have one test each; `failures`: what could not be used, and why; `failed`: the names
    of the tests that failed, with the reason."""
    letter: str
    label: str
    documents: list
    failures: list
    failed: dict = dataclasses.field(default_factory=dict)


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
    """One test (and series) with all curves that have it. variant: what tells it from others of the same test."""
    test: str
    series: str
    unit: str
    lower_is_better: bool
    curves: list
    is_race: bool = True  # False: the curves are different things, of which none is "faster"
    variant: str = ""
    family: str = FAMILIES[0]

    @property
    def name(self):
        return self.test + (f", {self.variant}" if self.variant else "") + \
            ("" if self.series in ("", "direct", self.test) else f" {self.series}")

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


def failed_in(path):
    """{name of the test: reason} when this is the result of a test that failed, else nothing."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        name = document["test"] + (f", {document['variant']}" if document.get("variant") else "")
        return {name: document.get("error", "no reason given")} if document["status"] == "failed" else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_run(number, word):
    """`word`: PATH or LABEL=PATH, a file or a folder with a file for each test. Raises compare_runs.FileError when nothing
    in it can be used."""
    label, separator, rest = word.partition("=")
    path = pathlib.Path(rest if separator else word)
    if not separator:
        label = path.stem if path.suffix == ".json" else path.name or str(path)
    documents, failures, failed = [], [], {}
    for file in read_folder(path):
        try:
            documents.append(compare_runs.read_run(file))
        except compare_runs.FileError as error:
            failed_here = failed_in(file)
            failed |= failed_here
            failures += [] if failed_here else [str(error)]
    if not documents:
        why = [*failures, *(f"{path}: {name}: the run failed: {reason}" for name, reason in failed.items())]
        raise compare_runs.FileError("; ".join(why) or f"{path}: no .json file in this folder")
    return Run(LETTERS[number], label, documents, failures, failed)


def read_runs(words):
    if len(words) > len(LETTERS):
        raise compare_runs.FileError(f"{len(words)} runs: a page holds up to {len(LETTERS)}")
    return [read_run(number, word) for number, word in enumerate(words)]


def points_of(document, series):
    return {row["size_bytes"]: compare_runs.figure_of(one) for row in document["rows"] for one in row["series"]
            if one["name"] == series}


def key_of(document):
    return document["test"], json.dumps(document["metric"], sort_keys=True)


def family_of(document):
    test, options = document["test"], document["options"].get("family", {})
    if "sync" in options:
        return FAMILIES[3] if test.endswith("_persistent") else FAMILIES[2] if test.startswith("i") else FAMILIES[1]
    return FAMILIES[4] if "window" in options else FAMILIES[5] if test in NO_MESSAGES else FAMILIES[0]


def usual_placement(runs):
    """The one that most results have; it need not be said."""
    counts = collections.Counter(tuple(document["options"]["placement"]) for run in runs for document in run.documents)
    return counts.most_common(1)[0][0]


def variant_of(document, usual):
    """What tells a result from others of its test: where the messages lie, their datatype, fresh memory."""
    options = document["options"]
    words = [] if tuple(options["placement"]) == usual else [" to ".join(options["placement"])]
    kind = options.get("family", {}).get("datatype", {}).get("kind", "bytes")
    words += [kind] * (kind != "bytes") + ["cold"] * bool(options.get("cold"))
    return ", ".join(words)


def curves_of(found, series):
    """A curve for each of (place, run, document) with this series; a run with several such files has several, told apart by
    placement. series None: the only one that each has, whatever its name."""
    curves = []
    for place, run, document in found:
        points = points_of(document, document["rows"][0]["series"][0]["name"] if series is None else series)
        if points:
            n_same = sum(other is run for _, other, _ in found)
            more = f" ({' '.join(document['options']['placement'])})" if n_same > 1 else ""
            curves.append(Curve(place, run.letter, run.label + more, points, document))
    return curves


def contests_of(found, variant):
    """The contests of one test and variant."""
    documents = [document for _, _, document in found]
    names = list(dict.fromkeys(one["name"] for document in documents for row in document["rows"] for one in row["series"]))
    is_race = True
    if len(documents) > 1 and all({one["name"] for row in document["rows"] for one in row["series"]} <=
                                  {document["rows"][0]["series"][0]["name"]} for document in documents if document["rows"]):
        # Staged by hand here, by a library there: the same question, though their series have different names.
        groups = [("", curves_of([one for one in found if one[2]["rows"]], None))]
    elif len(documents) == 1 and 1 < len(names) <= len(LETTERS):
        curves = [Curve(place, LETTERS[place], name, points_of(documents[0], name), documents[0]) for place, name in enumerate(names)]
        groups, is_race = [("", curves)], names == ["direct", "naive"]
    else:
        groups = [(name, curves_of(found, name)) for name in names]
    metric = documents[0]["metric"]
    return [Contest(documents[0]["test"], name, metric["unit"], metric["better"] == "lower", curves, is_race, variant, family_of(documents[0]))
            for name, curves in groups if curves]


def make_contests(runs):
    """By family, and within it in the order in which the tests first occur. A single run whose tests have several series
    (--compare-naive): those are laid over each other."""
    entries = [(place, run, document) for place, run in enumerate(runs) for document in run.documents]
    usual, made = usual_placement(runs), []
    for key in dict.fromkeys(key_of(document) for _, _, document in entries):
        found = [entry for entry in entries if key_of(entry[2]) == key]
        n_most = max(collections.Counter(place for place, _, _ in found).values())
        variants = {}
        for entry in found:
            variants.setdefault(variant_of(entry[2], usual) if n_most > 1 else "", []).append(entry)
        for variant, members in variants.items():
            made += contests_of(members, variant)
    return sorted(made, key=lambda contest: FAMILIES.index(contest.family))


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
    factors, level, n_all = factors_of(contests, limits)
    return {letter: len(values) for letter, values in factors.items()}, level, n_all


def factors_of(contests, limits):
    """The same, with the factors by which each letter leads instead of their number."""
    factors, level, n_all = {}, 0, 0
    for contest in contests:
        for outcome in outcomes_of(contest, limits):
            n_all += 1
            if outcome.factor is not None and len(outcome.leaders) == 1:
                factors.setdefault(outcome.leaders[0].letter, []).append(outcome.factor)
            else:
                level += 1
    return factors, level, n_all
