# SPDX-License-Identifier: BSD-3-Clause
"""compare_peers on made-up figures and stand-in programs: targets, table, rounds, limits. Needs no GPU and no MPI."""

import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers import commands, measuring, plan, running, table, targets  # noqa: E402

KI, MI = 1024, 1024 * 1024
FIRST, SECOND = "sluice cuda", "sluice sycl"
US = {"unit": "us", "better": "lower"}
RATE = {"unit": "MB/s", "better": "higher"}


def results_of(figures, units):
    """Results from {(section, column, size): [a value a round, None for none]}."""
    results = running.Results()
    for turn in range(max(len(values) for values in figures.values())):
        results.begin_round()
        for (section, column, size), values in figures.items():
            if turn < len(values) and values[turn] is not None:
                results.add(section, column, size, values[turn])
    results.units.update(units)
    return results


def verdict(results, part, size, backends=("cuda", "sycl")):
    """The one verdict whose text has `part` at this size."""
    found = [v for v in targets.judge_all(results, targets.all_targets(list(backends), list(backends[:1])))
             if part in v.target.text and v.size == size]
    assert len(found) == 1, (part, [v.target.text for v in found])
    return found[0]


class TargetsTest(unittest.TestCase):
    def one_way(self, ours, peer, column=plan.UCX, size=8):
        return results_of({("one way", FIRST, size): ours, ("one way", column, size): peer}, {"one way": US})

    def test_limit_itself_is_met_and_a_bit_more_missed(self):
        part = f"D-D time, {FIRST} / {plan.UCX}"
        self.assertEqual(verdict(self.one_way([10.0], [20.0]), part, 8).word, "met")
        self.assertEqual(verdict(self.one_way([10.01], [20.0]), part, 8).word, "MISSED")

    def test_limits_of_the_sizes(self):
        for size, limit in ((8, 0.5), (4 * KI, 0.5), (32 * KI, 0.9), (256 * KI, 0.9), (2 * MI, 0.95), (16 * MI, 0.95)):
            found = verdict(self.one_way([1.0], [1.0], size=size), f"D-D time, {FIRST} / {plan.UCX}", size)
            self.assertEqual(found.target.limit, limit)
        self.assertEqual(verdict(self.one_way([1.0], [1.0]), f"D-D time, {FIRST} / naive", 8).target.limit, 0.65)
        self.assertEqual(verdict(self.one_way([1.0], [1.0]), f"D-D time, {FIRST} / NCCL", 8).target.limit, 0.75)

    def test_ratio_is_of_medians_and_spread_of_rounds(self):
        found = verdict(self.one_way([8, 10, 100], [20, 40, 21]), f"D-D time, {FIRST} / {plan.UCX}", 8)
        self.assertAlmostEqual(found.ratio, 10 / 21)
        self.assertAlmostEqual(found.low, 10 / 40)
        self.assertAlmostEqual(found.high, 100 / 21)

    def test_only_rounds_with_both_sides_count(self):
        found = verdict(self.one_way([10, 1, 10], [20, None, 20]), f"D-D time, {FIRST} / {plan.UCX}", 8)
        self.assertAlmostEqual(found.ratio, 0.5)
        self.assertEqual(verdict(self.one_way([10], [None]), f"D-D time, {FIRST} / {plan.UCX}", 8).word, "n/a")

    def test_bandwidth_from_times_is_upside_down(self):
        size = 128 * MI
        results = self.one_way([100.0], [98.0], plan.RAW, size)
        found = verdict(results, "bandwidth one by one", size)
        self.assertAlmostEqual(found.ratio, 0.98)
        self.assertEqual(found.word, "met")
        results = self.one_way([100.0], [96.0], plan.RAW, size)
        self.assertEqual(verdict(results, "bandwidth one by one", size).word, "MISSED")

    def test_window_compares_time_a_message(self):
        results = results_of({("window", FIRST, 8): [50.0], ("window", plan.UCX, 8): [9.0]}, {"window": RATE})
        found = verdict(results, "window of 64", 8)
        self.assertAlmostEqual(found.ratio, 0.18)
        self.assertEqual(found.word, "met")

    def test_both_ways(self):
        size = 16 * MI
        results = results_of({("both ways", FIRST, size): [700.0], ("streamed", FIRST, size): [360.0]},
                             {"both ways": RATE, "streamed": RATE})
        self.assertEqual(verdict(results, "both ways", size).word, "met")
        results = results_of({("both ways", FIRST, size): [680.0], ("streamed", FIRST, size): [360.0]}, {})
        self.assertEqual(verdict(results, "both ways", size).word, "MISSED")

    def stages(self, advanced, h2d, d2h, wire_host, wire_pinned):
        size = 64 * MI
        return verdict(results_of({("no IPC, cuda", "advanced", size): [advanced], ("stages", "pinned H2D", size): [h2d],
                                   ("stages", "pinned D2H", size): [d2h], ("stages", "host MPI H-H", size): [wire_host],
                                   ("stages", "host MPI P-P", size): [wire_pinned]}, {}), "slowest stage", size)

    def test_slowest_stage_is_the_longest_time_and_the_wire_its_faster_form(self):
        self.assertAlmostEqual(self.stages(100, 10, 20, 90, 80).ratio, 0.8)
        self.assertEqual(self.stages(100, 10, 20, 90, 80).word, "MISSED")
        self.assertEqual(self.stages(100, 10, 86, 60, 50).word, "met")
        self.assertEqual(self.stages(100, 10, None, 90, 80).word, "n/a")

    def test_second_backend_and_pipelines_and_host_sides(self):
        results = results_of({("one way", FIRST, MI): [10.0], ("one way", SECOND, MI): [11.6],
                              ("no IPC, cuda", "even", MI): [9.0], ("no IPC, cuda", "none", MI): [10.0],
                              ("no IPC, cuda", "advanced", MI): [9.5],
                              ("D-H", FIRST, 64 * MI): [10.0], ("stages", "pinned D2H", 64 * MI): [9.0]}, {})
        self.assertEqual(verdict(results, f"{SECOND} / {FIRST}", MI).word, "MISSED")
        self.assertEqual(verdict(results, "even / none", MI).word, "met")
        self.assertEqual(verdict(results, "advanced / even", MI).word, "MISSED")
        self.assertEqual(verdict(results, f"D-H bandwidth, {FIRST}", 64 * MI).word, "met")

    def test_every_target_names_a_column_and_a_size_of_the_plan(self):
        planned = set()
        for test in plan.all_tests(["cuda", "sycl"], ["cuda"]):
            for run in test.runs:
                sizes = run.words[run.words.index("--sizes") + 1].split(",")
                for column in [column for column, _ in run.reads] or [run.side.name]:
                    planned.update((test.section, column, int(size)) for size in sizes)
        for target in targets.all_targets(["cuda", "sycl"], ["cuda"]):
            for place in (target.subject, *target.references, *target.fastest):
                for size in target.sizes:
                    self.assertIn((*place, size), planned, target.text)


