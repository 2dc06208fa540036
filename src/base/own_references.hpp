// SPDX-License-Identifier: BSD-3-Clause
// Which functions of others the running program's own file calls, by the relocations that the dynamic linker works off.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

// Whether the program's own file, and not a library of it, refers to the symbol `name`. False where that cannot be
// told: a file without relocations of this form (DT_RELA). A name that is only looked up (dlsym) is none. Setup cost:
// goes through all relocations with a symbol. Any thread.
[[nodiscard]] inline bool program_refers_to(const char *name) noexcept {
  struct Search {
    const char *name;
    bool is_found;
  } asked{name, false};
  // The first object is the program; an answer other than 0 ends the walk.
  const auto look = [](dl_phdr_info *program, std::size_t /*size*/, void *data) -> int {
    const ElfW(Dyn) *dynamic = nullptr;
    for (int k = 0; k < program->dlpi_phnum; ++k) {
      const ElfW(Phdr) &header = program->dlpi_phdr[k];
      if (header.p_type == PT_DYNAMIC) {
        dynamic = reinterpret_cast<const ElfW(Dyn) *>(program->dlpi_addr + header.p_vaddr);
      }
    }
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    std::uintptr_t lists[2] = {0, 0};  // of data, of calls
    std::size_t sizes[2] = {0, 0};
    for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
      const auto value = static_cast<std::uintptr_t>(dynamic->d_un.d_ptr);
      // Some dynamic linkers have put addresses in the place of offsets.
      const std::uintptr_t address = value < program->dlpi_addr ? program->dlpi_addr + value : value;
      if (dynamic->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym) *>(address);
      if (dynamic->d_tag == DT_STRTAB) names = reinterpret_cast<const char *>(address);
      if (dynamic->d_tag == DT_RELA) lists[0] = address;
      if (dynamic->d_tag == DT_RELASZ) sizes[0] = value;
      if (dynamic->d_tag == DT_JMPREL) lists[1] = address;
      if (dynamic->d_tag == DT_PLTRELSZ) sizes[1] = value;
      if (dynamic->d_tag == DT_PLTREL && value != DT_RELA) return 1;
    }
    if (symbols == nullptr || names == nullptr) return 1;
    auto *search = static_cast<Search *>(data);
    for (int list = 0; list < 2; ++list) {
      const auto *relocations = reinterpret_cast<const ElfW(Rela) *>(lists[list]);
      const std::size_t n = relocations != nullptr ? sizes[list] / sizeof(*relocations) : 0;
      for (std::size_t k = 0; k < n && !search->is_found; ++k) {
        const std::size_t index = ELF64_R_SYM(relocations[k].r_info);
        if (index == 0 || symbols[index].st_shndx != SHN_UNDEF) continue;
        search->is_found = std::strcmp(names + symbols[index].st_name, search->name) == 0;
      }
    }
    return 1;
  };
  static_cast<void>(dl_iterate_phdr(look, &asked));
  return asked.is_found;
}

}  // namespace sluice
