// SPDX-License-Identifier: BSD-3-Clause
// ControlListener: hears what receivers ask of this process's sends.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "ops/p2p/descriptor.hpp"
#include "progress/engine.hpp"

namespace sluice::ops {

class Outgoing;

class ControlListener final : public progress::Task {
 public:
  // The process's. Never destroyed.
  static ControlListener &process();

  // From now on messages about operation `number` go to `outgoing`. Any thread.
  void add(int number, std::weak_ptr<Outgoing> outgoing);
  // Until this. Any thread.
  void remove(int number);

  // Looks for one message in each turn while there is anybody to give it to.
  [[nodiscard]] bool advance() override;

 private:
  void dispatch(const Control &control);

  std::mutex mutex_;
  std::unordered_map<int, std::weak_ptr<Outgoing>> sends_;
  bool is_watched_ = false;
};

}  // namespace sluice::ops
