// SPDX-License-Identifier: BSD-3-Clause
// One collective at one size on this rank: its buffers, its arguments, and the call in each of its forms.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/coll/collective.hpp"
#include "bench/coll/contents.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/message_type.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

enum class Form { blocking, nonblocking, persistent };

// The vendor's plain copies around the call when the program stages by hand; a side that is not significant is not
// copied. Owns requests and memory.
class Exchange {
 public:
  // Throws DeviceError and MpiError, also when the form is not in this MPI or the size is beyond its counts.
  Exchange(Session &session, const Collective &collective, Form form, const Circle &circle, MPI_Comm comm,
           std::uint64_t size_bytes, bool is_naive);
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;
  ~Exchange();

  // Of its messages, sent and received.
  std::uint64_t size_bytes() const { return send_.size_bytes() + recv_.size_bytes(); }

  // Writes what iteration `iteration` sends, and poisons what it receives.
  void prepare(std::uint64_t iteration, std::vector<std::byte> &scratch);
  // The first wrong element of what was received, of what was sent, and of the guards; "" when all are right.
  std::string verify(std::uint64_t iteration, std::vector<std::byte> &scratch) const;

  // The whole operation; throws MpiError and DeviceError.
  void run();
  // Its two halves, of the forms that have them; between them test() may be called.
  void start();
  void finish();
  void test();

 private:
  void fill_call(std::uint64_t n);
  void fill_blocks();
  void point_to_buffers();
  Contents contents(std::uint64_t iteration) const;
  void stage_down();
  void stage_up();

  const Collective &collective_;
  Form form_;
  Circle circle_;
  Layout layout_;
  ElementType element_;
  Operation operation_;
  MessageType block_type_;
  MessageBuffer send_;
  MessageBuffer recv_;
  DeviceModule *module_;
  std::optional<Buffer> staged_send_;
  std::optional<Buffer> staged_recv_;
  Call call_;
  void *init_ = nullptr;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace sluice::bench
