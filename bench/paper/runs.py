# SPDX-License-Identifier: BSD-3-Clause
"""What bench/paper_ccgrid23 runs: the columns of each figure, their commands, and the slowed profile. Pure data."""

import copy
import dataclasses
import os

KI, MI = 1024, 1024 * 1024
# 2 bytes to 4 MiB in the paper; every fourth size is enough to see the curve.
ALL_SIZES = (16, 256, 4 * KI, 16 * KI, 64 * KI, 256 * KI, MI, 4 * MI)
CUT_SIZES = (32 * KI, 64 * KI, 128 * KI, 256 * KI, 512 * KI, MI, 2 * MI, 4 * MI)
STAGED = {"SLUICE_P2P_IPC": "off", "SLUICE_P2P_PIPELINE": "none"}
# The paper's default: two blocks, from 64 KiB on, through pinned memory.
PINNED = "device_staging_memory=runtime_aligned"
PROPOSED = {"SLUICE_P2P_IPC": "off", "SLUICE_P2P_PIPELINE": "advanced",
            "SLUICE_TUNING": f"p2p_pipeline_blocks=2,p2p_pipeline_threshold=64K,{PINNED}"}
BLOCKS = (2, 4, 8)
COLLECTIVES = ("bcast", "reduce", "allreduce", "allgather")
COLLECTIVE_SIZES = (16, 256, 4 * KI, 64 * KI, 512 * KI)


@dataclasses.dataclass(frozen=True)
class Run:
    """One command: words of sluice-bench, and which series of its output is which column of which figure.

    `knobs` are Sluice's; None: without Sluice. `columns` maps a column to a series, None being the only one.
    """
    figure: str
    words: tuple
    knobs: dict | None
    columns: dict
    n_ranks: int = 2
    sizes: tuple = ALL_SIZES
    iterations: int = 10


def cut(plan, blocks):
    return {**PROPOSED, "SLUICE_P2P_PIPELINE": plan,
            "SLUICE_TUNING": f"p2p_pipeline_blocks={blocks},p2p_pipeline_threshold=256,{PINNED}"}


def figure_3():
    """The three stages alone."""
    copies = {"D2H": "d2h.runtime_aligned", "H2D": "h2d.runtime_aligned"}
    return [Run("3", ("memcpy",), None, copies, n_ranks=1), Run("3", ("latency", "H", "H"), None, {"MPI": None})]


def figure_4():
    """Copies between the device and two kinds of host memory."""
    columns = {f"{way.upper()} {memory}": f"{way}.{memory}" for way in ("h2d", "d2h") for memory in ("malloc", "runtime")}
    return [Run("4", ("memcpy",), None, columns, n_ranks=1)]


def figure_5():
    """Staged whole, by what the staging memory is made of."""
    return [Run("5", ("latency", "D", "D"), {**STAGED, "SLUICE_TUNING": f"device_staging_memory={memory}"}, {memory: None})
            for memory in ("malloc", "aligned", "runtime", "runtime_aligned")]


def figure_6():
    """Advanced by number of blocks, beside even; `1` is no pipeline."""
    runs = [Run("6", ("latency", "D", "D"), {**STAGED, "SLUICE_TUNING": PINNED}, {"1": None}, sizes=CUT_SIZES)]
    for plan, suffix in (("advanced", ""), ("even", " even")):
        runs += [Run("6", ("latency", "D", "D"), cut(plan, blocks), {f"{blocks}{suffix}": None}, sizes=CUT_SIZES)
                 for blocks in BLOCKS]
    return runs


def figure_7(window):
    """The proposed library beside the naive way."""
    runs = []
    for test, options, iterations in (("latency", (), 10), ("bw", ("-W", str(window)), 2), ("bibw", ("-W", str(window)), 2)):
        for column, knobs, more in (("proposed", PROPOSED, ()), ("naive", None, ("--naive",))):
            runs.append(Run("7 " + test, (test, "D", "D", *options, *more), knobs, {column: None}, iterations=iterations))
    return runs


def figure_8():
    """Collectives of eight ranks on one device, Sluice and the naive way."""
    return [Run(f"8 {test}", (test, "D", *more), knobs, {column: None}, n_ranks=8, sizes=COLLECTIVE_SIZES, iterations=5)
            for test in COLLECTIVES for column, knobs, more in (("proposed", PROPOSED, ()), ("naive", None, ("--naive",)))]


def all_runs(figures, window):
    made = {"3": figure_3, "4": figure_4, "8": figure_8, "5": figure_5, "6": figure_6, "7": lambda: figure_7(window)}
    return [run for figure in figures for run in made[figure]()]


def slowed(profile, factor, is_duplex=None):
    """The profile of a machine whose device is `factor` times slower, so that what this machine adds weighs less."""
    result = copy.deepcopy(profile)
    result["name"] += "-slowed"
    for time in ("enqueue_us", "batch_copy_us"):
        result[time] = result.get(time, 0) * factor
    links = result["links"]
    for link in (*links["host_to_device"].values(), *links["device_to_host"].values(), links["device_to_device"],
                 links["peer_to_peer"]):
        link["latency_us"] *= factor
        link["bandwidth_gb_s"] /= factor
    if is_duplex is not None:
        result["duplex"] = is_duplex
    return result


def wire_alone():
    """The host MPI's own time at the largest size: what the paced wire adds to."""
    return Run("wire", ("latency", "H", "H"), None, {"MPI": None}, sizes=(4 * MI,))


def paced_wire(site):
    """In a build folder, or in an installation."""
    name = f"paced_wire_{site.flavour}.so"
    places = [f"{site.build}/lib/bench/{name}", f"{site.build}/libexec/sluice-bench/lib/{name}"]
    return next((place for place in places if os.path.exists(place)), places[0])


def command(run, site):
    """The words that start a run.

    `site`: launch (words), build (folder), device, is_modelled, flavour, profile, link_file, wire_ns_per_byte, largest, iterations.
    """
    sizes = [size for size in run.sizes if not site.largest or size <= site.largest] or [min(run.sizes)]
    words, settings = [*site.launch, "-n", str(run.n_ranks)], {}
    if site.is_modelled:
        settings = {"SLUICE_EMU_MACHINE": f"profile={site.profile},devices=1,link_file={site.link_file}"}
        words += ["--preload-below", paced_wire(site), "--env", f"PACED_WIRE_NS_PER_BYTE={site.wire_ns_per_byte:.6f}"]
    if run.knobs is not None:
        words += ["--sluice", f"{site.build}/lib"]
        settings |= {"SLUICE_BACKENDS": site.device, **run.knobs}
    for name, value in settings.items():
        words += ["--env", f"{name}={value}"]
    return [*words, "--", f"{site.build}/bin/sluice-bench", *run.words, "-d", site.device, "--oversubscribe", "--check", "none", "--sizes",
            ",".join(map(str, sizes)), "-i", str(site.iterations or run.iterations), "-x", "2"]
