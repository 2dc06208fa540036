// SPDX-License-Identifier: BSD-3-Clause
// Owns the search for FFTW's two libraries, and the calls of them.
#include "host_fft.h"

#include <dlfcn.h>

#include <cstddef>

namespace sluice::backends {
namespace {

// FFTW's C interface, as its manual has it (version 3.3, "64-bit Guru Interface"). Lengths are in complex numbers.
struct Dimension {
  std::ptrdiff_t n;
  std::ptrdiff_t in_stride;
  std::ptrdiff_t out_stride;
};
using Plan = void *;
using MakePlan = Plan (*)(int rank, const Dimension *dims, int batch_rank, const Dimension *batch_dims, void *in,
                          void *out, int sign, unsigned flags);
using Execute = void (*)(Plan plan, void *in, void *out);
using Destroy = void (*)(Plan plan);
constexpr int kForward = -1;
constexpr int kInverse = 1;
constexpr unsigned kEstimate = 1u << 6;  // no measuring, so that the arrays are left alone

// The functions for one precision.
struct Functions {
  MakePlan make = nullptr;
  Execute execute = nullptr;
  Destroy destroy = nullptr;
  const char *version = nullptr;
  std::string error;

  Functions(const char *library, const std::string &prefix, const char *package) {
    void *handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char *why = ::dlerror();
      error = std::string("no library for transforms on the host: ") + (why != nullptr ? why : library) +
              "; install the package " + package;
      return;
    }
    const auto find = [handle, &prefix](const char *name) { return ::dlsym(handle, (prefix + name).c_str()); };
    make = reinterpret_cast<MakePlan>(find("plan_guru64_dft"));
    execute = reinterpret_cast<Execute>(find("execute_dft"));
    destroy = reinterpret_cast<Destroy>(find("destroy_plan"));
    version = static_cast<const char *>(find("version"));
    if (make == nullptr || execute == nullptr || destroy == nullptr || version == nullptr) {
      error = std::string(library) + " lacks a function of FFTW 3.3; install the package " + package;
    }
  }
};

const Functions &functions(bool is_double) {
  static const Functions of_double("libfftw3.so.3", "fftw_", "libfftw3-double3");
  static const Functions of_float("libfftw3f.so.3", "fftwf_", "libfftw3-single3");
  return is_double ? of_double : of_float;
}

}  // namespace

const char *HostTransforms::library(std::string *error) {
  for (const bool is_double : {true, false}) {
    if (functions(is_double).error.empty()) continue;
    *error = functions(is_double).error;
    return nullptr;
  }
  return functions(true).version;
}

std::unique_ptr<HostTransforms> HostTransforms::make(const sluice_program_fft_batch_t &batch, std::string *error) {
  const Functions &known = functions(batch.is_double != 0);
  if (!known.error.empty()) {
    *error = known.error;
    return nullptr;
  }
  std::unique_ptr<HostTransforms> made(new HostTransforms());
  made->is_double_ = batch.is_double != 0;
  const std::uint64_t n_reached = (batch.n_points - 1) * batch.stride + (batch.n_transforms - 1) * batch.distance + 1;
  made->size_bytes_ = n_reached * 2 * (made->is_double_ ? sizeof(double) : sizeof(float));
  const auto stride = static_cast<std::ptrdiff_t>(batch.stride);
  const auto distance = static_cast<std::ptrdiff_t>(batch.distance);
  const Dimension along = {static_cast<std::ptrdiff_t>(batch.n_points), stride, stride};
  const Dimension across = {static_cast<std::ptrdiff_t>(batch.n_transforms), distance, distance};
  // Stands for data of the alignment that all have; an estimated plan does not touch it.
  alignas(16) static std::byte stand_in[16];
  made->plans_[0] = known.make(1, &along, 1, &across, stand_in, stand_in, kForward, kEstimate);
  made->plans_[1] = known.make(1, &along, 1, &across, stand_in, stand_in, kInverse, kEstimate);
  if (made->plans_[0] != nullptr && made->plans_[1] != nullptr) return made;
  *error =
      std::string(known.version) + " makes no plan for transforms of " + std::to_string(batch.n_points) + " points";
  return nullptr;
}

HostTransforms::~HostTransforms() {
  for (void *plan : plans_) {
    if (plan != nullptr) functions(is_double_).destroy(plan);
  }
}

void HostTransforms::run(void *data, bool is_inverse) const {
  functions(is_double_).execute(plans_[is_inverse ? 1 : 0], data, data);
}

}  // namespace sluice::backends