class TableTest(unittest.TestCase):
    def test_prints_median_spread_missing_and_reason(self):
        results = results_of({("one way", FIRST, 8): [10.0, 12.0, 11.0], ("one way", plan.UCX, 4 * KI): [20.0],
                              ("window", FIRST, 4096): [4096.0, 2048.0, 4096.0], ("streamed", FIRST, MI): [360000.0]},
                             {"one way": US, "window": RATE, "streamed": RATE})
        results.failures["NCCL in dd"] = "no libnccl.so.2"
        text = "\n".join(table.lines(results, [verdict(results, f"D-D time, {FIRST} / {plan.UCX}", 8)]))
        self.assertIn("11.00 [10.00..12.00]", text)
        self.assertIn("20.00 [20.00..20.00] n=1", text)
        self.assertIn("1.00 [1.00..2.00]", text)  # 4096 B at 4096 and 2048 MB/s: us a message
        self.assertIn("360.00 [360.00..360.00]", text)  # GB/s
        self.assertIn("NCCL in dd: no libnccl.so.2", text)
        self.assertIn("0 met, 0 MISSED, 1 n/a", text)

    def test_document_holds_every_round(self):
        results = results_of({("one way", FIRST, 8): [10.0, None, 11.0]}, {"one way": US})
        document = json.loads(json.dumps(table.document(results, [], {"machine": {}})))
        self.assertEqual(document["rows"][0]["by_round"], [10.0, None, 11.0])
        self.assertEqual(document["rows"][0]["median"], 10.5)
        self.assertEqual(document["schema_version"], 1)


