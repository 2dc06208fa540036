// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/direct.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bad_peer.hpp"
#include "device/copy.hpp"
#include "device/kernel_copies.hpp"
#include "device/queue.hpp"
#include "device/reduction.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/rma/side.hpp"
#include "transfer/laid_out.hpp"
#include "transfer/packing.hpp"
#include "transfer/pieces.hpp"

namespace sluice::ops::rma {
namespace {

// A batch runs before the epoch ends when it has as many copies, or as many bytes: the device then works meanwhile.
constexpr std::size_t kMostPieces = 4096;
constexpr std::uint64_t kMostBatchBytes = std::uint64_t{64} << 20;

// Copies that are made side by side by kernels: as commands of their own they take 1 to 5 us each (docs/adr/0078). Two
// of 64 KiB are quicker so, too (docs/adr/0029).
constexpr std::size_t kFewCopies = 5;
constexpr std::uint64_t kShortBytes = std::uint64_t{64} << 10;

bool suit_kernels(const device::Place &place, const std::vector<sluice_copy_t> &pieces) {
  return pieces.size() > kFewCopies &&
         std::ranges::all_of(pieces, [](const sluice_copy_t &one) { return one.size_bytes <= kShortBytes; }) &&
         device::has_copy_kernel(place);
}

// Blocks. *is_done: kernels made all copies; else copies may make all. Errors: the runtime's.
Status copy_by_kernels(const device::Place &place, std::span<const sluice_copy_t> pieces, bool *is_done) {
  device::Queue queue;
  Status status = queue.acquire(place);
  bool is_refused = false;
  while (status.is_ok() && !pieces.empty()) {
    const std::size_t n_now = std::min<std::size_t>(pieces.size(), SLUICE_KERNEL_MAX_COPIES);
    status = device::enqueue_kernel_copies(&queue, pieces.first(n_now), &is_refused);
    pieces = pieces.subspan(n_now);
  }
  if (!status.is_ok() && !is_refused) return status;
  status = queue.wait("move data of a window");
  *is_done = status.is_ok() && !is_refused;
  return status;
}

// Whether one kernel is to move the data, and not a copy for each run: some runs, on one device.
bool suits_kernel(const transfer::Region &from, const transfer::Region &to, std::uint64_t size_bytes) {
  constexpr std::uint64_t kFewRuns =
      8;  // copies that wait for the end of the epoch cost less than a kernel of their own
  const bool is_absolute = from.origin == nullptr || to.origin == nullptr;
  if (is_absolute || !are_on_one_device(from, to) || from.size_bytes() != size_bytes || to.size_bytes() != size_bytes) {
    return false;
  }
  const auto can = [](const transfer::Region &region) { return region.layout->is_contiguous || can_pack(region); };
  return can(from) && can(to) &&
         std::max(transfer::most_runs(*from.layout, from.count), transfer::most_runs(*to.layout, to.count)) > kFewRuns;
}

// Blocks. *is_done: the kernel did it; else copies may. Errors: the runtime's.
Status move_by_kernel(const transfer::Region &from, const transfer::Region &to, std::uint64_t size_bytes,
                      bool *is_done) {
  *is_done = false;
  transfer::LaidOut source;
  transfer::LaidOut destination;
  if (!transfer::lay_out(from, &source).is_ok() || !transfer::lay_out(to, &destination).is_ok()) return {};
  device::Queue queue;
  Status status = queue.acquire(to.place);
  bool is_refused = false;
  if (status.is_ok()) status = transfer::enqueue_move(&queue, source, destination, size_bytes, &is_refused);
  if (!status.is_ok() || is_refused) return status;
  *is_done = true;
  return queue.wait("move data of a window");
}

// The device that copies between the two; null: none does.
const device::Place *mover_of(const transfer::Region &from, const transfer::Region &to) {
  const bool is_absolute = from.origin == nullptr || to.origin == nullptr;  // runs may lie in several allocations
  if (is_absolute || (is_host(from) && is_host(to))) return nullptr;
  if (is_host(from)) return &to.place;
  if (is_host(to)) return &from.place;
  const bool is_one = from.place.backend == to.place.backend;
  return is_one ? &to.place : nullptr;
}

trace::Lane lane_between(const transfer::Region &from, const transfer::Region &to) noexcept {
  if (is_host(from)) return trace::Lane::kH2d;
  return is_host(to) ? trace::Lane::kD2h : trace::Lane::kD2d;
}

// The copies between two payloads of as many bytes.
void add_pieces(const transfer::Region &from, const transfer::Region &to, std::uint64_t size_bytes,
                std::vector<sluice_copy_t> *pieces) {
  struct Run {
    std::byte *memory;
    std::uint64_t position;
    std::uint64_t bytes;
  };
  std::vector<Run> sources;
  transfer::for_each_run(from, size_bytes, [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    sources.push_back({memory, position, bytes});
    return true;
  });
  const std::size_t first = pieces->size();
  auto source = sources.begin();
  transfer::for_each_run(to, size_bytes, [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done != bytes;) {
      while (source->position + source->bytes <= position + done) ++source;
      const std::uint64_t skipped = position + done - source->position;
      const std::uint64_t part = std::min(bytes - done, source->bytes - skipped);
      transfer::add_piece(memory + done, source->memory + skipped, part, first, pieces);
      done += part;
    }
    return true;
  });
}

const device::Backend *backend_named(const Exposure &exposure) {
  if (exposure.backend.back() != '\0') return nullptr;
  for (const device::Backend *backend : device::known_backends()) {
    if (std::string_view(backend->name()) == exposure.backend.data()) return backend;
  }
  return nullptr;
}

}  // namespace

