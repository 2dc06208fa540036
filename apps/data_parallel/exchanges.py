# SPDX-License-Identifier: BSD-3-Clause
"""The ways in which a bucket of gradients becomes the sum of all ranks' while the backward pass goes on.

Each has enqueue(bucket number, flat tensor), which returns at once, and wait(), behind which all sums are there for
what the calling thread's stream does next.
"""

import queue
import threading

import torch
from mpi4py import MPI


def as_buffer(tensor):
    """What mpi4py takes: device tensors say themselves where they lie (__cuda_array_interface__)."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


class ByMpi:
    """MPI_Iallreduce on device memory, by a thread: it waits for the kernels that write a bucket, so that the thread that
    computes need not. Needs MPI_THREAD_MULTIPLE."""

    def __init__(self, device):
        if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
            raise RuntimeError("this MPI does not give MPI_THREAD_MULTIPLE, which a thread for messages needs")
        self.device = device
        self.communicator = MPI.COMM_WORLD.Dup()
        self.is_on_device = device.type != "cpu"
        self.n_under_way = 0
        self.waiting, self.done = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def enqueue(self, number, flat):
        written = None
        if self.is_on_device:
            written = torch.cuda.Event()
            written.record()
        self.n_under_way += 1
        self.waiting.put((number, flat, written))

    def wait(self):
        while self.n_under_way > 0:
            error = self.done.get()
            self.n_under_way -= 1
            if error is not None:
                raise error

    def close(self):
        self.waiting.put(None)
        self.thread.join()
        self.communicator.Free()

    # What follows runs in the thread.

    def _serve(self):
        if self.is_on_device:
            torch.cuda.set_device(self.device)
        while (item := self.waiting.get()) is not None:
            # All that is ready by now goes at once. The end, None, comes when nothing is under way.
            items = [item]
            try:
                requests = [self._start(*item)]
                while not self.waiting.empty():
                    items.append(self.waiting.get())
                    requests.append(self._start(*items[-1]))
                MPI.Request.Waitall(requests)
                for number, flat, _ in items:
                    self._complete(number, flat)
            except Exception as error:  # handed to wait(), in whose thread the program ends
                self.done.put(error)
                continue
            for _ in items:
                self.done.put(None)

    def _start(self, number, flat, written):
        del number
        if written is not None:
            written.synchronize()
        return self.communicator.Iallreduce(MPI.IN_PLACE, as_buffer(flat), MPI.SUM)

    def _complete(self, number, flat):
        pass


class ByStagedMpi(ByMpi):
    """As ByMpi, but the program copies each bucket to host memory and back, as with an MPI that knows no devices."""

    def __init__(self, device):
        super().__init__(device)
        self.host = {}
        self.stream = torch.cuda.Stream(device) if self.is_on_device else None

    def _copy(self, dst, src):
        if self.stream is None:
            dst.copy_(src)
            return
        with torch.cuda.stream(self.stream):
            dst.copy_(src, non_blocking=True)
        self.stream.synchronize()

    def _start(self, number, flat, written):
        if written is not None:
            written.synchronize()
        if number not in self.host:
            self.host[number] = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=self.is_on_device)
        self._copy(self.host[number], flat)
        return self.communicator.Iallreduce(MPI.IN_PLACE, self.host[number].numpy(), MPI.SUM)

    def _complete(self, number, flat):
        self._copy(flat, self.host[number])


class ByTorch:
    """torch.distributed: NCCL on GPUs, gloo elsewhere. MPI only tells the ranks where they find each other."""

    def __init__(self, device):
        from torch import distributed
        self.distributed = distributed
        world = MPI.COMM_WORLD
        store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if world.rank == 0 else None
        port = world.bcast(store.port if store else None)
        if store is None:
            store = distributed.TCPStore("127.0.0.1", port, is_master=False)
        self.backend = "gloo" if device.type == "cpu" else "nccl"
        distributed.init_process_group(self.backend, store=store, rank=world.rank, world_size=world.size)
        self.works = []

    def enqueue(self, number, flat):
        del number
        self.works.append(self.distributed.all_reduce(flat, async_op=True))

    def wait(self):
        for work in self.works:
            work.wait()
        self.works.clear()

    def close(self):
        self.distributed.destroy_process_group()


class ByHorovod:
    """horovod.torch, whose own thread calls MPI_Allreduce: on device tensors too where it was built with
    HOROVOD_GPU_OPERATIONS=MPI, else by copies of its own. It may fuse buckets that are ready together."""

    def __init__(self, device):
        del device
        try:
            import horovod.torch as horovod
        except ImportError as error:
            raise RuntimeError(f"Horovod cannot be loaded: {error}; docs/interop.md tells how it is built") from error
        if not horovod.mpi_built():
            raise RuntimeError("this Horovod was built without MPI: HOROVOD_WITH_MPI=1 when it is built")
        self.horovod = horovod
        horovod.init()  # on a duplicate of MPI_COMM_WORLD; MPI stays mpi4py's to end
        self.handles = []

    def enqueue(self, number, flat):
        self.handles.append(self.horovod.allreduce_async_(flat, name=f"bucket {number}", op=self.horovod.Sum))

    def wait(self):
        for handle in self.handles:
            self.horovod.synchronize(handle)
        self.handles.clear()

    def close(self):
        self.horovod.shutdown()


WAYS = {"mpi": ByMpi, "staged": ByStagedMpi, "torch": ByTorch, "horovod": ByHorovod}
