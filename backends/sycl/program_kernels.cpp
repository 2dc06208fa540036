// SPDX-License-Identifier: BSD-3-Clause
// Kernels of a program's own: compiled from their source by the runtime when they are first launched.
#include "sluice/testing/program_kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reduce_kernels.h"
#include "runtime.h"

namespace sluice::backends::sycl {
namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

constexpr size_t kGroupItems = 128;
constexpr size_t kMostItems = size_t{1} << 24;

// A task travels as words: the compiler for NVIDIA's devices in oneAPI 2026.2 ends the program over a structure that a
// kernel takes by value.
constexpr const char *kFrame = R"(
#define SLUICE_PROGRAM_KERNEL(name, Task) inline void name(const Task &task, std::uint64_t item)
#include "kernels.hpp"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void ENTRY(std::uint64_t n_items, PARAMETERS) {
  const std::uint64_t words[] = {NAMES};
  TASK_TYPE task;
  static_assert(sizeof(task) == sizeof(words));
  __builtin_memcpy(&task, words, sizeof(task));
  const sycl::nd_item<1> own = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  for (std::uint64_t item = own.get_global_linear_id(); item < n_items; item += own.get_global_range(0)) {
    FUNCTION(task, item);
  }
}
)";

struct Compiled {
  const sluice_program_kernel_t *of;
  ::sycl::context context;
  ::sycl::device device;
  ::sycl::kernel kernel;
};

std::string frame_of(const sluice_program_kernel_t &kernel) {
  std::string parameters;
  std::string names;
  for (uint32_t i = 0; i < kernel.n_words; ++i) {
    const std::string name = "w" + std::to_string(i);
    parameters += (i == 0 ? "std::uint64_t " : ", std::uint64_t ") + name;
    names += name + ", ";
  }
  std::string source(kKernelIncludes);
  source += kFrame;
  const auto replace = [&source](std::string_view word, std::string_view by) {
    source.replace(source.find(word), word.size(), by);
  };
  replace("ENTRY", kernel.name);
  replace("PARAMETERS", parameters);
  replace("NAMES", names);
  replace("TASK_TYPE", kernel.task_type);
  replace("FUNCTION(", std::string(kernel.function) + "(");
  return source;
}

// What is computed is what is written: no product is fused with a sum.
::sycl::kernel compile(const ::sycl::context &context, const ::sycl::device &device,
                       const sluice_program_kernel_t &kernel) {
  const experimental::include_files headers("kernels.hpp", kernel.source);
  auto sources = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl,
                                                                frame_of(kernel), experimental::properties{headers});
  const experimental::build_options options(std::vector<std::string>{"-ffp-contract=off"});
  auto built = experimental::build(sources, std::vector<::sycl::device>{device}, experimental::properties{options});
  return built.ext_oneapi_get_kernel(kernel.name);
}

// Left to the end of the process: the runtime may be gone by then.
::sycl::kernel kernel_for(const ::sycl::queue &queue, const sluice_program_kernel_t *kernel) {
  static std::mutex mutex;
  static auto *const all = new std::vector<Compiled>();
  const std::scoped_lock lock(mutex);
  for (const Compiled &one : *all) {
    if (one.of == kernel && one.device == queue.get_device() && one.context == queue.get_context()) return one.kernel;
  }
  all->push_back(
      {kernel, queue.get_context(), queue.get_device(), compile(queue.get_context(), queue.get_device(), *kernel)});
  return all->back().kernel;
}

sluice_result_t launch(void *native, const sluice_program_kernel_t *kernel, uint64_t n_items, const uint64_t *task,
                       const uint64_t * /*size_bytes*/) {
  auto &queue = *static_cast<::sycl::queue *>(native);
  return guarded("launch of a program's kernel", [&] {
    if (!can_compile(queue.get_device())) {
      return fail(SLUICE_ERROR_UNSUPPORTED, "the runtime cannot compile kernels for this device");
    }
    const ::sycl::kernel compiled = kernel_for(queue, kernel);
    const size_t group =
        std::min(kGroupItems, queue.get_device().get_info<::sycl::info::device::max_work_group_size>());
    const size_t n_wanted = std::min<size_t>(n_items, kMostItems);
    const size_t n_global = std::max<size_t>(1, (n_wanted + group - 1) / group) * group;
    queue.submit([&](::sycl::handler &handler) {
      handler.set_arg(0, n_items);
      for (uint32_t i = 0; i < kernel->n_words; ++i) handler.set_arg(static_cast<int>(i + 1), task[i]);
      handler.parallel_for(::sycl::nd_range<1>(n_global, group), compiled);
    });
    return SLUICE_SUCCESS;
  });
}

constexpr sluice_program_kernels_t kKernels = {
    .api_version = SLUICE_PROGRAM_KERNELS_API_VERSION,
    .struct_size = sizeof(sluice_program_kernels_t),
    .stream_create = program_stream_create,
    .stream_destroy = program_stream_destroy,
    .stream_synchronize = program_stream_synchronize,
    .launch = launch,
    .graph_begin = nullptr,
    .graph_end = nullptr,
    .graph_launch = nullptr,
    .graph_destroy = nullptr,
};

}  // namespace
}  // namespace sluice::backends::sycl

extern "C" __attribute__((visibility("default"))) const sluice_program_kernels_t *sluice_backend_program_kernels() {
  return &sluice::backends::sycl::kKernels;
}
