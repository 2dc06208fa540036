# SPDX-License-Identifier: BSD-3-Clause
"""What the profile alone says of figure 6: the time of a message in blocks on an ideal machine with those links.

No noise, no software: a queue of copies on each side, a wire, and the device's link, each doing one thing at a time. So a
reader can tell a shape that the profile does not have from one that this machine hides.
"""

import heapq

from paper.runs import ALL_SIZES, BLOCKS, CUT_SIZES
from peers.running import Results

# The wire between the paper's ranks: what is left of 2406.5 us (section V.C, 4 MB, pinned memory) without its two copies,
# 773 and 1140 us (section V.B).
WIRE_GB_S = 4194304 / (2406.5 - 773 - 1140) / 1e3
SLOTS = 4  # blocks that Sluice has under way


def cut(plan, size, n_blocks):
    """Sizes of the blocks, as src/transfer/blocks.hpp cuts them."""
    if n_blocks < 2:
        return [size]
    block = size // n_blocks
    first = block // 2 if plan == "advanced" else block
    return [first] + [block] * (n_blocks - 2) + [size - first - block * (n_blocks - 2)]


class Link:
    """The device's link: directions that take turns, or one for each."""

    def __init__(self, profile, memory):
        self.figures = {"down": profile["links"]["device_to_host"][memory], "up": profile["links"]["host_to_device"][memory]}
        self.is_duplex = profile["duplex"]
        self.free_us = {"down": 0.0, "up": 0.0}

    def done_us(self, way, now_us, size):
        """The end of a copy that begins now."""
        key = way if self.is_duplex else "down"
        figures = self.figures[way]
        begin = max(now_us + figures["latency_us"], self.free_us[key])
        self.free_us[key] = begin + size / (figures["bandwidth_gb_s"] * 1e3)
        return self.free_us[key]


def latency_us(profile, plan, size, n_blocks, memory="pinned"):
    """From the first copy down to the end of the last copy up."""
    blocks, link = cut(plan, size, n_blocks), Link(profile, memory)
    n_down, wire_free, sent, waiting, is_up_busy, now = 0, 0.0, set(), [], False, 0.0
    events = [(0.0, 0, "begin", -1)]  # (time, order of two at the same time, what has ended, block)
    while events:
        now, _, what, block = heapq.heappop(events)
        made = []
        if what == "down":
            wire_free = max(now, wire_free) + blocks[block] / (WIRE_GB_S * 1e3)
            made.append((wire_free, "wire", block))
        elif what == "wire":
            sent.add(block)
            waiting.append(block)
        elif what == "up":
            is_up_busy = False
        is_down_busy = n_down > 0 and any(event[2] == "down" for event in events)
        if not is_down_busy and n_down < len(blocks) and (n_down < SLOTS or n_down - SLOTS in sent):
            made.append((link.done_us("down", now, blocks[n_down]), "down", n_down))
            n_down += 1
        if waiting and not is_up_busy:
            block = waiting.pop(0)
            is_up_busy = True
            made.append((link.done_us("up", now, blocks[block]), "up", block))
        for moment, kind, which in made:
            heapq.heappush(events, (moment, which * 3 + ("down", "wire", "up").index(kind), kind, which))
    return now


def results(profile):
    """The figures of one round on the ideal machine, but for the bandwidths of figure 7."""
    made = Results()
    made.begin_round()
    for size in ALL_SIZES:
        for column, way in (("D2H", "down"), ("H2D", "up")):
            made.add("3", column, size, Link(profile, "pinned").done_us(way, 0.0, size))
        made.add("3", "MPI", size, size / (WIRE_GB_S * 1e3))
        for memory, kind in (("malloc", "pageable"), ("runtime", "pinned")):
            for column, way in (("H2D", "up"), ("D2H", "down")):
                made.add("4", f"{column} {memory}", size, Link(profile, kind).done_us(way, 0.0, size))
        for column, memory in (("malloc", "pageable"), ("aligned", "pageable"), ("runtime", "pinned"), ("runtime_aligned", "pinned")):
            made.add("5", column, size, latency_us(profile, "none", size, 1, memory))
        is_cut = size >= 65536
        made.add("7 latency", "proposed", size, latency_us(profile, "advanced", size, 2 if is_cut else 1))
        made.add("7 latency", "naive", size, latency_us(profile, "none", size, 1, "pageable"))
    for size in CUT_SIZES:
        made.add("6", "1", size, latency_us(profile, "none", size, 1))
        for blocks in BLOCKS:
            made.add("6", f"{blocks}", size, latency_us(profile, "advanced", size, blocks))
            made.add("6", f"{blocks} even", size, latency_us(profile, "even", size, blocks))
    return made
