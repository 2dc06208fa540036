#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NVSHMEM's put as PyTorch's wheel gives it, from one GPU to another, by the host's clock: alone, and 64 in one stream.

  python3 -m torch.distributed.run --standalone --nproc_per_node 2 put_nvshmem.py

Prints a line for each size: the median of five rounds in microseconds, in brackets the smallest and the largest. The second
rank checks each byte. Exit status: 0 all came right, 1 it did not, or PyTorch has no NVSHMEM.
"""

import os
import statistics
import sys
import time

SIZES = (8, 64, 512, 4096, 32768, 262144, 16 << 20, 64 << 20)
ROUNDS = 5
TOGETHER = 64


def spread(values):
    return f"{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]"


def main():
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric

    def time_puts(memory, n_puts, n_waits):
        """Microseconds of n_puts puts and one wait."""
        begin = time.perf_counter()
        for _ in range(n_waits):
            for _ in range(n_puts):
                torch.ops.symm_mem.nvshmem_put(memory, 1)
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) / n_waits * 1e6

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    symmetric.set_backend("NVSHMEM")
    is_right = True
    for size in SIZES:
        memory = symmetric.empty(size, dtype=torch.uint8, device=f"cuda:{rank}")
        symmetric.rendezvous(memory, dist.group.WORLD.group_name)
        memory.copy_(torch.arange(size, device=memory.device) % 251 + 2 * (1 - rank))
        wanted = torch.arange(size, device=memory.device) % 251 + 2
        torch.cuda.synchronize()
        dist.barrier()
        if rank == 0:
            n_waits = 200 if size < 1 << 20 else 30
            time_puts(memory, 1, 20)
            alone = [time_puts(memory, 1, n_waits) for _ in range(ROUNDS)]
            together = [time_puts(memory, TOGETHER, 5) for _ in range(ROUNDS)]
            print(f"{size:>9} bytes: put and wait {spread(alone)} us; {TOGETHER} puts and one wait {spread(together)} us", flush=True)
        dist.barrier()
        torch.cuda.synchronize()
        if rank == 1 and not bool((memory == wanted).all().item()):
            is_right = False
            print(f"{size} bytes came wrong", file=sys.stderr, flush=True)
        dist.barrier()
    dist.destroy_process_group()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