bool are_on_one_device(const transfer::Region &one, const transfer::Region &other) noexcept {
  return !is_host(one) && !is_host(other) && one.place.backend == other.place.backend &&
         one.place.device == other.place.device;
}

bool DirectAccess::has_runtime(const Exposure &exposure) {
  const device::Backend *backend = backend_named(exposure);
  return backend != nullptr && backend->table().ipc_open != nullptr;
}

Status DirectAccess::map(int target, int world_rank, const Exposure &exposure, const device::Place &beside,
                         Reached *reached) {
  const device::Backend *backend = backend_named(exposure);
  if (backend == nullptr) {
    return Status::error(ErrorKind::kUnsupported,
                         "a window's memory belongs to a runtime that this process has not loaded; load it in every "
                         "rank before the window is made");
  }
  const bool is_beside = beside.backend == backend && beside.kind == MemoryKind::kDevice;
  const std::int32_t device = is_beside ? beside.device_index() : 0;
  const std::scoped_lock lock(mutex_);
  std::vector<Mapped> &known = mapped_[static_cast<std::size_t>(target)];
  auto found = std::find_if(known.begin(), known.end(), [device](const Mapped &one) { return one.device == device; });
  if (found == known.end()) {
    const device::ExportOrigin origin{static_cast<std::uint64_t>(world_rank), exposure.address - exposure.offset_bytes,
                                      exposure.allocation_bytes};
    device::ImportedPtr imported;
    Status status = device::IpcImports::process().open(backend, device, exposure.handle, origin, &imported);
    if (!status.is_ok()) return status;
    if (!imported->holds(exposure.offset_bytes, exposure.size_bytes)) {
      return bad_peer("a rank's window does not lie in the memory that the rank names");
    }
    found = known.insert(known.end(), {device, std::move(imported)});
  }
  *reached = {found->imported->base() + exposure.offset_bytes, {MemoryKind::kDevice, backend, device, 0}};
  return {};
}

