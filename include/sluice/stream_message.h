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
#define SLUICE_STREAM_MESSAGE_API_VERSION 7u

/* The symbol, of type sluice_stream_message_fn. */
#define SLUICE_STREAM_MESSAGE_SYMBOL "sluice_backend_stream_message"

/* size_bytes are copied between memory of the stream's device and memory that ipc_open mapped for it, or that
 * host_register was given, or within any of these; then *word becomes `value`. Whoever sees that finds the bytes, and
 * whatever the stream did before. With 0 bytes it is the word alone. */
typedef struct sluice_stream_send {
  void *dst;         /* written */
  const void *src;   /* read */
  size_t size_bytes; /* of each; 0: nothing is copied */
  uint64_t *word;    /* set when the bytes are there */
  uint64_t value;    /* what it is set to */
} sluice_stream_send_t;

/* The stream waits until *word is at least `least`; then what *word names, as stream_take has it, but at most
 * most_bytes, is copied out of `from`, memory of its device or of host_register, into memory of its device; then *taken
 * becomes `number`. While *taken is less, the module takes the stream for one that waits. */
typedef struct sluice_stream_receive {
  void *dst;            /* written */
  sluice_units_t from;  /* what *word names units of */
  size_t most_bytes;    /* that dst has room for */
  const uint64_t *word; /* says that the message is there, and where */
  uint64_t least;       /* what *word is waited for to be */
  uint64_t *taken;      /* set when the bytes are out of `from` */
  uint64_t number;      /* what it is set to */
} sluice_stream_receive_t;

/* The most receives that go aside in one call. */
#define SLUICE_STREAM_MOST_RECEIVES_ASIDE 8u

/* How far a call came: so many of its messages, the first ones, were enqueued, by so many of the runtime's commands. */
typedef struct sluice_stream_enqueued {
  uint32_t n_messages; /* enqueued, from the first on */
  uint32_t n_commands; /* of the runtime */
} sluice_stream_enqueued_t;

/* Slots of a captured message: one launch's message waits until that of so many launches before is out of its own. */
#define SLUICE_CAPTURED_SLOTS 2u

/* One side of a message that is captured into a graph (docs/adr/0057), in memory of the stream's device, zeroed before
 * it is captured. Each launch of the graph sends or receives one message. Before the first launch
 * whoever captures the message copies the members up to and including is_ready there. The kernels alone write the
 * others. A launch that comes too early waits for is_ready on the device. */
typedef struct sluice_captured_end {
  void *slots; /* SLUICE_CAPTURED_SLOTS of slot_bytes each, which is a multiple of 16; where this device finds them */
  uint64_t slot_bytes; /* of one slot; 0: all messages go to one place, from where nobody takes them */
  uint64_t size_bytes; /* of the message, at most slot_bytes, and both sides say the same; but with slot_bytes 0 */
  uint64_t *filled;    /* the sender counts up how many messages are in their slots */
  uint64_t *taken;     /* and the receiver how many are out of them */
  uint64_t is_ready;   /* 1 */
  uint64_t n_launches; /* this and what follows: the kernels' */
  uint64_t seen;       /* set by the first part of a launch's kernel, for the others */
  uint32_t n_done;     /* parts of the launch's kernel that are done */
} sluice_captured_end_t;

/* One message that `capture` is given. Read during the call only; what it names, as `capture` says. */
typedef struct sluice_captured {
  sluice_captured_end_t *end; /* of this side, in memory of the stream's device */
  void *data;                 /* memory of the stream's device: what a send reads, or where a receive writes */
  size_t size_bytes;          /* of that, at least end->size_bytes; it says how many blocks the kernel is given */
  int32_t is_send;            /* 1: of the sender; 0: of the receiver */
} sluice_captured_t;

