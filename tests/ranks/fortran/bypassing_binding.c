/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A Fortran binding that calls a function of its own library instead of an MPI function; check_bindings.py must object.
 */
static void own_function(void) {}

__attribute__((visibility("default"))) void mpi_request_get_status_all_(void) {
  own_function();
}
