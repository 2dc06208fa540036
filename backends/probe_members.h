// SPDX-License-Identifier: BSD-3-Clause
// Members of sluice_probe_t that a module's probe_kernels.cpp defines. Included within the module's namespace.
sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding);
sluice_result_t work_create(sluice_work_t **work);
sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps);
sluice_result_t work_wait(sluice_work_t *work, uint64_t *result);
sluice_result_t work_destroy(sluice_work_t *work);
