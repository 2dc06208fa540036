// SPDX-License-Identifier: BSD-3-Clause
// The cases of wait_probe.cpp, each in a process of its own: a child may hang, and does not clean up.
#include <sys/mman.h>

#include <array>
#include <thread>
#include <vector>

#include "wait_probe.h"

namespace sluice::backends::cuda::probe {

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
constexpr int kStreams = 200;  // more than a program has

// A kernel that does nothing, for any device of today.
constexpr const char *kKernel =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

template <typename Call>
std::string while_waiting(Probe *probe, Call call) {
  begin_wait(probe);
  return time_call(probe, call);
}

// ---- a: what a full stream holds up ----

std::string fill(Probe *probe, bool with_kernels) {
  static std::atomic<int> n_enqueued{0};
  const Driver &d = probe->driver;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream other = make_stream(probe, greatest_priority(probe));
  if (with_kernels) {
    need(probe, d.cuModuleLoadData(&module, kKernel), "cuModuleLoadData");
    need(probe, d.cuModuleGetFunction(&kernel, module, "nothing"), "cuModuleGetFunction");
  }
  begin_wait(probe);
  constexpr int kMost = 20'000;
  std::thread([=] {
    if (d.cuCtxSetCurrent(probe->context) != CUDA_SUCCESS) return;
    for (int i = 0; i < kMost; ++i) {
      const CUresult result =
          with_kernels ? d.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, probe->waiting, nullptr, nullptr)
          : i % 2 == 0 ? d.cuStreamWriteValue64(probe->waiting, probe->words_on_device + 8, 1, 0)
                       : d.cuStreamWaitValue64(probe->waiting, probe->words_on_device, 1, CU_STREAM_WAIT_VALUE_GEQ);
      if (result != CUDA_SUCCESS) return;
      ++n_enqueued;
    }
  }).detach();
  int seen = -1;
  while (seen != n_enqueued && n_enqueued < kMost) {
    seen = n_enqueued;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  if (n_enqueued >= kMost) return "room for more than " + std::to_string(kMost) + " commands";
  // Another thread, another stream, another priority.
  const std::string beside = time_call(
      probe, [&] { return d.cuMemcpyAsync(probe->memory, reinterpret_cast<CUdeviceptr>(probe->pinned), 64, other); });
  return "the host is held up after " + std::to_string(seen) + " commands; a copy elsewhere: " + beside;
}

std::string full_of_words(Probe *probe) {
  return fill(probe, false);
}
std::string full_of_kernels(Probe *probe) {
  return fill(probe, true);
}

// ---- b: memory ----

std::string alloc_device(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUdeviceptr memory = 0;
    return probe->driver.cuMemAlloc(&memory, 64 * kBytes);
  });
}

std::string free_device(Probe *probe) {
  return while_waiting(probe, [probe] { return probe->driver.cuMemFree(probe->memory); });
}

std::string alloc_host(Probe *probe) {
  return while_waiting(probe, [probe] {
    void *memory = nullptr;
    return probe->driver.cuMemHostAlloc(&memory, kBytes, 0);
  });
}

std::string free_host(Probe *probe) {
  return while_waiting(probe, [probe] { return probe->driver.cuMemFreeHost(probe->pinned); });
}

void *pages() {
  return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

std::string register_host(Probe *probe) {
  return while_waiting(probe, [probe, memory = pages()] {
    return probe->driver.cuMemHostRegister(memory, kBytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  });
}

std::string unregister_host(Probe *probe) {
  void *memory = pages();
  need(probe, probe->driver.cuMemHostRegister(memory, kBytes, 0), "cuMemHostRegister");
  return while_waiting(probe, [probe, memory] { return probe->driver.cuMemHostUnregister(memory); });
}

std::string export_handle(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUipcMemHandle handle = {};
    return probe->driver.cuIpcGetMemHandle(&handle, probe->memory);
  });
}

std::string open_handle(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUdeviceptr address = 0;
    return probe->driver.cuIpcOpenMemHandle(&address, probe->foreign, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  });
}

