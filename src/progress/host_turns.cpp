// SPDX-License-Identifier: BSD-3-Clause
#include "progress/host_turns.hpp"

#include "base/log.hpp"
#include "progress/notices.hpp"
#include "progress/thread.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::progress {
namespace {

bool is_over(const std::weak_ptr<Tracked> &served) {
  const TrackedPtr tracked = served.lock();
  return tracked == nullptr || !tracked->is_active();
}

}  // namespace

void HostTurns::serve(const TrackedPtr &tracked) {
  // Without a channel there is no communicator to look for messages on, and the queues of the program, for which the
  // thread runs then, ask after their own.
  if (!ProgressThread::process().is_running() || !wire::Channel::process().is_open()) return;
  const std::scoped_lock lock(mutex_);
  served_.push_back(tracked);
  come();
}

void HostTurns::serve_host() noexcept {
  // A call that looks for a message makes the host MPI serve all that is under way, unless it finds one: then the host
  // MPIs answer at once. So this looks for one that is sent only when something failed; others may lie there for long
  // (permissions do).
  int is_there = 0;
  if (wire::host().MPI_Iprobe(MPI_ANY_SOURCE, Notices::kTag, wire::Channel::process().comm(), &is_there,
                              MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    log::warn_once("host_turns", "progress", "the host MPI could not be served by the progress thread");
  }
  if (is_there == 0) return;
  try {
    Notices::process().receive();
  } catch (const std::exception &error) {
    log::warn_once("notices", "progress", std::string("what another rank said was lost: ") + error.what());
  }
}

bool HostTurns::advance() {
  serve_host();
  const std::scoped_lock lock(mutex_);
  std::erase_if(served_, is_over);
  if (!ProgressThread::process().is_running())
    served_.clear();  // nothing is owed to a persistent one that stays active
  return may_go(served_.empty());
}

}  // namespace sluice::progress
