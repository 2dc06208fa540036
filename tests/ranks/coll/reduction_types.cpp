// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/reduction_types.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

// Any bits do for integers.
template <typename T>
void make_integer(unsigned char *element, int i, int which) {
  const auto value = static_cast<T>((static_cast<unsigned long long>(i) + 1) * 0x9E3779B97F4A7C15ULL >> (which * 7));
  std::memcpy(element, &value, sizeof(T));
}

template <typename T>
void make_number(unsigned char *element, int i, int which) {
  const T value = rounded_number<T>(i, which);
  std::memcpy(element, &value, sizeof(T));
}

template <typename T>
void make_complex(unsigned char *element, int i, int which) {
  const T parts[] = {rounded_number<T>(i, which), rounded_number<T>(i + 5, 1 - which)};
  std::memcpy(element, parts, sizeof(parts));
}

template <typename T>
void make_truth(unsigned char *element, int i, int which) {
  const auto value = static_cast<T>((i >> which) % 2);
  std::memcpy(element, &value, sizeof(T));
}

// Values that are often equal, with kPlaces that are not; the gap keeps what is there.
template <typename T>
void make_pair(unsigned char *element, int i, int which) {
  struct Pair {
    T value;
    int place;
  };
  const auto value = static_cast<T>((i * 31 + which * 17) % 5);
  const int place = (i + which * 3) % 7;
  std::memcpy(element, &value, sizeof(T));
  std::memcpy(element + offsetof(Pair, place), &place, sizeof(place));
}

template <typename T>
void make_two(unsigned char *element, int i, int which) {
  const T both[] = {static_cast<T>((i * 31 + which * 17) % 5), static_cast<T>((i + which * 3) % 7)};
  std::memcpy(element, both, sizeof(both));
}

#define OP(name) {#name, MPI_##name}

// Small whole numbers, whose kSums and products are exact.
template <typename T>
void make_small_number(unsigned char *element, int i, int which) {
  const int value = (i * 7 + which * 13) % 5 - 2;
  const T number = static_cast<T>(value == 0 ? 3 : value);
  std::memcpy(element, &number, sizeof(T));
}

// Powers of 2 + i: neither part of a product of them is 0, whose sign depends on the order.
template <typename T>
void make_power(unsigned char *element, int i, int which) {
  const T once[] = {2, 1};
  const T twice[] = {3, 4};
  std::memcpy(element, (i + which) % 3 == 0 ? twice : once, sizeof(once));
}

const std::vector<NamedOp> kArithmetic = {OP(SUM), OP(PROD), OP(MIN), OP(MAX)};
const std::vector<NamedOp> kLogical = {OP(LAND), OP(LOR), OP(LXOR)};
const std::vector<NamedOp> kBitwise = {OP(BAND), OP(BOR), OP(BXOR)};
const std::vector<NamedOp> kSums = {OP(SUM), OP(PROD)};
const std::vector<NamedOp> kPlaces = {OP(MINLOC), OP(MAXLOC)};

