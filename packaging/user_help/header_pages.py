# SPDX-License-Identifier: BSD-3-Clause
"""Man pages of section 3: one for each group of functions of the public headers, from the headers' comments.

A group is what stands in a header without a blank line between: functions of one comment, and those whose comments say
"... says how". Doxygen reads the same comments for `make docs`. Its man pages are one for each header, and run the rules
in a header's first comment into one paragraph; so the comments are read here. ci/reference has Doxygen find each function.
"""

import dataclasses
import re

from user_help.man_pages import definition, escaped, escaped_inside, headed, page

HEADERS = ("sluice.h", "queue.h", "enqueue.h", "partitioned.h", "partition_flags.h")
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
FUNCTION = re.compile(r"(?:^|[\s*])((?:sluice|MPIX)_\w+)\((?!\))[^;{]*\)\s*(?:;|\{)|\b(sluice_\w+)\(void\);", re.DOTALL)
# The comment of a declaration, and the declaration.
ENTRY = re.compile(r"/\* (?P<text>(?:(?!\*/).)*?) ?\*/\n(?P<code>(?:(?!\n\n|\n/\*|\n#).)+)", re.DOTALL)
RULES = re.compile(r"^ \* (Rules for [^\n]*)\n(.*?)\Z", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Function:
    name: str
    declaration: str
    text: str


def comment_text(comment):
    """Lines of a comment without its frame."""
    return [re.sub(r"^ \*( |$)", "", line) for line in comment.splitlines()]


def first_comment(source):
    """The paragraphs of the comment that begins a header, and the rules that stand in it as (word, text)."""
    text = COMMENT.search(source)[1]
    rules = RULES.search(text)
    about = "\n".join(comment_text(text[:rules.start()] if rules else text)[1:])
    found = []
    for line in comment_text(rules[2]) if rules else []:
        if match := re.match(r"  (\w+) +(\S.*)", line):
            found.append([match[1], match[2]])
        elif found and line.strip():
            found[-1][1] += " " + line.strip()
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", about.strip())], found


def groups_of(source):
    """Yields the functions of each group."""
    body = source[COMMENT.search(source).end():]
    group = []
    for chunk in re.split(r"\n\s*\n", body):
        functions = [Function(name[1] or name[2], match["code"].split("{")[0].strip().rstrip(";") + ";",
                              " ".join(" ".join(comment_text(match["text"])).split()))
                     for match in ENTRY.finditer(chunk) if (name := FUNCTION.search(match["code"]))]
        if not functions:
            continue
        if group and not functions[0].text.startswith("The same "):
            yield group
            group = []
        group += functions
    if group:
        yield group


def sentences(text):
    """The text as paragraphs: errors stand by themselves."""
    parts = re.split(r"(?<=\.) (?=Errors: )", text)
    return [escaped(part) for part in parts]


def title_of(function):
    """What a list of pages says of a function: the beginning of the comment's first sentence."""
    first = re.split(r"(?<!\be\.g)[.:;](?:\s|$)", function.text)[0]
    first = re.sub(r" \([^()]*\)", "", first)
    return re.sub(r"[`*]", "", first[:1].lower() + first[1:] if not first[1:2].isupper() else first)


def declaration_lines(functions):
    lines = []
    for function in functions:
        lines += function.declaration.replace("SLUICE_PARTITION_FUNCTION ", "").splitlines()
    return lines


def group_page(header, functions, version, beside):
    """The page of a group. `beside`: names of the header's other groups."""
    about, rules = header["about"], header["rules"]
    code = [f"#include <sluice/{header['name']}>", "", *declaration_lines(functions)]
    body = headed("SYNOPSIS", ["::", "", *("    " + line for line in code)])
    told = []
    for function in functions:
        told += definition(f"**{escaped_inside(function.name)}**\\ ()", sentences(function.text))
    body += headed("DESCRIPTION", told)
    body += headed("RULES FOR ALL FUNCTIONS OF THIS HEADER",
                   [line for word, text in rules for line in definition(f"**{word}**", [escaped(text)])])
    body += headed("NOTES", [line for part in about for line in (escaped(part), "")])
    body += headed("SEE ALSO", [", ".join(f"**{escaped_inside(name)}**\\ ({section})" for name, section in
                                          [*((name, 3) for name in beside), ("sluice", 1), ("sluice", 7)])])
    return page(functions[0].name, 3, title_of(functions[0]), version, body)


def header_pages(source, version):
    """Yields the name of each page, its text, and the other names that it has."""
    for name in HEADERS:
        text = (source / "include/sluice" / name).read_text(encoding="utf-8")
        about, rules = first_comment(text)
        header = {"name": name, "about": about, "rules": rules}
        groups = list(groups_of(text))
        for functions in groups:
            beside = [group[0].name for group in groups if group is not functions]
            yield (functions[0].name, group_page(header, functions, version, beside),
                   [function.name for function in functions[1:]])
