// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/numbers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/named_types.hpp"
#include "ops/datatype/type_contents.hpp"
#include "ops/datatype/type_probe.hpp"
#include "transfer/host_layout.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::rma {
namespace {

// Behind the types of C without gaps. Handles are looked up in the host MPI, so these are no constants. They are
// compared; those that the host MPI lacks do no harm. A number is a place in the list, and 0 is none.
std::vector<MPI_Datatype> further_types() {
  return {MPI_FLOAT_INT,
          MPI_DOUBLE_INT,
          MPI_LONG_INT,
          MPI_SHORT_INT,
          MPI_LONG_DOUBLE_INT,
          MPI_INTEGER,
          MPI_REAL,
          MPI_DOUBLE_PRECISION,
          MPI_COMPLEX,
          MPI_DOUBLE_COMPLEX,
          MPI_LOGICAL,
          MPI_CHARACTER,
          MPI_INTEGER1,
          MPI_INTEGER2,
          MPI_INTEGER4,
          MPI_INTEGER8,
          MPI_REAL4,
          MPI_REAL8,
          MPI_COMPLEX8,
          MPI_COMPLEX16,
          MPI_2INTEGER,
          MPI_2REAL,
          MPI_2DOUBLE_PRECISION,
          MPI_CXX_BOOL,
          MPI_CXX_FLOAT_COMPLEX,
          MPI_CXX_DOUBLE_COMPLEX,
          MPI_CXX_LONG_DOUBLE_COMPLEX};
}

const std::vector<MPI_Datatype> &types() {
  static const auto *const list = [] {
    auto *made = new std::vector<MPI_Datatype>{MPI_DATATYPE_NULL};
    for (const std::vector<MPI_Datatype> &part : {types_of_c(), further_types()}) {
      made->insert(made->end(), part.begin(), part.end());
    }
    return made;
  }();
  return *list;
}

const std::vector<MPI_Op> &operations() {
  static const auto *const list =
      new std::vector<MPI_Op>{MPI_OP_NULL, MPI_MAX,  MPI_MIN,  MPI_SUM,    MPI_PROD,   MPI_LAND,    MPI_BAND, MPI_LOR,
                              MPI_BOR,     MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return *list;
}

constexpr std::size_t kMostTypes = 64;
constexpr std::size_t kMostOperations = 16;

template <typename Handle>
std::uint32_t number_in(const std::vector<Handle> &list, Handle handle) {
  const auto found = std::find(list.begin() + 1, list.end(), handle);
  return found == list.end() ? 0 : static_cast<std::uint32_t>(found - list.begin());
}

// Whether the host MPI has the operation on the type. It is asked about a pair once.
bool is_accepted(const Arithmetic &arithmetic) {
  if (arithmetic.is_replace() || arithmetic.is_nothing()) return true;
  enum Answer : std::uint8_t { kUnasked, kTaken, kRefused };
  static std::array<std::atomic<std::uint8_t>, kMostTypes * kMostOperations> answers{};
  std::atomic<std::uint8_t> &known = answers.at(arithmetic.type_number * kMostOperations + arithmetic.op_number);
  std::uint8_t answer = known.load(std::memory_order_relaxed);
  if (answer == kUnasked) {
    answer = probe_reduction(arithmetic.type, arithmetic.op) == ProbeAnswer::kAccepted ? kTaken : kRefused;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kTaken;
}

Status no_such_type() {
  return Status::error(ErrorKind::kBadType,
                       "an accumulate on a window of device memory takes types made of one predefined type that MPI "
                       "names; use one of those on both sides");
}

}  // namespace

Status find_basic_type(MPI_Datatype type, MPI_Datatype *basic) {
  if (transfer::LayoutPtr layout; named_layout(type, &layout)) {
    *basic = type;
    return {};
  }
  TypeEnvelope envelope;
  if (Status status = read_envelope(type, &envelope); !status.is_ok()) return status;
  if (envelope.is_predefined()) {
    *basic = type;
    return {};
  }
  TypeContents contents;
  Status status = read_contents(type, envelope, &contents);
  MPI_Datatype found = MPI_DATATYPE_NULL;
  for (MPI_Datatype inner : contents.types) {
    const wire::OwnedDatatype owner = own_unless_predefined(inner);
    MPI_Datatype one = MPI_DATATYPE_NULL;
    if (status.is_ok()) status = find_basic_type(inner, &one);
    if (status.is_ok() && found != MPI_DATATYPE_NULL && found != one) status = no_such_type();
    found = one;
  }
  if (status.is_ok() && found == MPI_DATATYPE_NULL) status = no_such_type();
  *basic = found;
  return status;
}

Status find_arithmetic(MPI_Datatype basic, MPI_Op op, Arithmetic *arithmetic) {
  const std::uint32_t op_number = number_in(operations(), op);
  if (op_number == 0) {
    return Status::error(ErrorKind::kBadOperation,
                         "an accumulate was given an operation that the program has made; use one of MPI's own");
  }
  // What computes nothing is the same on bytes, whatever the type.
  const bool is_computed = op != MPI_REPLACE && op != MPI_NO_OP;
  const std::uint32_t type_number = number_in(types(), is_computed ? basic : MPI_BYTE);
  if (type_number == 0) return no_such_type();
  if (find_arithmetic(type_number, op_number, arithmetic)) return {};
  return Status::error(ErrorKind::kBadOperation,
                       "the host MPI does not have this operation on this type; use another operation or type");
}

bool find_arithmetic(std::uint32_t type_number, std::uint32_t op_number, Arithmetic *arithmetic) {
  if (type_number == 0 || type_number >= std::min(types().size(), kMostTypes) || op_number == 0 ||
      op_number >= std::min(operations().size(), kMostOperations)) {
    return false;
  }
  *arithmetic = {type_number, op_number, types()[type_number], operations()[op_number], nullptr};
  if (!is_accepted(*arithmetic)) return false;
  if (named_layout(arithmetic->type, &arithmetic->element)) return true;
  return layout_of(arithmetic->type, &arithmetic->element).is_ok();
}

Status compute(const Arithmetic &arithmetic, const std::byte *in, std::byte *inout, std::uint64_t size_bytes) {
  // Elements that are packed may lie anywhere, and without the gaps that the host MPI's have.
  constexpr std::uint64_t kMostElements = 4096;
  const transfer::Layout &element = *arithmetic.element;
  const auto stride = static_cast<std::size_t>(element.extent_bytes);
  std::vector<std::byte> left(kMostElements * stride);
  std::vector<std::byte> right(left.size());
  const std::uint64_t n_elements = size_bytes / element.size_bytes;
  for (std::uint64_t done = 0; done < n_elements; done += kMostElements) {
    const std::uint64_t n = std::min(kMostElements, n_elements - done);
    const std::uint64_t bytes = n * element.size_bytes;
    const transfer::Region one{left.data(), static_cast<std::int64_t>(n), arithmetic.element, {}};
    transfer::Region other = one;
    other.origin = right.data();
    transfer::scatter(one, in + done * element.size_bytes, bytes);
    transfer::scatter(other, inout + done * element.size_bytes, bytes);
    const int code =
        wire::host().MPI_Reduce_local(left.data(), right.data(), static_cast<int>(n), arithmetic.type, arithmetic.op);
    if (code != MPI_SUCCESS) return wire::host_failure(code, "compute an accumulate");
    transfer::gather(other, inout + done * element.size_bytes, bytes);
  }
  return {};
}

}  // namespace sluice::ops::rma
