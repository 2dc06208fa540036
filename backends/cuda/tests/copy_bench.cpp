// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures every way to copy small data between host and device memory, checks each copy's
// bytes right after its completion, and says which host memory another process can read.
//   copy_bench [--iterations N] [--module libsluice_backend_cuda.so]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "bench_device.h"
#include "bench_module.h"

extern "C" const unsigned char sluice_copy_kernels[];

namespace sluice::backends::cuda::bench {

namespace {

constexpr std::size_t kSizes[] = {8, 64, 1024, 4096, 32768, 262144, 1048576};

// ---- can another process read this memory? ----

struct Reader {
  int orders[2] = {-1, -1};
  int answers[2] = {-1, -1};
};

struct Order {
  void *address;
  std::size_t size_bytes;
};

// A child that reads its parent's memory as the shared-memory path of a host MPI does. Started before cuInit.
Reader start_reader() {
  Reader reader;
  if (pipe(reader.orders) != 0 || pipe(reader.answers) != 0) return reader;
  const pid_t parent = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (fork() == 0) {
    close(reader.orders[1]);
    Order order = {};
    static char local[65536];
    while (read(reader.orders[0], &order, sizeof order) == static_cast<ssize_t>(sizeof order)) {
      iovec to = {local, sizeof local};
      iovec from = {order.address, order.size_bytes};
      const ssize_t n = process_vm_readv(parent, &to, 1, &from, 1, 0);
      int answer = n == static_cast<ssize_t>(order.size_bytes) ? 0 : errno;
      for (std::size_t i = 0; answer == 0 && i < order.size_bytes; ++i)
        if (local[i] != static_cast<char>(i * 7)) answer = -1;
      if (write(reader.answers[1], &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) break;
    }
    _exit(0);
  }
  return reader;
}

void report_reader(const Reader &reader, const char *kind, char *memory) {
  constexpr std::size_t kBytes = 65536;
  for (std::size_t i = 0; i < kBytes; ++i) memory[i] = static_cast<char>(i * 7);
  const Order order = {memory, kBytes};
  int answer = 0;
  if (write(reader.orders[1], &order, sizeof order) != static_cast<ssize_t>(sizeof order) ||
      read(reader.answers[0], &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer))
    answer = -2;
  const char *text = answer == 0    ? "works"
                     : answer == -1 ? "WRONG DATA"
                     : answer == -2 ? "no reader"
                                    : strerror(answer);
  std::printf("process_vm_readv of %-28s %s\n", kind, text);
}

// ---- set-up ----

char *mapped_pages(std::size_t size_bytes) {
  void *memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(2);
  return static_cast<char *>(memory);
}

void *host_alloc(const Device &d, std::size_t size_bytes) {
  void *memory = nullptr;
  check(d, d.driver.cuMemHostAlloc(&memory, size_bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc");
  std::memset(memory, 0, size_bytes);
  return memory;
}

void load_kernels(Device &d) {
  const auto begin = std::chrono::steady_clock::now();
  CUmodule module = nullptr;
  check(d, d.driver.cuModuleLoadData(&module, sluice_copy_kernels), "cuModuleLoadData");
  const struct {
    CUfunction *function;
    const char *name;
  } functions[] = {{&d.send_packets, "sluice_send_packets"},
                   {&d.send_ordered_packets, "sluice_send_ordered_packets"},
                   {&d.copy_and_flag, "sluice_copy_and_flag"},
                   {&d.write_inline, "sluice_write_inline"},
                   {&d.copy_wide, "sluice_copy_wide"}};
  for (const auto &f : functions) check(d, d.driver.cuModuleGetFunction(f.function, module, f.name), f.name);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("loading the kernels took %.2f ms\n", took.count());
}

void open_device(Device &d) {
  const std::string why = open_driver(&d.driver, true);
  if (!why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
  }
  check(d, d.driver.cuInit(0), "cuInit");
  check(d, d.driver.cuDeviceGet(&d.ordinal, 0), "cuDeviceGet");
  check(d, d.driver.cuDevicePrimaryCtxRetain(&d.context, d.ordinal), "cuDevicePrimaryCtxRetain");
  check(d, d.driver.cuCtxSetCurrent(d.context), "cuCtxSetCurrent");
  check(d, d.driver.cuStreamCreate(&d.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(d, d.driver.cuEventCreate(&d.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  for (int i = 0; i < 2; ++i) {
    check(d, d.driver.cuMemAlloc(&d.memory[i], kMaxBytes), "cuMemAlloc");
    d.pageable[i] = mapped_pages(kMaxBytes);
    std::memset(d.pageable[i], 0, kMaxBytes);
    d.pinned[i] = static_cast<char *>(host_alloc(d, kMaxBytes));
    d.registered[i] = mapped_pages(kMaxBytes);
    check(d,
          d.driver.cuMemHostRegister(d.registered[i], kMaxBytes,
                                     CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          "cuMemHostRegister");
  }
  d.flag = static_cast<volatile std::uint64_t *>(host_alloc(d, 4096));
  d.packets = static_cast<Packet *>(host_alloc(d, kMaxPackets * sizeof(Packet)));
  d.order = static_cast<CopyOrder *>(host_alloc(d, 4096));
  load_kernels(d);
}

// ---- one variant at one size ----

char pattern_byte(int which, std::size_t i) {
  return static_cast<char>(i * 31 + (i >> 8) * 7 + static_cast<std::size_t>(which) * 113 + 1);
}

void fill(char *to, int which) {
  for (std::size_t i = 0; i < kMaxBytes; ++i) to[i] = pattern_byte(which, i);
}

// Bytes that differ; every byte of small copies, a sample of large ones.
std::size_t count_wrong(const char *data, int which, std::size_t size) {
  const std::size_t step = size <= 4096 ? 1 : 61;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < size; i += step) wrong += data[i] != pattern_byte(which, i) ? 1 : 0;
  return wrong + (data[size - 1] != pattern_byte(which, size - 1) ? 1 : 0);
}

struct Outcome {
  std::string why;  // why there is none
  double median_us = 0;
  double min_us = 0;
  std::size_t wrong_bytes = 0;
};

char *host_side(const Device &d, HostMemory kind, int which) {
  if (kind == HostMemory::kPageable) return d.pageable[which];
  return kind == HostMemory::kPinned ? d.pinned[which] : d.registered[which];
}

// `copy(dst, src)` moves `size` bytes; sources alternate between two patterns, so stale data is seen.
template <typename Copy>
Outcome measure(Device &d, Direction direction, HostMemory host, std::size_t size, int iterations, const Copy &copy) {
  const bool down = direction == Direction::kDeviceToHost;
  for (int which = 0; which < 2; ++which) {
    fill(host_side(d, host, which), which);
    check(d, d.driver.cuMemcpyHtoD(d.memory[which], host_side(d, host, which), kMaxBytes), "cuMemcpyHtoD");
  }
  static CUdeviceptr device_target = 0;
  if (device_target == 0) check(d, d.driver.cuMemAlloc(&device_target, kMaxBytes), "cuMemAlloc");
  static char *host_targets[3] = {mapped_pages(kMaxBytes), static_cast<char *>(host_alloc(d, kMaxBytes)), nullptr};
  char *host_target = host == HostMemory::kPageable ? host_targets[0] : host_targets[1];
  check(d, d.driver.cuCtxSynchronize(), "cuCtxSynchronize");
  Outcome out;
  std::vector<double> times;
  std::vector<char> back(size);
  for (int i = -50; i < iterations; ++i) {
    const int which = i & 1;
    void *dst = down ? host_target : reinterpret_cast<void *>(device_target);
    const void *src = down ? reinterpret_cast<void *>(d.memory[which]) : host_side(d, host, which);
    const auto begin = std::chrono::steady_clock::now();
    out.why = copy(dst, src);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (!out.why.empty()) return out;
    if (i >= 0) times.push_back(took.count());
    if (down) {
      out.wrong_bytes += count_wrong(host_target, which, size);
    } else if (i % 8 == 0) {
      check(d, d.driver.cuMemcpyDtoH(back.data(), device_target, size), "cuMemcpyDtoH");
      out.wrong_bytes += count_wrong(back.data(), which, size);
    }
  }
  std::sort(times.begin(), times.end());
  out.median_us = times[times.size() / 2];
  out.min_us = times.front();
  return out;
}

void print_row(const char *name, const std::vector<Outcome> &row) {
  std::printf("%-38s", name);
  std::size_t wrong = 0;
  std::string why;
  for (const Outcome &o : row) {
    if (o.why.empty()) {
      std::printf(" %7.2f/%-7.2f", o.median_us, o.min_us);
    } else {
      std::printf(" %15s", "-");
    }
    wrong += o.wrong_bytes;
    if (o.why.size() > 1) why = o.why;
  }
  std::printf("%s%s%s\n", wrong != 0 ? "  WRONG DATA" : "", why.empty() ? "" : "  ", why.c_str());
  std::fflush(stdout);
}

void run_variants(Device &d, Direction direction, int iterations) {
  for (const Variant &variant : variants()) {
    if (variant.direction != direction || variant.max_bytes == 0) continue;
    std::vector<Outcome> row;
    for (const std::size_t size : kSizes) {
      Outcome outcome;
      outcome.why = "-";
      if (size <= variant.max_bytes) {
        outcome = measure(d, direction, variant.host, size, iterations,
                          [&](void *dst, const void *src) { return variant.copy(d, dst, src, size); });
      }
      row.push_back(outcome);
    }
    print_row(variant.name, row);
  }
}

void run_module(Device &d, Module &module, Direction direction, int iterations) {
  static constexpr struct {
    const char *name;
    HostMemory host;
    bool tickets;
  } kWays[] = {{"module copy, pinned", HostMemory::kPinned, false},
               {"module copy, registered", HostMemory::kRegistered, false},
               {"module copy, pageable", HostMemory::kPageable, false},
               {"module enqueue+ticket+wait, pinned", HostMemory::kPinned, true}};
  for (const auto &way : kWays) {
    std::vector<Outcome> row;
    for (const std::size_t size : kSizes) {
      row.push_back(measure(d, direction, way.host, size, iterations, [&](void *dst, const void *src) {
        return way.tickets ? module.copy_by_ticket(dst, src, size) : module.copy(dst, src, size);
      }));
    }
    print_row(way.name, row);
  }
}

void report_readers(const Device &d, const Reader &reader) {
  report_reader(reader, "malloc'd memory", d.pageable[0]);
  report_reader(reader, "cuMemHostAlloc memory", d.pinned[0]);
  report_reader(reader, "mmap + cuMemHostRegister", d.registered[0]);
  CUdeviceptr managed = 0;
  check(d, d.driver.cuMemAllocManaged(&managed, kMaxBytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
  report_reader(reader, "managed memory", reinterpret_cast<char *>(managed));
  check(d, d.driver.cuMemFree(managed), "cuMemFree");
}

}  // namespace

int run(int iterations, const char *module_path) {
  const Reader reader = start_reader();
  static Device d;
  open_device(d);
  report_readers(d, reader);
  close(reader.orders[1]);
  wait(nullptr);
  Module module;
  if (module_path != nullptr) {
    const std::string why = module.open(module_path);
    if (!why.empty()) std::printf("%s: %s\n", module_path, why.c_str());
    if (!why.empty()) module_path = nullptr;
  }
  for (const Direction direction : {Direction::kDeviceToHost, Direction::kHostToDevice}) {
    std::printf("\n%s: median/min of %d in us\n%-38s",
                direction == Direction::kDeviceToHost ? "device to host" : "host to device", iterations, "");
    for (const std::size_t size : kSizes) std::printf(" %7zu B%6s", size, "");
    std::printf("\n");
    if (module_path == nullptr || getenv("SLUICE_BENCH_MODULE_ONLY") == nullptr) run_variants(d, direction, iterations);
    if (module_path != nullptr) run_module(d, module, direction, iterations);
  }
  for (const Variant &variant : variants()) {
    if (variant.max_bytes != 0) continue;
    std::vector<double> times;
    for (int i = 0; i < iterations; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const std::string why = variant.copy(d, nullptr, nullptr, 0);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      if (!why.empty()) break;
      times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    if (!times.empty()) std::printf("\n%s %.2f/%.2f\n", variant.name, times[times.size() / 2], times.front());
  }
  return 0;
}

}  // namespace sluice::backends::cuda::bench

int main(int argc, char **argv) {
  int iterations = 2000;
  const char *module_path = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--iterations") == 0) iterations = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--module") == 0) module_path = argv[i + 1];
  }
  return sluice::backends::cuda::bench::run(iterations > 0 ? iterations : 2000, module_path);
}
