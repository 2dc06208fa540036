// SPDX-License-Identifier: BSD-3-Clause
// ControlListener: hears what receivers ask of this process's sends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "ops/p2p/descriptor.hpp"
#include "progress/engine.hpp"

namespace sluice::ops {

class Outgoing;

// What the other side of a message by the network library has said of its end.
enum class Said : std::uint8_t { kNothing, kNotDirect, kEnded };

// Such a message under way at this process, of which the other side is still to say something.
struct Awaited {
  // What it will say: kDirectSent, or kNotDirect in its place; or kDirectCame.
  Control::Kind kind = Control::Kind::kDirectSent;
  int peer = -1;  // rank in MPI_COMM_WORLD
  int number = 0;
  std::uint64_t operation = 0;
  std::atomic<Said> said{Said::kNothing};
};

// Threads: any, but for advance(), which is the engine's.
class ControlListener final : public progress::RecurringTask {
 public:
  // The process's. Never destroyed.
  static ControlListener &process();

  // From now on control messages about operation `number` go to `outgoing`, until remove(number). expects_go: the
  // receiver will ask for blocks; without it the listener looks less often. Any thread.
  void add(int number, std::shared_ptr<Outgoing> outgoing, bool expects_go);
  // Ends that, and gives up its share in the Outgoing. Any thread.
  void remove(int number) noexcept;

  // From now on what is said of that message is noted, until forget(). Any thread.
  void await(std::shared_ptr<Awaited> awaited);
  void forget(const Awaited *awaited) noexcept;

  // Takes one message if one has come; *has_heard: one had. Returns the host MPI's code, of which a warning has told.
  // Any thread.
  int look(bool *has_heard);

  // Looks for messages in each turn while anybody expects one, and now and then while there is anybody to give it to.
  [[nodiscard]] bool advance() override;

 private:
  // To look costs a search of the host MPI's queue.
  static constexpr unsigned kSeldom = 8;
  // A window of relayed messages has several for each of them.
  static constexpr unsigned kMostInTurn = 16;
  struct Send {
    std::shared_ptr<Outgoing> outgoing;  // null: none of that number is under way
    bool expects_go = false;
  };
  void dispatch(const Control &control, int from, std::string_view address);
  void note_said(const Control &control, int from) noexcept;
  static void refuse(int number, int from);
  // What stands there, if anything does, which stands there no more. With mutex_.
  [[nodiscard]] std::shared_ptr<Outgoing> take(std::size_t slot) noexcept;

  // With mutex_. By number: numbers are given out again, so there are about as many as sends were under way at once.
  std::vector<Send> sends_;
  std::size_t n_sends_ = 0;
  std::vector<std::shared_ptr<Awaited>> awaited_;  // with mutex_; few at a time
  std::atomic<int> n_expecting_{0};
  unsigned n_turns_ = 0;
};

}  // namespace sluice::ops
