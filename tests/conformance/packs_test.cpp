// SPDX-License-Identifier: BSD-3-Clause
// The group `pack`: data with gaps brought together and apart by the device, against a plain loop over its units.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pack_case.h"
#include "pattern.h"

using conformance::Memory;
using conformance::Queue;
using conformance::table;

namespace conformance::packs_test {
namespace {

constexpr size_t kRoomBytes = 24576;

// A layout in the words of the test: where each byte of the payload lies.
struct Case {
  const char *name;
  std::vector<sluice_dimension_t> dimensions;
  uint64_t run_bytes;  // of a core that is a run
  // Of one that is a list, in units of list_unit_bytes: first unit and length.
  std::vector<std::pair<int32_t, uint32_t>> blocks;
  uint32_t list_unit_bytes;
  size_t shift;         // of the core's origin
  size_t beside_shift;  // of the memory beside it
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"run", {}, 1000, {}, 1, 0, 0},
      {"vector of 8", {{300, 24}}, 8, {}, 1, 0, 0},
      {"vector of 8, not aligned", {{300, 24}}, 8, {}, 1, 3, 5},
      {"rows of 64 in planes", {{5, 2048}, {7, 256}}, 64, {}, 1, 0, 0},
      {"backwards", {{9, -80}}, 16, {}, 1, 2048, 8},
      {"six dimensions", {{2, 4096}, {2, 2000}, {2, 900}, {2, 400}, {3, 100}, {2, 40}}, 20, {}, 1, 0, 4},
      {"bytes", {{777, 3}}, 1, {}, 1, 1, 1},
      {"uniform list", {{3, 2000}}, 0, {{0, 2}, {9, 2}, {4, 2}, {30, 2}}, 8, 0, 0},
      {"uneven list", {{4, 1024}}, 0, {{0, 1}, {3, 4}, {10, 2}, {-8, 7}, {20, 30}}, 4, 64, 0},
      {"long uneven blocks", {{2, 8000}}, 0, {{700, 150}, {0, 300}, {320, 40}, {400, 257}}, 8, 0, 0},
      {"long uneven blocks of bytes", {}, 0, {{64, 999}, {0, 31}, {1200, 70}}, 1, 3, 5},
      {"uneven list of 16, not aligned", {}, 0, {{0, 5}, {8, 1}, {40, 9}}, 16, 6, 2},
  };
  return all;
}

// The words that follow the offsets of an uneven list.
void add_positions(const Case &given, uint32_t tile_shift, std::vector<uint32_t> *words) {
  std::vector<uint32_t> begins = {0};
  for (const auto &block : given.blocks) begins.push_back(begins.back() + block.second);
  words->insert(words->end(), begins.begin(), begins.end());
  uint32_t block = 0;
  for (uint32_t first = 0; first < begins.back(); first += 1U << tile_shift) {
    while (begins[block + 1] <= first) ++block;
    words->push_back(block);
  }
  words->push_back(static_cast<uint32_t>(given.blocks.size() - 1));
}

class Trial {
 public:
  Trial(const Case &given, sluice_memory_kind_t beside_kind) : case_(given), beside_kind_(beside_kind) {}
  ~Trial() {
    if (list_ == nullptr) return;
    EXPECT_EQ(table().device_free(0, list_), SLUICE_SUCCESS);
  }
  Trial(const Trial &) = delete;
  Trial &operator=(const Trial &) = delete;

  // "" or what is wrong.
  std::string run(sluice_queue_t *queue) {
    queue_ = queue;
    if (std::string why = prepare(); !why.empty()) return why;
    for (const sluice_pack_form_t form : {SLUICE_PACKED, SLUICE_IMAGE}) {
      for (const sluice_pack_direction_t direction : {SLUICE_PACK, SLUICE_UNPACK}) {
        const uint64_t all = offsets_.size();
        for (const auto &[first, size] : {std::pair<uint64_t, uint64_t>{0, all}, {all / 3, all / 2}, {1, 1}}) {
          std::string why = check(direction, form, first, size);
          if (!why.empty()) {
            return why + (form == SLUICE_IMAGE ? " of an image" : "") +
                   (direction == SLUICE_PACK ? ", packing" : ", unpacking") + " from " + std::to_string(first);
          }
        }
      }
    }
    return "";
  }

 private:
  static constexpr int64_t kOrigin = 8192;

