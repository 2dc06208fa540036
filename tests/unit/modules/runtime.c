/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for a vendor's runtime: a library whose presence in the process means "in use". */
__attribute__((visibility("default"))) int unit_runtime_version(void);
int unit_runtime_version(void) {
  return 1;
}
