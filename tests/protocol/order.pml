/* SPDX-License-Identifier: BSD-3-Clause
 * Order: two sources, one receiving process with one or two threads, receives and probes with wildcards, the list of
 * claimed messages. Checks that every receive gets the message that MPI's order rules demand, that none is lost or taken
 * twice, and that a probe announces what the next such receive gets.
 *
 * -DTHREADS=n: receiving threads (1 or 2); -DFROM_FIRST=n: messages from source 0 (2 or 3 of 3); -DRECVS=n,
 * -DPROBES=n: at most so many receives and probes. Mutations: BUG_CLAIM_BY_PATTERN (takes only the probed message off the host's
 * queue, not the older ones of that source), BUG_CLAIM_OUT_OF_ORDER (newest claimed message first), BUG_HOST_FIRST (a
 * receive asks the host before the list), BUG_START_SKIPS_CLAIMED (some receives, such as a persistent start, never look
 * at the list), BUG_NO_CLAIM_LOCK (a receive can be posted between the taking and the entry in the list).
 */
#ifndef THREADS
#define THREADS 1
#endif
#ifndef FROM_FIRST
#define FROM_FIRST 2
#endif
#define MSGS 3 /* the first FROM_FIRST, in this order, from source 0, the others from source 1 */
#ifndef RECVS
#define RECVS 3
#endif
#ifndef PROBES
#define PROBES 2
#endif
#define ANY 2
#if FROM_FIRST == MSGS
#define FIRST_PATTERN ANY /* with one source, its rank and any source are the same */
#else
#define FIRST_PATTERN 0
#endif
#define NONE 255
#define SRC(m) ((m) / FROM_FIRST)

/* Where a message is. */
#define UNSENT 0
#define QUEUED 1  /* in the host's queue of unexpected messages */
#define TAKEN 2   /* off the host's queue, not yet in the list */
#define CLAIMED 3 /* in Sluice's list */
#define MATCHED 4

byte st[MSGS];
bit tag[MSGS], desc[MSGS];
byte queue[MSGS], n_queue;  /* order of arrival */
byte list[MSGS], n_list;    /* order of claiming */
byte r_src[RECVS], r_tag[RECVS], r_msg[RECVS]; /* receives in the order of posting */
byte n_posted, n_probes, running;

#define FITS(s, t, m) (((s) == ANY || (s) == SRC(m)) && ((t) == ANY || (t) == tag[m]))

/* What MPI demands when a receive or a probe with pattern (s, t) meets message m. */
inline check_oldest(s, t, m) {
  k = 0;
  do
  :: k < m -> assert(!(SRC(k) == SRC(m) && st[k] != UNSENT && st[k] != MATCHED && FITS(s, t, k))); k++
  :: else -> break
  od
}
inline match(r, m) {
  assert(st[m] != MATCHED && r_msg[r] == NONE);
  check_oldest(r_src[r], r_tag[r], m);
  k = 0; /* and no older receive waits for it */
  do
  :: k < r -> assert(!(r_msg[k] == NONE && FITS(r_src[k], r_tag[k], m))); k++
  :: else -> break
  od;
  r_msg[r] = m; st[m] = MATCHED
}
/* The first message that fits, in the host's queue or in the list; NONE when there is none. */
inline find_in_queue(s, t, m) {
  i = 0; m = NONE;
  do
  :: i < n_queue && m == NONE ->
     if :: st[queue[i]] == QUEUED && FITS(s, t, queue[i]) -> m = queue[i] :: else fi; i++
  :: else -> break
  od;
  i = 0
}
inline find_in_list(s, t, m) {
  i = 0; m = NONE;
#ifdef BUG_CLAIM_OUT_OF_ORDER
  i = n_list;
  do
  :: i > 0 && m == NONE -> i--; if :: st[list[i]] == CLAIMED && FITS(s, t, list[i]) -> m = list[i] :: else fi
  :: else -> break
  od;
#else
  do
  :: i < n_list && m == NONE ->
     if :: st[list[i]] == CLAIMED && FITS(s, t, list[i]) -> m = list[i] :: else fi; i++
  :: else -> break
  od;
#endif
  i = 0
}

