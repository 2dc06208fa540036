// SPDX-License-Identifier: BSD-3-Clause
#include "bench/doctor/library_build.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::bench::doctor {
namespace {

struct Wanted {
  const void *begin = nullptr;
  std::string number;
};

std::size_t padded(std::size_t n) {
  return (n + 3) / 4 * 4;
}

// The number among the notes of a segment; empty if it is not there.
std::string number_in(std::span<const unsigned char> notes) {
  std::string number;
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= notes.size();) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, &notes[at], sizeof note);
    const std::size_t begin = at + sizeof note + padded(note.n_namesz);
    if (begin + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID) {
      for (const unsigned char byte : notes.subspan(begin, note.n_descsz)) number += fmt::format("{:02x}", byte);
      break;
    }
    at = begin + padded(note.n_descsz);
  }
  return number;
}

// For dl_iterate_phdr, which goes on while the result is 0.
int look_at(dl_phdr_info *library, std::size_t /*size_bytes*/, void *data) {
  auto *wanted = static_cast<Wanted *>(data);
  const std::span segments(library->dlpi_phdr, library->dlpi_phnum);
  const auto first = std::ranges::find_if(segments, [](const auto &segment) { return segment.p_type == PT_LOAD; });
  if (first == segments.end()) return 0;
  if (library->dlpi_addr + first->p_vaddr != reinterpret_cast<std::uintptr_t>(wanted->begin)) return 0;
  const auto *bytes = static_cast<const unsigned char *>(wanted->begin);
  for (const auto &segment : segments) {
    if (segment.p_type != PT_NOTE || !wanted->number.empty()) continue;
    wanted->number = number_in({bytes + (segment.p_vaddr - first->p_vaddr), segment.p_memsz});
  }
  return 1;
}

}  // namespace

std::string build_of_library(const void *begin) {
  Wanted wanted{begin, ""};
  ::dl_iterate_phdr(look_at, &wanted);
  return wanted.number;
}

}  // namespace sluice::bench::doctor
