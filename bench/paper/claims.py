# SPDX-License-Identifier: BSD-3-Clause
"""What the CCGrid'23 paper says with figures 3 to 7, and whether our figures show it. No measuring here."""

import dataclasses
import statistics

from paper.runs import ALL_SIZES, CUT_SIZES, KI, MI

# Section V.A.
PUBLISHED_MACHINE = ("four Intel Xeon Gold 6348H (96 cores) and one Intel Iris Xe MAX (DG1), both ranks on one node; beside it Intel MPI and "
                     "oneCCL 2021.6")
# The numbers that the paper prints: (figure, column, size) -> us, or MB/s for bw and bibw. Section and figure of each
# are in docs/measurements/2026-11-23-paper-ccgrid23-emulated-second; where it gives only a figure's curve, nothing stands here.
PUBLISHED = {
    ("4", "H2D malloc", 16): 54.1, ("4", "H2D runtime", 16): 24.8, ("4", "D2H malloc", 16): 54.8, ("4", "D2H runtime", 16): 28.4,
    ("4", "H2D malloc", 4 * MI): 1492, ("4", "H2D runtime", 4 * MI): 1140, ("4", "D2H malloc", 4 * MI): 1249,
    ("4", "D2H runtime", 4 * MI): 773,
    ("5", "malloc", 16): 107.3, ("5", "runtime", 16): 50.0,
    ("5", "malloc", 4 * MI): 3126, ("5", "runtime", 4 * MI): 2406.5,
    ("7 latency", "proposed", 16): 51.0, ("7 latency", "naive", 16): 108.0,
    ("7 latency", "proposed", 4 * MI): 2196, ("7 latency", "naive", 4 * MI): 3168,
    ("7 bw", "proposed", 4 * MI): 1760, ("7 bibw", "proposed", 4 * MI): 1820,
    ("8 bcast", "proposed", 16): 128.0, ("8 bcast", "proposed", 512 * KI): 878.7,
    ("8 reduce", "proposed", 16): 188.9, ("8 reduce", "proposed", 512 * KI): 1129.5,
}
# Figure 6 by what section V.D says of it: gains and losses over one block.
PUBLISHED_RATIOS = {("6", "2", 4 * MI): 1 - 0.125, ("6", "4", 4 * MI): 1 - 0.093, ("6", "8", 4 * MI): 1 - 0.055,
                    ("6", "2", 512 * KI): 1 - 0.083, ("6", "8", 512 * KI): 1 + 0.34}
# The same for libraries that cannot be run here: they need the vendor's device.
PUBLISHED_OTHERS = {
    "Intel MPI 2021.6": {("7 latency", 16): 91.5, ("7 latency", 4 * MI): 2688, ("8 bcast", 16): 299.2,
                         ("8 bcast", 512 * KI): 4981.9, ("8 reduce", 16): 337.8, ("8 reduce", 512 * KI): 1789.4},
    "oneCCL 2021.6": {("8 bcast", 16): 523.0, ("8 bcast", 512 * KI): 951.2, ("8 reduce", 16): 671.5,
                      ("8 reduce", 512 * KI): 1638.5},
}
# Figures of two rounds that differ by more are noise.
REPEATS_WITHIN = 1.25


@dataclasses.dataclass(frozen=True)
class Claim:
    """Something the paper says. `value(results, round)` is our number of one round, or None.

    Either `published`: a number that ours should be near to, within `tolerance`; `neutral` is the value at which the
    statement turns into its opposite. Or `at_most`: a limit for our number.
    """
    figure: str
    text: str
    value: object
    published: float | None = None
    tolerance: float = 0.05
    neutral: float = 0.0
    at_most: float | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    claim: Claim
    word: str
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    profile: float | None = None  # what an ideal machine with the profile's links gives


def cell(results, figure, column, size, turn):
    return results.by_round(figure, column, size)[turn]


def ratio(figure, a, b, size):
    """a / b of one round."""
    def value(results, turn):
        pair = [cell(results, figure, column, size, turn) for column in (a, b)]
        return pair[0] / pair[1] if all(pair) else None
    return value


def gain(figure, a, b, size):
    """By which part a is shorter than b."""
    of = ratio(figure, a, b, size)
    return lambda results, turn: None if of(results, turn) is None else 1 - of(results, turn)


def worst(values):
    """The largest of several numbers of one round."""
    def value(results, turn):
        found = [one(results, turn) for one in values]
        found = [number for number in found if number is not None]
        return max(found, default=None)
    return value


