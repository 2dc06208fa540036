# SPDX-License-Identifier: BSD-3-Clause
"""Runs the steps of session_steps.py on a machine with GPUs, one by one, and makes the bundle for that: `bench/gpu_session`."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from peers import measuring, preparing, running
from peers.session_steps import STEPS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SERVICE = "nvidia-cuda-mps-control"
ARCHIVE = "session.tar.xz"  # in the bundle, unpacked after our programs
BENCHES = ("launch", "pack", "rearrange")
SCRIPTS = ("paper_figures", "paper_ccgrid23", "launch", "one_sided", "side_by_side.py", "file_figures")


def names_of(only):
    """The steps that are asked for, in the order of the table; raises ValueError for a name that none has."""
    known = [step.name for step in STEPS]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ValueError(f"no step {', '.join(unknown)}: --list names them")
    return [step for step in STEPS if not only or step.name in only]


def table():
    lines = [f"{'step':<16} GPUs  limit  what it measures, and why"]
    return "\n".join(lines + [f"{step.name:<16} {step.n_devices:>4} {step.limit_s:>4} s  {step.what}" for step in STEPS]) + "\n"


# ---- here ----

def stage_scripts(stage):
    scripts = stage / "scripts"
    scripts.mkdir()
    for script in SCRIPTS:
        shutil.copy2(HERE.parent / script, scripts / script)
    for folder in ("paper", "peers"):
        shutil.copytree(HERE.parent / folder, scripts / folder, ignore=shutil.ignore_patterns("__pycache__", "*_test.py", "*.md", "*.c", "*.cpp", "*.hpp"))
    shutil.copytree(ROOT / "apps/data_parallel", stage / "data_parallel", ignore=shutil.ignore_patterns("__pycache__", "*_test.py"))
    tune = stage / "ours/libexec/sluice"  # as it lies in an installation
    tune.mkdir(parents=True)
    shutil.copy2(HERE.parent / "tune", tune / "tune")
    shutil.copytree(HERE.parent / "tuning", tune / "tuning", ignore=shutil.ignore_patterns("__pycache__", "*_test.py"))
    profiles = stage / "ours/lib/sluice/emu_profiles"  # the paper's own numbers are drawn from there
    profiles.mkdir(parents=True)
    shutil.copy2(ROOT / "backends/emu/profiles/dg1.json", profiles / "dg1.json")


def prepare(arguments):
    """Makes the bundle, of which compare_peers makes a part, and puts the session beside it."""
    shell = preparing.Shell(False)
    is_there = (arguments.bundle / preparing.ARCHIVE).exists()
    shell.run([HERE.parent / "compare_peers", "--refresh" if is_there else "--prepare", "--no-compile", "--build", arguments.build, "--bundle",
               arguments.bundle])
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        stage_scripts(stage)
        for name in BENCHES:
            program = arguments.build / f"bin/cuda_{name}_bench"
            if not program.exists():
                raise preparing.PrepareError(f"{program} is missing: ninja -C {arguments.build} cuda_{name}_bench")
            shell.run(["install", "-D", program, stage / "bin" / program.name])
            shell.run(["strip", stage / "bin" / program.name])
        shell.run([ROOT / "tests/gpu/run", "--prepare", stage / "gpu", "--build", arguments.build])
        shell.run(["tar", "-C", stage, "-I", "xz -6 -T0", "-cf", arguments.bundle / ARCHIVE, "."])
    shutil.copy2(HERE.parent / "gpu_session", arguments.bundle / "gpu_session")
    preparing.report_size(arguments.bundle)
    return 0


# ---- there ----

def count_devices():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


def environment(site):
    """Of every step: which MPI the scripts start, and where its library is."""
    outer = os.environ.get("LD_LIBRARY_PATH", "")
    return {**os.environ, "SLUICE_BENCH_MPIEXEC": str(site / "mpich/bin/mpiexec"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            "LD_LIBRARY_PATH": ":".join(filter(None, (str(site / "mpich/lib"), outer)))}


def run_step(step, places, limit_s, env):
    """How the step ended, in a word or two. What it wrote lies in its folder, its output in log.txt there."""
    folder = pathlib.Path(places["out"])
    folder.mkdir(parents=True)
    words = [word.format(**places) for word in step.words]
    with open(folder / "log.txt", "w", encoding="utf-8", errors="replace") as log:
        log.write(" ".join(words) + "\n")
        log.flush()
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        except OSError as error:
            return f"not started: {error}"
        try:
            return f"status {process.wait(timeout=limit_s)}"
        except subprocess.TimeoutExpired:
            running.end_group(process)
            return f"ended after {limit_s:.0f} s"


def pack_results(folder, out):
    """All results so far in one file, because few files come back."""
    unfinished = out / "results.tar.xz.new"
    done = subprocess.run(["tar", "-C", str(folder), "-cJf", str(unfinished), "."], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        unfinished.replace(out / "results.tar.xz")
    else:
        print(f"gpu_session: the results cannot be packed: {done.stderr.strip()[:200]}", flush=True)


@contextlib.contextmanager
def shared_device(folder, env):
    """The vendor's multi-process service for all that is started with the environment that this gives: processes that
    share a device run on it side by side instead of by turns of milliseconds. It changes no setting of the device, and
    ends with the block."""
    # With the few connections that the service gives else, a stream that waits holds up others of its process (docs/queue/guide.md).
    own = {**env, "CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log"), "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
    for name in ("pipe", "log"):
        (folder / name).mkdir(parents=True)
    try:
        subprocess.run([SERVICE, "-d"], env=own, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise measuring.MeasureError(f"{SERVICE} cannot be started: {error}; leave out --share") from error
    try:
        yield own
    finally:
        try:
            subprocess.run([SERVICE], input="quit\n", text=True, env=own, check=False, timeout=30)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"gpu_session: {SERVICE} does not end: {error}", flush=True)


def run(arguments):
    """Runs the steps one by one; a step that fails or hangs is named, and the next one begins."""
    steps = names_of(arguments.only)
    arguments.out.mkdir(parents=True, exist_ok=True)
    n_devices = count_devices() if arguments.devices is None else arguments.devices
    deadline, worst = time.monotonic() + arguments.budget_s, 0
    lines = [f"{n_devices} GPUs" + (", shared at the same time (multi-process service)" if arguments.share else "")]
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (scratch / "site").mkdir()
        site = measuring.unpack(arguments.bundle, str(scratch / "site")).root
        env = environment(site)
        if arguments.share:
            env = stack.enter_context(shared_device(scratch / "service", env))
        for step in steps:
            left_s, begin = deadline - time.monotonic(), time.monotonic()
            if n_devices < step.n_devices:
                how = f"left out: wants {step.n_devices} GPUs"
            elif left_s < 15:
                how = "left out: the time is used up"
            else:
                places = {"site": str(site), "bundle": str(arguments.bundle.resolve()), "out": str(scratch / "results" / step.name),
                          "python": sys.executable}
                how = run_step(step, places, min(step.limit_s, left_s), env)
                worst = max(worst, 0 if how == "status 0" else 1)
            lines.append(f"{step.name:<16} {time.monotonic() - begin:6.1f} s  {how}")
            print(lines[-1], flush=True)
            (arguments.out / "session.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
            if (scratch / "results").exists():
                pack_results(scratch / "results", arguments.out)
    return worst
