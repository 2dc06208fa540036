// SPDX-License-Identifier: BSD-3-Clause
// A program that asks whether a newer function of MPI is there hears of it only when the host MPI has it (ADR 0008).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/ranks/env/host_symbols.hpp"

namespace sluice::tests {
namespace {

TEST(RecentFunctions, AreThere_ExactlyWhenTheHostMpiHasThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under a sanitizer every function is there (docs/adr/0008)";
#endif
  void *host = host_library();
  ASSERT_NE(host, nullptr) << dlerror();
  ASSERT_NE(dlsym(host, "MPI_Send"), nullptr);
  for (const char *name : {"MPI_Send_c", "MPI_Status_get_source", "MPI_Request_get_status_all", "MPI_Session_init",
                           "MPI_Comm_toint", "PMPI_Send_c", "PMPI_Status_get_source"}) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name) != nullptr, dlsym(host, name) != nullptr) << name;
  }
  EXPECT_EQ(dlclose(host), 0);
}

}  // namespace
}  // namespace sluice::tests
