#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The proof that commands_test.py can fail: pages with one mistake each, and what it must say of each.

Words: those of commands_test.py (--build, --backend).
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FENCE = "```"
# Name of the page: the words behind the fence, the lines, and what must be said; an empty text: nothing is wrong.
PAGES = {
    "right": ("console", "$ echo 12 seconds\n13   seconds", ""),
    "status": ("sh", "exit 3", "ends with 3 instead of 0"),
    "other_status": ("sh exit=3", "exit 4", "ends with 4 instead of 3"),
    "output": ("console", "$ echo one\ntwo", 'no line "two" in its place'),
    "beginning": ("console", "$ echo one and two\none ...", ""),
    "other_beginning": ("console", "$ echo one and two\ntwo ...", 'no line "two ..." in its place'),
    "order": ("console", "$ printf 'one\\ntwo\\n'\ntwo\none", 'no line "one" in its place'),
    "no_language": ("", "echo one", "the fence has no language"),
    "no_reason": ('sh not-run=""', "exit 3", "not-run has no value"),
    "option": ("sh later=yes", "true", "later is no option"),
    "unknown_mpi": ("sh mpi=lam", "true", "mpi=lam: there are"),
    "command": ("sh", "sluice start -- mpiexec -n 2 ./app", "ends with 2 instead of 0"),
}


def main():
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (info, text, _) in PAGES.items():
            pathlib.Path(folder, f"{name}.md").write_text(f"{FENCE}{info}\n{text}\n{FENCE}\n")
        done = subprocess.run([HERE / "commands_test.py", *sys.argv[1:], "--guide", folder], capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stdout.strip())
        return 77
    for name, (_, _, wanted) in PAGES.items():
        said = f"FAILED: {name}.md:1: {wanted}" if wanted else f"passed: {name}.md:1"
        if said not in done.stdout:
            print(f"commands_test.py does not say \"{said}\"")
            faults += 1
    if done.returncode != 1:
        print(f"commands_test.py ends with {done.returncode} instead of 1")
        faults += 1
    if faults:
        print(done.stdout + done.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
