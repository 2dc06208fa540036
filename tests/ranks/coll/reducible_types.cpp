// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/reducible_types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::tests {
namespace {

// Powers of two, few of them: their sums and products are exact in any order.
template <class Number>
void put_number(unsigned char *at, unsigned char byte) {
  constexpr std::array<Number, 3> kNumbers = {Number{0.5}, Number{1}, Number{2}};
  std::memcpy(at, &kNumbers[byte % 3], sizeof(Number));
}

// Multiples of 2 + i by powers of two and of i. No product of them lies on an axis: the zero of one that does is
// negative or positive by the order in which it is computed.
void put_complex_number(unsigned char *at, unsigned char byte) {
  constexpr std::array<std::array<double, 2>, 4> kNumbers = {{{2, 1}, {-1, 2}, {-2, -1}, {1, -2}}};
  constexpr std::array<double, 3> kScales = {0.5, 1, 2};
  std::array<double, 2> number = kNumbers[byte / 3 % 4];
  for (double &part : number) part *= kScales[byte % 3];
  std::memcpy(at, number.data(), sizeof(number));
}

// Sums of those do not overflow: Open MPI lets some elements saturate and others not, by their places.
void put_integer16(unsigned char *at, unsigned char byte) {
  const auto number = static_cast<std::int16_t>((byte - 128) * 20);
  std::memcpy(at, &number, sizeof(number));
}

std::size_t step_bytes(Content content) {
  switch (content) {
    case Content::bytes:
    case Content::integers8:
    case Content::logical:
      return 1;
    case Content::integers16:
      return sizeof(std::int16_t);
    case Content::numbers32:
      return sizeof(float);
    case Content::numbers64:
    case Content::number_and_place:
      return sizeof(double);
    case Content::complex_numbers:
      return 2 * sizeof(double);
  }
  return 1;
}

}  // namespace

void make_reducible(Content content, Bytes *bytes) {
  const std::size_t step = step_bytes(content);
  for (std::size_t at = 0; at + step <= bytes->size(); at += step) {
    unsigned char *element = &(*bytes)[at];
    switch (content) {
      case Content::bytes:
        return;
      case Content::integers8:
        *element %= 20;
        break;
      case Content::integers16:
        put_integer16(element, *element);
        break;
      case Content::logical:
        *element %= 2;
        break;
      case Content::numbers64:
        put_number<double>(element, *element);
        break;
      case Content::complex_numbers:
        put_complex_number(element, *element);
        break;
      case Content::numbers32:
      case Content::number_and_place:
        put_number<float>(element, *element);
        break;
    }
  }
}

const std::vector<Predefined> &predefined_types() {
  static const std::vector<MPI_Op> of_integers = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD, MPI_LAND,
                                                  MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  static const std::vector<MPI_Op> of_numbers = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};
  static const std::vector<Predefined> types = {
      {MPI_INT, Content::bytes, of_integers},
      {MPI_UNSIGNED_CHAR, Content::integers8, of_integers},
      {MPI_SHORT, Content::integers16, of_integers},
      {MPI_INT64_T, Content::bytes, of_integers},
      {MPI_UINT64_T, Content::bytes, of_integers},
      {MPI_BYTE, Content::bytes, {MPI_BAND, MPI_BOR, MPI_BXOR}},
      {MPI_C_BOOL, Content::logical, {MPI_LAND, MPI_LOR, MPI_LXOR}},
      {MPI_FLOAT, Content::numbers32, of_numbers},
      {MPI_DOUBLE, Content::numbers64, of_numbers},
      {MPI_C_DOUBLE_COMPLEX, Content::complex_numbers, {MPI_SUM, MPI_PROD}},
      {MPI_2INT, Content::bytes, {MPI_MAXLOC, MPI_MINLOC}},
      {MPI_FLOAT_INT, Content::number_and_place, {MPI_MAXLOC, MPI_MINLOC}},
  };
  return types;
}

}  // namespace sluice::tests
