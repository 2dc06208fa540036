// SPDX-License-Identifier: BSD-3-Clause
// Loading a backend module: what is refused, in which words, and that nothing stays behind.
#include "device/backend.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/log.hpp"
#include "fake_backend.hpp"

namespace sluice::device::backend_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::Call;
using tests::FakeBackend;

std::string module(const std::string &name) {
  return std::string(SLUICE_UNIT_MODULES) + "/load/libsluice_backend_" + name + ".so";
}

bool is_in_process(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

// The message with which the module is refused; it begins with the file, and nothing of it stays loaded.
std::string refusal(const std::string &path, ErrorKind kind) {
  Status status;
  const std::unique_ptr<Backend> backend = Backend::load(path, &status);
  EXPECT_EQ(backend, nullptr);
  EXPECT_EQ(status.kind(), kind) << status.message();
  EXPECT_FALSE(is_in_process(path));
  return status.message();
}

TEST(Backend_Load, StartsAndEndsAWholeModule) {
  Status status;
  std::unique_ptr<Backend> backend = Backend::load(module("whole"), &status);
  ASSERT_NE(backend, nullptr) << status.message();
  EXPECT_TRUE(status.is_ok());
  EXPECT_STREQ(backend->name(), "whole");
  EXPECT_EQ(backend->table().device_count(), 0);
  backend.reset();
  EXPECT_FALSE(is_in_process(module("whole")));
}

TEST(Backend_Load, IsRefused_WhenTheFileIsMissing) {
  EXPECT_THAT(refusal(module("nowhere"), ErrorKind::kBackend),
              AllOf(HasSubstr(module("nowhere")), HasSubstr("No such file"), HasSubstr("SLUICE_BACKENDS")));
}

TEST(Backend_Load, IsRefused_WhenTheFileIsNoLibrary) {
  const std::string path = ::testing::TempDir() + "/libsluice_backend_text." + std::to_string(getpid()) + ".so";
  std::ofstream(path) << "this is no library, though it has the name of one; it is long enough to be read as one\n";
  EXPECT_THAT(refusal(path, ErrorKind::kBackend), AllOf(HasSubstr(path), HasSubstr("cannot be loaded")));
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST(Backend_Load, IsRefused_WhenNoTableIsExported) {
  EXPECT_THAT(refusal(module("no_symbol"), ErrorKind::kBackend),
              AllOf(HasSubstr(module("no_symbol")), HasSubstr("no table"), HasSubstr("reinstall")));
}

TEST(Backend_Load, IsRefused_WhenTheTableIsNull) {
  EXPECT_THAT(refusal(module("no_table"), ErrorKind::kBackend), HasSubstr("no table"));
}

TEST(Backend_Load, IsRefused_WhenTheVersionDiffers_AndNamesBoth) {
  EXPECT_THAT(refusal(module("other_version"), ErrorKind::kBackend),
              AllOf(HasSubstr("version " + std::to_string(SLUICE_BACKEND_API_VERSION + 1)),
                    HasSubstr("version " + std::to_string(SLUICE_BACKEND_API_VERSION) + ";")));
}

TEST(Backend_Load, IsRefused_WhenAMandatoryFunctionIsEmpty) {
  EXPECT_THAT(refusal(module("empty_function"), ErrorKind::kBackend), HasSubstr("mandatory function"));
}

TEST(Backend_Load, IsRefused_WhenTheTableIsShort) {
  EXPECT_THAT(refusal(module("short_table"), ErrorKind::kBackend), HasSubstr(module("short_table")));
}

TEST(Backend_Load, IsNoDefect_WhenThereIsNoDevice) {
  EXPECT_THAT(refusal(module("no_device"), ErrorKind::kUnsupported),
              AllOf(HasSubstr("no device"), HasSubstr("UNIT_NATIVE_42")));
}

TEST(Backend_Load, HasTheNativeText_WhenTheStartFails) {
  EXPECT_THAT(refusal(module("no_start"), ErrorKind::kBackend),
              AllOf(HasSubstr("no_start could not start"), HasSubstr("UNIT_NATIVE_42: the runtime is asleep")));
}

// Every mandatory function, each emptied in turn.
TEST(Backend_OverTable, IsRefused_WhenAnyMandatoryMemberIsEmpty) {
  const FakeBackend fake;
  using Table = sluice_backend_t;
  const std::vector<std::pair<const char *, std::function<void(Table &)>>> holes = {
      {"name", [](Table &t) { t.name = nullptr; }},
      {"init", [](Table &t) { t.init = nullptr; }},
      {"fini", [](Table &t) { t.fini = nullptr; }},
      {"last_error", [](Table &t) { t.last_error = nullptr; }},
      {"device_count", [](Table &t) { t.device_count = nullptr; }},
      {"device_info", [](Table &t) { t.device_info = nullptr; }},
      {"query_pointer", [](Table &t) { t.query_pointer = nullptr; }},
      {"register_context", [](Table &t) { t.register_context = nullptr; }},
      {"host_alloc", [](Table &t) { t.host_alloc = nullptr; }},
      {"host_free", [](Table &t) { t.host_free = nullptr; }},
      {"preferred_staging", [](Table &t) { t.preferred_staging = nullptr; }},
      {"queue_create", [](Table &t) { t.queue_create = nullptr; }},
      {"queue_destroy", [](Table &t) { t.queue_destroy = nullptr; }},
      {"enqueue_copies", [](Table &t) { t.enqueue_copies = nullptr; }},
      {"enqueue_ticket", [](Table &t) { t.enqueue_ticket = nullptr; }},
      {"test_ticket", [](Table &t) { t.test_ticket = nullptr; }},
      {"wait_ticket", [](Table &t) { t.wait_ticket = nullptr; }},
      {"copy", [](Table &t) { t.copy = nullptr; }},
  };
  for (const auto &[member, dig] : holes) {
    Table table = fake.table();
    dig(table);
    Status status;
    EXPECT_EQ(Backend::over_table(&table, &status), nullptr) << member;
    EXPECT_EQ(status.kind(), ErrorKind::kBackend) << member;
  }
  EXPECT_EQ(fake.calls(Call::kInit), 0) << "a table with a hole was started";
}

namespace {

// Every optional group whole; the functions do nothing.
sluice_backend_t table_with_all_groups(const FakeBackend &fake) {
  sluice_backend_t whole = fake.table();
  whole.program_set_device = [](int32_t) { return SLUICE_SUCCESS; };
  whole.program_alloc = [](sluice_memory_kind_t, size_t, void **) { return SLUICE_SUCCESS; };
  whole.program_free = [](void *) { return SLUICE_SUCCESS; };
  whole.program_copy = [](void *, const void *, size_t) { return SLUICE_SUCCESS; };
  whole.program_synchronize = []() { return SLUICE_SUCCESS; };
  whole.ipc_export = [](const void *, sluice_ipc_handle_t *, uint64_t *, uint64_t *) { return SLUICE_SUCCESS; };
  whole.ipc_open = [](int32_t, const sluice_ipc_handle_t *, void **, std::uint64_t *) { return SLUICE_SUCCESS; };
  whole.ipc_close = [](int32_t, void *) { return SLUICE_SUCCESS; };
  whole.support_words = []() -> const char *const * { return nullptr; };
  whole.memory_kind_words = []() -> const char *const * { return nullptr; };
  whole.can_reduce = [](int32_t, sluice_element_t, sluice_operation_t) { return 0; };
  whole.enqueue_reduction = [](sluice_queue_t *, const sluice_reduction_t *) { return SLUICE_SUCCESS; };
  whole.stream_query = [](const void *) { return -1; };
  whole.stream_open = [](void *, sluice_stream_t **, int32_t *) { return SLUICE_SUCCESS; };
  whole.stream_close = [](sluice_stream_t *) { return SLUICE_SUCCESS; };
  whole.stream_write = [](sluice_stream_t *, uint64_t *, uint64_t) { return SLUICE_SUCCESS; };
  whole.stream_wait = [](sluice_stream_t *, const uint64_t *, uint64_t) { return SLUICE_SUCCESS; };
  whole.stream_words = []() -> const char *const * { return nullptr; };
  whole.program_stream_create = [](void **) { return SLUICE_SUCCESS; };
  whole.program_stream_destroy = [](void *) { return SLUICE_SUCCESS; };
  whole.program_stream_copy = [](void *, void *, const void *, size_t) { return SLUICE_SUCCESS; };
  whole.program_stream_synchronize = [](void *) { return SLUICE_SUCCESS; };
  return whole;
}

}  // namespace

// Each group with a hole, at every place; whole and absent groups are taken.
TEST(Backend_OverTable, IsRefused_WhenAnOptionalGroupIsNotWhole) {
  const FakeBackend fake;
  using Table = sluice_backend_t;
  const Table whole = table_with_all_groups(fake);
  const std::vector<std::pair<const char *, std::function<void(Table &)>>> holes = {
      {"`program`", [](Table &t) { t.program_set_device = nullptr; }},
      {"`program`", [](Table &t) { t.program_alloc = nullptr; }},
      {"`program`", [](Table &t) { t.program_free = nullptr; }},
      {"`program`", [](Table &t) { t.program_copy = nullptr; }},
      {"`program`", [](Table &t) { t.program_synchronize = nullptr; }},
      {"`ipc`", [](Table &t) { t.ipc_export = nullptr; }},
      {"`ipc`", [](Table &t) { t.ipc_open = nullptr; }},
      {"`ipc`", [](Table &t) { t.ipc_close = nullptr; }},
      {"`words`", [](Table &t) { t.support_words = nullptr; }},
      {"`words`", [](Table &t) { t.memory_kind_words = nullptr; }},
      {"`reduce`", [](Table &t) { t.can_reduce = nullptr; }},
      {"`reduce`", [](Table &t) { t.enqueue_reduction = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_query = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_open = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_close = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_write = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_wait = nullptr; }},
      {"`stream`", [](Table &t) { t.stream_words = nullptr; }},
      {"`program_stream`", [](Table &t) { t.program_stream_create = nullptr; }},
      {"`program_stream`", [](Table &t) { t.program_stream_destroy = nullptr; }},
      {"`program_stream`", [](Table &t) { t.program_stream_copy = nullptr; }},
      {"`program_stream`", [](Table &t) { t.program_stream_synchronize = nullptr; }},
  };
  for (const auto &[group, dig] : holes) {
    Table table = whole;
    dig(table);
    Status status;
    EXPECT_EQ(Backend::over_table(&table, &status), nullptr) << group;
    EXPECT_EQ(status.kind(), ErrorKind::kBackend);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(group), HasSubstr("whole or not at all")));
  }
  EXPECT_EQ(fake.calls(Call::kInit), 0) << "a table with a hole was started";
  Status status;
  EXPECT_NE(Backend::over_table(&whole, &status), nullptr) << status.message();
}

