# SPDX-License-Identifier: BSD-3-Clause
"""The steps of `bench/gpu_session`: what is to be run on a machine with GPUs, for whom, and how long at most.

A step's words may have {site} (the unpacked bundle), {bundle} (the folder that travelled), {out} (the step's own folder for
results) and {python} (the interpreter that runs this, which has PyTorch there).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    what: str  # for people: of which issue, and what it shows
    words: tuple
    limit_s: int
    n_devices: int = 1


def bench(name, what, *words):
    return Step(name, what, (f"{{site}}/bin/cuda_{name}_bench", *words), 90)


def module_bench(name, what):
    return bench(name, what, "--module", "{site}/ours/lib/sluice/libsluice_backend_cuda.so")


def cases(name, what, only, limit_s, n_devices=1):
    """Steps of tests/gpu."""
    words = ("{site}/gpu/run", "--out", "{out}", "--jobs", "1", "--only", only, "--budget-s", str(limit_s - 30))
    return Step(name, what, words, limit_s, n_devices)


def queue(name, test, engine, *more):
    """A benchmark of queues."""
    return ours(name, f"7: {test}, engine {engine}", 2, "--env", f"SLUICE_QUEUE_ENGINE={engine}", "--", "{site}/ours/bin/sluice-bench", test, "-d", "cuda",
                "-i", "200", "-x", "50", "--repeat", "5", "--oversubscribe", "--json", "{out}/result.json", *more)


# Of the applications that have stream-triggered variants.
BY_STREAMS = ("--env", "SLUICE_QUEUE_ENGINE=device", "--limit-s", "60")


def app(name, what, program, *words, limit_s=150, n_devices=1, n_ranks=2):
    return Step(name, what, ("{bundle}/figures", program, "--bundle", "{site}", "--ranks", str(n_ranks), "--out", "{out}", *words), limit_s, n_devices)


def paper(name, what, limit_s, *words):
    return Step(name, what, ("{python}", "{site}/scripts/paper_figures", *words, "--build", "{site}/ours", "--out", "{out}", "--launch",
                             "{site}/scripts/launch", "--limit-s", "60"), limit_s)


def collectives(name, what, *words, limit_s=240, n_devices=2, under=()):
    return Step(name, what, (*under, "{bundle}/compare_collectives", "--bundle", "{site}", "--out", "{out}", "--budget-s", str(limit_s - 30), *words),
                limit_s, n_devices)


def suite(name, what, limit_s, *words, n_devices=1):
    """compare_suite, or some groups of it."""
    return Step(name, what, ("{bundle}/compare_suite", "--bundle", "{site}", "--backends", "cuda", "--rounds", "5", "--limit-s", "45", "--budget-s",
                             str(limit_s - 30), "--out", "{out}", *words), limit_s, n_devices)


def ours(name, what, n_ranks, *words, limit_s=60):
    """One run of sluice-bench on Sluice; words: what stands behind the launcher's."""
    return Step(name, what, ("{site}/scripts/launch", "-n", str(n_ranks), "--sluice", "{site}/ours/lib", "--backends", "cuda", *words), limit_s)


def overlaps():
    """Non-blocking collectives while the host, and while the device computes; without and with a progress thread."""
    for name, knob in (("overlap_alone", "0"), ("overlap_thread", "1")):
        yield ours(name, f"6: overlap of non-blocking collectives, SLUICE_PROGRESS_THREAD={knob}", 2, "--env", f"SLUICE_PROGRESS_THREAD={knob}", "--",
                   "{site}/ours/bin/sluice-bench", "iallreduce,ireduce_scatter_block,iallgather,ialltoall,ibcast", "-d", "cuda", "--oversubscribe", "--sizes",
                   "64K,1M,16M", "-i", "50", "-x", "10", "--repeat", "5", "--compute", "each", "--check", "none", "--json", "{out}", limit_s=90)


def pair(name, what, n_ranks, words, a, b, *more):
    """Two settings in turn, five times: (label, with Sluice, knobs) each."""
    sides = []
    for letter, (label, is_with, knobs) in (("a", a), ("b", b)):
        launch = ["{site}/scripts/launch", "-n", str(n_ranks), *(("--sluice", "{site}/ours/lib", "--backends", "cuda") if is_with else ())]
        command = [*launch, *(word for knob in knobs for word in ("--env", knob)), "--", "{site}/ours/bin/sluice-bench", *words]
        sides += [f"--label-{letter}", label, f"--{letter}", " ".join(command)]
    return Step(name, what, ("{python}", "{site}/scripts/side_by_side.py", *sides, *more, "--json", "{out}/pair.json"), 90)


