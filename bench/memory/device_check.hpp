// SPDX-License-Identifier: BSD-3-Clause
// Memory that a kernel of its own device looks at, where it lies.
#pragma once

#include <sluice/testing/probe.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::bench {

class DeviceModule;

// What a device is told to look at, gathered part by part.
class CheckPlan {
 public:
  // Returns the source's number.
  std::uint32_t add_source(const sluice_check_source_t &source);
  // begin: from the memory's first byte; position: in the source. An empty part is none.
  void add(std::uint64_t begin, std::uint64_t size_bytes, std::uint32_t source, std::uint64_t position);

  std::uint64_t n_bytes() const { return n_bytes_; }
  sluice_memory_check_t over(const void *memory, std::uint64_t size_bytes) const;

 private:
  std::vector<sluice_check_source_t> sources_;
  std::vector<sluice_check_segment_t> segments_;
  std::uint64_t n_words_ = 0;
  std::uint64_t n_bytes_ = 0;
};

// The lowest place of a byte that is wrong; none. Blocks. Throws DeviceError, also when the kernel did not compare
// every byte of the plan: it would pass what it never saw.
std::optional<std::uint64_t> find_wrong_byte(const DeviceModule &module, const void *memory, std::uint64_t size_bytes,
                                             const CheckPlan &plan);

// Whether data may be checked on the module's selected device. Memory of its own is filled with data of every sort,
// right at first, then with one byte wrong, another each time; a check that misses one, or sees one that is not there,
// is no check. Returns "" when it saw exactly what it had to; the reason why there is no such kernel otherwise. Throws
// DeviceError when there is one and it is wrong.
std::string prove_device_check(DeviceModule &module);

}  // namespace sluice::bench
