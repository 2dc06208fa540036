// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory: its own, and, so that programs which ask for a vendor first can be
// tried without one, those of the vendors that SLUICE_EMU_PLAYS names.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "module.h"

namespace sluice::backends::emu {
namespace {

struct Role {
  std::string_view name;
  std::vector<const char *> support;
  std::vector<const char *> kinds;
};

const std::array<Role, 3> &roles() {
  static const std::array<Role, 3> all = {
      Role{"cuda", {"cuda"}, {"cuda", "cuda:host", "cuda:device", "cuda:managed"}},
      Role{"hip", {"hip", "rocm"}, {"rocm", "rocm:host", "rocm:device", "rocm:managed"}},
      Role{"ze", {"ze"}, {"level_zero", "level_zero:host", "level_zero:device", "level_zero:shared"}}};
  return all;
}

const Role *find_role(std::string_view name) {
  for (const Role &role : roles()) {
    if (role.name == name) return &role;
  }
  return nullptr;
}

// What the knob says; a null pointer stands for a name that is no role.
std::vector<const Role *> chosen() {
  std::vector<const Role *> result;
  std::string_view rest = knob_text("SLUICE_EMU_PLAYS");
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    result.push_back(find_role(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return result;
}

}  // namespace

sluice_result_t check_words() {
  for (const Role *role : chosen()) {
    if (role == nullptr) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "SLUICE_EMU_PLAYS is \"" + std::string(knob_text("SLUICE_EMU_PLAYS")) +
                                                     "\"; it may be a comma-separated list of cuda, hip and ze");
    }
  }
  return SLUICE_SUCCESS;
}

// Made at the first call; init() has looked at the knob by then.
const char *const *support_words() {
  static const std::vector<const char *> words = [] {
    std::vector<const char *> all;
    for (const Role *role : chosen()) all.insert(all.end(), role->support.begin(), role->support.end());
    all.push_back(nullptr);
    return all;
  }();
  return words.data();
}

const char *const *memory_kind_words() {
  static const std::vector<const char *> words = [] {
    std::vector<const char *> all = {"emu", "emu:host", "emu:device", "emu:shared"};
    for (const Role *role : chosen()) all.insert(all.end(), role->kinds.begin(), role->kinds.end());
    all.push_back(nullptr);
    return all;
  }();
  return words.data();
}

}  // namespace sluice::backends::emu
