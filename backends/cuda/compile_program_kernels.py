#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles kernels of a program (sluice/testing/program_kernels.h) into the text that the driver takes.

    compile_program_kernels.py <compiler library> <header> <file to write> '<name>:<function>|<task type>' ...

Runs while a program is built, without a device or a driver. Writes an entry of C++ for each kernel, its name and its
text, for apps/support/kernel.hpp.
"""

import ctypes
import pathlib
import sys

INTEGERS = """
namespace std {
using int32_t = int;   using uint32_t = unsigned int;
using int64_t = long;  using uint64_t = unsigned long;
}
"""
FRAME = """
#define SLUICE_PROGRAM_FUNCTION __device__ __forceinline__
#define SLUICE_PROGRAM_KERNEL(name, Task) __device__ __forceinline__ void name(const Task &task, std::uint64_t item)
#include "kernels.hpp"
extern "C" __global__ void __launch_bounds__(256) {name}(const __grid_constant__ {task_type} task, std::uint64_t n_items) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t item = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < n_items; item += step) {
    {function}(task, item);
  }
}
"""
# What is computed is what is written: no product is fused with a sum. The oldest devices that the module takes.
OPTIONS = [b"--std=c++17", b"--gpu-architecture=compute_75", b"--fmad=false", b"--device-as-default-execution-space"]


def text_of(library, program, size_call, call):
    size = ctypes.c_size_t()
    if size_call(program, ctypes.byref(size)) != 0:
        return ""
    text = ctypes.create_string_buffer(size.value)
    return text.value.decode() if call(program, text) == 0 else ""


def compile_kernel(library, header, kernel):
    name, function, task_type = kernel.split(":", 1)[0], *kernel.split(":", 1)[1].split("|")
    source = FRAME.replace("{name}", name).replace("{function}", function).replace("{task_type}", task_type)
    names = (ctypes.c_char_p * 2)(b"cstdint", b"kernels.hpp")
    headers = (ctypes.c_char_p * 2)(INTEGERS.encode(), header.encode())
    program = ctypes.c_void_p()
    if library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 2, headers, names) != 0:
        sys.exit("compile_program_kernels: no program can be made")
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    if library.nvrtcCompileProgram(program, len(OPTIONS), options) != 0:
        log = text_of(library, program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
        sys.exit(f"compile_program_kernels: {name}: {log}")
    text = text_of(library, program, library.nvrtcGetPTXSize, library.nvrtcGetPTX)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if not text:
        sys.exit(f"compile_program_kernels: {name}: the compiler gave no text")
    return "".join(line + "\n" for line in text.splitlines() if line and not line.startswith("//"))


def main():
    path, header, out, *kernels = sys.argv[1:]
    library = ctypes.CDLL(path)
    text = pathlib.Path(header).read_text()
    entries = "".join(f'{{"{kernel.split(":", 1)[0]}", "cuda", R"sluice({compile_kernel(library, text, kernel)})sluice"}},\n'
                      for kernel in kernels)
    pathlib.Path(out).write_text(entries)


if __name__ == "__main__":
    main()
