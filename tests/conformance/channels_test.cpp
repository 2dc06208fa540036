// SPDX-License-Identifier: BSD-3-Clause
// The group `channel`: what the stream of one process sends to that of another.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <span>
#include <string>
#include <thread>
#include <vector>

#include "copy_checker.h"
#include "ipc_case.h"
#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "shared_page.h"
#include "stream_case.h"

using conformance::Export;
using conformance::export_here;
using conformance::Memory;
using conformance::Peer;
using conformance::SharedPage;
using conformance::Stream;
using conformance::table;
using conformance::text_of;
using conformance::Words;

namespace conformance::channels_test {
namespace {

constexpr size_t kMost = 70001;

bool has_channel_groups() {
  return conformance::has_stream_groups() && table().stream_take != nullptr;
}

// "" where streams of device 0 reach memory that processes share; else what the backend says.
std::string why_out_of_reach() {
  const SharedPage page;
  const sluice_result_t result = table().host_register(0, page.data(), page.size_bytes());
  if (result == SLUICE_ERROR_UNSUPPORTED) return table().last_error();
  EXPECT_OK(result);
  EXPECT_OK(table().host_unregister(0, page.data()));
  return "";
}

// All poisoned but the first `size` bytes, which are the pattern's.
std::string find_error(const Memory &memory, size_t size, uint64_t iteration) {
  std::vector<std::byte> bytes;
  std::string problem = memory.read(&bytes);
  if (problem.empty()) problem = conformance::pattern_mismatch(std::span(bytes).first(size), iteration);
  for (size_t i = size; problem.empty() && i < bytes.size(); ++i) {
    if (bytes[i] != kPoison) problem = "byte " + std::to_string(i) + " behind the end was written";
  }
  return problem;
}

// Pages that are registered for device 0.
class Registered {
 public:
  explicit Registered(size_t n_pages = 1) : page_(n_pages) {
    EXPECT_OK(table().host_register(0, page_.data(), page_.size_bytes()));
  }
  ~Registered() { EXPECT_OK(table().host_unregister(0, page_.data())); }
  Registered(const Registered &) = delete;
  Registered &operator=(const Registered &) = delete;
  const SharedPage &page() const { return page_; }
  uint64_t *at(size_t index) const { return page_.data() + index; }

 private:
  SharedPage page_;
};

}  // namespace

#define SKIP_WITHOUT_CHANNEL_GROUPS()                                                              \
  if (!has_channel_groups())                                                                       \
    GTEST_SKIP() << "missing: the groups channel and stream, for streams that send by themselves"; \
  if (const std::string why_not = why_out_of_reach(); !why_not.empty())                            \
  GTEST_SKIP() << "missing: a device that reaches memory that processes share: " << why_not

TEST(Channels, Group_IsWholeOrAbsent) {
  const int n_there = (table().host_register != nullptr ? 1 : 0) + (table().host_unregister != nullptr ? 1 : 0) +
                      (table().stream_copy != nullptr ? 1 : 0) + (table().stream_take != nullptr ? 1 : 0);
  EXPECT_TRUE(n_there == 0 || n_there == 4) << n_there << " of 4";
  EXPECT_TRUE(n_there == 0 ||
              (table().stream_open != nullptr && table().ipc_open != nullptr && table().device_alloc != nullptr));
}

// Copies between commands of the program's keep their place, and whoever sees the word sees their bytes.
TEST(Channels, Copy_KeepsItsPlace) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_PINNED, 0, kMost);
  MAKE_MEMORY_OR_SKIP(one, SLUICE_MEMORY_DEVICE, 0, kMost);
  MAKE_MEMORY_OR_SKIP(two, SLUICE_MEMORY_DEVICE, 0, kMost);
  MAKE_MEMORY_OR_SKIP(back, SLUICE_MEMORY_PINNED, 0, kMost);
  const Words words(2);
  const Stream stream;
  for (uint64_t iteration = 1; iteration <= 10; ++iteration) {
    const size_t size = iteration % 2 == 0 ? kMost : 7 * iteration;
    ASSERT_EQ(poison(two), "");
    ASSERT_EQ(from.write(conformance::pattern(kMost, iteration)), "");
    stream.wait(words.at(1), iteration);
    stream.copy(one.data(), from.data(), kMost);
    ASSERT_OK(table().stream_copy(stream.get(), two.data(), one.data(), size));
    ASSERT_OK(table().stream_copy(stream.get(), one.data(), two.data(), 0));
    stream.copy(back.data(), two.data(), kMost);
    stream.write(words.at(0), iteration);
    words.set(1, iteration);
    words.await(0, iteration);
    ASSERT_EQ(find_error(back, size, iteration), "") << "iteration " << iteration;
  }
  stream.synchronize();
}

