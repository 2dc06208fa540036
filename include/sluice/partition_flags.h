/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flags by which kernels make partitions of a partitioned send ready (MPI_Psend_init). sluice_get_partition_flags() of
 * sluice/partitioned.h hands them out. A part of its own, without MPI and without other headers, for compilers of
 * kernels. For such a compiler define before this header how it writes a function for the device, and a fence for all
 * memory as all devices and the host see it (docs/queue/partitions.md says what they are for whom). Without definitions
 * this is for the CPU.
 */
#ifndef SLUICE_PARTITION_FLAGS_H
#define SLUICE_PARTITION_FLAGS_H

#ifndef SLUICE_PARTITION_FUNCTION
/* How a function for the device begins. */
#define SLUICE_PARTITION_FUNCTION static inline
#endif
#ifndef SLUICE_PARTITION_FENCE
/* A fence for all memory as all devices and the host see it. */
#define SLUICE_PARTITION_FENCE() __sync_synchronize()
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Passed to kernels by value. Both addresses stay until the request is freed. */
typedef struct sluice_partition_flags {
  volatile unsigned long long *flags;      /* one for each partition */
  const volatile unsigned long long *mark; /* what a flag is to say in the start that is active; MPI_Start changes it */
} sluice_partition_flags_t;

#ifdef __cplusplus
}
#endif

/* Makes `partition` ready, as MPI_Pready: all of it was written before, by this thread or by threads that this one has
 * waited for (a barrier of the block; an earlier kernel of the stream). One thread calls it, once in a start, while the
 * request is started; `partition` is one that the request has. Nothing of that is checked. Returns at once. */
SLUICE_PARTITION_FUNCTION void sluice_set_partition_ready(sluice_partition_flags_t flags, int partition) {
  const unsigned long long mark = *flags.mark;
  SLUICE_PARTITION_FENCE();
  flags.flags[partition] = mark;
}

#endif /* SLUICE_PARTITION_FLAGS_H */
