// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "module_under_test.h"

namespace conformance {
namespace {

std::string said(sluice_result_t result) {
  return result == SLUICE_SUCCESS ? "" : describe(result);
}

}  // namespace

const char *kind_name(sluice_memory_kind_t kind) {
  switch (kind) {
    case SLUICE_MEMORY_HOST:
      return "host";
    case SLUICE_MEMORY_PINNED:
      return "pinned";
    case SLUICE_MEMORY_DEVICE:
      return "device";
    case SLUICE_MEMORY_SHARED:
      return "shared";
    case SLUICE_MEMORY_FREED:
      return "freed";
  }
  return "?";
}

std::string Memory::make(sluice_memory_kind_t kind, int32_t device, size_t size_bytes, Memory *memory) {
  void *data = nullptr;
  if (kind == SLUICE_MEMORY_HOST) {
    data = std::malloc(size_bytes);
    if (data == nullptr) return "malloc gave nothing";
  } else {
    sluice_result_t result = table().program_set_device(device);
    if (result == SLUICE_SUCCESS) result = table().program_alloc(kind, size_bytes, &data);
    if (result != SLUICE_SUCCESS) return describe(result);
    if (data == nullptr) return "program_alloc succeeded with a null pointer";
  }
  memory->reset();
  memory->data_ = static_cast<std::byte *>(data);
  memory->size_bytes_ = size_bytes;
  memory->kind_ = kind;
  return "";
}

Memory::Memory(Memory &&other) noexcept {
  *this = std::move(other);
}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(kind_, other.kind_);
  return *this;
}

std::string Memory::reset() {
  std::byte *data = std::exchange(data_, nullptr);
  if (data == nullptr) return "";
  if (kind_ != SLUICE_MEMORY_HOST) return said(table().program_free(data));
  std::free(data);
  return "";
}

std::string Memory::write(std::span<const std::byte> bytes, size_t offset) const {
  if (bytes.empty()) return "";
  if (kind_ != SLUICE_MEMORY_DEVICE) {
    std::memcpy(data_ + offset, bytes.data(), bytes.size());
    return "";
  }
  sluice_result_t result = table().program_copy(data_ + offset, bytes.data(), bytes.size());
  // As libsluice does for each buffer of each call, after the program has filled it.
  sluice_pointer_info_t info = {};
  if (result == SLUICE_SUCCESS) result = table().query_pointer(data_ + offset, &info);
  return said(result);
}

std::string Memory::read(std::vector<std::byte> *bytes) const {
  bytes->resize(size_bytes_);
  if (kind_ != SLUICE_MEMORY_DEVICE) {
    std::memcpy(bytes->data(), data_, size_bytes_);
    return "";
  }
  return said(table().program_copy(bytes->data(), data_, size_bytes_));
}

Queue::Queue(int32_t device) {
  problem_ = said(table().queue_create(device, &queue_));
}

Queue::~Queue() {
  // A failure here shows in the tests of queue_destroy itself.
  if (queue_ != nullptr) static_cast<void>(table().queue_destroy(queue_));
}

}  // namespace conformance
