// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/laid_out.hpp"

#include "transfer/layout_code.hpp"
#include "transfer/packing.hpp"

namespace sluice::transfer {

Status lay_out(const Region &region, LaidOut *payload) {
  *payload = {};
  if (region.layout->is_contiguous) {
    payload->origin = region.origin;
    payload->layout.core_bytes = payload->span_bytes = region.size_bytes();
    return {};
  }
  sluice_pack_t pack{};
  if (Status status = describe_pack(region, &pack); !status.is_ok()) return status;
  payload->origin = static_cast<std::byte *>(pack.origin);
  payload->layout = pack.layout;
  payload->lowest_bytes = pack.lowest_bytes;
  payload->span_bytes = pack.span_bytes;
  return {};
}

LaidOut lay_out(const StridedBlock &block, const std::byte *base) {
  LaidOut payload;
  // Only read, though a kernel's memory has one type in both directions.
  auto *const first = const_cast<std::byte *>(base);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  payload.origin = first + block.offset_bytes;
  payload.layout.core_bytes = payload.span_bytes = block.run_bytes;
  if (block.n_runs < 2) return payload;
  payload.layout.n_dimensions = 1;
  payload.layout.dimensions[0] = {block.n_runs, block.stride_bytes};
  Reach reach;
  if (reach_of(payload.layout, &reach)) {  // a block within an allocation has one
    payload.lowest_bytes = reach.lowest_bytes;
    payload.span_bytes = reach.span_bytes;
  }
  return payload;
}

Status enqueue_move(device::Queue *queue, const LaidOut &from, const LaidOut &to, std::uint64_t size_bytes,
                    bool *is_refused) {
  *is_refused = false;
  if (from.is_one_run() && to.is_one_run()) {
    const sluice_copy_t copy{to.origin, from.origin, size_bytes};
    return queue->enqueue({&copy, 1});
  }
  const LaidOut &inside = to.is_one_run() ? from : to;
  const LaidOut &beside = to.is_one_run() ? to : from;
  sluice_pack_t pack{};
  pack.direction = to.is_one_run() ? SLUICE_PACK : SLUICE_UNPACK;
  pack.form = beside.is_one_run() ? SLUICE_PACKED : SLUICE_LAID_OUT;
  pack.layout = inside.layout;
  pack.origin = inside.origin;
  pack.lowest_bytes = inside.lowest_bytes;
  pack.span_bytes = inside.span_bytes;
  pack.beside = beside.origin;
  pack.size_bytes = size_bytes;
  if (pack.form == SLUICE_LAID_OUT) {
    pack.beside_layout = beside.layout;
    pack.beside_lowest_bytes = beside.lowest_bytes;
    pack.beside_span_bytes = beside.span_bytes;
  }
  return enqueue_pack(queue, pack, is_refused);
}

}  // namespace sluice::transfer
