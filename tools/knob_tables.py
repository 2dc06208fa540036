# SPDX-License-Identifier: BSD-3-Clause
"""The tables of knobs and settings (src/base/knobs.def, src/base/settings.def, backends/*/knobs.def), and docs/knobs.md.

tools/generate_docs writes the page, and packaging/user_help makes sluice(7) of the same.
"""

import re
import sys
import textwrap

# A knob or a setting in a table: MACRO(argument, ...); the arguments are names and C strings, in pieces or whole. Or the
# line above the knobs of a group.
ENTRY = re.compile(r"^(\w*(?:KNOB|SETTING))\((.*?)\)\s*$|^// Group (\w+): ", re.MULTILINE | re.DOTALL)
ARGUMENT = re.compile(r'\s*((?:"(?:\\.|[^"\\])*"\s*)+|[^,"]+)\s*(?:,|$)')
FIRST_SENTENCE = re.compile(r"(.*?\.)(?:\s+(.*))?$")
MOST = 120  # characters of a line and of a cell
MOST_OF_LIBRARY, MOST_OF_BACKEND = 25, 4  # knobs; CONTRIBUTING.md

GROUPS = {
    "daily": ("Daily", "What a user sets."),
    "debugging": ("Debugging", "Switches of single mechanisms, for finding out which one is at fault; knobs of tests."),
    "settings": ("Settings", "Thresholds and limits, which have a name and no variable: `SLUICE_TUNING=name=value,...` gives them "
                 'values. A tuning table may set those with "yes" under "table"; `sluice tune` measures a machine and writes such '
                 "a table ([tuning.md](tuning.md)). A value of `SLUICE_TUNING` goes before a table, a table before the default."),
}


def arguments(text):
    result = []
    for match in ARGUMENT.finditer(text):
        word = match.group(1).strip()
        pieces = re.findall(r'"((?:\\.|[^"\\])*)"', word)
        result.append("".join(pieces).replace('\\"', '"') if pieces or word.startswith('"') else word)
    return result


def entries(file, group=""):
    """Group and arguments of each knob of a table, in order. Comments are left out, but for the lines of groups."""
    text = re.sub(r"^\s*//(?! Group ).*$", "", file.read_text(), flags=re.MULTILINE)
    found = []
    for match in ENTRY.finditer(text):
        if match.group(3):
            group = match.group(3)
            if group not in GROUPS:
                sys.exit(f"{file}: there is no group {group}; there are {', '.join(GROUPS)}")
        elif not group:
            sys.exit(f"{file}: a line \"// Group NAME: ...\" is missing above {match.group(0).splitlines()[0]}")
        else:
            found.append((group, arguments(match.group(2))))
    return found


def code(text):
    return f"`{text}`".replace("|", "\\|") if text else "(empty)"


def plain(text):
    return text.replace("|", "\\|")


def few(file, most):
    """The entries of a table of knobs, of which there are no more than that."""
    found = entries(file)
    if len(found) > most:
        sys.exit(f"{file}: {len(found)} knobs, at most {most}; a threshold or a limit is a setting or a constant (CONTRIBUTING.md)")
    return found


def knobs(source):
    """Each knob and setting as (group, name, default, values, note, text); the note is what stands in the fourth column."""
    for group, (name, _, default, values, stability, text) in few(source / "src/base/knobs.def", MOST_OF_LIBRARY):
        yield group, name, default, values, stability, text
    for group, (name, _, default, values, tunable, text) in entries(source / "src/base/settings.def", "settings"):
        yield group, name, default, values, "yes" if tunable == "true" else "no", text
    for file in sorted((source / "backends").glob("*/knobs.def")):
        backend = file.parent.name
        if backend.startswith("_"):
            continue
        for group, (name, default, values, text) in few(file, MOST_OF_BACKEND):
            note = "experimental" if "Experimental: " in text else "stable" if group == "daily" else "debug"
            yield group, f"SLUICE_{backend.upper()}_{name}", default, values or "any text", note, text


def wrapped(indent, text):
    return textwrap.wrap(text, MOST, initial_indent=indent + "- ", subsequent_indent=indent + "  ",
                         break_long_words=False, break_on_hyphens=False)


def note_lines(name, values, text):
    """What a text says behind its first sentence: general sentences first, then an item for each value."""
    general, items = [], []
    for sentence in re.split(r"(?<=\.)\s+", text):
        begin = re.match(r"([\w.]+)(,[^:]*)?: ", sentence)
        if begin and (begin.group(1) in [*re.split(r"[|,]", values), "Empty"] or begin.group(1).isdigit()):
            value = "empty" if begin.group(1) == "Empty" else f"`{begin.group(1)}`"
            items.append([value + (begin.group(2) or "") + ": " + sentence[begin.end():]])
        else:
            (items[-1] if items else general).append(sentence)
    lines = wrapped("", " ".join([f"`{name}`:", *general]))
    for item in items:
        lines += wrapped("  ", " ".join(item))
    return lines


def group_section(group, members):
    """The lines of a group: a table with the first sentence of each knob, then a list with the other sentences."""
    title, sentence = GROUPS[group]
    table, notes = [], []
    for name, default, values, note, text in members:
        first, rest = FIRST_SENTENCE.match(text).groups()
        if len(first) > MOST:
            sys.exit(f"{name}: the first sentence has {len(first)} characters; at most {MOST}")
        table.append(f"| `{name}` | {code(default)} | {plain(values)} | {note} | {plain(first)} |")
        if rest:
            notes += note_lines(name, values, rest)
    column = "table" if group == "settings" else "stability"
    head = [f"| {'setting' if group == 'settings' else 'knob'} | default | values | {column} | what it does |", "| --- | --- | --- | --- | --- |"]
    return ["", f"## {title}", "", *textwrap.wrap(sentence, MOST), "", *head, *table, "", *notes]


def knobs_page(source):
    lines = ["# Knobs", "",
             "<!-- Generated by tools/generate_docs from src/base/knobs.def, src/base/settings.def and",
             "     backends/*/knobs.def: change these files, then run `make generate`. -->", "",
             'Knobs are environment variables. Most programs need none of them. Those under "Daily" are for users; the',
             "others are for whoever looks for a fault. Settings have no variable of their own: one knob, `SLUICE_TUNING`,",
             "gives them values, and tuning tables do.", "",
             "- Sluice reads the knobs once, when the first MPI call is made.",
             "- Sluice reports a wrong value with the values that are allowed, and keeps the default.",
             "- Sluice reports an unknown name that begins with `SLUICE_`.",
             "- `sluice info` shows the values in force and where each came from.",
             "- Sizes take K, M or G, in powers of 1024. Times take ns, us, ms or s. Counts, and the numbers of backends,",
             "  take neither.",
             "- Values with commas stand for any list of those words.", "",
             "A *stable* knob keeps its name and meaning. A *debug* knob may go away. No device has run what is *experimental*.",
             "Of a backend's knobs the daily ones are stable. A setting may get another default, and may go away."]
    all_knobs = list(knobs(source))
    for group in GROUPS:
        lines += group_section(group, [knob[1:] for knob in all_knobs if knob[0] == group])
    return "\n".join(lines) + "\n"