class RunningTest(unittest.TestCase):
    """Stand-ins for the programs: command_of is replaced by small Python programs."""

    def setUp(self):
        original = running.command_of
        self.addCleanup(setattr, running, "command_of", original)
        self.log = io.StringIO()

    def session(self, programs, budget_s=60.0):
        runs = tuple(plan.Run(plan.Side(name, name), ("latency",)) for name in programs)
        running.command_of = lambda site, run: [sys.executable, "-c", programs[run.side.name]]
        return running.Session(None, [plan.Test("t", "s", runs)], self.log, 5.0, budget_s)

    WRITES = ("import json,sys; json.dump({'metric': {'unit': 'us', 'better': 'lower'}, 'rows': [{'size_bytes': 8, 'series': "
              "[{'name': 'direct', 'medians': {'median': 2.5}}]}]}, open(sys.argv[-1], 'w'))")

    def test_a_side_that_fails_does_not_stop_the_others(self):
        session = self.session({"good": self.WRITES, "bad": "import sys; print('an error: it broke'); sys.exit(3)"})
        for _ in range(3):
            self.assertTrue(session.measure_round())
        self.assertEqual(session.results.values("s", "good", 8), [2.5] * 3)
        self.assertEqual(list(session.results.failures), ["bad in t, round 1", "bad in t, round 2"])
        self.assertIn("status 3: an error: it broke", session.results.failures["bad in t, round 1"])
        self.assertEqual(self.log.getvalue().count("it broke"), 4)  # twice in the words, twice in the output

    def test_no_figures_is_a_failure(self):
        session = self.session({"silent": "pass"})
        session.measure_round()
        self.assertIn("no figures", session.results.failures["silent in t, round 1"])

    def test_a_program_beyond_its_limit_ends_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            note = pathlib.Path(folder) / "pid"
            program = (f"import subprocess,time; p = subprocess.Popen(['sleep', '600']); "
                       f"open({str(note)!r}, 'w').write(str(p.pid)); time.sleep(600)")
            with self.assertRaisesRegex(running.RunError, "no end within"):
                running.run_limited([sys.executable, "-c", program], 2.0, self.log)
            child = int(note.read_text())
            for _ in range(100):  # a killed orphan may stay a zombie until it is reaped
                status = pathlib.Path(f"/proc/{child}/stat")
                if not status.exists() or status.read_text().split()[2] == "Z":
                    break
                time.sleep(0.05)
            else:
                os.kill(child, 9)
                self.fail("the child lives on")

    def test_a_run_cut_by_the_end_of_the_time_is_no_failure(self):
        session = self.session({"slow": "import time; time.sleep(60)"}, budget_s=0.5)
        self.assertFalse(session.measure_round())
        self.assertEqual(session.results.failures, {})

    def test_the_probe_reads_the_routes(self):
        text = "operation buffer route\nMPI_Send   device  staged   20  22302760  19.0\nMPI_Send   host  direct  3  3  0.0\n"
        self.assertEqual(running.routes_in(text), ["MPI_Send device staged"])

    def test_nothing_starts_after_the_time_is_used_up(self):
        session = self.session({"good": self.WRITES}, budget_s=-1.0)
        self.assertFalse(session.measure_round())
        self.assertEqual(session.results.sections(), [])

    def test_a_failed_probe_leaves_the_side_out(self):
        session = self.session({"good": self.WRITES, "bad": "raise SystemExit(1)"})
        session.probe([session.tests[0].runs[1]])
        session.measure_round()
        self.assertEqual(session.results.columns("s"), ["good"])
        self.assertIn("bad left out", session.results.failures)

    def test_the_first_side_changes_from_round_to_round(self):
        order = []
        session = self.session({"a": "", "b": "", "c": ""})
        session.measure_run = lambda test, run: order.append(run.side.name)
        for _ in range(3):
            session.measure_round()
        self.assertEqual("".join(order), "abcbcacab")

    def test_the_best_of_several_series_counts(self):
        run = plan.Run(plan.Side("raw", "raw"), (), (("raw", ("peer", "pull")),))
        series = {"peer": 8.0, "pull": 7.0, "h2d": 1.0}
        self.assertEqual(running.columns_of(run, US, series), [("raw", 7.0)])
        self.assertEqual(running.columns_of(run, RATE, series), [("raw", 8.0)])


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("ours/bin/sluice-bench.mpich", "ours/bin/sluice-bench.ompi", "ours/lib/libsluice_mpich.so",
                     "ours/bin/raw_copies", "mpich/bin/mpiexec", "mpich/lib/x", "openmpi/bin/mpirun", "openmpi/lib/x",
                     "ucx/libucx/lib/x"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self.site = commands.Site(self.root)

    def test_sluice_is_preloaded_with_its_knobs(self):
        run = plan.Run(plan.sluice("cuda", SLUICE_P2P_IPC="off"), ("latency",))
        words = commands.command_of(self.site, run)
        self.assertIn("SLUICE_P2P_IPC=off", words)
        self.assertIn(f"LD_PRELOAD={self.root}/ours/lib/libsluice_mpich.so", words)
        self.assertIn("SLUICE_BACKENDS=cuda", words)
        self.assertEqual(words[-3:], ["latency", "-d", "cuda"])

    def test_ranks_that_are_far_find_the_network_library_and_are_on_a_node_each(self):
        far = next(test for test in plan.network(["cuda"]) if test.name == "far")
        words = commands.command_of(self.site, far.runs[0])
        self.assertIn("SLUICE_NETWORK=ucp", words)
        self.assertIn("MPIR_CVAR_NUM_CLIQUES=2", words)
        self.assertTrue(any("SLUICE_NODE=$PMI_RANK" in word for word in words))
        self.assertLess(words.index(f"{self.root}/ucx/libucx/lib"), words.index(f"{self.root}/ours/bin/sluice-bench.mpich"))
        self.assertEqual(words[words.index(f"{self.root}/ours/bin/sluice-bench.mpich") + 1], "latency")
        peer = commands.command_of(self.site, far.runs[2])
        self.assertIn("UCX_TLS=" + plan.FAR_TRANSPORTS, peer)

    def test_peers_run_without_sluice(self):
        for program, last in (("ucx", "--force"), ("naive", "--naive"), ("host", "cuda")):
            words = commands.command_of(self.site, plan.Run(plan.Side(program, program, "cuda"), ("latency",)))
            self.assertFalse([word for word in words if "libsluice" in word or word.startswith("SLUICE_")], program)
            self.assertEqual(words[-1], last)

    def test_an_application_is_told_of_nccl_and_runs_without_sluice(self):
        library = self.root / "libnccl.so.2"
        library.touch()
        with unittest.mock.patch.dict(os.environ, {"COMPARE_PEERS_NCCL": str(library)}):
            words = commands.command_of(self.site, plan.Run(plan.Side("NCCL", "messages", "cuda"), ("--variant", "vendor")))
        self.assertIn(f"SLUICE_BENCH_NCCL={library}", words)
        self.assertFalse([word for word in words if "libsluice" in word])
        self.assertLess(words.index(f"SLUICE_BENCH_NCCL={library}"), words.index(f"{self.root}/ours/bin/sluice-bench.mpich"))
        self.assertEqual(words[-5:], ["--variant", "vendor", "-d", "cuda", "--force"])

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(commands.Unavailable, "oneapi/lib is not in the bundle"):
            commands.command_of(self.site, plan.Run(plan.sluice("sycl"), ("latency",)))

    def test_dry_run_prints_a_command_or_a_reason_for_each(self):
        tests = plan.all_tests(["cuda", "sycl"], ["cuda"])
        shown, sys.stdout = sys.stdout, io.StringIO()
        try:
            measuring.print_commands(self.site, tests, plan.probes(tests))
            lines = sys.stdout.getvalue().splitlines()
        finally:
            sys.stdout = shown
        self.assertEqual(len(lines), sum(len(test.runs) for test in tests) + len(plan.probes(tests)))
        self.assertTrue(any("pml ucx" in line for line in lines))
        self.assertTrue(any("left out" in line for line in lines))

    def test_sizes_and_tests_can_be_cut(self):
        arguments = types.SimpleNamespace(backends=["cuda"], pipelines_of=None, blocks="3", largest=MI, iterations=2,
                                          only=["dd", "dd-large", "no-ipc-cuda"], without=["nccl"])
        tests = measuring.chosen_tests(arguments)
        self.assertEqual([test.name for test in tests], ["dd", "no-ipc-cuda"])
        self.assertNotIn("nccl", [run.side.program for run in tests[0].runs])
        self.assertIn(("SLUICE_TUNING", "p2p_pipeline_blocks=3"), tests[1].runs[0].side.knobs)
        words = tests[1].runs[0].words
        self.assertEqual(words[words.index("--sizes") + 1], f"{64 * KI},{256 * KI},{MI}")


if __name__ == "__main__":
    unittest.main()