std::string close_handle(Probe *probe) {
  CUdeviceptr address = 0;
  need(probe, probe->driver.cuIpcOpenMemHandle(&address, probe->foreign, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
       "cuIpcOpenMemHandle");
  return while_waiting(probe, [probe, address] { return probe->driver.cuIpcCloseMemHandle(address); });
}

// Memory that is mapped piece by piece.
CUresult make_piece(const Probe &probe, CUdeviceptr *address, CUmemGenericAllocationHandle *piece) {
  const Driver &d = probe.driver;
  CUmemAllocationProp what = {};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, {probe.device}};
  constexpr std::size_t kPieceBytes = 2 * kBytes;
  CUresult result = d.cuMemCreate(piece, kPieceBytes, &what, 0);
  if (result == CUDA_SUCCESS) result = d.cuMemAddressReserve(address, kPieceBytes, 0, 0, 0);
  if (result == CUDA_SUCCESS) result = d.cuMemMap(*address, kPieceBytes, 0, *piece, 0);
  const CUmemAccessDesc access = {what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return result == CUDA_SUCCESS ? d.cuMemSetAccess(*address, kPieceBytes, &access, 1) : result;
}

std::string map_piece(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle piece = 0;
    return make_piece(*probe, &address, &piece);
  });
}

std::string unmap_piece(Probe *probe) {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle piece = 0;
  need(probe, make_piece(*probe, &address, &piece), "cuMemMap");
  return while_waiting(probe, [probe, address, piece] {
    const CUresult result = probe->driver.cuMemUnmap(address, 2 * kBytes);
    return result == CUDA_SUCCESS ? probe->driver.cuMemRelease(piece) : result;
  });
}

std::string set_attribute(Probe *probe) {
  return while_waiting(probe, [probe] {
    unsigned is_on = 1;
    return probe->driver.cuPointerSetAttribute(&is_on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, probe->memory);
  });
}

std::string copy_and_wait(Probe *probe) {
  return while_waiting(probe, [probe] {
    std::array<char, 4096> pageable{};
    return probe->driver.cuMemcpy(reinterpret_cast<CUdeviceptr>(pageable.data()), probe->memory, pageable.size());
  });
}

// ---- c: kernels and streams made late ----

std::string load_module(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    const CUresult result = probe->driver.cuModuleLoadData(&module, kKernel);
    return result == CUDA_SUCCESS ? probe->driver.cuModuleGetFunction(&kernel, module, "nothing") : result;
  });
}

std::string launch_first(Probe *probe) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  need(probe, probe->driver.cuModuleLoadData(&module, kKernel), "cuModuleLoadData");
  need(probe, probe->driver.cuModuleGetFunction(&kernel, module, "nothing"), "cuModuleGetFunction");
  CUstream other = make_stream(probe, greatest_priority(probe));
  return while_waiting(probe, [=] {
    const CUresult result = probe->driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr);
    return result == CUDA_SUCCESS ? probe->driver.cuStreamSynchronize(other) : result;
  });
}

std::string create_stream(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUstream stream = nullptr;
    return probe->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  });
}

std::string destroy_stream(Probe *probe) {
  CUstream stream = make_stream(probe, 0);
  return while_waiting(probe, [probe, stream] { return probe->driver.cuStreamDestroy(stream); });
}

std::string create_event(Probe *probe) {
  return while_waiting(probe, [probe] {
    CUevent event = nullptr;
    return probe->driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  });
}

// ---- d: channels that streams share ----

// Of many streams, how many do not come to a copy, or a kernel, that is enqueued behind nothing.
std::string behind_the_wait(Probe *probe, int priority, bool is_kernel = false, std::size_t n_streams = 40) {
  const Driver &d = probe->driver;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  need(probe, d.cuModuleLoadData(&module, kKernel), "cuModuleLoadData");
  need(probe, d.cuModuleGetFunction(&kernel, module, "nothing"), "cuModuleGetFunction");
  std::vector<CUstream> streams;
  for (std::size_t i = 0; i < n_streams; ++i) streams.push_back(make_stream(probe, priority));
  begin_wait(probe);
  std::atomic<bool> is_enqueued = false;
  std::thread enqueue([&] {
    if (d.cuCtxSetCurrent(probe->context) != CUDA_SUCCESS) return;
    for (CUstream stream : streams) {
      const CUresult result =
          is_kernel ? d.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr)
                    : d.cuMemcpyAsync(probe->memory, reinterpret_cast<CUdeviceptr>(probe->pinned), 64, stream);
      if (result != CUDA_SUCCESS) return;
    }
    is_enqueued = true;
  });
  enqueue.detach();
  if (!comes([&] { return is_enqueued.load(); })) answer(probe, "HELD UP while enqueuing");
  std::size_t n_behind = 0;
  const auto count = [&] {
    n_behind = 0;
    for (CUstream stream : streams) n_behind += d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY ? 1 : 0;
    return n_behind == 0;
  };
  comes(count);
  const std::size_t n_stuck = n_behind;
  release(probe);
  const bool ends = comes(count);
  return std::to_string(n_stuck) + " of " + std::to_string(n_streams) + " stand behind it" +
         (ends ? "" : ", and do not go on when it is released");
}

