# SPDX-License-Identifier: BSD-3-Clause
"""compare_suite and compare_trust on made-up results and a stand-in for sluice-bench. Needs no device and no MPI."""

import io
import json
import pathlib
import sys
import tarfile
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers import commands, measuring, running, suite, suite_results, suite_rounds, trust  # noqa: E402  (found through the line above)

# Writes a result for each test that the command line names, and breaks where it is told to.
STAND_IN = """
import json, pathlib, sys
tests, out = sys.argv[1].split(","), pathlib.Path(sys.argv[sys.argv.index("--json") + 1])
fate = json.loads(sys.argv[sys.argv.index("--fate") + 1])
for test in tests:
    path = out / f"{test}.json" if len(tests) > 1 else out
    path.write_text("")
    if fate.get(test) == "crash":
        sys.exit("sluice-bench: caught signal 11")
    block = {"median": fate["value"], "mean": fate["value"], "median_interval": [1, 9]}
    rows = [{"size_bytes": 8, "check": {"iterations": 4, "passed": True}, "extras": {"mbps": fate["value"]},
             "series": [{"name": "direct", "blocks": [block], "medians": {"median": fate["value"]}}]}]
    status = "failed" if fate.get(test) == "fail" else "ok"
    path.write_text(json.dumps({"status": status, "error": "wrong data", "rows": rows, "notes": [test], "time_utc": "now"}))
sys.exit(1 if "fail" in fate.values() else 0)
"""


class Place:
    """One side; `fates`: what happens in each launch, in order."""

    def __init__(self, script, fates):
        self.sides, self.script, self.fates = [suite.Side("a", "a", "none")], script, list(fates)
        self.asked, self.n_ranks = [], []

    def command(self, _side, words, n_ranks):
        self.asked.append(words[0])
        self.n_ranks.append(n_ranks)
        return [sys.executable, str(self.script), *words, "--fate", json.dumps(self.fates.pop(0))]


class SuiteTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
        self.arguments = types.SimpleNamespace(out=self.folder, rounds=2, ranks=4, budget_s=60, limit_s=20, largest=0, iterations=0,
                                               dry_run=False, about={})

    def run_groups(self, groups, fates):
        place = Place(self.folder / "stand_in.py", fates)
        session = suite_rounds.Suite(place, groups, self.arguments, io.StringIO())
        with tempfile.TemporaryFile("w+") as quiet:
            out, sys.stdout = sys.stdout, quiet
            try:
                session.run()
            finally:
                sys.stdout = out
        return place, session

    def read(self, name):
        return json.loads((self.folder / "a" / f"{name}.json").read_text(encoding="utf-8"))

    def test_rounds_become_one_result_with_the_blocks_of_all(self):
        group = suite.Group("pairs", ("latency",), sizes=(8,), has_rounds=True)
        self.run_groups([group], [{"value": 10}, {"value": 20}])
        document = self.read("latency")
        row = document["rows"][0]
        self.assertEqual([block["median"] for block in row["series"][0]["blocks"]], [10, 20])
        self.assertEqual(row["series"][0]["medians"], {"median": 15, "min": 10, "max": 20})
        self.assertEqual((row["extras"]["mbps"], row["check"]["iterations"], document["rounds"]), (15, 8, 2))

    def test_what_breaks_a_launch_is_left_out_and_the_others_go_on(self):
        group = suite.Group("movements", ("bcast", "gather", "scatter"), sizes=(8,), has_rounds=True)
        place, _ = self.run_groups([group], [{"value": 1, "gather": "crash"}, {"value": 1}, {"value": 1}])
        self.assertEqual(place.asked, ["bcast,gather,scatter", "scatter", "bcast,scatter"])
        self.assertIn("caught signal 11", place.sides[0].failed["gather"])
        self.assertEqual(self.read("scatter")["rounds"], 2)
        summary = json.loads((self.folder / "compare_suite.json").read_text(encoding="utf-8"))
        self.assertEqual(list(summary["failed"]["a"]), ["gather"])
        self.assertEqual((self.read("gather")["status"], self.read("gather")["rows"]), ("failed", []))

    def test_a_test_that_fails_is_named_and_no_result(self):
        group = suite.Group("movements", ("bcast", "gather"), sizes=(8,))
        place, session = self.run_groups([group], [{"value": 1, "bcast": "fail"}])
        self.assertEqual(place.sides[0].failed, {"bcast": "wrong data"})
        self.assertEqual([name for _, name in session.results], ["gather"])

    def test_forms_of_what_failed_are_not_tried(self):
        groups = [suite.Group("movements", ("gather",), sizes=(8,)), suite.Group("nonblocking", ("igather", "ibcast"), sizes=(8,)),
                  suite.Group("vector", ("gather",), "vector", sizes=(8,))]
        place, _ = self.run_groups(groups, [{"value": 1, "gather": "crash"}, {"value": 1}, {"value": 1}])
        # The variant is another test.
        self.assertEqual(place.asked, ["gather", "ibcast", "gather"])
        self.assertEqual(place.sides[0].failed["igather"], "not tried: gather failed")

    def test_names_of_forms(self):
        for name, base in (("iallgather_persistent", "allgather"), ("init", "init"), ("ibarrier", "barrier"),
                           ("ineighbor_alltoallw", "neighbor_alltoallw"), ("latency_persistent", "latency")):
            self.assertEqual(suite.operation_of(name), base)

    def test_every_side_of_a_build_has_a_command_for_each_group(self):
        place = suite.Build(pathlib.Path("/build"), ["first", "second"])
        self.assertEqual([side.label for side in place.sides], ["naive", "sluice", "sluice-second"])
        arguments = types.SimpleNamespace(largest=0, iterations=0, rounds=5)
        for side in place.sides:
            for group in suite.SUITE:
                words = place.command(side, suite_rounds.words_of(group, group.tests, pathlib.Path("/out"), arguments), 3)
                self.assertEqual(("--naive" in words, "--sluice" in words), (side.label == "naive", side.label != "naive"))
                self.assertEqual(words[words.index("-n") + 1], "3")

    def test_collectives_take_all_ranks_and_pairs_two(self):
        groups = [suite.Group("pairs", ("latency",), sizes=(8,)), suite.Group("movements", ("bcast",), sizes=(8,), takes_all=True)]
        place, _ = self.run_groups(groups, [{"value": 1}, {"value": 1}])
        self.assertEqual((place.asked, place.n_ranks), (["latency", "bcast"], [2, 4]))
        two_groups, = (group for group in suite.SUITE if group.name == "two_groups")
        self.assertEqual([two_groups.n_ranks(most) for most in (2, 3, 4)], [None, None, 4])
        self.assertIn(("--groups", "2"), [group.more for group in suite.SUITE])

    def test_every_side_of_a_bundle_starts_so_many_ranks(self):
        site = commands.Site(self.folder)
        for part in ("ours/bin/sluice-bench.mpich", "ours/bin/sluice-bench.ompi", "ours/lib/libsluice_mpich.so", "mpich/bin/mpiexec", "mpich/lib",
                     "openmpi/bin/mpirun", "openmpi/lib", "ucx/libucx/lib"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        for side in (suite.Side("ucx", "ucx", "cuda"), suite.Side("sluice", "sluice", "cuda"), suite.Side("host", "host", "cuda")):
            for run, wanted in ((suite.Run(side, ["bcast"], 4), "4"), (suite.Run(side, ["latency"]), "2")):
                words = commands.command_of(site, run)
                self.assertEqual(words[words.index("-n") + 1], wanted, side.label)

    def test_what_needs_sluice_is_asked_of_nobody_else(self):
        place = suite.Build(pathlib.Path("/build"), ["first"])
        takers = {group.name: [side.label for side in place.sides if group.name not in side.leaves] for group in suite.SUITE}
        self.assertEqual((takers["queues"], takers["trigger"], takers["pairs"]), (["sluice"], ["sluice"], ["naive", "sluice"]))
        named = {test for group in suite.SUITE for test in group.tests}
        self.assertLessEqual({"queue_latency", "queue_overlap", "queue_enqueue", "trigger", "copy_ways", "copy_list", "device_reduce",
                              "memcpy_kinds"}, named)
        self.assertLessEqual({"contiguous", "subarray", "hindexed", "struct", "M-M", "P-P", "large", "groups"},
                             {group.variant for group in suite.SUITE})

    def test_several_calls_become_one_result(self):
        pairs = suite.Group("pairs", ("latency",), sizes=(8,), has_rounds=True)
        vector = suite.Group("vector", ("latency", "bw"), "vector", sizes=(8,))
        calls = []
        for number, (groups, fates) in enumerate((([pairs], [{"value": 10}, {"value": 20}]),
                                                  ([pairs, vector], [{"value": 60}, {"value": 5, "bw": "crash"}, {"value": 60}]))):
            self.arguments.out = self.folder / f"call{number}"
            self.arguments.out.mkdir()
            self.arguments.about = {"machine": {"name": "here"}, "command": [str(number)]}
            self.run_groups(groups, fates)
            calls.append(self.arguments.out)
        archive = self.folder / "call1.tar.xz"
        with tarfile.open(archive, "w:xz") as file:
            file.add(calls[1], "o/suite")
        stdout, sys.stdout = sys.stdout, io.StringIO()
        try:
            results = suite_results.merge([calls[0], archive], self.folder)
        finally:
            sys.stdout = stdout
        document = self.read("latency")
        self.assertEqual(document["rounds"], 4)
        self.assertEqual(document["rows"][0]["series"][0]["medians"], {"median": 40, "min": 10, "max": 60})
        self.assertEqual(self.read("latency-vector")["rounds"], 1)
        self.assertEqual(self.read("bw-vector")["status"], "failed")
        self.assertEqual(set(results), {("a", "latency"), ("a", "latency-vector")})
        summary = json.loads((self.folder / "compare_suite.json").read_text(encoding="utf-8"))
        self.assertEqual(([call["command"] for call in summary["calls"]], list(summary["failed"]["a"])), ([["0"], ["1"]], ["bw-vector"]))
        with self.assertRaises(measuring.MeasureError):
            suite_results.merge([self.folder / "nowhere"], self.folder)


class TrustTest(unittest.TestCase):
    def test_reads_the_best_loop_of_each_program(self):
        times, rates = trust.read_ping_pong("8 3.5 100\n8 2.5 90\nnoise\n64 4 200\n")
        self.assertEqual((times, rates), ({8: 2.5, 64: 4}, {8: 100, 64: 200}))
        self.assertEqual(trust.read_netpipe("   65536 7225.143192   0.00006920\n")[65536], 69.2)
        for text in ("", "a b"):
            with self.assertRaises(running.RunError):
                trust.read_netpipe(text)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.json"
            row = {"size_bytes": 8, "series": [{"blocks": [{"mean": 3}, {"mean": 2}]}]}
            for better, wanted in (("lower", 2), ("higher", 3)):
                path.write_text(json.dumps({"status": "ok", "metric": {"better": better}, "rows": [row]}), encoding="utf-8")
                self.assertEqual(trust.read_bench(path), {8: wanted})

    def test_ratios_are_of_the_same_round(self):
        results = running.Results()
        for ours, other in ((10, 10), (30, 20), (25, 20), (None, 5)):
            results.begin_round()
            if ours:
                results.add("x, latency", "sluice-bench", 8, ours)
            results.add("x, latency", "ping_pong", 8, other)
        row, = trust.comparisons(results)
        self.assertEqual((row["ratio"], row["low"], row["high"], row["rounds"], row["verdict"]),
                         (1.25, 1.0, 1.5, 3, "not known: the rounds differ by more"))

    def test_overhead_is_over_the_bare_run(self):
        results = running.Results()
        for _ in range(3):
            results.begin_round()
            for column, value in (("bare", 10), ("checking", 10.4), ("rotation", 11)):
                results.add("x, overhead latency", column, 8, value)
        found = {row["what"]: row["verdict"] for row in trust.comparisons(results)}
        self.assertEqual(found, {"checking": "ok", "rotation": "BEYOND"})
        text = "\n".join(trust.table(results, {"machine": "here"}))
        self.assertIn("BEYOND", text)


if __name__ == "__main__":
    unittest.main()
