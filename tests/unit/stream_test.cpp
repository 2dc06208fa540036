// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program's: whose they are, and that words a stream may still look at are nobody else's.
#include "device/stream.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "fake_device.hpp"

namespace sluice::tests::stream_test {
namespace {

using device::Stream;
using device::StreamWords;
using ::testing::HasSubstr;

// What the table's functions below see; they carry no user data.
struct Runtime {
  std::int32_t answer = 1;  // of stream_query
  sluice_result_t result = SLUICE_SUCCESS;
  int n_open = 0;
  std::vector<std::pair<std::uint64_t *, std::uint64_t>> writes;  // enqueued, not run
  std::vector<std::pair<const std::uint64_t *, std::uint64_t>> waits;
};
Runtime runtime;

sluice_backend_t with_streams(sluice_backend_t table) {
  table.fini = [] {};  // the fake is gone when the registry is cleared
  table.stream_query = [](const void *) { return runtime.answer; };
  table.stream_open = [](void *native, sluice_stream_t **stream, std::int32_t *device) {
    *stream = static_cast<sluice_stream_t *>(native);
    *device = 1;
    runtime.n_open += runtime.result == SLUICE_SUCCESS ? 1 : 0;
    return runtime.result;
  };
  table.stream_close = [](sluice_stream_t *) {
    --runtime.n_open;
    return SLUICE_SUCCESS;
  };
  table.stream_write = [](sluice_stream_t *, std::uint64_t *word, std::uint64_t value) {
    runtime.writes.emplace_back(word, value);
    return runtime.result;
  };
  table.stream_wait = [](sluice_stream_t *, const std::uint64_t *word, std::uint64_t least) {
    runtime.waits.emplace_back(word, least);
    return runtime.result;
  };
  table.stream_words = []() -> const char *const * {
    static const char *const words[] = {"fake_stream_t", "fake_stream", nullptr};
    return words;
  };
  return table;
}

class StreamTest : public FakeDevice {
 protected:
  StreamTest() { runtime = {}; }
  ~StreamTest() override {
    stream.reset();
    run();
    EXPECT_EQ(device::free_words(), 0U);
    EXPECT_EQ(runtime.n_open, 0);
  }

  // The stream runs what is enqueued.
  static void run() {
    for (const auto &[word, value] : runtime.writes) __atomic_store_n(word, value, __ATOMIC_RELEASE);
    runtime.writes.clear();
  }

  // A backend with the group, behind the one of the fixture, which has none.
  void add_streams() {
    table = with_streams(other.table());
    Status status;
    std::unique_ptr<device::Backend> made = device::Backend::over_table(&table, &status);
    ASSERT_TRUE(status.is_ok()) << status.message();
    device::Registry::process().add(std::move(made));
  }

  FakeBackend other{1};
  static inline sluice_backend_t table;  // the registry looks at it until the end
  int native = 0;                        // its address is a stream
  std::unique_ptr<Stream> stream;
};

TEST_F(StreamTest, WithoutTheGroup_IsRefusedAndNamesWhoCannot) {
  const Status status = Stream::open(&native, &stream);
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("fake0"));
}

TEST_F(StreamTest, Null_IsRefused) {
  add_streams();
  EXPECT_EQ(Stream::open(nullptr, &stream).kind(), ErrorKind::kInvalidArgument);
}

TEST_F(StreamTest, WhatNobodyKnows_IsRefused_AndWhatOneCannotTell_IsTaken) {
  add_streams();
  runtime.answer = -1;
  const Status status = Stream::open(&native, &stream);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("is no stream of fake1 (and fake0 cannot"));
  runtime.answer = 0;
  EXPECT_TRUE(Stream::open(&native, &stream).is_ok());
  EXPECT_STREQ(stream->backend().name(), "fake1");
  EXPECT_EQ(stream->device(), 1);
}

TEST_F(StreamTest, ATypeNamesItsOwner_AndTheOwnerAloneIsAsked) {
  const device::Backend *owner = nullptr;
  const Status nobody = device::find_stream_owner("fake_stream_t", &owner);
  EXPECT_EQ(nobody.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(nobody.message(), HasSubstr("there are: none"));
  add_streams();
  const Status unknown = device::find_stream_owner("fake", &owner);
  EXPECT_EQ(unknown.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(unknown.message(), HasSubstr("of type fake (there are: fake_stream_t, fake_stream)"));
  EXPECT_EQ(owner, nullptr);
  ASSERT_TRUE(device::find_stream_owner("fake_stream", &owner).is_ok());
  EXPECT_STREQ(owner->name(), "fake1");
  runtime.answer = -1;
  EXPECT_EQ(Stream::open_of(*owner, &native, &stream).kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(Stream::open_of(*owner, nullptr, &stream).kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(runtime.n_open, 0);
  runtime.answer = 0;
  EXPECT_TRUE(Stream::open_of(*owner, &native, &stream).is_ok());
  EXPECT_EQ(runtime.n_open, 1);
}

TEST_F(StreamTest, RefusedByItsRuntime_LeavesNothing) {
  add_streams();
  runtime.result = SLUICE_ERROR_UNSUPPORTED;
  EXPECT_FALSE(Stream::open(&native, &stream).is_ok());
  EXPECT_EQ(stream, nullptr);
  runtime.result = SLUICE_SUCCESS;
  other.fail(Call::kHostAlloc, SLUICE_ERROR_OUT_OF_MEMORY, "no words");
  EXPECT_EQ(Stream::open(&native, &stream).kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(runtime.n_open, 0);
}

TEST_F(StreamTest, TriggersAndWaits_UseTheTwoWords) {
  add_streams();
  ASSERT_TRUE(Stream::open(&native, &stream).is_ok());
  EXPECT_TRUE(stream->enqueue_trigger(1).is_ok());
  EXPECT_TRUE(stream->enqueue_wait(1).is_ok());
  EXPECT_EQ(stream->triggered(), 0U);
  run();
  EXPECT_EQ(stream->triggered(), 1U);
  EXPECT_EQ(*runtime.waits[0].first, 0U);
  stream->complete(1);
  EXPECT_EQ(*runtime.waits[0].first, 1U);
}

TEST_F(StreamTest, WordsThatAStreamMayLookAt_AreNobodyElses) {
  add_streams();
  ASSERT_TRUE(Stream::open(&native, &stream).is_ok());
  EXPECT_TRUE(stream->enqueue_wait(7).is_ok());
  stream->complete(7);
  stream.reset();
  // The stream has not come to the end: its word keeps what it waits for.
  ASSERT_TRUE(Stream::open(&native, &stream).is_ok());
  EXPECT_TRUE(stream->enqueue_wait(1).is_ok());
  EXPECT_NE(runtime.waits[0].first, runtime.waits[1].first);
  EXPECT_EQ(*runtime.waits[0].first, 7U);
  EXPECT_EQ(device::free_words(), 1U);
  // Now it has.
  run();
  std::unique_ptr<Stream> third;
  ASSERT_TRUE(Stream::open(&native, &third).is_ok());
  EXPECT_TRUE(third->enqueue_wait(1).is_ok());
  EXPECT_EQ(*runtime.waits[2].first, 0U);
  // So all of them are free once the others are, too.
  stream->complete(1);
  third->complete(1);
  stream.reset();
  third.reset();
  run();
  EXPECT_EQ(device::free_words(), 0U);
}

}  // namespace
}  // namespace sluice::tests::stream_test
