# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests round by round, each command under a time limit, and collects the medians."""

import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import tempfile
import time

from peers.commands import Unavailable, command_of

GIVE_UP_AFTER = 2


class RunError(Exception):
    """A run that gave nothing; the text says why."""


class OutOfTime(Exception):
    """A run that was ended because the time of the whole measurement is used up: nobody's failure."""


class Results:
    """Medians by (section, column) and size: one value a round, None where a round gave none."""

    def __init__(self):
        self.rounds = 0
        self.units = {}
        self.cells = {}
        self.failures = {}

    def begin_round(self):
        self.rounds += 1

    def add(self, section, column, size, value):
        values = self.cells.setdefault((section, column, size), [])
        values.extend([None] * (self.rounds - 1 - len(values)))
        values.append(value)

    def by_round(self, section, column, size):
        values = self.cells.get((section, column, size), [])
        return values + [None] * (self.rounds - len(values))

    def values(self, section, column, size):
        return [value for value in self.by_round(section, column, size) if value is not None]

    def median(self, section, column, size):
        values = self.values(section, column, size)
        return statistics.median(values) if values else None

    def columns(self, section):
        return list(dict.fromkeys(column for where, column, _ in self.cells if where == section))

    def sizes(self, section):
        return sorted({size for where, _, size in self.cells if where == section})

    def sections(self):
        return list(dict.fromkeys(section for section, _, _ in self.cells))


def descendants(pid):
    """All processes below this one, whatever their groups and sessions."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found = list(children.get(pid, []))
    for one in found:
        found += children.get(one, [])
    return found


def end_group(process):
    """Ends the command with all that it started: it was started in a process group of its own, and what it has started in other
    groups must not live on beside what is measured next."""
    below = descendants(process.pid)
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            pass
    process.wait()
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run_limited(words, limit_s, log):
    """Runs a command; its output goes to the log and comes back. Raises RunError on a failure or beyond the limit."""
    log.write("\n$ " + " ".join(words) + "\n")
    log.flush()
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except OSError as error:
            raise RunError(str(error)) from error
        try:
            status = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            # Also after a regular end: a rank whose peer died may still wait for it.
            end_group(process)
        output.seek(0)
        text = output.read()
    ending = f"no end within {limit_s:.0f} s" if status is None else f"status {status}"
    log.write(f"{text}# {ending}, {time.monotonic() - started:.1f} s\n")
    log.flush()
    if status != 0:
        raise RunError(f"{ending}: {reason_in(text)}")
    return text


TELLING = ("sluice-bench:", "raw_copies:", "nccl_send_recv:", "fft3d: rank", "segmentation fault", "not available", "error", "cannot", "unable", "signal")


def reason_in(output):
    """The line of a failed program's output that says most: the first with a telling word, the last if there is none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for word in TELLING:
        for line in lines:
            if word in line.lower():
                return line[:160]
    return lines[-1][:160] if lines else "no output"


def read_document(path):
    """{size: {series: median}} and the metric of a JSON file of sluice-bench or of our programs."""
    try:
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return document["metric"], {row["size_bytes"]: {series["name"]: series["medians"]["median"] for series in row["series"]}
                                    for row in document["rows"]}
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"no figures from it: {error}") from error


def columns_of(run, metric, series):
    """(column, value) for one size of one run: the best of the series that the column reads."""
    best = min if metric["better"] == "lower" else max
    if not run.reads:
        return [(run.side.name, next(iter(series.values())))]
    return [(column, best(series[name] for name in names)) for column, names in run.reads]


class Session:
    """The state of one `--run`: what to run, what failed, how much time is left."""

    def __init__(self, site, tests, log, limit_s, budget_s):
        self.site = site
        self.tests = tests
        self.log = log
        self.limit_s = limit_s
        self.deadline = time.monotonic() + budget_s
        self.results = Results()
        self.routes = {}  # side -> what its statistics said in the probe
        self.failed = {}  # (program, backend, knobs) or (test, side) -> number of failures

    def left_s(self):
        return self.deadline - time.monotonic()

    def note_failure(self, where, text):
        if where not in self.results.failures:
            print(f"compare_peers: {where}: {text}", flush=True)
        self.results.failures[where] = text

    def probe(self, runs):
        """Runs each side once with its data checked; a side that fails is measured no more."""
        for run in runs:
            where = side_key(run.side)
            begin = time.monotonic()
            try:
                output = run_limited(with_statistics(command_of(self.site, run)), self.limit_s, self.log)
                self.routes[describe(run.side)] = routes = routes_in(output)
                took = f"{time.monotonic() - begin:.1f} s" + (f"; routes: {', '.join(routes)}" if routes else "")
                print(f"compare_peers: {describe(run.side)}: works, data right ({took})", flush=True)
            except (RunError, Unavailable) as error:
                self.failed[where] = GIVE_UP_AFTER
                self.note_failure(f"{describe(run.side)} left out", str(error))

    def is_given_up(self, test, run):
        return max(self.failed.get(side_key(run.side), 0), self.failed.get((test.name, run.side.name), 0)) >= GIVE_UP_AFTER

    def run_in_time(self, words):
        left_s = max(self.left_s(), 0.1)
        try:
            run_limited(words, min(self.limit_s, left_s), self.log)
        except RunError as error:
            if left_s < self.limit_s and self.left_s() <= 0:
                raise OutOfTime from error
            raise

    def measure_run(self, test, run):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/run.json"
            try:
                self.run_in_time([*command_of(self.site, run), "--json", path])
                metric, rows = read_document(path)
                for size, series in rows.items():
                    for column, value in columns_of(run, metric, series):
                        self.results.add(test.section, column, size, value)
                        self.results.units[test.section] = metric
            except Unavailable as error:
                self.failed[(test.name, run.side.name)] = GIVE_UP_AFTER
                self.note_failure(f"{run.side.name} in {test.name}", str(error))
            except (RunError, KeyError) as error:
                key = (test.name, run.side.name)
                self.failed[key] = self.failed.get(key, 0) + 1
                self.note_failure(f"{run.side.name} in {test.name}, round {self.results.rounds}", str(error))

    def measure_round(self):
        """One run of each side in each test, who begins changing from round to round. False: the time is used up."""
        self.results.begin_round()
        for test in self.tests:
            first = (self.results.rounds - 1) % len(test.runs)
            for run in test.runs[first:] + test.runs[:first]:
                if self.is_given_up(test, run):
                    continue
                if self.left_s() <= 0:
                    return False
                try:
                    self.measure_run(test, run)
                except OutOfTime:
                    return False
        return self.left_s() > 0


def side_key(side):
    return (side.program, side.backend, side.knobs)


def describe(side):
    knobs = "".join(f" {name}={value}" for name, value in side.knobs)
    return side.name + (f" ({side.backend})" if side.backend not in side.name else "") + knobs


def routes_in(output):
    """The routes that the statistics in a program's output name, such as "MPI_Send device staged"."""
    found = re.findall(r"^(MPI_\w+)\s+(device)\s+(\S+)\s+\d+", output, flags=re.MULTILINE)
    return sorted({" ".join(words) for words in found})


def with_statistics(words):
    """The probe says in the log which routes ran."""
    return ["SLUICE_STATS=all" if word == "SLUICE_STATS=off" else word for word in words]
