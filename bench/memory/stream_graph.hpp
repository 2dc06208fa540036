// SPDX-License-Identifier: BSD-3-Clause
// Graphs of what a program gives a stream of its own, to be launched again and again as one command: of applications
// and of benchmarks.
#pragma once

#include <sluice/testing/program_kernels.h>

#include <cstdio>

#include "bench/memory/device_module.hpp"

namespace sluice::bench {

// The module's kernels of programs (sluice/testing/program_kernels.h), or null where it has none that fit.
inline const sluice_program_kernels_t *find_program_kernels(const DeviceModule &module) {
  const auto *table = static_cast<const sluice_program_kernels_t *>(module.find_table(SLUICE_PROGRAM_KERNELS_SYMBOL));
  return table != nullptr && table->api_version == SLUICE_PROGRAM_KERNELS_API_VERSION ? table : nullptr;
}

// Destroyed when no launch of it is running; the module and the stream outlive it. Throws DeviceError, and what
// enqueue() does.
class StreamGraph {
 public:
  // What enqueue() gives the stream, the runtime's own handle, does not run, but becomes the graph. kernels: with
  // graphs.
  template <class Enqueue>
  StreamGraph(const sluice_program_kernels_t &kernels, const DeviceModule &module, void *stream, const Enqueue &enqueue)
      : kernels_(kernels), module_(module), stream_(stream) {
    module_.require(kernels_.graph_begin(stream_), "beginning of a graph");
    try {
      enqueue();
    } catch (...) {
      if (kernels_.graph_end(stream_, &native_) == SLUICE_SUCCESS) kernels_.graph_destroy(native_);
      throw;
    }
    module_.require(kernels_.graph_end(stream_, &native_), "end of a graph");
  }
  ~StreamGraph() {
    if (kernels_.graph_destroy(native_) != SLUICE_SUCCESS) {
      std::fprintf(stderr, "a graph could not be destroyed: %s\n", module_.table().last_error());
    }
  }
  StreamGraph(const StreamGraph &) = delete;
  StreamGraph &operator=(const StreamGraph &) = delete;

  // Enqueues all of it into the stream, and returns before it has run. Hot.
  void launch() { module_.require(kernels_.graph_launch(native_, stream_), "launch of a graph"); }

 private:
  const sluice_program_kernels_t &kernels_;
  const DeviceModule &module_;
  void *stream_;
  void *native_ = nullptr;
};

}  // namespace sluice::bench
