#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sluice run --bind` and `sluice info --topology` from the outside, on emulated devices that hang where a profile says.

    placement_test.py BUILD_FOLDER MACHINES_FOLDER
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv[1])
MACHINES = pathlib.Path(sys.argv[2])
AT_ONCE = {"latency_us": 0, "bandwidth_gb_s": 0}
LINKS = {"host_to_device": {"pinned": AT_ONCE, "pageable": AT_ONCE}, "device_to_host": {"pinned": AT_ONCE, "pageable": AT_ONCE},
         "device_to_device": AT_ONCE, "peer_to_peer": AT_ONCE}
LAUNCHERS = {"mpich": "mpiexec.mpich", "ompi": "mpiexec.openmpi"}


def cores_in(text):
    """The numbers in "0-3,8"."""
    parts = [part.split("-") for part in text.split(",")]
    return {number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)}


def machine():
    """What of this machine and this process decides where ranks go."""
    status = pathlib.Path("/proc/self/status").read_text()
    return "\n".join([f"{os.cpu_count()} cores, of which this process has {sorted(os.sched_getaffinity(0))}; load {os.getloadavg()}",
                      *[line for line in status.splitlines() if "_allowed" in line],
                      *[f"{name}={value}" for name, value in sorted(os.environ.items())
                        if name.startswith(("SLUICE_", "OMPI_", "PMI", "HYDRA_", "MPIR_", "HWLOC_", "LD_", "TEST_"))]])


