// SPDX-License-Identifier: BSD-3-Clause
// How open files get from one process of a user to another: over a local socket, since a descriptor means nothing in
// another process. One end has a thread that sleeps until it is asked; what is asked and answered is the backend's.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "outcome.h"
#include "process_identity.h"

namespace sluice::backends {

// Of one answer; the kernel passes 253 at once.
inline constexpr size_t kMostDescriptors = 64;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  Descriptor(Descriptor &&other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor &operator=(Descriptor &&) = delete;

  int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);  // nothing was written to it that could be lost
    number_ = number;
  }

 private:
  int number_;
};

// What the two ends of a socket say to each other.
struct DescriptorProtocol {
  size_t question_bytes;
  size_t answer_bytes;
  // Called in the server's thread with a whole question and an answer full of zeros; up to kMostDescriptors are passed
  // and then closed here. False: that was no question, and the asker is left.
  bool (*answer)(const void *question, void *answer, std::vector<Descriptor> *descriptors);
};

// The end that has the files. Any thread.
class DescriptorServer {
 public:
  explicit DescriptorServer(const DescriptorProtocol &protocol) : protocol_(protocol) {}
  DescriptorServer(const DescriptorServer &) = delete;
  DescriptorServer &operator=(const DescriptorServer &) = delete;

  // Starts this process's thread when there is none yet (a fork's child has its own), and says where it listens. Only
  // processes of the same user are answered. SLUICE_ERROR_UNSUPPORTED where the system has no socket or thread left.
  Outcome start(uint64_t name[2]);
  // Ends the thread, after the answer that it is at.
  void stop();

 private:
  struct Running;

  std::mutex mutex_;
  DescriptorProtocol protocol_;
  Running *running_ = nullptr;  // a plain pointer: a process that exits without stop() leaves the thread asleep
};

// The end that wants them. One thread.
class DescriptorClient {
 public:
  // Blocks for seconds at most. SLUICE_ERROR_UNSUPPORTED when that process cannot be reached; it is not tried again.
  Outcome connect(const uint64_t name[2], const ProcessIdentity &server);
  // Blocks for seconds at most. SLUICE_ERROR_NATIVE when no whole answer came. The descriptors are the caller's.
  Outcome ask(const void *question, size_t question_bytes, void *answer, size_t answer_bytes,
              std::vector<Descriptor> *descriptors);

 private:
  Descriptor connection_;
};

}  // namespace sluice::backends
