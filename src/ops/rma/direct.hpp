// SPDX-License-Identifier: BSD-3-Clause
// DirectAccess: the memory of ranks that this one reaches itself, its own and what others of the node have exported;
// and the copies of an epoch, which run together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "device/ipc_imports.hpp"
#include "ops/rma/numbers.hpp"
#include "transfer/region.hpp"
#include "wire/segment_offers.hpp"

namespace sluice::ops::rma {

// What a rank tells the others of its part of a window. Plain bytes, sent as they are.
struct Exposure {
  std::uint64_t size_bytes = 0;
  std::uint64_t address = 0;        // in that rank
  std::uint64_t window_number = 0;  // no other window that this rank has made has it
  std::int64_t disp_unit = 1;
  std::uint64_t is_exported = 0;
  std::uint64_t offset_bytes = 0;  // in the exported allocation
  std::uint64_t allocation_bytes = 0;
  sluice_ipc_handle_t handle{};
  std::array<char, 32> backend{};  // its name
  wire::SegmentName locks{};       // of the first rank of a node
};

// Whether both are memory of one device. Pure.
[[nodiscard]] bool are_on_one_device(const transfer::Region &one, const transfer::Region &other) noexcept;

// Where the window of a rank begins here.
struct Reached {
  std::byte *base = nullptr;
  device::Place place;
};

// Threads: any.
class DirectAccess {
 public:
  explicit DirectAccess(std::size_t n_ranks) : mapped_(n_ranks) {}

  // Whether the runtime of the memory that was exported is loaded here. Hot.
  [[nodiscard]] static bool has_runtime(const Exposure &exposure);

  // Maps the memory that rank `target`, whose number in MPI_COMM_WORLD is `world_rank`, has exported, for copies to or
  // from `beside`; the first time only. Errors: it cannot be mapped, or is not what its rank says.
  [[nodiscard]] Status map(int target, int world_rank, const Exposure &exposure, const device::Place &beside,
                           Reached *reached);

  // Copies the first `size_bytes` of the payload of `from` to `to`, of which one may be mapped, for `message` of the
  // trace: by flush() at the latest, until when both stay. At once where a kernel brings many runs together or apart,
  // where the host may copy, and where no device can copy between the two. Errors: the runtime's; a part may have
  // been copied.
  [[nodiscard]] Status copy(const transfer::Region &from, const transfer::Region &to, std::uint64_t size_bytes,
                            const trace::Message &message);
  // Blocks until all copies of all threads are there. Errors: those of any of them since the last call.
  [[nodiscard]] Status flush();

  // Whether the device of `target` computes an accumulate: `operand` lies there too, both are one run, and it has a
  // kernel. The first time of a pair on a device it may block for seconds.
  [[nodiscard]] static bool can_update(const transfer::Region &target, const Arithmetic &arithmetic,
                                       const transfer::Region &operand);
  // Has it compute that. *is_done: it did; else nothing was written. Blocks. Errors: the runtime's.
  [[nodiscard]] static Status update_by_kernel(const transfer::Region &target, const Arithmetic &arithmetic,
                                               const transfer::Region &operand, bool *is_done);

 private:
  struct Mapped {
    std::int32_t device;
    device::ImportedPtr imported;
  };
  struct Batch {
    device::Place place;
    std::vector<sluice_copy_t> pieces;
    std::uint64_t size_bytes = 0;
    trace::Message message;  // of the first of them
    trace::Lane lane = trace::Lane::kD2d;
    bool has_host_memory = false;  // among what is copied
  };
  [[nodiscard]] Status flush_batch(Batch *batch);

  std::mutex mutex_;
  std::vector<std::vector<Mapped>> mapped_;  // by rank
  std::vector<Batch> batches_;               // by device
};

}  // namespace sluice::ops::rma
