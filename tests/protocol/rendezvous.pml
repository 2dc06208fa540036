/* SPDX-License-Identifier: BSD-3-Clause
 * Rendezvous: process 0 sends OPS messages on one communicator and tag, plain ones and descriptors as it pleases; process 1
 * receives them with buffers of every capacity, waits in any order or frees its requests, and either side may sit in a
 * barrier first. Checks that every message arrives once and whole, that a send completes when its buffer has been read or
 * its receive was truncated and not before, and that nobody waits for ever.
 *
 * The host MPI matches the i-th message with the i-th receive. A matched receive is complete at once (assumption A1 of
 * docs/protocol.md); with -DLATE some time later. -DOPS=n: 2 or 3 operations.
 *
 * Mutations: BUG_NO_PROGRESS_IN_BARRIER, BUG_ACK_BEFORE_COPY, BUG_NAK_LOST, BUG_NAK_BY_COUNT (the refusal says how many
 * descriptors were seen, and the sender completes the first open operation behind them), BUG_TRACK_FROM_THRESHOLD
 * (receives between the descriptor's size and the threshold are not tracked), BUG_QUERY_BEFORE_MATCH (the sender does not
 * know what was matched: descriptors go out by Isend, not Issend), BUG_ACKED_FORGOTTEN (the receiver does not remember
 * what it has acknowledged), BUG_SERVE_WHILE_BUSY_ONLY (after a refusal the receiver serves questions only while it has
 * tracked receives), BUG_FREED_SMALL_FORGOTTEN (a freed untracked request is not adopted), BUG_NO_DRAIN (MPI_Finalize
 * leaves control messages behind), BUG_LATE_COPY (with LATE: a descriptor that was given up is pulled all the same).
 */
#ifndef OPS
#define OPS 3
#endif

/* Messages. SMALL fits everywhere; MEDIUM is plain, too large for a capacity of SMALL. */
#define SMALL 0
#define MEDIUM 1
#define LARGE 2 /* a descriptor */
/* Capacities: SMALL is below the descriptor's size (untracked), MEDIUM everything from there on (tracked). */

byte size[OPS], capacity[OPS];
bool sent[OPS], posted[OPS];
byte first;                     /* the receive that is waited for first */

/* Where each program calls MPI_Barrier: before, between and behind its posting and its waiting. */
#define EARLY 0 /* the sender: after its sends, before its waits */
#define BETWEEN 1
#define LATE_ONE 2
byte sender_barrier, receiver_barrier;
bool stepwise;                  /* the receiver posts and waits one by one */
bool host_done[OPS];            /* the host MPI shows the receive as complete */

/* Sender. */
bool done[OPS];                 /* the program may use the buffer again, and does: what is read from now on is wrong */
bool suspect[OPS], asked[OPS];
byte acks[OPS];                 /* acknowledgements on their way, one tag for each operation */

/* Receiver. */
bool seen[OPS], pulled[OPS], given_up[OPS], failed[OPS];
bool finished[OPS];             /* the program's request is complete, or was freed and needs nothing any more */
bool freed[OPS];                /* by MPI_Request_free, while active */
bool noted[OPS];                /* a truncated receive was looked at */

chan naks = [OPS] of { byte };
chan queries = [OPS] of { byte };

/* Where the two programs are. */
#define COMPUTING 0
#define IN_WAIT 1
#define IN_BARRIER 2
#define IN_FINALIZE 3
#define GONE 4
byte at[2];
byte entered[2];                /* barriers entered */

#define MATCHED(i) (sent[i] && posted[i])
#define COMPLETE(i) (MATCHED(i) && host_done[i])
#ifdef BUG_TRACK_FROM_THRESHOLD
#define TRACKED(i) (false) /* MEDIUM stands for a capacity between the two */
#else
#define TRACKED(i) (capacity[i] >= MEDIUM)
#endif
#define TRUNCATED_BY_HOST(i) (capacity[i] == SMALL && size[i] > SMALL)
#ifdef BUG_NO_PROGRESS_IN_BARRIER
#define IN_MPI(p) (at[p] == IN_WAIT || at[p] == IN_FINALIZE)
#else
#define IN_MPI(p) (at[p] == IN_WAIT || at[p] == IN_BARRIER || at[p] == IN_FINALIZE)
#endif

inline barrier(me, where) {
  atomic { at[me] = where; entered[me]++ };
  atomic { entered[1 - me] >= entered[me] -> at[me] = COMPUTING }
}

/* What a completed send must satisfy. */
inline complete_send(i) {
  assert(!done[i]);
#ifdef LATE
  assert(size[i] < LARGE || pulled[i] || given_up[i]);
#else
  assert(size[i] < LARGE || pulled[i] || (TRUNCATED_BY_HOST(i) && MATCHED(i)));
#endif
  done[i] = true
}

