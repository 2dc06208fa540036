// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/reduction/reduction_pair.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "ops/coll/reduction/host_reduction.hpp"
#include "ops/datatype/type_contents.hpp"
#include "ops/datatype/type_probe.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// Types by what the kernels can do with them, much as MPI groups them (section 6.9.2).
enum class Group : std::uint8_t {
  kSigned,    // integers, characters among them
  kUnsigned,  // the same, and MPI_BYTE
  kFloating,
  kShortFloating,  // of two bytes
  kComplex,
  kLogical,         // C's and C++'s bool
  kFortranLogical,  // whose true is the compiler's choice
  kIndexed,         // pairs of a C type and an int
  kTwo              // Fortran's pairs of one type
};

struct Named {
  MPI_Datatype type;
  Group group;
  sluice_element_t element;  // of pairs and short numbers; the others are known by their size
};

// What MPIs call their types of half and bfloat16, of which the standard has Fortran's alone. Some can move them and
// not reduce them: MPICH 4.0 ends the program at a sum of the first, MPICH 5.0 at a maximum of the second.
void add_short_numbers(std::vector<Named> *list) {
#if defined(MPI_REAL2)
  list->push_back({MPI_REAL2, Group::kShortFloating, SLUICE_ELEMENT_FLOAT16});
#elif defined(OMPI_PREDEFINED_GLOBAL)
  list->push_back(
      {OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_real2), Group::kShortFloating, SLUICE_ELEMENT_FLOAT16});
#endif
#if defined(OMPI_PREDEFINED_GLOBAL)
  // In mpi-ext.h, where the compiler of Open MPI has such a type.
  list->push_back(
      {OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_short_float), Group::kShortFloating, SLUICE_ELEMENT_FLOAT16});
#endif
#if defined(MPIX_C_FLOAT16)
  list->push_back({MPIX_C_FLOAT16, Group::kShortFloating, SLUICE_ELEMENT_FLOAT16});
#endif
#if defined(MPIX_BFLOAT16)
  list->push_back({MPIX_BFLOAT16, Group::kShortFloating, SLUICE_ELEMENT_BFLOAT16});
#endif
}

// Fortran's types of a size in bytes. Those without an element (of 16 bytes, complex ones of 4 and 32) are not here.
void add_sized_types(std::vector<Named> *list) {
  for (MPI_Datatype type : {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}) {
    list->push_back({type, Group::kSigned, SLUICE_ELEMENT_INT8});
  }
  for (MPI_Datatype type : {MPI_REAL4, MPI_REAL8}) list->push_back({type, Group::kFloating, SLUICE_ELEMENT_INT8});
  for (MPI_Datatype type : {MPI_COMPLEX8, MPI_COMPLEX16}) {
    list->push_back({type, Group::kComplex, SLUICE_ELEMENT_INT8});
  }
#if defined(MPI_LOGICAL1) && defined(MPI_LOGICAL2) && defined(MPI_LOGICAL4) && defined(MPI_LOGICAL8)
  for (MPI_Datatype type : {MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8}) {
    list->push_back({type, Group::kFortranLogical, SLUICE_ELEMENT_INT8});
  }
#endif
}

