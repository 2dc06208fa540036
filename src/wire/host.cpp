// SPDX-License-Identifier: BSD-3-Clause
#include "wire/host.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdarg>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/elf_symbols.hpp"
#include "base/log.hpp"

namespace sluice::wire {
namespace {

constexpr const char *kNames[] = {
#define SLUICE_MPI_FUNCTION(name) #name,
#include "generated/mpi_functions.inc"
#undef SLUICE_MPI_FUNCTION
};
constexpr std::size_t kFunctions = std::size(kNames);

thread_local int inside_host = 0;

// The library that defines MPI, for programs that loaded it out of RTLD_NEXT's sight (mpi4py opens it privately).
struct MpiLibrary {
  std::string path;  // empty: none is there
  ElfSymbols symbols;
};

// Asks nothing of dlopen: may be called while the library is being loaded.
MpiLibrary find_mpi_library() {
  MpiLibrary found;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t /*size*/, void *data) {
        const char *path = info->dlpi_name;
        const char *slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
        const char *file = slash != nullptr ? slash + 1 : path;
        if (file == nullptr || (std::strncmp(file, "libmpi.so", 9) != 0 && std::strncmp(file, "libmpich.so", 11) != 0 &&
                                std::strncmp(file, "libmpi_abi.so", 13) != 0)) {
          return 0;
        }
        for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) &header = info->dlpi_phdr[i];
          if (header.p_type != PT_DYNAMIC) continue;
          const ElfSymbols symbols(info->dlpi_addr,
                                   reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + header.p_vaddr));
          if (symbols.find("PMPI_Init") == nullptr) continue;
          *static_cast<MpiLibrary *>(data) = {path, symbols};
          return 1;
        }
        return 0;
      },
      &found);
  return found;
}

// Its handle. Not while the dynamic linker binds names: then the library may not be relocated yet, and glibc 2.41 ends
// the process.
void *mpi_library() noexcept {
  static std::atomic<void *> library{nullptr};
  if (library.load() == nullptr) {
    const std::string path = find_mpi_library().path;
    if (!path.empty()) library.store(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD));
  }
  return library.load();
}

void *find(const char *name) noexcept {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (symbol == nullptr && mpi_library() != nullptr) symbol = dlsym(mpi_library(), name);
  return symbol;
}

void *object_of(void *symbol) noexcept {
  Dl_info info{};
  return symbol != nullptr && dladdr(symbol, &info) != 0 ? info.dli_fbase : nullptr;
}

void warn_of_missing(const char *name) {
  log::warn_once(name, "wire",
                 std::string(name) + " was called, and the host MPI has no such function; use an MPI that has it");
}

// What stands in for a function that the host MPI lacks.
template <std::size_t Index, typename Function>
struct Missing;

template <std::size_t Index, typename Result, typename... Arguments>
struct Missing<Index, Result (*)(Arguments...)> {
  static Result call(Arguments... /*arguments*/) {
    warn_of_missing(kNames[Index]);
    if constexpr (std::is_same_v<Result, int>) {
      return MPI_ERR_OTHER;
    } else {
      return Result{};
    }
  }
};

template <std::size_t Index, typename Result, typename... Arguments>
struct Missing<Index, Result (*)(Arguments..., ...)> {
  static Result call(Arguments... /*arguments*/, ...) { return MPI_SUCCESS; }  // MPI_Pcontrol alone: no effect is legal
};

// What calls a tool that lies behind Sluice, or a function on files: marks the thread, so that the PMPI_X which the
// tool or ROMIO calls finds the host MPI. IsProfiling tells the two of a function apart.
template <std::size_t Index, bool IsProfiling, typename Function>
struct Marked;

template <std::size_t Index, bool IsProfiling, typename Result, typename... Arguments>
struct Marked<Index, IsProfiling, Result (*)(Arguments...)> {
  static inline Result (*next)(Arguments...) = nullptr;
  static Result call(Arguments... arguments) {
    struct Scope {
      Scope() noexcept { ++inside_host; }
      ~Scope() { --inside_host; }
    } scope;
    return next(arguments...);
  }
};

