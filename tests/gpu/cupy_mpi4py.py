#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges CuPy arrays between two ranks through mpi4py and checks every element.

  mpiexec -n 2 python3 cupy_mpi4py.py

Types, sizes around the thresholds, blocking and non-blocking calls, views that are slices of larger arrays, arrays of
NumPy at one end. Ends with 0, with 77 when something is missing, or with the first difference.
"""

import sys

from gpu_cases import pick_cupy, start_mpi

TYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float32", "float64", "complex64", "complex128")
COUNTS = (1, 13, 300, 8192, 100_003, 3_000_001)


def values(xp, dtype, count, seed):
    whole = (xp.arange(count, dtype=xp.int64) * 37 + seed * 1009) % 120
    array = whole.astype(dtype)
    return array * dtype(1 + 1j) if xp.dtype(dtype).kind == "c" else array


class Exchange:
    def __init__(self):
        self.cupy = pick_cupy()
        self.MPI, self.comm, self.rank, self.partner = start_mpi()
        self.n_checked = 0

    def check(self, xp, array, dtype, seed, what):
        wanted = values(xp, dtype, array.size, seed)
        if not bool((array == wanted).all()):
            at = int(xp.argmax(array != wanted))
            raise AssertionError(f"rank {self.rank}: {what}: {array.size} x {dtype.__name__}: element {at} is "
                                 f"{array[at]} and should be {wanted[at]}")
        self.n_checked += 1

    def empty(self, xp, dtype, count):
        array = xp.empty(count + 10, dtype=dtype)[5:5 + count]  # a view that begins inside its allocation
        array[:] = 77
        return array

    def ready(self, xp, dtype, count, seed):
        array = self.empty(xp, dtype, count)
        array[:] = values(xp, dtype, count, seed)
        self.cupy.cuda.get_current_stream().synchronize()
        return array

    def send_recv(self, dtype, count, send_xp, recv_xp):
        """Rank 0 sends and rank 1 sends back what came."""
        if self.rank == 0:
            self.comm.Send(self.ready(send_xp, dtype, count, 1), self.partner, 3)
            back = self.empty(send_xp, dtype, count)
            self.cupy.cuda.get_current_stream().synchronize()
            self.comm.Recv(back, self.partner, 4)
            self.check(send_xp, back, dtype, 2, "Send, Recv")
        else:
            came = self.empty(recv_xp, dtype, count)
            self.cupy.cuda.get_current_stream().synchronize()
            self.comm.Recv(came, self.partner, 3)
            self.check(recv_xp, came, dtype, 1, "Send, Recv")
            self.comm.Send(self.ready(recv_xp, dtype, count, 2), self.partner, 4)

    def nonblocking(self, dtype, count):
        cupy, n = self.cupy, 4
        into = [self.empty(cupy, dtype, count) for _ in range(n)]
        out_of = [self.ready(cupy, dtype, count, 10 * self.rank + i) for i in range(n)]
        requests = [self.comm.Irecv(into[i], self.partner, i) for i in range(n)]
        requests += [self.comm.Isend(out_of[i], self.partner, i) for i in range(n)]
        self.MPI.Request.Waitall(requests)
        for i in range(n):
            self.check(cupy, into[i], dtype, 10 * self.partner + i, "Isend, Irecv")

    def both_ways(self, dtype, count):
        into = self.empty(self.cupy, dtype, count)
        out_of = self.ready(self.cupy, dtype, count, 50 + self.rank)
        status = self.MPI.Status()
        self.comm.Sendrecv(out_of, self.partner, 8, into, self.partner, 8, status)
        self.check(self.cupy, into, dtype, 50 + self.partner, "Sendrecv")
        assert status.Get_source() == self.partner and status.Get_count(self.MPI.BYTE) == into.nbytes


def main():
    exchange = Exchange()
    import numpy
    cupy = exchange.cupy
    for name in TYPES:
        dtype = getattr(numpy, name)
        for count in COUNTS:
            for send_xp, recv_xp in ((cupy, cupy), (numpy, cupy), (cupy, numpy)):
                exchange.send_recv(dtype, count, send_xp, recv_xp)
            exchange.nonblocking(dtype, count)
            exchange.both_ways(dtype, count)
    exchange.comm.Barrier()
    print(f"note: rank {exchange.rank}: {exchange.n_checked} arrays of {len(TYPES)} types checked", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
