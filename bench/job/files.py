# SPDX-License-Identifier: BSD-3-Clause
"""Reads what SLUICE_STATS_FILE (docs/statistics.md) and SLUICE_TRACE (docs/trace.md) wrote. What a file is, its
contents say."""

import dataclasses
import heapq
import json
import math
import pathlib

from compare_runs import FileError

FORMAT = 1  # of both sorts of files
MOST_BARS = 4000  # of a time line
MOST_LANES = 48  # ranks in a time line
FEW_BARS = 80  # kept of a rank where there are more ranks than lanes

RUN_AGAIN = "run the job again, or leave the file out"


@dataclasses.dataclass(frozen=True)
class Row:
    operation: str
    buffer: str
    route: str
    calls: int
    bytes: int
    nanoseconds: int


@dataclasses.dataclass(frozen=True)
class Statistics:
    """The counts of one rank."""
    path: pathlib.Path
    rows: tuple
    fallbacks: dict
    pack_launches: int
    pack_bytes: int
    most_staging_bytes: int


@dataclasses.dataclass(frozen=True)
class Span:
    """A bar of the time line; times in us since the rank's start."""
    lane: str
    begin_us: float
    length_us: float
    text: str


@dataclasses.dataclass
class Trace:
    """The spans of one rank: the longest, and sums of all."""
    path: pathlib.Path
    epoch_ns: int
    n_dropped: int = 0
    n_spans: int = 0
    longest: list = dataclasses.field(default_factory=list)
    lanes: dict = dataclasses.field(default_factory=dict)  # name: [spans, us, bytes]
    first_us: float = math.inf
    last_us: float = -math.inf


@dataclasses.dataclass
class Job:
    statistics: dict = dataclasses.field(default_factory=dict)  # rank: Statistics
    traces: dict = dataclasses.field(default_factory=dict)  # rank: Trace
    n_dropped: int = 0


def load(path):
    """The JSON of a file. Raises FileError with what is wrong and what to do."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; name files that SLUICE_STATS_FILE or SLUICE_TRACE "
                        "made, or results of sluice-bench") from error
    text = data.strip()
    if not text:
        raise FileError(f"{path} is empty: its rank ended before the file was written; {RUN_AGAIN}")
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        # Where the text ends too early, the parser stands at its end or inside a string that has none.
        if text.startswith(b"{") and (not text.endswith(b"}") or getattr(error, "pos", 0) >= len(text)):
            why = "its rank or the disk gave out while it was written"
            raise FileError(f"{path} is cut short: {why}; {RUN_AGAIN}") from error
        raise FileError(f"{path} is no JSON; leave it out") from error


def kind_of(document):
    """"bench", "statistics", "trace", or "" for something else."""
    if not isinstance(document, dict):
        return ""
    if "schema" in document:
        return "bench"
    if "traceEvents" in document and "otherData" in document:
        return "trace"
    return "statistics" if "rows" in document and "rank" in document else ""


def count(value):
    """A count that a file gives; what is none raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def word(value):
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name")
    return value


