// Sleep: still water costs nothing (docs/how-it-works.md, "Sleep").
//
// A brick whose water has come to rest falls asleep, and no pass of an update looks at it any more. Sleeping bricks whose water hangs together
// are a body with one level. Where water that moves lies beside a body, the body's nearest bricks are its rim: water may flow into them and
// out of them, but what they gain or lose is booked, and spread over the surface of the whole body when there is enough of it. So a lake rises
// under a trickle, and only the water around the trickle is awake.
//
//     asleep    asleep    rim       awake     awake     rim       asleep
//     ~~~~~~~~~|~~~~~~~~~|~~~~~~~~~|~~~~~~~~~|~~~/\~~~~|~~~~~~~~~|~~~~~~~~~
//      one body: its level, and the drops it is owed     a splash
//
// What is known of each brick is in brick_rest (bricks.h) and part of the state; bodies and phases follow from it. An update goes as
//
//     sleep_plan     in `reserve`: who is awake next, who is rim; nothing of the fluid changes
//     sleep_commit   at the beginning of the update: bricks wake and fall asleep, bodies take what they are owed
//     (the passes)   over rim and awake bricks; the solver books what the rim gained: rest[b].owed
//     sleep_note     at the end: how much each awake brick moved
//
// All of it is whole numbers and coordinates, on the host for every machine, so that all machines agree.
#ifndef WEIR_CELLS_SLEEP_H
#define WEIR_CELLS_SLEEP_H

#include "cells/cells.h"
#include "cells/rest.h"

// Gravity, without which nothing sleeps.
typedef struct sleep_gravity {
    int32_t axis, down;  // down: its sign on the axis; 0: there is none
    float size, inverse_size;
} sleep_gravity;

// Sleeping water that hangs together.
typedef struct sleep_body {
    int64_t owed;       // drops
    int64_t surface;    // cells
    int64_t low, high;  // the least and the largest head of its bricks
    int32_t bricks;
    int32_t begin;  // where they begin in cells_sleep.members
    int32_t first;  // the brick that comes first by coordinate
    bool open;      // so large a surface that what flows into it may be booked
    bool refused;   // of a plan: its bricks may not fall asleep yet
    bool level;     // levelling finds nothing to do, as far as it has looked
} sleep_body;

struct cells_sleep {
    const float *flow;  // see sleep_create
    sleep_gravity gravity;
    int32_t film;  // drops that may stand on a floor beside a dry cell
    int32_t room;  // bricks there is room for
    // By brick. `body`: its number, from 1 on; 0: it is awake or dry.
    int32_t *body, *body_next;
    int32_t *members;  // bricks body by body
    int32_t *list;     // scratch
    int32_t *doubled;  // bricks that were single
    uint8_t *awake;    // 1: is awake in the update that is planned
    uint8_t *mark;     // scratch
    uint8_t *motion;   // how much each awake brick moved in the last update, by the solver: rest.h
    brick_rest *plan;  // of bricks that turn
    uint8_t *turn;     // what happens to each: see sleep.c
    uint8_t *waves;    // what is made of the waves in each awake brick, for the time of sleep_note: see sleep.c
    uint8_t *lull;     // and how long ago something in its island was wild, likewise
    uint8_t *former;   // brick_phase before the plan
    sleep_body *bodies, *bodies_next;
    int32_t body_count, body_next_count;
    int32_t doubled_count;
    uint64_t version;  // of the pool that bodies are of
    bool whole;        // see sleep_set_laws
    bool on;           // in the update that is planned water may sleep, and somebody looks at how it moves
    bool some_single;  // a brick may be: see brick_rest
    bool noted;        // somebody may have looked at how water moves
    bool dirty;        // something turned since the last plan
    bool planned;      // there is a plan that was not committed yet
};

// `flow` is the parameter, as it is now, above which a brick's water counts as moving; while it is 0 nothing sleeps. NULL if memory ran out.
cells_sleep *sleep_create(fluid_cells *c, const float *flow);
void sleep_destroy(fluid_cells *c);
int64_t sleep_bytes(const fluid_cells *c);

