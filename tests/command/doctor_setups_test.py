#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Set-ups that are broken in ways that users report, and what `sluice doctor` says of each: the right rank, and the cause.

Words: the program sluice, tests/launch, the host MPI's name, its flavour, the folder of the libraries, a backend that is
always there. Cases that `doctor_ranks_test.py` has are not here.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SLUICE, LAUNCH, MPI, FLAVOUR, LIBRARIES, BACKEND = sys.argv[1:7]
OTHER = {"mpich": "ompi", "ompi": "mpich", "abi": "mpich"}[FLAVOUR]
ENV = shutil.which("env")


def run(words, environment=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env={**clean, **(environment or {})})
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


def command(*options, launch=(), front=()):
    return [LAUNCH, "--mpi", MPI, "--flavour", FLAVOUR, "-n", "2", *launch, "--", *front, SLUICE, "doctor", "--mpi", FLAVOUR,
            "--backend", BACKEND, *options]


def in_own_mounts(script, words):
    """The words, started where `script` has changed what is mounted."""
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        raise unittest.SkipTest("missing: the right to have mounts of one's own (unshare -m)")
    return ["unshare", "-m", "sh", "-c", f'{script}; exec "$@"', "sh", *words]


class SetupsTest(unittest.TestCase):
    def expect(self, words, *texts, environment=None):
        _, output = run(words, environment)
        for text in texts:
            self.assertRegex(output, text)

    def test_little_shared_memory(self):
        self.expect(in_own_mounts("mount -t tmpfs -o size=8m tmpfs /dev/shm", command()), r"/dev/shm has \d+ KiB free")

    def test_no_shared_memory(self):
        script = "mount -t tmpfs tmpfs /dev/shm; mount -o remount,ro /dev/shm"
        self.expect(in_own_mounts(script, command()), "/dev/shm cannot be written to")

    def test_few_files(self):
        self.expect(["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", *command()], "ranks 0,1: a process may have less than 1024 files open")

    def test_backends_that_are_not_allowed(self):
        self.expect(command(launch=("--env", "SLUICE_BACKENDS=none")), r"does not take device memory of the backend \w+ \(SLUICE_BACKENDS is none\)")

    def test_a_module_that_cannot_be_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(pathlib.Path(LIBRARIES, "sluice"), folder, dirs_exist_ok=True)
            pathlib.Path(folder, f"libsluice_backend_{BACKEND}.so").write_text("no library")
            self.expect(command(launch=("--env", f"SLUICE_BACKEND_PATH={folder}")), f"no device of the backend {BACKEND}: .*file too short",
                        "Install Sluice anew, or correct SLUICE_BACKEND_PATH")

    def test_no_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            self.expect(command(launch=("--env", f"SLUICE_BACKEND_PATH={folder}")), "no backend|There is no backend")

    def test_a_library_of_another_flavour(self):
        library = f"{LIBRARIES}/libsluice_{OTHER}.so"
        self.expect(command(front=[ENV, f"LD_PRELOAD={library}"]), rf"LD_PRELOAD names {re.escape(library)}, which is for")

    def test_a_library_that_is_not_on_this_node(self):
        self.expect(command("--no-preload", front=[ENV, f"LD_PRELOAD=/nowhere/libsluice_{FLAVOUR}.so"]),
                    rf"/nowhere/libsluice_{FLAVOUR}.so was to be preloaded and is not in the process")

    def test_a_script_that_clears_the_preload(self):
        self.expect(command("--no-preload", launch=("--sluice", LIBRARIES), front=[ENV, "-u", "LD_PRELOAD"]),
                    "Sluice is not in the process: LD_PRELOAD does not name it")

    def test_a_wrong_value(self):
        self.expect(command(launch=("--env", "SLUICE_QUEUE_ENGINE=gpu")), 'knob SLUICE_QUEUE_ENGINE has the value "gpu"')

    def test_a_tuning_table_that_is_not_there(self):
        self.expect(command(launch=("--env", "SLUICE_TUNING=/nowhere.json")), "the tuning table /nowhere.json is not used")

    def test_a_damaged_tuning_table(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "mine.json")
            table.write_text(f'{{"format": 2, "backend": "{BACKEND}", "settings": {{"coll_segment": "many"}}}}')
            self.expect(command(launch=("--env", f"SLUICE_TUNING={table}")), f"the tuning table {table} is not used: coll_segment cannot be")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]])
