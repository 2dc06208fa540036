# SPDX-License-Identifier: BSD-3-Clause
"""The cases of tests/gpu/run, and the steps of each."""

import dataclasses

MASK = "CUDA_VISIBLE_DEVICES="
SEND_TESTS = "Send.*:Irecv.*:Sendrecv.*:Claims.*:Mappings.AreNot*:Memory.MayBeFreed*"


@dataclasses.dataclass(frozen=True)
class Step:
    """One start of some ranks. `ranks`: the environment of each of them."""
    name: str
    words: tuple
    env: tuple = ()
    ranks: tuple = ((), ())
    threads: bool = False
    n_devices: int = 1
    limit_s: int = 90
    says: str = ""  # a line with this text must be in the output
    alone: bool = False
    is_mpi: bool = True
    under: tuple = ()  # a tool that starts the program, and its arguments


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    about: str
    steps: tuple = ()
    skip: str = ""


def p2p(name, gtest_filter, *arguments, **more):
    return Step(name, ("p2p", "--backend", "cuda", "--gtest_filter=" + gtest_filter, *arguments), **more)


def coll(name, gtest_filter, *arguments, **more):
    return Step(name, ("coll", "--backend", "cuda", "--gtest_filter=" + gtest_filter, *arguments), **more)


def coll_cases(number, **more):
    """A failure case of collective operations: staged, carried out together, and by what the table of knobs says; each on
    two devices, and with both ranks on one."""
    for name, env in (("staged", ("SLUICE_COLL_IPC=off",)), ("together", TOGETHER), ("as shipped", ())):
        for place, where in (("", {"ranks": CROSSED, "n_devices": 2}), (", both on one", {"ranks": ON_ONE})):
            yield coll(f"collectives, {name}{place}", f"FailureCases.{number}_*", env=env, **where, **more)


def queue(name, *env, gtest_filter="-WithoutThreads.*:FullQueues.AStreamThatDoes*", more_words=(), **more):
    """Stream-triggered queues."""
    words = ("queue", "--backend", "cuda", "--threads", "--gtest_filter=" + gtest_filter, *more_words)
    return Step(name, words, env=env, alone=True, **more)


def script(name, case, **more):
    return Step(name, ("python", "gpu_cases.py", case), **more)


def memory(kind, **more):
    return p2p("memory " + kind, SEND_TESTS, env=(f"SLUICE_BENCH_CUDA_MEMORY={kind}", *more.pop("knobs", ())), **more)


def ipc_suite(name, *env):
    return Step("contract, " + name, ("conformance", "--backend", "cuda", "--gtest_filter=Ipc.*-Ipc.Group*"), env=env,
                is_mpi=False)


DEVICE_ENGINE = ("SLUICE_QUEUE_ENGINE=device",)


def triggered(number):
    """A failure case of stream-triggered queues, 1000 times."""
    full = {"gtest_filter": f"FailureCases.{number}_*", "more_words": ("--matrix", "full")}
    yield queue("queues, engine thread", ranks=CROSSED, n_devices=2, **full)
    yield queue("queues, engine device", *DEVICE_ENGINE, ranks=CROSSED, n_devices=2, **full)
    yield queue("queues, by kernels", "SLUICE_CUDA_STREAMS=kernels", **full)


# Of communicators with a stream: those that the engine device takes.
BOTH_COMM_STREAMS = "CommStreams.*:-CommStreams.Send_*:CommStreams.Wildcards*"
# Tests in which both sides of each message are queues.
BOTH_QUEUES = ("-WithoutThreads.*:FullQueues.*:Requests.AreCounted*:Semantics.EnqueueReturns*:Semantics.WithoutAStart*:"
               "Semantics.Wait_*:Semantics.PlainMessages*:CommStreams.Send_*:CommStreams.Wildcards*")
ON_ONE = (("CUDA_VISIBLE_DEVICES=0",), ("CUDA_VISIBLE_DEVICES=0",))
CROSSED = (("CUDA_VISIBLE_DEVICES=0,1",), ("CUDA_VISIBLE_DEVICES=1,0",))
# A step has one SLUICE_TUNING: of two the latter would hold alone.
TOGETHER = ("SLUICE_COLL_IPC=always", "SLUICE_TUNING=coll_ipc_threshold=0,coll_chain_block=500")
REDUCING = (*TOGETHER[:-1], f"{TOGETHER[-1]},coll_reduce_threshold=0")
QUIET = "SLUICE_STATS_FILE=/dev/null"  # of tests that read the statistics
SHAPES = "TogetherReductions.*InEveryShape:TogetherReductions.*Overlap*:TogetherReductions.KeepTheOrder*"


