# SPDX-License-Identifier: BSD-3-Clause
"""The functions on windows, of data/window_forms.txt, for tools/generate_mpi.py."""

import pathlib
import re

from mpi_names import argument, enumerator, names_in, operation_name

WINDOW_FORMS = pathlib.Path(__file__).resolve().parent.parent / "data/window_forms.txt"


def window_forms_of(functions):
    """What carries each function out on a window of Sluice's, by name, with the large-count forms."""
    found = {}
    for line in names_in(WINDOW_FORMS):
        name, carried_by = line.split()
        if name not in functions:
            raise SystemExit(f"{WINDOW_FORMS}: MPI has no {name}")
        found |= {function: carried_by for function in (name, name + "_c") if function in functions}
    return found


def window_meaning(parameter, sides):
    """The statements that put a parameter of an operation on buffers into ops::rma::Call; `sides`: the buffers it has."""
    name = argument(parameter)
    if name in ("op", "target_rank", "target_disp", "request"):
        return f"    call.{name} = {name};\n"
    if name == "datatype":  # of one element everywhere
        return "".join(f"    call.{side}.type = datatype;\n    call.{side}.count = 1;\n" for side in sides)
    side, what = re.fullmatch(r"(origin|result|compare|target)_(addr|count|datatype)", name).groups()
    if what == "addr":
        return f"    call.{side}.set_buffer({name});\n"
    return f"    call.{side}.{what.removeprefix('data')} = {name};\n"


def window_form(name, carried_by, functions, by_host):
    """The definition of one function; `by_host`: the statements for a window of the host MPI's."""
    parameters = functions[name]["parameters"]
    sides = [argument(p).removesuffix("_addr") for p in parameters if argument(p).endswith("_addr")]
    others = [argument(p) for p in parameters if argument(p) != "win"]
    text = (f"int {operation_name(name)}({', '.join(parameters)}) {{\n"
            "  if (const rma::WindowPtr own = rma::find_own(win); own != nullptr) {\n")
    if sides:
        text += f"    rma::Call call;\n    call.operation = Operation::{enumerator(name)};\n"
        text += "".join(window_meaning(p, [*sides, "target"]) for p in parameters if argument(p) != "win")
        others = ["call"]
    return text + f"    return rma::{carried_by}({', '.join(['own.get()', *others])});\n  }}\n{by_host}}}\n"
