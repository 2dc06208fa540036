// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/flatten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using transfer::Block;
using transfer::Layout;

// Beyond this many separate blocks the list itself would fill the memory.
constexpr std::size_t kMaxBlocks = std::size_t{1} << 26;

// The arguments of a type's constructor, in the order of MPI 4.1, section 5.1.13. Large-count constructors give their
// counts separately; here all integers are one row in the order in which the plain form has them.
struct Contents {
  int combiner = 0;
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<MPI_Datatype> types;
};

bool is_derived(MPI_Datatype type) {
  int n_integers = 0;
  int n_addresses = 0;
  int n_types = 0;
  int combiner = MPI_COMBINER_NAMED;
  return wire::host().MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner) == MPI_SUCCESS &&
         combiner != MPI_COMBINER_NAMED;
}

// Frees the references that reading the contents gave us.
class ContentsLease {
 public:
  Contents contents;
  ContentsLease() = default;
  ContentsLease(const ContentsLease &) = delete;
  ContentsLease &operator=(const ContentsLease &) = delete;
  ContentsLease(ContentsLease &&) = delete;
  ContentsLease &operator=(ContentsLease &&) = delete;
  ~ContentsLease() {
    for (MPI_Datatype &type : contents.types) {
      // A predefined type is not ours to free; one that cannot be freed is merely kept.
      if (is_derived(type)) is_freed_ &= wire::host().MPI_Type_free(&type) == MPI_SUCCESS;
    }
  }

 private:
  bool is_freed_ = true;
};

bool read_plain(MPI_Datatype type, Contents *contents) {
  int n_integers = 0;
  int n_addresses = 0;
  int n_types = 0;
  const wire::Host &host = wire::host();
  if (host.MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &contents->combiner) != MPI_SUCCESS) {
    return false;
  }
  if (contents->combiner == MPI_COMBINER_NAMED) return true;
  std::vector<int> integers(static_cast<std::size_t>(n_integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(n_addresses));
  contents->types.resize(static_cast<std::size_t>(n_types), MPI_DATATYPE_NULL);
  if (host.MPI_Type_get_contents(type, n_integers, n_addresses, n_types, integers.data(), addresses.data(),
                                 contents->types.data()) != MPI_SUCCESS) {
    return false;
  }
  contents->integers.assign(integers.begin(), integers.end());
  contents->addresses.assign(addresses.begin(), addresses.end());
  return true;
}

// The number of leading true integers among the arguments of a large-count constructor (the others are counts).
bool has_large_counts(MPI_Datatype type, MPI_Count *n_integers, MPI_Count *n_addresses, MPI_Count *n_large,
                      MPI_Count *n_types, int *combiner) {
  static const bool is_there = wire::has_function("MPI_Type_get_envelope_c");
  return is_there &&
         wire::host().MPI_Type_get_envelope_c(type, n_integers, n_addresses, n_large, n_types, combiner) ==
             MPI_SUCCESS &&
         *n_large > 0;
}

