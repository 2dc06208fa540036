// SPDX-License-Identifier: BSD-3-Clause
// Owns the texts that are compiled, and the kernels that were.
#include "reduce_kernels.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../reduction.h"

namespace sluice::backends::sycl {
namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

struct Text {
  const char *name;
  const char *content;
};
constexpr Text kTexts[] = {
#include "kernel_texts.inc"
};

constexpr const char *kFrame = R"(
#include <sycl/sycl.hpp>
#include "reduce.hpp"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void sluice_reduce(sluice::kernels::Task task) {
  const sycl::nd_item<1> item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  sluice::kernels::reduce_share<sluice::kernels::Rule_OPERATION, sluice::kernels::Element_ELEMENT>(
      task, item.get_global_linear_id(), item.get_global_range(0));
}
)";

struct Compiled {
  ::sycl::context context;
  ::sycl::device device;
  sluice_element_t element;
  sluice_operation_t operation;
  std::optional<::sycl::kernel> kernel;  // none: it could not be compiled
  std::string why;
};

// Left to the end of the process: the runtime may be gone by then.
struct Cache {
  std::mutex mutex;  // of the list
  std::vector<Compiled> list;
  std::mutex compiling;
};

Cache &cache() {
  static auto *const all = new Cache();
  return *all;
}

std::string source_of(sluice_element_t element, sluice_operation_t operation) {
  std::string source = kFrame;
  const auto replace = [&source](std::string_view word, std::string_view by) {
    source.replace(source.find(word), word.size(), by);
  };
  replace("OPERATION,", std::string(kernels::name_of(static_cast<kernels::Operation>(operation))) + ",");
  replace("Element_ELEMENT", "Element_" + std::string(kernels::name_of(static_cast<kernels::Element>(element))));
  return source;
}

// Sums are computed as they are written: no product is fused with a sum.
::sycl::kernel compile(const ::sycl::context &context, const ::sycl::device &device, const std::string &source,
                       std::string *log) {
  experimental::include_files headers;
  for (const Text &text : kTexts) headers.add(text.name, text.content);
  auto sources = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, source,
                                                                experimental::properties{headers});
  const experimental::build_options options(std::vector<std::string>{"-ffp-contract=off"});
  auto built = experimental::build(sources, std::vector<::sycl::device>{device},
                                   experimental::properties{options, experimental::save_log{log}});
  return built.ext_oneapi_get_kernel("sluice_reduce");
}

bool find_compiled(const Compiled &wanted, Compiled *found) {
  const std::scoped_lock lock(cache().mutex);
  for (const Compiled &one : cache().list) {
    if (one.element != wanted.element || one.operation != wanted.operation || one.device != wanted.device ||
        one.context != wanted.context) {
      continue;
    }
    *found = one;
    return true;
  }
  return false;
}

// What a compiler says is long; its first error says enough.
std::string first_error(const std::string &log) {
  const size_t begin = log.find("error:");
  return begin == std::string::npos ? log.substr(0, 200) : log.substr(begin, log.find('\n', begin) - begin);
}

}  // namespace

bool can_compile(const ::sycl::device &device) {
  static std::mutex mutex;
  static auto *const known = new std::vector<std::pair<::sycl::device, bool>>();
  const std::scoped_lock lock(mutex);
  for (const auto &[one, answer] : *known) {
    if (one == device) return answer;
  }
  ::sycl::device asked = device;
  known->emplace_back(device, asked.ext_oneapi_can_build(experimental::source_language::sycl));
  return known->back().second;
}

sluice_result_t find_kernel(const ::sycl::context &context, const ::sycl::device &device, sluice_element_t element,
                            sluice_operation_t operation, std::optional<::sycl::kernel> *kernel) {
  Compiled entry{context, device, element, operation, std::nullopt, ""};
  if (!find_compiled(entry, &entry)) {
    const std::scoped_lock lock(cache().compiling);
    if (!find_compiled(entry, &entry)) {
      std::string log;
      try {
        entry.kernel = compile(context, device, source_of(element, operation), &log);
      } catch (const ::sycl::exception &error) {
        entry.why = std::string(error.what()) + (log.empty() ? "" : ": " + first_error(log));
      }
      const std::scoped_lock list_lock(cache().mutex);
      cache().list.push_back(entry);
    }
  }
  if (!entry.kernel.has_value()) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "the kernel of " + pair_name(element, operation) + " could not be compiled: " + entry.why);
  }
  *kernel = entry.kernel;
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::sycl
