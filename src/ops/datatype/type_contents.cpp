// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/type_contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {
namespace {

// The forms with large counts describe every type; the old ones refuse types that were made with large counts.
bool has_large_forms() {
  static const bool has =
      wire::has_function("MPI_Type_get_envelope_c") && wire::has_function("MPI_Type_get_contents_c");
  return has;
}

// What the two calls deliver, before it is brought into one form.
struct RawContents {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> large_counts;

  explicit RawContents(const TypeEnvelope &envelope)
      : integers(static_cast<std::size_t>(envelope.n_integers)),
        addresses(static_cast<std::size_t>(envelope.n_addresses)),
        large_counts(static_cast<std::size_t>(envelope.n_large_counts)) {}
};

int call_host(MPI_Datatype type, const TypeEnvelope &envelope, RawContents *raw, std::vector<MPI_Datatype> *types) {
  if (has_large_forms()) {
    return wire::host().MPI_Type_get_contents_c(type, envelope.n_integers, envelope.n_addresses,
                                                envelope.n_large_counts, envelope.n_types, raw->integers.data(),
                                                raw->addresses.data(), raw->large_counts.data(), types->data());
  }
  return wire::host().MPI_Type_get_contents(type, static_cast<int>(envelope.n_integers),
                                            static_cast<int>(envelope.n_addresses), static_cast<int>(envelope.n_types),
                                            raw->integers.data(), raw->addresses.data(), types->data());
}

template <typename Number>
void append(std::vector<std::int64_t> *out, const std::vector<Number> &in, std::size_t first, std::size_t count) {
  const auto begin = in.begin() + static_cast<std::ptrdiff_t>(first);
  out->insert(out->end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

// MPI 4.1, section 5.1.13: in the large form the numbers of elements move to the large counts, the rest stays.
Status sort_array_constructor(const RawContents &raw, TypeContents *contents) {
  const bool is_subarray = contents->combiner == MPI_COMBINER_SUBARRAY;
  const bool is_large = !raw.large_counts.empty();
  const std::size_t n_head = is_subarray ? 1 : 3;    // up to and with the number of dimensions
  const std::size_t n_sized = is_subarray ? 3 : 1;   // arrays of sizes
  const std::size_t n_others = is_subarray ? 0 : 3;  // arrays of anything else
  const bool has_head = raw.integers.size() >= n_head;
  const std::size_t n = has_head ? static_cast<std::size_t>(raw.integers[n_head - 1]) : 0;
  const std::size_t n_integers = n_head + n_others * n + 1 + (is_large ? 0 : n_sized * n);
  if (!has_head || raw.integers.size() < n_integers || (is_large && raw.large_counts.size() < n_sized * n)) {
    return Status::error(ErrorKind::kInternal,
                         "the host MPI describes an array datatype with too few numbers; report this with the name "
                         "and version of the MPI");
  }
  append(&contents->modes, raw.integers, 0, n_head);
  if (is_large) {
    append(&contents->numbers, raw.large_counts, 0, n_sized * n);
    append(&contents->modes, raw.integers, n_head, n_others * n + 1);
  } else {
    append(&contents->numbers, raw.integers, n_head, n_sized * n);
    append(&contents->modes, raw.integers, n_head + n_sized * n, n_others * n + 1);
  }
  return {};
}

}  // namespace

Status host_refused(const char *function, int code) {
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("{} failed while a datatype of device data was taken apart: {}; use another type, "
                                   "or send from host memory",
                                   function, wire::error_text(code)));
}

Status read_envelope(MPI_Datatype type, TypeEnvelope *envelope) {
  if (has_large_forms()) {
    const int result =
        wire::host().MPI_Type_get_envelope_c(type, &envelope->n_integers, &envelope->n_addresses,
                                             &envelope->n_large_counts, &envelope->n_types, &envelope->combiner);
    return result == MPI_SUCCESS ? Status() : host_refused("MPI_Type_get_envelope_c", result);
  }
  int n_integers = 0;
  int n_addresses = 0;
  int n_types = 0;
  const int result = wire::host().MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &envelope->combiner);
  if (result != MPI_SUCCESS) return host_refused("MPI_Type_get_envelope", result);
  envelope->n_integers = n_integers;
  envelope->n_addresses = n_addresses;
  envelope->n_types = n_types;
  return {};
}

wire::OwnedDatatype own_unless_predefined(MPI_Datatype type) {
  transfer::LayoutPtr named;
  TypeEnvelope envelope;
  const bool is_kept =
      named_layout(type, &named) || !read_envelope(type, &envelope).is_ok() || envelope.is_predefined();
  return wire::OwnedDatatype(is_kept ? MPI_DATATYPE_NULL : type);
}

Status read_contents(MPI_Datatype type, const TypeEnvelope &envelope, TypeContents *contents) {
  contents->combiner = envelope.combiner;
  RawContents raw(envelope);
  contents->types.resize(static_cast<std::size_t>(envelope.n_types));
  const int result = call_host(type, envelope, &raw, &contents->types);
  if (result != MPI_SUCCESS) {
    contents->types.clear();
    return host_refused("MPI_Type_get_contents", result);
  }
  if (envelope.combiner == MPI_COMBINER_SUBARRAY || envelope.combiner == MPI_COMBINER_DARRAY) {
    return sort_array_constructor(raw, contents);
  }
  contents->numbers.reserve(raw.integers.size() + raw.addresses.size() + raw.large_counts.size());
  append(&contents->numbers, raw.integers, 0, raw.integers.size());
  append(&contents->numbers, raw.addresses, 0, raw.addresses.size());
  append(&contents->numbers, raw.large_counts, 0, raw.large_counts.size());
  return {};
}

}  // namespace sluice::ops
