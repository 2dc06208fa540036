// SPDX-License-Identifier: BSD-3-Clause
// Transforms by oneMKL, which runs on every device of the runtime. It is a C++ interface that has to be linked, so what
// calls it is a library of its own beside the module, built where oneMKL was found and opened when transforms are first
// asked for.
#pragma once

#include <memory>
#include <string>
#include <sycl/sycl.hpp>

#include "sluice/testing/program_fft.h"

namespace sluice::backends::sycl {

// One batch, prepared for a queue. One thread at a time.
class OneMklTransforms {
 public:
  OneMklTransforms() = default;
  virtual ~OneMklTransforms() = default;
  OneMklTransforms(const OneMklTransforms &) = delete;
  OneMklTransforms &operator=(const OneMklTransforms &) = delete;

  // Enqueues the transforms of what is at `data` on the queue of make(), which is in order. Returns at once. Throws
  // what oneMKL and the runtime throw, all of it std::exception.
  virtual void enqueue(void *data, bool is_inverse) = 0;
};

// What the library's one symbol, of type OneMklFunction, hands out; kept until the process ends.
struct OneMkl {
  // "oneMKL 2026.2 ...".
  const char *(*name)();
  // Throws as enqueue().
  std::unique_ptr<OneMklTransforms> (*make)(::sycl::queue *queue, const sluice_program_fft_batch_t &batch);
};
using OneMklFunction = const OneMkl *();
inline constexpr const char *kOneMklSymbol = "sluice_sycl_onemkl";

}  // namespace sluice::backends::sycl
