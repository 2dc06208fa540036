# SPDX-License-Identifier: BSD-3-Clause
"""How `make docs` makes pages of HTML of the documents (Sphinx, MyST). A warning is an error there.

The pages are the guide, and the documents of docs that the guide links to. What the project tracks and is no page, such as
a source or a README outside of docs, stays text on a page; a public header becomes its page of the reference, which Doxygen
puts into the folder `reference` beside these pages.
"""

import pathlib
import re

project = "Sluice"
author = "the Sluice developers"
extensions = ["myst_parser"]
root_doc = "guide/README"
# Of the measurements the page of each, and no recorded output beside it.
exclude_patterns = ["measurements/archive", "measurements/*/[!R]*"]
html_theme = "alabaster"
html_theme_options = {"description": "Makes the MPI that you already have GPU-aware", "page_width": "1200px", "show_powered_by": False}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_title = "Sluice"
html_copy_source = False
html_show_copyright = False
# Headings and links are those of GitHub; a page that stands in no list of pages is found by links.
myst_heading_anchors = 4
suppress_warnings = ["toc.not_included"]

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r"^ *(?:```|~~~)")
NOT_RUN = re.compile(r'not-run="([^"]*)"')
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
HEADER = re.compile(r"include/sluice/(\w+)\.h$")
PLACE = "https://reference.invalid/"  # stands before links to the reference, which write() makes relative


def reference_page(header):
    """Doxygen's name for the page of a header: partition_flags becomes partition__flags_8h."""
    return header.replace("_", "__") + "_8h.html"


def rewritten(document):
    """A function that puts another text into the place of a link which leads to no page."""
    def rewrite(match):
        text, name = match.group(1), match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:", name):
            return match.group(0)
        target = (document.parent / name).resolve()
        header = HEADER.search(str(target))
        if header:
            up = "../" * len(document.relative_to(DOCS).parent.parts)
            return f"[{text}]({PLACE}{up}reference/{reference_page(header.group(1))})"
        if target.is_dir() and (target / "README.md").exists() and DOCS in target.parents:
            return f"[{text}]({name.rstrip('/')}/README.md)"
        is_output = "measurements" in target.parts and target.name != "README.md"
        if DOCS in target.parents and target.suffix == ".md" and "archive" not in target.parts and not is_output:
            return match.group(0)
        return text
    return rewrite


def read(app, docname, source):
    """Looks at each line of a document that is no code. The root gets the list of the guide's pages, for the side bar."""
    document = pathlib.Path(app.env.doc2path(docname))
    fenced, reason, lines = False, None, []
    for line in source[0].split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            reason = NOT_RUN.search(line) if fenced else reason
            lines.append(line)
            if not fenced and reason:
                lines += ["", f"*No test runs this: {reason.group(1)}.*", ""]
        else:
            lines.append(line if fenced else LINK.sub(rewritten(document), line))
    if docname == root_doc:
        pages = list(dict.fromkeys(name.removesuffix(".md") for _, name, _ in LINK.findall(source[0]) if "/" not in name))
        lines += ["```{toctree}", ":hidden:", *pages, "all documents <../README>", "```"]
    source[0] = "\n".join(lines)


def write(app, pagename, templatename, context, doctree):
    """Makes the links to the reference relative, because a browser reads the pages out of a folder."""
    if "body" in context:
        context["body"] = context["body"].replace(PLACE, "")


def finish(app, exception):
    """The page that a browser opens first leads to the guide."""
    if exception is None:
        page = f'<meta http-equiv="refresh" content="0; url={root_doc}.html"><a href="{root_doc}.html">The guide</a>\n'
        pathlib.Path(app.outdir, "index.html").write_text(page)


def setup(app):
    app.connect("source-read", read)
    app.connect("html-page-context", write)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
