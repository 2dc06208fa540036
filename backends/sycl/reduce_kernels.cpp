// SPDX-License-Identifier: BSD-3-Clause
// Owns the texts that are compiled, and the kernels that were.
#include "reduce_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../reduction.h"
#include "waits.h"

namespace sluice::backends::sycl {
namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

constexpr SourceText kTexts[] = {
#include "kernel_texts.inc"
};

// A task travels as words: the compiler for NVIDIA's devices in oneAPI 2026.2 ends the program over a structure that a
// kernel takes by value. Each item writes them into a task of its own before it begins, in memory, so a kernel for few
// addresses takes their words only: a sum of two arrays 10 of 34.
using Word = std::uint64_t;
template <typename Task>
constexpr size_t kTaskWords = sizeof(Task) / sizeof(Word);

// Places in a task of the words that its kernel takes.
template <typename Task>
constexpr std::array<unsigned, kTaskWords<Task>> all_words() {
  std::array<unsigned, kTaskWords<Task>> places{};
  for (unsigned i = 0; i < places.size(); ++i) places[i] = i;
  return places;
}
template <typename Task>
constexpr auto kAllWords = all_words<Task>();

constexpr unsigned kFew = 4;  // sources and destinations of a reduction, or copies
constexpr std::array<unsigned, 10> kFewAddresses = {0, 1, 2, 3, 16, 17, 18, 19, 32, 33};
static_assert(kernels::kMaxDsts == 16 && offsetof(kernels::Task, sources) == 16 * sizeof(Word));
static_assert(offsetof(kernels::Task, count) == 32 * sizeof(Word) && kTaskWords<kernels::Task> == 34);
constexpr std::array<unsigned, 13> kFewCopies = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 48};
static_assert(offsetof(kernels::CopyTask, n_copies) == 48 * sizeof(Word));
static_assert(sizeof(kernels::Task) % sizeof(Word) == 0);
static_assert(sizeof(kernels::CopyTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::PackTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::RearrangeTask) % sizeof(Word) == 0);
static_assert(sizeof(kernels::MessageTask) % sizeof(Word) == 0);
static_assert(kernels::kLengthBits == SLUICE_LENGTH_BITS);

constexpr const char *kFrame = R"(
#define SLUICE_KERNELS_UNROLLED _Pragma("unroll")
#define SLUICE_KERNELS_ROLLED _Pragma("unroll 1")
#include "HEADER"
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void sluice_kernel(WORD_PARAMETERS) {
  sluice::kernels::TASK task;
  auto *const bytes = reinterpret_cast<unsigned char *>(&task);
  WORD_COPIES
  const sycl::nd_item<1> item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  sluice::kernels::SHARE(task, item.get_global_linear_id(), item.get_global_range(0));
}
)";

// A kernel's number: which it is, how many words it takes, and, of a reduction, the pair.
constexpr unsigned kReductions = 0U;
constexpr unsigned kCopies = 1U << 28U;
constexpr unsigned kPack = 2U << 28U;
constexpr unsigned kRearrange = 3U << 28U;
constexpr unsigned kMessage = 4U << 28U;

struct Compiled {
  ::sycl::context context;
  ::sycl::device device;
  unsigned number;
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
  std::span<const unsigned> words;
  std::string share;
};

Filling filling_of(sluice_element_t element, sluice_operation_t operation, std::span<const unsigned> words) {
  std::string share = "reduce_share<sluice::kernels::Rule_";
  share.append(kernels::name_of(static_cast<kernels::Operation>(operation))).append(", sluice::kernels::Element_");
  share.append(kernels::name_of(static_cast<kernels::Element>(element))).append(">");
  return {"of " + pair_name(element, operation), "reduce.hpp", "Task", words, share};
}

