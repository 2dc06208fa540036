// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/partitioned.h, looked up as a program does that is not linked to libsluice; and what their
// tests need.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <string>

#include "sluice/partitioned.h"
#include "tests/support/program_stream.hpp"

namespace sluice::tests {

template <class Function>
Function *find_function(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}
inline int pready_on_stream(MPI_Request request, int partition, const ProgramStream &stream) {
  static auto *const function = find_function<decltype(sluice_pready_on_stream)>("sluice_pready_on_stream");
  return function(request, partition, stream.native());
}
inline int get_partition_flags(MPI_Request request, sluice_partition_flags_t *flags) {
  static auto *const function = find_function<decltype(sluice_get_partition_flags)>("sluice_get_partition_flags");
  return function(request, flags);
}

inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

// A kernel of the device that makes a partition ready, behind what is in the stream: where the backend writes words by
// kernels (the tests *_by_kernels) it is one.
inline void set_flag_by_kernel(ProgramStream &stream, const sluice_partition_flags_t &flags, int partition) {
  stream.write(reinterpret_cast<std::uint64_t *>(const_cast<unsigned long long *>(&flags.flags[partition])),
               *flags.mark);
}

inline constexpr int kRoundsOnStream = 5;  // of the first the sides may not have met yet

class PartitionedOnStream : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_streams()) GTEST_SKIP() << "missing: a backend whose streams write words (group stream)";
    if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
  }
};

}  // namespace sluice::tests
