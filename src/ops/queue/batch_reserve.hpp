// SPDX-License-Identifier: BSD-3-Clause
// BatchReserve: what the messages of a queue may need of the runtime, made while the stream does not wait yet. A
// runtime may hold up whoever asks for it later, until the stream has what it waits for (docs/adr/0032).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "device/place.hpp"

namespace sluice::ops::queue {

// Of one queue. One thread at a time.
class BatchReserve {
 public:
  // One more message of `size_bytes` of device memory in the batch that is open. Makes queues of Sluice's and staging
  // memory for all of the batch, up to kMostBytes and kMostMessages, unless they were made before. Setup cost the first
  // time, two look-ups later. Failures are no errors: the message itself tells them, if it comes to that.
  void add(const device::Place &place, std::uint64_t size_bytes);
  // The batch is complete; the next one may use what was made.
  void begin_batch() noexcept;

  static constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20U;
  static constexpr std::size_t kMostMessages = 64;

 private:
  struct Blocks {
    std::size_t n_wanted = 0;  // by the open batch
    std::size_t n_made = 0;
  };
  std::map<std::uint64_t, Blocks> blocks_;  // by their size in bytes, a power of two
  std::uint64_t made_bytes_ = 0;
  std::size_t n_messages_ = 0;  // of the open batch
  std::size_t n_queues_made_ = 0;
};

}  // namespace sluice::ops::queue