std::string source_of(const Filling &filling) {
  std::string source(kKernelIncludes);
  source += kFrame;
  std::string parameters;
  std::string copies;
  for (const unsigned place : filling.words) {
    const std::string name = "w" + std::to_string(place);
    parameters += (parameters.empty() ? "std::uint64_t " : ", std::uint64_t ") + name;
    copies += "__builtin_memcpy(bytes + " + std::to_string(place * sizeof(Word)) + ", &" + name + ", 8);\n  ";
  }
  const auto replace = [&source](std::string_view word, std::string_view by) {
    source.replace(source.find(word), word.size(), by);
  };
  replace("HEADER", filling.header);
  replace("WORD_PARAMETERS", parameters);
  replace("WORD_COPIES", copies);
  replace("TASK", filling.task);
  replace("SHARE", filling.share);
  return source;
}

// Sums are computed as they are written: no product is fused with a sum.
::sycl::kernel compile(const ::sycl::context &context, const ::sycl::device &device, const std::string &source,
                       std::string *log) {
  experimental::include_files headers;
  for (const SourceText &text : kTexts) headers.add(text.name, text.content);
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
      std::optional<Quiet> quiet;  // as long as it is loaded
      if (entry.context.get_backend() == ::sycl::backend::ext_oneapi_cuda) quiet.emplace();
      if (quiet.has_value() && !quiet->is_kept()) {
        return fail(SLUICE_ERROR_UNSUPPORTED,
                    "the kernel is not loaded yet, and the driver loads none while a stream waits for a message");
      }
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
void set_words(::sycl::handler *handler, const Task &task, std::span<const unsigned> places = kAllWords<Task>) {
  const auto *const bytes = reinterpret_cast<const unsigned char *>(&task);
  int i = 0;
  for (const unsigned place : places) {
    Word word = 0;
    std::memcpy(&word, bytes + place * sizeof(Word), sizeof(Word));
    handler->set_arg(i++, word);
  }
}

std::span<const unsigned> words_of(const kernels::Task &task) {
  if (task.n_sources <= kFew && task.n_dsts <= kFew) return kFewAddresses;
  return kAllWords<kernels::Task>;
}

std::span<const unsigned> words_of(const kernels::CopyTask &task) {
  if (task.n_copies <= kFew) return kFewCopies;
  return kAllWords<kernels::CopyTask>;
}

}  // namespace

void set_task(::sycl::handler *handler, const kernels::Task &task) {
  set_words(handler, task, words_of(task));
}

void set_task(::sycl::handler *handler, const kernels::CopyTask &task) {
  set_words(handler, task, words_of(task));
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
                            sluice_operation_t operation, const kernels::Task &task,
                            std::optional<::sycl::kernel> *kernel) {
  const std::span<const unsigned> words = words_of(task);
  const unsigned pair = static_cast<unsigned>(element) << 8U | static_cast<unsigned>(operation);
  const unsigned number = kReductions | static_cast<unsigned>(words.size()) << 16U | pair;
  const auto filling = [&] { return filling_of(element, operation, words); };
  return find({context, device, number, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_copies_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                   const kernels::CopyTask &task, std::optional<::sycl::kernel> *kernel) {
  const std::span<const unsigned> words = words_of(task);
  const unsigned number = kCopies | static_cast<unsigned>(words.size()) << 16U;
  const auto filling = [&] { return Filling{"that copies", "copy.hpp", "CopyTask", words, "copy_share"}; };
  return find({context, device, number, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_pack_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                 std::optional<::sycl::kernel> *kernel) {
  const auto filling = [] {
    return Filling{"that packs", "pack.hpp", "PackTask", kAllWords<kernels::PackTask>, "pack_share"};
  };
  return find({context, device, kPack, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_rearrange_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                      std::optional<::sycl::kernel> *kernel) {
  const auto filling = [] {
    return Filling{"that rearranges", "rearrange.hpp", "RearrangeTask", kAllWords<kernels::RearrangeTask>,
                   "rearrange_share"};
  };
  return find({context, device, kRearrange, std::nullopt, ""}, filling, kernel);
}

sluice_result_t find_message_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                    std::optional<::sycl::kernel> *kernel) {
  const auto filling = [] {
    return Filling{"that takes messages", "take.hpp", "MessageTask", kAllWords<kernels::MessageTask>, "take_share"};
  };
  return find({context, device, kMessage, std::nullopt, ""}, filling, kernel);
}

}  // namespace sluice::backends::sycl
