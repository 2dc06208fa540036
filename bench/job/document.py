# SPDX-License-Identifier: BSD-3-Clause
"""The page of a job: which path its bytes took."""

import pathlib

from job import sums, timeline, words
from job.markup import duration, element, listed, marked, number, page, percent, plural, size

HERE = pathlib.Path(__file__).resolve().parent
# Told apart by readers who do not see all colours (Okabe and Ito).
COLOURS = {"ipc": "#009e73", "kernel": "#56b4e9", "relayed": "#0072b2", "direct": "#004d40", "pipelined": "#e69f00", "staged": "#d55e00",
           "host": "#8a8a8a", "thread": "#cc79a7", "device": "#117733", "dwq": "#8c6d00"}
OTHER = "#333333"
DARK = ("relayed", "direct", "device", "dwq", "staged", "ipc")  # white text stands on them
MOST_RANKS_NAMED = 8


def colour(route):
    return COLOURS.get(route, OTHER)


def route_words(route):
    return words.ROUTES.get(route, "took a route that this `sluice report` does not know")


def share_sentence(shares, place):
    """[(route, bytes)] in words."""
    whole = sum(n_bytes for _, n_bytes in shares)
    if len(shares) == 1:
        return f"All {size(whole)} in {place} memory {route_words(shares[0][0])} (`{shares[0][0]}`)."
    pieces = [f"{percent(n_bytes, whole)} {route_words(route)} (`{route}`)" for route, n_bytes in shares]
    return f"Of the {size(whole)} in {place} memory, {listed(pieces)}."


def share_bar(shares):
    whole = sum(n_bytes for _, n_bytes in shares)
    pieces = []
    for route, n_bytes in shares:
        text = percent(n_bytes, whole)
        dark = route in DARK or route not in COLOURS
        style = f"flex:{n_bytes / whole:.4f};background:{colour(route)};color:{'#fff' if dark else '#000'}"
        shown = f"{route} {text}" if n_bytes > whole / 8 else ""
        pieces.append(element("span", shown, title=f"{route}: {text}", style=style,
                              class_="part" if n_bytes > whole / 3 else "part minor"))
    return element("div", pieces, class_="share")


def shares_part(job):
    made = [element("h2", "Which path the bytes took")]
    on_device, on_host = sums.shares_of(job, True), sums.shares_of(job, False)
    if not on_device and not on_host:
        why = "No byte was counted. Sluice counts in ranks that it was preloaded into and that called `MPI_Finalize`."
        return [*made, element("p", marked(why), class_="answer")]
    for shares, place in ((on_device, "device"), (on_host, "host")):
        if shares:
            made += [element("p", marked(share_sentence(shares, place)), class_="answer"), share_bar(shares)]
    if not on_device:
        made.append(element("p", "No byte of device memory was counted."))
    routes = {route for route, _ in on_device}
    if routes & {"staged", "pipelined"}:
        made.append(element("p", marked(
            "Through host memory go the first messages between two ranks, and what goes to another node. Why other "
            "messages do, the fallbacks below and `sluice info --route SIZE` say.")))
    notes = "A message counts at both of its ends: for the buffer that was sent, and for the one that received. A " \
            "sender counts the way that it offers, even if the receiver then takes another."
    if sums.COUNTED_TWICE in sums.routes_of(job):
        notes += " The shares leave `thread` out: such messages count once more, by the route that carried them."
    return [*made, element("p", marked(notes), class_="quiet")]


def chip(route):
    return [element("i", class_="dot", style=f"background:{colour(route)}"), route]


def operations_part(job):
    routes = sums.routes_of(job)
    rows = []
    for operation, buffer, by_route in sums.operations_of(job):
        cells = []
        for route in routes:
            one = by_route.get(route)
            if one is None:
                cells.append(element("td", "\u2013", class_="none"))
                continue
            small = element("small", plural(one.calls, "call"), element("br"), duration(one.nanoseconds))
            cells.append(element("td", size(one.bytes), small))
        rows.append(element("tr", element("td", operation, element("small", f"{buffer} memory")), cells))
    head = element("tr", element("th", "operation"), [element("th", chip(route)) for route in routes])
    return [element("h2", "Operations and routes"),
            element("p", "Bytes, calls and time, summed over ranks. An operation with two buffers counts a call for "
                         "each. Of a non-blocking operation the time is that of its copies.", class_="quiet"),
            element("div", element("table", element("thead", head), element("tbody", rows)), class_="scroll")]