Status DirectAccess::copy(const transfer::Region &from, const transfer::Region &to, std::uint64_t size_bytes,
                          const trace::Message &message) {
  if (suits_kernel(from, to, size_bytes)) {
    bool is_done = false;
    trace::Span span;
    span.begin();
    Status status = move_by_kernel(from, to, size_bytes, &is_done);
    if (is_done) span.end(trace::Lane::kKernel, message, {size_bytes});
    if (!status.is_ok() || is_done) return status;
  }
  const device::Place *mover = mover_of(from, to);
  if (mover == nullptr) {
    std::vector<std::byte> packed(size_bytes);
    Status status = read_payload(from, size_bytes, packed.data());
    return status.is_ok() ? write_payload(to, size_bytes, packed.data()) : status;
  }
  const std::scoped_lock lock(mutex_);
  auto batch = std::find_if(batches_.begin(), batches_.end(), [mover](const Batch &one) {
    return one.place.backend == mover->backend && one.place.device == mover->device;
  });
  if (batch == batches_.end()) batch = batches_.insert(batches_.end(), {*mover, {}, 0, {}, {}});
  const trace::Lane lane = lane_between(from, to);
  if (batch->pieces.empty()) {
    batch->message = message;
    batch->lane = lane;
    batch->has_host_memory = false;
  }
  batch->has_host_memory = batch->has_host_memory || lane != trace::Lane::kD2d;
  add_pieces(from, to, size_bytes, &batch->pieces);
  batch->size_bytes += size_bytes;
  const bool is_full = batch->pieces.size() >= kMostPieces || batch->size_bytes >= kMostBatchBytes;
  return is_full ? flush_batch(&*batch) : Status();
}

Status DirectAccess::flush_batch(Batch *batch) {
  if (batch->pieces.empty()) return {};
  trace::Span span;
  span.begin();
  bool is_done = false;
  Status status;
  // By kernels memory of the host has not been measured, and pageable memory would be refused each time.
  const bool is_by_kernels = !batch->has_host_memory && suit_kernels(batch->place, batch->pieces);
  if (is_by_kernels) status = copy_by_kernels(batch->place, batch->pieces, &is_done);
  if (status.is_ok() && !is_done) status = device::copy(batch->place, batch->pieces);
  if (status.is_ok()) span.end(batch->lane, batch->message, {batch->size_bytes});
  batch->pieces.clear();
  batch->size_bytes = 0;
  return status;
}

Status DirectAccess::flush() {
  const std::scoped_lock lock(mutex_);
  Status first;
  for (Batch &batch : batches_) {
    Status status = flush_batch(&batch);
    if (first.is_ok()) first = std::move(status);
  }
  return first;
}

bool DirectAccess::can_update(const transfer::Region &target, const Arithmetic &arithmetic,
                              const transfer::Region &operand) {
  if (!are_on_one_device(target, operand) || operand.origin == nullptr || !target.layout->is_contiguous ||
      !operand.layout->is_contiguous || !arithmetic.element->is_contiguous) {
    return false;
  }
  coll::ReductionPair pair{};
  return coll::find_reduction_pair(arithmetic.type, arithmetic.op, &pair) &&
         device::has_kernel(target.place, pair.element, pair.operation);
}

Status DirectAccess::update_by_kernel(const transfer::Region &target, const Arithmetic &arithmetic,
                                      const transfer::Region &operand, bool *is_done) {
  *is_done = false;
  coll::ReductionPair pair{};
  if (!coll::find_reduction_pair(arithmetic.type, arithmetic.op, &pair)) return {};
  // MPI's inout is the second operand.
  void *result = target.origin;
  const std::array<const void *, 2> sources = {operand.origin, target.origin};
  bool is_refused = false;
  Status status = device::reduce(target.place,
                                 {pair.element, pair.operation, &result, sources.data(), 1, sources.size(),
                                  target.size_bytes() / arithmetic.element->size_bytes, 0, 0},
                                 &is_refused);
  *is_done = status.is_ok();
  return is_refused ? Status() : status;
}

}  // namespace sluice::ops::rma