// Handles are looked up in the host MPI, so this is no constant. They are compared and no more, so that types which the
// host MPI lacks do no harm.
const std::vector<Named> &named_types() {
  static const auto *const all = [] {
    auto *list = new std::vector<Named>();
    const auto add = [list](Group group, std::initializer_list<MPI_Datatype> types) {
      for (MPI_Datatype type : types) list->push_back({type, group, SLUICE_ELEMENT_INT8});
    };
    add(Group::kSigned, {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                         MPI_INT32_T, MPI_INT64_T});
    add(Group::kUnsigned, {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                           MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_BYTE});
    add(Group::kSigned, {MPI_INTEGER, MPI_AINT, MPI_COUNT, MPI_OFFSET});
    // MPI has no operations on these two; all host MPIs that were asked have them on the first, most on both.
    add(std::is_signed_v<char> ? Group::kSigned : Group::kUnsigned, {MPI_CHAR, MPI_CHARACTER});
    add(Group::kFloating, {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION});
    add(Group::kComplex, {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
                          MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX});
    add(Group::kLogical, {MPI_C_BOOL, MPI_CXX_BOOL});
    add(Group::kFortranLogical, {MPI_LOGICAL});
    add_sized_types(list);
    add_short_numbers(list);
    list->push_back({MPI_SHORT_INT, Group::kIndexed, SLUICE_ELEMENT_PAIR_INT16});
    list->push_back({MPI_2INT, Group::kIndexed, SLUICE_ELEMENT_PAIR_INT32});
    list->push_back({MPI_LONG_INT, Group::kIndexed, SLUICE_ELEMENT_PAIR_INT64});
    list->push_back({MPI_FLOAT_INT, Group::kIndexed, SLUICE_ELEMENT_PAIR_FLOAT32});
    list->push_back({MPI_DOUBLE_INT, Group::kIndexed, SLUICE_ELEMENT_PAIR_FLOAT64});
    list->push_back({MPI_2REAL, Group::kTwo, SLUICE_ELEMENT_TWO_FLOAT32});
    list->push_back({MPI_2DOUBLE_PRECISION, Group::kTwo, SLUICE_ELEMENT_TWO_FLOAT64});
    list->push_back({MPI_2INTEGER, Group::kTwo, SLUICE_ELEMENT_PAIR_INT32});
    return list;
  }();
  return *all;
}

// What MPI_Type_create_f90_integer and such have made. Each of their results is a predefined type, without a name: it
// is known by how it was made.
std::optional<Group> group_of_made_for_fortran(MPI_Datatype type) {
  TypeEnvelope envelope;
  if (!read_envelope(type, &envelope).is_ok()) return std::nullopt;
  switch (envelope.combiner) {
    case MPI_COMBINER_F90_INTEGER:
      return Group::kSigned;
    case MPI_COMBINER_F90_REAL:
      return Group::kFloating;
    case MPI_COMBINER_F90_COMPLEX:
      return Group::kComplex;
    default:
      return std::nullopt;
  }
}

// A type, and where what the host MPI does with it is kept.
struct Found {
  Named named;
  std::size_t place;
  bool is_made_for_fortran = false;
};

std::optional<Found> find_type(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return std::nullopt;
  const std::vector<Named> &all = named_types();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].type == type) return Found{all[i], i};
  }
  const std::optional<Group> group = group_of_made_for_fortran(type);
  int size_bytes = 0;
  if (!group || wire::host().MPI_Type_size(type, &size_bytes) != MPI_SUCCESS) return std::nullopt;
  // Those of one sort and size are one type to the host MPI.
  constexpr std::size_t kMostWidths = 8;
  const auto width = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(size_bytes)));
  const std::size_t sort = *group == Group::kSigned ? 0 : *group == Group::kFloating ? 1 : 2;
  if (width >= kMostWidths) return std::nullopt;
  return Found{{type, *group, SLUICE_ELEMENT_INT8}, all.size() + sort * kMostWidths + width, true};
}

std::optional<sluice_operation_t> operation_of(MPI_Op op) {
  struct Entry {
    MPI_Op op;
    sluice_operation_t operation;
  };
  const std::array<Entry, 12> all = {{{MPI_SUM, SLUICE_OPERATION_SUM},
                                      {MPI_PROD, SLUICE_OPERATION_PROD},
                                      {MPI_MIN, SLUICE_OPERATION_MIN},
                                      {MPI_MAX, SLUICE_OPERATION_MAX},
                                      {MPI_LAND, SLUICE_OPERATION_LAND},
                                      {MPI_LOR, SLUICE_OPERATION_LOR},
                                      {MPI_LXOR, SLUICE_OPERATION_LXOR},
                                      {MPI_BAND, SLUICE_OPERATION_BAND},
                                      {MPI_BOR, SLUICE_OPERATION_BOR},
                                      {MPI_BXOR, SLUICE_OPERATION_BXOR},
                                      {MPI_MINLOC, SLUICE_OPERATION_MINLOC},
                                      {MPI_MAXLOC, SLUICE_OPERATION_MAXLOC}}};
  for (const Entry &entry : all) {
    if (entry.op == op) return entry.operation;
  }
  return std::nullopt;
}

