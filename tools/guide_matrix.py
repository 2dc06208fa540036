# SPDX-License-Identifier: BSD-3-Clause
"""The page docs/guide/matrix.md: which test calls which function, on which host MPI, backend and kinds of memory.

tools/generate_docs calls page(). The facts come from the lists of tests/ranks (guide_matrix.cmake reads them), from the
sources of the tests, and from the lists of functions in data/. A test counts for a function if the function stands in the
files of the test: those that its --sources and --gtest_filter choose, and the helpers that they include.
"""

import fnmatch
import re
import subprocess
import textwrap

OLD_MPI = "ompi4"  # has MPI 3.1, and data/recent_functions.txt what came after it
MPIS = {"mpich4": "MPICH 4", "ompi4": "Open MPI 4", "mpich5": "MPICH 5", "ompi5": "Open MPI 5", "impi": "Intel MPI"}
LETTERS = 1  # a backend's first letter stands for it in a cell
KINDS = ("host", "pinned", "device", "shared")
MOST = 120

COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
INCLUDE = re.compile(r'^#include "(tests/ranks/[\w/]+\.\w+)"', re.MULTILINE)
TEST = re.compile(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)")
CALL = re.compile(r"\bP?(MPIX?_\w+)")
FORMS = re.compile(r"\bSLUICE_\w+\((\w+)")
PAIRS = re.compile(r"\b(?:for_each_case|compare_each_case|kind_pairs|for_each_kinds)\b")
ALL_KINDS = re.compile(r"\bkinds\(\)")
KIND = re.compile(r"\bKind::(\w+)")


class Folder:
    """A folder of tests/ranks: the text of its files, and what is registered there."""

    def __init__(self, source, name, backends):
        self.source, self.path = source, source / "tests/ranks" / name
        self.texts = {file: COMMENT.sub(lambda match: match.group(1) or "", file.read_text())
                      for file in sorted(self.path.iterdir()) if file.suffix in (".cpp", ".hpp", ".F90", ".f90")}
        self.names = {file: [".".join(words) for words in TEST.findall(text)] for file, text in self.texts.items()}
        script = subprocess.run(["cmake", "-D", f"SOURCE={source}", "-D", f"MPIS={';'.join(MPIS)}", "-D",
                                 f"BACKENDS={';'.join(backends)}", "-P", source / "tools/guide_matrix.cmake"],
                                cwd=self.path, capture_output=True, text=True, check=True)
        lines = [line[3:].split(";") for line in script.stdout.splitlines() if line.startswith("-- ")]
        self.programs = {words[1]: [self.path / file for file in words[2].split()] for words in lines if words[0] == "program"}
        # (program, arguments) -> {(host MPI, backend)}
        self.tests = {}
        for words in lines:
            if words[0] == "test" and words[3] in backends:
                self.tests.setdefault((words[1], words[4]), set()).add((words[2], words[3]))

    def chosen(self, program, arguments):
        """The files with tests that the arguments choose."""
        words = arguments.split()
        sources = words[words.index("--sources") + 1].split(",") if "--sources" in words else None
        pattern = next((word.removeprefix("--gtest_filter=") for word in words if word.startswith("--gtest_filter=")), "*")
        wanted, _, left_out = pattern.partition("-")
        wanted, left_out = (wanted or "*").split(":"), left_out.split(":")
        for file in self.programs.get(program, []):
            names = self.names.get(file, [])
            is_chosen = any(any(fnmatch.fnmatchcase(name, one) for one in wanted if one) and
                            not any(fnmatch.fnmatchcase(name, one) for one in left_out if one) for name in names)
            if is_chosen and (sources is None or file.name in sources):
                yield file

    def with_helpers(self, file):
        """The file, the headers that it includes, and the sources of these headers that have no tests of their own."""
        found, left = {file}, [file]
        while left:
            for name in INCLUDE.findall(self.texts[left.pop()]):
                header = self.source / name
                helper = header.with_suffix(".cpp")
                for one in (header, helper):
                    is_helper = one == header or not self.names.get(one, ["none"])
                    if one in self.texts and one not in found and is_helper:
                        found.add(one)
                        left.append(one)
        return found

    def coverage(self):
        """For each file with tests: what it and its helpers say of memory, the functions in their code, those in their strings
        too, and the pairs of host MPI and backend that the tests run on."""
        pairs = {}
        for (program, arguments), where in self.tests.items():
            for file in self.chosen(program, arguments):
                pairs.setdefault(file, set()).update(where)
        for file, where in sorted(pairs.items()):
            text = "\n".join(self.texts[one] for one in sorted(self.with_helpers(file)))
            yield kinds_in(text), calls_in(STRING.sub('""', text)), calls_in(text), where


