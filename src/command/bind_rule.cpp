// SPDX-License-Identifier: BSD-3-Clause
#include "command/bind_rule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace sluice::command {
namespace {

constexpr std::string_view kListWord = "list:";

bool parse_number(std::string_view word, std::int32_t *number) {
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc{} && stop == word.data() + word.size() && *number >= 0;
}

}  // namespace

Status parse_bind_rule(const std::string &text, BindRule *rule) {
  *rule = {};
  if (text == "none") return {};
  if (text == "closest") {
    rule->kind = BindKind::kClosest;
    return {};
  }
  if (!text.starts_with(kListWord)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         fmt::format("--bind {}: this is no rule; give closest, none, or list: with the device of each "
                                     "rank of a node, as list:0,1,2,3",
                                     text));
  }
  rule->kind = BindKind::kList;
  std::string_view rest = std::string_view(text).substr(kListWord.size());
  for (bool has_more = true; has_more;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    has_more = word.size() < rest.size();
    rest.remove_prefix(has_more ? word.size() + 1 : word.size());
    std::int32_t device = -1;
    if (!parse_number(word, &device)) {
      return Status::error(
          ErrorKind::kInvalidArgument,
          fmt::format(
              "--bind {}: \"{}\" is not the number of a device; give numbers from 0 on, as `sluice info` shows them",
              text, word));
    }
    rule->devices.push_back(device);
  }
  return {};
}

}  // namespace sluice::command