def microseconds(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no time")
    return float(value)


def rank_of(value):
    """A rank; that of sluice_statistics_json() is -1."""
    if value == -1:
        raise ValueError("its rank is -1, as in what sluice_statistics_json() returns")
    return count(value)


def check_format(path, number):
    if number != FORMAT:
        raise FileError(f"{path} has format {number!r}, and this sluice reads format {FORMAT}; use the `sluice report` "
                        "of the Sluice that wrote the file")


def add_once(found, rank, made):
    if rank in found:
        both = f"{found[rank].path} and {made.path}"
        raise FileError(f"{both} are both of rank {rank}; give the files of one job, each once")
    found[rank] = made


def read_statistics(job, path, document):
    check_format(path, document.get("format"))
    rows = tuple(Row(word(row["operation"]), word(row["buffer"]), word(row["route"]), count(row["calls"]),
                     count(row["bytes"]), count(row["nanoseconds"])) for row in document["rows"])
    fallbacks = {word(reason): count(number) for reason, number in document.get("fallbacks", {}).items()}
    packing, staging = document.get("packing", {}), document.get("staging", {})
    made = Statistics(path, rows, fallbacks, count(packing.get("launches", 0)), count(packing.get("bytes", 0)),
                      count(staging.get("most_bytes", 0)))
    add_once(job.statistics, rank_of(document["rank"]), made)


def span_of(event, trace):
    """The bar of an event, which is added to the sums of its lane."""
    about = event["args"]
    lane, n_bytes = word(event["name"]).rpartition(" ")[0] or event["name"], count(about["bytes"])
    begin_us, length_us = microseconds(event["ts"]), max(0.0, microseconds(event["dur"]))
    sums = trace.lanes.setdefault(lane, [0, 0.0, 0])
    sums[0] += 1
    sums[1] += length_us
    sums[2] += n_bytes
    trace.n_spans += 1
    trace.first_us = min(trace.first_us, begin_us)
    trace.last_us = max(trace.last_us, begin_us + length_us)
    piece = f", block {about['block']} of {about['blocks']}" if about["blocks"] != 1 else ""
    peer = f" with rank {about['peer']}" if about["peer"] >= 0 else ""
    text = f"{lane}: {about['operation']}{peer}{piece}, {n_bytes} bytes, {length_us:.1f} us"
    return Span(lane, begin_us, length_us, text)


def read_trace(job, path, document, most_bars):
    """A file of one rank, or one that `sluice trace merge` made of several."""
    about = document["otherData"]
    check_format(path, about.get("format"))
    epoch_ns = int(about["epoch_unix_ns"])
    spans, names = {}, set()
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            spans.setdefault(rank_of(event["pid"]), []).append(event)
        elif event["ph"] == "M":
            names.add(rank_of(event["pid"]))
    dropped = count(about["dropped"])
    job.n_dropped += dropped
    for rank in sorted(names | spans.keys() | ({rank_of(about["rank"])} if "rank" in about else set())):
        trace = Trace(path, epoch_ns, dropped if "rank" in about else 0)
        trace.longest = heapq.nlargest(most_bars, (span_of(event, trace) for event in spans.pop(rank, ())),
                                       key=lambda span: span.length_us)
        add_once(job.traces, rank, trace)


def files_of(words):
    """The files that the words of the command line mean, each with or without LABEL= before it."""
    for one in words:
        path = pathlib.Path(one)
        if not path.exists() and "=" in one:
            path = pathlib.Path(one.partition("=")[2])
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def read_one(job, path, most_bars):
    """Adds what a file has to the job. Returns the kind of the file."""
    document = load(path)
    kind = kind_of(document)
    try:
        if kind == "statistics":
            read_statistics(job, path, document)
        elif kind == "trace":
            read_trace(job, path, document, most_bars)
        elif not kind:
            raise FileError(f"{path} is neither of SLUICE_STATS_FILE nor of SLUICE_TRACE, nor a result of "
                            "sluice-bench; leave it out")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        why = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        raise FileError(f"{path} is not as Sluice writes {'a trace' if kind == 'trace' else 'statistics'} ({why}); "
                        "give the file as SLUICE_STATS_FILE or SLUICE_TRACE made it, or leave it out") from error
    return kind


def read_job(words):
    """The job that the files are of; None where they are results of sluice-bench. Raises FileError."""
    paths = list(files_of(words))
    job, problems, an_example = Job(), [], {}  # an_example: is it of sluice-bench -> the first such file
    most_bars = MOST_BARS if len(paths) <= MOST_LANES else FEW_BARS
    for path in paths:
        try:
            an_example.setdefault(read_one(job, path, most_bars) == "bench", path)
        except FileError as error:
            problems.append(str(error))
    if len(an_example) == 2:
        raise FileError(f"{an_example[True]} is a result of sluice-bench, and {an_example[False]} is of a job; make a "
                        "page of each, by two calls")
    if True in an_example or not paths:
        return None
    if problems:
        n_more = len(problems) - 1
        more = f" ({n_more} more file{'' if n_more == 1 else 's'} cannot be used)" if n_more else ""
        raise FileError(problems[0] + more)
    return job
