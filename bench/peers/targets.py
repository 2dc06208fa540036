# SPDX-License-Identifier: BSD-3-Clause
"""The targets, and whether the figures of one run meet them. No measuring here."""

import dataclasses
import statistics

from peers import plan
from peers.plan import KI, MI


@dataclasses.dataclass(frozen=True)
class Target:
    """subject / reference at each size must be at most (or at least) limit.

    Both are (section, column); several references: the slowest of them counts at each round. is_inverted: the
    ratio of rates where the figures are times, and of times where they are rates.
    """
    text: str
    subject: tuple
    references: tuple
    sizes: tuple
    limit: float
    is_at_least: bool = False
    is_inverted: bool = False
    fastest: tuple = ()  # further references of which the fastest joins the others (two ways to do the same)


@dataclasses.dataclass(frozen=True)
class Verdict:
    target: Target
    size: int
    ratio: float | None
    low: float | None = None
    high: float | None = None

    @property
    def word(self):
        if self.ratio is None:
            return "n/a"
        is_met = self.ratio >= self.target.limit if self.target.is_at_least else self.ratio <= self.target.limit
        return "met" if is_met else "MISSED"


def device_to_device(first):
    ours, peer = ("one way", first), ("one way", plan.UCX)
    time = "D-D time, " + first
    targets = [Target(f"{time} / {column}", ours, (("one way", column),), plan.SMALL, limit)
               for column, limit in ((plan.UCX, 0.5), (plan.NAIVE, 0.65), (plan.NCCL, 0.75))]
    targets += [Target(f"{time} / {plan.UCX}", ours, (peer,), sizes, limit)
                for sizes, limit in ((plan.MEDIUM, 0.9), (plan.LARGE, 0.95))]
    targets.append(Target(f"D-D bandwidth one by one, {first} / {plan.RAW}", ours, (("one way", plan.RAW),), (128 * MI,),
                          0.97, is_at_least=True, is_inverted=True))
    targets.append(Target(f"D-D bandwidth in windows, {first} / {plan.RAW}", ("streamed", first),
                          (("streamed", plan.RAW),), (128 * MI,), 0.97, is_at_least=True))
    targets.append(Target(f"window of 64, time a message, {first} / {plan.UCX}", ("window", first),
                          (("window", plan.UCX),), plan.SMALL, 0.2, is_inverted=True))
    targets.append(Target(f"both ways / one way, {first}", ("both ways", first), (("streamed", first),), plan.STREAMED,
                          1.9, is_at_least=True))
    return targets


def second_backend(first, second):
    sizes = (*plan.SMALL, *plan.MEDIUM, MI, *plan.LARGE, *plan.STREAMED[1:])
    return [Target(f"D-D time, {second} / {first}", ("one way", second), (("one way", first),), sizes, 1.15),
            Target(f"D-D time, {second} / {plan.UCX}", ("one way", second), (("one way", plan.UCX),), plan.SMALL, 1.0)]


def staged(backend):
    section = f"no IPC, {backend}"
    from_1m = tuple(size for size in plan.UNSHARED if size >= MI)
    targets = [Target(f"{section}: time, {a} / {b}", (section, a), ((section, b),), from_1m, 1.0)
               for a, b in (("even", "none"), ("advanced", "even"))]
    stages = (("stages", "pinned D2H"), ("stages", "pinned H2D"))
    wire = (("stages", "host MPI H-H"), ("stages", "host MPI P-P"))
    targets.append(Target(f"{section}: bandwidth, advanced / slowest stage", (section, "advanced"), stages, (64 * MI,),
                          0.85, is_at_least=True, is_inverted=True, fastest=wire))
    return targets


def between_nodes():
    """What the library itself does under Open MPI, on the same transports."""
    return [Target(f"between nodes: time, direct / {plan.UCX}", ("far", plan.DIRECT), (("far", plan.UCX),), plan.FAR_SIZES, 1.05),
            Target(f"between nodes: rate, direct / {plan.UCX}", ("far, streamed", plan.DIRECT), (("far, streamed", plan.UCX),),
                   plan.FAR_STREAMED, 0.95, is_at_least=True)]


def host_sides(columns):
    return [Target(f"{section} bandwidth, {column} / {copy}", (section, column), (("stages", copy),), (64 * MI,), 0.9,
                   is_at_least=True, is_inverted=True)
            for section, copy in (("H-D", "pinned H2D"), ("D-H", "pinned D2H")) for column in columns]


def all_targets(backends, pipeline_backends):
    columns = ["sluice " + backend for backend in backends]
    targets = device_to_device(columns[0])
    for other in columns[1:]:
        targets += second_backend(columns[0], other)
    for backend in pipeline_backends:
        targets += staged(backend)
    return targets + host_sides(columns) + between_nodes()


def reference_by_round(results, target, size):
    """What the subject is compared with, a value a round. Several references are times: the longest counts."""
    lists = [results.by_round(section, column, size) for section, column in target.references]
    if target.fastest:
        ways = [results.by_round(section, column, size) for section, column in target.fastest]
        lists.append([min((v for v in values if v is not None), default=None) for values in zip(*ways)])
    return [None if any(value is None for value in values) else max(values) for values in zip(*lists)]


def ratio_of(target, subject, reference):
    return reference / subject if target.is_inverted else subject / reference


def judge(results, target, size):
    """The ratio of the medians, with the smallest and the largest ratio within a round."""
    pairs = list(zip(results.by_round(*target.subject, size), reference_by_round(results, target, size)))
    pairs = [(a, b) for a, b in pairs if a and b]
    if not pairs:
        return Verdict(target, size, None)
    ratios = [ratio_of(target, a, b) for a, b in pairs]
    middle = ratio_of(target, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs))
    return Verdict(target, size, middle, min(ratios), max(ratios))


def judge_all(results, targets):
    return [judge(results, target, size) for target in targets for size in target.sizes]


def size_text(size):
    if size >= MI:
        return f"{size // MI} MiB"
    return f"{size // KI} KiB" if size >= KI else f"{size} B"
