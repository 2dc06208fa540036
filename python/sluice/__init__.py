# SPDX-License-Identifier: BSD-3-Clause
"""Sluice in Python: where its files lie, and what its library counted in this process.

Nothing here loads the library: `sluice run`, or LD_PRELOAD, does that before the process begins. `import sluice.torch`
registers the backend `sluice` of torch.distributed.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sysconfig

FLAVOURS = ("mpich", "ompi", "abi")


def _prefix():
    """The folder below which an installation lies: SLUICE_PREFIX, that of this environment, or those of the PATH."""
    candidates = [os.environ.get("SLUICE_PREFIX"), sysconfig.get_path("data")]
    candidates += [os.path.dirname(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for candidate in candidates:
        if candidate and (pathlib.Path(candidate) / "bin/sluice").exists():
            return pathlib.Path(candidate)
    raise FileNotFoundError("no installation of Sluice was found; put the folder of the program `sluice` into PATH, "
                            "or set SLUICE_PREFIX to the folder above it")


def get_include():
    """The folder of the header sluice/sluice.h. FileNotFoundError: no installation was found."""
    return str(_prefix() / "include")


def library_path(flavour):
    """The library to preload for an MPI of that binary interface: "mpich", "ompi" or "abi". ValueError: another word.
    FileNotFoundError: there is no such library."""
    if flavour not in FLAVOURS:
        raise ValueError(f"{flavour!r} is no binary interface; they are {', '.join(FLAVOURS)}")
    path = _prefix() / "lib" / f"libsluice_{flavour}.so"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; install Sluice with this flavour")
    return str(path)


def run(command, **options):
    """Runs `sluice run` with the words of `command`, as subprocess.run() with `options` does, and returns what that
    returns. Blocks until the command ends."""
    return subprocess.run([str(_prefix() / "bin/sluice"), "run", *map(str, command)], check=False, **options)


def _function(name):
    """A function of the library in this process, or None where the library is not loaded."""
    return getattr(ctypes.CDLL(None), name, None)


def is_enabled():
    """Whether MPI calls of this process go through Sluice."""
    function = _function("sluice_is_enabled")
    return function is not None and function() != 0


def takes_memory_of(backend):
    """Whether device memory of that backend, as `sluice info` names it, may be passed to MPI in this process now."""
    function = _function("sluice_query_backend")
    return function is not None and function(backend.encode()) != 0


def routes():
    """What was counted in this process, as docs/statistics.md says; empty where the library is not loaded. The
    environment variable SLUICE_STATS switches counting on, before the process begins."""
    function = _function("sluice_statistics_json")
    if function is None:
        return {}
    function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    size_bytes = function(None, 0)
    while True:
        buffer = ctypes.create_string_buffer(size_bytes + 1)
        needed = function(buffer, len(buffer))
        if needed < len(buffer):
            return json.loads(buffer.value)
        size_bytes = needed  # more was counted meanwhile