def meetings():
    """Collective calls of host memory, eight ranks."""
    for test in ("bcast", "allreduce", "barrier"):
        words = [test, "-i", "500", "-x", "100", *(() if test == "barrier" else ("--sizes", "16,4096,65536", "--check", "none"))]
        what = f"5: {test} of host memory, 8 ranks"
        yield pair(f"{test}_alone", what, 8, words, ("alone", False, ()), ("Sluice", True, ()))
        yield pair(f"{test}_met", what, 8, words, ("non-blocking", True, ("SLUICE_COLL_MEET=off",)), ("met", True, ()))


def pulls():
    """Short messages that came together, by engines and by one kernel."""
    for test in ("halo_2d", "halo_3d", "latency", "multi_lat"):
        yield pair(f"pulls_{test}", f"8: {test}, short messages pulled by engines and by one kernel (ADR 0058)", 2,
                   [test, "--sizes", "8,1024,16384,65536,262144", "-d", "cuda", "-i", "500", "-x", "100", "--oversubscribe", "--check", "none"],
                   ("engines", True, ()), ("kernel", True, ("SLUICE_P2P_KERNEL_COPY=256K",)))


def launches():
    """Kernels by themselves, and as graphs."""
    def compare(name, what, words, knobs, *more):
        sides = [(label, True, (f"SLUICE_CUDA_LAUNCH={how}", *knobs)) for label, how in (("by itself", "kernel"), ("as a graph", "graph"))]
        return pair(name, what, 2, [*words, "-d", "cuda", "-i", "300", "-x", "100", "--oversubscribe"], *sides, *more)

    yield compare("queue_launch", "7: messages of queues", ["queue_latency", "--sizes", "8,1024,16384,65536"], ("SLUICE_QUEUE_ENGINE=device",),
                  "--series", "queue")
    yield compare("reduce_launch", "6: short reductions over IPC", ["allreduce", "--type", "mpi_float", "--sizes", "64,4096,65536,262144,1048576",
                                                                    "--check", "none"],
                  ("SLUICE_COLL_IPC=always", "SLUICE_COLL_IPC_THRESHOLD=0", "SLUICE_COLL_REDUCE_THRESHOLD=0"))


def training(name, ways, n_devices, n_ranks, limit_s, rounds=3):
    words = ("{python}", "{site}/data_parallel/compare", "--bundle", "{site}/gpu", "--device", "cuda", "--ranks", str(n_ranks), "--ways", ways, "--rounds", str(rounds),
             "--limit-s", "60", "--out", "{out}")
    return Step(name, f"8: data_parallel on device tensors: {ways}", words, limit_s, n_devices)


def tune(name, what, n_ranks, questions, *more, limit_s, n_devices=1):
    words = ("{python}", "{site}/ours/libexec/sluice/tune", "--backend", "cuda", "--launch", f"{{site}}/mpich/bin/mpiexec -n {n_ranks}", "--only", questions,
             *more, "-o", "{out}/cuda.json")
    return Step(name, what, words, limit_s, n_devices)


