// SPDX-License-Identifier: BSD-3-Clause
// The transform of the whole grid.
#include "apps/fft3d/transform.hpp"

#include <complex>

#include "apps/support/program.hpp"

namespace sluice::apps::fft3d {
namespace {

// No number, in double and in float.
constexpr std::uint64_t kPoison = ~std::uint64_t{0};

// How the transforms along one dimension lie in a pencil: the dimension is the fastest of the memory for x and the
// slowest for y and z.
sluice_program_fft_batch_t batch_of(const Box &box, unsigned dimension, bool is_double) {
  const std::uint64_t n = dimension == 0 ? box.n_x : dimension == 1 ? box.n_y : box.n_z;
  const std::uint64_t n_others = n_points(box) / n;
  sluice_program_fft_batch_t batch{n, n_others, n_others, 1, is_double ? 1u : 0u};
  if (dimension == 0) {
    batch.stride = 1;
    batch.distance = n;
  }
  return batch;
}

Element element_of(bool is_double) {
  return is_double ? Element{MPI_C_DOUBLE_COMPLEX, 1} : Element{MPI_C_FLOAT_COMPLEX, 0};
}

}  // namespace

Transform::Transform(FftLibrary &library, const Pencils &pencils, bool is_double, const Way &way,
                     const HostThreads &threads)
    : device_(library.device()),
      threads_(threads),
      pencils_(pencils),
      is_double_(is_double),
      element_(element_of(is_double)),
      points_(library.device(), element_.n_words(pencils.most_points)),
      stream_(library.device()) {
  for (unsigned d = 0; d < 3; ++d) {
    plans_[d] = std::make_unique<FftPlan>(library, stream_, batch_of(pencils.along[d].box, d, is_double));
  }
  exchanges_[0] = std::make_unique<Exchange>(library.device(), stream_, pencils.row, element_, way,
                                             pencils.along[0].box, 0, pencils.along[1].box, 1);
  exchanges_[1] = std::make_unique<Exchange>(library.device(), stream_, pencils.column, element_, way,
                                             pencils.along[1].box, 1, pencils.along[2].box, 2);
}

void Transform::write(const Values &values) {
  HostArray<std::uint64_t> words(points_.now().size());
  threads_.for_each(words.size(), [&words](std::uint64_t item) { words[item] = kPoison; });
  points_.now().write(words);
  points_.spare(0).write(words);
  points_.spare(1).write(words);
  rewrite(values);
}

void Transform::rewrite(const Values &values) {
  if (is_double_) {
    device_.module().copy(points_.now().data(), values.data(), values.size() * sizeof(Complex));
    return;
  }
  HostArray<std::complex<float>> rounded(values.size());
  threads_.for_each(values.size(),
                    [&](std::uint64_t item) { rounded[item] = static_cast<std::complex<float>>(values[item]); });
  device_.module().copy(points_.now().data(), rounded.data(), rounded.size() * sizeof(std::complex<float>));
}

Values Transform::read(unsigned dimension) const {
  Values values(n_points(pencils_.along[dimension].box));
  if (is_double_) {
    device_.module().copy(values.data(), points_.now().data(), values.size() * sizeof(Complex));
    return values;
  }
  HostArray<std::complex<float>> rounded(values.size());
  device_.module().copy(rounded.data(), points_.now().data(), rounded.size() * sizeof(std::complex<float>));
  threads_.for_each(values.size(), [&](std::uint64_t item) { values[item] = rounded[item]; });
  return values;
}

Times Transform::run(bool is_inverse) {
  Times times;
  const StopWatch all;
  for (unsigned step = 0; step < 3; ++step) {
    const unsigned dimension = is_inverse ? 2 - step : step;
    plans_[dimension]->enqueue(points_.now().data(), is_inverse);
    stream_.synchronize();
    if (step == 2) break;
    const StopWatch exchange;
    exchanges_[is_inverse ? 1 - step : step]->run(points_, is_inverse);
    times.exchange_us += exchange.elapsed_us();
  }
  times.all_us = all.elapsed_us();
  return times;
}

Times Transform::forward() {
  return run(false);
}

Times Transform::inverse() {
  return run(true);
}

void Transform::move_forward() {
  for (const auto &exchange : exchanges_) exchange->run(points_, false);
}

void Transform::move_back() {
  exchanges_[1]->run(points_, true);
  exchanges_[0]->run(points_, true);
}

}  // namespace sluice::apps::fft3d
