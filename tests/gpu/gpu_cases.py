#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases of programs that use GPU arrays of CuPy or PyTorch through mpi4py: one case a start, under two ranks.

  mpiexec -n 2 python3 gpu_cases.py CASE        CASE: a function below without its case_

Ends with 0 when all bytes are right, 77 when something is missing (it says what), anything else when not.
tests/gpu/run starts these.
"""

import os
import sys
import time

SKIPPED = 77
MIB = 1 << 20


def need(module):
    """The module, or the end of this program with the reason."""
    try:
        return __import__(module)
    except Exception as error:  # a package that cannot find its driver says so with errors of many sorts
        print(f"skipped: no {module}: {error}", flush=True)
        os._exit(SKIPPED)


def start_mpi(threads=False):
    """mpi4py's MPI with this rank and its partner."""
    mpi4py = need("mpi4py")
    mpi4py.rc.threads = threads
    try:
        from mpi4py import MPI
    except Exception as error:
        print(f"skipped: no MPI under mpi4py: {error}", flush=True)
        os._exit(SKIPPED)
    rank = MPI.COMM_WORLD.Get_rank()
    return MPI, MPI.COMM_WORLD, rank, rank ^ 1


def pick_cupy():
    """CuPy with this rank's device; the ranks take turns over those that they see."""
    cupy = need("cupy")
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        print(f"skipped: no device: {error}", flush=True)
        os._exit(SKIPPED)
    rank = int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
    cupy.cuda.Device(rank % n_devices).use()
    return cupy


def pick_torch():
    torch = need("torch")
    if not torch.cuda.is_available():
        print("skipped: no device for torch", flush=True)
        os._exit(SKIPPED)
    rank = int(os.environ.get("PMI_RANK", "0"))
    torch.cuda.set_device(rank % torch.cuda.device_count())
    return torch


def pattern(xp, size, seed):
    return ((xp.arange(size, dtype=xp.uint32) * 2654435761 + seed * 40503) >> 13).astype(xp.uint8)


def exchange_cupy(cupy, MPI, comm, partner, rank, out_of, into, seed):
    """One message each way, all bytes checked."""
    out_of[:] = pattern(cupy, out_of.size, seed + rank)
    into[:] = 0xA5
    cupy.cuda.get_current_stream().synchronize()
    comm.Sendrecv([out_of, MPI.BYTE], partner, 7, [into, MPI.BYTE], partner, 7)
    if not bool((into == pattern(cupy, into.size, seed + partner)).all()):
        raise AssertionError(f"rank {rank}: wrong bytes in a message of {into.size}")


SIZES = (1, 100, 4096, 70_000, MIB + 3, 8 * MIB, 100 * MIB)


def case_own_handle():
    """T7: the program opens the peer's memory itself, before MPI has, while it has, and after."""
    cupy = pick_cupy()
    MPI, comm, rank, partner = start_mpi()
    runtime = cupy.cuda.runtime
    out_of, into = cupy.empty(4 * MIB, dtype=cupy.uint8), cupy.empty(4 * MIB, dtype=cupy.uint8)
    base = out_of.data.mem.ptr
    mine = (runtime.ipcGetMemHandle(base), out_of.data.ptr - base)
    for is_mapped_first in (True, False):
        if not is_mapped_first:
            exchange_cupy(cupy, MPI, comm, partner, rank, out_of, into, 10)
        handle, offset = comm.sendrecv(mine, partner, source=partner)
        address = runtime.ipcOpenMemHandle(handle)
        for seed in range(20, 25):
            exchange_cupy(cupy, MPI, comm, partner, rank, out_of, into, seed)
            comm.Barrier()
            seen = cupy.empty(4 * MIB, dtype=cupy.uint8)
            runtime.memcpy(seen.data.ptr, address + offset, seen.size, 4)
            assert bool((seen == pattern(cupy, seen.size, seed + partner)).all()), "through the program's own mapping"
            comm.Barrier()
        runtime.ipcCloseMemHandle(address)
        comm.Barrier()
        exchange_cupy(cupy, MPI, comm, partner, rank, out_of, into, 30)


def case_pool():
    """T8: memory of the stream-ordered pool, in CuPy's words."""
    cupy = pick_cupy()
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    MPI, comm, rank, partner = start_mpi()
    for seed, size in enumerate(SIZES):
        exchange_cupy(cupy, MPI, comm, partner, rank, cupy.empty(size, dtype=cupy.uint8),
                      cupy.empty(size, dtype=cupy.uint8), seed)


