# SPDX-License-Identifier: BSD-3-Clause
"""`sluice tune`: what made-up numbers decide; a short run that Sluice reads back. Arguments: the program sluice, a launcher, a
backend with a device. With `LongCommandTest` behind them that class runs too, and alone."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tuning import decide, measure, questions  # noqa: E402

SLUICE, LAUNCH, BACKEND = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
BY_NAME = {question.name: question for question in questions.ALL}


def numbers(question, **sides):
    """side -> medians at the question's first sizes, one round and one test."""
    sizes = [questions.bytes_of(size) for size in question.sizes]
    return {side: {("a test", size): [us] for size, us in zip(sizes, values)} for side, values in sides.items()}


class ThresholdTest(unittest.TestCase):
    question = dataclasses.replace(BY_NAME["together"], sizes=("1K", "4K", "16K", "64K"))

    def decide(self, together, staged):
        return decide.answer(self.question, numbers(self.question, together=together, staged=staged)).value

    def test_is_the_size_from_which_on_it_is_always_faster(self):
        self.assertEqual(self.decide([30, 30, 20, 20], [10, 20, 30, 60]), "16384")
        self.assertEqual(self.decide([5, 30, 20, 20], [10, 20, 30, 60]), "16384", "a lucky short size does not count")

    def test_is_the_shortest_size_when_it_is_always_faster(self):
        self.assertEqual(self.decide([5, 5], [10, 20]), "1024")

    def test_stays_when_it_is_never_faster_or_by_no_more_than_the_margin(self):
        self.assertEqual(self.decide([30, 30], [10, 20]), "")
        self.assertEqual(self.decide([9.9, 19.9], [10, 20]), "")

    def test_weighs_all_tests_alike(self):
        result = {"together": {("bcast", 1024): [1], ("alltoall", 1024): [300]},
                  "staged": {("bcast", 1024): [4], ("alltoall", 1024): [100]}}
        self.assertAlmostEqual(decide.ratios_by_size(self.question, result)[1024], (1 / 4 * 3) ** 0.5)
        result["together"]["alltoall", 1024] = [500]
        self.assertEqual(decide.answer(self.question, result).value, "")

    def test_takes_the_median_of_the_rounds(self):
        result = {"together": {("bcast", 1024): [1, 1, 900]}, "staged": {("bcast", 1024): [4, 4, 950]}}
        self.assertEqual(decide.answer(self.question, result).value, "1024")

    def test_stays_when_a_round_says_otherwise(self):
        result = {"together": {("bcast", 1024): [1, 1, 900]}, "staged": {("bcast", 1024): [4, 4, 4]}}
        given = decide.answer(self.question, result)
        self.assertEqual(given.value, "")
        self.assertIn("disturbs", given.sentence)


    def test_stays_where_both_sides_took_one_route(self):
        result = numbers(self.question, together=[5, 5], staged=[10, 20])
        given = decide.answer(self.question, result, {"together": {"staged"}, "staged": {"staged"}})
        self.assertEqual(given.value, "")
        self.assertIn("one way only", given.sentence)
        self.assertEqual(decide.answer(self.question, result, {"together": {"ipc"}, "staged": {"staged"}}).value, "1024")
        self.assertEqual(decide.answer(self.question, result, {"together": set(), "staged": set()}).value, "1024", "nobody said")


class ChoiceTest(unittest.TestCase):
    question = BY_NAME["staging"]

    def decide(self, **sides):
        return decide.answer(self.question, numbers(self.question, **sides)).value

    def test_is_the_fastest_when_it_beats_what_would_hold(self):
        self.assertEqual(self.decide(auto=[10, 10], malloc=[9, 9], aligned=[5, 6], runtime=[12, 12], runtime_aligned=[10, 10]), "aligned")
        self.assertEqual(self.decide(auto=[10, 10], malloc=[9.9, 10], aligned=[10, 10], runtime=[10, 11], runtime_aligned=[10, 10]), "")


    def test_stays_when_a_round_says_otherwise(self):
        key = ("a test", 1024)
        result = {side: {key: [10, 10, 10]} for side in self.question.sides}
        result["aligned"][key] = [5, 5, 11]
        given = decide.answer(self.question, result)
        self.assertEqual(given.value, "")
        self.assertIn("one does of aligned", given.sentence)
        result["aligned"][key] = [5, 5, 9]
        self.assertEqual(decide.answer(self.question, result).value, "aligned")

    def test_lengths_of_segments_are_compared_with_the_one_that_holds(self):
        question = BY_NAME["segment"]
        sides = {"2M": [10, 10], "256K": [12, 12], "512K": [9, 9], "1M": [7, 8], "4M": [10, 11]}
        self.assertEqual(decide.answer(question, numbers(question, **sides)).value, "1M")
        self.assertEqual(decide.answer(question, numbers(question, **{**sides, "1M": [9.9, 9.8], "512K": [10, 10]})).value, "")


