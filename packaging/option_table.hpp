// SPDX-License-Identifier: BSD-3-Clause
// A program's own table of options as JSON, out of which packaging/make_help makes man pages and completion for shells.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice::packaging {

// The word with which a program prints its table instead of doing anything. No help text names the word.
inline constexpr const char *kDescribeOptions = "--describe-options";

inline nlohmann::ordered_json describe_option(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames()) names.push_back("-" + name);
  for (const std::string &name : option.get_lnames()) names.push_back("--" + name);
  // Where a flag may be written with a value (`--naive=pinned`), `given` is what the flag alone means.
  std::string given;
  if (!option.get_fnames().empty()) given = option.get_flag_value(option.get_fnames().front(), "");
  return {{"names", names},
          {"positional", option.get_positional() ? option.get_single_name() : ""},
          {"text", option.get_description()},
          {"group", option.get_group()},
          {"is_required", option.get_required()},
          {"given", given},
          {"default", option.get_default_str()},
          {"type", option.get_type_name()},
          {"min_words", option.get_items_expected_min()},
          {"max_words", option.get_items_expected_max()}};
}

// Pure: a program with its options and its subcommands, at every depth.
inline nlohmann::ordered_json describe_program(const CLI::App &app) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  for (const CLI::Option *option : app.get_options()) options.push_back(describe_option(*option));
  nlohmann::ordered_json commands = nlohmann::ordered_json::array();
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; })) {
    commands.push_back(describe_program(*command));
  }
  return {{"name", app.get_name()},     {"text", app.get_description()},
          {"footer", app.get_footer()}, {"is_script", app.get_prefix_command()},
          {"options", options},         {"commands", commands}};
}

}  // namespace sluice::packaging
