# SPDX-License-Identifier: BSD-3-Clause
"""For gates that look at each file which build/dev compiles: its command, what it depends on, and kept verdicts.

A verdict is kept under $XDG_CACHE_HOME/sluice/<gate>, named by a hash of all it depends on. So a second run checks what
changed. A finding is not kept.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/dev"
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+/cmake_pch\.hxx")
TOGETHER = re.compile(r'^#include "(/[^"]+)"', re.MULTILINE)  # in a file of CMake's that has several compiled at once
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)


def commands(gate):
    """The first command of each of the project's own sources (generated ones lie in the build folder)."""
    database = BUILD / "compile_commands.json"
    if not database.exists():
        sys.exit(f"{gate}: no build/dev/compile_commands.json; build first (make build)")
    result = {}
    for entry in json.loads(database.read_text()):
        compiled = pathlib.Path(entry["file"]).resolve()
        is_of_several = compiled.is_relative_to(BUILD) and compiled.parent.name == "Unity"
        files = map(pathlib.Path, TOGETHER.findall(compiled.read_text())) if is_of_several else [compiled]
        for file in files:
            is_c = file.suffix in (".c", ".cpp")  # the others are Fortran
            if is_c and file.is_relative_to(ROOT) and not file.is_relative_to(BUILD) and file not in result:
                command = PRECOMPILED.sub("", entry["command"])
                result[file] = command.replace(f"-c {entry['file']}", f"-c {file}") if is_of_several else command
    return result


def include_folders(command):
    words = shlex.split(command)
    folders = [word[2:] for word in words if word.startswith("-I") and len(word) > 2]
    folders += [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-isystem", "-I")]
    # What lies outside the project and its build folder changes with its version, which the configuration names.
    return [pathlib.Path(f) for f in folders if pathlib.Path(f).is_relative_to(ROOT) and "/.venv/" not in f]


@functools.cache
def contents(file):
    """The bytes of a file, and the names that it includes."""
    read = file.read_bytes()
    return read, [name.decode() for name in INCLUDE.findall(read)]


@functools.cache
def place_of(candidate):
    """Where an included file lies, without links: none if it is not there, false if a link leads out of the project,
    where it changes with its version, like the folders above."""
    if not candidate.is_file():
        return None
    place = candidate.resolve()
    return place if place.is_relative_to(ROOT) else False


def dependencies(file, folders):
    """The file and all headers of the project (and generated ones) that it includes, directly or not."""
    seen, todo = set(), [file]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in contents(current)[1]:
            places = (place_of(folder / name) for folder in [current.parent, *folders])
            place = next((place for place in places if place is not None), None)
            if place:
                todo.append(place)
    return sorted(seen)


def digest(file, command, more):
    """Names the verdict on a file: by its command, by the project's files that it includes, and by those bytes."""
    result = hashlib.sha256(more)
    words = [w for w in shlex.split(command) if not w.startswith(("-o", "-c"))]
    result.update(" ".join(words).replace(str(ROOT), ".").encode())
    for dependency in dependencies(file, include_folders(command)):
        result.update(str(dependency.relative_to(ROOT)).encode() + b"\0" + contents(dependency)[0])
    return result.hexdigest()


def latest_first(items):
    """Items that have a file, by the last commit that touched them; what no commit knows is newest."""
    log = subprocess.run(["git", "-C", ROOT, "log", "--format=", "--name-only", "--no-renames", "-m", "--first-parent"],
                         capture_output=True, text=True, check=False).stdout
    age = {}
    for name in log.splitlines():
        age.setdefault(name, len(age))
    return sorted(items, key=lambda item: age.get(str(item.file.relative_to(ROOT)), -1))


def judge(gate, items, check, within):
    """Checks the items, which have a file and a digest, as far as no verdict is kept; a file that is checked in several
    ways stands in several items. check(item) returns whether the item is clean, and what was said of it. With `within`,
    the latest changed come first, and none is begun later than so many seconds. Prints what was found, and a line with
    the numbers. Returns the exit status."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "sluice" / gate
    cache.mkdir(parents=True, exist_ok=True)
    pending = [item for item in items if not (cache / item.digest).exists()]
    end = time.monotonic() + within if within is not None else None
    order = latest_first(pending) if end is not None else pending
    found, left_out = 0, 0

    def check_in_time(item):
        return None if end is not None and time.monotonic() > end else check(item)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        for item, verdict in zip(order, pool.map(check_in_time, order)):
            if verdict is None:
                left_out += 1
            elif verdict[0]:
                (cache / item.digest).touch()
            else:
                found += 1
                print(verdict[1], flush=True)
    late = f", {left_out} not come to in {within} s" if left_out else ""
    print(f"{gate}: {len(items)} files, {len(items) - len(pending)} of them unchanged since they were found clean, "
          f"{found} with findings{late}")
    return 1 if found else 0
