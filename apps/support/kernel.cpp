// SPDX-License-Identifier: BSD-3-Clause
// Owns the list of the program's kernels.
#include "apps/support/kernel.hpp"

#include <string_view>
#include <vector>

namespace sluice::apps {
namespace {

std::vector<sluice_program_kernel_t> &kernels() {
  static std::vector<sluice_program_kernel_t> all;
  return all;
}

}  // namespace

void announce_kernel(const sluice_program_kernel_t &kernel) {
  kernels().push_back(kernel);
}

}  // namespace sluice::apps

// For drivers that stand in for a device's in tests: they cannot run its text, and run the host's form.
extern "C" __attribute__((visibility("default"))) const sluice_program_kernel_t *sluice_program_kernel_of(
    const char *name) {
  for (const sluice_program_kernel_t &kernel : sluice::apps::kernels()) {
    if (std::string_view(kernel.name) == name) return &kernel;
  }
  return nullptr;
}
