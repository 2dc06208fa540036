# SPDX-License-Identifier: BSD-3-Clause
"""compare_collectives on made-up figures and stand-in programs. Needs no GPU and no MPI."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock


def load_compare_collectives():
    path = pathlib.Path(__file__).resolve().parent.parent / "compare_collectives"
    loader = importlib.machinery.SourceFileLoader("compare_collectives", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare_collectives", loader))
    loader.exec_module(module)
    return module


class CollectivesTest(unittest.TestCase):
    def setUp(self):
        self.script = load_compare_collectives()
        self.sides = self.script.sides
        self.arguments = self.script.parse_arguments(["--ranks", "4", "--rounds", "3"])

    def test_medians_are_the_second_figure_of_each_row(self):
        text = "# Size Avg Median\n1024  9.5  8.25  7.0\n65536  21.0  20.5  19.0\n"
        self.assertEqual(self.sides.medians(text.splitlines()), {1024: 8.25, 65536: 20.5})

    def test_tests_that_share_a_start_are_told_apart(self):
        text = "".join(f"# sluice-bench 0.1.0: {test}: what\n# Size Avg Median\n64 9.5 {us}\n" for test, us in (("bcast", 8.0), ("gather", 9.0)))
        self.assertEqual(self.sides.medians_of(text, ["bcast", "gather"]), {"bcast": {64: 8.0}, "gather": {64: 9.0}})
        groups = self.sides.groups_of(["bcast", "alltoallv", "allreduce", "gather", "reduce"])
        self.assertEqual(groups, [["bcast", "gather"], ["alltoallv"], ["allreduce", "reduce"]])

    def test_the_check_names_the_test_whose_bytes_are_wrong(self):
        text = "# sluice-bench 0.1.0: bcast: what\n64 1 1 Pass\n# sluice-bench 0.1.0: gather: what\n64 1 1 Fail\n"
        arguments = self.script.parse_arguments(["--compare", "shipped", "--sizes", "64"])
        site = unittest.mock.Mock(flavour="x", need=lambda *words: "/".join(words), bench=lambda flavour: "bench." + flavour)
        site.host_launch = lambda *_: ["mpiexec", "-n", "2", "env"]
        with unittest.mock.patch.object(self.sides, "run", lambda *_: text):
            self.assertEqual(set(self.sides.check_bytes(site, arguments, ["bcast", "gather", "scatter"])), {"gather", "scatter"})

        def crash_of_gather(words, *_):
            if "gather" in words[words.index("bench.x") + 1].split(","):
                raise self.sides.SideError("it crashed")
            return text
        with unittest.mock.patch.object(self.sides, "run", crash_of_gather):
            self.assertEqual(self.sides.check_bytes(site, arguments, ["bcast", "gather"]), {"gather": "it crashed"})

    def test_reductions_are_compared_with_the_peers_too(self):
        self.assertLess(set(self.sides.REDUCTIONS), set(self.script.parse_arguments(["--compare", "peers"]).tests))

    def test_uneven_blocks_are_those_of_every_side(self):
        asked = []
        programs = unittest.mock.Mock(wraps=self.sides.commands, own_program=lambda *_: "nccl", nccl_library=lambda: "lib",
                                      ucx_command=lambda _site, run: ["mpirun", "-n", "2", *run.words])
        arguments = self.script.parse_arguments(["--compare", "peers", "--ranks", "4"])
        site = unittest.mock.Mock(flavour="x", need=lambda *words: "/".join(words), bench=lambda flavour: "bench." + flavour)
        site.host_launch = lambda *_: ["mpiexec", "-n", "2", "env"]
        with unittest.mock.patch.object(self.sides, "run", lambda words, *_: asked.append([str(word) for word in words]) or ""), \
                unittest.mock.patch.object(self.sides, "commands", programs):
            every = self.sides.sides(site, arguments)
            self.assertIn("NCCL", [side.name for side in every])
            for tests, wanted in ((["alltoallv"], True), (["alltoall", "bcast"], False)):
                for side in every:
                    asked.clear()
                    side.measure(self.sides.series_of(arguments)[0], tests)
                    self.assertEqual(" ".join(asked[0]).count("--layout uneven"), int(wanted), (tests, side.name))
        self.assertFalse(every[-1].takes("gatherv"))
        self.assertIn("alltoallv (uneven blocks)", self.script.table({"alltoallv": {64: {"ipc": [1.0]}}}, {}, 1, arguments))

    def test_table_has_ratios_of_medians_and_names_what_failed(self):
        row = {"staged": [30.0, 10.0, 20.0], "ipc": [5.0, 4.0, 6.0], "NCCL": [10.0, 10.0, 10.0]}
        text = self.script.table({"bcast": {1024: row}}, {"gather: NCCL": "status 1: why"}, 3, self.arguments)
        self.assertRegex(text, r"1024 +20\.0 \[10\.0\.\.30\.0\] .* 4\.00  0\.50\n")
        self.assertIn("left out: gather: NCCL: status 1: why", text)

    def test_faked_nodes_are_told_apart_and_every_side_is_compared_with_the_first(self):
        arguments = self.script.parse_arguments(["--compare", "levels", "--nodes", "2", "--ranks", "4"])
        self.assertEqual(arguments.tests, ["bcast", "allgather", "allreduce", "reduce", "reduce_scatter_block"])
        row = {"flat": [40.0], "two levels": [10.0], "two levels, cut": [5.0]}
        text = self.script.table({"bcast": {4096: row}}, {}, 1, arguments)
        self.assertIn("4 ranks on 2 faked nodes", text)
        self.assertRegex(text, r"two levels/flat, two levels, cut/flat(.|\n)* 0\.25  0\.12\n")

        class Site:
            flavour = "x"

            def host_launch(self, _backend):
                return ["mpiexec", "-n", "2", "env"]

            def need(self, *words):
                return "/".join(words)

            def bench(self, flavour):
                return "bench." + flavour
        words = self.sides.launch(Site(), arguments, ["A=1"], "cuda")
        self.assertEqual(words[words.index("-n") + 1], "4")
        shell = words.index("sh")
        shown = subprocess.run([*words[shell:-1], "printenv", "SLUICE_NODE"], env={**os.environ, "PMI_RANK": "3"},
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown, "1\n")

    def test_large_sizes_are_a_start_of_their_own_with_fewer_iterations(self):
        arguments = self.script.parse_arguments(["--sizes", "64,4194304,33554432,1073741824", "--iterations", "20"])
        small, large = self.sides.series_of(arguments)
        self.assertEqual(small.words(), ["--sizes", "64,4194304", "-i", "20", "-x", "3"])
        self.assertEqual(large.words(), ["--sizes", "33554432,1073741824", "-i", "5", "-x", "1"])
        self.assertEqual([series.text for series in self.sides.series_of(arguments, 64)], ["64"])

    def test_a_side_is_left_out_after_it_failed_at_large_sizes_and_goes_on_at_small_ones(self):
        arguments = self.script.parse_arguments(["--compare", "peers", "--sizes", "64,1073741824"])
        starts = []

        def measure(series, tests):
            starts.append((series.text, ",".join(tests)))
            if series.sizes[0] > 64 and "bcast" in tests:
                raise self.sides.SideError("no memory")
            return {test: {series.sizes[0]: 1.0} for test in tests}
        cells, failures, apart = {}, {}, set()
        side = self.sides.Side("ipc", measure)
        for _ in range(2):
            self.script.measure_once(side, arguments, ["bcast", "gather"], cells, failures, apart)
        self.assertEqual(cells, {"bcast": {64: {"ipc": [1.0, 1.0]}}, "gather": {64: {"ipc": [1.0, 1.0]}, 1 << 30: {"ipc": [1.0, 1.0]}}})
        self.assertEqual(failures, {"bcast: ipc, large sizes": "no memory"})
        large = str(1 << 30)
        self.assertEqual(starts, [("64", "bcast,gather"), (large, "bcast,gather"), (large, "bcast"), (large, "gather"),
                                  ("64", "bcast,gather"), (large, "gather")])
        self.assertEqual(self.sides.largest_of(arguments, "staged"), 32 << 20)
        self.assertEqual(self.sides.largest_of(arguments, "ipc"), 0)

    def test_a_side_that_crashes_measures_one_test_a_start(self):
        starts = []
        side = self.sides.Side("u", lambda _series, tests: starts.append(tests) or {}, is_together=False, takes=lambda test: test != "gatherv")
        arguments = self.script.parse_arguments(["--sizes", "64"])
        self.script.measure_once(side, arguments, ["bcast", "gatherv", "gather"], {}, {}, set())
        self.assertEqual(starts, [["bcast"], ["gather"]])

    def test_files_of_several_calls_come_to_one_table(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, cells, failures in (("a", {"bcast": {64: {"ipc": [1.0, 3.0]}}}, {"bcast: NCCL": "why"}),
                                          ("b", {"bcast": {64: {"ipc": [2.0]}}, "gather": {64: {"ipc": [7.0]}}}, {})):
                out = pathlib.Path(folder) / name
                out.mkdir()
                arguments = self.script.parse_arguments(["--compare", "peers", "--out", str(out)])
                self.script.write(cells, failures, 2, arguments)
                paths.append(str(out / "peers_2.json"))
            arguments = self.script.parse_arguments(["--compare", "peers", "--merge", *paths])
            cells, failures = self.script.merge(arguments)
            self.assertEqual(cells, {"bcast": {64: {"ipc": [1.0, 3.0, 2.0]}}, "gather": {64: {"ipc": [7.0]}}})
            self.assertEqual(failures, {"a: bcast: NCCL": "why"})
            even = self.script.parse_arguments(["--compare", "peers", "--layout", "even", "--out", str(folder)])
            self.script.write({"alltoallv": {64: {"ipc": [1.0]}}}, {}, 1, even)
            with self.assertRaisesRegex(self.script.measuring.MeasureError, "even blocks of alltoallv"):
                self.script.merge(self.script.parse_arguments(["--compare", "peers", "--merge", f"{folder}/peers_2.json"]))
            arguments = self.script.parse_arguments(["--compare", "kernel", "--merge", *paths])
            with self.assertRaisesRegex(self.script.measuring.MeasureError, "another comparison"):
                self.script.merge(arguments)

    def test_a_side_that_ends_with_an_error_says_its_first_line(self):
        with self.assertRaisesRegex(self.sides.SideError, "status 3: no device"):
            self.sides.run(["sh", "-c", "echo no device >&2; exit 3"])


if __name__ == "__main__":
    unittest.main()