std::vector<NamedOp> joined(std::vector<NamedOp> first, const std::vector<NamedOp> &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

template <typename T>
TypeCase integer_case(const char *name, MPI_Datatype type, const std::vector<NamedOp> &ops) {
  return {name, type, ops, sizeof(T), make_integer<T>, make_integer<T>};
}

template <typename T>
TypeCase number_case(const char *name, MPI_Datatype type) {
  return {name, type, kArithmetic, sizeof(T), make_number<T>, make_small_number<T>, 1};
}

template <typename T>
TypeCase complex_case(const char *name, MPI_Datatype type) {
  return {name, type, kSums, 2 * sizeof(T), make_complex<T>, make_power<T>, 2};
}

template <typename T>
TypeCase truth_case(const char *name, MPI_Datatype type) {
  return {name, type, kLogical, sizeof(T), make_truth<T>, make_truth<T>};
}

// Fortran's types of a size in bytes, those of other languages than C, and MPI's own integers.
void add_further_types(std::vector<TypeCase> *all) {
  const std::vector<NamedOp> counting = joined(kArithmetic, kBitwise);
  all->insert(all->end(), {integer_case<signed char>("INTEGER1", MPI_INTEGER1, counting),
                           integer_case<short>("INTEGER2", MPI_INTEGER2, counting),
                           integer_case<int>("INTEGER4", MPI_INTEGER4, counting),
                           integer_case<long>("INTEGER8", MPI_INTEGER8, counting),
                           integer_case<int>("INTEGER", MPI_INTEGER, counting),
                           number_case<float>("REAL", MPI_REAL),
                           number_case<double>("DOUBLE PRECISION", MPI_DOUBLE_PRECISION),
                           complex_case<float>("COMPLEX", MPI_COMPLEX),
                           complex_case<double>("DOUBLE COMPLEX", MPI_DOUBLE_COMPLEX),
                           {"two INTEGERs", MPI_2INTEGER, kPlaces, 8, make_two<int>, make_two<int>},
                           {"two REALs", MPI_2REAL, kPlaces, 8, make_two<float>, make_two<float>},
                           {"two DOUBLEs", MPI_2DOUBLE_PRECISION, kPlaces, 16, make_two<double>, make_two<double>},
                           integer_case<long>("MPI_Aint", MPI_AINT, counting),
                           integer_case<long>("MPI_Count", MPI_COUNT, counting),
                           integer_case<long>("MPI_Offset", MPI_OFFSET, counting),
                           number_case<float>("REAL4", MPI_REAL4),
                           number_case<double>("REAL8", MPI_REAL8),
                           complex_case<float>("COMPLEX8", MPI_COMPLEX8),
                           complex_case<double>("COMPLEX16", MPI_COMPLEX16),
                           complex_case<float>("std::complex<float>", MPI_CXX_FLOAT_COMPLEX),
                           complex_case<double>("std::complex<double>", MPI_CXX_DOUBLE_COMPLEX),
                           truth_case<unsigned char>("C++ bool", MPI_CXX_BOOL)});
#ifdef MPI_LOGICAL1
  if (!aborts_on_unknown_types()) {
    all->insert(all->end(),
                {truth_case<signed char>("LOGICAL1", MPI_LOGICAL1), truth_case<short>("LOGICAL2", MPI_LOGICAL2),
                 truth_case<int>("LOGICAL4", MPI_LOGICAL4), truth_case<long>("LOGICAL8", MPI_LOGICAL8)});
  }
#endif
}

// What MPI makes for the numbers of a Fortran program, which have no name.
void add_types_made_for_fortran(std::vector<TypeCase> *all) {
  const auto integer = [](int digits) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_create_f90_integer(digits, &type), MPI_SUCCESS);
    return type;
  };
  const auto real = [](int digits) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_create_f90_real(digits, MPI_UNDEFINED, &type), MPI_SUCCESS);
    return type;
  };
  const auto complex = [](int digits) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_create_f90_complex(digits, MPI_UNDEFINED, &type), MPI_SUCCESS);
    return type;
  };
  const std::vector<NamedOp> counting = joined(kArithmetic, kBitwise);
  all->insert(all->end(),
              {integer_case<short>("integer of 4 digits", integer(4), counting),
               integer_case<int>("integer of 9 digits", integer(9), counting),
               integer_case<long>("integer of 18 digits", integer(18), counting),
               number_case<float>("real of 6 digits", real(6)), number_case<double>("real of 15 digits", real(15)),
               complex_case<float>("complex of 6 digits", complex(6)),
               complex_case<double>("complex of 15 digits", complex(15))});
}

// What MPI does not define, and the host MPI takes.
void add_accepted_pairs(std::vector<TypeCase> *all) {
  const std::vector<NamedOp> integer = joined(joined(kArithmetic, kLogical), kBitwise);
  std::vector<TypeCase> further = {
      integer_case<char>("char", MPI_CHAR, integer),
      integer_case<char>("CHARACTER", MPI_CHARACTER, integer),
      integer_case<unsigned char>("byte as a number", MPI_BYTE, joined(kArithmetic, kLogical)),
      integer_case<int>("INTEGER as a truth value", MPI_INTEGER, kLogical),
      integer_case<signed char>("INTEGER1 as a truth value", MPI_INTEGER1, kLogical),
      integer_case<short>("INTEGER2 as a truth value", MPI_INTEGER2, kLogical),
      integer_case<int>("INTEGER4 as a truth value", MPI_INTEGER4, kLogical),
      integer_case<long>("INTEGER8 as a truth value", MPI_INTEGER8, kLogical),
      integer_case<long>("MPI_Aint as a truth value", MPI_AINT, kLogical),
      integer_case<long>("MPI_Count as a truth value", MPI_COUNT, kLogical),
      integer_case<long>("MPI_Offset as a truth value", MPI_OFFSET, kLogical)};
#ifdef MPI_LOGICAL1
  const std::vector<NamedOp> number = joined(kArithmetic, kBitwise);
  if (!aborts_on_unknown_types()) {
    further.insert(further.end(), {integer_case<signed char>("LOGICAL1 as a number", MPI_LOGICAL1, number),
                                   integer_case<short>("LOGICAL2 as a number", MPI_LOGICAL2, number),
                                   integer_case<int>("LOGICAL4 as a number", MPI_LOGICAL4, number),
                                   integer_case<long>("LOGICAL8 as a number", MPI_LOGICAL8, number)});
  }
#endif
  for (TypeCase &of : further) {
    std::erase_if(of.ops, [&](const NamedOp &op) { return !is_accepted(of.type, op.op); });
    if (!of.ops.empty()) all->push_back(of);
  }
}

