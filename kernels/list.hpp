// SPDX-License-Identifier: BSD-3-Clause
// The one list of what can be reduced: element types, operations, and which goes with which (MPI 4.1, section 6.9.2).
// The names and their order are those of sluice_element_t and sluice_operation_t in sluice/backend.h.
#pragma once

// X(A, name, value type, class): `class` says which operations are legal. Byte is UINT8, C's and C++'s bool are UINT8,
// Fortran's LOGICAL is the signed integer of its size; those MPI types have fewer operations, which the caller knows.
// long double is missing: no device has it.
#define SLUICE_KERNELS_ELEMENTS(X, A)             \
  X(A, INT8, std::int8_t, INTEGER)                \
  X(A, UINT8, std::uint8_t, INTEGER)              \
  X(A, INT16, std::int16_t, INTEGER)              \
  X(A, UINT16, std::uint16_t, INTEGER)            \
  X(A, INT32, std::int32_t, INTEGER)              \
  X(A, UINT32, std::uint32_t, INTEGER)            \
  X(A, INT64, std::int64_t, INTEGER)              \
  X(A, UINT64, std::uint64_t, INTEGER)            \
  X(A, FLOAT16, Half, FLOATING)                   \
  X(A, BFLOAT16, BFloat16, FLOATING)              \
  X(A, FLOAT32, float, FLOATING)                  \
  X(A, FLOAT64, double, FLOATING)                 \
  X(A, COMPLEX_FLOAT32, Complex<float>, COMPLEX)  \
  X(A, COMPLEX_FLOAT64, Complex<double>, COMPLEX) \
  X(A, PAIR_INT16, IndexedInt16, PAIR)            \
  X(A, PAIR_INT32, IndexedInt32, PAIR)            \
  X(A, PAIR_INT64, IndexedInt64, PAIR)            \
  X(A, PAIR_FLOAT32, IndexedFloat32, PAIR)        \
  X(A, PAIR_FLOAT64, IndexedFloat64, PAIR)        \
  X(A, TWO_FLOAT32, TwoFloat32, PAIR)             \
  X(A, TWO_FLOAT64, TwoFloat64, PAIR)

// X(name, rule): the rule is a template of rules.hpp.
#define SLUICE_KERNELS_OPERATIONS(X) \
  X(SUM, Sum)                        \
  X(PROD, Product)                   \
  X(MIN, Minimum)                    \
  X(MAX, Maximum)                    \
  X(LAND, LogicalAnd)                \
  X(LOR, LogicalOr)                  \
  X(LXOR, LogicalXor)                \
  X(BAND, BitwiseAnd)                \
  X(BOR, BitwiseOr)                  \
  X(BXOR, BitwiseXor)                \
  X(MINLOC, MinimumWithPlace)        \
  X(MAXLOC, MaximumWithPlace)

// X(element, operation) for each operation that is legal on a class.
#define SLUICE_KERNELS_OF_INTEGER(X, name) \
  X(name, SUM)                             \
  X(name, PROD)                            \
  X(name, MIN)                             \
  X(name, MAX)                             \
  X(name, LAND)                            \
  X(name, LOR)                             \
  X(name, LXOR)                            \
  X(name, BAND)                            \
  X(name, BOR)                             \
  X(name, BXOR)
#define SLUICE_KERNELS_OF_FLOATING(X, name) X(name, SUM) X(name, PROD) X(name, MIN) X(name, MAX)
#define SLUICE_KERNELS_OF_COMPLEX(X, name) X(name, SUM) X(name, PROD)
#define SLUICE_KERNELS_OF_PAIR(X, name) X(name, MINLOC) X(name, MAXLOC)

// X(element, operation) for every legal pair.
#define SLUICE_KERNELS_OF(X, name, type, class) SLUICE_KERNELS_OF_##class(X, name)
#define SLUICE_KERNELS_REDUCTIONS(X) SLUICE_KERNELS_ELEMENTS(SLUICE_KERNELS_OF, X)
