// SPDX-License-Identifier: BSD-3-Clause
// Owns what the copy variants of the benchmark share: a context, memory of each kind, a stream, the kernels, a flag.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "copy_kernels.h"
#include "driver.h"

namespace sluice::backends::cuda::bench {

inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxPackets = 4096;
inline constexpr std::size_t kMaxMemOps = 128;

enum class Direction { kDeviceToHost, kHostToDevice };

// One of the measured copies works on these: set once, used by every variant.
struct Device {
  Driver driver;
  CUdevice ordinal = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory[2] = {0, 0};  // alternate between iterations, each with its own pattern
  char *pageable[2] = {nullptr, nullptr};
  char *pinned[2] = {nullptr, nullptr};      // cuMemHostAlloc
  char *registered[2] = {nullptr, nullptr};  // mmap and cuMemHostRegister
  volatile std::uint64_t *flag = nullptr;    // mapped host word
  Packet *packets = nullptr;                 // mapped host memory
  CopyOrder *order = nullptr;                // mapped host memory
  std::uint64_t sequence = 0;
  CUfunction send_packets = nullptr;
  CUfunction send_ordered_packets = nullptr;
  CUfunction copy_and_flag = nullptr;
  CUfunction write_inline = nullptr;
  CUfunction copy_wide = nullptr;
};

// Ends the benchmark (a program, not a library) with the native text.
inline void check(const Device &device, CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s\n", native_text(device.driver, call, result).c_str());
  std::exit(2);
}

// Spins until the flag holds `sequence`; false after about two seconds.
inline bool poll_flag(const Device &device, std::uint64_t sequence) {
  for (std::uint64_t i = 0; i < 200'000'000; ++i) {
    if (*device.flag == sequence) return true;
    __builtin_ia32_pause();
  }
  return false;
}

// One way to copy. dst and src are host or device addresses as `direction` says; returns when the copy is complete.
// "": done; else why not.
using CopyFunction = std::string (*)(Device &device, void *dst, const void *src, std::size_t size_bytes);

enum class HostMemory { kPageable, kPinned, kRegistered };

struct Variant {
  const char *name;
  Direction direction;
  HostMemory host;
  std::size_t max_bytes;
  CopyFunction copy;
};

// All of them; copy_variants.cpp.
std::span<const Variant> variants();

}  // namespace sluice::backends::cuda::bench
