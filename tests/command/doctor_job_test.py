#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sluice doctor --job` on jobs that hang.

Words: the program sluice, tests/launch, the folder of the programs, the host MPI's name, its flavour, the folder of the
libraries, a backend that is always there.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

SLUICE, LAUNCH, PROGRAMS, MPI, FLAVOUR, LIBRARIES, BACKEND = sys.argv[1:8]
MOST_SECONDS = 120  # a job that has not come to its wait by then is a failure


def doctor(*words):
    done = subprocess.run([SLUICE, "doctor", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60)
    return done.returncode, done.stdout


class JobTest(unittest.TestCase):
    def setUp(self):
        self.job = None

    def tearDown(self):
        if self.job is not None:
            os.killpg(self.job.pid, signal.SIGKILL)
            self.job.wait()

    def start(self, how, *launch):
        words = [LAUNCH, "--mpi", MPI, "--flavour", FLAVOUR, "--sluice", LIBRARIES, "-n", "2", "--backends", BACKEND,
                 *launch, "--", f"{PROGRAMS}/hangs", "--backend", BACKEND, how]
        self.job = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)

    def say(self, *options, what=""):
        """What the doctor says once somebody waits, and once it says `what`, a pattern."""
        ends_at = time.monotonic() + MOST_SECONDS
        while time.monotonic() < ends_at:
            status, output = doctor("--job", str(self.job.pid), *options)
            if status == 1 and re.search(what, output):
                return output
            self.assertIsNone(self.job.poll(), output)
        raise AssertionError(output)

    def look(self, how, beginning, *launch):
        stands_still = r"(?m)^rank 1 \(process \d+\) waits for nothing that Sluice sees \(state S\)"
        self.start(how, *launch)
        output = self.say(what=stands_still)  # rank 1 may still be on its way there
        print(f"--- {MPI} {how} {' '.join(launch)}\n{output}", flush=True)
        self.assertRegex(output, rf"(?m)^rank 0 \(process \d+\) waits in {beginning}")
        self.assertRegex(output, stands_still)
        return output

    def test_receive(self):
        output = self.look("recv", r"MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD, 4096 bytes")
        self.assertIn("- Rank 0 waits in MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD; rank 1 waits for nothing that "
                      "Sluice sees.", output)

    def test_receive_inside_the_host_mpi(self):
        self.look("recv", r"MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD, 4096 bytes, route staged, in the host MPI's own call, for \d",
                  "--env", "SLUICE_P2P_IPC=off", "--env", "SLUICE_P2P_PIPELINE=none")

    def test_wait(self):
        self.look("wait", r"MPI_Wait from rank 1, tag 7, MPI_COMM_WORLD, 4096 bytes")

    def test_wait_that_outlives_its_communicator(self):
        self.look("freed", r"MPI_Wait from rank 1, tag 7, 4096 bytes")

    def test_allreduce(self):
        self.look("allreduce", r"MPI_Allreduce, MPI_COMM_WORLD")

    def test_json(self):
        self.start("recv")
        root = json.loads(self.say("--json"))
        ranks = {process["rank"]: process for process in root["processes"]}
        self.assertEqual([wait["function"] for wait in ranks[0]["waits"]], ["MPI_Recv"])
        self.assertEqual((ranks[0]["waits"][0]["world_peer"], ranks[0]["waits"][0]["tag"]), (1, 7))
        self.assertEqual(ranks[1]["waits"], [])
        processes = {process["process"] for process in json.loads(doctor("--json", "--job")[1])["processes"]}
        self.assertLessEqual({process["process"] for process in root["processes"]}, processes)

    def test_no_such_process(self):
        self.assertEqual(doctor("--job", str(2**22 + 1))[0], 2)
        self.assertEqual(doctor("--job", "0")[0], 2)
        self.assertEqual(doctor("--job", "1", "--mpi", "mpich")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[8:])
