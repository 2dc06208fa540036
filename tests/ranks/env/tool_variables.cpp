// SPDX-License-Identifier: BSD-3-Clause
// What a tool sees (MPI_T): the host MPI's variables and categories as the host MPI tells of them, and Sluice's.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/ranks/env/host_symbols.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

using Text = std::array<char, 4096>;

// The functions of MPI_T that these tests call; of Sluice (`sluice`), or of the host MPI past it (`host`).
struct Tool {
  decltype(&MPI_T_cvar_get_num) cvar_get_num = MPI_T_cvar_get_num;
  decltype(&MPI_T_cvar_get_info) cvar_get_info = MPI_T_cvar_get_info;
  decltype(&MPI_T_pvar_get_num) pvar_get_num = MPI_T_pvar_get_num;
  decltype(&MPI_T_pvar_get_info) pvar_get_info = MPI_T_pvar_get_info;
  decltype(&MPI_T_category_get_num) category_get_num = MPI_T_category_get_num;
  decltype(&MPI_T_category_get_info) category_get_info = MPI_T_category_get_info;
  decltype(&MPI_T_category_get_cvars) category_get_cvars = MPI_T_category_get_cvars;
  decltype(&MPI_T_category_get_pvars) category_get_pvars = MPI_T_category_get_pvars;
};

template <typename Function>
void find(void *library, const char *name, Function *function) {
  void *const symbol = dlsym(library, name);
  ASSERT_NE(symbol, nullptr) << name;
  *function = reinterpret_cast<Function>(symbol);
}

Tool host_tool() {
  Tool tool;
  void *const library = host_library();
  find(library, "MPI_T_cvar_get_num", &tool.cvar_get_num);
  find(library, "MPI_T_cvar_get_info", &tool.cvar_get_info);
  find(library, "MPI_T_pvar_get_num", &tool.pvar_get_num);
  find(library, "MPI_T_pvar_get_info", &tool.pvar_get_info);
  find(library, "MPI_T_category_get_num", &tool.category_get_num);
  find(library, "MPI_T_category_get_info", &tool.category_get_info);
  find(library, "MPI_T_category_get_cvars", &tool.category_get_cvars);
  find(library, "MPI_T_category_get_pvars", &tool.category_get_pvars);
  dlclose(library);
  return tool;
}

struct Control {
  std::string name, doc;
  int code = 0, verbosity = 0, bind = 0, scope = 0, name_len = 0, doc_len = 0;
  MPI_Datatype type{};
  MPI_T_enum values{};
  bool operator==(const Control &) const = default;
};

Control control(const Tool &tool, int number) {
  Control c;
  Text name{}, doc{};
  c.name_len = c.doc_len = static_cast<int>(name.size());
  c.code = tool.cvar_get_info(number, name.data(), &c.name_len, &c.verbosity, &c.type, &c.values, doc.data(),
                              &c.doc_len, &c.bind, &c.scope);
  c.name = name.data();
  c.doc = doc.data();
  return c;
}

struct Performance {
  std::string name, doc;
  int code = 0, verbosity = 0, variable_class = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0;
  MPI_Datatype type{};
  MPI_T_enum values{};
  bool operator==(const Performance &) const = default;
};

Performance performance(const Tool &tool, int number) {
  Performance p;
  Text name{}, doc{};
  int name_len = static_cast<int>(name.size());
  int doc_len = name_len;
  p.code = tool.pvar_get_info(number, name.data(), &name_len, &p.verbosity, &p.variable_class, &p.type, &p.values,
                              doc.data(), &doc_len, &p.bind, &p.readonly, &p.continuous, &p.atomic);
  p.name = name.data();
  p.doc = doc.data();
  return p;
}

