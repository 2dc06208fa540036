// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_words.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "base/log.hpp"

namespace sluice::device {
namespace {

constexpr std::size_t kLineBytes = 128;  // devices' lines are longer than the CPU's
constexpr std::size_t kLineWords = kLineBytes / sizeof(std::uint64_t);
// Made at once: a runtime may not be able to make memory while a stream waits, and then queues are made as well.
constexpr std::size_t kSlabPairs = 128;

struct Slab {
  const Backend *backend;
  std::int32_t device;
  void *memory;
};

struct Shelf {
  std::mutex mutex;
  std::vector<Slab> slabs;
  std::vector<StreamWords> idle;
  std::vector<StreamWords> given_up;  // until the stream has written its mark
};

Shelf &shelf() {
  static auto *made = new Shelf();
  return *made;
}

// With the mutex.
void move_marked(Shelf *all) {
  const auto is_past = [](const StreamWords &words) {
    return __atomic_load_n(words.trigger, __ATOMIC_ACQUIRE) == StreamWords::kGivenUp;
  };
  std::copy_if(all->given_up.begin(), all->given_up.end(), std::back_inserter(all->idle), is_past);
  std::erase_if(all->given_up, is_past);
}

bool lies_in(const StreamWords &words, const Slab &slab) noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(words.trigger) - reinterpret_cast<std::uintptr_t>(slab.memory);
  return offset < kSlabPairs * 2 * kLineBytes;
}

// New words, the first of them for *words and the others idle.
Status make_slab(const Backend *backend, std::int32_t device, StreamWords *words) {
  void *memory = nullptr;
  const sluice_result_t result = backend->table().host_alloc(device, kSlabPairs * 2 * kLineBytes, kLineBytes, &memory);
  if (result != SLUICE_SUCCESS) return backend->check(result, "allocate the words of a stream");
  Shelf &all = shelf();
  const std::scoped_lock lock(all.mutex);
  all.slabs.push_back({backend, device, memory});
  for (std::size_t i = 0; i < kSlabPairs; ++i) {
    auto *pair = static_cast<std::uint64_t *>(memory) + 2 * i * kLineWords;
    const StreamWords made = {backend, device, pair, pair + kLineWords};
    if (i == 0) {
      *words = made;
    } else {
      all.idle.push_back(made);
    }
  }
  return {};
}

}  // namespace

Status acquire_words(const Backend *backend, std::int32_t device, StreamWords *words) {
  Shelf &all = shelf();
  {
    const std::scoped_lock lock(all.mutex);
    move_marked(&all);
    const auto found = std::ranges::find_if(
        all.idle, [&](const StreamWords &idle) { return idle.backend == backend && idle.device == device; });
    if (found != all.idle.end()) {
      *words = *found;
      all.idle.erase(found);
    }
  }
  if (words->trigger == nullptr) {
    if (Status status = make_slab(backend, device, words); !status.is_ok()) return status;
  }
  __atomic_store_n(words->trigger, 0, __ATOMIC_RELEASE);
  __atomic_store_n(words->completion, 0, __ATOMIC_RELEASE);
  return {};
}

void release_words(const StreamWords &words, bool is_marked) noexcept {
  if (words.trigger == nullptr) return;
  try {
    const std::scoped_lock lock(shelf().mutex);
    (is_marked ? shelf().given_up : shelf().idle).push_back(words);
  } catch (const std::exception &) {
    log::warn_once("stream_words", "device", "out of memory: the words of a stream are lost");
  }
}

std::size_t free_words() noexcept {
  const std::scoped_lock lock(shelf().mutex);
  Shelf &all = shelf();
  try {
    move_marked(&all);
  } catch (const std::exception &) {
    log::warn_once("stream_words", "device", "out of memory: the words of streams are not given back");
    return all.slabs.size();
  }
  // A slab is freed whole, when no stream can look at any of its words; those whose streams were abandoned never come
  // back.
  const auto is_idle = [&](const Slab &slab) {
    const auto n_idle = std::ranges::count_if(all.idle, [&](const StreamWords &words) { return lies_in(words, slab); });
    return static_cast<std::size_t>(n_idle) == kSlabPairs;
  };
  std::erase_if(all.slabs, [&](const Slab &slab) {
    if (!is_idle(slab)) return false;
    std::erase_if(all.idle, [&](const StreamWords &words) { return lies_in(words, slab); });
    const Status status =
        slab.backend->check(slab.backend->table().host_free(slab.device, slab.memory), "free the words of streams");
    if (!status.is_ok()) log::warn_once("stream_words_free", "device", status.message());
    return true;
  });
  return all.slabs.size();
}

}  // namespace sluice::device
