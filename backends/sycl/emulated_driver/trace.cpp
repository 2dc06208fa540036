// SPDX-License-Identifier: BSD-3-Clause
// Writes down what the program above calls, as the loader's tracing layer tells it, into a file of each process: a line
// "<call> <result> <ns since the start>" a call. The layer lies above the validation layer. So what that one refuses
// stands there too, although it never comes to this driver.
#include <dlfcn.h>
#include <fcntl.h>
#include <level_zero/layers/zel_tracing_ddi.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "commands.h"
#include "driver.h"

namespace sluice::emulated_driver {
namespace {

int g_file = -1;
uint64_t g_begin_ns = 0;

// One write a line, so that lines of threads do not mix.
void note(const char *call, ze_result_t result) noexcept {
  char line[128];
  const int length = std::snprintf(line, sizeof line, "%s 0x%x %llu\n", call, static_cast<unsigned>(result),
                                   static_cast<unsigned long long>(now_ns() - g_begin_ns));
  [[maybe_unused]] const ssize_t written = write(g_file, line, static_cast<size_t>(length));
}

enum class Traced {
#define TRACED(Table, Member) k##Table##Member,
#include "traced.def"
#undef TRACED
};
constexpr const char *kNames[] = {
#define TRACED(Table, Member) "ze" #Table #Member,
#include "traced.def"
#undef TRACED
};

template <Traced call, typename Function>
struct Epilogue;
template <Traced call, typename Parameters>
struct Epilogue<call, void (*)(Parameters *, ze_result_t, void *, void **)> {
  static void run(Parameters * /*parameters*/, ze_result_t result, void * /*user*/, void ** /*of_call*/) noexcept {
    note(kNames[static_cast<size_t>(call)], result);
  }
};
template <Traced call, typename Function>
void place(Function *epilogue) noexcept {
  *epilogue = Epilogue<call, Function>::run;
}

}  // namespace

bool start_trace(const std::string &path) {
  void *const layer = dlopen("libze_tracing_layer.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto *const get_table =
      layer != nullptr
          ? reinterpret_cast<decltype(&zelGetTracerApiProcAddrTable)>(dlsym(layer, "zelGetTracerApiProcAddrTable"))
          : nullptr;
  zel_tracer_dditable_t tracer{};
  if (get_table == nullptr || get_table(ZE_API_VERSION_CURRENT, &tracer) != ZE_RESULT_SUCCESS) return false;
  g_file = open((path + "." + std::to_string(getpid())).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  g_begin_ns = now_ns();
  ze_callbacks_t epilogues{};
#define TRACED(Table, Member) place<Traced::k##Table##Member>(&epilogues.Table.pfn##Member##Cb);
#include "traced.def"
#undef TRACED
  const zel_tracer_desc_t description{ZEL_STRUCTURE_TYPE_TRACER_DESC, nullptr, &g_file};
  zel_tracer_handle_t handle = nullptr;
  return g_file >= 0 && tracer.pfnCreate(&description, &handle) == ZE_RESULT_SUCCESS &&
         tracer.pfnSetEpilogues(handle, &epilogues) == ZE_RESULT_SUCCESS &&
         tracer.pfnSetEnabled(handle, 1) == ZE_RESULT_SUCCESS;
}

}  // namespace sluice::emulated_driver
