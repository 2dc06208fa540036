#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the recipe packaging/spack/package.py against the build, with a stand-in for Spack's functions.

Every package that the build needs is one of the recipe's, every option that the recipe sets is one of the build's, and
the build is configured with them, for an MPI that is found as the recipe shows it.

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import types

from check_installation import run, skip

# What the build's find_package() and pkg_check_modules() call what Spack has by another name; none: not to be asked for.
SPACK_NAMES = {"nlohmann_json": "nlohmann-json", "CLI11": "cli11", "PkgConfig": "pkgconfig", "Python3": "python",
               "Threads": None, "GTest": None}


class Spec(dict):
    """What is built: the packages below by their names, and the variants."""

    def __init__(self, variants, packages):
        super().__init__(packages)
        self.variants = variants


class Prefix(str):
    """A folder, whose attributes are the folders in it."""

    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


class CMakePackage:
    """What a recipe inherits; keeps what the recipe says."""

    def __init__(self, build_directory, mpi, prefix):
        self.build_directory = str(build_directory)
        self.spec = Spec({"mpi": types.SimpleNamespace(value=mpi)}, {mpi: types.SimpleNamespace(prefix=Prefix(prefix))})

    @staticmethod
    def define(name, value):
        """As Spack's: a switch is ON or OFF."""
        return f"-D{name}={ {True: 'ON', False: 'OFF'}.get(value, value)}"


def recipe(file):
    """The recipe's class, and the arguments of each of its directives."""
    said = {name: [] for name in ("license", "version", "variant", "depends_on", "conflicts", "requires", "generator")}
    stand_in, systems = types.ModuleType("spack.package"), types.ModuleType("spack_repo.builtin.build_systems.cmake")
    for name, calls in said.items():
        module = systems if name == "generator" else stand_in
        setattr(module, name, lambda *words, calls=calls, **more: calls.append((words, more)))
    systems.CMakePackage = CMakePackage
    stand_in.Executable = lambda program: lambda *words, output: run([program, *words])[1]
    stand_in.find_headers = lambda name, folders: [path for folder in folders
                                                   if os.path.exists(path := f"{folder}/{name}.h")]
    stand_in.run_before = lambda phase: lambda function: function
    stand_in.join_path = lambda *parts: str(pathlib.Path(*parts))
    stand_in.mkdirp = lambda path: pathlib.Path(path).mkdir(parents=True)
    stand_in.symlink = lambda to, path: pathlib.Path(path).symlink_to(to)
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["spack.package"], sys.modules[systems.__name__] = stand_in, systems
    names = {}
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), names)
    return names["Sluice"], said


def needed_packages(source):
    """What the build cannot do without, by Spack's names, and the version of CMake."""
    text = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.findall(r"find_package\((\w+) REQUIRED", text) + re.findall(r"pkg_check_modules\(\w+ REQUIRED \w+ (\w+)\)", text)
    return {SPACK_NAMES.get(name, name) for name in found} - {None}, re.search(r"VERSION (\d+\.\d+)\)", text).group(1)


def problems(args):
    """Yields what is wrong."""
    sluice, said = recipe(args.source / "packaging/spack/package.py")
    asked = {re.split(r"[@ ]", words[0])[0]: words[0] for words, _ in said["depends_on"]}
    needed, cmake_version = needed_packages(args.source)
    for name in sorted(needed - set(asked)):
        yield f"the build needs {name}, and the recipe does not ask for it"
    if asked.get("cmake") != f"cmake@{cmake_version}:":
        yield f"the build needs CMake {cmake_version}, and the recipe asks for {asked.get('cmake')}"
    build = args.folder / "build"
    shutil.rmtree(args.folder, ignore_errors=True)
    build.mkdir(parents=True)
    package = sluice(build, "mpich", args.python_envs / "mpich")
    package.show_mpi()
    status, output = run(["cmake", "-G", "Ninja", "-S", args.source, "-B", build, *package.cmake_args()])
    if status != 0 or "CMake Warning" in output or "CMake Error" in output:
        yield f"the build cannot be configured with what the recipe sets; cmake ends with {status}:\n{output}"
        return
    status, output = run(["ninja", "-C", build, "-t", "query", "lib/libsluice_mpich.so"])
    if status != 0:
        yield f"the build so configured has no library:\n{output}"
    status, output = run(["ctest", "--test-dir", build, "-N"])
    if "Total Tests: 0" not in output:
        yield f"the build so configured has tests:\n{output}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("source", "folder", "python-envs"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if shutil.which("ninja") is None:
        skip("ninja")
    found = list(problems(args))
    for problem in found:
        print(f"install: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
