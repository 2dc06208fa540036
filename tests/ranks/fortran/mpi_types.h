!SPDX - License - Identifier : BSD - 3 - Clause !What the interfaces differ in : handles and
    statuses are derived types in mpi_f08,
    integers elsewhere.
#if defined(INTERFACE_MPI_F08)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define MESSAGE type(MPI_Message)
#define COMMUNICATOR type(MPI_Comm)
#define STATUS(name) type(MPI_Status)::name
#define STATUSES(name, n) type(MPI_Status)::name(n)
#define STATUS_AT(name, i) name(i)
#define SOURCE_OF(name) name % MPI_SOURCE
#define TAG_OF(name) name % MPI_TAG
#define ERROR_OF(name) name % MPI_ERROR
#else
#define REQUEST integer
#define DATATYPE integer
#define MESSAGE integer
#define COMMUNICATOR integer
#define STATUS(name) integer ::name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer ::name(MPI_STATUS_SIZE, n)
#define STATUS_AT(name, i) name( :, i)
#define SOURCE_OF(name) name(MPI_SOURCE)
#define TAG_OF(name) name(MPI_TAG)
#define ERROR_OF(name) name(MPI_ERROR)
#endif
