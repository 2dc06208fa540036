// SPDX-License-Identifier: BSD-3-Clause
// How a test's messages reach MPI.
#include "bench/p2p/routes.hpp"

#include <fmt/format.h>

#include <utility>

namespace sluice::bench {

DirectRoute::DirectRoute(std::vector<void *> send, std::vector<void *> recv, const MessageType &type, int peer)
    : send_(std::move(send)),
      recv_(std::move(recv)),
      send_requests_(send_.size(), MPI_REQUEST_NULL),
      recv_requests_(recv_.size(), MPI_REQUEST_NULL),
      statuses_(recv_.size()),
      count_(type.count()),
      type_(type.type()),
      peer_(peer) {}

std::string DirectRoute::verify_statuses() const {
  for (std::size_t slot = 0; slot < statuses_.size(); ++slot) {
    const MPI_Status &status = statuses_[slot];
    int count = -1;
    check_mpi(MPI_Get_count(&status, type_, &count), "MPI_Get_count");
    if (status.MPI_SOURCE != peer_ || status.MPI_TAG != kTag || count != count_) {
      return fmt::format("message {}: the status says source {}, tag {}, count {} instead of {}, {}, {}", slot,
                         status.MPI_SOURCE, status.MPI_TAG, count, peer_, kTag, count_);
    }
  }
  return "";
}

std::vector<void *> slot_pointers(const std::vector<MessageBuffer> &buffers, std::size_t n_slots) {
  std::vector<void *> pointers;
  pointers.reserve(n_slots);
  for (std::size_t slot = 0; slot < n_slots && !buffers.empty(); ++slot) {
    pointers.push_back(buffers[slot % buffers.size()].data());
  }
  return pointers;
}

std::vector<void *> NaiveRoute::add_staging(NaiveStaging staging, std::size_t n_slots) {
  const std::uint64_t stride = (size_bytes_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  const auto kind = staging == NaiveStaging::pinned ? SLUICE_STAGING_RUNTIME : SLUICE_STAGING_MALLOC;
  staging_.push_back(Buffer::staging_memory(module_, kind, stride * n_slots));
  std::vector<void *> pointers;
  pointers.reserve(n_slots);
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    pointers.push_back(staging_.back().data() + slot * stride);
  }
  return pointers;
}

NaiveRoute::NaiveRoute(DeviceModule *module, sluice_memory_kind_t kind, NaiveStaging staging,
                       const MessageBuffers &buffers, std::size_t n_slots, const MessageType &type, int peer)
    : module_(module),
      is_staged_(kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED),
      size_bytes_(buffers.send.empty() ? buffers.recv.at(0).size_bytes() : buffers.send[0].size_bytes()),
      device_send_(slot_pointers(buffers.send, n_slots)),
      device_recv_(slot_pointers(buffers.recv, n_slots)),
      staged_send_(is_staged_ ? add_staging(staging, device_send_.size()) : device_send_),
      staged_recv_(is_staged_ ? add_staging(staging, device_recv_.size()) : device_recv_),
      host_(staged_send_, staged_recv_, type, peer) {}

}  // namespace sluice::bench
