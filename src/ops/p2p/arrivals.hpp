// SPDX-License-Identifier: BSD-3-Clause
// Arrivals: the receives of which the host MPI has not said yet that something has come. A turn asks after a few of
// them only: to ask after a receive that waits costs a look at the network each time, and messages come about in the
// order in which their receives were posted.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "progress/engine.hpp"

namespace sluice::ops {

class Incoming;

// Threads: any for add(); the engine's turns, which are one at a time, for advance() and are_safe().
class Arrivals final : public progress::RecurringTask {
 public:
  // Receives that a turn finds waiting before it asks no further: among the oldest; among the newest, one of which the
  // program may be waiting for; and among all, which have their turn one after the other, so that each is asked after
  // within (number of receives / kOthers) turns.
  static constexpr std::size_t kOldest = 4;
  static constexpr std::size_t kNewest = 2;
  static constexpr std::size_t kOthers = 4;

  // The process's. Never destroyed.
  static Arrivals &process();

  // From now on `receive` is asked after, until something has come. Any thread, from within a turn too.
  void add(std::shared_ptr<Incoming> receive);

  [[nodiscard]] bool advance() override;

  // No two of the receives can have a descriptor come to lie in the same place. Within a turn.
  [[nodiscard]] bool are_safe();

 private:
  void take_in();
  void begin_pulls();
  void ask_others();
  void forget_arrived();
  // Asks after waiting_[index]; whether it waits on. What has come is left empty.
  [[nodiscard]] bool is_waiting(std::size_t index);

  std::vector<std::shared_ptr<Incoming>> waiting_;  // belongs to the turn; in the order of posting
  std::vector<std::shared_ptr<Incoming>> arrived_;  // in this turn, as descriptors
  std::size_t next_ = 0;                            // whose turn it is
  std::vector<std::shared_ptr<Incoming>> inbox_;    // with mutex_
};

}  // namespace sluice::ops