std::vector<TypeCase> all_types() {
  const std::vector<NamedOp> integer = joined(joined(kArithmetic, kLogical), kBitwise);
  std::vector<TypeCase> all = {integer_case<signed char>("signed char", MPI_SIGNED_CHAR, integer),
                               integer_case<unsigned char>("unsigned char", MPI_UNSIGNED_CHAR, integer),
                               integer_case<short>("short", MPI_SHORT, integer),
                               integer_case<unsigned short>("unsigned short", MPI_UNSIGNED_SHORT, integer),
                               integer_case<int>("int", MPI_INT, integer),
                               integer_case<unsigned>("unsigned", MPI_UNSIGNED, integer),
                               integer_case<long>("long", MPI_LONG, integer),
                               integer_case<unsigned long>("uint64_t", MPI_UINT64_T, integer),
                               integer_case<long long>("long long", MPI_LONG_LONG, integer),
                               integer_case<unsigned long>("unsigned long", MPI_UNSIGNED_LONG, integer),
                               integer_case<unsigned long long>("unsigned long long", MPI_UNSIGNED_LONG_LONG, integer),
                               integer_case<signed char>("int8_t", MPI_INT8_T, integer),
                               integer_case<short>("int16_t", MPI_INT16_T, integer),
                               integer_case<int>("int32_t", MPI_INT32_T, integer),
                               integer_case<long>("int64_t", MPI_INT64_T, integer),
                               integer_case<unsigned char>("uint8_t", MPI_UINT8_T, integer),
                               integer_case<unsigned short>("uint16_t", MPI_UINT16_T, integer),
                               integer_case<unsigned>("uint32_t", MPI_UINT32_T, integer),
                               number_case<float>("float", MPI_FLOAT),
                               number_case<double>("double", MPI_DOUBLE),
                               complex_case<float>("float complex", MPI_C_FLOAT_COMPLEX),
                               complex_case<double>("double complex", MPI_C_DOUBLE_COMPLEX),
                               truth_case<unsigned char>("bool", MPI_C_BOOL),
                               truth_case<int>("LOGICAL", MPI_LOGICAL),
                               integer_case<unsigned char>("byte", MPI_BYTE, kBitwise),
                               {"short and int", MPI_SHORT_INT, kPlaces, 8, make_pair<short>, make_pair<short>},
                               {"two ints", MPI_2INT, kPlaces, 8, make_pair<int>, make_pair<int>},
                               {"long and int", MPI_LONG_INT, kPlaces, 16, make_pair<long>, make_pair<long>},
                               {"float and int", MPI_FLOAT_INT, kPlaces, 8, make_pair<float>, make_pair<float>},
                               {"double and int", MPI_DOUBLE_INT, kPlaces, 16, make_pair<double>, make_pair<double>}};
  add_further_types(&all);
  add_types_made_for_fortran(&all);
  add_accepted_pairs(&all);
  return all;
}

}  // namespace

const std::vector<TypeCase> &reduction_types() {
  static const std::vector<TypeCase> all = all_types();
  return all;
}

bool may_be_left_to_the_host(const TypeCase &of, const NamedOp &op) {
  return is_listed_as_staged(listed_name_of(of.type), op.name) || !is_accepted(of.type, op.op);
}

}  // namespace sluice::tests
