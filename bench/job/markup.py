# SPDX-License-Identifier: BSD-3-Clause
"""HTML and SVG out of Python alone, and numbers as text. Whatever stands in a file becomes text, and never markup."""

import re
from xml.etree import ElementTree

SPACE = "\u202f"  # narrow, does not break


def element(tag, *children, **attributes):
    """An element; a child is text, an element, a list of them, or None. class_ is the attribute class."""
    made = ElementTree.Element(tag, {name.rstrip("_").replace("_", "-"): str(value)
                                     for name, value in attributes.items()})
    append(made, children)
    return made


def append(made, children):
    for child in children:
        if isinstance(child, ElementTree.Element):
            made.append(child)
        elif isinstance(child, str):
            if len(made):
                made[-1].tail = (made[-1].tail or "") + child
            else:
                made.text = (made.text or "") + child
        elif child is not None:
            append(made, child)


def marked(text):
    """Text whose words between backticks are code, and whose addresses are links."""
    pieces = []
    for piece in re.split(r"(`[^`]+`|https://[\w./-]*\w)", text):
        if piece.startswith("`"):
            pieces.append(element("code", piece[1:-1]))
        elif piece.startswith("https://"):
            pieces.append(element("a", piece, href=piece))
        else:
            pieces.append(piece)
    return pieces


def number(value):
    return f"{value:,}".replace(",", SPACE)


def short(value):
    """Three digits."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def size(value):
    for unit, n_bytes in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= n_bytes:
            return f"{short(value / n_bytes)}{SPACE}{unit}"
    return f"{value:.0f}{SPACE}B"


def duration(nanoseconds):
    for unit, n_nanoseconds in (("s", 1e9), ("ms", 1e6), ("\u00b5s", 1e3)):
        if nanoseconds >= n_nanoseconds:
            return f"{short(nanoseconds / n_nanoseconds)}{SPACE}{unit}"
    return f"{nanoseconds:.0f}{SPACE}ns" if nanoseconds else f"0{SPACE}ms"


def percent(part, whole):
    value = 100 * part / whole
    if 0 < value < 1:
        return f"less than 1{SPACE}%"
    # What is not all of it is not called so.
    return f"{min(round(value), 99) if part < whole else 100}{SPACE}%"


def plural(n, noun):
    return f"{number(n)} {noun}{'' if n == 1 else 's'}"


def listed(texts):
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def page(title, style, *children):
    head = element("head", element("meta", charset="utf-8"),
                   element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                   element("title", title), element("style", style))
    whole = element("html", head, element("body", *children), lang="en")
    text = ElementTree.tostring(whole, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}\n"
