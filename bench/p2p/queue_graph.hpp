// SPDX-License-Identifier: BSD-3-Clause
// Commands of a program's stream, messages of its queue among them, captured into a graph and launched as one
// (docs/queue.md, "Captured into a graph").
#pragma once

#include <sluice/program_kernels.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/p2p/queue_parts.hpp"

namespace sluice::bench {

// The module's graphs where messages can be among what they capture, or null: the engine `device` alone has such
// messages, and is asked for by name on all ranks. Memory that is new for each message has no place in a graph.
inline const sluice_program_kernels_t *find_graphs(Session &session) {
  const char *const engine = std::getenv("SLUICE_QUEUE_ENGINE");
  if (session.options().is_cold || engine == nullptr || std::string_view(engine) != "device") return nullptr;
  const auto *table =
      static_cast<const sluice_program_kernels_t *>(session.module()->find_table(SLUICE_PROGRAM_KERNELS_SYMBOL));
  const bool is_fit = table != nullptr && table->api_version == SLUICE_PROGRAM_KERNELS_API_VERSION;
  return is_fit && table->graph_begin != nullptr ? table : nullptr;
}

// Destroyed when no launch of it is running; module and stream outlive it. Throws DeviceError, and what enqueue() does.
class StreamGraph {
 public:
  // What enqueue() gives the stream does not run, but becomes the graph.
  template <class Enqueue>
  StreamGraph(const sluice_program_kernels_t &graphs, DeviceModule &module, const ProgramStream &stream,
              const Enqueue &enqueue)
      : graphs_(graphs), module_(module), stream_(stream) {
    module_.require(graphs_.graph_begin(stream_.native()), "beginning of a graph");
    try {
      enqueue();
    } catch (...) {
      if (graphs_.graph_end(stream_.native(), &native_) == SLUICE_SUCCESS) graphs_.graph_destroy(native_);
      throw;
    }
    module_.require(graphs_.graph_end(stream_.native(), &native_), "end of a graph");
  }
  ~StreamGraph() {
    if (graphs_.graph_destroy(native_) != SLUICE_SUCCESS) {
      std::fprintf(stderr, "sluice-bench: a graph could not be destroyed: %s\n", module_.table().last_error());
    }
  }
  StreamGraph(const StreamGraph &) = delete;
  StreamGraph &operator=(const StreamGraph &) = delete;

  // Returns at once. Hot.
  void launch() { module_.require(graphs_.graph_launch(native_, stream_.native()), "launch of a graph"); }

 private:
  const sluice_program_kernels_t &graphs_;
  DeviceModule &module_;
  const ProgramStream &stream_;
  void *native_ = nullptr;
};

}  // namespace sluice::bench
