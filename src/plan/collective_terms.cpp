// SPDX-License-Identifier: BSD-3-Clause
#include "plan/collective_terms.hpp"

#include <algorithm>

#include "base/knobs.hpp"

namespace sluice::plan {

CollectiveTerms collective_terms(const Policy &expected, const Policy &loaded) {
  const Knobs &knobs = Knobs::process();
  CollectiveTerms terms;
  if (knobs.text("SLUICE_COLL_IPC") != "off") {
    terms.threshold_bytes = expected.coll_ipc_threshold_bytes;
    terms.reduce_threshold_bytes = expected.coll_reduce_threshold_bytes;
    // Whether there will be devices at all is not known where none is loaded.
    terms.unmet_threshold_bytes = loaded.coll_ipc_threshold_bytes;
    terms.unmet_reduce_threshold_bytes = loaded.coll_reduce_threshold_bytes;
  }
  terms.may_leave_out = knobs.text("SLUICE_COLL_IPC") != "always";
  if (knobs.text("SLUICE_COLL_LEVELS") != "off") terms.levels_threshold_bytes = expected.coll_levels_threshold_bytes;
  if (knobs.text("SLUICE_COLL_SEGMENTS") != "off") {
    terms.segments_threshold_bytes = expected.coll_segment_threshold_bytes;
  }
  terms.segment_bytes = std::max<std::uint64_t>(expected.coll_segment_bytes, 1);
  terms.may_stay_whole = knobs.text("SLUICE_COLL_SEGMENTS") != "always";
  terms.keeps_rank_order = knobs.text("SLUICE_REDUCE_ORDER") == "rank";
  // What they share for it is worth some tens of calls (docs/adr/0045).
  constexpr std::uint64_t kCallsBeforeMeeting = 32;
  if (knobs.text("SLUICE_COLL_MEET") != "off") {
    terms.first_meeting = knobs.text("SLUICE_COLL_MEET") == "always" ? 0 : kCallsBeforeMeeting;
  }
  return terms;
}

}  // namespace sluice::plan
