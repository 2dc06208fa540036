# SPDX-License-Identifier: BSD-3-Clause
"""Names of MPI functions and of their parameters, as tools/generate_mpi.py reads and writes them."""

import re


def argument(parameter):
    """The name in a declaration such as 'const int counts[]' or 'int ranges[][3]'."""
    return re.search(r"(\w+)\s*(?:\[[^\]]*\])*$", parameter).group(1)


def operation_name(function):
    return function.removeprefix("MPI_").lower()


def names_in(path):
    """The lines of a list of functions, without comments."""
    return [name for name in (line.split("#")[0].strip() for line in path.read_text().splitlines()) if name]


def enumerator(function):
    """The operation as src/base/operations.def names it: kReduceScatterInit for MPI_Reduce_scatter_init_c."""
    return "k" + "".join(word[0].upper() + word[1:] for word in function.removeprefix("MPI_").removesuffix("_c").split("_"))
