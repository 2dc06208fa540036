// SPDX-License-Identifier: BSD-3-Clause
// How two elements become one. combine(before, next): `before` is what the sources of lower rank gave, MPI's `in`;
// `next` is the next source's element, MPI's `inout` (MPI 4.1, section 6.9.1).
//
// Where C leaves a choice, the rules do as the C loops of MPICH and Open MPI were seen to do:
//   MIN, MAX        a comparison that fails keeps `before`: with a value that is not a number (either one), and with
//                   zeros of two signs. (Open MPI's vector code, which it uses where the processor has it, keeps
//                   `next`.)
//   MINLOC, MAXLOC  the smaller index wins among equals, with the value of `next` (zeros of two signs are equal); a
//                   value that is not a number keeps `next`.
//   PROD, complex   infinities are recovered as C11, annex G.5.1 says.
//   logical         any value but 0 is true, and true is written as 1.
//   integer         SUM and PROD wrap.
// The digits of a value that is not a number are not promised.
#pragma once

#include "numbers.hpp"

namespace sluice::kernels {

// Unsigned arithmetic of at least 32 bits, in which nothing overflows and narrow types are not promoted to int.
template <typename Integer>
struct Wide {
  using Type = std::uint32_t;
};
template <>
struct Wide<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct Wide<std::uint64_t> {
  using Type = std::uint64_t;
};

template <typename T>
struct Sum {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    using Type = typename Wide<T>::Type;
    return static_cast<T>(static_cast<Type>(before) + static_cast<Type>(next));
  }
};

template <typename T>
struct Product {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    using Type = typename Wide<T>::Type;
    return static_cast<T>(static_cast<Type>(before) * static_cast<Type>(next));
  }
};

template <typename T>
SLUICE_KERNELS_FUNCTION T add_floating(T before, T next) {
  T result;
  narrow(widen(before) + widen(next), &result);
  return result;
}

template <typename T>
SLUICE_KERNELS_FUNCTION T multiply_floating(T before, T next) {
  T result;
  narrow(widen(before) * widen(next), &result);
  return result;
}

#define SLUICE_KERNELS_FLOATING(T)                               \
  template <>                                                    \
  struct Sum<T> {                                                \
    SLUICE_KERNELS_FUNCTION static T combine(T before, T next) { \
      return add_floating(before, next);                         \
    }                                                            \
  };                                                             \
  template <>                                                    \
  struct Product<T> {                                            \
    SLUICE_KERNELS_FUNCTION static T combine(T before, T next) { \
      return multiply_floating(before, next);                    \
    }                                                            \
  };
SLUICE_KERNELS_FLOATING(Half)
SLUICE_KERNELS_FLOATING(BFloat16)
SLUICE_KERNELS_FLOATING(float)
SLUICE_KERNELS_FLOATING(double)
#undef SLUICE_KERNELS_FLOATING

template <typename Real>
struct Sum<Complex<Real>> {
  SLUICE_KERNELS_FUNCTION static Complex<Real> combine(Complex<Real> before, Complex<Real> next) {
    return {before.re + next.re, before.im + next.im};
  }
};

template <typename Real>
SLUICE_KERNELS_FUNCTION bool is_not_a_number(Real value) {
  return value != value;
}
template <typename Real>
SLUICE_KERNELS_FUNCTION bool is_infinite(Real value) {
  return !is_not_a_number(value) && is_not_a_number(value - value);
}
// 1 or 0 with the sign of `value`. A device may have float and no double.
SLUICE_KERNELS_FUNCTION float with_sign(float magnitude, float value) {
  return __builtin_copysignf(magnitude, value);
}
SLUICE_KERNELS_FUNCTION double with_sign(double magnitude, double value) {
  return __builtin_copysign(magnitude, value);
}
template <typename Real>
SLUICE_KERNELS_FUNCTION Complex<Real> boxed(Complex<Real> infinite) {
  return {with_sign(Real(is_infinite(infinite.re) ? 1 : 0), infinite.re),
          with_sign(Real(is_infinite(infinite.im) ? 1 : 0), infinite.im)};
}
template <typename Real>
SLUICE_KERNELS_FUNCTION Complex<Real> without_unknowns(Complex<Real> value) {
  return {is_not_a_number(value.re) ? with_sign(Real{0}, value.re) : value.re,
          is_not_a_number(value.im) ? with_sign(Real{0}, value.im) : value.im};
}

