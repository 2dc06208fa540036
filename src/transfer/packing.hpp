// SPDX-License-Identifier: BSD-3-Clause
// Packing: what kernels need to know of a datatype's blocks, kept with its layout; and Packer, which has kernels bring
// payloads with gaps together and apart. Without MPI. All of it: any thread, where nothing else is said; a queue is for
// one at a time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/queue.hpp"
#include "transfer/region.hpp"
#include "transfer/shape.hpp"

namespace sluice::transfer {

// Hangs on a Layout (Layout::packing) and lives as long: a message that is under way holds both, whatever becomes of
// the datatype. What it knows is found when it is asked for first.
class Packing {
 public:
  // `element_bytes`: of the basic elements that the datatype is made of, where all are as long; else 0.
  explicit Packing(std::uint64_t element_bytes) noexcept : element_bytes_(element_bytes) {}

  // Whether the first `size_bytes` of the payload end where an element does, for all that is known: some host MPIs
  // receive only whole elements into a type with gaps.
  [[nodiscard]] bool is_whole_at(std::uint64_t size_bytes) const noexcept {
    return element_bytes_ != 0 && size_bytes % element_bytes_ == 0;
  }

  // Describes `region`, whose layout this hangs on, for its device; *core_offset_bytes is where the first core begins,
  // from the region's origin. The list, if there is one, stays as long as this. Cost: hot but for the first time of a
  // layout (time in proportion to its blocks), and of an irregular one on a device (an allocation and a copy). Errors:
  // kUnsupported, which has no native text: it cannot be said in these numbers; the runtime's, for the list.
  [[nodiscard]] Status describe(const Region &region, sluice_layout_t *layout, std::int64_t *core_offset_bytes) const;

 private:
  struct DeviceList {
    const device::Backend *backend = nullptr;
    std::int32_t device = 0;
    device::DeviceMemory memory;
  };
  [[nodiscard]] Status find_list(const device::Place &place, const void **list) const;

  const std::uint64_t element_bytes_;
  mutable std::mutex mutex_;
  mutable std::optional<Shape> shape_;
  mutable CoreList list_;  // its words until shape_ is found
  mutable std::vector<DeviceList> lists_;
};

// How many runs of bytes the payload is, at most.
[[nodiscard]] inline std::uint64_t most_runs(const Layout &layout, std::int64_t count) noexcept {
  return layout.is_contiguous ? 1 : layout.blocks.size() * static_cast<std::uint64_t>(count);
}

// Kernels that pack or unpack, enqueued one after the other and awaited once. One thread at a time.
class Packer {
 public:
  Packer() noexcept = default;
  Packer(const Packer &) = delete;
  Packer &operator=(const Packer &) = delete;
  Packer(Packer &&) = delete;
  Packer &operator=(Packer &&) = delete;
  ~Packer();  // waits, too

  // Whether the plan has a kernel move the payload of `region`, and its layout can be told to one. Hot.
  [[nodiscard]] static bool is_for(const Region &region) noexcept {
    return (region.pack == PackMeans::kKernel || region.pack == PackMeans::kScratch) &&
           region.layout->packing != nullptr;
  }

  // Enqueues the move of bytes `first_bytes` to `first_bytes + size_bytes` of the payload between `region` and the
  // memory at `beside`, which the region's device reaches (sluice_pack_t). Both stay until wait() has returned. A
  // kernel that cannot do it sets *is_refused, and nothing was enqueued: then move_by_scratch() or copies do it; said
  // once, and counted.
  // Errors: those of the runtime.
  [[nodiscard]] Status add(sluice_pack_direction_t direction, sluice_pack_form_t form, const Region &region,
                           std::uint64_t first_bytes, std::uint64_t size_bytes, std::byte *beside, bool *is_refused);
  // Waits for all that was added. Errors: the runtime's, of any of it.
  [[nodiscard]] Status wait();

 private:
  device::Queue queue_;
  bool has_any_ = false;
};

// Describes all of `region`, whose layout has gaps: layout, origin, lowest_bytes and span_bytes of *pack, the rest of
// which stays as it is. Errors: kUnsupported: no kernel can move it, because it does not lie in one allocation, or
// cannot be said in these numbers; else the runtime's. Cost: Packing::describe(), and two questions to the runtime.
[[nodiscard]] Status describe_pack(const Region &region, sluice_pack_t *pack);

// Enqueues a move that is described; returns before it is done. A kernel that cannot do it sets *is_refused, as
// Packer::add() has it. Errors: the runtime's; the queue is given up then.
[[nodiscard]] Status enqueue_pack(device::Queue *queue, const sluice_pack_t &pack, bool *is_refused);

// The same between `region`, whose layout has gaps, and what is beside it: `pack` says direction, form, bytes and what
// is beside (`beside` stands for the region's origin where that is an image), and `region` the rest. Errors: the same.
[[nodiscard]] Status enqueue_pack(device::Queue *queue, const Region &region, sluice_pack_t pack, bool *is_refused);

// The same as Packer::add() on a queue of the caller's; returns before it is done. Errors: the same.
[[nodiscard]] Status enqueue_pack(device::Queue *queue, sluice_pack_direction_t direction, sluice_pack_form_t form,
                                  const Region &region, std::uint64_t first_bytes, std::uint64_t size_bytes,
                                  std::byte *beside, bool *is_refused);

}  // namespace sluice::transfer
