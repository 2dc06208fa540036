// SPDX-License-Identifier: BSD-3-Clause
// Device memory of one process used by another.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "ipc_case.h"
#include "pattern.h"

using conformance::Answer;
using conformance::ask_for;
using conformance::Export;
using conformance::export_here;
using conformance::kBytes;
using conformance::Memory;
using conformance::Peer;
using conformance::table;
using conformance::text_of;

namespace conformance::ipc_test {
TEST(Ipc, Group_IsWholeOrAbsent) {
  const int n_there = (table().ipc_export != nullptr ? 1 : 0) + (table().ipc_open != nullptr ? 1 : 0) +
                      (table().ipc_close != nullptr ? 1 : 0);
  EXPECT_TRUE(n_there == 0 || n_there == 3) << n_there << " of 3";
}

TEST(Ipc, Export_SaysWhereTheAddressLies) {
  SKIP_WITHOUT_IPC();
  for (const size_t size : {size_t{1}, size_t{100}, size_t{4096}, size_t{65537}, kBytes, size_t{9} << 20U}) {
    MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, size);
    Export first;
    ASSERT_ANSWER(export_here(memory.data(), &first));
    EXPECT_GE(first.size_bytes, first.base_offset + size) << size;
    sluice_pointer_info_t info{};
    ASSERT_OK(table().query_pointer(memory.data(), &info));
    for (const size_t offset : {size / 3, size / 2, size - 1}) {
      Export inside;
      ASSERT_ANSWER(export_here(memory.data() + offset, &inside));
      EXPECT_GE(inside.size_bytes, inside.base_offset + size - offset);
      if (info.allocation_id == 0) continue;  // mapped piece by piece: a handle may begin at any of them
      EXPECT_EQ(inside.base_offset, first.base_offset + offset);
      EXPECT_EQ(inside.size_bytes, first.size_bytes);
      EXPECT_EQ(std::memcmp(inside.handle.bytes, first.handle.bytes, sizeof first.handle.bytes), 0)
          << "one allocation, two handles";
    }
  }
}

TEST(Ipc, Export_TellsAllocationsApart) {
  SKIP_WITHOUT_IPC();
  MAKE_MEMORY_OR_SKIP(one, SLUICE_MEMORY_DEVICE, 0, 5000);
  MAKE_MEMORY_OR_SKIP(other, SLUICE_MEMORY_DEVICE, 0, 5000);
  Export first;
  Export second;
  ASSERT_ANSWER(export_here(one.data(), &first));
  ASSERT_ANSWER(export_here(other.data(), &second));
  EXPECT_TRUE(std::memcmp(first.handle.bytes, second.handle.bytes, sizeof first.handle.bytes) != 0 ||
              first.base_offset != second.base_offset);
}

TEST(Ipc, Export_OfOtherMemory_IsRefused) {
  SKIP_WITHOUT_IPC();
  for (const sluice_memory_kind_t kind : {SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED, SLUICE_MEMORY_SHARED}) {
    Memory memory;
    const std::string why = Memory::make(kind, 0, 10000, &memory);
    if (why.starts_with("SLUICE_ERROR_UNSUPPORTED")) continue;
    ASSERT_EQ(why, "");
    Export none;
    EXPECT_EQ(export_here(memory.data() + 7, &none).result, SLUICE_ERROR_UNSUPPORTED) << conformance::kind_name(kind);
    EXPECT_STRNE(table().last_error(), "");
  }
  Export none;
  EXPECT_EQ(export_here(nullptr, &none).result, SLUICE_ERROR_UNSUPPORTED);
}

// Read and written by another process at several offsets, whole and in part, on every pair of devices.
TEST(Ipc, Bytes_GoBothWays) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  size_t mapping = 0;
  uint64_t iteration = 100;
  for (int32_t owner = 0; owner < table().device_count(); ++owner) {
    for (int32_t user = 0; user < table().device_count(); ++user) {
      MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, owner, kBytes);
      Export made;
      ASSERT_ANSWER(export_here(memory.data() + 3, &made));
      const size_t base = made.base_offset - 3;  // where the memory begins in the mapping
      const Answer opened = peer.open(user, made.handle);
      if (opened.result == SLUICE_ERROR_UNSUPPORTED) {
        std::printf("device %d does not reach device %d: %s\n", user, owner, opened.text.c_str());
        continue;
      }
      ASSERT_TRUE(opened.is_ok()) << opened.text;
      EXPECT_EQ(peer.ask("kind" + text_of(mapping) + text_of(base + kBytes / 2)).text, "device");
      for (const size_t size : {size_t{1}, size_t{7}, size_t{4096}, size_t{65537}, kBytes}) {
        const size_t offset = size == kBytes ? 0 : size_t{13};
        ++iteration;
        ASSERT_EQ(memory.write(conformance::pattern(size, iteration), offset), "");
        ASSERT_ANSWER(peer.ask(ask_for("check", mapping, base + offset, size, iteration)));
        ++iteration;
        ASSERT_EQ(memory.write(std::vector<std::byte>(kBytes)), "");
        ASSERT_ANSWER(peer.ask(ask_for("write", mapping, base + offset, size, iteration)));
        std::vector<std::byte> after;
        ASSERT_EQ(memory.read(&after), "");
        ASSERT_EQ(conformance::pattern_mismatch(std::span(after).subspan(offset, size), iteration), "");
        for (size_t i = 0; i < kBytes; ++i) {
          const bool is_inside = i >= offset && i - offset < size;
          ASSERT_TRUE(is_inside || after[i] == std::byte{0}) << "byte " << i << " was not to be written";
        }
      }
      ASSERT_ANSWER(peer.ask("close" + text_of(mapping)));
      ++mapping;
    }
  }
  EXPECT_OK(table().program_set_device(0));
  EXPECT_GT(mapping, 0U);
}

