// SPDX-License-Identifier: BSD-3-Clause
// StreamWay by the stream memory operations of NVIDIA's driver, on the one stream that an in-order queue has there. The
// runtime keeps the driver loaded; no header of it is needed (docs/adr/0040).
#include <dlfcn.h>

#include <string>
#include <sycl/detail/backend_traits_cuda.hpp>

#include "stream_way.h"

namespace sluice::backends::sycl {

namespace {

// From the driver's interface; addresses of the device are 64 bits, and those of host memory of the runtime are the
// host's own (unified addressing).
using Word = unsigned long long;
constexpr int kHasWideOperations = 122;  // CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
constexpr unsigned kAtLeast = 0;         // CU_STREAM_WAIT_VALUE_GEQ
constexpr unsigned kWithBarrier = 0;     // CU_STREAM_WRITE_VALUE_DEFAULT

struct Functions {
  int (*get_context)(CUstream, CUcontext *) = nullptr;
  int (*push_context)(CUcontext) = nullptr;
  int (*pop_context)(CUcontext *) = nullptr;
  int (*get_attribute)(int *, int, CUdevice) = nullptr;
  int (*write)(CUstream, Word, uint64_t, unsigned) = nullptr;
  int (*wait)(CUstream, Word, uint64_t, unsigned) = nullptr;
  std::string missing;  // why they are not all there
};

template <typename Function>
void find(void *library, const char *name, Function *function, std::string *missing) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  // Appended, not added up: of such sums GCC 12 warns wrongly (-Warray-bounds) with precompiled headers.
  if (*function == nullptr)
    missing->assign("libcuda.so.1 has no ").append(name).append("; it needs a driver of CUDA 12");
}

const Functions &functions() {
  static const Functions found = [] {
    Functions all;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
      all.missing = "libcuda.so.1 is not in this process";
      return all;
    }
    find(library, "cuStreamGetCtx", &all.get_context, &all.missing);
    find(library, "cuCtxPushCurrent_v2", &all.push_context, &all.missing);
    find(library, "cuCtxPopCurrent_v2", &all.pop_context, &all.missing);
    find(library, "cuDeviceGetAttribute", &all.get_attribute, &all.missing);
    find(library, "cuStreamWriteValue64_v2", &all.write, &all.missing);
    find(library, "cuStreamWaitValue64_v2", &all.wait, &all.missing);
    return all;
  }();
  return found;
}

Outcome outcome_of(const char *call, int native) {
  if (native == 0) return {};
  return {SLUICE_ERROR_NATIVE, std::string(call) + ": error " + std::to_string(native) + " (see CUresult)"};
}

class DriverWay : public StreamWay {
 public:
  explicit DriverWay(::sycl::queue queue) : queue_(std::move(queue)) {}

  Outcome write(uint64_t *word, uint64_t value) override {
    return enqueue("cuStreamWriteValue64", [&](CUstream stream) {
      return functions().write(stream, reinterpret_cast<Word>(word), value, kWithBarrier);
    });
  }
  Outcome wait(const uint64_t *word, uint64_t least) override {
    return enqueue("cuStreamWaitValue64", [&](CUstream stream) {
      return functions().wait(stream, reinterpret_cast<Word>(word), least, kAtLeast);
    });
  }

 private:
  // The stream is asked for each time, by which the runtime knows that it is in use and waits for it in queue::wait().
  // Host tasks that the queue still has to run come before what is enqueued now: the runtime holds back only what goes
  // through itself.
  template <typename Enqueue>
  Outcome enqueue(const char *call, const Enqueue &enqueue) {
    CUstream stream = ::sycl::get_native<::sycl::backend::ext_oneapi_cuda>(queue_);
    CUcontext context = nullptr;
    Outcome outcome = outcome_of("cuStreamGetCtx", functions().get_context(stream, &context));
    if (outcome.is_success()) outcome = outcome_of("cuCtxPushCurrent", functions().push_context(context));
    if (!outcome.is_success()) return outcome;
    outcome = outcome_of(call, enqueue(stream));
    Outcome popped = outcome_of("cuCtxPopCurrent", functions().pop_context(&context));
    return outcome.is_success() ? popped : outcome;
  }

  ::sycl::queue queue_;
};

}  // namespace

Outcome open_driver_way(const ::sycl::queue &queue, std::unique_ptr<StreamWay> *way) {
  if (queue.get_backend() != ::sycl::backend::ext_oneapi_cuda) {
    return {SLUICE_ERROR_UNSUPPORTED,
            "SLUICE_SYCL_STREAMS=driver is for queues on NVIDIA's driver; use auto or events"};
  }
  if (!functions().missing.empty()) return {SLUICE_ERROR_UNSUPPORTED, functions().missing};
  const CUdevice device = ::sycl::get_native<::sycl::backend::ext_oneapi_cuda>(queue.get_device());
  int can = 0;
  Outcome outcome = outcome_of("cuDeviceGetAttribute", functions().get_attribute(&can, kHasWideOperations, device));
  if (!outcome.is_success()) return outcome;
  if (can == 0) return {SLUICE_ERROR_UNSUPPORTED, "this device has no 64-bit stream memory operations"};
  *way = std::make_unique<DriverWay>(queue);
  return {};
}

}  // namespace sluice::backends::sycl
