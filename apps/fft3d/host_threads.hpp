// SPDX-License-Identifier: BSD-3-Clause
// Threads of the host that fill and check a rank's points. Work is cut into chunks that know nothing of the number of
// threads, and what the chunks give is put together in their order: the result is the same with any number.
#pragma once

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::apps::fft3d {

using Complex = std::complex<double>;

// Leaves new elements as the memory is, so that the threads that fill them are the first to touch it.
template <class T>
struct UntouchedAllocator : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  template <class U>
  struct rebind {
    using other = UntouchedAllocator<U>;
  };
  template <class U>
  void construct(U *) noexcept {}
  template <class U, class First, class... Others>
  void construct(U *at, First &&first, Others &&...others) {
    std::construct_at(at, std::forward<First>(first), std::forward<Others>(others)...);
  }
};

// Elements in host memory; not set to anything unless a value is given.
template <class T>
using HostArray = std::vector<T, UntouchedAllocator<T>>;
using Values = HostArray<Complex>;

// Blocking calls from one thread, which takes part. What the calls are given is called by several threads at once.
class HostThreads {
 public:
  static constexpr std::uint64_t kChunkItems = 1 << 12;

  // n_threads: at least 1, the caller's among them.
  explicit HostThreads(unsigned n_threads) : n_threads_(n_threads) {}

  unsigned n_threads() const { return n_threads_; }

  // Calls work(begin, end) for each chunk of n_items items. Throws what `work` threw first; then chunks may be left
  // out.
  void for_chunks(std::uint64_t n_items, std::uint64_t chunk_items,
                  const std::function<void(std::uint64_t begin, std::uint64_t end)> &work) const;

  template <class Action>
  void for_each(std::uint64_t n_items, const Action &action) const {
    for_chunks(n_items, kChunkItems, [&action](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t item = begin; item < end; ++item) action(item);
    });
  }

  // What work(begin, end) gave for each chunk, in their order.
  template <class Value, class Work>
  std::vector<Value> collect(std::uint64_t n_items, std::uint64_t chunk_items, const Work &work) const {
    std::vector<Value> found(n_chunks_of(n_items, chunk_items));
    for_chunks(n_items, chunk_items,
               [&](std::uint64_t begin, std::uint64_t end) { found[begin / chunk_items] = work(begin, end); });
    return found;
  }

  // What check(item) says of the first item of which it says anything; "" when it has nothing to say of any.
  template <class Check>
  std::string first_fault(std::uint64_t n_items, const Check &check) const {
    std::mutex mutex;
    std::string fault;
    std::atomic<std::uint64_t> first = n_items;
    for_chunks(n_items, kChunkItems, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t item = begin; item < end && item < first.load(std::memory_order_relaxed); ++item) {
        std::string found = check(item);
        if (found.empty()) continue;
        const std::lock_guard lock(mutex);
        if (item >= first.load(std::memory_order_relaxed)) return;
        first.store(item, std::memory_order_relaxed);
        fault = std::move(found);
        return;
      }
    });
    return fault;
  }

 private:
  // The last one may be shorter.
  static constexpr std::uint64_t n_chunks_of(std::uint64_t n_items, std::uint64_t chunk_items) {
    return n_items / chunk_items + (n_items % chunk_items != 0 ? 1 : 0);
  }

  unsigned n_threads_;
};

// The sum of squares of this rank's numbers, with what each addition loses kept beside it (Neumaier).
double square_sum(const HostThreads &threads, const Values &values);

// How many threads a process may keep busy: each core that it may run on counts by its share among the processes that
// may run there. is_own[c]: it may run on core c; n_sharing[c]: so many may, itself among them. At least 1.
unsigned fair_threads(const std::vector<int> &is_own, const std::vector<int> &n_sharing);

}  // namespace sluice::apps::fft3d
