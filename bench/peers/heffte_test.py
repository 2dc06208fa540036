# SPDX-License-Identifier: BSD-3-Clause
"""Tests of heffte.py, on a source that is a few lines and programs that say what they are told to."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from peers import heffte  # noqa: E402

GOOD = "Time per run: 0.25 (s)\nTolerance:    1e-11\nMax error:    1.7e-14\n"


class OutputTest(unittest.TestCase):
    def test_a_checked_run_has_its_seconds(self):
        self.assertEqual(heffte.seconds_of(GOOD), 0.25)

    def test_an_unchecked_run_or_a_wrong_result_has_none(self):
        with self.assertRaises(heffte.HeffteError):
            heffte.seconds_of(GOOD.replace("Max error", "(no error checking)"))
        with self.assertRaisesRegex(heffte.HeffteError, "exceeds the tolerance"):
            heffte.seconds_of(GOOD + "ERROR: observed error after heFFTe benchmark exceeds the tolerance\n")
        with self.assertRaisesRegex(heffte.HeffteError, "no output"):
            heffte.seconds_of("")


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def test_config_has_what_is_wanted_and_no_more(self):
        (self.root / "include").mkdir()
        (self.root / "CMakeLists.txt").write_text('project("Heffte" VERSION 1.2.3 LANGUAGES CXX)', encoding="utf-8")
        text = "#define V @Heffte_VERSION_MINOR@\n#cmakedefine Heffte_ENABLE_FFTW\n#cmakedefine Heffte_ENABLE_CUDA\n"
        (self.root / "include/heffte_config.cmake.h").write_text(text, encoding="utf-8")
        self.assertEqual(heffte.write_config(self.root, True), "1.2.3")
        made = (self.root / "include/heffte_config.h").read_text(encoding="utf-8")
        self.assertEqual(made.split(), ["#define", "V", "2", "#define", "Heffte_ENABLE_CUDA"])
        heffte.write_config(self.root, False)
        self.assertNotIn("ENABLE", (self.root / "include/heffte_config.h").read_text(encoding="utf-8"))

    def test_a_folder_that_is_no_source_is_named(self):
        with self.assertRaisesRegex(heffte.HeffteError, "no source of heFFTe"):
            heffte.export_source(self.root / "nothing", self.root / "out")

    def test_programs_of_others_get_their_own_words_only(self):
        for name in ("ours/lib/libsluice_mpich.so", "mpich/bin/mpiexec", "mpich/lib/x", "openmpi/bin/mpirun", "openmpi/lib/x",
                     "ucx/libucx/lib/x"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        site = heffte.HeffteSite(self.root, "mpich", {"mpich": self.root / "a", "ompi": self.root / "b"})
        for side in heffte.gpu_sides("cuda"):
            words = heffte.command_on_site(site, side, ["cufft", *side.words], 4)
            folder = "b" if side.program == "ucx" else "a"
            self.assertEqual(words[-2 - len(side.words):], [f"{self.root}/{folder}/speed3d_c2c", "cufft", *side.words])
            self.assertEqual(words[words.index("-n") + 1], "4")
            self.assertEqual(any("libsluice" in word for word in words), side.program == "sluice")

    def test_table_compares_with_the_first_side(self):
        sides = heffte.gpu_sides("cuda")[:3]
        about = {"heffte": "1", "size": 8, "precision": "double", "ranks": 2, "rounds": 3, "machine": "m."}
        page = heffte.table({sides[0].label: [1e-3, 2e-3, 3e-3], sides[1].label: [4e-3]}, {sides[2].label: "why"}, sides, about)
        self.assertIn("| 2.000 [1.000, 3.000] | 1.00 × |", page)
        self.assertIn("| 4.000 [4.000, 4.000] | 2.00 × |", page)
        self.assertIn(f"| {sides[2].label} | why | |", page)


if __name__ == "__main__":
    unittest.main()
