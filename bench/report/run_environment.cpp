// SPDX-License-Identifier: BSD-3-Clause
// The environment variables that can change a result.
#include "bench/report/run_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace sluice::bench {
namespace {

using Words = std::string_view;

constexpr std::array kBegins{
    // Sluice, MPIs, launchers
    Words{"SLUICE_"}, Words{"MPICH_"}, Words{"MPIR_"}, Words{"I_MPI_"}, Words{"MV2_"}, Words{"MVP_"},
    Words{"OMPI_MCA_"}, Words{"PMIX_MCA_"}, Words{"PRTE_MCA_"}, Words{"HYDRA_"}, Words{"PALS_"}, Words{"CRAY_"},
    // Fabrics
    Words{"UCX_"}, Words{"UCC_"}, Words{"HCOLL_"}, Words{"FI_"}, Words{"PSM2_"}, Words{"PSM3_"},
    // Devices, and their vendors' collectives
    Words{"CUDA_"}, Words{"ZE_"}, Words{"ZES_"}, Words{"ZEX_"}, Words{"ONEAPI_"}, Words{"SYCL_"}, Words{"UR_"},
    Words{"OCL_"}, Words{"NEO"}, Words{"HIP_"}, Words{"HSA_"}, Words{"ROCR_"}, Words{"ROCM_"}, Words{"GPU_"},
    Words{"ACC_"}, Words{"NCCL_"}, Words{"RCCL_"}, Words{"CCL_"},
    // Threads, memory, and where a batch system puts ranks. Not all of the latter: it has tokens and names there, too.
    Words{"OMP_"}, Words{"GOMP_"}, Words{"KMP_"}, Words{"MALLOC_"}, Words{"GLIBC_TUNABLES"}, Words{"LD_PRELOAD"},
    Words{"SLURM_CPU"}, Words{"SLURM_MEM_BIND"}, Words{"SLURM_GPU"}, Words{"SLURM_DISTRIBUTION"}, Words{"SLURM_HINT"},
    Words{"SLURM_NTASKS"}, Words{"SLURM_TASKS_PER_NODE"}, Words{"SLURM_JOB_CPUS_PER_NODE"},
    Words{"SLURM_THREADS_PER_CORE"}, Words{"SLURM_MPI_TYPE"}};

// The last two are a launcher's: where it is, and what keeps other jobs out.
constexpr std::array kSecrets{Words{"KEY"},  Words{"TOKEN"}, Words{"SECRET"},      Words{"PASS"},
                              Words{"CRED"}, Words{"_uri"},  Words{"precondition"}};

}  // namespace

bool can_change_results(std::string_view name) {
  const auto begins = [name](Words begin) { return name.starts_with(begin); };
  const auto has = [name](Words part) { return name.find(part) != std::string_view::npos; };
  return std::any_of(kBegins.begin(), kBegins.end(), begins) && std::none_of(kSecrets.begin(), kSecrets.end(), has);
}

std::map<std::string, std::string> query_run_environment() {
  std::map<std::string, std::string> variables;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && can_change_results(text.substr(0, equals))) {
      variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return variables;
}

}  // namespace sluice::bench