// Puts counts and integers of a large-count constructor into the order of the plain one.
void merge_large(int combiner, std::span<const int> integers, std::span<const MPI_Count> large, Contents *contents) {
  auto &out = contents->integers;
  std::vector<std::int64_t> counts(large.begin(), large.end());
  const auto take_address = [&] {
    contents->addresses.push_back(counts.back());
    counts.pop_back();
  };
  switch (combiner) {
    case MPI_COMBINER_RESIZED:  // lower bound, extent
    case MPI_COMBINER_HVECTOR:  // count, block length, stride in bytes
      if (combiner == MPI_COMBINER_RESIZED) {
        contents->addresses.assign(counts.begin(), counts.end());
        counts.clear();
      } else {
        take_address();
      }
      break;
    case MPI_COMBINER_HINDEXED:        // count, lengths, displacements in bytes
    case MPI_COMBINER_STRUCT:          // the same
    case MPI_COMBINER_HINDEXED_BLOCK:  // count, length, displacements in bytes
    {
      const std::size_t n = counts.empty() ? 0 : static_cast<std::size_t>(counts[0]);
      contents->addresses.assign(counts.end() - static_cast<std::ptrdiff_t>(n), counts.end());
      counts.resize(counts.size() - n);
      break;
    }
    default:
      break;
  }
  if (combiner == MPI_COMBINER_SUBARRAY || combiner == MPI_COMBINER_DARRAY) {
    // integers: ndims first (subarray) or size, rank, ndims, distributions, arguments, process grid; last the order.
    const std::size_t before = combiner == MPI_COMBINER_SUBARRAY ? 1 : 3;
    out.assign(integers.begin(), integers.begin() + static_cast<std::ptrdiff_t>(before));
    out.insert(out.end(), counts.begin(), counts.end());
    out.insert(out.end(), integers.begin() + static_cast<std::ptrdiff_t>(before), integers.end());
    return;
  }
  out = counts;
  out.insert(out.end(), integers.begin(), integers.end());
}

bool read_contents(MPI_Datatype type, Contents *contents) {
  MPI_Count n_integers = 0;
  MPI_Count n_addresses = 0;
  MPI_Count n_large = 0;
  MPI_Count n_types = 0;
  if (!has_large_counts(type, &n_integers, &n_addresses, &n_large, &n_types, &contents->combiner)) {
    return read_plain(type, contents);
  }
  std::vector<int> integers(static_cast<std::size_t>(n_integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(n_addresses));
  std::vector<MPI_Count> large(static_cast<std::size_t>(n_large));
  contents->types.resize(static_cast<std::size_t>(n_types), MPI_DATATYPE_NULL);
  if (wire::host().MPI_Type_get_contents_c(type, n_integers, n_addresses, n_large, n_types, integers.data(),
                                           addresses.data(), large.data(), contents->types.data()) != MPI_SUCCESS) {
    return false;
  }
  contents->addresses.assign(addresses.begin(), addresses.end());
  merge_large(contents->combiner, integers, large, contents);
  return true;
}

// Appends blocks in the order of travel, joining neighbours.
class Emitter {
 public:
  explicit Emitter(Layout *layout) : blocks_(&layout->blocks) {}

  [[nodiscard]] Status derived(const Contents &contents, std::int64_t offset);
  [[nodiscard]] Status image(MPI_Datatype datatype, std::int64_t offset);

 private:
  [[nodiscard]] Status type(MPI_Datatype datatype, std::int64_t offset);
  [[nodiscard]] Status run(MPI_Datatype datatype, std::int64_t offset, std::int64_t n_elements);
  [[nodiscard]] Status subarray(const Contents &contents, std::int64_t offset);
  [[nodiscard]] Status append(std::int64_t offset, std::uint64_t size_bytes);

  std::vector<Block> *blocks_;
};

std::int64_t extent_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  return wire::host().MPI_Type_get_extent_x(type, &lower_bound, &extent) == MPI_SUCCESS ? extent : 0;
}

Status Emitter::append(std::int64_t offset, std::uint64_t size_bytes) {
  if (size_bytes == 0) return {};
  if (!blocks_->empty() &&
      blocks_->back().offset_bytes + static_cast<std::int64_t>(blocks_->back().size_bytes) == offset) {
    blocks_->back().size_bytes += size_bytes;
    return {};
  }
  if (blocks_->size() == kMaxBlocks) {
    return Status::error(ErrorKind::kUnsupported,
                         fmt::format("a datatype of more than {} separate blocks cannot be used on "
                                     "device memory; use several smaller messages",
                                     kMaxBlocks));
  }
  blocks_->push_back({offset, size_bytes});
  return {};
}

