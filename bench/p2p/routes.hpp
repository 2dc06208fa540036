// SPDX-License-Identifier: BSD-3-Clause
// How a test's messages reach MPI: as they are, or staged by hand as a user without a GPU-aware MPI writes it. Both
// have the same functions, so that a test is written once. A slot is a message's number in the window.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/world.hpp"
#include "bench/p2p/message_type.hpp"

namespace sluice::bench {

// One side's memory at one size: buffers for what it sends and what it receives; either may be empty.
struct MessageBuffers {
  std::vector<MessageBuffer> send;
  std::vector<MessageBuffer> recv;
};

// The MPI calls, on pointers given for each slot. All functions throw MpiError; the hot ones do nothing else.
class DirectRoute {
 public:
  // type outlives the route. send, recv: a pointer for each slot, or none when this side does not send or receive.
  DirectRoute(std::vector<void *> send, std::vector<void *> recv, const MessageType &type, int peer);

  // Blocking.
  void send(std::size_t slot) {
    check_mpi(MPI_Send(send_[slot], count_, type_, peer_, kTag, MPI_COMM_WORLD), "MPI_Send");
  }
  void recv(std::size_t slot) {
    check_mpi(MPI_Recv(recv_[slot], count_, type_, peer_, kTag, MPI_COMM_WORLD, &statuses_[slot]), "MPI_Recv");
  }

  // Non-blocking: start every slot, then finish all.
  void start_send(std::size_t slot) {
    check_mpi(MPI_Isend(send_[slot], count_, type_, peer_, kTag, MPI_COMM_WORLD, &send_requests_[slot]), "MPI_Isend");
  }
  void start_recv(std::size_t slot) {
    check_mpi(MPI_Irecv(recv_[slot], count_, type_, peer_, kTag, MPI_COMM_WORLD, &recv_requests_[slot]), "MPI_Irecv");
  }
  void finish_sends() {
    const int n = static_cast<int>(send_requests_.size());
    check_mpi(MPI_Waitall(n, send_requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  void finish_recvs() {
    const int n = static_cast<int>(recv_requests_.size());
    check_mpi(MPI_Waitall(n, recv_requests_.data(), statuses_.data()), "MPI_Waitall");
  }
  void finish_recv(std::size_t slot) { check_mpi(MPI_Wait(&recv_requests_[slot], &statuses_[slot]), "MPI_Wait"); }

  // What the last statuses say, compared with the message that was sent; "" when they are right.
  std::string verify_statuses() const;

 private:
  static constexpr int kTag = 100;

  std::vector<void *> send_;
  std::vector<void *> recv_;
  std::vector<MPI_Request> send_requests_;
  std::vector<MPI_Request> recv_requests_;
  std::vector<MPI_Status> statuses_;
  int count_;
  MPI_Datatype type_;
  int peer_;
};

// The pointers of n_slots messages spread over the buffers, one after the other.
std::vector<void *> slot_pointers(const std::vector<MessageBuffer> &buffers, std::size_t n_slots);

// The paper's naive baseline: copy down, MPI on host memory, copy up, with the vendor's plain blocking copy. In a
// window each message has its own staging memory, and a received message is copied up while later ones arrive. On a
// side whose memory the host can reach (host, pinned) it is the same as DirectRoute.
class NaiveRoute {
 public:
  // Allocates the staging memory: throws DeviceError. module, buffers and type outlive the route.
  NaiveRoute(DeviceModule *module, sluice_memory_kind_t kind, NaiveStaging staging, const MessageBuffers &buffers,
             std::size_t n_slots, const MessageType &type, int peer);

  void send(std::size_t slot) {
    stage_down(slot);
    host_.send(slot);
  }
  void recv(std::size_t slot) {
    host_.recv(slot);
    stage_up(slot);
  }
  void start_send(std::size_t slot) {
    stage_down(slot);
    host_.start_send(slot);
  }
  void start_recv(std::size_t slot) { host_.start_recv(slot); }
  void finish_sends() { host_.finish_sends(); }
  void finish_recvs() {
    if (!is_staged_) {
      host_.finish_recvs();
      return;
    }
    for (std::size_t slot = 0; slot < device_recv_.size(); ++slot) {
      host_.finish_recv(slot);
      stage_up(slot);
    }
  }
  std::string verify_statuses() const { return host_.verify_statuses(); }

 private:
  void stage_down(std::size_t slot) {
    if (is_staged_) {
      module_->copy(staged_send_[slot], device_send_[slot], size_bytes_);
    }
  }
  void stage_up(std::size_t slot) {
    if (is_staged_) {
      module_->copy(device_recv_[slot], staged_recv_[slot], size_bytes_);
    }
  }
  std::vector<void *> add_staging(NaiveStaging staging, std::size_t n_slots);

  DeviceModule *module_;
  bool is_staged_;
  std::uint64_t size_bytes_;
  std::vector<void *> device_send_;
  std::vector<void *> device_recv_;
  std::vector<Buffer> staging_;
  std::vector<void *> staged_send_;
  std::vector<void *> staged_recv_;
  DirectRoute host_;
};

}  // namespace sluice::bench
