/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model of MPI_Win_post, start, complete and wait on windows of Sluice's (src/ops/rma, docs/adr/0078): two ranks
 * each let the other access their memory, some epochs long, and put into it. A rank counts the posts and the completes
 * that each other rank has told it; a start takes a post, and a wait a complete. Every put goes by a message that is
 * answered, or is made by the rank itself. Checked: a put is done within an exposure, all puts of an epoch are there
 * when the wait of the target returns, and nobody waits for ever.
 *
 * EPOCHS   how many
 * PUTS     in each
 * DIRECT   puts are made by the rank that asks, at the end of its epoch
 * BUG_*    a mistake put in
 */
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef PUTS
#define PUTS 1
#endif

mtype = { POST, PUT, ANSWER, COMPLETE };

/* To rank i, in order, as MPI orders messages between two ranks on one communicator. */
chan to[2] = [4] of { mtype };

byte n_posts[2];      /* told rank i, and not taken */
byte n_completes[2];
bool is_exposed[2];   /* between the post of rank i and the end of its wait */
byte n_there[2];      /* puts of this epoch in the memory of rank i */
byte n_unanswered[2]; /* of what rank i has asked */

/* One message that has come to rank i. */
inline serve(i) {
  if
  :: to[i] ? POST -> n_posts[i]++
  :: to[i] ? PUT ->
     assert(is_exposed[i]);
     n_there[i]++;
     to[1 - i] ! ANSWER
  :: to[i] ? ANSWER -> n_unanswered[i]--
  :: to[i] ? COMPLETE -> n_completes[i]++
  fi
}

/* The copies of an epoch, which the rank that asks makes together. */
inline flush(i) {
  atomic {
    assert(is_exposed[1 - i]);
    n_there[1 - i] = n_there[1 - i] + PUTS
  }
}

/* Turns, until the condition holds. */
#define AWAIT(condition, i) do :: atomic { (condition) -> break } :: atomic { !(condition) && nempty(to[i]) -> serve(i) } od

active [2] proctype rank() {
  byte me = _pid;
  byte epoch = 0;
  byte n = 0;
  do
  :: epoch == EPOCHS -> break
  :: atomic { epoch != EPOCHS && nempty(to[me]) -> serve(me) } /* in other calls of MPI */
  :: epoch != EPOCHS ->
     /* post */
     atomic {
       n_there[me] = 0;
       is_exposed[me] = true;
       to[1 - me] ! POST
     }
     /* start */
#ifdef BUG_START_DOES_NOT_WAIT
     skip;
#else
     AWAIT(n_posts[me] > 0, me);
     n_posts[me]--;
#endif
#ifdef DIRECT
#ifndef BUG_TOLD_FIRST
     flush(me);
#endif
#else
     n = 0;
     do
     :: n == PUTS -> break
     :: else ->
        atomic { n_unanswered[me]++; to[1 - me] ! PUT };
        n++
     od;
     AWAIT(n_unanswered[me] == 0, me);
#endif
     /* complete: told when all is there */
     to[1 - me] ! COMPLETE;
#ifdef BUG_TOLD_FIRST
     flush(me);
#endif
     /* wait */
#ifdef BUG_WAIT_LOOKS_AT_POSTS
     AWAIT(n_posts[me] > 0 || n_completes[me] > 0, me);
#else
     AWAIT(n_completes[me] > 0, me);
     n_completes[me]--;
#endif
     atomic {
       assert(n_there[me] == PUTS);
       is_exposed[me] = false
     }
     epoch++
  od;
  /* the others may still need answers: as until all are at MPI_Win_free */
  AWAIT(n_unanswered[me] == 0, me);
end:
  do
  :: atomic { nempty(to[me]) -> serve(me) }
  od
}