def sanitized(tool):
    """The kernels of reductions alone, and between two ranks, under one of compute-sanitizer's tools."""
    under = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "9")
    # A mapping that is in the way of a new one is found by the driver's refusal (src/device/ipc_imports.cpp), which the tool would count.
    without_api_errors = (*under, "--report-api-errors", "no") if tool == "memcheck" else under
    yield Step(f"{tool}, kernels", ("conformance", "--backend", "cuda", "--gtest_filter=*educt*"), is_mpi=False, under=under,
               limit_s=280, alone=True)
    for name, more in (("two ranks", {"ranks": CROSSED, "n_devices": 2}), ("two ranks on one device", {})):
        yield coll(f"{tool}, {name}", SHAPES, env=REDUCING, under=without_api_errors, limit_s=280, alone=True, **more)


def sanitized_queues(tool):
    """What streams wait for, write, and send by themselves, under one of compute-sanitizer's tools."""
    under = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *(("--report-api-errors", "no") if tool == "memcheck" else ()))
    yield Step(f"{tool}, streams", ("conformance", "--backend", "cuda", "--gtest_filter=Streams.*:Channels.*:StreamMessages.*"), is_mpi=False, under=under,
               limit_s=150, alone=True)


BY_KERNEL = (*TOGETHER[:-1], f"{TOGETHER[-1]},coll_kernel_copy=1G", QUIET)
FOUR = tuple((f"CUDA_VISIBLE_DEVICES={order}",) for order in ("0,1,2,3", "1,2,3,0", "2,3,0,1", "3,0,1,2"))


def four_steps():
    """Four ranks with a device each."""
    more = {"ranks": FOUR, "n_devices": 4, "limit_s": 120}
    yield coll("together", "Together*-*CopyFails:*Threads*:*ProgressThread:TogetherReduction*:TogetherKernel*:TogetherNeighbors*:TogetherPacked*",
               env=(*TOGETHER, QUIET), **more)
    yield coll("by kernel", "TogetherKernel.*-*WhenItFails", env=BY_KERNEL, **more)
    yield coll("reductions by kernels", SHAPES, env=(*REDUCING, QUIET), **more)
    yield coll("reductions by kernels that engines feed", SHAPES, env=(*REDUCING[:-1], f"{REDUCING[-1]},coll_reduce_engines=1,coll_reduce_block=1100", QUIET), **more)
    yield coll("random programs, together", "Differential.*", "--programs", "60", env=REDUCING, **more)
    yield coll("random programs, as shipped", "Differential.*", "--programs", "40", **more)
    yield p2p("random programs", "Differential.*", "--programs", "40", **more)
    yield queue("queues, engine device", *DEVICE_ENGINE, gtest_filter=BOTH_QUEUES, **more)
    yield queue("queues, engine thread", **more)


NODES = (("CUDA_VISIBLE_DEVICES=0", "SLUICE_NODE=a"), ("CUDA_VISIBLE_DEVICES=0", "SLUICE_NODE=b"))


def network_steps():
    """Two faked nodes, which share a device, and UCX between them over a network without a card that reaches device memory."""
    ucx = ("SLUICE_NETWORK=ucp", "UCX_TLS=self,tcp,cuda_copy")
    any_length = (*ucx, "SLUICE_TUNING=p2p_direct_threshold=256")
    yield Step("provider", ("network", "--provider", "ucp", "--backend", "cuda"), env=ucx[1:], is_mpi=False)
    yield p2p("as shipped", "OfferedRoute.*", env=(*ucx, "TEST_OFFERED=device", "TEST_ROUTE=direct"), ranks=NODES, says="device  direct")
    yield p2p("any length", "Send.*:Irecv.*:Sendrecv.*:Probe.*:SendInit.*:Outstanding.*:Cancel.*:GappedTypes.LeaveGapsUntouched", env=any_length, ranks=NODES,
              says="device  direct")
    yield p2p("threads", "Threads.*", "--threads", env=any_length, ranks=NODES, says="device  direct")
    yield p2p("random programs", "Differential.*", "--programs", "60", env=any_length, ranks=NODES, says="device  direct")


FALLS_BACK = "such memory is copied instead"
PIECES = "SLUICE_BENCH_CUDA_MEMORY=pieces"
MASKS = (("one device each", (("CUDA_VISIBLE_DEVICES=0",), ("CUDA_VISIBLE_DEVICES=1",))),
         ("two and one", (("CUDA_VISIBLE_DEVICES=0,1",), ("CUDA_VISIBLE_DEVICES=1",))),
         ("other order", CROSSED),
         ("both on one", ON_ONE))


