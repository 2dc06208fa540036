// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures the ways to copy and to query pointers through the runtime, on the first GPU or
// else the first device. The choices in copies.cpp, pointers.cpp and memory.cpp come from its figures.
//   sycl_bench [iterations [lists]]     with a second word only lists of copies
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/sycl.hpp>
#include <vector>

namespace {

namespace experimental = sycl::ext::oneapi::experimental;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr std::size_t kSizes[] = {8, 1024, 4096, 32768, 262144, kMaxBytes};

using CopyFunction = void (*)(sycl::queue &queue, void *dst, const void *src, std::size_t size_bytes);

void event_wait(sycl::queue &queue, void *dst, const void *src, std::size_t size) {
  queue.memcpy(dst, src, size).wait();
}

void event_poll(sycl::queue &queue, void *dst, const void *src, std::size_t size) {
  const sycl::event event = queue.memcpy(dst, src, size);
  while (event.get_info<sycl::info::event::command_execution_status>() != sycl::info::event_command_status::complete) {
  }
}

void queue_wait(sycl::queue &queue, void *dst, const void *src, std::size_t size) {
  queue.memcpy(dst, src, size);
  queue.wait();
}

void eventless_wait(sycl::queue &queue, void *dst, const void *src, std::size_t size) {
  experimental::memcpy(queue, dst, src, size);
  queue.wait();
}

void eventless_poll(sycl::queue &queue, void *dst, const void *src, std::size_t size) {
  experimental::memcpy(queue, dst, src, size);
  while (!queue.khr_empty()) {
  }
}

constexpr struct {
  const char *name;
  CopyFunction copy;
} kCopies[] = {{"memcpy, event wait", event_wait},
               {"memcpy, event poll", event_poll},
               {"memcpy, queue wait", queue_wait},
               {"eventless memcpy, queue wait", eventless_wait},
               {"eventless memcpy, queue poll", eventless_poll}};

double median_us(int iterations, const std::function<void(int)> &body) {
  std::vector<double> times;
  for (int i = -20; i < iterations; ++i) {
    const auto begin = Clock::now();
    body(i & 1);
    if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + iterations / 2, times.end());
  return times[static_cast<std::size_t>(iterations) / 2];
}

struct HostMemory {
  const char *name;
  char *data;
};

void measure_copies(sycl::queue &queue, int iterations) {
  char *sources[2];
  for (int which = 0; which < 2; ++which) {
    sources[which] = sycl::malloc_device<char>(kMaxBytes, queue);
    queue.memset(sources[which], which + 1, kMaxBytes).wait();
  }
  const HostMemory memories[] = {
      {"malloc", static_cast<char *>(std::calloc(kMaxBytes, 1))},
      {"aligned", static_cast<char *>(std::memset(std::aligned_alloc(4096, kMaxBytes), 0, kMaxBytes))},
      {"runtime", sycl::malloc_host<char>(kMaxBytes, queue)},
      {"runtime aligned", sycl::aligned_alloc_host<char>(4096, kMaxBytes, queue)}};
  for (const HostMemory &memory : memories) {
    for (const auto &way : kCopies) {
      for (const bool down : {true, false}) {
        std::printf("%s  %-16s %-30s", down ? "D2H" : "H2D", memory.name, way.name);
        std::size_t wrong = 0;
        for (const std::size_t size : kSizes) {
          const double us = median_us(iterations, [&](int which) {
            if (!down) return way.copy(queue, sources[which], memory.data, size);
            way.copy(queue, memory.data, sources[which], size);
            wrong += memory.data[0] != which + 1 || memory.data[size - 1] != which + 1 ? 1 : 0;
          });
          std::printf(" %9.2f", us);
        }
        if (!down)
          for (int which = 0; which < 2; ++which) queue.memset(sources[which], which + 1, kMaxBytes).wait();
        std::printf("%s\n", wrong != 0 ? "  WRONG DATA" : "");
        std::fflush(stdout);
      }
    }
  }
}

// What the host does for a list of copies in one in-order queue, until it has the event of the last, and how long until
// that has come. Both ways in turns, so that a busy machine treats them alike.
void event_each(sycl::queue &queue, char *dst, const char *src, std::size_t n, std::size_t size, sycl::event *last) {
  for (std::size_t i = 0; i < n; ++i) *last = queue.memcpy(dst + i * size, src + i * size, size);
}

void event_last(sycl::queue &queue, char *dst, const char *src, std::size_t n, std::size_t size, sycl::event *last) {
  for (std::size_t i = 0; i + 1 < n; ++i) experimental::memcpy(queue, dst + i * size, src + i * size, size);
  *last = queue.memcpy(dst + (n - 1) * size, src + (n - 1) * size, size);
}

constexpr struct {
  const char *name;
  void (*enqueue)(sycl::queue &, char *, const char *, std::size_t, std::size_t, sycl::event *);
} kLists[] = {{"an event each", event_each}, {"an event at the end", event_last}};

double median_of(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void measure_lists(sycl::queue &queue, int iterations) {
  constexpr int kRounds = 9;
  constexpr std::size_t kLengths[][2] = {{2, 4096}, {16, 4096}, {64, 4096}, {64, 64}};
  auto *from = sycl::malloc_device<char>(kMaxBytes, queue);
  auto *to = sycl::malloc_host<char>(kMaxBytes, queue);
  queue.memset(from, 7, kMaxBytes).wait();
  for (const auto &[n, size] : kLengths) {
    for (int round = 0; round < kRounds; ++round) {
      for (const auto &way : kLists) {
        std::vector<double> enqueued;
        std::vector<double> all;
        std::memset(to, 0, kMaxBytes);
        for (int i = 0; i < iterations; ++i) {
          sycl::event last;
          const auto begin = Clock::now();
          way.enqueue(queue, to, from, n, size, &last);
          const auto middle = Clock::now();
          last.wait_and_throw();
          all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
          enqueued.push_back(std::chrono::duration<double, std::micro>(middle - begin).count());
        }
        const bool is_right = std::all_of(to, to + n * size, [](char byte) { return byte == 7; });
        std::printf("list of %3zu x %5zu, round %d, %-20s enqueued %9.2f us, done %9.2f us%s\n", n, size, round,
                    way.name, median_of(enqueued), median_of(all), is_right ? "" : "  WRONG DATA");
      }
    }
  }
}

void measure_call(const char *what, const std::function<int()> &call) {
  constexpr int kCalls = 100'000;
  int result = call();
  const auto begin = Clock::now();
  for (int i = 0; i < kCalls; ++i) result = call();
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  std::printf("%-50s %8.1f ns (result %d)\n", what, took.count() / kCalls, result);
}

void measure_queries(sycl::queue &queue) {
  const sycl::context context = queue.get_context();
  void *device = sycl::malloc_device(kMaxBytes, queue);
  void *host = sycl::malloc_host(kMaxBytes, queue);
  void *shared = sycl::malloc_shared(kMaxBytes, queue);
  void *plain = std::malloc(kMaxBytes);
  const auto type = [&](const void *at) { return static_cast<int>(sycl::get_pointer_type(at, context)); };
  measure_call("empty call", [&] { return 0; });
  measure_call("get_pointer_type, malloc", [&] { return type(plain); });
  measure_call("get_pointer_type, stack", [&] { return type(&device); });
  measure_call("get_pointer_type, device", [&] { return type(static_cast<char *>(device) + 1000); });
  measure_call("get_pointer_type, host", [&] { return type(host); });
  measure_call("get_pointer_type, shared", [&] { return type(shared); });
  measure_call("get_pointer_device, device",
               [&] { return sycl::get_pointer_device(device, context) == queue.get_device() ? 1 : 0; });
  const sycl::event event = queue.memcpy(device, plain, 8);
  queue.wait();
  measure_call("event status, done",
               [&] { return static_cast<int>(event.get_info<sycl::info::event::command_execution_status>()); });
  measure_call("queue empty", [&] { return queue.khr_empty() ? 1 : 0; });
}

}  // namespace

int main(int argc, char **argv) try {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 1000;
  const auto begin = Clock::now();
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  std::printf("listing devices took %.1f ms\n",
              std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  const auto gpu = std::find_if(devices.begin(), devices.end(), [](const sycl::device &d) { return d.is_gpu(); });
  const sycl::device device = gpu != devices.end() ? *gpu : devices.at(0);
  const auto second = Clock::now();
  const sycl::context context = device.get_platform().khr_get_default_context();
  sycl::queue queue(context, device, sycl::property::queue::in_order());
  std::printf("context and queue took %.1f ms\n%s\n",
              std::chrono::duration<double, std::milli>(Clock::now() - second).count(),
              device.get_info<sycl::info::device::name>().c_str());
  measure_lists(queue, iterations);
  if (argc > 2) return 0;
  measure_queries(queue);
  std::printf("us per copy:%50s", "");
  for (const std::size_t size : kSizes) std::printf(" %8zu", size);
  std::printf("\n");
  measure_copies(queue, iterations);
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
