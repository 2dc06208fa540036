#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every command of the guide (docs/guide/*.md) on the device that is always there.

  commands_test.py --build BUILD --backend NAME [--guide FOLDER] [PAGE ...]        PAGE: a file's name; default: all

A block of commands is a fence `sh` or `console`. A line of `console` that begins with "$ " is a command, and the others
are lines of its output, of which "..." stands for any number. Words behind the language say more:

  not-run="reason"    the block cannot run here; the test prints the reason
  mpi=ompi            mpiexec, mpirun, mpicc and ./app are those of that host MPI (default: mpich)
  exit=1              the block ends with that status (default: 0)
  file="ring.c"       of a block in another language: the block is that file, which commands of the page find

A shown line matches a line of the output if both are equal but for numbers, folders and the width of gaps. A shown line
that ends with "..." is the beginning of one. Shown lines come in this order. A fence without a language is an error, so nothing is left out by mistake.

The commands find `sluice`, a program `./app` (the guide's ring.c) and PREFIX, the folder of the installation. Exit
status: 0, 1 after a failure, 77 without an MPI.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = ("sh", "console")
LIMIT_S = 120
# Host MPI: its names of what the guide calls mpiexec, mpirun and mpicc.
MPIS = {"mpich": ("mpiexec.mpich", "mpiexec.mpich", "mpicc.mpich"), "ompi": ("mpirun.openmpi", "mpirun.openmpi", "mpicc.openmpi")}
# What tests/launch sets for Open MPI on one machine.
FOR_ALL = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
           "OMPI_MCA_smsc": "^cma", "OMPI_MCA_mpi_yield_when_idle": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")


class Block:
    def __init__(self, page, line, info):
        self.where = f"{page.name}:{line}"
        words = shlex.split(info)
        self.language = words[0] if words else ""
        self.options = dict(word.partition("=")[::2] for word in words[1:])
        self.lines = []

    def problem(self):
        """What is wrong with the words behind the fence, or None."""
        if not self.language:
            return "the fence has no language: sh, console, or another one, such as text"
        known = ("not-run", "mpi", "exit") if self.language in COMMANDS else ("file",)
        for name, value in self.options.items():
            if name not in known:
                return f"{name} is no option of a block in {self.language}: {', '.join(known)}"
            if not value:
                return f"{name} has no value"
        if self.options.get("mpi", "mpich") not in MPIS:
            return f"mpi={self.options['mpi']}: there are {', '.join(MPIS)}"
        return None

    def commands(self):
        if self.language == "sh":
            return "\n".join(self.lines)
        return "\n".join(line[2:] for line in self.lines if line.startswith("$ "))

    def shown(self):
        if self.language == "sh":
            return []
        return [line for line in self.lines if line.strip() and line.strip() != "..." and not line.startswith("$ ")]


def blocks_of(page):
    block, fence, found = None, "", []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        match = FENCE.match(line)
        if block is None and match:
            block, fence = Block(page, number, match.group(2)), match.group(1)
        elif block is not None and line.strip() == fence:
            found.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
    return found


def plain(line):
    """The line without what differs from run to run."""
    line = re.sub(r"(?<![\w.])/[\w./+-]+", "PATH", line)
    line = re.sub(r"\d+(\.\d+)?([eE][+-]?\d+)?", "#", line)
    return " ".join(line.split())


def first_missing(shown, output):
    """The first shown line that does not come, in order; None when all do."""
    left = iter([plain(line) for line in output.splitlines()])
    for line in shown:
        begin, _, rest = plain(line).rpartition(" ...")
        is_whole = not begin or rest
        if not any(plain(line) == one if is_whole else one.startswith(begin) for one in left):
            return line
    return None


class Guide:
    """What the commands find: programs, an example and the environment."""

    def __init__(self, arguments, folder):
        self.build, self.folder = arguments.build.resolve(), folder
        self.module = self.build / f"lib/sluice/libsluice_backend_{arguments.backend}.so"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "LD_PRELOAD", "LD_AUDIT"))}
        # Nobody's own tuning tables change the routes that the pages show.
        self.environment.update(FOR_ALL, PREFIX=str(self.build), SLUICE_BACKENDS=arguments.backend,
                                GUIDE_BACKEND_MODULE=str(self.module), XDG_CONFIG_HOME=str(folder / "config"))
        self.mpis = [mpi for mpi, names in MPIS.items() if all(shutil.which(name) for name in names)]
        for mpi in self.mpis:
            programs = folder / f"bin-{mpi}"
            programs.mkdir()
            # Launchers look for their own programs beside the name that they were called by, so a link would not do.
            for name, real in zip(("mpiexec", "mpirun", "mpicc"), MPIS[mpi]):
                (programs / name).write_text(f'#!/bin/sh\nexec {shutil.which(real)} "$@"\n')
                (programs / name).chmod(0o755)
            (programs / "sluice").symlink_to(self.build / "bin/sluice")
            (programs / "sluice-bench").symlink_to(self.build / f"bin/sluice-bench.{mpi}")

    def environment_of(self, mpi):
        return {**self.environment, "PATH": f"{self.folder / f'bin-{mpi}'}:{self.environment['PATH']}",
                "CPATH": f"{ROOT / 'include'}"}

    def run(self, text, mpi, folder):
        """Exit status and output of the commands, both streams together."""
        try:
            done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, env=self.environment_of(mpi), timeout=LIMIT_S,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except subprocess.TimeoutExpired as error:
            return -1, f"{error.stdout or ''}\nno end after {LIMIT_S} s"
        return done.returncode, done.stdout

    def prepare(self, guide_folder):
        """Compiles the guide's example for each host MPI. Returns what went wrong."""
        for page in sorted(guide_folder.glob("*.md")):
            for block in blocks_of(page):
                if "file" in block.options:
                    (self.folder / block.options["file"]).write_text("\n".join(block.lines) + "\n")
        shutil.copy(HERE / "device.c", self.folder)
        for mpi in self.mpis:
            status, output = self.run(f"mpicc ring.c device.c -ldl -o app.{mpi}", mpi, self.folder)
            if status != 0:
                return f"the example ring.c does not compile with {mpi}: {output}"
        return None

    def folder_of(self, page):
        """A folder for the commands of a page, with the files of the guide."""
        folder = self.folder / page.stem
        folder.mkdir()
        for file in self.folder.iterdir():
            if file.suffix in (".c", ".h", ".py"):
                shutil.copy(file, folder)
        return folder


