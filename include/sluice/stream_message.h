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
#define SLUICE_STREAM_MESSAGE_API_VERSION 3u

/* The symbol, of type sluice_stream_message_fn. */
#define SLUICE_STREAM_MESSAGE_SYMBOL "sluice_backend_stream_message"

/* size_bytes are copied from memory of the stream's device to memory that ipc_open mapped for it, or that host_register
 * was given, or within any of these; then *word becomes `value`. Whoever sees that finds the bytes, and whatever the
 * stream did before. With 0 bytes it is the word alone. */
typedef struct sluice_stream_send {
  void *dst;
  const void *src;
  size_t size_bytes;
  uint64_t *word;
  uint64_t value;
} sluice_stream_send_t;

/* The stream waits until *word is at least that; then what *word names, as stream_take has it, but at most most_bytes,
 * is copied out of `from`, memory of its device or of host_register, into memory of its device; then *taken becomes
 * `number`. While *taken is less, the module takes the stream for one that waits. */
typedef struct sluice_stream_receive {
  void *dst;
  sluice_units_t from;
  size_t most_bytes;
  const uint64_t *word;
  uint64_t least;
  uint64_t *taken;
  uint64_t number;
} sluice_stream_receive_t;

/* How far a call came: so many of its messages, the first ones, were enqueued, by so many of the runtime's commands. */
typedef struct sluice_stream_enqueued {
  uint32_t n_messages;
  uint32_t n_commands;
} sluice_stream_enqueued_t;

typedef struct sluice_stream_message {
  uint32_t api_version; /* SLUICE_STREAM_MESSAGE_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_stream_message_t) as the module was compiled */

  /* 1 when the other functions work for this stream, else 0; may be asked again, and the answer may have become 1.
   * Setup cost at the first call: a kernel may be loaded. One thread at a time for each stream. */
  int32_t (*can_carry)(sluice_stream_t *stream);

  /* Both enqueue n messages, at least 1, in as few commands as may be, and return before any has run. The messages of
   * one call may run side by side, and their words be set in any order; what the stream was given before comes before
   * all of them, what it is given afterwards behind all. Receives with the same `taken` run in their order, and none
   * keeps one with another `taken` waiting for more than other receives of the same call. *enqueued is set whatever
   * comes of it; words of messages that were not enqueued are not set. SLUICE_ERROR_UNSUPPORTED: the stream is being
   * captured. Hot. */
  sluice_result_t (*send)(sluice_stream_t *stream, const sluice_stream_send_t *sends, uint32_t n,
                          sluice_stream_enqueued_t *enqueued);
  sluice_result_t (*receive)(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                             sluice_stream_enqueued_t *enqueued);
} sluice_stream_message_t;

typedef const sluice_stream_message_t *(*sluice_stream_message_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
