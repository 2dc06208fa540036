# SPDX-License-Identifier: BSD-3-Clause
"""The words for routes and fallbacks, in one place: the page of a job has them, and tools/generate_docs puts them into
docs/statistics.md and docs/guide/is-it-on.md. Text between backticks is code."""

# The bytes ...; in the order in which tables show the routes.
ROUTES = {
    "ipc": "went from device to device, inside the node",
    "kernel": "were reduced or moved by the device",
    "relayed": "went through device memory of Sluice's own, because the memory itself has no handle",
    "direct": "went to another node by a network library, past the host's memory",
    "pipelined": "went through host memory in blocks",
    "staged": "went through host memory whole",
    "host": "went to the host MPI as they were",
    "thread": "are messages of queues that the progress thread started",
    "device": "were copied by a stream: of a queue, or of partitions",
    "dwq": "are messages of queues that the network sent by itself",
}

_CAUSE = "Read the warning in the log: it has the cause."
_PLAIN_MEMORY = "Keep what is sent in ordinary device memory, each message in one allocation."
_SEE_DEVICES = "Let all ranks of a node see all its devices, inside one container. `sluice doctor` says more."

# reason: (what was refused, what ran instead, what to do)
FALLBACKS = {
    "pool_exhausted": ("a block of the staging pool: limit reached, or no memory", "C memory, freed after use",
                       "Raise the limit if it was reached: `SLUICE_TUNING=device_pool_bytes=2G`."),
    "ipc_export": ("a handle for the sender's memory, or for all of the message; for a window",
                   "memory of Sluice's own, or staging; messages", _PLAIN_MEMORY),
    "relay_memory": ("device memory of Sluice's own for messages out of memory without a handle",
                     "blocks; pinned: the host MPI",
                     "Leave room on the device, or send out of ordinary device memory."),
    "network_open": ("the network library of `SLUICE_NETWORK`: it cannot be loaded, or does not start", "blocks", _CAUSE),
    "network_device": ("device memory, by the network library: its trial message did not come as it was sent", "blocks",
                       "Install a library that was built for the device (docs/network.md), or set `SLUICE_NETWORK=off`."),
    "network_message": ("a message to another node, by the network library", "blocks", _CAUSE),
    "partitions": ("partitions taken out of the sender's memory: a side could not", "staging", _PLAIN_MEMORY),
    "ipc_open": ("mapping or copying out of the sender's memory, at the receiver; mapping a window",
                 "blocks; messages", _SEE_DEVICES),
    "pack_kernel": ("a kernel that packs or unpacks", "another way to bring the data together or apart",
                    "Let each buffer lie in one allocation. The warning in the log has the cause."),
    "pack_payload": ("packing the payload of a message in device memory, at the sender", "staging", _CAUSE),
    "coll_ipc": ("a collective operation of the node's ranks together: a rank could not", "staging", _SEE_DEVICES),
    "coll_pack": ("packing blocks with gaps for the other ranks of the node", "staging", _CAUSE),
    "coll_copy_kernel": ("one kernel for many short blocks", "copy engines", _CAUSE),
    "coll_reduce_engines": ("copy engines that feed the kernels of a reduction",
                            "kernels that reach across the devices", _CAUSE),
    "no_kernel": ("`MPI_Reduce_local` on the device", "the host MPI", _CAUSE),
}
UNKNOWN = ("this `sluice report` does not know the reason", "another way", _CAUSE)


def route_table():
    """The lines of the table of routes in docs/guide/is-it-on.md."""
    return ["| route | the bytes |", "| --- | --- |", *(f"| `{name}` | {text} |" for name, text in ROUTES.items())]


def fallback_table():
    """The lines of the table of fallbacks in docs/statistics.md."""
    return ["| fallback | what was refused | what ran instead | what to do |", "| --- | --- | --- | --- |",
            *(f"| `{name}` | {' | '.join(texts)} |" for name, texts in FALLBACKS.items())]