// The other direction of ownership: this process opens what the peer exports, all sizes, many at once.
TEST(Ipc, SeveralAllocations_AreOpenAtOnce) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  const conformance::Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  const std::vector<size_t> sizes = {1, 100, 4096, 4097, 65537, size_t{1} << 20U, size_t{3} << 20U, 512, 513, 8191};
  std::vector<std::byte *> bases;
  std::vector<Export> exports;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(peer.alloc(0, sizes[i]), "");
    ASSERT_ANSWER(peer.ask(ask_for("fill", i, 0, sizes[i], i)));
    Export made;
    ASSERT_ANSWER(peer.export_memory(i, 0, &made));
    void *base = nullptr;
    uint64_t mapped_bytes = 0;
    ASSERT_OK(table().ipc_open(0, &made.handle, &base, &mapped_bytes));
    ASSERT_NE(base, nullptr);
    bases.push_back(static_cast<std::byte *>(base));
    exports.push_back(made);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::byte> bytes(sizes[i]);
    ASSERT_OK(table().copy(queue.get(), bytes.data(), bases[i] + exports[i].base_offset, sizes[i]));
    ASSERT_EQ(conformance::pattern_mismatch(bytes, i), "") << "allocation " << i;
    const std::vector<std::byte> up = conformance::pattern(sizes[i], i + 50);
    ASSERT_OK(table().copy(queue.get(), bases[i] + exports[i].base_offset, up.data(), sizes[i]));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_ANSWER(peer.ask(ask_for("holds", i, 0, sizes[i], i + 50)));
    ASSERT_OK(table().ipc_close(0, bases[i]));
  }
}

// By the importer's runtime: a program's claim about its memory is checked against it.
TEST(Ipc, Open_SaysHowMuchIsMapped) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  const std::vector<size_t> sizes = {1, 100, 4096, 4097, 65537, kBytes};
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(peer.alloc(0, sizes[i]), "");
    Export made;
    ASSERT_ANSWER(peer.export_memory(i, 0, &made));
    for (int time = 0; time < 2; ++time) {  // mapped, and mapped already
      void *base = nullptr;
      void *again = nullptr;
      uint64_t mapped_bytes = 0;
      ASSERT_OK(table().ipc_open(0, &made.handle, &base, &mapped_bytes));
      EXPECT_GE(mapped_bytes, made.size_bytes) << "of " << sizes[i];
      // A driver that maps whole large pages may say those.
      EXPECT_LE(mapped_bytes, made.size_bytes + SLUICE_LARGE_PAGE_BYTES) << "of " << sizes[i];
      if (time == 1 && table().ipc_open(0, &made.handle, &again, &mapped_bytes) == SLUICE_SUCCESS) {
        EXPECT_GE(mapped_bytes, made.size_bytes) << "of " << sizes[i] << ", opened twice";
        EXPECT_OK(table().ipc_close(0, again));
      }
      EXPECT_OK(table().ipc_close(0, base));
    }
  }
}

TEST(Ipc, OneHandle_IsGoodForTwoProcesses) {
  SKIP_WITHOUT_IPC();
  const Peer one;
  const Peer other;
  ASSERT_EQ(one.problem() + other.problem(), "");
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, kBytes);
  ASSERT_EQ(memory.write(conformance::pattern(kBytes, 5)), "");
  Export made;
  ASSERT_ANSWER(export_here(memory.data(), &made));
  ASSERT_ANSWER(one.open(0, made.handle));
  ASSERT_ANSWER(other.open(0, made.handle));
  ASSERT_ANSWER(one.ask(ask_for("check", 0, made.base_offset, kBytes, 5)));
  ASSERT_ANSWER(other.ask(ask_for("check", 0, made.base_offset, kBytes, 5)));
  // One writes, the other sees it; and one that closes takes nothing from the other.
  ASSERT_ANSWER(one.ask(ask_for("write", 0, made.base_offset, 70001, 6)));
  ASSERT_ANSWER(one.ask("close 0"));
  ASSERT_ANSWER(other.ask(ask_for("check", 0, made.base_offset, 70001, 6)));
  ASSERT_ANSWER(other.ask("close 0"));
}

