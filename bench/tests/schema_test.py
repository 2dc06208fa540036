#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs sluice-bench and holds its JSON against docs/sluice-bench.schema.json, and its CSV against the JSON.

  schema_test.py <the spoiling library> <folder of the stub module> <tests/launch and its words> -- <sluice-bench>

Exit status 77 when the validator is not here.
"""

import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's packages are for
try:
    import jsonschema
except ImportError:
    if os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) and os.path.exists(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    print("skipped: no python3-jsonschema here (tools/setup installs it)")
    sys.exit(77)

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "sluice-bench.schema.json"
RUNS = (["latency", "--sizes", "8,64", "-i", "9", "-x", "1", "-z"],
        ["mbw_mr", "--sizes", "8", "-i", "9", "-x", "1", "--repeat", "2", "--check", "none"],
        ["latency", "-D", "vector", "--packed", "--sizes", "8,64", "-i", "9", "-x", "1"],
        ["allreduce", "--sizes", "8,64", "-i", "9", "-x", "1", "-T", "mpi_float"],
        ["ibcast", "--sizes", "8", "-i", "9", "-x", "1"],
        ["iallgather", "--sizes", "64", "-i", "9", "-x", "1"],
        ["barrier", "-i", "9", "-x", "1"],
        ["latency", "--sizes", "8", "-i", "9", "-x", "1", "--time-cap", "60", "--precision", "1e9"],
        ["latency", "--sizes", "64", "-i", "9", "-D", "struct", "--rotate", "2", "--bind", "list:0,1"],
        ["bw", "--sizes", "8", "-i", "9", "-x", "1", "-W", "2", "--repeat", "2", "--samples"],
        ["iallreduce", "--sizes", "64", "-i", "9", "-x", "1", "--rotate", "3", "--samples"],
        ["init"])
COLD = ["latency", "--cold", "--sizes", "64K", "-i", "40", "-x", "2"]


def check_csv(path, document):
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    blocks = [(row["size_bytes"], series["name"], block, row.get("extras", {}))
              for row in document["rows"] for series in row["series"] for block in series["blocks"]]
    assert len(lines) == len(blocks), f"{len(lines)} lines of CSV for {len(blocks)} blocks"
    for line, (size, name, block, extras) in zip(lines, blocks):
        assert None not in line and None not in line.values(), f"a line with too many or too few fields: {line}"
        assert (int(line["size_bytes"]), line["series"]) == (size, name), line
        for key in ("mean", "median", "min", "max", "p99", "stddev"):
            assert abs(float(line[key]) - block[key]) <= 1e-9 * max(1, abs(block[key])), (key, line, block)
        for key, value in extras.items():
            assert abs(float(line[key]) - value) <= 1e-9 * max(1, abs(value)), (key, line)


def check_samples(words, document):
    """--samples: every sample of every block, of which the block's other figures are made; else none."""
    for series in document["rows"][0]["series"]:
        for block in series["blocks"]:
            values = block.get("sample_values")
            assert (values is not None) == ("--samples" in words), (words, block)
            if values is not None:
                assert len(values) == block["samples"], block
                for key, value in (("min", min(values)), ("max", max(values)), ("median", statistics.median(values))):
                    assert abs(block[key] - value) <= 1e-3 * max(1, abs(value)), (key, value, block)


def check_bandwidths(document):
    """Of a non-blocking collective of two ranks: sizes that the operation moves over its time alone, and the bus' part of that."""
    moved, bus = {"ibcast": (1, 1), "iallgather": (2, 0.5), "iallreduce": (1, 1)}[document["test"]]
    for row in document["rows"]:
        extras = row["extras"]
        expected = row["size_bytes"] * moved / extras["pure_us"]
        for key, value in (("algorithm_mbps", expected), ("bus_mbps", expected * bus)):
            assert abs(extras[key] - value) <= 1e-6 * value, (document["test"], key, value, extras)


