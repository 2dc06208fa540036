// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the loop-back driver: it cannot run the text of a device, and runs the same kernel as the host's compiler
// made it, which it finds by the name in the text.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "copy.hpp"
#include "end.hpp"
#include "functions.hpp"
#include "loopback.h"
#include "message.hpp"
#include "pack.hpp"
#include "rearrange.hpp"
#include "signal.hpp"
#include "sluice/testing/program_kernels.h"
#include "work.hpp"

namespace kernels = sluice::kernels;
using loopback::current;
using loopback::state;

enum class Body {
  kReduction,
  kCopies,
  kPack,
  kPackStrides,
  kPackList,
  kRearrange,
  kRearrangeWords,
  kMessage,
  kFewMessages,
  kMessages,
  kCaptured,
  kTrigger,
  kAwait,
  kCheck,
  kWork,
  kOfProgram
};
struct CUfunc_st {
  std::string name;
  Body body = Body::kReduction;
  kernels::Function run = nullptr;  // of a reduction
  unsigned element_bytes = 0;
  const sluice_program_kernel_t *of_program = nullptr;  // a kernel of the program's own
  std::vector<uint64_t> ends = std::vector<uint64_t>(kernels::kMostEnds);
};
struct CUmod_st {
  CUfunc_st function;
};

namespace {

constexpr std::string_view kPrefix = "sluice_reduce_";
constexpr std::string_view kCopies = "sluice_copies";

// "ELEMENT_OPERATION", both words of kernels/list.hpp.
bool find_function(std::string_view name, CUfunc_st *function) {
  if (name == "sluice_check") function->body = Body::kCheck;
  if (name == "sluice_work") function->body = Body::kWork;
  if (name == "sluice_pack") function->body = Body::kPack;
  if (name == "sluice_pack_strides") function->body = Body::kPackStrides;
  if (name == "sluice_pack_list") function->body = Body::kPackList;
  if (name == "sluice_rearrange") function->body = Body::kRearrange;
  if (name == "sluice_rearrange_words") function->body = Body::kRearrangeWords;
  if (name == "sluice_message") function->body = Body::kMessage;
  if (name == "sluice_few_messages") function->body = Body::kFewMessages;
  if (name == "sluice_messages") function->body = Body::kMessages;
  if (name == "sluice_captured") function->body = Body::kCaptured;
  if (name == "sluice_trigger") function->body = Body::kTrigger;
  if (name == "sluice_await") function->body = Body::kAwait;
  if (name == kCopies) function->body = Body::kCopies;
  if (function->body != Body::kReduction) return true;
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  name.remove_prefix(kPrefix.size());
  for (unsigned e = 0; e < static_cast<unsigned>(kernels::Element::kCount); ++e) {
    for (unsigned o = 0; o < static_cast<unsigned>(kernels::Operation::kCount); ++o) {
      const auto element = static_cast<kernels::Element>(e);
      const auto operation = static_cast<kernels::Operation>(o);
      const std::string pair = std::string(kernels::name_of(element)) + "_" + std::string(kernels::name_of(operation));
      if (pair != name || !kernels::is_legal(element, operation)) continue;
      function->run = kernels::find_function(element, operation);
      function->element_bytes = kernels::size_of(element);
      return true;
    }
  }
  return false;
}

// Programs with kernels of their own (apps/support/kernel.cpp) say by this function which they have.
const sluice_program_kernel_t *find_program_kernel(const char *name) {
  using Find = const sluice_program_kernel_t *(*)(const char *);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "sluice_program_kernel_of"));
  return find == nullptr ? nullptr : find(name);
}

}  // namespace

bool loopback::is_reachable(const void *address, size_t size_bytes, CUdevice device) {
  CUdeviceptr begin = 0;
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  const loopback::Block *block = loopback::find_block(first, &begin);
  if (block == nullptr || (block->physical == nullptr && first + size_bytes > begin + block->size_bytes)) return false;
  return block->type == CU_MEMORYTYPE_HOST || block->is_managed || block->is_opened || block->physical != nullptr ||
         block->context->device == device;
}

bool loopback::may_run(const std::function<bool()> &is_inside) {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [] { return !state().is_held; });
  if (!state().is_broken && !is_inside()) state().is_broken = true;
  return !state().is_broken;
}

bool loopback::is_over() {
  const std::scoped_lock lock(state().mutex);
  return state().is_broken;
}

