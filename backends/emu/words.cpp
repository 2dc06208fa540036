// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this memory: its own, and, so that programs which ask for a vendor first can be
// tried without one, those of the vendors that SLUICE_EMU_MACHINE names.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "machine_words.h"
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

// What the knob says: a list of roles' names, or nothing.
std::vector<const Role *> chosen() {
  std::vector<const Role *> result;
  std::string_view rest = emurt::value_of(knob_text("SLUICE_EMU_MACHINE"), "plays");
  while (!rest.empty()) {
    const std::string_view name = emurt::next_word(&rest, '+');
    for (const Role &role : roles()) {
      if (role.name == name) result.push_back(&role);
    }
  }
  return result;
}

}  // namespace

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

const char *const *stream_words() {
  static const char *const words[] = {"emu_queue_t", nullptr};
  return words;
}

}  // namespace sluice::backends::emu