def check_sides(modules, launch, path, validator):
    """What a rank sends and what it receives, where they lie in different memory."""
    words = ["allgather", "D/H,P", "--sizes", "64", "-i", "4", "--module-path", str(modules), "-d", "stub", "--oversubscribe", "--force"]
    done = subprocess.run([*launch, *words, "--json", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert validator.is_valid(document), list(validator.iter_errors(document))
    assert document["options"]["placement"] == ["device/host", "pinned"], document["options"]
    first, second = document["ranks"]
    assert (first["memory"], first["recv_memory"], second["memory"]) == ("device", "host", "pinned"), document["ranks"]
    assert "recv_memory" not in second, second
    first["recv_memory"] = "elsewhere"
    assert not validator.is_valid(document), "a memory that nobody knows passes"


def growth_kib(launch, words, path, where="host"):
    command = [*launch, *words, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return json.loads(path.read_text(encoding="utf-8"))["rows"][0]["extras"][f"{where}_growth_kib"]


def check_growth(spoiler, launch, path):
    """A library that loses each message's size must be seen, and the host MPI alone must not look like one."""
    lost_kib = 64 * 40
    separator = launch.index("--")
    leaking = [*launch[:separator], "--preload-above", spoiler, "--env", "SPOIL_MODE=leak", "--env", "SPOIL_MIN_BYTES=65536",
               *launch[separator:]]
    calm, grown = growth_kib(launch, COLD, path), growth_kib(leaking, COLD, path)
    assert calm < lost_kib / 2, f"{calm} KiB without a leak"
    assert lost_kib * 0.9 <= grown <= lost_kib * 1.5, f"{grown} KiB, where {lost_kib} are lost"
    print(f"host memory: {calm:.0f} KiB more alone, {grown:.0f} KiB with {lost_kib} KiB lost")


def check_device_growth(modules, launch, path):
    """A device that keeps what is freed must be seen to the byte; the same device without that fault has not grown."""
    words = [*COLD, "--module-path", str(modules), "-d", "stub", "--oversubscribe", "--force"]
    separator = launch.index("--")
    leaking = [*launch[:separator], "--env-rank", "1", "SLUICE_STUB_LEAK=1", *launch[separator:]]
    calm, grown = growth_kib(launch, words, path, "device"), growth_kib(leaking, words, path, "device")
    # Two buffers of 64 KiB with a page of guards on both sides are new in each iteration behind the first.
    kept_kib = 39 * 2 * (64 + 8)
    assert (calm, grown) == (0, kept_kib), f"{calm} KiB without a leak, {grown} KiB where {kept_kib} are kept"
    print(f"device memory: {calm:.0f} KiB more alone, {grown:.0f} KiB with {kept_kib} KiB kept")
    # One-sided: what is accessed and the window, and the guards of what a put has not, to compare with and to bring.
    kept_kib = 39 * (2 * (64 + 8) + 2 * 8)
    calm, grown = (growth_kib(one, ["put_latency", *words[1:]], path, "device") for one in (launch, leaking))
    assert (calm, grown) == (0, kept_kib), f"put_latency: {calm} KiB without a leak, {grown} KiB where {kept_kib} are kept"


def main():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    with tempfile.TemporaryDirectory() as folder:
        json_path, csv_path = pathlib.Path(folder) / "run.json", pathlib.Path(folder) / "run.csv"
        for words in RUNS:
            command = [*sys.argv[3:], *words, "--json", str(json_path), "--csv", str(csv_path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
            document = json.loads(json_path.read_text(encoding="utf-8"))
            errors = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(document)]
            assert not errors, f"{words}: {errors}"
            check_csv(csv_path, document)
            check_samples(words, document)
            if words[0] in ("ibcast", "iallgather", "iallreduce"):
                check_bandwidths(document)
            if "--time-cap" in words:
                row = document["rows"][0]
                assert (row["stopped_by"], len(row["series"][0]["blocks"])) == ("precision", 6), row
            # The schema must be able to say no.
            del document["rows"][0]["series"][0]["blocks"][0]["median"]
            assert not validator.is_valid(document), "a block without its median passes"
        check_sides(sys.argv[2], sys.argv[3:], json_path, validator)
        check_growth(sys.argv[1], sys.argv[3:], json_path)
        check_device_growth(sys.argv[2], sys.argv[3:], json_path)
    print(f"{len(RUNS)} runs hold to the schema")


if __name__ == "__main__":
    main()
