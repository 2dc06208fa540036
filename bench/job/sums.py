# SPDX-License-Identifier: BSD-3-Clause
"""What the page says of a job's counts: sums, shares, and which ranks are unlike the others. No HTML here."""

import collections
import dataclasses
import statistics

from job import words

DEVICE_MEMORY = ("device", "shared")
# A message of this route is counted once more, as the MPI_Isend or MPI_Irecv that it became (docs/statistics.md).
COUNTED_TWICE = "thread"
MOST_ROWS = 64  # of the map
FEWEST_RANKS = 3  # of which one can be unlike the others


@dataclasses.dataclass
class Sum:
    calls: int = 0
    bytes: int = 0
    nanoseconds: int = 0

    def add(self, other):
        self.calls += other.calls
        self.bytes += other.bytes
        self.nanoseconds += other.nanoseconds


@dataclasses.dataclass(frozen=True)
class MapRow:
    """A rank, or several one after the other. `cells`: route -> (mean, least, most) bytes of a rank."""
    first: int
    last: int
    n_ranks: int
    cells: dict
    oddities: dict  # route: how the rank differs, in words; {} for several ranks


def route_order(names):
    known = list(words.ROUTES)
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def routes_of(job):
    return route_order({row.route for one in job.statistics.values() for row in one.rows})


def operations_of(job):
    """[(operation, buffer, {route: Sum})], over all ranks; the most bytes first."""
    table = {}
    for one in job.statistics.values():
        for row in one.rows:
            table.setdefault((row.operation, row.buffer), {}).setdefault(row.route, Sum()).add(row)
    return sorted(((*key, by_route) for key, by_route in table.items()),
                  key=lambda line: (-sum(one.bytes for one in line[2].values()), line[:2]))


def shares_of(job, on_device):
    """[(route, bytes)] of the buffers in device memory, or in that of the host; the most bytes first."""
    sums = collections.Counter()
    for one in job.statistics.values():
        for row in one.rows:
            if (row.buffer in DEVICE_MEMORY) == on_device and row.route != COUNTED_TWICE and row.bytes:
                sums[row.route] += row.bytes
    return sorted(sums.items(), key=lambda share: (-share[1], share[0]))


def fallbacks_of(job):
    """[(reason, how often, on which ranks)]; the most frequent first."""
    found = {}
    for rank, one in sorted(job.statistics.items()):
        for reason, number in one.fallbacks.items():
            entry = found.setdefault(reason, [0, []])
            entry[0] += number
            entry[1].append(rank)
    return sorted(((reason, *entry) for reason, entry in found.items()), key=lambda one: (-one[1], one[0]))


def bytes_of_ranks(job):
    """rank -> route -> bytes."""
    result = {}
    for rank, one in sorted(job.statistics.items()):
        sums = result[rank] = collections.Counter()
        for row in one.rows:
            sums[row.route] += row.bytes
    return result


def factor_words(value, usual):
    if usual == 0:
        return "most ranks have none"
    if value == 0:
        return "none, unlike most ranks"
    return f"{value / usual:.0f}x the usual" if value >= 10 * usual else f"{value / usual:.2g}x the usual"


def oddities_of(by_rank, routes):
    """rank -> route -> words. A rank is unlike the others where its bytes by a route are more than twice or less than
    half of the median, and differ from it by more than a tenth of a rank's bytes."""
    if len(by_rank) < FEWEST_RANKS:
        return {}
    weight = statistics.median(sum(cells.values()) for cells in by_rank.values()) / 10
    found = {}
    for route in routes:
        usual = statistics.median_low(cells[route] for cells in by_rank.values())
        for rank, cells in by_rank.items():
            is_apart = cells[route] > 2 * usual or 2 * cells[route] < usual
            if is_apart and abs(cells[route] - usual) > weight:
                found.setdefault(rank, {})[route] = factor_words(cells[route], usual)
    return found


def row_of(ranks, by_rank, routes, oddities):
    cells = {}
    for route in routes:
        values = [by_rank[rank][route] for rank in ranks]
        cells[route] = (sum(values) / len(values), min(values), max(values))
    return MapRow(ranks[0], ranks[-1], len(ranks), cells, oddities.get(ranks[0], {}) if len(ranks) == 1 else {})


def map_of(job):
    """The rows of the map, those of ranks that are unlike the others where ranks are folded, and how many of these
    there are in all."""
    by_rank, routes = bytes_of_ranks(job), routes_of(job)
    oddities = oddities_of(by_rank, routes)
    ranks = list(by_rank)
    width = -(-len(ranks) // MOST_ROWS) if ranks else 1
    rows = [row_of(ranks[i:i + width], by_rank, routes, oddities) for i in range(0, len(ranks), width)]
    weighty = sorted(oddities, key=lambda rank: (-len(oddities[rank]), rank))
    shown = sorted(weighty[:MOST_ROWS // 2]) if width > 1 else []
    odd_rows = [row_of([rank], by_rank, routes, oddities) for rank in shown]
    return rows, odd_rows, len(oddities)
