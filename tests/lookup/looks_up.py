#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Python's ctypes opens the MPI library and calls it: rank 0 sends device memory to rank 1.

Usage: looks_up.py RUNTIME LIBRARY     the emulated device's runtime and the MPI library
"""
import ctypes
import sys

SIZE = 5000


def main():
    runtime, mpi = (ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL) for path in sys.argv[1:])
    if hasattr(mpi, "ompi_mpi_byte"):  # predefined handles are addresses
        byte, world = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
                       for name in ("ompi_mpi_byte", "ompi_mpi_comm_world"))
    else:
        byte, world = ctypes.c_int(0x4c00010d), ctypes.c_int(0x44000000)

    def call(function, *arguments):
        if function(*arguments) != 0:
            sys.exit(f"{function.__name__} failed")

    call(mpi.MPI_Init, None, None)
    rank = ctypes.c_int()
    call(mpi.MPI_Comm_rank, world, ctypes.byref(rank))
    memory = ctypes.c_void_p()
    call(runtime.emu_malloc_device, ctypes.c_size_t(SIZE), ctypes.byref(memory))
    sent = bytes(i * 7 % 251 for i in range(SIZE))
    if rank.value == 0:
        call(runtime.emu_memcpy, memory, sent, ctypes.c_size_t(SIZE))
        call(mpi.MPI_Send, memory, SIZE, byte, 1, 3, world)
    else:
        call(mpi.MPI_Recv, memory, SIZE, byte, 0, 3, world, None if hasattr(mpi, "ompi_mpi_byte") else ctypes.c_void_p(1))
        came = ctypes.create_string_buffer(SIZE)
        call(runtime.emu_memcpy, came, memory, ctypes.c_size_t(SIZE))
        if came.raw != sent:
            sys.exit("other bytes came")
    call(mpi.MPI_Finalize)
    print(f"rank {rank.value}: looked up", flush=True)


if __name__ == "__main__":
    main()
