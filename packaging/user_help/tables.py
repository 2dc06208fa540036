# SPDX-License-Identifier: BSD-3-Clause
"""The options of a program, read from the program's own table: `--describe-options` of a program in C++
(packaging/option_table.hpp), the ArgumentParser of a script."""

import argparse
import dataclasses
import json
import pathlib
import re
import runpy
import subprocess
import sys
from unittest import mock

# "all | some | none: untimed iterations" and "Operation of reductions: sum, max, min (default sum)".
WORDS_BEFORE = re.compile(r"(\w+(?: \| \w+)+): ")
WORDS_BEHIND = re.compile(r"[^:]+: ((?:\w+, )+\w+(?: or \w+)?) \(default")
SET = re.compile(r"\{([^{}]*)\}")
FOLDERS, FILES = ("DIR",), ("FILE", "PATH", "JSON")


@dataclasses.dataclass
class Option:
    """An option or, without names, a word that stands for itself."""
    names: list
    text: str
    word: str = ""  # what stands for the value, "FILE"; empty: a flag
    values: list = dataclasses.field(default_factory=list)
    default: str = ""
    is_value_optional: bool = False
    is_required: bool = False
    is_repeated: bool = False
    group: str = "Options"

    def takes(self):
        """file, folder, values, text, or none."""
        if not self.word:
            return "none"
        if self.values:
            return "values"
        return "folder" if self.word in FOLDERS else "file" if self.word in FILES else "text"


@dataclasses.dataclass
class Command:
    """A program or one of its commands; `path` is how it is called, "sluice trace merge"."""
    path: str
    text: str
    options: list
    words: list  # Options without names, in their order
    commands: list = dataclasses.field(default_factory=list)
    footer: str = ""
    about: str = ""  # what a page says in the place of `text`
    runs_command: bool = False  # what stands behind "--" is another command
    tests: list = dataclasses.field(default_factory=list)  # (name, text) of words that may stand first

    def name(self):
        return self.path.split()[-1]

    def all(self):
        """This one and those below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def values_in(kind, text):
    """The values that an option's type or text lists."""
    if found := SET.search(kind):
        return found[1].split(",")
    if found := WORDS_BEFORE.match(text):
        return found[1].split(" | ")
    if found := WORDS_BEHIND.match(text):
        return re.split(", | or ", found[1])
    return []


def option_of(entry, backends):
    takes_value = entry["max_words"] > 0 or bool(entry["given"])
    kind = entry["type"]
    word = re.split(r"[:{ ]", kind)[0] or "VALUE"
    if word == "TEXT":
        long_names = [name for name in entry["names"] if name.startswith("--")]
        word = (entry["positional"] or long_names[0]).lstrip("-").upper().replace("-", "_")
    option = Option(entry["names"], entry["text"], word if takes_value else "", values_in(kind, entry["text"]) if takes_value else [],
                    entry["default"], entry["min_words"] == 0 and takes_value, entry["is_required"], entry["max_words"] > 1,
                    entry["group"])
    return with_backends(option, backends)


def with_backends(option, backends):
    """Where an option takes the name of a backend, those of this build are its values. `backends`: the names by that word."""
    option.values = backends.get(option.word, option.values)
    return option


class Captured(Exception):
    """Holds the parser of a script that is about to read its command line."""


def parser_of(script):
    """The ArgumentParser of a script, which does no more than make it."""
    def capture(parser, *_, **__):
        raise Captured(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_args", capture), \
            mock.patch.object(argparse.ArgumentParser, "parse_known_args", capture), \
            mock.patch.object(sys, "argv", [str(script)]), mock.patch.object(sys, "path", list(sys.path)):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except Captured as captured:
            return captured.args[0]
    raise ValueError(f"{script} makes no ArgumentParser")


def read_script(path, script, backends):
    """The command `path` that is a script."""
    parser = parser_of(script)
    command = Command(path, parser.description.strip().splitlines()[0], [], [], about=parser.description)
    for action in parser._actions:  # argparse has no public way to them
        is_flag = action.nargs == 0
        word = action.metavar or action.dest.upper()
        values = [str(value) for value in action.choices or []]
        is_path = action.type is pathlib.Path or action.dest in ("json", "a", "b")
        path_word = "DIR" if "folder" in (action.help or "").lower() else "FILE"
        option = Option(list(action.option_strings), action.help or "",
                        "" if is_flag else path_word if is_path and word == action.dest.upper() else word, values,
                        is_required=action.required, is_repeated=action.nargs in ("+", "*"))
        (command.options if option.names else command.words).append(with_backends(option, backends))
    return command


def brief(text):
    """The text of a command without how it is called, which a synopsis tells."""
    return re.sub(r": sluice .*|^sluice-bench: ", "", text)


def command_of(table, above, scripts, backends):
    path = f"{above} {table['name']}".strip()
    if table["is_script"]:
        found = read_script(path, scripts[path], backends)
        found.text = brief(table["text"])
        return found
    # An option without a group is in no help text.
    options = [option_of(entry, backends) for entry in table["options"] if entry["group"]]
    return Command(path, brief(table["text"]), [option for option in options if option.names],
                   [option for option in options if not option.names],
                   [command_of(command, path, scripts, backends) for command in table["commands"]], table["footer"],
                   runs_command="-- command" in table["text"])


def read_program(program, name, scripts, backends):
    """All of a program, named as its user calls it. `scripts`: the file of each command that is a script, by its path."""
    done = subprocess.run([program, "--describe-options"], capture_output=True, text=True, check=True)
    table = json.loads(done.stdout)
    table["name"] = name
    found = command_of(table, "", scripts, backends)
    found.tests = [(test["name"], test["text"]) for test in table.get("tests", [])]
    known = {command.path for command in found.all()}
    found.commands += [read_script(path, script, backends) for path, script in scripts.items()
                       if path not in known and path.startswith(f"{name} ")]
    return found
