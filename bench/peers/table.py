# SPDX-License-Identifier: BSD-3-Clause
"""The table and the JSON file."""

from peers.targets import size_text

TITLES = {
    "one way": "D-D, one way",
    "window": "D-D, window of 64",
    "streamed": "D-D, windows of 16, one way",
    "both ways": "D-D, windows of 16, both ways together",
    "stages": "the stages alone",
}


def figure(value):
    return f"{value:.1f}" if value >= 1000 else f"{value:.2f}"


def in_unit(section, unit, size, value):
    """What is printed for a figure: a time stays, a rate of small messages becomes us a message, another one GB/s."""
    if unit == "us":
        return value
    return size / value if section == "window" else value / 1000


def unit_text(section, unit):
    if unit == "us":
        return "us"
    return "us a message" if section == "window" else "GB/s"


def cell(results, section, column, size):
    values = results.values(section, column, size)
    if not values:
        return "-"
    unit = results.units[section]["unit"]
    shown = sorted(in_unit(section, unit, size, value) for value in values)
    middle = in_unit(section, unit, size, results.median(section, column, size))
    few = f" n={len(values)}" if len(values) < results.rounds else ""
    return f"{figure(middle)} [{figure(shown[0])}..{figure(shown[-1])}]{few}"


def section_lines(results, section):
    columns = results.columns(section)
    rows = [["", *columns]]
    for size in results.sizes(section):
        rows.append([size_text(size), *(cell(results, section, column, size) for column in columns)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns) + 1)]
    title = TITLES.get(section, section)
    yield f"-- {title}, {unit_text(section, results.units[section]['unit'])}"
    for row in rows:
        cells = [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        yield "  ".join([row[0].ljust(max(widths[0], 8)), *cells])


def verdict_lines(verdicts):
    width = max((len(verdict.target.text) for verdict in verdicts), default=0)
    for verdict in verdicts:
        target = verdict.target
        sign = ">=" if target.is_at_least else "<="
        ratio = "-" if verdict.ratio is None else f"{verdict.ratio:.3f} [{verdict.low:.3f}..{verdict.high:.3f}]"
        subject = f"{target.text.ljust(width)}  {size_text(verdict.size):>8}"
        yield f"{verdict.word:<6}  {subject}  {ratio:>22}  {sign} {target.limit:g}"


def lines(results, verdicts):
    """The whole report: figures, what is missing and why, targets."""
    yield f"# medians of {results.rounds} rounds, the sides in turn, [smallest..largest]"
    for section in results.sections():
        yield from section_lines(results, section)
    if results.failures:
        yield "-- not measured"
        for where, text in results.failures.items():
            yield f"{where}: {text}"
    yield "-- targets: ratio of the medians, [smallest..largest ratio within a round]"
    yield from verdict_lines(verdicts)
    count = {word: sum(verdict.word == word for verdict in verdicts) for word in ("met", "MISSED", "n/a")}
    yield f"# targets: {count['met']} met, {count['MISSED']} MISSED, {count['n/a']} n/a"


def document(results, verdicts, about):
    """The JSON file's content, schema sluice-compare-peers version 1; figures in the unit that was measured."""
    return {
        "schema": "sluice-compare-peers",
        "schema_version": 1,
        **about,
        "rounds": results.rounds,
        "rows": [{"section": section, "column": column, "size_bytes": size, "unit": results.units[section]["unit"],
                  "median": results.median(section, column, size), "by_round": results.by_round(section, column, size)}
                 for section, column, size in results.cells],
        "failures": results.failures,
        "targets": [{"target": verdict.target.text, "size_bytes": verdict.size, "ratio": verdict.ratio,
                     "min": verdict.low, "max": verdict.high, "limit": verdict.target.limit,
                     "wanted": "at least" if verdict.target.is_at_least else "at most", "verdict": verdict.word}
                    for verdict in verdicts],
    }
