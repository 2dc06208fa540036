// SPDX-License-Identifier: BSD-3-Clause
// Modules (programs) and kernels, which the CPU runtime builds and runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.h"
#include "opencl.h"
#include "spirv.h"

namespace sluice::emulated_driver {

struct Module {
  cl_program program = nullptr;
  std::vector<uint8_t> code;    // SPIR-V
  std::vector<uint8_t> native;  // made when it is asked for
  std::map<std::string, std::vector<ArgumentSort>> kernels;

  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  ~Module();
};

struct BuildLog {
  std::string text;
};

// The CPU runtime's kernel, and the lock that setting its arguments and launching it takes.
struct BuiltKernel {
  cl_kernel kernel = nullptr;
  std::vector<ArgumentSort> sorts;  // of its arguments
  std::mutex mutex;

  BuiltKernel() = default;
  BuiltKernel(const BuiltKernel &) = delete;
  BuiltKernel &operator=(const BuiltKernel &) = delete;
  ~BuiltKernel();
};

struct Argument {
  std::size_t size_bytes = 0;
  std::vector<std::byte> value;  // empty: group memory
  bool is_set = false;
};

// What a launch takes along: later calls change the kernel's, not this.
struct LaunchState {
  std::shared_ptr<BuiltKernel> built;
  std::vector<Argument> arguments;
  std::array<std::size_t, 3> group_size = {1, 1, 1};
  std::array<std::size_t, 3> offset = {0, 0, 0};
};

struct Kernel {
  LaunchState state;
  std::string name;
  ze_kernel_indirect_access_flags_t indirect = 0;
};

}  // namespace sluice::emulated_driver
