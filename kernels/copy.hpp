// SPDX-License-Identifier: BSD-3-Clause
// The body of a kernel that makes several copies side by side, or compares and swaps one element: what one of n
// work-items does. Written once; each backend compiles it with its device's compiler, as reduce.hpp.
#pragma once

#include "numbers.hpp"

namespace sluice::kernels {

// The same number as SLUICE_KERNEL_MAX_COPIES of sluice/backend.h.
inline constexpr unsigned kMaxCopies = 16;

struct CopyOfBytes {
  unsigned char *dst;
  const unsigned char *src;
  std::uint64_t size_bytes;
};

// Some copies. All addresses may have any alignment; no destination overlaps a source or another destination. The one
// exception is an element that is compared and swapped: three copies of up to kMaxSwapBytes, of which the first brings
// away what is there, the second writes if that is equal to the source of the third, and the third, which has the first
// one's destination, is not made.
struct CopyTask {
  CopyOfBytes copies[kMaxCopies];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint64_t n_copies;          // 0 to kMaxCopies
};

// The same number as SLUICE_SWAP_MAX_BYTES.
inline constexpr unsigned kMaxSwapBytes = 16;

SLUICE_KERNELS_FUNCTION bool is_swap(const CopyTask &task) {
  return task.n_copies == 3 && task.copies[2].dst == task.copies[0].dst;
}

// Words of memory that may hold anything. Not by copying bytes, as numbers.hpp does it: where nothing is computed in
// between, compilers for devices join two such copies into one, and make it byte by byte.
struct __attribute__((may_alias, aligned(16))) SixteenBytes {
  std::uint64_t low;
  std::uint64_t high;
};
struct __attribute__((may_alias)) EightBytes {
  std::uint64_t bits;
};
struct __attribute__((may_alias)) FourBytes {
  std::uint32_t bits;
};
struct OneByte {
  unsigned char bits;
};

// A copy in words of the type; dst and src differ by a multiple of its size. Four words are under way at a time, so
// that a far memory is waited for once; what lies before the first whole word and behind the last one goes byte by
// byte.
template <typename Word>
SLUICE_KERNELS_FUNCTION void copy_words(const CopyOfBytes &copy, std::uint64_t item, std::uint64_t n_items) {
  constexpr unsigned kAtOnce = 4;
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(copy.dst) % sizeof(Word);
  const std::uint64_t lead = past == 0 ? 0 : sizeof(Word) - past;
  const std::uint64_t n_lead = lead < copy.size_bytes ? lead : copy.size_bytes;
  const std::uint64_t n_words = (copy.size_bytes - n_lead) / sizeof(Word);
  auto *const dst = reinterpret_cast<Word *>(copy.dst + n_lead);
  const auto *const src = reinterpret_cast<const Word *>(copy.src + n_lead);
  std::uint64_t i = item;
  SLUICE_KERNELS_ROLLED
  for (; i + (kAtOnce - 1) * n_items < n_words; i += kAtOnce * n_items) {
    Word words[kAtOnce];  // NOLINT(modernize-avoid-c-arrays): registers
    SLUICE_KERNELS_UNROLLED
    for (unsigned k = 0; k < kAtOnce; ++k) {
      words[k] = src[i + k * n_items];
    }
    SLUICE_KERNELS_UNROLLED
    for (unsigned k = 0; k < kAtOnce; ++k) {
      dst[i + k * n_items] = words[k];
    }
  }
  // Fewer than that are left, and under way at a time too: one after another, each would wait for the one before.
  Word words[kAtOnce] = {};  // NOLINT(modernize-avoid-c-arrays): registers
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) {
    if (i + k * n_items < n_words) words[k] = src[i + k * n_items];
  }
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kAtOnce; ++k) {
    if (i + k * n_items < n_words) dst[i + k * n_items] = words[k];
  }
  const std::uint64_t in_words = n_words * sizeof(Word);
  SLUICE_KERNELS_ROLLED
  for (i = item; i < copy.size_bytes - in_words; i += n_items) {
    const std::uint64_t at = i < n_lead ? i : i + in_words;
    copy.dst[at] = copy.src[at];
  }
}

