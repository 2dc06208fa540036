// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/recent.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <string_view>
#include <unordered_map>

namespace sluice::interpose {
namespace {

struct Symbols {
  ElfW(Addr) base = 0;  // where the library lies
  ElfW(Sym) *first = nullptr;
  const char *names = nullptr;
  std::size_t count = 0;
  int protection = PROT_READ;  // of the pages in which the symbols lie
};

// For dl_iterate_phdr(), which goes through all libraries: _DYNAMIC is this one's own.
int take_own(dl_phdr_info *info, std::size_t /*size*/, void *data) noexcept {
  const auto contains = [info](const ElfW(Phdr) & part, ElfW(Addr) address) {
    return part.p_type == PT_LOAD && address - (info->dlpi_addr + part.p_vaddr) < part.p_memsz;
  };
  auto &own = *static_cast<Symbols *>(data);
  const std::span parts(info->dlpi_phdr, info->dlpi_phnum);
  bool is_own = false;
  for (const ElfW(Phdr) & part : parts) is_own |= contains(part, reinterpret_cast<ElfW(Addr)>(&_DYNAMIC[0]));
  if (!is_own) return 0;
  own.base = info->dlpi_addr;
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    void *target = reinterpret_cast<void *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) own.first = static_cast<ElfW(Sym) *>(target);
    if (entry->d_tag == DT_STRTAB) own.names = static_cast<const char *>(target);
    if (entry->d_tag == DT_HASH) own.count = static_cast<const std::uint32_t *>(target)[1];
  }
  for (const ElfW(Phdr) & part : parts) {
    if (!contains(part, reinterpret_cast<ElfW(Addr)>(own.first))) continue;
    own.protection = ((part.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((part.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return 1;
}

// False: the system refuses.
bool protect(const Symbols &own, int protection) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(own.first) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(own.first + own.count);
  return mprotect(reinterpret_cast<void *>(begin), end - begin, protection) == 0;
}

}  // namespace

void ask_when_bound(std::span<const RecentFunction> functions) noexcept {
  try {
    std::unordered_map<std::string_view, ElfW(Addr)> resolvers;
    for (const RecentFunction &function : functions) {
      resolvers[function.name] = reinterpret_cast<ElfW(Addr)>(function.resolve);
    }
    Symbols own;
    if (dl_iterate_phdr(&take_own, &own) == 0 || !protect(own, own.protection | PROT_WRITE)) return;
    for (ElfW(Sym) & symbol : std::span(own.first, own.count)) {
      const auto found = resolvers.find(own.names + symbol.st_name);
      if (found == resolvers.end() || symbol.st_shndx == SHN_UNDEF) continue;
      symbol.st_value = found->second - own.base;
      symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_GNU_IFUNC));
    }
    protect(own, own.protection);
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch): this runs before the log may be used
    // Without memory the definitions stay what names are bound to.
  }
}

}  // namespace sluice::interpose