def on_four():
    """Four ranks with a device each: what the issues ask for beyond two."""
    def compare(name, what, kind, *words, limit_s):
        return collectives(f"{name}_four", f"{what}, four ranks", "--compare", kind, "--ranks", "4", *words, limit_s=limit_s, n_devices=4)

    yield cases("tests_four", "4 to 7: collectives together, random programs and queues, four ranks", "four", 300, n_devices=4)
    yield compare("shipped", "5, 6: no knob set, beside NCCL", "shipped", "--rounds", "5", "--iterations", "300", "--warmup", "60", limit_s=300)
    yield compare("long", "5, 6: 4 MiB to 1 GiB, no knob set, beside NCCL", "shipped", "--sizes", "4194304,16777216,67108864,268435456,1073741824",
                  "--rounds", "5", "--iterations", "40", limit_s=540)
    yield compare("rows", "5: broadcasts that pass along one row of ranks, and along two, beside NCCL", "rows", "--rounds", "5", "--iterations", "40", limit_s=200)
    yield compare("spread", "5, 6: long copies from several ranks in turns and at once, beside NCCL", "spread", "--rounds", "5", "--iterations", "40",
                  limit_s=400)
    four = {"n_devices": 4, "n_ranks": 4}
    for name, grid in (("row", "4x1x1"), ("square", "2x2x1")):
        yield app(f"faces_{name}_four", f"7: the paper's loops, five runs, {grid} ranks", "faces", "--rounds", "5", "--loops", "10x100x100", "--grids", grid,
                  "--variants", "plain,st,st-graph", *BY_STREAMS, limit_s=400, **four)
    # A start takes 40 s; staged, beside, took 4.67 times as long as mpi.
    yield training("training_four", "mpi,torch", 4, 4, 480, rounds=5)
    yield app("fft_four", "8: 512 points a side, four ranks, beside NCCL's send and receive", "fft3d", "--rounds", "5", "--grid", "512x512x512", "--limit-s", "100",
              limit_s=400, **four)
    yield app("stencil_four", "7, 8: packed by hand and stream-triggered, four ranks", "stencil3d", "--rounds", "5", "--steps", "500", "--variants", "packed,st,st-graph",
              *BY_STREAMS, **four)
    yield app("pulls_stencil_four", "8: as stencil_four, packed by hand, its messages pulled by one kernel (ADR 0058)", "stencil3d", "--rounds", "5", "--steps", "500",
              "--variants", "packed", "--env", "SLUICE_P2P_KERNEL_COPY=256K", "--limit-s", "60", **four)
    yield app("halo_four", "8: the halo of all eight neighbours by subarray and hindexed types against packing by hand, four ranks", "stencil2d", "--rounds", "5",
              "--steps", "100", "--variants", "packed,subarray,hindexed,st,st-graph", *BY_STREAMS, limit_s=300, **four)
    yield app("scaling_four", "8: weak and strong scaling of a grid, one to four ranks", "scaling", "--rounds", "5", "--steps", "500", "--rank-counts", "1,2,4",
              "--variants", "packed,st,st-graph", *BY_STREAMS, limit_s=400, **four)
    yield compare("engines", "6: copy engines that feed kernels", "engines", "--rounds", "3", limit_s=240)
    yield compare("kernel", "5: copies by engines and by one kernel, beside NCCL", "kernel", "--rounds", "3", limit_s=240)
    yield compare("peers", "5, 6: beside UCX, staging by hand and NCCL", "peers", "--rounds", "3", "--sizes", "64,4096,65536,1048576,33554432", limit_s=400)
    # 136 s for movements, reductions, nonblocking and neighbors (2026-11-26); all on two devices took 323 s in an earlier state.
    yield suite("suite_four", "4: the whole suite, its collectives on four ranks, all else on two", 540, "--ranks", "4", n_devices=4)
    yield tune("tune_four", "5: what a table of four devices would say", 4, "together,reduce,kernel,chain", "--rounds", "3", limit_s=300, n_devices=4)


