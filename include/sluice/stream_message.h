/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of queues in few commands (docs/adr/0033): a second, optional table beside the contract (backend.h), which a
 * module with the group `channel` hands out through the symbol sluice_backend_stream_message(). Without it libsluice
 * enqueues each message by stream_copy, stream_write, stream_wait and stream_take. The rules of backend.h hold for
 * every function; last_error() of the contract has the native text.
 *
 * Words are as those of stream_write, in memory of host_alloc or host_register. No address is looked at again: whoever
 * calls knows that each is what is said here.
 */
#ifndef SLUICE_STREAM_MESSAGE_H
#define SLUICE_STREAM_MESSAGE_H

#include <sluice/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever layout or meaning of a member changes. */
#define SLUICE_STREAM_MESSAGE_API_VERSION 1u

/* The symbol, of type sluice_stream_message_fn. */
#define SLUICE_STREAM_MESSAGE_SYMBOL "sluice_backend_stream_message"

typedef struct sluice_stream_message {
  uint32_t api_version; /* SLUICE_STREAM_MESSAGE_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_stream_message_t) as the module was compiled */

  /* 1 when the other functions work for this stream, else 0; may be asked again, and the answer may have become 1.
   * Setup cost at the first call: a kernel may be loaded. One thread at a time for each stream. */
  int32_t (*can_carry)(sluice_stream_t *stream);

  /* Enqueues: size_bytes are copied from memory of the stream's device to memory that ipc_open mapped for it, or within
   * either; then *word becomes `value`. Whoever sees that finds the bytes, and whatever the stream did before. Returns
   * before it has run. On an error *word is not set. SLUICE_ERROR_UNSUPPORTED: the stream is being captured. Hot. */
  sluice_result_t (*send)(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes, uint64_t *word,
                          uint64_t value);

  /* Enqueues: the stream waits until *word is at least that; then as many bytes as the lower 32 bits of *word say, but
   * at most most_bytes, are copied between memory of its device; then *taken becomes `number`. While *taken is less,
   * the module takes the stream for one that waits. Returns before it has run. On an error *taken is not set.
   * SLUICE_ERROR_UNSUPPORTED: the stream is being captured. Hot. */
  sluice_result_t (*receive)(sluice_stream_t *stream, void *dst, const void *src, size_t most_bytes,
                             const uint64_t *word, uint64_t least, uint64_t *taken, uint64_t number);
} sluice_stream_message_t;

typedef const sluice_stream_message_t *(*sluice_stream_message_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
