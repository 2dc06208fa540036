// SPDX-License-Identifier: BSD-3-Clause
// Owns the texts that are compiled, and the kernels that were.
#include "reduce_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

// A task travels as words: the compiler for NVIDIA's devices in oneAPI 2026.2 ends the program over a structure that a
// kernel takes by value.
using Word = std::uint64_t;
template <typename Task>
constexpr size_t kTaskWords = sizeof(Task) / sizeof(Word);
static_assert(sizeof(kernels::Task) % sizeof(Word) == 0);
static_assert(sizeof(kernels::CopyTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::PackTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::RearrangeTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::MessageTask) % sizeof(Word) == 0);
static_assert(kernels::kLengthBits == SLUICE_LENGTH_BITS);

constexpr const char *kFrame = R"(
#include <sycl/sycl.hpp>
#define SLUICE_KERNELS_UNROLLED _Pragma("unroll")
#define SLUICE_KERNELS_ROLLED _Pragma("unroll 1")
#include "HEADER"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void sluice_kernel(WORD_PARAMETERS) {
  const std::uint64_t words[] = {WORD_NAMES};
  sluice::kernels::TASK task;
  static_assert(sizeof(task) == sizeof(words));
  __builtin_memcpy(&task, words, sizeof(task));
  const sycl::nd_item<1> item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  sluice::kernels::SHARE(task, item.get_global_linear_id(), item.get_global_range(0));
}
)";

struct Compiled {
  ::sycl::context context;
  ::sycl::device device;
  unsigned number;                       // of the kernel
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

// What stands for the words of kFrame.
struct Filling {
  std::string name;  // for people
  std::string header;
  std::string task;
  size_t n_words;
  std::string share;
};

Filling filling_of(sluice_element_t element, sluice_operation_t operation) {
  std::string share = "reduce_share<sluice::kernels::Rule_";
  share.append(kernels::name_of(static_cast<kernels::Operation>(operation))).append(", sluice::kernels::Element_");
  share.append(kernels::name_of(static_cast<kernels::Element>(element))).append(">");
  return {"of " + pair_name(element, operation), "reduce.hpp", "Task", kTaskWords<kernels::Task>, share};
}

std::string source_of(const Filling &filling) {
  std::string source = kFrame;
  std::string parameters;
  std::string names;
  for (size_t i = 0; i < filling.n_words; ++i) {
    const std::string name = "w" + std::to_string(i);
    parameters += (i == 0 ? "std::uint64_t " : ", std::uint64_t ") + name;
    names += name + ", ";
  }
  const auto replace = [&source](std::string_view word, std::string_view by) {
    source.replace(source.find(word), word.size(), by);
  };
  replace("HEADER", filling.header);
  replace("WORD_PARAMETERS", parameters);
  replace("WORD_NAMES", names);
  replace("TASK", filling.task);
  replace("SHARE", filling.share);
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
  return built.ext_oneapi_get_kernel("sluice_kernel");
}

bool find_compiled(const Compiled &wanted, Compiled *found) {
  const std::scoped_lock lock(cache().mutex);
  for (const Compiled &one : cache().list) {
    if (one.number != wanted.number || one.device != wanted.device || one.context != wanted.context) continue;
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

// Finds the kernel, or compiles it.
template <typename MakeFilling>
sluice_result_t find(Compiled entry, const MakeFilling &make_filling, std::optional<::sycl::kernel> *kernel) {
  if (!find_compiled(entry, &entry)) {
    const std::scoped_lock lock(cache().compiling);
    if (!find_compiled(entry, &entry)) {
      const Filling filling = make_filling();
      std::string log;
      try {
        entry.kernel = compile(entry.context, entry.device, source_of(filling), &log);
      } catch (const ::sycl::exception &error) {
        entry.why = "the kernel " + filling.name + " could not be compiled: " + error.what();
        if (!log.empty()) entry.why += ": " + first_error(log);
      }
      const std::scoped_lock list_lock(cache().mutex);
      cache().list.push_back(entry);
    }
  }
  if (!entry.kernel.has_value()) return fail(SLUICE_ERROR_UNSUPPORTED, entry.why);
  *kernel = entry.kernel;
  return SLUICE_SUCCESS;
}

template <typename Task>
void set_words(::sycl::handler *handler, const Task &task) {
  Word words[kTaskWords<Task>];
  std::memcpy(words, &task, sizeof(task));
  for (size_t i = 0; i < kTaskWords<Task>; ++i) handler->set_arg(static_cast<int>(i), words[i]);
}

}  // namespace

void set_task(::sycl::handler *handler, const kernels::Task &task) {
  set_words(handler, task);
}

void set_task(::sycl::handler *handler, const kernels::CopyTask &task) {
  set_words(handler, task);
}

void set_task(::sycl::handler *handler, const kernels::PackTask &task) {
  set_words(handler, task);
}

void set_task(::sycl::handler *handler, const kernels::RearrangeTask &task) {
  set_words(handler, task);
}

void set_task(::sycl::handler *handler, const kernels::MessageTask &task) {
  set_words(handler, task);
}

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
  const unsigned number = static_cast<unsigned>(element) << 8U | static_cast<unsigned>(operation);
  const auto filling = [&] { return filling_of(element, operation); };
  return find({context, device, number, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_copies_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                   std::optional<::sycl::kernel> *kernel) {
  constexpr unsigned kNumber = ~0U;
  const auto filling = [] {
    return Filling{"that copies", "copy.hpp", "CopyTask", kTaskWords<kernels::CopyTask>, "copy_share"};
  };
  return find({context, device, kNumber, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_pack_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                 std::optional<::sycl::kernel> *kernel) {
  constexpr unsigned kNumber = ~0U - 1;
  const auto filling = [] {
    return Filling{"that packs", "pack.hpp", "PackTask", kTaskWords<kernels::PackTask>, "pack_share"};
  };
  return find({context, device, kNumber, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_rearrange_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                      std::optional<::sycl::kernel> *kernel) {
  constexpr unsigned kNumber = ~0U - 2;
  const auto filling = [] {
    return Filling{"that rearranges", "rearrange.hpp", "RearrangeTask", kTaskWords<kernels::RearrangeTask>,
                   "rearrange_share"};
  };
  return find({context, device, kNumber, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_message_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                    std::optional<::sycl::kernel> *kernel) {
  constexpr unsigned kNumber = ~0U - 3;
  const auto filling = [] {
    return Filling{"that takes messages", "take.hpp", "MessageTask", kTaskWords<kernels::MessageTask>, "take_share"};
  };
  return find({context, device, kNumber, std::nullopt, ""}, filling, kernel);
}

}  // namespace sluice::backends::sycl
