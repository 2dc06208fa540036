// SPDX-License-Identifier: BSD-3-Clause
// The flavour's mpi.h, made safe for a library that is linked to no MPI, with what the header lacks of MPI-5.
#pragma once

#include <mpi.h>

#ifdef OMPI_MAJOR_VERSION
// Types of MPI-4 and later that Open MPI 5 has not: only their size as arguments matters here, because a function that
// takes one and is missing in the host MPI is a stand-in (wire/host.cpp).
using MPI_User_function_c = void(void *, void *, MPI_Count *, MPI_Datatype *);
using MPI_Datarep_conversion_function_c = int(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *);
using MPI_T_event_registration = void *;
using MPI_T_event_instance = void *;
using MPI_T_cb_safety = int;
using MPI_T_source_order = int;
using MPI_T_event_cb_function = void(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void *);
using MPI_T_event_free_cb_function = void(MPI_T_event_registration, MPI_T_cb_safety, void *);
using MPI_T_event_dropped_cb_function = void(MPI_Count, MPI_T_event_registration, int, MPI_T_cb_safety, void *);
#endif

namespace sluice::wire {

// Whether MPI_Comm_idup goes on with collective calls of its own on the communicator that it duplicates, each rank when
// it comes to that: they meet those that the program has started there meanwhile (Open MPI 4.1.4: wrong data, hangs).
#ifdef OMPI_MAJOR_VERSION
inline constexpr bool kIdupMeetsOthers = true;
#else
inline constexpr bool kIdupMeetsOthers = false;
#endif

}  // namespace sluice::wire

#include "generated/mpi_supplement.hpp"

#ifdef OMPI_PREDEFINED_GLOBAL
namespace sluice::wire {

// The address of one of the host MPI's predefined objects ("ompi_mpi_comm_world"); null when no host MPI is loaded.
// Any thread.
void *host_object(const char *symbol) noexcept;

}  // namespace sluice::wire

// Open MPI's predefined handles are addresses of variables in its library. Naming them would leave references that the
// dynamic linker wants resolved when this library is loaded: it refuses to load where there is no MPI (a launcher), and
// where the MPI comes later (mpi4py). So each is looked up when it is first used.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                          \
  (static_cast<type>([]() noexcept {                                  \
    static void *const object = ::sluice::wire::host_object(#global); \
    return object;                                                    \
  }()))
#endif
