/* SPDX-License-Identifier: BSD-3-Clause
 * Pipeline: two processes send each other one large message in CHUNKS chunks at the same time, each with a staging pool of
 * a few slots. The receiver posts a chunk receive for every slot that it gets, asks for all chunks that it wants when the
 * first of them are posted (GO), and posts again as slots come back; a chunk that comes early waits in the host MPI.
 * Checks chunk order, back-pressure, the reuse of the sender's buffer, that both ends get done with any pool of one slot or
 * more for each direction, that a truncated receive completes the sender, and that all slots come back.
 *
 * -DSLOTS=n: slots for each direction. Mutations: BUG_SHARED_POOL (one pool for both directions), BUG_NO_BACKPRESSURE
 * (the sender sends all chunks, whatever was asked for), BUG_SLOT_LEAK (a receiver that wants fewer chunks keeps a slot),
 * BUG_TAG_SHARED_WITH_ACK (chunks and acknowledgements of the two directions can have the same tag), BUG_FREED_FORGOTTEN
 * (a freed send is not served), BUG_ACK_BEFORE_COPY (the receiver acknowledges when it posts the last chunk's receive),
 * BUG_TRUNCATED_NOT_ACKED, BUG_FINALIZE_ON_ACK (an operation is forgotten at its acknowledgement, while the host's sends of
 * its chunks are still open).
 */
#define CHUNKS 3
#ifndef SLOTS
#define SLOTS 1
#endif

/* What travels on the private communicator, in the order in which it was sent for each pair and kind. */
mtype = { CHUNK, ACK };
chan chunks[2] = [CHUNKS] of { mtype, byte }; /* index: the process that receives */
chan acks[2] = [1] of { mtype };
byte goes[2];                                 /* a GO on its way to process p: 1 + the number of chunks asked for */

/* As the sender of its message. */
byte granted[2], chunks_out[2], chunks_sent[2];
bool started[2], freed[2], send_done[2], buffer_reused[2];
/* As the receiver of the peer's message. */
byte wanted[2], chunks_posted[2], chunks_in[2];
bool recv_done[2];

#ifdef BUG_SHARED_POOL
byte pool[2];
#define SEND_SLOTS(p) pool[p]
#define RECV_SLOTS(p) pool[p]
#else
byte send_slots[2], recv_slots[2];
#define SEND_SLOTS(p) send_slots[p]
#define RECV_SLOTS(p) recv_slots[p]
#endif

bool in_mpi[2];
byte entered[2];

#ifdef BUG_FREED_FORGOTTEN
#define SERVED(p) (started[p] && !freed[p])
#else
#define SERVED(p) (started[p])
#endif
#ifdef BUG_NO_BACKPRESSURE
#define MAY_SEND(p) (chunks_out[p] < CHUNKS && granted[p] > 0)
#else
#define MAY_SEND(p) (chunks_out[p] < granted[p])
#endif

/* The program: a send and a receive, waited for, or the send freed; then MPI_Finalize. */
proctype Program(byte p) {
  started[p] = true;
  if :: freed[p] = true :: skip fi;
  in_mpi[p] = true;
  recv_done[p];
  if :: !freed[p] -> send_done[p]; buffer_reused[p] = true :: else fi;
  atomic { entered[p] = 1 };
#ifdef BUG_FINALIZE_ON_ACK
  atomic { send_done[p] && entered[1 - p] -> entered[p] = 2 };
#else
  /* Finalize: acknowledged, and the sends of its own chunks are complete too. */
  atomic { send_done[p] && chunks_sent[p] == chunks_out[p] && entered[1 - p] -> entered[p] = 2 };
#endif
  atomic { entered[1 - p] == 2 -> in_mpi[p] = false };
  d_step {
#ifdef BUG_SHARED_POOL
    assert(pool[p] == SLOTS + SLOTS);
#else
    assert(send_slots[p] == SLOTS && recv_slots[p] == SLOTS);
#endif
    assert(empty(chunks[p]) && empty(acks[p]) && goes[p] == 0);
    assert(chunks_in[p] == wanted[p])
  }
}

