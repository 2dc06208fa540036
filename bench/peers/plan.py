# SPDX-License-Identifier: BSD-3-Clause
"""What bench/compare_peers measures: sides, tests, and the commands that measure one side in one test. Pure data."""

import dataclasses

KI, MI = 1024, 1024 * 1024
SMALL = (8, 64, 512, 4 * KI)
MEDIUM = (32 * KI, 64 * KI, 128 * KI, 256 * KI)
LARGE = (2 * MI, 4 * MI, 8 * MI, 16 * MI)
STREAMED = (16 * MI, 64 * MI, 128 * MI)
UNSHARED = (64 * KI, 256 * KI, MI, 4 * MI, 16 * MI, 64 * MI)
FAR_SIZES = (64 * KI, 256 * KI, MI, 4 * MI, 16 * MI)
FAR_STREAMED = (MI, 16 * MI)
PIPELINES = ("none", "even", "advanced", "auto")
# Of UCX between two nodes without a card that reaches device memory.
FAR_TRANSPORTS = "self,tcp,cuda_copy"

UCX = "Open MPI+UCX"
NCCL = "NCCL"
RAW = "raw copy"
NAIVE = "naive"
DIRECT = "sluice direct"


@dataclasses.dataclass(frozen=True)
class Side:
    """Something that is measured: a column of the table.

    program says which of the command builders below starts it; backend is the device module that gives the memory;
    knobs are the variables that Sluice gets.
    """
    name: str
    program: str
    backend: str = ""
    knobs: tuple = ()


@dataclasses.dataclass(frozen=True)
class Run:
    """One command of one side: its words, and the series of its output that are read.

    `reads` maps a column to names of series, of which the best counts; None is the only series, under the side's name.
    """
    side: Side
    words: tuple
    reads: tuple = ()


@dataclasses.dataclass(frozen=True)
class Test:
    """Runs that stand in one section of the table and follow each other within a round."""
    name: str
    section: str
    runs: tuple


def sluice(backend, **knobs):
    return Side("sluice " + backend, "sluice", backend, tuple(sorted(knobs.items())))


def size_words(sizes, iterations, warmup, *more):
    return ("--sizes", ",".join(map(str, sizes)), "-i", str(iterations), "-x", str(warmup), *more)


def bench_words(test, sizes, iterations, warmup, *more):
    return (test, *size_words(sizes, iterations, warmup, "--check", "none", *more))


def one_way(backends):
    """D-D latency of everybody, in two groups, because large messages need few iterations."""
    tests = []
    for name, sizes, iterations, warmup in (("dd", (*SMALL, *MEDIUM, MI), 300, 30),
                                            ("dd-large", (*LARGE, *STREAMED[1:]), 10, 2)):
        words = bench_words("latency", sizes, iterations, warmup)
        own = size_words(sizes, iterations, warmup)
        runs = [Run(sluice(backend), words) for backend in backends]
        runs.append(Run(Side(NAIVE, "naive", backends[0]), words))
        runs.append(Run(Side(UCX, "ucx", backends[0]), words))
        runs.append(Run(Side(NCCL, "nccl"), own))
        runs.append(Run(Side(RAW, "raw"), ("peer", *own), ((RAW, ("peer", "pull", "push")),)))
        tests.append(Test(name, "one way", tuple(runs)))
    return tests


def windows(backends):
    """Message rate of small messages; both directions at once and one alone for large ones."""
    direct = [sluice(backend) for backend in backends] + [Side(UCX, "ucx", backends[0])]
    small = bench_words("bw", SMALL, 100, 10, "-W", "64")
    large = {test: bench_words(test, STREAMED, 4, 1, "-W", "16") for test in ("bw", "bibw")}
    rate = [Run(side, small) for side in (*direct, Side(NAIVE, "naive", backends[0]))]
    floor = Run(Side(RAW, "raw"), ("stream", *size_words(STREAMED, 4, 1)), ((RAW, ("peer", "pull", "push")),))
    return [Test("window", "window", tuple(rate)),
            Test("bw", "streamed", (*(Run(side, large["bw"]) for side in direct), floor)),
            Test("bibw", "both ways", tuple(Run(side, large["bibw"]) for side in direct))]


