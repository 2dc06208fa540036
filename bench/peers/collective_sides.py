# SPDX-License-Identifier: BSD-3-Clause
"""The sides that compare_collectives measures: what each start of a side runs, and what it printed. Tests that differ in
nothing but their name share a start, because a start with 1 GiB takes ten times as long as what it measures."""

import re
import subprocess

from . import commands, measuring

TESTS = ["bcast", "allgather", "alltoall", "alltoallv", "gather", "scatter", "allreduce", "reduce", "reduce_scatter_block"]
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter_block")
SIZES = "1024,4096,16384,65536,262144,1048576,4194304,33554432"
KERNEL_SIZES = "64,1024,4096,16384,65536,262144,1048576"
ENGINES_SIZES = "16777216,67108864,134217728,268435456,1073741824"
PEERS_SIZES = "64,1024,4096,16384,65536,262144,1048576,4194304,33554432,268435456,1073741824"
LARGE_FROM = 4 << 20  # above, a start of its own
SLOW_LARGEST = 32 << 20  # of sides that stage, beside peers
CHECKED_LARGEST = 128 << 20  # every byte; where copy engines feed kernels
HAND = "by hand"
LIMIT_S = 60
WHOLE = ["SLUICE_COLL_IPC=off", "SLUICE_COLL_SEGMENTS=off"]
CUT = ["SLUICE_COLL_IPC=off", "SLUICE_COLL_SEGMENTS=always", "SLUICE_TUNING=coll_segment_threshold=0"]
# A side has one SLUICE_TUNING: of two the latter would hold alone.
NO_LEAST = "SLUICE_TUNING=coll_ipc_threshold=0,coll_reduce_threshold=0"
TWO = ["SLUICE_COLL_IPC=always", f"{NO_LEAST},coll_levels_threshold=0", "SLUICE_COLL_SEGMENTS=off"]
IPC = ["SLUICE_COLL_IPC=always", NO_LEAST]


def ipc_with(setting):
    return ["SLUICE_COLL_IPC=always", f"{NO_LEAST},{setting}"]


def cut_into(length):
    return [*CUT[:-1], f"{CUT[-1]},coll_segment={length}"]


# what is compared -> side -> knobs; every byte is checked under the last
SLUICE = {
    "ipc": {"staged": ["SLUICE_COLL_IPC=off"], "ipc": IPC},
    "kernel": {"engines": ipc_with("coll_kernel_copy=0"), "kernel": ipc_with("coll_kernel_copy=1G")},
    "peers": {"staged": ["SLUICE_COLL_IPC=off"], "ipc": ipc_with("coll_kernel_copy=0"),
              "kernel": ipc_with("coll_kernel_copy=512K")},
    "segments": {"whole": WHOLE, **{length: cut_into(length) for length in ("256K", "512K", "1M", "2M")}},
    "levels": {"flat": [*TWO, "SLUICE_COLL_LEVELS=off"],
               "two levels": [*TWO, "SLUICE_COLL_LEVELS=auto"],
               "two levels, cut": [*TWO[:-1], "SLUICE_COLL_LEVELS=auto", "SLUICE_COLL_SEGMENTS=always"]},
    "engines": {"kernel": ipc_with("coll_reduce_engines=0"),
                **{block: ipc_with(f"coll_reduce_engines=1,coll_reduce_block={block}")
                   for block in ("16M", "32M", "128M", "64M")}},
    "shipped": {"Sluice": []},
    "order": {"any": [*TWO, "SLUICE_REDUCE_ORDER=any"], "rank": [*TWO, "SLUICE_REDUCE_ORDER=rank"]},
}
TESTS_OF = {"segments": ["bcast", "allgather", "alltoall", "gather", "scatter", "alltoallv", "gatherv", "scatterv", "allgatherv",
                         *REDUCTIONS],
            "levels": ["bcast", "allgather", *REDUCTIONS], "order": REDUCTIONS, "engines": ["allreduce"],
            "kernel": ["bcast", "allgather", "alltoall", "alltoallv", "gather", "scatter"]}