template <std::size_t Index, bool IsProfiling, typename Result, typename... Arguments>
struct Marked<Index, IsProfiling, Result (*)(Arguments..., ...)> {
  static inline Result (*next)(Arguments..., ...) = nullptr;
  static Result call(Arguments... arguments, ...) { return next(arguments...); }
};

// Both forms of one function; both null if the host MPI has neither.
struct Symbols {
  void *next;
  void *profiling;
  bool is_from_a_tool;  // `next` is not the host MPI's
};

// No template: what is written for each of the hundreds of functions takes its time to compile.
Symbols symbols_of(const char *name) {
  Symbols symbols{find(name), find((std::string("P") + name).c_str()), false};
  if (symbols.profiling == nullptr) symbols.profiling = symbols.next;
  if (symbols.next == nullptr) symbols.next = symbols.profiling;
  symbols.is_from_a_tool = object_of(symbols.next) != object_of(symbols.profiling);
  return symbols;
}

template <std::size_t Index, bool IsProfiling, typename Function>
void fill_slot(void *symbol, bool is_marked, Function *slot) {
  const auto function = reinterpret_cast<Function>(symbol);
  Marked<Index, IsProfiling, Function>::next = function;
  *slot = is_marked ? &Marked<Index, IsProfiling, Function>::call : function;
}

template <std::size_t Index, typename Function>
void resolve_one(Function *next_slot, Function *profiling_slot) {
  const Symbols symbols = symbols_of(kNames[Index]);
  if (symbols.next == nullptr) {
    *next_slot = *profiling_slot = &Missing<Index, Function>::call;
    return;
  }
  // ROMIO calls MPI by its exported names, with a lock held.
  constexpr bool kIsOnFiles = std::string_view(kNames[Index]).starts_with("MPI_File_");
  fill_slot<Index, false>(symbols.next, kIsOnFiles || symbols.is_from_a_tool, next_slot);
  if constexpr (kIsOnFiles) {
    fill_slot<Index, true>(symbols.profiling, true, profiling_slot);
  } else {
    *profiling_slot = reinterpret_cast<Function>(symbols.profiling);
  }
}

enum FunctionIndex : std::size_t {
#define SLUICE_MPI_FUNCTION(name) kIndex_##name,
#include "generated/mpi_functions.inc"
#undef SLUICE_MPI_FUNCTION
};

}  // namespace

namespace detail {

std::atomic<bool> is_resolved{false};
Host next_table;
Host profiling_table;

void resolve() noexcept {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (is_resolved.load(std::memory_order_relaxed)) return;
#ifdef __clang_analyzer__
  // One stands for all 664, which differ in their types alone: walking each would take clang-tidy five minutes.
  resolve_one<kIndex_MPI_Send, decltype(&::MPI_Send)>(&next_table.MPI_Send, &profiling_table.MPI_Send);
#else
#define SLUICE_MPI_FUNCTION(name) \
  resolve_one<kIndex_##name, decltype(&::name)>(&next_table.name, &profiling_table.name);
#include "generated/mpi_functions.inc"
#undef SLUICE_MPI_FUNCTION
#endif
  is_resolved.store(true, std::memory_order_release);
}

}  // namespace detail

bool is_inside_host() noexcept {
  return inside_host > 0;
}

bool has_function(const char *name) noexcept {
  return find(name) != nullptr;
}

void *extension(const char *name) noexcept {
  return find(name);
}

void *bound(const char *name, void *shell) noexcept {
  if (dlsym(RTLD_NEXT, name) != nullptr) return shell;
  const MpiLibrary library = find_mpi_library();
  const bool is_host_there = !library.path.empty() || dlsym(RTLD_NEXT, "PMPI_Init") != nullptr;
  return is_host_there && library.symbols.find(name) == nullptr ? nullptr : shell;
}

#ifdef OMPI_PREDEFINED_GLOBAL
void *host_object(const char *symbol) noexcept {
  // Not RTLD_NEXT: a program may hold the copy of a variable that all libraries use instead of their own.
  void *object = dlsym(RTLD_DEFAULT, symbol);
  return object != nullptr || mpi_library() == nullptr ? object : dlsym(mpi_library(), symbol);
}
#endif

static_assert(kFunctions > 600);

}  // namespace sluice::wire
