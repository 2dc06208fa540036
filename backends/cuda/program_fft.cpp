// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms for programs: the vendor's library, looked for when it is first asked for.
#include "sluice/testing/program_fft.h"

#include <dlfcn.h>

#include <string>

#include "module.h"

struct sluice_program_fft_plan {
  int handle;
  bool is_double;
};

namespace sluice::backends::cuda {
namespace {

// cuFFT's C interface as toolkits 12 and 13 have it; its header comes with a toolkit, which is not needed here.
constexpr int kSingle = 0x29;
constexpr int kDouble = 0x69;
constexpr int kForward = -1;
constexpr int kInverse = 1;

// Every call returns 0 or the number of an error.
struct Library {
  int (*create)(int *handle) = nullptr;
  int (*destroy)(int handle) = nullptr;
  int (*set_stream)(int handle, CUstream stream) = nullptr;
  int (*make_many)(int handle, int rank, long long *n, long long *in_embed, long long in_stride, long long in_distance,
                   long long *out_embed, long long out_stride, long long out_distance, int type, long long n_batches,
                   size_t *work_bytes) = nullptr;
  int (*run_single)(int handle, void *in, void *out, int direction) = nullptr;
  int (*run_double)(int handle, void *in, void *out, int direction) = nullptr;
  int (*get_version)(int *version) = nullptr;
  std::string name;   // with its version
  std::string error;  // why there is none

  Library();
};

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Newest first; the last is where a toolkit lies that the loader was told nothing of.
Library::Library() {
  void *library = nullptr;
  for (const char *path : {"libcufft.so.12", "libcufft.so.11", "libcufft.so", "/usr/local/cuda/lib64/libcufft.so"}) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char *why = dlerror();
    if (error.empty()) error = std::string(why != nullptr ? why : path);
  }
  if (library == nullptr) {
    error = "cuFFT cannot be loaded (" + error + "): add the folder of a toolkit's libcufft.so to LD_LIBRARY_PATH";
    return;
  }
  error.clear();
  const bool has_all = find(library, "cufftCreate", &create) && find(library, "cufftDestroy", &destroy) &&
                       find(library, "cufftSetStream", &set_stream) &&
                       find(library, "cufftMakePlanMany64", &make_many) && find(library, "cufftExecC2C", &run_single) &&
                       find(library, "cufftExecZ2Z", &run_double) && find(library, "cufftGetVersion", &get_version);
  int version = 0;
  if (!has_all || get_version(&version) != 0) {
    error = "the libcufft.so that was found lacks a function: put that of toolkit 12 or 13 into LD_LIBRARY_PATH";
    return;
  }
  name = "cuFFT " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
         std::to_string(version % 100);
}

// The handle of the library is never closed: it holds memory of contexts.
const Library &known() {
  static const auto *const library = new Library();
  return *library;
}

const char *name_of(int result) {
  constexpr const char *kNames[] = {"success",       "invalid plan",   "allocation failed", "invalid type",
                                    "invalid value", "internal error", "execution failed",  "setup failed",
                                    "invalid size",  "unaligned data"};
  return result >= 0 && result < 10 ? kNames[result] : "error of a newer release";
}

sluice_result_t translate_fft(const char *call, int result) {
  if (result == 0) return SLUICE_SUCCESS;
  constexpr int kAllocationFailed = 2;
  return fail(result == kAllocationFailed ? SLUICE_ERROR_OUT_OF_MEMORY : SLUICE_ERROR_NATIVE,
              std::string(call) + ": " + std::to_string(result) + " (" + name_of(result) + ")");
}

const char *library() {
  if (known().error.empty()) return known().name.c_str();
  fail(SLUICE_ERROR_UNSUPPORTED, known().error);
  return nullptr;
}

sluice_result_t make(int handle, void *native, const sluice_program_fft_batch_t &batch) {
  const sluice_result_t result =
      translate_fft("cufftSetStream", known().set_stream(handle, static_cast<CUstream>(native)));
  if (result != SLUICE_SUCCESS) return result;
  auto n_points = static_cast<long long>(batch.n_points);
  const auto stride = static_cast<long long>(batch.stride);
  const auto distance = static_cast<long long>(batch.distance);
  long long embed = n_points;  // strides count only where this is given
  size_t work_bytes = 0;
  return translate_fft("cufftMakePlanMany64",
                       known().make_many(handle, 1, &n_points, &embed, stride, distance, &embed, stride, distance,
                                         batch.is_double != 0 ? kDouble : kSingle,
                                         static_cast<long long>(batch.n_transforms), &work_bytes));
}

sluice_result_t plan_create(void *native, const sluice_program_fft_batch_t *batch, sluice_program_fft_plan_t **plan) {
  if (!known().error.empty()) return fail(SLUICE_ERROR_UNSUPPORTED, known().error);
  int handle = 0;
  sluice_result_t result = translate_fft("cufftCreate", known().create(&handle));
  if (result != SLUICE_SUCCESS) return result;
  result = make(handle, native, *batch);
  if (result == SLUICE_SUCCESS) {
    *plan = new sluice_program_fft_plan{handle, batch->is_double != 0};
    return SLUICE_SUCCESS;
  }
  const int destroyed = known().destroy(handle);
  if (destroyed != 0) log_line(1, (std::string("cufftDestroy: ") + name_of(destroyed)).c_str());
  return result;
}

sluice_result_t plan_destroy(sluice_program_fft_plan_t *plan) {
  const int handle = plan->handle;
  delete plan;
  return translate_fft("cufftDestroy", known().destroy(handle));
}

sluice_result_t enqueue(sluice_program_fft_plan_t *plan, void *data, int32_t is_inverse) {
  const int direction = is_inverse != 0 ? kInverse : kForward;
  if (plan->is_double) return translate_fft("cufftExecZ2Z", known().run_double(plan->handle, data, data, direction));
  return translate_fft("cufftExecC2C", known().run_single(plan->handle, data, data, direction));
}

}  // namespace
}  // namespace sluice::backends::cuda

#define SLUICE_MODULE_NAMESPACE cuda
#include "../exported_program_fft.inc"
