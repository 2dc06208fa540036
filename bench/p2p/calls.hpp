// SPDX-License-Identifier: BSD-3-Clause
// How a test's messages are given to MPI: plain calls, persistent requests, or partitioned ones
// (partitioned_calls.hpp). All have the same functions, so that a test is written once. A slot is a message's number
// (traffic.hpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/mpi/message_type.hpp"
#include "bench/mpi/world.hpp"
#include "bench/p2p/traffic.hpp"

namespace sluice::bench {

// The messages of one rank, and a pointer for each.
struct Slots {
  Traffic traffic;
  std::vector<void *> send;
  std::vector<void *> recv;
};

// What all ways of calling share: slots, requests, and the ends of requests. Functions throw MpiError; the hot ones do
// nothing else. Different slots may be used by different threads.
class Calls {
 public:
  // Whether messages may be of a derived datatype; whether there is the same with counts of 64 bits.
  static constexpr bool kHasDerivedTypes = true;
  static constexpr bool kHasLargeCounts = false;

  // type outlives the calls.
  Calls(Slots slots, const MessageType &type);
  Calls(const Calls &) = delete;
  Calls &operator=(const Calls &) = delete;

  std::size_t n_sends() const { return slots_.send.size(); }
  std::size_t n_recvs() const { return slots_.recv.size(); }

  void finish_sends() {
    const int n = static_cast<int>(send_requests_.size());
    check_mpi(MPI_Waitall(n, send_requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  void finish_recvs() {
    const int n = static_cast<int>(recv_requests_.size());
    check_mpi(MPI_Waitall(n, recv_requests_.data(), statuses_.data()), "MPI_Waitall");
  }
  void finish_send(std::size_t slot) { check_mpi(MPI_Wait(&send_requests_[slot], MPI_STATUS_IGNORE), "MPI_Wait"); }
  void finish_recv(std::size_t slot) { check_mpi(MPI_Wait(&recv_requests_[slot], &statuses_[slot]), "MPI_Wait"); }

  // What the last statuses say, compared with the messages that were sent; "" when they are right.
  std::string verify_statuses() const;

 protected:
  // verify_statuses() with a count that `count_of` reads from a status.
  template <class CountOf>
  std::string verify_counts(MPI_Count expected, CountOf count_of) const {
    for (std::size_t slot = 0; slot < statuses_.size(); ++slot) {
      const MPI_Count count = count_of(statuses_[slot]);
      std::string wrong = compare_status(slot, count, expected);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
  void release_requests() noexcept;

  Slots slots_;
  std::vector<MPI_Request> send_requests_;
  std::vector<MPI_Request> recv_requests_;
  std::vector<MPI_Status> statuses_;
  int count_;
  MPI_Datatype type_;

 private:
  std::string compare_status(std::size_t slot, MPI_Count count, MPI_Count expected) const;
};

// MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv.
class PlainCalls : public Calls {
 public:
  static constexpr bool kHasLargeCounts = true;  // large_calls.hpp
  PlainCalls(Slots slots, const MessageType &type, const FamilyOptions &) : Calls(std::move(slots), type) {}

  // Blocking.
  void send(std::size_t slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(MPI_Send(slots_.send[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD), "MPI_Send");
  }
  void recv(std::size_t slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(MPI_Recv(slots_.recv[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &statuses_[slot]),
              "MPI_Recv");
  }

  // Non-blocking: start every slot, then finish all.
  void start_send(std::size_t slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(MPI_Isend(slots_.send[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &send_requests_[slot]),
              "MPI_Isend");
  }
  void start_recv(std::size_t slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(MPI_Irecv(slots_.recv[slot], count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &recv_requests_[slot]),
              "MPI_Irecv");
  }
};

// What ways with requests that are made once and started often share. SomeCalls derives from it and says how a send is
// started: start_send(slot).
template <class SomeCalls>
class StartedCalls : public Calls {
 public:
  void start_recv(std::size_t slot) { check_mpi(MPI_Start(&recv_requests_[slot]), "MPI_Start"); }
  void send(std::size_t slot) {
    static_cast<SomeCalls *>(this)->start_send(slot);
    finish_send(slot);
  }
  void recv(std::size_t slot) {
    start_recv(slot);
    finish_recv(slot);
  }

 private:
  StartedCalls(Slots slots, const MessageType &type) : Calls(std::move(slots), type) {}
  ~StartedCalls() { release_requests(); }
  friend SomeCalls;
};

// MPI_Send_init and MPI_Recv_init once, then MPI_Start and MPI_Wait.
class PersistentCalls : public StartedCalls<PersistentCalls> {
 public:
  PersistentCalls(Slots slots, const MessageType &type, const FamilyOptions &);

  void start_send(std::size_t slot) { check_mpi(MPI_Start(&send_requests_[slot]), "MPI_Start"); }
};

}  // namespace sluice::bench
