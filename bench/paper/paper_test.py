# SPDX-License-Identifier: BSD-3-Clause
"""paper_ccgrid23 on made-up figures and a stand-in program: the slowed profile, claims, page. Needs no device, no MPI."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from paper import claims, model, prace, report, runs  # noqa: E402
from peers.running import Results  # noqa: E402

MI = 1024 * 1024
# Stands in for tests/launch and what it starts. Times are such that every claim can be judged.
FAKE_LAUNCH = """
import json, sys
words = sys.argv[1:]
program = words[words.index("--") + 1:]
test = program[1]
if test == FAILING:
    sys.exit("it broke")
sizes = [int(size) for size in program[program.index("--sizes") + 1].split(",")]
names = ["h2d.runtime_aligned", "d2h.runtime_aligned"] if test == "memcpy" else ["direct"]
pace = 2.0 if "--naive" in program else 1.0
rows = [{"size_bytes": size, "series": [{"name": name, "blocks": [dict.fromkeys(("min", "max"), pace * (100 + size / 1000))]} for name in names]}
        for size in sizes]
metric = {"unit": "MB/s", "better": "higher"} if "bw" in test else {"unit": "us", "better": "lower"}
json.dump({"metric": metric, "rows": rows}, open(program[program.index("--json") + 1], "w"))
"""


# The same for prace: 3 us on host memory and 2 GB/s, and a third, a half of that where a side is on the device.
FAKE_PRACE = """
import json, sys
program = sys.argv[sys.argv.index("--") + 1:]
if FAILING and FAILING in " ".join(program):
    sys.exit("it broke")
