# SPDX-License-Identifier: BSD-3-Clause
"""Man pages as reStructuredText, which docutils' rst2man turns into pages."""

import re

import knob_tables

SPECIAL = re.compile(r"([\\*`_|<>\[\]{}])")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def escaped(text):
    """A text none of whose characters means anything to reStructuredText."""
    text = SPECIAL.sub(r"\\\1", " ".join(text.split()))
    text = re.sub(r"::$", r":\\:", text)
    # What is special has its backslash by then.
    return text if text[:1].isalnum() or text.startswith("\\") else "\\" + text


def marked(text):
    """A text of Markdown: code stays code, of a link its words stay."""
    pieces = re.split(r"`([^`]+)`", LINK.sub(r"\1", text))
    return "".join(f"\\ **{escaped_inside(piece)}**\\ " if number % 2 else escaped_inside(piece)
                   for number, piece in enumerate(pieces))


def escaped_inside(text):
    return SPECIAL.sub(r"\\\1", text)


def page(name, section, title, version, body):
    """The whole of a page. `body`: lines."""
    head = ["=" * len(name), name, "=" * len(name), "-" * (2 * len(title) + 2), escaped(title), "-" * (2 * len(title) + 2), "",
            f":Manual section: {section}", ":Manual group: Sluice", f":Version: Sluice {version}", ""]
    return "\n".join([*head, *body]) + "\n"


def headed(title, lines):
    return [title, "=" * len(title), "", *lines, ""] if lines else []


def definition(term, text):
    """`text`: paragraphs."""
    lines = [term]
    for paragraph in text:
        lines += ["    " + paragraph, ""]
    return lines


def paragraphs(text):
    """A text whose paragraphs stand apart; those that are indented or are lists stay as they are."""
    lines = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        rows = block.splitlines()
        if any(re.match(r"\s|\S+( \S+)* {2,}\S", row) for row in rows):
            lines += ["::", "", *("    " + row for row in rows), ""]
        else:
            lines += [escaped(block), ""]
    return lines


def term_of(option):
    """`**-o**, **--output** *FILE*`; an optional value stands behind "="."""
    names = ", ".join(f"**{escaped_inside(name)}**" for name in option.names) or f"*{escaped(option.word)}*"
    if not option.names or not option.word:
        return names
    return names + (f"\\ [=\\ *{escaped(option.word)}*\\ ]" if option.is_value_optional else f" *{escaped(option.word)}*")


def sentence(text):
    """Texts of options begin small and end without a stop, as help has them."""
    text = text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text
    return text if text.endswith((".", "?", "!")) else text + "."


def option_lines(options):
    lines = []
    for option in options:
        text = [escaped(sentence(option.text))] if option.text else []
        listed = [value for value in option.values if not re.search(rf"\b{re.escape(value)}", option.text)]
        if listed:
            text.append("One of " + ", ".join(f"**{escaped_inside(value)}**" for value in option.values) + ".")
        if option.default and option.word:
            text.append(f"Default: **{escaped_inside(option.default)}**.")
        lines += definition(term_of(option), text or ["\\ "])
    return lines


def synopsis(command):
    words = [f"**{escaped_inside(command.path)}**"]
    if command.options:
        words.append("[*options*]")
    if command.commands and not command.tests:
        words.append("*command* [*arguments*]")
    for option in command.words:
        word = f"*{escaped(option.word.lower() if option.word.isupper() and not option.values else option.word)}*"
        words.append((word if option.is_required else f"[{word}]") + ("..." if option.is_repeated else ""))
    if command.runs_command:
        words.append("**--** *command* [*arguments*]")
    return [" ".join(words)]


def page_name(command):
    return command.path.replace(" ", "-")


def command_page(command, version, others):
    """The page of section 1 of a program, or of one of its commands. `others`: pages for SEE ALSO."""
    groups = {}
    for option in command.options:
        groups.setdefault(option.group.rstrip(":"), []).append(option)
    body = headed("SYNOPSIS", synopsis(command))
    body += headed("DESCRIPTION", paragraphs(command.about) if command.about else [escaped(sentence(command.text))])
    body += headed("ARGUMENTS", option_lines(command.words))
    for group, options in groups.items():
        title = "OPTIONS" if group == "Options" else "OPTIONS: " + re.split(r"[,:]", group)[0].upper()
        body += headed(title, option_lines(options))
    commands = [line for one in command.commands
                for line in definition(f"**{one.name()}**", [f"{escaped(sentence(one.text))} **{page_name(one)}**\\ (1)"])]
    body += headed("COMMANDS", commands)
    body += headed("TESTS", [line for name, text in command.tests for line in definition(f"**{escaped_inside(name)}**", [escaped(sentence(text))])])
    if command.footer.startswith("Example: "):
        body += headed("EXAMPLE", ["::", "", "    " + command.footer.removeprefix("Example: ")])
    else:
        body += headed("NOTES", paragraphs(command.footer) if command.footer else [])
    body += headed("ENVIRONMENT", ["Environment variables, which are Sluice's knobs: **sluice**\\ (7)."])
    body += headed("SEE ALSO", [", ".join(f"**{name}**\\ ({section})" for name, section in others)])
    return page(page_name(command), 1, command.text.rstrip("."), version, body)


def introduction(source):
    """What docs/knobs.md says before its tables."""
    text = knob_tables.knobs_page(source).split("\n## ")[0]
    text = re.sub(r"<!--.*?-->|\A# [^\n]*", "", text, flags=re.DOTALL)
    text = re.sub(r"\*(\w+)\*", r"\1", text)
    lines = []
    for block in re.split(r"\n\s*\n", text.strip()):
        for item in re.split(r"^- ", block, flags=re.MULTILINE):
            mark = "- " if block.startswith("- ") else ""
            lines += [mark + marked(" ".join(item.split())), ""] if item.strip() else []
    return lines


def knobs_page(source, version, others):
    """sluice(7): knobs and settings, from the tables that docs/knobs.md is made from."""
    body = headed("DESCRIPTION", introduction(source))
    members = list(knob_tables.knobs(source))
    for group, (title, text) in knob_tables.GROUPS.items():
        lines = [marked(text), ""]
        for _, name, default, values, note, what in (member for member in members if member[0] == group):
            facts = [f"Values: {escaped_inside(values)}.", f"Default: {escaped_inside(default) if default else '(empty)'}."]
            facts += ["A tuning table may set it."] if note == "yes" else [f"{note.capitalize()}."] if note != "no" else []
            lines += definition(f"**{escaped_inside(name)}**", [marked(what), " ".join(facts)])
        body += headed(title.upper(), lines)
    body += headed("SEE ALSO", [", ".join(f"**{name}**\\ ({section})" for name, section in others)])
    return page("sluice", 7, "environment variables and settings of Sluice", version, body)
