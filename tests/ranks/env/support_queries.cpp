// SPDX-License-Identifier: BSD-3-Clause
// The queries with which programs ask whether MPI takes a vendor's memory. They are looked up by name, as a program
// does that runs with several MPIs: libsluice defines all of them, whatever the host MPI has.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

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

// The answers in the order of queries(); -1 where there is no such function.
std::vector<int> answers() {
  std::vector<int> result;
  for (const Query &query : queries()) {
    for (const char *prefix : {"MPIX_Query_", "PMPIX_Query_"}) {
      auto *function = find<int (*)()>(prefix + query.word + "_support");
      result.push_back(function != nullptr ? function() : -1);
    }
  }
  return result;
}

// Whether a library of the process has a file name that begins so.
bool is_loaded(const std::string &name) {
  struct Search {
    const std::string &name;
    bool is_found;
  } search{name, false};
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t /*size*/, void *data) {
        auto *wanted = static_cast<Search *>(data);
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        wanted->is_found |= path.substr(path.rfind('/') + 1).starts_with(wanted->name);
        return 0;
      },
      &search);
  return search.is_found;
}

// Before MPI_Init: as the program begins. Without Sluice some host MPIs end the program for it.
const std::vector<int> answers_before = std::getenv("TEST_ASKED_EARLY") != nullptr ? answers() : std::vector<int>();

TEST(SupportQueries, SayYes_ExactlyForWhatTheBackendAnswers) {
  ASSERT_FALSE(queries().empty()) << "TEST_QUERIES is not set";
  std::vector<int> expected;
  for (const Query &query : queries()) expected.insert(expected.end(), 2, query.expected);
  EXPECT_EQ(answers(), expected);
  // Where the program uses no device they were the same.
  if (std::getenv("TEST_ASKED_EARLY") != nullptr) {
    EXPECT_EQ(answers_before, expected);
  }
}

// Asking neither loads nor starts anything, and what is loaded and not started changes no answer.
TEST(SupportQueries, LeaveTheRuntimeAlone) {
  const char *runtime = std::getenv("TEST_ASKED_EARLY");
  if (runtime == nullptr) GTEST_SKIP() << "missing: TEST_ASKED_EARLY, the library that is not to be loaded";
  const std::vector<int> before = answers();
  EXPECT_FALSE(is_loaded(runtime));
  // Some stand in for a runtime and know of no masks: they have a device as soon as they are loaded.
  if (std::ranges::count(before, 1) == 0) return;
  // Under one of these names it is there, if it is installed.
  for (const char *version : {".7", ".6", ".5", ".1"}) {
    if (dlopen((std::string(runtime) + version).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) break;
  }
  EXPECT_EQ(answers(), before);
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
