# SPDX-License-Identifier: BSD-3-Clause
"""The time line: a lane for each rank, a bar for each copy or message, as SVG."""

import math
import re

from job import files
from job.markup import duration, element, number, percent, plural

COLOURS = {"D2H": "#d55e00", "wire": "#7a7a7a", "H2D": "#e69f00", "kernel": "#56b4e9", "D2D": "#009e73",
           "file": "#cc79a7"}
TEXTS = {"D2H": "device to host", "wire": "the host MPI has it", "H2D": "host to device", "kernel": "kernels of Sluice",
         "D2D": "device to device", "file": "files"}
OTHER = "#000000"
LEFT, WIDTH, TOP, BAR, GAP = 96, 1000, 22, 12, 7
MOST_APART_NS = 60e9  # traces of one job do not lie farther apart


def lanes_of(job):
    """The names of lanes that have spans, in the order in which they are drawn."""
    found = {name for trace in job.traces.values() for name in trace.lanes}
    return [name for name in COLOURS if name in found] + sorted(found - COLOURS.keys())


def ranks_to_draw(job, odd_ranks):
    """All of them, or of many those that are unlike the others and more at equal distances."""
    ranks = sorted(rank for rank, trace in job.traces.items() if trace.n_spans)
    if len(ranks) <= files.MOST_LANES:
        return ranks
    chosen = [rank for rank in odd_ranks if job.traces.get(rank) and job.traces[rank].n_spans][:files.MOST_LANES // 3]
    others = [rank for rank in ranks if rank not in set(chosen)]
    room = files.MOST_LANES - len(chosen)
    return sorted(chosen + [others[i * len(others) // room] for i in range(room)])


def shifts_of(job):
    """rank -> us from the first rank's start to its own."""
    first_ns = min(trace.epoch_ns for trace in job.traces.values())
    return {rank: (trace.epoch_ns - first_ns) * 1e-3 for rank, trace in job.traces.items()}


def step_of(length_us):
    """Between two marks of the axis: 1, 2 or 5 times a power of ten, for five to ten marks."""
    power = 10 ** math.floor(math.log10(length_us / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if length_us / (power * factor) <= 10)


def axis(begin_us, length_us, height):
    step, drawn = step_of(length_us), []
    for i in range(int(length_us / step) + 1):
        x = LEFT + WIDTH * i * step / length_us
        drawn.append(element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP - 4, y2=height, class_="rule"))
        anchor = "start" if i == 0 else "end" if x > LEFT + WIDTH - 30 else "middle"
        # 2 ms, not 2.00 ms.
        text = re.sub(r"\.0+(?=\D)|(\.\d*?)0+(?=\D)", r"\1", duration(i * step * 1e3)) if i else "0"
        drawn.append(element("text", text, x=f"{x:.1f}", y=TOP - 8, text_anchor=anchor))
    return drawn


def bar(span, shift_us, begin_us, length_us, y):
    x = LEFT + WIDTH * (span.begin_us + shift_us - begin_us) / length_us
    wide = max(0.7, WIDTH * span.length_us / length_us)
    return element("rect", element("title", span.text), x=f"{x:.2f}", y=y, width=f"{wide:.2f}", height=BAR - 1,
                   fill=COLOURS.get(span.lane, OTHER))


def bars_of(job, ranks):
    """rank -> its longest spans, the longest first. Ranks share the bars evenly, and leave to others what they do not
    need."""
    bars, room = {}, files.MOST_BARS
    for place, rank in enumerate(sorted(ranks, key=lambda rank: job.traces[rank].n_spans)):
        bars[rank] = job.traces[rank].longest[:room // (len(ranks) - place)]
        room -= len(bars[rank])
    return bars


def draw(job, ranks, bars, lanes):
    shifts = shifts_of(job)
    begin_us = min(job.traces[rank].first_us + shifts[rank] for rank in ranks)
    length_us = max(1.0, max(job.traces[rank].last_us + shifts[rank] for rank in ranks) - begin_us)
    drawn, tops, y = [], {}, TOP
    for place, rank in enumerate(ranks):
        own = [name for name in lanes if name in job.traces[rank].lanes]
        high = len(own) * BAR + GAP
        fill = "#f4f4f4" if place % 2 else "#ffffff"
        drawn.append(element("rect", x=0, y=y, width=LEFT + WIDTH, height=high, fill=fill))
        drawn.append(element("text", f"rank {rank}", x=2, y=y + GAP / 2 + BAR - 2, class_="rank"))
        for i, name in enumerate(own):
            tops[rank, name] = y + GAP / 2 + i * BAR
            low = tops[rank, name] + BAR - 2.5
            drawn.append(element("text", name, x=LEFT - 5, y=low, text_anchor="end", class_="lane"))
        y += high
    drawn += axis(begin_us, length_us, y)
    drawn += [bar(span, shifts[rank], begin_us, length_us, tops[rank, span.lane])
              for rank in ranks for span in bars[rank]]
    return element("svg", element("title", "Time line: a lane for each rank"), drawn, role="img", class_="timeline",
                   xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {LEFT + WIDTH + 4} {y}")


def left_out(job, ranks, bars):
    """What the drawing does not show, in sentences."""
    said = []
    n_ranks = sum(1 for trace in job.traces.values() if trace.n_spans)
    if len(ranks) < n_ranks:
        said.append(f"{len(ranks)} of {plural(n_ranks, 'rank')} are drawn: those that differ, and others at equal "
                    "distances.")
    n_spans = sum(job.traces[rank].n_spans for rank in ranks)
    n_drawn = sum(map(len, bars.values()))
    if n_drawn < n_spans:
        all_us = sum(lane[1] for rank in ranks for lane in job.traces[rank].lanes.values())
        out_us = max(0.0, all_us - sum(span.length_us for spans in bars.values() for span in spans))
        most_us = max(spans[-1].length_us for rank, spans in bars.items() if len(spans) < job.traces[rank].n_spans)
        said.append(f"{number(n_drawn)} of {number(n_spans)} spans are drawn, the longest of each rank. Left out: "
                    f"{number(n_spans - n_drawn)}, of at most {duration(most_us * 1e3)} each and "
                    f"{percent(out_us, all_us or 1)} of the time together.")
    if job.n_dropped:
        dropped = [rank for rank, trace in sorted(job.traces.items()) if trace.n_dropped]
        where = f", on {plural(len(dropped), 'rank')}, the first is {dropped[0]}" if dropped else ""
        said.append(f"{number(job.n_dropped)} later spans are not in the files, because a rank keeps 65536{where}.")
    starts = [(trace.epoch_ns + trace.first_us * 1e3, trace.epoch_ns + trace.last_us * 1e3)
              for trace in job.traces.values() if trace.n_spans]
    if starts and max(start for start, _ in starts) - min(end for _, end in starts) > MOST_APART_NS:
        said.append("The traces lie more than a minute apart: give those of one job.")
    return said


def sums_of(job, lanes):
    """[(name, words, spans, us, bytes)] of all spans of all ranks, drawn or not."""
    found = []
    for name in lanes:
        parts = [trace.lanes[name] for trace in job.traces.values() if name in trace.lanes]
        found.append((name, TEXTS.get(name, ""), *map(sum, zip(*parts))))
    return found


def make(job, odd_ranks):
    """The drawing, the sentences on what it leaves out, and the sums; None for the drawing where there is no span."""
    lanes = lanes_of(job)
    ranks = ranks_to_draw(job, odd_ranks)
    if not ranks:
        return None, left_out(job, [], {}), []
    bars = bars_of(job, ranks)
    return draw(job, ranks, bars, lanes), left_out(job, ranks, bars), sums_of(job, lanes)
