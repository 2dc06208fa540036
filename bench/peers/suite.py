# SPDX-License-Identifier: BSD-3-Clause
"""What `bench/compare_suite` runs: the groups of tests, the sides, and where their programs lie. Nothing is started here."""

import dataclasses
import pathlib

from peers import commands, measuring

ROOT = pathlib.Path(__file__).resolve().parents[2]

SIZES = (8, 4096, 65536, 1 << 20, 16 << 20)
SHORT_SIZES = (8, 4096, 65536, 1 << 20)
NEIGHBORHOODS = ("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw")
MOVEMENTS = ("bcast", "allgather", "alltoall", "alltoallv", "gather", "scatter")
FURTHER = ("allgatherv", "alltoallw", "gatherv", "scatterv")
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter")
FURTHER_REDUCTIONS = ("reduce_scatter_block", "scan", "exscan")
COLLECTIVES = (*MOVEMENTS, *FURTHER, *REDUCTIONS, *FURTHER_REDUCTIONS, *NEIGHBORHOODS)
TYPES = ("vector", "contiguous", "subarray", "hindexed", "struct")
TYPE_SIZES = (64, *SHORT_SIZES[1:])
ONE_SIDED = ("put_latency", "get_latency", "put_bw", "get_bw", "acc_latency", "get_acc_latency")


@dataclasses.dataclass(frozen=True)
class Group:
    """Tests of one launch. variant: what is put behind the tests' names in the files; more: words of the command line;
    sizes: none for tests that have no messages; has_rounds: run again in each round, else once, with blocks instead;
    is_without_mpi: the same whatever MPI is there; needs_sluice: nobody else has it; takes_all: on all ranks of --ranks, else
    on two; least_ranks: left out where there are fewer."""
    name: str
    tests: tuple
    variant: str = ""
    more: tuple = ()
    sizes: tuple = SHORT_SIZES
    iterations: int = 20
    warmup: int = 5
    has_rounds: bool = False
    is_without_mpi: bool = False
    needs_sluice: bool = False
    takes_all: bool = False
    least_ranks: int = 1

    def n_ranks(self, most):
        """On how many of `most` ranks it runs; None where they are too few."""
        n_ranks = most if self.takes_all else 2
        return n_ranks if n_ranks >= self.least_ranks else None


# The most important first: what the time does not suffice for is at the end.
SUITE = (
    Group("pairs", ("latency", "bw", "bibw", "message_rate", "halo_2d"), sizes=SIZES, iterations=100, has_rounds=True),
    Group("movements", MOVEMENTS, sizes=SIZES, iterations=40, has_rounds=True, takes_all=True),
    Group("reductions", REDUCTIONS, sizes=SIZES, has_rounds=True, takes_all=True),
    Group("calls", ("launch", "event", "synchronize", "query_pointer", "ipc_export", "ipc_open"), sizes=(), iterations=200,
          is_without_mpi=True),
    Group("copies", ("memcpy",), sizes=SIZES, is_without_mpi=True),
    Group("kinds", ("memcpy_kinds",), is_without_mpi=True),
    Group("copy_ways", ("copy_ways", "copy_list"), is_without_mpi=True),
    Group("device_reduce", ("device_reduce",), is_without_mpi=True),
    Group("trigger", ("trigger",), sizes=(), iterations=200, is_without_mpi=True),
    Group("queues", ("queue_latency", "queue_overlap"), iterations=100, needs_sluice=True),
    Group("queue_calls", ("queue_enqueue",), sizes=(), iterations=200, needs_sluice=True),
    *(Group(kind, ("latency", "bw"), kind, ("-D", kind), TYPE_SIZES) for kind in TYPES),
    Group("packed", ("latency",), "packed", ("-D", "vector", "--compare-packed"), TYPE_SIZES),
    Group("large_counts", ("latency", "bw"), "large", ("--large-count",)),
    Group("cold", ("latency", "bw"), "cold", ("--cold",), SIZES),
    Group("mixed", ("latency", "bw"), "H-D", ("H", "D")),
    Group("mixed_back", ("latency", "bw"), "D-H", ("D", "H")),
    Group("managed", ("latency", "bw"), "M-M", ("M", "M")),
    Group("pinned", ("latency", "bw"), "P-P", ("P", "P")),
    # The first 250 to 850 round trips of MPICH 5.0.2 take three times as long as those that follow
    # (docs/measurements/2026-11-23-first-messages-host).
    Group("host", ("latency",), "host", ("H", "H"), iterations=100, warmup=1000),
    Group("host_windows", ("bw",), "host", ("H", "H"), iterations=100),
    Group("more_pairs", ("latency_persistent", "bw_persistent", "bibw_persistent", "latency_mt", "multi_lat", "mbw_mr", "bw_fan_in",
                         "bw_fan_out", "halo_3d", "partitioned_latency")),
    Group("further", (*FURTHER, *FURTHER_REDUCTIONS), takes_all=True),
    Group("neighbors", NEIGHBORHOODS, takes_all=True),
    Group("two_groups", (*MOVEMENTS, *REDUCTIONS), "groups", ("--groups", "2"), takes_all=True, least_ranks=4),
    Group("nonblocking", tuple("i" + name for name in COLLECTIVES), takes_all=True),
    Group("persistent", tuple(name + "_persistent" for name in COLLECTIVES), takes_all=True),
    Group("barriers", ("barrier", "ibarrier", "barrier_persistent"), sizes=(), iterations=200, takes_all=True),
    Group("one_sided", ONE_SIDED, "host", ("H", "H")),
    Group("atomics", ("fop_latency", "cas_latency"), "host", ("H", "H"), sizes=()),
    Group("pack", ("pack",), "vector", ("-D", "vector"), TYPE_SIZES, is_without_mpi=True),
    Group("init", ("init",), sizes=(), iterations=1),
)


