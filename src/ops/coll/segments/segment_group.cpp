// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/segment_group.hpp"

#include <atomic>

#include "ops/comm/agreement.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// Whether a call of this process has ever asked, so that others need not look at their communicators.
std::atomic<bool> &has_wishes() noexcept {
  static std::atomic<bool> one{false};
  return one;
}

// Whether any rank has a use for it. Collective.
Status settle(MPI_Comm comm, DeferredAgreement *wishes, bool *is_wanted) {
  int least = 0;  // 0 where one has
  if (Status status = find_least(comm, wishes->is_own() ? 0 : 1, &least); !status.is_ok()) return status;
  wishes->note_settled();
  *is_wanted = least == 0;
  return {};
}

}  // namespace

SegmentGroupPtr SegmentGroup::find(MPI_Comm comm, bool has_device) {
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) return nullptr;
  auto &segments = state->part<SegmentsOfComm>();
  if (segments.group != nullptr) return segments.group;
  segments.wishes.note(has_device);
  has_wishes().store(true, std::memory_order_relaxed);
  return nullptr;
}

SegmentGroupPtr SegmentGroup::find_unequal(MPI_Comm comm, bool is_long) {
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) return nullptr;
  auto &segments = state->part<SegmentsOfComm>();
  segments.unequal_wishes.note(is_long);
  has_wishes().store(true, std::memory_order_relaxed);
  const SegmentGroupPtr &group = segments.group;
  return group != nullptr && group->serves_unequal_ ? group : nullptr;
}

Status SegmentGroup::seek(MPI_Comm comm, const Member &member) {
  if (!has_wishes().load(std::memory_order_relaxed) || member.is_inter || member.size < 2) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr) return {};
  auto &segments = state->part<SegmentsOfComm>();
  bool is_wanted = false;
  if (segments.group == nullptr && segments.wishes.are_due()) {
    if (Status status = settle(comm, &segments.wishes, &is_wanted); !status.is_ok()) return status;
  }
  const bool is_unequal_due = segments.unequal_wishes.are_due();
  bool is_unequal_wanted = false;
  if (is_unequal_due) {
    Status status = settle(comm, &segments.unequal_wishes, &is_unequal_wanted);
    if (!status.is_ok()) return status;
  }
  if (segments.group == nullptr && (is_wanted || is_unequal_wanted)) {
    const auto made = std::make_shared<SegmentGroup>();
    bool is_made = false;
    Status status = made->questions_.make(comm, &is_made);
    if (is_made) status = made->data_.make(comm, &is_made);
    if (!status.is_ok()) return status;
    if (is_made) segments.group = made;
  }
  if (is_unequal_due && segments.group != nullptr) segments.group->serves_unequal_ = is_unequal_wanted;
  return {};
}

int SegmentGroup::return_errors() const {
  int code = MPI_SUCCESS;
  for (const StagingComm *comm : {&questions_, &data_}) {
    if (code == MPI_SUCCESS) code = wire::host().MPI_Comm_set_errhandler(comm->get(), MPI_ERRORS_RETURN);
  }
  return code;
}

}  // namespace sluice::ops::coll