class NodesTest(unittest.TestCase):
    question = BY_NAME["levels"]

    def test_the_answer_says_that_the_nodes_are_faked(self):
        given = decide.answer(self.question, numbers(self.question, levels=[9, 9, 9, 4], flat=[8, 8, 8, 8]))
        self.assertEqual((given.setting, given.value), ("coll_levels_threshold", "1048576"))
        self.assertIn("two nodes faked on one machine", given.sentence)
        self.assertEqual(BY_NAME["reduce"].remark, "")

    def test_ranks_are_started_on_so_many_nodes(self):
        site = measure.Site(pathlib.Path("/r"), BACKEND, "mpiexec -n 4", pathlib.Path("/r/bin/sluice-bench.mpich"))
        words, environment = site.start(self.question.nodes)
        self.assertEqual(environment, {"MPIR_CVAR_NUM_CLIQUES": "2"})
        self.assertEqual(words[words.index("--mpi") + 1], "mpich")
        script = words[words.index("sh"):-1]
        nodes = [subprocess.run([*script, "printenv", "SLUICE_NODE"], text=True, check=True, capture_output=True,
                                env={**os.environ, "PMI_RANK": str(rank), "PMI_SIZE": "5"}).stdout.strip() for rank in range(5)]
        self.assertEqual(nodes, ["0", "0", "0", "1", "1"])
        self.assertEqual(site.start(1), (["/r/bin/sluice", "run", "--backend", BACKEND, "--", "mpiexec", "-n", "4",
                                          "/r/bin/sluice-bench.mpich"], {}))


class RunsTest(unittest.TestCase):
    def test_a_threshold_counts_in_its_units(self):
        made = numbers(BY_NAME["runs"], kernel=[30, 30, 20, 20, 20], copies=[10, 20, 30, 60, 90])
        self.assertEqual(decide.answer(BY_NAME["runs"], made).value, "4", "2048 bytes in runs of 512")

    def test_a_slope_is_what_one_more_costs_each_way(self):
        made = numbers(BY_NAME["copies"], copies=[40, 80, 160, 320, 640])
        self.assertEqual(decide.answer(BY_NAME["copies"], made).value, "5000ns", "600 us for 60 runs, down and up")
        self.assertEqual(decide.answer(BY_NAME["copies"], numbers(BY_NAME["copies"], copies=[40, 40])).value, "")
        self.assertEqual(decide.answer(BY_NAME["copies"], numbers(BY_NAME["copies"], copies=[40])).value, "")


class EnvironmentTest(unittest.TestCase):
    def test_settings_of_a_side_are_words_of_one_variable(self):
        side = {"SLUICE_COLL_IPC": "always", "coll_ipc_threshold": "0", "coll_segment": "1M"}
        self.assertEqual(measure.environment_of(side),
                         {"SLUICE_COLL_IPC": "always", "SLUICE_TUNING": "off,coll_ipc_threshold=0,coll_segment=1M"})
        self.assertEqual(measure.environment_of({"SLUICE_TUNING": "/a", "coll_segment": "1M"}), {"SLUICE_TUNING": "/a,coll_segment=1M"})
        self.assertEqual(measure.environment_of({}), {"SLUICE_TUNING": "off"}, "no table, whatever was measured before")


class WordsTest(unittest.TestCase):
    def test_devices_of_a_kind_share_their_words(self):
        self.assertEqual(decide.device_words("Polar device 1"), "Polar device")
        self.assertEqual(decide.device_words("Acme P200"), "Acme P200")


