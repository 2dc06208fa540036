#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trains the model of train.py as PyTorch programs do, by DistributedDataParallel and by FSDP2, with each of several
backends of torch.distributed side by side, and prints a table. The ranks are started by MPI, under Sluice:

  mpiexec -n 2 sluice run -- python apps/data_parallel/wrapped.py --device cuda --backends sluice,nccl

In each round each wrapping is trained by each backend for the same steps, from the same parameters. Step times are the
slowest rank's. Exit status: 0 the losses of all backends are equal to the tolerance, 1 they are not, 2 wrong words.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import sluice.torch  # noqa: F401  (registers the backend)

from model import SIZES, Transformer, sentences_of  # noqa: I001

# The last: each block asks for the next one's parameters before it computes.
WRAPPINGS = ("ddp", "fsdp2", "fsdp2_prefetch")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda", "xpu"), required=True)
    parser.add_argument("--backends", default="sluice,nccl", help="the last is what the others are compared with")
    parser.add_argument("--wrappings", default=",".join(WRAPPINGS))
    parser.add_argument("--size", choices=tuple(SIZES), default="base", help="of the model (base: 110 million parameters)")
    parser.add_argument("--sentences", type=int, default=8, help="of a rank in each step (8)")
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed (20)")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before, not timed (5)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of losses, relative (1e-4)")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def choose_device(kind):
    if kind == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // int(os.environ["WORLD_SIZE"])))
        return torch.device("cpu")
    module, local = getattr(torch, kind), int(os.environ["LOCAL_RANK"])
    device = torch.device(kind, local % module.device_count())
    module.set_device(device)
    return device


def wrapped(name, group, size, device):
    torch.manual_seed(1)
    model = Transformer(size).to(device)
    if name == "ddp":
        return DistributedDataParallel(model, device_ids=None if device.type == "cpu" else [device], process_group=group)
    mesh = DeviceMesh.from_group(group, device.type)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if name == "fsdp2_prefetch":
        for block, following in zip(model.blocks, model.blocks[1:]):
            block.set_modules_to_forward_prefetch([following])
            following.set_modules_to_backward_prefetch([block])
    return model


def train(model, group, arguments, device):
    """(the mean loss of all ranks in each step, seconds of each timed step on the slowest rank)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses, seconds = [], []
    for step in range(arguments.warm_up + arguments.steps):
        sentences = sentences_of(SIZES[arguments.size], arguments.sentences, dist.get_rank(), step, device)
        if device.type != "cpu":
            getattr(torch, device.type).synchronize()
        dist.barrier(group=group)
        begin = time.perf_counter()
        loss = model(sentences)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if device.type != "cpu":
            getattr(torch, device.type).synchronize()
        told = torch.tensor([loss.item(), time.perf_counter() - begin], dtype=torch.float64)
        everybody = [torch.empty_like(told) for _ in range(dist.get_world_size())]
        dist.all_gather(everybody, told)
        losses.append(statistics.fmean(one[0].item() for one in everybody))
        if step >= arguments.warm_up:
            seconds.append(max(one[1].item() for one in everybody))
    return losses, seconds


def table(times, last):
    lines = ["| wrapping | backend | ms a step, median of the rounds | over " + last + " |", "| --- | --- | --- | --- |"]
    for (wrapping, backend), rounds in times.items():
        ratio = statistics.median(rounds) / statistics.median(times[(wrapping, last)])
        spread = f"{1e3 * min(rounds):.2f}..{1e3 * max(rounds):.2f}"
        lines.append(f"| {wrapping} | {backend} | {1e3 * statistics.median(rounds):.2f} [{spread}] | {ratio:.3f} |")
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    backends = arguments.backends.split(",")
    device = choose_device(arguments.device)
    dist.init_process_group("sluice")
    groups = {backend: dist.group.WORLD if backend == "sluice" else dist.new_group(backend=backend) for backend in backends}
    times, losses, worst = {}, {}, 0.0
    for _ in range(arguments.rounds):
        for wrapping in arguments.wrappings.split(","):
            for backend in backends:
                found, seconds = train(wrapped(wrapping, groups[backend], SIZES[arguments.size], device), groups[backend], arguments, device)
                times.setdefault((wrapping, backend), []).append(statistics.median(seconds))
                first = losses.setdefault(wrapping, found)
                worst = max(worst, *(abs(a - b) / b for a, b in zip(found, first)))
    is_equal = worst <= arguments.tolerance
    if dist.get_rank() == 0:
        print(table(times, backends[-1]))
        print(f"losses: largest relative difference {worst:.1e}; {'equal' if is_equal else 'NOT EQUAL'} to {arguments.tolerance:g}", flush=True)
        if arguments.json:
            rows = [{"wrapping": wrapping, "backend": backend, "step_s": rounds} for (wrapping, backend), rounds in times.items()]
            arguments.json.write_text(json.dumps({"rows": rows, "losses": losses, "torch": torch.__version__,
                                                  "routes": sluice.routes()}) + "\n", encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