def growth(column, sizes):
    """The mean factor by which bandwidth grows when the size doubles, between the first and the last of `sizes`."""
    def value(results, turn):
        first, last = (cell(results, "3", column, size, turn) for size in (sizes[0], sizes[-1]))
        doublings = (sizes[-1] // sizes[0]).bit_length() - 1
        return (sizes[-1] / last / (sizes[0] / first)) ** (1 / doublings) if first and last else None
    return value


def share_of_best(blocks):
    """At how many of the sizes above the threshold another number of blocks is faster, as a part of all."""
    sizes = [size for size in CUT_SIZES if size > 64 * KI]

    def value(results, turn):
        rows = [{column: cell(results, "6", column, size, turn) for column in ("1", "2", "4", "8")} for size in sizes]
        rows = [row for row in rows if all(row.values())]
        return sum(min(row, key=row.get) != blocks for row in rows) / len(rows) if rows else None
    return value


def figure_3():
    slowest = [ratio("3", "H2D", "D2H", size) for size in (256 * KI, MI, 4 * MI)]
    against_wire = worst([ratio("3", "MPI", "H2D", size) for size in (256 * KI, MI, 4 * MI)])
    return [
        Claim("3", "H2D has less bandwidth than D2H from 256 KiB on (D2H time / H2D time)",
              worst([lambda r, t, one=one: None if one(r, t) is None else 1 / one(r, t) for one in slowest]), at_most=1.0),
        Claim("3", "H2D has the lowest bandwidth of all (MPI time / H2D time, from 256 KiB on)", against_wire, at_most=1.0),
        Claim("3", "D2H bandwidth is smooth after 64 KiB: it grows by less than 1.5 a doubling",
              growth("D2H", (64 * KI, 4 * MI)), at_most=1.5),
        Claim("3", "D2H bandwidth is low before: it all but doubles with the size (2 / growth from 16 B to 16 KiB)",
              lambda r, t: 2 / g if (g := growth("D2H", (16, 16 * KI))(r, t)) else None, at_most=1.1),
    ]


def figure_4():
    """Copies alone; the profile was made of this figure, so that it says whether the emulated device keeps to it."""
    of_runtime = [ratio("4", f"{way} runtime", f"{way} malloc", size) for way in ("H2D", "D2H") for size in ALL_SIZES]
    return [
        Claim("4", "pinned memory is faster than C's at every size, both ways (worst ratio)", worst(of_runtime), at_most=1.0),
        Claim("4", "H2D: C malloc / runtime at 16 B", ratio("4", "H2D malloc", "H2D runtime", 16), 54.1 / 24.8, 0.2, 1.0),
        Claim("4", "D2H: C malloc / runtime at 16 B", ratio("4", "D2H malloc", "D2H runtime", 16), 54.8 / 28.4, 0.2, 1.0),
        Claim("4", "H2D / D2H at 4 MiB, pinned", ratio("4", "H2D runtime", "D2H runtime", 4 * MI), 1140 / 773, 0.1, 1.0),
    ]


def figure_5():
    pairs = (("runtime", "malloc"), ("runtime_aligned", "aligned"))
    same = [one for a, b in (("aligned", "malloc"), ("runtime_aligned", "runtime")) for size in ALL_SIZES
            for one in (ratio("5", a, b, size), ratio("5", b, a, size))]
    return [
        Claim("5", "pinned staging memory is faster than C's at every size (worst ratio)",
              worst([ratio("5", a, b, size) for a, b in pairs for size in ALL_SIZES]), at_most=1.0),
        Claim("5", "C malloc / runtime at 16 B", ratio("5", "malloc", "runtime", 16), 2.1, 0.2, 1.0),
        Claim("5", "C malloc / runtime at 4 MiB", ratio("5", "malloc", "runtime", 4 * MI), 1.3, 0.1, 1.0),
        Claim("5", "aligned memory makes no difference (largest ratio)", worst(same), at_most=1.1),
    ]


def figure_6():
    claims = [Claim("6", f"{blocks} blocks gain at 4 MiB", gain("6", blocks, "1", 4 * MI), published)
              for blocks, published in (("2", 0.125), ("4", 0.093), ("8", 0.055))]
    claims += [
        Claim("6", "2 blocks gain at 512 KiB", gain("6", "2", "1", 512 * KI), 0.083),
        Claim("6", "8 blocks lose at 512 KiB", gain("6", "8", "1", 512 * KI), -0.34, 0.1),
        Claim("6", "at 4 MiB 2 blocks are better than 4 (ratio)", ratio("6", "2", "4", 4 * MI), at_most=1.0),
        Claim("6", "at 4 MiB 4 blocks are better than 8 (ratio)", ratio("6", "4", "8", 4 * MI), at_most=1.0),
        Claim("6", "2 blocks are the best at most sizes above 64 KiB (part at which others are)", share_of_best("2"),
              at_most=0.5),
        Claim("6", "no benefit below 64 KiB: 2 blocks at 32 KiB are no faster (1 / 2 blocks)",
              ratio("6", "1", "2", 32 * KI), at_most=1.0),
    ]
    claims += [Claim("6", f"section IV.B: advanced is faster than even, {blocks} blocks, 4 MiB (ratio)",
                     ratio("6", blocks, blocks + " even", 4 * MI), at_most=1.0) for blocks in ("2", "4", "8")]
    return claims


def figure_7():
    per_size = {test: [ratio(test, "proposed", "naive", size) for size in ALL_SIZES] for test in ("7 latency", "7 bw", "7 bibw")}
    upside_down = {test: worst([lambda r, t, one=one: None if one(r, t) is None else 1 / one(r, t) for one in values])
                   for test, values in per_size.items()}

    def both_by_one(results, turn):
        pair = [cell(results, test, "proposed", 4 * MI, turn) for test in ("7 bibw", "7 bw")]
        return pair[0] / pair[1] if all(pair) else None

    return [
        Claim("7", "latency of proposed is the lowest at every size (worst ratio to naive)", worst(per_size["7 latency"]),
              at_most=1.0),
        Claim("7", "proposed gains over naive at 16 B", gain("7 latency", "proposed", "naive", 16), 0.528),
        Claim("7", "proposed gains over naive at 4 MiB", gain("7 latency", "proposed", "naive", 4 * MI), 1 - 2196 / 3168),
        Claim("7", "bandwidth of proposed is the highest at every size (worst naive / proposed)", upside_down["7 bw"],
              at_most=1.0),
        Claim("7", "both ways: the same", upside_down["7 bibw"], at_most=1.0),
        Claim("7", "both ways together bring what one way brings, 4 MiB (bibw / bw)", both_by_one, 1.82 / 1.76, 0.1, 0.0),
    ]


def all_claims(figures):
    # The paper says of figure 8 only how far other libraries are behind, and none of them can be run here.
    made = {"3": figure_3, "4": figure_4, "8": list, "5": figure_5, "6": figure_6, "7": figure_7}
    return [claim for figure in figures for claim in made[figure]()]


def word_of(claim, ours, low, high):
    """seen, NOT seen, or what stands between."""
    if claim.at_most is not None:
        if high <= claim.at_most:
            return "seen"
        if low > claim.at_most:
            return "NOT seen"
        return "seen, not in every round" if ours <= claim.at_most else "hidden by noise"
    if abs(ours - claim.published) <= claim.tolerance:
        return "seen"
    is_same_side = (ours > claim.neutral) == (claim.published > claim.neutral)
    if low < claim.neutral < high:
        return "hidden by noise"
    return "direction seen, not the size" if is_same_side else "NOT seen"


class Watched:
    """Results that remember what was read of them."""

    def __init__(self, results):
        self.results, self.rounds, self.read = results, results.rounds, set()

    def by_round(self, *where):
        self.read.add(where)
        return self.results.by_round(*where)

    def spread(self):
        """The largest factor between two rounds of the same figure, among those that were read."""
        lists = [[value for value in self.results.by_round(*where) if value] for where in self.read]
        return max((max(values) / min(values) for values in lists if values), default=1.0)


def judge(results, claim, modelled):
    """`modelled`: the figures of model.results()."""
    of_profile = claim.value(modelled, 0)
    watched = Watched(results)
    values = [claim.value(watched, turn) for turn in range(results.rounds)]
    values = [value for value in values if value is not None]
    if not values:
        return Verdict(claim, "not measured", profile=of_profile)
    ours, low, high = statistics.median(values), min(values), max(values)
    word, spread = word_of(claim, ours, low, high), watched.spread()
    # Figures that do not repeat say nothing against a claim, and little for it.
    if word != "seen" and spread > REPEATS_WITHIN:
        word = f"hidden by noise: the same figure differs by up to {spread:.1f} times"
    return Verdict(claim, word, ours, low, high, of_profile)
