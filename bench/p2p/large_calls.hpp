// SPDX-License-Identifier: BSD-3-Clause
// The plain calls with counts of 64 bits (MPI-4): MPI_Send_c, MPI_Recv_c, MPI_Isend_c, MPI_Irecv_c (--large-count).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "bench/p2p/calls.hpp"

namespace sluice::bench {

class LargeCalls : public Calls {
 public:
  // Throws MpiError when this MPI lacks the functions.
  LargeCalls(Slots slots, const MessageType &type, const FamilyOptions &);

  // As those of PlainCalls.
  void send(std::size_t slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(send_(slots_.send[slot], large_count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD), "MPI_Send_c");
  }
  void recv(std::size_t slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(recv_(slots_.recv[slot], large_count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &statuses_[slot]),
              "MPI_Recv_c");
  }
  void start_send(std::size_t slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(
        isend_(slots_.send[slot], large_count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &send_requests_[slot]),
        "MPI_Isend_c");
  }
  void start_recv(std::size_t slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(
        irecv_(slots_.recv[slot], large_count_, type_, lane.peer, lane.tag, MPI_COMM_WORLD, &recv_requests_[slot]),
        "MPI_Irecv_c");
  }
  std::string verify_statuses() const;

 private:
  using Send = int (*)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  using Recv = int (*)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
  using StartSend = int (*)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  using StartRecv = int (*)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  using GetCount = int (*)(const MPI_Status *, MPI_Datatype, MPI_Count *);

  MPI_Count large_count_;
  Send send_;
  Recv recv_;
  StartSend isend_;
  StartRecv irecv_;
  GetCount get_count_;
};

}  // namespace sluice::bench
