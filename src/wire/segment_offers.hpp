// SPDX-License-Identifier: BSD-3-Clause
// How the processes of a node come to a file that has no name in any folder: whoever made it hands it to those who ask
// a socket of his, whose own name goes with him, however he ends (docs/adr/0065).
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"

namespace sluice::wire {

// Under this name others ask for a segment, until it is taken away; "" is none.
using SegmentName = std::array<char, 64>;

// What this process offers. Any thread.
class SegmentOffers {
 public:
  // The process's. Never destroyed.
  static SegmentOffers &process();

  // From now on processes of this user on this node that know *name, which nobody can foresee, are given `file`. A
  // thread of this process does that as long as there are offers. Errors: the system refuses.
  [[nodiscard]] Status add(FileDescriptor file, SegmentName *name);
  // Nobody is given it any more.
  void remove(const SegmentName &name) noexcept;

 private:
  struct Offer {
    SegmentName name{};
    FileDescriptor file;
    FileDescriptor listener;
  };
  [[nodiscard]] Status start_thread();
  void wake() noexcept;
  void serve() noexcept;
  void hand_out(int listener) noexcept;

  std::mutex mutex_;
  std::vector<Offer> offers_;
  FileDescriptor wake_;  // written to when the offers change
  bool is_serving_ = false;
};

// What another process offers under that name. Blocks for that one's thread, for some seconds at most. Errors: nobody
// of this user offers it, or he does not answer.
[[nodiscard]] Status ask_for_segment(const SegmentName &name, FileDescriptor *file);

}  // namespace sluice::wire
