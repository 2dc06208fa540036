// SPDX-License-Identifier: BSD-3-Clause
#include "tests/layout/random_types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::tests {
namespace {

constexpr MPI_Count kLargestTrueExtent = 1 << 15;
constexpr int kDeepest = 4;

// The constructor's arguments in both forms.
struct Numbers {
  std::vector<int> plain;
  std::vector<MPI_Count> large;
  std::vector<MPI_Aint> addresses;

  void add(int value) {
    plain.push_back(value);
    large.push_back(value);
    addresses.push_back(value);
  }
};

constexpr std::array<std::pair<int, const char *>, 3> kDistributions = {
    {{MPI_DISTRIBUTE_BLOCK, "block"}, {MPI_DISTRIBUTE_CYCLIC, "cyclic"}, {MPI_DISTRIBUTE_NONE, "none"}}};

bool is_empty(MPI_Datatype type) {
  MPI_Count size = 0;
  return wire::host().MPI_Type_size_x(type, &size) == MPI_SUCCESS && size == 0;
}

}  // namespace

MadeType::MadeType(MPI_Datatype given, std::string text, bool owned)
    : type(given), how(std::move(text)), is_owned(owned) {}

MadeType::MadeType(MadeType &&other) noexcept
    : type(std::exchange(other.type, MPI_DATATYPE_NULL)), how(std::move(other.how)), is_owned(other.is_owned) {}

MadeType &MadeType::operator=(MadeType &&other) noexcept {
  std::swap(type, other.type);
  std::swap(how, other.how);
  std::swap(is_owned, other.is_owned);
  return *this;
}

MadeType::~MadeType() {
  // A failure shows in the count of errors, which a test compares with 0.
  if (is_owned && type != MPI_DATATYPE_NULL) static_cast<void>(wire::host().MPI_Type_free(&type));
}

MadeType RandomTypes::make() {
  const wire::Host &mpi = wire::host();
  for (;;) {
    MadeType made = nested(between(1, kDeepest));
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    MPI_Count first = 0;
    MPI_Count true_extent = 0;
    const bool is_known = mpi.MPI_Type_get_extent_x(made.type, &lower, &extent) == MPI_SUCCESS &&
                          mpi.MPI_Type_get_true_extent_x(made.type, &first, &true_extent) == MPI_SUCCESS;
    if (!is_known || std::max({true_extent, extent, -extent, first, -first}) > kLargestTrueExtent) continue;
    if (!made.is_owned || mpi.MPI_Type_commit(&made.type) == MPI_SUCCESS) return made;
  }
}

MadeType RandomTypes::basic() {
  const std::array<std::pair<MPI_Datatype, const char *>, 9> all = {{{MPI_BYTE, "byte"},
                                                                     {MPI_SHORT, "short"},
                                                                     {MPI_INT, "int"},
                                                                     {MPI_DOUBLE, "double"},
                                                                     {MPI_C_DOUBLE_COMPLEX, "complex"},
                                                                     {MPI_SHORT_INT, "short_int"},
                                                                     {MPI_DOUBLE_INT, "double_int"},
                                                                     {MPI_LONG_INT, "long_int"},
                                                                     {MPI_FLOAT_INT, "float_int"}}};
  const auto &[type, how] = all[static_cast<std::size_t>(between(0, static_cast<int>(all.size()) - 1))];
  return {type, how, false};
}

MadeType RandomTypes::nested(int depth) {
  if (depth == 0) return basic();
  static const bool has_large = wire::has_function("MPI_Type_contiguous_c");
  const bool is_large = has_large && between(0, 2) == 0;
  const int which = between(0, 12);
  if (which == 10) return structure(depth, is_large);
  const MadeType part = nested(depth - 1);
  if (which == 11) return subarray(part, is_large);
  if (which == 12 && !is_empty(part.type)) return darray(part, is_large);  // Open MPI 4 makes none of empty types
  return blocks(which % 10, part, is_large);
}

