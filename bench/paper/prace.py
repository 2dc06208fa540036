# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of the PRACE paper (Alam and Varetto, "Accelerator Aware MPI Micro-benchmarking"): what runs, what the
paper says, and the page. No measuring here."""

import dataclasses

from paper.drawing import Drawing
from paper.report import failure_lines
from peers.running import Results
from peers.targets import size_text

KI, MI = 1024, 1024 * 1024
# Section 4, table 1: latency of 8 bytes in us and bandwidth of 1 MB in GB/s, by accelerator.
PUBLISHED_TABLE = {
    "Inter-node Host-Host": {"Xeon Phi": (1.09, 6.4), "Kepler": (1.09, 6.4)},
    "Intra-node Host-Device": {"Xeon Phi": (4.1, 5.1), "Kepler": (9.11, 4.95)},
    "Inter-node Host-Device": {"Xeon Phi": (7.9, 0.4), "Kepler": (16.5, 5.7)},
    "Intra-node Device-Device": {"Xeon Phi": (3.4, 2.2), "Kepler": (15.8, 5.8)},
    "Inter-node Device-Device": {"Xeon Phi": (9.2, 0.3), "Kepler": (18.08, 5.7)},
}
# What it says of figures 3 and 4, whose curves have no numbers: device time over host time.
PUBLISHED_SLOWDOWN = "up to 8, for some sizes up to 15"
PUBLISHED_MACHINE = ("two Intel Sandy Bridge sockets and two Kepler K20 (Fermi M2090) or two Xeon Phi 5110p cards a node, PCIe 2, "
                     "InfiniBand FDR (QDR), MVAPICH2 and Open MPI; figures 3 and 4: 8 tasks, each on a core and a device of its own")
# Rows of the table that one node can run, and the words of both sides.
INTRA_NODE = {"Intra-node Host-Host": ("H", "H"), "Intra-node Host-Device": ("H", "D"), "Intra-node Device-Device": ("D", "D")}
FIGURES = {"3": "allreduce", "4": "alltoall"}
FIGURE_SIZES = (8, 64, 512, 4 * KI, 32 * KI, 256 * KI, MI)
LATENCY_SIZE, BANDWIDTH_SIZE = 8, MI


@dataclasses.dataclass(frozen=True)
class Run:
    """One command; its figures go into `section`, `column`. backend: "" is host memory without Sluice."""
    section: str
    column: str
    words: tuple
    backend: str
    n_ranks: int
    sizes: tuple
    iterations: int


def table_runs(backends):
    runs = []
    for row, words in INTRA_NODE.items():
        for backend in backends if "D" in words else [""]:
            runs.append(Run(f"{row} latency", backend or "host", ("latency", *words), backend, 2, (LATENCY_SIZE,), 1000))
            runs.append(Run(f"{row} bw", backend or "host", ("bw", *words), backend, 2, (BANDWIDTH_SIZE,), 20))
    return runs


def figure_runs(number, backends, n_ranks):
    test = FIGURES[number]
    # Host memory needs no word; a device's collective takes one for all ranks.
    return [Run(f"figure {number}", backend or "host", (test, *(("D",) if backend else ())), backend, n_ranks, FIGURE_SIZES, 20)
            for backend in ("", *backends)]


def all_runs(tables, figures, backends, n_ranks):
    runs = table_runs(backends) if tables else []
    for number in figures:
        runs += figure_runs(number, backends, n_ranks)
    return runs


def command(run, site):
    """The words that start a run. site: launch (words), build (folder), iterations (0: the run's own)."""
    words = [*site.launch, "-n", str(run.n_ranks)]
    device = []
    if run.backend:
        words += ["--sluice", f"{site.build}/lib", "--env", f"SLUICE_BACKENDS={run.backend}"]
        device = ["-d", run.backend, "--oversubscribe"]
    return [*words, "--", f"{site.build}/bin/sluice-bench", *run.words, *device, "--sizes", ",".join(map(str, run.sizes)),
            "-i", str(site.iterations or run.iterations), "-x", "5", "--repeat", "3"]


TABLE_TITLE = "Table 1: latency of 8 bytes (us), bandwidth of 1 MB (GB/s)"
BANDWIDTH_TITLE = "Table 1, second number of each cell: bandwidth"


def figure_text(value):
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def table_page(results, backends):
    yield f"### {TABLE_TITLE}"
    yield ""
    columns = ["host", *backends]
    yield "| Execution model | Xeon Phi, paper | Kepler, paper |" + "".join(f" {column}, here |" for column in columns)
    yield "| --- |" + " --- |" * (2 + len(columns))
    for row in dict.fromkeys([*INTRA_NODE, *PUBLISHED_TABLE]):
        cells = [" {:g} / {:g} |".format(*PUBLISHED_TABLE[row][name]) if row in PUBLISHED_TABLE else " – |"
                 for name in ("Xeon Phi", "Kepler")]
        for column in columns:
            latency = results.median(f"{row} latency", column, LATENCY_SIZE)
            mbps = results.median(f"{row} bw", column, BANDWIDTH_SIZE)
            if latency is None and mbps is None:
                cells.append(" not run: one node |" if row.startswith("Inter") else " – |")
            else:
                cells.append(f" {figure_text(latency)} / {figure_text(mbps and mbps / 1e3)} |")
        yield f"| {row} |" + "".join(cells)
    yield ""
    yield f"### {BANDWIDTH_TITLE}"
    yield ""


def figure_page(results, number, backends, n_ranks):
    yield f"### {figure_title(number, n_ranks)}"
    yield ""
    yield f"Slowdown is device over host; the paper: {PUBLISHED_SLOWDOWN}. Its curves have no numbers."
    yield ""
    yield "| size | host |" + "".join(f" {backend} | slowdown |" for backend in backends)
    yield "| --- | --- |" + " --- | --- |" * len(backends)
    for size in results.sizes(f"figure {number}"):
        host = results.median(f"figure {number}", "host", size)
        row = f"| {size_text(size)} | {figure_text(host)} |"
        for backend in backends:
            value = results.median(f"figure {number}", backend, size)
            row += f" {figure_text(value)} | {figure_text(value / host if value and host else None)} |"
        yield row
    yield ""



def figure_title(number, n_ranks):
    return f"Figure {number}: MPI_{FIGURES[number].capitalize()}, {n_ranks} ranks, us"


def table_drawings(results, backends):
    """Latency and bandwidth of the table's rows, ours and both of the paper's accelerators."""
    rows = list(dict.fromkeys([*INTRA_NODE, *PUBLISHED_TABLE]))
    made = []
    for at, (test, size, title, unit, scale) in enumerate((("latency", LATENCY_SIZE, TABLE_TITLE, "latency of 8 bytes, \u00b5s", 1),
                                                          ("bw", BANDWIDTH_SIZE, BANDWIDTH_TITLE, "bandwidth of 1 MB, GB/s", 1e3))):
        curves = {column: {number: value / scale for number, row in enumerate(rows)
                           if (value := results.median(f"{row} {test}", column, size)) is not None} for column in ("host", *backends)}
        theirs = {name: {number: PUBLISHED_TABLE[row][name][at] for number, row in enumerate(rows) if row in PUBLISHED_TABLE}
                  for name in ("Xeon Phi", "Kepler")}
        made.append(Drawing(title, unit, {name: points for name, points in curves.items() if points}, theirs, tuple(rows)))
    return made


def drawings(results, about):
    made = table_drawings(results, about["backends"]) if about["tables"] else []
    for number in about["figures"]:
        curves = {column: {size: value for size in FIGURE_SIZES if (value := results.median(f"figure {number}", column, size)) is not None}
                  for column in ("host", *about["backends"])}
        made.append(Drawing(figure_title(number, about["n_ranks"]), "\u00b5s", {name: points for name, points in curves.items() if points}, {}))
    return made


def page(results, about):
    """The whole page, as Markdown. about: tables, figures, backends, n_ranks, machine, devices, commit, load."""
    yield "## PRACE: accelerator-aware MPI micro-benchmarks"
    yield ""
    yield f"The paper's machine: {PUBLISHED_MACHINE}."
    yield f"Here: {about['machine']}; {'; '.join(about['devices']) or 'no device'}. Other hardware by a decade, one node, so the numbers"
    yield "stand beside each other to show the shape, not to be compared."
    if "emu" in about["backends"]:
        yield "The device `emu` is emulated on the host, by copies of ordinary memory."
    yield ""
    yield f"Medians of {results.rounds} rounds, all columns in turn, data checked; commit {about['commit']}; load before each round {about['load']}."
    yield ""
    if about["tables"]:
        yield from table_page(results, about["backends"])
    for number in about["figures"]:
        yield from figure_page(results, number, about["backends"], about["n_ranks"])
    yield from failure_lines(results.failures)


def document(results, about):
    """The JSON file, schema sluice-paper-prace version 1."""
    return {"schema": "sluice-paper-prace", "schema_version": 1, **about, "rounds": results.rounds,
            "published": {"table_1": PUBLISHED_TABLE, "slowdown": PUBLISHED_SLOWDOWN, "machine": PUBLISHED_MACHINE},
            "rows": [{"section": section, "column": column, "size_bytes": size, "unit": results.units[section]["unit"],
                      "median": results.median(section, column, size), "by_round": results.by_round(section, column, size)}
                     for section, column, size in results.cells],
            "failures": results.failures}


def read_document(file):
    """The results and `about` of what document() made."""
    if file["schema"] != "sluice-paper-prace" or file["schema_version"] != 1:
        raise ValueError(f"its schema is {file['schema']} version {file['schema_version']}")
    results = Results()
    results.rounds, results.failures = file["rounds"], file["failures"]
    for row in file["rows"]:
        results.cells[(row["section"], row["column"], row["size_bytes"])] = row["by_round"]
        results.units[row["section"]] = {"unit": row["unit"]}
    made_here = ("schema", "schema_version", "rounds", "published", "rows", "failures")
    return results, {key: value for key, value in file.items() if key not in made_here}
