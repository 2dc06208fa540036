// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/packing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/copy.hpp"

namespace sluice::transfer {
namespace {

Status unsupported(std::string_view why) {
  return Status::error(ErrorKind::kUnsupported, std::string(why));
}

// Slower, and said once.
void note_refusal(const Status &why) {
  log::warn_once("pack_kernel", "transfer", why.message() + "; such data takes another way, which is slower");
  statistics::record_fallback("pack_kernel");
}

}  // namespace

Status describe_pack(const Region &region, sluice_pack_t *pack) {
  const std::uint64_t span_bytes = region.span_bytes();
  if (span_bytes == 0) return unsupported("the data reaches over more memory than can be counted");
  std::byte *lowest = at(region.origin, region.first_byte());
  // A kernel cannot be stopped at the border of an allocation, and an address behind it is the end of its context.
  bool may_be_one = false;
  if (Status status = may_be_one_allocation(lowest, span_bytes, &may_be_one); !status.is_ok()) return status;
  if (!may_be_one) return unsupported("the data does not lie in one allocation");
  std::int64_t core_offset = 0;
  if (Status status = region.layout->packing->describe(region, &pack->layout, &core_offset); !status.is_ok()) {
    return status;
  }
  pack->origin = at(region.origin, core_offset);
  pack->lowest_bytes = region.first_byte() - core_offset;
  pack->span_bytes = span_bytes;
  return {};
}

Status Packing::describe(const Region &region, sluice_layout_t *layout, std::int64_t *core_offset_bytes) const {
  const std::scoped_lock lock(mutex_);
  if (!shape_.has_value()) {
    Shape shape = shape_of(region.layout->blocks);
    list_ = list_of(shape);
    shape_ = std::move(shape);
  }
  *core_offset_bytes = shape_->core_offset;
  if (!shape_->is_regular() && list_.words.empty()) {
    return unsupported("a datatype's blocks lie farther apart than a kernel's list can say");
  }
  if (!describe_elements(*shape_, list_, static_cast<std::uint64_t>(region.count), region.layout->extent_bytes,
                         layout)) {
    return unsupported("the data is longer than can be counted");
  }
  return layout->n_blocks == 0 ? Status() : find_list(region.place, &layout->list);
}

// With mutex_ held.
Status Packing::find_list(const device::Place &place, const void **list) const {
  const std::int32_t device = place.device_index();
  std::erase_if(lists_, [](const DeviceList &one) { return !one.memory.is_live(); });
  for (const DeviceList &one : lists_) {
    if (one.backend != place.backend || one.device != device) continue;
    *list = one.memory.data();
    return {};
  }
  DeviceList made{place.backend, device, {}};
  const std::size_t size_bytes = list_.words.size() * sizeof(std::uint32_t);
  if (Status status = made.memory.acquire(place, size_bytes); !status.is_ok()) return status;
  if (Status status = device::copy(place, made.memory.data(), list_.words.data(), size_bytes); !status.is_ok()) {
    return status;
  }
  *list = made.memory.data();
  lists_.push_back(std::move(made));
  return {};
}

Status enqueue_pack(device::Queue *queue, sluice_pack_direction_t direction, sluice_pack_form_t form,
                    const Region &region, std::uint64_t first_bytes, std::uint64_t size_bytes, std::byte *beside,
                    bool *is_refused) {
  sluice_pack_t pack{};
  pack.direction = direction;
  pack.form = form;
  pack.beside = beside;
  pack.first_bytes = first_bytes;
  pack.size_bytes = size_bytes;
  return enqueue_pack(queue, region, pack, is_refused);
}

Status enqueue_pack(device::Queue *queue, const Region &region, sluice_pack_t pack, bool *is_refused) {
  *is_refused = false;
  if (pack.size_bytes == 0) return {};
  if (Status status = describe_pack(region, &pack); !status.is_ok()) {
    *is_refused = true;
    note_refusal(status);
    return {};
  }
  if (pack.form == SLUICE_IMAGE) {  // what stands for the first core
    pack.beside = at(static_cast<std::byte *>(pack.beside),
                     reinterpret_cast<std::intptr_t>(pack.origin) - reinterpret_cast<std::intptr_t>(region.origin));
  }
  return enqueue_pack(queue, pack, is_refused);
}

Status enqueue_pack(device::Queue *queue, const sluice_pack_t &pack, bool *is_refused) {
  *is_refused = false;
  const sluice_result_t result = queue->backend().table().enqueue_pack(queue->get(), &pack);
  if (result == SLUICE_SUCCESS) {
    statistics::record_packing(1, pack.size_bytes);
    return {};
  }
  Status status = queue->backend().check(result, fmt::format("pack {} bytes", pack.size_bytes));
  if (result == SLUICE_ERROR_UNSUPPORTED || result == SLUICE_ERROR_INVALID_ARGUMENT) {  // nothing was enqueued
    *is_refused = true;
    note_refusal(status);
    return {};
  }
  queue->discard();
  return status;
}

Status Packer::add(sluice_pack_direction_t direction, sluice_pack_form_t form, const Region &region,
                   std::uint64_t first_bytes, std::uint64_t size_bytes, std::byte *beside, bool *is_refused) {
  if (queue_.is_empty()) {
    if (Status status = queue_.acquire(region.place); !status.is_ok()) return status;
  }
  Status status = enqueue_pack(&queue_, direction, form, region, first_bytes, size_bytes, beside, is_refused);
  has_any_ = has_any_ || (status.is_ok() && !*is_refused);
  return status;
}

Packer::~Packer() {
  if (Status status = wait(); !status.is_ok()) log::debug("transfer", status.message());  // after another error
}

Status Packer::wait() {
  if (!has_any_ || queue_.is_empty()) return {};
  has_any_ = false;
  return queue_.wait("pack");
}

}  // namespace sluice::transfer