namespace {

using loopback::is_over;
using loopback::is_reachable;
using loopback::may_run;

bool is_inside(const kernels::Task &task, unsigned element_bytes, CUdevice device) {
  const size_t size_bytes = task.count * element_bytes;
  for (unsigned k = 0; k < task.n_dsts; ++k) {
    if (!is_reachable(task.dsts[k], size_bytes, device)) return false;
  }
  for (unsigned k = 0; k < task.n_sources; ++k) {
    if (!is_reachable(task.sources[k], size_bytes, device)) return false;
  }
  return true;
}

bool is_inside(const kernels::CopyTask &task, CUdevice device) {
  for (uint64_t k = 0; k < task.n_copies; ++k) {
    const kernels::CopyOfBytes &copy = task.copies[k];
    if (!is_reachable(copy.dst, copy.size_bytes, device) || !is_reachable(copy.src, copy.size_bytes, device)) {
      return false;
    }
  }
  return true;
}

// What units first to first + count of a layout reach over, by a walk through all: between the lowest and the highest
// is one allocation's.
struct Reached {
  std::int64_t low = 0;
  std::size_t span = 0;
};

Reached reached_by(const kernels::UnitLayout &layout, std::uint32_t unit_shift, std::uint64_t first,
                   std::uint64_t count) {
  const auto unit_bytes = std::int64_t{1} << unit_shift;
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t offset = kernels::find_unit<true, kernels::Layouts::kAll>(layout, unit_shift, first + i);
    low = i == 0 ? offset : std::min(low, offset);
    high = i == 0 ? offset + unit_bytes : std::max(high, offset + unit_bytes);
  }
  return {low, static_cast<std::size_t>(high - low)};
}

bool has_list_inside(const kernels::UnitLayout &layout, CUdevice device) {
  return layout.list == nullptr || is_reachable(layout.list, layout.n_blocks * sizeof(std::int32_t), device);
}

bool is_inside(const kernels::PackTask &task, CUdevice device) {
  if (!has_list_inside(task.inside, device)) return false;
  const Reached reached = reached_by(task.inside, task.unit_shift, task.first, task.count);
  const bool is_image = task.is_image != 0;
  return is_reachable(task.inside.origin + reached.low, reached.span, device) &&
         is_reachable(is_image ? task.beside + reached.low : task.beside,
                      is_image ? reached.span : task.count << task.unit_shift, device);
}

bool is_inside(const kernels::RearrangeTask &task, CUdevice device) {
  for (const kernels::UnitLayout *layout : {&task.from, &task.to}) {
    if (!has_list_inside(*layout, device)) return false;
    const Reached reached = reached_by(*layout, task.unit_shift, task.first, task.count);
    if (!is_reachable(layout->origin + reached.low, reached.span, device)) return false;
  }
  return true;
}

// The memory as far as the segments say; the tables themselves come first.
bool is_inside(const kernels::CheckTask &task, uint64_t n_items, CUdevice device) {
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

// The kernel of a program's takes its task as words and the number of its items.
std::function<void()> launch_of_program(const sluice_program_kernel_t &kernel, void **arguments) {
  std::vector<std::uint64_t> words(kernel.n_words);
  std::memcpy(words.data(), arguments[0], words.size() * sizeof(std::uint64_t));
  const auto n_items = *static_cast<const std::uint64_t *>(arguments[1]);
  return [body = kernel.body, words, n_items] { body(words.data(), n_items); };
}

template <typename Task>
loopback::Launch launch_of_moves(const void *argument, void (*share)(const Task &, std::uint64_t, std::uint64_t),
                                 uint64_t n_items, CUdevice device) {
  return {[task = *static_cast<const Task *>(argument), share, n_items, device] {
    if (!may_run([&] { return is_inside(task, device); })) return;
    for (uint64_t item = n_items; item-- > 0;) share(task, item, n_items);
  }};
}

bool tells_end(Body body) {
  switch (body) {
    case Body::kReduction:
    case Body::kCopies:
    case Body::kPack:
    case Body::kPackStrides:
    case Body::kPackList:
    case Body::kRearrange:
    case Body::kRearrangeWords:
      return true;
    default:
      return false;
  }
}

loopback::Launch with_end(loopback::Launch launch, CUfunction function, const void *argument, CUdevice device) {
  const auto end = *static_cast<const kernels::EndTask *>(argument);
  auto *const word = const_cast<uint64_t *>(end.word);
  launch.run = [run = std::move(launch.run), end, word, function, device] {
    run();
    const bool tells = word != nullptr && !state().forgets_ends;
    if (tells && may_run([&] { return is_reachable(word, sizeof(*word), device); })) {
      kernels::tell_end(end, function->ends.data());
    }
  };
  return launch;
}

kernels::MessageList lengthened(const kernels::ShortMessageList &few) {
  kernels::MessageList list = {};
  std::copy_n(few.tasks, kernels::kFewMessages, list.tasks);
  list.n_tasks = few.n_tasks;
  list.n_parts = few.n_parts;
  return list;
}

loopback::Launch launch_of_body(CUfunction function, void **arguments, uint64_t n_blocks, uint64_t n_threads,
                                CUdevice device) {
  const uint64_t n_items = n_blocks * n_threads;
  const void *argument = arguments[0];
  switch (function->body) {
    case Body::kOfProgram:
      return {launch_of_program(*function->of_program, arguments)};
    case Body::kCopies:
      return launch_of_moves(argument, kernels::copy_share, n_items, device);
    case Body::kPack:
      return launch_of_moves(argument, kernels::pack_share, n_items, device);
    case Body::kPackStrides:
      return launch_of_moves(argument, kernels::pack_strides_share, n_items, device);
    case Body::kPackList:
      return launch_of_moves(argument, kernels::pack_list_share, n_items, device);
    case Body::kRearrange:
      return launch_of_moves(argument, kernels::rearrange_share, n_items, device);
    case Body::kRearrangeWords:
      return launch_of_moves(argument, kernels::rearrange_words_share, n_items, device);
    case Body::kMessage:
      return loopback::launch_of_message(*static_cast<const kernels::MessageTask *>(argument), n_blocks, n_threads,
                                         device);
    case Body::kFewMessages:
      return loopback::launch_of_messages(lengthened(*static_cast<const kernels::ShortMessageList *>(argument)),
                                          n_blocks, device);
    case Body::kMessages:
      return loopback::launch_of_messages(*static_cast<const kernels::MessageList *>(argument), n_blocks, device);
    case Body::kCaptured:
      return loopback::launch_of_captured(*static_cast<const kernels::CapturedList *>(argument), n_blocks, device);
    case Body::kTrigger:
      return {[task = *static_cast<const kernels::SignalTask *>(argument), n_items] {
        for (uint64_t item = n_items; item-- > 0;) kernels::trigger_share(task, item, n_items);
      }};
    case Body::kAwait:
      return {[task = *static_cast<const kernels::SignalTask *>(argument), n_items] {
                while (!kernels::has_come(task) && !is_over()) std::this_thread::yield();
                if (kernels::has_come(task)) kernels::await_share(task, 0, n_items);
                --state().n_waits;
              },
              true};
    case Body::kCheck:
      return {[task = *static_cast<const kernels::CheckTask *>(argument), n_items, device] {
        if (!may_run([&] { return is_inside(task, n_items, device); })) return;
        for (uint64_t item = 0; item < n_items; ++item) kernels::check_share(task, item, n_items);
      }};
    case Body::kWork:
      return {[task = *static_cast<const kernels::WorkTask *>(argument), n_items, device] {
        const auto is_inside = [&] { return is_reachable(task.results, n_items * sizeof(*task.results), device); };
        // All items do the same: one of them here.
        if (may_run(is_inside)) kernels::work_share(task, 0, n_items);
      }};
    default:
      return {[run = function->run, bytes = function->element_bytes,
               task = *static_cast<const kernels::Task *>(argument), device] {
        if (may_run([&] { return is_inside(task, bytes, device); })) run(task);
      }};
  }
}

}  // namespace

