#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Takes the project by add_subdirectory() from another one, which installs libraries into lib64, in two steps.

    outline  configures: the targets of an installation are there, and no tests; a program with the headers is built and
             runs. What the build tree has is installed as that project installs it: everything lies in lib64, and the
             library, preloaded from there, finds its backend
    whole    builds and installs all of it: a linked program runs, and `sluice run` finds the libraries in lib64

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from check_installation import own_runtimes, run, skip

LIBDIR = "lib64"

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX)
enable_testing()
add_subdirectory({source} sluice)
foreach(target headers {flavour})
  if(NOT TARGET Sluice::${{target}})
    message(FATAL_ERROR "there is no target Sluice::${{target}}")
  endif()
endforeach()
if(TARGET sluice_bench_parts OR DEFINED BUILD_TESTING)
  message(FATAL_ERROR "benchmarks or tests reach the project outside")
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(MPI REQUIRED IMPORTED_TARGET {mpi_package})
add_executable(with_headers with_headers.c)
target_link_libraries(with_headers PRIVATE Sluice::headers)
add_executable(linked {program})
target_link_libraries(linked PRIVATE Sluice::{flavour} PkgConfig::MPI)
"""

WITH_HEADERS = """#include <sluice/backend.h>
#include <sluice/sluice.h>
#include <stdio.h>
int main(void) { return printf("version %d.%d\\n", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR) < 0; }
"""


class Failed(Exception):
    """A command that did not do what it must; says which, and what it printed."""


def must(command, text="", **more):
    """The output of a command that ends with 0 and prints that text."""
    try:
        status, output = run(command, **more)
    except subprocess.TimeoutExpired as late:
        raise Failed(str(late)) from late
    if status != 0 or text not in output:
        wanted = f" and prints no \"{text}\"" if status == 0 else ""
        raise Failed(f"{' '.join(str(word) for word in command)} ends with {status}{wanted}:\n{output}")
    return output


def configured(args):
    """Writes and configures the project outside; its build folder."""
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    (args.folder / "CMakeLists.txt").write_text(PROJECT.format(**vars(args)), encoding="utf-8")
    (args.folder / "with_headers.c").write_text(WITH_HEADERS, encoding="utf-8")
    build = args.folder / "build"
    must(["cmake", "-G", "Ninja", "-S", args.folder, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
          f"-DCMAKE_INSTALL_LIBDIR={LIBDIR}", f"-DCMAKE_INSTALL_PREFIX={args.folder / 'prefix'}",
          f"-DSLUICE_ONLY_FLAVOURS={args.flavour}", f"-DSLUICE_PYTHON_ENVS={args.python_envs}", "-DSLUICE_COMPILE_ONCE=ON"])
    return build


def installed(args, build):
    """Installs, and looks where the files are; the folder of the libraries."""
    must(["cmake", "--install", build])
    prefix = args.folder / "prefix"
    library = prefix / LIBDIR
    wanted = [f"libsluice_{args.flavour}.so", f"pkgconfig/sluice_{args.flavour}.pc", "cmake/Sluice/SluiceConfig.cmake",
              f"sluice/libsluice_backend_{args.backend}.so", f"sluice/libsluice_backend_{args.backend}.needs",
              "sluice/libsluice_lookup.so"]
    missing = [f"{LIBDIR}/{name}" for name in wanted if not (library / name).is_file()]
    missing += [f"bin/{name}" for name in ["sluice"] if not (prefix / "bin" / name).is_file()]
    if missing or (prefix / "lib").exists():
        raise Failed(f"{prefix} lacks {missing}, or has a folder lib beside {LIBDIR}")
    return library


def is_served(args, library, command):
    """A benchmark on device memory, started by that command, is served with the backend of the installation."""
    bench = [args.build / f"bin/sluice-bench.{args.flavour}", "latency", "-d", args.backend, "--sizes", 4096, "-i", 4, "D", "D"]
    environment = {**os.environ, "SLUICE_LOG": "info", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    output = must([*command, *bench], "Pass", env=environment)
    if f"backend {args.backend} loaded from {library}/sluice/" not in output:
        raise Failed(f"{' '.join(str(word) for word in command)}: the backend is not that of {library}:\n{output}")


def outline(args):
    """The first step."""
    build = configured(args)
    must(["ctest", "--test-dir", build, "-N"], "Total Tests: 0")
    must(["cmake", "--build", build, "--target", "with_headers"])
    must([build / "with_headers"], "version ")
    must(["ninja", "-C", build, "-t", "commands", "linked"], f"-o sluice/lib/libsluice_{args.flavour}.so")
    # The program `sluice` is built for one folder of libraries, so that the second step alone can show that it finds them.
    for name in ("bin", "lib", "libexec"):
        shutil.copytree(args.installation / name, build / "sluice" / name, dirs_exist_ok=True)
    library = installed(args, build)
    is_served(args, library, [args.launch, "--mpi", args.mpi, "-n", 2, "--timeout", 40, "--sluice", library, "--"])


def whole(args):
    """The second step."""
    build = configured(args)
    must(["cmake", "--build", build, "--target", "sluice_runtime", "linked"], limit_s=3000)
    library = installed(args, build)
    launch = [args.launch, "--mpi", args.mpi, "-n", 2, "--timeout", 40, "--env", "SLUICE_STATS=all", "--"]
    must([*launch, build / "linked", 1, *own_runtimes(library)], "all is well")
    is_served(args, library, [args.folder / "prefix/bin/sluice", "run", "--", args.mpiexec, "-n", 2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["outline", "whole"])
    for name in ("folder", "source", "build", "installation", "program", "launch", "python-envs"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("flavour", "backend", "mpi", "mpi-package", "mpiexec"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    for tool in ("ninja", "pkg-config", args.mpiexec):
        if shutil.which(tool) is None:
            skip(tool)
    try:
        {"outline": outline, "whole": whole}[args.step](args)
    except Failed as failure:
        print(f"install: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
