#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel (packaging/make_wheel), installs it into a new environment without a network, and runs two ranks through it.

Every file is in its place and none remembers the build; `sluice info` finds libraries and modules in the environment alone;
`sluice run` has an MPI program exchange device memory, and its statistics tell of that. `pip check` has nothing to say, and
after `pip uninstall` no file is left.

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import zipfile

from check_installation import bad_modules, foreign_paths, missing_files, run, skip


def record_problems(wheel):
    """Yields what is wrong with the wheel's list of contents, which pip itself does not look at."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = {name: said for name, said, _ in csv.reader(archive.read(record).decode().splitlines())}
        if names != rows.keys():
            yield f"RECORD and the wheel differ in {', '.join(sorted(names ^ rows.keys())[:5])}"
        for name in names & rows.keys() - {record}:
            digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
            if rows[name] != f"sha256={digest}":
                yield f"RECORD has another digest of {name}"


def installed_problems(args, environment):
    """Yields what is wrong with what the environment has."""
    yield from missing_files(args)
    yield from foreign_paths(args)
    yield from bad_modules(args)
    status, output = run([args.prefix / "bin/sluice", "info", "--json"], env=environment)
    if status != 0:
        yield f"`sluice info --json` ends with {status}:\n{output}"
        return
    info = json.loads(output)
    wanted = [str(args.prefix / "include"), str(args.prefix / f"lib/libsluice_{args.flavour}.so")]
    program = f"import sluice; print(sluice.get_include(), sluice.library_path({args.flavour!r}), sluice.routes())"
    status, output = run([args.prefix / "bin/python", "-c", program], env=environment)
    if status != 0 or output.split() != [*wanted, "{}"]:
        yield f"`import sluice` ends with {status}:\n{output}"
    for place in [*info["libraries"].values(), info["module_folder"], *(one["module"] for one in info["backends"])]:
        if not pathlib.Path(place).is_relative_to(args.prefix):
            yield f"`sluice info` finds {place}, which is not in the environment"
    absent = {*args.flavours} - {*info["libraries"]} | {*args.backends} - {one["name"] for one in info["backends"]}
    if absent:
        yield f"`sluice info` does not find {', '.join(sorted(absent))}"


def run_problems(args, environment):
    """Yields what is wrong with two ranks that exchange device memory."""
    command = [args.prefix / "bin/sluice", "run", "--stats", "--", args.mpiexec, "-n", 2,
               args.prefix / f"bin/sluice-bench.{args.flavour}", "latency", "-d", args.device, "--sizes", "8,1048576", "-i", 4, "D", "D"]
    status, output = run(command, env=environment)
    if status != 0 or output.count("Pass") != 2 or not re.search(r"^MPI_Send +device ", output, re.MULTILINE):
        yield f"`sluice run` ends with {status}, or not with two lengths of device memory that passed:\n{output}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="folder for wheel and environment; it is emptied")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--flavours", nargs="*", default=[])
    parser.add_argument("--backends", nargs="*", default=[])
    parser.add_argument("--programs", nargs="*", default=[])
    parser.add_argument("--flavour", required=True, help="of the programs that run")
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--device", required=True, help="backend whose memory they exchange")
    args = parser.parse_args()
    if shutil.which(args.mpiexec) is None:
        skip(f"{args.mpiexec}, the host MPI's launcher")
    shutil.rmtree(args.folder, ignore_errors=True)
    args.prefix = args.folder / "environment"
    status, output = run([args.source / "packaging/make_wheel", "--build", args.build, "--out", args.folder])
    if status == 0:
        wheel = output.splitlines()[-1]
        status, output = run([sys.executable, "-m", "venv", args.prefix])
        if status != 0:
            skip(f"an environment of Python (Debian package python3-venv): {output.splitlines()[-1]}")
        status, output = run([args.prefix / "bin/python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel])
    if status != 0:
        print(f"install: no wheel was installed:\n{output}")
        return 1
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "PYTHON", "LD_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    problems = [*record_problems(wheel), *installed_problems(args, environment), *run_problems(args, environment)]
    for words in (["check"], ["uninstall", "--yes", "sluice"]):
        status, output = run([args.prefix / "bin/python", "-m", "pip", "--disable-pip-version-check", *words])
        if status != 0:
            problems.append(f"`pip {words[0]}` ends with {status}:\n{output}")
    problems += [f"{file} is left after `pip uninstall`" for file in args.prefix.rglob("*sluice*")]
    for problem in problems:
        print(f"install: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
