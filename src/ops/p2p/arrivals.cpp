// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/arrivals.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ops/p2p/incoming.hpp"

namespace sluice::ops {

Arrivals &Arrivals::process() {
  return progress::process_task<Arrivals>();
}

void Arrivals::add(std::shared_ptr<Incoming> receive) {
  const std::scoped_lock lock(mutex_);
  inbox_.push_back(std::move(receive));
  come();
}

void Arrivals::take_in() {
  const std::scoped_lock lock(mutex_);
  waiting_.insert(waiting_.end(), std::make_move_iterator(inbox_.begin()), std::make_move_iterator(inbox_.end()));
  inbox_.clear();
}

bool Arrivals::is_waiting(std::size_t index) {
  std::shared_ptr<Incoming> &receive = waiting_[index];
  if (receive == nullptr) return false;
  if (receive->looks_for_arrival()) return true;
  if (receive->is_pulling()) arrived_.push_back(std::move(receive));
  receive.reset();
  return false;
}

// First all of them join their batches, then those run: in this turn still, and together.
void Arrivals::begin_pulls() {
  for (std::shared_ptr<Incoming> &receive : arrived_) {
    if (receive->advance()) receive.reset();
  }
  for (std::shared_ptr<Incoming> &receive : arrived_) {
    if (receive != nullptr && !receive->advance()) progress::Engine::process().watch(std::move(receive));
  }
  arrived_.clear();
}

void Arrivals::ask_others() {
  const std::size_t size = waiting_.size();
  if (size == 0) return;
  std::size_t n_waiting = 0;
  for (std::size_t i = size; i-- > 0 && n_waiting < kNewest;) {
    if (is_waiting(i)) ++n_waiting;
  }
  n_waiting = 0;
  for (std::size_t n_asked = 0; n_asked < size && n_waiting < kOthers; ++n_asked, ++next_) {
    if (is_waiting(next_ % size)) ++n_waiting;
  }
  next_ %= size;
}

void Arrivals::forget_arrived() {
  const auto turn = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, waiting_.size()));
  next_ -=
      static_cast<std::size_t>(std::count(waiting_.begin(), turn, nullptr));  // what is gone shifts those behind it
  std::erase(waiting_, nullptr);
}

bool Arrivals::are_safe() {
  take_in();
  return std::all_of(waiting_.begin(), waiting_.end(), [](const std::shared_ptr<Incoming> &receive) {
    return receive == nullptr || receive->side.is_safe();
  });
}

bool Arrivals::advance() {
  take_in();
  std::size_t n_waiting = 0;
  std::size_t at = 0;
  for (; at < waiting_.size() && n_waiting < kOldest; ++at) {
    if (is_waiting(at)) ++n_waiting;
  }
  if (at < waiting_.size()) ask_others();
  begin_pulls();
  forget_arrived();
  if (!waiting_.empty()) return false;
  next_ = 0;
  const std::scoped_lock lock(mutex_);
  return may_go(inbox_.empty());
}

}  // namespace sluice::ops
