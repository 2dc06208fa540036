// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the loop-back runtime: it cannot run a device's code, and runs the same kernel as the host's compiler made
// it, which it finds by the name that is the code (loopback_compiler.cpp).
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "copy.hpp"
#include "functions.hpp"
#include "loopback.h"
#include "rearrange.hpp"
#include "signals.hpp"
#include "take.hpp"
#include "work.hpp"

namespace kernels = sluice::kernels;
using loopback::Kind;
using loopback::state;

enum class Body { kReduction, kCopies, kPack, kRearrange, kCheck, kWork, kTake, kTrigger, kAwait };
struct ihipModuleSymbol_t {
  Body body;
  kernels::Function run;  // of a reduction
  unsigned element_bytes;
};
struct ihipModule_t {
  ihipModuleSymbol_t function;
};

namespace {

bool find_function(std::string_view name, ihipModuleSymbol_t *function) {
  static constexpr std::pair<std::string_view, Body> kBodies[] = {
      {"copy_share", Body::kCopies},     {"pack_share", Body::kPack},  {"rearrange_share", Body::kRearrange},
      {"check_share", Body::kCheck},     {"work_share", Body::kWork},  {"message_share", Body::kTake},
      {"trigger_share", Body::kTrigger}, {"await_share", Body::kAwait}};
  for (const auto &[known, body] : kBodies) {
    *function = {body, nullptr, 0};
    if (name == known) return true;
  }
  for (unsigned e = 0; e < static_cast<unsigned>(kernels::Element::kCount); ++e) {
    for (unsigned o = 0; o < static_cast<unsigned>(kernels::Operation::kCount); ++o) {
      const auto element = static_cast<kernels::Element>(e);
      const auto operation = static_cast<kernels::Operation>(o);
      const std::string pair = std::string(kernels::name_of(element)) + "_" + std::string(kernels::name_of(operation));
      if (pair != name || !kernels::is_legal(element, operation)) continue;
      *function = {Body::kReduction, kernels::find_function(element, operation), kernels::size_of(element)};
      return true;
    }
  }
  return false;
}

// What a kernel on `device` may touch: anything else is a fault that the process's devices do not survive.
bool is_reachable(const void *address, size_t size_bytes, int device) {
  char *begin = nullptr;
  const loopback::Block *block = loopback::find_block(address, &begin);
  if (block == nullptr || static_cast<const char *>(address) + size_bytes > begin + block->size_bytes) return false;
  return block->to_device == 0 && (block->kind != Kind::kDevice || block->device == device);
}

bool is_reachable(const kernels::Task &task, unsigned element_bytes, int device) {
  const std::scoped_lock lock(state().mutex);
  const size_t size_bytes = task.count * element_bytes;
  for (unsigned k = 0; k < task.n_dsts; ++k) {
    if (!is_reachable(task.dsts[k], size_bytes, device)) return false;
  }
  for (unsigned k = 0; k < task.n_sources; ++k) {
    if (!is_reachable(task.sources[k], size_bytes, device)) return false;
  }
  return true;
}

bool is_reachable(const kernels::CopyTask &task, int device) {
  const std::scoped_lock lock(state().mutex);
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    const kernels::CopyOfBytes &copy = task.copies[k];
    if (!is_reachable(copy.dst, copy.size_bytes, device) || !is_reachable(copy.src, copy.size_bytes, device)) {
      return false;
    }
  }
  return true;
}

void break_all() {
  const std::scoped_lock lock(state().mutex);
  state().is_broken = true;
}

void run(const ihipModuleSymbol_t &function, const kernels::Task &task, int device) {
  if (loopback::is_broken()) return;
  if (is_reachable(task, function.element_bytes, device)) return function.run(task);
  break_all();
}

void run(const kernels::CopyTask &task, uint64_t n_items, int device) {
  if (loopback::is_broken()) return;
  if (!is_reachable(task, device)) return break_all();
  for (uint64_t item = 0; item < n_items; ++item) kernels::copy_share(task, item, n_items);
}

// The module looks at both ends of what a pack touches.
void run(const kernels::PackTask &task, uint64_t n_items) {
  if (loopback::is_broken()) return;
  for (uint64_t item = n_items; item-- > 0;) kernels::pack_share(task, item, n_items);
}

void run(const kernels::RearrangeTask &task, uint64_t n_items) {
  if (loopback::is_broken()) return;
  for (uint64_t item = n_items; item-- > 0;) kernels::rearrange_share(task, item, n_items);
}

// The memory as far as the segments say; the tables themselves come first.
bool is_reachable(const kernels::CheckTask &task, uint64_t n_items, int device) {
  const std::scoped_lock lock(state().mutex);
  const bool has_tables = is_reachable(task.segments, task.n_segments * sizeof(*task.segments), device) &&
                          is_reachable(task.sources, sizeof(*task.sources), device) &&
                          is_reachable(task.shares, n_items * sizeof(*task.shares), device);
  if (!has_tables) return false;
  for (uint64_t k = 0; k < task.n_segments; ++k) {
    const sluice_check_segment_t &segment = task.segments[k];
    if (!is_reachable(task.memory + segment.begin, segment.size_bytes, device)) return false;
  }
  return true;
}

void run(const kernels::CheckTask &task, uint64_t n_items, int device) {
  if (loopback::is_broken()) return;
  if (!is_reachable(task, n_items, device)) return break_all();
  for (uint64_t item = 0; item < n_items; ++item) kernels::check_share(task, item, n_items);
}

bool is_reachable_now(const void *address, size_t size_bytes, int device) {
  const std::scoped_lock lock(state().mutex);
  return is_reachable(address, size_bytes, device);
}

