// SPDX-License-Identifier: BSD-3-Clause
#include "progress/tracked_requests.hpp"

#include <cstdint>
#include <cstring>
#include <functional>

#include "base/log.hpp"
#include "progress/engine.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::progress {

std::size_t TrackedRequests::Hash::operator()(MPI_Request request) const noexcept {
  std::uintptr_t bits = 0;
  static_assert(sizeof(request) <= sizeof(bits));
  std::memcpy(&bits, &request, sizeof(request));
  return std::hash<std::uintptr_t>()(bits);
}

int Tracked::start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) {
  const int result = wire::host().MPI_Start(request);
  if (result == MPI_SUCCESS) HostTurns::process().serve(self);
  return result;
}

TrackedRequests &TrackedRequests::process() {
  static auto *requests = new TrackedRequests();
  return *requests;
}

void TrackedRequests::add(MPI_Request request, TrackedPtr tracked) {
  if (request == MPI_REQUEST_NULL) return;  // MPICH 5 returns success after some bad arguments, without a request
  {
    const std::scoped_lock lock(mutex_);
    const auto found = table_.find(request);
    if (found == table_.end()) {
      insert(request, std::move(tracked));
      return;
    }
    if (found->second == tracked) return;
    found->second.swap(tracked);
  }
  // The program cannot be told any more which of the requests failed.
  const Status finished = tracked->finish_displaced();
  if (!finished.is_ok()) log::error("progress", "a request that was complete at once: " + finished.message());
}

void TrackedRequests::insert(MPI_Request request, TrackedPtr tracked) {
  if (spare_nodes_.empty()) {
    table_.emplace(request, std::move(tracked));
  } else {
    Table::node_type node = std::move(spare_nodes_.back());
    spare_nodes_.pop_back();
    node.key() = request;
    node.mapped() = std::move(tracked);
    table_.insert(std::move(node));
  }
  n_tracked_.store(table_.size(), std::memory_order_release);
}

TrackedPtr TrackedRequests::take_out(Table::iterator found) {
  TrackedPtr taken = std::move(found->second);
  if (spare_nodes_.size() < kMostSpareNodes) {
    spare_nodes_.push_back(table_.extract(found));
  } else {
    table_.erase(found);
  }
  n_tracked_.store(table_.size(), std::memory_order_release);
  return taken;
}

TrackedPtr TrackedRequests::find(MPI_Request request) const {
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(request);
  return found == table_.end() ? nullptr : found->second;
}

TrackedPtr TrackedRequests::take(MPI_Request request) {
  const std::scoped_lock lock(mutex_);
  return take_locked(request);
}

std::vector<TrackedPtr> TrackedRequests::take_each(std::span<const MPI_Request> requests) {
  std::vector<TrackedPtr> taken;
  taken.reserve(requests.size());
  const std::scoped_lock lock(mutex_);
  for (const MPI_Request request : requests) {
    taken.push_back(request == MPI_REQUEST_NULL ? nullptr : take_locked(request));
  }
  return taken;
}

TrackedPtr TrackedRequests::take_locked(MPI_Request request) {
  const auto found = table_.find(request);
  if (found == table_.end()) return nullptr;
  if (found->second->is_persistent()) return found->second;
  return take_out(found);
}

void TrackedRequests::remove(MPI_Request request, const Tracked *tracked) {
  TrackedPtr removed;  // destroyed after the lock is gone
  const std::scoped_lock lock(mutex_);
  const auto found = table_.find(request);
  if (found == table_.end() || found->second.get() != tracked) return;
  removed = take_out(found);
}

namespace {

thread_local bool t_is_reaping = false;  // this thread is in reap(), further out

// Until all adopted requests are complete no call may block: their senders may wait for what Sluice owes on them.
class Reaper final : public Task {
 public:
  bool advance() override { return TrackedRequests::process().reap(); }
};

}  // namespace

void TrackedRequests::adopt(MPI_Request request, TrackedPtr tracked) {
  {
    const std::scoped_lock lock(adopted_mutex_);
    adopted_.push_back({request, std::move(tracked)});
    if (n_adopted_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  }
  Engine::process().watch(std::make_shared<Reaper>());
}

bool TrackedRequests::try_complete(Adopted *adopted) {
  auto &[request, tracked, status, result, is_done] = *adopted;
  // Looked at again once the host MPI has completed it: what came meanwhile is waited for here, and not in finish(),
  // for this may be a turn, in which nothing else goes on.
  if (tracked->is_hidden()) return false;
  if (is_done == 0) {
    result = wire::host().MPI_Test(&request, &is_done, &status);
    if (result == MPI_SUCCESS && (is_done == 0 || tracked->is_hidden())) return false;
  }
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
  if (is_reaping_.exchange(true, std::memory_order_acquire)) return false;
  // Without the lock: the host MPI calls functions of the program's meanwhile, and a turn comes here again.
  AdoptedList taken;
  struct End {
    TrackedRequests *requests;
    AdoptedList *taken;
    ~End() {
      {
        const std::scoped_lock lock(requests->adopted_mutex_);
        requests->adopted_.splice(requests->adopted_.end(), *taken);
      }
      t_is_reaping = false;
      requests->is_reaping_.store(false, std::memory_order_release);
    }
  } const end{this, &taken};
  t_is_reaping = true;
  {
    const std::scoped_lock lock(adopted_mutex_);
    taken.splice(taken.end(), adopted_);
  }
  for (auto adopted = taken.begin(); adopted != taken.end();) {
    if (!try_complete(&*adopted)) {
      ++adopted;
      continue;
    }
    adopted = taken.erase(adopted);
    n_adopted_.fetch_sub(1, std::memory_order_acq_rel);
  }
  return n_adopted_.load(std::memory_order_acquire) == 0;
}

void TrackedRequests::reap_what_came() {
  if (n_adopted_.load(std::memory_order_acquire) == 0) return;
  for (Patience patience; is_reaping_.load(std::memory_order_acquire) && !t_is_reaping;) patience.pause();
  static_cast<void>(reap());
}

void TrackedRequests::wait_for_adopted() {
  turn_until([&] { return reap(); });
}

}  // namespace sluice::progress
