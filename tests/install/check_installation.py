#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs the build tree to a folder of its own and looks at what is there, in five steps.

    layout    installs; every file is in its place, and none remembers the build or the source folder
    headers   each public header compiles alone, as C11 and as C++20, without a warning
    examples  each C example of the pages about queues compiles, in the same two ways
    bench     sluice-bench measures, and compare, report and paper work on what it measured; its checks fail under the
              library that spoils data
    program   an MPI program linked to the installed library, by the compiler's options, by find_package(Sluice) or by
              pkg-config, runs with two ranks, with Sluice on and off

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77


def run(command, limit_s=100, **more):
    """The exit status and the whole output of a command."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=limit_s, check=False, **more)
    return done.returncode, done.stdout


def skip(what):
    print(f"skipped: {what}")
    sys.exit(SKIPPED)


def dynamic_section(file):
    """The lines of an ELF file's dynamic section."""
    status, output = run(["readelf", "--dynamic", "--wide", file])
    if status != 0:
        raise RuntimeError(f"readelf cannot read {file}: {output}")
    return output


def missing_files(args):
    """Yields each file that an installation must have and this one has not."""
    wanted = [f"lib/libsluice_{flavour}.so" for flavour in args.flavours]
    wanted += [f"bin/{program}" for program in args.programs]
    for backend in args.backends:
        wanted += [f"lib/sluice/libsluice_backend_{backend}.so", f"lib/sluice/libsluice_backend_{backend}.needs"]
    wanted += [str(header.relative_to(args.source)) for header in (args.source / "include").rglob("*.h")]
    for path in wanted:
        if not (args.prefix / path).is_file():
            yield f"{path} is missing"


def foreign_paths(args):
    """Yields each installed program or library that looks for its libraries in the build or the source folder."""
    for file in sorted(args.prefix.rglob("*")):
        if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        for line in dynamic_section(file).splitlines():
            if re.search(r"\((RPATH|RUNPATH|NEEDED)\)", line) and any(
                    str(folder) in line.replace(str(args.prefix), "") for folder in (args.build, args.source)):
                yield f"{file.relative_to(args.prefix)} remembers a folder of this machine: {line.strip()}"


def bad_modules(args):
    """Yields what is wrong with a .needs file or with a library that must stand alone."""
    for needs in sorted((args.prefix / "lib/sluice").glob("*.needs")):
        lines = needs.read_text().split()
        if lines[:1] != ["priority"] or len(lines) < 3:
            yield f"{needs.name} does not give a priority and at least one runtime"
    for library in sorted((args.prefix / "lib").glob("libsluice_*.so")):
        if re.search(r"\[lib(mpi|mpich|open-)", dynamic_section(library)):
            yield f"{library.name} is linked to an MPI; it must find the program's own"


def layout(args):
    """Installs, and says what is wrong."""
    if shutil.which("readelf") is None:
        skip("readelf (Debian package binutils)")
    shutil.rmtree(args.prefix, ignore_errors=True)
    status, output = run([args.cmake, "--install", args.build, "--prefix", args.prefix])
    if status != 0:
        return [f"cmake --install failed:\n{output}"]
    problems = [*missing_files(args), *foreign_paths(args), *bad_modules(args)]
    if "sluice" in args.programs and not problems:
        status, output = run([args.prefix / "bin/sluice", "info"])
        if status != 0:
            problems.append(f"the installed `sluice info` ends with {status}:\n{output}")
        # The installation under test lies inside the build folder itself.
        if str(args.build) in output.replace(str(args.prefix), ""):
            problems.append(f"the installed `sluice info` finds things in the build folder:\n{output}")
        status, output = run([args.prefix / "bin/sluice", "info", "--topology"])
        if args.backends and (status != 0 or "rank 0" not in output):
            problems.append(f"the installed `sluice info --topology` ends with {status}:\n{output}")
    return problems


def compile_problems(args, what, source, needs_mpi):
    """Yields what is wrong with a source text that is compiled against the installed headers, as C11 and as C++20."""
    more = [f"-isystem{args.mpi_include}"] if needs_mpi else []
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{args.prefix / 'include'}"]
    for command in ([args.cc, "-std=c11", "-x", "c"], [args.cxx, "-std=c++20", "-x", "c++"]):
        status, output = run([*command, *strict, *more, "-"], input=source)
        if status != 0:
            yield f"{what} does not compile with {' '.join(command)}:\n{output}"


