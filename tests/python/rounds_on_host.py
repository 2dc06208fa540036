# SPDX-License-Identifier: BSD-3-Clause
"""The rounds of sluice.torch's stream collectives in memory of the host: the host MPI puts, and a barrier stands for the
signals. So slots, parts and reductions are tested without a device."""

import torch
import torch.distributed as dist
from mpi4py import MPI

from sluice.torch.stream_collectives import StreamCollectives


class _Queue:
    """What stream_queue.Queue has, done at once."""

    def __init__(self, communicator, window):
        self._communicator, self._window, self._puts = communicator, window, []

    def put(self, address, size_bytes, rank, displacement):
        self._puts.append((address, size_bytes, rank, displacement))

    def signal(self, rank):
        pass

    def wait_signal(self, rank):
        pass

    def run(self):
        self._communicator.Barrier()  # nobody reads a slot any more
        for address, size_bytes, rank, displacement in self._puts:
            memory = MPI.buffer.fromaddress(address, size_bytes)
            self._window.Put([memory, size_bytes, MPI.BYTE], rank, [displacement, size_bytes, MPI.BYTE])
        self._puts.clear()
        self._window.Flush_all()
        self._communicator.Barrier()


class OnHost(StreamCollectives):
    def __init__(self, communicator, slot_bytes):  # pylint: disable=super-init-not-called  (that makes a stream)
        self._communicator = communicator
        self._rank, self._n_ranks, self._n_rounds = communicator.rank, communicator.size, 0
        self._others = [rank for rank in range(self._n_ranks) if rank != self._rank]
        self._slot_bytes = slot_bytes
        self._half_bytes = slot_bytes * self._n_ranks
        self._window = MPI.Win.Allocate(2 * self._half_bytes, 1, MPI.INFO_NULL, communicator)
        self._window.Lock_all()
        self._halves = torch.frombuffer(self._window.tomemory(), dtype=torch.uint8).view(2, self._n_ranks, slot_bytes)
        self._halves.fill_(0xA5)
        communicator.Barrier()
        self._queue = _Queue(communicator, self._window)

    def close(self):
        self._halves = None
        self._window.Unlock_all()
        self._window.Free()


TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.complex64)


def check(pattern, expect):
    """`pattern(rank, length, dtype)` makes data; `expect(what, made, wanted)` compares. Some thousand barriers."""
    communicator = MPI.COMM_WORLD.Dup()
    own, ranks = communicator.rank, range(communicator.size)
    for slot_bytes, lengths in ((256, (0, 1, 5, 97)), (1 << 16, (4099, 70001))):
        rounds = OnHost(communicator, slot_bytes)
        for dtype in TYPES:
            for length in lengths:
                label = f"{dtype} {length} in slots of {slot_bytes}"
                parts = [pattern(rank, length, dtype) for rank in ranks]
                made = pattern(own, length, dtype)
                rounds.all_reduce(made, dist.ReduceOp.SUM)
                expect(f"rounds: all_reduce {label}", made, torch.stack(parts).sum(0).to(dtype))
                made = torch.full((length * len(ranks),), 77, dtype=dtype)
                rounds.all_gather(made.chunk(len(ranks)) if length else [made] * len(ranks), parts[own])
                expect(f"rounds: all_gather {label}", made, torch.cat(parts))
                uneven = [torch.full((length + rank,), 77, dtype=dtype) for rank in ranks]
                rounds.all_gather(uneven, pattern(own, length + own, dtype))
                for rank in ranks:
                    expect(f"rounds: uneven all_gather {label}", uneven[rank], pattern(rank, length + rank, dtype))
                whole = torch.cat([pattern(own, length, dtype, step) for step in ranks])
                wanted = torch.stack([pattern(rank, length, dtype, own) for rank in ranks]).sum(0).to(dtype)
                made = torch.full((length,), 77, dtype=dtype)
                rounds.reduce_scatter(made, whole, dist.ReduceOp.SUM)
                expect(f"rounds: reduce_scatter {label}", made, wanted)
                rounds.reduce_scatter(whole[:length], whole, dist.ReduceOp.SUM)
                expect(f"rounds: reduce_scatter into its input {label}", whole[:length], wanted)
                made = pattern(own, length, dtype)
                rounds.broadcast(made, len(ranks) - 1)
                expect(f"rounds: broadcast {label}", made, parts[-1])
                if dtype.is_floating_point:
                    made = pattern(own, length, dtype)
                    rounds.all_reduce(made, dist.ReduceOp.AVG)
                    exact = torch.float64 if dtype == torch.float64 else torch.float32
                    expect(f"rounds: average {label}", made, (torch.stack(parts).sum(0).to(exact) / len(ranks)).to(dtype))
                if not dtype.is_complex:
                    for operation, name in ((dist.ReduceOp.MIN, "amin"), (dist.ReduceOp.MAX, "amax")):
                        made = pattern(own, length, dtype)
                        rounds.all_reduce(made, operation)
                        wanted = getattr(torch.stack(parts), name)(0) if length else made
                        expect(f"rounds: {name} {label}", made, wanted)
        rounds.close()
    communicator.Free()
