// SPDX-License-Identifier: BSD-3-Clause
// Owns the vendor's compiler library, which is found when the first kernel is wanted: part of the runtime's library up
// to release 5, one of its own since.
#include "kernel_compiler.h"

#include <dlfcn.h>
#include <hip/hiprtc.h>

#include <iterator>
#include <string_view>

#include "../kernel_integers.h"
#include "../reduction.h"

namespace sluice::backends::hip {

namespace {

constexpr const char *kLibraries[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libamdhip64.so.5"};

struct Compiler {
  decltype(&::hiprtcGetErrorString) error_string = nullptr;
  decltype(&::hiprtcCreateProgram) create = nullptr;
  decltype(&::hiprtcCompileProgram) compile = nullptr;
  decltype(&::hiprtcDestroyProgram) destroy = nullptr;
  decltype(&::hiprtcGetProgramLogSize) log_size = nullptr;
  decltype(&::hiprtcGetProgramLog) log = nullptr;
  decltype(&::hiprtcGetCodeSize) code_size = nullptr;
  decltype(&::hiprtcGetCode) code = nullptr;
  bool is_found = false;
};

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_all(void *library, Compiler *compiler) {
  return find(library, "hiprtcGetErrorString", &compiler->error_string) &&
         find(library, "hiprtcCreateProgram", &compiler->create) &&
         find(library, "hiprtcCompileProgram", &compiler->compile) &&
         find(library, "hiprtcDestroyProgram", &compiler->destroy) &&
         find(library, "hiprtcGetProgramLogSize", &compiler->log_size) &&
         find(library, "hiprtcGetProgramLog", &compiler->log) &&
         find(library, "hiprtcGetCodeSize", &compiler->code_size) && find(library, "hiprtcGetCode", &compiler->code);
}

// The library is never closed: the code it made is in use until the process ends.
Compiler open_compiler() {
  Compiler compiler;
  for (const char *name : kLibraries) {
    void *library = dlopen(name, RTLD_NOW);
    if (library != nullptr && find_all(library, &compiler)) {
      compiler.is_found = true;
      return compiler;
    }
  }
  return compiler;
}

const Compiler &compiler() {
  static const Compiler found = open_compiler();
  return found;
}

struct Text {
  const char *name;
  const char *content;
};
constexpr Text kTexts[] = {
#include "kernel_texts.inc"
};

// The compiler has no <cstdint>, and what its own preamble puts into namespace std differs between releases: the
// kernels see another one.
constexpr Text kIntegers = {"cstdint", kKernelIntegers};
// The same for <stdint.h>, under names that no preamble has.
constexpr Text kPlainIntegers = {"stdint.h", R"(
#define uint32_t sluice_uint32_t
#define uint64_t sluice_uint64_t
using sluice_uint32_t = unsigned int;
using sluice_uint64_t = unsigned long;
namespace std {
using ::sluice_uint32_t;
using ::sluice_uint64_t;
}
)"};
// Words are looked at and set past all caches, for the whole system, which is what the compiler's own atomics are for;
// the fences are those of kernels/. A work-item that waits sleeps for 64 clocks at a time.
constexpr const char *kPreamble = R"(
#define std sluice_std
#define SLUICE_KERNELS_LOOK(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define SLUICE_KERNELS_SET(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)
#define SLUICE_KERNELS_PAUSE() __builtin_amdgcn_s_sleep(1)
#define SLUICE_KERNELS_FUNCTION __device__ inline __attribute__((always_inline))
#define SLUICE_KERNELS_UNROLLED _Pragma("unroll")
#define SLUICE_KERNELS_ROLLED _Pragma("unroll 1")
#include "HEADER"
)";
constexpr const char *kEntry = R"(
extern "C" __global__ void __launch_bounds__(512) sluice_kernel(const sluice::kernels::TASK task) {
  const std::uint64_t n_items = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t item = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  sluice::kernels::SHARE(task, item, n_items);
}
)";
// One work-item of a block reads the word, which lies in the host's memory.
constexpr const char *kEntryThatTakes = R"(
extern "C" __global__ void __launch_bounds__(512) sluice_kernel(const sluice::kernels::TASK list) {
  __shared__ sluice::kernels::MessageSource source;
  const sluice::kernels::TakePart found = sluice::kernels::find_part(list, blockIdx.x, gridDim.x);
  const sluice::kernels::MessageTask &task = list.tasks[found.task];
  if (threadIdx.x == 0) source = sluice::kernels::message_begin(task, 0, nullptr);
  __syncthreads();
  const std::uint64_t n_items = found.n_parts * blockDim.x;
  const std::uint64_t item = found.part * blockDim.x + threadIdx.x;
  sluice::kernels::SHARE(task, source, item, n_items);
}
)";

