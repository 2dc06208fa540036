// SPDX-License-Identifier: BSD-3-Clause
#include "command/place_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/knobs.hpp"
#include "base/own_program.hpp"
#include "command/installation.hpp"

namespace sluice::command {

std::string place_program() {
  return own_program().parent_path().parent_path() / "libexec/sluice/place";
}

int show_topology(const PlaceWords &words) {
  constexpr int kCannotRun = 126;
  const std::string backends = words.backends.empty() ? Knobs::process().text("SLUICE_BACKENDS") : words.backends;
  std::vector<std::string> texts = {
      place_program(), "show",   "--lib-dir", find_installation(words.library_folder).library_folder.string(),
      "--backend",     backends, "--bind",    words.bind};
  if (words.n_ranks > 0) texts.insert(texts.end(), {"--ranks", fmt::format("{}", words.n_ranks)});
  if (words.wants_json) texts.emplace_back("--json");
  if (words.wants_links) texts.emplace_back("--measure");
  std::vector<char *> arguments;
  arguments.reserve(texts.size() + 1);
  for (std::string &text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  fmt::print(stderr, "sluice info: {} cannot be started: {}; install Sluice anew\n", texts[0], std::strerror(errno));
  return kCannotRun;
}

}  // namespace sluice::command
