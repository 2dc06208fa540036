# SPDX-License-Identifier: BSD-3-Clause
"""The steps of `bench/gpu_session`: what is to be run on a machine with GPUs, why, and how long at most.

A step's words may have {site} (the unpacked bundle), {bundle} (the folder that travelled), {out} (the step's own folder for
results) and {python} (the interpreter that runs this, which has PyTorch there).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    what: str  # for people: what it measures, and why
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


# test of queues -> what its figure tells
QUEUE_TESTS = {
    "queue_enqueue": "what a call of MPIX_Enqueue_* costs the host",
    "queue_latency": "a stream's message beside the host's synchronisation and MPI call",
    "queue_overlap": "the share of a stream's exchange that the host's computation hides",
}


def queue(name, test, engine, *more):
    """A benchmark of queues."""
    return ours(name, f"{test}, engine {engine}: {QUEUE_TESTS[test]}", 2, "--env", f"SLUICE_QUEUE_ENGINE={engine}", "--", "{site}/ours/bin/sluice-bench", test, "-d", "cuda",
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
        yield ours(name, f"the share of non-blocking collectives that computation hides, SLUICE_PROGRESS_THREAD={knob}", 2, "--env", f"SLUICE_PROGRESS_THREAD={knob}", "--",
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
        what = f"{test} of host memory, 8 ranks: "
        yield pair(f"{test}_alone", what + "what Sluice costs a program without device memory", 8, words, ("alone", False, ()), ("Sluice", True, ()))
        yield pair(f"{test}_met", what + "what the ranks' meeting before a blocking call gains (ADR 0045)", 8, words, ("non-blocking", True, ("SLUICE_COLL_MEET=off",)), ("met", True, ()))


def launches():
    """Kernels by themselves, and as graphs."""
    def compare(name, what, words, knobs, *more):
        sides = [(label, True, (f"SLUICE_CUDA_LAUNCH={how}", *knobs)) for label, how in (("by itself", "kernel"), ("as a graph", "graph"))]
        return pair(name, what, 2, [*words, "-d", "cuda", "-i", "300", "-x", "100", "--oversubscribe"], *sides, *more)

    yield compare("queue_launch", "messages of queues: whether a kernel starts sooner as a graph (ADR 0044)", ["queue_latency", "--sizes", "8,1024,16384,65536"], ("SLUICE_QUEUE_ENGINE=device",),
                  "--series", "queue")
    yield compare("reduce_launch", "short reductions over IPC: whether a kernel starts sooner as a graph (ADR 0044)",
                  ["allreduce", "--type", "mpi_float", "--sizes", "64,4096,65536,262144,1048576", "--check", "none"],
                  ("SLUICE_COLL_IPC=always", "SLUICE_TUNING=coll_ipc_threshold=0,coll_reduce_threshold=0"))


def first_uses():
    """Programs that ask, and reduce, before a device was used; and reductions of text, which the usual benchmark has by default."""
    ask = ("import ctypes, sys; answer = ctypes.CDLL(None).MPIX_Query_cuda_support(); is_there = 'libcuda' in open('/proc/self/maps').read(); "
           "print('answer', answer, 'driver in the process', is_there); sys.exit(answer != 1 or is_there)")
    yield ours("asked_early", "whether MPIX_Query_cuda_support before MPI_Init answers 1 and loads no driver (ADR 0066)", 1, "--", "/usr/bin/env", "python3", "-c", ask)
    words = ["allreduce", "-d", "cuda", "-T", "mpi_int", "--sizes", "64,256,1024,2048,4096", "-i", "500", "-x", "100", "--oversubscribe", "--check", "none"]
    # The launcher leaves tables out unless it is told otherwise.
    yield pair("short_first", "short all-reduces, the device first used behind MPI_Init: what the lengths of the tables gain over the defaults", 2, words,
               ("defaults", True, ("SLUICE_TUNING=off",)), ("tables", True, ("SLUICE_TUNING=auto",)))
    yield ours("short_linked", "short all-reduces by the tables, in a program that is linked to the driver, so that they hold from MPI_Init on", 2, "--env", "SLUICE_TUNING=auto", "--preload-below",
               "libcuda.so.1", "--", "{site}/ours/bin/sluice-bench", *words, "--repeat", "5", "--json", "{out}/result.json")
    yield ours("text_sums", "all-reduces of MPI_CHAR beside MPI_INT, 16 KiB and 16 MiB: sluice-bench reduces text unless told otherwise", 2, "--env", "SLUICE_TUNING=auto", "--", "{site}/ours/bin/sluice-bench", "allreduce", "-d", "cuda", "-T",
               "mpi_int,mpi_char", "--sizes", "16K,16M", "-i", "200", "-x", "50", "--repeat", "5", "--oversubscribe", "--json", "{out}")
    yield ours("posted_windows", "windows of 16 receives of 64 MiB: their rate, with no staging memory for them (ADR 0059)", 2, "--env", "SLUICE_STATS=1", "--", "{site}/ours/bin/sluice-bench", "bw",
               "-d", "cuda", "D", "D", "--sizes", "16M,64M", "-W", "16", "-i", "20", "-x", "5", "--repeat", "5", "--oversubscribe", "--json", "{out}/result.json")


def training(name, ways, n_devices, n_ranks, limit_s, rounds=3):
    words = ("{python}", "{site}/data_parallel/compare", "--bundle", "{site}/gpu", "--device", "cuda", "--ranks", str(n_ranks), "--ways", ways, "--rounds", str(rounds),
             "--limit-s", "60", "--out", "{out}")
    return Step(name, f"training on device tensors by {ways}: words a second, and equal losses", words, limit_s, n_devices)


def tune(name, what, n_ranks, questions, *more, limit_s, n_devices=1):
    words = ("{python}", "{site}/ours/libexec/sluice/tune", "--backend", "cuda", "--launch", f"{{site}}/mpich/bin/mpiexec -n {n_ranks}", "--only", questions,
             *more, "-o", "{out}/cuda.json")
    return Step(name, what, words, limit_s, n_devices)


def on_four():
    """Four ranks with a device each: what two ranks cannot show."""
    def compare(name, what, kind, *words, limit_s):
        return collectives(f"{name}_four", f"four ranks: {what}", "--compare", kind, "--ranks", "4", *words, limit_s=limit_s, n_devices=4)

    yield cases("tests_four", "tests of collectives together, random programs and queues, four ranks", "four", 300, n_devices=4)
    yield compare("shipped", "collectives with no knob set, beside NCCL", "shipped", "--rounds", "5", "--iterations", "300", "--warmup", "60", limit_s=300)
    yield compare("long", "collectives of 4 MiB to 1 GiB with no knob set, beside NCCL", "shipped", "--sizes", "4194304,16777216,67108864,268435456,1073741824",
                  "--rounds", "5", "--iterations", "40", limit_s=540)
    four = {"n_devices": 4, "n_ranks": 4}
    for name, grid in (("row", "4x1x1"), ("square", "2x2x1")):
        yield app(f"faces_{name}_four", f"faces with the paper's loops, {grid} ranks: whether messages of streams gain", "faces", "--rounds", "5", "--loops", "10x100x100", "--grids", grid,
                  "--variants", "plain,st,st-graph", *BY_STREAMS, limit_s=400, **four)
    # A start takes 40 s; staged, beside, took 4.67 times as long as mpi.
    yield training("training_four", "mpi,torch", 4, 4, 480, rounds=5)
    yield app("fft_four", "Fourier transform of 512 points a side, four ranks, beside NCCL's send and receive", "fft3d", "--rounds", "5", "--grid", "512x512x512", "--limit-s", "100",
              limit_s=400, **four)
    yield app("stencil_four", "stencil exchange packed by hand and stream-triggered, four ranks, beside UCX", "stencil3d", "--rounds", "5", "--steps", "500", "--variants", "packed,st,st-graph",
              *BY_STREAMS, **four)
    yield app("halo_four", "halo of all eight neighbours by subarray and hindexed types against packing by hand, four ranks", "stencil2d", "--rounds", "5",
              "--steps", "100", "--variants", "packed,subarray,hindexed,st,st-graph", *BY_STREAMS, limit_s=300, **four)
    yield app("scaling_four", "weak and strong scaling of a grid, one to four ranks", "scaling", "--rounds", "5", "--steps", "500", "--rank-counts", "1,2,4",
              "--variants", "packed,st,st-graph", *BY_STREAMS, limit_s=400, **four)
    yield compare("engines", "long reductions by kernels alone and with copy engines that feed them: which is quicker (ADR 0024)", "engines", "--rounds", "3", limit_s=240)
    yield compare("kernel", "collectives copied by engines and by one kernel, beside NCCL: which is quicker", "kernel", "--rounds", "3", limit_s=240)
    yield compare("peers", "collectives beside UCX, staging by hand and NCCL", "peers", "--rounds", "3", "--sizes", "64,4096,65536,1048576,33554432", limit_s=400)
    # Movements, reductions, nonblocking and neighbors took 136 s; all groups on two devices took 323 s.
    yield suite("suite_four", "every test of sluice-bench beside UCX, collectives on four ranks, all else on two", 540, "--ranks", "4", n_devices=4)
    yield tune("tune_four", "the thresholds that a tuning table of four devices would have", 4, "together,reduce,kernel,chain", "--rounds", "3", limit_s=300, n_devices=4)


# What is known least, and what other work waits for, comes first.
STEPS = (
    *first_uses(),
    *on_four(),
    Step("files", "4 GiB written and read from device memory, beside the bare copy, host memory and copying by hand",
         ("{python}", "{site}/scripts/file_figures", "--backend", "cuda", "--build", "{site}/ours", "--launch", "{site}/scripts/launch", "--out", "{out}"), 530),
    bench("launch", "what a short kernel and its end cost by each way to launch it: whether graphs are quicker (ADR 0044)"),
    *(Step(f"reduce_{how}", f"the reduction's kernel alone, launched as a {how}: the part of an all-reduce that is no message",
           ("{site}/scripts/launch", "-n", "1", "--env", f"SLUICE_CUDA_LAUNCH={how}", "--", "{site}/ours/bin/sluice-bench", "device_reduce", "-d", "cuda", "-m",
            "64:64M", "-i", "200", "-x", "20", "--json", "{out}/result.json"), 60) for how in ("kernel", "graph")),
    module_bench("pack", "packing and unpacking beside kernels by hand, 13 layouts (ADR 0036)"),
    module_bench("rearrange", "moves between two layouts by one kernel, beside a kernel by hand"),
    paper("ccgrid23", "the CCGrid paper's figures 3 to 8: which of its statements hold on this device", 240, "ccgrid23", "--device", "cuda", "--rounds", "3"),
    paper("prace", "the PRACE paper's table 1 and figures 3 and 4: which of its statements hold on this device", 150, "prace", "--backends", "cuda", "--ranks", "2", "--rounds", "3"),
    cases("sanitizers", "kernels under compute-sanitizer's memcheck and racecheck: no error must show", "memcheck,racecheck", 400),
    Step("one_sided", "puts, gets, updates and fence epochs of two ranks, on one device or each on its own, beside bare copies and messages",
         ("{python}", "{site}/scripts/one_sided", "--bench", "{site}/ours/bin/sluice-bench", "--lib", "{site}/ours/lib", "--device", "cuda", "--out", "{out}"), 400),
    Step("put_nvshmem", "NVSHMEM's put from one GPU to another, as PyTorch's wheel gives it, beside one_sided on two GPUs",
         ("{python}", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "{site}/scripts/peers/put_nvshmem.py"), 100, 2),
    training("training", "mpi,staged", 1, 2, 200),
    queue("enqueue", "queue_enqueue", "device"),
    queue("enqueue_thread", "queue_enqueue", "thread"),
    queue("latency", "queue_latency", "device"),
    queue("latency_thread", "queue_latency", "thread"),
    queue("overlap", "queue_overlap", "device"),
    app("faces", "faces plain and stream-triggered, engine device, beside UCX: whether streams gain", "faces", "--rounds", "3", "--loops", "1x10x100", "--variants", "plain,st,st-graph",
        *BY_STREAMS),
    app("stencil", "stencil exchange packed by hand and stream-triggered, beside UCX: whether streams gain", "stencil3d", "--rounds", "3", "--steps", "500", "--variants", "packed,st,st-graph",
        *BY_STREAMS),
    app("fft", "Fourier transform of 512 points a side; with two GPUs, NCCL's send and receive too", "fft3d", "--rounds", "5", "--grid", "512x512x512", "--limit-s", "140",
        limit_s=540),
    *launches(),
    *meetings(),
    cases("queues", "the tests of queues and channels on a device", "queues,channels", 400),
    cases("cases", "cases in which other GPU-aware MPIs failed, and data with gaps", "T2,T3,T8,T9,T10,T11,T12,T14,T15,T18,T22,gaps,graphs,kernel,probe", 480),
    cases("full_device", "whether reductions by kernels end while the program's kernels hold the whole device", "full_device", 200),
    tune("tune", "the constants of the model that chooses how data with gaps are packed (ADR 0048)", 2, "runs,copies,reduce", "--oversubscribe", limit_s=120),
    Step("topology", "placement: each rank's device, cores, network card and peers, with measured rates", ("{site}/ours/bin/sluice", "info", "--topology", "--measure"), 60),
    app("faces_paper", "faces with the paper's loops: whether streams gain as in the paper", "faces", "--rounds", "5", "--loops", "10x100x100", *BY_STREAMS, limit_s=330),
    *overlaps(),
    *(ours(f"packed_{kind}", f"messages of type {kind} beside packing by hand and a contiguous message", 2, "--", "{site}/ours/bin/sluice-bench", "latency",
           "-d", "cuda", "--oversubscribe", "-D", kind, "--compare-packed", "--sizes", "4K,64K,1M,16M,64M", "-i", "50", "-x", "10", "--repeat", "5", "--json",
           "{out}/result.json") for kind in ("vector", "subarray", "hindexed", "struct")),
    collectives("levels_one", "collectives in two levels against flat on two faked nodes, four ranks on one device (ADR 0016)", "--compare", "levels", "--nodes", "2", "--ranks",
                "4", "--rounds", "5", "--tests", "allreduce,reduce_scatter_block,bcast,allgather", "--sizes", "65536,1048576,16777216", n_devices=1,
                # Four ranks with the many connections that queues want are more than the service has: no memory, it says.
                under=("env", "CUDA_DEVICE_MAX_CONNECTIONS=8")),
    collectives("segments_one", "staged reductions in segments and whole, on two faked nodes of one rank each that share one device (ADR 0022)", "--compare", "segments",
                "--nodes", "2", "--rounds", "5", "--tests", "allreduce,reduce_scatter_block", "--sizes", "4194304,33554432,268435456", n_devices=1),
    suite("neighbors", "neighbourhood collectives over IPC beside UCX", 240, "--groups", "neighbors", n_devices=2),
    suite("host", "host memory beside UCX, with warm-ups enough for MPICH 5: what Sluice costs there", 120, "--groups", "host,host_windows"),
    suite("suite", "every test of sluice-bench beside UCX, as many as the time suffices for", 420),
    cases("sanitized_queues", "kernels of queues under compute-sanitizer's memcheck and racecheck: no error must show", "queues_memcheck,queues_racecheck", 330),
    collectives("small", "short reductions with graphs of one kernel and without, beside NCCL", "--compare", "ipc", "--tests",
                "allreduce,reduce_scatter_block", "--sizes", "64,4096,65536,262144,1048576", "--rounds", "5", "--more", "SLUICE_CUDA_LAUNCH=graph"),
    collectives("levels", "collectives in two levels against flat on two faked nodes (ADR 0016)", "--compare", "levels", "--nodes", "2", "--ranks", "4", "--rounds", "5"),
    collectives("shipped", "collectives with no knob set, beside NCCL", "--compare", "shipped", "--rounds", "5", "--iterations", "300", "--warmup", "60"),
    collectives("long", "collectives of 16 MiB to 1 GiB with no knob set, beside NCCL", "--compare", "shipped", "--sizes", "16777216,67108864,134217728,268435456,1073741824",
                "--rounds", "5", "--iterations", "40", limit_s=540),
    collectives("engines", "long reductions by kernels alone and with copy engines that feed them: which is quicker (ADR 0024)", "--compare", "engines", "--rounds", "5"),
    collectives("segments", "staged collectives in segments and whole: which is quicker (ADR 0022)", "--compare", "segments", "--rounds", "5"),
    collectives("collectives", "collectives beside NCCL and UCX", "--compare", "peers", "--rounds", "5", limit_s=540),
    cases("tests_network", "tests of messages between two faked nodes by a network library", "nodes", 240),
    Step("network", "messages between two faked nodes by a network library, in blocks, and by Open MPI on the same transports (ADR 0087)",
         ("{bundle}/compare_peers", "--bundle", "{site}", "--run", "--only", "far,far-bw,far-bibw", "--backends", "cuda", "--out", "{out}", "--budget-s", "330"), 360, 1),
    Step("peers", "point-to-point messages beside UCX, NCCL and copies by hand",
         ("{bundle}/compare_peers", "--bundle", "{site}", "--run", "--out", "{out}", "--budget-s", "480"), 540, 2),
)