def exchange_torch(torch, MPI, comm, partner, rank, size, seed):
    step = torch.arange(size, dtype=torch.int32, device="cuda")
    out_of = ((step * 40503 + seed + rank) >> 3).to(torch.uint8)
    into = torch.full_like(out_of, 0xA5)
    torch.cuda.synchronize()
    comm.Sendrecv([out_of, MPI.BYTE], partner, 7, [into, MPI.BYTE], partner, 7)
    wanted = ((step * 40503 + seed + partner) >> 3).to(torch.uint8)
    assert bool((into == wanted).all()), f"rank {rank}: wrong bytes in a message of {size}"


def torch_sizes(torch, n_rounds=2):
    MPI, comm, rank, partner = start_mpi()
    for round_ in range(n_rounds):
        for seed, size in enumerate(SIZES):
            exchange_torch(torch, MPI, comm, partner, rank, size, seed)
        # What is unmapped here is mapped again at the same addresses, with other memory behind it.
        torch.cuda.empty_cache()
        comm.Barrier()
    return MPI, comm, rank, partner


def case_torch_pool():
    """T8: PyTorch with backend:cudaMallocAsync."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"
    torch_sizes(pick_torch())


def case_torch_expandable():
    """T9: PyTorch's expandable segments: right bytes, and no slower than half of a plain allocation."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
    torch = pick_torch()
    MPI, comm, rank, partner = torch_sizes(torch)
    size = 256 * MIB
    buffer = torch.empty(size, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    n_messages = 10
    for n in (2, n_messages):
        comm.Barrier()
        begin = time.perf_counter()
        for _ in range(n):
            comm.Send([buffer, MPI.BYTE], partner) if rank == 0 else comm.Recv([buffer, MPI.BYTE], partner)
        comm.Barrier()
        seconds = time.perf_counter() - begin
    speed = n_messages * size / seconds / 1e9
    floor = float(os.environ.get("GPU_CASES_FLOOR_GBPS", "100"))
    if rank == 0:
        print(f"note: expandable segments: {speed:.0f} GB/s (wanted: {floor:.0f})", flush=True)
    assert speed >= floor, f"{speed:.1f} GB/s"


SLOW_WRITER = r"""
extern "C" __global__ void write_late(unsigned char *out, unsigned size, long long cycles, unsigned char value) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) out[i] = value;
}
"""


def case_not_ready():
    """T10: a kernel is still at work on the buffer when it is sent. Right with SLUICE_CUDA_SYNC, else nobody's promise."""
    cupy = pick_cupy()
    MPI, comm, rank, partner = start_mpi()
    size = 2 * MIB
    kernel = cupy.RawKernel(SLOW_WRITER, "write_late")
    buffer = cupy.zeros(size, dtype=cupy.uint8)
    kernel((32,), (256,), (buffer, cupy.uint32(size), cupy.int64(0), cupy.uint8(1)))  # compiled and loaded
    n_late = 0
    for value in range(2, 8):
        comm.Barrier()
        if rank == 0:
            kernel((32,), (256,), (buffer, cupy.uint32(size), cupy.int64(60_000_000), cupy.uint8(value)))
            request = comm.Isend([buffer, MPI.BYTE], partner)
            request.Wait()
            cupy.cuda.get_current_stream().synchronize()
        else:
            into = cupy.zeros(size, dtype=cupy.uint8)
            cupy.cuda.get_current_stream().synchronize()
            comm.Recv([into, MPI.BYTE], partner)
            n_late += int(not bool((into == value).all()))
    if rank == 1:
        print(f"note: SLUICE_CUDA_SYNC={os.environ.get('SLUICE_CUDA_SYNC', 'none')}: {n_late} of 6 messages left before "
              "their kernel had written them", flush=True)
        assert n_late == 0 or "SLUICE_CUDA_SYNC" not in os.environ, "a message left too early"


FILLER = r"""
extern "C" __global__ void __launch_bounds__(1024) fill_the_device(long long cycles, unsigned *out) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  if (threadIdx.x == 0) atomicAdd(out, 1u);
}
"""


def case_full_device():
    """The program's own kernels hold every multiprocessor when a reduction begins, at one rank or at all ranks, and more of
    them come while the reduction is under way. All end, and the sums are right: whole numbers, which floats add exactly."""
    cupy = pick_cupy()
    MPI, comm, rank, _ = start_mpi()
    fill = cupy.RawKernel(FILLER, "fill_the_device")
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    n_blocks = properties["multiProcessorCount"] * (properties["maxThreadsPerMultiProcessor"] // 1024)
    stream, n_filled, n_wanted, n_sums = cupy.cuda.Stream(non_blocking=True), cupy.zeros(1, dtype=cupy.uint32), 0, 0

    def busy(n_kernels, cycles=20_000_000):
        with stream:
            for _ in range(n_kernels):
                fill((n_blocks,), (1024,), (cupy.int64(cycles), n_filled))
        return n_kernels * n_blocks

    busy_at = {"all": lambda: busy(5), "one": lambda: busy(5) if rank == 0 else 0, "none": lambda: 0}
    n_wanted += busy(1, 0)  # compiled and loaded
    stream.synchronize()
    for seed, size in enumerate((1, 1000, 70_001, 1_000_003, 8_000_000)):
        step = cupy.arange(size, dtype=cupy.int32)
        wanted = sum(((step * 7 + seed + one) % 1000).astype(cupy.float32) for one in range(comm.Get_size()))
        mine = ((step * 7 + seed + rank) % 1000).astype(cupy.float32)
        for before in ("all", "one", "none"):
            for after in ("none", "all", "one"):
                total = cupy.full(size, -1, dtype=cupy.float32)
                cupy.cuda.get_current_stream().synchronize()
                n_wanted += busy_at[before]()
                if after == "none":
                    comm.Allreduce([mine, MPI.FLOAT], [total, MPI.FLOAT])
                else:
                    request = comm.Iallreduce([mine, MPI.FLOAT], [total, MPI.FLOAT])
                    n_wanted += busy_at[after]()
                    request.Wait()
                assert bool((total == wanted).all()), f"rank {rank}: wrong sums of {size}, busy before: {before}, after: {after}"
                n_sums += 1
    stream.synchronize()
    assert int(n_filled[0]) == n_wanted, f"{int(n_filled[0])} of {n_wanted} groups of the program's kernels ended"
    if rank == 0:
        print(f"note: {n_sums} sums right beside kernels of {n_blocks} groups of 1024", flush=True)


def case_masks():
    """T12: whatever devices the ranks see, all bytes arrive."""
    cupy = pick_cupy()
    MPI, comm, rank, partner = start_mpi()
    for seed, size in enumerate(SIZES):
        exchange_cupy(cupy, MPI, comm, partner, rank, cupy.empty(size, dtype=cupy.uint8),
                      cupy.empty(size, dtype=cupy.uint8), seed)


def some_messages(cupy):
    MPI, comm, rank, partner = start_mpi()
    out_of, into = cupy.empty(4 * MIB, dtype=cupy.uint8), cupy.empty(4 * MIB, dtype=cupy.uint8)
    for seed in range(3):
        exchange_cupy(cupy, MPI, comm, partner, rank, out_of, into, seed)
    comm.Barrier()
    return MPI, comm


def case_device_reset():
    """T18: the device is reset before MPI_Finalize."""
    cupy = pick_cupy()
    MPI, comm = some_messages(cupy)
    cupy.get_default_memory_pool().free_all_blocks()
    comm.Barrier()
    # What the interpreter still frees of the reset device is not this test's matter: the end is made here.
    import ctypes
    runtime = ctypes.CDLL("libcuda.so.1")
    device = ctypes.c_int()
    assert runtime.cuCtxGetDevice(ctypes.byref(device)) == 0
    assert runtime.cuDevicePrimaryCtxReset_v2(device) == 0
    MPI.Finalize()
    print("note: finalized after a reset", flush=True)
    os._exit(0)


def case_no_finalize():
    """T18: the program ends without MPI_Finalize, through exit() and all that runs there."""
    import mpi4py
    mpi4py.rc.finalize = False
    some_messages(pick_cupy())
    print("note: leaves without MPI_Finalize", flush=True)
    sys.stdout.flush()
    import ctypes
    ctypes.CDLL(None).exit(0)


def case_exit_in_atexit():
    """T18: MPI_Finalize is called by a handler that runs at exit, when the driver may be on its way out."""
    import ctypes
    mpi4py = need("mpi4py")
    mpi4py.rc.finalize = False
    MPI, _ = some_messages(pick_cupy())
    libc = ctypes.CDLL(None)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: MPI.Finalize())
    assert libc.__cxa_atexit(handler, None, None) == 0
    libc.exit(0)


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    case = globals().get("case_" + name.replace("-", "_"))
    if case is None:
        print(__doc__)
        return 2
    case()
    return 0


if __name__ == "__main__":
    sys.exit(main())