def host_sides(backends):
    """Host to device and back at 64 MiB, beside the copies that they cannot beat."""
    size = (64 * MI,)
    tests = []
    for name, placement in (("H-D", ("H", "D")), ("D-H", ("D", "H"))):
        words = bench_words("latency", size, 10, 2, *placement)
        sides = [*(sluice(backend) for backend in backends), Side(NAIVE, "naive", backends[0])]
        tests.append(Test(name, name, tuple(Run(side, words) for side in sides)))
    copies = Run(Side("pinned copies", "raw"), ("pinned", *size_words(UNSHARED, 20, 3)),
                 (("pinned H2D", ("h2d",)), ("pinned D2H", ("d2h",))))
    wire = tuple(Run(Side(name, "host", backends[0]), bench_words("latency", UNSHARED, 10, 2, *placement))
                 for name, placement in (("host MPI H-H", ("H", "H")), ("host MPI P-P", ("P", "P"))))
    return [*tests, Test("floors", "stages", (copies, *wire))]


def without_ipc(backends, blocks):
    """D-D latency with IPC switched off, by pipeline."""
    more = {"SLUICE_TUNING": f"p2p_pipeline_blocks={blocks}"} if blocks else {}
    words = bench_words("latency", UNSHARED, 10, 2)
    tests = []
    for backend in backends:
        sides = [dataclasses.replace(sluice(backend, SLUICE_P2P_IPC="off", SLUICE_P2P_PIPELINE=name, **more), name=name)
                 for name in PIPELINES]
        tests.append(Test(f"no-ipc-{backend}", f"no IPC, {backend}", tuple(Run(side, words) for side in sides)))
    return tests


def network(backends):
    """D-D between two faked nodes: by a network library, in blocks of the host MPI's, and Open MPI by the same library and
    the same transports."""
    backend = backends[0]
    sides = (Side(DIRECT, "sluice_far", backend, (("SLUICE_NETWORK", "ucp"), ("UCX_TLS", FAR_TRANSPORTS))),
             Side("sluice blocks", "sluice_far", backend, (("SLUICE_NETWORK", "off"),)),
             Side(UCX, "ucx", backend, (("UCX_TLS", FAR_TRANSPORTS),)))
    # Not too long: for what Open MPI sends by MPI_Send the library copies device memory at half a gigabyte a second here.
    tests = (("far", "far", ("latency", FAR_SIZES, 20, 5)), ("far-bw", "far, streamed", ("bw", FAR_STREAMED, 4, 1, "-W", "8")),
             ("far-bibw", "far, both ways", ("bibw", FAR_STREAMED, 4, 1, "-W", "8")))
    return [Test(name, section, tuple(Run(side, bench_words(*words, "--oversubscribe")) for side in sides)) for name, section, words in tests]


def all_tests(backends, pipeline_backends, blocks=""):
    return [*one_way(backends), *windows(backends), *host_sides(backends), *without_ipc(pipeline_backends, blocks), *network(backends)]


def probes(tests):
    """One short run with every byte checked for each side whose program checks; proves that the side works at all."""
    words = ("latency", "--sizes", "8,4096,262144,4194304", "-i", "2", "-x", "1", "--check", "all")
    seen = {}
    for test in tests:
        for run in test.runs:
            if run.side.program in ("sluice", "sluice_far", "naive", "ucx"):
                shared = tuple(word for word in run.words if word == "--oversubscribe")
                seen.setdefault((run.side.program, run.side.backend, run.side.knobs), Run(run.side, (*words, *shared)))
    return list(seen.values())
