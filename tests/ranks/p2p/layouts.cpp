// SPDX-License-Identifier: BSD-3-Clause
// Construction of the datatypes that the tests use.
#include "tests/ranks/p2p/layouts.hpp"

#include <algorithm>
#include <utility>

#include "tests/support/matrix_rows.hpp"

namespace sluice::tests {
namespace {

struct Span {
  MPI_Aint low = 0;
  MPI_Aint high = 0;
};

Span span_of(MPI_Datatype type, int count) {
  MPI_Aint true_low = 0;
  MPI_Aint true_extent = 0;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_true_extent(type, &true_low, &true_extent);
  MPI_Type_get_extent(type, &low, &extent);
  const MPI_Aint last = count > 1 ? (count - 1) * extent : 0;
  return {std::min<MPI_Aint>({0, true_low, true_low + last}),
          std::max<MPI_Aint>({0, true_low + true_extent, true_low + true_extent + last})};
}

MPI_Datatype vector_of(int blocks, int length, int stride, MPI_Datatype base) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(blocks, length, stride, base, &type);
  return type;
}

MPI_Datatype resized(MPI_Datatype base, MPI_Aint low, MPI_Aint extent) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(base, low, extent, &type);
  return type;
}

// double, int, char[3] with the gaps a compiler would leave.
MPI_Datatype struct_with_gaps() {
  const int lengths[] = {1, 1, 3};
  const MPI_Aint places[] = {0, 8, 13};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(3, lengths, places, types, &inner);
  const MPI_Datatype type = resized(inner, 0, 24);
  MPI_Type_free(&inner);
  return type;
}

MPI_Datatype struct_without_gaps() {
  const int lengths[] = {1, 2, 4};
  const MPI_Aint places[] = {0, 8, 16};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  return type;
}

MPI_Datatype subarray(int order) {
  const int sizes[] = {5, 6, 7};
  const int subsizes[] = {2, 3, 4};
  const int starts[] = {1, 2, 3};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, order, MPI_INT, &type);
  return type;
}

// This process's part of a block-cyclic 8 x 9 array over a 2 x 1 grid; both partners take the same part.
MPI_Datatype darray() {
  const int sizes[] = {8, 9};
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {2, 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
  return type;
}

// Elements that touch each other, all of them `place` bytes from where the buffer begins.
MPI_Datatype run_at(MPI_Aint place) {
  const int length = 3;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &inner);
  const MPI_Datatype type = resized(inner, place, 3 * sizeof(int));
  MPI_Type_free(&inner);
  return type;
}

MPI_Datatype indexed() {
  const int lengths[] = {3, 0, 1, 5};
  const int places[] = {9, 2, 0, 15};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
  return type;
}

MPI_Datatype hindexed(bool reaches_back) {
  const int lengths[] = {2, 3};
  const MPI_Aint places[] = {reaches_back ? -36 : 4, 20};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
  return type;
}

MPI_Datatype indexed_block() {
  const int places[] = {12, 0, 5};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
  return type;
}

MPI_Datatype hindexed_block() {
  const MPI_Aint places[] = {48, 4};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed_block(2, 3, places, MPI_INT, &type);
  return type;
}

// A vector of resized columns: gaps inside gaps. Resized once more, because elements at the vector's own extent would
// share bytes, which no receive may do.
MPI_Datatype nested() {
  MPI_Datatype column = vector_of(4, 1, 6, MPI_INT);
  MPI_Datatype narrow = resized(column, 0, 8);
  MPI_Datatype woven = vector_of(3, 1, 1, narrow);
  const MPI_Datatype type = resized(woven, 0, 96);
  MPI_Type_free(&column);
  MPI_Type_free(&narrow);
  MPI_Type_free(&woven);
  return type;
}

MPI_Datatype hvector() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(6, 2, 20, MPI_INT, &type);
  return type;
}

MPI_Datatype contiguous(int count, MPI_Datatype base) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(count, base, &type);
  return type;
}

MPI_Datatype duplicate(MPI_Datatype base) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_dup(base, &type);
  return type;
}

// make() as an argument would leak the inner type of two-step constructions.
MPI_Datatype consume(MPI_Datatype inner, MPI_Datatype (*outer)(MPI_Datatype)) {
  const MPI_Datatype type = outer(inner);
  MPI_Type_free(&inner);
  return type;
}

}  // namespace

Layout::Layout(std::string name, MPI_Datatype type, int n_ints) : name_(std::move(name)), type_(type), n_ints_(n_ints) {
  MPI_Type_commit(&type_);
}

Layout::Layout(Layout &&other) noexcept
    : name_(std::move(other.name_)), type_(std::exchange(other.type_, MPI_DATATYPE_NULL)), n_ints_(other.n_ints_) {}

Layout::~Layout() {
  if (type_ != MPI_DATATYPE_NULL) {
    MPI_Type_free(&type_);
  }
}

std::size_t Layout::span_bytes(int count) const {
  const Span span = span_of(type_, count);
  return static_cast<std::size_t>(span.high - span.low);
}

std::size_t Layout::origin_bytes(int count) const {
  return static_cast<std::size_t>(-span_of(type_, count).low);
}

std::vector<Layout> contiguous_layouts() {
  std::vector<Layout> all;
  all.emplace_back("duplicate of int", duplicate(MPI_INT), 1);
  all.emplace_back("contiguous of 3 ints", contiguous(3, MPI_INT), 3);
  all.emplace_back("contiguous of contiguous",
                   consume(contiguous(3, MPI_INT), [](MPI_Datatype inner) { return contiguous(5, inner); }), 15);
  all.emplace_back("vector whose stride is its length", vector_of(4, 2, 2, MPI_INT), 8);
  all.emplace_back("struct without gaps", struct_without_gaps(), 0);
  return all;
}

std::vector<Layout> gapped_layouts() {
  std::vector<Layout> all;
  all.emplace_back("vector", vector_of(5, 3, 7, MPI_INT), 15);
  all.emplace_back("vector with negative stride", vector_of(4, 2, -5, MPI_INT), 8);
  // Open MPI takes its stride for that of a run of bytes.
  all.emplace_back("vector with a stride of -1 byte",
                   consume(vector_of(4, 1, -1, MPI_BYTE), [](MPI_Datatype inner) { return vector_of(3, 2, 3, inner); }),
                   0);
  all.emplace_back("hvector", hvector(), 12);
  all.emplace_back("indexed out of order", indexed(), 9);
  all.emplace_back("hindexed", hindexed(false), 5);
  all.emplace_back("hindexed with negative lower bound", hindexed(true), 5);
  all.emplace_back("indexed_block", indexed_block(), 6);
  all.emplace_back("hindexed_block", hindexed_block(), 6);
  all.emplace_back("struct with gaps", struct_with_gaps(), 0);
  all.emplace_back("rows of a matrix", rows_of_matrix(6, 7, MPI_INT), 14);
  all.emplace_back("a run behind the address", run_at(20), 3);
  all.emplace_back("a run before the address", run_at(-24), 3);
  all.emplace_back("subarray in C order", subarray(MPI_ORDER_C), 24);
  all.emplace_back("subarray in Fortran order", subarray(MPI_ORDER_FORTRAN), 24);
  all.emplace_back("darray", darray(), 36);
  all.emplace_back("resized int", resized(MPI_INT, -8, 20), 1);
  all.emplace_back("resized contiguous",
                   consume(contiguous(3, MPI_INT), [](MPI_Datatype inner) { return resized(inner, 0, 16); }), 3);
  all.emplace_back("vector of resized columns", nested(), 12);
  return all;
}

}  // namespace sluice::tests
