#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration; tools/demo sets the environment and calls it.

demo.py BUILD EMULATED [BACKEND]    BUILD: folder with bin/ and lib/; EMULATED: the backend to show where none has a GPU;
                                    BACKEND: the one to show, whatever there is
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SIZES = "8,512,4K,32K,256K,1M"
# Enough for a fair median of each size; on a machine that is busy with other things still a matter of a minute.
LOOP = ["-i", "30", "-x", "3", "--repeat", "3"]
TIME_LIMIT_S = 900


def fail(text):
    sys.exit(f"demo: {text}")


def capture(command, **extra):
    environment = {**os.environ, **{name: str(value) for name, value in extra.items()}}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        fail(f"no result after {TIME_LIMIT_S} s from: {' '.join(map(str, command))}")


def without_name(backend):
    """The problem of a backend, which may begin with the backend's name."""
    return backend["problem"].removeprefix(f"{backend['name']}: ")


def choose_backend(info, emulated, wanted):
    usable = [backend for backend in info["backends"] if backend["is_usable"]]
    for backend in info["backends"]:
        if not backend["is_usable"]:
            print(f"  not usable: {backend['name']}: {without_name(backend) or 'it has no device'}")
    if wanted:
        usable = [backend for backend in usable if backend["name"] == wanted]
    if not usable:
        fail(f"{f'backend {wanted}' if wanted else 'no backend'} is usable; `sluice info` says why")
    # A GPU has a place on a bus. Without one the emulated device shows how messages go between GPUs; a runtime that has the
    # cores for its device is copied through host memory.
    return min(usable, key=lambda backend: (not backend["devices"][0]["pci_address"], backend["name"] != emulated))


def choose_mpi(info, build):
    """The launcher, its MPI's version and the benchmark built for it: MPICH if it is there, else Open MPI."""
    for launcher, flavour in (("mpiexec.mpich", "mpich"), ("mpirun.openmpi", "ompi")):
        bench = build / f"bin/sluice-bench.{flavour}"
        versions = [mpi["version"] for mpi in info["host_mpis"] if mpi["flavour"] == flavour]
        if shutil.which(launcher) and bench.exists() and versions:
            return launcher, versions[0], bench
    fail("no host MPI with a benchmark for it; tools/setup installs two")


def describe(device):
    place = [f"PCI {device['pci_address']}" if device["pci_address"] else "no PCI address"]
    if device["memory_bytes"]:
        place.append(f"{device['memory_bytes'] / 2**30:.1f} GiB")
    return f"{device['name']} ({', '.join(place)}); {device['runtime']}"


def show_table(report):
    print(f"{'bytes':>10} {'Sluice us':>12} {'naive us':>12} {'Sluice/naive':>14}   checked")
    for row in report["rows"]:
        series = {one["name"]: one["medians"]["median"] for one in row["series"]}
        print(f"{row['size_bytes']:>10} {series['direct']:>12.2f} {series['naive']:>12.2f} "
              f"{row['ratio']['median']:>13.2f}x   {'yes' if row['check']['passed'] else 'NO'}")


def main(words):
    build, emulated, wanted = pathlib.Path(words[0]).resolve(), words[1], " ".join(words[2:])
    sluice = build / "bin/sluice"
    asked = capture([sluice, "info", "--json"])
    if asked.returncode != 0:
        fail(f"sluice info failed: {asked.stderr.strip()}")
    info = json.loads(asked.stdout)

    print("What was found")
    backend = choose_backend(info, emulated, wanted)
    launcher, mpi_version, bench = choose_mpi(info, build)
    device = backend["devices"][0]
    print(f"  device:     {describe(device)}\n  backend:    {backend['name']}\n  host MPI:   {mpi_version} ({launcher})")
    if backend["name"] == emulated:
        print("  EMULATED:   threads and memory of this machine stand for GPUs; messages go the ways that they go between GPUs,\n"
              "              and every byte is checked; the times are those of this machine's cores, not of a GPU")

    with tempfile.TemporaryDirectory() as folder:
        statistics_file = pathlib.Path(folder, "statistics.json")
        report_file = pathlib.Path(folder, "report.json")
        command = [sluice, "run", "--backend", backend["name"], "--stats", "--", launcher, "-n", "2", bench, "latency",
                   "-d", backend["name"], "--sizes", SIZES, *LOOP, "--compare-naive", "--oversubscribe", "--json", report_file, "D", "D"]
        print("\nOne-way latency from device memory to device memory, 2 ranks, every byte of checked messages compared")
        shown = [os.path.relpath(word) if isinstance(word, pathlib.Path) else word for word in command]
        shown[shown.index("--json") + 1] = "report.json"
        print("  " + " ".join(shown) + "\n")
        ran = capture(command, SLUICE_STATS_FILE=statistics_file)
        if ran.returncode != 0:
            fail(f"the benchmark ended with exit status {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        report = json.loads(report_file.read_text())
        statistics = json.loads(statistics_file.read_text())

    show_table(report)
    print("\nWhat Sluice counted in rank 0 (the naive loop's own copies are the program's, so its messages are host ones)")
    print("\n".join("  " + line for line in ran.stderr.splitlines() if line.strip()))
    staged = [row for row in statistics["rows"] if row["buffer"] == "device"]
    calls, bytes_moved = (sum(row[what] for row in staged) for what in ("calls", "bytes"))
    if calls == 0:
        fail("no device buffer went through Sluice: the statistics above have no row for device memory")
    routes = " and ".join(sorted({row["route"] for row in staged}))
    print(f"\nJust seen: an MPI program that knows nothing of Sluice passed pointers to device memory ({device['name']}) to "
          f"{mpi_version.split(',')[0]}, which knows nothing of devices; Sluice carried {calls} such operations with "
          f"{bytes_moved / 1e6:.1f} MB, all by the route {routes}, and the data arrived right.")
    program = os.path.relpath(sluice)
    print(f"\nNext: `{program} run --stats -- {launcher} -n 2 ./app` runs a program of your own; `{program} info` says what this "
          f"machine has{', on a machine with a GPU `make demo` uses the GPU' if backend['name'] == emulated else ''}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
