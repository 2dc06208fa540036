// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/message.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/held_request.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {

// Makes completion calls take turns, and raises what went wrong on the communicator.
class Message::Marker final : public progress::Tracked {
 public:
  explicit Marker(MessagePtr message) : Tracked(message->comm_, false), message_(std::move(message)) {}
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status *status) override {
    return message_->outcome_.is_ok() ? message_->land(wire::received_bytes(*status)) : message_->outcome_;
  }
  [[nodiscard]] Status recall(MPI_Status * /*status*/) override { return message_->outcome_; }
  [[nodiscard]] bool is_hidden() const noexcept override {
    if (message_->is_complete()) return false;
    message_->ask();
    return true;
  }
  [[nodiscard]] bool ignores_cancel() const noexcept override { return true; }
  [[nodiscard]] const MessagePtr &message() const noexcept { return message_; }

 private:
  MessagePtr message_;
};

Status Message::open(MPI_Request *request) {
  const int code = start_held_request(shared_from_this(), &query, &program_request_);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "make a generalized request");
  try {
    progress::TrackedRequests::process().add(program_request_, std::make_shared<Marker>(shared_from_this()));
  } catch (...) {
    withdraw(&program_request_);
    throw;
  }
  *request = program_request_;
  return {};
}

MessagePtr Message::of(MPI_Request request) {
  const progress::TrackedPtr found = progress::TrackedRequests::process().find(request);
  const auto *marker = dynamic_cast<const Marker *>(found.get());
  return marker != nullptr ? marker->message() : nullptr;
}

Status Message::leave(MPI_Status *report) {
  const std::scoped_lock lock(ending_);
  is_left_ = true;
  report_.store(report, std::memory_order_relaxed);
  if (!has_ended_) return {};
  write_report();
  return std::exchange(is_error_told_, true) ? Status() : outcome_;
}

void Message::write_report() noexcept {
  MPI_Status *report = report_.exchange(nullptr, std::memory_order_relaxed);
  if (report == nullptr) return;
  *report = status_;
  report->MPI_ERROR = code_;
}

void Message::withdraw(MPI_Request *request) noexcept {
  is_complete_.store(true, std::memory_order_release);
  if (request == nullptr) return;
  const progress::TrackedPtr marker = progress::TrackedRequests::process().take(*request);
  const wire::Host &host = wire::host();
  if (host.MPI_Grequest_complete(*request) != MPI_SUCCESS || host.MPI_Request_free(request) != MPI_SUCCESS) {
    log::warn_once("queue_withdraw", "ops", "the host MPI could not take back a request of a queue");
  }
}

void Message::begin() noexcept {
  if (const int code = start_transfer(); code != MPI_SUCCESS) end(code);
}

bool Message::poll() noexcept {
  if (is_complete()) return true;
  int code = MPI_SUCCESS;
  wire::clear(&status_);
  if (!test_transfer(&code, &status_)) return false;
  end(code);
  return true;
}

void Message::end(int code) noexcept {
  code_ = code;
  try {
    if (code != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING] = "";  // in the words of whoever found the error
      int length = 0;
      if (error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
      outcome_ = Status::error(kind_of(code), fmt::format("a message of a queue ({}): {}", describe(), text));
      wire::set_received_bytes(&status_, 0);
    }
    const std::uint64_t bytes = code == MPI_SUCCESS ? payload_bytes(status_) : 0;
    if (operation_) statistics::record(*operation_, kind_, route_taken(), 1, bytes, {});
  } catch (const std::exception &) {
    log::error("ops", "out of memory: the error of a queue's message is lost; lower the program's use of memory");
  }
  bool is_to_tell = false;
  {
    const std::scoped_lock lock(ending_);
    has_ended_ = true;
    write_report();
    is_to_tell = is_left_ && !outcome_.is_ok() && !std::exchange(is_error_told_, true);
  }
  // Before others know that it is complete: they may free the communicator then.
  if (is_to_tell) raise(comm_, outcome_);
  // From here on the program may free the request, and with it this; the queue holds it, too.
  is_complete_.store(true, std::memory_order_release);
  if (program_request_ == MPI_REQUEST_NULL) return;
  if (wire::host().MPI_Grequest_complete(program_request_) != MPI_SUCCESS) {
    log::warn_once("queue_complete", "ops", "the host MPI could not complete a request of a queue");
  }
}

int Message::query(void *state, MPI_Status *status) {
  const int error = status->MPI_ERROR;
  *status = held_by_request<Message>(state)->status_;
  status->MPI_ERROR = error;
  return MPI_SUCCESS;  // errors are raised by Marker, on the message's communicator
}

Status cannot_be_captured(const std::string &why) {
  return Status::error(ErrorKind::kUnsupported, "the stream is being captured into a graph, and " + why);
}

std::string PointMessage::describe() const {
  const char *direction = given_.is_send ? "to" : "from";
  if (given_.is_signal) return fmt::format("a signal {} rank {} of a window", direction, given_.peer);
  return fmt::format("{} {}, tag {}", direction, given_.peer, given_.tag);
}

std::uint64_t PointMessage::payload_bytes(const MPI_Status &status) const {
  return given_.is_send ? flat_.size_bytes() : wire::received_bytes(status);
}

}  // namespace sluice::ops::queue
