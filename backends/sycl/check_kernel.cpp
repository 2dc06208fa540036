// SPDX-License-Identifier: BSD-3-Clause
// Owns the texts of the kernels that benchmarks ask for, and what was compiled of them.
#include "check_kernel.h"

#include <mutex>
#include <string>
#include <vector>

#include "reduce_kernels.h"

namespace sluice::backends::sycl {
namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

constexpr SourceText kTexts[] = {
#include "check_texts.inc"
};

// A task travels as words: the compiler for NVIDIA's devices in oneAPI 2026.2 ends the program over a structure that a
// kernel takes by value.
constexpr const char *kCheckSource = R"(
#include "check.hpp"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void sluice_check(std::uint64_t memory, std::uint64_t sources, std::uint64_t segments, std::uint64_t n_segments,
                  std::uint64_t n_words, std::uint64_t shares) {
  const sluice::kernels::CheckTask task = {
      reinterpret_cast<const unsigned char *>(memory), reinterpret_cast<const sluice_check_source_t *>(sources),
      reinterpret_cast<const sluice_check_segment_t *>(segments), n_segments, n_words,
      reinterpret_cast<sluice::kernels::CheckShare *>(shares)};
  const sycl::nd_item<1> item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  sluice::kernels::check_share(task, item.get_global_linear_id(), item.get_global_range(0));
}
)";

constexpr const char *kWorkSource = R"(
#include "work.hpp"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void sluice_work(std::uint64_t n_steps, std::uint64_t results) {
  const sluice::kernels::WorkTask task = {n_steps, reinterpret_cast<std::uint64_t *>(results)};
  const sycl::nd_item<1> item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  sluice::kernels::work_share(task, item.get_global_linear_id(), item.get_global_range(0));
}
)";

struct Compiled {
  ProbeKernel which;
  ::sycl::context context;
  ::sycl::device device;
  ::sycl::kernel kernel;
};

::sycl::kernel compile(ProbeKernel which, const ::sycl::context &context, const ::sycl::device &device) {
  experimental::include_files headers;
  for (const SourceText &text : kTexts) headers.add(text.name, text.content);
  const bool is_check = which == ProbeKernel::kCheck;
  std::string source(kKernelIncludes);
  source += is_check ? kCheckSource : kWorkSource;
  auto sources = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, source,
                                                                experimental::properties{headers});
  std::string log;
  auto built = experimental::build(sources, std::vector<::sycl::device>{device},
                                   experimental::properties{experimental::save_log{&log}});
  return built.ext_oneapi_get_kernel(is_check ? "sluice_check" : "sluice_work");
}

uint64_t word(const void *pointer) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace

void set_task(::sycl::handler *handler, const kernels::WorkTask &task) {
  handler->set_args(task.n_steps, word(task.results));
}

void set_task(::sycl::handler *handler, const kernels::CheckTask &task) {
  handler->set_args(word(task.memory), word(task.sources), word(task.segments), task.n_segments, task.n_words,
                    word(task.shares));
}

sluice_result_t find_probe_kernel(ProbeKernel which, const ::sycl::context &context, const ::sycl::device &device,
                                  std::optional<::sycl::kernel> *kernel) {
  static std::mutex mutex;
  // Left to the end of the process: the runtime may be gone by then.
  static auto *const all = new std::vector<Compiled>();
  if (!can_compile(device)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the runtime cannot compile kernels for this device");
  }
  const std::scoped_lock lock(mutex);
  for (const Compiled &one : *all) {
    if (one.which == which && one.context == context && one.device == device) {
      *kernel = one.kernel;
      return SLUICE_SUCCESS;
    }
  }
  try {
    all->push_back({which, context, device, compile(which, context, device)});
  } catch (const ::sycl::exception &error) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                std::string("the kernel that ") +
                    (which == ProbeKernel::kCheck ? "checks memory" : "computes beside others") +
                    " could not be compiled: " + error.what());
  }
  *kernel = all->back().kernel;
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::sycl
