# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations in stream order, for ranks of one node: no call waits for the host.

All ranks have a window of device memory with a slot for each rank, twice. An operation is one round or more. In a round
each rank puts a part into its slot at each other rank, signals all others, and waits for the signals of all others; a
stream of the group does that (sluice/queue.h). Then it copies or reduces what lies in its own slots.

Rounds take the two halves of the window in turns. Nobody overwrites what is still read: a rank that has the signals of
round k knows that all others have done what stood before their round k in their streams, which is reading round k - 1.
"""

import threading

import torch
from mpi4py import MPI
from torch.distributed import ReduceOp
from torch.distributed import Work as TorchWork

import sluice

from . import stream_queue
from .buffers import HALVES, overlap

WINDOW_BYTES = 128 << 20  # of each rank; more takes fewer rounds
_MOST_RANKS = 16  # each rank signals each other one
_ALL_TO_ALL_BYTES = 256 << 10  # up to here each rank reduces all data by itself: one round, where two have less to move
_TRIALS = 200  # of the first round, in which the streams of two ranks learn of each other


class StreamWork(TorchWork):
    """An operation that a stream was given. wait() makes the current stream wait for it, and not the host."""

    def __init__(self, tensors, stream):
        super().__init__()
        self._tensors = tensors
        self._stream = stream
        self._event = torch.cuda.Event()
        self._event.record(stream)
        self._future = None

    def wait(self, timeout=None):  # pylint: disable=unused-argument  (nothing blocks)
        torch.cuda.current_stream(self._event.device).wait_event(self._event)
        return True

    def is_completed(self):
        return self._event.query()

    def is_success(self):
        return self._event.query()

    def synchronize(self):
        self.wait()

    def exception(self):
        return None

    def result(self):
        return self._tensors

    def get_future(self):
        """Complete at once, as PyTorch has it: whoever waits for it, waits in a stream."""
        if self._future is None:
            self._future = torch.futures.Future(devices=[self._stream.device])
            with torch.cuda.stream(self._stream):
                self._future.set_result(self._tensors)
        return self._future


class _Memory:
    """Device memory of somebody else's, as PyTorch takes it."""

    def __init__(self, address, size_bytes):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size_bytes,), "typestr": "|u1", "version": 2}


def _flat(tensor):
    return tensor.view(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0, dtype=torch.uint8)