def mask_steps():
    for name, ranks in MASKS:
        n_devices = 1 if name == "both on one" else 2
        yield script("arrays, " + name, "masks", ranks=ranks, n_devices=n_devices)
        yield p2p("p2p, " + name, "FailureCases.T12*:Send.DeliversBytes*", ranks=ranks, n_devices=n_devices)
        yield p2p("pieces, " + name, "FailureCases.T12*", env=(PIECES,), ranks=ranks, n_devices=n_devices)


CASES = (
    Case("T2", "non-blocking reductions", tuple(coll_cases("T2"))),
    Case("T3", "types of many blocks in collective operations", tuple(coll_cases("T3"))),
    Case("T7", "handles that the program opened itself; threads", (
        p2p("handle", "FailureCases.T7*", "--threads", ranks=CROSSED, n_devices=2),
        p2p("threads", "Threads.*", "--threads"),
        script("arrays", "own_handle"))),
    Case("T8", "memory of stream-ordered pools", (
        memory("pool", says=FALLS_BACK), script("arrays", "pool"), script("torch", "torch_pool"))),
    Case("T9", "memory that is mapped piece by piece", (
        ipc_suite("driver's handle"),
        ipc_suite("descriptors", PIECES, "SLUICE_CUDA_IPC=fd"),
        ipc_suite("fabric", "SLUICE_BENCH_CUDA_MEMORY=fabric_pieces"),
        memory("pieces", knobs=("SLUICE_CUDA_IPC=fd",), ranks=CROSSED, n_devices=2, says="device  ipc"),
        memory("fabric_pieces", ranks=CROSSED, n_devices=2, says="device  ipc"),
        memory("private_pieces", says=FALLS_BACK),
        script("torch", "torch_expandable", n_devices=2, alone=True, says="device  ipc"))),
    Case("T10", "buffers that a kernel still writes", (
        script("default", "not_ready", env=("SLUICE_CUDA_SYNC=default",), alone=True),
        script("device", "not_ready", env=("SLUICE_CUDA_SYNC=device",), alone=True),
        script("without", "not_ready", alone=True))),
    Case("T11", "completion of collective operations, seen by another queue; and what follows a wait of a stream-triggered one",
         tuple(coll_cases("T11", limit_s=120)) + (coll("1000 iterations", "FailureCases.T11_*", "--matrix", "full",
                                                       ranks=CROSSED, n_devices=2, limit_s=120),
                                                  coll("1000 iterations, both on one", "FailureCases.T11_*", "--matrix",
                                                       "full", ranks=ON_ONE, limit_s=120), *triggered("T11"))),
    Case("T12", "masked and unequal devices", tuple(mask_steps())),
    Case("T13", "devices of several tiles", skip="needs Level Zero GPUs of several tiles; pinned memory alone is in T14"),
    Case("T14", "the matrix of memory kinds", (
        p2p("kinds, device 0 and 1", "Send.*:Isend*:Sendrecv*:Irecv.*", ranks=CROSSED, n_devices=2, limit_s=120),
        p2p("kinds, in blocks", "Send.*", env=("SLUICE_P2P_IPC=off",)))),
    Case("T15", "kinds mixed per rank in collective operations", tuple(coll_cases("T15"))),
    Case("T18", "the end of the program", (
        script("reset", "device_reset", says="finalized after a reset"),
        script("no finalize", "no_finalize", says="leaves without MPI_Finalize"),
        script("at exit", "exit_in_atexit"))),
    Case("T21", "3 GiB", (
        p2p("pulled", "FailureCases.T21*", "--matrix", "full", ranks=CROSSED, n_devices=2),
        p2p("in blocks", "FailureCases.T21*", "--matrix", "full", env=("SLUICE_P2P_IPC=off",)))),
    Case("T22", "lower bounds, zero counts, buffers that mean nothing", tuple(coll_cases("T22"))),
    Case("memcheck", "reductions under compute-sanitizer's memcheck", tuple(sanitized("memcheck"))),
    Case("racecheck", "reductions under compute-sanitizer's racecheck", tuple(sanitized("racecheck"))),
    Case("queues_memcheck", "streams and channels under compute-sanitizer's memcheck", tuple(sanitized_queues("memcheck"))),
    Case("queues_racecheck", "streams and channels under compute-sanitizer's racecheck", tuple(sanitized_queues("racecheck"))),
    Case("full_device", "the program's kernels hold the whole device while collective operations reduce by kernels", (
        script("as shipped", "full_device", ranks=ON_ONE, alone=True, limit_s=120),
        script("kernels always", "full_device", env=REDUCING, ranks=ON_ONE, alone=True, limit_s=120),
        script("kernels always, progress thread", "full_device", env=(*REDUCING, "SLUICE_PROGRESS_THREAD=1"), ranks=ON_ONE,
               alone=True, limit_s=120),
        script("two devices", "full_device", env=REDUCING, ranks=CROSSED, n_devices=2, alone=True, limit_s=120))),
    Case("probe", "kernels that benchmarks have: memory looked at in place, a busy device", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=Probe.*"), is_mpi=False),
        Step("contract, pieces", ("conformance", "--backend", "cuda", "--gtest_filter=Probe.Check*"), env=(PIECES,), is_mpi=False))),
    Case("kernel", "blocks of collective operations by one kernel", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=KernelCopies.*:KernelCopies/*"), is_mpi=False),
        coll("routes", "TogetherKernel.*-*WhenItFails", env=BY_KERNEL, ranks=CROSSED, n_devices=2),
        coll("calls", "Bcast.*:Gather.*:Scatter.*:Allgather.*:Alltoall.*", env=BY_KERNEL, ranks=CROSSED, n_devices=2, limit_s=120))),
    Case("gaps", "data with gaps, by the kernels of one layout and of two (docs/adr/0036, 0041)", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=Packs.*:Rearrangements.*"), is_mpi=False),
        Step("memcheck", ("conformance", "--backend", "cuda", "--gtest_filter=Packs.*:Rearrangements.*"), is_mpi=False,
             under=("compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"), limit_s=120, alone=True),
        p2p("crossed devices", "PackingByReceiver.*:PackingLaunches.*", ranks=CROSSED, n_devices=2),
        p2p("both on one device", "PackingByReceiver.*:PackingLaunches.*"))),
    Case("nodes", "messages between nodes by a network library", tuple(network_steps())),
    Case("four", "four ranks with a device each", tuple(four_steps())),
    Case("graphs", "kernels as graphs of one (docs/adr/0044)", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=Reductions.*:Reductions/*:KernelCopies.*:Packs.*:Rearrangements.*"),
             env=("SLUICE_CUDA_LAUNCH=graph",), is_mpi=False),
        coll("two ranks", SHAPES, env=(*REDUCING, "SLUICE_CUDA_LAUNCH=graph")))),
    Case("waits", "which calls of the driver wait for a stream that waits: the table is in gpu_cases.log (docs/adr/0032)", (
        Step("all", ("cuda_wait_probe",), alone=True, is_mpi=False, limit_s=120, says="gate, trigger and wait"),)),
    Case("queues", "stream-triggered queues", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=Streams.*"), alone=True, is_mpi=False),
        queue("crossed devices", ranks=CROSSED, n_devices=2),
        queue("both on one device"),
        queue("full queues", "SLUICE_TUNING=queue_depth=3,queue_patience=500ms", gtest_filter="FullQueues.*"),
        queue("by kernels", "SLUICE_CUDA_STREAMS=kernels", ranks=CROSSED, n_devices=2, gtest_filter="Semantics.*:Requests.*"),
        queue("streams of communicators", ranks=CROSSED, n_devices=2, gtest_filter="CommStreams*"),
        queue("streams of communicators, engine device", *DEVICE_ENGINE, gtest_filter=BOTH_COMM_STREAMS),
        queue("the same, crossed devices", *DEVICE_ENGINE, ranks=CROSSED, n_devices=2, gtest_filter=BOTH_COMM_STREAMS))),
    Case("channels", "queues whose streams send by themselves, SLUICE_QUEUE_ENGINE=device (docs/adr/0033)", (
        Step("contract", ("conformance", "--backend", "cuda", "--gtest_filter=Channels.*:StreamMessages.*"), alone=True, is_mpi=False),
        Step("contract, not as graphs", ("conformance", "--backend", "cuda", "--gtest_filter=Channels.*:StreamMessages.*"), alone=True, is_mpi=False,
             env=("SLUICE_CUDA_LAUNCH=kernel",)),
        queue("crossed devices", *DEVICE_ENGINE, ranks=CROSSED, n_devices=2, gtest_filter=BOTH_QUEUES),
        queue("both on one device", *DEVICE_ENGINE, gtest_filter=BOTH_QUEUES),
        queue("little memory", *DEVICE_ENGINE, "SLUICE_TUNING=queue_channel_bytes=128K", ranks=CROSSED, n_devices=2,
              gtest_filter="ChannelLengths.*:DeviceChannels.BothWays*:DeviceChannels.More*:Semantics.Batches*"))),
    Case("mpi4py", "CuPy arrays through mpi4py", (
        Step("arrays", ("python", "cupy_mpi4py.py"), limit_s=120, says="arrays of 10 types checked"),
        Step("arrays, crossed", ("python", "cupy_mpi4py.py"), ranks=CROSSED, n_devices=2, limit_s=120))),
)
