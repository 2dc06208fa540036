// SPDX-License-Identifier: BSD-3-Clause
// Exchange: a send and a receive that are one operation of MPI's, as two requests that the engine completes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ops/p2p/incoming.hpp"
#include "ops/p2p/outgoing.hpp"

namespace sluice::ops {

// One thread at a time, in a turn or not.
class Exchange {
 public:
  // `has_large_count`: the host MPI is to be given counts of 64 bits.
  Exchange(Operation operation, MPI_Comm comm, bool has_large_count)
      : operation_(operation), comm_(comm), has_large_count_(has_large_count) {}

  // Classified and planned, not open.
  Buffer sent;
  Side recv_side;

  // Begins both; after an error nothing is under way. Returns an error code, raised already.
  [[nodiscard]] int start(const p2p::Part &to, const p2p::Part &from);
  // The same for a buffer, recv_side, whose contents are sent before what is received replaces them.
  [[nodiscard]] int start_replacing(const p2p::Part &to, const p2p::Part &from);

  // True when both are complete; what came is in *status. Never blocks but for copies.
  [[nodiscard]] bool poll(MPI_Status *status);
  // After that, the host MPI's error code, which it has raised; or an error of Sluice's, which nobody has.
  [[nodiscard]] int host_result() const noexcept { return host_result_; }
  [[nodiscard]] const Status &problem() const noexcept { return problem_; }

  // Begins both and completes them, in turns.
  int run(const p2p::Part &to, const p2p::Part &from, MPI_Status *status) {
    const int result = start(to, from);
    return result == MPI_SUCCESS ? complete(status) : result;
  }
  int run_replacing(const p2p::Part &to, const p2p::Part &from, MPI_Status *status) {
    const int result = start_replacing(to, from);
    return result == MPI_SUCCESS ? complete(status) : result;
  }

 private:
  [[nodiscard]] int post(const p2p::Part &from);
  [[nodiscard]] int send(const p2p::Part &to);
  [[nodiscard]] int send_plainly(const p2p::Part &to, const void *buffer, MPI_Count count, MPI_Datatype type);
  int complete(MPI_Status *status);
  // How one of the two ended. The other may have failed before it.
  void note(Status ended) noexcept {
    if (!ended.is_ok()) problem_ = std::move(ended);
  }
  void withdraw_receive() noexcept;
  // MPICH 5 calls the error handler for some bad arguments and then returns success, without a request.
  [[nodiscard]] static bool was_refused(MPI_Request request, int peer) noexcept {
    return request == MPI_REQUEST_NULL && peer != MPI_PROC_NULL;
  }
  // Nothing is under way, and the program has been told. Returns `result`.
  int give_up(int result) noexcept {
    is_received_ = true;
    is_sent_ = true;
    return result;
  }

  const Operation operation_;
  const MPI_Comm comm_;
  const bool has_large_count_;
  std::shared_ptr<Incoming> incoming_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::shared_ptr<Outgoing> outgoing_;  // null: the send is plain
  MPI_Request send_ = MPI_REQUEST_NULL;
  Side source_;                   // what is sent plainly: `sent`, or what lies in a buffer that is replaced
  std::vector<std::byte> image_;  // the latter of a host buffer: its payload, packed
  bool is_received_ = false;
  bool is_sent_ = false;
  int host_result_ = MPI_SUCCESS;
  Status problem_;
};

}  // namespace sluice::ops