class TellingResult(unittest.TextTestResult):
    """Shows behind each failure all that the test had started, and the machine."""

    def tell(self, test):
        self.stream.writeln(f"\n---- {test.id()}: what it started ----\n" + "\n".join(test.told) + f"\n---- here ----\n{machine()}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell(test)


class Placement(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.told = []

    def sluice(self, words, places, **variables):
        profile = pathlib.Path(self.folder.name) / "profile.json"
        profile.write_text(json.dumps({"schema": 1, "name": "placed", "device": {"places": places}, "links": LINKS}))
        environment = {**os.environ, "SLUICE_EMU_MACHINE": f"profile={profile},devices={len(places)}",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", **variables}
        command = [str(BUILD / "bin/sluice"), *words]
        began = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False, timeout=100)
        except subprocess.TimeoutExpired as late:
            self.told.append(f"{shlex.join(command)}\n  {variables}, places {places}\n  no end within {late.timeout} s\n"
                             f"  stdout: {late.stdout!r}\n  stderr: {late.stderr!r}")
            raise
        self.told.append(f"{shlex.join(command)}\n  {variables}, places {places}\n"
                         f"  ended with {done.returncode} after {time.monotonic() - began:.1f} s\n"
                         f"  stdout: {done.stdout!r}\n  stderr: {done.stderr!r}")
        return done

    def run_bound(self, flavour, bind, places, n_ranks, **variables):
        # Rank 0 reads to the end: where it ends at once, MPICH 4.0.2's mpiexec now and then hands its own standard input on
        # to what is no longer there, and ends by SIGPIPE without a word. The others have one that never ends.
        program = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status; [ ${PMI_RANK:-0} != 0 ] || exec cat"]
        command = [LAUNCHERS[flavour], "-n", str(n_ranks), *program]
        return self.sluice(["run", "--backend", "emu", "--mpi", flavour, "--bind", bind, "--", *command], places, **variables)

    def flavours(self):
        found = [name for name, launcher in LAUNCHERS.items()
                 if shutil.which(launcher) and (BUILD / f"lib/libsluice_{name}.so").exists()]
        if not found:
            self.skipTest(f"none of {', '.join(LAUNCHERS.values())} is here")
        return found

    def test_topology_of_a_described_machine(self):
        places = [{"pci_address": f"0000:{bus}:00.0"} for bus in ("11", "21", "31", "41", "91", "a1", "b1", "c1")]
        done = self.sluice(["info", "--topology", "--json", "--backend", "emu"], places,
                           HWLOC_XMLFILE=str(MACHINES / "eight_devices.xml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertFalse(said["is_this_machine"])
        self.assertEqual([rank["cores"] for rank in said["ranks"]],
                         ["0-13,112-125", "14-27,126-139", "28-41,140-153", "42-55,154-167", "56-69,168-181", "70-83,182-195",
                          "84-97,196-209", "98-111,210-223"])
        self.assertEqual([device["network"] for device in said["devices"]], [[f"fabric_{i}"] for i in range(8)])
        self.assertNotIn("pulls_from", said["devices"][0])

    def test_topology_of_devices_with_two_tiles(self):
        places = [{"pci_address": f"0000:{bus}:00.0"} for bus in ("18", "28", "38", "98", "a8", "b8") for _ in range(2)]
        done = self.sluice(["info", "--topology", "--json", "--backend", "emu"], places,
                           HWLOC_XMLFILE=str(MACHINES / "six_devices.xml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        ranks = json.loads(done.stdout)["ranks"]
        self.assertEqual([rank["device"] for rank in ranks], list(range(12)))
        self.assertEqual([rank["cores"] for rank in ranks][:7:3], ["0-7,104-111", "26-33,130-137", "52-59,156-163"])

    def test_a_described_machine_is_not_bound_to(self):
        done = self.run_bound(self.flavours()[0], "closest", [{"pci_address": "0000:18:00.0"}], 1,
                              HWLOC_XMLFILE=str(MACHINES / "six_devices.xml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hwloc was given the description of another machine", done.stderr)

    def test_topology_measures_what_is_reached(self):
        done = self.sluice(["info", "--topology", "--json", "--measure", "--backend", "emu"], [{"numa_node": 0}] * 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        for device in json.loads(done.stdout)["devices"]:
            self.assertEqual([link["device"] for link in device["pulls_from"]], [0, 1])
            for link in device["pulls_from"]:
                self.assertTrue(link["is_reached"], link)
                self.assertGreater(link["gb_per_s"], 0)

    def test_ranks_are_bound(self):
        for flavour in self.flavours():
            with self.subTest(flavour):
                done = self.run_bound(flavour, "closest", [{"numa_node": 0}], 2)
                self.assertEqual(done.returncode, 0, done.stderr)
                sets = [cores_in(line.split()[1]) for line in done.stdout.splitlines()]
                self.assertEqual(len(sets), 2, done.stdout)
                if (os.cpu_count() or 1) > 1:
                    self.assertFalse(sets[0] & sets[1], done.stdout)

    def test_none_binds_nothing(self):
        flavour = self.flavours()[0]
        if flavour != "mpich":
            self.skipTest("mpiexec.mpich is not here, which binds nothing itself")
        done = self.run_bound(flavour, "none", [{"numa_node": 0}], 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(cores_in(done.stdout.split()[1]), os.sched_getaffinity(0), done.stderr)

    def test_unknown_places_are_told(self):
        done = self.run_bound(self.flavours()[0], "closest", [{}], 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0 of this node is not bound: the cores near device 0 are not known", done.stderr)

    def test_a_wrong_list_ends_the_run(self):
        for flavour in self.flavours():
            for bind, text in (("list:0,9", "there is no device 9: this node shows 1"),
                               ("list:0", "the list names 1 device, and 2 ranks run on this node")):
                with self.subTest(flavour=flavour, bind=bind):
                    done = self.run_bound(flavour, bind, [{"numa_node": 0}], 2)
                    self.assertNotEqual(done.returncode, 0)
                    lines = [line for line in done.stderr.splitlines() if "sluice" in line and "--bind" in line]
                    self.assertEqual(len(lines), 1, done.stderr)
                    self.assertIn(text, lines[0])

    def test_a_wrong_word_starts_nothing(self):
        for bind in ("list:0,first", "nearest"):
            done = self.run_bound(self.flavours()[0], bind, [{}], 1)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], testRunner=unittest.TextTestRunner(resultclass=TellingResult))