bool is_between(sluice_operation_t operation, sluice_operation_t first, sluice_operation_t last) {
  return operation >= first && operation <= last;
}

bool is_integer(Group group) {
  return group == Group::kSigned || group == Group::kUnsigned || group == Group::kFortranLogical;
}

// Whether kernels can. Whether the host MPI takes the pair is for the host MPI to say.
bool has_kernels(Group group, sluice_operation_t operation) {
  switch (group) {
    case Group::kSigned:
    case Group::kUnsigned:
    case Group::kFortranLogical:
      return is_between(operation, SLUICE_OPERATION_SUM, SLUICE_OPERATION_BXOR);
    case Group::kFloating:
    case Group::kShortFloating:
      return is_between(operation, SLUICE_OPERATION_SUM, SLUICE_OPERATION_MAX);
    case Group::kComplex:
      return operation == SLUICE_OPERATION_SUM || operation == SLUICE_OPERATION_PROD;
    case Group::kLogical:
      return is_between(operation, SLUICE_OPERATION_LAND, SLUICE_OPERATION_LXOR);
    case Group::kIndexed:
    case Group::kTwo:
      return operation == SLUICE_OPERATION_MINLOC || operation == SLUICE_OPERATION_MAXLOC;
  }
  return false;
}

std::optional<sluice_element_t> integer_of(int size_bytes, bool is_signed) {
  switch (size_bytes) {
    case 1:
      return is_signed ? SLUICE_ELEMENT_INT8 : SLUICE_ELEMENT_UINT8;
    case 2:
      return is_signed ? SLUICE_ELEMENT_INT16 : SLUICE_ELEMENT_UINT16;
    case 4:
      return is_signed ? SLUICE_ELEMENT_INT32 : SLUICE_ELEMENT_UINT32;
    case 8:
      return is_signed ? SLUICE_ELEMENT_INT64 : SLUICE_ELEMENT_UINT64;
    default:
      return std::nullopt;
  }
}

// The kernels write true as 1. So does the host MPI, unless its Fortran compiler has another.
bool is_fortran_true_one(MPI_Datatype type, int size_bytes) {
  std::array<std::int64_t, 2> values = {1, 0};  // as wide as any, and little-endian
  if (size_bytes < 1 || size_bytes > static_cast<int>(sizeof(values[0]))) return false;
  const int result = wire::host().MPI_Reduce_local(values.data(), &values[1], 1, type, MPI_LOR);
  return result == MPI_SUCCESS && values[1] == 1;
}

// The type of a name that is represented as a real or complex one that was made for Fortran.
MPI_Datatype named_like(Group group, int size_bytes) {
  if (group == Group::kFloating) return size_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE;
  return size_bytes == 8 ? MPI_C_FLOAT_COMPLEX : MPI_C_DOUBLE_COMPLEX;
}

// As whose elements the host MPI computes a pair, as far as the kernels do the same.
enum class Answer : unsigned char { kUnasked, kNobodys, kSigned, kUnsigned };

// Of integers and Fortran's truth values. Some host MPIs compare unsigned numbers as signed ones, or the other way
// round.
Answer ask_about_integers(const Found &found, int size_bytes, MPI_Op op, sluice_operation_t operation) {
  const MPI_Datatype type = found.named.type;
  const bool is_truth = found.named.group == Group::kFortranLogical &&
                        is_between(operation, SLUICE_OPERATION_LAND, SLUICE_OPERATION_LXOR);
  if (is_truth) return is_fortran_true_one(type, size_bytes) ? Answer::kSigned : Answer::kNobodys;
  const bool is_own_signed = found.named.group != Group::kUnsigned;
  for (const bool is_signed : {is_own_signed, !is_own_signed}) {
    if (computes_integers_as_kernels(type, size_bytes, is_signed, op, operation)) {
      return is_signed ? Answer::kSigned : Answer::kUnsigned;
    }
  }
  return Answer::kNobodys;
}

