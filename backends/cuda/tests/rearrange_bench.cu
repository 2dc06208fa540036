// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures the module's kernel that moves data from one layout to another, in device memory,
// beside what there would be without it: one that packs and one that unpacks, and a kernel written by hand for two
// layouts of rows.
//   rearrange_bench [--repeats N] [--module libsluice_backend_cuda.so]
// Each line: case, payload, microseconds of one call in a row of ten by hand, by two launches and by one, and their
// ratios; what was moved is compared byte by byte first. Exit status 1 when a byte was wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench_module.h"

namespace {

using sluice::backends::cuda::bench::Module;

constexpr unsigned kThreads = 256;
constexpr std::size_t kRoomBytes = std::size_t{1} << 30;

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(2);
}

// Rows of row_bytes, every stride_bytes, `shift` bytes behind a border.
struct Rows {
  std::uint64_t row_bytes;
  std::int64_t stride_bytes;
  std::uint64_t shift;
};

struct Case {
  const char *name;
  Rows from;
  Rows to;
};

// One thread for each element of type T, which divides all lengths of both sides.
template <typename T>
__global__ void hand(const char *from, char *to, Rows a, Rows b, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned in_a = static_cast<unsigned>(a.row_bytes / sizeof(T));
  const unsigned in_b = static_cast<unsigned>(b.row_bytes / sizeof(T));
  const unsigned k = static_cast<unsigned>(i);
  const T *source = reinterpret_cast<const T *>(from + std::int64_t{k / in_a} * a.stride_bytes) + k % in_a;
  T *target = reinterpret_cast<T *>(to + std::int64_t{k / in_b} * b.stride_bytes) + k % in_b;
  *target = *source;
}

__global__ void fill(char *memory, std::size_t n) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    memory[i] = static_cast<char>(i * 7 + i / 251);
  }
}

sluice_layout_t layout_of(const Rows &rows, std::uint64_t payload_bytes) {
  sluice_layout_t made{};
  made.n_dimensions = 1;
  made.dimensions[0] = {payload_bytes / rows.row_bytes, rows.stride_bytes};
  made.core_bytes = rows.row_bytes;
  return made;
}

std::uint64_t span_of(const Rows &rows, std::uint64_t payload_bytes) {
  return (payload_bytes / rows.row_bytes - 1) * static_cast<std::uint64_t>(rows.stride_bytes) + rows.row_bytes;
}

// Microseconds of one call: the best of the repeats of ten in a row.
template <typename Launch, typename Wait>
double time_of(int repeats, Launch launch, Wait wait) {
  constexpr int kInARow = 10;
  double best = 1e30;
  for (int r = -2; r < repeats; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < kInARow; ++k) launch();
    wait();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (r >= 0) best = std::min(best, took.count() / kInARow);
  }
  return best;
}

class Bench {
 public:
  Bench(const sluice_backend_t &table, sluice_queue_t *queue, int repeats)
      : table_(table), queue_(queue), repeats_(repeats) {
    for (char **memory : {&from_, &to_, &packed_}) check(cudaMalloc(memory, kRoomBytes), "cudaMalloc");
    fill<<<1024, kThreads>>>(from_, kRoomBytes);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  // False: a byte was wrong.
  bool run(const Case &given, std::uint64_t payload_bytes) {
    const std::uint64_t span = std::max(span_of(given.from, payload_bytes), span_of(given.to, payload_bytes));
    if (span + 16 > kRoomBytes) return true;
    sluice_pack_t one{};
    one.form = SLUICE_LAID_OUT;
    one.layout = layout_of(given.from, payload_bytes);
    one.origin = from_ + given.from.shift;
    one.span_bytes = span_of(given.from, payload_bytes);
    one.beside_layout = layout_of(given.to, payload_bytes);
    one.beside = to_ + given.to.shift;
    one.beside_span_bytes = span_of(given.to, payload_bytes);
    one.size_bytes = payload_bytes;
    sluice_pack_t first = one;
    first.form = SLUICE_PACKED;
    first.beside = packed_;
    sluice_pack_t second = first;
    second.direction = SLUICE_UNPACK;
    second.layout = one.beside_layout;
    second.origin = one.beside;
    second.span_bytes = one.beside_span_bytes;
    const auto once = [&] { enqueue(one); };
    const auto twice = [&] {
      enqueue(first);
      enqueue(second);
    };
    const auto by_hand = [&] { launch_by_hand(given, payload_bytes); };
    const auto wait = [&] { this->wait(); };
    const auto synchronise = [] { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); };
    const bool is_good = is_same(given, span, by_hand, once) && is_same(given, span, by_hand, twice);
    const double times[3] = {time_of(repeats_, by_hand, synchronise), time_of(repeats_, twice, wait),
                             time_of(repeats_, once, wait)};
    std::printf("%-30s %9.2f MiB %9.1f %9.1f %9.1f   %6.2f %6.2f   %s\n", given.name,
                static_cast<double>(payload_bytes) / (1 << 20), times[0], times[1], times[2], times[2] / times[0],
                times[2] / times[1], is_good ? "same bytes" : "WRONG BYTES");
    return is_good;
  }

