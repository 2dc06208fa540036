// SPDX-License-Identifier: BSD-3-Clause
#include "spirv.h"

#include <cstring>

namespace sluice::emulated_driver {
namespace {

// Instructions and operands, by the numbers that the specification gives them.
enum Instruction : uint32_t {
  kEntryPoint = 15,
  kTypePointer = 32,
  kFunction = 54,
  kFunctionParameter = 55,
};
constexpr uint32_t kKernelModel = 6;
constexpr uint32_t kUniformConstant = 0;  // storage classes
constexpr uint32_t kCrossWorkgroup = 5;
constexpr uint32_t kWorkgroup = 4;
constexpr uint32_t kGeneric = 8;
constexpr uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;

// Structures that are given by value are pointers of another storage class.
ArgumentSort sort_of(uint32_t storage_class) {
  if (storage_class == kWorkgroup) return ArgumentSort::kGroupMemory;
  const bool is_memory =
      storage_class == kCrossWorkgroup || storage_class == kUniformConstant || storage_class == kGeneric;
  return is_memory ? ArgumentSort::kAddress : ArgumentSort::kValue;
}

// A text lies in whole words, and ends with a zero.
std::string text_at(std::span<const uint32_t> words) {
  const auto *begin = reinterpret_cast<const char *>(words.data());
  return {begin, strnlen(begin, words.size_bytes())};
}

}  // namespace

std::map<std::string, std::vector<ArgumentSort>> find_kernels(std::span<const uint8_t> code) {
  std::vector<uint32_t> words(code.size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), code.data(), words.size() * sizeof(uint32_t));
  std::map<uint32_t, std::string> names;                     // of the kernels' functions
  std::map<uint32_t, ArgumentSort> pointers;                 // types
  std::map<uint32_t, std::vector<ArgumentSort>> parameters;  // of functions
  uint32_t function = 0;                                     // that is being read
  if (words.size() < kHeaderWords || words[0] != kMagic) return {};
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const uint32_t n_words = words[at] >> 16U;
    const uint32_t instruction = words[at] & 0xFFFFU;
    if (n_words == 0 || n_words > words.size() - at) break;
    const std::span<const uint32_t> operands(&words[at] + 1, n_words - 1);
    at += n_words;
    if (instruction == kEntryPoint && operands.size() > 2 && operands[0] == kKernelModel) {
      names[operands[1]] = text_at(operands.subspan(2));
    } else if (instruction == kTypePointer && operands.size() >= 2) {
      pointers[operands[0]] = sort_of(operands[1]);
    } else if (instruction == kFunction && operands.size() >= 2) {
      function = operands[1];
      parameters[function];
    } else if (instruction == kFunctionParameter && operands.size() >= 2) {
      const auto pointer = pointers.find(operands[0]);
      parameters[function].push_back(pointer != pointers.end() ? pointer->second : ArgumentSort::kValue);
    }
  }
  std::map<std::string, std::vector<ArgumentSort>> kernels;
  for (const auto &[id, name] : names) kernels[name] = parameters[id];
  return kernels;
}

}  // namespace sluice::emulated_driver
