// SPDX-License-Identifier: BSD-3-Clause
// The queries with which programs ask whether MPI takes a vendor's memory. They are looked up by name, as a program
// does that runs with several MPIs: libsluice defines all of them, whatever the host MPI has.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>

#include "tests/ranks/env/words.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

struct Query {
  std::string word;
  int number = -1;  // in MPIX_GPU_query_support; -1: none
  int expected = 0;
};

std::vector<Query> queries() {
  const std::vector<std::string> supported = words_of("TEST_SUPPORTED");
  std::vector<Query> result;
  for (const std::string &entry : words_of("TEST_QUERIES")) {
    const std::size_t colon = entry.find(':');
    Query query{entry.substr(0, colon), -1, 0};
    if (entry.substr(colon + 1) != "-") query.number = std::stoi(entry.substr(colon + 1));
    query.expected = static_cast<int>(std::count(supported.begin(), supported.end(), query.word));
    result.push_back(query);
  }
  return result;
}

template <typename Function>
Function find(const std::string &name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name.c_str()));
}

TEST(SupportQueries, SayYes_ExactlyForWhatTheLoadedBackendAnswers) {
  ASSERT_FALSE(queries().empty()) << "TEST_QUERIES is not set";
  for (const Query &query : queries()) {
    for (const char *prefix : {"MPIX_Query_", "PMPIX_Query_"}) {
      const std::string name = prefix + query.word + "_support";
      auto *function = find<int (*)()>(name);
      ASSERT_NE(function, nullptr) << name;
      EXPECT_EQ(function(), query.expected) << name;
    }
  }
}

TEST(SupportQueries, SayTheSame_ByNumber) {
  for (const char *name : {"MPIX_GPU_query_support", "PMPIX_GPU_query_support"}) {
    auto *function = find<int (*)(int, int *)>(name);
    ASSERT_NE(function, nullptr) << name;
    for (const Query &query : queries()) {
      if (query.number < 0) continue;
      int is_supported = -1;
      if (query.expected == 0 && function(query.number, &is_supported) != MPI_SUCCESS) continue;  // the host's own no
      EXPECT_EQ(function(query.number, &is_supported), MPI_SUCCESS) << query.word;
      EXPECT_EQ(is_supported, query.expected) << query.word;
    }
  }
}

TEST(SupportQueries, NumberThatNobodyKnows_IsAnErrorOrNo) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
  int is_supported = -1;
  // Intel MPI says no, MPICH and Sluice itself that the number is wrong.
  const int code = find<int (*)(int, int *)>("MPIX_GPU_query_support")(4711, &is_supported);
  EXPECT_TRUE(code != MPI_SUCCESS || is_supported == 0) << code << " " << is_supported;
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, before), MPI_SUCCESS);
  ASSERT_EQ(MPI_Errhandler_free(&before), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests
