// SPDX-License-Identifier: BSD-3-Clause
// Memory looked at in place: the body of kernels/check.hpp in a parallel loop.
#define SLUICE_KERNELS_FUNCTION _Pragma("acc routine seq") inline

#include "sluice/testing/probe.h"

#include <vector>

#include "../memory_check.h"
#include "program.h"

namespace sluice::backends::openacc {
namespace {

constexpr size_t kItems = 4096;

// Device memory for the tables, given back at the end.
class Tables {
 public:
  explicit Tables(size_t size_bytes) : result_(program_alloc(SLUICE_MEMORY_DEVICE, size_bytes, &memory_)) {}
  Tables(const Tables &) = delete;
  Tables &operator=(const Tables &) = delete;
  ~Tables() { static_cast<void>(program_free(memory_)); }

  sluice_result_t result() const { return result_; }
  unsigned char *data() const { return static_cast<unsigned char *>(memory_); }

 private:
  void *memory_ = nullptr;
  sluice_result_t result_;
};

// `task` holds addresses within `image`; the same places within `tables` are meant.
template <typename Pointer>
Pointer moved(Pointer pointer, const void *image, unsigned char *tables) {
  return reinterpret_cast<Pointer>(tables +
                                   (reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(image)));
}

void run(const kernels::CheckTask &task, size_t n_items) {
#pragma acc parallel loop firstprivate(task)
  for (size_t item = 0; item < n_items; ++item) kernels::check_share(task, item, n_items);
}

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  if (check->n_segments == 0) return SLUICE_SUCCESS;
  std::vector<uint64_t> image(CheckTables::size_bytes(*check, kItems) / sizeof(uint64_t));
  const size_t image_bytes = image.size() * sizeof(uint64_t);
  kernels::CheckTask task = CheckTables::fill(*check, kItems, image.data());
  const Tables tables(image_bytes);
  if (tables.result() != SLUICE_SUCCESS) return tables.result();
  task.sources = moved(task.sources, image.data(), tables.data());
  task.segments = moved(task.segments, image.data(), tables.data());
  task.shares = moved(task.shares, image.data(), tables.data());
  sluice_result_t result = program_copy(tables.data(), image.data(), image_bytes);
  if (result != SLUICE_SUCCESS) return result;
  run(task, kItems);
  result = program_copy(image.data(), tables.data(), kItems * sizeof(kernels::CheckShare));
  const auto *shares = reinterpret_cast<const kernels::CheckShare *>(image.data());
  if (result == SLUICE_SUCCESS) *finding = CheckTables::finding(shares, kItems);
  return result;
}

constexpr sluice_probe_t kProbe = {
    .api_version = SLUICE_PROBE_API_VERSION,
    .struct_size = sizeof(sluice_probe_t),
    .memory_in_use = nullptr,  // nobody tells
    .check_memory = check_memory,
    .work_create = nullptr,  // GCC's runtime has no queue beside the program
    .work_enqueue = nullptr,
    .work_wait = nullptr,
    .work_destroy = nullptr,
};

}  // namespace
}  // namespace sluice::backends::openacc

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  return &sluice::backends::openacc::kProbe;
}