// As many bytes as the word says, never more than was asked for; no other byte is written.
TEST(Channels, Take_GoesByTheWord) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_DEVICE, 0, kMost + 3);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, kMost + 1);
  const Words words(1);
  const Stream stream;
  ASSERT_EQ(from.write(conformance::pattern(kMost, 5), 3), "");
  constexpr uint64_t kNumber = uint64_t{77} << 32U;
  const sluice_units_t one = {from.data() + 3, kMost, kMost};
  for (const size_t length :
       {size_t{0}, size_t{1}, size_t{15}, size_t{4096}, kMost - 1, kMost, kMost + 1, size_t{0xFFFFFF}}) {
    ASSERT_EQ(poison(to), "");
    words.set(0, kNumber | length);
    ASSERT_OK(table().stream_take(stream.get(), to.data(), &one, kMost, words.at(0)));
    stream.synchronize();
    ASSERT_EQ(find_error(to, std::min(length, kMost), 5), "") << length << " bytes";
  }
  ASSERT_EQ(poison(to), "");
  ASSERT_OK(table().stream_take(stream.get(), to.data(), &one, 0, words.at(0)));
  stream.synchronize();
  ASSERT_EQ(find_error(to, 0, 5), "");
}

// And from where the word says: the units before are longer than the buffer, and what is behind is not there.
TEST(Channels, Take_GoesToTheUnitOfTheWord) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  constexpr size_t kUnit = 273;
  constexpr size_t kUnits = 256;
  constexpr size_t kBuffer = 1000;
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_DEVICE, 0, kUnit * kUnits);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, kBuffer + 1);
  const Words words(1);
  const Stream stream;
  const sluice_units_t units = {from.data(), kUnit * kUnits, kUnit};
  for (const uint64_t unit : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{254}, uint64_t{255}}) {
    const size_t length = std::min((kUnits - unit) * kUnit, kBuffer + 5);
    ASSERT_EQ(poison(from), "");
    ASSERT_EQ(from.write(conformance::pattern(length, unit), unit * kUnit), "");
    ASSERT_EQ(poison(to), "");
    words.set(0, uint64_t{3} << 32U | unit << SLUICE_LENGTH_BITS | length);
    ASSERT_OK(table().stream_take(stream.get(), to.data(), &units, kBuffer, words.at(0)));
    stream.synchronize();
    ASSERT_EQ(find_error(to, std::min(length, kBuffer), unit), "") << "unit " << unit;
  }
}

// Another process writes the word, and may write anything: no byte behind the units is read, or said to be there.
TEST(Channels, Take_OfMoreThanTheUnits_EndsWithThem) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  constexpr size_t kUnit = 272;
  constexpr size_t kUnits = 5;
  constexpr size_t kBuffer = 1000;
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_DEVICE, 0, kUnit * 300);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, kBuffer + 1);
  const Words words(1);
  const Stream stream;
  const sluice_units_t units = {from.data(), kUnit * kUnits, kUnit};
  ASSERT_EQ(from.write(conformance::pattern(kUnit * 300, 9)), "");
  for (const uint64_t unit : {uint64_t{3}, uint64_t{4}, uint64_t{5}, uint64_t{6}, uint64_t{255}}) {
    const size_t room = unit < kUnits ? (kUnits - unit) * kUnit : 0;
    ASSERT_EQ(from.write(conformance::pattern(kUnit * 2, unit), unit * kUnit), "");
    ASSERT_EQ(poison(to), "");
    words.set(0, uint64_t{3} << 32U | unit << SLUICE_LENGTH_BITS | 0xFFFFFFU);
    ASSERT_OK(table().stream_take(stream.get(), to.data(), &units, kBuffer, words.at(0)));
    stream.synchronize();
    ASSERT_EQ(find_error(to, std::min(room, kBuffer), unit), "") << "unit " << unit;
  }
}

TEST(Channels, Take_OfNoUnits_IsRefused) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, 8);
  const Words words(1);
  const Stream stream;
  EXPECT_EQ(table().stream_take(stream.get(), to.data(), nullptr, 8, words.at(0)), SLUICE_ERROR_INVALID_ARGUMENT);
}

