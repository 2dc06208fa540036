// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/reduction/host_reduction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

constexpr std::size_t kNumbers = 272;  // vector code takes part, and what is left over behind it

// Numbers of `size_bytes` bytes, one after the other; in 64 bits they are extended as their sign says.
struct Numbers {
  std::array<unsigned char, kNumbers * sizeof(std::uint64_t)> bytes{};
  std::size_t size_bytes;
  bool is_signed;

  [[nodiscard]] std::uint64_t at(std::size_t i) const noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + i * size_bytes, size_bytes);
    return extended(value);
  }
  [[nodiscard]] std::uint64_t extended(std::uint64_t value) const noexcept {
    const std::size_t unused_bits = 8 * (sizeof value - size_bytes);
    value <<= unused_bits;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> unused_bits)
                     : value >> unused_bits;
  }
};

// Small ones, large ones and negative ones.
void fill(Numbers *numbers, unsigned seed) noexcept {
  for (std::size_t i = 0; i < numbers->bytes.size(); ++i) {
    numbers->bytes[i] = static_cast<unsigned char>((i * 37 + std::size_t{101} * seed) ^ (i >> 3U));
  }
  std::memset(numbers->bytes.data(), 0, numbers->size_bytes);  // and one nought, for the logical operations
}

bool is_less(std::uint64_t a, std::uint64_t b, bool is_signed) noexcept {
  return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

std::uint64_t result_of(sluice_operation_t operation, std::uint64_t a, std::uint64_t b, bool is_signed) noexcept {
  switch (operation) {
    case SLUICE_OPERATION_SUM:
      return a + b;
    case SLUICE_OPERATION_PROD:
      return a * b;
    case SLUICE_OPERATION_MIN:
      return is_less(a, b, is_signed) ? a : b;
    case SLUICE_OPERATION_MAX:
      return is_less(a, b, is_signed) ? b : a;
    case SLUICE_OPERATION_LAND:
      return a != 0 && b != 0 ? 1 : 0;
    case SLUICE_OPERATION_LOR:
      return a != 0 || b != 0 ? 1 : 0;
    case SLUICE_OPERATION_LXOR:
      return (a != 0) != (b != 0) ? 1 : 0;
    case SLUICE_OPERATION_BAND:
      return a & b;
    case SLUICE_OPERATION_BOR:
      return a | b;
    case SLUICE_OPERATION_BXOR:
      return a ^ b;
    default:
      return 0;
  }
}

}  // namespace

bool computes_integers_as_kernels(MPI_Datatype type, int size_bytes, bool is_signed, MPI_Op op,
                                  sluice_operation_t operation) {
  if (size_bytes < 1 || size_bytes > static_cast<int>(sizeof(std::uint64_t))) return false;
  Numbers in{{}, static_cast<std::size_t>(size_bytes), is_signed};
  Numbers inout = in;
  fill(&in, 1);
  fill(&inout, 2);
  const Numbers before = inout;
  if (wire::host().MPI_Reduce_local(in.bytes.data(), inout.bytes.data(), static_cast<int>(kNumbers), type, op) !=
      MPI_SUCCESS) {
    return false;
  }
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (inout.at(i) != inout.extended(result_of(operation, in.at(i), before.at(i), is_signed))) return false;
  }
  return true;
}

bool computes_as_named(MPI_Datatype type, MPI_Datatype named, int size_bytes, MPI_Op op) {
  // Parts of 4 or 8 bytes, of which the host MPI's types know: no number of them is a NaN, and some are negative.
  constexpr std::size_t kBytes = 512;  // 32 of the widest, complex doubles
  if (size_bytes < 4 || size_bytes > 16) return false;
  std::array<unsigned char, kBytes> in{};
  std::array<unsigned char, kBytes> inout{};
  for (std::size_t i = 0; i < kBytes; ++i) {
    const bool is_exponent = i % 4 == 3;
    in[i] = static_cast<unsigned char>(is_exponent ? 0x3F + (i / 4 % 3 == 0 ? 0x80 : 0) : i * 37);
    inout[i] = static_cast<unsigned char>(is_exponent ? 0x3F + (i / 4 % 2 == 0 ? 0x80 : 0) : i * 53 + 7);
  }
  std::array<unsigned char, kBytes> wanted = inout;
  const int count = static_cast<int>(kBytes) / size_bytes;
  return wire::host().MPI_Reduce_local(in.data(), wanted.data(), count, named, op) == MPI_SUCCESS &&
         wire::host().MPI_Reduce_local(in.data(), inout.data(), count, type, op) == MPI_SUCCESS && wanted == inout;
}

}  // namespace sluice::ops::coll
