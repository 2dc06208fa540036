// SPDX-License-Identifier: BSD-3-Clause
#include "progress/notices.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "wire/host.hpp"

namespace sluice::progress {
namespace {

// Of calls that this process never came to: it had an error of its own.
constexpr std::size_t kMostKept = 1024;

// False when there is none. What is not a notice is taken off the queue, and dropped.
bool receive_one(Notice *notice, int *rank, bool *is_good) {
  const wire::Host &host = wire::host();
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  if (host.MPI_Improbe(MPI_ANY_SOURCE, Notices::kTag, wire::Channel::process().comm(), &is_there, &message, &status) !=
          MPI_SUCCESS ||
      is_there == 0) {
    return false;
  }
  int n_bytes = 0;
  *is_good = host.MPI_Mrecv(notice, sizeof *notice, MPI_BYTE, &message, &status) == MPI_SUCCESS &&
             host.MPI_Get_count(&status, MPI_BYTE, &n_bytes) == MPI_SUCCESS && n_bytes == sizeof *notice;
  *rank = status.MPI_SOURCE;
  return true;
}

}  // namespace

Notices &Notices::process() {
  static auto *notices = new Notices();
  return *notices;
}

void Notices::receive() {
  Notice notice;
  int rank = 0;
  bool is_good = false;
  while (receive_one(&notice, &rank, &is_good)) {
    if (!is_good) {
      log::warn_once("notices", "progress", "a private message of another rank could not be read");
      continue;
    }
    const std::scoped_lock lock(mutex_);
    if (known_.size() == kMostKept) known_.erase(known_.begin());
    known_.push_back({notice, rank});
    n_known_.store(known_.size(), std::memory_order_release);
  }
}

bool Notices::take(const Notice &wanted, int *rank) {
  const std::scoped_lock lock(mutex_);
  const auto is_wanted = [&](const Known &known) { return known.notice == wanted; };
  const auto found = std::find_if(known_.begin(), known_.end(), is_wanted);
  if (found == known_.end()) return false;
  *rank = found->rank;
  std::erase_if(known_, is_wanted);  // several may have failed in the same call
  n_known_.store(known_.size(), std::memory_order_release);
  return true;
}

}  // namespace sluice::progress
