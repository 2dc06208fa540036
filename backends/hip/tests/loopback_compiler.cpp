// SPDX-License-Identifier: BSD-3-Clause
// The loop-back runtime's compiler: its "code" is the function of kernels/ that the source calls, which
// loopback_kernels.cpp has as the host's compiler made it.
#include <hip/hiprtc.h>

#include <cstdlib>
#include <cstring>
#include <string>

struct _hiprtcProgram {
  std::string source;
  std::string code;
};

namespace {

// What the source calls last on its task: "copy_share", or "reduce_share<...Rule_SUM, ...Element_INT8>" as "INT8_SUM".
std::string function_of(const std::string &source) {
  const size_t end = source.rfind("(task, ");
  const size_t begin = source.rfind('\n', end);
  const std::string call = source.substr(begin, end - begin);
  const auto word_after = [&call](const std::string &prefix) {
    const size_t from = call.find(prefix) + prefix.size();
    return call.substr(from, call.find_first_of(",>", from) - from);
  };
  if (call.find("Rule_") != std::string::npos) return word_after("Element_") + "_" + word_after("Rule_");
  return call.substr(call.rfind(':') + 1);
}

// As loopback.h says; this is a library of its own.
bool refuses_to_compile() {
  const char *refused = std::getenv("HIP_LOOPBACK_REFUSES");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return refused != nullptr && std::strcmp(refused, "compiling") == 0;
}

}  // namespace

const char *hiprtcGetErrorString(hiprtcResult result) {
  return result == HIPRTC_SUCCESS ? "no error" : "an error of the loop-back compiler";
}
hiprtcResult hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char * /*name*/, int /*n_headers*/,
                                 const char ** /*headers*/, const char ** /*names*/) {
  *program = new _hiprtcProgram{source, ""};
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int /*n_options*/, const char ** /*options*/) {
  const bool is_known = program->source.find("item, n_items);") != std::string::npos;
  if (!is_known || refuses_to_compile()) return HIPRTC_ERROR_COMPILATION;
  program->code = function_of(program->source);
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program) {
  delete *program;
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram /*program*/, size_t *size_bytes) {
  *size_bytes = 0;
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcGetProgramLog(hiprtcProgram /*program*/, char * /*log*/) {
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *size_bytes) {
  *size_bytes = program->code.size() + 1;
  return HIPRTC_SUCCESS;
}
hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return HIPRTC_SUCCESS;
}
