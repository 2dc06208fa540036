// SPDX-License-Identifier: BSD-3-Clause
// HostEvent of OpenCL: a user event (clCreateUserEvent). The functions are those of the loader that the runtime uses.
#define CL_TARGET_OPENCL_VERSION 220
#include <CL/cl.h>
#include <dlfcn.h>

#include <string>

#include "host_event.h"

namespace sluice::backends::sycl {

namespace {

// clang-format off
#define SLUICE_OPENCL_FUNCTIONS(X) \
  X(clCreateUserEvent) X(clSetUserEventStatus) X(clReleaseEvent) X(clReleaseContext)
// clang-format on

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member cannot stand in parentheses
#define SLUICE_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  SLUICE_OPENCL_FUNCTIONS(SLUICE_OPENCL_MEMBER)
#undef SLUICE_OPENCL_MEMBER
  std::string missing;  // why there are none
};

Functions find_functions() {
  Functions found;
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    found.missing = "OpenCL's loader libOpenCL.so.1 is not in this process";
    return found;
  }
#define SLUICE_OPENCL_FIND(name)                                              \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
  if (found.name == nullptr) found.missing = "libOpenCL.so.1 has no function " #name;
  SLUICE_OPENCL_FUNCTIONS(SLUICE_OPENCL_FIND)
#undef SLUICE_OPENCL_FIND
  return found;
}

// Looked up once there is a queue of it, so it is there; the runtime keeps it loaded.
const Functions &functions() {
  static const Functions found = find_functions();
  return found;
}

Outcome outcome_of(const char *call, cl_int native) {
  if (native == CL_SUCCESS) return {};
  const bool is_memory = native == CL_OUT_OF_HOST_MEMORY || native == CL_OUT_OF_RESOURCES;
  return {is_memory ? SLUICE_ERROR_OUT_OF_MEMORY : SLUICE_ERROR_NATIVE,
          std::string(call) + ": error " + std::to_string(native) + " of OpenCL (see CL/cl.h)"};
}

class OpenclEvent : public HostEvent {
 public:
  OpenclEvent(cl_event native, ::sycl::context context) : native_(native), context_(std::move(context)) {}
  // An error would mean that it is gone already.
  ~OpenclEvent() override { functions().clReleaseEvent(native_); }
  OpenclEvent(const OpenclEvent &) = delete;
  OpenclEvent &operator=(const OpenclEvent &) = delete;

  // Adds a reference of the runtime's own.
  ::sycl::event event() const override { return ::sycl::make_event<::sycl::backend::opencl>({native_}, context_); }
  Outcome complete() override {
    return outcome_of("clSetUserEventStatus", functions().clSetUserEventStatus(native_, CL_COMPLETE));
  }

 private:
  cl_event native_;
  ::sycl::context context_;
};

class OpenclEvents : public HostEvents {
 public:
  // The runtime adds a reference for whoever asks.
  explicit OpenclEvents(const ::sycl::context &context)
      : context_(context), native_(::sycl::get_native<::sycl::backend::opencl>(context)) {}
  // An error would mean that it is gone already.
  ~OpenclEvents() override { functions().clReleaseContext(native_); }
  OpenclEvents(const OpenclEvents &) = delete;
  OpenclEvents &operator=(const OpenclEvents &) = delete;

  Outcome make(std::shared_ptr<HostEvent> *event) override {
    cl_int result = CL_SUCCESS;
    cl_event made = functions().clCreateUserEvent(native_, &result);
    if (result == CL_SUCCESS) *event = std::make_shared<OpenclEvent>(made, context_);
    return outcome_of("clCreateUserEvent", result);
  }

 private:
  ::sycl::context context_;
  cl_context native_;
};

}  // namespace

Outcome open_opencl_events(const ::sycl::context &context, std::unique_ptr<HostEvents> *events) {
  if (!functions().missing.empty()) return {SLUICE_ERROR_UNSUPPORTED, functions().missing};
  *events = std::make_unique<OpenclEvents>(context);
  return {};
}

}  // namespace sluice::backends::sycl
