# SPDX-License-Identifier: BSD-3-Clause
"""Turns texts in reStructuredText into man pages, with docutils; rst2man's interpreter runs it, for all pages at once.

Standard input: a JSON list of the texts. Standard output: one of the pages.
"""

import json
import sys

from docutils.core import publish_string
from docutils.utils import SystemMessage
from docutils.writers import manpage

SETTINGS = {"halt_level": 2, "report_level": 2, "output_encoding": "unicode", "datestamp": None, "generator": None}

if __name__ == "__main__":
    try:
        json.dump([publish_string(text, writer=manpage.Writer(), settings_overrides=SETTINGS) for text in json.load(sys.stdin)],
                  sys.stdout)
    except SystemMessage as error:
        sys.exit(str(error))
