# SPDX-License-Identifier: BSD-3-Clause
"""The backend `sluice` of torch.distributed (docs/pytorch.md).

    import sluice.torch
    torch.distributed.init_process_group("sluice")

MPI starts the ranks (mpiexec, srun), and mpi4py makes the calls. The import initialises MPI. It tells PyTorch the ranks
by the environment variables that PyTorch reads, where they are not set: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
MASTER_ADDR and MASTER_PORT.
"""

import os
import socket
import zlib

import torch.distributed as dist
from mpi4py import MPI

from .process_group import ProcessGroupSluice

__all__ = ["ProcessGroupSluice"]


def _tell_ranks():
    """Collective over MPI_COMM_WORLD."""
    world = MPI.COMM_WORLD
    node = world.Split_type(MPI.COMM_TYPE_SHARED)
    with socket.socket() as found:
        found.bind(("", 0))
        port = found.getsockname()[1]  # free now; PyTorch binds it soon
    host = "127.0.0.1" if node.size == world.size else socket.gethostname()
    host, port = world.bcast((host, port))
    told = {"RANK": world.rank, "WORLD_SIZE": world.size, "LOCAL_RANK": node.rank, "LOCAL_WORLD_SIZE": node.size,
            "MASTER_ADDR": host, "MASTER_PORT": port}
    node.Free()
    for name, value in told.items():
        os.environ.setdefault(name, str(value))


def _make(options, _backend_options=None):
    """What init_process_group() and new_group() call in each member of the group."""
    world = MPI.COMM_WORLD
    members = list(options.global_ranks_in_group) or list(range(options.group_size))
    if members[options.group_rank] != world.rank or max(members) >= world.size:
        raise RuntimeError(
            f"rank {members[options.group_rank]} of PyTorch is rank {world.rank} of {world.size} in MPI; start the ranks "
            "by mpiexec or srun, and import sluice.torch before anything sets RANK and WORLD_SIZE")
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        raise RuntimeError("MPI does not give MPI_THREAD_MULTIPLE, which the threads of the backend sluice need; "
                           "let mpi4py initialise MPI, or ask for that level")
    group = world.Get_group().Incl(members)
    # Members alone make it, in the same order; the tag keeps groups apart that others make at the same time.
    communicator = world.Create_group(group, zlib.crc32(str(options.group_id).encode()) % 32768)
    group.Free()
    return ProcessGroupSluice(communicator, options.group_id)


_tell_ranks()
dist.Backend.register_backend("sluice", _make, extended_api=True, devices=["cpu", "cuda", "xpu"])
