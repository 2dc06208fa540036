# SPDX-License-Identifier: BSD-3-Clause
"""side_by_side.py on made-up runs: a small program that writes the JSON of a run with known medians."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "side_by_side.py"
FAKE_RUN = """
import json, sys
median, better, status = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rows = [{"size_bytes": size, "series": [{"name": "direct", "medians": {"median": median * size}},
                                        {"name": "queue", "medians": {"median": 7 * median * size}}]} for size in (1, 100)]
document = {"schema": "sluice-bench", "schema_version": 1, "test": "latency", "rows": rows,
            "metric": {"unit": "us", "better": better}}
json.dump(document, open(sys.argv[sys.argv.index("--json") + 1], "w"))
print("it broke", file=sys.stderr)
sys.exit(status)
"""


class SideBySideTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "fake.py").write_text(FAKE_RUN, encoding="utf-8")

    def fake(self, median, better="lower", status=0):
        return f"{sys.executable} {self.folder / 'fake.py'} {median} {better} {status}"

    def compare(self, a, b, *options):
        return subprocess.run([sys.executable, str(SCRIPT), "--a", a, "--b", b, "--repeat", "2", *options],
                              capture_output=True, text=True, check=False)

    def test_prints_ratio_and_difference(self):
        path = self.folder / "out.json"
        done = self.compare(self.fake(2.0), self.fake(3.0), "--json", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        self.assertEqual([row["size_bytes"] for row in rows], [1, 100])
        self.assertAlmostEqual(rows[1]["ratio"]["median"], 1.5)
        self.assertAlmostEqual(rows[1]["difference"], 100.0)
        self.assertIn("1.500", done.stdout)

    def test_compares_the_series_of_a_name(self):
        done = self.compare(self.fake(2.0), self.fake(3.0), "--series", "queue")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("14.000", done.stdout)
        self.assertIn("21.000", done.stdout)
        done = self.compare(self.fake(2.0), self.fake(3.0), "--series", "none-such")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row has a series none-such", done.stderr)

    def test_judges_by_the_larger_limit(self):
        # 1 byte: 0.1 us extra; 100 bytes: 10 us extra, which is 5 %.
        limits = ("--limit-us", "0.15", "--limit-percent")
        self.assertEqual(self.compare(self.fake(2.0), self.fake(2.1), *limits, "6").returncode, 0)
        done = self.compare(self.fake(2.0), self.fake(2.1), *limits, "4")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("beyond"), 1)

    def test_takes_less_as_worse_for_bandwidth(self):
        limit = ("--limit-percent", "3")
        self.assertEqual(self.compare(self.fake(2, "higher"), self.fake(1, "higher"), *limit).returncode, 1)
        self.assertEqual(self.compare(self.fake(1, "higher"), self.fake(2, "higher"), *limit).returncode, 0)

    def test_says_why_when_a_run_fails(self):
        done = self.compare(self.fake(1), self.fake(1, status=3))
        self.assertEqual(done.returncode, 2)
        self.assertIn("exit status 3: it broke", done.stderr)
        self.assertEqual(self.compare(self.fake(1), "/nowhere/program").returncode, 2)
        self.assertIn("no JSON", self.compare(self.fake(1), "true").stderr)
        self.assertIn("different", self.compare(self.fake(1), self.fake(1, "higher")).stderr)


if __name__ == "__main__":
    unittest.main()
