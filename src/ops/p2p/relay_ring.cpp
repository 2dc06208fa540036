// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/relay_ring.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/short_mutex.hpp"

namespace sluice::ops {
namespace {

using Key = std::tuple<int, const device::Backend *, std::int32_t>;

struct Entry {
  std::shared_ptr<RelayRing> ring;
  Status refusal;
  std::uint32_t rest = 0;  // calls that are refused without asking
};

struct Rings {
  ShortMutex mutex;
  std::map<Key, Entry> all;
};

// Never destroyed: programs call MPI while they exit.
Rings &rings() {
  static auto *const made = new Rings();
  return *made;
}

}  // namespace

Status RelayRing::find(int peer, const device::Place &place, std::shared_ptr<RelayRing> *ring) {
  const Key key{peer, place.backend, place.device_index()};
  {
    const std::scoped_lock lock(rings().mutex);
    Entry &entry = rings().all[key];
    if (entry.ring != nullptr && entry.ring->memory_.is_live()) {
      *ring = entry.ring;
      return {};
    }
    if (entry.rest > 0) {
      --entry.rest;
      return entry.refusal;
    }
  }
  auto made = std::make_shared<RelayRing>();
  Status status = made->open(place);
  const std::scoped_lock lock(rings().mutex);
  Entry &entry = rings().all[key];
  if (status.is_ok()) {
    // Another thread may have made one meanwhile: then this one's memory goes back.
    if (entry.ring == nullptr || !entry.ring->memory_.is_live()) entry.ring = std::move(made);
    *ring = entry.ring;
  } else {
    entry.refusal = status;
    entry.rest = kRest;
  }
  return status;
}

Status RelayRing::open(const device::Place &place) {
  if (Status status = memory_.acquire(place, transfer::kRelayBytes); !status.is_ok()) return status;
  device::Place own;
  if (Status status = device::classify(memory_.data(), &own); !status.is_ok()) return status;
  return device::IpcExports::process().find(own, memory_.data(), transfer::kRelayBytes, &exported_);
}

bool RelayRing::take(std::uint32_t *number) noexcept {
  std::uint32_t taken = taken_.load(std::memory_order_relaxed);
  do {
    *number = static_cast<std::uint32_t>(std::countr_one(taken));
    if (*number >= transfer::kRelaySlots) return false;
  } while (!taken_.compare_exchange_weak(taken, taken | (1U << *number), std::memory_order_acquire));
  return true;
}

}  // namespace sluice::ops
