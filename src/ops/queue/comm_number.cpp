// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/comm_number.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "base/log.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/queue/channels.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::queue {
namespace {

// Hangs on a communicator as an attribute.
struct Lineage {
  std::uint64_t number = 0;
  std::atomic<std::uint64_t> n_duplicates{0};
  bool is_by_duplication = false;  // from MPI_COMM_WORLD: only then do all members know of it without being asked
};

constexpr std::uint64_t kRoot = 0x53'6c'75'69'63'65ULL;

std::mutex mutex;
int keyval = MPI_KEYVAL_INVALID;
// Numbers in use, as they travel, with the lineage that has each.
std::unordered_map<std::uint32_t, const Lineage *> &used() {
  static auto *made = new std::unordered_map<std::uint32_t, const Lineage *>();
  return *made;
}

// Mixes well enough that numbers differ in any of their bits (the finaliser of a 64-bit multiplicative hash).
constexpr std::uint64_t mix(std::uint64_t number, std::uint64_t next) noexcept {
  number = (number ^ next) + 0x9e3779b97f4a7c15ULL;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebULL;
  return number ^ (number >> 31U);
}

// Called by the host MPI on every member, in the order in which the communicator is duplicated.
int copy_lineage(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void *value, void *copy, int *flag) {
  auto *from = static_cast<Lineage *>(value);
  *flag = 0;
  if (!from->is_by_duplication) return MPI_SUCCESS;
  auto *made = new (std::nothrow) Lineage();
  if (made == nullptr) return MPI_ERR_NO_MEM;
  made->number = mix(from->number, 1 + from->n_duplicates.fetch_add(1, std::memory_order_relaxed));
  made->is_by_duplication = true;
  *static_cast<void **>(copy) = made;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_lineage(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  const std::unique_ptr<const Lineage> lineage(static_cast<Lineage *>(value));
  std::optional<std::uint32_t> unused;
  {
    const std::scoped_lock lock(mutex);
    std::erase_if(used(), [&](const auto &entry) {
      if (entry.second == lineage.get()) unused = entry.first;
      return entry.second == lineage.get();
    });
  }
  if (unused) Channels::process().forget(*unused);
  return MPI_SUCCESS;
}

Status refused(int code, const char *what) {
  return wire::host_failure(code, what, "set SLUICE_QUEUE_ENGINE=thread");
}

Status find(MPI_Comm comm, Lineage **lineage) {
  void *value = nullptr;
  int is_set = 0;
  const int code = wire::host().MPI_Comm_get_attr(comm, keyval, static_cast<void *>(&value), &is_set);
  if (code != MPI_SUCCESS) return refused(code, "look up an attribute of a communicator");
  *lineage = is_set != 0 ? static_cast<Lineage *>(value) : nullptr;
  return {};
}

// From then on it is the communicator's, and *hung names it.
Status hang(MPI_Comm comm, std::unique_ptr<Lineage> made, Lineage **hung) {
  const int code = wire::host().MPI_Comm_set_attr(comm, keyval, made.get());
  if (code != MPI_SUCCESS) return refused(code, "hang an attribute on a communicator");
  *hung = made.release();
  return {};
}

// By its members.
Status number_by_members(MPI_Comm comm, Lineage **lineage) {
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) return refused(MPI_ERR_COMM, "tell who is in a communicator");
  auto made = std::make_unique<Lineage>();
  made->number = mix(kRoot, state->world_ranks.size());
  for (const int rank : state->world_ranks) made->number = mix(made->number, static_cast<std::uint64_t>(rank));
  return hang(comm, std::move(made), lineage);
}

}  // namespace

Status begin_comm_numbers() {
  const int code = wire::host().MPI_Comm_create_keyval(&copy_lineage, &delete_lineage, &keyval, nullptr);
  if (code != MPI_SUCCESS) return refused(code, "make an attribute key");
  auto root = std::make_unique<Lineage>();
  root->number = kRoot;
  root->is_by_duplication = true;
  Lineage *hung = nullptr;
  return hang(MPI_COMM_WORLD, std::move(root), &hung);
}

void end_comm_numbers() noexcept {
  if (keyval == MPI_KEYVAL_INVALID) return;
  const wire::Host &host = wire::host();
  if (host.MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval) != MPI_SUCCESS ||
      host.MPI_Comm_free_keyval(&keyval) != MPI_SUCCESS) {
    log::debug("ops", "the attribute that numbers communicators could not be freed");
  }
  keyval = MPI_KEYVAL_INVALID;
}

Status comm_number(MPI_Comm comm, unsigned n_bits, std::uint32_t *number) {
  static std::mutex numbering;
  const std::scoped_lock one_at_a_time(numbering);  // MPI calls delete_lineage(), which takes the other
  Lineage *lineage = nullptr;
  if (Status status = find(comm, &lineage); !status.is_ok()) return status;
  if (lineage == nullptr) {
    if (Status status = number_by_members(comm, &lineage); !status.is_ok()) return status;
  }
  *number = static_cast<std::uint32_t>(lineage->number >> (64U - n_bits));
  const std::scoped_lock lock(mutex);
  if (used().try_emplace(*number, lineage).first->second == lineage) return {};
  return Status::error(ErrorKind::kUnsupported,
                       "the engine of queues that was asked for cannot tell this communicator from another one that is "
                       "in use in queues: they "
                       "have the same members in the same order; make them by MPI_Comm_dup of MPI_COMM_WORLD or of its "
                       "duplicates, or set SLUICE_QUEUE_ENGINE=thread");
}

}  // namespace sluice::ops::queue
