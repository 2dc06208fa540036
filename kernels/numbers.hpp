// SPDX-License-Identifier: BSD-3-Clause
// The element types that C++ has not, as plain bytes with the arithmetic that they need. Portable to every compiler for
// devices: no library, no intrinsic.
#pragma once

#include <cstdint>

// What a function of these headers is declared with; a device compiler that needs more defines it before.
#ifndef SLUICE_KERNELS_FUNCTION
#define SLUICE_KERNELS_FUNCTION inline
#endif
// What stands before a loop whose body is to be written out as often as it runs, or once: compilers for devices judge
// worse than others. _Pragma("unroll") and _Pragma("unroll 1") there.
#ifndef SLUICE_KERNELS_UNROLLED
#define SLUICE_KERNELS_UNROLLED
#define SLUICE_KERNELS_ROLLED
#endif

namespace sluice::kernels {

SLUICE_KERNELS_FUNCTION std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

SLUICE_KERNELS_FUNCTION float float_of(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// IEEE binary16. Its arithmetic is that of float, rounded to nearest, ties to even, after each operation; a sum or a
// product of two is then rounded as if it had been exact, because float has more than twice the digits.
struct Half {
  std::uint16_t bits;
};

SLUICE_KERNELS_FUNCTION float widen(Half half) {
  const std::uint32_t sign = (half.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (half.bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = half.bits & 0x3FFU;
  if (exponent == 0x1FU) return float_of(sign | 0x7F800000U | (fraction << 13U));
  if (exponent != 0) return float_of(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
  return float_of(sign | bits_of(static_cast<float>(fraction) * 0x1p-24F));
}

SLUICE_KERNELS_FUNCTION void narrow(float value, Half *half) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t result = 0;
  if (magnitude > 0x7F800000U) {  // not a number: stays one, and quiet
    result = 0x7E00U | ((magnitude >> 13U) & 0x3FFU);
  } else if (magnitude >= 0x477FF000U) {  // 65520 and more round to infinity
    result = 0x7C00U;
  } else if (magnitude < 0x38800000U) {  // below 2^-14: the last digit of 0.5 + x is that of a subnormal half
    result = bits_of(float_of(magnitude) + 0.5F) - 0x3F000000U;
  } else {
    result = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13U) & 1U)) >> 13U;
  }
  half->bits = static_cast<std::uint16_t>(sign | result);
}

// The upper half of a float; rounded as Half is.
struct BFloat16 {
  std::uint16_t bits;
};

SLUICE_KERNELS_FUNCTION float widen(BFloat16 value) {
  return float_of(static_cast<std::uint32_t>(value.bits) << 16U);
}

SLUICE_KERNELS_FUNCTION void narrow(float value, BFloat16 *result) {
  const std::uint32_t bits = bits_of(value);
  const bool is_number = (bits & 0x7FFFFFFFU) <= 0x7F800000U;
  result->bits = static_cast<std::uint16_t>(is_number ? (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U  //
                                                      : (bits >> 16U) | 0x40U);
}

SLUICE_KERNELS_FUNCTION float widen(float value) {
  return value;
}
SLUICE_KERNELS_FUNCTION void narrow(float value, float *result) {
  *result = value;
}
SLUICE_KERNELS_FUNCTION double widen(double value) {
  return value;
}
SLUICE_KERNELS_FUNCTION void narrow(double value, double *result) {
  *result = value;
}

template <typename Real>
struct Complex {
  Real re;
  Real im;
};

// A value and where it was, or two values of one type, in the layout of MPI's C structures (MPI 4.1, section 6.9.4).
// The bytes between the members are nobody's: they are neither read nor written.
template <typename Value, typename Index>
struct Indexed {
  using ValueType = Value;
  Value value;
  Index index;
};
using IndexedInt16 = Indexed<std::int16_t, std::int32_t>;
using IndexedInt32 = Indexed<std::int32_t, std::int32_t>;
using IndexedInt64 = Indexed<std::int64_t, std::int32_t>;
using IndexedFloat32 = Indexed<float, std::int32_t>;
using IndexedFloat64 = Indexed<double, std::int32_t>;
using TwoFloat32 = Indexed<float, float>;    // Fortran's MPI_2REAL
using TwoFloat64 = Indexed<double, double>;  // Fortran's MPI_2DOUBLE_PRECISION

// ---- whole values from and to memory -------------------------------------------------------------------------------
// kAlignment: of the address, in bytes; 1: none. Wider alignment lets the compiler use one access.

template <unsigned kAlignment, typename Member>
SLUICE_KERNELS_FUNCTION Member load_member(const unsigned char *address) {
  Member member;
  __builtin_memcpy(&member, __builtin_assume_aligned(address, kAlignment), sizeof(Member));
  return member;
}

template <unsigned kAlignment, typename Member>
SLUICE_KERNELS_FUNCTION void store_member(unsigned char *address, Member member) {
  __builtin_memcpy(__builtin_assume_aligned(address, kAlignment), &member, sizeof(Member));
}

template <unsigned kAlignment, typename Value>
struct Access {
  SLUICE_KERNELS_FUNCTION static Value load(const unsigned char *address) {
    return load_member<kAlignment, Value>(address);
  }
  SLUICE_KERNELS_FUNCTION static void store(unsigned char *address, Value value) {
    store_member<kAlignment>(address, value);
  }
};

template <unsigned kAlignment, typename Value, typename Index>
struct Access<kAlignment, Indexed<Value, Index>> {
  using Pair = Indexed<Value, Index>;
  // Not every compiler for devices has offsetof.
  static constexpr unsigned kIndexOffset = (sizeof(Value) + alignof(Index) - 1) / alignof(Index) * alignof(Index);
  static constexpr unsigned kIndexAlignment = kAlignment < alignof(Index) ? kAlignment : unsigned{alignof(Index)};

  SLUICE_KERNELS_FUNCTION static Pair load(const unsigned char *address) {
    return {load_member<kAlignment, Value>(address), load_member<kIndexAlignment, Index>(address + kIndexOffset)};
  }
  SLUICE_KERNELS_FUNCTION static void store(unsigned char *address, Pair pair) {
    store_member<kAlignment>(address, pair.value);
    store_member<kIndexAlignment>(address + kIndexOffset, pair.index);
  }
};

// Whether an array of them has no gaps, so that it may be moved in whole vectors.
template <typename Value>
struct IsGapless {
  static constexpr bool value = true;
};
template <typename Value, typename Index>
struct IsGapless<Indexed<Value, Index>> {
  static constexpr bool value = sizeof(Indexed<Value, Index>) == sizeof(Value) + sizeof(Index);
};

}  // namespace sluice::kernels