TEST(Backend_OverTable, IsRefused_WhenAPartOfTheGroupPackIsThere) {
  const FakeBackend fake;
  sluice_backend_t table = fake.table();
  table.can_pack = [](int32_t) { return 0; };
  table.enqueue_pack = [](sluice_queue_t *, const sluice_pack_t *) { return SLUICE_SUCCESS; };
  table.device_alloc = [](int32_t, size_t, void **) { return SLUICE_SUCCESS; };
  Status status;
  EXPECT_EQ(Backend::over_table(&table, &status), nullptr);
  EXPECT_THAT(status.message(), HasSubstr("`pack`"));
  table.device_free = [](int32_t, void *) { return SLUICE_SUCCESS; };
  EXPECT_NE(Backend::over_table(&table, &status), nullptr) << status.message();
}

TEST(Backend_OverTable, IsRefused_WhenAPartOfTheGroupChannelIsThere) {
  const FakeBackend fake;
  sluice_backend_t table = fake.table();
  table.host_register = [](int32_t, void *, size_t) { return SLUICE_SUCCESS; };
  table.host_unregister = [](int32_t, void *) { return SLUICE_SUCCESS; };
  table.stream_copy = [](sluice_stream_t *, void *, const void *, size_t) { return SLUICE_SUCCESS; };
  Status status;
  EXPECT_EQ(Backend::over_table(&table, &status), nullptr);
  EXPECT_THAT(status.message(), HasSubstr("`channel`"));
  table.stream_take = [](sluice_stream_t *, void *, const sluice_units_t *, size_t, const uint64_t *) {
    return SLUICE_SUCCESS;
  };
  EXPECT_NE(Backend::over_table(&table, &status), nullptr) << status.message();
}