// `n_elements` of `datatype`, one extent apart. A dense type is one block, however many there are.
Status Emitter::run(MPI_Datatype datatype, std::int64_t offset, std::int64_t n_elements) {
  transfer::LayoutPtr inner;
  if (n_elements > 0 && named_layout(datatype, &inner) && inner->is_contiguous) {
    return append(offset, inner->size_bytes * static_cast<std::uint64_t>(n_elements));
  }
  const std::int64_t extent = extent_of(datatype);
  for (std::int64_t i = 0; i < n_elements; ++i) {
    if (Status status = type(datatype, offset + i * extent); !status.is_ok()) return status;
  }
  return {};
}

Status Emitter::type(MPI_Datatype datatype, std::int64_t offset) {
  // Each type is decoded once and remembered on the type, nested ones too.
  transfer::LayoutPtr known;
  if (Status status = layout_of(datatype, &known); !status.is_ok()) return status;
  if (known->is_contiguous) return append(offset, known->size_bytes);
  for (const Block &block : known->blocks) {
    if (Status status = append(offset + block.offset_bytes, block.size_bytes); !status.is_ok()) return status;
  }
  return {};
}

Status Emitter::subarray(const Contents &contents, std::int64_t offset) {
  const auto n_dims = static_cast<std::size_t>(contents.integers[0]);
  const std::int64_t *sizes = &contents.integers[1];
  const std::int64_t *subsizes = sizes + n_dims;
  const std::int64_t *starts = subsizes + n_dims;
  const bool is_c_order = contents.integers[1 + 3 * n_dims] == MPI_ORDER_C;
  // Dimensions from the slowest to the fastest.
  std::vector<std::size_t> dims(n_dims);
  for (std::size_t d = 0; d < n_dims; ++d) dims[d] = is_c_order ? d : n_dims - 1 - d;
  const std::int64_t extent = extent_of(contents.types[0]);
  if (std::any_of(subsizes, subsizes + n_dims, [](std::int64_t size) { return size <= 0; })) return {};
  std::vector<std::int64_t> at(n_dims, 0);
  while (true) {
    std::int64_t element = 0;
    for (const std::size_t d : dims) element = element * sizes[d] + starts[d] + at[d];
    if (Status status = run(contents.types[0], offset + element * extent, subsizes[dims.back()]); !status.is_ok()) {
      return status;
    }
    // The next row: count up from the second-fastest dimension.
    std::size_t k = n_dims - 1;
    while (k > 0 && ++at[dims[k - 1]] == subsizes[dims[k - 1]]) at[dims[--k]] = 0;
    if (k == 0) return {};
  }
}

// For constructors that are not decoded (darray): the host MPI itself says where each byte comes from. A buffer in
// which every byte holds one digit of its own position is packed, once for each digit.
Status Emitter::image(MPI_Datatype datatype, std::int64_t offset) {
  const wire::Host &host = wire::host();
  MPI_Count size = 0;
  MPI_Count true_lower_bound = 0;
  MPI_Count true_extent = 0;
  if (host.MPI_Type_size_x(datatype, &size) != MPI_SUCCESS ||
      host.MPI_Type_get_true_extent_x(datatype, &true_lower_bound, &true_extent) != MPI_SUCCESS || size > INT32_MAX) {
    return Status::error(ErrorKind::kUnsupported, "this datatype cannot be decoded; describe it with MPI_Type_indexed");
  }
  std::vector<unsigned char> memory(static_cast<std::size_t>(true_extent));
  std::vector<unsigned char> packed(static_cast<std::size_t>(size));
  std::vector<std::int64_t> positions(static_cast<std::size_t>(size), 0);
  for (unsigned shift = 0; shift < 64 && (true_extent >> shift) > 0; shift += 8) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    const void *origin =
        reinterpret_cast<const void *>(reinterpret_cast<std::intptr_t>(memory.data()) - true_lower_bound);
    if (host.MPI_Pack(origin, 1, datatype, packed.data(), static_cast<int>(size), &position, MPI_COMM_SELF) !=
        MPI_SUCCESS) {
      return Status::error(ErrorKind::kInternal, "the host MPI could not pack a datatype while it was decoded");
    }
    for (std::size_t i = 0; i < packed.size(); ++i) positions[i] |= static_cast<std::int64_t>(packed[i]) << shift;
  }
  for (const std::int64_t position : positions) {
    if (Status status = append(offset + true_lower_bound + position, 1); !status.is_ok()) return status;
  }
  return {};
}