SIZES_OF = {"engines": ENGINES_SIZES, "kernel": KERNEL_SIZES, "peers": PEERS_SIZES, "shipped": KERNEL_SIZES}
RATIOS = {"ipc": [("staged", "ipc"), ("ipc", "NCCL")], "kernel": [("kernel", "engines"), ("kernel", "NCCL"), ("engines", "NCCL")],
          "engines": [("64M", "kernel"), ("kernel", "NCCL"), ("64M", "NCCL")],
          "shipped": [("Sluice", "NCCL")],
          "peers": [("ipc", "NCCL"), ("kernel", "NCCL"), ("ipc", "Open MPI+UCX"), (HAND, "ipc"), ("staged", "ipc")]}


class SideError(Exception):
    """A side that gave nothing; the text says why."""


def run(words, n_tests=1):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S * n_tests, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SideError(str(error)[:200]) from error
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip(" -") and " warning " not in line]
        raise SideError(f"status {done.returncode}: {lines[0][:160] if lines else 'no output'}")
    return done.stdout


class Series:
    """Sizes that one start measures, and how often. A large size is few iterations."""

    def __init__(self, sizes, iterations, warmup):
        is_large = sizes[0] > LARGE_FROM
        self.sizes = sizes
        self.text = ",".join(str(size) for size in sizes)
        self.iterations = str(max(iterations // 4, 1) if is_large else iterations)
        self.warmup = str(1 if is_large else warmup)

    def words(self):
        return ["--sizes", self.text, "-i", self.iterations, "-x", self.warmup]


def series_of(arguments, largest=0):
    sizes = [int(size) for size in arguments.sizes.split(",") if not largest or int(size) <= largest]
    parts = ([size for size in sizes if size <= LARGE_FROM], [size for size in sizes if size > LARGE_FROM])
    return [Series(part, arguments.iterations, arguments.warmup) for part in parts if part]


def groups_of(tests):
    """The tests that a start may measure together: those of a group are asked for with the same words."""
    groups = {}
    for test in tests:
        groups.setdefault("reductions" if test in REDUCTIONS else "blocks" if test == "alltoallv" else "movements", []).append(test)
    return list(groups.values())


def bench_words(series, tests, more, backend):
    if tests[0] in REDUCTIONS:  # sums of floats, as NCCL's
        more = ["--type", "mpi_float", *more]
    return [",".join(tests), *series.words(), *more, "--oversubscribe", "-d", backend]


def launch(site, arguments, knobs, backend):
    words = site.host_launch(backend)
    words[words.index("-n") + 1] = str(arguments.ranks)
    if knobs:
        words += [f"LD_PRELOAD={site.need('ours', 'lib', f'libsluice_{site.flavour}.so')}",
                  f"SLUICE_BACKENDS={backend}", *knobs]
    if arguments.nodes > 1:
        # Hydra tells each rank its number. For Sluice consecutive ranks are on one node; MPICH deals them out in turns.
        words.append(f"MPIR_CVAR_NUM_CLIQUES={arguments.nodes}")
        fake = f'SLUICE_NODE=$((PMI_RANK * {arguments.nodes} / {arguments.ranks})) exec "$@"'
        words += ["sh", "-c", fake, "sh"]
    return [*words, site.bench(site.flavour)]


def ucx_words(site, arguments, tests, series):
    side = measuring.plan.Side("ucx", "ucx", arguments.backend)
    bench = bench_words(series, tests, ["--check", "none", *layout_words(arguments, tests)], arguments.backend)[:-2]  # the device is the command's to name
    words = commands.ucx_command(site, measuring.plan.Run(side, tuple(bench)))
    words[words.index("-n") + 1] = str(arguments.ranks)
    return words


def sections(text, tests):
    """{test: its lines} out of what sluice-bench prints for several tests; what no line names is the first one's."""
    found, test = {}, tests[0]
    for line in text.splitlines():
        named = re.match(r"# sluice-bench [^:]+: (\w+):", line)
        if named:
            test = named[1]
        found.setdefault(test, []).append(line)
    return found


def medians(lines):
    """{bytes: us} out of the table that sluice-bench prints: size, average, median, ..."""
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {int(row[0]): float(row[2]) for row in rows if len(row) > 2 and row[0].isdigit()}


def medians_of(text, tests):
    return {test: medians(lines) for test, lines in sections(text, tests).items() if test in tests}


def layout_words(arguments, tests):
    """The counts of each pair of ranks, the same words for sluice-bench and for NCCL's program."""
    return ["--layout", arguments.layout] if tests == ["alltoallv"] else []


def nccl_medians(site, arguments, tests, series):
    text = run(["env", "NCCL_NVLS_ENABLE=0", commands.own_program(site, commands.COLLECTIVES_SOURCE), "--library",
                commands.nccl_library(), "--ranks", str(arguments.ranks), "--tests", ",".join(tests), *series.words(),
                *layout_words(arguments, tests)], len(tests))
    found = {}
    for row in (line.split() for line in text.splitlines()):
        if row and row[0] in tests:
            found.setdefault(row[0], {})[int(row[1])] = float(row[2])
    return found


class Side:
    """measure(series, tests) starts it once: {test: {bytes: us}}."""

    def __init__(self, name, measure, is_together=True, takes=lambda test: True):
        self.name = name
        self.measure = measure
        self.is_together = is_together  # several tests in one start
        self.takes = takes


def sluice_side(site, arguments, name, knobs, backend, more=()):
    def measure(series, tests):
        bench = bench_words(series, tests, ["--check", "none", *more, *layout_words(arguments, tests)], backend)
        return medians_of(run([*launch(site, arguments, knobs, backend), *bench], len(tests)), tests)
    return Side(name, measure)


def sides(site, arguments):
    knobs_of = SLUICE[arguments.compare]
    plain = ["SLUICE_STATS=off"]
    every = [sluice_side(site, arguments, name, [*plain, *knobs], arguments.backend) for name, knobs in knobs_of.items()]
    last, knobs = list(knobs_of.items())[-1]
    if arguments.more:
        every.append(sluice_side(site, arguments, f"{last} {arguments.more}", [*plain, *knobs, arguments.more], arguments.backend))
    every += [sluice_side(site, arguments, f"{last} {backend}", [*plain, *knobs], backend) for backend in arguments.also]
    if arguments.compare == "peers":
        every.append(sluice_side(site, arguments, HAND, [], arguments.backend, ["--naive"]))
    if arguments.compare in ("ipc", "peers"):
        # It has ended with a segmentation fault in some tests, which are not to take others with them.
        every.append(Side("Open MPI+UCX", lambda series, tests: medians_of(run(ucx_words(site, arguments, tests, series)), tests), is_together=False))
    if arguments.compare in RATIOS:
        every.append(Side("NCCL", lambda series, tests: nccl_medians(site, arguments, tests, series),
                          takes=lambda test: not test.endswith("v") or test == "alltoallv"))
    return [side for side in every if side.name not in arguments.without]


def check_start(site, arguments, tests, series, backend):
    """One start of Sluice's last side with every byte checked: {test: why not}. Where it fails for all, each is checked apart."""
    knobs = list(SLUICE[arguments.compare].values())[-1]
    words = [*launch(site, arguments, ["SLUICE_STATS=off", *knobs], backend), ",".join(tests), "--sizes", series.text,
             "-i", "2", "-x", "1", "--oversubscribe", "-d", backend, *layout_words(arguments, tests)]
    try:
        said = sections(run(words, len(tests)), tests)
    except SideError as error:
        if len(tests) == 1:
            return {tests[0]: str(error)}
        return {test: why for one in tests for test, why in check_start(site, arguments, [one], series, backend).items()}
    texts = {test: "\n".join(said.get(test, [])) for test in tests}
    return {test: f"sluice-bench says that bytes are wrong ({backend})" for test, text in texts.items() if "Fail" in text or "Pass" not in text}


def check_bytes(site, arguments, tests):
    """Every byte, once, under the last of Sluice's sides. {test: why not}."""
    failures = {}
    for backend in (arguments.backend, *arguments.also):
        for series in series_of(arguments, CHECKED_LARGEST):
            failures.update(check_start(site, arguments, tests, series, backend))
    return failures


def largest_of(arguments, name):
    return SLOW_LARGEST if arguments.compare == "peers" and name in ("staged", HAND) else 0
