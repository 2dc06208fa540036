// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions, and its faults, recognised by the library's own version text.
#include "tests/support/host_mpi.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::tests {
namespace {

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

bool version_starts_with(std::string_view start) {
  return library_version().starts_with(start);
}

// By the number in "MPICH Version:", which a tab or spaces precede.
bool is_mpich(std::string_view number_starts) {
  const std::string version = library_version();
  std::string_view rest(version);
  constexpr std::string_view kName = "MPICH Version:";
  if (!rest.starts_with(kName)) return false;
  rest.remove_prefix(kName.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.starts_with(number_starts);
}

bool is_open_mpi() {
  return version_starts_with("Open MPI v");
}

struct Search {
  const char *name;
  void *function;
};

// Called for each loaded library: libmpi*, libmpich* and libmpi_abi* are host MPIs, whatever lies before them.
int look_into(dl_phdr_info *library, std::size_t /*size*/, void *data) {
  auto *search = static_cast<Search *>(data);
  const std::string_view path = library->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with("libmpi")) {
    return 0;
  }
  void *handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) {
    search->function = dlsym(handle, search->name);
    // The library stays: somebody else loaded it.
    static_cast<void>(dlclose(handle));
  }
  return search->function != nullptr ? 1 : 0;
}

}  // namespace

void *find_host_function(const char *name) {
  Search search{name, nullptr};
  dl_iterate_phdr(look_into, &search);
  return search.function;
}

bool never_ends_with_unlike_lengths(std::string_view operation, bool is_longer) {
  if (is_mpich("4.2")) return true;
  if (operation == "allgatherv") return is_longer;
  const bool has_one_way = operation == "bcast" || operation == "alltoall" || operation.starts_with("gather") ||
                           operation.starts_with("scatter");
  return !has_one_way && is_open_mpi();
}

bool loses_data_in_restarted_bsend() {
  return is_open_mpi();
}

bool hangs_in_truncated_waitall() {
  int provided = MPI_THREAD_SINGLE;
  return version_starts_with("Open MPI v4.") && MPI_Query_thread(&provided) == MPI_SUCCESS &&
         provided == MPI_THREAD_MULTIPLE;
}

bool mishandles_types_of_uneven_lengths() {
  return version_starts_with("MPICH Version:") || version_starts_with("Intel(R) MPI");
}

bool lacks_nested_types_in_programs() {
  return version_starts_with("Intel(R) MPI") || version_starts_with("Open MPI v5.");
}

bool fails_in_testall_of_partitions() {
  return version_starts_with("MPICH Version:") || version_starts_with("Intel(R) MPI");
}

bool refuses_parrived_of_inactive() {
  return is_mpich("4.0");
}

bool aborts_in_session_handlers() {
  return is_mpich("4.2");
}

bool writes_read_only_files_together() {
  return is_open_mpi();
}

bool takes_cut_calls_for_whole() {
  return is_open_mpi();
}

bool tears_reads_in_atomic_mode() {
  return is_open_mpi();
}

bool ends_pointers_at_the_end() {
  return version_starts_with("Intel(R) MPI");
}

bool crashes_in_atomic_requests() {
  return version_starts_with("Intel(R) MPI");
}

bool aborts_on_subarrays_in_files() {
#ifdef MPI_ABI_VERSION
  return version_starts_with("Intel(R) MPI");
#else
  return false;
#endif
}

int seek_set() {
#ifdef MPI_ABI_VERSION
  if (version_starts_with("Intel(R) MPI")) return MPI_SEEK_CUR;
#endif
  return MPI_SEEK_SET;
}

bool tears_collective_requests_in_atomic_mode() {
  return is_mpich("5.");
}

bool keeps_locks_of_requests_in_atomic_mode() {
  return is_open_mpi();
}

bool hangs_in_pending_reads_behind_the_end() {
  return is_open_mpi();
}

bool loses_pairs_in_accumulates() {
  return !is_mpich("");
}

bool loses_file_requests_in_testall() {
  return !is_open_mpi();
}

bool mixes_collective_file_requests() {
  return !is_open_mpi();
}

bool loses_blocks_of_collective_file_requests() {
  return version_starts_with("Open MPI v4.");
}

bool misplaces_nested_types_in_files() {
  return !is_open_mpi();
}

bool crashes_on_no_file() {
#ifdef MPI_ABI_VERSION
  return true;
#else
  return false;
#endif
}

bool overruns_in_external_views() {
  return is_mpich("") || version_starts_with("Intel(R) MPI");
}

bool leaves_ordered_reads_as_in_the_file() {
  return !is_open_mpi();
}

bool aborts_on_truncation() {
  return version_starts_with("Intel(R) MPI");
}

bool aborts_on_unknown_types() {
  return version_starts_with("Intel(R) MPI");
}

bool aborts_on_external_unpack_of_nothing() {
  return version_starts_with("Intel(R) MPI");
}

bool breaks_persistent_collectives() {
  return is_mpich("4.") || version_starts_with("Intel(R) MPI");
}

bool overruns_in_reduce_scatter_block() {
  return version_starts_with("MPICH Version:") || version_starts_with("Intel(R) MPI");
}

bool hangs_after_empty_ialltoallv() {
  return is_open_mpi();
}

bool loses_data_between_groups() {
  return version_starts_with("MPICH Version:") || version_starts_with("Intel(R) MPI");
}

bool mixes_types_in_place() {
  return is_mpich("4.0") || version_starts_with("Intel(R) MPI");
}

bool misplaces_allgatherv_of_one_rank() {
  return is_mpich("4.0");
}

bool fails_on_uneven_graphs() {
  return is_mpich("4.0") || is_open_mpi();
}

bool misplaces_alltoallw_of_one_rank() {
  return is_open_mpi();
}

bool mixes_types_between_groups() {
  return is_open_mpi();
}

bool fails_in_testall_of_collectives() {
  return version_starts_with("MPICH Version:") && !is_mpich("4.0");
}

bool overruns_in_reduce_with_lower_bound() {
  return version_starts_with("Intel(R) MPI") || version_starts_with("Open MPI v5.") ||
         (version_starts_with("MPICH Version:") && !is_mpich("4.0"));
}

bool overruns_in_ireduce_with_lower_bound() {
  return is_open_mpi();
}

bool miscounts_types_in_ialltoallw() {
  return version_starts_with("Open MPI v4.");
}

bool hangs_in_alltoallw_between_groups() {
  return is_open_mpi();
}

bool crashes_on_uncommitted_types() {
  return is_open_mpi();
}

bool needs_several_win_tests() {
  return version_starts_with("Open MPI v4.") || (version_starts_with("MPICH Version:") && !is_mpich("4.0"));
}

bool loses_bitwise_accumulates() {
  return version_starts_with("Open MPI v5.");
}

bool crashes_on_many_runs_in_windows() {
  return version_starts_with("Open MPI v5.");
}

}  // namespace sluice::tests
