#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each operation of torch.distributed by the backend sluice, against what it has to be; then a model that is trained on
all ranks' data, against the same model trained on all data by one.

  torch_operations.py [cpu|cuda|xpu]      started as ranks of MPI, with Sluice preloaded
"""

import ctypes
import os
import sys

import torch
import torch.distributed as dist

import rounds_on_host
import sluice.torch  # noqa: F401  (registers the backend)

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
SPOILS = "--spoil" in sys.argv
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32,
         torch.int64, torch.bool, torch.complex64)
LENGTHS = (0, 1, 5, 4099)


def pattern(rank, length, dtype, step=0):
    """Small numbers that depend on rank and position: sums of them are exact in every type."""
    numbers = (torch.arange(length) * 7 + rank * 3 + step) % 5
    return numbers.to(dtype).to(DEVICE)


def poison(length, dtype):
    return torch.full((length,), 1 if dtype == torch.bool else 77, dtype=dtype, device=DEVICE)


def expect(what, made, wanted):
    if made.shape != wanted.shape or not torch.equal(made, wanted):
        raise SystemExit(f"rank {RANK}: {what}: {made.flatten()[:8].tolist()} instead of {wanted.flatten()[:8].tolist()}")


def total(length, dtype, ranks):
    tensors = [pattern(rank, length, dtype) for rank in ranks]
    if dtype == torch.bool:
        return torch.stack(tensors).any(0)
    return torch.stack(tensors).sum(0).to(dtype)


def check_reductions(length, dtype):
    own, everybody = pattern(RANK, length, dtype), range(SIZE)
    made = own.clone()
    dist.all_reduce(made)
    expect(f"all_reduce {dtype}", made, total(length, dtype, everybody))
    made = own.clone()
    dist.reduce(made, dst=SIZE - 1)
    if RANK == SIZE - 1:
        expect(f"reduce {dtype}", made, total(length, dtype, everybody))
    whole = torch.cat([pattern(RANK, length, dtype, step) for step in range(SIZE)])
    made = poison(length, dtype)
    dist.reduce_scatter_tensor(made, whole)
    parts = [pattern(rank, length, dtype, RANK) for rank in everybody]
    wanted = torch.stack(parts).any(0) if dtype == torch.bool else torch.stack(parts).sum(0).to(dtype)
    expect(f"reduce_scatter_tensor {dtype}", made, wanted)
    both = whole.clone()
    dist.reduce_scatter_tensor(both[:length], both)
    expect(f"reduce_scatter_tensor into its input {dtype}", both[:length], wanted)
    made = poison(length, dtype)
    dist.reduce_scatter(made, list(whole.chunk(SIZE)) if length else [whole] * SIZE)
    expect(f"reduce_scatter {dtype}", made, wanted)
    if dtype.is_floating_point:
        made = own.clone()
        dist.all_reduce(made, op=dist.ReduceOp.AVG)
        exact = torch.float64 if dtype == torch.float64 else torch.float32
        expect(f"average {dtype}", made, (total(length, exact, everybody) / SIZE).to(dtype))
    if not dtype.is_complex:
        for op, name in ((dist.ReduceOp.MIN, "amin"), (dist.ReduceOp.MAX, "amax")):
            made = own.clone()
            dist.all_reduce(made, op=op)
            stacked = torch.stack([pattern(rank, length, dtype) for rank in everybody]) if length else None
            expect(f"{name} {dtype}", made, getattr(stacked, name)(0) if length else own)


def check_movements(length, dtype):
    own, everybody = pattern(RANK, length, dtype), range(SIZE)
    made = own.clone() if RANK == 0 else poison(length, dtype)
    dist.broadcast(made, src=0)
    expect("broadcast", made, pattern(0, length, dtype))
    made = [poison(length, dtype) for _ in everybody]
    dist.all_gather(made, own)
    for rank in everybody:
        expect("all_gather", made[rank], pattern(rank, length, dtype))
    made = poison(length * SIZE, dtype)
    dist.all_gather_into_tensor(made, own)
    expect("all_gather_into_tensor", made, torch.cat([pattern(rank, length, dtype) for rank in everybody]))
    made = poison(length * SIZE, dtype)
    place = made[RANK * length:(RANK + 1) * length]
    place.copy_(own)
    dist.all_gather_into_tensor(made, place)
    expect("all_gather_into_tensor in place", made, torch.cat([pattern(rank, length, dtype) for rank in everybody]))
    made = [poison(length, dtype) for _ in everybody] if RANK == 0 else None
    dist.gather(own, made, dst=0)
    for rank in everybody if RANK == 0 else ():
        expect("gather", made[rank], pattern(rank, length, dtype))
    made = poison(length, dtype)
    dist.scatter(made, [pattern(9, length, dtype, rank) for rank in everybody] if RANK == 0 else None, src=0)
    expect("scatter", made, pattern(9, length, dtype, RANK))
    whole = torch.cat([pattern(RANK, length, dtype, rank) for rank in everybody])
    wanted = torch.cat([pattern(rank, length, dtype, RANK) for rank in everybody])
    made = poison(length * SIZE, dtype)
    dist.all_to_all_single(made, whole)
    expect("all_to_all_single", made, wanted)
    made = [poison(length, dtype) for _ in everybody]
    dist.all_to_all(made, [pattern(RANK, length, dtype, rank) for rank in everybody])
    expect("all_to_all", torch.cat(made), wanted)


def check_uneven():
    """Rank r sends r + k + 1 rows to rank k."""
    to, of = [RANK + k + 1 for k in range(SIZE)], [k + RANK + 1 for k in range(SIZE)]
    rows = torch.cat([pattern(RANK, n * 3, torch.float32, k).view(n, 3) for k, n in enumerate(to)])
    made = torch.full((sum(of), 3), 77.0, device=DEVICE)
    dist.all_to_all_single(made, rows, of, to)
    expect("uneven all_to_all_single", made, torch.cat([pattern(k, n * 3, torch.float32, RANK).view(n, 3) for k, n in enumerate(of)]))


def check_messages():
    right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for length in LENGTHS:
        out, made = pattern(RANK, length, torch.float32), poison(length, torch.float32)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, out, right), dist.P2POp(dist.irecv, made, left)])
        for work in works:
            work.wait()
        expect("messages", made, pattern(left, length, torch.float32))
    if RANK == 0:
        for _ in range(SIZE - 1):
            made = poison(3, torch.int64)
            source = dist.recv(made)
            expect("a message of any source", made, pattern(source, 3, torch.int64))
    else:
        dist.send(pattern(RANK, 3, torch.int64), dst=0)


def check_objects():
    made = [None] * SIZE
    dist.all_gather_object(made, {"rank": RANK, "text": "x" * RANK})
    if made != [{"rank": rank, "text": "x" * rank} for rank in range(SIZE)]:
        raise SystemExit(f"rank {RANK}: all_gather_object: {made}")
    made = [("of", 0)] if RANK == 0 else [None]
    dist.broadcast_object_list(made, src=0)
    if made != [("of", 0)]:
        raise SystemExit(f"rank {RANK}: broadcast_object_list: {made}")


def check_dropped_works():
    """Messages whose works nobody keeps."""
    for step in range(10):
        dist.isend(pattern(RANK, 4099, torch.float32, step), (RANK + 1) % SIZE)
    for step in range(10):
        made = poison(4099, torch.float32)
        dist.recv(made, (RANK - 1) % SIZE)
        expect("a message whose work was dropped", made, pattern((RANK - 1) % SIZE, 4099, torch.float32, step))


def check_order():
    """Operations that are given while those before are under way, and what the device still computes."""
    tensors, works = [], []
    for step in range(20):
        tensor = pattern(RANK, 4099, torch.float32, step) * 2  # a kernel that may still run
        works.append(dist.all_reduce(tensor, async_op=True))
        tensors.append(tensor)
    for step, (tensor, work) in enumerate(zip(tensors, works)):
        work.wait()
        expect("in order", tensor, sum(pattern(rank, 4099, torch.float32, step) for rank in range(SIZE)) * 2)
        if not work.is_completed():
            raise SystemExit("a work is not complete behind its wait")


def check_groups():
    """Two halves at once, and one rank alone."""
    halves = [dist.new_group(list(range(0, SIZE, 2))), dist.new_group(list(range(1, SIZE, 2)) or [0])]
    mine = RANK % 2
    members = list(range(mine, SIZE, 2))
    made = pattern(RANK, 11, torch.float32)
    dist.all_reduce(made, group=halves[mine])
    expect("a group", made, total(11, torch.float32, members))
    dist.barrier()


def check_refusals():
    matrix = torch.zeros(4, 6, device=DEVICE)
    for what, call in (("not contiguous", lambda: dist.all_reduce(matrix.t())),
                       ("average of numbers", lambda: dist.all_reduce(torch.zeros(3, dtype=torch.int32, device=DEVICE), op=dist.ReduceOp.AVG)),
                       ("rows", lambda: dist.all_to_all_single(torch.zeros(SIZE + 1, device=DEVICE), torch.zeros(SIZE + 1, device=DEVICE)))):
        if what == "rows" and SIZE == 1:
            continue
        try:
            call()
        except (ValueError, RuntimeError):
            continue
        raise SystemExit(f"not refused: {what}")


def model_of():
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8)).double().to(DEVICE)


def data_of(rank, step):
    made = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(16, 20, generator=made, dtype=torch.float64).to(DEVICE), torch.randn(16, 8, generator=made, dtype=torch.float64).to(DEVICE)


def losses_alone():
    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for step in range(6):
        parts = [data_of(rank, step) for rank in range(SIZE)]
        loss = torch.nn.functional.mse_loss(model(torch.cat([x for x, _ in parts])), torch.cat([y for _, y in parts]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of(wrap):
    model = wrap(model_of())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for step in range(6):
        x, y = data_of(RANK, step)
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        losses.append(mean.item())
    return losses


def check_streams():
    """Collective calls wait in streams, and not on the host; long ones go in several rounds."""
    puts = [row for row in sluice.routes()["rows"] if row["operation"] == "MPIX_Enqueue_put"]
    if {row["route"] for row in puts} != {"device"}:
        raise SystemExit(f"rank {RANK}: streams did not carry the collective calls: {puts}")
    length = 30_000_000
    for step in range(3):
        made = pattern(RANK, length, torch.float32, step)
        dist.all_reduce(made)
        expect("a long all_reduce", made, sum(pattern(rank, length, torch.float32, step) for rank in range(SIZE)))
        made = poison(length * SIZE, torch.float32)
        dist.all_gather_into_tensor(made, pattern(RANK, length, torch.float32, step))
        expect("a long all_gather", made, torch.cat([pattern(rank, length, torch.float32, step) for rank in range(SIZE)]))
    # The host is ahead of a stream that is not done: a work is there while its operation is not.
    made = pattern(RANK, 4099, torch.float32)  # a copy that waits for the stream
    torch.cuda._sleep(200_000_000)  # pylint: disable=protected-access
    work = dist.all_reduce(made, async_op=True)
    was_complete = work.is_completed()
    work.wait()
    expect("behind a stream that is busy", made, total(4099, torch.float32, range(SIZE)))
    if was_complete:
        raise SystemExit(f"rank {RANK}: the call waited for the stream")


def check_training():
    from torch.distributed.fsdp import fully_shard  # pylint: disable=import-outside-toplevel
    wanted = losses_alone()
    device_ids = [torch.device(DEVICE, torch.accelerator.current_device_index())] if DEVICE != "cpu" else None
    for name, wrap in (("DDP", lambda model: torch.nn.parallel.DistributedDataParallel(model, device_ids=device_ids)),
                       ("FSDP2", fully_shard)):
        made = losses_of(wrap)
        if SPOILS:
            made[-1] *= 1 + 1e-6
        worst = max(abs(a - b) / b for a, b in zip(made, wanted))
        if worst > 1e-9:
            raise SystemExit(f"rank {RANK}: {name}: losses {made} instead of {wanted}")
        if RANK == 0:
            print(f"{name}: losses equal to {worst:.1e}", flush=True)


if DEVICE != "cpu":
    getattr(torch, DEVICE).set_device(int(os.environ["LOCAL_RANK"]) % getattr(torch, DEVICE).device_count())
COUNT = getattr(ctypes.CDLL(None), "sluice_statistics_count", None)
if COUNT is not None:
    COUNT(1)
dist.init_process_group("sluice")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
for the_type in TYPES:
    for the_length in LENGTHS:
        check_reductions(the_length, the_type)
        check_movements(the_length, the_type)
check_uneven()
check_messages()
check_objects()
check_dropped_works()
check_order()
check_groups()
check_refusals()
check_training()
if DEVICE == "cpu":
    rounds_on_host.check(pattern, expect)
elif DEVICE == "cuda" and 1 < SIZE <= 16:
    check_streams()
dist.barrier()
dist.destroy_process_group()
if RANK == 0:
    print("all operations are right", flush=True)
