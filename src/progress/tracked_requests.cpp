// SPDX-License-Identifier: BSD-3-Clause
#include "progress/tracked_requests.hpp"

#include <cstdint>
#include <cstring>
#include <functional>

#include "base/log.hpp"
#include "progress/engine.hpp"
#include "wire/host.hpp"

namespace sluice::progress {

std::size_t TrackedRequests::Hash::operator()(MPI_Request request) const noexcept {
  std::uintptr_t bits = 0;
  static_assert(sizeof(request) <= sizeof(bits));
  std::memcpy(&bits, &request, sizeof(request));
  return std::hash<std::uintptr_t>()(bits);
}

int Tracked::start_again(const std::shared_ptr<Tracked> & /*self*/, MPI_Request *request) {
  return wire::host().MPI_Start(request);
}

TrackedRequests &TrackedRequests::process() {
  static auto *requests = new TrackedRequests();
  return *requests;
}

void TrackedRequests::add(MPI_Request request, TrackedPtr tracked) {
  const Tracked *added = tracked.get();
  {
    const std::scoped_lock lock(mutex_);
    table_[request].swap(tracked);
    n_tracked_.store(table_.size(), std::memory_order_release);
  }
  if (tracked == nullptr || tracked.get() == added) return;
  // The program cannot be told any more which of the requests failed.
  const Status finished = tracked->finish_displaced();
  if (!finished.is_ok()) log::error("progress", "a request that was complete at once: " + finished.message());
}

TrackedPtr TrackedRequests::find(MPI_Request request) const {
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(request);
  return found == table_.end() ? nullptr : found->second;
}

TrackedPtr TrackedRequests::take(MPI_Request request) {
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(request);
  if (found == table_.end()) return nullptr;
  TrackedPtr taken = std::move(found->second);
  table_.erase(found);
  n_tracked_.store(table_.size(), std::memory_order_release);
  return taken;
}

void TrackedRequests::remove(MPI_Request request, const Tracked *tracked) {
  TrackedPtr removed;  // destroyed after the lock is gone
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(request);
  if (found == table_.end() || found->second.get() != tracked) return;
  removed = std::move(found->second);
  table_.erase(found);
  n_tracked_.store(table_.size(), std::memory_order_release);
}

namespace {

// Until all adopted requests are complete no call may block: their senders may wait for what Sluice owes on them.
class Reaper final : public Task {
 public:
  bool advance() override { return TrackedRequests::process().reap(); }
};

}  // namespace

void TrackedRequests::adopt(MPI_Request request, TrackedPtr tracked) {
  {
    const std::scoped_lock lock(adopted_mutex_);
    adopted_.emplace_back(request, std::move(tracked));
    n_adopted_.store(adopted_.size(), std::memory_order_release);
    if (adopted_.size() > 1) return;
  }
  Engine::process().watch(std::make_shared<Reaper>());
}

bool TrackedRequests::try_complete(Adopted *adopted) {
  auto &[request, tracked] = *adopted;
  if (tracked->is_hidden()) return false;
  MPI_Status status;
  int is_done = 0;
  const int result = wire::host().MPI_Test(&request, &is_done, &status);
  if (result == MPI_SUCCESS && is_done == 0) return false;
  Status finished;
  if (result == MPI_SUCCESS && tracked->begin_finish()) finished = tracked->finish(&status);
  if (!finished.is_ok()) log::error("progress", "a freed request: " + finished.message());
  if (tracked->is_persistent() && wire::host().MPI_Request_free(&request) != MPI_SUCCESS) {
    log::warn("progress", "a freed persistent request could not be given back to the host MPI");
  }
  return true;
}

bool TrackedRequests::reap() {
  if (n_adopted_.load(std::memory_order_acquire) == 0) return true;
  const std::scoped_lock lock(adopted_mutex_);
  std::erase_if(adopted_, [&](Adopted &adopted) { return try_complete(&adopted); });
  n_adopted_.store(adopted_.size(), std::memory_order_release);
  return adopted_.empty();
}

void TrackedRequests::wait_for_adopted() {
  turn_until([&] { return reap(); });
}

}  // namespace sluice::progress
