# SPDX-License-Identifier: BSD-3-Clause
"""The operations that read and write files, of data/file_forms.txt, for tools/generate_mpi.py."""

import pathlib

from mpi_names import argument, enumerator, names_in, operation_name

FILE_FORMS = pathlib.Path(__file__).resolve().parent.parent / "data/file_forms.txt"


def file_forms_of(functions):
    """(name, what carries it out, position, blocking function, function with a request) of each form of each line; None
    for a function that there is not."""
    for line in names_in(FILE_FORMS):
        name, carried_by, position, block, start = line.split()
        for suffix in ("", "_c"):
            if name + suffix in functions:
                yield name + suffix, carried_by, position, *(None if f == "-" else f + suffix for f in (block, start))
            elif not suffix:
                raise SystemExit(f"{FILE_FORMS}: MPI has no {name}")


def file_meaning(parameter):
    """What a parameter of a function on a file is in ops::io::Call: the statement that fills it in, and the expression that
    takes it out again for the host MPI."""
    name = argument(parameter)
    if name == "buf":
        return "call.set_buffer(buf);", "c.buffer"
    member = {"fh": "file", "datatype": "type"}.get(name, name)
    taken = f"c.{member}"
    return f"call.{member} = {name};", f"static_cast<{parameter.split()[0]}>({taken})" if name == "count" else taken


def file_form(name, carried_by, position, block, start, functions):
    """The definition of one operation that reads or writes a file."""
    parameters = functions[name]["parameters"]

    def function_of(function, lead, given):
        if function is None:
            return "nullptr"
        taken = ", ".join(given.get(argument(p)) or file_meaning(p)[1] for p in functions[function]["parameters"])
        return f"[]({lead}) {{ return wire::host().{function}({taken}); }}"

    call = "const io::Call &c"
    form = [f"Operation::{enumerator(name)}", "true" if "read" in name else "false",
            f"io::Position::k{position.capitalize()}", function_of(name, call, {}), function_of(block, call, {}),
            function_of(start, f"{call}, MPI_Request *r", {"request": "r"})]
    return (f"int {operation_name(name)}({', '.join(parameters)}) {{\n"
            f"  if (is_plain_host_traffic() || fh == MPI_FILE_NULL) return wire::host().{name}({', '.join(argument(p) for p in parameters)});\n"
            "  static constexpr io::Form kForm{\n      " + ",\n      ".join(form) + "};\n"
            "  io::Call call(kForm);\n" + "".join(f"  {file_meaning(p)[0]}\n" for p in parameters) +
            f"  return io::{carried_by}(&call);\n}}\n")
