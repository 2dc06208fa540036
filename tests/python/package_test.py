# SPDX-License-Identifier: BSD-3-Clause
"""The package `sluice` without a library in the process, and with a made-up installation."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import sluice  # noqa: E402  (found through the line above)


class PackageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        for name in ("bin", "lib", "include"):
            (self.prefix / name).mkdir()
        (self.prefix / "lib/libsluice_mpich.so").touch()
        program = self.prefix / "bin/sluice"
        program.write_text('#!/bin/sh\nprintf "%s," "$@"\n')
        program.chmod(0o755)

    def at_home(self, **environment):
        return unittest.mock.patch.dict(os.environ, environment)

    def test_files_of_an_installation(self):
        for environment in ({"SLUICE_PREFIX": str(self.prefix)}, {"SLUICE_PREFIX": "", "PATH": f"/nowhere:{self.prefix}/bin"}):
            with self.at_home(**environment):
                self.assertEqual(sluice.get_include(), str(self.prefix / "include"))
                self.assertEqual(sluice.library_path("mpich"), str(self.prefix / "lib/libsluice_mpich.so"))
                with self.assertRaisesRegex(FileNotFoundError, "libsluice_ompi.so is missing"):
                    sluice.library_path("ompi")
                with self.assertRaisesRegex(ValueError, "no binary interface; they are mpich, ompi, abi"):
                    sluice.library_path("other")

    def test_no_installation(self):
        with self.at_home(SLUICE_PREFIX="/nowhere", PATH="/nowhere"), self.assertRaisesRegex(FileNotFoundError, "PATH"):
            sluice.get_include()

    def test_run_hands_words_on(self):
        with self.at_home(SLUICE_PREFIX=str(self.prefix)):
            done = sluice.run(["program", 4], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "run,program,4,"))

    def test_without_the_library(self):
        self.assertFalse(sluice.is_enabled())
        self.assertFalse(sluice.takes_memory_of("some"))
        self.assertEqual(sluice.routes(), {})


if __name__ == "__main__":
    unittest.main()
