// SPDX-License-Identifier: BSD-3-Clause
// The engine `dwq` (arXiv 2208.04817, section IV.A): a send is given to the network when its batch is started, and goes
// by itself when a counter comes to its number. A receive is posted by the progress thread when the stream has come to
// the start, as in the paper.
//
// What counts up is the progress thread, when it sees the stream's trigger: sockets has no counter that a stream could
// write, and device memory has to be copied down first. docs/adr/0034 says what would be without it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "ops/env/errors.hpp"
#include "ops/queue/carriers.hpp"
#include "ops/queue/comm_number.hpp"
#include "wire/fabric.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

// Where a message goes there.
struct Destination {
  int world_rank = -1;
  std::uint64_t tag = 0;
};

// What the messages of one queue share. Numbers are given when a batch is started (one thread at a time, then), and
// used up in turns.
struct Line {
  wire::FabricTrigger trigger;
  std::uint64_t n_numbered = 0;  // sends that have a number
  std::uint64_t n_gone = 0;      // of the turn: sends that have been started; the trigger's count
  std::uint64_t n_awaited = 0;   // receives that have a number
  std::uint64_t n_posted = 0;    // of the turn
  Status failure;                // of the turn: a send could not go, and so none behind it can
};

// What both directions have in common. A turn's exception (memory ran out) becomes the message's error.
class DeferredMessage : public PointMessage {
 public:
  DeferredMessage(const Arguments &given, const transfer::Region &region, const Destination &destination,
                  std::shared_ptr<Line> line) noexcept
      : PointMessage(given, region), destination_(destination), line_(std::move(line)) {}

  [[nodiscard]] Status prepare() override {
    if (is_prepared_) return {};
    Status status = flat_.open();
    if (status.is_ok()) status = number();
    is_prepared_ = status.is_ok();
    return status;
  }

 protected:
  [[nodiscard]] virtual Status number() = 0;
  [[nodiscard]] virtual Status start() = 0;
  [[nodiscard]] virtual Status go_on(MPI_Status *status, bool *is_done) = 0;

  const Destination destination_;
  const std::shared_ptr<Line> line_;
  // Behind the memory that it uses: it goes first.
  wire::FabricMessage message_;

 private:
  [[nodiscard]] int start_transfer() override {
    return guarded_step([this] { return start(); });
  }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    bool is_done = false;
    *code = guarded_step([&] { return go_on(status, &is_done); });
    return *code != MPI_SUCCESS || is_done;
  }
  [[nodiscard]] Route route_taken() const noexcept override { return Route::kDwq; }
  template <typename Step>
  [[nodiscard]] static int guarded_step(Step step) noexcept {
    try {
      const Status status = step();
      return status.is_ok() ? MPI_SUCCESS : error_code(status);
    } catch (const std::exception &) {
      return MPI_ERR_NO_MEM;
    }
  }

  bool is_prepared_ = false;
};

class FabricSend final : public DeferredMessage {
 public:
  using DeferredMessage::DeferredMessage;

 private:
  [[nodiscard]] Status number() override {
    const std::uint64_t number = line_->n_numbered + 1;
    Status status = message_.defer_send(line_->trigger, number, flat_.data(), flat_.size_bytes(),
                                        destination_.world_rank, destination_.tag, &is_deferred_);
    if (!status.is_ok()) return status;
    number_ = line_->n_numbered = number;
    return {};
  }
  [[nodiscard]] Status start() override {
    if (Status status = flat_.copy_down(); !status.is_ok()) {
      // The network has what lies in the staging memory, and is never told to send it; so nothing behind it goes.
      if (line_->failure.is_ok()) line_->failure = status;
      return status;
    }
    return leave();
  }
  [[nodiscard]] Status go_on(MPI_Status * /*status*/, bool *is_done) override {
    if (!has_left_) {
      if (Status status = leave(); !status.is_ok() || !has_left_) return status;
    }
    wire::FabricMessage::Outcome outcome;
    *is_done = message_.poll(&outcome);
    // A provider without room for what the counter started tries again when it is spoken to.
    if (!*is_done && is_deferred_ && ++n_looks_ % kLooksPerNudge == 0) return line_->trigger.add(0);
    return outcome.error;
  }
  // In the order of the numbers.
  [[nodiscard]] Status leave() {
    if (!line_->failure.is_ok()) return line_->failure;
    if (line_->n_gone + 1 != number_) return {};
    if (!is_deferred_) {
      bool is_taken = false;
      Status status =
          message_.send(flat_.data(), flat_.size_bytes(), destination_.world_rank, destination_.tag, &is_taken);
      if (!status.is_ok()) line_->failure = status;
      if (!status.is_ok() || !is_taken) return status;
    }
    if (Status status = line_->trigger.add(1); !status.is_ok()) return line_->failure = status;
    line_->n_gone = number_;
    has_left_ = true;
    return {};
  }

