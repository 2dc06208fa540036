// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/elements.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::tests {
namespace {

constexpr MPI_Aint kIntBytes = sizeof(int);

// What MPI_Finalize frees: it deletes the attributes of MPI_COMM_SELF first.
struct Kept {
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Op> ops;
};

int free_kept(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*state*/) {
  auto *kept = static_cast<Kept *>(value);
  for (MPI_Datatype &type : kept->types) MPI_Type_free(&type);
  for (MPI_Op &op : kept->ops) MPI_Op_free(&op);
  return MPI_SUCCESS;
}

Kept &kept() {
  static Kept all;
  static const bool is_attached = [] {
    int keyval = MPI_KEYVAL_INVALID;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_kept, &keyval, nullptr) == MPI_SUCCESS &&
           MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &all) == MPI_SUCCESS &&
           MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS;
  }();
  static_cast<void>(is_attached);
  return all;
}

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  kept().types.push_back(type);
  return type;
}

// The ints at `places`, with the lower bound and the extent in ints.
MPI_Datatype indexed(const std::vector<int> &places, int lower_bound, int extent) {
  const std::vector<int> lengths(places.size(), 1);
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(static_cast<int>(places.size()), lengths.data(), places.data(), MPI_INT, &inner);
  MPI_Type_create_resized(inner, lower_bound * kIntBytes, extent * kIntBytes, &type);
  MPI_Type_free(&inner);
  return committed(type);
}

Elements of_indexed(const char *name, std::vector<int> places, int lower_bound, int extent) {
  MPI_Datatype type = indexed(places, lower_bound, extent);
  return {name, type, std::move(places), extent};
}

Elements of_contiguous(int n_ints) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(n_ints, MPI_INT, &type);
  Elements elements{"6 ints", committed(type), {}, n_ints};
  for (int i = 0; i < n_ints; ++i) elements.places.push_back(i);
  return elements;
}

// 2 x 3 out of 4 x 5.
Elements of_part_of_array() {
  const MPI_Aint place = 6 * kIntBytes;
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 3, 5, MPI_INT, &rows);
  MPI_Type_create_hindexed_block(1, 1, &place, rows, &inner);
  MPI_Type_create_resized(inner, 0, 20 * kIntBytes, &type);
  MPI_Type_free(&rows);
  MPI_Type_free(&inner);
  return {"6 ints of an array of 4 x 5", committed(type), {6, 7, 8, 11, 12, 13}, 20};
}

Elements of_struct() {
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {3 * kIntBytes, 5 * kIntBytes};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &inner);
  MPI_Type_create_resized(inner, 2 * kIntBytes, 8 * kIntBytes, &type);
  MPI_Type_free(&inner);
  return {"3 ints of a struct of 8", committed(type), {3, 5, 6}, 8};
}

// Calls `combine(left, right)` for each int of the elements; its result takes the place of the right one.
template <class Combine>
void for_each_int(void *in, void *inout, const int *length, MPI_Datatype *type, Combine combine) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  const auto &types = all_element_types();
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const Elements &elements) { return kIntBytes * elements.extent_ints == extent; });
  if (found == types.end()) {
    return;  // the comparison fails
  }
  const auto *left = static_cast<const unsigned *>(in);
  auto *right = static_cast<unsigned *>(inout);
  for (std::ptrdiff_t element = 0; element < *length; ++element) {
    for (const int place : found->places) {
      const std::ptrdiff_t at = element * found->extent_ints + place;
      right[at] = combine(left[at], right[at]);
    }
  }
}

void weave(void *in, void *inout, int *length, MPI_Datatype *type) {
  // The rows of a 2 x 2 matrix modulo 2^16 each: associative, not commutative.
  for_each_int(in, inout, length, type, [](unsigned left, unsigned right) {
    const unsigned slope = (left & 0xFFFFU) * (right & 0xFFFFU);
    const unsigned shift = (left >> 16U) * (right & 0xFFFFU) + (right >> 16U);
    return (slope & 0xFFFFU) | (shift << 16U);
  });
}

void add_odd(void *in, void *inout, int *length, MPI_Datatype *type) {
  for_each_int(in, inout, length, type, [](unsigned left, unsigned right) { return left + right + 1; });
}

MPI_Op made(MPI_User_function *function, bool commutes) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(function, commutes ? 1 : 0, &op);
  kept().ops.push_back(op);
  return op;
}

}  // namespace

const std::vector<Elements> &all_element_types() {
  static const std::vector<Elements> types = {
      {"ints", MPI_INT, {0}, 1},
      of_indexed("3 ints in 5", {1, 2, 4}, 1, 5),
      of_indexed("2 ints in 24", {0, 20}, 0, 24),
      of_indexed("2 ints in 4, one before the address", {-2, 0}, -2, 4),
      of_indexed("3 ints backwards", {2, 1, 0}, 0, 3),
      of_contiguous(6),
      of_part_of_array(),
      of_struct(),
  };
  return types;
}

const std::vector<Elements> &element_types() {
  static const std::vector<Elements> types(all_element_types().begin(), all_element_types().begin() + 3);
  return types;
}

MPI_Op ordered_op() {
  static const MPI_Op op = made(weave, false);
  return op;
}

MPI_Op commutative_op() {
  static const MPI_Op op = made(add_odd, true);
  return op;
}

}  // namespace sluice::tests
