# SPDX-License-Identifier: BSD-3-Clause
"""The page of `sluice-bench report`, and the subcommands themselves, on made-up results.

  page_test.py <sluice-bench> <sluice>        the programs; exit status 77 where matplotlib or jinja2 is missing
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

import compare_runs  # noqa: E402  (found through the line above)
from page import contests  # noqa: E402

NO_LIMITS = types.SimpleNamespace(limit_percent=0.0, limit_us=0.0)
PROGRAMS = []


def document(medians, test="latency", better="lower", names=("direct",), spread=0.01, status="ok", **options):
    """A result; medians: size -> median, or one for each series; options: what stands there beside the placement."""
    def series(name, median):
        block = {"median": median, "median_interval": [median * (1 - spread), median * (1 + spread)]}
        return {"name": name, "blocks": [block], "medians": {"median": median}}

    rows = [{"size_bytes": size, "check": {"iterations": 4, "passed": True},
             "series": [series(name, value) for name, value in
                        zip(names, median if isinstance(median, tuple) else (median,) * len(names))]}
            for size, median in medians.items()]
    return {"schema": "sluice-bench", "schema_version": 1, "version": "1", "commit": "c0ffee", "test": test,
            "time_utc": "2026-01-01T00:00:00Z", "command": ["sluice-bench", test], "status": status, "error": "it broke",
            "mpi": {"library": "Some MPI 1\nmore", "standard": "4.0"}, "environment": {"SLUICE_BACKENDS": "<none>"},
            "ranks": [{"rank": 0, "host": "here", "local_rank": 0, "memory": "host"}], "notes": [],
            "metric": {"unit": "us" if better == "lower" else "MB/s", "better": better},
            "options": {"placement": ["host", "host"], **options}, "rows": rows}


def run_of(letter, *documents):
    return contests.Run(letter, f"run{letter}", list(documents), [])


def sentences(*runs):
    found = contests.make_contests(list(runs))
    return {contest.name: [text for _, text in contests.sentences_of(contest, NO_LIMITS)] for contest in found}


class SentencesTest(unittest.TestCase):
    def test_names_ranges_of_sizes_and_the_factor(self):
        a = run_of("A", document({8: 10, 4096: 10, 65536: 10, 1 << 20: 30}))
        b = run_of("B", document({8: 18, 4096: 18, 65536: 10, 1 << 20: 15}))
        self.assertEqual(sentences(a, b)["latency"], ["runA is 1.8x faster from 8 B to 4 KiB", "no difference at 64 KiB",
                                                      "runB is 2.0x faster at 1 MiB"])

    def test_takes_more_as_faster_for_rates(self):
        a, b = (run_of(letter, document({8: value}, "bw", "higher")) for letter, value in (("A", 100), ("B", 300)))
        self.assertEqual(sentences(a, b)["bw"], ["runB is 3.0x faster at 8 B"])

    def test_says_how_far_factors_spread(self):
        a = run_of("A", document({8: 10, 16: 10}))
        b = run_of("B", document({8: 20, 16: 80}))
        self.assertEqual(sentences(a, b)["latency"], ["runA is 4.0x faster (2.0x to 8.0x) from 8 B to 16 B"])

    def test_needs_intervals_apart(self):
        a, b = (run_of(letter, document({8: value}, spread=0.2)) for letter, value in (("A", 10), ("B", 11)))
        self.assertEqual(sentences(a, b)["latency"], ["no difference at 8 B"])

    def test_lets_several_lead_among_three(self):
        a, b, c = (run_of(letter, document({8: value})) for letter, value in (("A", 10), ("B", 10.1), ("C", 20)))
        self.assertEqual(sentences(a, b, c)["latency"], ["runA and runB are 2.0x faster than the next at 8 B"])
        wins, level, n_all = contests.tally(contests.make_contests([a, b, c]), NO_LIMITS)
        self.assertEqual((wins, level, n_all), ({}, 1, 1))

    def test_compares_only_tests_that_both_have(self):
        a = run_of("A", document({8: 10}), document({8: 10}, "bw"))
        b = run_of("B", document({8: 20, 16: 20}))
        self.assertEqual(sentences(a, b), {"latency": ["runA is 2.0x faster at 8 B"], "bw": []})

    def test_lays_the_series_of_one_run_over_each_other(self):
        names = ("direct", "naive")
        found = contests.make_contests([run_of("A", document({8: (10, 30)}, names=names))])
        self.assertEqual(contests.sentences_of(found[0], NO_LIMITS)[0][1], "direct is 3.0x faster at 8 B")
        # Different things, such as the directions of memcpy, are drawn together, but none is called faster.
        found = contests.make_contests([run_of("A", document({8: (10, 30)}, names=("h2d.malloc", "d2h.malloc")))])
        self.assertEqual(contests.sentences_of(found[0], NO_LIMITS), [])

    def test_asks_the_same_of_series_that_are_called_otherwise(self):
        a, b = run_of("A", document({8: 10}, names=("naive",))), run_of("B", document({8: 5}))
        self.assertEqual(sentences(a, b), {"latency": ["runB is 2.0x faster at 8 B"]})

    def test_tells_variants_of_a_test_apart_where_a_run_has_several(self):
        def run(letter, factor):
            return run_of(letter, document({8: 10 * factor}), document({8: 20 * factor}, cold=True),
                          document({8: 30 * factor}, placement=["host", "device"]),
                          document({8: 40 * factor}, family={"datatype": {"kind": "vector"}}))
        self.assertEqual(list(sentences(run("A", 1), run("B", 2))),
                         ["latency", "latency, cold", "latency, host to device", "latency, vector"])
        # Without need they are one: a run before the change and one after it may lie in different memory.
        found = sentences(run_of("A", document({8: 10})), run_of("B", document({8: 20}, cold=True)))
        self.assertEqual(found, {"latency": ["runA is 2.0x faster at 8 B"]})

    def test_sorts_into_families(self):
        coll, sided = {"sync": "clock"}, {"window": "create"}
        for test, family, expected in (("latency", {}, 0), ("bcast", coll, 1), ("ibcast", coll, 2), ("bcast_persistent", coll, 3),
                                       ("put_bw", sided, 4), ("launch", {}, 5), ("bw_persistent", {}, 0)):
            self.assertEqual(contests.family_of(document({8: 1}, test, family=family)), contests.FAMILIES[expected])

    def test_refuses_what_is_no_run(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with self.assertRaisesRegex(compare_runs.FileError, "no .json file"):
                contests.read_run(0, name)
            (folder / "a.json").write_text(json.dumps(document({8: 1}, status="failed")), encoding="utf-8")
            with self.assertRaisesRegex(compare_runs.FileError, "it broke"):
                contests.read_run(0, name)
            (folder / "b.json").write_text(json.dumps(document({8: 1})), encoding="utf-8")
            run = contests.read_run(0, f"mine={name}")
            self.assertEqual((run.label, len(run.documents), run.failures, run.failed), ("mine", 1, [], {"latency": "it broke"}))


class CommandTest(unittest.TestCase):
    """The subcommands, through the programs that users call."""

    def call(self, *words, program=0):
        return subprocess.run([PROGRAMS[program], *map(str, words)], capture_output=True, text=True, check=False)

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, factor in (("before", 2), ("after", 1)):
            (self.folder / name).mkdir()
            for test in ("latency", "get_bw"):
                text = json.dumps(document({8: 10 * factor, 4096: 20 * factor}, test))
                (self.folder / name / f"{test}.json").write_text(text, encoding="utf-8")
        (self.folder / "after" / "one_more.json").write_text(json.dumps(document({8: 1}, "alone")), encoding="utf-8")
        for name, test in (("broken", "latency"), ("also_broken", "other")):
            (self.folder / "after" / f"{name}.json").write_text(json.dumps(document({}, test, status="failed")), encoding="utf-8")

    def test_report_writes_a_page_that_fetches_nothing(self):
        page = self.folder / "page.html"
        for program, words in ((0, ("report",)), (1, ("report",))):
            done = self.call(*words, self.folder / "before", self.folder / "after", "-o", page, "--plots", self.folder / "plots",
                             program=program)
            if done.returncode == 2 and "is missing" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            text = page.read_text(encoding="utf-8")
            self.assertEqual(text.count("after is 2.0x faster from 8 B to 4 KiB"), 2)
            self.assertIn("after is faster in 4 of 4, typically 2.0x", " ".join(text.split()))
            self.assertEqual(text.count("<b>B</b> 2.0x"), 4)
            self.assertIn('Nothing to compare:\n<a href="#test-2">alone</a> (B)', text)
            self.assertIn('<p class="warning">B failed: it broke</p>', text)
            self.assertIn('<p class="warning">B failed in other: it broke</p>', text)
            self.assertIn('<span class="chip failed">B</span> failed in 1 test.', text)
            # Beside the name: a column of its own would be cut off on a telephone.
            self.assertIn('>latency</a> <span class="chip failed" title="failed: it broke">B</span></td>', text)
            self.assertNotIn("<th>failed</th>", text)
            self.assertIn("SLUICE_BACKENDS=&lt;none&gt;", text)
            self.assertEqual(text.count("<svg"), 2)
            for fetching in ("src=", "<script", "<link", "@import", "url(http"):
                self.assertNotIn(fetching, text)
            self.assertEqual(sorted(file.name for file in (self.folder / "plots").iterdir()),
                             ["get_bw.png", "get_bw.svg", "latency.png", "latency.svg"])
            page.unlink()

    def test_report_says_what_cannot_be_used(self):
        done = self.call("report", self.folder / "nowhere")
        if "is missing" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("nowhere", done.stderr)

    def test_compare_is_a_subcommand_with_an_exit_status(self):
        for name in ("broken", "also_broken", "one_more"):
            (self.folder / "after" / f"{name}.json").unlink()
        done = self.call("compare", self.folder / "before", self.folder / "after")
        self.assertEqual((done.returncode, done.stdout.count("better")), (0, 4))
        self.assertEqual(self.call("compare", self.folder / "after", self.folder / "before").returncode, 1)
        self.assertEqual(self.call("compare", self.folder / "after", self.folder / "before", "--limit-percent", "150").returncode, 0)
        done = self.call("compare", self.folder / "after", self.folder / "nowhere")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:3]
    outcome = unittest.main(argv=sys.argv[:1], exit=False).result
    if outcome.wasSuccessful() and outcome.skipped:
        print("skipped:", outcome.skipped[0][1])
        sys.exit(77)
    sys.exit(0 if outcome.wasSuccessful() else 1)
