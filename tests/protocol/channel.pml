/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Channel: messages of two streams, one on each side, through a few slots in the receiver's device memory (docs/adr/0033). A
 * stream runs its commands one after the other and knows nothing but words: it waits for one, copies, writes one. The sender's
 * host chooses for each message, when it enqueues it, whether its stream carries it (there is room, as far as it can see by
 * then) or its progress thread, which sends it to the receiver's; that receives it into the buffer and fills the message's word
 * with a length of 0. The receiver's stream waits for a message if the program says so in time; else its progress thread takes it.
 *
 *   sender's stream, message k:    copy into slot k; filled[k] = k                        (by stream)
 *                                  triggered = k                                          (by thread)
 *                                  those of one batch side by side, BATCH of them: one launch has a block for each
 *   receiver's stream, message k:  wait filled[k] >= k; copy as much as it says; taken = k
 *   receiver's thread, message k:  received: filled[k] = k with length 0; a message that it takes itself: taken = k; seen = k
 *
 * Checks that each message comes whole, once and in order, that no slot and no word is overwritten before it has served, and that
 * all end, whatever the sender chooses, whatever the program has its stream wait for, and with any number of slots and words.
 *
 * -DSLOTS=n, -DWORDS=n (at least SLOTS), -DBATCH=n, -DMUTUAL (the receiver's stream comes to its first wait when the sender's is past all of
 * its sends: two that send to each other before either waits). Mutations: BUG_NO_CREDIT (slots), BUG_NO_WORD_CREDIT,
 * BUG_THREAD_NO_WORD_CREDIT, BUG_ONE_WORD (one word counts what is filled, for all slots), BUG_FILLED_BEFORE_COPY,
 * BUG_TAKEN_BEFORE_COPY, BUG_BOTH_TAKE (the stream takes behind a message that the thread takes, which is not done),
 * BUG_STREAM_CREDIT (the stream waits for the slot, instead of the host looking for it; with MUTUAL), BUG_TRIGGER_LOST (the
 * thread looks at a trigger once).
 */
#ifndef SLOTS
#define SLOTS 2
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
#define HALF 100 /* a slot that is being written */
#define NOBODY 0
#define STREAM 1
#define THREAD 2

byte slot[SLOTS];
byte taken; /* the receiver's stream and thread write, the sender's host looks */
byte seen;  /* the receiver's thread writes */
byte triggered;
byte n_passed; /* messages that the sender's stream is past */
bool by_thread[MESSAGES + 1];
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
bool has_data[WORDS]; /* of the word: the length is not 0 */

byte taker[MESSAGES + 1];
bool received[MESSAGES + 1];
byte got[MESSAGES + 1]; /* the program's buffers */
byte settled; /* up to here messages are the stream's, or complete */
bool is_for_stream[MESSAGES + 1];
byte n_waits; /* messages that the receiver's program has enqueued a wait for, or has left */

#define HAS_SLOT(k) (taken + SLOTS >= (k))
#define HAS_WORD(k) (seen + WORDS >= (k))
#ifdef MUTUAL
#define MAY_RECEIVE (n_passed == MESSAGES)
#else
#define MAY_RECEIVE true
#endif

inline put(k) {
  /* Nobody reads here, and what was here has been read. */
  assert(slot[(k) % SLOTS] == 0);
  slot[(k) % SLOTS] = HALF;
  slot[(k) % SLOTS] = k
}

inline fill(k, has) {
  atomic {
    /* Who waits for what was in it has gone on. */
    assert(filled[WORD(k)] <= seen);
    filled[WORD(k)] = k;
    has_data[WORD(k)] = has
  }
}

/* Out of the slot, whoever does it. */
inline take(k) {
  assert(slot[(k) % SLOTS] == k);
  assert(got[k] == 0);
  got[k] = slot[(k) % SLOTS];
  slot[(k) % SLOTS] = 0
}

proctype SenderHost() {
  byte k;
  for (k : 1 .. MESSAGES) {
    if
#ifdef BUG_NO_CREDIT
    :: HAS_WORD(k) -> by_thread[k] = false
#elif defined(BUG_NO_WORD_CREDIT)
    :: HAS_SLOT(k) -> by_thread[k] = false
#elif defined(BUG_STREAM_CREDIT)
    :: HAS_WORD(k) -> by_thread[k] = false
#else
    :: HAS_SLOT(k) && HAS_WORD(k) -> by_thread[k] = false
#endif
    :: by_thread[k] = true
    fi;
    n_enqueued = k
  }
}

byte n_under_way; /* messages of the batch that the sender's stream is at */

proctype SenderBlock(byte k) {
  if
  :: by_thread[k] ->
     atomic {
       if
       :: triggered < k -> triggered = k
       :: else
       fi
     }
  :: else ->
#ifdef BUG_STREAM_CREDIT
     HAS_SLOT(k);
#endif
#ifdef BUG_FILLED_BEFORE_COPY
     fill(k, true);
     put(k)
#else
     put(k);
     fill(k, true)
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
       has = has_data[WORD(k)];
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
  :: atomic { marks ? [came] -> marks ? came; fill(came, false) }
#else
  :: atomic { next_mark == 0 && nempty(marks) -> marks ? next_mark }
  :: atomic { next_mark != 0 && HAS_WORD(next_mark) -> fill(next_mark, false); next_mark = 0 }
#endif
  :: atomic { NEXT <= MESSAGES && taker[NEXT] == NOBODY && filled[WORD(NEXT)] == NEXT -> taker[NEXT] = THREAD }
  :: atomic { NEXT < MESSAGES && taker[NEXT + 1] == NOBODY && filled[WORD(NEXT + 1)] == NEXT + 1 -> taker[NEXT + 1] = THREAD }
  :: atomic { NEXT <= MESSAGES && taker[NEXT] == STREAM && taken >= NEXT ->
       assert(got[NEXT] == NEXT);
       seen++
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
       seen++
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