def ranks_text(ranks):
    """rank 3; ranks 3, 4; the first of many."""
    few = f"rank{'' if len(ranks) == 1 else 's'} " + ", ".join(map(str, ranks[:MOST_RANKS_NAMED]))
    return few if len(ranks) <= MOST_RANKS_NAMED else f"{few}, \u2026 ({number(len(ranks))} ranks)"


def fallbacks_part(job):
    made = [element("h2", "Ways that were refused")]
    found = sums.fallbacks_of(job)
    if not found:
        return [*made, element("p", "No way was refused: there is no fallback.")]
    rows = []
    for reason, n_times, ranks in found:
        refused, instead, remedy = words.FALLBACKS.get(reason, words.UNKNOWN)
        told = [(element("dt", name), element("dd", marked(text))) for name, text in
                (("refused", refused), ("ran instead", instead), ("what to do", remedy))]
        heading = element("h3", element("code", reason), f" {plural(n_times, 'time')}, {ranks_text(ranks)}")
        rows.append(element("section", heading, element("dl", told), class_="refusal"))
    told = "The data are right. They took a slower way. The log has a warning with the cause, the first time on each " \
           "rank."
    return [*made, element("p", told, class_="quiet"), element("div", rows, class_="refusals")]


def map_cell(cell, route, most, is_odd):
    mean, least, largest = cell
    if largest == 0:
        return element("td", "0", class_="cell none odd" if is_odd else "cell none")
    depth = round(8 + 52 * mean / most) if most else 0
    spread = None if least == largest else element("small", f"{size(least)}\u2013{size(largest)}")
    return element("td", size(mean), spread, class_="cell odd" if is_odd else "cell",
                   style=f"background:color-mix(in srgb, {colour(route)} {depth}%, white)")


def map_table(rows, routes):
    most = {route: max(row.cells[route][0] for row in rows) for route in routes}
    lines = []
    for row in rows:
        name = f"{row.first}" if row.n_ranks == 1 else f"{row.first}\u2013{row.last}"
        # In the first column, which stays in sight on a narrow screen.
        notes = [element("small", f"{route}: {text}", class_="note") for route, text in row.oddities.items()]
        lines.append(element("tr", element("td", name, notes), [map_cell(row.cells[route], route, most[route],
                                                                         route in row.oddities) for route in routes]))
    head = element("tr", element("th", "rank"), [element("th", chip(route)) for route in routes])
    table = element("table", element("thead", head), element("tbody", lines), class_="map")
    return element("div", table, class_="scroll")


def map_part(job):
    routes = sums.routes_of(job)
    rows, odd_rows, n_odd = sums.map_of(job)
    made = [element("h2", "Ranks")]
    if not routes:
        return []
    told = "Bytes of each rank by each route. The most of a column is the deepest shade."
    if len(job.statistics) < sums.FEWEST_RANKS:
        told += " With two ranks or one, none is called unlike the others."
    elif n_odd == 0:
        told += " No rank is unlike the others."
    else:
        told += f" {plural(n_odd, 'rank')} {'is' if n_odd == 1 else 'are'} unlike the others (framed): a route has " \
                "more than twice or less than half of the median's bytes, and the difference is more than a tenth of " \
                "what a rank moves."
    made.append(element("p", told))
    if odd_rows:
        some = f", {number(len(odd_rows))} of {number(n_odd)}" if len(odd_rows) < n_odd else ""
        made += [element("h3", f"Ranks that are unlike the others{some}"), map_table(odd_rows, routes)]
    if any(row.n_ranks > 1 for row in rows):
        made += [element("h3", "All ranks in groups"),
                 element("p", "A cell is the mean of a group's ranks, with its least and its most.", class_="quiet")]
    return [*made, map_table(rows, routes)]


