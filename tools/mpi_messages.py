# SPDX-License-Identifier: BSD-3-Clause
"""The point-to-point operations on buffers, of data/message_forms.txt, for tools/generate_mpi.py."""

import pathlib

from mpi_names import argument, enumerator, names_in, operation_name

MESSAGE_FORMS = pathlib.Path(__file__).resolve().parent.parent / "data/message_forms.txt"


def message_forms_of(functions):
    """(name, what carries it out, mode, function with a request, function for a matched message) of each form of each
    line; None for a function that there is not."""
    for line in names_in(MESSAGE_FORMS):
        name, carried_by, mode, start, take = line.split()
        for suffix in ("", "_c"):
            if name + suffix not in functions:
                raise SystemExit(f"{MESSAGE_FORMS}: MPI has no {name + suffix}")
            yield name + suffix, carried_by, mode, *(None if f == "-" else f + suffix for f in (start, take))


def message_meaning(parameter, is_exchange):
    """What a parameter of a point-to-point function is in ops::p2p::Call, or ExchangeCall: the statement that fills it in,
    and the expression that takes it out again for the host MPI."""
    name = argument(parameter)
    if name in ("comm", "status", "request"):
        return f"call.{name} = {name};", f"c.{name}"
    if name == "message":
        return "call.set_matched(message);", "c.matched"
    side = "send" if name.startswith("send") or name == "dest" else "recv"
    part = f"{side}." if is_exchange else ""
    what = {"datatype": "type", "dest": "peer", "source": "peer"}.get(name, name.removeprefix(side))
    if what == "buf":
        return f"call.{part}set_buffer({name});", f"c.{part}buffer"
    taken = f"c.{part}{what}"
    return f"call.{part}{what} = {name};", f"static_cast<{parameter.split()[0]}>({taken})" if what == "count" else taken


def message_form(name, carried_by, mode, start, take, functions):
    """The definition of one point-to-point operation on buffers."""
    parameters = functions[name]["parameters"]
    is_exchange = any(argument(p) == "sendtag" for p in parameters)

    def function_of(function, lead, given):
        if function is None:
            return "nullptr"
        own = functions[function]["parameters"]
        taken = ", ".join(given.get(argument(p)) or message_meaning(p, is_exchange)[1] for p in own)
        return f"[]({lead}) {{ return wire::host().{function}({taken}); }}"

    kind, operation = ("Exchange" if is_exchange else ""), f"Operation::{enumerator(name)}"
    has_large_count = "true" if name.endswith("_c") else "false"
    call = f"const p2p::{kind}Call &c"
    if is_exchange:
        form = [operation, has_large_count, function_of(name, call, {})]
    else:
        has_request = any(argument(p) == "request" for p in parameters)
        form = [operation, f"p2p::Mode::k{'None' if mode == '-' else mode.capitalize()}", has_large_count,
                function_of(None if has_request else name, call, {}),
                function_of(start, f"{call}, MPI_Request *r", {"request": "r"}),
                function_of(take, f"{call}, MPI_Message *m, MPI_Request *r", {"message": "m", "request": "r"})]
    return (f"int {operation_name(name)}({', '.join(parameters)}) {{\n"
            f"  if (is_plain_host_traffic()) return wire::host().{name}({', '.join(argument(p) for p in parameters)});\n"
            f"  static constexpr p2p::{kind}Form kForm{{\n      " + ",\n      ".join(form) + "};\n"
            f"  p2p::{kind}Call call(kForm);\n" +
            "".join(f"  {message_meaning(p, is_exchange)[0]}\n" for p in parameters) +
            f"  return p2p::{carried_by}(&call);\n}}\n")
