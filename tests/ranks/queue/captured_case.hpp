// SPDX-License-Identifier: BSD-3-Clause
// What tests of messages of graphs have in common: a graph of what a stream is given, by the backend's own calls.
#pragma once

#include <dlfcn.h>
#include <sluice/testing/program_kernels.h>

#include <string>

#include "tests/ranks/queue/channel_case.hpp"

namespace sluice::tests {

// The module's calls for graphs, as a program would use the runtime's; null where there are none.
inline const sluice_program_kernels_t *graphs() {
  Dl_info module{};
  if (dladdr(&Session::get().module()->table(), &module) == 0) return nullptr;
  void *library = dlopen(module.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  const auto query = reinterpret_cast<sluice_program_kernels_fn>(dlsym(library, SLUICE_PROGRAM_KERNELS_SYMBOL));
  dlclose(library);
  const sluice_program_kernels_t *table = query != nullptr ? query() : nullptr;
  return table != nullptr && table->graph_begin != nullptr ? table : nullptr;
}

#define SKIP_WITHOUT_GRAPHS() \
  SKIP_WITHOUT_CHANNELS();    \
  if (graphs() == nullptr) GTEST_SKIP() << "missing: a backend with graphs of what a stream was given"

class CapturedGraph {
 public:
  explicit CapturedGraph(const ProgramStream &stream) : stream_(stream) {
    expect(graphs()->graph_begin(stream.native()));
  }
  ~CapturedGraph() {
    if (graph_ != nullptr) expect(graphs()->graph_destroy(graph_));
  }
  CapturedGraph(const CapturedGraph &) = delete;
  CapturedGraph &operator=(const CapturedGraph &) = delete;
  void end() { expect(graphs()->graph_end(stream_.native(), &graph_)); }
  void launch() const { expect(graphs()->graph_launch(graph_, stream_.native())); }

 private:
  static void expect(sluice_result_t result) {
    EXPECT_EQ(result, SLUICE_SUCCESS) << Session::get().module()->table().last_error();
  }
  const ProgramStream &stream_;
  void *graph_ = nullptr;
};

// What a call said, which was to be refused.
inline void expect_refused(int code, int error_class, const std::string &text) {
  EXPECT_EQ(class_of(code), error_class) << text_of(code);
  EXPECT_NE(text_of(code).find(text), std::string::npos) << text_of(code);
}

}  // namespace sluice::tests
