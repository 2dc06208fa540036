// SPDX-License-Identifier: BSD-3-Clause
// trigger: what a stream-triggered queue is made of, without a message. Rank 0 measures.
#include <sluice/backend.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 20, .iterations = 200};
// Words of their own cache lines.
constexpr std::size_t kLine = 128;

// A stream of the program's, and two words that it and the host read and write.
class TriggeredStream {
 public:
  explicit TriggeredStream(DeviceModule &module)
      : module_(module),
        words_(static_cast<std::byte *>(module.allocate_host(2 * kLine, kLine)),
               [&module](std::byte *words) { release(module, words); }) {
    const sluice_backend_t &table = module.table();
    if (table.stream_open == nullptr || table.program_stream_create == nullptr) {
      throw DeviceError(module.name() +
                        ": its streams take no commands on words (groups `stream` and `program_stream`)");
    }
    module.require(table.program_stream_create(&native_), "creation of a stream");
    std::int32_t device = 0;
    const sluice_result_t opened = table.stream_open(native_, &stream_, &device);
    if (opened != SLUICE_SUCCESS) {
      const std::string why = table.last_error();
      end();
      throw DeviceError(module.name() + ": its streams take no commands on words: " + why);
    }
    std::atomic_ref(trigger()).store(0, std::memory_order_relaxed);
    std::atomic_ref(answer()).store(0, std::memory_order_release);
  }
  TriggeredStream(const TriggeredStream &) = delete;
  TriggeredStream &operator=(const TriggeredStream &) = delete;
  ~TriggeredStream() {
    // A stream that still waits would never end.
    constexpr std::uint64_t kPastAll = std::uint64_t{1} << 62;
    pull(kPastAll);
    end();
  }

  // The stream: wait for the trigger, then answer.
  void enqueue_wait_and_answer(std::uint64_t number) {
    module_.require(module_.table().stream_wait(stream_, &trigger(), number), "enqueueing of a wait");
    enqueue_answer(number);
  }
  void enqueue_answer(std::uint64_t number) {
    module_.require(module_.table().stream_write(stream_, &answer(), number), "enqueueing of a write");
  }
  bool is_answered(std::uint64_t number) { return std::atomic_ref(answer()).load(std::memory_order_acquire) == number; }
  void pull(std::uint64_t number) { std::atomic_ref(trigger()).store(number, std::memory_order_release); }
  // Throws DeviceError when there is none for long.
  void await_answer(std::uint64_t number) {
    constexpr int kReadingsOfClock = 1 << 20;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (int i = 1; !is_answered(number); ++i) {
      if (i % kReadingsOfClock == 0 && std::chrono::steady_clock::now() > deadline) {
        throw DeviceError(module_.name() + ": a stream did not write its word within 10 s");
      }
    }
  }

 private:
  std::uint64_t &trigger() { return *reinterpret_cast<std::uint64_t *>(words_.get()); }
  std::uint64_t &answer() { return *reinterpret_cast<std::uint64_t *>(words_.get() + kLine); }

  static void release(DeviceModule &module, std::byte *words) noexcept {
    const std::string why = module.release_host(words);
    if (!why.empty()) std::fprintf(stderr, "sluice-bench: memory of words was not given back: %s\n", why.c_str());
  }

  // What has run leaves nobody at the words.
  void end() noexcept {
    const sluice_backend_t &table = module_.table();
    bool is_well = table.program_stream_synchronize(native_) == SLUICE_SUCCESS;
    if (stream_ != nullptr) is_well &= table.stream_close(stream_) == SLUICE_SUCCESS;
    is_well &= table.program_stream_destroy(native_) == SLUICE_SUCCESS;
    if (!is_well) std::fprintf(stderr, "sluice-bench: a stream could not be ended: %s\n", table.last_error());
  }

  DeviceModule &module_;
  std::unique_ptr<std::byte, std::function<void(std::byte *)>> words_;
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
};

// Times `body(i)` after `before(i)`, which is untimed.
template <class Before, class Body>
std::vector<double> sample_behind(const Loop &loop, Before before, Body body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  samples.reserve(loop.iterations);
  for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
    before(i);
    const auto start = Clock::now();
    body(i);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (i >= loop.warmup) samples.push_back(took.count());
  }
  return samples;
}

Row measure(DeviceModule &module, const Options &options) {
  const Loop loop = chosen_loop(options, kUsual);
  Row row;
  row.series = {{"pull", {}}, {"write", {}}, {"enqueue", {}}};
  TriggeredStream stream(module);
  std::uint64_t number = 0;
  row.stopped = repeat_blocks_alone(options, row.series, [&](std::uint64_t) {
    const auto pull = sample_behind(
        loop, [&](std::uint64_t) { stream.enqueue_wait_and_answer(++number); },
        [&](std::uint64_t) {
          if (stream.is_answered(number)) throw DeviceError(module.name() + ": a stream did not wait for its word");
          stream.pull(number);
          stream.await_answer(number);
        });
    row.series[0].blocks.push_back(summarise(pull, options.percentiles));
    const auto write = sample_behind(
        loop, [&](std::uint64_t) { ++number; },
        [&](std::uint64_t) {
          stream.enqueue_answer(number);
          stream.await_answer(number);
        });
    row.series[1].blocks.push_back(summarise(write, options.percentiles));
    const auto enqueue = sample_behind(
        loop,
        [&](std::uint64_t) {
          stream.pull(number);
          stream.await_answer(number++);
        },
        [&](std::uint64_t) { stream.enqueue_wait_and_answer(number); });
    stream.pull(number);
    stream.await_answer(number);
    row.series[2].blocks.push_back(summarise(enqueue, options.percentiles));
  });
  return row;
}

void run_trigger(Session &session) {
  const Options &options = session.options();
  session.begin({{"pull", "write", "enqueue"}, {}});
  measure_size_on_root(session, 0, [&](std::uint64_t) { return measure(*session.module(), options); });
}

const Registration test({.name = "trigger",
                         .title = "a word that a stream waits for and one that it writes, on rank 0",
                         .family = Family::micro,
                         .min_ranks = 1,
                         .max_ranks = 0,
                         .has_sizes = false,
                         .has_placement = false,
                         .needs_device = true,
                         .run = run_trigger});

}  // namespace
}  // namespace sluice::bench