// Makes room for what is known of so many bricks.
weir_status sleep_reserve(fluid_cells *c, int32_t bricks);

// What the others below go by: gravity, and the fill at which a film on a floor stops. `whole`: something else than the water beside it carries
// water, such as air that is shut in, so that heads tell nothing: all of it sleeps when all is quiet, or none.
void sleep_set_laws(fluid_cells *c, sleep_gravity gravity, float film, bool whole);

// Plans who is awake in the next update.
weir_status sleep_plan(fluid_cells *c);
// Takes a plan back that is not carried out, because something else failed.
void sleep_cancel(fluid_cells *c);
void sleep_commit(fluid_cells *c);
void sleep_note(fluid_cells *c);

// Wakes the sleeping bricks of a box of bricks and around it at once: they are about to be changed.
void sleep_wake(fluid_cells *c, weir_box bricks);
void sleep_wake_all(fluid_cells *c);

// After the state was replaced.
void sleep_forget(fluid_cells *c);

// NULL, or what is broken.
const char *sleep_validate(const fluid_cells *c);

// What of a brick's rest is part of the state, as bytes. `sleep_unpack` tells whether they make sense.
enum { REST_BYTES = 37 };
bool sleep_counts(const cells_sleep *s, const brick_rest *rest);
void sleep_pack(const brick_rest *rest, uint8_t bytes[REST_BYTES]);
bool sleep_unpack(const uint8_t bytes[REST_BYTES], brick_rest *rest);

// Values of a brick that is not awake have changed: both channels are to have them before the next pass.
static inline void sleep_changed(fluid_cells *c, int32_t brick)
{
    c->pool.rest[brick].single = 1;
    c->sleep->some_single = true;
}

// ---- bodies.c ----

// The height of a brick's cell, in cells.
static inline int64_t sleep_height(const sleep_gravity *g, weir_coord brick, int32_t cell)
{
    const weir_coord at = brick_cell(brick, cell);
    return -(int64_t)g->down * (g->axis == 0 ? at.x : g->axis == 1 ? at.y : at.z);
}

// Looks at the water of a brick that is to fall asleep: its head and surface, and then its links to bricks that will not be awake.
void bodies_look(const fluid_cells *c, int32_t brick, brick_rest *rest);
uint8_t bodies_links(const fluid_cells *c, int32_t brick, const brick_rest *rest, const uint8_t *awake);
// Whether the water of a brick hangs together with a neighbour at a face: 0 to 2 before it on an axis, 3 to 5 behind it.
bool bodies_touch(const fluid_cells *c, int32_t brick, int32_t face);
int32_t bodies_neighbour(const brick_pool *pool, int32_t brick, int32_t face);

// Union and find over bricks: the one that stands for all that were joined.
int32_t bodies_root(int32_t *parent, int32_t brick);
// Finds the bodies of the bricks that sleep, by their plan if they have one. Returns how many there are.
int32_t bodies_find(const fluid_cells *c, int32_t *body, sleep_body *bodies, bool planned);
// Lists the bricks of the bodies that there are now.
void bodies_list_members(fluid_cells *c);

// Gives all bodies what they are owed, if it is enough, and lets them level now and then. What is left lies with a brick that is wet.
void bodies_update(fluid_cells *c);
// At the end of an update: drops that were booked to a rim which has dried up are owed to the water that is left.
void bodies_keep_owed_with_water(fluid_cells *c);
// Takes from a body what it is owed, and returns it.
int64_t bodies_forgive(fluid_cells *c, int32_t body);
// Gives a body all it is owed, to the last drop.
void bodies_settle(fluid_cells *c, int32_t body);
// Makes the pressure of a brick show its head, if it has one. Tells whether it changed.
bool bodies_show_head(fluid_cells *c, int32_t brick);

#endif
