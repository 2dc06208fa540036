// SPDX-License-Identifier: BSD-3-Clause
// A message's memory with guard bytes on both sides.
#include "bench/memory/message_buffer.hpp"

#include <cstring>

namespace sluice::bench {
namespace {

// Data that no message carries: ranks of messages are 0 and 1.
Pattern guard_pattern() {
  return {0x7fU, 0, ~std::uint64_t{0}};
}

}  // namespace

MessageBuffer::MessageBuffer(DeviceModule *module, sluice_memory_kind_t kind, std::uint64_t size_bytes)
    : module_(module),
      is_host_(kind == SLUICE_MEMORY_HOST),
      size_bytes_(size_bytes),
      buffer_(Buffer::program_memory(module, kind, size_bytes + 2 * kGuardBytes)) {}

void MessageBuffer::write(std::vector<std::byte> &scratch) {
  const std::span<std::byte> all(scratch);
  const Pattern guard = guard_pattern();
  guard.fill(all.first(kGuardBytes));
  guard.fill(all.last(kGuardBytes));
  if (is_host_) {
    std::memcpy(buffer_.data(), scratch.data(), scratch.size());
  } else {
    module_->copy(buffer_.data(), scratch.data(), scratch.size());
  }
}

void MessageBuffer::read(std::vector<std::byte> &scratch) const {
  scratch.resize(buffer_.size_bytes());
  if (is_host_) {
    std::memcpy(scratch.data(), buffer_.data(), scratch.size());
  } else {
    module_->copy(scratch.data(), buffer_.data(), scratch.size());
  }
}

void MessageBuffer::store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch) {
  scratch.resize(buffer_.size_bytes());
  writer(std::span(scratch).subspan(kGuardBytes, size_bytes_));
  write(scratch);
}

void MessageBuffer::fill(const Pattern &pattern, std::vector<std::byte> &scratch) {
  store([&](std::span<std::byte> message) { pattern.fill(message); }, scratch);
}

void MessageBuffer::poison(const Pattern &expected, std::vector<std::byte> &scratch) {
  store([&](std::span<std::byte> message) { expected.poison(message); }, scratch);
}

std::optional<Mismatch> MessageBuffer::find_bad_guard(std::span<const std::byte> all) const {
  const Pattern guard = guard_pattern();
  for (const std::uint64_t begin : {std::uint64_t{0}, kGuardBytes + size_bytes_}) {
    if (const auto position = guard.find_mismatch(all.subspan(begin, kGuardBytes))) {
      const auto offset = static_cast<std::int64_t>(begin + *position) - static_cast<std::int64_t>(kGuardBytes);
      return Mismatch{offset, guard.at(*position), all[begin + *position]};
    }
  }
  return std::nullopt;
}

std::optional<Mismatch> MessageBuffer::verify(const Pattern &pattern, std::vector<std::byte> &scratch) const {
  read(scratch);
  const std::span<const std::byte> all(scratch);
  if (const auto position = pattern.find_mismatch(all.subspan(kGuardBytes, size_bytes_))) {
    return Mismatch{static_cast<std::int64_t>(*position), pattern.at(*position), all[kGuardBytes + *position]};
  }
  return find_bad_guard(all);
}

std::string MessageBuffer::examine(const std::function<std::string(std::span<const std::byte>)> &reader,
                                   std::vector<std::byte> &scratch) const {
  read(scratch);
  const std::span<const std::byte> all(scratch);
  std::string wrong = reader(all.subspan(kGuardBytes, size_bytes_));
  if (!wrong.empty()) {
    return wrong;
  }
  const auto guard = find_bad_guard(all);
  return guard ? describe(*guard, size_bytes_) : "";
}

std::string describe(const Mismatch &mismatch, std::uint64_t message_bytes) {
  const char *where = "";
  if (mismatch.offset < 0) {
    where = " (before the message)";
  } else if (static_cast<std::uint64_t>(mismatch.offset) >= message_bytes) {
    where = " (behind the message)";
  }
  return describe(mismatch, where);
}

}  // namespace sluice::bench