/* The table. Of an optional part all members are set, or none. */
typedef struct sluice_stream_message {
  uint32_t api_version; /* SLUICE_STREAM_MESSAGE_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_stream_message_t) as the module was compiled */

  /* ---- messages in few commands; all three, or none where the module has messages of graphs only ----------------- */
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
  /* The other of the two. */
  sluice_result_t (*receive)(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                             sluice_stream_enqueued_t *enqueued);

  /* ---- optional: sends that go aside (docs/adr/0052); all three or none ----------------------------------------- */
  /* A stream may have a side: sends that go there hold up nothing that the stream is given afterwards, and run beside
   * it, until a join. One thread at a time for each stream, as for all of these. */

  /* 1 when send_aside works for this stream, else 0; may be asked again, and the answer may have become 1. Setup cost
   * at the first call: a stream of the runtime's is made, and kept until stream_close. */
  int32_t (*can_send_aside)(sluice_stream_t *stream);
  /* As `send`, but aside: behind all that the stream was given before this call, and behind what went aside before. It
   * waits for nothing else, so a stream that comes to this call comes to its end whatever it is given afterwards. With
   * what the stream is given from here to the next join, sends and receives too, it has no order at all: words of both
   * may be set in any order, and what is sent must stay as it is. The commands that are counted are those in the
   * stream and beside it. SLUICE_ERROR_UNSUPPORTED: the stream has no side, or is being captured. Hot. */
  sluice_result_t (*send_aside)(sluice_stream_t *stream, const sluice_stream_send_t *sends, uint32_t n,
                                sluice_stream_enqueued_t *enqueued);
  /* What the stream is given afterwards waits for all that went aside before; returns before that has run. At most two
   * commands; where nothing ever went aside it does nothing. SLUICE_ERROR_UNSUPPORTED: the stream is being captured.
   * After an error what went aside is joined no more than before, and a later call may do it.
   * stream_close joins nothing: what went aside runs all the same, so whoever closes the stream joins before, if
   * something is to come behind it. Hot. */
  sluice_result_t (*join)(sluice_stream_t *stream);

  /* ---- optional: receives that go aside, too; all three or none, and only beside those for sends ---------------- */
  /* They go elsewhere than the sends, so that no send ever stands behind a receive that waits. */

  /* 1 when receive_aside works for this stream, else 0; the answer may change. Setup cost as can_send_aside's. */
  int32_t (*can_receive_aside)(sluice_stream_t *stream);
  /* As `receive`, but aside: behind all that the stream was given before this call, and behind receives that went aside
   * before. is_with_sends not 0: behind what it was given before the last send_aside instead, since which it was given
   * nothing that matters; that takes a command less in the stream. n is 1 to SLUICE_STREAM_MOST_RECEIVES_ASIDE, and no
   * two have the same `taken`. Each message is taken as soon as it is there, whatever the others are waiting for.
   * Nothing else that the stream is given is held up until the next join_all, nor has it any order with these. The
   * commands that are counted are those in the stream and beside it. SLUICE_ERROR_UNSUPPORTED: not for this stream, or
   * it is being captured. Hot. */
  sluice_result_t (*receive_aside)(sluice_stream_t *stream, const sluice_stream_receive_t *receives, uint32_t n,
                                   int32_t is_with_sends, sluice_stream_enqueued_t *enqueued);
  /* As `join`, for all that went aside before, sends and receives; no more commands in the stream than for one of them,
   * because one side waits for the other. Receives that go aside later are behind those sends, too. */
  sluice_result_t (*join_all)(sluice_stream_t *stream);

  /* ---- optional: messages captured into a graph (docs/adr/0057); all four or none -------------------------------- */

  /* 1 when the program is capturing this stream into a graph, else 0. Hot. */
  int32_t (*is_captured)(sluice_stream_t *stream);
  /* Makes n messages, which may be 0, part of the graph that the stream is being captured into, in as few of its nodes
   * as may be: the sends now, behind what was captured before this call; the receives at the next capture_join, behind
   * that, too, and behind all sends that were captured in this stream by then. What is captured between the two calls
   * has no order with them, and none of them keeps another waiting for more than sends, or receives, of the same call.
   * A launch of a send waits until the message two launches before is out of its slot, one of a receive until its
   * message is there. What the messages name stays as long as the graph may be launched. Errors: nothing was added;
   * SLUICE_ERROR_UNSUPPORTED: the stream is not being captured, or this driver cannot, and last_error() says which. */
  sluice_result_t (*capture)(sluice_stream_t *stream, const sluice_captured_t *messages, uint32_t n);
  /* What is captured from here on comes behind all that `capture` was given in this graph. Receives that this is never
   * called for are none of the graph's. SLUICE_ERROR_UNSUPPORTED: it was not called for this graph. After an error a
   * later call may do it. */
  sluice_result_t (*capture_join)(sluice_stream_t *stream);
  /* Makes n copies part of that graph, each as stream_copy has it, one behind the other: behind what was captured
   * before, but for messages that were not joined, and before what is captured next. Errors as of `capture`, but that
   * the first copies may have been added. */
  sluice_result_t (*capture_copies)(sluice_stream_t *stream, const sluice_copy_t *copies, uint32_t n);
} sluice_stream_message_t;

/* Returns the table, which belongs to the module and stays as it is while the module is loaded. Any thread. */
typedef const sluice_stream_message_t *(*sluice_stream_message_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
