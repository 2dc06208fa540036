// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/shared_pointer.hpp"

#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/short_mutex.hpp"
#include "ops/comm/agreement.hpp"
#include "progress/host_turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::io {
namespace {

// A program has many files with the same ranks, one after the other.
struct Last {
  ShortMutex mutex;
  std::vector<int> world_ranks;
  SharedPointerPtr shared;
};

Last &last() {
  static auto *one = new Last;
  return *one;
}

// The same on all who know the name.
long long number_of(const wire::SegmentName &name) noexcept {
  const std::size_t hash = std::hash<std::string_view>()({name.data(), name.size()});
  return static_cast<long long>(hash >> 2) + 1;
}

}  // namespace

SharedPointerPtr last_shared_pointer(const std::vector<int> &world_ranks) {
  const std::scoped_lock lock(last().mutex);
  return last().world_ranks == world_ranks ? last().shared : nullptr;
}

Status share_pointer(MPI_Comm comm, const std::vector<int> &world_ranks, SharedPointerPtr *shared) {
  auto made = std::make_shared<SharedPointer>();
  wire::SegmentName name{};
  int rank = 0;
  int code = wire::host().MPI_Comm_rank(comm, &rank);
  Status own = rank == 0 ? made->lock.create(&name) : Status();
  MPI_Request request = MPI_REQUEST_NULL;
  if (code == MPI_SUCCESS) {
    code = wire::host().MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm, &request);
  }
  Status agreed = await_in_turns(code, &request, "tell the ranks of a file the name of their lock");
  if (agreed.is_ok() && rank != 0 && name.front() != '\0') own = made->lock.open(name);
  bool is_shared = false;
  if (agreed.is_ok()) agreed = agree_on_all(comm, made->lock.is_there(), &is_shared);
  if (rank == 0) wire::SegmentOffers::process().remove(name);
  if (!is_shared) return agreed.is_ok() ? own : agreed;
  made->number = number_of(name);
  *shared = made;
  const std::scoped_lock lock(last().mutex);
  last().world_ranks = world_ranks;
  last().shared = std::move(made);
  return {};
}

SharedTurn::SharedTurn(SharedPointerPtr shared) {
  const std::thread::id self = std::this_thread::get_id();
  if (shared == nullptr || shared->owner.load() == self) return;
  shared_ = std::move(shared);
  // The threads of this process first: the lock does not tell them apart.
  shared_->order.join(this);
  const auto has_turn = [this] {
    if (!shared_->order.is_turn(this)) return false;
    if (!shared_->lock.is_there()) return true;
    status_ = shared_->lock.try_take(&is_locked_);
    return is_locked_ || !status_.is_ok();
  };
  if (!has_turn()) progress::turn_beside_host_until(has_turn);
  shared_->owner.store(self);
}

SharedTurn::~SharedTurn() {
  if (shared_ == nullptr) return;
  shared_->owner.store({});
  if (is_locked_) shared_->lock.release();
  shared_->order.leave(this);
}

}  // namespace sluice::ops::io
