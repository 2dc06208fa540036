// SPDX-License-Identifier: BSD-3-Clause
#include "ops/request/watched.hpp"

#include "ops/env/errors.hpp"

namespace sluice::ops {

Watched::Watched(int count, const MPI_Request *requests) : count_(count) {
  const auto &table = progress::TrackedRequests::process();
  if (table.is_empty() || count < 1 || requests == nullptr) return;
  bool is_any_tracked = false;
  entries_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    progress::TrackedPtr tracked = requests[i] == MPI_REQUEST_NULL ? nullptr : table.find(requests[i]);
    is_any_tracked |= tracked != nullptr;
    entries_.push_back({requests[i], std::move(tracked)});
  }
  if (!is_any_tracked) entries_.clear();
}

MPI_Status *Watched::statuses(MPI_Status *given) {
  if (given != MPI_STATUSES_IGNORE) return given;
  own_statuses_.resize(static_cast<std::size_t>(count_));
  return own_statuses_.data();
}

MPI_Status *Watched::status(MPI_Status *given) {
  if (given != MPI_STATUS_IGNORE) return given;
  own_statuses_.resize(1);
  return own_statuses_.data();
}

void Watched::retire(const Entry &entry) {
  if (entry.tracked->is_persistent()) {
    entry.tracked->set_active(false);
  } else {
    progress::TrackedRequests::process().remove(entry.request, entry.tracked.get());
  }
}

int Watched::finish(int index, const MPI_Status &status, bool retires) {
  progress::TrackedRequests::process().reap(false);
  if (entries_.empty() || index < 0 || index >= count_) return MPI_SUCCESS;
  const Entry &entry = entries_[static_cast<std::size_t>(index)];
  if (entry.tracked == nullptr || !entry.tracked->is_active()) return MPI_SUCCESS;
  Status finished;
  if (entry.tracked->begin_finish()) finished = entry.tracked->finish(status);
  if (retires) retire(entry);
  return finished.is_ok() ? MPI_SUCCESS : raise(entry.tracked->communicator(), finished);
}

void Watched::abandon(int index) {
  if (entries_.empty() || index < 0 || index >= count_) return;
  const Entry &entry = entries_[static_cast<std::size_t>(index)];
  if (entry.tracked != nullptr) retire(entry);
}

}  // namespace sluice::ops