template <typename Real>
struct Product<Complex<Real>> {
  using Number = Complex<Real>;

  SLUICE_KERNELS_FUNCTION static Number combine(Number a, Number b) {
    const Number result = multiply(a, b);
    return is_not_a_number(result.re) && is_not_a_number(result.im) ? recover(a, b, result) : result;
  }

 private:
  SLUICE_KERNELS_FUNCTION static Number multiply(Number a, Number b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Both parts are unknown: infinite all the same if a factor, or a part of the product, was.
  SLUICE_KERNELS_FUNCTION static Number recover(Number a, Number b, Number result) {
    const bool is_a_infinite = is_infinite(a.re) || is_infinite(a.im);
    const bool is_b_infinite = is_infinite(b.re) || is_infinite(b.im);
    const bool is_overflow =
        is_infinite(a.re * b.re) || is_infinite(a.im * b.im) || is_infinite(a.re * b.im) || is_infinite(a.im * b.re);
    if (!is_a_infinite && !is_b_infinite && !is_overflow) return result;
    if (is_a_infinite) {
      a = boxed(a);
      b = without_unknowns(b);
    }
    if (is_b_infinite) {
      b = boxed(b);
      a = without_unknowns(a);
    }
    if (!is_a_infinite && !is_b_infinite) {
      a = without_unknowns(a);
      b = without_unknowns(b);
    }
    const Number finite = multiply(a, b);
    const Real infinity = static_cast<Real>(__builtin_huge_val());
    return {infinity * finite.re, infinity * finite.im};
  }
};

// Numbers as they compare; integers are themselves.
template <typename T>
SLUICE_KERNELS_FUNCTION T comparable(T value) {
  return value;
}
SLUICE_KERNELS_FUNCTION float comparable(Half value) {
  return widen(value);
}
SLUICE_KERNELS_FUNCTION float comparable(BFloat16 value) {
  return widen(value);
}

template <typename T>
struct Minimum {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    return comparable(next) < comparable(before) ? next : before;
  }
};

template <typename T>
struct Maximum {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    return comparable(next) > comparable(before) ? next : before;
  }
};

template <typename T>
struct LogicalAnd {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    return static_cast<T>(before != 0 && next != 0 ? 1 : 0);
  }
};

template <typename T>
struct LogicalOr {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    return static_cast<T>(before != 0 || next != 0 ? 1 : 0);
  }
};

template <typename T>
struct LogicalXor {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) {
    return static_cast<T>((before != 0) != (next != 0) ? 1 : 0);
  }
};

template <typename T>
struct BitwiseAnd {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) { return static_cast<T>(before & next); }
};

template <typename T>
struct BitwiseOr {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) { return static_cast<T>(before | next); }
};

template <typename T>
struct BitwiseXor {
  SLUICE_KERNELS_FUNCTION static T combine(T before, T next) { return static_cast<T>(before ^ next); }
};

template <typename Pair>
struct MinimumWithPlace {
  SLUICE_KERNELS_FUNCTION static Pair combine(Pair before, Pair next) {
    if (before.value == next.value) return {next.value, before.index < next.index ? before.index : next.index};
    return before.value < next.value ? before : next;
  }
};

template <typename Pair>
struct MaximumWithPlace {
  SLUICE_KERNELS_FUNCTION static Pair combine(Pair before, Pair next) {
    if (before.value == next.value) return {next.value, before.index < next.index ? before.index : next.index};
    return before.value > next.value ? before : next;
  }
};

}  // namespace sluice::kernels
