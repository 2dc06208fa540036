// SPDX-License-Identifier: BSD-3-Clause
// Owns copies of a few kilobytes, where each command that a copy needs counts.
//
// Down: the device copies into a landing, host memory of the queue whose words all hold one value, the blank. A word
// that is no longer blank has arrived, so that no second command has to say so and the CPU sees the data as soon as it
// is there. Data that holds the blank itself, and data that is late, is waited for by a ticket like any other copy.
//
// Up: the bytes travel in the driver's own commands. The end is seen by copying the last of them back, into a landing:
// a stream begins a command when the one before is complete. One or two words are written by the stream itself.
#include <emmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "queue.h"

namespace sluice::backends::cuda {

namespace {

// Data lands at the same place of a line as it came from: then it is cut where lines end and no word is cut.
constexpr size_t kLineBytes = 256;
constexpr size_t kPageBytes = 4096;
constexpr size_t kLandingBytes = kSmallBytes + kPageBytes;
constexpr size_t kWordBytes = sizeof(uint32_t);
constexpr size_t kWordsAtOnce = 64;  // bytes
// How long words may stay blank before a ticket is asked for: three times what a copy takes.
constexpr std::chrono::microseconds kPatience{15};
// Looks at a blank word between looks at the clock.
constexpr uint32_t kLooksBetweenTimes = 64;
// How much is copied back after a copy up.
constexpr size_t kReadBackBytes = 8;
// The most that the stream writes itself; each word takes it 0.7 us.
constexpr size_t kWrittenBytes = 16;
constexpr unsigned kWrites = 2;

CUdeviceptr address_of(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Any value will do; zero, all ones and small numbers are what programs send most.
uint32_t next_blank(uint32_t last) {
  const auto time = static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const uint32_t mixed = ((last ^ time) * 0x9E3779B1U) | 0x40000000U;
  return mixed == last ? mixed ^ 0x00A50000U : mixed;
}

void make_blank(Landing *landing, uint32_t blank) {
  if (landing->size_bytes == 0) return;
  const size_t begin = landing->first / kWordBytes;
  const size_t end = (landing->first + landing->size_bytes + kWordBytes - 1) / kWordBytes;
  auto *words = reinterpret_cast<uint32_t *>(landing->memory);
  std::fill(words + begin, words + end, blank);
  landing->size_bytes = 0;
}

// The landing for the next copy, blank, for `size_bytes` that come from `src`.
Landing *next_landing(sluice_queue *queue, const void *src, size_t size_bytes) {
  queue->landing ^= 1U;
  Landing *landing = &queue->landings[queue->landing];
  make_blank(landing, queue->blank);
  landing->first = reinterpret_cast<uintptr_t>(src) % kLineBytes;
  landing->size_bytes = size_bytes;
  return landing;
}

// Of the 64 bytes at `at`, on a multiple of 16. The device writes them meanwhile; each word is read whole.
bool has_blank(const char *at, uint32_t blank) {
  const __m128i blanks = _mm_set1_epi32(static_cast<int>(blank));
  const auto *vectors = reinterpret_cast<const __m128i *>(at);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // read them now, not as they were at the last look
  __m128i equal = _mm_setzero_si128();
  for (size_t i = 0; i < kWordsAtOnce / sizeof(__m128i); ++i) {
    equal = _mm_or_si128(equal, _mm_cmpeq_epi32(_mm_load_si128(vectors + i), blanks));
  }
  return _mm_movemask_epi8(equal) != 0;
}

bool is_blank(const char *at, uint32_t blank) {
  return __atomic_load_n(reinterpret_cast<const uint32_t *>(at), __ATOMIC_RELAXED) == blank;
}

// Whether no word of the landing is blank; *at is the first that may be, and is moved on.
bool is_complete(const Landing &landing, uint32_t blank, const char **at) {
  const char *end = landing.memory + landing.first + landing.size_bytes;
  while (*at < end) {
    const bool is_block =
        reinterpret_cast<uintptr_t>(*at) % kWordsAtOnce == 0 && end - *at >= static_cast<std::ptrdiff_t>(kWordsAtOnce);
    if (is_block ? has_blank(*at, blank) : is_blank(*at, blank)) return false;
    *at += is_block ? kWordsAtOnce : kWordBytes;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

const char *first_word(const Landing &landing) {
  return landing.memory + landing.first / kWordBytes * kWordBytes;
}

// Waits until no word is blank; false when patience ends.
bool wait_for_words(const Landing &landing, uint32_t blank) {
  const char *at = first_word(landing);
  std::chrono::steady_clock::time_point begin;
  for (uint32_t n_looks = 0; !is_complete(landing, blank, &at); ++n_looks) {
    __builtin_ia32_pause();
    if (n_looks % kLooksBetweenTimes != 0) continue;
    const auto time = std::chrono::steady_clock::now();
    if (n_looks == 0) begin = time;
    // One look more, lest a thread that was stopped meanwhile takes what has arrived for late.
    if (time - begin > kPatience) return is_complete(landing, blank, &at);
  }
  return true;
}

sluice_result_t wait_by_ticket(sluice_queue *queue) {
  const sluice_result_t result = ticket_enqueue(queue);
  return result == SLUICE_SUCCESS ? ticket_wait(queue, queue->last_ticket) : result;
}

// The data held the blank: take another, lest the same data is waited for again.
void change_blank(sluice_queue *queue) {
  queue->blank = next_blank(queue->blank);
  for (Landing &landing : queue->landings) {
    landing.first = 0;
    landing.size_bytes = kLandingBytes;
  }
}

// ---- up ----

// One write of 8 or 4 bytes, as `dst` and `left` allow. Returns the number of bytes.
size_t fill_write(CUstreamBatchMemOpParams *write, CUdeviceptr dst, const char *src, size_t left) {
  *write = {};
  const bool is_wide = dst % sizeof(uint64_t) == 0 && left >= sizeof(uint64_t);
  write->writeValue.operation = is_wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write->writeValue.address = dst;
  const size_t n = is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
  uint64_t value = 0;  // little-endian, like the device
  std::memcpy(&value, src, n);
  write->writeValue.value64 = value;
  write->writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return n;
}

// Data and ticket as one command. False when that cannot be, and then nothing was enqueued that counts.
bool write_words(sluice_queue *queue, void *dst, const void *src, size_t size_bytes) {
  if (!queue->can_write_words || size_bytes > kWrittenBytes || size_bytes % kWordBytes != 0 ||
      address_of(dst) % kWordBytes != 0) {
    return false;
  }
  std::array<CUstreamBatchMemOpParams, kWrites + 1> writes;
  unsigned n = 0;
  for (size_t at = 0; at < size_bytes; ++n) {
    if (n == kWrites) return false;
    at += fill_write(&writes[n], address_of(dst) + at, static_cast<const char *>(src) + at, size_bytes - at);
  }
  // A number that a refused command took with it is never waited for.
  const uint64_t ticket = ++queue->last_ticket;
  // This one's default flag is the fence that all writes before it are behind.
  fill_write(&writes[n++], queue->word_address, reinterpret_cast<const char *>(&ticket), sizeof ticket);
  const CUresult native = g_driver.cuStreamBatchMemOp(queue->stream, n, writes.data(), 0);
  if (native == CUDA_SUCCESS) {
    queue->marked_ticket = ticket;
    return true;
  }
  queue->can_write_words = false;
  log_line(3, (native_text(g_driver, "cuStreamBatchMemOp", native) + "; words are copied from now on").c_str());
  return false;
}

// Whether the landing of these bytes could be told from one in which nothing has arrived.
bool can_be_seen(const char *data, size_t size_bytes, size_t first, uint32_t blank) {
  std::array<uint32_t, kReadBackBytes / kWordBytes + 1> words;
  words.fill(blank);
  const size_t begin = first % kWordBytes;
  std::memcpy(reinterpret_cast<char *>(words.data()) + begin, data, size_bytes);
  const size_t n_words = (begin + size_bytes + kWordBytes - 1) / kWordBytes;
  return std::find(words.begin(), words.begin() + n_words, blank) == words.begin() + n_words;
}

// Copies the last of what was enqueued before back, and waits for it. False when the end of the copy was not seen.
bool see_by_reading_back(sluice_queue *queue, const void *dst, size_t size_bytes) {
  if (queue->landings[0].memory == nullptr) return false;
  const size_t n = std::min(size_bytes, kReadBackBytes);
  const char *last = static_cast<const char *>(dst) + size_bytes - n;
  const size_t first = reinterpret_cast<uintptr_t>(last) % kLineBytes;
  if (!can_be_seen(queue->bounce.data() + size_bytes - n, n, first, queue->blank)) return false;
  Landing *landing = next_landing(queue, last, n);
  // A refusal here does not matter: the ticket that is asked for then will tell what is wrong.
  if (g_driver.cuMemcpyDtoHAsync(landing->memory + landing->first, address_of(last), n, queue->stream) !=
      CUDA_SUCCESS) {
    return false;
  }
  make_blank(&queue->landings[queue->landing ^ 1U], queue->blank);
  return wait_for_words(*landing, queue->blank);
}

}  // namespace

void small_copies_open(sluice_queue *queue) {
  queue->can_write_words = queue->mode == CopyMode::kFlag && g_driver.cuStreamBatchMemOp != nullptr;
  queue->blank = next_blank(0);
  void *memory = nullptr;
  if (pages_acquire(kLandingBytes * queue->landings.size(), 0, &memory) != SLUICE_SUCCESS) {
    log_line(3, (std::string("small copies are not watched: ") + error_text()).c_str());
    return;
  }
  for (size_t i = 0; i < queue->landings.size(); ++i) {
    queue->landings[i] = {static_cast<char *>(memory) + i * kLandingBytes, 0, kLandingBytes};
    make_blank(&queue->landings[i], queue->blank);
  }
}

sluice_result_t small_copies_close(sluice_queue *queue) {
  return queue->landings[0].memory != nullptr ? pages_release(queue->landings[0].memory) : SLUICE_SUCCESS;
}

sluice_result_t small_copy_down(sluice_queue *queue, void *dst, const void *src, size_t size_bytes) {
  Landing *landing = next_landing(queue, src, size_bytes);
  char *landed = landing->memory + landing->first;
  note_command(queue);
  sluice_result_t result =
      translate("cuMemcpyDtoHAsync", g_driver.cuMemcpyDtoHAsync(landed, address_of(src), size_bytes, queue->stream));
  if (result != SLUICE_SUCCESS) return result;
  make_blank(&queue->landings[queue->landing ^ 1U], queue->blank);
  if (wait_for_words(*landing, queue->blank)) {
    queue->has_untracked = false;
    std::memcpy(dst, landed, size_bytes);
    return SLUICE_SUCCESS;
  }
  result = wait_by_ticket(queue);
  if (result != SLUICE_SUCCESS) return result;
  std::memcpy(dst, landed, size_bytes);
  const char *at = first_word(*landing);
  if (!is_complete(*landing, queue->blank, &at)) change_blank(queue);
  return SLUICE_SUCCESS;
}

sluice_result_t small_copy_up(sluice_queue *queue, void *dst, const void *src, size_t size_bytes) {
  if (write_words(queue, dst, src, size_bytes)) return ticket_wait(queue, queue->last_ticket);
  // From pageable memory, always: the driver has taken the bytes when its call returns.
  std::memcpy(queue->bounce.data(), src, size_bytes);
  note_command(queue);
  const sluice_result_t result =
      translate("cuMemcpyHtoDAsync",
                g_driver.cuMemcpyHtoDAsync(address_of(dst), queue->bounce.data(), size_bytes, queue->stream));
  if (result != SLUICE_SUCCESS) return result;
  if (!see_by_reading_back(queue, dst, size_bytes)) return wait_by_ticket(queue);
  queue->has_untracked = false;
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
