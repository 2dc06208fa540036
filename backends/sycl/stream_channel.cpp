// SPDX-License-Identifier: BSD-3-Clause
// The group `channel`, on the CPU device: memory that processes share, and copies in the program's queue. There is
// nothing to import, as such a device reaches all memory of the process; which ranges were registered is kept, because
// any other address would end the program when the queue comes to it.
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "launch.h"
#include "reduce_kernels.h"
#include "registered_memory.h"
#include "runtime.h"
#include "stream.h"
#include "watcher.h"

namespace sluice::backends::sycl {
namespace {

struct Registered {
  size_t size_bytes;
  int32_t device;
};
struct RegisteredList {
  std::mutex mutex;
  std::map<uintptr_t, Registered> by_address;
};
// Never destroyed: memory may be given back while the process exits.
RegisteredList &registered() {
  static auto *made = new RegisteredList();
  return *made;
}

uintptr_t number_of(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

// The newest range that begins at `address` or before; end() without one. With the lock.
std::map<uintptr_t, Registered>::iterator range_at(uintptr_t address) {
  auto &all = registered().by_address;
  const auto after = all.upper_bound(address);
  return after == all.begin() ? all.end() : std::prev(after);
}

// False: it overlaps what is there.
bool add_range(int32_t device, const void *memory, size_t size_bytes) {
  const std::scoped_lock lock(registered().mutex);
  auto &all = registered().by_address;
  const auto before = range_at(number_of(memory) + size_bytes - 1);
  if (before != all.end() && number_of(memory) < before->first + before->second.size_bytes) return false;
  all.insert({number_of(memory), {size_bytes, device}});
  return true;
}

// Its length; 0: nothing that was registered begins there.
size_t remove_range(const void *memory) {
  const std::scoped_lock lock(registered().mutex);
  const auto found = registered().by_address.find(number_of(memory));
  if (found == registered().by_address.end()) return 0;
  const size_t size_bytes = found->second.size_bytes;
  registered().by_address.erase(found);
  return size_bytes;
}

// On other devices none of this has run. Throws what the runtime throws.
Outcome check_can_share(const ::sycl::device &device) {
  if (device.is_cpu() && device.get_backend() == ::sycl::backend::opencl && can_compile(device)) return {};
  return {SLUICE_ERROR_UNSUPPORTED,
          "streams of this device share no memory of the host with other processes: that is there for OpenCL's CPU "
          "device only (docs/queue/engines.md); their messages go by the progress thread"};
}

struct Range {
  const void *memory;
  size_t size_bytes;
};

bool is_known(const sluice_stream &stream, const void *address) {
  return is_registered(stream.device, address, 1) ||
         find_allocation(Runtime::start(), address).kind != ::sycl::usm::alloc::unknown;
}

Outcome check_ends(const sluice_stream &stream, const Range &range) {
  if (range.size_bytes == 0) return {};
  if (range.memory != nullptr && is_known(stream, range.memory) &&
      is_known(stream, static_cast<const char *>(range.memory) + range.size_bytes - 1)) {
    return {};
  }
  return {SLUICE_ERROR_INVALID_ARGUMENT, "a stream copies memory of its device, or of host_register, and nothing else"};
}

// `enqueue` is called when both ranges are memory for the stream.
template <typename Enqueue>
sluice_result_t enqueue_copy(const char *call, sluice_stream *stream, const Range &dst, const Range &src,
                             const Enqueue &enqueue) {
  return guarded(call, [&] {
    Outcome outcome = check_stream(stream);
    if (outcome.is_success()) outcome = check_can_share(stream->queue.get_device());
    if (outcome.is_success()) outcome = check_ends(*stream, dst);
    if (outcome.is_success()) outcome = check_ends(*stream, src);
    return outcome.is_success() ? enqueue() : to_result(outcome);
  });
}

}  // namespace

bool is_registered(int32_t device, const void *memory, size_t size_bytes) {
  const std::scoped_lock lock(registered().mutex);
  const auto found = range_at(number_of(memory));
  if (found == registered().by_address.end() || found->second.device != device) return false;
  const size_t offset = number_of(memory) - found->first;
  return offset < found->second.size_bytes && size_bytes <= found->second.size_bytes - offset;
}

// Where messages are to go through it a kernel will be wanted, and nowhere else: now nothing waits for what that takes.
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes) {
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  if (memory == nullptr || size_bytes == 0) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_register: no memory");
  return guarded("host_register", [&] {
    const Runtime &runtime = Runtime::start();
    const ::sycl::device &native = runtime.devices()[static_cast<size_t>(device)];
    const Outcome outcome = check_can_share(native);
    if (!outcome.is_success()) return to_result(outcome);
    std::optional<::sycl::kernel> kernel;
    const sluice_result_t result = find_message_kernel(runtime.default_context(device).context, native, &kernel);
    if (result != SLUICE_SUCCESS) return result;
    if (add_range(device, memory, size_bytes)) return SLUICE_SUCCESS;
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_register: in part registered already");
  });
}

sluice_result_t host_unregister(int32_t device, void *memory) {
  const sluice_result_t known = is_exiting() ? SLUICE_SUCCESS : check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  const size_t size_bytes = remove_range(memory);
  if (size_bytes == 0) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "host_unregister: this memory was not registered here");
  }
  if (!is_exiting()) words_gone(memory, size_bytes);
  return SLUICE_SUCCESS;
}

// The queue is in order: a word that is written behind it is written when its bytes are there.
sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes) {
  return enqueue_copy("stream_copy", stream, {dst, size_bytes}, {src, size_bytes}, [&] {
    if (size_bytes == 0) return SLUICE_SUCCESS;
    stream->queue.memcpy(dst, src, size_bytes);
    stream->queue.ext_oneapi_prod();  // some runtimes keep commands back until somebody waits
    return SLUICE_SUCCESS;
  });
}

sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word) {
  if (from == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "stream_take: null pointer");
  // Of the units whichever the word will name.
  const Range units = {from->base, most_bytes != 0 ? from->size_bytes : 0};
  return enqueue_copy("stream_take", stream, {dst, most_bytes}, units, [&] {
    const Outcome outcome = check_word(*stream, word);
    if (!outcome.is_success() || most_bytes == 0) return to_result(outcome);
    const ::sycl::device device = stream->queue.get_device();
    std::optional<::sycl::kernel> kernel;
    const sluice_result_t result = find_message_kernel(stream->queue.get_context(), device, &kernel);
    if (result != SLUICE_SUCCESS) return result;
    kernels::MessageTask task = {};
    task.copy = {static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(from->base), most_bytes};
    task.word = word;
    task.unit_bytes = from->unit_bytes;
    task.units_bytes = from->size_bytes;
    stream->queue.submit([&](::sycl::handler &handler) {
      set_task(&handler, task);
      handler.parallel_for(range_for(device, 1, most_bytes), *kernel);
    });
    stream->queue.ext_oneapi_prod();
    return SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl
