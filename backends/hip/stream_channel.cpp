// SPDX-License-Identifier: BSD-3-Clause
// The group `channel`: words in memory that processes share, and copies in the program's stream.
//
// What host_register is given is mapped a second time, and that mapping is the one that the runtime pins: the caller
// may unmap its own as soon as host_unregister has returned, while the runtime may let go later.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "pages.h"
#include "stream.h"
#include "take.hpp"
#include "waits.h"

namespace sluice::backends::hip {

static_assert(kernels::kLengthBits == SLUICE_LENGTH_BITS);

namespace {

std::mutex g_mutex;
// What the module has mapped, by the caller's address of the same memory.
std::map<const char *, Pages> &registered() {
  // Never destroyed: memory may be given back while the process exits.
  static auto *const made = new std::map<const char *, Pages>();
  return *made;
}

sluice_result_t map_again(void *memory, size_t size_bytes, Pages *pages) {
  void *const made = mremap(memory, 0, size_bytes, MREMAP_MAYMOVE);
  if (made == MAP_FAILED) {
    const int code = errno;
    return fail(SLUICE_ERROR_UNSUPPORTED,
                std::string("host_register: this memory cannot be mapped again: ") + strerror(code));
  }
  *pages = {made, size_bytes};
  return SLUICE_SUCCESS;
}

// Only kernels need the address that it has for them.
sluice_result_t check_reached_by_device(const Pages &pages) {
  void *address = nullptr;
  const hipError_t native = g_runtime.hipHostGetDevicePointer(&address, pages.base, 0);
  if (native == hipSuccess && address != nullptr) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, native != hipSuccess ? native_text(g_runtime, "hipHostGetDevicePointer", native)
                                                             : "this device does not reach the host's memory");
}

// The same byte in the mapping that the runtime knows. Null: nothing that was registered.
char *find_registered(const void *memory) {
  const auto *const wanted = static_cast<const char *>(memory);
  const std::scoped_lock lock(g_mutex);
  auto found = registered().upper_bound(wanted);
  if (found == registered().begin()) return nullptr;
  --found;
  const auto offset = static_cast<size_t>(wanted - found->first);
  const Pages &pages = found->second;
  return offset < pages.size_bytes ? static_cast<char *>(pages.base) + offset : nullptr;
}

// What the runtime knows the memory by. A range that goes on behind what was registered is refused by device_range().
template <typename Byte>
Byte *as_known(Byte *memory) {
  char *const found = find_registered(memory);
  return found != nullptr ? static_cast<Byte *>(static_cast<void *>(found)) : memory;
}

}  // namespace

sluice_result_t find_range(int32_t device, const void *memory, size_t size_bytes, void **found) {
  return device_range(device, as_known(memory), size_bytes, found);
}

sluice_result_t find_word_on_device(uint64_t *known, uint64_t **found) {
  void *address = nullptr;
  const sluice_result_t result =
      translate("hipHostGetDevicePointer", g_runtime.hipHostGetDevicePointer(&address, known, 0));
  *found = static_cast<uint64_t *>(address);
  return result;
}

sluice_result_t make_take(int32_t device, const sluice_stream_receive_t &receive, uint64_t *known,
                          kernels::MessageTask *task) {
  *task = {};
  void *dst = nullptr;
  void *src = nullptr;
  uint64_t *word = nullptr;
  sluice_result_t result = find_range(device, receive.dst, receive.most_bytes, &dst);
  // Of the units whichever the word will name.
  if (result == SLUICE_SUCCESS) result = find_range(device, receive.from.base, receive.from.size_bytes, &src);
  if (result == SLUICE_SUCCESS) result = find_word_on_device(known, &word);
  if (result != SLUICE_SUCCESS) return result;
  task->copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(src), receive.most_bytes};
  task->word = word;
  task->unit_bytes = receive.from.unit_bytes;
  task->units_bytes = receive.from.size_bytes;
  return SLUICE_SUCCESS;
}

