// SPDX-License-Identifier: BSD-3-Clause
// Deals chunks out to threads.
#include "apps/fft3d/host_threads.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>

namespace sluice::apps::fft3d {
namespace {

// What was summed up, and what the additions lost of it.
struct Sum {
  double sum = 0;
  double lost = 0;

  void add(double value) {
    const double next = sum + value;
    lost += sum >= value ? (sum - next) + value : (value - next) + sum;  // for numbers that are not negative
    sum = next;
  }
};

}  // namespace

void HostThreads::for_chunks(std::uint64_t n_items, std::uint64_t chunk_items,
                             const std::function<void(std::uint64_t begin, std::uint64_t end)> &work) const {
  std::atomic<std::uint64_t> next = 0;  // chunk
  const std::uint64_t n_chunks = n_chunks_of(n_items, chunk_items);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_chunks = [&] {
    try {
      for (std::uint64_t chunk = next++; chunk < n_chunks; chunk = next++) {
        work(chunk * chunk_items, std::min(n_items, (chunk + 1) * chunk_items));
      }
    } catch (...) {
      next = n_chunks;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    const std::uint64_t n_threads = std::min<std::uint64_t>(n_threads_, n_chunks);
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < n_threads) others.emplace_back(take_chunks);
    } catch (const std::system_error &error) {
      // Those that there are do it all.
      fmt::print(stderr, "only {} of {} threads could be started for checks: {}\n", others.size() + 1, n_threads,
                 error.what());
    }
    take_chunks();
  }
  if (failure) std::rethrow_exception(failure);
}

// A long double would do, but libraries were seen to leave a processor's extended numbers at 53 bits: 2^26 squares were
// then 3e-13 off on every MPI alike.
double square_sum(const HostThreads &threads, const Values &values) {
  Sum all;
  const auto sum_of_chunk = [&values](std::uint64_t begin, std::uint64_t end) {
    Sum sum;
    for (std::uint64_t item = begin; item < end; ++item) sum.add(std::norm(values[item]));
    return sum;
  };
  double lost = 0;
  for (const Sum &of_chunk : threads.collect<Sum>(values.size(), HostThreads::kChunkItems, sum_of_chunk)) {
    all.add(of_chunk.sum);
    lost += of_chunk.lost;
  }
  return all.sum + (all.lost + lost);
}

unsigned fair_threads(const std::vector<int> &is_own, const std::vector<int> &n_sharing) {
  double n_cores = 1e-9;  // thirds are to add up
  for (std::size_t core = 0; core < is_own.size(); ++core) {
    if (is_own[core] != 0) n_cores += 1.0 / n_sharing[core];
  }
  return std::max(1U, static_cast<unsigned>(n_cores));
}

}  // namespace sluice::apps::fft3d