def lane_table(lanes):
    rows = []
    for name, text, n, us, n_bytes in lanes:
        dot = element("i", class_="dot", style=f"background:{timeline.COLOURS.get(name, timeline.OTHER)}")
        rows.append(element("tr", element("td", dot, name, element("small", text)), element("td", number(n)),
                            element("td", duration(us * 1e3)), element("td", size(n_bytes))))
    head = element("tr", [element("th", name) for name in ("lane", "spans", "time", "bytes")])
    table = element("table", element("thead", head), element("tbody", rows), class_="narrow")
    return element("div", table, class_="scroll")


def timeline_part(job, odd_ranks):
    made = [element("h2", "Time line")]
    if not job.traces:
        return [*made, element("p", marked(
            "No trace was given. `SLUICE_TRACE=trace.%r.json` makes a file of each rank, which `sluice report` takes "
            "beside the statistics."))]
    drawing, said, lanes = timeline.make(job, odd_ranks)
    made += [element("p", sentence) for sentence in said]
    if drawing is None:
        nothing = "The traces hold no span: Sluice copied nothing, and handed all messages on as they were."
        return [*made, element("p", nothing)]
    note = "A span ends when Sluice noticed that its work was done. Between nodes, times are as good as the nodes' " \
           "clocks agree. Point at a bar to read it."
    more = "For more, join the files by `sluice trace merge -o all.json TRACE...` and open `all.json` in " \
           "https://ui.perfetto.dev."
    return [*made, element("p", note, class_="quiet"), element("div", drawing, class_="scroll"),
            element("p", marked(more)), lane_table(lanes)]


def ranks_alone(job):
    """Sentences on ranks of which only one sort of file was given."""
    if not job.statistics or not job.traces:
        return []
    said = []
    for here, there, text in ((job.statistics, job.traces, "no trace"), (job.traces, job.statistics, "no statistics")):
        alone = sorted(here.keys() - there.keys())
        if alone:
            said.append(element("p", f"There is {text} of {ranks_text(alone)}.", class_="warning"))
    return said


def facts(job):
    """What was given, and counters of the whole job."""
    given = [text for found, text in ((job.statistics, "statistics"), (job.traces, "traces")) if found]
    n_ranks = len(job.statistics.keys() | job.traces.keys())
    pieces = [f"{plural(n_ranks, 'rank')}; {listed(given)} of the job."]
    missing = sorted(set(range(max(job.statistics, default=-1) + 1)) - job.statistics.keys())
    if missing:
        pieces.append(f"There are no statistics of {ranks_text(missing)}.")
    if list(job.statistics) == [0]:
        pieces.append("Rank 0 alone: `SLUICE_STATS_FILE=stats.%r.json` writes a file of each rank.")
    launches = sum(one.pack_launches for one in job.statistics.values())
    if launches:
        n_bytes = sum(one.pack_bytes for one in job.statistics.values())
        pieces.append(f"{plural(launches, 'kernel')} packed or unpacked {size(n_bytes)}.")
    most = max(((one.most_staging_bytes, -rank) for rank, one in job.statistics.items()), default=(0, 0))
    if most[0]:
        pieces.append(f"The staging pool held {size(most[0])} at most, on rank {-most[1]}.")
    return element("p", marked(" ".join(pieces)), class_="quiet")


def render(job, title):
    """The whole page as one text; nothing in it is fetched from elsewhere."""
    title = title or "Which path did my bytes take?"
    parts = [element("h1", title), facts(job), ranks_alone(job)]
    odd_ranks = sorted(sums.oddities_of(sums.bytes_of_ranks(job), sums.routes_of(job)))
    if job.statistics:
        parts += [shares_part(job), fallbacks_part(job), operations_part(job), map_part(job)]
    else:
        parts.append(element("p", marked(
            "No statistics were given: `SLUICE_STATS_FILE=stats.%r.json` makes them, for the shares of the routes.")))
    parts.append(timeline_part(job, odd_ranks))
    return page(title, (HERE / "style.css").read_text(encoding="utf-8"), *parts)
