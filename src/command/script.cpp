// SPDX-License-Identifier: BSD-3-Clause
#include "command/script.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/own_program.hpp"

namespace sluice::command {
namespace {

constexpr int kCannotRun = 126;

}  // namespace

int run_script(const std::string &name, const std::vector<std::string> &words) {
  std::string path = own_program().parent_path().parent_path() / "libexec/sluice-bench" / name;
  std::vector<std::string> texts = words;
  std::vector<char *> arguments{path.data()};
  for (std::string &text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  fmt::print(stderr, "sluice: {} cannot be started: {}; it is installed with sluice-bench\n", path,
             std::strerror(errno));
  return kCannotRun;
}

}  // namespace sluice::command
