// SPDX-License-Identifier: BSD-3-Clause
#include "base/waiting.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"

namespace sluice::waiting {
namespace {

constexpr int kNoSlot = -1;

std::atomic<Page *> page{nullptr};
int page_file = -1;
std::array<std::atomic<bool>, kSlots> is_taken{};  // which slots have a thread

constinit thread_local const Described *innermost = nullptr;
constinit thread_local int own_slot = kNoSlot;

// Gives the slot of a thread back when the thread ends.
struct SlotOwner {
  SlotOwner() noexcept = default;
  ~SlotOwner() {
    clear();
    if (own_slot != kNoSlot) is_taken[static_cast<std::size_t>(own_slot)].store(false, std::memory_order_release);
    own_slot = kNoSlot;
  }
  SlotOwner(const SlotOwner &) = delete;
  SlotOwner &operator=(const SlotOwner &) = delete;
  SlotOwner(SlotOwner &&) = delete;
  SlotOwner &operator=(SlotOwner &&) = delete;
  void use() noexcept {}  // a thread that calls this has the owner made
};

bool take_slot() noexcept {
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (is_taken[i].exchange(true, std::memory_order_acquire)) continue;
    own_slot = static_cast<int>(i);
    static thread_local SlotOwner owner;
    owner.use();
    return true;
  }
  return false;
}

// A forked child must not write into its parent's page.
void forget_in_child() noexcept {
  Page *const inherited = page.exchange(nullptr);
  if (inherited != nullptr) munmap(inherited, sizeof(Page));
  const FileDescriptor closed(std::exchange(page_file, -1));
}

}  // namespace

void put(std::string_view text, Text *to) noexcept {
  const std::size_t length = std::min(text.size(), to->size() - 1);
  std::memset(to->data(), 0, to->size());
  std::memcpy(to->data(), text.data(), length);
}

void open(int rank, int size) noexcept {
  if (page.load(std::memory_order_relaxed) != nullptr) return;
  FileDescriptor file(memfd_create(kFileName, MFD_CLOEXEC));
  if (file.get() < 0 || ftruncate(file.get(), sizeof(Page)) != 0) {
    log::debug("base", "no table of waits: the kernel gives no memory file");
    return;
  }
  void *const mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    log::debug("base", "no table of waits: the kernel does not map a memory file");
    return;
  }
  static const int registered = pthread_atfork(nullptr, nullptr, &forget_in_child);
  if (registered != 0) {
    munmap(mapped, sizeof(Page));
    return;
  }
  auto *const made = new (mapped) Page();
  made->pid = static_cast<std::int32_t>(getpid());
  made->rank = rank;
  made->size = size;
  page_file = file.release();
  page.store(made, std::memory_order_release);
}

void close() noexcept {
  Page *const made = page.exchange(nullptr, std::memory_order_acq_rel);
  if (made == nullptr) return;
  munmap(made, sizeof(Page));
  const FileDescriptor closed(std::exchange(page_file, -1));
}

void write(const Wait &wait) noexcept {
  Page *const made = page.load(std::memory_order_acquire);
  if (made == nullptr || (own_slot == kNoSlot && !take_slot())) return;
  Slot &slot = made->slots[static_cast<std::size_t>(own_slot)];
  const std::uint32_t sequence = slot.sequence.load(std::memory_order_relaxed);
  const auto words = std::bit_cast<Words>(wait);
  // Each store releases the odd sequence, so a reader that sees a new word sees that the slot is being written. A fence
  // would do for all of them; the thread sanitizer knows none.
  slot.sequence.store(sequence + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_release);
  slot.is_used.store(1, std::memory_order_release);
  slot.sequence.store(sequence + 2, std::memory_order_release);
}

void clear() noexcept {
  Page *const made = page.load(std::memory_order_acquire);
  if (made == nullptr || own_slot == kNoSlot) return;
  Slot &slot = made->slots[static_cast<std::size_t>(own_slot)];
  const std::uint32_t sequence = slot.sequence.load(std::memory_order_relaxed);
  slot.sequence.store(sequence + 1, std::memory_order_relaxed);
  slot.is_used.store(0, std::memory_order_release);
  slot.sequence.store(sequence + 2, std::memory_order_release);
}

Described::Described(Tell tell, const void *subject) noexcept : tell_(tell), subject_(subject), outer_(innermost) {
  innermost = this;
}

Described::~Described() {
  innermost = outer_;
}

void Described::add_to(Wait *wait) const noexcept {
  tell_(subject_, wait);
  if (outer_ != nullptr) outer_->add_to(wait);
}

void Described::write_slow(std::int64_t begun_ns) noexcept {
  if (innermost == nullptr) return;
  Wait wait;
  wait.begun_ns = begun_ns;
  innermost->add_to(&wait);
  write(wait);
}

void InHost::begin(Described::Tell tell, const void *subject) noexcept {
  Wait wait;
  // To a few milliseconds, and a tenth of what the exact clock costs.
  timespec now = {};
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0) wait.begun_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  tell(subject, &wait);
  wait.is_in_host = 1;
  write(wait);
}

int descriptor() noexcept {
  return page_file;
}

}  // namespace sluice::waiting
