// SPDX-License-Identifier: BSD-3-Clause
// A program that is linked to no MPI: it opens the library and takes the functions out of that handle, as interpreters
// do for their users. Rank 0 sends device memory to rank 1, which looks at every byte.
//
// Usage: looks_up --backend NAME LIBRARY MODE
//   MODE  global, local, deepbind: how the MPI library is opened; plug-in: a library linked to it calls MPI, and is
//         opened with RTLD_DEEPBIND
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/lookup/plug_in.h"
#include "tests/support/memory.hpp"

namespace sluice::tests {
namespace {

constexpr int kBytes = 5000;
constexpr int kSkipStatus = 77;

[[noreturn]] void end(const std::string &why) {
  fmt::print("looks_up: {}\n", why);
  std::exit(1);
}

void *open(const std::string &library, int flags) {
  void *handle = dlopen(library.c_str(), flags);
  if (handle == nullptr) end(dlerror());
  return handle;
}

template <typename Function>
Function *find(void *handle, const char *name) {
  void *found = dlsym(handle, name);
  if (found == nullptr) end(fmt::format("no {}", name));
  return reinterpret_cast<Function *>(found);
}
#define FIND(name) find<decltype(name)>(mpi, #name)

// Where predefined handles are addresses of variables of the library, those are looked up, too.
#ifdef OMPI_MAJOR_VERSION
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(dlsym(mpi, #global)))
#endif

int exchange(void *mpi, void *buffer, int rank) {
  return rank == 0 ? FIND(MPI_Send)(buffer, kBytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD)
                   : FIND(MPI_Recv)(buffer, kBytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int run(const std::string &backend, const std::string &library, const std::string &mode) {
  std::string reason;
  const BackendModule *module = BackendModule::open(backend, reason);
  if (module == nullptr) {
    fmt::print("skipped: {}\n", reason);
    return kSkipStatus;
  }
  int flags = RTLD_LAZY | (mode == "global" ? RTLD_GLOBAL : RTLD_LOCAL);
  if (mode == "deepbind") flags |= RTLD_DEEPBIND;
  void *mpi = open(library, flags);
  int rank = 0;
  if (FIND(MPI_Init)(nullptr, nullptr) != MPI_SUCCESS) end("MPI_Init");
  if (FIND(MPI_Comm_rank)(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) end("MPI_Comm_rank");
  {
    const Memory memory(module, Kind::device, kBytes, true);
    if (rank == 0) memory.fill_pattern(0, 1);
    int code = MPI_SUCCESS;
    if (mode == "plug-in") {
      void *plug_in = open(program_folder() + "/../lib/tests/plug_in_" SLUICE_TEST_FLAVOUR ".so",
                           RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
      code = find<decltype(plug_in_exchange)>(plug_in, "plug_in_exchange")(memory.data(), kBytes, rank);
    } else {
      code = exchange(mpi, memory.data(), rank);
    }
    if (code != MPI_SUCCESS) end(fmt::format("error {}", code));
    if (const std::string error = find_pattern_error(memory.read(), 0, 1); !error.empty()) end(error);
  }
  if (FIND(MPI_Finalize)() != MPI_SUCCESS) end("MPI_Finalize");
  fmt::print("rank {}: looked up\n", rank);
  return 0;
}

}  // namespace
}  // namespace sluice::tests

int main(int argc, char **argv) {
  if (argc != 5 || std::string(argv[1]) != "--backend") sluice::tests::end("wrong arguments");
  return sluice::tests::run(argv[2], argv[3], argv[4]);
}
