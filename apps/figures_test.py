# SPDX-License-Identifier: BSD-3-Clause
"""Which sides apps/figures runs, and how the table sets them side by side: made-up bundles and figures, no MPI."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("figures", str(pathlib.Path(__file__).resolve().parent / "figures"))
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", LOADER))
sys.modules["figures"] = figures
LOADER.exec_module(figures)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import figure_drawings as drawings  # noqa: E402  (found through the line above)
import figure_pages as pages  # noqa: E402


def asked(n_ranks=2, env=()):
    return types.SimpleNamespace(what="fft3d", backend="some", ranks=n_ranks, env=list(env), grid="8x8x8", precision="double", rounds=1, repeat=1)


def named(sides):
    return {side.label: side.variants for side in sides}


class SidesTest(unittest.TestCase):
    def bundle(self, n_devices, variants, n_ranks=2):
        for room, name, stand_in in ((figures.measuring, "unpack", lambda folder, unpacked: types.SimpleNamespace(root=folder, flavour="mpich")),
                                     (figures.measuring, "machine", lambda: {"devices": ["one"] * n_devices})):
            self.addCleanup(setattr, room, name, getattr(room, name))
            setattr(room, name, stand_in)
        return figures.Bundle(pathlib.Path("."), "", asked(n_ranks), variants)

    def test_the_vendors_library_is_a_side_of_its_own(self):
        place = self.bundle(2, ("alltoallv", "alltoallw", "staged", "vendor"))
        self.assertEqual(named(place.sides), {"Open MPI + UCX": ("alltoallv",), "Sluice": ("alltoallv", "alltoallw", "staged"), "NCCL": ("vendor",)})
        self.assertEqual(place.left_out, [])

    def test_it_is_left_out_where_ranks_share_a_device(self):
        place = self.bundle(1, ("alltoallv", "vendor"))
        self.assertEqual(named(place.sides), {"Open MPI + UCX": ("alltoallv",), "Sluice": ("alltoallv",)})
        self.assertEqual(place.left_out, ["NCCL, vendor: it wants a device for each of the 2 ranks, and there are 1"])

    def test_it_may_be_asked_for_alone_or_not_at_all(self):
        self.assertEqual(named(self.bundle(4, ("vendor",), 4).sides), {"NCCL": ("vendor",)})
        self.assertEqual(named(self.bundle(1, ("plain", "st")).sides), {"Open MPI + UCX": ("plain",), "Sluice": ("plain", "st")})

    def test_peers_run_what_the_paper_measured_of_them(self):
        arguments = types.SimpleNamespace(what="stencil2d", backend="some", env=[])
        sides = figures.sides_of([("Open MPI + UCX", "ucx")], arguments, ("packed", "hindexed", "st"))
        self.assertEqual(named(sides), {"Open MPI + UCX": ("packed", "hindexed"), "Sluice": ("packed", "hindexed", "st")})

    def test_knobs_are_for_sluice_only(self):
        sides = figures.sides_of([], asked(env=["SLUICE_P2P_IPC=off"]), ("alltoallv", "vendor"))
        self.assertEqual({side.label: [tuple(knob) for knob in side.knobs] for side in sides}, {"Sluice": [("SLUICE_P2P_IPC", "off")], "NCCL": []})

    def test_the_table_sets_all_beside_staging(self):
        rows = {}
        for side, variant, us in (("Open MPI + UCX", "alltoallv", 2000), ("Sluice", "staged", 8000), ("NCCL", "vendor", 1000)):
            for part, value in (("forward", us), ("inverse", us), ("exchanges", us)):
                rows[("8x8x8", side, f"{variant} {part}")] = {8192: [value]}
        page = pages.fft_page(rows, asked())
        self.assertIn("| NCCL | vendor | 1.000 | 1.000 | 1.000 | 50 % | 8.00 |", page)
        self.assertIn("| Open MPI + UCX | alltoallv | 2.000 | 2.000 | 2.000 | 50 % | 4.00 |", page)
        self.assertIn(pages.FFT_VENDOR, page)
        del rows[("8x8x8", "NCCL", "vendor forward")], rows[("8x8x8", "NCCL", "vendor inverse")], rows[("8x8x8", "NCCL", "vendor exchanges")]
        self.assertNotIn(pages.FFT_VENDOR, pages.fft_page(rows, asked()))


class FacesTest(unittest.TestCase):
    ROWS = {("2x1x1", "Sluice", "plain"): {0: [2.0, 4.0]}, ("2x1x1", "Sluice", "st"): {0: [1.5, 3.0]}, ("2x1x1", "Sluice", "st-kernels"): {0: [1.2, 1.8]},
            ("2x2x2", "Sluice", "plain"): {0: [1.0]}, ("2x2x2", "Sluice", "st-send"): {0: [0.9]}, ("2x2x2", "Open MPI + UCX", "st"): {0: [7.0]}}

    def test_the_variant_with_kernels_wants_its_knob(self):
        arguments = types.SimpleNamespace(backend="some", env=["A=b"])
        self.assertEqual(figures.env_of(arguments, "st-kernels"), ["A=b", "SLUICE_SOME_STREAMS=kernels"])
        self.assertEqual(figures.env_of(arguments, "st"), ["A=b"])

    def measured(self, variants, reason):
        def fail(*_):
            raise figures.running.RunError(reason)
        arguments = types.SimpleNamespace(what="faces", ranks=2, grids=None, rounds=2, loops="1x1x1", elements=1, variants=variants, limit_s=1)
        place = types.SimpleNamespace(sides=[figures.Side("Sluice", "sluice", "some", ("st-kernels",))], left_out=[], command=fail)
        return figures.measure(place, arguments, None)[1], place.left_out

    def test_grids_are_a_row_and_a_square_or_those_asked_for(self):
        given = types.SimpleNamespace(what="faces", ranks=4, grids=None, loops="1x2x3", elements=8)
        self.assertEqual([case for case, _ in figures.cases_of(given)], ["4x1x1", "2x2x1"])
        given.grids = "2x2x1"
        self.assertEqual(figures.cases_of(given), [("2x2x1", ["--outer", "1", "--middle", "2", "--inner", "3", "--elements", "8", "--check-once", "--grid", "2x2x1"])])

    def test_each_round_is_told_of_as_soon_as_it_is_there(self):
        def run_and_write(words, *_):
            document = {"ranks": [{"device": {"name": "one"}}], "options": {"parameters": {}},
                        "rows": [{"size_bytes": 0, "series": [{"name": "st", "blocks": [{"mean": 2.0, "samples": 1}]}]}]}
            pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps(document), encoding="utf-8")
        arguments = types.SimpleNamespace(what="faces", ranks=2, grids=None, rounds=2, loops="1x1x1", elements=1, variants=None, limit_s=1)
        place = types.SimpleNamespace(sides=[figures.Side("Sluice", "sluice", "some", ("st",))], left_out=[], command=lambda *words: words[-1])
        told = []
        with unittest.mock.patch.object(figures.running, "run_limited", run_and_write):
            figures.measure(place, arguments, None, lambda found, *rest: told.append((len(found[("2x1x1", "Sluice", "st")][0]), rest[1], rest[-1])))
        self.assertEqual(told, [(1, ["one"], 1), (2, ["one"], 2)])

    def test_it_is_left_out_where_the_backend_has_no_such_kernels(self):
        reason = "ended with 1: faces: st-kernels is not available with backend some, whose streams trigger in one way only"
        failed, left_out = self.measured(None, reason)
        self.assertEqual((failed, len(left_out)), ({}, 1))
        self.assertEqual(self.measured("st-kernels", reason), ({("2x1x1", "Sluice", "st-kernels"): reason}, []))
        self.assertEqual(self.measured(None, "another"), ({("2x1x1", "Sluice", "st-kernels"): "another"}, []))

    def test_the_table_has_a_line_for_it(self):
        self.assertIn("| 2x1x1 | Sluice | st-kernels | 1.500 (1.200 to 1.800) | 0.50 |", pages.faces_page(self.ROWS, None))

    def test_rows_are_drawn_with_rows_and_cubes_with_cubes(self):
        from paper import drawing  # pylint: disable=import-outside-toplevel
        drawn = {one.heading.split(":")[0]: one for one in pages.faces_drawings(self.ROWS, drawing)}
        self.assertEqual(list(drawn), ["Figure 8", "Figure 9", "Figure 10", "Figure 11", "Figure 12"])
        for name in ("Figure 8", "Figure 9", "Figure 10"):
            self.assertEqual(drawn[name].curves, {"Sluice, 2x1x1": {0: 1.0, 2: 0.75, 3: 0.5}})
            self.assertEqual(drawn[name].spans["Sluice, 2x1x1"][2], (0.5, 1.0))
        for name in ("Figure 11", "Figure 12"):
            self.assertEqual(drawn[name].curves, {"Sluice, 2x2x2": {0: 1.0, 1: 0.9}})
        self.assertEqual(drawn["Figure 12"].published, {"figure 12": {0: 1, 1: 0.96, 3: 0.92}})
        sent = drawing.json.loads(drawing.json.dumps(drawing.dataclasses.asdict(drawn["Figure 9"])))
        again = drawing.loaded(sent)
        self.assertEqual((again.curves, again.names, again.is_linear), (drawn["Figure 9"].curves, pages.FACES_VARIANTS, True))


class ScalingTest(unittest.TestCase):
    def test_each_number_of_ranks_is_a_case_of_both_forms(self):
        given = types.SimpleNamespace(what="scaling", rank_counts="1,8", local=16, whole=32, steps=3, ranks=8)
        self.assertEqual(figures.cases_of(given), [(f"{kind} {count}", [*words, "--steps", "3", "--repeat", "1"]) for kind, words in
                                                   (("weak", ["--local", "16"]), ("strong", ["--global", "32"])) for count in ("1", "8")])
        self.assertEqual([figures.ranks_of(case, given) for case, _ in figures.cases_of(given)], [1, 8, 1, 8])

    def test_efficiency_is_of_time_or_of_time_by_ranks(self):
        given = types.SimpleNamespace(local=16, whole=32)
        rows = {(f"{kind} {n}", "Sluice", "packed"): {0: [us]} for kind, n, us in
                (("weak", 1, 100), ("weak", 8, 125), ("strong", 1, 800), ("strong", 8, 125))}
        page = pages.scaling_page(rows, given)
        self.assertIn("| ranks | weak: Sluice, packed | strong: Sluice, packed |", page)
        self.assertIn("| 1 | 100.0 (100 %) | 800.0 (100 %) |", page)
        self.assertIn("| 8 | 125.0 (80 %) | 125.0 (80 %) |", page)


class DrawingsTest(unittest.TestCase):
    def document(self, what, *figures_of):
        return {"what": what, "figures": [{"case": case, "side": "Sluice", "variant": variant, "by_size": rows} for case, variant, rows in figures_of]}

    def test_curves_are_by_size_by_ranks_or_by_name(self):
        drawn = drawings.drawing_of(self.document("stencil2d", ("halo", "packed", {"512": [3, 1, 2], "8": [1]})), "# two\n")
        self.assertEqual((drawn.heading, drawn.curves, drawn.names), ("two", {"Sluice, packed": {512: 2, 8: 1}}, ()))
        drawn = drawings.drawing_of(self.document("scaling", ("weak 1", "st", {"0": [5]}), ("weak 8", "st", {"0": [7]})), "# three")
        self.assertEqual((drawn.curves, drawn.across), ({"weak: Sluice, st": {1: 5, 8: 7}}, "ranks"))
        drawn = drawings.drawing_of(self.document("fft3d", ("8x8x8", "alltoallv forward", {"0": [2000]}), ("8x8x8", "staged forward", {"0": [4000]})), "# four")
        self.assertEqual((drawn.curves, drawn.names), ({"forward": {0: 2, 1: 4}}, ("Sluice alltoallv", "Sluice staged")))

    def test_what_cannot_be_drawn_is_said(self):
        for document, text in ((self.document("stencil3d"), "# page"), (self.document("other", ("a", "b", {"1": [1]})), "# page"),
                               (self.document("stencil3d", ("a", "b", {"1": [1]})), "")):
            with self.assertRaises(drawings.DrawingError):
                drawings.drawing_of(document, text)


if __name__ == "__main__":
    unittest.main()
