// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/packed_payload.hpp"

#include "ops/datatype/layout_of.hpp"
#include "transfer/packing.hpp"

namespace sluice::ops {

Status PackedPayload::open(const Buffer &buffer) {
  const transfer::Region &region = buffer.region();
  if (region.layout->is_contiguous || memory_.is_live()) return {};
  if (Status status = memory_.acquire(region.place, region.size_bytes()); !status.is_ok()) return status;
  region_ = {memory_.data(), static_cast<std::int64_t>(region.size_bytes()), nullptr, {}};
  [[maybe_unused]] const bool is_named = named_layout(MPI_BYTE, &region_.layout);
  return device::classify(memory_.data(), &region_.place);
}

Status PackedPayload::pack(const Buffer &buffer) const {
  if (!memory_.is_live()) return {};
  const transfer::Region &region = buffer.region();
  transfer::Packer packer;
  bool is_refused = false;
  Status status = packer.add(SLUICE_PACK, SLUICE_PACKED, region, 0, region.size_bytes(), memory_.data(), &is_refused);
  if (status.is_ok() && is_refused) status = Status::error(ErrorKind::kUnsupported, "no kernel packs this data");
  return status.is_ok() ? packer.wait() : status;
}

}  // namespace sluice::ops
