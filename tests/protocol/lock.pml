/* SPDX-License-Identifier: BSD-3-Clause
 * The lock of a rank's memory in a window (src/ops/rma/locks.hpp, docs/adr/0078). RANKS ranks take it ROUNDS times each,
 * shared or alone, by looking at a word and exchanging it if it is still what they saw. Who waits to have it alone adds
 * itself to the word, and newcomers that would share it wait for that one.
 *
 * Checks that nobody is in beside one that has it alone, that all end, and that the word is free at the end.
 *
 * Mutations: BUG_WAITER_STAYS (who takes it alone does not take its waiting back), BUG_NO_LOOK (who shares does not look
 * whether one has it alone), BUG_STORE (the word is written, and not exchanged), BUG_KEEPS_ALONE (it is not given back).
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define WAITER 8   /* more than there are ranks */
#define ALONE 128

byte word;
byte n_sharing;
byte n_alone;
byte n_ended;

#ifdef BUG_STORE
#define exchange(seen, value) word = value; is_taken = true
#else
#define exchange(seen, value) if :: word == seen -> word = value; is_taken = true :: else fi
#endif
#ifdef BUG_NO_LOOK
#define may_share(w) true
#else
#define may_share(w) ((w) < WAITER)
#endif
#define may_be_alone(w) ((w) < ALONE && (w) % WAITER == 0)

active [RANKS] proctype rank() {
  byte seen;
  byte round;
  bool is_alone;
  bool is_announced;
  bool is_taken;
  do
  :: round == ROUNDS -> break
  :: else ->
     if
     :: is_alone = true
     :: is_alone = false
     fi;
     is_taken = false;
     is_announced = false;
     do
     :: is_taken -> break
     :: !is_taken && !is_alone ->
        may_share(word);  /* asks again until then */
        seen = word;
        if
        :: may_share(seen) -> atomic { exchange(seen, seen + 1) }
        :: else
        fi
     :: !is_taken && is_alone ->
        may_be_alone(word) || !is_announced;
        seen = word;
        if
        :: may_be_alone(seen) ->
#ifdef BUG_WAITER_STAYS
           atomic { exchange(seen, seen + ALONE) }
#else
           atomic { exchange(seen, seen - (is_announced -> WAITER : 0) + ALONE) }
#endif
        :: else
        fi;
        if
        :: !is_taken && !is_announced -> atomic { word = word + WAITER; is_announced = true }
        :: else
        fi
     od;
     if
     :: is_alone ->
        n_alone++;
        assert(n_alone == 1 && n_sharing == 0);
        n_alone--;
#ifndef BUG_KEEPS_ALONE
        atomic { word = word - ALONE }
#endif
     :: else ->
        n_sharing++;
        assert(n_alone == 0);
        n_sharing--;
        atomic { word = word - 1 }
     fi;
     round++
  od;
  atomic {
    n_ended++;
    if
    :: n_ended == RANKS -> assert(word == 0)
    :: else
    fi
  }
}
