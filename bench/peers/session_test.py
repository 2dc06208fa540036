# SPDX-License-Identifier: BSD-3-Clause
"""gpu_session with stand-in steps: nothing is measured. Needs tar and xz."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers import measuring, session  # noqa: E402
from peers.session_steps import Step  # noqa: E402

WELL = Step("well", "", ("sh", "-c", "echo said; echo figures >{out}/figures.txt"), 30)
BAD = Step("bad", "", ("sh", "-c", "exit 3"), 30)
HANGS = Step("hangs", "", ("sleep", "600"), 1)
ABSENT = Step("absent", "", ("{site}/no-such-program",), 30)
TWO = Step("two", "", ("true",), 30, n_devices=2)
LAST = Step("last", "", ("sh", "-c", "test -d {site} && test -d {bundle} && test \"$SLUICE_BENCH_MPIEXEC\" = {site}/mpich/bin/mpiexec"), 30)


class SessionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "bundle").mkdir()
        (self.root / "bundle/flavour").write_text("mpich\n", encoding="utf-8")  # as one that somebody has unpacked
        self.addCleanup(setattr, session, "STEPS", session.STEPS)

    def run_steps(self, steps, **given):
        session.STEPS = steps
        arguments = types.SimpleNamespace(**{"bundle": self.root / "bundle", "out": self.root / "out", "only": [], "budget_s": 100, "devices": 1, "share": False,
                                             **given})
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            status = session.run(arguments)
        lines = (self.root / "out/session.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[1:], shown.getvalue().splitlines())
        return status, {line.split()[0]: line.partition(" s  ")[2] for line in lines[1:]}

    def test_each_step_is_run_whatever_the_others_did(self):
        status, how = self.run_steps((WELL, BAD, HANGS, ABSENT, TWO, LAST))
        self.assertEqual(status, 1)
        self.assertEqual({name: how[name] for name in ("well", "bad", "hangs", "two", "last")},
                         {"well": "status 0", "bad": "status 3", "hangs": "ended after 1 s", "two": "left out: wants 2 GPUs", "last": "status 0"})
        self.assertIn("not started", how["absent"])
        with tarfile.open(self.root / "out/results.tar.xz") as results:
            self.assertEqual(results.extractfile("./well/figures.txt").read(), b"figures\n")
            self.assertIn(b"said", results.extractfile("./well/log.txt").read())
            self.assertNotIn("./two", results.getnames())

    def test_nothing_of_a_step_that_is_ended_lives_on(self):
        pid = self.root / "pid"
        step = Step("hangs", "", ("sh", "-c", f"setsid sh -c 'echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 600' & wait"), 2)
        self.assertEqual(self.run_steps((step,))[1], {"hangs": "ended after 2 s"})
        state = pathlib.Path("/proc") / pid.read_text(encoding="utf-8").strip() / "stat"
        # Nobody may have asked for its status yet.
        self.assertTrue(not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")

    def test_all_well_is_status_0(self):
        self.assertEqual(self.run_steps((WELL, TWO, LAST))[0], 0)

    def test_nothing_begins_when_the_time_is_used_up(self):
        status, how = self.run_steps((WELL, LAST), budget_s=5)
        self.assertEqual((status, how["well"]), (0, "left out: the time is used up"))

    def test_names_are_unlike_and_say_of_four_devices(self):
        names = [step.name for step in session.STEPS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({name for name in names if name.endswith("_four")}, {step.name for step in session.STEPS if step.n_devices == 4})
        places = {name: "" for name in ("site", "bundle", "out", "python")}
        for step in session.STEPS:
            self.assertNotIn("{", "".join(word.format(**places) for word in step.words), step.name)

    def test_only_those_asked_for_run(self):
        self.assertEqual(list(self.run_steps((WELL, BAD, LAST), only=["last", "well"])[1]), ["well", "last"])
        with self.assertRaisesRegex(ValueError, "no step none-such"):
            self.run_steps((WELL,), only=["none-such"])

    def test_the_service_runs_around_the_steps(self):
        service, said = self.root / "service", self.root / "said"
        service.write_text(f'#!/bin/sh\nif [ "$1" = -d ]; then echo "$CUDA_MPS_PIPE_DIRECTORY"; else cat; fi >>{said}\n', encoding="utf-8")
        service.chmod(0o755)
        self.addCleanup(setattr, session, "SERVICE", session.SERVICE)
        session.SERVICE = str(service)
        step = Step("step", "", ("sh", "-c", f'echo "$CUDA_MPS_PIPE_DIRECTORY" >>{said}; test -d "$CUDA_MPS_LOG_DIRECTORY"'), 30)
        self.assertEqual(self.run_steps((step,), share=True)[1], {"step": "status 0"})
        begun, seen, ended = said.read_text(encoding="utf-8").split()
        self.assertEqual((begun, ended), (seen, "quit"))
        session.SERVICE = str(self.root / "none-such")
        with self.assertRaisesRegex(measuring.MeasureError, "leave out --share"):
            self.run_steps((step,), share=True)


class TableTest(unittest.TestCase):
    def test_steps_have_names_of_their_own_and_fit_into_a_call(self):
        names = [step.name for step in session.STEPS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(max(step.limit_s for step in session.STEPS), 540)

    def test_the_scripts_that_steps_start_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = pathlib.Path(folder)
            session.stage_scripts(stage)
            wanted = [word.split()[0] for step in session.STEPS for word in step.words if word.startswith(("{site}/scripts/", "{site}/data_parallel/"))]
            self.assertTrue(wanted)
            for word in wanted:
                self.assertTrue((stage / word.removeprefix("{site}/")).exists(), word)
            for script in session.SCRIPTS[:2]:
                subprocess.run([sys.executable, stage / "scripts" / script, "--help"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