TEST(Backend_OverTable, TakesALongerTable) {
  const FakeBackend fake;
  sluice_backend_t table = fake.table();
  table.struct_size += 64;  // a later library of the same version appended members
  Status status;
  EXPECT_NE(Backend::over_table(&table, &status), nullptr) << status.message();
}

TEST(Backend_OverTable, EndsOnlyWhatStarted) {
  FakeBackend fake;
  Status status;
  fake.fail(Call::kInit, SLUICE_ERROR_NATIVE, "FAKE_ASLEEP");
  EXPECT_EQ(Backend::over_table(&fake.table(), &status), nullptr);
  EXPECT_THAT(status.message(), HasSubstr("FAKE_ASLEEP"));
  EXPECT_EQ(fake.finis(), 0);
  Backend::over_table(&fake.table(), &status).reset();
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(fake.finis(), 1);
}

class Backend_Check : public ::testing::Test {  // NOLINT(readability-identifier-naming): a test suite's name
 protected:
  Backend_Check() : backend_(Backend::over_table(&fake_.table(), &status_)) {}

  // The Status of an answer whose native text is `native`.
  Status after(sluice_result_t result, const std::string &native) {
    fake_.fail(Call::kRegisterContext, result, native);
    return backend_->check(backend_->table().register_context(nullptr), "do the thing");
  }

  FakeBackend fake_;
  Status status_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(Backend_Check, NamesTheBackend_TheThing_AndTheNativeText) {
  const Status status = after(SLUICE_ERROR_NATIVE, "FAKE_LOST 17: cable");
  EXPECT_EQ(status.kind(), ErrorKind::kBackend);
  EXPECT_THAT(status.message(), HasSubstr("fake0 could not do the thing: FAKE_LOST 17: cable; "));
}

TEST_F(Backend_Check, ChoosesTheKindAndARemedy) {
  EXPECT_TRUE(after(SLUICE_SUCCESS, "").is_ok());
  EXPECT_EQ(after(SLUICE_ERROR_OUT_OF_MEMORY, "x").kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(after(SLUICE_ERROR_OUT_OF_MEMORY, "x").message(), HasSubstr("device_pool_bytes"));
  EXPECT_EQ(after(SLUICE_ERROR_INVALID_ARGUMENT, "x").kind(), ErrorKind::kBadBuffer);
  EXPECT_EQ(after(SLUICE_ERROR_NO_DEVICE, "x").kind(), ErrorKind::kBackend);
  EXPECT_EQ(after(SLUICE_ERROR_UNSUPPORTED, "x").kind(), ErrorKind::kBackend);
}

TEST_F(Backend_Check, SaysSo_WhenThereIsNoNativeText) {
  EXPECT_THAT(after(SLUICE_ERROR_NATIVE, "").message(), HasSubstr("no native text"));
}

TEST_F(Backend_Check, LendsALog) {
  const sluice_host_services_t *services = fake_.services();
  ASSERT_NE(services, nullptr);
  EXPECT_EQ(services->struct_size, sizeof(sluice_host_services_t));
  log::set_level(log::Level::kDebug);
  ::testing::internal::CaptureStderr();
  services->log(0, "zero");
  services->log(3, "three");
  services->log(-1, "below");
  services->log(4, "above");
  services->log(1, nullptr);
  const std::string text = ::testing::internal::GetCapturedStderr();
  log::set_level(log::Level::kWarn);
  EXPECT_THAT(text, AllOf(HasSubstr("error backend zero\n"), HasSubstr("debug backend three\n")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(Backend_Check, LendsTheKnobs) {
  const sluice_host_services_t *services = fake_.services();
  ASSERT_NE(services, nullptr);
  ASSERT_EQ(setenv("SLUICE_FAKE_DEPTH", "3", 1), 0);
  EXPECT_STREQ(services->knob("SLUICE_FAKE_DEPTH"), "3");
  EXPECT_EQ(services->knob("HOME"), nullptr);
  EXPECT_EQ(services->knob(nullptr), nullptr);
  ASSERT_EQ(unsetenv("SLUICE_FAKE_DEPTH"), 0);
}

// backend.h: "its default when unset; NULL for a name not listed".
TEST_F(Backend_Check, LendsTheDefault_WhenAKnobIsUnset) {
  EXPECT_STREQ(fake_.services()->knob("SLUICE_FAKE_DEPTH"), "7");
  EXPECT_EQ(fake_.services()->knob("SLUICE_FAKE_WIDTH"), nullptr);
  ASSERT_EQ(setenv("SLUICE_FAKE_WIDTH", "3", 1), 0);
  EXPECT_EQ(fake_.services()->knob("SLUICE_FAKE_WIDTH"), nullptr) << "not listed by the module";
  ASSERT_EQ(unsetenv("SLUICE_FAKE_WIDTH"), 0);
}

}  // namespace
}  // namespace sluice::device::backend_test
