# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Tells the launchers of the host MPIs, by variables, on which hosts of tests/nodes/run they start ranks, and how they
# reach those hosts. To be sourced.

# tell_launchers <number of ranks> <folder for the lists of hosts>
# As many ranks on each host as TEST_NODES says where that makes this number, else consecutive ones, the first hosts one more.
tell_launchers() {
  local n_ranks=$1 folder=$2 agent word total=0 host=0 n hosts=()
  agent=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/agent
  read -r -a hosts <<<"$TEST_NODES"
  for word in "${hosts[@]}"; do total=$((total + ${word#*:})); done
  : >"$folder/hosts.hydra"
  : >"$folder/hosts.ompi"
  for word in "${hosts[@]}"; do
    n=${word#*:}
    [ "$total" -eq "$n_ranks" ] || n=$(((n_ranks + ${#hosts[@]} - 1 - host) / ${#hosts[@]}))
    host=$((host + 1))
    [ "$n" -gt 0 ] || continue
    echo "${word%:*}:$n" >>"$folder/hosts.hydra"
    echo "${word%:*} slots=$n" >>"$folder/hosts.ompi"
  done
  # MPICH
  export HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC=$agent HYDRA_HOST_FILE=$folder/hosts.hydra
  # Intel MPI, whose variable for the list takes no numbers of ranks: where hosts have unlike numbers, its launcher needs
  # the words -machinefile "$TEST_NODES_MACHINES".
  export TEST_NODES_MACHINES=$folder/hosts.hydra
  export I_MPI_HYDRA_BOOTSTRAP=rsh I_MPI_HYDRA_BOOTSTRAP_EXEC=$agent I_MPI_HYDRA_HOST_FILE=$folder/hosts.hydra
  export I_MPI_FABRICS=shm:ofi FI_PROVIDER=tcp
  # Open MPI 4, Open MPI 5 (PRRTE)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_plm_rsh_agent=$agent OMPI_MCA_orte_default_hostfile=$folder/hosts.ompi
  export PRTE_MCA_plm_ssh_agent=$agent PRTE_MCA_prte_default_hostfile=$folder/hosts.ompi
}
