// SPDX-License-Identifier: BSD-3-Clause
// The table itself: versions, names, groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "module_under_test.h"

using conformance::table;

namespace conformance::contract_test {
TEST(Contract, Version_IsThatOfTheHeader) {
  EXPECT_EQ(table().api_version, SLUICE_BACKEND_API_VERSION);
  EXPECT_EQ(table().struct_size, sizeof(sluice_backend_t));
}

TEST(Contract, Name_IsThatOfTheFolder) {
  EXPECT_EQ(table().name, conformance::backend_name());
}

TEST(Contract, MandatoryCalls_AreAllThere) {
  const sluice_backend_t &t = table();
  EXPECT_TRUE(t.init != nullptr && t.fini != nullptr && t.last_error != nullptr);
  EXPECT_TRUE(t.device_count != nullptr && t.device_info != nullptr);
  EXPECT_TRUE(t.query_pointer != nullptr && t.register_context != nullptr);
  EXPECT_TRUE(t.host_alloc != nullptr && t.host_free != nullptr && t.preferred_staging != nullptr);
  EXPECT_TRUE(t.queue_create != nullptr && t.queue_destroy != nullptr);
  EXPECT_TRUE(t.enqueue_copies != nullptr && t.enqueue_ticket != nullptr && t.test_ticket != nullptr);
  EXPECT_TRUE(t.wait_ticket != nullptr && t.copy != nullptr);
}

TEST(Contract, ProgramGroup_IsWholeOrAbsent) {
  const sluice_backend_t &t = table();
  const int n_there = (t.program_set_device != nullptr ? 1 : 0) + (t.program_alloc != nullptr ? 1 : 0) +
                      (t.program_free != nullptr ? 1 : 0) + (t.program_copy != nullptr ? 1 : 0) +
                      (t.program_synchronize != nullptr ? 1 : 0);
  EXPECT_TRUE(n_there == 0 || n_there == 5) << n_there << " of 5";
}

TEST(Contract, Knobs_AreNamedForTheBackendAndDescribed) {
  std::string prefix = "SLUICE_" + conformance::backend_name() + "_";
  std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  ASSERT_TRUE(table().n_knobs == 0 || table().knobs != nullptr);
  for (size_t i = 0; i < table().n_knobs; ++i) {
    const sluice_backend_knob_t &knob = table().knobs[i];
    ASSERT_TRUE(knob.name != nullptr && knob.default_value != nullptr && knob.doc != nullptr) << "knob " << i;
    EXPECT_TRUE(std::string(knob.name).starts_with(prefix)) << knob.name;
    EXPECT_GT(std::string(knob.doc).size(), 10U) << knob.name;
  }
}

TEST(Contract, LastError_IsEmpty_InAThreadWithoutErrors) {
  std::string text = "unset";
  std::thread([&] { text = table().last_error(); }).join();
  EXPECT_EQ(text, "");
}

TEST(Contract, LastError_BelongsToItsThread) {
  sluice_device_info_t info;
  ASSERT_NE(table().device_info(-1, &info), SLUICE_SUCCESS);
  EXPECT_STRNE(table().last_error(), "");
  std::string text = "unset";
  std::thread([&] { text = table().last_error(); }).join();
  EXPECT_EQ(text, "");
}

TEST(Contract, RegisterContext_TakesWhateverItIsGivenWithoutHarm) {
  // A runtime that needs contexts may refuse a null one; one that needs none succeeds.
  const sluice_result_t result = table().register_context(nullptr);
  if (result != SLUICE_SUCCESS) {
    EXPECT_EQ(result, SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_STRNE(table().last_error(), "");
  }
}

TEST(Contract, StreamGroups_AreWholeOrAbsent) {
  const sluice_backend_t &t = table();
  const int n_there = (t.stream_query != nullptr ? 1 : 0) + (t.stream_open != nullptr ? 1 : 0) +
                      (t.stream_close != nullptr ? 1 : 0) + (t.stream_write != nullptr ? 1 : 0) +
                      (t.stream_wait != nullptr ? 1 : 0) + (t.stream_words != nullptr ? 1 : 0);
  EXPECT_TRUE(n_there == 0 || n_there == 6) << n_there << " of 6";
  const int n_of_program = (t.program_stream_create != nullptr ? 1 : 0) +
                           (t.program_stream_destroy != nullptr ? 1 : 0) + (t.program_stream_copy != nullptr ? 1 : 0) +
                           (t.program_stream_synchronize != nullptr ? 1 : 0);
  EXPECT_TRUE(n_of_program == 0 || n_of_program == 4) << n_of_program << " of 4";
  EXPECT_EQ(n_of_program == 4, n_there == 6 && t.program_alloc != nullptr);
}

TEST(Contract, WordsOfStreams_NameATypeAndStay) {
  if (table().stream_words == nullptr) GTEST_SKIP() << "missing: the group stream";
  const char *const *words = table().stream_words();
  ASSERT_NE(words, nullptr);
  ASSERT_NE(words[0], nullptr) << "programs cannot name the type of these streams";
  EXPECT_EQ(table().stream_words(), words) << "another list at the second call";
  for (; *words != nullptr; ++words) EXPECT_STRNE(*words, "");
}

TEST(Contract, WordsGroup_IsWholeOrAbsent) {
  const sluice_backend_t &t = table();
  EXPECT_EQ(t.support_words != nullptr, t.memory_kind_words != nullptr);
}

// Programs that ask before they use a device are answered from that file.
TEST(Contract, Words_AreThoseOfTheNeedsFile) {
  std::ifstream file(conformance::needs_path());
  ASSERT_TRUE(file.is_open()) << conformance::needs_path();
  const auto expect_in = [](const char *const *(*list)(), const std::string &declared) {
    ASSERT_NE(list, nullptr) << declared;
    std::vector<std::string> words;
    for (const char *const *word = list(); *word != nullptr; ++word) words.emplace_back(*word);
    EXPECT_EQ(std::ranges::count(words, declared), 1) << declared;
  };
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    for (std::string word; words >> word;) {
      if (first == "support") expect_in(table().support_words, word);
      if (first == "kind") expect_in(table().memory_kind_words, word);
    }
  }
}

TEST(Contract, Words_AreLowerCaseAndStay) {
  for (const auto list : {table().support_words, table().memory_kind_words}) {
    if (list == nullptr) continue;
    const char *const *words = list();
    ASSERT_NE(words, nullptr);
    EXPECT_EQ(list(), words) << "another list at the second call";
    for (; *words != nullptr; ++words) {
      const std::string word = *words;
      EXPECT_FALSE(word.empty());
      EXPECT_TRUE(std::ranges::all_of(word, [](unsigned char c) {
        return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == ':';
      })) << word;
    }
  }
}

}  // namespace conformance::contract_test
