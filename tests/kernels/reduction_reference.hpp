// SPDX-License-Identifier: BSD-3-Clause
// What a reduction of two elements is, written from MPI's text with the compiler's own types; and values to try it on.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "functions.hpp"

namespace kernels_test {

using sluice::kernels::BFloat16;
using sluice::kernels::Complex;
using sluice::kernels::Half;
using sluice::kernels::Indexed;
using sluice::kernels::Operation;

// ---- numbers that the compiler has under another name
// ----------------------------------------------------------------

inline double to_double(Half half) {
  _Float16 value;
  std::memcpy(&value, &half, sizeof(value));
  return static_cast<double>(value);
}

inline Half half_of(_Float16 value) {
  Half half{};
  std::memcpy(&half, &value, sizeof(value));
  return half;
}

inline double to_double(BFloat16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16U;
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return static_cast<double>(result);
}

// The nearest one: of the two neighbours that the magnitude lies between, by their distance; the even one of two
// equally near. What lies beyond half of a last step above the largest is infinite.
inline BFloat16 brain_of(double value) {
  if (std::isnan(value)) return {0x7FC0};
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  std::uint32_t low = 0;
  std::uint32_t high = 0x7F80;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (to_double(BFloat16{static_cast<std::uint16_t>(middle)}) <= magnitude ? low : high) = middle;
  }
  const double below = to_double(BFloat16{static_cast<std::uint16_t>(low)});
  const double above = high == 0x7F80 ? 0x1p128 : to_double(BFloat16{static_cast<std::uint16_t>(high)});
  const bool is_up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low % 2 == 1);
  return {static_cast<std::uint16_t>(sign | (is_up ? high : low))};
}

inline double to_double(float value) {
  return static_cast<double>(value);
}
inline double to_double(double value) {
  return value;
}

// ---- equal, unknown numbers among themselves included
// ----------------------------------------------------------------

template <typename T>
bool is_same(T a, T b) {
  if constexpr (requires { to_double(a); } && !std::is_integral_v<T>) {
    const double x = to_double(a);
    const double y = to_double(b);
    return (std::isnan(x) && std::isnan(y)) || std::memcmp(&a, &b, sizeof(T)) == 0;
  } else {
    return a == b;
  }
}
template <typename Real>
bool is_same(Complex<Real> a, Complex<Real> b) {
  return is_same(a.re, b.re) && is_same(a.im, b.im);
}
template <typename Value, typename Index>
bool is_same(Indexed<Value, Index> a, Indexed<Value, Index> b) {
  return is_same(a.value, b.value) && is_same(a.index, b.index);
}

// ---- the operations
// --------------------------------------------------------------------------------------------------

template <typename T>
T reference_of_integers(Operation operation, T a, T b) {
  T result{};
  switch (operation) {
    case Operation::kSUM:
      __builtin_add_overflow(a, b, &result);  // wraps
      return result;
    case Operation::kPROD:
      __builtin_mul_overflow(a, b, &result);
      return result;
    case Operation::kMIN:
      return std::min(a, b);
    case Operation::kMAX:
      return std::max(a, b);
    case Operation::kLAND:
      return static_cast<T>(a && b);
    case Operation::kLOR:
      return static_cast<T>(a || b);
    case Operation::kLXOR:
      return static_cast<T>(!a != !b);
    case Operation::kBAND:
      return static_cast<T>(a & b);
    case Operation::kBOR:
      return static_cast<T>(a | b);
    default:
      return static_cast<T>(a ^ b);
  }
}

template <typename T>
T extremum(Operation operation, T a, T b) {
  const bool takes_b = operation == Operation::kMIN ? to_double(b) < to_double(a) : to_double(b) > to_double(a);
  return takes_b ? b : a;
}

template <typename T>
T reference(Operation operation, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return reference_of_integers(operation, a, b);
  } else {
    if (operation == Operation::kSUM) return static_cast<T>(a + b);
    if (operation == Operation::kPROD) return static_cast<T>(a * b);
    return extremum(operation, a, b);
  }
}

template <>
inline Half reference(Operation operation, Half a, Half b) {
  if (operation == Operation::kSUM) return half_of(static_cast<_Float16>(to_double(a) + to_double(b)));
  if (operation == Operation::kPROD) return half_of(static_cast<_Float16>(to_double(a) * to_double(b)));
  return extremum(operation, a, b);
}

template <>
inline BFloat16 reference(Operation operation, BFloat16 a, BFloat16 b) {
  // In double the product is exact, and the sum is wherever its rounding could matter.
  if (operation == Operation::kSUM) return brain_of(to_double(a) + to_double(b));
  if (operation == Operation::kPROD) return brain_of(to_double(a) * to_double(b));
  return extremum(operation, a, b);
}

// The compiler's own complex numbers, multiplied as C demands.
template <typename Real>
Complex<Real> reference(Operation operation, Complex<Real> a, Complex<Real> b) {
  const std::complex<Real> x(a.re, a.im);
  const std::complex<Real> y(b.re, b.im);
  const std::complex<Real> result = operation == Operation::kSUM ? x + y : x * y;
  return {result.real(), result.imag()};
}

template <typename Value, typename Index>
Indexed<Value, Index> reference(Operation operation, Indexed<Value, Index> a, Indexed<Value, Index> b) {
  const bool is_a = operation == Operation::kMINLOC ? a.value < b.value : a.value > b.value;
  if (a.value == b.value) return {b.value, std::min(a.index, b.index)};
  return is_a ? a : b;
}

// ---- values
// ----------------------------------------------------------------------------------------------------------

// Of a class: mostly small, so that many are equal, some of any bits, which are zeros, infinities and unknowns too.
template <typename T>
T random_bits(std::mt19937_64 *random) {
  T value{};
  const std::uint64_t bits = (*random)();
  static_assert(sizeof(T) <= sizeof(bits));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
struct Values {
  static T make(std::mt19937_64 *random) {
    if ((*random)() % 2 == 0) return random_bits<T>(random);
    return static_cast<T>(static_cast<int>((*random)() % 7) - 3);
  }
};
template <>
struct Values<Half> {
  static Half make(std::mt19937_64 *random) { return half_of(static_cast<_Float16>(Values<float>::make(random))); }
};
template <>
struct Values<BFloat16> {
  static BFloat16 make(std::mt19937_64 *random) { return random_bits<BFloat16>(random); }
};
template <typename Real>
struct Values<Complex<Real>> {
  static Complex<Real> make(std::mt19937_64 *random) {
    return {Values<Real>::make(random), Values<Real>::make(random)};
  }
};
template <typename Value, typename Index>
struct Values<Indexed<Value, Index>> {
  static Indexed<Value, Index> make(std::mt19937_64 *random) {
    return {Values<Value>::make(random), static_cast<Index>((*random)() % 7)};  // places are whole numbers
  }
};

template <typename T>
T random_value(std::mt19937_64 *random) {
  return Values<T>::make(random);
}

}  // namespace kernels_test
