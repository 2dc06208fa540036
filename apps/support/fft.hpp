// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms along one dimension by the library of the device's vendor (sluice/testing/program_fft.h).
#pragma once

#include <sluice/testing/program_fft.h>

#include <cstdio>
#include <string>

#include "apps/support/device.hpp"

namespace sluice::apps {

// The device's library. Throws DeviceError when there is none, with what to do.
class FftLibrary {
 public:
  explicit FftLibrary(Device &device)
      : device_(device),
        table_(static_cast<const sluice_program_fft_t *>(device.find_table(SLUICE_PROGRAM_FFT_SYMBOL))) {
    if (table_ == nullptr || table_->api_version != SLUICE_PROGRAM_FFT_API_VERSION) {
      throw DeviceError("the backend '" + device.module_name() + "' has no Fourier transforms: take another");
    }
    const char *name = table_->library();
    if (name == nullptr) throw DeviceError(device.module().table().last_error());
    name_ = name;
  }

  // With its version.
  const std::string &name() const { return name_; }
  Device &device() const { return device_; }
  const sluice_program_fft_t &table() const { return *table_; }

 private:
  Device &device_;
  const sluice_program_fft_t *table_;
  std::string name_;
};

// Many transforms of one shape, in place and not scaled. The library and the stream outlive it, and what was enqueued
// has run when it is destroyed. Throws DeviceError.
class FftPlan {
 public:
  FftPlan(FftLibrary &library, Stream &stream, const sluice_program_fft_batch_t &batch) : library_(library) {
    require(library.table().plan_create(stream.native(), &batch, &plan_), "preparation of transforms");
  }
  ~FftPlan() {
    if (library_.table().plan_destroy(plan_) == SLUICE_SUCCESS) return;
    std::fprintf(stderr, "a plan could not be destroyed: %s\n", library_.device().module().table().last_error());
  }
  FftPlan(const FftPlan &) = delete;
  FftPlan &operator=(const FftPlan &) = delete;

  // Returns before they have run.
  void enqueue(void *data, bool is_inverse) {
    require(library_.table().enqueue(plan_, data, is_inverse ? 1 : 0), "transforms");
  }

 private:
  void require(sluice_result_t result, const char *what) const { library_.device().module().require(result, what); }

  FftLibrary &library_;
  sluice_program_fft_plan_t *plan_ = nullptr;
};

}  // namespace sluice::apps
