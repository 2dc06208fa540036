# SPDX-License-Identifier: BSD-3-Clause
"""The functions on windows, of data/window_forms.txt, for tools/generate_mpi.py."""

import pathlib
import re

from mpi_names import argument, enumerator, names_in, operation_name

WINDOW_FORMS = pathlib.Path(__file__).resolve().parent.parent / "data/window_forms.txt"


def window_forms_of(functions):
    """By name, with the large-count forms: what carries the function out on a window of Sluice's, and which operations it
    completes, or None."""
    found = {}
    for line in names_in(WINDOW_FORMS):
        name, carried_by, *completes = line.split()
        if name not in functions:
            raise SystemExit(f"{WINDOW_FORMS}: MPI has no {name}")
        form = carried_by, completes[0] if completes else None
        found |= {function: form for function in (name, name + "_c") if function in functions}
    return found


def has_buffers(name, functions):
    """Whether it is an operation, which has buffers of this rank's and a part of the window."""
    return "target_rank" in [argument(p) for p in functions[name]["parameters"]]


def window_meaning(parameter, sides):
    """What a parameter of an operation on buffers is in ops::rma::Call, whose buffers are `sides`: the statements that fill
    it in, and the expression that takes it out again for the host MPI."""
    name = argument(parameter)
    if name == "win":
        return "", "window"
    if name in ("op", "target_rank", "target_disp", "request"):
        return f"  call.{name} = {name};\n", f"c.{name}"
    if name == "datatype":  # of one element everywhere
        return "".join(f"  call.{side}.type = datatype;\n  call.{side}.count = 1;\n" for side in sides), "c.target.type"
    side, what = re.fullmatch(r"(origin|result|compare|target)_(addr|count|datatype)", name).groups()
    if what == "addr":
        return f"  call.{side}.set_buffer({name});\n", f"c.{side}.buffer"
    if what == "count":
        kind = parameter.split()[0]
        return f"  call.{side}.count = {name};\n", f"static_cast<{kind}>(c.{side}.count)"
    return f"  call.{side}.type = {name};\n", f"c.{side}.type"


def operation_form(name, carried_by, functions):
    """The definition of an operation on buffers."""
    parameters = functions[name]["parameters"]
    sides = [argument(p).removesuffix("_addr") for p in parameters if argument(p).endswith("_addr")] + ["target"]
    meanings = [window_meaning(p, sides) for p in parameters]
    return (f"int {operation_name(name)}({', '.join(parameters)}) {{\n"
            "  const rma::WindowPtr own = rma::find_own(win);\n"
            "  const device::Backends backends = device::loaded_backends();\n"
            "  if (own == nullptr && backends.empty()) {\n"
            f"    return wire::host().{name}({', '.join(argument(p) for p in parameters)});\n  }}\n"
            f"  rma::Call call;\n  call.operation = Operation::{enumerator(name)};\n"
            + "".join(fill for fill, _ in meanings) +
            f"  if (own != nullptr) return rma::{carried_by}(own.get(), call);\n"
            f"  call.by_host = [](const rma::Call &c, MPI_Win window) {{ return wire::host().{name}("
            f"{', '.join(take for _, take in meanings)}); }};\n"
            "  return rma::operate_by_host(win, &call);\n}\n")


def window_form(name, carried_by, completes, functions, by_host):
    """The definition of any other function; `by_host`: the statements for a window of the host MPI's, if they are more
    than the call."""
    parameters = functions[name]["parameters"]
    others = [argument(p) for p in parameters if argument(p) != "win"]
    call = f"wire::host().{name}({', '.join(argument(p) for p in parameters)})"
    if completes:
        target = "-1" if completes == "all" else "rank"
        completion = "kMaybeEarly" if re.search("flush_(local|all)", name) else "kSure"
        by_host = (f"  return rma::complete_by_host(win, {target}, rma::Completion::{completion}, "
                   f"[&] {{ return {call}; }});\n")
    return (f"int {operation_name(name)}({', '.join(parameters)}) {{\n"
            "  if (const rma::WindowPtr own = rma::find_own(win); own != nullptr) {\n"
            f"    return rma::{carried_by}({', '.join(['own.get()', *others])});\n  }}\n"
            f"{by_host or f'  return {call};' + chr(10)}}}\n")
