// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/reduction_types.hpp"

#include <cstring>
#include <string_view>

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

// Values that are often equal, with places that are not; the gap keeps what is there.
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

#define OP(name) {#name, MPI_##name}

// Small whole numbers, whose sums and products are exact.
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

std::vector<TypeCase> all_types() {
  const std::vector<NamedOp> arithmetic = {OP(SUM), OP(PROD), OP(MIN), OP(MAX)};
  const std::vector<NamedOp> logical = {OP(LAND), OP(LOR), OP(LXOR)};
  const std::vector<NamedOp> bitwise = {OP(BAND), OP(BOR), OP(BXOR)};
  const std::vector<NamedOp> sums = {OP(SUM), OP(PROD)};
  const std::vector<NamedOp> places = {OP(MINLOC), OP(MAXLOC)};
  std::vector<NamedOp> integer = arithmetic;
  integer.insert(integer.end(), logical.begin(), logical.end());
  integer.insert(integer.end(), bitwise.begin(), bitwise.end());
  return {
      {"signed char", MPI_SIGNED_CHAR, integer, 1, make_integer<signed char>, make_integer<signed char>},
      {"unsigned char", MPI_UNSIGNED_CHAR, integer, 1, make_integer<unsigned char>, make_integer<unsigned char>},
      {"short", MPI_SHORT, integer, 2, make_integer<short>, make_integer<short>},
      {"unsigned short", MPI_UNSIGNED_SHORT, integer, 2, make_integer<unsigned short>, make_integer<unsigned short>},
      {"int", MPI_INT, integer, 4, make_integer<int>, make_integer<int>},
      {"unsigned", MPI_UNSIGNED, integer, 4, make_integer<unsigned>, make_integer<unsigned>},
      {"long", MPI_LONG, integer, 8, make_integer<long>, make_integer<long>},
      {"uint64_t", MPI_UINT64_T, integer, 8, make_integer<unsigned long>, make_integer<unsigned long>},
      {"MPI_Aint", MPI_AINT, bitwise, 8, make_integer<long>, make_integer<long>},
      {"float", MPI_FLOAT, arithmetic, 4, make_number<float>, make_small_number<float>},
      {"double", MPI_DOUBLE, arithmetic, 8, make_number<double>, make_small_number<double>},
      {"float complex", MPI_C_FLOAT_COMPLEX, sums, 8, make_complex<float>, make_power<float>},
      {"double complex", MPI_C_DOUBLE_COMPLEX, sums, 16, make_complex<double>, make_power<double>},
      {"bool", MPI_C_BOOL, logical, 1, make_truth<unsigned char>, make_truth<unsigned char>},
      {"LOGICAL", MPI_LOGICAL, logical, 4, make_truth<int>, make_truth<int>},
      {"byte", MPI_BYTE, bitwise, 1, make_integer<unsigned char>, make_integer<unsigned char>},
      {"short and int", MPI_SHORT_INT, places, 8, make_pair<short>, make_pair<short>},
      {"two ints", MPI_2INT, places, 8, make_pair<int>, make_pair<int>},
      {"long and int", MPI_LONG_INT, places, 16, make_pair<long>, make_pair<long>},
      {"float and int", MPI_FLOAT_INT, places, 8, make_pair<float>, make_pair<float>},
      {"double and int", MPI_DOUBLE_INT, places, 16, make_pair<double>, make_pair<double>}};
}

}  // namespace

const std::vector<TypeCase> &reduction_types() {
  static const std::vector<TypeCase> all = all_types();
  return all;
}

bool may_be_left_to_the_host(const TypeCase &of, const NamedOp &op) {
  const std::string_view type = of.name;
  const std::string_view operation = op.name;
  const bool is_compared = type.starts_with('u') && (operation == "MIN" || operation == "MAX");
  const bool is_short = of.size_bytes <= 2 && (operation == "SUM" || operation == "PROD");
  return is_compared || is_short;
}

}  // namespace sluice::tests
