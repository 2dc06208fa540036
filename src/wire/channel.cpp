// SPDX-License-Identifier: BSD-3-Clause
#include "wire/channel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/marks.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::wire {
namespace {

Status check(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  return host_failure(code, fmt::format("make Sluice's own communicator ({})", what), "messages are staged");
}

// Receives what came and nobody wanted: answers to a receive that has failed, a confused peer's messages. MPICH
// from 4.2 on ends the job when a communicator is freed that has such messages, whatever its error handler. False: some
// may be left.
bool take_leftovers(MPI_Comm comm) noexcept {
  try {
    std::vector<std::byte> bytes;
    for (;;) {
      int is_there = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      if (host().MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &is_there, &message, &status) != MPI_SUCCESS)
        return false;
      if (is_there == 0) return true;
      int n_bytes = 0;
      if (host().MPI_Get_count(&status, MPI_BYTE, &n_bytes) != MPI_SUCCESS || n_bytes < 0) n_bytes = 0;
      bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(n_bytes)));
      if (host().MPI_Mrecv(bytes.data(), n_bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    }
  } catch (const std::exception &) {
    return false;  // no memory for it: the host MPI keeps it
  }
}

// Where a process runs, as numbers that only processes of the same place have.
struct Place {
  std::uint64_t kernel;  // of one running kernel, as far as SLUICE_NODE does not divide its processes
  std::uint64_t node;    // and of one network name space: sockets, by which the ranks of a node meet, lead nowhere else
};
constexpr int kPlace = sizeof(Place) / sizeof(std::uint64_t);

Place find_place() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!(file >> id)) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) == 0) id = name;
  }
  id += Knobs::process().text("SLUICE_NODE");
  char network[64] = "";
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = '\0';
  const std::hash<std::string> hash;
  return {.kernel = hash(id), .node = hash(id + '/' + network)};
}

// Says, on the first rank of a kernel whose ranks are in several network name spaces, what comes of that.
void tell_divided(const std::vector<Place> &places, int rank) {
  const Place own = places[static_cast<std::size_t>(rank)];
  for (int other = 0; other < static_cast<int>(places.size()); ++other) {
    const Place &place = places[static_cast<std::size_t>(other)];
    if (place.kernel != own.kernel) continue;
    if (other < rank) return;
    if (place.node == own.node) continue;
    log::warn("wire", fmt::format("ranks {} and {} of MPI_COMM_WORLD share a machine and no network name space; they "
                                  "count as ranks of different nodes; put the ranks of a machine into one container, "
                                  "or start its containers with --network=host",
                                  rank, other));
    return;
  }
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  return number;
}

// What each rank says when the channel opens. Of every number the highest of all ranks counts: any who forbids, any who
// wants, the longest lengths, any who would leave calls out.
struct Votes {
  std::uint64_t forbids;
  std::uint64_t wants;
  std::uint64_t threshold_bytes;
  std::uint64_t reduce_threshold_bytes;
  std::uint64_t levels_threshold_bytes;
  std::uint64_t may_leave_out;
  std::uint64_t segments_threshold_bytes;
  std::uint64_t segment_bytes;
  std::uint64_t may_stay_whole;
  std::uint64_t keeps_rank_order;
  std::uint64_t first_meeting;
  std::uint64_t unmet_threshold_bytes;
  std::uint64_t unmet_reduce_threshold_bytes;
};
constexpr int kVotes = sizeof(Votes) / sizeof(std::uint64_t);

Votes votes_of(bool allows, bool wants, const CollectiveTerms &terms) noexcept {
  return {.forbids = allows ? 0U : 1U,
          .wants = wants ? 1U : 0U,
          .threshold_bytes = terms.threshold_bytes,
          .reduce_threshold_bytes = terms.reduce_threshold_bytes,
          .levels_threshold_bytes = terms.levels_threshold_bytes,
          .may_leave_out = terms.may_leave_out ? 1U : 0U,
          .segments_threshold_bytes = terms.segments_threshold_bytes,
          .segment_bytes = terms.segment_bytes,
          .may_stay_whole = terms.may_stay_whole ? 1U : 0U,
          .keeps_rank_order = terms.keeps_rank_order ? 1U : 0U,
          .first_meeting = terms.first_meeting,
          .unmet_threshold_bytes = terms.unmet_threshold_bytes,
          .unmet_reduce_threshold_bytes = terms.unmet_reduce_threshold_bytes};
}

