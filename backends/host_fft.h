// SPDX-License-Identifier: BSD-3-Clause
// Transforms on the host's cores by FFTW, for the devices that are made of them. The library is looked for when it is
// first asked for; nothing of it is needed to build.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sluice/testing/program_fft.h"

namespace sluice::backends {

// One batch, prepared. Any thread may run one; only one thread makes or destroys any.
class HostTransforms {
 public:
  // Name and version of the library, or null, and *error says what is missing and what to do.
  static const char *library(std::string *error);

  // Null, and *error says why, when there is no library or it refuses the batch.
  static std::unique_ptr<HostTransforms> make(const sluice_program_fft_batch_t &batch, std::string *error);

  ~HostTransforms();
  HostTransforms(const HostTransforms &) = delete;
  HostTransforms &operator=(const HostTransforms &) = delete;

  // Transforms what is at `data`, aligned to 16 bytes, before it returns.
  void run(void *data, bool is_inverse) const;
  // From the first byte of the batch to behind its last.
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  HostTransforms() = default;

  bool is_double_ = true;
  std::uint64_t size_bytes_ = 0;
  void *plans_[2] = {nullptr, nullptr};  // forward, inverse
};

}  // namespace sluice::backends
