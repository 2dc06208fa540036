// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/layout_code.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::transfer {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

// The sign in the lowest bit, so that small numbers of either sign are short.
std::uint64_t fold(std::int64_t number) noexcept {
  return (static_cast<std::uint64_t>(number) << 1U) ^ (number < 0 ? ~std::uint64_t{0} : 0);
}
std::int64_t unfold(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>((number >> 1U) ^ ((number & 1U) != 0 ? ~std::uint64_t{0} : 0));
}

// A place in a code, for either direction. What does not fit, or is not there, sets is_over.
class Cursor {
 public:
  explicit Cursor(std::size_t at) noexcept : at_(at) {}

  void put(LayoutCode *code, std::uint64_t number) noexcept {
    do {
      if (at_ == code->size()) {
        is_over_ = true;
        return;
      }
      const bool is_last = number < 0x80;
      (*code)[at_++] = static_cast<std::uint8_t>((number & 0x7fU) | (is_last ? 0U : 0x80U));
      number >>= 7U;
    } while (number != 0);
  }

  std::uint64_t take(const LayoutCode &code) noexcept {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      // A tenth byte has one bit's room.
      if (at_ == code.size() || shift > 63 || (shift == 63 && code[at_] > 1)) {
        is_over_ = true;
        return 0;
      }
      const std::uint8_t byte = code[at_++];
      number |= (std::uint64_t{byte} & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return number;
    }
  }

  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 private:
  std::size_t at_;
  bool is_over_ = false;
};

}  // namespace

bool encode(const sluice_layout_t &layout, LayoutCode *code) noexcept {
  *code = {};
  if (layout.n_blocks != 0 || layout.n_dimensions == 0 || layout.n_dimensions > SLUICE_PACK_MAX_DIMENSIONS) {
    return false;
  }
  (*code)[0] = static_cast<std::uint8_t>(layout.n_dimensions);
  Cursor cursor(1);
  cursor.put(code, layout.core_bytes);
  for (std::uint32_t d = 0; d < layout.n_dimensions; ++d) {
    cursor.put(code, layout.dimensions[d].count);
    cursor.put(code, fold(layout.dimensions[d].stride_bytes));
  }
  if (cursor.is_over()) *code = {};
  return !cursor.is_over();
}

bool decode(const LayoutCode &code, sluice_layout_t *layout) noexcept {
  *layout = {};
  if (is_one_run(code) || code[0] > SLUICE_PACK_MAX_DIMENSIONS) return false;
  layout->n_dimensions = code[0];
  Cursor cursor(1);
  layout->core_bytes = cursor.take(code);
  bool is_sound = layout->core_bytes != 0;
  for (std::uint32_t d = 0; d < layout->n_dimensions; ++d) {
    layout->dimensions[d].count = cursor.take(code);
    layout->dimensions[d].stride_bytes = unfold(cursor.take(code));
    is_sound = is_sound && layout->dimensions[d].count != 0;
  }
  return is_sound && !cursor.is_over();
}

bool reach_of(const sluice_layout_t &layout, Reach *reach) noexcept {
  *reach = {};
  if (layout.core_bytes == 0 || layout.core_bytes > kMostBytes) return false;
  std::uint64_t payload = layout.core_bytes;
  std::int64_t lowest = 0;
  auto highest = static_cast<std::int64_t>(layout.core_bytes);
  for (std::uint32_t d = 0; d < layout.n_dimensions; ++d) {
    const sluice_dimension_t &dimension = layout.dimensions[d];
    std::int64_t distance = 0;  // from the first piece to the last
    if (dimension.count == 0 || dimension.count > kMostBytes ||
        __builtin_mul_overflow(static_cast<std::int64_t>(dimension.count - 1), dimension.stride_bytes, &distance) ||
        __builtin_add_overflow(lowest, std::min<std::int64_t>(distance, 0), &lowest) ||
        __builtin_add_overflow(highest, std::max<std::int64_t>(distance, 0), &highest) ||
        __builtin_mul_overflow(payload, dimension.count, &payload) || payload > kMostBytes) {
      return false;
    }
  }
  const std::uint64_t span = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
  if (span > kMostBytes) return false;
  *reach = {lowest, span, payload};
  return true;
}

}  // namespace sluice::transfer