  std::string prepare() {
    std::string why = Memory::make(SLUICE_MEMORY_DEVICE, 0, kRoomBytes, &memory_);
    if (why.empty()) why = Memory::make(beside_kind_, 0, kRoomBytes, &beside_);
    if (!why.empty()) return why;
    pack_ = {};
    sluice_layout_t &layout = pack_.layout;
    layout.n_dimensions = static_cast<uint32_t>(case_.dimensions.size());
    std::copy(case_.dimensions.begin(), case_.dimensions.end(), layout.dimensions);
    layout.core_bytes = case_.run_bytes;
    std::vector<int64_t> core;
    for (uint64_t i = 0; i < case_.run_bytes; ++i) core.push_back(static_cast<int64_t>(i));
    if (!case_.blocks.empty()) why = make_list(&core);
    // The innermost dimension is the last.
    offsets_ = core;
    for (size_t d = case_.dimensions.size(); d-- > 0;) {
      std::vector<int64_t> outer;
      for (uint64_t i = 0; i < case_.dimensions[d].count; ++i) {
        for (const int64_t offset : offsets_) {
          outer.push_back(offset + static_cast<int64_t>(i) * case_.dimensions[d].stride_bytes);
        }
      }
      offsets_ = std::move(outer);
    }
    pack_.lowest_bytes = *std::min_element(offsets_.begin(), offsets_.end());
    pack_.span_bytes =
        static_cast<uint64_t>(*std::max_element(offsets_.begin(), offsets_.end()) + 1 - pack_.lowest_bytes);
    pack_.origin = memory_.data() + kOrigin + case_.shift;
    pack_.beside = beside_.data() + kOrigin + case_.beside_shift;
    return why;
  }

  std::string make_list(std::vector<int64_t> *core) {
    sluice_layout_t &layout = pack_.layout;
    layout.n_blocks = static_cast<uint32_t>(case_.blocks.size());
    layout.list_unit_bytes = case_.list_unit_bytes;
    std::vector<uint32_t> words;
    bool is_uniform = true;
    for (const auto &[first, length] : case_.blocks) {
      words.push_back(static_cast<uint32_t>(first));
      is_uniform = is_uniform && length == case_.blocks[0].second;
      for (uint32_t i = 0; i < length * case_.list_unit_bytes; ++i) {
        core->push_back(int64_t{first} * case_.list_unit_bytes + i);
      }
    }
    layout.core_bytes = core->size();
    layout.block_units = is_uniform ? case_.blocks[0].second : 0;
    layout.tile_shift = 2;
    if (!is_uniform) add_positions(case_, layout.tile_shift, &words);
    layout.list_bytes = words.size() * sizeof(uint32_t);
    const sluice_result_t result = table().device_alloc(0, layout.list_bytes, &list_);
    if (result != SLUICE_SUCCESS) return conformance::describe(result);
    layout.list = list_;
    const sluice_result_t copied = table().copy(queue_, list_, words.data(), layout.list_bytes);
    return copied == SLUICE_SUCCESS ? "" : conformance::describe(copied);
  }

  // Where byte `i` of the payload lies in the memory beside.
  size_t beside_at(uint64_t i, uint64_t first) const {
    return static_cast<size_t>(kOrigin) + case_.beside_shift +
           static_cast<size_t>(pack_.form == SLUICE_IMAGE ? offsets_[i] : static_cast<int64_t>(i - first));
  }
  size_t memory_at(uint64_t i) const {
    return static_cast<size_t>(kOrigin + static_cast<int64_t>(case_.shift) + offsets_[i]);
  }

  std::string check(sluice_pack_direction_t direction, sluice_pack_form_t form, uint64_t first, uint64_t size) {
    std::mt19937 random(static_cast<unsigned>(first * 3 + size));
    std::vector<std::byte> content(kRoomBytes);
    for (std::byte &byte : content) byte = static_cast<std::byte>(random());
    const std::vector<std::byte> blank(kRoomBytes, kPoison);
    const bool is_packing = direction == SLUICE_PACK;
    std::string why = memory_.write(is_packing ? content : blank);
    if (why.empty()) why = beside_.write(is_packing ? blank : content);
    if (!why.empty()) return why;
    pack_.direction = direction;
    pack_.form = form;
    pack_.first_bytes = first;
    pack_.size_bytes = size;
    const sluice_result_t result = await(table(), queue_, table().enqueue_pack(queue_, &pack_));
    if (result != SLUICE_SUCCESS) return conformance::describe(result);
    std::vector<std::byte> wanted = blank;
    for (uint64_t i = first; i < first + size; ++i) {
      if (is_packing) {
        wanted[beside_at(i, first)] = content[memory_at(i)];
      } else {
        wanted[memory_at(i)] = content[beside_at(i, first)];
      }
    }
    std::vector<std::byte> got;
    std::vector<std::byte> source;
    why = (is_packing ? beside_ : memory_).read(&got);
    if (why.empty()) why = (is_packing ? memory_ : beside_).read(&source);
    if (!why.empty()) return why;
    if (source != content) return "what is read was written";
    for (size_t at = 0; at < kRoomBytes; ++at) {
      if (got[at] != wanted[at]) return "byte " + std::to_string(at) + " of the room";
    }
    return "";
  }

  const Case &case_;
  const sluice_memory_kind_t beside_kind_;
  sluice_queue_t *queue_ = nullptr;
  Memory memory_;
  Memory beside_;
  void *list_ = nullptr;
  sluice_pack_t pack_{};
  std::vector<int64_t> offsets_;
};

