// SPDX-License-Identifier: BSD-3-Clause
// How much is checked, and who looks.
#include "bench/cli/check_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace sluice::bench {

void declare_check_options(CLI::App &app, CheckWords &words) {
  app.add_flag("-c,--validation", words.wants_all, "The same as --check all");
  app.add_option("--check", words.mode, "all | some | none: untimed iterations in which every byte is checked");
  app.add_option("--check-on", words.place,
                 "auto | device | host: who looks at device memory: a kernel where it lies, or the host at a copy "
                 "(default auto: the device where it has a kernel)");
}

void interpret_check(const CheckWords &words, Options &options) {
  const std::string &mode = words.mode;
  if (mode == "all" || (mode.empty() && words.wants_all)) {
    options.check = CheckMode::all;
  } else if (mode == "none") {
    options.check = CheckMode::none;
  } else if (!mode.empty() && mode != "some") {
    throw OptionError(fmt::format("--check: '{}' is unknown: all, some or none", mode));
  }
  if (words.wants_all && options.check != CheckMode::all) {
    throw OptionError("-c means --check all; give one of them");
  }
  if (words.place == "device") {
    options.check_place = CheckPlace::device;
  } else if (words.place == "host") {
    options.check_place = CheckPlace::host;
  } else if (words.place != "auto") {
    throw OptionError(fmt::format("--check-on: '{}' is unknown: auto, device or host", words.place));
  }
  if (options.check_place == CheckPlace::device && options.device.empty()) {
    throw OptionError("--check-on device needs a device: give -d <name>; --list-devices names them");
  }
}

}  // namespace sluice::bench