sizes = [int(size) for size in program[program.index("--sizes") + 1].split(",")]
is_device, is_rate = "-d" in program, program[1] == "bw"
value = (1000 if is_device else 2000) if is_rate else (9 if is_device else 3)
rows = [{"size_bytes": size, "series": [{"name": "direct", "medians": {"median": value}}]} for size in sizes]
rank = {"device": {"module": "emu", "name": "a device", "runtime": "none"}} if is_device else {}
metric = {"unit": "MB/s", "better": "higher"} if is_rate else {"unit": "us", "better": "lower"}
json.dump({"metric": metric, "rows": rows, "ranks": [rank]}, open(program[program.index("--json") + 1], "w"))
"""


def results_of(cells, rounds=1):
    """Results from {(figure, column, size): [a value a round]}."""
    results = Results()
    for turn in range(rounds):
        results.begin_round()
        for (figure, column, size), values in cells.items():
            results.add(figure, column, size, values[turn])
            results.units[figure] = {"unit": "us", "better": "lower"}
    return results


NOTHING = results_of({})  # in place of the model's figures


def verdict(results, figure, part):
    found = [claims.judge(results, claim, NOTHING) for claim in claims.all_claims([figure]) if part in claim.text]
    assert len(found) == 1, (part, len(found))
    return found[0]


class ProfileTest(unittest.TestCase):
    def test_slowed_profile_takes_longer_by_the_factor(self):
        profile = json.loads((BENCH.parent / "backends/emu/profiles/dg1.json").read_text(encoding="utf-8"))
        before = json.dumps(profile)
        slow = runs.slowed(profile, 4)
        self.assertEqual(json.dumps(profile), before)
        up, slow_up = (each["links"]["host_to_device"]["pinned"] for each in (profile, slow))
        self.assertAlmostEqual(slow_up["latency_us"], 4 * up["latency_us"])
        self.assertAlmostEqual(slow_up["bandwidth_gb_s"], up["bandwidth_gb_s"] / 4)
        self.assertFalse(slow["duplex"])
        self.assertTrue(runs.slowed(profile, 4, True)["duplex"])


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.profile = json.loads((BENCH.parent / "backends/emu/profiles/dg1.json").read_text(encoding="utf-8"))

    def test_one_block_is_the_sum_of_the_stages(self):
        # What section V.C of the paper prints for 4 MB.
        self.assertAlmostEqual(model.latency_us(self.profile, "advanced", 4 * MI, 1), 2406.5, delta=1)

    def test_blocks_as_the_library_cuts_them(self):
        self.assertEqual(model.cut("even", 1000, 3), [333, 333, 334])
        self.assertEqual(model.cut("advanced", 1000, 3), [166, 333, 501])
        self.assertEqual(model.cut("advanced", 1000, 1), [1000])

    def test_says_what_the_profile_has_of_the_claims(self):
        of_profile = {claim.text: claim.value(model.results(self.profile), 0) for claim in claims.all_claims("3567")}
        self.assertAlmostEqual(of_profile["C malloc / runtime at 16 B"], 2.05, delta=0.02)
        self.assertAlmostEqual(of_profile["2 blocks gain at 4 MiB"], 0.155, delta=0.002)
        self.assertIsNone(of_profile["both ways: the same"])

    def test_no_link_carries_more_than_it_can(self):
        links = self.profile["links"]
        down, up = (4 * MI / (links[name]["pinned"]["bandwidth_gb_s"] * 1e3) for name in ("device_to_host", "host_to_device"))
        for is_duplex, floor in ((False, down + up), (True, up)):
            profile = runs.slowed(self.profile, 1, is_duplex)
            for plan in ("even", "advanced"):
                for blocks in (2, 4, 8, 16):
                    self.assertGreater(model.latency_us(profile, plan, 4 * MI, blocks), floor)


class ClaimTest(unittest.TestCase):
    def words(self, claim, *values):
        return claims.judge(results_of({("x", "x", 1): list(values)}, len(values)), claim, NOTHING).word

    def test_limit(self):
        claim = claims.Claim("x", "", lambda r, t: claims.cell(r, "x", "x", 1, t), at_most=1.0)
        self.assertEqual(self.words(claim, 1.0, 0.5, 0.9), "seen")
        self.assertEqual(self.words(claim, 1.1, 0.95, 0.99), "seen, not in every round")
        self.assertIn("hidden by noise", self.words(claim, 1.1, 1.2, 0.9))
        self.assertEqual(self.words(claim, 1.1, 1.2, 1.3), "NOT seen")

    def test_published_number(self):
        claim = claims.Claim("x", "", lambda r, t: claims.cell(r, "x", "x", 1, t), published=0.3)
        self.assertEqual(self.words(claim, 0.31), "seen")
        self.assertEqual(self.words(claim, 0.1), "direction seen, not the size")
        self.assertEqual(self.words(claim, -0.1), "NOT seen")
        self.assertEqual(self.words(claim, -0.1, 0.1, 0.05), "hidden by noise")

    def test_figures_that_do_not_repeat_say_nothing_against_a_claim(self):
        results = results_of({("6", "2", 4 * MI): [20.0, 60.0], ("6", "1", 4 * MI): [10.0, 30.0]}, 2)
        found = verdict(results, "6", "2 blocks gain at 4 MiB")
        self.assertEqual((found.low, found.high), (-1, -1))
        self.assertIn("differs by up to 3.0 times", found.word)

    def test_nothing_measured(self):
        self.assertEqual(verdict(results_of({("6", "2", 4 * MI): [1.0]}), "6", "2 blocks gain at 4 MiB").word, "not measured")

    def test_the_papers_own_numbers_are_seen(self):
        cells = {key: [value] for key, value in claims.PUBLISHED.items()}
        cells[("6", "1", 4 * MI)], cells[("6", "2", 4 * MI)] = [1.0], [0.875]
        results = results_of(cells)
        for figure, part in (("5", "at 16 B"), ("5", "at 4 MiB"), ("6", "2 blocks gain at 4 MiB"), ("7", "over naive at 16 B"),
                             ("7", "over naive at 4 MiB"), ("7", "bibw / bw")):
            self.assertEqual(verdict(results, figure, part).word, "seen", part)

    def test_best_number_of_blocks(self):
        cells = {("6", column, size): [10.0 if column == "2" else 11.0] for column in ("1", "2", "4", "8")
                 for size in runs.CUT_SIZES}
        self.assertEqual(verdict(results_of(cells), "6", "best at most sizes").ours, 0)
        for size in runs.CUT_SIZES[2:]:
            cells[("6", "8", size)] = [9.0]
        self.assertEqual(verdict(results_of(cells), "6", "best at most sizes").word, "NOT seen")


class ScriptTest(unittest.TestCase):
    def run_script(self, failing, *words):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        (path / "launch.py").write_text(f"FAILING = {failing!r}\n{FAKE_LAUNCH}", encoding="utf-8")
        command = [sys.executable, str(BENCH / "paper_ccgrid23"), "--build", str(path), "--out", str(path), "--rounds", "2",
                   "--launch", f"{sys.executable} -I -S {path}/launch.py", *words]
        return path, subprocess.run(command, capture_output=True, text=True, check=False)

    def test_writes_page_and_json(self):
        path, done = self.run_script("")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        page = (path / "paper_ccgrid23.md").read_text(encoding="utf-8")
        self.assertIn("EMULATED", page)
        self.assertIn("(paper 2196)", page)
        self.assertIn("| 16 B |", page)
        document = json.loads((path / "paper_ccgrid23.json").read_text(encoding="utf-8"))
        self.assertEqual((document["schema"], document["rounds"]), ("sluice-paper-ccgrid23", 2))
        self.assertEqual({row["figure"] for row in document["rows"]}, {"3", "5", "6", "7 latency", "7 bw", "7 bibw"})
        gains = [claim for claim in document["claims"] if claim["text"] == "proposed gains over naive at 16 B"]
        self.assertAlmostEqual(gains[0]["ours"], 0.5)

    def test_takes_the_best_of_rounds_when_asked(self):
        path, done = self.run_script("", "--figures", "7")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads((path / "paper_ccgrid23.json").read_text(encoding="utf-8"))
        for row in document["rows"]:
            row["by_round"] = [70.0, 40.0]
        (path / "uneven.json").write_text(json.dumps(document), encoding="utf-8")
        _, done = self.run_script("", "--again", str(path / "uneven.json"), "--best", "--slow", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The best of 2 rounds", done.stdout)
        rows = [line for line in done.stdout.splitlines() if line.startswith("| 256 B |")]
        self.assertIn("| 5 | 5 |", rows[0])  # latency, made 8 times slower: the shorter time
        self.assertIn("| 0.56 | 0.56 |", rows[1])  # bandwidth: the larger

    def test_goes_on_without_what_fails(self):
        path, done = self.run_script("memcpy", "--figures", "3,5")
        self.assertEqual(done.returncode, 0)
        document = json.loads((path / "paper_ccgrid23.json").read_text(encoding="utf-8"))
        self.assertIn("it broke", next(iter(document["failures"].values())))
        self.assertEqual({row["column"] for row in document["rows"] if row["figure"] == "3"}, {"MPI"})

    def test_says_each_reason_once(self):
        failures = {"figure 3, a, round 1": "no device", "figure 4, b, round 1": "too long", "figure 3, a, round 2": "no device"}
        self.assertEqual(list(report.failure_lines(failures)),
                         ["Not measured: figure 3, a, round 1 and 1 more: no device", "Not measured: figure 4, b, round 1: too long"])

    def test_says_so_when_nothing_was_measured(self):
        _, done = self.run_script("latency", "--figures", "5")
        self.assertEqual(done.returncode, 1)


class PosterTest(unittest.TestCase):
    def test_writes_factors_and_what_failed(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name)
            (path / "launch.py").write_text(f"FAILING = 'bcast'\n{FAKE_LAUNCH}", encoding="utf-8")
            command = [sys.executable, str(BENCH / "paper_isc25"), "--build", name, "--out", name, "--rounds", "2", "--slow", "1",
                       "--launch", f"{sys.executable} -I -S {path}/launch.py"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            page = (path / "paper_isc25.md").read_text(encoding="utf-8")
        self.assertIn("EMULATED", page)
        self.assertIn("| 4 KiB | 104.1 [104.1..104.1] | 104.1 [104.1..104.1]; 1.00 | 208.2 [208.2..208.2]; 2.00 |", page)
        self.assertIn("Not measured: bcast, emu, together, round 1", page)


class FiguresTest(unittest.TestCase):
    """`sluice-bench paper`, through the script behind it."""

    def run_script(self, *words, failing=""):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            fake = folder / "launch.py"
            fake.write_text(f"FAILING = {failing!r}\n" + FAKE_PRACE, encoding="utf-8")
            done = subprocess.run([sys.executable, str(BENCH / "paper_figures"), *words, "--out", name, "--rounds", "2",
                                   "--launch", f"{sys.executable} -I -S {fake}"], capture_output=True, text=True, check=False)
            file = folder / "paper_prace.json"
            return done, json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def test_prace_writes_its_numbers_beside_the_papers(self):
        done, document = self.run_script("prace", "--backends", "emu")
        self.assertEqual(done.returncode, 0, done.stderr)
        # 3 us on the host, three times that where a side is on the device; 2 GB/s and 1 GB/s.
        self.assertIn("| Intra-node Device-Device | 3.4 / 2.2 | 15.8 / 5.8 | \u2013 | 9 / 1 |", done.stdout)
        self.assertIn("| Intra-node Host-Host | \u2013 | \u2013 | 3 / 2 | \u2013 |", done.stdout)
        self.assertIn("| Inter-node Device-Device | 9.2 / 0.3 | 18.08 / 5.7 | not run: one node | not run: one node |", done.stdout)
        self.assertIn("| 64 B | 3 | 9 | 3 |", done.stdout)
        self.assertIn("emu: a device", done.stdout)
        self.assertEqual({row["section"] for row in document["rows"]} & {"figure 3", "figure 4"}, {"figure 3", "figure 4"})
        self.assertEqual(document["published"]["table_1"], json.loads(json.dumps(prace.PUBLISHED_TABLE)))

    def test_prace_makes_the_same_page_again(self):
        with tempfile.TemporaryDirectory() as folder:
            first, again = pathlib.Path(folder) / "first", pathlib.Path(folder) / "again"
            done, document = self.run_script("prace", "--figure", "4", "--backends", "emu,nosuch", failing="nosuch")
            self.assertEqual(done.returncode, 0)
            first.mkdir()
            (first / "paper_prace.json").write_text(json.dumps(document), encoding="utf-8")
            words = [sys.executable, str(BENCH / "paper_figures"), "prace", "--out", str(again), "--again"]
            repeated = subprocess.run([*words, str(first / "paper_prace.json")], capture_output=True, text=True, check=False)
            self.assertEqual(repeated.returncode, 0, repeated.stderr)
            self.assertIn("Not measured: figure 4, nosuch", repeated.stdout)
            self.assertEqual(json.loads((again / "paper_prace.json").read_text(encoding="utf-8")), document)
            self.assertTrue(repeated.stdout.startswith((again / "paper_prace.md").read_text(encoding="utf-8")))
            (first / "other.json").write_text('{"schema": "sluice-bench"}', encoding="utf-8")
            refused = subprocess.run([*words, str(first / "other.json")], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("is no result of prace", refused.stderr)

    def test_prace_goes_on_without_what_fails(self):
        done, _ = self.run_script("prace", "--figure", "3", "--backends", "emu,nosuch", failing="nosuch")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Not measured: figure 3, nosuch", done.stdout)
        self.assertNotIn("Table 1", done.stdout)

    def test_says_each_reason_once(self):
        failures = {"figure 3, a, round 1": "no device", "figure 4, b, round 1": "too long", "figure 3, a, round 2": "no device"}
        self.assertEqual(list(report.failure_lines(failures)),
                         ["Not measured: figure 3, a, round 1 and 1 more: no device", "Not measured: figure 4, b, round 1: too long"])

    def test_says_so_when_nothing_was_measured(self):
        self.assertEqual(self.run_script("prace", "--figure", "3", "--backends", "emu", failing="sluice-bench")[0].returncode, 1)

    def test_refuses_what_a_paper_does_not_have(self):
        for words, text in ((("prace", "--figure", "5"), "prace has no figure 5 here"), (("ccgrid23", "--table", "1"), "no table 1"),
                            (("prace", "--frob"), "--frob"), (("nosuch",), "nosuch"), (("prace", "--ranks", "1"), "--ranks")):
            done, _ = self.run_script(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)

    def test_figures_4_and_8_of_the_other_paper_are_run_and_published(self):
        self.assertEqual([run.words[0] for run in runs.all_runs(["4", "8"], 16)], ["memcpy", *[test for test in runs.COLLECTIVES for _ in range(2)]])
        for (figure, column, size), value in claims.PUBLISHED.items():
            self.assertTrue(any(run.figure == figure and column in run.columns and size in run.sizes for run in
                                runs.all_runs(["4", "5", "7", "8"], 16)), (figure, column, size, value))
        cells = {key: [value] for key, value in claims.PUBLISHED.items()}
        for part in ("H2D: C malloc / runtime", "D2H: C malloc / runtime", "H2D / D2H at 4 MiB", "pinned memory is faster"):
            self.assertEqual(verdict(results_of(cells), "4", part).word, "seen", part)


if __name__ == "__main__":
    unittest.main()
