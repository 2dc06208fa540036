// SPDX-License-Identifier: BSD-3-Clause
#include "ops/request/watched.hpp"

#include <algorithm>
#include <new>

#include "base/log.hpp"
#include "ops/env/errors.hpp"

namespace sluice::ops {

Watched::Watched(int count, const MPI_Request *requests) : count_(count) {
  auto &table = progress::TrackedRequests::process();
  if (table.is_empty() || count < 1 || requests == nullptr) return;
  std::vector<progress::TrackedPtr> taken = table.take_each({requests, static_cast<std::size_t>(count)});
  if (std::none_of(taken.begin(), taken.end(), [](const auto &tracked) { return tracked != nullptr; })) return;
  entries_.reserve(taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) entries_.push_back({requests[i], std::move(taken[i]), false});
}

bool Watched::may_block() const noexcept {
  if (progress::Engine::process().is_busy() || find_apart() >= 0) return false;
  return std::none_of(entries_.begin(), entries_.end(),
                      [](const Entry &entry) { return entry.tracked != nullptr && entry.tracked->is_hidden(); });
}

int Watched::find_apart() const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [](const Entry &entry) {
    return entry.tracked != nullptr && entry.tracked->is_active() && !entry.is_hidden &&
           entry.tracked->completes_without_host();
  });
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

MPI_Request *Watched::visible(MPI_Request *requests) {
  is_any_hidden_ = false;
  for (Entry &entry : entries_) {
    entry.is_hidden = is_hidden_now(entry);
    is_any_hidden_ |= entry.is_hidden;
  }
  if (!is_any_hidden_) return requests;
  visible_.assign(requests, requests + count_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].is_hidden) visible_[i] = MPI_REQUEST_NULL;
  }
  return visible_.data();
}

void Watched::write_back(MPI_Request *requests) const noexcept {
  if (!is_any_hidden_) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].is_hidden) requests[i] = visible_[i];
  }
}

MPI_Status *Watched::statuses(MPI_Status *given) {
  if (given != MPI_STATUSES_IGNORE) return given;
  own_statuses_.resize(static_cast<std::size_t>(std::max(count_, 1)));
  return own_statuses_.data();
}

MPI_Status *Watched::status(MPI_Status *given) {
  if (given != MPI_STATUS_IGNORE) return given;
  own_statuses_.resize(1);
  return own_statuses_.data();
}

Watched::~Watched() {
  try {
    for (Entry &entry : entries_) {
      if (entry.tracked == nullptr || entry.tracked->is_persistent()) continue;
      progress::TrackedRequests::process().add(entry.request, std::move(entry.tracked));
    }
  } catch (const std::bad_alloc &) {
    log::error("ops", "out of memory: requests of this completion call are lost; lower the program's use of memory");
  }
}

void Watched::retire(Entry *entry) {
  if (entry->tracked->is_persistent()) {
    entry->tracked->set_active(false);
  } else {
    entry->tracked.reset();
  }
}

int Watched::finish(int index, MPI_Status *status, bool retires) {
  progress::TrackedRequests::process().reap_what_came();
  if (entries_.empty() || index < 0 || index >= count_) return MPI_SUCCESS;
  Entry &entry = entries_[static_cast<std::size_t>(index)];
  if (entry.tracked == nullptr || !entry.tracked->is_active()) return MPI_SUCCESS;
  const MPI_Comm communicator = entry.tracked->communicator();
  Status finished;
  if (entry.tracked->begin_finish()) {
    finished = entry.tracked->finish(status);
  } else {
    finished = entry.tracked->recall(status);
  }
  const int raised = entry.tracked->raised();
  if (retires) retire(&entry);
  return finished.is_ok() ? raised : raise(communicator, finished);
}

void Watched::abandon(int index) {
  if (entries_.empty() || index < 0 || index >= count_) return;
  Entry &entry = entries_[static_cast<std::size_t>(index)];
  if (entry.tracked != nullptr) retire(&entry);
}

void Watched::tell(int from, waiting::Wait *wait) const noexcept {
  for (auto i = static_cast<std::size_t>(from); i < entries_.size(); ++i) {
    const progress::TrackedPtr &tracked = entries_[i].tracked;
    if (tracked == nullptr || !tracked->is_active()) continue;
    tracked->tell(wait);
    return;
  }
}

void tell_waiting_call(const void *subject, waiting::Wait *wait) noexcept {
  const auto *call = static_cast<const WaitingCall *>(subject);
  call->watched->tell(call->n_done != nullptr ? *call->n_done : 0, wait);
  waiting::put(call->function, &wait->function);
}

}  // namespace sluice::ops
