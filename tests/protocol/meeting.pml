/* SPDX-License-Identifier: BSD-3-Clause
 * Meetings before the host MPI's blocking collectives (docs/adr/0068). RANKS ranks make CALLS calls, each of one of three
 * sorts, the same for all ranks: the host MPI's with all waiting for all; the host MPI's with the others waiting for rank 0
 * alone, which runs ahead; and one in which all have to hear what all say. Between its calls a rank may send a message, and
 * waits until it is served; its receiver has the receive posted, which is what it has under way, and serves it in turns, or
 * when it waits behind its last call. Inside the host MPI nobody serves.
 *
 * Checks that all ends (no rank waits for ever), and that whoever waits for what another says hears what it said.
 *
 * Mutations: BUG_BUSY_GOES_ON (a rank with a receive under way does not wait), BUG_OVERWRITES (a rank writes over what others
 * wait for), BUG_AHEAD_IS_NOT_THERE (a rank that is ahead is not seen to have come).
 */
#ifndef RANKS
#define RANKS 3
#endif
#define CALLS 3
#define PLACES 2
#define ALL 0  /* the sorts of calls */
#define ROOT 1
#define HEARD 2
#define GONE 0 /* what a rank says; anything else is awaited */

byte sort[CALLS + 1];
byte number[RANKS * PLACES]; /* of the call, in each place of each rank */
byte word[RANKS * PLACES];   /* what it says */
byte entered[RANKS];         /* the last call whose host function, or whose end, a rank has come to */
byte owes[RANKS];            /* 1 + the rank that waits for its message to be served here; 0: none */
bool served[RANKS];

#define place(r, k) ((r) * PLACES + (k) % PLACES)
/* Rank r has come to call k. */
#ifdef BUG_AHEAD_IS_NOT_THERE
#define has_come(r, k) (number[place(r, k)] == (k))
#else
#define has_come(r, k) (number[place(r, k)] >= (k))
#endif
#define is_busy(r) (owes[r] != 0)

/* One turn. */
inline serve() {
  atomic { if :: is_busy(me) -> served[owes[me] - 1] = true; owes[me] = 0 :: else fi }
}

/* Until all ranks have come to call k, in turns. */
inline await_all(k) {
  r = 0;
  do
  :: r == RANKS -> break
  :: r < RANKS && has_come(r, k) -> r++
  :: r < RANKS && !has_come(r, k) && is_busy(me) -> serve()
  od
}

proctype Rank(byte me) {
  byte k, r, heard, said;
  bool awaited[PLACES];
  byte known = 0; /* all have come to that call, as this rank knows */
  for (k : 1 .. CALLS) {
    /* A message to somebody, perhaps, who has posted its receive. */
    if
    :: skip
    :: atomic {
         me + 1 < RANKS && !served[me] && owes[me + 1] == 0 && entered[me + 1] + 1 <= k && !has_come(me + 1, k) ->
         owes[me + 1] = me + 1
       }
       do
       :: served[me] -> break
       :: !served[me] && is_busy(me) -> serve()
       od
    fi;
    /* Its word: in a place whose last word nobody waits for any more. */
#ifndef BUG_OVERWRITES
    if
    :: k > PLACES && awaited[k % PLACES] && known + PLACES <= k -> await_all(k - PLACES + 1)
    :: else
    fi;
#endif
    said = (sort[k] == HEARD -> 1 + me : GONE);
    d_step { word[place(me, k)] = said; number[place(me, k)] = k; awaited[k % PLACES] = said != GONE };
    if
#ifdef BUG_BUSY_GOES_ON
    :: said == GONE
#else
    :: said == GONE && !is_busy(me)
#endif
    :: else -> await_all(k); known = k
    fi;
    if
    :: sort[k] == HEARD ->
       for (r : 0 .. RANKS - 1) {
         atomic { heard = (number[place(r, k)] == k -> word[place(r, k)] : GONE); assert(heard == 1 + r); heard = 0 }
       };
       entered[me] = k
    :: sort[k] == ROOT -> entered[me] = k; entered[0] >= k
    :: sort[k] == ALL -> entered[me] = k;
       r = 0;
       do
       :: r == RANKS -> break
       :: r < RANKS -> entered[r] >= k; r++
       od
    fi;
    r = 0
  };
  do
  :: is_busy(me) -> serve()
  :: else -> break
  od;
  /* Its last receive may be posted for a message that comes now: MPI_Finalize waits for it in turns. */
  entered[me] = CALLS + 1;
end:
  do
  :: is_busy(me) -> serve()
  od
}

init {
  byte k;
  for (k : 1 .. CALLS) {
    if
    :: sort[k] = ALL
    :: sort[k] = ROOT
    :: sort[k] = HEARD
    fi
  };
  atomic { k = 0; do :: k < RANKS -> run Rank(k); k++ :: else -> break od }
}