class StreamCollectives:
    """Of one group and device. Any thread, in the same order on all ranks. make() and close() are collective."""

    @classmethod
    def make(cls, communicator, device):
        """None, on all ranks alike: some rank cannot, the ranks are on several nodes, or too many. Blocks."""
        node = communicator.Split_type(MPI.COMM_TYPE_SHARED)
        is_there = stream_queue.is_there() and sluice.is_enabled() and not torch.version.hip
        can = is_there and node.size == communicator.size and 1 < node.size <= _MOST_RANKS
        node.Free()
        if not communicator.allreduce(can, MPI.LAND):
            return None
        made = cls(communicator, device)
        if made.learn():
            return made
        made.close()
        return None

    def __init__(self, communicator, device):
        self._communicator = communicator.Dup()
        assertion = MPI.Info.Create({"sluice_assert_queues_only": "true"})
        self._communicator.Set_info(assertion)
        assertion.Free()
        self._rank, self._n_ranks, self._device = communicator.rank, communicator.size, device
        self._others = [rank for rank in range(self._n_ranks) if rank != self._rank]
        self._slot_bytes = WINDOW_BYTES // (2 * self._n_ranks) // 256 * 256
        self._half_bytes = self._slot_bytes * self._n_ranks
        wanted = MPI.Info.Create({"mpi_memory_alloc_kind": "cuda:device"})
        self._window = MPI.Win.Allocate(2 * self._half_bytes, 1, wanted, self._communicator)
        wanted.Free()
        self._window.Lock_all()
        memory = _Memory(self._window.tomemory().address, 2 * self._half_bytes)
        self._halves = torch.as_tensor(memory, device=device).view(2, self._n_ranks, self._slot_bytes)
        self._stream = torch.cuda.Stream(device, priority=-1)
        self._queue = stream_queue.Queue(self._communicator, self._window, self._stream.cuda_stream)
        self._n_rounds = 0
        self._lock = threading.Lock()

    def learn(self):
        """Whether the streams carry puts and signals between all ranks, tried."""
        statistics_count = sluice._function("sluice_statistics_count")  # pylint: disable=protected-access
        was_counting = statistics_count(1)
        carried = False
        with torch.cuda.stream(self._stream):
            given = torch.zeros(256, dtype=torch.uint8, device=self._device)
            for _ in range(_TRIALS):
                before = _carried_by_streams()
                self._round([(given.data_ptr(), 256)] * self._n_ranks)
                self._stream.synchronize()
                self._queue.drain()
                n_carried = _carried_by_streams() - before
                # A put, a signal and its wait for each other rank.
                carried = self._communicator.allreduce(n_carried >= 3 * len(self._others), MPI.LAND)
                if carried:
                    break
        statistics_count(was_counting)
        return carried

    def close(self):
        self._stream.synchronize()
        self._queue.drain()
        self._queue.free()
        self._halves = None
        self._window.Unlock_all()
        self._window.Free()
        self._communicator.Free()

    def event(self):
        """Behind all that the stream was given."""
        event = torch.cuda.Event()
        event.record(self._stream)
        return event

    def carry(self, operation, tensors, results):
        """Gives the stream an operation on tensors of the device, behind what the current stream was given."""
        with self._lock:
            self._queue.reap()
            self._stream.wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(self._stream):
                operation(self)
            for tensor in tensors:
                tensor.record_stream(self._stream)
            return StreamWork(results, self._stream)

    # ---- operations, on the stream ----

    def _round(self, given):
        """`given` has (address, bytes) for each rank, at most a slot's. Returns the slots, of which that of rank k has
        what rank k gave."""
        half = self._n_rounds % 2
        self._n_rounds += 1
        for rank in self._others:
            address, size_bytes = given[rank]
            if size_bytes:
                self._queue.put(address, size_bytes, rank, half * self._half_bytes + self._rank * self._slot_bytes)
        for rank in self._others:
            self._queue.signal(rank)
        for rank in self._others:
            self._queue.wait_signal(rank)
        self._queue.run()
        return self._halves[half]

    def all_gather(self, rows, given):
        """`rows`: where what each rank gives is to lie."""
        source, rows = _flat(given), [_flat(row) for row in rows]
        for begin in range(0, max(row.numel() for row in rows), self._slot_bytes):
            part = source[begin:begin + self._slot_bytes]
            slots = self._round([(part.data_ptr(), part.numel())] * self._n_ranks)
            for rank in self._others:
                made = rows[rank][begin:begin + self._slot_bytes]
                made.copy_(slots[rank, :made.numel()])
        if rows[self._rank].data_ptr() != source.data_ptr():
            rows[self._rank].copy_(source)

    def broadcast(self, tensor, root):
        whole = _flat(tensor)
        for begin in range(0, whole.numel(), self._slot_bytes):
            part = whole[begin:begin + self._slot_bytes]
            slots = self._round([(part.data_ptr(), part.numel() if self._rank == root else 0)] * self._n_ranks)
            if self._rank != root:
                part.copy_(slots[root, :part.numel()])

    def reduce_scatter(self, output, given, operation):
        n_most = self._slot_bytes // given.element_size()
        if output.numel() > n_most and overlap(given, output):
            given = given.clone()  # a round would write what a later one puts
        rows, made = given.view(self._n_ranks, -1), output.view(-1)
        for begin in range(0, made.numel(), n_most):
            part = rows[:, begin:begin + n_most]
            slots = self._round([(row.data_ptr(), row.numel() * row.element_size()) for row in part])
            self._reduce(slots, part[self._rank], made[begin:begin + n_most], operation)

    def all_reduce(self, tensor, operation):
        whole = tensor.view(-1)
        if whole.numel() * whole.element_size() <= min(_ALL_TO_ALL_BYTES, self._slot_bytes):
            if whole.numel():
                slots = self._round([(whole.data_ptr(), whole.numel() * whole.element_size())] * self._n_ranks)
                self._reduce(slots, whole, whole, operation)
            return
        n_most = self._slot_bytes // whole.element_size() * self._n_ranks
        for begin in range(0, whole.numel(), n_most):
            self._all_reduce_in_parts(whole[begin:begin + n_most], operation)

    def _all_reduce_in_parts(self, whole, operation):
        """Each rank reduces a part, and gives it to all."""
        n_part = -(-whole.numel() // self._n_ranks)
        parts = [whole[rank * n_part:(rank + 1) * n_part] for rank in range(self._n_ranks)]
        sizes = [part.numel() * part.element_size() for part in parts]
        own = parts[self._rank]
        slots = self._round([(part.data_ptr(), size) for part, size in zip(parts, sizes)])
        if own.numel():
            self._reduce(slots, own, own, operation)
        slots = self._round([(own.data_ptr(), sizes[self._rank])] * self._n_ranks)
        for rank in self._others:
            _flat(parts[rank]).copy_(slots[rank, :sizes[rank]])

    def _reduce(self, slots, own, made, operation):
        """What `own` and the slots of the others have becomes one, in the order of the ranks: on all ranks the same."""
        values = slots.view(own.dtype)[:, :own.numel()]
        values[self._rank].copy_(own)
        if operation == ReduceOp.SUM:
            torch.sum(values, 0, dtype=own.dtype, out=made)
        elif operation == ReduceOp.AVG:
            wide = torch.float32 if own.dtype in HALVES else own.dtype
            made.copy_(torch.sum(values, 0, dtype=wide).div_(self._n_ranks))
        elif operation == ReduceOp.MIN:
            torch.amin(values, 0, out=made)
        else:
            torch.amax(values, 0, out=made)


def reduces(operation, dtype):
    """Whether the stream reduces tensors of this type so."""
    if operation == ReduceOp.MIN or operation == ReduceOp.MAX:  # noqa: PLR1714  (`in` compares the other way round)
        return dtype != torch.bool and not dtype.is_complex
    return (operation == ReduceOp.SUM or operation == ReduceOp.AVG) and dtype != torch.bool  # noqa: PLR1714


def _carried_by_streams():
    return sum(row["calls"] for row in sluice.routes().get("rows", ())
               if row["route"] == "device" and row["operation"].startswith("MPIX_Enqueue_"))