loopback::Launch loopback::launch_of(CUfunction function, void **arguments, uint64_t n_blocks, uint64_t n_threads,
                                     CUdevice device) {
  Launch launch = launch_of_body(function, arguments, n_blocks, n_threads, device);
  return tells_end(function->body) ? with_end(std::move(launch), function, arguments[1], device) : launch;
}

CUresult loopback::enqueue_launch(const Launch &launch, CUstream stream) {
  if (state().n_launches == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (state().n_launches > 0) --state().n_launches;
  ++state().n_kernels;
  if (stream != CU_STREAM_LEGACY && stream->capture() != nullptr) {
    capture(launch, stream->capture().get());
    return CUDA_SUCCESS;
  }
  if (launch.waits) ++state().n_waits;
  // Nothing is ever under way in the default stream: what is launched there is done at once.
  if (stream == CU_STREAM_LEGACY) {
    launch.run();
  } else {
    stream->enqueue(launch.run);
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  loopback::hold_up();
  static auto *const all = new std::vector<std::unique_ptr<CUmod_st>>();
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  constexpr std::string_view kEntry = ".entry ";
  const std::string_view text = static_cast<const char *>(image);
  const size_t begin = text.find(kEntry);
  if (begin == std::string_view::npos) return CUDA_ERROR_INVALID_PTX;
  const std::string_view name = text.substr(begin + kEntry.size());
  auto made = std::make_unique<CUmod_st>();
  made->function.name = name.substr(0, name.find('('));
  if (!find_function(made->function.name, &made->function)) {
    made->function.of_program = find_program_kernel(made->function.name.c_str());
    if (made->function.of_program == nullptr) return CUDA_ERROR_INVALID_PTX;
    made->function.body = Body::kOfProgram;
  }
  *module = made.get();
  const std::scoped_lock lock(state().mutex);
  all->push_back(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = &module->function;
  return module->function.name == name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, CUfunction /*function*/, int n_threads,
                                                     size_t /*shared_bytes*/) {
  *n_blocks = 2048 / n_threads;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = reinterpret_cast<uintptr_t>(context);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned /*shared_bytes*/,
                        CUstream stream, void **arguments, void ** /*extra*/) {
  CUcontext context = stream == CU_STREAM_LEGACY ? current() : stream->context();
  if (context == nullptr || context != current()) return CUDA_ERROR_INVALID_CONTEXT;
  const bool has_work = blocks_x > 0 && blocks_y == 1 && blocks_z == 1 && threads_x > 0 && threads_y == 1 &&
                        threads_z == 1 && threads_x <= 1024;
  if (!has_work) return CUDA_ERROR_INVALID_VALUE;
  return loopback::enqueue_launch(loopback::launch_of(function, arguments, blocks_x, threads_x, context->device),
                                  stream);
}