  static constexpr unsigned kLooksPerNudge = 1024;
  std::uint64_t number_ = 0;
  unsigned n_looks_ = 0;
  bool is_deferred_ = false;  // the network has it; else it is sent when it is its time
  bool has_left_ = false;
};

class FabricReceive final : public DeferredMessage {
 public:
  using DeferredMessage::DeferredMessage;

 private:
  [[nodiscard]] Status number() override {
    number_ = ++line_->n_awaited;
    return {};
  }
  [[nodiscard]] Status start() override { return post(); }
  [[nodiscard]] Status go_on(MPI_Status *status, bool *is_done) override {
    if (!is_posted_) {
      if (Status posted = post(); !posted.is_ok() || !is_posted_) return posted;
    }
    wire::FabricMessage::Outcome outcome;
    *is_done = message_.poll(&outcome);
    if (!*is_done) return {};
    const bool is_readable = outcome.error.is_ok() || outcome.error.kind() == ErrorKind::kTruncated;
    Status copied = is_readable ? flat_.copy_up(outcome.bytes) : Status();
    status->MPI_SOURCE = given_.peer;
    status->MPI_TAG = given_.tag;
    wire::set_received_bytes(status, copied.is_ok() ? outcome.bytes : 0);
    return copied.is_ok() ? outcome.error : copied;
  }
  // In their order, so that they match in their order.
  [[nodiscard]] Status post() {
    if (line_->n_posted + 1 != number_) return {};
    Status status =
        message_.receive(flat_.data(), flat_.size_bytes(), destination_.world_rank, destination_.tag, &is_posted_);
    if (is_posted_) line_->n_posted = number_;
    return status;
  }

  std::uint64_t number_ = 0;
  bool is_posted_ = false;
};

// MPI's tags have 31 bits.
constexpr unsigned kTagBits = 31;
constexpr unsigned kLargestCommBits = 32;

class DeferredWork final : public Carriers {
 public:
  [[nodiscard]] Status open() { return line_->trigger.open(); }
  [[nodiscard]] Status carry(const Arguments &given, const transfer::Region &region, MessagePtr *message) override;
  [[nodiscard]] bool match_in_host() const noexcept override { return false; }
  void turn() noexcept override { wire::Fabric::process().turn(); }

 private:
  const std::shared_ptr<Line> line_ = std::make_shared<Line>();
};

Status DeferredWork::carry(const Arguments &given, const transfer::Region &region, MessagePtr *message) {
  Destination destination;
  if (!is_within_world(given, &destination.world_rank) || !wire::Fabric::process().reaches(destination.world_rank)) {
    return Carriers::carry(given, region, message);
  }
  const unsigned n_bits = std::min(wire::Fabric::process().tag_bits() - kTagBits, kLargestCommBits);
  std::uint32_t comm = 0;
  if (Status status = comm_number(given.comm, n_bits, &comm); !status.is_ok()) return status;
  destination.tag = (static_cast<std::uint64_t>(comm) << kTagBits) | static_cast<std::uint64_t>(given.tag);
  if (given.is_send) {
    *message = std::make_shared<FabricSend>(given, region, destination, line_);
  } else {
    *message = std::make_shared<FabricReceive>(given, region, destination, line_);
  }
  return {};
}

}  // namespace

Status make_deferred_work(std::unique_ptr<Carriers> *carriers) {
  auto made = std::make_unique<DeferredWork>();
  if (Status status = made->open(); !status.is_ok()) return status;
  *carriers = std::move(made);
  return {};
}

}  // namespace sluice::ops::queue