/* A message arrives at the host MPI: the oldest posted receive that fits gets it. */
inline arrive(m) {
  i = 0;
  do
  :: i < n_posted && !(r_msg[i] == NONE && FITS(r_src[i], r_tag[i], m)) -> i++
  :: else -> break
  od;
  if
  :: i < n_posted -> match(i, m)
  :: else -> st[m] = QUEUED; queue[n_queue] = m; n_queue++
  fi;
  i = 0; k = 0
}

proctype Source(byte first, last) {
  byte m = first, i, k;
  do
  :: m <= last ->
     atomic {
       if /* tag and kind; source 1 sends plain messages only, to keep the search small */
       :: i = 0 :: i = 1 :: first == 0 -> i = 2 :: first == 0 -> i = 3
       fi;
       d_step { tag[m] = i & 1; desc[m] = i >> 1; st[m] = QUEUED; arrive(m) };
       m++
     }
  :: else -> break
  od;
  m = 0;
  running--
}

/* A new receive: the list, then the host's queue, else it is left posted. */
inline receive(s, t, skips_list) {
  r_src[n_posted] = s; r_tag[n_posted] = t; r_msg[n_posted] = NONE; n_posted++;
  m = NONE;
#ifdef BUG_HOST_FIRST
  find_in_queue(s, t, m);
#endif
  if :: m == NONE && !skips_list -> find_in_list(s, t, m) :: else fi;
  if :: m == NONE -> find_in_queue(s, t, m) :: else fi;
  if :: m != NONE -> match(n_posted - 1, m) :: else fi;
  k = 0
}
/* A probe: m is the message it found, `takes` whether it must be taken off the host's queue. */
inline probe(s, t) {
  find_in_list(s, t, m);
  if
  :: m != NONE
  :: else -> find_in_queue(s, t, m); takes = (m != NONE -> desc[m] : 0)
  fi;
  if :: m != NONE -> check_oldest(s, t, m) :: else fi;
  k = 0
}
/* Claiming, first and second half: all of that source up to and with m, in order. */
inline take() {
  i = 0;
  do
  :: i < n_queue ->
     if
#ifdef BUG_CLAIM_BY_PATTERN
     :: queue[i] == m -> st[m] = TAKEN
#else
     :: st[queue[i]] == QUEUED && SRC(queue[i]) == SRC(m) && queue[i] <= m -> st[queue[i]] = TAKEN
#endif
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0
}
inline enter() {
  i = 0;
  do
  :: i < n_queue ->
     if
     :: st[queue[i]] == TAKEN && SRC(queue[i]) == SRC(m) && queue[i] <= m ->
        st[queue[i]] = CLAIMED; list[n_list] = queue[i]; n_list++
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0; takes = 0
}

proctype Thread() {
  byte i, k, m, s, t, wanted;
  bit takes, skips;
  do
  :: atomic {
       n_posted < RECVS -> select(s : FIRST_PATTERN .. ANY); select(t : 0 .. ANY);
#ifdef BUG_START_SKIPS_CLAIMED
       if :: skips = 1 :: skips = 0 fi;
#endif
       d_step { receive(s, t, skips); m = 0; s = 0; t = 0; skips = 0 }
     }
  :: atomic {
       n_probes < PROBES -> n_probes++; select(s : FIRST_PATTERN .. ANY); select(t : 0 .. ANY);
       d_step { probe(s, t); if :: takes -> take() :: else fi };
#ifdef BUG_NO_CLAIM_LOCK
     };
     atomic { /* another thread could run in between */
#endif
       d_step { if :: takes -> enter() :: else fi };
#if THREADS == 1
       if /* the receive that the probe announced gets that message, at once */
       :: m != NONE && n_posted < RECVS ->
          d_step { wanted = m; s = SRC(m); t = tag[m]; receive(s, t, 0); assert(m == wanted); wanted = 0 }
       :: skip
       fi;
#endif
       m = 0; s = 0; t = 0
     }
  :: break /* a program may stop whenever it likes */
  od;
  running--
}

init {
  byte i, m;
  atomic {
    running = 2 + THREADS;
    run Source(0, FROM_FIRST - 1); run Source(FROM_FIRST, MSGS - 1); run Thread();
#if THREADS == 2
    run Thread();
#endif
  };
  running == 0;
  d_step { /* nothing lies about that a posted receive waits for */
    for (i : 0 .. RECVS - 1) {
      for (m : 0 .. MSGS - 1) {
        assert(!(i < n_posted && r_msg[i] == NONE && st[m] != MATCHED && FITS(r_src[i], r_tag[i], m)))
      }
    }
  }
}
