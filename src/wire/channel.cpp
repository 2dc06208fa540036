// SPDX-License-Identifier: BSD-3-Clause
#include "wire/channel.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/knobs.hpp"
#include "wire/host.hpp"

namespace sluice::wire {
namespace {

Status check(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (host().MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  return Status::error(ErrorKind::kBackend,
                       std::string("Sluice's own communicator: ") + what + ": " + text + "; messages are staged");
}

// The same number for all processes of one running kernel, and for no others; as far as SLUICE_NODE does not divide
// them.
std::uint64_t node_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!(file >> id)) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) == 0) id = name;
  }
  return std::hash<std::string>()(id + Knobs::process().text("SLUICE_NODE"));
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  return number;
}

}  // namespace

Channel &Channel::process() {
  static auto *channel = new Channel();
  return *channel;
}

Status Channel::open(bool allows, bool wants, const CollectiveTerms &terms) {
  // Any who forbids, any who wants, the longest lengths, any who would leave calls out.
  std::uint64_t votes[] = {allows ? 0U : 1U,
                           wants ? 1U : 0U,
                           terms.threshold_bytes,
                           terms.reduce_threshold_bytes,
                           terms.levels_threshold_bytes,
                           terms.may_leave_out ? 1U : 0U,
                           terms.segments_threshold_bytes,
                           terms.segment_bytes,
                           terms.may_stay_whole ? 1U : 0U,
                           terms.keeps_rank_order ? 1U : 0U,
                           terms.first_meeting,
                           terms.unmet_threshold_bytes,
                           terms.unmet_reduce_threshold_bytes};
  Status status = check(host().MPI_Allreduce(MPI_IN_PLACE, votes, static_cast<int>(std::size(votes)), MPI_UINT64_T,
                                             MPI_MAX, MPI_COMM_WORLD),
                        "agreement");
  if (!status.is_ok() || votes[0] != 0 || votes[1] == 0) return status;
  terms_ = {votes[2],      votes[3],      votes[4],  votes[5] != 0, votes[6], votes[7],
            votes[8] != 0, votes[9] != 0, votes[10], votes[11],     votes[12]};
  status = check(host().MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  if (!status.is_ok()) return status;
  status = agree();
  if (status.is_ok() && terms_.keeps_rank_order) {
    status = check(host().MPI_Comm_dup(comm_, &rank_order_comm_), "MPI_Comm_dup");  // with its error handler
  }
  is_open_ = status.is_ok();
  return status;
}

Status Channel::agree() {
  Status status = check(host().MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int size = 0;
  if (status.is_ok()) status = check(host().MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  if (status.is_ok()) status = check(host().MPI_Comm_size(comm_, &size), "MPI_Comm_size");
  if (!status.is_ok()) return status;
  nonce_ = random_number();
  status = check(host().MPI_Bcast(&nonce_, sizeof nonce_, MPI_BYTE, 0, comm_), "MPI_Bcast");
  if (!status.is_ok()) return status;
  nodes_.resize(static_cast<std::size_t>(size));
  std::uint64_t node = node_id();
  status = check(host().MPI_Allgather(&node, sizeof node, MPI_BYTE, nodes_.data(), sizeof node, MPI_BYTE, comm_),
                 "MPI_Allgather");
  int level = MPI_THREAD_SINGLE;
  if (status.is_ok()) status = check(host().MPI_Query_thread(&level), "MPI_Query_thread");
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
  // The host MPI is about to end and reports what it minds itself.
  [[maybe_unused]] int freed = host().MPI_Comm_free(&comm_);
  if (rank_order_comm_ != MPI_COMM_NULL) freed = host().MPI_Comm_free(&rank_order_comm_);
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