// The word counts that is there when the stream comes, not when the command is enqueued.
TEST(Channels, Take_LooksWhenTheStreamComesToIt) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_DEVICE, 0, kMost);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, kMost);
  const Registered words;
  const Stream stream;
  const sluice_units_t one = {from.data(), kMost, kMost};
  for (uint64_t k = 1; k <= 20; ++k) {
    const size_t length = 911 * k;
    ASSERT_EQ(from.write(conformance::pattern(kMost, k)), "");
    ASSERT_EQ(poison(to), "");
    stream.wait(words.at(0), k << 32U);
    ASSERT_OK(table().stream_take(stream.get(), to.data(), &one, kMost, words.at(0)));
    stream.write(words.at(1), k);
    words.page().set(0, k << 32U | length);
    stream.synchronize();
    ASSERT_EQ(words.page().get(1), k);
    ASSERT_EQ(find_error(to, length, k), "") << "message " << k;
  }
}

// One page, mapped twice: what is written through one mapping lets a stream pass that waits through the other.
TEST(Channels, Words_HaveSeveralMappings) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  const Registered words;
  const SharedPage other(words.page().path());
  ASSERT_NE(other.data(), nullptr);
  ASSERT_NE(other.data(), words.page().data());
  EXPECT_OK(table().host_register(0, other.data(), SharedPage::kBytes));
  {
    const Stream first;
    const Stream second;
    for (uint64_t k = 1; k <= 100; ++k) {
      first.wait(words.at(0), k);
      first.write(words.at(9), k);
      second.wait(other.data() + 9, k);
      second.write(other.data() + 17, k);
      if (k % 2 == 0) other.set(0, k);
    }
    first.synchronize();
    second.synchronize();
  }
  EXPECT_EQ(words.page().get(17), 100U);
  EXPECT_OK(table().host_unregister(0, other.data()));
}

TEST(Channels, MemoryThatIsNotRegistered_HasNoWords) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 64);
  const SharedPage page;
  ASSERT_NE(page.data(), nullptr);
  const Stream stream;
  EXPECT_EQ(table().stream_wait(stream.get(), page.data(), 1), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(table().host_register(0, page.data(), SharedPage::kBytes));
  stream.write(page.data(), 1);
  stream.synchronize();
  EXPECT_EQ(page.get(0), 1U);
  EXPECT_OK(table().host_unregister(0, page.data()));
  EXPECT_EQ(table().stream_write(stream.get(), page.data(), 2), SLUICE_ERROR_INVALID_ARGUMENT);
  const sluice_units_t half = {memory.data() + 32, 32, 32};
  EXPECT_EQ(table().stream_take(stream.get(), memory.data(), &half, 32, page.data()), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  stream.synchronize();
  EXPECT_EQ(page.get(0), 1U);
}

// Once memory is given back its addresses are anybody's: what comes to lie there is copied as any other memory, also
// when a stream waited meanwhile. Until then, it is good for words as before.
TEST(Channels, GivenBackWhileAStreamWaits_LeavesNothingUnderTheAddresses) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  constexpr size_t kPages = 18;  // longer than what a driver copies by hand
  constexpr size_t kBytes = kPages * SharedPage::kBytes;
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, kBytes);
  const Words words(1);
  const Stream stream;
  void *pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_OK(table().host_register(0, pages, kBytes));
  stream.wait(words.at(0), 1);
  sluice_result_t result = table().host_unregister(0, pages);
  const bool is_kept = result == SLUICE_NOT_READY;
  if (!is_kept) EXPECT_OK(result);
  words.set(0, 1);
  stream.synchronize();
  if (is_kept) {
    stream.write(static_cast<uint64_t *>(pages), 5);
    stream.synchronize();
    EXPECT_EQ(*static_cast<uint64_t *>(pages), 5U);
    EXPECT_OK(table().host_unregister(0, pages));
  }
  ASSERT_EQ(mmap(pages, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), pages);
  ASSERT_EQ(memory.write(conformance::pattern(kBytes, 3)), "");
  EXPECT_OK(table().program_copy(pages, memory.data(), kBytes));
  EXPECT_EQ(conformance::pattern_mismatch(std::span(static_cast<const std::byte *>(pages), kBytes), 3), "");
  munmap(pages, kBytes);
}

