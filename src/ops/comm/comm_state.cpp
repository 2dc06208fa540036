// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/comm_state.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <ranges>

#include "base/log.hpp"
#include "ops/comm/comm_memo.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {
namespace {

std::mutex mutex;
int keyval = MPI_KEYVAL_INVALID;
std::atomic<std::uint64_t> n_gone{0};

int delete_state(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  n_gone.fetch_add(1, std::memory_order_release);
  const std::unique_ptr<CommStatePtr> gone(static_cast<CommStatePtr *>(value));
  return MPI_SUCCESS;
}

// A duplicate of a communicator starts with nothing claimed, but one of those that are left to the host MPI is left to
// it, too.
int copy_state(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void *value, void *copy, int *flag) {
  const CommStatePtr &state = *static_cast<CommStatePtr *>(value);
  *flag = 0;
  if (!state->is_left_to_host) return MPI_SUCCESS;
  auto *made = new (std::nothrow) CommStatePtr(state);
  if (made == nullptr) return MPI_ERR_NO_MEM;
  *static_cast<void **>(copy) = made;
  *flag = 1;
  return MPI_SUCCESS;
}

bool make_keyval() {
  if (keyval != MPI_KEYVAL_INVALID) return true;
  return wire::host().MPI_Comm_create_keyval(&copy_state, &delete_state, &keyval, nullptr) == MPI_SUCCESS;
}

using GroupFunction = int (*wire::Host::*)(MPI_Comm, MPI_Group *);

// The ranks of the processes in one of `comm`'s groups, seen from MPI_COMM_WORLD; -1 for one outside it.
bool find_world_ranks(MPI_Comm comm, GroupFunction group_of, std::vector<int> *world_ranks) {
  const wire::Host &host = wire::host();
  wire::OwnedGroup group;
  wire::OwnedGroup world;
  int size = 0;
  if ((host.*group_of)(comm, group.slot()) != MPI_SUCCESS ||
      host.MPI_Comm_group(wire::Channel::process().comm(), world.slot()) != MPI_SUCCESS ||
      host.MPI_Group_size(group.get(), &size) != MPI_SUCCESS) {
    return false;
  }
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  world_ranks->resize(ranks.size());
  if (host.MPI_Group_translate_ranks(group.get(), size, ranks.data(), world.get(), world_ranks->data()) !=
      MPI_SUCCESS) {
    return false;
  }
  std::ranges::replace(*world_ranks, MPI_UNDEFINED, -1);
  return true;
}

bool are_all_known(const std::vector<int> &world_ranks) {
  return std::none_of(world_ranks.begin(), world_ranks.end(), [](int rank) { return rank < 0; });
}

// Fills a new state: to whom messages on `comm` go, and whether all its processes are in MPI_COMM_WORLD.
bool describe(MPI_Comm comm, CommState *state) {
  const wire::Host &host = wire::host();
  int is_inter = 0;
  if (host.MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS ||
      host.MPI_Comm_rank(comm, &state->rank) != MPI_SUCCESS || host.MPI_Comm_size(comm, &state->size) != MPI_SUCCESS ||
      !find_world_ranks(comm, is_inter != 0 ? &wire::Host::MPI_Comm_remote_group : &wire::Host::MPI_Comm_group,
                        &state->world_ranks)) {
    return false;
  }
  state->is_inter = is_inter != 0;
  state->n_peers = static_cast<int>(state->world_ranks.size());
  state->is_within_world = are_all_known(state->world_ranks);
  const wire::Channel &channel = wire::Channel::process();
  state->is_on_one_node = state->is_within_world && std::all_of(state->world_ranks.begin(), state->world_ranks.end(),
                                                                [&](int rank) { return channel.is_local(rank); });
  if (is_inter == 0) return true;
  std::vector<int> own_group;
  if (!find_world_ranks(comm, &wire::Host::MPI_Comm_group, &own_group)) return false;
  state->is_within_world &= are_all_known(own_group);
  return true;
}

// What hangs on `comm`; null when nothing does yet.
CommStatePtr find_state(MPI_Comm comm) {
  void *value = nullptr;
  int is_set = 0;
  if (wire::host().MPI_Comm_get_attr(comm, keyval, static_cast<void *>(&value), &is_set) != MPI_SUCCESS ||
      is_set == 0) {
    return nullptr;
  }
  return *static_cast<CommStatePtr *>(value);
}

// The communicator holds it, too, from then on.
bool hang(MPI_Comm comm, const CommStatePtr &state) {
  auto value = std::make_unique<CommStatePtr>(state);
  if (wire::host().MPI_Comm_set_attr(comm, keyval, value.get()) != MPI_SUCCESS) return false;
  [[maybe_unused]] const CommStatePtr *theirs = value.release();
  return true;
}

// A communicator that this thread has asked for lately.
struct Recent {
  MPI_Comm comm{};
  const CommState *state = nullptr;  // of a communicator that is there
  std::weak_ptr<CommState> held;
};

// The newest ones; null: there is no state to be had. Valid until the next call.
const Recent *find_recent(MPI_Comm comm) {
  constexpr std::size_t kMost = 8;
  static thread_local CommMemo<Recent, kMost> recent;
  if (const Recent *known = recent.find([&](const Recent &one) { return one.comm == comm; }); known != nullptr) {
    return known;
  }
  const CommStatePtr state = state_of(comm);
  return state != nullptr ? &recent.keep({comm, state.get(), state}) : nullptr;
}

}  // namespace

