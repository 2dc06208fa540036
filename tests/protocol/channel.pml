/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Channel: messages of two streams, one on each side, through units of the receiver's device memory (docs/adr/0033). A stream runs its
 * commands one after the other and knows nothing but words: it waits for one, copies, writes one. The sender's host chooses for each message,
 * when it enqueues it, whether its stream carries it (there is a free run of as many units as it has, 1 to LONGEST, as far as the host
 * can see by then) or its progress thread, which sends it to the receiver's; that receives it into the buffer and fills the message's
 * word with a length of 0. The receiver's stream waits for a message if the program says so in time; else its progress thread takes it.
 * The sender gives runs one behind the other, none of which goes on at the beginning. Which are free it knows from `taken` alone, and
 * the receiver knows of a run what the message's word says.
 *
 *   sender's stream, message k:    copy into its run; filled[k] = k, the run              (by stream)
 *                                  triggered = k                                          (by thread)
 *                                  those of one batch side by side, BATCH of them: one launch has blocks for each
 *                                  (in the program's stream, or aside of it: then that is the sender's stream here, and the program's, whose
 *                                  other commands nobody waits for, waits for it where the program has it wait)
 *   receiver's stream, message k:  wait filled[k] >= k; copy the run that it names; taken = k
 *   receiver's thread, message k:  received: filled[k] = k with length 0; a message that it takes itself: taken = k; seen = k
 *
 * Checks that each message comes whole, once and in order, that no unit and no word is overwritten before it has served, that no run passes
 * the end, and that all end, whatever the sender chooses, whatever the program has its stream wait for, and with any number of units and
 * words.
 *
 * -DUNITS=n, -DLONGEST=n (1 to 3), -DWORDS=n, -DBATCH=n, -DMUTUAL (the receiver's stream comes to its first wait when the sender's is
 * past all of its sends: two that send to each other before either waits). Mutations: BUG_NO_CREDIT (units), BUG_NO_WORD_CREDIT,
 * BUG_THREAD_NO_WORD_CREDIT, BUG_ONE_WORD (one word counts what is filled, for all messages), BUG_FILLED_BEFORE_COPY,
 * BUG_TAKEN_BEFORE_COPY, BUG_BOTH_TAKE (the stream takes behind a message that the thread takes, which is not done),
 * BUG_STREAM_CREDIT (the stream waits for units, instead of the host looking for them; with MUTUAL), BUG_TRIGGER_LOST (the
 * thread looks at a trigger once), BUG_FREED_WHEN_FILLED (a run is free when its word is there, which is when the sender's buffer is),
 * BUG_RUN_WRAPS (a run goes on at the beginning), BUG_FULL_IS_EMPTY (where the newest run ends at the oldest, all is free),
 * BUG_RUN_BY_COUNT (the receiver has a run begin where the one before that it took ended), BUG_NO_JOIN (the program's stream
 * does not wait for what went aside, and changes what is being sent), BUG_TRIGGER_BACK (a trigger in the stream is seen before an earlier
 * one that went aside, which then takes its place).
 */
#ifndef UNITS
#define UNITS 3
#endif
#ifndef LONGEST
#define LONGEST 2
#endif
#ifndef WORDS
#define WORDS 2
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef MESSAGES
#define MESSAGES 4
#endif
#define HALF 100 /* a unit that is being written */
#define NOBODY 0
#define STREAM 1
#define THREAD 2

byte unit[UNITS];
byte taken; /* the receiver's stream and thread write, the sender's host looks */
byte seen;  /* the receiver's thread writes */
byte triggered;
byte n_passed; /* messages that the sender's stream is past: the program may change what was sent */
bool by_thread[MESSAGES + 1];
byte first[MESSAGES + 1];  /* of message k's run; the sender's */
byte length[MESSAGES + 1]; /* 0: it has had none */
byte n_enqueued;
chan host = [MESSAGES] of { byte };
chan marks = [MESSAGES] of { byte }; /* the receiver's thread's own: received, and the word not filled yet */
#define NEXT (seen + 1)

#ifdef BUG_ONE_WORD
#define WORD(k) 0
#else
#define WORD(k) ((k) % WORDS)
#endif
byte filled[WORDS];
byte run_first[WORDS];
byte run_length[WORDS]; /* 0: no data */

byte taker[MESSAGES + 1];
bool received[MESSAGES + 1];
byte got[MESSAGES + 1]; /* the program's buffers */
byte settled; /* up to here messages are the stream's, or complete */
bool is_for_stream[MESSAGES + 1];
byte n_waits; /* messages that the receiver's program has enqueued a wait for, or has left */
#ifdef BUG_RUN_BY_COUNT
byte next_run;
#endif
#ifdef BUG_STREAM_CREDIT
bool has_to_wait[MESSAGES + 1];
#endif

#define HAS_WORD(k) (seen + WORDS >= (k))
#ifdef MUTUAL
#define MAY_RECEIVE (n_passed == MESSAGES)
#else
#define MAY_RECEIVE true
#endif
#ifdef BUG_FREED_WHEN_FILLED
#define IS_FREE(k) (filled[WORD(k)] >= (k))
#else
#define IS_FREE(k) (taken >= (k))
#endif
#define NONE UNITS

/* Used within a step, and 0 between steps. */
hidden byte at, oldest, newest;

inline set_run(message, before, value) {
  d_step {
    at = first[message];
    do
    :: at < first[message] + length[message] ->
       assert(unit[at % UNITS] == before);
       unit[at % UNITS] = value;
       at++
    :: else -> break
    od;
    at = 0
  }
}

/* Nobody reads here, and what was here has been read; and the program has not changed what is sent. */
inline put(k) {
  assert(n_passed < k);
  set_run(k, 0, HALF);
  set_run(k, HALF, k)
}

inline fill(k, from, n) {
  atomic {
    /* Who waits for what was in it has gone on. */
    assert(filled[WORD(k)] <= seen);
    filled[WORD(k)] = k;
    run_first[WORD(k)] = from;
    run_length[WORD(k)] = n
  }
}

/* Out of the run that its word names, whoever does it. */
inline take(k) {
  d_step {
    at = run_first[WORD(k)];
#ifdef BUG_RUN_BY_COUNT
    at = next_run;
    next_run = (at + run_length[WORD(k)]) % UNITS;
#endif
    newest = at + run_length[WORD(k)];
    assert(newest <= UNITS);
    assert(got[k] == 0);
    do
    :: at < newest ->
       assert(unit[at] == k);
       unit[at] = 0;
       at++
    :: else -> break
    od;
    got[k] = k;
    at = 0;
    newest = 0
  }
}

/* Where a run of n units for message k would begin; NONE when there is no room for it. */
inline find(k, n, found) {
  d_step {
    at = 1;
    do
    :: at < k ->
       if
       :: length[at] != 0 && !IS_FREE(at) ->
          newest = at;
          oldest = (oldest == 0 -> at : oldest)
       :: else
       fi;
       at++
    :: else -> break
    od;
    found = (newest == 0 -> 0 : first[newest] + length[newest]);
    if
    :: newest == 0
#ifdef BUG_FULL_IS_EMPTY
    :: newest != 0 && found == first[oldest] -> found = 0
    :: newest != 0 && found != first[oldest] && first[newest] < first[oldest] -> /* one piece is free */
#else
    :: newest != 0 && first[newest] < first[oldest] -> /* one piece is free */
#endif
       found = (n <= first[oldest] - found -> found : NONE)
    :: newest != 0 && first[newest] >= first[oldest] -> /* that behind, and that before */
#ifdef BUG_RUN_WRAPS
       found = (found < UNITS && found + n <= UNITS + first[oldest] -> found : (n <= first[oldest] -> 0 : NONE))
#else
       found = (found + n <= UNITS -> found : (n <= first[oldest] -> 0 : NONE))
#endif
    fi;
    at = 0;
    oldest = 0;
    newest = 0
  }
}

proctype SenderHost() {
  byte k, n, found;
  for (k : 1 .. MESSAGES) {
    atomic {
      if
      :: n = 1
#if LONGEST > 1
      :: n = 2
#endif
#if LONGEST > 2
      :: n = 3
#endif
      fi;
      find(k, n, found);
#ifdef BUG_STREAM_CREDIT
      has_to_wait[k] = (found == NONE);
#endif
#if defined(BUG_NO_CREDIT) || defined(BUG_STREAM_CREDIT)
      found = (found == NONE -> 0 : found);
#endif
      if
#ifdef BUG_NO_WORD_CREDIT
      :: found != NONE ->
#else
      :: found != NONE && HAS_WORD(k) ->
#endif
         by_thread[k] = false;
         first[k] = found;
         length[k] = n
      :: by_thread[k] = true
      fi;
      n = 0;
      found = 0
    }
    n_enqueued = k
  }
}

byte n_under_way; /* messages of the batch that the sender's stream is at */

proctype SenderBlock(byte k) {
  if
  :: by_thread[k] ->
     atomic {
#ifdef BUG_TRIGGER_BACK
       triggered = k
#else
       if
       :: triggered < k -> triggered = k
       :: else
       fi
#endif
     }
  :: else ->
#ifdef BUG_STREAM_CREDIT
     !has_to_wait[k] || taken + 1 >= k;
#endif
#ifdef BUG_FILLED_BEFORE_COPY
     fill(k, first[k], length[k]);
     put(k)
#else
     put(k);
     fill(k, first[k], length[k])
#endif
  fi;
  n_under_way--
}

proctype SenderStream() {
  byte k = 1;
  do
  :: k > MESSAGES -> break
  :: else ->
     n_enqueued >= k + BATCH - 1 || n_enqueued == MESSAGES;
     atomic {
       do
       :: n_under_way < BATCH && k <= MESSAGES -> n_under_way++; run SenderBlock(k); k++
       :: else -> break
       od
     }
#ifdef BUG_NO_JOIN
     n_passed = k - 1;
#endif
     n_under_way == 0;
     n_passed = k - 1
  od
}

proctype SenderThread() {
  byte k;
  for (k : 1 .. MESSAGES) {
    n_enqueued >= k;
    if
    :: by_thread[k] ->
#ifdef BUG_TRIGGER_LOST
       triggered == k; /* it may be further by now */
#else
       triggered >= k;
#endif
       host ! k
    :: else
    fi
  }
}

/* The program has its stream wait for some messages, and leaves others to be asked for. */
proctype ReceiverHost() {
  byte k;
  for (k : 1 .. MESSAGES) {
    atomic {
      if
      :: taker[k] == NOBODY && settled + 1 == k -> taker[k] = STREAM; settled = k; is_for_stream[k] = true
#ifdef BUG_BOTH_TAKE
      :: taker[k] == NOBODY -> taker[k] = STREAM; is_for_stream[k] = true
#endif
      :: true
      fi;
      n_waits = k
    }
  }
}

proctype ReceiverStream() {
  byte k;
  bool has;
  MAY_RECEIVE;
  for (k : 1 .. MESSAGES) {
    n_waits >= k;
    if
    :: is_for_stream[k] ->
       filled[WORD(k)] >= k;
       has = run_length[WORD(k)] != 0;
#ifdef BUG_TAKEN_BEFORE_COPY
       taken = k;
#endif
       if
       :: has -> take(k)
       :: else
       fi;
#ifndef BUG_TAKEN_BEFORE_COPY
       assert(taken < k);
       taken = k
#endif
    :: else
    fi
  }
}

/* Nobody looks at its run any more: one state less for each that it might have had. */
inline complete() {
  first[NEXT] = 0;
  length[NEXT] = 0;
  seen++
}

/* Turns; messages complete in their order. */
proctype ReceiverThread() {
  byte came, next_mark;
  MAY_RECEIVE;
  do
  :: seen == MESSAGES -> break
  :: atomic {
       host ? [came] -> host ? came;
       assert(got[came] == 0);
       got[came] = came;
       received[came] = true;
       marks ! came
     }
#ifdef BUG_THREAD_NO_WORD_CREDIT
  :: atomic { marks ? [came] -> marks ? came; fill(came, 0, 0) }
#else
  :: atomic { next_mark == 0 && nempty(marks) -> marks ? next_mark }
  :: atomic { next_mark != 0 && HAS_WORD(next_mark) -> fill(next_mark, 0, 0); next_mark = 0 }
#endif
  :: atomic { NEXT <= MESSAGES && taker[NEXT] == NOBODY && filled[WORD(NEXT)] == NEXT -> taker[NEXT] = THREAD }
  :: atomic { NEXT < MESSAGES && taker[NEXT + 1] == NOBODY && filled[WORD(NEXT + 1)] == NEXT + 1 -> taker[NEXT + 1] = THREAD }
  :: atomic { NEXT <= MESSAGES && taker[NEXT] == STREAM && taken >= NEXT ->
       assert(got[NEXT] == NEXT);
       complete()
     }
  :: NEXT <= MESSAGES && taker[NEXT] == THREAD && taken + 1 >= NEXT && filled[WORD(NEXT)] >= NEXT ->
     if
     :: !received[NEXT] -> take(NEXT)
     :: else
     fi;
     atomic {
       assert(got[NEXT] == NEXT);
       taken = NEXT;
       if
       :: settled < NEXT -> settled = NEXT
       :: else
       fi;
       complete()
     }
  od
}

init {
  atomic {
    run SenderHost();
    run SenderStream();
    run SenderThread();
    run ReceiverHost();
    run ReceiverStream();
    run ReceiverThread()
  }
  seen == MESSAGES
}