/* What process p does inside MPI. `peer` sends to it. */
proctype Progress(byte p) {
  byte peer = 1 - p, n;
  bool copying, sending, acked, asked;
end:
  do
  /* Receiver: a slot, a posted receive; GO with the first ones. */
  :: atomic {
       in_mpi[p] && started[peer] && RECV_SLOTS(p) > 0 && chunks_posted[p] < wanted[p] ->
       RECV_SLOTS(p)--; chunks_posted[p]++;
       if :: chunks_posted[p] == wanted[p] || chunks_posted[p] == SLOTS ->
               if :: !asked -> goes[peer] = 1 + wanted[p]; asked = true :: else fi
          :: else fi;
#ifdef BUG_ACK_BEFORE_COPY
       if :: chunks_posted[p] == wanted[p] -> acks[peer] ! ACK; acked = true :: else fi
#endif
     }
  /* Receiver: a chunk is there; its copy up takes time; then the slot is free again. */
  :: atomic {
       in_mpi[p] && !copying && nempty(chunks[p]) && chunks_in[p] < chunks_posted[p] ->
       chunks[p] ? _, n;
       assert(n == chunks_in[p]);            /* order */
       copying = true; n = 0
     }
  :: atomic { in_mpi[p] && copying -> copying = false; chunks_in[p]++; RECV_SLOTS(p)++ }
  :: atomic {
       in_mpi[p] && started[peer] && !recv_done[p] && chunks_in[p] == wanted[p] ->
#ifdef BUG_SLOT_LEAK
       if :: wanted[p] < CHUNKS && RECV_SLOTS(p) > 0 -> RECV_SLOTS(p)-- :: else fi;
#endif
#ifdef BUG_TRUNCATED_NOT_ACKED
       if :: wanted[p] < CHUNKS -> acked = true :: else fi;
#endif
       if :: !acked -> acks[peer] ! ACK; acked = true :: else fi;
       recv_done[p] = true
     }
  /* Sender: GO, then a slot and a copy down for each chunk, then the host MPI's send, whose end frees the slot. */
  :: atomic { in_mpi[p] && SERVED(p) && goes[p] > 0 -> granted[p] = goes[p] - 1; goes[p] = 0 }
  :: atomic {
       in_mpi[p] && SERVED(p) && !sending && SEND_SLOTS(p) > 0 && MAY_SEND(p) ->
       SEND_SLOTS(p)--; sending = true
     }
  :: atomic {
       in_mpi[p] && sending ->
       assert(!buffer_reused[p]);
       chunks[peer] ! CHUNK, chunks_out[p]; chunks_out[p]++; sending = false
     }
  :: atomic { in_mpi[p] && chunks_sent[p] < chunks_out[p] -> chunks_sent[p]++; SEND_SLOTS(p)++ }
  /* Sender: the acknowledgement. */
  :: atomic { in_mpi[p] && started[p] && !send_done[p] && nempty(acks[p]) -> acks[p] ? _; send_done[p] = true }
#ifdef BUG_TAG_SHARED_WITH_ACK
  /* The receive for the acknowledgement was posted first, and meets the chunk that comes first. */
  :: atomic {
       in_mpi[p] && started[p] && !send_done[p] && nempty(chunks[p]) -> chunks[p] ? _, _; send_done[p] = true;
       n = 0
     }
#endif
  od
}

init {
  byte p, x;
  atomic {
    for (p : 0 .. 1) {
      if :: wanted[p] = CHUNKS :: wanted[p] = 1 :: wanted[p] = 0 fi; /* all, or truncated: what fits, or nothing */
#ifdef BUG_SHARED_POOL
      pool[p] = SLOTS + SLOTS
#else
      send_slots[p] = SLOTS; recv_slots[p] = SLOTS
#endif
    };
    run Program(0); run Progress(0); run Program(1); run Progress(1)
  }
}