Answer ask_the_host_mpi(const Found &found, MPI_Op op, sluice_operation_t operation) {
  const MPI_Datatype type = found.named.type;
  const Group group = found.named.group;
  int size_bytes = 0;
  if (wire::host().MPI_Type_size(type, &size_bytes) != MPI_SUCCESS) return Answer::kNobodys;
  // The kernels have these where the host MPI only moves them.
  if (group == Group::kShortFloating) return Answer::kSigned;
  const ProbeAnswer taken = probe_reduction(type, op);
  if (taken == ProbeAnswer::kUnknown) return Answer::kUnasked;  // sessions alone: for now it is the host MPI's
  if (taken == ProbeAnswer::kRejected) return Answer::kNobodys;
  if (is_integer(group)) return ask_about_integers(found, size_bytes, op, operation);
  const bool is_same =
      !found.is_made_for_fortran || computes_as_named(type, named_like(group, size_bytes), size_bytes, op);
  return is_same ? Answer::kSigned : Answer::kNobodys;
}

// It is asked once for each of its types and operations.
Answer answer_of_the_host_mpi(const Found &found, MPI_Op op, sluice_operation_t operation) {
  constexpr std::size_t kMostTypes = 128;
  static std::array<std::array<std::atomic<Answer>, SLUICE_OPERATION_MAXLOC + 1>, kMostTypes> answers{};
  std::atomic<Answer> &answer = answers.at(found.place).at(static_cast<std::size_t>(operation));
  if (answer.load(std::memory_order_relaxed) == Answer::kUnasked) {
    answer.store(ask_the_host_mpi(found, op, operation), std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed);
}

std::optional<sluice_element_t> element_of(const Named &named, bool is_signed) {
  int size_bytes = 0;
  if (wire::host().MPI_Type_size(named.type, &size_bytes) != MPI_SUCCESS) return std::nullopt;
  switch (named.group) {
    case Group::kSigned:
    case Group::kUnsigned:
    case Group::kFortranLogical:
      return integer_of(size_bytes, is_signed);
    case Group::kLogical:
      return integer_of(size_bytes, false);
    case Group::kFloating:
      if (size_bytes == 4) return SLUICE_ELEMENT_FLOAT32;
      return size_bytes == 8 ? std::optional(SLUICE_ELEMENT_FLOAT64) : std::nullopt;
    case Group::kComplex:
      if (size_bytes == 8) return SLUICE_ELEMENT_COMPLEX_FLOAT32;
      return size_bytes == 16 ? std::optional(SLUICE_ELEMENT_COMPLEX_FLOAT64) : std::nullopt;
    case Group::kShortFloating:
      return size_bytes == 2 ? std::optional(named.element) : std::nullopt;
    case Group::kIndexed:
      return named.element;
    case Group::kTwo: {  // compilers can be told to make their numbers longer
      const int wanted_bytes = named.element == SLUICE_ELEMENT_TWO_FLOAT64 ? 16 : 8;
      return size_bytes == wanted_bytes ? std::optional(named.element) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_exact_results(MPI_Datatype type) {
  const std::optional<Found> found = find_type(type);
  if (!found) return false;
  const sluice_element_t element = found->named.element;
  switch (found->named.group) {
    case Group::kFloating:
    case Group::kShortFloating:
    case Group::kComplex:
      return false;
    case Group::kIndexed:
    case Group::kTwo:
      return element == SLUICE_ELEMENT_PAIR_INT16 || element == SLUICE_ELEMENT_PAIR_INT32 ||
             element == SLUICE_ELEMENT_PAIR_INT64;
    default:
      return true;
  }
}

bool find_reduction_pair(MPI_Datatype type, MPI_Op op, ReductionPair *pair) {
  const std::optional<sluice_operation_t> operation = operation_of(op);
  if (!operation) return false;
  const std::optional<Found> found = find_type(type);
  if (!found || !has_kernels(found->named.group, *operation)) return false;
  const Answer answer = answer_of_the_host_mpi(*found, op, *operation);
  const std::optional<sluice_element_t> element = element_of(found->named, answer == Answer::kSigned);
  if (!element || (answer != Answer::kSigned && answer != Answer::kUnsigned)) return false;
  *pair = {*element, *operation};
  return true;
}

}  // namespace sluice::ops::coll