Status Emitter::derived(const Contents &contents, std::int64_t offset) {
  const auto &n = contents.integers;
  const auto &a = contents.addresses;
  const auto &types = contents.types;
  const std::int64_t extent = types.empty() ? 0 : extent_of(types[0]);
  const std::int64_t count = n.empty() ? 0 : n[0];
  const auto blocks = [&](auto length, auto displacement) -> Status {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(i);
      const MPI_Datatype inner = contents.combiner == MPI_COMBINER_STRUCT ? types[index] : types[0];
      if (Status status = run(inner, offset + displacement(index), length(index)); !status.is_ok()) return status;
    }
    return {};
  };
  const auto same_length = [&](std::size_t) { return n[1]; };
  const auto own_length = [&](std::size_t i) { return n[1 + i]; };
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return type(types[0], offset);
    case MPI_COMBINER_CONTIGUOUS:
      return run(types[0], offset, count);
    case MPI_COMBINER_VECTOR:
      return blocks(same_length, [&](std::size_t i) { return static_cast<std::int64_t>(i) * n[2] * extent; });
    case MPI_COMBINER_HVECTOR:
      return blocks(same_length, [&](std::size_t i) { return static_cast<std::int64_t>(i) * a[0]; });
    case MPI_COMBINER_INDEXED:
      return blocks(own_length, [&](std::size_t i) { return n[static_cast<std::size_t>(1 + count) + i] * extent; });
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      return blocks(own_length, [&](std::size_t i) { return a[i]; });
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks(same_length, [&](std::size_t i) { return n[2 + i] * extent; });
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks(same_length, [&](std::size_t i) { return a[i]; });
    case MPI_COMBINER_SUBARRAY:
      return subarray(contents, offset);
    default:
      return Status::error(ErrorKind::kUnsupported, "not decoded");
  }
}

}  // namespace

Status flatten(MPI_Datatype type, Layout *layout) {
  const wire::Host &host = wire::host();
  ContentsLease lease;
  MPI_Count size = 0;
  if (!read_contents(type, &lease.contents) || host.MPI_Type_size_x(type, &size) != MPI_SUCCESS) {
    return Status::error(ErrorKind::kInternal, "the host MPI could not describe a datatype that it accepts");
  }
  layout->size_bytes = static_cast<std::uint64_t>(size);
  layout->extent_bytes = extent_of(type);
  Emitter emitter(layout);
  const int combiner = lease.contents.combiner;
  Status status;
  if (combiner == MPI_COMBINER_NAMED) {  // of a language that this table does not list; one run of bytes
    layout->blocks = {{0, layout->size_bytes}};
  } else if (combiner == MPI_COMBINER_DARRAY) {
    status = emitter.image(type, 0);
  } else {
    status = emitter.derived(lease.contents, 0);
    if (status.kind() == ErrorKind::kUnsupported && status.message() == "not decoded") status = emitter.image(type, 0);
  }
  if (!status.is_ok()) return status;
  for (const Block &block : layout->blocks) {
    layout->first_byte =
        &block == layout->blocks.data() ? block.offset_bytes : std::min(layout->first_byte, block.offset_bytes);
  }
  layout->is_contiguous = size == 0 || (layout->blocks.size() == 1 && layout->first_byte == 0 &&
                                        layout->extent_bytes == static_cast<std::int64_t>(layout->size_bytes));
  if (layout->is_contiguous) layout->blocks.clear();
  return {};
}

}  // namespace sluice::ops
