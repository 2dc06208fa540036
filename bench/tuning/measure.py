# SPDX-License-Identifier: BSD-3-Clause
"""Runs the sides of a question in turn. Each run is one start of the ranks; its figure is the median of its iterations."""

import dataclasses
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile

from tuning.questions import bytes_of

RUN_LIMIT_S = 300
# Puts the ranks on so many nodes, consecutive ones on each.
FAKE_NODES = ('rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}} size=${PMI_SIZE:-${OMPI_COMM_WORLD_SIZE:-1}}\n'
              'SLUICE_NODE=$((rank * %d / size)) exec "$@"')


class MeasureError(Exception):
    """Nothing can be measured; the text says why and what helps."""


def environment_of(side):
    """The variables of a side: one of them gives its settings, behind the word for the tables (off, unless the side says)."""
    words = [side.get("SLUICE_TUNING", "off"), *(f"{name}={value}" for name, value in side.items() if name.islower())]
    return {**{name: value for name, value in side.items() if not name.islower()}, "SLUICE_TUNING": ",".join(words)}


@dataclasses.dataclass
class Site:
    """Where Sluice is, and how its ranks are started."""

    root: pathlib.Path
    backend: str
    launch: str
    bench: pathlib.Path = None
    more: tuple = ()  # words of sluice-bench in each run
    n_ranks: int = 0
    sample: dict = None  # of the first run, for what it says of the machine

    @classmethod
    def find(cls, root, backend, launch, more=()):
        """Tries the programs for the binary interfaces until one runs under this launcher. Raises MeasureError."""
        site = cls(root, backend, launch, more=more)
        said = []
        for program in sorted((root / "bin").glob("sluice-bench.*")):
            site.bench = program
            try:
                sample = site.run("bcast", ("D",), ["8"], 1, {})["bcast"]  # which any number of ranks can
            except MeasureError as error:
                said.append(str(error))
                continue
            site.sample, site.n_ranks = sample, len(sample["ranks"])
            return site
        raise MeasureError(f"`{launch}` starts no sluice-bench of {root / 'bin'}: {'; '.join(said) or 'there is none'}")

    def start(self, nodes):
        """The words before those of sluice-bench, and what MPICH's own view of the nodes needs (it deals the ranks out in turns)."""
        words = [str(self.root / "bin/sluice"), "run", "--backend", self.backend]
        launch = shlex.split(self.launch)
        if nodes == 1:
            return [*words, "--", *launch, str(self.bench)], {}
        flavour = self.bench.suffix[1:]  # which no shell says
        return ([*words, "--mpi", flavour, "--", *launch, "sh", "-c", FAKE_NODES % nodes, "sh", str(self.bench)],
                {"MPIR_CVAR_NUM_CLIQUES": str(nodes)})

    def run(self, tests, placement, sizes, iterations, side, nodes=1, datatype=""):
        """The JSON of each test, by name. side: its variables and settings. Raises MeasureError."""
        with tempfile.TemporaryDirectory() as folder:
            start, of_nodes = self.start(nodes)
            words = [*start, tests, *placement, "-d", self.backend, *self.more, "--sizes", ",".join(sizes), "-i", str(iterations), "-x",
                     str(max(1, iterations // 10)), *(["-D", datatype] if datatype else []), "--check", "some", "--json",
                     folder if "," in tests else f"{folder}/{tests}.json"]
            try:
                done = subprocess.run(words, env={**os.environ, **of_nodes, **environment_of(side)}, text=True, check=False,
                                      capture_output=True, timeout=RUN_LIMIT_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise MeasureError(f"{shlex.join(words)}: {error}") from error
            if done.returncode != 0:
                lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
                raise MeasureError(f"{shlex.join(words)} ended with {done.returncode}: {lines[-1] if lines else 'no output'}")
            return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path(folder).glob("*.json")}


def measure(site, question, arguments):
    """side -> (test, size in bytes) -> medians in us, one a round, and side -> the routes that the longest size took; each round runs
    every side, the order turning."""
    sizes = [size for size in question.sizes if not arguments.largest or bytes_of(size) <= arguments.largest] or [question.sizes[0]]
    result = {side: {} for side in question.sides}
    routes = {side: set() for side in question.sides}
    for number in range(arguments.rounds):
        sides = list(question.sides)
        turn = number % len(sides)
        for side in sides[turn:] + sides[:turn]:
            runs = site.run(question.tests, question.placement, sizes, arguments.iterations or question.iterations,
                            question.sides[side], question.nodes, question.datatype)
            for test, run in runs.items():
                for row in run["rows"]:
                    result[side].setdefault((test, row["size_bytes"]), []).append(row["series"][0]["medians"]["median"])
                routes[side].update(taken["route"] for taken in run["rows"][-1].get("routes", []))
    return result, routes


def middle(result, side):
    """(test, size) -> the median of its rounds."""
    return {key: statistics.median(values) for key, values in result[side].items()}
