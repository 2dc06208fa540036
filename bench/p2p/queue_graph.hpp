// SPDX-License-Identifier: BSD-3-Clause
// Whether messages of a queue can be captured into a graph here (docs/queue/semantics.md, "Captured into a graph").
#pragma once

#include <cstdlib>
#include <string_view>

#include "bench/memory/stream_graph.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// The module's graphs where messages can be among what they capture, or null: the engine `device` alone has such
// messages, and is asked for by name on all ranks. Memory that is new for each message has no place in a graph.
inline const sluice_program_kernels_t *find_graphs(Session &session) {
  const char *const engine = std::getenv("SLUICE_QUEUE_ENGINE");
  if (session.options().is_cold || engine == nullptr || std::string_view(engine) != "device") return nullptr;
  const sluice_program_kernels_t *kernels = find_program_kernels(*session.module());
  return kernels != nullptr && kernels->graph_begin != nullptr ? kernels : nullptr;
}

}  // namespace sluice::bench
