// SPDX-License-Identifier: BSD-3-Clause
// Modules: SPIR-V, built by the CPU runtime, which takes seconds. What this driver gives out as native code is the
// SPIR-V with what was built of it, so that the oneAPI runtime's cache spares other processes the time.
#include "modules.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace sluice::emulated_driver {
namespace {

std::string build_log_of(const OpenCl &cl, cl_program program) {
  std::size_t length = 0;
  if (cl.build_info(program, cl.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length) != CL_SUCCESS) return "";
  std::string text(length, '\0');
  if (cl.build_info(program, cl.device, CL_PROGRAM_BUILD_LOG, length, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(std::strlen(text.c_str()));
  return text;
}

// What native code begins with; the SPIR-V follows, then the CPU runtime's program.
struct NativeHeader {
  uint64_t magic;
  uint64_t code_bytes;
};
constexpr uint64_t kMagic = 0x3130'564E'4C5A'4D45;

// The parts of native code, or nothing where these bytes are none.
struct NativeParts {
  std::span<const uint8_t> code;
  std::span<const uint8_t> program;
};
std::optional<NativeParts> parts_of(std::span<const uint8_t> native) noexcept {
  NativeHeader header{};
  if (native.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, native.data(), sizeof header);
  native = native.subspan(sizeof header);
  if (header.magic != kMagic || header.code_bytes > native.size()) return std::nullopt;
  return NativeParts{native.first(header.code_bytes), native.subspan(header.code_bytes)};
}

void set_constants(const OpenCl &cl, const ze_module_constants_t &constants, cl_program program) noexcept {
  for (uint32_t i = 0; i < constants.numConstants; ++i) {
    // The specification gives no lengths; the runtime takes the one that the constant has.
    for (const std::size_t size : {sizeof(uint64_t), sizeof(uint32_t), sizeof(uint16_t), sizeof(uint8_t)}) {
      if (cl.set_constant(program, constants.pConstantIds[i], size, constants.pConstantValues[i]) == CL_SUCCESS) break;
    }
  }
}

ze_result_t create(const OpenCl &cl, std::span<const uint8_t> given, Module *module, std::string *log) {
  cl_int error = CL_SUCCESS;
  const std::optional<NativeParts> parts = parts_of(given);
  const std::span<const uint8_t> code = parts.has_value() ? parts->code : given;
  module->code.assign(code.begin(), code.end());
  if (parts.has_value()) {
    const unsigned char *program = parts->program.data();
    const std::size_t size_bytes = parts->program.size();
    module->program = cl.create_built_program(cl.context, 1, &cl.device, &size_bytes, &program, nullptr, &error);
  } else {
    module->program = cl.create_program(cl.context, code.data(), code.size(), &error);
  }
  if (error == CL_SUCCESS) return ZE_RESULT_SUCCESS;
  *log = "the CPU runtime takes no such program: " + std::to_string(error);
  return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

ze_result_t build(const ze_module_desc_t &desc, Module *module, std::string *log) {
  const OpenCl *const cl = opencl();
  if (cl == nullptr) {
    *log = "no CPU runtime (libintelocl.so) to compute kernels; set LD_LIBRARY_PATH to its folder";
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
  const ze_result_t created = create(*cl, {desc.pInputModule, desc.inputSize}, module, log);
  if (created != ZE_RESULT_SUCCESS) return created;
  if (desc.pConstants != nullptr) set_constants(*cl, *desc.pConstants, module->program);
  const cl_int error = cl->build(module->program, 1, &cl->device, "", nullptr, nullptr);
  *log = build_log_of(*cl, module->program);
  if (error != CL_SUCCESS) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  module->kernels = find_kernels(module->code);
  return ZE_RESULT_SUCCESS;
}

// Native code of a module that is built.
ze_result_t make_native(Module *module) {
  const OpenCl &cl = *opencl();
  std::size_t size_bytes = 0;
  if (cl.program_info(module->program, CL_PROGRAM_BINARY_SIZES, sizeof size_bytes, &size_bytes, nullptr) != CL_SUCCESS)
    return ZE_RESULT_ERROR_UNKNOWN;
  const NativeHeader header{kMagic, module->code.size()};
  std::vector<uint8_t> made(sizeof header + module->code.size() + size_bytes);
  std::memcpy(made.data(), &header, sizeof header);
  std::ranges::copy(module->code, made.begin() + sizeof header);
  unsigned char *program = made.data() + sizeof header + module->code.size();
  if (cl.program_info(module->program, CL_PROGRAM_BINARIES, sizeof program, &program, nullptr) != CL_SUCCESS)
    return ZE_RESULT_ERROR_UNKNOWN;
  module->native = std::move(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_create(ze_context_handle_t /*context*/, ze_device_handle_t /*device*/, const ze_module_desc_t *desc,
                          ze_module_handle_t *handle, ze_module_build_log_handle_t *log_handle) noexcept {
  return guarded([&] {
    auto module = std::make_unique<Module>();
    auto log = std::make_unique<BuildLog>();
    const ze_result_t result = build(*desc, module.get(), &log->text);
    if (log_handle != nullptr) *log_handle = handle_of<ze_module_build_log_handle_t>(log.release());
    if (result == ZE_RESULT_SUCCESS) *handle = handle_of<ze_module_handle_t>(module.release());
    return result;
  });
}

ze_result_t module_destroy(ze_module_handle_t handle) noexcept {
  const std::unique_ptr<Module> module(object<Module>(handle));
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_native_binary(ze_module_handle_t handle, size_t *size_bytes, uint8_t *out) noexcept {
  return guarded([&] {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    auto *const module = object<Module>(handle);
    const ze_result_t result = module->native.empty() ? make_native(module) : ZE_RESULT_SUCCESS;
    if (result != ZE_RESULT_SUCCESS) return result;
    // All of it: the runtime asks for the size first, and does not say it again.
    if (out != nullptr) std::ranges::copy(module->native, out);
    *size_bytes = module->native.size();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t module_kernel_names(ze_module_handle_t handle, uint32_t *count, const char **names) noexcept {
  const Module &module = *object<Module>(handle);
  auto next = module.kernels.begin();
  return list(static_cast<uint32_t>(module.kernels.size()), count, names,
              [&](uint32_t, const char **out) { *out = next++->first.c_str(); });
}

ze_result_t module_properties(ze_module_handle_t /*handle*/, ze_module_properties_t *out) noexcept {
  out->flags = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_link(uint32_t /*n_modules*/, ze_module_handle_t * /*modules*/,
                        ze_module_build_log_handle_t *log_handle) noexcept {
  return guarded([&] {
    if (log_handle != nullptr) {
      *log_handle = handle_of<ze_module_build_log_handle_t>(std::make_unique<BuildLog>().release());
    }
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t module_global(ze_module_handle_t /*handle*/, const char * /*name*/, size_t * /*size_bytes*/,
                          void ** /*address*/) noexcept {
  return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
}

ze_result_t module_function(ze_module_handle_t /*handle*/, const char * /*name*/, void ** /*address*/) noexcept {
  return ZE_RESULT_ERROR_INVALID_FUNCTION_NAME;
}

ze_result_t log_destroy(ze_module_build_log_handle_t handle) noexcept {
  const std::unique_ptr<BuildLog> log(object<BuildLog>(handle));
  return ZE_RESULT_SUCCESS;
}

ze_result_t log_string(ze_module_build_log_handle_t handle, size_t *size_bytes, char *out) noexcept {
  const BuildLog &log = *object<BuildLog>(handle);
  if (out != nullptr) std::snprintf(out, *size_bytes, "%s", log.text.c_str());
  *size_bytes = log.text.size() + 1;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

Module::~Module() {
  if (program != nullptr) opencl()->release_program(program);
}

BuiltKernel::~BuiltKernel() {
  if (kernel != nullptr) opencl()->release_kernel(kernel);
}

void fill(ze_module_dditable_t *table) noexcept {
  table->pfnCreate = module_create;
  table->pfnDestroy = module_destroy;
  table->pfnDynamicLink = module_link;
  table->pfnGetNativeBinary = module_native_binary;
  table->pfnGetGlobalPointer = module_global;
  table->pfnGetKernelNames = module_kernel_names;
  table->pfnGetProperties = module_properties;
  table->pfnGetFunctionPointer = module_function;
}

void fill(ze_module_build_log_dditable_t *table) noexcept {
  table->pfnDestroy = log_destroy;
  table->pfnGetString = log_string;
}

}  // namespace sluice::emulated_driver
