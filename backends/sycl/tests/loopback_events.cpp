// SPDX-License-Identifier: BSD-3-Clause
// The loop-back loader's events: as strict as a driver may be.
#include <mutex>
#include <set>

#include "../level_zero.h"
#include "loopback_loader.h"

namespace {

using sluice::backends::sycl::level_zero::Context;
using sluice::backends::sycl::level_zero::Device;
using sluice::backends::sycl::level_zero::EventDescription;
using sluice::backends::sycl::level_zero::EventPoolDescription;
using sluice::backends::sycl::level_zero::Result;

constexpr Result kInvalidArgument = 0x78000004;
constexpr Result kInUse = 0x78000006;

struct Pool {
  uint32_t count;
  std::set<uint32_t> places;  // that are taken
};
struct Event {
  Pool *pool;
  uint32_t place;
  bool is_signalled;
};

std::mutex g_mutex;

std::set<void *> &pools() {
  static auto *all = new std::set<void *>();
  return *all;
}
std::set<void *> &events() {
  static auto *all = new std::set<void *>();
  return *all;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are Level Zero's
extern "C" {

bool loopback_is_signalled(void *event) {
  const std::scoped_lock lock(g_mutex);
  return events().contains(event) && static_cast<Event *>(event)->is_signalled;
}

Result zeEventPoolCreate(Context context, const EventPoolDescription *description, uint32_t n_devices, Device *devices,
                         void **pool) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->pool_fault != 0) return loopback_state()->pool_fault;
  const bool is_right = context != nullptr && description->structure_type == 0x10 && description->flags == 1 &&
                        description->count > 0 && n_devices == 0 && devices == nullptr;
  if (!is_right) return kInvalidArgument;
  *pool = new Pool{description->count, {}};
  pools().insert(*pool);
  ++loopback_state()->n_pools;
  return 0;
}

Result zeEventPoolDestroy(void *pool) {
  const std::scoped_lock lock(g_mutex);
  if (!pools().contains(pool)) return kInvalidArgument;
  if (!static_cast<Pool *>(pool)->places.empty()) return kInUse;
  pools().erase(pool);
  delete static_cast<Pool *>(pool);
  --loopback_state()->n_pools;
  return 0;
}

Result zeEventCreate(void *pool, const EventDescription *description, void **event) {
  const std::scoped_lock lock(g_mutex);
  if (!pools().contains(pool)) return kInvalidArgument;
  auto *in = static_cast<Pool *>(pool);
  const bool is_right = description->structure_type == 0x11 && description->index < in->count &&
                        description->signal == 4 && description->wait == 4;
  if (!is_right || !in->places.insert(description->index).second) return kInvalidArgument;
  *event = new Event{in, description->index, false};
  events().insert(*event);
  ++loopback_state()->n_events;
  return 0;
}

Result zeEventDestroy(void *event) {
  const std::scoped_lock lock(g_mutex);
  if (!events().contains(event)) return kInvalidArgument;
  auto *gone = static_cast<Event *>(event);
  gone->pool->places.erase(gone->place);
  events().erase(event);
  delete gone;
  --loopback_state()->n_events;
  return 0;
}

#ifndef LOOPBACK_OLD
Result zeEventHostSignal(void *event) {
  const std::scoped_lock lock(g_mutex);
  if (loopback_state()->signal_fault != 0) return loopback_state()->signal_fault;
  if (!events().contains(event)) return kInvalidArgument;
  static_cast<Event *>(event)->is_signalled = true;
  return 0;
}
#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
