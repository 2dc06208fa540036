# SPDX-License-Identifier: BSD-3-Clause
"""The launches of `bench/compare_suite`, round by round."""

import time

from peers import running, suite, suite_results
from peers.commands import Unavailable

# The part of the time after which what is run once waits until the rounds are done.
ONCE_SHARE = 0.55


def words_of(group, tests, folder, arguments):
    sizes = [size for size in group.sizes if not arguments.largest or size <= arguments.largest]
    words = [",".join(tests), *group.more, "-i", str(arguments.iterations or group.iterations), "-x", str(group.warmup), "--oversubscribe"]
    if not group.has_rounds:
        words += ["--repeat", str(arguments.rounds)]
    if sizes:
        words += ["--sizes", ",".join(map(str, sizes))]
    # One test alone takes --json for its file.
    return [*words, "--json", str(folder if len(tests) > 1 else folder / f"{tests[0]}.json")]


class Suite:
    """All launches of one call. `place`: suite.Bundle or suite.Build; `log`: an open file for all output."""

    def __init__(self, place, groups, arguments, log):
        self.place, self.groups, self.arguments, self.log = place, groups, arguments, log
        self.begin, self.records, self.results, self.turn = time.monotonic(), [], {}, 0

    def left_s(self):
        return self.arguments.budget_s - (time.monotonic() - self.begin)

    def run(self):
        """All groups on all sides in turn; calls nothing but what fits into the time."""
        repeated = [group for group in self.groups if group.has_rounds]
        once = [group for group in self.groups if not group.has_rounds]
        self.run_round(1, repeated)
        while once and self.left_s() > (1 - ONCE_SHARE) * self.arguments.budget_s:
            self.run_group(1, once.pop(0))
        for number in range(2, self.arguments.rounds + 1):
            self.run_round(number, repeated)
        for group in once:
            self.run_group(1, group)

    def run_round(self, number, groups):
        for group in groups:
            self.run_group(number, group)

    def run_group(self, number, group):
        sides = [side for side in self.place.sides if group.name not in side.leaves]
        # Who begins changes from launch to launch.
        self.turn += 1
        first = self.turn % len(sides) if sides else 0
        for side in sides[first:] + sides[:first]:
            self.run_side(number, group, side)
        self.write()

    def run_side(self, number, group, side):
        """The tests of a group on one side. A test that ends the launch is left out from then on, and the others go on."""
        left = list(group.tests)
        while left:
            reasons = {test: side.reason_against(test, group.variant) for test in left}
            for test, reason in reasons.items():
                if reason is not None:
                    side.failed.setdefault(suite.name_of(test, group.variant), reason)
            tests = [test for test in left if reasons[test] is None]
            culprit = self.launch(number, group, side, tests) if tests else None
            left = tests[tests.index(culprit) + 1:] if culprit else []

    def launch(self, number, group, side, tests):
        """Returns the test in which the launch broke; None when none did."""
        folder = self.arguments.out / "rounds" / str(number) / side.label / (group.variant or "plain")
        record = {"round": number, "side": side.label, "group": group.name, "tests": tests, "ended": "well", "seconds": 0}
        self.records.append(record)
        try:
            record["n_ranks"] = group.n_ranks(self.arguments.ranks)
            record["command"] = self.place.command(side, words_of(group, tests, folder, self.arguments), record["n_ranks"])
        except Unavailable as error:
            record["ended"] = str(error)
            return self.say(record)
        if self.arguments.dry_run:
            record["ended"] = "dry run"
            return self.say(record)
        limit_s, is_last = min((self.arguments.limit_s, False), (self.left_s(), True))
        if limit_s < 1:
            record["ended"] = "left out: the time is used up"
            return self.say(record)
        folder.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        try:
            running.run_limited(record["command"], limit_s, self.log)
        except running.RunError as error:
            # Who was stopped because the whole time is used up has not failed.
            record["ended"] = "stopped: the time is used up" if is_last and "no end" in str(error) else str(error)
        record["seconds"] = round(time.monotonic() - begin, 1)
        self.say(record)
        return self.collect(group, side, tests, folder, record["ended"])

    def collect(self, group, side, tests, folder, ended):
        """Takes the results. Tests run in order, so that the first without one is where the launch broke."""
        for test in tests:
            document = suite_results.read_result(folder / f"{test}.json")
            name = suite.name_of(test, group.variant)
            if document is None:
                if "the time is used up" in ended:
                    return None
                side.failed[name] = ended
                return test
            if document["status"] != "ok":
                side.failed[name] = document["error"]
                continue
            self.results.setdefault((side.label, name), []).append(document)
        return None

    def say(self, record):
        words = " ".join(map(str, record.get("command", ()))) if self.arguments.dry_run else ""
        print(f"{record['round']:>2} {record['side']:<12} {record['group']:<12} {record['seconds']:>6} s  {record['ended']}  {words}"
              .rstrip(), flush=True)

    def write(self):
        """Everything that is known so far: a call that is cut short leaves it."""
        failed = {side.label: side.failed for side in self.place.sides if side.failed}
        about = {**self.arguments.about, "seconds": round(time.monotonic() - self.begin, 1)}
        suite_results.write(self.arguments.out, self.results, failed, about, self.records)
