# SPDX-License-Identifier: BSD-3-Clause
"""The pages of apps/figures: tables of what was measured, with what the papers found beside it. `figures` is always
{(case, side, variant): {size: [a figure for each round]}}."""

import statistics
import sys

VENDOR = "vendor"  # the variant of fft3d whose messages a library of the device's vendor carries
# What the text of the papers says; their figures' curves are not printed as numbers. Behind it, times over plain.
FACES_PAPER = (
    ("8", "64x1x1, 8 nodes with 8 ranks each", "st-send 10 % slower than plain", {"plain": 1, "st-send": 1.10}),
    ("9", "8x1x1, one node", "st-send 4 % slower", {"plain": 1, "st-send": 1.04}),
    ("10", "8x1x1, 8 nodes", "about the same", {"plain": 1, "st-send": 1}),
    ("11", "2x2x2, 8 nodes", "st-send 4 % faster", {"plain": 1, "st-send": 0.96}),
    ("12", "2x2x2, 8 nodes, kernels as triggers", "8 % faster", {"plain": 1, "st-send": 0.96, "st-kernels": 0.92}),
)
FACES_VARIANTS = ("plain", "st-send", "st", "st-kernels", "st-graph")
FACES_DRAWN = ("Marks: the mean of the runs over that of plain MPI of the same side; lines: from the fastest run to the slowest. Open marks: the paper. "
               "Its variants receive by MPI_Irecv, with kernels as triggers too; ours with these has receives of queues.")
FFT_PAPER = ("The poster: heFFTe 33 times as fast as on MPICH, on Intel's DevCloud. heFFTe itself is not run here; the column at the right is "
             "the nearest to it.")
FFT_VENDOR = ("NCCL: grouped sends and receives in the stream of the kernels that pack and unpack, as that library is meant to be used: the host waits "
              "once for each exchange, where MPI_Alltoallv makes it wait twice.")
SQUARE_PAPER = ("The paper: packing by hand beat the datatypes of every MPI that it tried. Where MPI's types cost no more than that, a ratio is 1 or less.")
STENCIL_PAPER = ("Against Intel MPI 2021.6 on one node with Intel GPUs: 39 % less time at 16 B and 16 % less at 256 KiB with 4 ranks; about 40 % less "
                 "from 1 B to 64 KiB, and ahead up to 256 KiB, with 8 ranks.")


