// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms for programs: by oneMKL on every device, where its library is there; else, on devices that are the
// host's cores, by the host's library, run by the queue.
// SLUICE_BENCH_SYCL_FFT, a variable of applications and no knob, says which (onemkl or fftw).
#include "sluice/testing/program_fft.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../host_fft.h"
#include "onemkl_transforms.h"
#include "runtime.h"

// One of the two.
struct sluice_program_fft_plan {
  std::unique_ptr<sluice::backends::sycl::OneMklTransforms> onemkl;
  std::unique_ptr<sluice::backends::HostTransforms> host;
  ::sycl::queue *queue;
};

namespace sluice::backends::sycl {
namespace {

bool is_wanted(std::string_view library) {
  const char *wanted = std::getenv("SLUICE_BENCH_SYCL_FFT");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return wanted != nullptr && wanted == library;
}

// Beside this module, or where the dynamic linker looks. Null, and *error says why.
const OneMkl *open_onemkl(std::string *error) {
  Dl_info self{};
  std::string file = "libsluice_onemkl.so";
  if (dladdr(reinterpret_cast<const void *>(&open_onemkl), &self) != 0 && self.dli_fname != nullptr) {
    const std::string path = self.dli_fname;
    file = path.substr(0, path.rfind('/') + 1) + file;
  }
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays
  if (library == nullptr) {
    const char *text = dlerror();
    *error = text != nullptr ? text : file + " cannot be opened";
    return nullptr;
  }
  const auto function = reinterpret_cast<OneMklFunction *>(dlsym(library, kOneMklSymbol));
  if (function == nullptr) *error = file + " is of another version of Sluice";
  return function != nullptr ? function() : nullptr;
}

struct Opened {
  const OneMkl *table = nullptr;
  std::string error;
};

const Opened &onemkl() {
  static const Opened opened = [] {
    Opened made;
    if (is_wanted("fftw")) {
      made.error = "SLUICE_BENCH_SYCL_FFT is fftw";
    } else {
      made.table = open_onemkl(&made.error);
    }
    return made;
  }();
  return opened;
}

// Whether the host's library is to be used on `device`; an error where none may be.
sluice_result_t check_may_use_host(const ::sycl::device &device) {
  if (device.is_cpu() && !is_wanted("onemkl")) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "transforms here need oneMKL (" + onemkl().error +
                                            "); install onemkl-sycl-dft and build Sluice with it, or, on a CPU device, "
                                            "set SLUICE_BENCH_SYCL_FFT=fftw");
}

const char *library() {
  const int32_t device = program_device();
  const char *name = nullptr;
  guarded("library for transforms", [&] {
    sluice_result_t result = check_device(device);
    if (result != SLUICE_SUCCESS) return result;
    if (onemkl().table != nullptr) {
      name = onemkl().table->name();
      return SLUICE_SUCCESS;
    }
    result = check_may_use_host(Runtime::start().devices()[static_cast<size_t>(device)]);
    if (result != SLUICE_SUCCESS) return result;
    std::string error;
    name = HostTransforms::library(&error);
    return name != nullptr ? SLUICE_SUCCESS : fail(SLUICE_ERROR_UNSUPPORTED, error);
  });
  return name;
}

sluice_result_t plan_create(void *native, const sluice_program_fft_batch_t *batch, sluice_program_fft_plan_t **plan) {
  auto *queue = static_cast<::sycl::queue *>(native);
  return guarded("plan for transforms", [&] {
    if (onemkl().table != nullptr) {
      *plan = new sluice_program_fft_plan{onemkl().table->make(queue, *batch), nullptr, queue};
      return SLUICE_SUCCESS;
    }
    const sluice_result_t result = check_may_use_host(queue->get_device());
    if (result != SLUICE_SUCCESS) return result;
    std::string error;
    auto transforms = HostTransforms::make(*batch, &error);
    if (!transforms) return fail(SLUICE_ERROR_UNSUPPORTED, error);
    *plan = new sluice_program_fft_plan{nullptr, std::move(transforms), queue};
    return SLUICE_SUCCESS;
  });
}

sluice_result_t plan_destroy(sluice_program_fft_plan_t *plan) {
  delete plan;
  return SLUICE_SUCCESS;
}

// Memory of a CPU device is the host's.
sluice_result_t enqueue(sluice_program_fft_plan_t *plan, void *data, int32_t is_inverse) {
  return guarded("transforms", [&] {
    if (plan->onemkl != nullptr) {
      plan->onemkl->enqueue(data, is_inverse != 0);
      return SLUICE_SUCCESS;
    }
    plan->queue->submit([&](::sycl::handler &handler) {
      handler.host_task([transforms = plan->host.get(), data, is_inverse] { transforms->run(data, is_inverse != 0); });
    });
    return SLUICE_SUCCESS;
  });
}

}  // namespace
}  // namespace sluice::backends::sycl

#define SLUICE_MODULE_NAMESPACE sycl
#include "../exported_program_fft.inc"
