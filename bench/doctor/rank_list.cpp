// SPDX-License-Identifier: BSD-3-Clause
// Numbers of ranks, and what several of them have in common, as short texts.
#include "bench/doctor/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::bench::doctor {

std::string rank_list(const std::vector<int> &ranks) {
  std::string text;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[begin]);
    if (end - begin > 1) text += fmt::format("{}{}", end - begin > 2 ? '-' : ',', ranks[end - 1]);
    begin = end;
  }
  return text;
}

std::string named_ranks(const std::vector<int> &ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

std::vector<int> ranks_where(const std::vector<Json> &ranks, const std::function<bool(const Json &)> &is_meant) {
  std::vector<int> meant;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_meant(ranks[rank])) meant.push_back(static_cast<int>(rank));
  }
  return meant;
}

std::vector<std::pair<std::string, std::vector<int>>> folded_each(
    const std::vector<Json> &ranks, const std::function<std::vector<std::string>(const Json &)> &texts_of) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const std::string &text : texts_of(ranks[rank])) {
      auto group = std::ranges::find_if(groups, [&](const auto &known) { return known.first == text; });
      if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
      group->second.push_back(static_cast<int>(rank));
    }
  }
  return groups;
}

std::vector<std::pair<std::string, std::vector<int>>> folded(const std::vector<Json> &ranks,
                                                             const std::function<std::string(const Json &)> &text_of) {
  return folded_each(ranks, [&](const Json &rank) { return std::vector{text_of(rank)}; });
}

}  // namespace sluice::bench::doctor