def number(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def faces_page(figures, arguments):
    lines = ["Seconds in all inner loops, the mean of the runs (smallest to largest); a ratio below 1 is faster than plain MPI of the same side.", "",
             "| grid | side | variant | s | / plain |", "| --- | --- | --- | --- | --- |"]
    for (case, side, variant), rows in figures.items():
        values = rows[0]
        plain = figures.get((case, side, "plain"), {}).get(0)
        ratio = f"{statistics.mean(values) / statistics.mean(plain):.2f}" if plain else ""
        lines.append(f"| {case} | {side} | {variant} | {number(statistics.mean(values))} ({number(min(values))} to {number(max(values))}) | {ratio} |")
    lines += ["", "The paper (AMD GPUs, Slingshot 11; one GPU a rank):", "", "| figure | grid | found |", "| --- | --- | --- |"]
    return lines + [f"| {figure} | {grid} | {found} |" for figure, grid, found, _ in FACES_PAPER]


def is_row(grid):
    """Whether the ranks stand in one dimension."""
    return [side.strip() for side in grid.split("x")].count("1") == 2


def faces_drawings(figures, drawing):
    """The paper's figures, each with what was measured here on as many dimensions."""
    numbers = {variant: number for number, variant in enumerate(FACES_VARIANTS)}
    made = []
    for figure, grid, _, ratios in FACES_PAPER:
        one = drawing.Drawing(f"Figure {figure}: {grid}", "time / plain", {}, {f"figure {figure}": {numbers[name]: y for name, y in ratios.items()}},
                              FACES_VARIANTS, is_linear=True)
        for (case, side, variant), rows in figures.items():
            plain = figures.get((case, side, "plain"), {}).get(0)
            if variant not in numbers or not plain or is_row(case) != is_row(grid.split(",")[0]):
                continue
            base, name = statistics.mean(plain), f"{side}, {case}"
            one.curves.setdefault(name, {})[numbers[variant]] = statistics.mean(rows[0]) / base
            one.spans.setdefault(name, {})[numbers[variant]] = (min(rows[0]) / base, max(rows[0]) / base)
        made.append(one)
    return made


def draw_faces(document, path):
    """The page as HTML. Out of a bundle it is drawn later, by --draw in the sources."""
    try:
        from paper import drawing  # pylint: disable=import-outside-toplevel
    except ImportError:
        print(f"figures: {path.name} is left out here; `apps/figures faces --draw {path.stem}.json` in the sources draws it", file=sys.stderr)
        return
    figures = {(one["case"], one["side"], one["variant"]): {int(size): values for size, values in one["by_size"].items()} for one in document["figures"]}
    made = faces_drawings(figures, drawing)
    lines = [*document.get("heading", ["# faces"]), "", *faces_page(figures, None), "", FACES_DRAWN, ""]
    for one in made:
        lines += [f"### {one.heading}", ""]
    drawing.write(path, "\n".join(lines), made)


def sizes_table(figures, heading):
    """A row for each size, a column for each side and variant; behind it, over the first column."""
    columns = list(figures)
    first = columns[0] if columns else None
    sizes = sorted({size for rows in figures.values() for size in rows})
    lines = [f"| {heading} | " + " | ".join(f"{side}, {variant}" for _, side, variant in columns) + " |",
             "| --- |" + " --- |" * len(columns)]
    for size in sizes:
        base = statistics.median(figures[first][size]) if size in figures[first] else None
        cells = []
        for column in columns:
            values = figures[column].get(size)
            value = statistics.median(values) if values else None
            cells.append("" if value is None else number(value) + (f" ({value / base:.2f})" if base and column != first else ""))
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return lines


def stencil_page(figures, arguments):
    return ["µs an exchange, the median of the rounds; behind it, over the first column.", "", *sizes_table(figures, "bytes"), "", STENCIL_PAPER]


def square_page(figures, arguments):
    return [f"µs a step, the median of the rounds; behind it, over the first column. Sides of {arguments.sides} points, 8 bytes each.", "",
            *sizes_table(figures, "bytes of a side"), "", SQUARE_PAPER]


def scaling_page(figures, arguments):
    """Efficiency: of the weak form the time of the fewest ranks over this one's; of the strong form that, by the ranks that there are more."""
    counts = sorted({int(case.split()[-1]) for case, _, _ in figures})
    lines = [f"µs a step, the median of the rounds; behind it, the efficiency against {counts[0] if counts else 'no'} ranks. Weak: boxes of {arguments.local} points a side on "
             f"each rank; strong: a grid of {arguments.whole} points a side on all together.", "",
             "| ranks | " + " | ".join(f"{kind}: {side}, {variant}" for kind, side, variant in columns_of_scaling(figures)) + " |",
             "| --- |" + " --- |" * len(columns_of_scaling(figures))]
    for count in counts:
        cells = []
        for kind, side, variant in columns_of_scaling(figures):
            times = {n: statistics.median(next(iter(figures[key].values()))) for n in counts if (key := (f"{kind} {n}", side, variant)) in figures}
            if count not in times:
                cells.append("")
                continue
            first = min(times)
            more = count / first if kind == "strong" else 1
            cells.append(f"{number(times[count])} ({100 * times[first] / times[count] / more:.0f} %)")
        lines.append(f"| {count} | " + " | ".join(cells) + " |")
    return [*lines, "", "Ranks that share a device or a core share its time: efficiencies say something where each has its own."]


def columns_of_scaling(figures):
    return list(dict.fromkeys((case.split()[0], side, variant) for case, side, variant in figures))


def fft_page(figures, arguments):
    lines = [f"{arguments.grid} complex points of {arguments.precision}. Milliseconds, the median of the rounds, on the slowest rank; the share is "
             "that of the transpositions, packing among it, in a transform there and back.", "",
             "| side | variant | forward | inverse | exchanges of both | share | staged / this |", "| --- | --- | --- | --- | --- | --- | --- |"]
    parts = ("forward", "inverse", "exchanges")

    def of_variant(side, variant):
        rows = [figures.get((arguments.grid, side, f"{variant} {part}")) for part in parts]
        return [statistics.median(next(iter(row.values()))) / 1000 for row in rows] if all(rows) else None

    names = dict.fromkeys((side, name.split()[0]) for _, side, name in figures)
    for side, variant in names:
        # The host MPI moves what is staged, with Sluice or without: the one time serves all sides.
        times, staged = of_variant(side, variant), of_variant("Sluice", "staged")
        if times is None:
            continue
        forward, inverse, exchanges = times
        ratio = f"{(staged[0] + staged[1]) / (forward + inverse):.2f}" if staged else ""
        share = 100 * exchanges / (forward + inverse)
        lines.append(f"| {side} | {variant} | {number(forward)} | {number(inverse)} | {number(exchanges)} | {share:.0f} % | {ratio} |")
    if any(variant == VENDOR for _, variant in names):
        lines += ["", FFT_VENDOR]
    return [*lines, "", FFT_PAPER]


PAGES = {"faces": faces_page, "stencil3d": stencil_page, "stencil2d": square_page, "scaling": scaling_page, "fft3d": fft_page}
