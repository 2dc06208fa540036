// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/claims.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/comm/comm_state.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/request/turns.hpp"
#include "progress/engine.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

bool matches(const Envelope &envelope, int source, int tag) {
  return (source == MPI_ANY_SOURCE || source == envelope.source) && (tag == MPI_ANY_TAG || tag == envelope.tag);
}

// A message to this process itself, kept until the host MPI has done with its bytes.
class SelfSend final : public progress::Task {
 public:
  ~SelfSend() override {
    if (number_ != 0) wire::Channel::process().give_number(number_);
  }

  [[nodiscard]] Status begin(MPI_Message *message) {
    wire::Channel &channel = wire::Channel::process();
    if (Status status = channel.take_number(&number_); !status.is_ok()) return status;
    const int tag = wire::Channel::tag(wire::PrivateKind::kClaim, number_);
    const wire::Host &host = wire::host();
    int code =
        host.MPI_Isend(bytes.bytes, sizeof bytes.bytes, MPI_BYTE, channel.rank(), tag, channel.comm(), &request_);
    if (code != MPI_SUCCESS) return wire::host_failure(code, "keep a probed message");
    MPI_Status status;
    // To oneself, and sent already: found at once.
    code = host.MPI_Mprobe(channel.rank(), tag, channel.comm(), message, &status);
    return code == MPI_SUCCESS ? Status() : wire::host_failure(code, "find a probed message again");
  }

  bool advance() override { return is_over(&request_); }

  DescriptorMessage bytes;

 private:
  int number_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Reads a message that may be a descriptor, learns its true size, and puts a copy in its place.
Status read_again(Claim *claim) {
  auto copy = std::make_shared<SelfSend>();
  MPI_Status status;
  const int code =
      wire::host().MPI_Mrecv(copy->bytes.bytes, sizeof copy->bytes.bytes, MPI_BYTE, &claim->message, &status);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "read a probed message");
  Descriptor descriptor;
  const char *flaw = nullptr;
  if (read_descriptor(copy->bytes.bytes, claim->envelope.sender, &descriptor, &flaw) == Arrival::kDescriptor) {
    claim->envelope.size_bytes = descriptor.size_bytes();
  }
  Status begun = copy->begin(&claim->message);
  claim->is_copy = true;
  if (begun.is_ok()) progress::Engine::process().watch(std::move(copy));
  return begun;
}

struct Held {
  MPI_Message message;
  Envelope envelope;
};
std::mutex held_mutex;
std::atomic<std::size_t> n_held{0};
std::vector<Held> &held() {
  static auto *messages = new std::vector<Held>();
  return *messages;
}

}  // namespace

std::optional<Claim> Claims::take(int source, int tag) {
  const auto found = std::find_if(claims_.begin(), claims_.end(),
                                  [&](const Claim &claim) { return matches(claim.envelope, source, tag); });
  if (found == claims_.end()) return std::nullopt;
  const Claim taken = *found;
  claims_.erase(found);
  return taken;
}

const Claim *Claims::find(int source, int tag) const noexcept {
  const auto found = std::find_if(claims_.begin(), claims_.end(),
                                  [&](const Claim &claim) { return matches(claim.envelope, source, tag); });
  return found == claims_.end() ? nullptr : &*found;
}

int Claims::probe(MPI_Comm comm, int source, int tag, int *flag, MPI_Status *status, Status *problem) {
  was_probed_.store(true, std::memory_order_release);
  const int result = wire::host().MPI_Iprobe(source, tag, comm, flag, status);
  if (result != MPI_SUCCESS || *flag == 0 || wire::announced_bytes(*status) != kDescriptorBytes) return result;
  int world_rank = -1;
  const int found_source = status->MPI_SOURCE;
  const int found_tag = status->MPI_TAG;
  if (peer_of(comm, found_source, &world_rank) == plan::Peer::kUnknown) return result;
  // What is older than it from that source comes first in the list too, whatever its tag.
  while (problem->is_ok() && find(found_source, found_tag) == nullptr) *problem = claim(comm, found_source, world_rank);
  return result;
}

Status Claims::claim(MPI_Comm comm, int source, int sender) {
  Claim claim;
  MPI_Status status;
  int is_found = 0;
  const int code = wire::host().MPI_Improbe(source, MPI_ANY_TAG, comm, &is_found, &claim.message, &status);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "probe for an older message");
  if (is_found == 0) return {};
  claim.envelope = {status.MPI_SOURCE, status.MPI_TAG, wire::announced_bytes(status), sender};
  if (claim.envelope.size_bytes == kDescriptorBytes) {
    if (Status read = read_again(&claim); !read.is_ok()) return read;
  }
  claims_.push_back(claim);
  return {};
}

void remember_envelope(MPI_Message message, const Envelope &envelope) {
  const std::scoped_lock lock(held_mutex);
  held().push_back({message, envelope});
  n_held.store(held().size(), std::memory_order_release);
}

std::optional<Envelope> take_envelope(MPI_Message message) {
  if (n_held.load(std::memory_order_acquire) == 0) return std::nullopt;
  const std::scoped_lock lock(held_mutex);
  const auto found =
      std::find_if(held().begin(), held().end(), [&](const Held &entry) { return entry.message == message; });
  if (found == held().end()) return std::nullopt;
  const Envelope envelope = found->envelope;
  held().erase(found);
  n_held.store(held().size(), std::memory_order_release);
  return envelope;
}

void set_envelope(const Envelope &envelope, MPI_Status *status) {
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.tag;
  wire::set_received_bytes(status, envelope.size_bytes);
}

}  // namespace sluice::ops