/* --- Sender ---------------------------------------------------------------------------------------------------------- */
inline wait_send(i) {
  atomic { at[0] = IN_WAIT };
  atomic {
    if
    :: size[i] < LARGE && !done[i] -> complete_send(i) /* a plain message: the host MPI buffers it */
    :: acks[i] > 0 -> acks[i]--; complete_send(i)
#ifdef BUG_NAK_BY_COUNT
    :: done[i]
#endif
    fi;
    at[0] = COMPUTING
  }
}

proctype Sender() {
  byte i;
  for (i : 0 .. OPS - 1) { sent[i] = true };
  if :: sender_barrier == EARLY -> barrier(0, IN_BARRIER) :: else fi;
  for (i : 0 .. OPS - 1) { wait_send(i) };
  if :: sender_barrier == LATE_ONE -> barrier(0, IN_BARRIER) :: else fi;
  barrier(0, IN_FINALIZE);
  atomic { at[0] = IN_FINALIZE };
#ifndef BUG_NO_DRAIN
  atomic { empty(naks) -> at[0] = GONE };
#else
  at[0] = GONE;
#endif
  assert(empty(naks));
  d_step { for (i : 0 .. OPS - 1) { assert(done[i] && acks[i] == 0) } } /* a stray acknowledgement would end a later operation */
}

#ifdef BUG_QUERY_BEFORE_MATCH
#define ASKABLE(i) (suspect[i] && !asked[i] && !done[i])
#else
#define ASKABLE(i) (suspect[i] && !asked[i] && !done[i] && MATCHED(i))
#endif

/* Progress in whatever call the sender sits. No option is open without something to do: spin sees a deadlock only where
   nothing can move. */
proctype SenderProgress() {
  byte i, n;
end:
  do
  :: atomic {
       IN_MPI(0) && nempty(naks) -> naks ? n;
#ifdef BUG_NAK_BY_COUNT
       i = 0;
       do
       :: i < OPS && (size[i] < LARGE || n > 0 || done[i] || acks[i]) ->
          if :: size[i] == LARGE && n > 0 -> n-- :: else fi; i++
       :: else -> break
       od;
       if :: i < OPS && sent[i] -> complete_send(i) :: else fi;
#else
       for (i : 0 .. OPS - 1) {
         if :: sent[i] && size[i] == LARGE && !done[i] -> suspect[i] = true :: else fi
       };
#endif
       i = 0; n = 0
     }
  /* Ask, once, about an open operation that the host MPI reports as matched. */
  :: atomic { IN_MPI(0) && ASKABLE(0) -> asked[0] = true; queries ! 0 }
  :: atomic { IN_MPI(0) && ASKABLE(1) -> asked[1] = true; queries ! 1 }
#if OPS > 2
  :: atomic { IN_MPI(0) && ASKABLE(2) -> asked[2] = true; queries ! 2 }
#endif
  od
}

/* --- Receiver -------------------------------------------------------------------------------------------------------- */
inline refuse(i) {
  noted[i] = true; 
#ifndef BUG_NAK_LOST
#ifdef BUG_NAK_BY_COUNT
  n = 0;
  for (j : 0 .. OPS - 1) {
    if :: size[j] == LARGE && (seen[j] || (noted[j] && j != i)) -> n++ :: else fi
  };
#endif
  naks ! n; n = 0; j = 0;
#endif
}
inline look_at_untracked(i) {
  assert(size[i] == SMALL || TRUNCATED_BY_HOST(i)); /* else the program reads a descriptor */
  finished[i] = true;
  if :: TRUNCATED_BY_HOST(i) -> refuse(i) :: else fi
}
inline wait_receive(i) {
  atomic { at[1] = IN_WAIT };
  atomic {
    if
    :: finished[i]
    :: !TRACKED(i) && COMPLETE(i) && !finished[i] -> look_at_untracked(i)
    fi;
    at[1] = COMPUTING
  }
}

proctype Receiver() {
  byte i, j, n;
  if :: receiver_barrier == EARLY -> barrier(1, IN_BARRIER) :: else fi;
  for (i : 0 .. OPS - 1) {
    posted[i] = true;
    if :: stepwise && !freed[i] -> wait_receive(i) :: else fi;
    if :: stepwise && i == 0 && receiver_barrier == BETWEEN -> barrier(1, IN_BARRIER) :: else fi
  };
  if :: !stepwise && receiver_barrier == BETWEEN -> barrier(1, IN_BARRIER) :: else fi;
  if :: !stepwise && !freed[first] -> wait_receive(first) :: else fi;
  for (i : 0 .. OPS - 1) {
    if :: !stepwise && i != first && !freed[i] -> wait_receive(i) :: else fi
  };
  if :: receiver_barrier == LATE_ONE -> barrier(1, IN_BARRIER) :: else fi;
#ifndef BUG_FREED_SMALL_FORGOTTEN
  for (i : 0 .. OPS - 1) { /* MPI_Finalize ends what was freed */
    if :: freed[i] -> at[1] = IN_FINALIZE; finished[i] :: else fi
  };
#endif
  barrier(1, IN_FINALIZE);
  atomic { at[1] = IN_FINALIZE };
#ifndef BUG_NO_DRAIN
  atomic { empty(queries) -> at[1] = GONE };
#else
  at[1] = GONE;
#endif
  assert(empty(queries));
  d_step { for (i : 0 .. OPS - 1) {
    /* Nothing lost: every message that fits has come, and was read before its buffer was used again. */
#ifdef LATE
    assert(size[i] < LARGE || capacity[i] == SMALL || pulled[i] || failed[i])
#else
    assert(size[i] < LARGE || capacity[i] == SMALL || pulled[i]);
    assert(!failed[i])
#endif
  } }
}