class AnyDeviceTest(unittest.TestCase):
    """sluice-bench comes to its device after MPI_Init, when collective lengths are agreed on."""

    def setUp(self):
        self.site = measure.Site.find(pathlib.Path(SLUICE).resolve().parent.parent, BACKEND, LAUNCH)

    def routes(self, tests, device=""):
        """Of the last of the tests, with a table for that device."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.json"
            path.write_text(json.dumps({"format": 2, "backend": BACKEND, "device": device, "settings": {"coll_ipc_threshold": "1K"}}),
                            encoding="utf-8")
            done = self.site.run(tests, ("D",), ["1K"], 40, {"SLUICE_TUNING": str(path), "SLUICE_BACKENDS": BACKEND})
        return {taken["route"] for taken in done[tests.split(",")[-1]]["rows"][-1]["routes"]}

    def test_a_table_for_any_device_holds_for_programs_that_come_to_theirs_later(self):
        self.assertIn("ipc", self.routes("bcast"))
        self.assertNotIn("ipc", self.routes("bcast", "of a name that nobody knows yet"), "so the table is what did it")

    def test_short_non_blocking_calls_ask_only_where_a_blocking_one_found_that_all_can(self):
        self.assertNotIn("ipc", self.routes("ibcast"))
        self.assertIn("ipc", self.routes("bcast,ibcast"))


def run_sluice(*words, **environment):
    return subprocess.run([SLUICE, *words], capture_output=True, text=True, check=False, env={**os.environ, **environment})


class CommandTest(unittest.TestCase):
    def test_writes_a_table_that_sluice_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run_sluice("tune", "--backend", BACKEND, "--launch", LAUNCH, "--only", "together,pull,runs,copies", "--rounds", "2",
                              "--iterations", "3", "--largest", "4K", XDG_CONFIG_HOME=folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            path, = (pathlib.Path(folder) / "sluice/tuning").iterdir()
            table = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual((table["format"], table["backend"]), (2, BACKEND))
            self.assertEqual(set(table["explanation"]), {"coll_ipc_threshold", "p2p_ipc_threshold", "transfer_pack_from",
                                                         "transfer_copy"})
            self.assertEqual(set(table["measured"]["load"]), {"before", "after"})
            asked = table["measured"]["questions"][0]
            self.assertEqual([len(row["rounds"]) for row in asked["sides"]["pulled"]["us"]], [2, 2, 2, 2])
            info = json.loads(run_sluice("info", "--json", XDG_CONFIG_HOME=folder).stdout)
            self.assertIn(str(path), [one["path"] for one in info["tuning"]])
            tuned = next(backend for backend in info["backends"] if backend["name"] == BACKEND)
            self.assertIn(table["device"], tuned["devices"][0]["name"])
            self.assertEqual(tuned["tuning"].split(", ")[0], str(path), "the user's table goes before the one that came with Sluice")
            self.assertNotIn(str(path), run_sluice("info", XDG_CONFIG_HOME=folder, SLUICE_TUNING="off").stdout)

    def test_says_what_it_cannot_do(self):
        for words, text in ((("--only", "colour"), "wanted some of"), (("--backend", "nonesuch"), "it has no device here"),
                            (("--launch", "no_such_launcher -n 2"), "no_such_launcher")):
            done = run_sluice("tune", *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


@unittest.skipUnless("LongCommandTest" in sys.argv, "of the full matrix: bench.tune_further runs it")
class LongCommandTest(unittest.TestCase):
    """Further questions, and an end in their midst, which take more than a minute of two cores."""

    def test_has_written_what_it_knows_when_it_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.json"
            words = [SLUICE, "tune", "--backend", BACKEND, "--launch", LAUNCH, "--only", "pull,together", "--rounds", "1", "--iterations", "2",
                     "--largest", "4K", "-o", str(path)]
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
                n_begun = 0
                for line in running.stdout:
                    n_begun += line.partition(":")[0].endswith("_threshold")
                    if n_begun == 2:
                        break
                os.killpg(running.pid, signal.SIGTERM)
            self.assertEqual(set(json.loads(path.read_text(encoding="utf-8"))["explanation"]), {"p2p_ipc_threshold"})

    def test_asks_of_reductions_segments_and_faked_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.json"
            four = " ".join("4" if word == "2" else word for word in LAUNCH.split())  # whose devices are as many
            done = run_sluice("tune", "--backend", BACKEND, "--launch", four, "--only", "reduce,segment,levels", "--rounds", "1",
                              "--iterations", "2", "--largest", "16K", "-o", str(path), **{f"SLUICE_{BACKEND.upper()}_MACHINE": "devices=4"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            table = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(set(table["explanation"]), {"coll_reduce_threshold", "coll_segment", "coll_levels_threshold"})
            self.assertIn("faked", table["explanation"]["coll_levels_threshold"])
            shown = json.loads(run_sluice("info", "--json", SLUICE_TUNING=str(path)).stdout)
            self.assertEqual([one["path"] for one in shown["tuning"]], [str(path)])


if __name__ == "__main__":
    unittest.main()