def headers(args):
    """Compiles every installed header alone; those that build on MPI's header with a host MPI's."""
    include = args.prefix / "include"
    problems = [f"{page.relative_to(args.prefix)} is no header" for page in include.rglob("*.md")]
    for header in sorted(include.rglob("*.h")):
        name = header.relative_to(include)
        # Twice, so that a missing guard is seen.
        twice = f'#include "{name}"\n#include "{name}"\n'
        problems += compile_problems(args, name, twice, "#include <mpi.h>" in header.read_text())
    return problems if any(include.rglob("*.h")) else ["no header is installed"]


def examples(args):
    """Compiles the blocks of C in the pages about queues."""
    pages = {page.name: page.read_text(encoding="utf-8") for page in sorted((args.source / "docs/queue").glob("*.md"))}
    blocks = [(name, block) for name, text in pages.items()
              for block in re.findall(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    problems = []
    for name, block in blocks:
        problems += compile_problems(args, f"an example of {name}", block, True)
    return problems if blocks else ["there is no example in docs/queue"]


def own_runtimes(library):
    """Runtime library and backend, for each backend whose runtime is part of the installation with that folder itself."""
    pairs = []
    for needs in sorted((library / "sluice").glob("*.needs")):
        name = needs.stem.removeprefix("libsluice_backend_")
        for runtime in needs.read_text().split()[2:]:
            if (library / "sluice" / runtime).is_file():
                pairs += [library / "sluice" / runtime, name]
    return pairs


def link_by_options(args, target):
    """As docs/queue/guide.md says. mpicc puts the MPI itself last, so libsluice stands before it. As libsluice defines all
    of MPI, a linker that leaves out what nobody needs would leave out the MPI, to which libsluice hands the calls on."""
    library = args.prefix / "lib"
    return run([args.mpicc, "-std=gnu11", "-Wall", "-Werror", f"-I{args.prefix / 'include'}", args.source, "-o", target,
                f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", f"-lsluice_{args.flavour}"])


def link_by_pkg_config(args, target):
    """With what pkg-config says."""
    if shutil.which("pkg-config") is None:
        skip("pkg-config")
    status, output = run(["pkg-config", "--cflags", "--libs", f"sluice_{args.flavour}"],
                         env={**os.environ, "PKG_CONFIG_PATH": str(args.prefix / "lib/pkgconfig")})
    if status != 0:
        return status, output
    return run([args.mpicc, "-std=gnu11", "-Wall", "-Werror", args.source, "-o", target, *output.split()])


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(linked LANGUAGES C)
find_package(Sluice {version} REQUIRED)
add_executable({name} {source})
target_link_libraries({name} PRIVATE Sluice::{flavour})
"""


def link_by_package(args, target):
    """By a project of its own that knows find_package() only."""
    folder = target.with_suffix(".project")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    header = (args.prefix / "include/sluice/sluice.h").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"#define SLUICE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    (folder / "CMakeLists.txt").write_text(
        PROJECT.format(version=version, name=target.name, source=args.source, flavour=args.flavour), encoding="utf-8")
    status, output = run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={args.prefix}",
                          f"-DCMAKE_C_COMPILER={args.mpicc}", f"-DCMAKE_RUNTIME_OUTPUT_DIRECTORY={target.parent}"])
    return (status, output) if status != 0 else run(["cmake", "--build", folder / "build"])


def program(args):
    """Builds and runs the linked program."""
    if shutil.which(args.mpicc) is None:
        skip(f"{args.mpicc}, the host MPI's compiler")
    ways = {"options": link_by_options, "pkg_config": link_by_pkg_config, "find_package": link_by_package}
    target = args.prefix / f"linked_program.{args.flavour}.{args.by}"
    status, output = ways[args.by](args, target)
    if status != 0:
        return [f"the program cannot be linked:\n{output}"]
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic_section(target))
    mpi = [i for i, name in enumerate(needed) if re.match(r"libmpi(ch)?\.so", name)]
    if f"libsluice_{args.flavour}.so" not in needed or not mpi:
        return [f"the program needs {needed}: libsluice_{args.flavour}.so or the MPI is missing"]
    if needed.index(f"libsluice_{args.flavour}.so") > mpi[0]:
        return [f"the program needs {needed}: libsluice does not stand before the MPI"]
    problems = []
    for is_on in (1, 0):
        status, output = run([args.launch, "--mpi", args.mpi, "-n", 2, "--timeout", 40, "--env", f"SLUICE_ENABLE={is_on}",
                              "--env", "SLUICE_STATS=all", "--", target, is_on, *own_runtimes(args.prefix / "lib")])
        print(output)
        if status != 0 or "all is well" not in output:
            problems.append(f"with SLUICE_ENABLE={is_on} the program ends with {status}")
    return problems


def paper_problems(args, bench, scratch, environment):
    """Yields what is wrong with the papers' experiments, at sizes and rounds that take seconds."""
    for words, name in ((["prace", "--table", "1", "--backends", args.backend], "paper_prace"),
                        (["ccgrid23", "--figure", "4", "--largest", "256"], "paper_ccgrid23")):
        status, output = run([bench, "paper", *words, "--rounds", 1, "--iterations", 4, "--out", scratch], env=environment)
        page = scratch / f"{name}.md"
        if status != 0 or not page.exists() or "Not measured" in page.read_text(encoding="utf-8"):
            yield f"`sluice-bench paper {' '.join(words)}` ends with {status}:\n{output}"
        elif not (scratch / f"{name}.html").exists() and "is missing" not in output:
            yield f"no {name}.html, and no word which package it wants:\n{output}"


def proof_problems(args, bench, environment):
    """Yields what is wrong with the library that spoils data: with it the check must fail, and without a fault pass."""
    library = args.prefix / f"libexec/sluice-bench/lib/spoiling_mpi_{args.flavour}.so"
    status, output = run([bench, "--help"])
    if library.name.removesuffix(f"{args.flavour}.so") not in output:
        yield f"`sluice-bench --help` does not name {library.name}:\n{output}"
    for fault, wanted, text in (("flip", 1, "offset 4095"), ("none", 0, "Pass")):
        settings = ["env", f"LD_PRELOAD={library}", f"SPOIL_MODE={fault}", "SPOIL_MIN_BYTES=1000"]
        status, output = run([args.mpiexec, "-n", 2, *settings, bench, "latency", "--sizes", "4096", "-i", 4], env=environment)
        if status != wanted or text not in output or "cannot be preloaded" in output:
            yield f"with SPOIL_MODE={fault} sluice-bench ends with {status}, not {wanted}:\n{output}"


def bench(args):
    """Runs the subcommands as a user would: nothing but the installation, an MPI, and whatever Python there is."""
    if shutil.which(args.mpiexec) is None:
        skip(f"{args.mpiexec}, the host MPI's launcher")
    program = args.prefix / f"bin/sluice-bench.{args.flavour}"
    scratch = args.prefix / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "SLUICE_BENCH_MPIEXEC": args.mpiexec, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    measured = scratch / "measured.json"
    status, output = run([args.mpiexec, "-n", 2, program, "latency", "--sizes", "8,64", "-i", 4, "--repeat", 2, "--json", measured],
                         env=environment)
    if status != 0:
        return [f"the installed sluice-bench ends with {status}:\n{output}"]
    problems = []
    status, output = run([program, "compare", measured, measured])
    if status != 0 or "same" not in output:
        problems.append(f"`sluice-bench compare` ends with {status}:\n{output}")
    for command in ([program, "report"], [args.prefix / "bin/sluice", "report"]):
        page = scratch / "page.html"
        page.unlink(missing_ok=True)
        status, output = run([*command, f"before={measured}", f"after={measured}", "-o", page])
        lines = output.strip().splitlines()
        if not (status == 0 and page.exists()) and not (status == 2 and len(lines) == 1 and "is missing" in output):
            problems.append(f"`{command[0].name} report` ends with {status}:\n{output}")
    return [*problems, *proof_problems(args, program, environment), *paper_problems(args, program, scratch, environment)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="folder to install to; it is emptied")
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("layout")
    step.add_argument("--cmake", required=True)
    step.add_argument("--build", type=pathlib.Path, required=True)
    step.add_argument("--source", type=pathlib.Path, required=True)
    step.add_argument("--flavours", nargs="*", default=[])
    step.add_argument("--backends", nargs="*", default=[])
    step.add_argument("--programs", nargs="*", default=[])
    step = steps.add_parser("headers")
    step.add_argument("--cc", required=True)
    step.add_argument("--cxx", required=True)
    step.add_argument("--mpi-include", required=True)
    step = steps.add_parser("examples")
    step.add_argument("--cc", required=True)
    step.add_argument("--cxx", required=True)
    step.add_argument("--mpi-include", required=True)
    step.add_argument("--source", type=pathlib.Path, required=True)
    step = steps.add_parser("bench")
    step.add_argument("--flavour", required=True)
    step.add_argument("--mpiexec", required=True)
    step.add_argument("--backend", required=True)
    step = steps.add_parser("program")
    step.add_argument("--flavour", required=True)
    step.add_argument("--mpicc", required=True)
    step.add_argument("--launch", required=True)
    step.add_argument("--mpi", required=True)
    step.add_argument("--source", type=pathlib.Path, required=True)
    step.add_argument("--by", choices=["options", "pkg_config", "find_package"], required=True)
    return parser.parse_args()


def main():
    args = arguments()
    problems = {"layout": layout, "headers": headers, "examples": examples, "bench": bench, "program": program}[args.step](args)
    for problem in problems:
        print(f"install: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
