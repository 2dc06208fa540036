// SPDX-License-Identifier: BSD-3-Clause
// The library libsluice_onemkl.so: the calls of oneMKL (onemkl_transforms.h says why apart).
#include "onemkl_transforms.h"

#include <mkl_service.h>

#include <array>
#include <complex>
#include <cstdint>
#include <oneapi/mkl/dft.hpp>
#include <vector>

namespace sluice::backends::sycl {
namespace {

namespace dft = oneapi::mkl::dft;

template <dft::precision Precision, typename Real>
class Transforms final : public OneMklTransforms {
 public:
  Transforms(::sycl::queue *queue, const sluice_program_fft_batch_t &batch)
      : descriptor_(static_cast<std::int64_t>(batch.n_points)) {
    const std::vector<std::int64_t> strides = {0, static_cast<std::int64_t>(batch.stride)};
    const auto distance = static_cast<std::int64_t>(batch.distance);
    descriptor_.set_value(dft::config_param::NUMBER_OF_TRANSFORMS, static_cast<std::int64_t>(batch.n_transforms));
    descriptor_.set_value(dft::config_param::FWD_STRIDES, strides);
    descriptor_.set_value(dft::config_param::BWD_STRIDES, strides);
    descriptor_.set_value(dft::config_param::FWD_DISTANCE, distance);
    descriptor_.set_value(dft::config_param::BWD_DISTANCE, distance);
    descriptor_.commit(*queue);
  }

  void enqueue(void *data, bool is_inverse) override {
    auto *const points = static_cast<std::complex<Real> *>(data);
    is_inverse ? dft::compute_backward(descriptor_, points) : dft::compute_forward(descriptor_, points);
  }

 private:
  dft::descriptor<Precision, dft::domain::COMPLEX> descriptor_;
};

std::unique_ptr<OneMklTransforms> make(::sycl::queue *queue, const sluice_program_fft_batch_t &batch) {
  if (batch.is_double != 0) return std::make_unique<Transforms<dft::precision::DOUBLE, double>>(queue, batch);
  return std::make_unique<Transforms<dft::precision::SINGLE, float>>(queue, batch);
}

const char *name() {
  static const std::array<char, 200> text = [] {
    std::array<char, 200> made{};
    mkl_get_version_string(made.data(), static_cast<int>(made.size()) - 1);
    return made;
  }();
  return text.data();
}

constexpr OneMkl kOneMkl = {.name = name, .make = make};

}  // namespace
}  // namespace sluice::backends::sycl

extern "C" __attribute__((visibility("default"))) const sluice::backends::sycl::OneMkl *sluice_sycl_onemkl() {
  return &sluice::backends::sycl::kOneMkl;
}
