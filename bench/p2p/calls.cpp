// SPDX-License-Identifier: BSD-3-Clause
// How a test's messages are given to MPI.
#include "bench/p2p/calls.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace sluice::bench {

Calls::Calls(Slots slots, const MessageType &type)
    : slots_(std::move(slots)),
      send_requests_(slots_.send.size(), MPI_REQUEST_NULL),
      recv_requests_(slots_.recv.size(), MPI_REQUEST_NULL),
      statuses_(slots_.recv.size()),
      count_(type.count()),
      type_(type.type()) {}

std::string Calls::verify_statuses() const {
  return verify_counts(count_, [this](const MPI_Status &status) {
    int count = -1;
    check_mpi(MPI_Get_count(&status, type_, &count), "MPI_Get_count");
    return count;
  });
}

std::string Calls::compare_status(std::size_t slot, MPI_Count count, MPI_Count expected) const {
  const MPI_Status &status = statuses_[slot];
  const Lane &lane = slots_.traffic.recv[slot];
  if (status.MPI_SOURCE == lane.peer && status.MPI_TAG == lane.tag && count == expected) {
    return "";
  }
  return fmt::format("message {}: the status says source {}, tag {}, count {} instead of {}, {}, {}", slot,
                     status.MPI_SOURCE, status.MPI_TAG, count, lane.peer, lane.tag, expected);
}

void Calls::release_requests() noexcept {
  for (std::vector<MPI_Request> *requests : {&send_requests_, &recv_requests_}) {
    for (MPI_Request &request : *requests) {
      if (request != MPI_REQUEST_NULL && MPI_Request_free(&request) != MPI_SUCCESS) {
        fmt::print(stderr, "sluice-bench: MPI_Request_free failed\n");
      }
    }
  }
}

PersistentCalls::PersistentCalls(Slots slots, const MessageType &type, const FamilyOptions &)
    : StartedCalls(std::move(slots), type) {
  for (std::size_t slot = 0; slot < n_sends(); ++slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(
        MPI_Send_init(slots_.send[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &send_requests_[slot]),
        "MPI_Send_init");
  }
  for (std::size_t slot = 0; slot < n_recvs(); ++slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(
        MPI_Recv_init(slots_.recv[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &recv_requests_[slot]),
        "MPI_Recv_init");
  }
}

}  // namespace sluice::bench
