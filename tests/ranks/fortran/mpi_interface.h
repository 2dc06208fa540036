!SPDX - License - Identifier : BSD - 3 - Clause !The first lines of every procedure : the interface of MPI under test,
    of which a program uses one alone.
#if defined(INTERFACE_MPI_F08)
    use mpi_f08
#elif defined(INTERFACE_USE_MPI)
    use mpi
#endif
        use device_memory implicit none
#if defined(INTERFACE_MPIF_H)
            include 'mpif.h'
#endif
