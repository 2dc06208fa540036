# SPDX-License-Identifier: BSD-3-Clause
"""measure_host on a stand-in for tests/launch, which writes the JSON of a run with known figures. Needs no MPI."""

import json
import pathlib
import unittest

from stand_in import StandInCase

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "measure_host"
FAKE_LAUNCH = """#!{python}
import json, sys
words = sys.argv
if "ibcast" in words:
    sys.exit("no such collective")
is_b = any(word in ("SLUICE_QUEUE_ENGINE=dwq", "SLUICE_PROGRESS_THREAD=1") for word in words)
rows = [{{"size_bytes": 8, "series": [{{"name": "queue", "medians": {{"median": 30 if is_b else 20}}}}],
         "extras": {{"overlap_percent": 90 if is_b else 10}}}}]
document = {{"schema": "sluice-bench", "schema_version": 2, "mpi": {{"library": "an MPI\\nof many lines"}}, "commit": "abc", "version": "1", "rows": rows}}
json.dump(document, open(words[words.index("--json") + 1], "w"))
"""


class MeasureHostTest(StandInCase):
    script = SCRIPT
    launch_text = FAKE_LAUNCH

    def measure(self, *options):
        return super().measure("--rounds", "3", *options)

    def test_prints_times_and_their_ratio(self):
        done = self.measure("--only", "dwq")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("; an MPI; commit abc; medians of 3 runs", done.stdout)
        self.assertIn("EMULATED", done.stdout)
        self.assertIn("| queue_latency | 8 | 20 [20..20] | 30 [30..30] | 1.50 [1.50..1.50] |", done.stdout)
        document = json.loads((self.folder / "out/measure_host.json").read_text(encoding="utf-8"))
        self.assertEqual(document["results"][0]["rows"], [{"size_bytes": 8, "a": [20] * 3, "b": [30] * 3}])
        self.assertIn("SLUICE_NETWORK=ofi:sockets", document["results"][0]["commands"][1])

    def test_names_what_failed_and_goes_on(self):
        done = self.measure("--only", "overlap")
        self.assertEqual(done.returncode, 1)
        self.assertIn("measure_host: overlap, ibcast: ", done.stderr)
        self.assertIn("no such collective", done.stderr)
        self.assertIn("| iallreduce | 8 | 10 [10..10] | 90 [90..90] |", done.stdout)

    def test_refuses_what_it_does_not_know(self):
        self.assertEqual(self.measure("--only", "weather").returncode, 2)
        self.assertEqual(self.measure("--rounds", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