std::string source_of(const KernelBody &body) {
  std::string source = std::string(kPreamble) + (body.takes_messages ? kEntryThatTakes : kEntry);
  const auto replace = [&source](std::string_view word, std::string_view by) {
    source.replace(source.find(word), word.size(), by);
  };
  replace("HEADER", body.header);
  replace("TASK", body.task);
  replace("SHARE", body.share);
  return source;
}

// A program of the compiler's for a scope.
class Program {
 public:
  explicit Program(const std::string &source) {
    std::vector<const char *> names = {kIntegers.name, kPlainIntegers.name};
    std::vector<const char *> contents = {kIntegers.content, kPlainIntegers.content};
    for (const Text &text : kTexts) {
      names.push_back(text.name);
      contents.push_back(text.content);
    }
    result_ = compiler().create(&program_, source.c_str(), "sluice_kernel.hip", static_cast<int>(names.size()),
                                contents.data(), names.data());
  }
  // Nothing can be done about a program that is not given back.
  ~Program() {
    if (result_ == HIPRTC_SUCCESS) static_cast<void>(compiler().destroy(&program_));
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  hiprtcResult result() const { return result_; }
  hiprtcProgram get() const { return program_; }

 private:
  hiprtcProgram program_ = nullptr;
  hiprtcResult result_ = HIPRTC_SUCCESS;
};

std::string say(const char *call, hiprtcResult result, const std::string &log) {
  const char *text = compiler().error_string(result);
  std::string out = std::string(call) + ": " + (text != nullptr ? text : "error");
  const size_t begin = log.find("error:");
  if (begin != std::string::npos) out += "; " + log.substr(begin, log.find('\n', begin) - begin);
  return out;
}

// What the compiler remarked; empty when it does not say.
std::string log_of(const Program &program) {
  size_t size_bytes = 0;
  std::string log;
  if (compiler().log_size(program.get(), &size_bytes) != HIPRTC_SUCCESS || size_bytes == 0) return log;
  log.resize(size_bytes);
  if (compiler().log(program.get(), log.data()) != HIPRTC_SUCCESS) log.clear();
  return log;
}

}  // namespace

bool has_compiler() {
  return compiler().is_found;
}

KernelBody reduction_body(sluice_element_t element, sluice_operation_t operation) {
  std::string share = "reduce_share<sluice::kernels::Rule_";
  share += kernels::name_of(static_cast<kernels::Operation>(operation));
  share += ", sluice::kernels::Element_";
  share += kernels::name_of(static_cast<kernels::Element>(element));
  return {"reduce.hpp", "Task", share + ">"};
}

KernelBody copies_body() {
  return {"copy.hpp", "CopyTask", "copy_share"};
}

KernelBody pack_body() {
  return {"pack.hpp", "PackTask", "pack_share"};
}

KernelBody rearrange_body() {
  return {"rearrange.hpp", "RearrangeTask", "rearrange_share"};
}

KernelBody check_body() {
  return {"check.hpp", "CheckTask", "check_share"};
}

KernelBody work_body() {
  return {"work.hpp", "WorkTask", "work_share"};
}

KernelBody take_body() {
  return {"take.hpp", "TakeList", "message_share", true};
}

KernelBody trigger_body() {
  return {"signals.hpp", "SignalList", "trigger_share"};
}

KernelBody await_body() {
  return {"signals.hpp", "SignalList", "await_share"};
}

// Sums are computed as they are written: no product is fused with a sum.
std::string compile_kernel(const KernelBody &body, const std::string &architecture, std::vector<char> *code) {
  if (!has_compiler()) return "no libhiprtc.so was found; install ROCm's hiprtc";
  const Program program(source_of(body));
  if (program.result() != HIPRTC_SUCCESS) return say("hiprtcCreateProgram", program.result(), "");
  const std::string offload = "--offload-arch=" + architecture;
  std::vector<const char *> options = {"-std=c++17", "-ffp-contract=off"};
  if (!architecture.empty()) options.push_back(offload.c_str());
  hiprtcResult native = compiler().compile(program.get(), static_cast<int>(options.size()), options.data());
  if (native != HIPRTC_SUCCESS) return say("hiprtcCompileProgram", native, log_of(program));
  size_t size_bytes = 0;
  native = compiler().code_size(program.get(), &size_bytes);
  if (native != HIPRTC_SUCCESS) return say("hiprtcGetCodeSize", native, "");
  code->resize(size_bytes);
  native = compiler().code(program.get(), code->data());
  return native == HIPRTC_SUCCESS ? "" : say("hiprtcGetCode", native, "");
}

}  // namespace sluice::backends::hip
