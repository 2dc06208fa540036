// SPDX-License-Identifier: BSD-3-Clause
// Owns the text of the kernel that checks memory, and what was compiled of it.
#include "check_kernel.h"

#include <mutex>
#include <string>
#include <vector>

namespace sluice::backends::opencl {
namespace {

struct Text {
  const char *name;
  const char *content;
};
constexpr Text kTexts[] = {
#include "check_texts.inc"
};

// What the headers that the body includes would say: C++ for OpenCL has the types, but no standard library. `half` is a
// word of its language, and a member's name in the texts.
constexpr const char *kPrelude = R"(
#define half half_of_modulus
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
namespace std {
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
typedef ulong uintptr_t;
}
)";

constexpr const char *kKernel = R"(
kernel void sluice_check(global const unsigned char *memory, global const sluice_check_source_t *sources,
                         global const sluice_check_segment_t *segments, ulong n_segments, ulong n_words,
                         global sluice::kernels::CheckShare *shares) {
  const sluice::kernels::CheckTask task = {memory, sources, segments, n_segments, n_words, shares};
  sluice::kernels::check_share(task, get_global_id(0), get_global_size(0));
}
)";

// A text without its #include lines: what it needs of them stands before it.
std::string without_includes(const std::string &text) {
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end + 1;
    if (text.compare(begin, 8, "#include") != 0 && text.compare(begin, 12, "#pragma once") != 0) {
      kept.append(text, begin, end - begin);
    }
    begin = end;
  }
  return kept;
}

std::string source_text() {
  std::string source = kPrelude;
  for (const Text &text : kTexts) source += without_includes(text.content);
  return source + kKernel;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t size_bytes = 0;
  if (g_functions.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size_bytes) != CL_SUCCESS) {
    return "no words of the compiler";
  }
  std::string log(size_bytes, '\0');
  const cl_int native =
      g_functions.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size_bytes, log.data(), nullptr);
  return native == CL_SUCCESS ? log : "no words of the compiler";
}

sluice_result_t compile(const Device &device, cl_kernel *kernel) {
  const std::string source = source_text();
  const char *text = source.c_str();
  cl_int native = CL_SUCCESS;
  cl_program program = g_functions.clCreateProgramWithSource(device.context, 1, &text, nullptr, &native);
  if (native != CL_SUCCESS) return translate("clCreateProgramWithSource", native);
  native = g_functions.clBuildProgram(program, 1, &device.id, "-cl-std=CLC++", nullptr, nullptr);
  sluice_result_t result = SLUICE_SUCCESS;
  if (native != CL_SUCCESS) {
    result =
        fail(SLUICE_ERROR_UNSUPPORTED, "this runtime does not compile the kernel that checks memory (OpenCL error " +
                                           std::to_string(native) + "): " + build_log(program, device.id));
  } else {
    *kernel = g_functions.clCreateKernel(program, "sluice_check", &native);
    result = translate("clCreateKernel", native);
  }
  // The kernel keeps what it needs of the program.
  const sluice_result_t released = translate("clReleaseProgram", g_functions.clReleaseProgram(program));
  return result == SLUICE_SUCCESS ? released : result;
}

}  // namespace

sluice_result_t find_check_kernel(const Device &device, cl_kernel *kernel) {
  struct Compiled {
    cl_device_id device;
    cl_kernel kernel;
  };
  static std::mutex mutex;
  // Left to the end of the process: the runtime may be gone by then.
  static auto *const all = new std::vector<Compiled>();
  const std::scoped_lock lock(mutex);
  for (const Compiled &one : *all) {
    if (one.device == device.id) {
      *kernel = one.kernel;
      return SLUICE_SUCCESS;
    }
  }
  const sluice_result_t result = compile(device, kernel);
  if (result == SLUICE_SUCCESS) all->push_back({device.id, *kernel});
  return result;
}

}  // namespace sluice::backends::opencl
