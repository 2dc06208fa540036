#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the Fortran bindings which a program is linked to end in C functions that Sluice can take the place of:
for each operation of data/operations.txt that has a Fortran binding, a library with bindings refers to MPI_X or PMPI_X
as an undefined symbol, which the dynamic linker resolves to Sluice's.

Usage: check_bindings.py PROGRAM [--also LIBRARY]
"""
import argparse
import pathlib
import re
import subprocess
import sys

OPERATIONS = pathlib.Path(__file__).resolve().parents[3] / "data/operations.txt"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library):
    """The dynamic symbols that the library defines, and those that it refers to."""
    defined, undefined = set(), set()
    for line in output("nm", "-D", library).splitlines():
        kind, name = line.split()[-2:]
        (undefined if kind in "Uw" else defined).add(name.split("@")[0])
    return defined, undefined


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--also", metavar="LIBRARY")
    arguments = parser.parse_args()
    libraries = re.findall(r"=> (\S+)", output("ldd", arguments.program)) + [arguments.also] * bool(arguments.also)
    bound, called = set(), set()
    for library in libraries:
        defined, undefined = symbols(library)
        bindings = {name for name in defined if re.fullmatch(r"mpi_\w+_", name)}
        if bindings and "MPI_Send" not in defined:
            bound |= bindings
            called |= undefined
    lines = (line.split("#")[0].strip() for line in OPERATIONS.read_text().splitlines())
    operations = [name for name in lines if f"{name.lower()}_" in bound]
    bypassing = [name for name in operations if name not in called and "P" + name not in called]
    print(f"{len(operations)} operations have a Fortran binding")
    if bypassing:
        print(f"not called by name from Fortran: {', '.join(bypassing)}")
    return 1 if bypassing or not operations else 0


if __name__ == "__main__":
    sys.exit(main())