std::string same_priority(Probe *probe) {
  return behind_the_wait(probe, 0);
}
std::string many_copies(Probe *probe) {
  return behind_the_wait(probe, 0, false, 300);
}
std::string many_kernels(Probe *probe) {
  return behind_the_wait(probe, 0, true, 300);
}
std::string other_priority(Probe *probe) {
  return behind_the_wait(probe, greatest_priority(probe));
}

// ---- e: the default stream ----

std::string default_stream(Probe *probe) {
  return while_waiting(probe, [probe] {
    const CUresult result =
        probe->driver.cuMemcpyAsync(probe->memory, reinterpret_cast<CUdeviceptr>(probe->pinned), 64, CU_STREAM_LEGACY);
    return result == CUDA_SUCCESS ? probe->driver.cuStreamSynchronize(CU_STREAM_LEGACY) : result;
  });
}

std::string default_stream_beside_blocking(Probe *probe) {
  need(probe, probe->driver.cuStreamCreate(&probe->waiting, CU_STREAM_DEFAULT), "cuStreamCreate");
  return default_stream(probe);
}

std::string query_legacy(Probe *probe) {
  return while_waiting(probe, [probe] {
    const CUresult result = probe->driver.cuStreamQuery(CU_STREAM_LEGACY);
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
  });
}

// A thread of its own, which has no such stream yet. Like another stream, it may need room in the driver.
std::string query_per_thread(Probe *probe) {
  return while_waiting(probe, [probe] { return probe->driver.cuStreamQuery(CU_STREAM_PER_THREAD); });
}

// How many streams can be made while one waits.
std::string create_many_streams(Probe *probe) {
  static std::atomic<int> n_made{0};
  begin_wait(probe);
  const std::string text = time_call(probe, [probe] {
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < kStreams && result == CUDA_SUCCESS; ++i) {
      CUstream stream = nullptr;
      result = probe->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      const bool is_waiting = __atomic_load_n(probe->words, __ATOMIC_ACQUIRE) == 0;
      if (result == CUDA_SUCCESS && is_waiting) ++n_made;
    }
    return result;
  });
  return text + "; " + std::to_string(n_made) + " were made before";
}

// ---- f: the test that hung: a gate, a trigger and a wait in one stream, and a host that waits for it ----

std::string gate_trigger_wait(Probe *probe) {
  const Driver &d = probe->driver;
  begin_wait(probe);
  need(probe, d.cuStreamWriteValue64(probe->waiting, probe->words_on_device + 64, 1, 0), "cuStreamWriteValue64");
  need(probe, d.cuStreamWaitValue64(probe->waiting, probe->words_on_device + 128, 1, CU_STREAM_WAIT_VALUE_GEQ),
       "cuStreamWaitValue64");
  std::thread([&d, probe] {
    if (d.cuCtxSetCurrent(probe->context) == CUDA_SUCCESS && d.cuStreamSynchronize(probe->waiting) == CUDA_SUCCESS) {
      __atomic_store_n(probe->words + 24, 1, __ATOMIC_RELEASE);
    }
  }).detach();
  release(probe);
  if (!comes([&] { return __atomic_load_n(probe->words + 8, __ATOMIC_ACQUIRE) == 1; }))
    return "the trigger never comes";
  __atomic_store_n(probe->words + 16, 1, __ATOMIC_RELEASE);
  const bool ends = comes([&] { return __atomic_load_n(probe->words + 24, __ATOMIC_ACQUIRE) == 1; });
  return ends ? "passes" : "the stream does not end";
}