// What each call says of each category: its name, the result codes, and the names of its variables.
std::vector<std::vector<std::string>> categories(const Tool &tool) {
  std::vector<std::vector<std::string>> found;
  int n = 0;
  EXPECT_EQ(tool.category_get_num(&n), MPI_SUCCESS);
  for (int i = 0; i < n; ++i) {
    Text name{};
    int length = static_cast<int>(name.size());
    int n_control = 0;
    int n_performance = 0;
    std::array<int, 3> codes{};
    codes[0] = tool.category_get_info(i, name.data(), &length, nullptr, nullptr, &n_control, &n_performance, nullptr);
    std::vector<std::string> &told = found.emplace_back();
    told.emplace_back(name.data());
    std::vector<int> numbers(static_cast<std::size_t>(std::max(n_control, n_performance)) + 1, -7);
    codes[1] = tool.category_get_cvars(i, n_control, numbers.data());
    for (int k = 0; k < n_control; ++k) told.push_back(control(tool, numbers[static_cast<std::size_t>(k)]).name);
    EXPECT_EQ(numbers[static_cast<std::size_t>(n_control)], -7);
    codes[2] = tool.category_get_pvars(i, n_performance, numbers.data());
    for (int k = 0; k < n_performance; ++k) {
      told.push_back(performance(tool, numbers[static_cast<std::size_t>(k)]).name);
    }
    for (const int code : codes) told.push_back(std::to_string(code));
  }
  return found;
}

// Before all others: MPICH 4.0 crashes where the interface is opened again after it was closed, so it is opened once.
TEST(ToolInterface, AnswersAsTheHostMpiBeforeItIsOpen) {
  if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
  int n = 0;
  EXPECT_EQ(MPI_T_cvar_get_num(&n), host_tool().cvar_get_num(&n));  // MPICH 5 answers without
}

class ToolVariables : public testing::Test {
 protected:
  void SetUp() override {
    if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
    int provided = 0;
    static const int opened = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    ASSERT_EQ(opened, MPI_SUCCESS);
  }
};

TEST_F(ToolVariables, OfTheHostMpiAreAsItTellsOfThem) {
  const Tool host = host_tool();
  const Tool seen;
  int n_host = 0;
  int n_seen = 0;
  ASSERT_EQ(host.cvar_get_num(&n_host), MPI_SUCCESS);
  ASSERT_EQ(seen.cvar_get_num(&n_seen), MPI_SUCCESS);
  int next = 0;
  for (int i = 0; i < n_seen; ++i) {
    const Control c = control(seen, i);
    if (c.name.starts_with("SLUICE_")) continue;
    EXPECT_EQ(c, control(host, next)) << c.name;
    ++next;
  }
  EXPECT_EQ(next, n_host);
  ASSERT_EQ(host.pvar_get_num(&n_host), MPI_SUCCESS);
  ASSERT_EQ(seen.pvar_get_num(&n_seen), MPI_SUCCESS);
  next = 0;
  for (int i = 0; i < n_seen; ++i) {
    const Performance p = performance(seen, i);
    if (p.name.starts_with("sluice_")) continue;
    EXPECT_EQ(p, performance(host, next)) << p.name;
    ++next;
  }
  EXPECT_EQ(next, n_host);
}

TEST_F(ToolVariables, AreInTheCategoriesWhereTheyWere) {
  auto seen = categories(Tool{});
  const auto own = std::ranges::find(seen, "sluice", [](const auto &told) { return told.front(); });
  ASSERT_NE(own, seen.end());
  EXPECT_NE(std::ranges::find(*own, "SLUICE_ENABLE"), own->end());
  EXPECT_NE(std::ranges::find(*own, "sluice_ipc_bytes"), own->end());
  seen.erase(own);
  EXPECT_EQ(seen, categories(host_tool()));
}

TEST_F(ToolVariables, HaveTheirNumbersByName) {
  int n = 0;
  ASSERT_EQ(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
  for (int i = 0; i < n; ++i) {
    const Control c = control(Tool{}, i);
    int number = -1;
    if (c.code != MPI_SUCCESS) continue;
    EXPECT_EQ(MPI_T_cvar_get_index(c.name.c_str(), &number), MPI_SUCCESS);
    EXPECT_EQ(control(Tool{}, number).name, c.name);
  }
  int number = -1;
  EXPECT_NE(MPI_T_cvar_get_index("SLUICE_NO_SUCH_KNOB", &number), MPI_SUCCESS);
  EXPECT_NE(MPI_T_pvar_get_index("sluice_no_such_counter", MPI_T_PVAR_CLASS_COUNTER, &number), MPI_SUCCESS);
  EXPECT_NE(MPI_T_pvar_get_index("sluice_ipc_calls", MPI_T_PVAR_CLASS_TIMER, &number), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_category_get_index("sluice", &number), MPI_SUCCESS);
  Text name{};
  int length = static_cast<int>(name.size());
  EXPECT_EQ(MPI_T_category_get_info(number, name.data(), &length, nullptr, nullptr, nullptr, nullptr, nullptr), 0);
  EXPECT_STREQ(name.data(), "sluice");
}

// A handle of the knob with that name, and how many elements it has.
std::pair<MPI_T_cvar_handle, int> handle_of(const char *knob) {
  int number = -1;
  int count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  EXPECT_EQ(MPI_T_cvar_get_index(knob, &number), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_cvar_handle_alloc(number, nullptr, &handle, &count), MPI_SUCCESS);
  return {handle, count};
}

TEST_F(ToolVariables, KnobsAreReadAndNotWritten) {
  auto [on, n_on] = handle_of("SLUICE_ENABLE");
  int value = -1;
  EXPECT_EQ(n_on, 1);
  EXPECT_EQ(MPI_T_cvar_read(on, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(MPI_T_cvar_write(on, &value), MPI_T_ERR_CVAR_SET_NEVER);
  EXPECT_EQ(MPI_T_cvar_handle_free(&on), MPI_SUCCESS);
  EXPECT_EQ(on, MPI_T_CVAR_HANDLE_NULL);

  auto [buffered, n_buffered] = handle_of("SLUICE_P2P_BUFFERED_BYTES");
  unsigned long long bytes = 1;
  EXPECT_EQ(n_buffered, 1);
  EXPECT_EQ(MPI_T_cvar_read(buffered, &bytes), MPI_SUCCESS);
  EXPECT_EQ(bytes, 3ULL << 10);  // CMakeLists.txt gives it as 3K
  EXPECT_EQ(MPI_T_cvar_handle_free(&buffered), MPI_SUCCESS);

  auto [order, n_order] = handle_of("SLUICE_REDUCE_ORDER");
  std::string text(static_cast<std::size_t>(n_order) + 1, 'x');
  EXPECT_EQ(MPI_T_cvar_read(order, text.data()), MPI_SUCCESS);
  EXPECT_EQ(text, std::string("rank\0x", 6));
  EXPECT_EQ(MPI_T_cvar_handle_free(&order), MPI_SUCCESS);
}

TEST_F(ToolVariables, TextsAreCutWhereThereIsNoRoom) {
  int number = -1;
  ASSERT_EQ(MPI_T_cvar_get_index("SLUICE_ENABLE", &number), MPI_SUCCESS);
  Text name{};
  name.fill('x');
  int length = 4;
  EXPECT_EQ(
      MPI_T_cvar_get_info(number, name.data(), &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
      MPI_SUCCESS);
  EXPECT_EQ(std::string(name.data(), 5), std::string("SLU\0x", 5));
  EXPECT_EQ(length, 14);
  length = 0;
  EXPECT_EQ(
      MPI_T_cvar_get_info(number, nullptr, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(length, 14);
}

struct Counted {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
};

Counted counted(const char *name, int variable_class) {
  Counted c;
  int number = -1;
  int count = 0;
  EXPECT_EQ(MPI_T_pvar_session_create(&c.session), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_get_index(name, variable_class, &number), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_handle_alloc(c.session, number, nullptr, &c.handle, &count), MPI_SUCCESS);
  EXPECT_EQ(count, 1);
  return c;
}

unsigned long long value_of(const Counted &c) {
  unsigned long long value = 0;
  EXPECT_EQ(MPI_T_pvar_read(c.session, c.handle, &value), MPI_SUCCESS);
  return value;
}

TEST_F(ToolVariables, RoutesAreCounted) {
  constexpr int kBytes = 1000;
  const Session &session = Session::get();
  // Memory of the host, where there is no device: counted as well.
  const Memory buffer(session.module(), device_or_host(), kBytes);
  std::vector<Counted> bytes;
  for (const char *name : {"sluice_host_bytes", "sluice_staged_bytes", "sluice_ipc_bytes", "sluice_pipelined_bytes"}) {
    bytes.push_back(counted(name, MPI_T_PVAR_CLASS_AGGREGATE));
  }
  const auto sum = [&] {
    unsigned long long all = 0;
    for (const Counted &c : bytes) all += value_of(c);
    return all;
  };
  const unsigned long long before = sum();
  buffer.fill_pattern(session.rank(), 1);
  MPI_Status status;
  EXPECT_EQ(MPI_Sendrecv_replace(buffer.data(), kBytes, MPI_BYTE, session.partner(), 3, session.partner(), 3,
                                 session.comm(), &status),
            MPI_SUCCESS);
  EXPECT_EQ(find_pattern_error(buffer.read(), session.partner(), 1), "");
  EXPECT_GE(sum() - before, static_cast<unsigned long long>(kBytes));

  const Counted &c = bytes.front();
  unsigned long long value = 0;
  EXPECT_EQ(MPI_T_pvar_start(c.session, c.handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(MPI_T_pvar_stop(c.session, c.handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(MPI_T_pvar_reset(c.session, c.handle), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(MPI_T_pvar_write(c.session, c.handle, &value), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(MPI_T_pvar_readreset(c.session, c.handle, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
#ifndef MPI_ABI_VERSION  // MPICH 5 crashes there
  EXPECT_EQ(MPI_T_pvar_start(c.session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_stop(c.session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
#endif
  for (Counted &each : bytes) {
    EXPECT_EQ(MPI_T_pvar_handle_free(each.session, &each.handle), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_session_free(&each.session), MPI_SUCCESS);
  }
}

TEST_F(ToolVariables, RefuseDeviceMemory) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const Memory buffer(session.module(), Kind::device, 64);
  auto [on, n_on] = handle_of("SLUICE_ENABLE");
  EXPECT_EQ(n_on, 1);
  EXPECT_EQ(MPI_T_cvar_read(on, buffer.data()), MPI_T_ERR_INVALID);
  EXPECT_EQ(MPI_T_cvar_write(on, buffer.data()), MPI_T_ERR_INVALID);
  Counted c = counted("sluice_fallbacks", MPI_T_PVAR_CLASS_COUNTER);
  EXPECT_EQ(MPI_T_pvar_read(c.session, c.handle, buffer.data()), MPI_T_ERR_INVALID);
  EXPECT_EQ(MPI_T_pvar_readreset(c.session, c.handle, buffer.data()), MPI_T_ERR_INVALID);
  EXPECT_EQ(MPI_T_pvar_write(c.session, c.handle, buffer.data()), MPI_T_ERR_INVALID);
  EXPECT_EQ(buffer.read(), Bytes(64, kPoison));
  EXPECT_EQ(MPI_T_cvar_handle_free(&on), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_session_free(&c.session), MPI_SUCCESS);
}

TEST(LibraryVersion, NamesSluiceBehindTheHostMpi) {
  if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> seen{}, host{};
  int n_seen = 0;
  int n_host = 0;
  ASSERT_EQ(MPI_Get_library_version(seen.data(), &n_seen), MPI_SUCCESS);
  decltype(&MPI_Get_library_version) get_host = nullptr;
  void *const library = host_library();
  find(library, "MPI_Get_library_version", &get_host);
  dlclose(library);
  ASSERT_EQ(get_host(host.data(), &n_host), MPI_SUCCESS);
  std::string expected = host.data();
  const bool is_wanted = std::getenv("SLUICE_LIBRARY_VERSION") == nullptr;
  const std::string own = is_wanted ? "; Sluice 0.1.0" : "";
  expected.insert(expected.size() - (expected.ends_with('\n') ? 1 : 0), own);
  EXPECT_STREQ(seen.data(), expected.c_str());
  EXPECT_EQ(n_seen, n_host + static_cast<int>(own.size()));
}

}  // namespace
}  // namespace sluice::tests
