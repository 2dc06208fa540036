# SPDX-License-Identifier: BSD-3-Clause
"""compare_runs.py on made-up results with known medians and intervals."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "compare_runs.py"


def run_of(blocks, better="lower", test="latency", size=8, status="ok"):
    """A run with one size; blocks: (median, low, high) of each."""
    texts = [{"median": median, "median_interval": [low, high]} for median, low, high in blocks]
    middle = sorted(block[0] for block in blocks)[len(blocks) // 2]
    return {"schema": "sluice-bench", "schema_version": 1, "test": test, "status": status, "error": "it broke",
            "metric": {"unit": "us", "better": better},
            "rows": [{"size_bytes": size,
                      "series": [{"name": "direct", "blocks": texts, "medians": {"median": middle}}]}]}


class CompareRunsTest(unittest.TestCase):
    def compare(self, a, b, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("a.json", "b.json")]
            for path, run in zip(paths, (a, b)):
                path.write_text(json.dumps(run), encoding="utf-8")
            return subprocess.run([sys.executable, str(SCRIPT), *map(str, paths), *options], capture_output=True,
                                  text=True, check=False)

    def test_worse_needs_intervals_apart(self):
        a = run_of([(10, 9, 11)])
        self.assertEqual(self.compare(a, run_of([(12, 10.5, 13)])).returncode, 0)
        done = self.compare(a, run_of([(12, 11.5, 13)]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("worse", done.stdout)
        self.assertIn("better", self.compare(a, run_of([(5, 4, 6)])).stdout)

    def test_limits_forgive_small_differences(self):
        a, b = run_of([(10, 9.9, 10.1)]), run_of([(10.3, 10.2, 10.4)])
        self.assertEqual(self.compare(a, b).returncode, 1)
        self.assertEqual(self.compare(a, b, "--limit-percent", "5").returncode, 0)
        self.assertEqual(self.compare(a, b, "--limit-us", "0.5").returncode, 0)

    def test_takes_less_as_worse_for_rates(self):
        a, b = run_of([(10, 9, 11)], "higher"), run_of([(5, 4, 6)], "higher")
        self.assertEqual(self.compare(a, b).returncode, 1)
        self.assertEqual(self.compare(b, a).returncode, 0)

    def test_uses_medians_of_blocks_when_there_are_several(self):
        a = run_of([(10, 1, 99), (11, 1, 99)])
        self.assertEqual(self.compare(a, run_of([(12, 1, 99), (13, 1, 99)])).returncode, 1)
        self.assertEqual(self.compare(a, run_of([(10.5, 1, 99), (13, 1, 99)])).returncode, 0)

    def test_compares_folders_file_by_file(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for side, median in (("a", 10), ("b", 20)):
                (folder / side).mkdir()
                (folder / side / "one.json").write_text(json.dumps(run_of([(10, 9, 11)])), encoding="utf-8")
                (folder / side / "two.json").write_text(json.dumps(run_of([(median, median, median)])), encoding="utf-8")

            def compare(a, b):
                return subprocess.run([sys.executable, str(SCRIPT), str(folder / a), str(folder / b)], capture_output=True,
                                      text=True, check=False)
            done = compare("a", "b")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout.count("worse"), 1)
            self.assertEqual(compare("a", "a").returncode, 0)
            (folder / "b" / "two.json").unlink()
            done = compare("a", "b")
            self.assertEqual(done.returncode, 2)
            self.assertIn("two.json", done.stderr)

    def test_says_what_cannot_be_compared(self):
        a = run_of([(10, 9, 11)])
        for b, text in ((run_of([(1, 1, 1)], test="bw"), "different tests"),
                        (run_of([(1, 1, 1)], size=9), "different sizes"),
                        (run_of([(1, 1, 1)], status="failed"), "it broke"),
                        ({"schema": "other"}, "not sluice-bench")):
            done = self.compare(a, b)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
