// SPDX-License-Identifier: BSD-3-Clause
// What an address is. The runtime has no number for an allocation and tells no one when memory is freed, so every
// question goes to it: 87 ns a context on the CPU device (docs/measurements).
#include "native_query.h"
#include "registered_queues.h"
#include "runtime.h"

namespace sluice::backends::sycl {

namespace {

// The context that knew this thread's last address; the next one is likely there too.
thread_local size_t t_last_context = 0;

sluice_memory_kind_t kind_of(::sycl::usm::alloc kind) {
  switch (kind) {
    case ::sycl::usm::alloc::host:
      return SLUICE_MEMORY_PINNED;
    case ::sycl::usm::alloc::device:
      return SLUICE_MEMORY_DEVICE;
    case ::sycl::usm::alloc::shared:
      return SLUICE_MEMORY_SHARED;
    case ::sycl::usm::alloc::unknown:
      break;
  }
  return SLUICE_MEMORY_HOST;
}

int32_t owner_of(const Runtime &runtime, const Found &found, const void *address) {
  if (found.kind == ::sycl::usm::alloc::host) return -1;
  // The usual context has one device, and asking for it costs three times the query.
  if (found.context->devices.size() == 1) return found.context->devices.front().second;
  const ::sycl::device owner = ::sycl::get_pointer_device(address, found.context->context);
  for (const auto &[device, index] : found.context->devices) {
    if (device == owner) return index;
  }
  return runtime.index_of(owner);
}

sluice_result_t answer(const Runtime &runtime, const void *address, sluice_pointer_info_t *info) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    const Found found = find_allocation(runtime, address);
    if (found.context == nullptr) return SLUICE_SUCCESS;
    try {
      const int32_t device = owner_of(runtime, found, address);
      *info = {kind_of(found.kind), device, 0};
      return SLUICE_SUCCESS;
    } catch (const ::sycl::exception &) {
      // Another thread may have freed what has just been found; the next question tells.
      if (tries == kTries) throw;
    }
  }
}

}  // namespace

Found find_allocation(const Runtime &runtime, const void *address) {
  const size_t n = runtime.n_contexts();
  const size_t first = t_last_context < n ? t_last_context : 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t at = (first + i) % n;
    const KnownContext &known = runtime.context(at);
    const ::sycl::usm::alloc kind =
        ask_natively_or(known.backend, address, [&] { return ::sycl::get_pointer_type(address, known.context); });
    if (kind == ::sycl::usm::alloc::unknown) continue;
    t_last_context = at;
    return {&known, kind};
  }
  return {};
}

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  *info = {SLUICE_MEMORY_HOST, -1, 0};
  if (address == nullptr || is_exiting()) return SLUICE_SUCCESS;
  return guarded("get_pointer_type", [&] {
    const Runtime *runtime = Runtime::if_in_use();
    return runtime != nullptr ? answer(*runtime, address, info) : SLUICE_SUCCESS;
  });
}

sluice_result_t register_context(void *context) {
  if (context == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "register_context needs a sycl::queue");
  return guarded("register_context", [&] {
    const auto *queue = static_cast<const ::sycl::queue *>(context);
    if (!Runtime::start().add_context(queue->get_context())) {
      return fail(SLUICE_ERROR_OUT_OF_MEMORY, "more than " + std::to_string(Runtime::kMaxContexts) +
                                                  " contexts; register the few that own buffers");
    }
    register_queue(queue);
    return SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl
