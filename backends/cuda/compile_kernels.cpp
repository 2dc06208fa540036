// SPDX-License-Identifier: BSD-3-Clause
// Compiles the reductions of one element type, or one of the other kernels, or those that benchmarks ask for
// (sluice/testing/probe.h), into the text that the driver takes, with the vendor's compiler library:
//   compile_kernels <library> <folder kernels> <element or kernel> <file to write>
// A kernel is COPIES, PACK, PACK_STRIDES, PACK_LIST, REARRANGE, REARRANGE_WORDS, MESSAGE, FEW_MESSAGES, MESSAGES,
// TRIGGER, AWAIT or PROBE. Runs while the module is built, without a device or a driver. The library is found by name
// only, so that the module needs nothing of it.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "../kernel_integers.h"
#include "functions.hpp"

namespace {

namespace kernels = sluice::kernels;

// Of the library's interface: a program is a pointer, and 0 a success.
using Program = void *;
struct Compiler {
  int (*version)(int *, int *);
  int (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile)(Program, int, const char *const *);
  int (*destroy)(Program *);
  int (*log_size)(Program, size_t *);
  int (*log)(Program, char *);
  int (*text_size)(Program, size_t *);
  int (*text)(Program, char *);
};

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) std::fprintf(stderr, "compile_kernels: the library has no %s\n", name);
  return *function != nullptr;
}

bool open_compiler(const char *path, Compiler *compiler) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "compile_kernels: %s; tools/setup installs the compiler\n", dlerror());
    return false;
  }
  return find(library, "nvrtcVersion", &compiler->version) && find(library, "nvrtcCreateProgram", &compiler->create) &&
         find(library, "nvrtcCompileProgram", &compiler->compile) &&
         find(library, "nvrtcDestroyProgram", &compiler->destroy) &&
         find(library, "nvrtcGetProgramLogSize", &compiler->log_size) &&
         find(library, "nvrtcGetProgramLog", &compiler->log) &&
         find(library, "nvrtcGetPTXSize", &compiler->text_size) && find(library, "nvrtcGetPTX", &compiler->text);
}

// What the headers expect of a compiler and its standard library, which this one has under other names or not at all.
constexpr const char *kGlobalIntegers = R"(
#include <cstdint>
using std::uint32_t;
using std::uint64_t;
)";
constexpr const char *kFrame = R"(
#define __builtin_memcpy memcpy
#define __builtin_copysign copysign
#define __builtin_copysignf copysignf
#define __builtin_huge_val() __longlong_as_double(0x7ff0000000000000LL)
#define SLUICE_KERNELS_FUNCTION __device__ __forceinline__
#define SLUICE_KERNELS_UNROLLED _Pragma("unroll")
#define SLUICE_KERNELS_ROLLED _Pragma("unroll 1")
#define SLUICE_KERNELS_SYSTEM_FENCE() __threadfence_system()
#define SLUICE_KERNELS_PAUSE() __nanosleep(100)
#include "HEADER"
BEFORE
extern "C" __global__ void __launch_bounds__(BOUNDS) NAME(const __grid_constant__ sluice::kernels::TASK task END) {
  const std::uint64_t n_items = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t item = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  sluice::kernels::SHARE(task, item, n_items);
  BEHIND
}
)";
// Of a kernel of a queue, which tells of its end where it has one block.
constexpr const char *kBeforeEnd = R"(
#include "end.hpp"
__device__ std::uint64_t ends[sluice::kernels::kMostEnds];
)";
constexpr const char *kEnd = ", const __grid_constant__ sluice::kernels::EndTask end";
constexpr const char *kBehindEnd = R"(
  if (end.word == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) sluice::kernels::tell_end(end, ends);
)";
// Of kernels that look at words which others write.
constexpr const char *kWordFrame = R"(
#define __builtin_memcpy memcpy
#define SLUICE_KERNELS_FUNCTION __device__ __forceinline__
#define SLUICE_KERNELS_UNROLLED _Pragma("unroll")
#define SLUICE_KERNELS_ROLLED _Pragma("unroll 1")
#define SLUICE_KERNELS_SYSTEM_FENCE() __threadfence_system()
#define SLUICE_KERNELS_PAUSE() __nanosleep(20)
#define SLUICE_KERNELS_DEVICE_FENCE() __threadfence()
__device__ __forceinline__ unsigned long long look(const void *word) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
#define SLUICE_KERNELS_LOOK(word) look(word)
#define SLUICE_KERNELS_SET(word, value) (*(volatile std::uint64_t *)(word) = (value))
#define SLUICE_KERNELS_COUNT_UP(counter) atomicAdd(counter, 1U)
)";
// The kernels of a message and of several, in three steps between which the items of a block wait for each other.
constexpr const char *kCarry = R"(
#include "message.hpp"
__device__ sluice::kernels::MessageShared shared[sluice::kernels::kMostSharingStreams * sluice::kernels::kMostMessages];
__device__ __forceinline__ void carry(const sluice::kernels::MessageTask &task, std::uint64_t part,
                                      std::uint64_t n_parts) {
  __shared__ sluice::kernels::MessageSource source;
  if (threadIdx.x == 0) source = sluice::kernels::message_begin(task, part, shared);
  __syncthreads();
  sluice::kernels::message_share(task, source, part * blockDim.x + threadIdx.x, n_parts * blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) sluice::kernels::message_end(task, shared);
}
)";
constexpr const char *kOneMessage = R"(
extern "C" __global__ void __launch_bounds__(1024) sluice_message(
    const __grid_constant__ sluice::kernels::MessageTask task) {
  carry(task, blockIdx.x, gridDim.x);
}
)";
constexpr const char *kMessages = R"(
extern "C" __global__ void __launch_bounds__(1024) NAME(const __grid_constant__ sluice::kernels::LIST list) {
  sluice::kernels::MessagePart found = {0, 0};
  SLUICE_KERNELS_ROLLED
  for (std::uint32_t part = blockIdx.x; part < list.n_parts; part += gridDim.x) {
    sluice::kernels::find_part(list, part, &found);
    carry(list.tasks[found.task], part - found.first, list.tasks[found.task].n_parts);
  }
}
)";
// The same steps for messages of a graph, whose arguments say where the rest is.
constexpr const char *kCaptured = R"(
#include "captured.hpp"
extern "C" __global__ void __launch_bounds__(1024) sluice_captured(
    const __grid_constant__ sluice::kernels::CapturedList list) {
  __shared__ sluice::kernels::CapturedCopy begun;
  sluice::kernels::MessagePart found = {0, 0};
  SLUICE_KERNELS_ROLLED
  for (std::uint32_t part = blockIdx.x; part < list.n_parts; part += gridDim.x) {
    sluice::kernels::find_part(list, part, &found);
    const sluice::kernels::CapturedTask &task = list.tasks[found.task];
    if (threadIdx.x == 0) begun = sluice::kernels::captured_begin(task, part - found.first);
    __syncthreads();
    sluice::kernels::captured_share(begun, (part - found.first) * blockDim.x + threadIdx.x, task.n_parts * blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) sluice::kernels::captured_end(task, begun.number);
  }
}
)";
// Of the folder kernels; the last one is the public header's, beside it.
constexpr const char *kHeaders[] = {
    "list.hpp",  "numbers.hpp", "rules.hpp",   "reduce.hpp", "copy.hpp", "pack.hpp",     "rearrange.hpp",
    "check.hpp", "work.hpp",    "message.hpp", "signal.hpp", "end.hpp",  "captured.hpp", "sluice/testing/check.h"};

void replace(std::string *text, const std::string &word, const std::string &by) {
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at + by.size())) {
    text->replace(at, word.size(), by);
  }
}

bool read_headers(const std::string &folder, std::vector<std::string> *texts) {
  *texts = {sluice::backends::kKernelIntegers, kGlobalIntegers};
  for (const char *header : kHeaders) {
    const bool is_public = std::string(header).find('/') != std::string::npos;
    std::ifstream file(folder + (is_public ? "/../include/" : "/") + header);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
      std::fprintf(stderr, "compile_kernels: cannot read %s/%s\n", folder.c_str(), header);
      return false;
    }
    texts->push_back(text.str());
  }
  return true;
}

// Sums are computed as they are written: no product is fused with a sum. The oldest devices that every such library
// knows; none of the older ones has the memory system that the collective operations count on.
constexpr const char *kOptions[] = {"--std=c++17", "--gpu-architecture=compute_75", "--fmad=false"};

bool compile(const Compiler &compiler, const std::vector<std::string> &headers, const std::string &source,
             std::string *text) {
  std::vector<const char *> names = {"cstdint", "stdint.h"};
  names.insert(names.end(), std::begin(kHeaders), std::end(kHeaders));
  std::vector<const char *> contents;
  contents.reserve(headers.size());
  for (const std::string &header : headers) contents.push_back(header.c_str());
  Program program = nullptr;
  if (compiler.create(&program, source.c_str(), "kernel.cu", static_cast<int>(names.size()), contents.data(),
                      names.data()) != 0) {
    std::fprintf(stderr, "compile_kernels: no program can be made\n");
    return false;
  }
  const bool is_compiled = compiler.compile(program, static_cast<int>(std::size(kOptions)), kOptions) == 0;
  size_t size_bytes = 0;
  if (is_compiled ? compiler.text_size(program, &size_bytes) == 0 : compiler.log_size(program, &size_bytes) == 0) {
    text->resize(size_bytes);
    const int got = is_compiled ? compiler.text(program, text->data()) : compiler.log(program, text->data());
    text->resize(got == 0 && size_bytes > 0 ? size_bytes - 1 : 0);  // it ends with a zero byte
  }
  if (!is_compiled) std::fprintf(stderr, "%s\n", text->c_str());
  return compiler.destroy(&program) == 0 && is_compiled && !text->empty();
}

// The constants of the compiler's own headers, which it writes into every text.
bool is_unused(const std::string &line, const std::string &text) {
  if (line.rfind(".global ", 0) != 0) return false;
  const size_t begin = line.find("_Z");
  const std::string name =
      line.substr(begin == std::string::npos ? 0 : begin, line.find_first_of(" [;", begin) - begin);
  return text.find(name) == text.rfind(name);
}

// As a literal of C++, without the compiler's remarks and what nothing refers to.
void write_literal(const std::string &text, std::ostream *out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.rfind("//", 0) == 0 || line.rfind("\t// ", 0) == 0 || is_unused(line, text)) continue;
    *out << "    \"";
    for (const char c : line) {
      if (c == '"' || c == '\\') *out << '\\';
      if (c == '\t') {
        *out << "\\t";
      } else {
        *out << c;
      }
    }
    *out << "\\n\"\n";
  }
}

// What stands for the words of kFrame.
struct Filling {
  std::string header;
  std::string name;
  std::string task;
  std::string share;
  // Threads of a block; and so many blocks on a processor, where it takes as many, for which the compiler spares
  // registers.
  std::string bounds = "512";
  bool tells_end = true;
};

bool compile(const Compiler &compiler, const std::vector<std::string> &headers, const Filling &filling,
             std::string *text) {
  std::string source = kFrame;
  replace(&source, "BEFORE", filling.tells_end ? kBeforeEnd : "");
  replace(&source, "BEHIND", filling.tells_end ? kBehindEnd : "");
  replace(&source, " END", filling.tells_end ? kEnd : "");
  replace(&source, "HEADER", filling.header);
  replace(&source, "BOUNDS", filling.bounds);
  replace(&source, "NAME", filling.name);
  replace(&source, "TASK", filling.task);
  replace(&source, "SHARE", filling.share);
  return compile(compiler, headers, source, text);
}

bool write_reduction(const Compiler &compiler, const std::vector<std::string> &headers, const std::string &element,
                     const std::string &operation, std::ostream *out) {
  Filling filling = {"reduce.hpp", "sluice_reduce_", "Task", "reduce_share<sluice::kernels::Rule_"};
  filling.name.append(element).append("_").append(operation);
  filling.share.append(operation).append(", sluice::kernels::Element_").append(element).append(">");
  std::string text;
  if (!compile(compiler, headers, filling, &text)) return false;
  *out << "SLUICE_CUDA_TEXT(" << element << ", " << operation << ", \"" << filling.name << "\",\n";
  write_literal(text, out);
  *out << ")\n";
  return true;
}

// function: of kernels.h, which gives the text.
bool write_probe_kernel(const Compiler &compiler, const std::vector<std::string> &headers, const Filling &filling,
                        const char *function, std::ostream *out) {
  std::string text;
  if (!compile(compiler, headers, filling, &text)) return false;
  *out << "SLUICE_CUDA_TEXT(" << function << ", \"" << filling.name << "\",\n";
  write_literal(text, out);
  *out << ")\n";
  return true;
}

// What benchmarks ask for.
bool write_probe(const Compiler &compiler, const std::vector<std::string> &headers, std::ostream *out) {
  const Filling check = {"check.hpp", "sluice_check", "CheckTask", "check_share", "512", false};
  const Filling work = {"work.hpp", "sluice_work", "WorkTask", "work_share", "512", false};
  return write_probe_kernel(compiler, headers, check, "check_text", out) &&
         write_probe_kernel(compiler, headers, work, "work_text", out);
}

// An initialiser of a KernelText.
bool write_kernel(const Compiler &compiler, const std::vector<std::string> &headers, const Filling &filling,
                  std::ostream *out) {
  std::string text;
  if (!compile(compiler, headers, filling, &text)) return false;
  *out << "{\"" << filling.name << "\",\n";
  write_literal(text, out);
  *out << "}\n";
  return true;
}

// The source in parts; list: of message.hpp, what the kernel of several messages is handed.
bool write_message(const Compiler &compiler, const std::vector<std::string> &headers, const char *name,
                   std::initializer_list<const char *> parts, const char *list, std::ostream *out) {
  std::string source;
  for (const char *part : parts) source += part;
  replace(&source, "NAME", name);
  replace(&source, "LIST", list);
  std::string text;
  if (!compile(compiler, headers, source, &text)) return false;
  *out << "{\"" << name << "\",\n";
  write_literal(text, out);
  *out << "}\n";
  return true;
}

bool write_reductions(const Compiler &compiler, const std::vector<std::string> &headers, const std::string &element,
                      std::ostream *out) {
  unsigned number = 0;
  while (kernels::name_of(static_cast<kernels::Element>(number)) != element) {
    if (++number == static_cast<unsigned>(kernels::Element::kCount)) return false;
  }
  for (unsigned k = 0; k < static_cast<unsigned>(kernels::Operation::kCount); ++k) {
    const auto operation = static_cast<kernels::Operation>(k);
    if (!kernels::is_legal(static_cast<kernels::Element>(number), operation)) continue;
    if (!write_reduction(compiler, headers, element, std::string(kernels::name_of(operation)), out)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  Compiler compiler{};
  std::vector<std::string> headers;
  if (argc != 5 || !open_compiler(argv[1], &compiler) || !read_headers(argv[2], &headers)) return 1;
  const std::string what = argv[3];
  std::ofstream out(argv[4]);
  const Filling copies = {"copy.hpp", "sluice_copies", "CopyTask", "copy_share"};
  const Filling pack = {"pack.hpp", "sluice_pack", "PackTask", "pack_share"};
  const Filling pack_strides = {"pack.hpp", "sluice_pack_strides", "PackTask", "pack_strides_share"};
  const Filling pack_list = {"pack.hpp", "sluice_pack_list", "PackTask", "pack_list_share", "512, 4"};
  const Filling rearrange = {"rearrange.hpp", "sluice_rearrange", "RearrangeTask", "rearrange_share"};
  const Filling rearrange_words = {"rearrange.hpp", "sluice_rearrange_words", "RearrangeTask", "rearrange_words_share"};
  const Filling trigger = {"signal.hpp", "sluice_trigger", "SignalTask", "trigger_share", "512", false};
  const Filling await = {"signal.hpp", "sluice_await", "SignalTask", "await_share", "512", false};
  const bool is_written =
      what == "PROBE"             ? write_probe(compiler, headers, &out)
      : what == "COPIES"          ? write_kernel(compiler, headers, copies, &out)
      : what == "PACK"            ? write_kernel(compiler, headers, pack, &out)
      : what == "PACK_STRIDES"    ? write_kernel(compiler, headers, pack_strides, &out)
      : what == "PACK_LIST"       ? write_kernel(compiler, headers, pack_list, &out)
      : what == "REARRANGE"       ? write_kernel(compiler, headers, rearrange, &out)
      : what == "REARRANGE_WORDS" ? write_kernel(compiler, headers, rearrange_words, &out)
      : what == "MESSAGE"
          ? write_message(compiler, headers, "sluice_message", {kWordFrame, kCarry, kOneMessage}, "", &out)
      : what == "FEW_MESSAGES" ? write_message(compiler, headers, "sluice_few_messages",
                                               {kWordFrame, kCarry, kMessages}, "ShortMessageList", &out)
      : what == "MESSAGES"
          ? write_message(compiler, headers, "sluice_messages", {kWordFrame, kCarry, kMessages}, "MessageList", &out)
      : what == "CAPTURED" ? write_message(compiler, headers, "sluice_captured", {kWordFrame, kCaptured}, "", &out)
      : what == "TRIGGER"  ? write_kernel(compiler, headers, trigger, &out)
      : what == "AWAIT"    ? write_kernel(compiler, headers, await, &out)
                           : write_reductions(compiler, headers, what, &out);
  if (!is_written) return 1;
  out.close();
  if (!out) std::fprintf(stderr, "compile_kernels: cannot write %s\n", argv[4]);
  return out ? 0 : 1;
}