 private:
  void enqueue(const sluice_pack_t &pack) {
    if (table_.enqueue_pack(queue_, &pack) == SLUICE_SUCCESS) return;
    std::fprintf(stderr, "enqueue_pack: %s\n", table_.last_error());
    std::exit(2);
  }

  void wait() {
    std::uint64_t ticket = 0;
    if (table_.enqueue_ticket(queue_, &ticket) == SLUICE_SUCCESS &&
        table_.wait_ticket(queue_, ticket) == SLUICE_SUCCESS) {
      return;
    }
    std::fprintf(stderr, "wait_ticket: %s\n", table_.last_error());
    std::exit(2);
  }

  void launch_by_hand(const Case &given, std::uint64_t payload_bytes) {
    const std::uint64_t all = given.from.row_bytes | given.to.row_bytes | given.from.shift | given.to.shift |
                              static_cast<std::uint64_t>(given.from.stride_bytes | given.to.stride_bytes);
    const auto launch = [&](auto element) {
      using T = decltype(element);
      const std::size_t n = payload_bytes / sizeof(T);
      hand<T><<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads>>>(
          from_ + given.from.shift, to_ + given.to.shift, given.from, given.to, n);
    };
    if (all % 16 == 0) {
      launch(double2{});
    } else if (all % 8 == 0) {
      launch(double{});
    } else if (all % 4 == 0) {
      launch(float{});
    } else {
      launch(char{});
    }
  }

  // Both leave the same memory behind, of which what lies between the rows was cleared.
  template <typename Hand, typename Own>
  bool is_same(const Case &given, std::uint64_t span, Hand by_hand, Own own) {
    std::vector<char> got[2];
    for (int k = 0; k < 2; ++k) {
      check(cudaMemset(to_, 0, span + given.to.shift), "cudaMemset");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      if (k == 0) {
        by_hand();
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      } else {
        own();
        wait();
      }
      got[k].resize(span + given.to.shift);
      check(cudaMemcpy(got[k].data(), to_, got[k].size(), cudaMemcpyDefault), "cudaMemcpy");
    }
    return got[0] == got[1];
  }

  const sluice_backend_t &table_;
  sluice_queue_t *queue_;
  const int repeats_;
  char *from_ = nullptr;
  char *to_ = nullptr;
  char *packed_ = nullptr;
};

}  // namespace

int main(int argc, char **argv) {
  int repeats = 10;
  const char *path = "libsluice_backend_cuda.so";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--module") == 0) path = argv[i + 1];
  }
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");
  Module module;
  const std::string why = module.open(path);
  sluice_queue_t *queue = nullptr;
  if (!why.empty() || module.table()->can_pack == nullptr || module.table()->can_pack(0) == 0 ||
      module.table()->queue_create(0, &queue) != SLUICE_SUCCESS) {
    std::fprintf(stderr, "rearrange_bench: %s\n", why.empty() ? "this module does not pack on device 0" : why.c_str());
    return 2;
  }
  std::printf("us of one call                      payload      hand two launches   one   one/hand one/two\n");
  const Case cases[] = {
      {"64 of 128 to 64 of 128", {64, 128, 0}, {64, 128, 0}},
      {"4096 of 8192 to 4096 of 8192", {4096, 8192, 0}, {4096, 8192, 0}},
      {"8 of 64 to 8 of 64", {8, 64, 0}, {8, 64, 0}},
      {"64 of 128 to 4096 of 8192", {64, 128, 0}, {4096, 8192, 0}},
      {"8 of 64 to 64 of 128", {8, 64, 0}, {64, 128, 0}},
      {"4 of 16 to 4 of 16", {4, 16, 0}, {4, 16, 0}},
      {"64 of 128, 1 byte off, to same", {64, 128, 1}, {64, 128, 0}},
  };
  Bench bench(*module.table(), queue, repeats);
  bool is_good = true;
  for (const Case &given : cases) {
    for (const std::uint64_t payload : {std::uint64_t{8} << 10, std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
      is_good = bench.run(given, payload) && is_good;
    }
  }
  return is_good ? 0 : 1;
}
