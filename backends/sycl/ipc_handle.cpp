// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "ipc_handle.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "../process_identity.h"

namespace sluice::backends::sycl {

namespace {

struct Layout {
  uint16_t magic;
  uint16_t checksum;
  int32_t pid;
  uint32_t process;      // checksum of what else tells the process from others
  uint8_t native_bytes;  // of the mechanism's part, with its zeros
  Mechanism mechanism;
  uint16_t offset_high;
  uint32_t offset_low;
  uint32_t units;  // of kUnit bytes, that the allocation has at least
  // The mechanism's part as it is, if there is room; else a bit for each of its bytes that is not zero, and those
  // bytes.
  std::byte native[104];
};
static_assert(sizeof(Layout) == sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<Layout>);

constexpr uint16_t kMagic = 0x3353;  // "S3"
constexpr uint64_t kOffsets = uint64_t{1} << 48U;
constexpr size_t kBits = 8;
constexpr uint64_t kUnit = 64;

size_t map_bytes(size_t native_bytes) {
  return (native_bytes + kBits - 1) / kBits;
}

std::byte bit_of(size_t i) {
  return std::byte{1} << (i % kBits);
}

// False: more than there is room for.
bool write_sparse(const std::byte *native, size_t native_bytes, Layout *layout) {
  size_t at = map_bytes(native_bytes);
  for (size_t i = 0; i < native_bytes; ++i) {
    if (native[i] == std::byte{0}) continue;
    if (at == sizeof layout->native) return false;
    layout->native[i / kBits] |= bit_of(i);
    layout->native[at++] = native[i];
  }
  return true;
}

// False: no such bytes were written.
bool read_sparse(const Layout &layout, HandleContent *content) {
  size_t at = map_bytes(layout.native_bytes);
  for (size_t i = 0; i < layout.native_bytes; ++i) {
    if ((layout.native[i / kBits] & bit_of(i)) == std::byte{0}) continue;
    if (at == sizeof layout.native) return false;
    content->native[i] = layout.native[at++];
  }
  return true;
}

uint16_t checksum_of(Layout layout) {
  layout.checksum = 0;
  const uint32_t sum = handle_checksum(&layout, sizeof layout);
  return static_cast<uint16_t>(sum ^ (sum >> 16U));
}

uint32_t process_checksum(const ProcessIdentity &process) {
  const uint64_t words[] = {process.start_time, process.pid_namespace};
  return handle_checksum(words, sizeof words);
}

}  // namespace

Outcome write_handle(Mechanism mechanism, const void *native, size_t native_bytes, uint64_t offset, uint64_t size_bytes,
                     sluice_ipc_handle_t *handle) {
  Layout layout{};
  const auto *bytes = static_cast<const std::byte *>(native);
  const bool is_plain = native_bytes <= sizeof layout.native;
  if (is_plain) std::memcpy(layout.native, native, native_bytes);
  if (!is_plain && (native_bytes > HandleContent::kMostBytes || !write_sparse(bytes, native_bytes, &layout))) {
    return {SLUICE_ERROR_UNSUPPORTED, "the runtime's handle has " + std::to_string(native_bytes) +
                                          " bytes; this version of Sluice has place for " +
                                          std::to_string(sizeof layout.native)};
  }
  if (offset >= kOffsets) {
    return {SLUICE_ERROR_UNSUPPORTED,
            "the memory lies " + std::to_string(offset) +
                " bytes behind the beginning of its allocation; a handle has 48 bits for that"};
  }
  const ProcessIdentity self = this_process();
  layout.magic = kMagic;
  layout.pid = self.pid;
  layout.process = process_checksum(self);
  layout.native_bytes = static_cast<uint8_t>(native_bytes);
  layout.mechanism = mechanism;
  layout.offset_high = static_cast<uint16_t>(offset >> 32U);
  layout.offset_low = static_cast<uint32_t>(offset);
  layout.units = static_cast<uint32_t>(std::min<uint64_t>(size_bytes / kUnit, UINT32_MAX));
  layout.checksum = checksum_of(layout);
  std::memcpy(handle->bytes, &layout, sizeof layout);
  return {};
}

Outcome read_handle(const sluice_ipc_handle_t &handle, HandleContent *content) {
  Layout layout{};
  std::memcpy(&layout, handle.bytes, sizeof layout);
  *content = {};
  const bool is_plain = layout.native_bytes <= sizeof layout.native;
  if (layout.magic != kMagic || layout.checksum != checksum_of(layout) ||
      layout.native_bytes > HandleContent::kMostBytes || (!is_plain && !read_sparse(layout, content))) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version"};
  }
  if (is_plain) std::memcpy(content->native.data(), layout.native, layout.native_bytes);
  content->mechanism = layout.mechanism;
  content->offset = (uint64_t{layout.offset_high} << 32U) | layout.offset_low;
  content->least_bytes = layout.units * kUnit;
  content->native_bytes = layout.native_bytes;
  const ProcessIdentity self = this_process();
  if (layout.pid == self.pid && layout.process == process_checksum(self)) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer"};
  }
  return {};
}

}  // namespace sluice::backends::sycl
