// SPDX-License-Identifier: BSD-3-Clause
// MovingStream: a wait for a stream to come to a trigger for as long as it moves; for what goes well without, too.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace sluice::device {

// One thread at a time.
class MovingStream {
 public:
  // triggered: as Stream::triggered().
  explicit MovingStream(std::function<std::uint64_t()> triggered) noexcept : triggered_(std::move(triggered)) {}

  // Returns when the stream has come to `least`, or has stood still for a while: a fifth of a second, and a millisecond
  // after some times in a row that were in vain. At once where it has not moved since the last time.
  void await(std::uint64_t least);

 private:
  const std::function<std::uint64_t()> triggered_;
  std::uint64_t given_up_at_ = ~std::uint64_t{0};
  unsigned n_in_vain_ = 0;
};

}  // namespace sluice::device
