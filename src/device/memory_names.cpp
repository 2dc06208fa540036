// SPDX-License-Identifier: BSD-3-Clause
#include "device/memory_names.hpp"

#include <algorithm>
#include <cctype>
#include <span>

#include "device/registry.hpp"

namespace sluice::device {
namespace {

using WordList = const char *const *;

// MPI compares the kinds without regard to case.
std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> result;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    if (!word.empty()) result.push_back(lower(word));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return result;
}

bool contains(const std::vector<std::string> &words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The same word, or the kind without a restrictor, which stands for all of its memory.
bool is_covered(const std::vector<std::string> &words, std::string_view kind) {
  return contains(words, kind) || contains(words, kind.substr(0, kind.find(':')));
}

// Of all backends, each once: `list` is a member of their tables, `declared` the same in their .needs files.
std::vector<std::string> words_of(WordList (*sluice_backend_t::*list)(), std::vector<std::string> Module::*declared) {
  std::vector<std::string> result;
  const auto add = [&result](std::string_view word) {
    if (!contains(result, word)) result.emplace_back(word);
  };
  std::vector<std::string> answering;
  for (const Backend *backend : Registry::process().backends()) {
    const auto words = backend->table().*list;
    if (words == nullptr) continue;
    WordList word = words();
    if (word != nullptr && *word != nullptr) answering.emplace_back(backend->name());
    for (; word != nullptr && *word != nullptr; ++word) add(*word);
  }
  for (const Module &module : Registry::process().usable()) {
    if (contains(answering, module.name)) continue;
    for (const std::string &word : module.*declared) add(word);
  }
  return result;
}

}  // namespace

bool is_supported(std::string_view word) {
  return contains(words_of(&sluice_backend_t::support_words, &Module::support_words), word);
}

std::vector<std::string> memory_kinds() {
  return words_of(&sluice_backend_t::memory_kind_words, &Module::memory_kinds);
}

bool find_allocation_kind(std::string_view word, AllocationKind *found) {
  std::string wanted = lower(word);
  if (wanted.find(':') == std::string::npos) wanted += ":device";
  const std::string restrictor = wanted.substr(wanted.find(':') + 1);
  sluice_memory_kind_t kind = SLUICE_MEMORY_HOST;
  if (restrictor == "device") kind = SLUICE_MEMORY_DEVICE;
  if (restrictor == "host") kind = SLUICE_MEMORY_PINNED;
  if (restrictor == "managed" || restrictor == "shared") kind = SLUICE_MEMORY_SHARED;
  if (kind == SLUICE_MEMORY_HOST) return false;
  for (const Backend *backend : Registry::process().backends()) {
    const sluice_backend_t &table = backend->table();
    if (table.memory_kind_words == nullptr || table.program_alloc == nullptr) continue;
    for (WordList one = table.memory_kind_words(); one != nullptr && *one != nullptr; ++one) {
      if (lower(*one) != wanted) continue;
      *found = {backend, kind, std::move(wanted)};
      return true;
    }
  }
  return false;
}

std::string with_memory_kinds(std::string_view provided, const std::vector<std::string> &kinds,
                              const std::optional<std::string> &asserted, std::size_t max_bytes) {
  std::string result(provided.empty() ? "mpi,system" : provided);
  const std::vector<std::string> there = split(result);
  const std::vector<std::string> wanted = split(asserted.value_or(""));
  for (const std::string &kind : kinds) {
    if (contains(there, kind) || (asserted.has_value() && !is_covered(wanted, kind))) continue;
    if (result.size() + 1 + kind.size() <= max_bytes) result += "," + kind;
  }
  return result;
}

}  // namespace sluice::device