CollectiveTerms terms_of(const Votes &votes) noexcept {
  return {.threshold_bytes = votes.threshold_bytes,
          .reduce_threshold_bytes = votes.reduce_threshold_bytes,
          .levels_threshold_bytes = votes.levels_threshold_bytes,
          .may_leave_out = votes.may_leave_out != 0,
          .segments_threshold_bytes = votes.segments_threshold_bytes,
          .segment_bytes = votes.segment_bytes,
          .may_stay_whole = votes.may_stay_whole != 0,
          .keeps_rank_order = votes.keeps_rank_order != 0,
          .first_meeting = votes.first_meeting,
          .unmet_threshold_bytes = votes.unmet_threshold_bytes,
          .unmet_reduce_threshold_bytes = votes.unmet_reduce_threshold_bytes};
}

// Ours among the tags of MPI_Comm_create_group; the host MPI keeps those apart from the tags of messages.
constexpr int kGatherTag = 0x51ce;

std::string node_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "this node";
}

// `missing`: of this node, if any are known. `outcome`: what comes of it.
Status not_everywhere(const std::vector<int> &missing, const char *outcome) {
  const std::string where = missing.empty() ? "at least one, none of which this rank can name"
                                            : fmt::format("on {} those that the launcher counts as {}", node_name(),
                                                          fmt::join(missing, ", "));
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("not all ranks of MPI_COMM_WORLD run Sluice (without it: {}); {}; preload it into "
                                   "all programs of the job (sluice run does, but a wrapper may clear LD_PRELOAD, and "
                                   "set-user-ID, file capabilities and static linking keep it away), or into none",
                                   where, outcome));
}

// While it lives the caller waits for other ranks in the host MPI. Where those do not come the job is ended, with
// `text` as the reason: nothing else gets the caller out.
class AbortWatch {
 public:
  AbortWatch(bool is_needed, std::string text) : text_(std::move(text)) {
    if (!is_needed) return;
    try {
      const SignalsBlocked blocked;
      thread_ = std::thread([this] { watch(); });
    } catch (const std::exception &error) {
      log::warn("wire", std::string("ranks without Sluice would not be noticed: ") + error.what());
    }
  }
  ~AbortWatch() {
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  AbortWatch(const AbortWatch &) = delete;
  AbortWatch &operator=(const AbortWatch &) = delete;
  AbortWatch(AbortWatch &&) = delete;
  AbortWatch &operator=(AbortWatch &&) = delete;

 private:
  void watch() {
    // The host MPI's MPI_Init has brought all ranks together, and nothing of ours is between.
    constexpr std::chrono::seconds kPatience{7};
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [this] { return is_over_; })) return;
    log::last_words("wire", text_);
    const int code = host().MPI_Abort(MPI_COMM_WORLD, 1);
    if (code != MPI_SUCCESS) log::error("wire", host_failure(code, "end the job", "end it by hand").message());
  }

  std::string text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

Channel &Channel::process() {
  static auto *channel = new Channel();
  return *channel;
}

