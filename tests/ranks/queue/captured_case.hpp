// SPDX-License-Identifier: BSD-3-Clause
// What tests of messages of graphs have in common: a graph of what a stream is given, by the backend's own calls.
#pragma once

#include <dlfcn.h>
#include <sluice/testing/program_kernels.h>

#include <algorithm>
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

// Some messages of one length, one behind the other in device memory, of which a graph has the next one each time it
// is launched: a copy moves the others up, which is what a graph's own kernels would do.
class Tape {
 public:
  Tape(std::size_t size_bytes, std::size_t n_messages)
      : size_bytes_(size_bytes), rest_bytes_(size_bytes * (n_messages - 1)) {}
  // What rank `rank` sends as 0, 1, ... by this tape.
  void record(int rank, int first) const {
    for (std::size_t at = 0; at < tape_.size_bytes(); at += size_bytes_) {
      Bytes bytes(size_bytes_);
      for (std::size_t i = 0; i < size_bytes_; ++i) {
        bytes[i] = pattern_byte(rank, i, first + static_cast<int>(at / size_bytes_));
      }
      tape_.write(at, bytes.data(), size_bytes_);
    }
  }
  void play(const ProgramStream &stream, const Memory &to) const {
    stream.copy(to.data(), tape_.data(), size_bytes_);
    move(stream, 0, size_bytes_);
  }
  void keep(const ProgramStream &stream, const Memory &from) const {
    move(stream, size_bytes_, 0);
    stream.copy(tape_.data(), from.data(), size_bytes_);
  }
  // All that was kept, the first one last.
  void expect_kept(int rank, int first, int n) const {
    for (int k = 0; k < n; ++k) {
      const Bytes kept = tape_.read(static_cast<std::size_t>(n - 1 - k) * size_bytes_, size_bytes_);
      EXPECT_EQ(find_pattern_error(kept, rank, first + k), "") << "message " << first + k;
    }
  }

 private:
  void move(const ProgramStream &stream, std::size_t to, std::size_t from) const {
    if (rest_bytes_ == 0) return;
    stream.copy(aside_.data(), tape_.at(from), rest_bytes_);
    stream.copy(tape_.at(to), aside_.data(), rest_bytes_);
  }
  std::size_t size_bytes_;
  std::size_t rest_bytes_;
  Memory tape_ = make_memory(Kind::device, rest_bytes_ + size_bytes_);
  Memory aside_ = make_memory(Kind::device, rest_bytes_ + 1);
};

// What a call said, which was to be refused.
inline void expect_refused(int code, int error_class, const std::string &text) {
  EXPECT_EQ(class_of(code), error_class) << text_of(code);
  EXPECT_NE(text_of(code).find(text), std::string::npos) << text_of(code);
}

}  // namespace sluice::tests
