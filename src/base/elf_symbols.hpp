// SPDX-License-Identifier: BSD-3-Clause
// ElfSymbols: what a library of this process defines, read out of its own tables. For moments at which dlopen and dlsym
// must not be asked: while the dynamic linker binds names, and in its audit library, which has no libc (src/lookup).
// Any thread, as long as the library stays loaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace sluice {

class ElfSymbols {
 public:
  ElfSymbols() noexcept = default;
  // Of the library at `base` whose dynamic section is there, mapped but perhaps not relocated yet.
  ElfSymbols(ElfW(Addr) base, const ElfW(Dyn) * dynamic) noexcept : base_(base) {
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      // The dynamic linker has put addresses in the place of offsets as soon as a library is mapped.
      const auto address = static_cast<std::uintptr_t>(dynamic->d_un.d_ptr);
      if (dynamic->d_tag == DT_SYMTAB) table_ = reinterpret_cast<const ElfW(Sym) *>(address);
      if (dynamic->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char *>(address);
      if (dynamic->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<const std::uint32_t *>(address);
    }
  }

  // The definition of the function `name`; null when there is none. Libraries without DT_GNU_HASH, which every linker
  // of the last fifteen years writes, seem to define nothing.
  [[nodiscard]] const ElfW(Sym) * find(const char *name) const noexcept {
    if (table_ == nullptr || names_ == nullptr || hash_ == nullptr || hash_[0] == 0) return nullptr;
    std::uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t n_buckets = hash_[0];
    const std::uint32_t first = hash_[1];
    const std::uint32_t n_bloom_words = hash_[2] * static_cast<std::uint32_t>(sizeof(ElfW(Addr)) / sizeof(*hash_));
    const std::uint32_t *buckets = hash_ + 4 + n_bloom_words;
    const std::uint32_t *chain = buckets + n_buckets;
    std::uint32_t index = buckets[hash % n_buckets];
    if (index < first) return nullptr;
    for (;; ++index) {
      const std::uint32_t here = chain[index - first];
      const ElfW(Sym) &symbol = table_[index];
      if ((here | 1U) == (hash | 1U) && symbol.st_shndx != SHN_UNDEF && is_equal(names_ + symbol.st_name, name)) {
        const unsigned type = type_of(symbol);
        return type == STT_FUNC || type == STT_GNU_IFUNC ? &symbol : nullptr;
      }
      if ((here & 1U) != 0) return nullptr;
    }
  }

  // Where what was found lies: of STT_GNU_IFUNC the function that says what the name is bound to.
  [[nodiscard]] std::uintptr_t address_of(const ElfW(Sym) & symbol) const noexcept { return base_ + symbol.st_value; }
  [[nodiscard]] static unsigned type_of(const ElfW(Sym) & symbol) noexcept { return symbol.st_info & 0xFU; }

 private:
  static bool is_equal(const char *one, const char *other) noexcept {
    while (*one != '\0' && *one == *other) {
      ++one;
      ++other;
    }
    return *one == *other;
  }

  ElfW(Addr) base_ = 0;
  const ElfW(Sym) *table_ = nullptr;
  const char *names_ = nullptr;
  const std::uint32_t *hash_ = nullptr;
};

}  // namespace sluice
