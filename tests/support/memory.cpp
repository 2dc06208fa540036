// SPDX-License-Identifier: BSD-3-Clause
// Buffers of any kind for tests.
#include "tests/support/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace sluice::tests {
namespace {

sluice_memory_kind_t backend_kind(Kind kind) {
  switch (kind) {
    case Kind::pinned:
      return SLUICE_MEMORY_PINNED;
    case Kind::device:
      return SLUICE_MEMORY_DEVICE;
    case Kind::shared:
      return SLUICE_MEMORY_SHARED;
    case Kind::host:
      break;
  }
  return SLUICE_MEMORY_HOST;
}

unsigned char *allocate(const BackendModule *module, Kind kind, std::size_t size_bytes) {
  void *memory = nullptr;
  if (kind == Kind::host) {
    memory = std::malloc(size_bytes);
  } else if (module != nullptr) {
    memory = module->allocate(backend_kind(kind), size_bytes);
  }
  if (memory == nullptr) {
    throw std::runtime_error(fmt::format("no {} memory of {} bytes to test with", kind_name(kind), size_bytes));
  }
  return static_cast<unsigned char *>(memory);
}

}  // namespace

const char *kind_name(Kind kind) {
  switch (kind) {
    case Kind::pinned:
      return "pinned";
    case Kind::device:
      return "device";
    case Kind::shared:
      return "shared";
    case Kind::host:
      break;
  }
  return "host";
}

unsigned char pattern_byte(int rank, std::size_t position, int iteration) {
  // Neighbouring positions, pages, ranks and iterations all differ. Addition and multiplication only: it vectorises.
  const auto mixed = static_cast<std::uint32_t>(position) * 0x9E3779B1U +
                     static_cast<std::uint32_t>(rank) * 0x85EBCA6BU +
                     static_cast<std::uint32_t>(iteration) * 0xC2B2AE35U;
  const auto byte = static_cast<unsigned char>(mixed >> 24U);
  return byte == kPoison ? static_cast<unsigned char>(0x5A) : byte;
}

Memory::Memory(const BackendModule *module, Kind kind, std::size_t size_bytes, bool has_front_guard)
    : module_(module),
      kind_(kind),
      size_bytes_(size_bytes),
      front_bytes_(has_front_guard ? kGuardBytes : 0),
      base_(allocate(module, kind, front_bytes_ + size_bytes + kGuardBytes)) {
  const Bytes poison(front_bytes_ + size_bytes_ + kGuardBytes, kPoison);
  copy(base_, poison.data(), poison.size());
}

Memory::Memory(Memory &&other) noexcept
    : module_(other.module_),
      kind_(other.kind_),
      size_bytes_(other.size_bytes_),
      front_bytes_(other.front_bytes_),
      base_(std::exchange(other.base_, nullptr)) {}

Memory &Memory::operator=(Memory &&other) noexcept {
  if (this != &other) {
    release();
    module_ = other.module_;
    kind_ = other.kind_;
    size_bytes_ = other.size_bytes_;
    front_bytes_ = other.front_bytes_;
    base_ = std::exchange(other.base_, nullptr);
  }
  return *this;
}

Memory::~Memory() {
  release();
}

void Memory::release() noexcept {
  unsigned char *memory = std::exchange(base_, nullptr);
  if (memory == nullptr) {
    return;
  }
  if (kind_ == Kind::host) {
    // Whoever gets this memory next must not find the right bytes in it by chance.
    std::memset(memory, kPoison, front_bytes_ + size_bytes_ + kGuardBytes);
    std::free(memory);
    return;
  }
  try {
    module_->release(memory);
  } catch (const std::exception &error) {
    fmt::print(stderr, "test memory: {}\n", error.what());
  }
}

void Memory::copy(void *dst, const void *src, std::size_t size_bytes) const {
  if (size_bytes == 0) {
    return;
  }
  if (kind_ == Kind::device || kind_ == Kind::shared) {
    module_->copy(dst, src, size_bytes);
  } else {
    std::memcpy(dst, src, size_bytes);
  }
}

void Memory::fill_pattern(int rank, int iteration) const {
  Bytes image(size_bytes_);
  for (std::size_t i = 0; i < size_bytes_; ++i) {
    image[i] = pattern_byte(rank, i, iteration);
  }
  copy(data(), image.data(), size_bytes_);
}

void Memory::fill(unsigned char value) const {
  const Bytes image(size_bytes_, value);
  copy(data(), image.data(), size_bytes_);
}

void Memory::write(std::size_t offset_bytes, const void *src, std::size_t size_bytes) const {
  copy(at(offset_bytes), src, size_bytes);
}

Bytes Memory::read() const {
  return read(0, size_bytes_);
}

Bytes Memory::read(std::size_t offset_bytes, std::size_t size_bytes) const {
  Bytes image(size_bytes);
  copy(image.data(), at(offset_bytes), size_bytes);
  return image;
}

Bytes Memory::read_with_guards() const {
  Bytes image(front_bytes_ + size_bytes_ + kGuardBytes);
  copy(image.data(), base_, image.size());
  return image;
}

std::string find_pattern_error(const Bytes &actual, int rank, int iteration, std::size_t first_position) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const unsigned char expected = pattern_byte(rank, first_position + i, iteration);
    if (actual[i] != expected) {
      return fmt::format("byte {} of {} is {:#04x}{}, expected {:#04x} (rank {}, iteration {})", i, actual.size(),
                         actual[i], actual[i] == kPoison ? " (untouched)" : "", expected, rank, iteration);
    }
  }
  return "";
}

std::string find_difference(const Bytes &expected, const Bytes &actual) {
  if (expected.size() != actual.size()) {
    return fmt::format("{} bytes, expected {}", actual.size(), expected.size());
  }
  const auto [at_expected, at_actual] = std::mismatch(expected.begin(), expected.end(), actual.begin());
  if (at_expected == expected.end()) {
    return "";
  }
  std::size_t n_different = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    n_different += expected[i] != actual[i] ? 1 : 0;
  }
  return fmt::format("byte {} of {} is {:#04x}{}, expected {:#04x}{}; {} bytes differ", at_expected - expected.begin(),
                     expected.size(), *at_actual, *at_actual == kPoison ? " (untouched)" : "", *at_expected,
                     *at_expected == kPoison ? " (untouched)" : "", n_different);
}

}  // namespace sluice::tests