/* Whether the receiver has met the operation's descriptor. */
#ifdef BUG_ACKED_FORGOTTEN
#define KNOWN(i) (seen[i] && !pulled[i])
#else
#define KNOWN(i) seen[i]
#endif
#ifdef BUG_SERVE_WHILE_BUSY_ONLY
#define BUSY(i) (posted[i] && TRACKED(i) && !finished[i])
#define SERVES (at[1] != IN_BARRIER || BUSY(0) || BUSY(1) || BUSY(OPS - 1))
#else
#define SERVES true
#endif
#define ARRIVED(i) (TRACKED(i) && COMPLETE(i) && !seen[i])
#ifdef BUG_LATE_COPY
#define DEAD(i) false
#else
#define DEAD(i) given_up[i]
#endif

/* A tracked receive is complete in the host MPI. */
inline look(i) {
  seen[i] = true;
  if
  :: size[i] < LARGE -> finished[i] = true
  :: size[i] == LARGE && DEAD(i) -> failed[i] = true; finished[i] = true
  :: else ->
     pulling = i;
#ifdef BUG_ACK_BEFORE_COPY
     acks[i]++; pulled[i] = true
#endif
  fi
}

/* Progress in whatever call the receiver sits. */
proctype ReceiverProgress() {
  byte i, j, n, pulling = OPS;
end:
  do
  :: atomic { IN_MPI(1) && pulling == OPS && ARRIVED(0) -> look(0) }
  :: atomic { IN_MPI(1) && pulling == OPS && ARRIVED(1) -> look(1) }
#if OPS > 2
  :: atomic { IN_MPI(1) && pulling == OPS && ARRIVED(2) -> look(2) }
#endif
#ifndef BUG_FREED_SMALL_FORGOTTEN
  :: atomic { IN_MPI(1) && freed[0] && !TRACKED(0) && COMPLETE(0) && !finished[0] -> look_at_untracked(0) }
#endif
  :: atomic { /* the copy, then the acknowledgement */
       pulling < OPS ->
       assert(!done[pulling]); /* the buffer holds the message still */
#ifndef BUG_ACK_BEFORE_COPY
       assert(!pulled[pulling]);
       pulled[pulling] = true; acks[pulling]++;
#endif
       finished[pulling] = true;
       pulling = OPS
     }
  :: atomic { /* a question: is this operation known? */
       IN_MPI(1) && nempty(queries) && SERVES ->
       queries ? i;
       if
       :: KNOWN(i)
       :: TRACKED(i) && COMPLETE(i) && !seen[i] /* it is looked at next */
       :: else -> assert(!given_up[i]); given_up[i] = true; acks[i]++
       fi;
       i = 0
     }
  od
}

/* --- The host MPI ---------------------------------------------------------------------------------------------------- */
proctype Host() {
  byte i;
  for (i : 0 .. OPS - 1) { atomic { MATCHED(i) -> host_done[i] = true } }
}

/* Chooses the program; one that MPI itself may leave hanging is not run. */
init {
  byte i, x;
  bool legal;
  atomic {
    for (i : 0 .. OPS - 1) {
      if
      :: i < 2 -> select(x : SMALL .. LARGE); size[i] = x
      :: else -> size[i] = LARGE /* with three, less variety: the search stays small */
      fi;
      select(x : SMALL .. MEDIUM); capacity[i] = x
    };
    if
    :: select(x : 0 .. OPS - 1); first = x
    :: stepwise = true
    fi;
#if OPS == 2
    if :: freed[0] = true :: true fi;
#endif
    if :: sender_barrier = EARLY :: sender_barrier = LATE_ONE fi;
    if :: receiver_barrier = EARLY :: receiver_barrier = BETWEEN :: receiver_barrier = LATE_ONE fi;
    legal = !(sender_barrier == LATE_ONE && (receiver_barrier == EARLY || (stepwise && receiver_barrier == BETWEEN)));
    if /* limit L1: a truncated small receive that nobody looks at before the sender has to go on */
    :: receiver_barrier == BETWEEN && sender_barrier == LATE_ONE ->
       for (i : 0 .. OPS - 1) { legal = legal && !(size[i] == LARGE && capacity[i] == SMALL && !freed[i]) }
    :: else
    fi;
    x = 0; i = 0;
    if
    :: legal ->
#ifdef LATE
       run Host();
#else
       for (i : 0 .. OPS - 1) { host_done[i] = true };
#endif
       run Sender(); run SenderProgress(); run Receiver(); run ReceiverProgress()
    :: else
    fi
  }
}
