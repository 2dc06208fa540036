# SPDX-License-Identifier: BSD-3-Clause
"""What `sluice tune` asks: for each setting the sides to run and the sizes, as data."""

import dataclasses

NEVER = "1024G"  # as long as a threshold can be


class UsageError(Exception):
    """A word of the command line that cannot be used; the text says why."""


@dataclasses.dataclass(frozen=True)
class Question:
    """One setting. Of a threshold the first side is what is done from it on and the second what is done below it; of a choice
    the first side is what holds without a table, and the name of each other one is the setting's value; of a slope there is one. Of
    several nodes, which are faked on this machine, `remark` says what that leaves out. Where the sides go by different routes,
    `has_routes`, there is nothing to choose if they did not."""

    name: str
    setting: str
    is_threshold: bool
    sentence: str
    tests: str  # of sluice-bench
    placement: tuple
    sizes: tuple
    sides: dict  # name -> variables, and settings, whose names have small letters
    iterations: int
    least_ranks: int = 2
    most_ranks: int = 0  # 0: any number
    nodes: int = 1  # as which the ranks are started
    remark: str = ""
    datatype: str = ""  # of sluice-bench -D; the blocks of a vector are one `unit` long
    unit: int = 1  # bytes of what the setting counts, for a threshold in other things than bytes
    has_routes: bool = False
    is_slope: bool = False  # the setting is what one unit more costs the one side, in nanoseconds, down and up again


def bytes_of(text):
    """The number that a size is written for: 64K."""
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not digits.isdigit():
        raise ValueError(f"{text} is no size")
    return int(digits) << shift


STAGED = {"SLUICE_P2P_IPC": "off", "SLUICE_P2P_PIPELINE": "none"}
WHOLE = {"SLUICE_COLL_IPC": "off", "SLUICE_COLL_SEGMENTS": "off"}
CUT = {"SLUICE_COLL_IPC": "off", "SLUICE_COLL_SEGMENTS": "always", "coll_segment_threshold": "0"}
TOGETHER = {"SLUICE_COLL_IPC": "always", "coll_ipc_threshold": "0"}

ALL = (
    Question("staging", "device_staging_memory", False, "which memory are messages staged through fastest?", "latency",
             ("D", "D"), ("1K", "64K", "1M"),
             {"auto": STAGED, **{kind: {**STAGED, "device_staging_memory": kind}
                                 for kind in ("malloc", "aligned", "runtime", "runtime_aligned")}}, 50),
    Question("pull", "p2p_ipc_threshold", True, "from which length on is a message pulled faster than staged?", "latency",
             ("D", "D"), ("8", "64", "512", "4K", "16K", "64K"),
             {"pulled": {"p2p_ipc_threshold": "1"}, "staged": {"p2p_ipc_threshold": NEVER}}, 200, has_routes=True),
    Question("blocks", "p2p_pipeline_threshold", True, "from which length on do blocks that overlap beat one that does not?",
             "latency", ("D", "D"), ("16K", "64K", "256K", "1M", "4M"),
             {"blocks": {"SLUICE_P2P_IPC": "off", "p2p_pipeline_threshold": "256"},
              "whole": {"SLUICE_P2P_IPC": "off", "p2p_pipeline_threshold": NEVER}}, 30),
    Question("together", "coll_ipc_threshold", True,
             "from which length on do the ranks carry collective operations out together faster than each for itself?",
             "bcast,allgather,alltoall", ("D",), ("8", "64", "256", "1K", "4K", "16K", "64K", "256K", "1M"),
             {"together": TOGETHER, "staged": {"SLUICE_COLL_IPC": "off"}}, 50, has_routes=True),
    Question("reduce", "coll_reduce_threshold", True,
             "from which length on do the ranks of a node reduce on their devices faster than the host MPI does for them?",
             "allreduce,reduce,reduce_scatter_block", ("D",), ("8", "64", "256", "1K", "4K", "16K", "64K", "1M"),
             {"devices": {**TOGETHER, "coll_reduce_threshold": "0"}, "staged": {"SLUICE_COLL_IPC": "off"}}, 50, has_routes=True),
    Question("levels", "coll_levels_threshold", True,
             "from which length on do the ranks of two nodes carry operations out in two levels faster than each for itself?",
             "bcast,allgather,allreduce", ("D",), ("16K", "64K", "256K", "1M", "4M"),
             {"levels": {**TOGETHER, "coll_levels_threshold": "0"}, "flat": {**TOGETHER, "SLUICE_COLL_LEVELS": "off"}}, 20,
             least_ranks=4, nodes=2, remark="two nodes faked on one machine, with no network between them"),
    Question("segments", "coll_segment_threshold", True,
             "from which length on do staged operations in segments beat whole ones?", "bcast,allgather,alltoall,gather,scatter",
             ("D",), ("1M", "2M", "4M", "8M", "32M"), {"segments": CUT, "whole": WHOLE}, 10, has_routes=True),
    Question("segment", "coll_segment", False, "of which length are the segments of staged operations fastest?",
             "bcast,allgather,alltoall,gather,scatter", ("D",), ("8M", "32M"),
             {"2M": CUT, **{length: {**CUT, "coll_segment": length} for length in ("256K", "512K", "1M", "4M")}}, 10),
    Question("chain", "coll_chain_block", False, "in which blocks does a broadcast pass from rank to rank fastest?", "bcast",
             ("D",), ("8M", "32M", "256M"),
             {"0": {}, **{block: {"coll_chain_block": block} for block in ("512K", "1M", "2M", "4M", "8M", "16M")}}, 10, least_ranks=3),
    Question("kernel", "coll_kernel_copy", False, "up to how many bytes does one kernel bring a rank its blocks fastest?",
             "allgather,alltoall", ("D",), ("256", "1K", "4K", "16K", "64K", "256K"),
             {"0": TOGETHER, **{most: {**TOGETHER, "coll_kernel_copy": most} for most in ("8K", "32K", "128K", "512K", "2M")}},
             100),
    Question("runs", "transfer_pack_from", True, "from how many runs on does one kernel pack faster than a copy for each?",
             "latency", ("D", "D"), ("1K", "1536", "2K", "3K", "4K", "8K", "16K"),
             {"kernel": {**STAGED, "SLUICE_TRANSFER_PACK": "kernel"}, "copies": {**STAGED, "SLUICE_TRANSFER_PACK": "copies"}}, 50,
             datatype="vector:4K:512", unit=512),
    Question("copies", "transfer_copy", False, "how long does each further short copy of a list take?",
             "latency", ("D", "D"), ("2K", "4K", "8K", "16K", "32K"),
             {"copies": {**STAGED, "SLUICE_TRANSFER_PACK": "copies"}}, 50, datatype="vector:4K:512", unit=512, is_slope=True),
    Question("engines", "coll_reduce_engines", True,
             "from which length on do copy engines that feed kernels reduce faster than kernels across the devices?",
             "allreduce", ("D",), ("32M", "64M", "128M", "256M"),
             {"engines": {**TOGETHER, "coll_reduce_threshold": "0", "coll_reduce_engines": "1"},
              "kernels": {**TOGETHER, "coll_reduce_threshold": "0", "coll_reduce_engines": "0"}}, 5,
             most_ranks=2),
)
NAMES = tuple(question.name for question in ALL)


def choose(only):
    """The questions of that names, all of none. Raises UsageError."""
    wanted = [name for name in only.split(",") if name]
    for name in wanted:
        if name not in NAMES:
            raise UsageError(f"--only {name}: wanted some of {', '.join(NAMES)}")
    return [question for question in ALL if not wanted or question.name in wanted]
