/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Captured: messages of a graph (docs/adr/0057). Each launch sends one message, or receives one, or both; what changes from launch to
 * launch lies in memory of each side: how many are over. There are two slots, of which message k has slot k mod 2.
 *
 *   the graph of a side:   out = k; the parts of the send; behind them the parts of the receive; then the program goes on: it
 *                          looks at what came, and changes what it sent
 *   a part of the send:    the first waits until message k - 2 is out of its slot, and tells the others; all copy; the last one that is
 *                          done counts the launch and sets filled = k
 *   of the receive:        the first waits for filled = k, and tells the others; all copy; the last one counts and sets taken = k
 *
 * What the two sides know of each other is written while they may be launched already. Checks that each message comes whole and in
 * order, that no slot is overwritten before it has served, and that all ends.
 *
 * -DLAUNCHES=n, -DPARTS=n (1 or 2), -DONE_WAY (one side only sends, the other only receives). Mutations: BUG_NO_CREDIT, BUG_ONE_SLOT,
 * BUG_FILLED_BEFORE_COPY, BUG_TAKEN_BEFORE_COPY, BUG_NO_JOIN (the program does not wait for its send), BUG_RECEIVE_FIRST (the send
 * stands behind the receive), BUG_COUNTED_BY_FIRST (the part that is done first counts the launch), BUG_DONE_LEFT (the count of parts
 * is not set back), BUG_NOT_TOLD (the other parts do not wait for the first), BUG_READY_FIRST (is_ready before the rest).
 */
#ifndef LAUNCHES
#define LAUNCHES 4
#endif
#ifndef PARTS
#define PARTS 1
#endif
#define HALF 100    /* a slot's part that is being written */
#define CHANGED 101 /* what the program makes of a buffer that is its own again */

#ifdef BUG_ONE_SLOT
#define SLOT(k) 0
#else
#define SLOT(k) ((k) % 2)
#endif

/* Of direction d, from side d to the other. */
byte slots[8]; /* ((d * 2 + slot) * 2 + part) */
byte filled[2];
byte taken[2];
bool is_ready[4]; /* of end e: d * 2, the sender's, and d * 2 + 1, the receiver's */
bool is_known[4];
byte n_launches[4];
byte seen[4];
byte n_done[4];
byte out[4];  /* d * 2 + part: what side d sends */
byte in[4];   /* what comes of direction d */
byte go[4];   /* launches that the end's graph has come to */
byte over[4]; /* parts that have ended, of all launches */

/* One block of an end's kernel, launch after launch. */
proctype Part(byte e; byte part) {
  byte launch = 0;
  byte number;
  byte value;
  bool is_last;
  do
  :: launch < LAUNCHES ->
    go[e] > launch;
    launch++;
    is_ready[e];
    assert(is_known[e]);
    number = n_launches[e] + 1;
    if
#ifdef BUG_NOT_TOLD
    :: part > 0 -> skip
#else
    :: part > 0 -> seen[e] >= number
#endif
    :: else ->
      if
#ifdef BUG_NO_CREDIT
      :: e % 2 == 0 -> skip
#else
      :: e % 2 == 0 -> taken[e / 2] + 2 >= number
#endif
      :: e % 2 == 1 -> filled[e / 2] >= number
      fi;
      seen[e] = number
    fi;
    if
    :: e % 2 == 0 ->
#ifdef BUG_FILLED_BEFORE_COPY
      filled[e / 2] = number;
#endif
      value = out[e / 2 * 2 + part];
      slots[(e / 2 * 2 + SLOT(number)) * 2 + part] = HALF;
      slots[(e / 2 * 2 + SLOT(number)) * 2 + part] = value
    :: e % 2 == 1 ->
#ifdef BUG_TAKEN_BEFORE_COPY
      taken[e / 2] = number;
#endif
      in[e / 2 * 2 + part] = slots[(e / 2 * 2 + SLOT(number)) * 2 + part]
    fi;
    atomic {
      n_done[e]++;
      is_last = n_done[e] == PARTS
    }
#ifdef BUG_COUNTED_BY_FIRST
    if
    :: !is_last || PARTS == 1 -> n_launches[e] = number
    :: else
    fi;
#endif
    if
    :: is_last ->
#ifndef BUG_DONE_LEFT
      n_done[e] = 0;
#endif
#ifndef BUG_COUNTED_BY_FIRST
      n_launches[e] = number;
#endif
      if
      :: e % 2 == 0 -> filled[e / 2] = number
      :: e % 2 == 1 -> taken[e / 2] = number
      fi
    :: else
    fi;
    over[e]++
  :: else -> break
  od
}

/* One side's stream: LAUNCHES launches of its graph. */
proctype Stream(byte side) {
  byte k = 0;
  byte part;
  do
  :: k < LAUNCHES ->
    k++;
#ifdef ONE_WAY
    if
    :: side == 0 ->
#endif
      for (part : 0 .. PARTS - 1) { out[side * 2 + part] = k }
#ifdef BUG_RECEIVE_FIRST
      go[(1 - side) * 2 + 1] = k;
      over[(1 - side) * 2 + 1] == k * PARTS;
#endif
      go[side * 2] = k;
#ifndef BUG_NO_JOIN
      over[side * 2] == k * PARTS;
#endif
#ifdef ONE_WAY
    :: side == 1 ->
#endif
      go[(1 - side) * 2 + 1] = k;
      over[(1 - side) * 2 + 1] == k * PARTS;
      for (part : 0 .. PARTS - 1) {
        assert(in[(1 - side) * 2 + part] == k)
      }
#ifdef ONE_WAY
    fi;
#endif
    for (part : 0 .. PARTS - 1) { out[side * 2 + part] = CHANGED }
  :: else -> break
  od
}

/* What each end knows of the other, at any time. */
proctype Meet(byte e) {
#ifdef BUG_READY_FIRST
  is_ready[e] = true;
  is_known[e] = true
#else
  is_known[e] = true;
  is_ready[e] = true
#endif
}

init {
  byte e;
  byte part;
  atomic {
    for (e : 0 .. 3) {
#ifdef ONE_WAY
      if
      :: e > 1 -> skip
      :: else ->
#endif
        run Meet(e);
        for (part : 0 .. PARTS - 1) { run Part(e, part) }
#ifdef ONE_WAY
      fi
#endif
    }
    run Stream(0);
    run Stream(1)
  }
}