def run_block(guide, block, folder):
    """None when the block does what the page says; else what it does."""
    mpi = block.options.get("mpi", "mpich")
    app = folder / "app"
    app.unlink(missing_ok=True)
    shutil.copy(guide.folder / f"app.{mpi}", app)
    status, output = guide.run(block.commands(), mpi, folder)
    wanted = int(block.options.get("exit", "0"))
    if status != wanted:
        return f"ends with {status} instead of {wanted}:\n{output}"
    missing = first_missing(block.shown(), output)
    if missing is not None:
        return f"no line \"{missing}\" in its place of the output:\n{output}"
    return None


def check_page(guide, page, counts):
    folder = guide.folder_of(page)
    for block in blocks_of(page):
        problem = block.problem()
        if problem is None and block.language not in COMMANDS:
            continue
        if problem is None and "not-run" in block.options:
            print(f"skipped: {block.where}: {block.options['not-run']}")
            counts["skipped"] += 1
            continue
        if problem is None and block.options.get("mpi", "mpich") not in guide.mpis:
            print(f"skipped: {block.where}: no host MPI {block.options.get('mpi', 'mpich')} here")
            counts["skipped"] += 1
            continue
        begun = time.monotonic()
        problem = problem or run_block(guide, block, folder)
        if problem:
            print(f"FAILED: {block.where}: {problem}")
            counts["failed"] += 1
        else:
            print(f"passed: {block.where} ({time.monotonic() - begun:.1f} s)")
            counts["passed"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--guide", type=pathlib.Path, default=ROOT / "docs/guide")
    parser.add_argument("pages", nargs="*")
    arguments = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="sluice-guide-") as folder:
        guide = Guide(arguments, pathlib.Path(folder))
        if not guide.mpis:
            print("skipped: no host MPI with a compiler (tools/setup installs two)")
            return 77
        problem = guide.prepare(ROOT / "docs/guide")
        if problem:
            print(f"FAILED: {problem}")
            return 1
        for page in sorted(arguments.guide.glob("*.md")):
            if not arguments.pages or page.name in arguments.pages:
                check_page(guide, page, counts)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