TEST(Packs, MoveWhatTheLayoutNames_WhenTheMemoryBesideIsAnyThatADeviceReaches) {
  SKIP_WITHOUT_PACK_GROUP();
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  for (const sluice_memory_kind_t kind : {SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_PINNED}) {
    for (const Case &given : cases()) {
      EXPECT_EQ(Trial(given, kind).run(queue.get()), "") << given.name << ", " << conformance::kind_name(kind);
    }
  }
}

TEST(Packs, KeepTheOrderOfTheQueue_WhenACopyStandsBeforeAndBehind) {
  SKIP_WITHOUT_PACK_GROUP();
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  constexpr size_t kBytes = size_t{1} << 20;
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 2 * kBytes);
  MAKE_MEMORY_OR_SKIP(packed, SLUICE_MEMORY_DEVICE, 0, kBytes);
  MAKE_MEMORY_OR_SKIP(host, SLUICE_MEMORY_PINNED, 0, 2 * kBytes);
  std::vector<std::byte> content(2 * kBytes);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 7 + i / 251);
  ASSERT_EQ(host.write(content), "");
  sluice_pack_t pack{};
  pack.layout.n_dimensions = 1;
  pack.layout.dimensions[0] = {kBytes / 8, 16};
  pack.layout.core_bytes = 8;
  pack.origin = memory.data();
  pack.beside = packed.data();
  pack.span_bytes = 2 * kBytes - 8;
  pack.size_bytes = kBytes;
  const sluice_copy_t down = {memory.data(), host.data(), 2 * kBytes};
  ASSERT_OK(table().enqueue_copies(queue.get(), &down, 1));
  ASSERT_OK(table().enqueue_pack(queue.get(), &pack));
  const sluice_copy_t up = {host.data(), packed.data(), kBytes};
  ASSERT_OK(table().enqueue_copies(queue.get(), &up, 1));
  uint64_t ticket = 0;
  ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
  ASSERT_OK(table().wait_ticket(queue.get(), ticket));
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(host.data()[i], content[i / 8 * 16 + i % 8]) << i;
}

TEST(Packs, EnqueueNothing_WhenTheNumbersMakeNoSense) {
  SKIP_WITHOUT_PACK_GROUP();
  EXPECT_EQ(table().can_pack(-1), 0);
  EXPECT_EQ(table().can_pack(table().device_count()), 0);
  const Queue queue(0);
  ASSERT_EQ(queue.problem(), "");
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 256);
  MAKE_MEMORY_OR_SKIP(packed, SLUICE_MEMORY_DEVICE, 0, 64);
  sluice_pack_t pack{};
  pack.layout.n_dimensions = 1;
  pack.layout.dimensions[0] = {8, 32};
  pack.layout.core_bytes = 8;
  pack.origin = memory.data();
  pack.beside = packed.data();
  pack.span_bytes = 232;
  pack.size_bytes = 65;
  EXPECT_EQ(table().enqueue_pack(queue.get(), &pack), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  pack.size_bytes = 64;
  pack.layout.n_dimensions = SLUICE_PACK_MAX_DIMENSIONS + 1;
  EXPECT_EQ(table().enqueue_pack(queue.get(), &pack), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table().enqueue_pack(queue.get(), nullptr), SLUICE_ERROR_INVALID_ARGUMENT);
  pack.layout.n_dimensions = 1;
  pack.size_bytes = 0;
  EXPECT_OK(table().enqueue_pack(queue.get(), &pack));
  pack.size_bytes = 64;
  EXPECT_OK(table().enqueue_pack(queue.get(), &pack));  // the queue is as good as before
  uint64_t ticket = 0;
  ASSERT_OK(table().enqueue_ticket(queue.get(), &ticket));
  EXPECT_OK(table().wait_ticket(queue.get(), ticket));
}

TEST(Packs, HaveMemoryThatTheBackendKnows_WhenItIsOfDeviceAlloc) {
  SKIP_WITHOUT_PACK_GROUP();
  // Some runtimes have no context before the program makes one.
  MAKE_MEMORY_OR_SKIP(memory, SLUICE_MEMORY_DEVICE, 0, 64);
  void *made = nullptr;
  ASSERT_OK(table().device_alloc(0, 100000, &made));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(made) % 256, 0U);
  sluice_pointer_info_t info{};
  ASSERT_OK(table().query_pointer(static_cast<std::byte *>(made) + 99999, &info));
  EXPECT_EQ(info.kind, SLUICE_MEMORY_DEVICE);
  EXPECT_EQ(info.device, 0);
  EXPECT_OK(table().device_free(0, made));
  EXPECT_NE(table().device_alloc(-1, 64, &made), SLUICE_SUCCESS);
}

}  // namespace

}  // namespace conformance::packs_test
