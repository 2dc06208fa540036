/* SPDX-License-Identifier: BSD-3-Clause
 * Rendezvous: process 0 sends OPS messages on one communicator and tag, plain ones and descriptors as it pleases; process 1
 * receives them with buffers of every capacity, waits in any order or frees its requests, and either side may sit in a
 * barrier first. Checks that every message arrives once and whole, that a send completes when its buffer has been read or
 * its receive was too short and not before, and that nobody waits for ever.
 *
 * The host MPI matches the i-th message with the i-th receive; a matched receive is complete some time later. -DOPS=n: 2 or
 * 3 operations.
 *
 * Mutations: BUG_NO_PROGRESS_IN_BARRIER, BUG_ACK_BEFORE_COPY, BUG_TRACK_NO_SHORT (receives below the descriptor's size are
 * looked at when the program completes them), BUG_SHORT_BY_HOST (they have no room for a descriptor, so that the host MPI
 * truncates what comes and its sender is not known), BUG_FREED_FORGOTTEN (a freed receive is not adopted), BUG_FREED_BLOCKS
 * (an adopted request does not keep this process from blocking in the host MPI).
 */
#ifndef OPS
#define OPS 3
#endif

/* Messages. SMALL and MEDIUM are plain, LARGE and BRIEF travel as descriptors. SMALL and BRIEF fit everywhere, the others
   not into a capacity of SMALL. */
#define SMALL 0
#define MEDIUM 1
#define LARGE 2
#define BRIEF 3
/* Capacities: SMALL is below the descriptor's size (short: the host MPI is given room of ours), MEDIUM everything else. */

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
byte acks[OPS];                 /* acknowledgements on their way, one tag for each operation */

/* Receiver. */
bool seen[OPS], pulled[OPS];
bool finished[OPS];             /* the program's request is complete, or was freed and needs nothing any more */
bool freed[OPS];                /* by MPI_Request_free, while active */

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
#define IS_SHORT(i) (capacity[i] == SMALL)
#define IS_PLAIN(i) (size[i] < LARGE)
#define FITS(i) (size[i] == SMALL || size[i] == BRIEF || !IS_SHORT(i))
#ifdef BUG_TRACK_NO_SHORT
#define TRACKED(i) (!IS_SHORT(i))
#else
#define TRACKED(i) (true)
#endif
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
  assert(IS_PLAIN(i) || pulled[i] || (!FITS(i) && MATCHED(i)));
  done[i] = true
}

/* --- Sender ---------------------------------------------------------------------------------------------------------- */
inline wait_send(i) {
  atomic { at[0] = IN_WAIT };
  atomic {
    if
    :: IS_PLAIN(i) && !done[i] -> complete_send(i) /* a plain message: the host MPI buffers it */
    :: acks[i] > 0 -> acks[i]--; complete_send(i)
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
  atomic { at[0] = GONE };
  d_step { for (i : 0 .. OPS - 1) { assert(done[i] && acks[i] == 0) } } /* a stray acknowledgement would end a later operation */
}

/* --- Receiver -------------------------------------------------------------------------------------------------------- */
/* The program looks at a receive that is not tracked. */
inline look_at_untracked(i) {
  if
  :: IS_PLAIN(i)
  :: else -> pulled[i] = FITS(i); acks[i]++
  fi;
  finished[i] = true
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
  byte i;
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
#ifndef BUG_FREED_FORGOTTEN
  for (i : 0 .. OPS - 1) { /* MPI_Finalize ends what was freed */
    if :: freed[i] -> at[1] = IN_FINALIZE; finished[i] :: else fi
  };
#endif
  barrier(1, IN_FINALIZE);
  at[1] = GONE;
  d_step { for (i : 0 .. OPS - 1) { /* Nothing lost: every message that fits has come. */
    assert(IS_PLAIN(i) || !FITS(i) || pulled[i])
  } }
}

/* Whether a receive is served where this process is. */
#ifdef BUG_FREED_BLOCKS
#define SERVES(i) (IN_MPI(1) && (!freed[i] || at[1] != IN_BARRIER))
#else
#ifdef BUG_FREED_FORGOTTEN
#define SERVES(i) (IN_MPI(1) && !freed[i])
#else
#define SERVES(i) IN_MPI(1)
#endif
#endif
#define ARRIVED(i) (TRACKED(i) && COMPLETE(i) && !seen[i] && SERVES(i))

/* A tracked receive is complete in the host MPI. */
inline look(i) {
  seen[i] = true;
  if
  :: IS_PLAIN(i) -> finished[i] = true
  :: !IS_PLAIN(i) && FITS(i) ->
     pulling = i;
#ifdef BUG_ACK_BEFORE_COPY
     acks[i]++; pulled[i] = true
#endif
  :: else -> /* MPI_ERR_TRUNCATE; the descriptor says whose send it was */
#ifndef BUG_SHORT_BY_HOST
     acks[i]++;
#endif
     finished[i] = true
  fi
}

/* Progress in whatever call the receiver sits. No option is open without something to do: spin sees a deadlock only where
   nothing can move. */
proctype ReceiverProgress() {
  byte pulling = OPS;
end:
  do
  :: atomic { pulling == OPS && ARRIVED(0) -> look(0) }
  :: atomic { pulling == OPS && ARRIVED(1) -> look(1) }
#if OPS > 2
  :: atomic { pulling == OPS && ARRIVED(2) -> look(2) }
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
      :: i < 2 -> select(x : SMALL .. BRIEF); size[i] = x
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
    x = 0; i = 0;
    if
    :: legal ->
       run Host(); run Sender(); run Receiver(); run ReceiverProgress()
    :: else
    fi
  }
}