def kinds_in(text):
    """What these files use of memory: kinds, and words that stand for all of them."""
    words = ["pairs"] if PAIRS.search(text) else ["all"] if ALL_KINDS.search(text) else []
    return {*words, *KIND.findall(text)}


def cell_of(kinds):
    if "pairs" in kinds:
        return "pairs of all"
    return "all" if "all" in kinds else ", ".join(kind for kind in KINDS if kind in kinds) or "host"


def functions(source, list_name):
    lines = (source / "data" / list_name).read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def operations(source, heading):
    """The functions below that comment of data/operations.txt, without the large-count forms."""
    text = (source / "data/operations.txt").read_text()
    part = re.search(rf"^# {re.escape(heading)}.*?\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return [name for name in part.group(1).split() if not name.endswith("_c")]


def calls_in(text):
    """The functions of MPI that stand there, and those of which a macro makes all forms of a collective call."""
    return {re.sub("_c$", "", name) for name in CALL.findall(text)} | {f"MPI_{name}" for name in FORMS.findall(text)}


def rows(names, coverage, lacked, is_looked_up=False):
    """(functions, memory, {host MPI: backends}) of functions that have the same cells; `lacked`: those that OLD_MPI has not.
    Programs look up what `is_looked_up`, by names in strings."""
    found = {}
    for name in names:
        hits = [(kinds, where) for kinds, code, strings, where in coverage if name in (strings if is_looked_up else code)]
        cells = {mpi: frozenset(backend for _, where in hits for one, backend in where if one == mpi) for mpi in MPIS}
        if name in lacked:
            cells[OLD_MPI] = frozenset()
        key = (cell_of(set().union(*(kinds for kinds, _ in hits))) if hits else "", tuple(cells.items()))
        found.setdefault(key, []).append(name)
    return [(names, memory, dict(cells)) for (memory, cells), names in found.items()]


def joined(names):
    """`MPI_Send`, `_Recv` in lines of a cell that are not too long."""
    return ", ".join([f"`{names[0]}`", *(f"`{re.sub('^MPIX?', '', name)}`" for name in names[1:])])


def table(found, letters, head="| calls | memory | "):
    lines = [head + " | ".join(MPIS.values()) + " |", "| --- | --- |" + " --- |" * len(MPIS)]
    for names, memory, cells in found:
        while names:
            part = names
            while len(joined(part)) > MOST:
                part = part[:-1]
            names = names[len(part):]
            marks = " | ".join(" ".join(letters[one] for one in sorted(cells[mpi])) or "-" for mpi in MPIS)
            lines.append(f"| {joined(part)} | {memory or '-'} | {marks} |")
    return lines


def fortran_rows(folder):
    """A row for each interface of Fortran: its programs have a main of their own, and no tests to choose from."""
    words = {"mpif_h": "include 'mpif.h'", "use_mpi": "use mpi", "mpi_f08": "use mpi_f08"}
    for prefix, what in (("fortran_", "point to point"), ("fortran_queues_", "queues")):
        for interface, name in words.items():
            where = set().union(*(pairs for (program, _), pairs in folder.tests.items() if program == prefix + interface))
            yield [name], what, {mpi: {backend for one, backend in where if one == mpi} for mpi in MPIS}


def backends_of(source):
    """Name of each backend, and whether something may run in its device's place; the template is none."""
    for lists in sorted((source / "backends").glob("*/CMakeLists.txt")):
        match = re.search(r"^sluice_add_backend\((\w+)", lists.read_text(), re.MULTILINE)
        if match and match.group(1) != "template":
            environment = (lists.parent / "test_environment.cmake").read_text()
            yield match.group(1), "SLUICE_TEST_STANDS_IN ON" in environment


HEAD = """# Which call ran where

<!-- Generated by tools/generate_docs from the lists and sources of tests/ranks (tools/guide_matrix.py): change these,
     then run `make generate`. -->

Each cell has the backends on which tests of the call are registered under that host MPI. A letter is a backend:

{legend}

- **A large-count form** (`..._c`) stands with its plain form. A collective call stands with its forms with a request.
- **A dash** says that no test calls it there. Open MPI 4.1 lacks what came after MPI 3.1.
- **A test may be skipped** for a fault of the host MPI (`tests/support/host_mpi.hpp` lists these). It may be in the
  full matrix alone ([how the matrix is cut](../testing.md#how-the-matrix-is-cut)).
- **A test counts for a call** if the call stands in the files of the test.
- **What ran on GPUs** is in [What was run where](../../README.md#what-was-run-where).

| memory | means |
| --- | --- |
| pairs of all | each kind on the one side with each kind on the other: host, pinned, device, shared |
| all | each of these kinds, where the backend's runtime has it |
| names | these kinds alone |"""


def page(source):
    """The lines of the page."""
    backends = dict(backends_of(source))
    letters = {name: name[:LETTERS] for name in backends}
    legend = ["| letter | backend | its device in `make check` |", "| --- | --- | --- |"]
    for name, stands_in in backends.items():
        what = "something in the place of the vendor's runtime, on machines without its GPU" if stands_in else "itself"
        legend.append(f"| {letters[name]} | `{name}` ([page](../backends/README.md)) | {what} |")
    lines = HEAD.format(legend="\n".join(legend)).splitlines()
    names = list(backends)
    p2p, coll, rma, files, queue, fortran = (Folder(source, name, names)
                                             for name in ("p2p", "coll", "rma", "io", "queue", "fortran"))
    headers = "".join((source / "include/sluice" / name).read_text() for name in ("queue.h", "enqueue.h"))
    of_queues = re.findall(r"^int (MPIX_\w+?)(?<!_c)\(", headers, re.MULTILINE)
    sections = (
        ("Point to point", p2p, functions(source, "message_forms.txt")),
        ("Partitioned messages", p2p, operations(source, "point to point, partitioned")),
        ("Probes and completion", p2p, operations(source, "probes") + operations(source, "completion")),
        ("Packing", p2p, operations(source, "datatypes")),
        ("Collective calls", coll, [*functions(source, "collective_forms.txt"), "MPI_Reduce_local"]),
        ("Windows", rma, operations(source, "windows") + functions(source, "window_forms.txt")),
        ("Files", files, functions(source, "file_forms.txt")),
        ("Queues", queue, of_queues),
    )
    lacked = functions(source, "recent_functions.txt")
    coverage = {folder: list(folder.coverage()) for folder in (p2p, coll, rma, files, queue)}
    for title, folder, calls in sections:
        lines += ["", f"## {title}", "", *table(rows(calls, coverage[folder], lacked, folder is queue), letters)]
    suites = re.search(r"^set\(suites ([^)]*)\)", (source / "tests/conformance/CMakeLists.txt").read_text(), re.MULTILINE)
    text = f"The conformance suite runs for each backend, without an MPI: {', '.join(suites.group(1).split())}."
    lines += ["", "## Backends by themselves", "", *textwrap.wrap(text, MOST)]
    lines += ["", "## Fortran", "", *table(fortran_rows(fortran), letters, "| interface | calls | ")]
    return lines