def operation_of(test):
    """The blocking collective behind one that is not: who fails in it fails in its forms."""
    base = test.removesuffix("_persistent")
    return base[1:] if base[:1] == "i" and base[1:] in (*COLLECTIVES, "barrier") else base


def name_of(test, variant):
    """As the file of its result is called."""
    return f"{test}-{variant}" if variant else test


@dataclasses.dataclass
class Side:
    """What commands.py reads of a side, the name of its folder, the groups that it does not take, and the tests that
    failed on it, with the reason."""
    label: str
    program: str
    backend: str
    knobs: tuple = ()
    leaves: tuple = ()
    failed: dict = dataclasses.field(default_factory=dict)

    def reason_against(self, test, variant):
        """Why this test is not tried here any more; None when it is."""
        if name_of(test, variant) in self.failed:
            return self.failed[name_of(test, variant)]
        base = name_of(operation_of(test), variant)
        return f"not tried: {base} failed" if base in self.failed else None


@dataclasses.dataclass
class Run:
    side: Side
    words: list
    n_ranks: int = 2


WITHOUT_MPI = tuple(group.name for group in SUITE if group.is_without_mpi)
WITH_SLUICE = tuple(group.name for group in SUITE if group.needs_sluice)


class Bundle:
    """compare_peers' bundle: Open MPI with UCX, and Sluice on its host MPI, with one or two backends."""

    def __init__(self, bundle, unpacked, backends):
        self.site = measuring.unpack(bundle, unpacked)
        self.sides = [Side("ucx", "ucx", backends[0], leaves=(*WITHOUT_MPI, *WITH_SLUICE)), Side("sluice", "sluice", backends[0])]
        for backend in backends[1:]:
            once = tuple(group.name for group in SUITE if not group.has_rounds and not group.is_without_mpi)
            self.sides.append(Side(f"sluice-{backend}", "sluice", backend, leaves=once))

    def command(self, side, words, n_ranks):
        return commands.command_of(self.site, Run(side, words, n_ranks))


class Build:
    """A build folder of the sources, with the host MPI that its tests run on first: staged by hand, and below Sluice."""

    def __init__(self, build, backends):
        self.build = build.resolve()
        # Nobody stages datatypes by hand, and what lies on the host needs no staging.
        by_hand = (*WITHOUT_MPI, *WITH_SLUICE, *TYPES, "packed", "large_counts", "pinned", "host", "one_sided", "atomics", "barriers",
                   "init")
        self.sides = [Side("naive", "", backends[0], leaves=by_hand)]
        self.sides += [Side("sluice" if backend == backends[0] else f"sluice-{backend}", "", backend) for backend in backends]

    def command(self, side, words, n_ranks):
        launch = [str(ROOT / "tests/launch"), "--mpi", "mpich4", "-n", str(n_ranks), "--backends", side.backend]
        by_hand = []
        if side.label == "naive":
            by_hand = ["--naive"]
        else:
            launch += ["--sluice", f"{self.build}/lib"]
        return [*launch, "--", f"{self.build}/bin/sluice-bench", *words, "-d", side.backend, *by_hand]