sluice_result_t find_word(const uint64_t *word, uint64_t **found) {
  *found = nullptr;
  const bool is_aligned = reinterpret_cast<uintptr_t>(word) % sizeof(*word) == 0;
  if (is_aligned) *found = reinterpret_cast<uint64_t *>(find_registered(word));
  if (*found != nullptr) return SLUICE_SUCCESS;
  sluice_pointer_info_t info = {};
  const sluice_result_t result = query_pointer(word, &info);
  if (result != SLUICE_SUCCESS) return result;
  if (info.kind != SLUICE_MEMORY_PINNED || !is_aligned) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                "a word must be aligned to 8 bytes, in memory of host_alloc or host_register");
  }
  *found = const_cast<uint64_t *>(word);
  return SLUICE_SUCCESS;
}

// The kernels of messages are made here, where no stream waits for a message yet; without them nothing is registered,
// and the threads carry the messages.
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes) {
  sluice_result_t result = check_device(device);
  if (result != SLUICE_SUCCESS) return result;
  run_releases();
  if (!g_choices.streams) return fail(SLUICE_ERROR_UNSUPPORTED, "no words for streams: SLUICE_HIP_STREAMS is off");
  const DeviceScope scope(device);
  result = scope.result();
  sluice_stream any;
  any.device = device;
  if (result == SLUICE_SUCCESS) result = find_message_kernels(&any);
  if (result != SLUICE_SUCCESS) return result;
  Pages pages = {};
  result = map_again(memory, size_bytes, &pages);
  if (result != SLUICE_SUCCESS) return result;
  result = pin_pages(pages);
  if (result != SLUICE_SUCCESS) {
    munmap(pages.base, size_bytes);  // the first error is the one to tell; pages just mapped can be unmapped
    return result;
  }
  result = check_reached_by_device(pages);
  if (result == SLUICE_SUCCESS) {
    const std::scoped_lock lock(g_mutex);
    if (registered().try_emplace(static_cast<char *>(memory), pages).second) return SLUICE_SUCCESS;
    result = fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_register: this memory is registered already");
  }
  const std::string text = error_text();
  static_cast<void>(give_back_pages(device, pages));
  return fail(result, text);  // the first error is the one to tell
}

sluice_result_t host_unregister(int32_t device, void *memory) {
  Pages pages = {};
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = registered().find(static_cast<char *>(memory));
    if (found == registered().end()) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_unregister: this memory was not registered here");
    }
    pages = found->second;
    registered().erase(found);
  }
  return give_back_pages(device, pages);
}

// The runtime finds the way by the two addresses; one that it does not know would be memory of the host's to it.
sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes) {
  return enqueue_in(stream, [&]() -> sluice_result_t {
    if (size_bytes == 0) return SLUICE_SUCCESS;
    void *const to = as_known(dst);
    const void *const from = as_known(src);
    void *found = nullptr;
    sluice_result_t result = device_range(stream->device, to, size_bytes, &found);
    if (result == SLUICE_SUCCESS) result = device_range(stream->device, from, size_bytes, &found);
    if (result != SLUICE_SUCCESS) return result;
    return translate("hipMemcpyAsync",
                     g_runtime.hipMemcpyAsync(to, from, size_bytes, hipMemcpyDefault, stream->stream));
  });
}

sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word) {
  if (from == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_take: null pointer");
  return enqueue_in(stream, [&]() -> sluice_result_t {
    uint64_t *known = nullptr;
    sluice_result_t result = find_word(word, &known);
    if (result != SLUICE_SUCCESS || most_bytes == 0) return result;
    kernels::MessageTask task;
    result = make_take(stream->device, {dst, *from, most_bytes, word, 0, nullptr, 0}, known, &task);
    if (result == SLUICE_SUCCESS) result = find_take(stream);
    return result == SLUICE_SUCCESS ? launch_take(stream, {&task, 1}) : result;
  });
}

}  // namespace sluice::backends::hip
