/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A backend module of a version that no libsluice has: it must be refused with a message that names both versions. */
#include <sluice/backend.h>

enum { kOtherVersion = 999 };

__attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table(void);

const sluice_backend_t *sluice_backend_table(void) {
  static const sluice_backend_t table = {
      .api_version = kOtherVersion, .struct_size = sizeof(sluice_backend_t), .name = "other_version"};
  return &table;
}
