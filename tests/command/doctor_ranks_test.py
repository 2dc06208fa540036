#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sluice doctor` in real jobs of one node.

Words: the program sluice, tests/launch, the host MPI's name, its flavour, the folder of the libraries, a backend that is
always there, K=V by which it has no device, K=V by which it refuses to map memory of another process.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SLUICE, LAUNCH, MPI, FLAVOUR, LIBRARIES, BACKEND, NO_DEVICES, REFUSES = sys.argv[1:9]
LIBRARY = f"{LIBRARIES}/libsluice_{FLAVOUR}.so"


def run(words, environment=None):
    """Exit status, and both streams together."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env={**clean, **(environment or {})})
    return done.returncode, done.stdout


def doctor(*options, launch=(), n_ranks=2, status=0):
    """What the doctor of so many ranks prints, in one line; `launch`: options of tests/launch."""
    words = [LAUNCH, "--mpi", MPI, "--flavour", FLAVOUR, "-n", str(n_ranks), "--expect-exit", str(status), *launch, "--",
             SLUICE, "doctor", "--mpi", FLAVOUR, "--backend", BACKEND, *options]
    returned, output = run(words)
    if returned == 77:
        raise unittest.SkipTest(output.strip())
    if returned != 0:
        raise AssertionError(output)
    return re.sub(r"\s+", " ", output)


class AloneTest(unittest.TestCase):
    def test_says_so_and_looks_at_itself(self):
        status, output = run([SLUICE, "doctor", "--mpi", FLAVOUR, "--backend", BACKEND])
        self.assertEqual(status, 0, output)
        self.assertIn("No launcher started this process", output)
        self.assertIn("sluice doctor", output)
        self.assertIn("All is well.", output)

    def test_ends_with_2_where_it_cannot_look(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "bin/sluice"
            copy.parent.mkdir()
            copy.write_bytes(pathlib.Path(SLUICE).read_bytes())
            copy.chmod(0o755)
            status, output = run([str(copy), "doctor", "--lib-dir", LIBRARIES])
            self.assertEqual(status, 2, output)
            self.assertIn("no MPI program can be started", output)
        self.assertEqual(run([SLUICE, "doctor", "--mpi", "nonesuch"])[0], 2)


class RanksTest(unittest.TestCase):
    def test_all_is_well(self):
        output = doctor()
        self.assertIn("All is well.", output)
        self.assertRegex(output, r"0 - 1 0 - 1 [0-9.]+ us [0-9.]+ GB/s right ipc")
        self.assertIn("preloaded by the doctor", output)

    def test_lines_are_short(self):
        status, output = run([LAUNCH, "--mpi", MPI, "--flavour", FLAVOUR, "-n", "2", "--", SLUICE, "doctor", "--mpi", FLAVOUR,
                              "--backend", BACKEND])
        self.assertEqual(status, 0, output)
        long_ones = [line for line in output.splitlines() if len(line) > 100 and "/" not in line]
        self.assertEqual(long_ones, [])

    def test_json(self):
        status, output = run([LAUNCH, "--mpi", MPI, "--flavour", FLAVOUR, "-n", "3", "--", SLUICE, "doctor", "--mpi", FLAVOUR,
                              "--backend", BACKEND, "--json"])
        self.assertEqual(status, 0, output)
        root = json.loads(output[output.index("{"):output.rindex("}") + 1])
        self.assertTrue(root["is_well"])
        self.assertEqual([rank["rank"] for rank in root["ranks"]], [0, 1, 2])
        self.assertEqual([pair["ranks"] for pair in root["pairs"]], [[0, 1], [0, 2], [1, 2]])
        self.assertEqual({side["long_route"] for pair in root["pairs"] for side in pair["sides"]}, {"ipc"})

    def test_a_rank_without_sluice_is_named(self):
        words = ["--no-preload", ":", "-n", "1", "env", f"LD_PRELOAD={LIBRARY}", SLUICE, "doctor", "--mpi", FLAVOUR,
                 "--backend", BACKEND, "--no-preload"]
        output = doctor(*words, n_ranks=1, status=1)
        self.assertIn("rank 0: Sluice is not in the process", output)
        self.assertIn("preloaded by you", output)

    def test_a_rank_with_sluice_off_is_named(self):
        output = doctor(launch=("--env-rank", "1", "SLUICE_ENABLE=0"), status=1)
        self.assertIn("rank 1: Sluice is switched off", output)
        self.assertIn("The SLUICE_* variables differ", output)

    def test_an_unknown_variable_is_named(self):
        output = doctor(launch=("--env", "SLUICE_P2P_IPCS=off", "--env", "SLUICE_TUNING=no_such_thing=1"), status=1)
        self.assertIn("ranks 0,1: unknown knob SLUICE_P2P_IPCS", output)
        self.assertIn("ranks 0,1: SLUICE_TUNING gives a value to no_such_thing", output)

    def test_a_way_that_was_switched_off_is_named(self):
        output = doctor(launch=("--env", "SLUICE_P2P_IPC=off"), status=1)
        self.assertIn("Between ranks 0 and 1: messages of 4 MiB go through the memory of the host", output)
        self.assertIn("SLUICE_P2P_IPC=off", output)

    def test_a_way_that_was_refused_is_named_with_its_reason(self):
        output = doctor(launch=("--env", REFUSES), status=1)
        self.assertRegex(output, r"Between ranks 0 and 1: a faster way was refused \(ipc_\w+\)\. \S")

    def test_a_mask_that_hides_all_devices_is_named(self):
        variable, value = NO_DEVICES.split("=", 1)
        with tempfile.TemporaryDirectory() as folder:
            for file in pathlib.Path(LIBRARIES, "sluice").iterdir():
                if BACKEND in file.name:
                    (pathlib.Path(folder) / file.name).symlink_to(file)
            needs = pathlib.Path(folder) / f"libsluice_backend_{BACKEND}.needs"
            text = needs.read_text()
            needs.unlink()
            needs.write_text(f"{text}mask {variable} {value}\n")
            output = doctor(launch=("--env", f"SLUICE_BACKEND_PATH={folder}", "--env", NO_DEVICES, "--env",
                                    f"LD_LIBRARY_PATH={LIBRARIES}/sluice"), status=1)
        self.assertIn(f"ranks 0,1: {variable} hides all devices of the backend {BACKEND}", output)

    def test_a_launcher_of_another_mpi_is_named(self):
        words = {"mpich": "ompi4", "ompi": "mpich4"}
        if FLAVOUR not in words:
            self.skipTest("this flavour's programs start under several launchers")
        status, output = run([LAUNCH, "--mpi", words[FLAVOUR], "-n", "2", "--expect-exit", "1", "--", SLUICE, "doctor", "--mpi",
                              FLAVOUR, "--backend", BACKEND])
        if status == 77:
            self.skipTest(output.strip())
        self.assertEqual(status, 0, output)
        self.assertIn("The launcher started 2 processes, and to the MPI they are jobs of 1 rank", output)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[9:]])