// A kernel that waited for what it then reads, or told of what it wrote, would be none that this vendor's rules allow.
bool may_take(const kernels::MessageTask &task, int device) {
  if (task.least != 0 || task.mark != nullptr) return false;
  return task.word == nullptr || is_reachable_now(task.word, sizeof(*task.word), device);
}

// Block by block, the last one first. What a message has to touch it knows when it has seen the word.
void run(const kernels::TakeList &list, unsigned n_blocks, unsigned n_threads, int device) {
  if (loopback::is_broken()) return;
  if (list.n_tasks == 0 || n_blocks % list.n_tasks != 0) return break_all();
  for (uint64_t block = n_blocks; block-- > 0;) {
    const kernels::TakePart found = kernels::find_part(list, block, n_blocks);
    const kernels::MessageTask &task = list.tasks[found.task];
    if (!may_take(task, device)) return break_all();
    const kernels::MessageSource source = kernels::message_begin(task, 0, nullptr);
    if (source.size_bytes == 0) continue;
    const bool is_safe = is_reachable_now(source.src, source.size_bytes, device) &&
                         is_reachable_now(task.copy.dst, source.size_bytes, device);
    if (!is_safe) return break_all();
    for (uint64_t thread = 0; thread < n_threads; ++thread) {
      kernels::message_share(task, source, found.part * n_threads + thread, found.n_parts * n_threads);
    }
  }
}

bool is_reachable_now(const kernels::SignalList &list, int device) {
  return std::all_of(list.signals, list.signals + list.n_signals, [&](const kernels::Signal &signal) {
    return is_reachable_now(signal.word, sizeof(*signal.word), device);
  });
}

void run_trigger(const kernels::SignalList &list, uint64_t n_items, int device) {
  if (loopback::is_broken()) return;
  if (!is_reachable_now(list, device)) return break_all();
  for (uint64_t item = n_items; item-- > 0;) kernels::trigger_share(list, item, n_items);
}

void run_await(const kernels::SignalList &list, uint64_t n_items, int device) {
  if (!loopback::is_broken() && !is_reachable_now(list, device)) break_all();
  const auto all_have_come = [&] {
    return std::all_of(list.signals, list.signals + list.n_signals,
                       [](const kernels::Signal &signal) { return kernels::has_come(signal); });
  };
  while (!loopback::is_broken() && !all_have_come()) std::this_thread::yield();
  if (!loopback::is_broken()) {
    for (uint64_t item = n_items; item-- > 0;) kernels::await_share(list, item, n_items);
  }
  --state().n_waits;
}

// All items do the same: the first is computed.
void run(const kernels::WorkTask &task, uint64_t n_items) {
  if (loopback::is_broken()) return;
  kernels::work_share(task, 0, n_items);
}

}  // namespace

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  static auto *const all = new std::vector<std::unique_ptr<ihipModule_t>>();
  auto made = std::make_unique<ihipModule_t>();
  if (!find_function(static_cast<const char *>(image), &made->function)) return hipErrorInvalidImage;
  *module = made.get();
  const std::scoped_lock lock(state().mutex);
  all->push_back(std::move(made));
  return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  *function = &module->function;
  return std::string_view(name) == "sluice_kernel" ? hipSuccess : hipErrorNotFound;
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, hipFunction_t /*function*/, int n_threads,
                                                              size_t /*shared_bytes*/) {
  *n_blocks = 2048 / n_threads;
  return hipSuccess;
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                                 unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned /*shared_bytes*/,
                                 hipStream_t stream, void **arguments, void ** /*extra*/) {
  const bool has_work = blocks_x > 0 && blocks_y == 1 && blocks_z == 1 && threads_x > 0 && threads_y == 1 &&
                        threads_z == 1 && threads_x <= 512;
  if (!has_work || stream->device() != loopback::current()) return hipErrorInvalidValue;
  if (state().n_launches == 0) return hipErrorLaunchFailure;
  if (state().n_launches > 0) --state().n_launches;
  ++state().n_kernels;
  const int device = stream->device();
  const uint64_t n_items = uint64_t{blocks_x} * threads_x;
  if (function->body == Body::kCopies) {
    const auto task = *static_cast<const kernels::CopyTask *>(arguments[0]);
    stream->enqueue([=] { run(task, n_items, device); });
  } else if (function->body == Body::kPack) {
    const auto task = *static_cast<const kernels::PackTask *>(arguments[0]);
    stream->enqueue([=] { run(task, n_items); });
  } else if (function->body == Body::kRearrange) {
    const auto task = *static_cast<const kernels::RearrangeTask *>(arguments[0]);
    stream->enqueue([=] { run(task, n_items); });
  } else if (function->body == Body::kCheck) {
    const auto task = *static_cast<const kernels::CheckTask *>(arguments[0]);
    stream->enqueue([=] { run(task, n_items, device); });
  } else if (function->body == Body::kWork) {
    const auto task = *static_cast<const kernels::WorkTask *>(arguments[0]);
    stream->enqueue([=] { run(task, n_items); });
  } else if (function->body == Body::kTake) {
    const auto list = *static_cast<const kernels::TakeList *>(arguments[0]);
    stream->enqueue([=] { run(list, blocks_x, threads_x, device); });
  } else if (function->body == Body::kTrigger) {
    const auto list = *static_cast<const kernels::SignalList *>(arguments[0]);
    stream->enqueue([=] { run_trigger(list, n_items, device); });
  } else if (function->body == Body::kAwait) {
    const auto list = *static_cast<const kernels::SignalList *>(arguments[0]);
    ++state().n_waits;
    stream->enqueue([=] { run_await(list, n_items, device); });
  } else {
    const auto task = *static_cast<const kernels::Task *>(arguments[0]);
    stream->enqueue([=] { run(*function, task, device); });
  }
  return hipSuccess;
}
