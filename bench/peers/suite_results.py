# SPDX-License-Identifier: BSD-3-Clause
"""What `bench/compare_suite` leaves: one result of each test made of all its rounds, of one call or of several."""

import contextlib
import copy
import json
import pathlib
import statistics
import tarfile
import tempfile

from peers import measuring, suite


def read_result(path):
    """The document of a test that ended, None where the file is empty or not there: the launch broke before or in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def spread_of(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def merged(documents):
    """One result out of those of several rounds: the blocks of all, and what is the median of the rounds' figures anew."""
    result = copy.deepcopy(documents[0])
    others = [{row["size_bytes"]: row for row in document["rows"]} for document in documents[1:]]
    for row in result["rows"]:
        same = [rows[row["size_bytes"]] for rows in others if row["size_bytes"] in rows]
        for at, series in enumerate(row["series"]):
            series["blocks"] += [block for one in same if at < len(one["series"]) for block in one["series"][at]["blocks"]]
            series["medians"] = spread_of([block["median"] for block in series["blocks"]])
        for key in row.get("extras", {}):
            row["extras"][key] = statistics.median([one["extras"][key] for one in (row, *same) if key in one.get("extras", {})])
        if "check" in row:
            row["check"]["iterations"] += sum(one["check"]["iterations"] for one in same if "check" in one)
    result["time_utc"] = documents[-1]["time_utc"]
    result["notes"] = list(dict.fromkeys(note for document in documents for note in document["notes"]))
    result["rounds"] = len(documents)
    return result


def write_failures(out, label, reasons, results):
    """A result without figures for each test that was tried in vain: a report must not pass it over."""
    for name, reason in reasons.items():
        if (label, name) in results or reason.startswith("not tried"):
            continue
        test, _, variant = name.partition("-")
        document = {"schema": "sluice-bench", "schema_version": 2, "test": test, "variant": variant, "status": "failed",
                    "error": reason, "rows": []}
        (out / label).mkdir(exist_ok=True)
        (out / label / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def write(out, results, failed, about, records):
    """results: the documents of each (side, name), a list of rounds; failed: side -> name -> why."""
    for (label, name), documents in results.items():
        (out / label).mkdir(exist_ok=True)
        (out / label / f"{name}.json").write_text(json.dumps(merged(documents), indent=1) + "\n", encoding="utf-8")
    for label, reasons in failed.items():
        write_failures(out, label, reasons, results)
    summary = {"schema": "sluice-compare-suite", "schema_version": 2, **about, "failed": failed, "runs": records}
    (out / "compare_suite.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


# ---- several calls ----

@contextlib.contextmanager
def opened(call):
    """The folder of a call, which may lie in an archive."""
    if call.is_dir():
        yield call
        return
    with tempfile.TemporaryDirectory(prefix="compare_suite-") as folder:
        try:
            with tarfile.open(call) as archive:
                archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        except (OSError, tarfile.TarError) as error:
            raise measuring.MeasureError(f"--merge: {call}: {error}") from error
        found = sorted(pathlib.Path(folder).rglob("compare_suite.json"))
        if not found:
            raise measuring.MeasureError(f"--merge: {call} holds no compare_suite.json")
        yield found[0].parent


def rounds_of(folder):
    """(side, name) and document of every launch that ended well, in the order of the rounds."""
    for number in sorted((folder / "rounds").glob("*"), key=lambda path: int(path.name)):
        for path in sorted(number.glob("*/*/*.json")):
            document = read_result(path)
            if document is not None and document["status"] == "ok":
                variant = path.parent.name if path.parent.name != "plain" else ""
                yield (path.parent.parent.name, suite.name_of(path.stem, variant)), document


def merge(calls, out):
    """Writes into `out` what one call over all of `calls` would have left. Returns the results, by side and name."""
    results, failed, records, abouts = {}, {}, [], []
    for call in calls:
        with opened(call) as folder:
            summary = read_result(folder / "compare_suite.json")
            if summary is None:
                raise measuring.MeasureError(f"--merge: {call} holds no compare_suite.json")
            n_before = len(results)
            for key, document in rounds_of(folder):
                results.setdefault(key, []).append(document)
            print(f"{call}: {len(summary['runs'])} launches, {len(results) - n_before} results more", flush=True)
            for label, reasons in summary["failed"].items():
                failed.setdefault(label, {}).update(reasons)
            records += summary["runs"]
            abouts.append({key: value for key, value in summary.items() if key not in ("schema", "schema_version", "failed", "runs")})
    out.mkdir(parents=True, exist_ok=True)
    machines = [about.get("machine") for about in abouts]
    if any(machine != machines[0] for machine in machines):
        print("note: the calls ran on machines that differ; compare_suite.json names each")
    seconds = round(sum(about.get("seconds", 0) for about in abouts), 1)
    write(out, results, failed, {**abouts[0], "seconds": seconds, "calls": abouts}, records)
    return results
