// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack_external, MPI_Unpack_external and their large-count forms. What they write has another representation than
// the data, which the host MPI makes by the program's own type: from an image of the device's memory, and into one.
#include <type_traits>

#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/side.hpp"
#include "ops/pack/byte_side.hpp"
#include "transfer/staged.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

// They name no communicator; errors go where MPI sends those without one.
const MPI_Comm &error_comm() {
  static const MPI_Comm comm = MPI_COMM_SELF;
  return comm;
}

// Position and size are one type in each form, the count another.
template <typename Count>
using Size = std::conditional_t<std::is_same_v<Count, int>, MPI_Aint, MPI_Count>;

template <typename Count>
int external_size(const char *datarep, Count count, MPI_Datatype type, Size<Count> *size) {
  if constexpr (std::is_same_v<Count, int>) {
    return wire::host().MPI_Pack_external_size(datarep, count, type, size);
  } else {
    return wire::host().MPI_Pack_external_size_c(datarep, count, type, size);
  }
}

// The typed side in memory that the CPU may touch, by the program's own type.
class Image {
 public:
  [[nodiscard]] Status classify(const void *buffer, MPI_Count count, MPI_Datatype type) {
    return Buffer::of_plain(buffer, count, type, 0, &typed_);
  }
  [[nodiscard]] Status open() {
    if (!typed_.is_staged()) return {};
    const transfer::Region &region = typed_.region();
    if (region.layout->is_contiguous) return staged_.open(region, typed_.staging_memory());
    if (region.span_bytes() == 0) {
      return Status::error(ErrorKind::kUnsupported,
                           "data of a device that reaches over more memory than can be counted cannot be converted to "
                           "another representation; pack it in parts");
    }
    return staged_.open_image(region, typed_.staging_memory());
  }
  [[nodiscard]] Status copy_down() const { return typed_.is_staged() ? staged_.copy_down() : Status(); }
  [[nodiscard]] Status copy_up() const { return typed_.is_staged() ? staged_.copy_up(typed_.size_bytes()) : Status(); }
  [[nodiscard]] void *buffer() const noexcept {
    if (!typed_.is_staged()) return typed_.address();
    return typed_.region().layout->is_contiguous ? staged_.data() : staged_.image_origin();
  }
  void record(Operation operation, const statistics::Stopwatch &watch) const noexcept {
    typed_.record(operation, typed_.size_bytes(), watch.elapsed());
  }

 private:
  Buffer typed_;
  transfer::Staged staged_;
};

template <typename Count>
using PackFunction = int (*wire::Host::*)(const char *, const void *, Count, MPI_Datatype, void *, Size<Count>,
                                          Size<Count> *);

template <typename Count>
int pack_through(PackFunction<Count> function, const char *datarep, const void *inbuf, Count incount,
                 MPI_Datatype datatype, void *outbuf, Size<Count> outsize, Size<Count> *position) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic() || position == nullptr) {
    return (host.*function)(datarep, inbuf, incount, datatype, outbuf, outsize, position);
  }
  return guarded(error_comm(), [&]() -> int {
    const statistics::Stopwatch watch;
    Image in;
    ByteSide out;
    Status status = in.classify(inbuf, incount, datatype);
    if (status.is_ok()) status = out.classify(outbuf, outsize, *position);
    if (status.is_ok()) status = in.open();
    if (status.is_ok()) status = in.copy_down();
    if (!status.is_ok()) return raise(error_comm(), status);
    const int result = pack_by_host(
        &out, outbuf, outsize, position, error_comm(),
        [&](Size<Count> *most) { return external_size<Count>(datarep, incount, datatype, most); },
        [&](void *buffer, Size<Count> size, Size<Count> *at) {
          return (host.*function)(datarep, in.buffer(), incount, datatype, buffer, size, at);
        });
    if (result == MPI_SUCCESS) in.record(Operation::kPackExternal, watch);
    return result;
  });
}

template <typename Count>
using UnpackFunction = int (*wire::Host::*)(const char *, const void *, Size<Count>, Size<Count> *, void *, Count,
                                            MPI_Datatype);

template <typename Count>
int unpack_through(UnpackFunction<Count> function, const char *datarep, const void *inbuf, Size<Count> insize,
                   Size<Count> *position, void *outbuf, Count outcount, MPI_Datatype datatype) {
  const wire::Host &host = wire::host();
  if (is_plain_host_traffic() || position == nullptr) {
    return (host.*function)(datarep, inbuf, insize, position, outbuf, outcount, datatype);
  }
  return guarded(error_comm(), [&]() -> int {
    const statistics::Stopwatch watch;
    Image out;
    ByteSide in;
    Status status = out.classify(outbuf, outcount, datatype);
    if (status.is_ok()) status = in.classify(inbuf, insize, *position);
    if (status.is_ok()) status = out.open();
    if (!status.is_ok()) return raise(error_comm(), status);
    const int result = unpack_by_host(
        &in, inbuf, insize, position, error_comm(),
        [&](Size<Count> *most) { return external_size<Count>(datarep, outcount, datatype, most); },
        [&](const void *buffer, Size<Count> size, Size<Count> *at) {
          return (host.*function)(datarep, buffer, size, at, out.buffer(), outcount, datatype);
        });
    if (result != MPI_SUCCESS) return result;
    status = out.copy_up();
    out.record(Operation::kUnpackExternal, watch);
    return status.is_ok() ? MPI_SUCCESS : raise(error_comm(), status);
  });
}

}  // namespace

int pack_external(const char *datarep, const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf,
                  MPI_Aint outsize, MPI_Aint *position) {
  return pack_through<int>(&wire::Host::MPI_Pack_external, datarep, inbuf, incount, datatype, outbuf, outsize,
                           position);
}

int pack_external_c(const char *datarep, const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                    MPI_Count outsize, MPI_Count *position) {
  return pack_through<MPI_Count>(&wire::Host::MPI_Pack_external_c, datarep, inbuf, incount, datatype, outbuf, outsize,
                                 position);
}

int unpack_external(const char *datarep, const void *inbuf, MPI_Aint insize, MPI_Aint *position, void *outbuf,
                    int outcount, MPI_Datatype datatype) {
  return unpack_through<int>(&wire::Host::MPI_Unpack_external, datarep, inbuf, insize, position, outbuf, outcount,
                             datatype);
}

int unpack_external_c(const char *datarep, const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                      MPI_Count outcount, MPI_Datatype datatype) {
  return unpack_through<MPI_Count>(&wire::Host::MPI_Unpack_external_c, datarep, inbuf, insize, position, outbuf,
                                   outcount, datatype);
}

}  // namespace sluice::ops