Status Channel::gather() {
  OwnedGroup world;
  int size = 0;
  comm_ = MPI_COMM_NULL;
  Status status = check(host().MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (status.is_ok()) status = check(host().MPI_Comm_group(MPI_COMM_WORLD, world.slot()), "MPI_Comm_group");
  if (!status.is_ok()) return status;
  const MarkedRanks marked = Marks::process().look(size);
  const bool is_one_node = marked.is_known && marked.n_local == size;
  if (is_one_node && !marked.missing.empty()) {
    if (marked.is_first) status = not_everywhere(marked.missing, "device memory is staged");
  } else {
    // Where all are on this node and have marks, all come.
    const AbortWatch watch(
        size > 1 && !is_one_node,
        not_everywhere(marked.missing, "this one waits for them in vain, and ends the job").message());
    status =
        check(host().MPI_Comm_create_group(MPI_COMM_WORLD, world.get(), kGatherTag, &comm_), "MPI_Comm_create_group");
    if (status.is_ok()) Marks::process().take_away();  // who is in that call has looked
  }
  if (comm_ != MPI_COMM_NULL && status.is_ok()) {
    status = check(host().MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  return status;
}

Status Channel::open(bool allows, bool wants, const CollectiveTerms &terms) {
  if (comm_ == MPI_COMM_NULL) return {};
  Votes votes = votes_of(allows, wants, terms);
  Status status = check(host().MPI_Allreduce(MPI_IN_PLACE, &votes, kVotes, MPI_UINT64_T, MPI_MAX, comm_), "agreement");
  if (!status.is_ok()) return status;
  if (votes.forbids != 0 || votes.wants == 0) {
    OwnedComm(std::exchange(comm_, MPI_COMM_NULL)).reset();
    return {};
  }
  terms_ = terms_of(votes);
  status = agree();
  if (status.is_ok() && terms_.keeps_rank_order) {
    status = check(host().MPI_Comm_dup(comm_, &rank_order_comm_), "MPI_Comm_dup");  // with its error handler
  }
  is_open_ = status.is_ok();
  return status;
}

Status Channel::agree() {
  int size = 0;
  Status status = check(host().MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  if (status.is_ok()) status = check(host().MPI_Comm_size(comm_, &size), "MPI_Comm_size");
  if (!status.is_ok()) return status;
  nonce_ = random_number();
  status = check(host().MPI_Bcast(&nonce_, sizeof nonce_, MPI_BYTE, 0, comm_), "MPI_Bcast");
  if (!status.is_ok()) return status;
  std::vector<Place> places(static_cast<std::size_t>(size));
  const Place own = find_place();
  status = check(host().MPI_Allgather(&own, kPlace, MPI_UINT64_T, places.data(), kPlace, MPI_UINT64_T, comm_),
                 "MPI_Allgather");
  if (!status.is_ok()) return status;
  nodes_.clear();
  for (const Place &place : places) nodes_.push_back(place.node);
  tell_divided(places, rank_);
  int level = MPI_THREAD_SINGLE;
  status = check(host().MPI_Query_thread(&level), "MPI_Query_thread");
  has_threads_ = level == MPI_THREAD_MULTIPLE;
  void *value = nullptr;
  int is_set = 0;
  if (status.is_ok()) {
    status = check(host().MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&value), &is_set),
                   "MPI_Comm_get_attr");
  }
  constexpr int kFewest = 32767;  // MPI promises this much
  largest_tag_ = is_set != 0 && value != nullptr ? *static_cast<int *>(value) : kFewest;
  n_numbers_ = std::min(largest_tag_ / 4, 1 << 22);
  next_number_ = 1;
  return status;
}

void Channel::close() noexcept {
  if (!is_open_) return;
  is_open_ = false;
  if (!take_leftovers(comm_)) comm_ = MPI_COMM_NULL;  // the host MPI's end has it
  for (MPI_Comm *comm : {&comm_, &rank_order_comm_}) OwnedComm(std::exchange(*comm, MPI_COMM_NULL)).reset();
}

Status Channel::take_number(int *number) {
  const std::scoped_lock lock(mutex_);
  if (!free_numbers_.empty()) {
    *number = free_numbers_.back();
    free_numbers_.pop_back();
    return {};
  }
  if (next_number_ >= n_numbers_) {
    return Status::error(ErrorKind::kUnsupported, "too many unfinished sends of device memory; complete some first");
  }
  *number = next_number_++;
  free_numbers_.reserve(static_cast<std::size_t>(next_number_));  // so that giving one back cannot fail
  return {};
}

void Channel::give_number(int number) noexcept {
  const std::scoped_lock lock(mutex_);
  free_numbers_.push_back(number);
}

}  // namespace sluice::wire