// The word that a stream writes behind a copy into memory that processes share comes behind its bytes for whoever looks
// through another mapping, and a stream takes them out of it.
TEST(Channels, RegisteredMemory_HoldsWhatStreamsCopy) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  constexpr size_t kUnit = 70144;  // longer than kMost
  constexpr size_t kUnits = 3;
  constexpr uint64_t kMessages = 60;
  MAKE_MEMORY_OR_SKIP(from, SLUICE_MEMORY_DEVICE, 0, kMost);
  MAKE_MEMORY_OR_SKIP(to, SLUICE_MEMORY_DEVICE, 0, kMost + 1);
  const Registered words(2 + kUnit * kUnits / SharedPage::kBytes);
  const SharedPage other(words.page().path(), 2 + kUnit * kUnits / SharedPage::kBytes);
  ASSERT_NE(other.data(), nullptr);
  std::byte *slots = words.page().behind();
  const sluice_units_t units = {slots, kUnit * kUnits, kUnit};
  const Stream first;
  const Stream second;
  for (uint64_t k = 1; k <= kMessages; ++k) {
    const size_t size = 1201 * k % kMost;
    const uint64_t unit = k % kUnits;
    ASSERT_EQ(from.write(conformance::pattern(kMost, k)), "");
    ASSERT_EQ(poison(to), "");
    second.wait(words.at(0), k << 32U);
    ASSERT_OK(table().stream_take(second.get(), to.data(), &units, kMost, words.at(0)));
    second.write(words.at(8), k);
    ASSERT_OK(table().stream_copy(first.get(), slots + unit * kUnit, from.data(), size));
    first.write(words.at(0), k << 32U | unit << SLUICE_LENGTH_BITS | size);
    while (other.get(0) < k << 32U) std::this_thread::yield();
    ASSERT_EQ(conformance::pattern_mismatch(std::span(other.behind() + unit * kUnit, size), k), "") << "message " << k;
    second.synchronize();
    ASSERT_EQ(words.page().get(8), k);
    ASSERT_EQ(find_error(to, size, k), "") << "message " << k;
  }
  first.synchronize();
}

namespace {

constexpr size_t kSlotBytes = 5003;
constexpr uint64_t kMessages = 40;

// Another process's stream sends into a slot that this one's takes each message out of. `handle_and_offset` is what
// the peer is told of the slot.
void receive_from_another_process(const void *slot, const Registered &words, const std::string &handle_and_offset) {
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  std::vector<Memory> messages(kMessages);
  for (Memory &message : messages) {
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kSlotBytes, &message), "");
    ASSERT_EQ(poison(message), "");
  }
  const sluice_units_t one = {slot, kSlotBytes, kSlotBytes};
  {
    const Stream stream;
    for (uint64_t k = 1; k <= kMessages; ++k) {
      stream.wait(words.at(1), k << 32U);
      ASSERT_OK(table().stream_take(stream.get(), messages[k - 1].data(), &one, kSlotBytes, words.at(1)));
      stream.write(words.at(0), k);
    }
    const conformance::Answer sent =
        peer.ask("send 0 " + words.page().path() + " " + handle_and_offset + text_of(kSlotBytes) + text_of(kMessages));
    // A stream that waits for ever would hold up the end of this process.
    if (!sent.is_ok()) words.page().set(1, ~uint64_t{0} >> 1U);
    EXPECT_TRUE(sent.is_ok()) << sent.text;
    stream.synchronize();
  }
  for (uint64_t k = 1; k <= kMessages && !testing::Test::HasFailure(); ++k) {
    EXPECT_EQ(find_error(messages[k - 1], 97 * k % (kSlotBytes + 1), k), "") << "message " << k;
  }
}

}  // namespace

// The whole, with a slot in device memory.
TEST(Channels, StreamsOfTwoProcesses) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  SKIP_WITHOUT_IPC();
  void *slot = nullptr;
  ASSERT_OK(table().device_alloc(0, kSlotBytes, &slot));
  Export made;
  ASSERT_ANSWER(export_here(slot, &made));
  const Registered words;
  receive_from_another_process(slot, words, conformance::to_hex(made.handle) + text_of(made.base_offset));
  EXPECT_OK(table().device_free(0, slot));
}

// And behind the words, in memory of the host.
TEST(Channels, StreamsOfTwoProcesses_ByTheHostsMemory) {
  SKIP_WITHOUT_CHANNEL_GROUPS();
  const Registered words(kSlotBytes / SharedPage::kBytes + 2);
  receive_from_another_process(words.page().behind(), words, "- 0");
}

}  // namespace conformance::channels_test
