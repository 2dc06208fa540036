// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack and their large-count forms. What the host MPIs pack is the data's own bytes, as MPI_PACKED
// messages of ours rely on too (side.cpp); so a kernel of the device may pack.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "device/copy.hpp"
#include "generated/operations.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/side.hpp"
#include "ops/pack/byte_side.hpp"
#include "transfer/packing.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

template <typename Count>
constexpr bool kIsLarge = !std::is_same_v<Count, int>;

template <typename Count>
int pack_size(Count count, MPI_Datatype type, MPI_Comm comm, Count *size) {
  if constexpr (kIsLarge<Count>) {
    return wire::host().MPI_Pack_size_c(count, type, comm, size);
  } else {
    return wire::host().MPI_Pack_size(count, type, comm, size);
  }
}

// Both sides are memory of one device, and a kernel or a copy of it does the whole; *is_done says whether.
Status move_on_device(sluice_pack_direction_t direction, const Side &typed, const ByteSide &bytes, bool *is_done) {
  *is_done = false;
  const transfer::Region &region = typed.region();
  const bool is_one_device = typed.is_staged() && bytes.is_staged() && region.place.backend == bytes.place().backend &&
                             region.place.device == bytes.place().device;
  const std::uint64_t size_bytes = typed.size_bytes();
  if (!is_one_device || size_bytes > static_cast<std::uint64_t>(std::max<std::int64_t>(bytes.room_bytes(), 0))) {
    return {};
  }
  if (region.layout->is_contiguous) {
    *is_done = true;
    return direction == SLUICE_PACK ? device::copy(region.place, bytes.data(), region.origin, size_bytes)
                                    : device::copy(region.place, region.origin, bytes.data(), size_bytes);
  }
  if (!can_pack(region)) return {};
  transfer::Packer packer;
  bool is_refused = false;
  Status status = packer.add(direction, SLUICE_PACKED, region, 0, size_bytes, bytes.data(), &is_refused);
  if (!status.is_ok() || is_refused) return status;
  *is_done = true;
  return packer.wait();
}

// Host MPIs without checks write over the end, and pack on a device what there is room for: neither is an answer.
Status check_room(const Side &in, const ByteSide &out) {
  const std::uint64_t room_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(out.room_bytes(), 0));
  if (!out.is_staged() || in.size_bytes() <= room_bytes) return {};
  return Status::error(ErrorKind::kTruncated,
                       fmt::format("MPI_Pack of {} bytes into a buffer that has room for {}; make it longer",
                                   in.size_bytes(), room_bytes));
}

void record(Operation operation, const Side &typed, Route route, const statistics::Stopwatch &watch) {
  statistics::record(operation, typed.kind(), route, 1, typed.size_bytes(), watch.elapsed());
}

template <typename Count>
using PackFunction = int (*wire::Host::*)(const void *, Count, MPI_Datatype, void *, Count, Count *, MPI_Comm);

template <typename Count>
int pack_through(PackFunction<Count> function, const void *inbuf, Count incount, MPI_Datatype datatype, void *outbuf,
                 Count outsize, Count *position, MPI_Comm comm) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic() || position == nullptr) {
    return (host.*function)(inbuf, incount, datatype, outbuf, outsize, position, comm);
  }
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify
    Side in;
    ByteSide out;
    Status status = Buffer::of_plain(inbuf, incount, datatype, 0, &in);
    if (status.is_ok()) status = out.classify(outbuf, outsize, *position);
    if (status.is_ok()) status = check_room(in, out);
    // execute
    bool is_done = false;
    if (status.is_ok()) status = move_on_device(SLUICE_PACK, in, out, &is_done);
    if (!status.is_ok()) return raise(comm, status);
    if (is_done) {
      *position += static_cast<Count>(in.size_bytes());
      record(Operation::kPack, in, Route::kKernel, watch);
      return MPI_SUCCESS;
    }
    if (in.is_staged()) status = in.open_and_copy_down(kIsLarge<Count>);
    if (!status.is_ok()) return raise(comm, status);
    const int result = pack_by_host(
        &out, outbuf, outsize, position, comm,
        [&](Count *most) { return pack_size<Count>(incount, datatype, comm, most); },
        [&](void *buffer, Count size, Count *at) {
          return (host.*function)(in.buffer(), static_cast<Count>(in.count()), in.type(), buffer, size, at, comm);
        });
    // complete
    if (result == MPI_SUCCESS) record(Operation::kPack, in, in.route(), watch);
    return result;
  });
}

template <typename Count>
using UnpackFunction = int (*wire::Host::*)(const void *, Count, Count *, void *, Count, MPI_Datatype, MPI_Comm);

template <typename Count>
int unpack_through(UnpackFunction<Count> function, const void *inbuf, Count insize, Count *position, void *outbuf,
                   Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic() || position == nullptr) {
    return (host.*function)(inbuf, insize, position, outbuf, outcount, datatype, comm);
  }
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    // classify
    Side out;
    ByteSide in;
    Status status = Buffer::of_plain(outbuf, outcount, datatype, 0, &out);
    if (status.is_ok()) status = in.classify(inbuf, insize, *position);
    // execute
    bool is_done = false;
    if (status.is_ok()) status = move_on_device(SLUICE_UNPACK, out, in, &is_done);
    if (!status.is_ok()) return raise(comm, status);
    if (is_done) {
      *position += static_cast<Count>(out.size_bytes());
      record(Operation::kUnpack, out, Route::kKernel, watch);
      return MPI_SUCCESS;
    }
    if (out.is_staged()) status = out.open(kIsLarge<Count>);
    if (!status.is_ok()) return raise(comm, status);
    const int result = unpack_by_host(
        &in, inbuf, insize, position, comm,
        [&](Count *most) { return pack_size<Count>(outcount, datatype, comm, most); },
        [&](const void *buffer, Count size, Count *at) {
          return (host.*function)(buffer, size, at, out.buffer(), static_cast<Count>(out.count()), out.type(), comm);
        });
    if (result != MPI_SUCCESS) return result;
    // complete
    status = out.copy_up_unpacked();
    record(Operation::kUnpack, out, out.route(), watch);
    return status.is_ok() ? MPI_SUCCESS : raise(comm, status);
  });
}

}  // namespace

int pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
         MPI_Comm comm) {
  return pack_through<int>(&wire::Host::MPI_Pack, inbuf, incount, datatype, outbuf, outsize, position, comm);
}

int pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
           MPI_Count *position, MPI_Comm comm) {
  return pack_through<MPI_Count>(&wire::Host::MPI_Pack_c, inbuf, incount, datatype, outbuf, outsize, position, comm);
}

int unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype datatype,
           MPI_Comm comm) {
  return unpack_through<int>(&wire::Host::MPI_Unpack, inbuf, insize, position, outbuf, outcount, datatype, comm);
}

int unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
             MPI_Datatype datatype, MPI_Comm comm) {
  return unpack_through<MPI_Count>(&wire::Host::MPI_Unpack_c, inbuf, insize, position, outbuf, outcount, datatype,
                                   comm);
}

}  // namespace sluice::ops
