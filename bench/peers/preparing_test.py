# SPDX-License-Identifier: BSD-3-Clause
"""The bundle of compare_peers out of stand-in programs: nothing is downloaded or compiled. Needs tar and strip."""

import io
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers import measuring, preparing  # noqa: E402


class PreparingTest(unittest.TestCase):
    def test_dry_run_runs_nothing(self):
        shown, sys.stdout = sys.stdout, io.StringIO()
        try:
            preparing.Shell(True).run(["/nowhere/program", "word"])
            self.assertIn("/nowhere/program word", sys.stdout.getvalue())
        finally:
            sys.stdout = shown

    def test_a_failed_step_is_an_error(self):
        with self.assertRaisesRegex(preparing.PrepareError, "ended with 1"):
            preparing.Shell(False).run(["false"])


class RefreshTest(unittest.TestCase):
    PROGRAMS = ("bin/sluice-bench.mpich", "bin/sluice-bench.ompi", "bin/ping_pong.mpich", "bin/ping_pong.ompi", *(f"bin/{app}.{one}" for app in preparing.APPS for one in ("mpich", "ompi")), "bin/sluice", "lib/libsluice_mpich.so",
                "lib/sluice/libsluice_backend_cuda.so", "lib/sluice/libsluice_backend_cuda.needs")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.addCleanup(setattr, preparing, "toolkit", preparing.toolkit)
        preparing.toolkit = lambda: "/nowhere"  # compiles nothing
        self.arguments = types.SimpleNamespace(bundle=self.root / "bundle", build=self.root / "build", compile=False,
                                               flavour="mpich", jobs=1, dry_run=False)
        self.arguments.bundle.mkdir()
        for name in self.PROGRAMS:
            self.write(self.arguments.build / name, pathlib.Path("/bin/true").read_bytes())
        self.write(self.root / "old/mpich/lib/peer", b"peer")
        self.write(self.root / "old/ours/bin/sluice", b"old")
        self.write(self.root / "old/flavour", b"abi\n")
        self.pack("old", preparing.ARCHIVE)

    def write(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def pack(self, stage, archive):
        preparing.subprocess.run(["tar", "-C", self.root / stage, "-cJf", self.arguments.bundle / archive, "."], check=True)

    def refresh(self):
        shown, sys.stdout = sys.stdout, io.StringIO()
        try:
            preparing.refresh(self.arguments)
        finally:
            sys.stdout = shown

    def test_our_programs_are_replaced_and_the_peers_stay(self):
        self.write(self.root / "more/oneapi/lib/compiler", b"compiler")
        self.pack("more", "more.tar.xz")
        self.refresh()
        target = self.root / "unpacked"
        target.mkdir()
        site = measuring.unpack(self.arguments.bundle, target)
        self.assertEqual(site.flavour, "mpich")
        for name in self.PROGRAMS:
            self.assertTrue((target / "ours" / name).exists(), name)
        self.assertNotEqual((target / "ours/bin/sluice").read_bytes(), b"old")
        self.assertEqual((target / "mpich/lib/peer").read_bytes(), b"peer")
        self.assertEqual((target / "oneapi/lib/compiler").read_bytes(), b"compiler")
        self.assertTrue((self.arguments.bundle / "compare_peers").exists())

    def test_a_refresh_that_fails_leaves_the_bundle(self):
        (self.arguments.build / "bin/sluice").unlink()
        with self.assertRaisesRegex(preparing.PrepareError, "bin/sluice is missing"):
            self.refresh()
        self.assertEqual(list(self.arguments.bundle.iterdir()), [self.arguments.bundle / preparing.ARCHIVE])

    def test_without_a_bundle_the_remedy_is_named(self):
        (self.arguments.bundle / preparing.ARCHIVE).unlink()
        with self.assertRaisesRegex(preparing.PrepareError, "--prepare makes it"):
            self.refresh()


if __name__ == "__main__":
    unittest.main()
