// SPDX-License-Identifier: BSD-3-Clause
#include "command/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace sluice::command {
namespace {

// More than any real file has; a larger number means a damaged one.
constexpr std::size_t kMaxDynamicBytes = 1U << 20U;
constexpr std::size_t kMaxStringsBytes = 64U << 20U;

bool read_at(std::ifstream &file, std::uint64_t offset, void *data, std::size_t size_bytes) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char *>(data), static_cast<std::streamsize>(size_bytes));
  return static_cast<std::size_t>(file.gcount()) == size_bytes;
}

std::vector<Elf64_Phdr> program_headers(std::ifstream &file, const Elf64_Ehdr &header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!read_at(file, header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr))) return {};
  return headers;
}

// Where the byte that is loaded at `address` lies in the file.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr> &headers, std::uint64_t address) {
  for (const Elf64_Phdr &segment : headers) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::uint64_t value_of(const std::vector<Elf64_Dyn> &entries, Elf64_Sxword tag) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [tag](const Elf64_Dyn &entry) { return entry.d_tag == tag; });
  return found == entries.end() ? 0 : found->d_un.d_val;
}

void read_names(const std::vector<Elf64_Dyn> &entries, const std::string &strings, ElfFile *elf) {
  for (const Elf64_Dyn &entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    if (entry.d_un.d_val >= strings.size()) continue;
    std::string text = strings.c_str() + entry.d_un.d_val;  // `strings` ends with a zero, whatever the file holds
    if (entry.d_tag == DT_NEEDED) {
      elf->needed.push_back(std::move(text));
    } else if (entry.d_tag == DT_RPATH) {
      elf->rpath = std::move(text);
    } else {
      elf->runpath = std::move(text);
    }
  }
}

}  // namespace

std::optional<ElfFile> read_elf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file || !read_at(file, 0, &header, sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  ElfFile elf;
  elf.path = path;
  const std::vector<Elf64_Phdr> headers = program_headers(file, header);
  const auto segment_of = [&headers](Elf64_Word type) {
    return std::find_if(headers.begin(), headers.end(),
                        [type](const Elf64_Phdr &segment) { return segment.p_type == type; });
  };
  elf.has_loader = segment_of(PT_INTERP) != headers.end();
  const auto dynamic = segment_of(PT_DYNAMIC);
  if (dynamic == headers.end() || dynamic->p_filesz > kMaxDynamicBytes) return elf;

  std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
  if (!read_at(file, dynamic->p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn))) return elf;
  elf.is_dynamic = true;
  const std::optional<std::uint64_t> strings_at = file_offset(headers, value_of(entries, DT_STRTAB));
  const std::uint64_t strings_size = value_of(entries, DT_STRSZ);
  if (!strings_at || strings_size > kMaxStringsBytes) return elf;
  std::string strings(strings_size, '\0');
  if (read_at(file, *strings_at, strings.data(), strings.size())) read_names(entries, strings, &elf);
  return elf;
}

}  // namespace sluice::command
