# SPDX-License-Identifier: BSD-3-Clause
"""What `bench/compare_trust` runs, and what it makes of the figures. Nothing is started here.

Agreement: every program says of each size the best of REPEAT loops' means (NetPIPE can say nothing else), and ours is
divided by the other's of the same round. Overhead: sluice-bench with and without what it does beside measuring, means of
the same number of iterations, in turn.
"""

import dataclasses
import json
import re
import statistics

from peers import running
from peers.targets import size_text

REPEAT = 3
TOLERANCE = 0.05
SIZES = (8, 4096, 65536, 1 << 20)
STREAM_FROM = 65536  # below, a bandwidth says what the latency says
ONE_BUFFER = "ping_pong, one buffer"
BATCHED = "sluice-bench, one clock reading"
BARE = ("--check", "none")


@dataclasses.dataclass(frozen=True)
class Run:
    """One command. place: key of the sides; program: sluice-bench, ping_pong or netpipe; column: heading of its figures."""
    place: str
    program: str
    column: str
    words: tuple = ()
    section: str = ""  # of the results; "" for ping_pong, which has two


def texts(sizes):
    return ",".join(map(str, sizes))


def agreement_runs(place, placement, sizes, n, has_netpipe):
    """n: iterations; a tenth as many windows."""
    common, long_sizes = ("-x", "20", "--repeat", str(REPEAT)), [size for size in sizes if size >= STREAM_FROM]
    runs = [Run(place, "sluice-bench", "sluice-bench", ("latency", *placement, "-i", str(n), "--sizes", texts(sizes), *common), "latency"),
            Run(place, "sluice-bench", BATCHED, ("latency", *placement, "-i", str(n), "--batch", str(n), "--sizes", texts(sizes), *common),
                "latency")]
    if long_sizes:
        runs.append(Run(place, "sluice-bench", "sluice-bench",
                        ("bw", *placement, "-i", str(max(n // 10, 2)), "--sizes", texts(long_sizes), *common), "stream"))
    runs.append(Run(place, "ping_pong", "ping_pong", (texts(sizes), str(n), "20", str(REPEAT))))
    if has_netpipe:
        runs.append(Run(place, "ping_pong", ONE_BUFFER, (texts(sizes), str(n), "20", str(REPEAT), "one")))
        runs += [Run(place, "netpipe", "NetPIPE", ("-l", str(size), "-u", str(size), "-p", "0", "-n", str(n)), "latency") for size in sizes]
    return runs


# What sluice-bench does beside measuring, each alone and all together; {n}: the iterations.
EXTRAS = {
    "bare": (*BARE, "--batch", "{n}"),
    "checking": ("--check", "all", "--batch", "{n}"),
    "statistics": (*BARE, "--batch", "1", "-f", "-z"),
    "rotation": (*BARE, "--batch", "{n}", "--rotate", "2"),
    "all of it": ("--check", "all", "--batch", "1", "-f", "-z", "--rotate", "2"),
}


def overhead_runs(place, placement, test, sizes, n, columns=tuple(EXTRAS)):
    return [Run(place, "sluice-bench", column, (test, *placement, "--sizes", texts(sizes), "-i", str(n), "-x", "20", "--repeat", str(REPEAT),
                                                *(word.format(n=n) for word in EXTRAS[column])), f"overhead {test}")
            for column in columns]


def read_bench(text_or_path):
    """{size: the best of the blocks' means} of sluice-bench's JSON."""
    document = json.loads(text_or_path.read_text(encoding="utf-8"))
    if document["status"] != "ok":
        raise running.RunError(document["error"])
    best = min if document["metric"]["better"] == "lower" else max
    return {row["size_bytes"]: best(block["mean"] for block in row["series"][0]["blocks"]) for row in document["rows"]}


def read_ping_pong(text):
    """{size: best us}, {size: best MB/s}"""
    times, rates = {}, {}
    for line in text.splitlines():
        found = re.fullmatch(r"(\d+) ([0-9.]+) ([0-9.]+)", line.strip())
        if found:
            size, us, mbps = int(found[1]), float(found[2]), float(found[3])
            times[size], rates[size] = min(us, times.get(size, us)), max(mbps, rates.get(size, mbps))
    if not times:
        raise running.RunError("ping_pong printed no figures")
    return times, rates


def read_netpipe(text):
    """{size: us} of NetPIPE's own file: bytes, Mbps, seconds."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 3 for row in rows):
        raise running.RunError("NetPIPE wrote no figures")
    return {int(row[0]): float(row[2]) * 1e6 for row in rows}


def ratios_of(results, section, column, base, size):
    pairs = zip(results.by_round(section, column, size), results.by_round(section, base, size))
    return [ours / other for ours, other in pairs if ours and other]


def verdict_of(ratios):
    if len(ratios) < 3:
        return "not known: too few rounds"
    if abs(statistics.median(ratios) - 1) <= TOLERANCE:
        return "ok"
    return "not known: the rounds differ by more" if min(ratios) <= 1 + TOLERANCE and max(ratios) >= 1 - TOLERANCE else "BEYOND"


def best_of(results, section):
    """What the best of several figures is: disturbances only add to times and take from rates."""
    return max if results.units.get(section) == "MB/s" else min


def comparisons(results):
    """One row for each pair of columns, section and size: kind, ratio with its spread, verdict."""
    for section in results.sections():
        columns = results.columns(section)
        is_agreement = "overhead" not in section
        base = "bare" if not is_agreement else None
        for size in results.sizes(section):
            pairs = [(ONE_BUFFER if other == "NetPIPE" else "sluice-bench", other) for other in columns
                     if other not in ("sluice-bench", BATCHED, ONE_BUFFER)] if is_agreement else \
                [(column, base) for column in columns if column != base]
            # NetPIPE sends and receives in one buffer: what caches make of that is beside the question, and is shown for itself.
            pairs += [("sluice-bench", "NetPIPE")] if "NetPIPE" in columns else []
            # A reading of the clock for each sample, some 20 ns, shows where a message takes a tenth of a microsecond.
            pairs += [(BATCHED, "ping_pong")] if BATCHED in columns else []
            for column, other in pairs:
                ratios = ratios_of(results, section, column, other, size)
                if not ratios:
                    continue
                ratio, best = statistics.median(ratios), best_of(results, section)
                yield {"section": section, "size_bytes": size, "what": column, "beside": other,
                       "unit": results.units.get(section, ""), "a": results.median(section, column, size),
                       "b": results.median(section, other, size), "ratio": ratio, "low": min(ratios), "high": max(ratios),
                       "best_ratio": best(results.values(section, column, size)) / best(results.values(section, other, size)),
                       "rounds": len(ratios), "verdict": verdict_of(ratios)}


def table(results, about):
    """The whole text, as Markdown."""
    yield f"# Trust: {about['machine']}"
    yield ""
    yield f"{results.rounds} rounds, all programs in turn; a ratio is the median of the rounds' ratios [smallest..largest]; a figure of a round is"
    yield f"the best of {REPEAT} loops' means. Wanted: within {TOLERANCE:.0%}."
    for is_agreement, heading in ((True, "Agreement with programs that are not sluice-bench"),
                                  (False, "What sluice-bench does beside measuring, over the same without it")):
        rows = [row for row in comparisons(results) if ("overhead" not in row["section"]) == is_agreement]
        if not rows:
            continue
        yield ""
        yield f"## {heading}"
        yield ""
        yield "| where | size | what | beside | figures | ratio | of the best rounds | |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        for row in rows:
            yield (f"| {row['section']} | {size_text(row['size_bytes'])} | {row['what']} | {row['beside']} | {row['a']:.3g}, {row['b']:.3g} {row['unit']} | "
                   f"{row['ratio']:.3f} [{row['low']:.3f}..{row['high']:.3f}] | {row['best_ratio']:.3f} | {row['verdict']} |")
    for what, why in results.failures.items():
        yield f"\nNot measured: {what}: {why}"


def document(results, about):
    return {"schema": "sluice-bench-trust", "schema_version": 1, **about, "rounds": results.rounds, "repeat": REPEAT,
            "tolerance": TOLERANCE, "comparisons": list(comparisons(results)),
            "rows": [{"section": section, "column": column, "size_bytes": size, "by_round": results.by_round(section, column, size)}
                     for section, column, size in results.cells], "failures": results.failures}
