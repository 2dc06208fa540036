#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the Fortran bindings which a program is linked to end in C functions that Sluice can take the place of:
for each operation of data/operations.txt and data/message_forms.txt that has a Fortran binding, a library with bindings refers to MPI_X or PMPI_X
as an undefined symbol, which the dynamic linker resolves to Sluice's. The operations of STRINGS may be missing.

Usage: check_bindings.py PROGRAM [--also LIBRARY]      LIBRARY is judged by itself, not with those of the program
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import generate_mpi  # noqa: E402

# Open MPI 5 converts the strings of these inside its library. They take no buffer. Fortran programs then do not see
# what Sluice adds to MPI_INFO_ENV (docs/adr/0009-fortran.md).
STRINGS = {"MPI_Info_get", "MPI_Info_get_nthkey", "MPI_Info_get_string"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library):
    """The dynamic symbols that the library defines, and those that it refers to."""
    defined, undefined = set(), set()
    for line in output("nm", "-D", library).splitlines():
        kind, name = line.split()[-2:]
        (undefined if kind in "Uw" else defined).add(name.split("@")[0])
    return defined, undefined


def bindings_of(libraries):
    """The operations that have a Fortran binding in these libraries, and those of them that no binding calls by name."""
    bound, called = set(), set()
    for library in libraries:
        defined, undefined = symbols(library)
        bindings = {name for name in defined if re.fullmatch(r"mpi_\w+_", name)}
        if bindings and "MPI_Send" not in defined:
            bound |= bindings
            called |= undefined
    names = generate_mpi.names_in(generate_mpi.OPERATIONS)
    names += [form[0] for form in generate_mpi.message_forms_of(json.loads(generate_mpi.FUNCTIONS.read_text()))]
    operations = [name for name in names if f"{name.lower()}_" in bound]
    return operations, [name for name in operations if name not in called and "P" + name not in called]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--also", metavar="LIBRARY")
    arguments = parser.parse_args()
    operations, bypassing = bindings_of(re.findall(r"=> (\S+)", output("ldd", arguments.program)))
    if arguments.also:
        bypassing += bindings_of([arguments.also])[1]
    print(f"{len(operations)} operations have a Fortran binding")
    if bypassing:
        print(f"not called by name from Fortran: {', '.join(bypassing)}")
    return 1 if set(bypassing) - STRINGS or not operations else 0


if __name__ == "__main__":
    sys.exit(main())
