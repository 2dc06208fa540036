// SPDX-License-Identifier: BSD-3-Clause
// What a program checks before it runs a stream-triggered variant, and how its steps lie in graphs.
#pragma once

#include <string>

#include "apps/support/program.hpp"
#include "apps/support/queue_calls.hpp"

namespace sluice::apps {

// Throws AgreedError that `variant` wants MPIX_Queue, where nobody has it.
inline void check_queues(const std::string &variant) {
  if (QueueCalls::get().are_there()) return;
  throw AgreedError(variant + " needs the functions of MPIX_Queue: start the program with `sluice run -- mpiexec ...`");
}

// The option --graph-steps of programs that capture steps into a graph and launch that again and again.
class GraphSteps {
 public:
  void add_to(CLI::App &parser) {
    parser.add_option("--graph-steps", n_, "steps in each graph of st-graph")->check(CLI::Range(1, 100));
  }
  int in_graph() const { return n_; }
  // As few steps as whole graphs have, and no fewer than n_steps.
  int at_least(int n_steps) const { return (n_steps + n_ - 1) / n_ * n_; }
  // Throws AgreedError where `variant` cannot run n_steps, as --steps says. takes_turns: two arrays do, step by step,
  // so that only an even number of steps ends with the one that it began with.
  void check(const Device &device, const std::string &variant, int n_steps, bool takes_turns) const {
    check_graphs(device, variant);
    if (n_steps % n_ != 0)
      throw AgreedError("--steps: st-graph launches whole graphs; take a multiple of --graph-steps");
    if (takes_turns && n_ % 2 != 0) {
      throw AgreedError("--graph-steps: the grid's two arrays take turns, so a graph has an even number of steps");
    }
  }

 private:
  int n_ = 2;
};

}  // namespace sluice::apps