// The widest words that both addresses allow.
SLUICE_KERNELS_FUNCTION void copy_bytes(const CopyOfBytes &copy, std::uint64_t item, std::uint64_t n_items) {
  const std::uintptr_t difference =
      reinterpret_cast<std::uintptr_t>(copy.dst) ^ reinterpret_cast<std::uintptr_t>(copy.src);
  if (difference % 16 == 0) {
    copy_words<SixteenBytes>(copy, item, n_items);
  } else if (difference % 4 == 0) {
    copy_words<FourBytes>(copy, item, n_items);
  } else {
    copy_words<OneByte>(copy, item, n_items);
  }
}

// In words of the type, of which all addresses and the size are multiples. All that is read is read at once: the
// element, what is expected and what is new may lie behind a slow link.
template <typename Word>
SLUICE_KERNELS_FUNCTION void swap_words(const CopyTask &task) {
  constexpr unsigned kMost = kMaxSwapBytes / sizeof(Word);
  const std::uint64_t n_words = task.copies[0].size_bytes / sizeof(Word);
  const auto *const there = reinterpret_cast<const Word *>(task.copies[0].src);
  const auto *const operand = reinterpret_cast<const Word *>(task.copies[1].src);
  const auto *const expected = reinterpret_cast<const Word *>(task.copies[2].src);
  auto *const before = reinterpret_cast<Word *>(task.copies[0].dst);
  auto *const target = reinterpret_cast<Word *>(task.copies[1].dst);
  Word was[kMost] = {};   // NOLINT(modernize-avoid-c-arrays): registers
  Word next[kMost] = {};  // NOLINT(modernize-avoid-c-arrays): registers
  bool is_equal = true;
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kMost; ++k) {
    if (k >= n_words) continue;
    was[k] = there[k];
    next[k] = operand[k];
    const Word wanted = expected[k];
    is_equal = is_equal & (was[k].bits == wanted.bits);
  }
  SLUICE_KERNELS_UNROLLED
  for (unsigned k = 0; k < kMost; ++k) {
    if (k >= n_words) continue;
    before[k] = was[k];
    if (is_equal) target[k] = next[k];
  }
}

SLUICE_KERNELS_FUNCTION void swap_bytes(const CopyTask &task) {
  std::uintptr_t all = task.copies[0].size_bytes;
  for (unsigned k = 0; k < 3; ++k) {
    all |= reinterpret_cast<std::uintptr_t>(task.copies[k].dst) | reinterpret_cast<std::uintptr_t>(task.copies[k].src);
  }
  if (all % 8 == 0) {
    swap_words<EightBytes>(task);
  } else if (all % 4 == 0) {
    swap_words<FourBytes>(task);
  } else {
    swap_words<OneByte>(task);
  }
}

// The share of work-item `item` of `n_items`: each copy has items of its own, as many as every other, so that all are
// under way at once; where there are fewer items than copies, an item makes whole copies. Neighbouring items touch
// neighbouring memory. The items need nothing of each other, so they may run in any order and number.
SLUICE_KERNELS_FUNCTION void copy_share(const CopyTask &task, std::uint64_t item, std::uint64_t n_items) {
  if (is_swap(task)) {
    if (item == 0) swap_bytes(task);
    return;
  }
  const std::uint64_t n_each = task.n_copies == 0 ? 0 : n_items / task.n_copies;
  if (n_each != 0) {
    if (item / n_each < task.n_copies) copy_bytes(task.copies[item / n_each], item % n_each, n_each);
    return;
  }
  SLUICE_KERNELS_ROLLED
  for (std::uint64_t k = item; k < task.n_copies; k += n_items) copy_bytes(task.copies[k], 0, 1);
}

}  // namespace sluice::kernels
