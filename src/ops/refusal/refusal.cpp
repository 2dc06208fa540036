// SPDX-License-Identifier: BSD-3-Clause
#include "ops/refusal/refusal.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "base/log.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/env/errors.hpp"
#include "transfer/region.hpp"

namespace sluice::ops {
namespace {

// Where the bytes of `buffer` lie; host memory where there are none.
Status place_of(const BufferArgument &buffer, device::Backends backends, device::Place *place) {
  if (buffer.count <= 0) return {};  // nothing, or for the host MPI to refuse
  if (!buffer.is_typed) return device::classify(buffer.address, backends, place);
  // Looked at only.
  auto *origin =
      static_cast<std::byte *>(const_cast<void *>(buffer.address));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  transfer::LayoutPtr layout;
  if (!layout_if_valid(buffer.type, &layout).is_ok()) {
    // A type that cannot be taken apart is none of the host MPI's troubles.
    return device::classify(transfer::at(origin, first_byte_of(buffer.type)), backends, place);
  }
  if (layout == nullptr || layout->size_bytes == 0) return {};
  return transfer::classify_payload(origin, *layout, buffer.address == MPI_BOTTOM, backends, place);
}

}  // namespace

Status refusal_by(device::Backends backends, const char *function,
                  std::initializer_list<BufferArgument> buffers) noexcept {
  try {
    for (const BufferArgument &buffer : buffers) {
      device::Place place;
      if (Status status = place_of(buffer, backends, &place); !status.is_ok()) return status;
      if (place.kind == MemoryKind::kFreed) {
        return transfer::refuse_freed(place, static_cast<const std::byte *>(buffer.address));
      }
      if (place.kind != MemoryKind::kDevice) continue;
      return Status::error(
          ErrorKind::kBadBuffer,
          fmt::format(
              "{}: {} ({}) is device memory of {}, and Sluice does not carry out this function on device memory; "
              "give it host memory, and copy between the two",
              function, buffer.name, buffer.address, place.backend->name()));
    }
    return {};
  } catch (const std::exception &error) {
    return Status::of_exception(error);
  }
}

int answer(const char *function, int code, const Status &refused) {
  set_last_error(refused);
  log::warn_once(function, "ops", refused.message());
  return code;
}

}  // namespace sluice::ops