CommState::~CommState() {
  for (Slot &slot : std::ranges::reverse_view(slots_)) slot.part.reset();
}

CommStatePtr state_of(MPI_Comm comm) {
  if (!wire::Channel::process().is_open() || comm == MPI_COMM_NULL) return nullptr;
  const std::scoped_lock lock(mutex);
  if (!make_keyval()) return nullptr;
  if (CommStatePtr found = find_state(comm); found != nullptr) return found->is_left_to_host ? nullptr : found;
  auto made = std::make_shared<CommState>();
  return describe(comm, made.get()) && hang(comm, made) ? made : nullptr;
}

bool leave_to_host(MPI_Comm comm) {
  const std::scoped_lock lock(mutex);
  const auto left = std::make_shared<CommState>();
  left->is_left_to_host = true;
  return make_keyval() && hang(comm, left);
}

bool is_left_to_host(MPI_Comm comm) {
  const std::scoped_lock lock(mutex);
  const CommStatePtr found = keyval != MPI_KEYVAL_INVALID ? find_state(comm) : nullptr;
  return found != nullptr && found->is_left_to_host;
}

CommStatePtr recent_state_of(MPI_Comm comm) {
  const Recent *const known = find_recent(comm);
  if (known == nullptr) return nullptr;
  CommStatePtr state = known->held.lock();
  return state != nullptr ? state : state_of(comm);
}

const CommState *state_for_call(MPI_Comm comm) {
  const Recent *const known = find_recent(comm);
  return known == nullptr ? nullptr : known->state;
}

std::uint64_t n_comms_gone() noexcept {
  return n_gone.load(std::memory_order_acquire);
}

plan::Peer peer_of(MPI_Comm comm, int rank, int *world_rank) {
  const wire::Channel &channel = wire::Channel::process();
  *world_rank = -1;
  if (!channel.is_open() || rank < 0) return plan::Peer::kUnknown;
  if (comm == MPI_COMM_WORLD) {
    if (rank < channel.size()) *world_rank = rank;
  } else {
    const CommStatePtr state = state_of(comm);
    if (state != nullptr && static_cast<std::size_t>(rank) < state->world_ranks.size()) {
      *world_rank = state->world_ranks[static_cast<std::size_t>(rank)];
    }
  }
  if (*world_rank < 0) return plan::Peer::kUnknown;
  if (*world_rank == channel.rank()) return plan::Peer::kSelf;
  return channel.is_local(*world_rank) ? plan::Peer::kLocal : plan::Peer::kRemote;
}

bool is_within_channel(MPI_Comm comm) {
  if (!wire::Channel::process().is_open()) return false;
  if (comm == MPI_COMM_WORLD) return true;
  const CommState *const state = state_for_call(comm);
  return state != nullptr && state->is_within_world;
}

void release_comm_states() noexcept {
  CommStatePtr of_world;  // goes behind the lock
  const std::scoped_lock lock(mutex);
  if (keyval == MPI_KEYVAL_INVALID) return;
  of_world = find_state(MPI_COMM_WORLD);
  // The host MPI is about to end and reports what it minds itself.
  if (of_world != nullptr && wire::host().MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval) != MPI_SUCCESS) {
    log::debug("ops", "the host MPI keeps an attribute of MPI_COMM_WORLD");
  }
  if (wire::host().MPI_Comm_free_keyval(&keyval) != MPI_SUCCESS) {
    log::debug("ops", "the host MPI keeps the key of communicators' attributes");
  }
  keyval = MPI_KEYVAL_INVALID;
}

}  // namespace sluice::ops