MadeType RandomTypes::blocks(int which, const MadeType &part, bool is_large) {
  static constexpr std::array<const char *, 10> kNames = {"contiguous", "vector",        "hvector",        "indexed",
                                                          "hindexed",   "indexed_block", "hindexed_block", "resized",
                                                          "dup",        "contiguous"};
  const wire::Host &mpi = wire::host();
  const int count = between(0, 4);
  const int length = between(0, 3);
  const int stride = between(-6, 6);
  const int bytes = between(-200, 200);
  Numbers lengths;
  Numbers elements;
  Numbers displacements;
  for (int k = 0; k < count; ++k) {
    lengths.add(between(0, 3));
    elements.add(between(-8, 8));
    displacements.add(between(-200, 200));
  }
  const std::string name = std::string(kNames[static_cast<std::size_t>(which)]) + (is_large && which != 8 ? "_c" : "");
  used_.push_back(name);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const MPI_Datatype old = part.type;
  switch (which) {
    case 1:
      is_large ? mpi.MPI_Type_vector_c(count, length, stride, old, &made)
               : mpi.MPI_Type_vector(count, length, stride, old, &made);
      break;
    case 2:
      is_large ? mpi.MPI_Type_create_hvector_c(count, length, bytes, old, &made)
               : mpi.MPI_Type_create_hvector(count, length, bytes, old, &made);
      break;
    case 3:
      is_large ? mpi.MPI_Type_indexed_c(count, lengths.large.data(), elements.large.data(), old, &made)
               : mpi.MPI_Type_indexed(count, lengths.plain.data(), elements.plain.data(), old, &made);
      break;
    case 4:
      is_large ? mpi.MPI_Type_create_hindexed_c(count, lengths.large.data(), displacements.large.data(), old, &made)
               : mpi.MPI_Type_create_hindexed(count, lengths.plain.data(), displacements.addresses.data(), old, &made);
      break;
    case 5:
      is_large ? mpi.MPI_Type_create_indexed_block_c(count, length, elements.large.data(), old, &made)
               : mpi.MPI_Type_create_indexed_block(count, length, elements.plain.data(), old, &made);
      break;
    case 6:
      is_large ? mpi.MPI_Type_create_hindexed_block_c(count, length, displacements.large.data(), old, &made)
               : mpi.MPI_Type_create_hindexed_block(count, length, displacements.addresses.data(), old, &made);
      break;
    case 7:
      is_large ? mpi.MPI_Type_create_resized_c(old, bytes, between(0, 200), &made)
               : mpi.MPI_Type_create_resized(old, bytes, between(0, 200), &made);
      break;
    case 8:
      mpi.MPI_Type_dup(old, &made);
      break;
    default:
      is_large ? mpi.MPI_Type_contiguous_c(count, old, &made) : mpi.MPI_Type_contiguous(count, old, &made);
  }
  return {made,
          fmt::format("{}(count {}, length {}, stride {}, bytes {}, lengths {}, at {}, at bytes {}, {})", name, count,
                      length, stride, bytes, lengths.plain, elements.plain, displacements.plain, part.how),
          true};
}

MadeType RandomTypes::structure(int depth, bool is_large) {
  const int count = between(0, 4);
  Numbers lengths;
  Numbers displacements;
  std::vector<MadeType> parts;
  std::vector<MPI_Datatype> types;
  std::string how;
  for (int k = 0; k < count; ++k) {
    lengths.add(between(0, 2));
    displacements.add(between(-300, 300));
    parts.push_back(nested(between(0, depth - 1)));
    types.push_back(parts.back().type);
    how += fmt::format(", {} x {} at {}", lengths.plain.back(), parts.back().how, displacements.plain.back());
  }
  const wire::Host &mpi = wire::host();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  is_large
      ? mpi.MPI_Type_create_struct_c(count, lengths.large.data(), displacements.large.data(), types.data(), &made)
      : mpi.MPI_Type_create_struct(count, lengths.plain.data(), displacements.addresses.data(), types.data(), &made);
  used_.emplace_back(is_large ? "struct_c" : "struct");
  return {made, fmt::format("{}({}{})", used_.back(), count, how), true};
}

