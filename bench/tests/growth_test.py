# SPDX-License-Identifier: BSD-3-Clause
"""growth on a stand-in for tests/launch, which prints what a job of that size would. Needs no MPI."""

import json
import pathlib
import unittest

from stand_in import StandInCase

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "growth"
# With the library a step takes three times as long, and MPI_Init 10 KiB and 100 bytes a rank more.
FAKE_LAUNCH = """#!{python}
import json, sys
words = sys.argv
n_ranks, has_library = int(words[words.index("-n") + 1]), "--sluice" in words
if "broken" in words:
    sys.exit("no such MPI")
steps = ["MPI_Init", "MPI_Comm_dup", "MPI_Comm_split", "first MPI_Allreduce", "second MPI_Allreduce", "first in a half",
         "further dups", "MPI_Comm_free"]
line = {{"ranks": n_ranks, "descriptors": 30 + has_library, "mappings": 200, "threads": 2}}
for step in steps:
    more = 10240 + 100 * n_ranks if has_library and step == "MPI_Init" else 0
    line[step] = {{"us": 30.0 if has_library else 10.0, "bytes": 4096 + more}}
print("something else")
print(json.dumps(line))
"""


class GrowthTest(StandInCase):
    script = SCRIPT
    launch_text = FAKE_LAUNCH

    def test_prints_ratios_and_the_line_that_fits(self):
        done = self.measure("--ranks", "2,10", "--rounds", "3", "--backends", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("### mpich4, backends none", done.stdout)
        self.assertIn("| MPI_Comm_dup | 3.00 [3.00..3.00] | 3.00 [3.00..3.00] |", done.stdout)
        self.assertIn("| MPI_Init | 10 [10..10] | 11 [11..11] | 10 KiB + 100 B |", done.stdout)
        self.assertIn("| descriptors more | 1 | 1 | |", done.stdout)
        document = json.loads((self.folder / "out/growth.json").read_text(encoding="utf-8"))
        self.assertEqual([row["ranks"] for row in document[0]["rows"]], [2, 10])
        self.assertEqual(len(document[0]["rows"][0]["pairs"]), 3)

    def test_names_what_failed_and_goes_on(self):
        done = self.measure("--ranks", "2", "--rounds", "1", "--backends", "broken,none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such MPI", done.stdout)
        self.assertIn("### mpich4, backends none", done.stdout)

    def test_refuses_what_it_does_not_know(self):
        self.assertEqual(self.measure("--mpi", "weather").returncode, 2)
        self.assertEqual(self.measure("--ranks", "1").returncode, 2)
        self.assertEqual(self.measure("--rounds", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