constexpr Case kCases[] = {
    {'a', "a stream full of writes and waits", full_of_words},
    {'a', "a stream full of kernels", full_of_kernels},
    {'b', "cuMemAlloc", alloc_device},
    {'b', "cuMemFree", free_device},
    {'b', "cuMemHostAlloc", alloc_host},
    {'b', "cuMemFreeHost", free_host},
    {'b', "cuMemHostRegister", register_host},
    {'b', "cuMemHostUnregister", unregister_host},
    {'b', "cuIpcGetMemHandle", export_handle},
    {'b', "cuIpcOpenMemHandle", open_handle, 0},
    {'b', "cuIpcOpenMemHandle, of another device: the first", open_handle, 1},
    {'b', "cuIpcCloseMemHandle", close_handle, 0},
    {'b', "cuMemCreate, cuMemMap, cuMemSetAccess", map_piece},
    {'b', "cuMemUnmap, cuMemRelease", unmap_piece},
    {'b', "cuPointerSetAttribute(SYNC_MEMOPS)", set_attribute},
    {'b', "cuMemcpy to pageable memory", copy_and_wait},
    {'c', "cuModuleLoadData", load_module},
    {'c', "cuModuleLoadData, CUDA_MODULE_LOADING=EAGER", load_module, -1, "CUDA_MODULE_LOADING=EAGER"},
    {'c', "the first launch of a kernel", launch_first},
    {'c', "cuStreamCreate", create_stream},
    {'c', "cuStreamCreate, 200 times", create_many_streams},
    {'c', "cuStreamDestroy of an idle stream", destroy_stream},
    {'c', "cuEventCreate", create_event},
    {'d', "copies in 40 streams of the same priority", same_priority},
    {'d', "the same, CUDA_DEVICE_MAX_CONNECTIONS=32", same_priority, -1, "CUDA_DEVICE_MAX_CONNECTIONS=32"},
    {'d', "copies in 40 streams of the greatest priority", other_priority},
    {'d', "copies in 300 streams of the same priority", many_copies},
    {'d', "kernels in 300 streams of the same priority", many_kernels},
    {'e', "a copy in the default stream", default_stream},
    {'e', "the same, where the waiting stream is a blocking one", default_stream_beside_blocking},
    {'e', "a question to the default stream", query_legacy},
    {'e', "a question to a new thread's default stream", query_per_thread},
    // The same where a kernel waits.
    {'k', "cuMemAlloc", alloc_device, -1, nullptr, true},
    {'k', "cuMemFree", free_device, -1, nullptr, true},
    {'k', "cuMemHostAlloc", alloc_host, -1, nullptr, true},
    {'k', "cuMemHostRegister", register_host, -1, nullptr, true},
    {'k', "cuMemHostUnregister", unregister_host, -1, nullptr, true},
    {'k', "cuIpcGetMemHandle", export_handle, -1, nullptr, true},
    {'k', "cuIpcOpenMemHandle", open_handle, 0, nullptr, true},
    {'k', "cuIpcOpenMemHandle, of another device: the first", open_handle, 1, nullptr, true},
    {'k', "cuIpcCloseMemHandle", close_handle, 0, nullptr, true},
    {'k', "cuMemCreate, cuMemMap, cuMemSetAccess", map_piece, -1, nullptr, true},
    {'k', "cuMemUnmap, cuMemRelease", unmap_piece, -1, nullptr, true},
    {'k', "cuModuleLoadData", load_module, -1, nullptr, true},
    {'k', "the first launch of a kernel", launch_first, -1, nullptr, true},
    {'k', "cuStreamCreate", create_stream, -1, nullptr, true},
    {'k', "cuStreamCreate, 200 times", create_many_streams, -1, nullptr, true},
    {'k', "cuStreamDestroy of an idle stream", destroy_stream, -1, nullptr, true},
    {'k', "a question to a new thread's default stream", query_per_thread, -1, nullptr, true},
    {'k', "copies in 300 streams of the same priority", many_copies, -1, nullptr, true},
    {'k', "kernels in 300 streams of the same priority", many_kernels, -1, nullptr, true},
    {'f', "gate, trigger and wait, the host in cuStreamSynchronize", gate_trigger_wait},
};

}  // namespace

std::span<const Case> cases() {
  return kCases;
}

}  // namespace sluice::backends::cuda::probe
