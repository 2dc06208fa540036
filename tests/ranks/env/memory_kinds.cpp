// SPDX-License-Identifier: BSD-3-Clause
// The info key mpi_memory_alloc_kinds, wherever MPI-4.1 lets a program read it.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "tests/ranks/env/words.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

constexpr const char *kKey = "mpi_memory_alloc_kinds";

std::optional<std::string> value_of(MPI_Info info, const char *key) {
  int length = 0;
  int is_there = 0;
  EXPECT_EQ(MPI_Info_get_valuelen(info, key, &length, &is_there), MPI_SUCCESS);
  if (is_there == 0) return {};
  std::string value(static_cast<std::size_t>(length) + 1, '\0');
  EXPECT_EQ(MPI_Info_get(info, key, length, value.data(), &is_there), MPI_SUCCESS);
  EXPECT_NE(is_there, 0);
  EXPECT_EQ(std::strlen(value.c_str()), static_cast<std::size_t>(length)) << "length of " << key;
  return value.c_str();
}

// All that the backend answers, behind what every MPI has; without a backend no word of anybody's but the host MPI's.
void expect_kinds(MPI_Info info) {
  const std::vector<std::string> wanted = words_of("TEST_KINDS");
  const std::optional<std::string> value = value_of(info, kKey);
  if (wanted.empty()) {
    EXPECT_EQ(value.value_or("").find("device"), std::string::npos) << *value;
    return;
  }
  ASSERT_TRUE(value.has_value());
  const std::vector<std::string> words = split_words(*value);
  for (const char *word : {"mpi", "system"}) EXPECT_EQ(std::count(words.begin(), words.end(), word), 1) << *value;
  for (const std::string &word : wanted) {
    EXPECT_EQ(std::count(words.begin(), words.end(), word), 1) << word << " in " << *value;
  }
}

TEST(MemoryKinds, AreInTheInfoOfACommunicator) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate), MPI_SUCCESS);
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, duplicate}) {
    MPI_Info info = MPI_INFO_NULL;
    ASSERT_EQ(MPI_Comm_get_info(comm, &info), MPI_SUCCESS);
    expect_kinds(info);
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Comm_free(&duplicate), MPI_SUCCESS);
}

TEST(MemoryKinds, AreInTheEnvironment_ByEveryCallThatReadsIt) {
  expect_kinds(MPI_INFO_ENV);
  const bool is_there = value_of(MPI_INFO_ENV, kKey).has_value();
  int n_keys = 0;
  ASSERT_EQ(MPI_Info_get_nkeys(MPI_INFO_ENV, &n_keys), MPI_SUCCESS);
  int n_found = 0;
  for (int n = 0; n < n_keys; ++n) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    ASSERT_EQ(MPI_Info_get_nthkey(MPI_INFO_ENV, n, key), MPI_SUCCESS);
    if (std::strcmp(key, kKey) == 0) ++n_found;
  }
  EXPECT_EQ(n_found, is_there ? 1 : 0);
  MPI_Info copy = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Info_dup(MPI_INFO_ENV, &copy), MPI_SUCCESS);
  EXPECT_EQ(value_of(copy, kKey), value_of(MPI_INFO_ENV, kKey));
  EXPECT_EQ(MPI_Info_free(&copy), MPI_SUCCESS);
}

TEST(MemoryKinds, LeaveTheOtherKeysOfTheEnvironment) {
  MPI_Info copy = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Info_dup(MPI_INFO_ENV, &copy), MPI_SUCCESS);
  int n_keys = 0;
  ASSERT_EQ(MPI_Info_get_nkeys(copy, &n_keys), MPI_SUCCESS);
  for (int n = 0; n < n_keys; ++n) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    ASSERT_EQ(MPI_Info_get_nthkey(copy, n, key), MPI_SUCCESS);
    EXPECT_EQ(value_of(copy, key), value_of(MPI_INFO_ENV, key)) << key;
  }
  EXPECT_EQ(MPI_Info_free(&copy), MPI_SUCCESS);
}

TEST(MemoryKinds, OfAProgramsOwnInfo_AreItsOwn) {
  MPI_Info info = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Info_create(&info), MPI_SUCCESS);
  EXPECT_FALSE(value_of(info, kKey).has_value());
  ASSERT_EQ(MPI_Info_set(info, kKey, "system"), MPI_SUCCESS);
  EXPECT_EQ(value_of(info, kKey).value_or(""), "system");
  EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
}

#if MPI_VERSION >= 4
TEST(MemoryKinds, AreInTheInfoOfASession) {
  MPI_Session session = MPI_SESSION_NULL;
  ASSERT_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
  MPI_Info info = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Session_get_info(session, &info), MPI_SUCCESS);
  expect_kinds(info);
  EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
}

TEST(MemoryKinds, AreReadAsAString) {
  std::string text(MPI_MAX_INFO_VAL, '\0');
  int length = static_cast<int>(text.size());
  int is_there = 0;
  ASSERT_EQ(MPI_Info_get_string(MPI_INFO_ENV, kKey, &length, text.data(), &is_there), MPI_SUCCESS);
  if (is_there == 0) {
    EXPECT_TRUE(words_of("TEST_KINDS").empty());
    return;
  }
  EXPECT_EQ(value_of(MPI_INFO_ENV, kKey).value_or(""), text.c_str());
  EXPECT_EQ(std::strlen(text.c_str()) + 1, static_cast<std::size_t>(length));
}
#endif

}  // namespace
}  // namespace sluice::tests
