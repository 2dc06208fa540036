// SPDX-License-Identifier: BSD-3-Clause
// The program `place` (src/command/place), which knows the machine; a program of its own so that `sluice` needs no
// hwloc. All of it: any thread; another program in the place of this one ends the others.
#pragma once

#include <string>

namespace sluice::command {

// Its path: libexec/sluice/place beside this program's folder.
[[nodiscard]] std::string place_program();

// `sluice info --topology`.
struct PlaceWords {
  bool is_wanted = false;
  std::string library_folder;  // as in find_installation
  std::string backends;        // empty: SLUICE_BACKENDS, else all
  std::string bind = "closest";
  int n_ranks = 0;  // of a node; 0: one a device
  bool wants_json = false;
  bool wants_links = false;
};

// Becomes that program. Returns an exit status when it cannot; the reason is on standard error.
[[nodiscard]] int show_topology(const PlaceWords &words);

}  // namespace sluice::command
