// SPDX-License-Identifier: BSD-3-Clause
// libsluice_lookup.so: an audit library of the dynamic linker's (rtld-audit(7)), by which Sluice is found by programs
// that look MPI's functions up in the MPI library's own handle, as in dlsym(dlopen("libmpich.so"), "MPI_Send"), or that
// load libraries with RTLD_DEEPBIND: preloading alone does not reach those (ADR 0063). `sluice run` sets LD_AUDIT to
// it.
//
// The dynamic linker loads it into a namespace of its own, before all else, into every process. So it needs no library,
// not even libc, and holds no thread-local storage. All of it is called by the dynamic linker, under its lock.
#include <elf.h>
#include <link.h>

#include <cstdint>

#include "base/elf_symbols.hpp"

#define SLUICE_AUDIT extern "C" __attribute__((visibility("default")))

namespace {

using sluice::ElfSymbols;

const link_map *libsluice = nullptr;  // of the program's own name space; null: it is not preloaded here

bool begins_with(const char *text, const char *beginning) noexcept {
  while (*beginning != '\0') {
    if (*text++ != *beginning++) return false;
  }
  return true;
}

bool is_equal(const char *one, const char *other) noexcept {
  while (*one != '\0' && *one == *other) ++one, ++other;
  return *one == *other;
}

const char *file_name(const char *path) noexcept {
  const char *file = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') file = path + 1;
  }
  return file;
}

// The same names as in wire/host.cpp.
bool is_mpi(const link_map *object) noexcept {
  const char *file = file_name(object->l_name);
  return begins_with(file, "libmpi.so") || begins_with(file, "libmpich.so") || begins_with(file, "libmpi_abi.so");
}

bool is_sluice(const link_map *object) noexcept {
  const char *file = file_name(object->l_name);
  return is_equal(file, "libsluice_mpich.so") || is_equal(file, "libsluice_ompi.so") ||
         is_equal(file, "libsluice_abi.so");
}

ElfSymbols symbols_of(const link_map *object) noexcept {
  return {object->l_addr, object->l_ld};
}

// What libsluice has in the place of the host MPI's `name`; null when it has nothing.
std::uintptr_t stand_in(const char *name) noexcept {
  const ElfSymbols symbols = symbols_of(libsluice);
  const ElfW(Sym) *symbol = symbols.find(name);
  if (symbol == nullptr) return 0;
  const std::uintptr_t address = symbols.address_of(*symbol);
  if (ElfSymbols::type_of(*symbol) != STT_GNU_IFUNC) return address;
  return reinterpret_cast<std::uintptr_t (*)()>(address)();
}

}  // namespace

SLUICE_AUDIT unsigned la_version(unsigned linkers_version) {
  return linkers_version < LAV_CURRENT ? linkers_version : LAV_CURRENT;
}

// Tells the dynamic linker which bindings to ask about: those of `dlsym`, and, of the others, those from any object to
// the MPI library. Where libsluice is not preloaded, none.
SLUICE_AUDIT unsigned la_objopen(link_map *object, Lmid_t name_space, std::uintptr_t *cookie) {
  *cookie = reinterpret_cast<std::uintptr_t>(object);
  if (name_space != LM_ID_BASE || object->l_name == nullptr) return 0;
  if (libsluice == nullptr && is_sluice(object)) libsluice = object;
  if (libsluice == nullptr) return 0;
  return is_mpi(object) ? LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

SLUICE_AUDIT unsigned la_objclose(std::uintptr_t *cookie) {
  if (*cookie == reinterpret_cast<std::uintptr_t>(libsluice)) libsluice = nullptr;
  return 0;
}

// A reference is about to be bound. Who defines the function itself, as libsluice does, and every tool that wraps MPI,
// and the MPI library, means the next definition and gets it.
SLUICE_AUDIT std::uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned /*index*/, std::uintptr_t *referring,
                                         std::uintptr_t *defining, unsigned * /*flags*/, const char *name) {
  const std::uintptr_t found = symbol->st_value;
  if (libsluice == nullptr || !(begins_with(name, "MPI") || begins_with(name, "PMPI"))) return found;
  const auto *from = reinterpret_cast<const link_map *>(*referring);
  const auto *to = reinterpret_cast<const link_map *>(*defining);
  if (from == nullptr || to == nullptr || to->l_name == nullptr || !is_mpi(to)) return found;
  if (symbols_of(from).find(name) != nullptr) return found;
  const std::uintptr_t ours = stand_in(name);
  return ours != 0 ? ours : found;
}
