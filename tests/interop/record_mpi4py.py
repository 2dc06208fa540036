# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own test suite on this rank, as it is, and writes what becomes of each test while it runs, so that the
record says also in which test a rank died.

record_mpi4py.py RESULTS SUITE [argument of the suite's main.py ...]

RESULTS.<rank> gets a line each: `sluice <0|1>` (whether libsluice is in the process and switched on), `begin <test>`,
`<ok|skipped|failed|error> <test>`, and `end` behind the last test. INTEROP_FAIL names a test that is to fail on purpose;
INTEROP_DEVICE is the emulated device's library, in whose memory all arrays of the suite are to lie.
"""
import ctypes
import os
import pathlib
import runpy
import sys
import unittest

import device_arrays


def rank():
    for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK"):
        if name in os.environ:
            return int(os.environ[name])
    return 0


def is_sluice_there():
    try:
        return ctypes.CDLL(None).sluice_is_enabled()
    except AttributeError:
        return 0


class Recorder(unittest.TextTestResult):
    record = None
    to_fail = os.environ.get("INTEROP_FAIL", "")

    def write(self, state, test):
        print(state, test.id(), file=self.record, flush=True)

    def startTest(self, test):
        self.write("begin", test)
        super().startTest(test)

    def addSuccess(self, test):
        if self.to_fail and self.to_fail in test.id():
            try:
                raise AssertionError("made to fail by INTEROP_FAIL")
            except AssertionError:
                self.addFailure(test, sys.exc_info())
            return
        self.write("ok", test)
        super().addSuccess(test)

    def addError(self, test, err):
        self.write("error", test)
        super().addError(test, err)

    def addFailure(self, test, err):
        self.write("failed", test)
        super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.write("failed", test)
        super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        self.write("skipped", test)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.write("ok", test)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.write("failed", test)
        super().addUnexpectedSuccess(test)


def main():
    results, suite = sys.argv[1], pathlib.Path(sys.argv[2])
    # Before the first import of MPI, so that its start finds the device.
    device = device_arrays.open_device(os.environ["INTEROP_DEVICE"]) if "INTEROP_DEVICE" in os.environ else None
    with open(f"{results}.{rank()}", "w", encoding="utf-8") as record:
        print("sluice", is_sluice_there(), file=record, flush=True)
        Recorder.record = record
        unittest.TextTestRunner.resultclass = Recorder
        sys.path.insert(0, str(suite))
        os.chdir(suite)
        if device is not None:
            device_arrays.use_device_arrays(device)
        sys.argv = [str(suite / "main.py"), *sys.argv[3:]]
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        finally:
            print("end", file=record, flush=True)


if __name__ == "__main__":
    main()
