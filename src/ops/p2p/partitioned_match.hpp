// SPDX-License-Identifier: BSD-3-Clause
// PartitionedMatch: how the two sides of a partitioned operation come to know of each other (docs/adr/0071). The
// sender's offer is itself a partitioned message of the host MPI, on the program's communicator and tag, right behind
// the program's own: so the host MPI matches both alike. A sender that could go directly is answered on the private
// communicator. In the background; nothing blocks, and each side knows before its first start ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "ops/p2p/shared_partitions.hpp"
#include "progress/engine.hpp"
#include "transfer/region.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

class PartitionedRequest;

// What the sender has, as it travels.
struct PartitionedOffer {
  std::uint64_t nonce = 0;
  std::uint64_t can_go_directly = 0;  // 0: what follows means nothing, and no answer is awaited
  std::uint64_t n_partitions = 0;
  std::uint64_t size_bytes = 0;  // of all of them
  std::int64_t number = 0;       // of the answer's tag
  PartitionMemory memory;
  std::array<char, 32> backend{};
  wire::SegmentName words{};
};

struct PartitionedAnswer {
  std::uint64_t nonce = 0;
  std::uint64_t is_direct = 0;
  PartitionMemory memory;  // of the receiver, where streams of the sender may copy to it
};

// Threads: any for is_wanted() and give_up_soon(); who makes the operation for begin(); then the engine's turns alone.
class PartitionedMatch final : public progress::Task, public std::enable_shared_from_this<PartitionedMatch> {
 public:
  // The other end of the program's operation.
  struct Route {
    int peer = 0;        // in `comm`
    int world_peer = 0;  // in MPI_COMM_WORLD
    int tag = 0;
    MPI_Comm comm = MPI_COMM_NULL;
  };

  PartitionedMatch(bool is_sender, const Route &route) noexcept : is_sender_(is_sender), route_(route) {}
  ~PartitionedMatch() override;

  // Sides with `comm` and `peer` exchange an offer: both know this without a word. Fills in the rest of *route.
  [[nodiscard]] static bool is_wanted(Route *route);
  // While this is held the program's operation and its offer are made, for no other operation is to come in between.
  // The host MPI's functions that are called meanwhile do not wait.
  class InOrder {
   public:
    InOrder();
    ~InOrder();
    InOrder(const InOrder &) = delete;
    InOrder &operator=(const InOrder &) = delete;
    InOrder(InOrder &&) = delete;
    InOrder &operator=(InOrder &&) = delete;

   private:
    bool is_locked_;
  };

  // Makes the offer's request, right behind the program's, and starts it; from then on the engine does the rest.
  // `request`: who is told which way it goes; null: it is the host MPI's alone, and cannot go directly. `region`: of
  // all its `n_partitions` partitions, if there is a request. Returns the host MPI's code.
  [[nodiscard]] int begin(const std::shared_ptr<PartitionedRequest> &request, const transfer::Region &region,
                          int n_partitions);

  // From now on those whose peer does not come are given up after a while: MPI_Finalize would wait for ever.
  static void give_up_soon() noexcept;

  [[nodiscard]] bool advance() override;

 private:
  enum class State : std::uint8_t { kOffering, kAwaitingAnswer, kAnswering };
  void fill(PartitionedRequest *request, const transfer::Region &region, int n_partitions);
  [[nodiscard]] Status fill_offer(PartitionedRequest *request, const transfer::Region &region, int n_partitions);
  [[nodiscard]] bool go_on();
  [[nodiscard]] bool take_offer();
  [[nodiscard]] Status judge_offer(std::unique_ptr<PartitionTaker> *taker) const;
  void say_where();
  [[nodiscard]] bool look_for_answer();
  void tell(bool is_direct, std::unique_ptr<PartitionTaker> taker);

  const bool is_sender_;
  const Route route_;
  State state_ = State::kOffering;
  bool has_request_ = false;
  std::weak_ptr<PartitionedRequest> request_;
  transfer::Region region_;
  PartitionedOffer offer_;
  PartitionedAnswer answer_;
  MPI_Request exchange_ = MPI_REQUEST_NULL;  // of the offer; then of the answer
};

}  // namespace sluice::ops