TEST(Ipc, HandleOfThisProcess_IsRefused) {
  SKIP_WITHOUT_IPC();
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 4096);
  Export made;
  ASSERT_ANSWER(export_here(memory.data(), &made));
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  EXPECT_EQ(table().ipc_open(0, &made.handle, &base, &mapped_bytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(base, nullptr);
}

TEST(Ipc, BytesThatAreNoHandle_AreRefused) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  ASSERT_EQ(peer.alloc(0, 4096), "");
  Export made;
  ASSERT_ANSWER(peer.export_memory(0, 0, &made));
  std::vector<sluice_ipc_handle_t> garbage(3);
  std::memset(garbage[1].bytes, 0xFF, sizeof garbage[1].bytes);
  std::memset(garbage[2].bytes, 0x01, sizeof garbage[2].bytes);
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    sluice_ipc_handle_t noise{};
    for (uint8_t &byte : noise.bytes) byte = static_cast<uint8_t>(random());
    // Some begin as a handle does.
    if (i % 2 == 0) std::memcpy(noise.bytes, made.handle.bytes, static_cast<size_t>(i) % 48);
    garbage.push_back(noise);
  }
  for (const size_t kept : {size_t{1}, size_t{4}, size_t{8}, size_t{32}, size_t{64}}) {
    sluice_ipc_handle_t cut{};
    std::memcpy(cut.bytes, made.handle.bytes, kept);
    // A short handle may end before that.
    if (std::memcmp(cut.bytes, made.handle.bytes, sizeof cut.bytes) != 0) garbage.push_back(cut);
  }
  for (size_t i = 0; i < sizeof made.handle.bytes; ++i) {
    sluice_ipc_handle_t changed = made.handle;
    changed.bytes[i] ^= static_cast<uint8_t>(1U << (i % 8));
    garbage.push_back(changed);
  }
  for (size_t i = 0; i < garbage.size(); ++i) {
    void *base = nullptr;
    uint64_t mapped_bytes = 0;
    EXPECT_NE(table().ipc_open(0, &garbage[i], &base, &mapped_bytes), SLUICE_SUCCESS) << "bytes number " << i;
    EXPECT_STRNE(table().last_error(), "") << "bytes number " << i;
    EXPECT_EQ(base, nullptr) << "bytes number " << i;
  }
  // And the handle itself is as good as before.
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  ASSERT_OK(table().ipc_open(0, &made.handle, &base, &mapped_bytes));
  EXPECT_OK(table().ipc_close(0, base));
}

TEST(Ipc, BadDevicesAndAddresses_AreRefused) {
  SKIP_WITHOUT_IPC();
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  ASSERT_EQ(peer.alloc(0, 4096), "");
  Export made;
  ASSERT_ANSWER(peer.export_memory(0, 0, &made));
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  EXPECT_EQ(table().ipc_open(-1, &made.handle, &base, &mapped_bytes), SLUICE_ERROR_NO_DEVICE);
  EXPECT_EQ(table().ipc_open(table().device_count(), &made.handle, &base, &mapped_bytes), SLUICE_ERROR_NO_DEVICE);
  MAKE_MEMORY_OR_SKIP(own, SLUICE_MEMORY_DEVICE, 0, 4096);
  EXPECT_NE(table().ipc_close(0, own.data()), SLUICE_SUCCESS) << "closed what was not opened";
  EXPECT_NE(table().ipc_close(0, &base), SLUICE_SUCCESS);
  ASSERT_OK(table().ipc_open(0, &made.handle, &base, &mapped_bytes));
  EXPECT_OK(table().ipc_close(0, base));
  EXPECT_NE(table().ipc_close(0, base), SLUICE_SUCCESS) << "closed twice";
}

TEST(Ipc, CurrentDevice_IsAsBefore) {
  SKIP_WITHOUT_IPC();
  if (table().device_count() < 2) GTEST_SKIP() << "missing: a second device";
  const Peer peer;
  ASSERT_EQ(peer.problem(), "");
  ASSERT_EQ(peer.alloc(0, 4096), "");
  Export theirs;
  ASSERT_ANSWER(peer.export_memory(0, 0, &theirs));
  MAKE_MEMORY_OR_SKIP(own, SLUICE_MEMORY_DEVICE, 0, 4096);
  ASSERT_OK(table().program_set_device(1));
  const auto expect_still_on_1 = [](const char *after) {
    void *memory = nullptr;
    EXPECT_OK(table().program_alloc(SLUICE_MEMORY_DEVICE, 4096, &memory));
    sluice_pointer_info_t info{};
    EXPECT_OK(table().query_pointer(memory, &info));
    EXPECT_EQ(info.device, 1) << "after " << after;
    EXPECT_OK(table().program_free(memory));
  };
  Export made;
  EXPECT_TRUE(export_here(own.data(), &made).is_ok());
  expect_still_on_1("ipc_export");
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  ASSERT_OK(table().ipc_open(0, &theirs.handle, &base, &mapped_bytes));
  expect_still_on_1("ipc_open");
  EXPECT_OK(table().ipc_close(0, base));
  expect_still_on_1("ipc_close");
  const sluice_ipc_handle_t none{};
  EXPECT_NE(table().ipc_open(0, &none, &base, &mapped_bytes), SLUICE_SUCCESS);
  expect_still_on_1("a refused ipc_open");
  EXPECT_OK(table().program_set_device(0));
}

}  // namespace conformance::ipc_test
