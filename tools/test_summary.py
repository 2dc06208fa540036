#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up the JUnit files that ctest wrote into a folder, one for each preset.

test_summary.py FOLDER                        what was skipped and why, what failed, then `N passed, N failed, N skipped`
test_summary.py --failures PRESET FOLDER      the output of each test of that preset that failed
test_summary.py --build-failed PRESET FOLDER  records that the preset did not compile, as one failed test

The exit status of the first form is 0 only if at least one test ran and none failed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# A test that fails may print without end; its beginning and its end say most.
SHOWN_LINES = 60
# What is said again beside the sum, for a reader who is shown the end alone.
CAUSE_LINES = 8
# Of GoogleTest in a process alone, and of ranks; of programs that end by a signal, and of sanitizers; of tests/launch.
CAUSE = re.compile(r": Failure$|^rank \d+: .*:\d+: |: error:|Segmentation fault|[Aa]ssert.*failed|ERROR: |WARNING: Thread"
                   r"|^launch: (?!a rank ended|to run it alone)")


def cases(file):
    """Yields (name, state, output) of each test of one JUnit file; state is passed, failed or skipped."""
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        state = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}.get(
            case.get("status"), "failed")
        if case.find("failure") is not None or case.find("error") is not None:
            state = "failed"
        elif case.find("skipped") is not None and not is_broken(case):
            state = "skipped"
        elif is_broken(case):
            state = "failed"
        yield case.get("name"), state, case.findtext("system-out") or ""


def is_broken(case):
    """ctest calls a test whose program is missing, or whose fixture failed, "skipped"; that is a failure here."""
    skipped = case.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    return bool(re.search(r"Unable to find|NOT_AVAILABLE|Fixture|DEPENDENCY", message, re.IGNORECASE))


def reason(output):
    """The line of a skipped test's output that says what was missing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        if re.search(r"Skipped$", line) and i + 1 < len(lines):  # GoogleTest: "file:line: Skipped", then the text
            return lines[i + 1]
    for line in lines:
        if re.match(r"skip(ped)?\b", line, re.IGNORECASE):
            return line
    return lines[-1] if lines else "no reason given"


def causes(output):
    """The lines of a failed test's output that say what was wrong: failed expectations, signals, reports of sanitizers."""
    lines = output.splitlines()
    said = []
    for i, line in enumerate(lines):
        if CAUSE.search(line):
            said += lines[i:i + 4]
    return (said or lines[-CAUSE_LINES:])[:CAUSE_LINES]


def show_failures(preset, folder):
    file = folder / f"{preset}.xml"
    if not file.exists():
        return
    for name, state, output in cases(file):
        if state != "failed":
            continue
        lines = output.splitlines()
        if len(lines) > SHOWN_LINES:
            half = SHOWN_LINES // 2
            lines = lines[:half] + [f"... {len(lines) - SHOWN_LINES} lines left out ..."] + lines[-half:]
        print(f"---- {preset}: {name} failed")
        print("\n".join("     " + line for line in lines))


def summarise(folder):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    reasons, failed = {}, []
    for file in sorted(folder.glob("*.xml")):
        for name, state, output in cases(file):
            count[state] += 1
            if state == "skipped":
                reasons.setdefault(reason(output), []).append(f"{file.stem}:{name}")
            elif state == "failed":
                failed.append((f"{file.stem}:{name}", causes(output)))
    for text, names in sorted(reasons.items()):
        print(f"skipped {len(names)} ({names[0]}{', ...' if len(names) > 1 else ''}): {text}")
    for name, lines in failed:
        print(f"failed {name}")
        print("\n".join("    " + line[:200] for line in lines))
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 0 if count["passed"] and not count["failed"] else 1


def main(arguments):
    if len(arguments) == 1:
        return summarise(pathlib.Path(arguments[0]))
    if len(arguments) == 3 and arguments[0] == "--failures":
        show_failures(arguments[1], pathlib.Path(arguments[2]))
        return 0
    if len(arguments) == 3 and arguments[0] == "--build-failed":
        (pathlib.Path(arguments[2]) / f"{arguments[1]}.xml").write_text(
            '<testsuite><testcase name="build" status="fail"><failure/>'
            "<system-out>does not compile</system-out></testcase></testsuite>\n")
        return 0
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
