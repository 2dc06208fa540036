# SPDX-License-Identifier: BSD-3-Clause
"""A script of bench on a stand-in for tests/launch, for the script's tests. Needs no MPI."""

import pathlib
import subprocess
import sys
import tempfile
import unittest


class StandInCase(unittest.TestCase):
    """`script` is the script's path, and `launch_text` the stand-in, in which {python} is replaced: both the class's."""
    script = launch_text = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.launch = self.folder / "launch"
        self.launch.write_text(self.launch_text.format(python=sys.executable), encoding="utf-8")
        self.launch.chmod(0o755)

    def measure(self, *options):
        """Runs the script, with its results in `folder`/out."""
        return subprocess.run([sys.executable, str(self.script), "--launch", str(self.launch), "--out", str(self.folder / "out"), *options],
                              capture_output=True, text=True, check=False)
