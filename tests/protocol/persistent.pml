/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent requests: a send and a receive that are started STARTS times. All starts share one acknowledgement tag, one
 * descriptor buffer and one data buffer; on the receiver the program's own thread and a progress thread both look at the
 * receive. The program may cancel its send. Checks that each start moves its own data once, that a start does not complete
 * with another start's acknowledgement, and that nothing is left behind.
 *
 * Mutations: BUG_TWO_FINISHERS (both threads may finish a receive), BUG_CANCEL_TAKES_ACK (MPI_Cancel of the send cancels the
 * receive for the acknowledgement), BUG_ACK_BEFORE_COPY, BUG_START_WITHOUT_ID (a start sends the old operation id; with it the
 * receiver takes the descriptor for one that it knows).
 */
#define STARTS 3

byte data;                 /* the sender's buffer: the number of the start, 255 when the program has used it again */
byte descriptor;           /* the sender's descriptor buffer: an operation id */
chan wire = [1] of { bit }; /* a descriptor that was not matched yet; the host MPI reads the buffer when it is */
chan acks = [3] of { byte };
bool recv_active, recv_matched, send_over;
byte op, received, last_id;
bool owned;                /* the receive has a finisher */
byte n_finished;           /* receives that were finished */

proctype Sender() {
  byte start, acked;
  for (start : 1 .. STARTS) {
    data = start;
    atomic {
      assert(empty(wire)); /* the descriptor buffer is free */
#ifdef BUG_START_WITHOUT_ID
      descriptor = 1;
#else
      descriptor = start;
#endif
      wire ! 1
    };
    if
#ifdef BUG_CANCEL_TAKES_ACK
    :: skip /* cancelled: complete at once */
#endif
    :: acks ? acked -> assert(acked == start)
    fi;
    data = 255
  };
  send_over = true
}

/* The host MPI's side of the receiver. */
proctype Match() {
  bit x;
end:
  do
  :: atomic { recv_active && !recv_matched && nempty(wire) -> wire ? x; op = descriptor; recv_matched = true; x = 0 }
  od
}

/* Finishing a receive: by one thread, which pulls, acknowledges and only then lets the program have it. */
inline finish() {
#ifdef BUG_TWO_FINISHERS
  atomic { recv_active && recv_matched -> id = op };
#else
  atomic { recv_active && recv_matched && !owned -> owned = true; id = op };
#endif
  assert(id > last_id); /* a new operation, not one that is known */
#ifdef BUG_ACK_BEFORE_COPY
  acks ! id;
#endif
  assert(data == id);   /* the buffer holds what this start sent */
  received = id;
#ifndef BUG_ACK_BEFORE_COPY
  acks ! id;
#endif
  atomic { last_id = id; n_finished++; id = 0; owned = false; recv_matched = false; recv_active = false }
}

proctype ProgressThread() {
  byte id;
end:
  do
  :: finish()
  od
}

proctype Receiver() {
  byte start, id;
  for (start : 1 .. STARTS) {
    recv_active = true;
    do
    :: !recv_active -> break
    :: finish()
    od;
    assert(received == start && n_finished == start)
  };
  send_over;
  assert(empty(acks) && empty(wire))
}

init { atomic { run Sender(); run Match(); run ProgressThread(); run Receiver() } }
