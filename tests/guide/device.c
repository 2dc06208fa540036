/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device.c of the guide's examples: device memory of the backend whose file GUIDE_BACKEND_MODULE names. An example
 * so runs on the device that is always there, and knows nothing of it. */
#include "device.h"

#include <dlfcn.h>
#include <sluice/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sluice_backend_t *table;

static void write_log(int level, const char *text) {
  (void)level;
  (void)text;
}

static const char *query_knob(const char *name) {
  for (size_t i = 0; i < table->n_knobs; ++i) {
    const char *value = getenv(name);
    if (strcmp(table->knobs[i].name, name) == 0) return value != NULL ? value : table->knobs[i].default_value;
  }
  return NULL;
}

/* Ends the example with the backend's own words. */
static void require(sluice_result_t result) {
  if (result != SLUICE_SUCCESS) {
    fprintf(stderr, "device.c: %s\n", table->last_error());
    exit(3);
  }
}

static const sluice_backend_t *module(void) {
  static const sluice_host_services_t services = {sizeof services, write_log, query_knob};
  if (table == NULL) {
    void *library = dlopen(getenv("GUIDE_BACKEND_MODULE"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "device.c: %s\n", dlerror());
      exit(3);
    }
    table = ((sluice_backend_table_fn)dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL))();
    require(table->init(&services));
  }
  return table;
}

void *device_alloc(size_t n_bytes) {
  void *memory = NULL;
  require(module()->program_alloc(SLUICE_MEMORY_DEVICE, n_bytes, &memory));
  return memory;
}

void device_free(void *memory) {
  require(module()->program_free(memory));
}

void device_copy(void *to, const void *from, size_t n_bytes) {
  require(module()->program_copy(to, from, n_bytes));
}
