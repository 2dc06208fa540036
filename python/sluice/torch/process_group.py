# SPDX-License-Identifier: BSD-3-Clause
"""The process group: each operation of torch.distributed as a call of MPI, or as work of a stream.

A thread of the group makes the calls, one after the other, in the order in which the program made them. So a call
returns at once, and communication goes on while the program computes. Messages have a thread of their own. Tensors lie
wherever they are: Sluice takes device memory. Where all ranks are on one node, a stream of the group carries out the
operations that training uses most (stream_collectives.py). The order of the two is that of the calls.
"""

import threading

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch._C import _distributed_c10d as c10d

from .buffers import Reduction, as_bytes, as_items, check, overlap, raw, settle
from .stream_collectives import StreamCollectives, reduces
from .work import Message, Work, Worker


def _single(tensors):
    if len(tensors) != 1:
        raise ValueError("the backend sluice takes one tensor a rank")
    return tensors[0]


class ProcessGroupSluice(dist.ProcessGroup):
    """`communicator` belongs to the group from now on; `name` is the group's in PyTorch."""

    def __init__(self, communicator, name):
        super().__init__(communicator.rank, communicator.size)
        self._name = name
        self._communicator = communicator
        self._messages = communicator.Dup()
        self._n_ranks = communicator.size
        self._worker = Worker("sluice collectives")
        self._last = None  # set when the last operation that the thread was given is over
        self._streams = {}  # by device: what carries operations out in stream order, or None
        self._lock = threading.Lock()
        self._sender = None  # made by the first message
        self._under_way = []  # messages whose works the program may have dropped

    def getBackendName(self):  # noqa: N802  (the name is PyTorch's)
        return "sluice"

    def getGroupName(self):  # noqa: N802
        return self._name

    @property
    def group_name(self):
        return self._name

    def size(self):
        return self._n_ranks

    def __repr__(self):
        return f"ProcessGroupSluice(rank {self.rank()} of {self._n_ranks})"

    def shutdown(self):
        """Ends the threads. All ranks of the group call it, after all operations. Waits for messages that are left."""
        for message in self._under_way:
            message.wait()
        closing = [self._worker.give(Work([]), [], streams.close) for streams in filter(None, self._streams.values())]
        self._streams = {}
        for worker in (self._worker, self._sender):
            if worker is not None:
                worker.end()
        self._worker = self._sender = None
        if not MPI.Is_finalized():
            self._messages.Free()
            self._communicator.Free()
        for work in closing:
            work.wait()  # what failed in a stream is told at last

    def _carry(self, tensors, operation, results=None, on_stream=None):
        """`operation` blocks the thread; `on_stream`, if there is one, gives the same to a stream."""
        check(*tensors)
        results = list(tensors if results is None else results)
        streams = self._streams_of(tensors) if on_stream is not None else None
        if streams is None:
            return self._give(Work(results), tensors, operation)
        if self._last is not None:
            self._last.wait()
            self._last = None
        return streams.carry(on_stream, tensors, results)

    def _give(self, work, tensors, operation):
        behind = [streams.event() for streams in self._streams.values() if streams is not None]
        self._last = work.over
        return self._worker.give(work, tensors, operation, behind)

    def _streams_of(self, tensors):
        """What carries operations on these tensors out in stream order; None where nothing does, on all ranks alike.
        The first call for a device blocks for the other ranks."""
        device = tensors[0].device
        if device.type != "cuda" or self._n_ranks == 1:
            return None
        with self._lock:
            if device not in self._streams:
                made = []
                self._give(Work([]), tensors, lambda: made.append(StreamCollectives.make(self._communicator, device))).wait()
                self._streams[device] = made[0]
        return self._streams[device]

    # ---- reductions ----

    def _all_reduce(self, tensor, reduction):
        made = reduction.begin(tensor)
        self._communicator.Allreduce(MPI.IN_PLACE, as_items(made), reduction.operation)
        reduction.end(made, tensor)

    def allreduce(self, tensors, opts=c10d.AllreduceOptions()):
        tensor = _single(tensors)
        reduction = Reduction(opts.reduceOp, tensor.dtype, self._n_ranks)
        on_stream = None
        if reduces(opts.reduceOp, tensor.dtype):
            on_stream = lambda streams: streams.all_reduce(tensor, opts.reduceOp)  # noqa: E731
        return self._carry(tensors, lambda: self._all_reduce(tensor, reduction), on_stream=on_stream)

    def allreduce_coalesced(self, tensors, opts=c10d.AllreduceCoalescedOptions()):
        reductions = [Reduction(opts.reduceOp, tensor.dtype, self._n_ranks) for tensor in tensors]

        def operation():
            for tensor, reduction in zip(tensors, reductions):
                self._all_reduce(tensor, reduction)

        def on_stream(streams):
            for tensor in tensors:
                streams.all_reduce(tensor, opts.reduceOp)

        can = all(reduces(opts.reduceOp, tensor.dtype) for tensor in tensors)
        return self._carry(tensors, operation, on_stream=on_stream if can else None)

    def reduce(self, tensors, opts=c10d.ReduceOptions()):
        tensor = _single(tensors)
        reduction, root = Reduction(opts.reduceOp, tensor.dtype, self._n_ranks), opts.rootRank

        def operation():
            made = reduction.begin(tensor)
            if self.rank() != root:
                self._communicator.Reduce(as_items(made), None, reduction.operation, root)
                return
            self._communicator.Reduce(MPI.IN_PLACE, as_items(made), reduction.operation, root)
            reduction.end(made, tensor)

        return self._carry(tensors, operation)

    def _reduce_scatter_flat(self, output, given, reduction):
        source, made = reduction.begin(given), reduction.like(output)
        if overlap(source, made):
            source = source.clone()
            settle(source)
        to_all, own = as_items(source), as_items(made)
        to_all[1] = own[1]  # mpi4py wants what each rank gets
        self._communicator.Reduce_scatter_block(to_all, own, reduction.operation)
        reduction.end(made, output)

    def _reduce_scatter_base(self, output, given, opts=c10d.ReduceScatterOptions()):
        return self.reduce_scatter_tensor_coalesced([output], [given], opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=c10d.ReduceScatterOptions()):
        pairs = list(zip(outputs, inputs))
        for output, given in pairs:
            if given.numel() != output.numel() * self._n_ranks or given.dtype != output.dtype:
                raise ValueError("the input of a reduce-scatter has as many elements as all outputs, of the same type")
        reductions = [Reduction(opts.reduceOp, output.dtype, self._n_ranks) for output in outputs]

        def operation():
            for (output, given), reduction in zip(pairs, reductions):
                self._reduce_scatter_flat(output, given, reduction)

        def on_stream(streams):
            for output, given in pairs:
                streams.reduce_scatter(output, given, opts.reduceOp)

        can = all(reduces(opts.reduceOp, output.dtype) for output in outputs)
        return self._carry([*outputs, *inputs], operation, outputs, on_stream if can else None)

    def reduce_scatter(self, outputs, input_lists, opts=c10d.ReduceScatterOptions()):
        output, inputs = _single(outputs), _single(input_lists)
        reduction = Reduction(opts.reduceOp, output.dtype, self._n_ranks)
        counts = [tensor.numel() for tensor in inputs]

        def operation():
            flat = torch.cat([tensor.reshape(-1) for tensor in inputs])
            settle(flat)
            source, made = reduction.begin(flat), reduction.like(output)
            self._communicator.Reduce_scatter(as_items(source), as_items(made), counts, reduction.operation)
            reduction.end(made, output)

        return self._carry([output, *inputs], operation, outputs)

    # ---- movements ----

    def broadcast(self, tensors, opts=c10d.BroadcastOptions()):
        tensor, root = _single(tensors), opts.rootRank
        return self._carry(tensors, lambda: self._communicator.Bcast(as_bytes(tensor), root),
                           on_stream=lambda streams: streams.broadcast(tensor, root))

    def _allgather_base(self, output, given, opts=c10d.AllgatherOptions()):
        return self.allgather_into_tensor_coalesced([output], [given], opts)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=c10d.AllgatherOptions()):
        pairs = list(zip(outputs, inputs))
        for output, given in pairs:
            if output.numel() != given.numel() * self._n_ranks or given.dtype != output.dtype:
                raise ValueError("the output of an all-gather has as many elements as all inputs, of the same type")
            own_place = output.data_ptr() + self.rank() * given.numel() * given.element_size()
            if overlap(given, output) and given.data_ptr() != own_place:
                raise ValueError("the input of an all-gather lies in its output, but not at this rank's place")

        def operation():
            for output, given in pairs:
                # FSDP2 has each rank's part in its place already.
                source = MPI.IN_PLACE if overlap(given, output) else as_bytes(given)
                self._communicator.Allgather(source, [raw(output), as_bytes(given)[1], MPI.BYTE])

        def on_stream(streams):
            for output, given in pairs:
                streams.all_gather(output.view(-1).chunk(self._n_ranks) if given.numel() else [given] * self._n_ranks, given)

        return self._carry([*outputs, *inputs], operation, outputs, on_stream)

    def allgather(self, output_lists, inputs, opts=c10d.AllgatherOptions()):
        outputs, given = _single(output_lists), _single(inputs)

        def operation():
            flat, counts = _flat(outputs)
            self._communicator.Allgatherv(as_bytes(given), [raw(flat), counts, None, MPI.BYTE])
            _cut(flat, outputs)

        return self._carry([*outputs, given], operation, outputs, lambda streams: streams.all_gather(outputs, given))

    def gather(self, output_lists, inputs, opts=c10d.GatherOptions()):
        given, root = _single(inputs), opts.rootRank
        outputs = _single(output_lists) if self.rank() == root else []

        def operation():
            if self.rank() != root:
                self._communicator.Gatherv(as_bytes(given), None, root)
                return
            flat, counts = _flat(outputs)
            self._communicator.Gatherv(as_bytes(given), [raw(flat), counts, None, MPI.BYTE], root)
            _cut(flat, outputs)

        return self._carry([*outputs, given], operation, outputs)

    def scatter(self, outputs, input_lists, opts=c10d.ScatterOptions()):
        output, root = _single(outputs), opts.rootRank
        inputs = _single(input_lists) if self.rank() == root else []

        def operation():
            if self.rank() != root:
                self._communicator.Scatterv(None, as_bytes(output), root)
                return
            flat, counts = _joined(inputs)
            self._communicator.Scatterv([raw(flat), counts, None, MPI.BYTE], as_bytes(output), root)

        return self._carry([output, *inputs], operation, outputs)

    def alltoall_base(self, output, given, output_splits, input_splits, opts=c10d.AllToAllOptions()):
        to_counts, from_counts = self._split(given, input_splits), self._split(output, output_splits)

        def operation():
            self._communicator.Alltoallv([raw(given), to_counts, None, MPI.BYTE], [raw(output), from_counts, None, MPI.BYTE])

        return self._carry([output, given], operation, [output])

    def alltoall(self, outputs, inputs, opts=c10d.AllToAllOptions()):
        if len(outputs) != self._n_ranks or len(inputs) != self._n_ranks:
            raise ValueError("an all-to-all has a tensor for each rank")

        def operation():
            flat_in, to_counts = _joined(inputs)
            flat_out, from_counts = _flat(outputs)
            self._communicator.Alltoallv([raw(flat_in), to_counts, None, MPI.BYTE],
                                         [raw(flat_out), from_counts, None, MPI.BYTE])
            _cut(flat_out, outputs)

        return self._carry([*outputs, *inputs], operation, outputs)

    def _split(self, tensor, splits):
        """Bytes to or from each rank: rows of the tensor."""
        rows = tensor.size(0) if tensor.dim() else 1
        if not splits:
            if rows % self._n_ranks:
                raise ValueError(f"{rows} rows are not divisible by {self._n_ranks} ranks; say how many go to each")
            splits = [rows // self._n_ranks] * self._n_ranks
        if len(splits) != self._n_ranks or sum(splits) != rows:
            raise ValueError("there is a number of rows for each rank, and their sum is that of the tensor")
        row_bytes = tensor.numel() // rows * tensor.element_size() if rows else 0
        return [n * row_bytes for n in splits]

    def barrier(self, opts=c10d.BarrierOptions()):
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        is_used = accelerator is not None and getattr(torch, accelerator.type).is_initialized()
        # Behind what the current stream was given, as with other backends.
        tensors = [torch.empty(0, device=accelerator)] if is_used else []
        return self._give(Work([]), tensors, self._communicator.Barrier)

    # ---- messages ----

    def send(self, tensors, destination, tag=0):
        tensor = _single(tensors)
        return self._message(tensor, lambda: self._messages.Isend(as_bytes(tensor), destination, tag))

    def recv(self, tensors, source, tag=0):
        tensor = _single(tensors)
        return self._message(tensor, lambda: self._messages.Irecv(as_bytes(tensor), source, tag))

    def recv_anysource(self, tensors, tag=0):
        return self.recv(tensors, MPI.ANY_SOURCE, tag)

    def _message(self, tensor, begin):
        check(tensor)
        if self._sender is None:
            self._sender = Worker("sluice messages")
        work = Message([tensor])
        self._under_way = [*(one for one in self._under_way if not one.is_completed()), work]

        def operation():
            work.start(begin())
            return True

        return self._sender.give(work, [tensor], operation)


def _flat(tensors):
    """Room for the bytes of all tensors, one behind the other, and how many each has. What had the room before was of
    this thread's stream, which is empty between operations."""
    counts = [tensor.numel() * tensor.element_size() for tensor in tensors]
    return torch.empty(sum(counts), dtype=torch.uint8, device=tensors[0].device), counts


def _joined(tensors):
    flat, counts = _flat(tensors)
    torch.cat([tensor.reshape(-1).view(torch.uint8) for tensor in tensors], out=flat)
    settle(flat)
    return flat, counts


def _cut(flat, tensors):
    at = 0
    for tensor in tensors:
        size_bytes = tensor.numel() * tensor.element_size()
        tensor.view(-1).view(torch.uint8).copy_(flat[at:at + size_bytes])
        at += size_bytes