# What is known least, and what other work waits for, comes first.
STEPS = (
    *on_four(),
    bench("launch", "6, 7: what a short kernel and its end cost by each way to launch it: are graphs quicker?"),
    *(Step(f"reduce_{how}", f"6: the kernel alone, launched as a {how}",
           ("{site}/scripts/launch", "-n", "1", "--env", f"SLUICE_CUDA_LAUNCH={how}", "--", "{site}/ours/bin/sluice-bench", "device_reduce", "-d", "cuda", "-m",
            "64:64M", "-i", "200", "-x", "20", "--json", "{out}/result.json"), 60) for how in ("kernel", "graph")),
    module_bench("pack", "8: packing beside kernels by hand; uneven blocks of 8 to 4096 bytes were at 0.54 before ADR 0036's last change"),
    module_bench("rearrange", "8: one kernel for two layouts"),
    paper("ccgrid23", "4: the CCGrid paper's figures 3 to 8", 240, "ccgrid23", "--device", "cuda", "--rounds", "3"),
    paper("prace", "4: the PRACE paper's table 1 and figures 3 and 4", 150, "prace", "--backends", "cuda", "--ranks", "2", "--rounds", "3"),
    cases("sanitizers", "6: compute-sanitizer's memcheck and racecheck", "memcheck,racecheck", 400),
    training("training", "mpi,staged", 1, 2, 200),
    queue("enqueue", "queue_enqueue", "device"),
    queue("enqueue_thread", "queue_enqueue", "thread"),
    queue("latency", "queue_latency", "device"),
    queue("latency_thread", "queue_latency", "thread"),
    queue("overlap", "queue_overlap", "device"),
    app("faces", "7: plain and stream-triggered, engine device", "faces", "--rounds", "3", "--loops", "1x10x100", "--variants", "plain,st,st-graph",
        *BY_STREAMS),
    app("stencil", "7, 8: packed by hand and stream-triggered", "stencil3d", "--rounds", "3", "--steps", "500", "--variants", "packed,st,st-graph",
        *BY_STREAMS),
    app("fft", "8: 512 points a side; with two GPUs, NCCL's send and receive too", "fft3d", "--rounds", "5", "--grid", "512x512x512", "--limit-s", "140",
        limit_s=540),
    *pulls(),
    *launches(),
    *meetings(),
    cases("queues", "7: the tests of queues and channels", "queues,channels", 400),
    cases("cases", "5, 8: the failure cases, and data with gaps", "T2,T3,T8,T9,T10,T11,T12,T14,T15,T18,T22,gaps,graphs,kernel,probe", 480),
    cases("full_device", "6: the program's kernels hold the whole device while collective operations reduce by kernels", "full_device", 200),
    tune("tune", "8: the constants of the model that chooses what brings data with gaps together", 2, "runs,copies,reduce", "--oversubscribe", limit_s=120),
    Step("topology", "8: placement: each rank's device, cores, network card and peers", ("{site}/ours/bin/sluice", "info", "--topology", "--measure"), 60),
    app("faces_paper", "7: the paper's loops, five runs", "faces", "--rounds", "5", "--loops", "10x100x100", *BY_STREAMS, limit_s=330),
    *overlaps(),
    *(ours(f"packed_{kind}", f"8: messages of type {kind} beside packing by hand and a contiguous message", 2, "--", "{site}/ours/bin/sluice-bench", "latency",
           "-d", "cuda", "--oversubscribe", "-D", kind, "--compare-packed", "--sizes", "4K,64K,1M,16M,64M", "-i", "50", "-x", "10", "--repeat", "5", "--json",
           "{out}/result.json") for kind in ("vector", "subarray", "hindexed", "struct")),
    collectives("levels_one", "5, 6: two levels against flat on two faked nodes, four ranks on one device", "--compare", "levels", "--nodes", "2", "--ranks",
                "4", "--rounds", "5", "--tests", "allreduce,reduce_scatter_block,bcast,allgather", "--sizes", "65536,1048576,16777216", n_devices=1,
                # Four ranks with the many connections that queues want are more than the service has: no memory, it says.
                under=("env", "CUDA_DEVICE_MAX_CONNECTIONS=8")),
    collectives("segments_one", "5, 6: staged reductions in segments, on two faked nodes of one rank each that share one device", "--compare", "segments",
                "--nodes", "2", "--rounds", "5", "--tests", "allreduce,reduce_scatter_block", "--sizes", "4194304,33554432,268435456", n_devices=1),
    suite("neighbors", "5: neighbourhood collectives over IPC beside UCX's", 240, "--groups", "neighbors", n_devices=2),
    suite("host", "4: host memory beside UCX's, with warm-ups enough for MPICH 5", 120, "--groups", "host,host_windows"),
    suite("suite", "4: the whole suite, as much as the time suffices for", 420),
    cases("sanitized_queues", "7: kernels of queues under compute-sanitizer's memcheck and racecheck", "queues_memcheck,queues_racecheck", 330),
    collectives("small", "6: short reductions with graphs of one kernel, and without, beside NCCL", "--compare", "ipc", "--tests",
                "allreduce,reduce_scatter_block", "--sizes", "64,4096,65536,262144,1048576", "--rounds", "5", "--more", "SLUICE_CUDA_LAUNCH=graph"),
    collectives("levels", "5, 6: two levels against flat on two faked nodes", "--compare", "levels", "--nodes", "2", "--ranks", "4", "--rounds", "5"),
    collectives("shipped", "5, 6: no knob set, beside NCCL", "--compare", "shipped", "--rounds", "5", "--iterations", "300", "--warmup", "60"),
    collectives("long", "5, 6: 16 MiB to 1 GiB, no knob set, beside NCCL", "--compare", "shipped", "--sizes", "16777216,67108864,134217728,268435456,1073741824",
                "--rounds", "5", "--iterations", "40", limit_s=540),
    collectives("engines", "6: copy engines that feed kernels", "--compare", "engines", "--rounds", "5"),
    collectives("segments", "5: staged in segments", "--compare", "segments", "--rounds", "5"),
    collectives("collectives", "5, 6: beside NCCL and UCX", "--compare", "peers", "--rounds", "5", limit_s=540),
    Step("peers", "the table of point to point beside all peers",
         ("{bundle}/compare_peers", "--bundle", "{site}", "--run", "--out", "{out}", "--budget-s", "480"), 540, 2),
)
