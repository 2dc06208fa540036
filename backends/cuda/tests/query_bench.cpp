// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures what a pointer query costs, for each way to ask the driver and each memory kind.
//   query_bench [--module libsluice_backend_cuda.so]
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "bench_device.h"
#include "bench_module.h"

namespace sluice::backends::cuda::bench {

namespace {

constexpr int kCalls = 200'000;

CUresult ask_type(const Driver &driver, CUdeviceptr address) {
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  return driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
}

CUresult ask_buffer(const Driver &driver, CUdeviceptr address) {
  unsigned long long id = 0;
  return driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
}

template <unsigned kCount>
CUresult ask_several(const Driver &driver, CUdeviceptr address) {
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  unsigned long long id = 0;
  int device = -1;
  unsigned managed = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void *values[] = {&type, &managed, &device, &id};
  return driver.cuPointerGetAttributes(kCount, names, values, address);
}

template <typename Ask>
void print_time(const char *how, const char *kind, const Ask &ask) {
  for (int i = 0; i < 1000; ++i) ask();
  const auto begin = std::chrono::steady_clock::now();
  int result = 0;
  for (int i = 0; i < kCalls; ++i) result = ask();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-40s %-20s %7.1f ns (result %d)\n", how, kind, took.count() / kCalls, result);
}

struct Sample {
  const char *kind;
  void *address;
};

}  // namespace

int run(const char *module_path) {
  static Device d;
  const std::string why = open_driver(&d.driver, true);
  if (!why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
  }
  Sample samples[] = {{"heap", std::malloc(4096)}, {"mmap", nullptr},   {"stack", &d},       {"host alloc", nullptr},
                      {"registered", nullptr},     {"device", nullptr}, {"managed", nullptr}};
  Module module;
  print_time("before cuInit: memory type", "heap",
             [&] { return ask_type(d.driver, reinterpret_cast<CUdeviceptr>(samples[0].address)); });
  check(d, d.driver.cuInit(0), "cuInit");
  print_time("before a context: memory type", "heap",
             [&] { return ask_type(d.driver, reinterpret_cast<CUdeviceptr>(samples[0].address)); });
  check(d, d.driver.cuDevicePrimaryCtxRetain(&d.context, 0), "cuDevicePrimaryCtxRetain");
  check(d, d.driver.cuCtxSetCurrent(d.context), "cuCtxSetCurrent");
  constexpr std::size_t kBytes = 65536;
  samples[1].address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(d, d.driver.cuMemHostAlloc(&samples[3].address, kBytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
  samples[4].address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(d, d.driver.cuMemHostRegister(samples[4].address, kBytes, 0), "cuMemHostRegister");
  CUdeviceptr memory = 0;
  // Some more allocations, as a program has them.
  for (int i = 0; i < 200; ++i)
    check(d, d.driver.cuMemAlloc(&memory, kBytes * static_cast<std::size_t>(i + 1)), "cuMemAlloc");
  samples[5].address = reinterpret_cast<void *>(memory + 100);
  check(d, d.driver.cuMemAllocManaged(&memory, kBytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
  samples[6].address = reinterpret_cast<void *>(memory);
  if (module_path != nullptr) {
    const std::string refused = module.open(module_path);
    if (!refused.empty()) std::printf("%s: %s\n", module_path, refused.c_str());
    if (!refused.empty()) module_path = nullptr;
  }
  for (const Sample &s : samples) {
    const auto at = reinterpret_cast<CUdeviceptr>(s.address);
    print_time("cuPointerGetAttribute memory type", s.kind, [&] { return ask_type(d.driver, at); });
    print_time("cuPointerGetAttribute buffer id", s.kind, [&] { return ask_buffer(d.driver, at); });
    print_time("cuPointerGetAttributes 1", s.kind, [&] { return ask_several<1>(d.driver, at); });
    print_time("cuPointerGetAttributes 2", s.kind, [&] { return ask_several<2>(d.driver, at); });
    print_time("cuPointerGetAttributes 4", s.kind, [&] { return ask_several<4>(d.driver, at); });
    if (module_path == nullptr) continue;
    sluice_pointer_info_t info = {};
    print_time("module query_pointer", s.kind, [&] { return module.table()->query_pointer(s.address, &info); });
    std::printf("%-40s kind %d device %d id %llu\n", "", info.kind, info.device,
                static_cast<unsigned long long>(info.allocation_id));
  }
  return 0;
}

}  // namespace sluice::backends::cuda::bench

int main(int argc, char **argv) {
  const char *module_path = argc == 3 && std::strcmp(argv[1], "--module") == 0 ? argv[2] : nullptr;
  return sluice::backends::cuda::bench::run(module_path);
}
