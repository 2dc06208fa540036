// SPDX-License-Identifier: BSD-3-Clause
// SharedSegment: memory that processes of one node share, private to the user.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "wire/segment_offers.hpp"

namespace sluice::wire {

// A mapping; unmapped at its end. Move only. One thread at a time for each; any thread may take a name away.
class SharedSegment {
 public:
  SharedSegment() noexcept = default;
  SharedSegment(SharedSegment &&other) noexcept;
  SharedSegment &operator=(SharedSegment &&other) noexcept;
  SharedSegment(const SharedSegment &) = delete;
  SharedSegment &operator=(const SharedSegment &) = delete;
  ~SharedSegment() { release(); }

  // Makes a segment of `size_bytes` zero bytes, which processes of this user are given under a name that nobody can
  // foresee. It is in no folder, so nothing stays however the processes end. Errors: the system refuses, no memory.
  [[nodiscard]] static Status create(std::size_t size_bytes, SharedSegment *segment, SegmentName *name);
  // Maps a segment of this user's that another process made. Blocks as ask_for_segment(). Errors: there is none of that
  // name and size.
  [[nodiscard]] static Status open(const SegmentName &name, std::size_t size_bytes, SharedSegment *segment);
  // Takes the name away: nobody opens it any more, and the memory goes with the last mapping. By who created it. Any
  // more often than once does nothing.
  static void remove_name(const SegmentName &name) noexcept;

  // Aligned to a page; null without a segment.
  [[nodiscard]] void *data() const noexcept { return data_; }

 private:
  [[nodiscard]] Status map(int file, std::size_t size_bytes);
  void release() noexcept;

  void *data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace sluice::wire