MadeType RandomTypes::subarray(const MadeType &part, bool is_large) {
  const int n = between(1, 3);
  Numbers sizes;
  Numbers subsizes;
  Numbers starts;
  for (int d = 0; d < n; ++d) {
    sizes.add(between(1, 5));
    subsizes.add(between(1, sizes.plain.back()));
    starts.add(between(0, sizes.plain.back() - subsizes.plain.back()));
  }
  const int order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const wire::Host &mpi = wire::host();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  is_large ? mpi.MPI_Type_create_subarray_c(n, sizes.large.data(), subsizes.large.data(), starts.large.data(), order,
                                            part.type, &made)
           : mpi.MPI_Type_create_subarray(n, sizes.plain.data(), subsizes.plain.data(), starts.plain.data(), order,
                                          part.type, &made);
  used_.emplace_back(is_large ? "subarray_c" : "subarray");
  return {made,
          fmt::format("{}({}, {}, {}, {}, {})", used_.back(), sizes.plain, subsizes.plain, starts.plain,
                      order == MPI_ORDER_C ? "C" : "Fortran", part.how),
          true};
}

MadeType RandomTypes::darray(const MadeType &part, bool is_large) {
  const int n = between(1, 3);
  Numbers sizes;
  std::vector<int> distributions;
  std::vector<int> arguments;
  std::vector<int> grid;
  int n_ranks = 1;
  for (int d = 0; d < n; ++d) {
    sizes.add(between(1, 7));
    distributions.push_back(kDistributions[static_cast<std::size_t>(between(0, 2))].first);
    grid.push_back(distributions.back() == MPI_DISTRIBUTE_NONE ? 1 : between(1, 3));
    const int least =
        distributions.back() == MPI_DISTRIBUTE_BLOCK ? (sizes.plain.back() + grid.back() - 1) / grid.back() : 1;
    const bool is_default = distributions.back() == MPI_DISTRIBUTE_NONE || between(0, 1) == 0;
    arguments.push_back(is_default ? MPI_DISTRIBUTE_DFLT_DARG : between(least, least + 2));
    n_ranks *= grid.back();
  }
  const int rank = between(0, n_ranks - 1);
  const int order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const wire::Host &mpi = wire::host();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  is_large ? mpi.MPI_Type_create_darray_c(n_ranks, rank, n, sizes.large.data(), distributions.data(), arguments.data(),
                                          grid.data(), order, part.type, &made)
           : mpi.MPI_Type_create_darray(n_ranks, rank, n, sizes.plain.data(), distributions.data(), arguments.data(),
                                        grid.data(), order, part.type, &made);
  used_.emplace_back(is_large ? "darray_c" : "darray");
  return {made,
          fmt::format("{}(rank {} of {}, {}, by {}, arguments {}, grid {}, {}, {})", used_.back(), rank, n_ranks,
                      sizes.plain, distributions, arguments, grid, order == MPI_ORDER_C ? "C" : "Fortran", part.how),
          true};
}

std::vector<MadeType> all_darrays(int largest_argument) {
  const wire::Host &mpi = wire::host();
  std::vector<MadeType> all;
  const std::array<int, 2> sizes = {7, 5};
  const std::array<int, 2> all_arguments = {MPI_DISTRIBUTE_DFLT_DARG, largest_argument};
  const std::array<int, 2> orders = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
  for (const auto &[first, first_name] : kDistributions) {
    for (const auto &[second, second_name] : kDistributions) {
      for (const int argument : all_arguments) {
        for (const int order : orders) {
          const std::array<int, 2> by = {first, second};
          const std::array<int, 2> grid = {first == MPI_DISTRIBUTE_NONE ? 1 : 2, second == MPI_DISTRIBUTE_NONE ? 1 : 2};
          const std::array<int, 2> arguments = {first == MPI_DISTRIBUTE_NONE ? MPI_DISTRIBUTE_DFLT_DARG : argument,
                                                second == MPI_DISTRIBUTE_NONE ? MPI_DISTRIBUTE_DFLT_DARG : argument};
          for (int rank = 0; rank < grid[0] * grid[1]; ++rank) {
            MPI_Datatype made = MPI_DATATYPE_NULL;
            mpi.MPI_Type_create_darray(grid[0] * grid[1], rank, 2, sizes.data(), by.data(), arguments.data(),
                                       grid.data(), order, MPI_INT, &made);
            mpi.MPI_Type_commit(&made);
            all.emplace_back(made,
                             fmt::format("{}-{} argument {} {} rank {}", first_name, second_name, argument,
                                         order == MPI_ORDER_C ? "C" : "Fortran", rank),
                             true);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace sluice::tests
