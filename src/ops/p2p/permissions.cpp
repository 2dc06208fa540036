// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/permissions.hpp"

#include "base/log.hpp"
#include "ops/p2p/arrivals.hpp"
#include "ops/p2p/buffer.hpp"
#include "ops/p2p/control.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

Permissions &Permissions::process() {
  return progress::process_task<Permissions>(static_cast<std::size_t>(wire::Channel::process().size()));
}

bool Permissions::has(int peer) {
  std::atomic<bool> &granted = granted_[static_cast<std::size_t>(peer)];
  if (granted.load(std::memory_order_acquire)) return true;
  bool has_heard = false;
  ControlListener::process().look(&has_heard);  // what failed was told, and then nothing is granted
  return granted.load(std::memory_order_acquire);
}

void Permissions::note_granted(int peer) noexcept {
  if (!granted_[static_cast<std::size_t>(peer)].exchange(true, std::memory_order_acq_rel)) n_granted_.fetch_add(1);
}

void Permissions::note_plain(const Buffer &buffer, int sender) {
  if (buffer.kind() == MemoryKind::kHost || !buffer.may_meet_descriptor()) return;  // without a channel no side may
  if (sender >= 0 && sender != wire::Channel::process().rank()) process().give(sender);
}

void Permissions::give(int peer) {
  if (given_[static_cast<std::size_t>(peer)].exchange(true)) return;
  receives_are_safe.store(true, std::memory_order_release);
  const std::scoped_lock lock(mutex_);
  messages_.push_back({peer, {Control::Kind::kMayDescribe}});
  come();
}

bool Permissions::advance() {
  if (!Arrivals::process().are_safe()) return false;
  const wire::Host &host = wire::host();
  const wire::Channel &channel = wire::Channel::process();
  const std::scoped_lock lock(mutex_);
  for (auto message = messages_.begin(); message != messages_.end();) {
    int is_done = 0;
    int code = MPI_SUCCESS;
    if (!message->is_sent) {
      message->is_sent = true;
      code = host.MPI_Isend(&message->control, sizeof message->control, MPI_BYTE, message->peer,
                            wire::Channel::tag(wire::PrivateKind::kControl, 0), channel.comm(), &message->request);
    }
    if (code == MPI_SUCCESS) code = host.MPI_Test(&message->request, &is_done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) log::warn_once("permission", "p2p", "the host MPI could not send a control message");
    message = code != MPI_SUCCESS || is_done != 0 ? messages_.erase(message) : std::next(message);
  }
  return may_go(messages_.empty());
}

bool Permissions::drain() {
  const wire::Channel &channel = wire::Channel::process();
  std::vector<int> given(given_.size());
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = given_[i].load() ? 1 : 0;
  int n_expected = 0;
  if (wire::host().MPI_Reduce_scatter_block(given.data(), &n_expected, 1, MPI_INT, MPI_SUM, channel.comm()) !=
      MPI_SUCCESS) {
    return false;
  }
  progress::Patience patience;
  while (n_granted_.load() < n_expected) {
    bool has_heard = false;
    if (ControlListener::process().look(&has_heard) != MPI_SUCCESS) return false;
    if (!has_heard) patience.pause();
  }
  return true;
}

}  // namespace sluice::ops
