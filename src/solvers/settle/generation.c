// An update of the settling automaton, and how it is spread over several.
//
// A generation applies all laws once to the bricks that were awake when it began. It goes through stages, each of which walks over those
// bricks in the order of coordinates and can stop at any of them: what an update may do is counted, and when that is spent the next update
// goes on from there. Without a budget every update is a generation, but for lacks_room.
//
//     begin   which bricks it works on                 join    free water joins bodies         wake   what lies near changes
//     meet    contacts, between levels of bodies       seed    bodies begin                    rest   bricks with nothing to do
//     work    the laws, all from the same old state    sort    liquids that meet find their order, and then react
//     level   levels of bodies
//
// Bricks that have been worked on keep their new fills to themselves until all are: then they count at once, and so does what bodies gain. So
// no brick ever sees another's new water beside its own old one, and a face is open or closed for both. Until then each result is a
// function of the old state alone: an edit changes the old state, and what it was near is worked on again. So it is with bodies: what one
// gets or gives back, and whether it has come apart, is found before anything of it changes (layers.c, parts.c). Nothing that an update
// leaves is half of something: bodies, fills and levels hold as they are, and only the place in the generation has to be remembered.
#include "solvers/settle/settle.h"

#include "base/clock.h"
#include <assert.h>
#include <string.h>

enum {
    SPARE = 256,        // nodes, bodies and outlets that an update may take besides those that its bricks ask for
    OUTLETS_USUAL = 4,  // that a brick asks for; where more are needed some bricks rest later
    FACES_AND_SELF = 7,
    WORK_AT_ONCE = 64,  // bricks between two looks at the clock
    LATE_PATIENCE = 3,  // times that edits may undo what was done in a turn, before it may take more than its budget
    SPARE_LEAST = 8     // spare pages besides one for each brick in which liquids meet
};

// Seconds that the laws take of a brick, before that has been measured.
#define BRICK_SECONDS 1e-5

// ---- What an update may do ---------------------------------------------------------------------------------------------------

static int64_t budget_units(const settle *s)
{
    const int32_t budget = s->cells.world->params.settle.budget;
    return budget > 0 ? (int64_t)budget * SETTLE_COST_BRICK : INT64_MAX;
}

// By how many budgets more an update may go on with what edits undid just now, so that a turn ends under edits in every update.
static int64_t times_more(const settle *s)
{
    return s->undone && s->late > LATE_PATIENCE ? s->late - LATE_PATIENCE : 0;
}

// One that is made again, since memory ran out, goes on with what it had left.
static void begin_update(settle *s)
{
    const weir_world *world = s->cells.world;
    if (!s->failed) s->left = (settle_work_left){.units = budget_units(s)};
    if (!s->failed && s->left.units < INT64_MAX) s->left.more = times_more(s) * s->left.units;
    if (world->update_microseconds > 0) s->left.until = clock_seconds() + 1e-6 * world->update_microseconds;
}

static bool time_is_over(const settle *s)
{
    return s->left.until > 0 && s->left.spent > 0 && clock_seconds() > s->left.until;
}

bool settle_spend(settle *s, int64_t cost)
{
    if (s->left.units < cost || time_is_over(s)) return false;
    s->left.units -= cost;
    s->left.spent += cost;
    return true;
}

void settle_charge(settle *s, int64_t cost)
{
    const int64_t left = s->left.units < cost ? s->left.units : cost;
    s->left.units -= left;
    s->left.spent += left;
}

// Where edits in every update end what was being found, an update may do more of it each time, so that it comes to an end.
bool settle_look_on(settle *s, int64_t cost)
{
    enum { LOOKS_AT_ONCE = 32 };
    settle_search *q = &s->search;
    if (q->owed > 0) {
        q->owed--;
    } else if (s->left.units >= cost) {
        if (q->spent % LOOKS_AT_ONCE == 0 && time_is_over(s)) return false;
        s->left.units -= cost;
        s->left.spent += cost;
    } else if (s->left.more >= cost) {
        s->left.more -= cost;
    } else {
        return false;
    }
    q->spent++;
    return true;
}

bool settle_may_change(settle *s, int32_t nodes)
{
    const int64_t cost = (int64_t)nodes * SETTLE_COST_CHANGE, left = s->left.units < cost ? s->left.units : cost;
    if (s->left.spent > 0 && s->left.more < cost && (left < cost || time_is_over(s))) return false;
    settle_charge(s, left);
    return true;
}

void settle_end_search(settle *s)
{
    settle_end_flood(s);
    if (s->levels.body == 0) return;
    if (s->search.kind != SEARCH_NOTHING && s->search.spent + s->search.owed > 0) {
        s->late++;
        s->undone = true;
    }
    s->search.kind = SEARCH_NOTHING;
    settle_end_levels(s);
}

// ---- Room --------------------------------------------------------------------------------------------------------------------

static int32_t times(int32_t a, int32_t b)
{
    return a > (INT32_MAX / 8) / b ? INT32_MAX / 8 : a * b;
}

static weir_status reserve_lists(settle *s)
{
    memory *mem = &s->cells.world->mem;
    if (s->changed_room >= s->bodies.room) return WEIR_OK;
    const size_t size = sizeof *s->changed;
    int32_t *list = memory_resize(mem, s->changed, (size_t)s->changed_room * size, (size_t)s->bodies.room * size);
    if (!list) return status_fail(WEIR_ERROR_MEMORY, "no memory to list %d bodies of water", s->bodies.room);
    s->changed = list;
    s->changed_room = s->bodies.room;
    return WEIR_OK;
}

// Whether the update may apply the laws to all bricks at once. Otherwise those of a slice get their pages with it.
static bool may_work_at_once(const settle *s)
{
    return (int64_t)s->active_count * SETTLE_COST_WORK <= s->left.units;
}

// In how many bricks bodies may begin in the next update. One that goes on with a generation begins none before all bricks of it have been
// worked on, and comes no further than its budget.
static int32_t count_seeding(const settle *s)
{
    const int32_t patience = s->cells.world->params.settle.patience;
    const int64_t most = budget_units(s) / SETTLE_COST_VISIT;
    int32_t count = 0;
    for (int32_t i = 0; i < s->active_count && count < most && s->stage == STAGE_BEGIN && may_work_at_once(s); i++) {
        const settle_page *page = s->bricks[s->active[i]].page;
        uint8_t calmest = 0;
        for (int32_t cell = 0; cell < BRICK_CELLS && page && !layers_empty(&page->wet); cell++)
            calmest = page->calm[cell] > calmest ? page->calm[cell] : calmest;
        count += page && calmest + 1 >= patience;
    }
    const int32_t first = s->stage == STAGE_SEED ? s->cursor - s->flood.seeding : 0;
    for (int32_t i = first; i < s->work_count && i - first < most && s->stage > STAGE_WORK && s->stage <= STAGE_SEED; i++)
        count += !layers_empty(&s->bricks[s->active[i]].page->settled);
    return count;
}

// Of each as many as there can be a use for, by the water that there is: a body may begin where it has settled, and takes in what is awake; what
// comes to rest beside bodies has outlets; bodies have histograms where terrain is partly solid.
weir_status settle_reserve_stores(settle *s)
{
    const int32_t active = s->active_count, parts = settle_parts_wanted(s), seeding = count_seeding(s);
    const int32_t nodes = store_used(&s->nodes), bodies = store_used(&s->bodies);
    const int32_t beside = times(nodes, FACES_AND_SELF) < active ? times(nodes, FACES_AND_SELF) : active;
    weir_status status =
        store_reserve(s, &s->nodes, times(nodes, 2) + times(active, 2) + times(seeding, 6) + times(parts, 2) + SPARE);
    if (status == WEIR_OK) status = store_reserve(s, &s->bodies, bodies + times(seeding, SETTLE_SEEDS) + parts + SPARE);
    if (status == WEIR_OK) status = store_reserve(s, &s->outlets, times(beside, OUTLETS_USUAL) + SPARE);
    if (status == WEIR_OK && s->share_count > 0)
        status = store_reserve(s, &s->histograms, bodies + s->bodies.budget - store_used(&s->histograms));
    if (status == WEIR_OK) status = settle_reserve_parts(s);
    if (status == WEIR_OK) status = settle_reserve_steps(s);
    return status == WEIR_OK ? reserve_lists(s) : status;
}

// Pages for the bricks that a reservoir fills.
static weir_status reserve_kept(settle *s, weir_box box)
{
    fluid_view view;
    weir_status status = WEIR_OK;
    cells_view(&s->cells, false, &view);
    region_walk walk = region_walk_live(&view, box);
    for (int32_t b; status == WEIR_OK && (b = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (s->bricks[b].active) status = settle_need_page(s, b);
    return status;
}

// Pages for the bricks that will be worked on, and for what is poured in.
static weir_status reserve_pages(settle *s)
{
    const weir_world *world = s->cells.world;
    weir_status status = WEIR_OK;
    bool drains = false;
    for (int32_t i = 0; i < world->source_count; i++) drains |= world->sources[i].kind == SOURCE_DRAIN;
    const bool at_once = may_work_at_once(s);
    for (int32_t i = 0; i < s->active_count && status == WEIR_OK && at_once; i++) status = settle_need_page(s, s->active[i]);
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK; i++)
        if (world->sources[i].kind == SOURCE_RESERVOIR) status = reserve_kept(s, world->sources[i].box);
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK; i++)
        if (world->sources[i].kind == SOURCE_EMITTER && world_source_acts(world, &world->sources[i]))
            status = settle_need_pages(s, world->sources[i].box, world->sources[i].material, drains);
    if (status == WEIR_OK && at_once) status = settle_reserve_liquids(s, s->active, s->active_count, true);
    return status;
}

// What the laws cost in a brick.
static int64_t cost_of(settle *s, int32_t brick)
{
    if (!several_liquids(s)) return SETTLE_COST_WORK;
    const uint32_t liquids = settle_liquids_noted(s, brick);
    return liquids & (liquids - 1) ? SETTLE_COST_MIXED : SETTLE_COST_WORK;
}

// As many of some bricks as units pay for, and one at least; takes the units.
static int32_t count_paid(settle *s, const int32_t *bricks, int32_t count, int64_t *units)
{
    int32_t paid = 0;
    while (paid < count) {
        const int64_t cost = cost_of(s, bricks[paid]);
        if (*units < cost && paid > 0) break;
        *units = *units < cost ? 0 : *units - cost;
        paid++;
    }
    return paid;
}

// The bricks that this update works on: those whose results went with a snapshot, which count nothing, so many at the cursor, and with what
// is then left those that edits have undone. Where edits undo as much in every update, more of them with each, so that it ends.
static void choose_slice(settle *s)
{
    const int32_t behind = s->work_count - s->cursor;
    int64_t units = budget_units(s);
    int32_t count = 0;
    for (int32_t i = 0; i < s->cursor && s->lost; i++)
        if (s->bricks[s->active[i]].done) s->slice[count++] = s->active[i];
    s->slice_lost = count;
    s->slice_first = count_paid(s, s->active + s->cursor, behind, &units);
    for (int32_t i = 0; i < s->slice_first; i++) s->slice[count++] = s->active[s->cursor + i];
    bricks_sort(&s->cells.pool, s->redo, s->redo_count);
    if (behind == 0 && units < INT64_MAX) units *= 1 + times_more(s);
    const int32_t again = units > 0 ? count_paid(s, s->redo, s->redo_count, &units) : 0;
    for (int32_t i = 0; i < again; i++) s->slice[count++] = s->redo[i];
    s->slice_count = count;
}

// Room for what the bricks of the slice will hold, and for what bodies gain from them.
static weir_status reserve_slice(settle *s)
{
    memory *mem = &s->cells.world->mem;
    weir_status status = WEIR_OK;
    int64_t gains = atomic_load(&s->gain_count);
    choose_slice(s);
    s->sliced = true;
    for (int32_t i = 0; i < s->slice_count && status == WEIR_OK; i++) status = settle_need_page(s, s->slice[i]);
    if (status == WEIR_OK) status = settle_reserve_liquids(s, s->slice, s->slice_count, false);
    for (int32_t i = 0; i < s->slice_count && status == WEIR_OK; i++) {
        status = settle_need_pending(s, s->slice[i]);
        gains += settle_count_gains(s, s->slice[i]);
    }
    if (status != WEIR_OK || gains <= s->gain_room) return status;
    const int64_t room = 2 * gains;
    settle_gain *list = room > INT32_MAX
                            ? NULL
                            : memory_resize(mem, s->gains, (size_t)s->gain_room * sizeof *list, (size_t)room * sizeof *list);
    if (!list) return status_fail(WEIR_ERROR_MEMORY, "no memory for what bodies of water gain");
    s->gains = list;
    s->gain_room = (int32_t)room;
    return WEIR_OK;
}

// For liquids that meet at the turn's end: what rises and what sinks out of a brick comes to some others, and so does terrain that forms.
static weir_status reserve_meeting(settle *s)
{
    const int32_t count = s->stage == STAGE_BEGIN ? s->active_count : s->work_count;
    int32_t several = 0, forming = 0;
    for (int32_t i = 0; i < count && s->liquids & (s->liquids - 1); i++) {
        const uint32_t liquids = s->active[i] ? settle_liquids_noted(s, s->active[i]) : 0;
        several += (liquids & (liquids - 1)) != 0;
        forming += settle_may_form(s, liquids);
    }
    const weir_status status = settle_reserve_spares(s, several > 0 ? several + SPARE_LEAST : 0);
    if (status != WEIR_OK) return status;
    return world_forming_reserve(s->cells.world, forming > 0 ? times(forming, FACES_AND_SELF) + SPARE_LEAST : 0);
}

static weir_status grow_for_sources(settle *s)
{
    s->births = BORN_OF_SOURCE;
    s->growing = false;
    weir_status status = cells_touch_sources(&s->cells, s->edited);
    if (status == WEIR_OK) status = settle_sync(s);
    if (status == WEIR_OK) s->edited = false;
    return status;
}

// Bricks come and go between generations, over several updates if they are many. An update that is made again goes on where memory ran out.
static weir_status grow(settle *s)
{
    if (s->births == BORN_OF_SOURCE) return grow_for_sources(s);
    weir_status status = settle_sync(s);
    s->edited |= !cells_topology_holds(&s->cells);  // otherwise the bricks of reservoirs are there
    if (status != WEIR_OK) return status;
    const int64_t before = s->left.units;
    s->births = BORN_OF_WATER;
    s->striking = true;
    status = cells_topology_some(&s->cells, s->order, &s->left.units);
    settle_strike_ended(s);
    if (s->left.units < 0) s->left.units = 0;
    s->left.spent += before - s->left.units;
    s->growing = !cells_topology_holds(&s->cells);
    if (status == WEIR_OK) status = settle_sync(s);
    return status == WEIR_OK && !s->growing ? grow_for_sources(s) : status;
}

static weir_status reserve_rest(settle *s)
{
    const bool begins = s->stage == STAGE_BEGIN;
    weir_status status = begins ? reserve_pages(s) : WEIR_OK;
    if (status == WEIR_OK) status = settle_reserve_stores(s);
    if (status == WEIR_OK && s->stage == STAGE_WORK) status = reserve_slice(s);
    return status == WEIR_OK ? reserve_meeting(s) : status;
}

weir_status settle_reserve(void *state)
{
    settle *s = state;
    const bool begins = s->stage == STAGE_BEGIN, grew = s->growing;
    begin_update(s);
    s->note++;
    settle_learn_liquids(s);
    weir_status status = begins ? grow(s) : settle_sync(s);
    if (status == WEIR_OK && !s->growing) status = reserve_rest(s);
    s->failed = status != WEIR_OK;
    if (s->failed) s->growing = grew;
    // What wakes from here on is for the next generation.
    if (begins) s->work_count = status == WEIR_OK && !s->growing ? s->active_count : 0;
    return status;
}

bool settle_sources_wait(const void *state)
{
    return settle_goes_on(state);
}

// ---- Work --------------------------------------------------------------------------------------------------------------------

void settle_undo(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (s->stage != STAGE_WORK || !b->done) return;
    b->done = 0;
    s->undone = true;
    s->redo[s->redo_count++] = brick;
}

void settle_undo_around(settle *s, int32_t brick)
{
    if (s->stage != STAGE_WORK) return;
    for (int32_t k = 0; k < 27; k++) settle_undo(s, s->cells.pool.near[brick][k]);
}

// By these the laws decide what crosses a face, and what is calm: all bricks of a turn go by the same.
void settle_params_change(void *state, const weir_params *next)
{
    settle *s = state;
    const weir_settle_params *old = &s->cells.world->params.settle, *new = &next->settle;
    // Without memory there will be an update that asks for it.
    (void)settle_keep_room(s, new->budget);
    // One that was not run, for want of memory, had what was left of the other budget.
    if (old->budget != new->budget) s->failed = false;
    const bool same = old->film == new->film && old->calm == new->calm && old->patience == new->patience;
    for (int32_t i = 0; i < s->cursor && s->stage == STAGE_WORK && !same; i++) settle_undo(s, s->active[i]);
    // What rested by the old ones looks whether it still does.
    for (int32_t b = 1; b < s->cells.pool.end && b < s->brick_room && !(same && old->body_cells == new->body_cells); b++)
        if (s->cells.pool.alive[b] && (s->bricks[b].outlet || (s->bricks[b].page && !layers_empty(&s->bricks[b].page->wet))))
            settle_wake(s, b);
    if (old->patience != new->patience) settle_note_settled(s, new->patience);
}

void settle_keep_seen(settle *s, settle_body *body)
{
    if (s->stage != STAGE_WORK || body->seen_kept) return;
    body->seen = settle_seen(body);
    body->seen_kept = true;
}

// From here on the laws see bodies as they are. Those of which they saw anything else are listed as changed.
static void forget_seen(settle *s)
{
    for (int32_t i = 0; i < s->changed_count; i++) body_at(s, s->changed[i])->seen_kept = false;
}

static bool begin(settle *s)
{
    bricks_sort(&s->cells.pool, s->active, s->work_count);
    for (int32_t i = 0; i < s->work_count; i++) {
        s->bricks[s->active[i]].worked = 1;
        s->bricks[s->active[i]].fresh = 0;
    }
    settle_evaporate(s);
    settle_keep_free(s);
    return true;
}

static bool meet(settle *s)
{
    if (s->touching_count > 0 && !settle_may_change(s, s->touching_count * SETTLE_COST_VISIT / SETTLE_COST_CHANGE))
        return false;
    settle_meet(s);
    return true;
}

// What has changed until now the laws see.
static bool level_before_work(settle *s)
{
    if (!settle_level_bodies(s)) return false;
    for (int32_t i = 0; i < s->work_count; i++) s->bricks[s->active[i]].stirred = 0;
    return true;
}

// What lies behind open sides leaves the world.
static void drain_sides(settle *s, int32_t brick)
{
    const weir_world *world = s->cells.world;
    settle_page *page = s->bricks[brick].page;
    bool any = false;
    if (!world->terrain.open_sides || layers_empty(&page->wet)) return;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t units = page_fill(page)[cell];
        if (units == 0 || terrain_inside(&world->terrain, brick_cell(s->cells.pool.coord[brick], cell))) continue;
        settle_ledger(s, page_material(page, cell))->drained += (int64_t)units * SETTLE_UNIT;
        page_fill(page)[cell] = 0;
        page->calm[cell] = 0;
        any = true;
    }
    if (any) settle_look_at_page(s, brick);
}

static bool is_wet(const settle *s, int32_t brick)
{
    return s->cells.store->wet(&s->cells, brick);
}

static void take_gain(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    const int64_t gained = atomic_load_explicit(&b->gained, memory_order_relaxed);
    if (gained == 0) return;
    b->volume += gained;
    atomic_store_explicit(&b->gained, 0, memory_order_relaxed);
    assert(b->volume >= 0);
    settle_note_body(s, body);
}

// The new fills count from now on.
static void commit(settle *s, bool waited)
{
    for (int32_t i = 0; i < s->work_count; i++) {
        const int32_t brick = s->active[i];
        settle_brick *b = &s->bricks[brick];
        settle_page *page = b->page;
        page->now ^= 1;
        if (waited) {
            page->wet = page->pending->wet;
            page->full = page->pending->full;
            page->settled = page->pending->settled;
            memcpy(page->calm, page->pending->calm, BRICK_CELLS);
        }
        b->done = 0;
        drain_sides(s, brick);
        s->cells.pool.wet[brick] = is_wet(s, brick);
        if (b->outcome & OUTCOME_CHANGED) cells_flags(&s->cells)[brick] = s->cells.world->change;
    }
}

// Adds up what bodies gain. False if an edit has taken so much out of one meanwhile that it cannot give what it was to.
static bool add_gains(settle *s)
{
    bool enough = true;
    for (int32_t i = 0; i < s->work_count; i++) {
        const settle_pending *pending = s->bricks[s->active[i]].page->pending;
        for (int32_t k = 0; k < pending->gain_count; k++) {
            const settle_gain *gain = &s->gains[pending->gain + k];
            atomic_fetch_add_explicit(&body_at(s, gain->body)->gained, gain->units, memory_order_relaxed);
        }
    }
    for (int32_t i = 0; i < s->changed_count; i++) {
        const settle_body *b = body_at(s, s->changed[i]);
        enough &= b->volume + atomic_load_explicit(&b->gained, memory_order_relaxed) >= 0;
    }
    return enough;
}

// All is worked on again, with bodies as they are now: none gives more than its cells hold, once its level has come down to its volume.
static void begin_work_again(settle *s)
{
    for (int32_t i = 0; i < s->work_count; i++) {
        const settle_pending *pending = s->bricks[s->active[i]].page->pending;
        for (int32_t k = 0; k < pending->gain_count; k++)
            atomic_store_explicit(&body_at(s, s->gains[pending->gain + k].body)->gained, 0, memory_order_relaxed);
        s->bricks[s->active[i]].done = 0;
    }
    atomic_store(&s->gain_count, 0);
    s->cursor = 0;
    settle_follow_volumes(s);
    forget_seen(s);
}

static void work_on(settle *s, const int32_t *bricks, int32_t count, bool waits)
{
    const double start = s->left.until > 0 ? clock_seconds() : 0;
    settle_work(s, bricks, count, waits);
    s->left.bricks += count;
    if (start > 0 && count > 0) s->brick_seconds = (s->brick_seconds + (clock_seconds() - start) / count) / 2;
}

// All bricks in one go, if that is within what the update may do.
static bool work_at_once(settle *s)
{
    const double seconds = s->work_count * (s->brick_seconds > 0 ? s->brick_seconds : BRICK_SECONDS);
    if (s->left.until > 0 && s->work_count > 0 && clock_seconds() + seconds > s->left.until) return false;
    int64_t cost = 0;
    for (int32_t i = 0; i < s->work_count; i++)
        cost += s->bricks[s->active[i]].liquid == SETTLE_SEVERAL ? SETTLE_COST_MIXED : SETTLE_COST_WORK;
    if (!settle_spend(s, cost)) return false;
    work_on(s, s->active, s->work_count, false);
    commit(s, false);
    for (int32_t body = 1; body < s->bodies.end && s->work_count > 0; body++)
        if (body_at(s, body)->used) take_gain(s, body);
    return true;
}

// Some of the bricks of the slice. Returns how many have been worked on.
static int32_t work_on_slice(settle *s, const int32_t *bricks, int32_t count, bool counts)
{
    int32_t done = 0;
    while (done < count && !(counts && time_is_over(s))) {
        const int32_t some = !counts || s->left.until == 0 || count - done < WORK_AT_ONCE ? count - done : WORK_AT_ONCE;
        work_on(s, bricks + done, some, true);
        for (int32_t i = done; i < done + some; i++) s->bricks[bricks[i]].done = 1;
        for (int32_t i = done; i < done + some && counts; i++) settle_charge(s, cost_of(s, bricks[i]));
        done += some;
    }
    return done;
}

static bool work(settle *s)
{
    if (!s->sliced) return work_at_once(s);
    const int32_t *slice = s->slice;
    const bool only_redo = s->cursor == s->work_count;
    work_on_slice(s, slice, s->slice_lost, false);
    s->lost = false;
    slice += s->slice_lost;
    s->cursor += work_on_slice(s, slice, s->slice_first, true);
    slice += s->slice_first;
    const int32_t again = work_on_slice(s, slice, s->slice_count - s->slice_lost - s->slice_first, true);
    memmove(s->redo, s->redo + again, (size_t)(s->redo_count - again) * sizeof *s->redo);
    s->redo_count -= again;
    s->slice_count = s->slice_lost = s->slice_first = 0;
    if (s->cursor < s->work_count || s->redo_count > 0) {
        s->late += only_redo && s->undone;
        return false;
    }
    // What they hold counts at once, in an update that has as much left as that takes, or has done nothing else.
    const int64_t cost = (int64_t)s->work_count * SETTLE_COST_VISIT;
    if (s->left.spent > 0 && s->left.units < cost && s->left.more < cost) return false;
    if (!add_gains(s)) {
        begin_work_again(s);
        return false;
    }
    forget_seen(s);
    commit(s, true);
    for (int32_t i = 0; i < atomic_load(&s->gain_count); i++)
        if (body_at(s, s->gains[i].body)->used) take_gain(s, s->gains[i].body);
    atomic_store(&s->gain_count, 0);
    return true;
}

// ---- After it ----------------------------------------------------------------------------------------------------------------

// Bricks near which something changed are worked on in the next generation.
static void wake_beside(settle *s, int32_t brick)
{
    const int32_t outcome = s->bricks[brick].outcome, sides = outcome >> OUTCOME_SIDES;
    for (int32_t k = 0; k < 27 && outcome & OUTCOME_CHANGED; k++) {
        const int32_t x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1;
        const bool near = (x == 0 || sides >> (x > 0) & 1) && (y == 0 || sides >> (2 + (y > 0)) & 1) &&
                          (z == 0 || sides >> (4 + (z > 0)) & 1);
        if (near) settle_wake(s, s->cells.pool.near[brick][k]);
    }
}

// Walks on over the bricks of the generation. Returns whether it has come to the end.
static bool walk(settle *s, void (*visit)(settle *s, int32_t brick))
{
    for (; s->cursor < s->work_count; s->cursor++) {
        if (!settle_spend(s, SETTLE_COST_VISIT)) return false;
        visit(s, s->active[s->cursor]);
    }
    return true;
}

// The same of what may stop within a brick. The cursor is one further then.
static bool walk_within(settle *s, void (*visit)(settle *s, int32_t brick), bool (*goes_on)(settle *s))
{
    for (;;) {
        if (!goes_on(s)) return false;
        if (s->cursor == s->work_count) return true;
        if (!settle_spend(s, SETTLE_COST_VISIT)) return false;
        visit(s, s->active[s->cursor++]);
    }
}

static bool join(settle *s)
{
    return walk_within(s, settle_join, settle_join_on);
}

static bool seed(settle *s)
{
    return walk_within(s, settle_begin_bodies, settle_begin_on);
}

static bool wake(settle *s)
{
    return walk(s, wake_beside);
}

// Whether there is time for liquids to find their order or to react in a brick, which may cost more than a whole budget: an update that has
// done nothing else goes on with one in any case.
static bool may_sort(settle *s)
{
    if (s->left.spent > 0 && (s->left.units < SETTLE_COST_SORT || time_is_over(s))) return false;
    settle_charge(s, SETTLE_COST_SORT);
    return true;
}

// Where liquids meet they find their order, and react. Bricks of one liquid are but visited.
static bool walk_where_several(settle *s, void (*visit)(settle *s, int32_t brick))
{
    if (!(s->liquids & (s->liquids - 1))) return true;
    for (; s->cursor < s->work_count; s->cursor++) {
        const uint32_t liquids = settle_liquids_beside(s, s->active[s->cursor]);
        const bool several = liquids & (liquids - 1);
        if (several ? !may_sort(s) : !settle_spend(s, SETTLE_COST_VISIT)) return false;
        if (several) visit(s, s->active[s->cursor]);
    }
    return true;
}

static bool sort_liquids(settle *s)
{
    return walk_where_several(s, settle_sort_liquids);
}

static bool react(settle *s)
{
    return walk_where_several(s, settle_react);
}

// Lets a brick rest in which nothing goes on.
static void visit_rest(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    const bool goes_on = b->outcome & (OUTCOME_CHANGED | OUTCOME_UNEASY) || b->stirred;
    b->stirred = b->worked = b->outcome = 0;
    if (!goes_on && settle_rest(s, brick)) s->active[s->cursor] = 0;
}

static bool rest(settle *s)
{
    const bool all = walk(s, visit_rest);
    // Those that rest leave the list now: an edit before the next update may wake them again, and there is room for each once.
    int32_t kept = 0;
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->active[i]) s->active[kept++] = s->active[i];
    const int32_t rested = s->active_count - kept;
    s->cursor -= rested;
    s->work_count -= rested;
    s->active_count = kept;
    if (!all) return false;
    for (int32_t i = 0; i < kept; i++) s->cells.pool.wet[s->active[i]] = is_wet(s, s->active[i]);
    return true;
}

// ---- The update --------------------------------------------------------------------------------------------------------------

// A body that rose by more than a brick may have come beside another liquid, of which nobody knew when room was made; and where levels took
// several updates, or the laws, room is to be made too. What is left is for the next update.
static bool lacks_room(settle *s, settle_stage began)
{
    if (s->stage == STAGE_WORK) return began != STAGE_BEGIN || !settle_liquids_hold(s);
    return s->stage == STAGE_LEVEL && s->sliced;
}

weir_status settle_update(void *state)
{
    static bool (*const stages[STAGE_COUNT])(settle * s) = {[STAGE_BEGIN] = begin,
                                                            [STAGE_LEVEL_FIRST] = settle_level_bodies,
                                                            [STAGE_MEET] = meet,
                                                            [STAGE_LEVEL_MET] = level_before_work,
                                                            [STAGE_WORK] = work,
                                                            [STAGE_LEVEL] = settle_level_bodies,
                                                            [STAGE_JOIN] = join,
                                                            [STAGE_SEED] = seed,
                                                            [STAGE_LEVEL_AGAIN] = settle_level_bodies,
                                                            [STAGE_WAKE] = wake,
                                                            [STAGE_SORT] = sort_liquids,
                                                            [STAGE_REACT] = react,
                                                            [STAGE_REST] = rest};
    settle *s = state;
    const settle_stage began = s->stage;
    // Bricks are still to come or go.
    bool goes_on = !s->growing;
    while (goes_on && stages[s->stage](s)) {
        s->stage++;
        s->cursor = 0;
        goes_on = s->stage < STAGE_COUNT && !lacks_room(s, began);
    }
    s->sliced = s->undone = false;
    s->age++;
    if (s->stage == STAGE_COUNT) {
        s->stage = STAGE_BEGIN;
        s->work_count = s->late = s->age = 0;
    }
    cells_report_changes(&s->cells);
    cells_count_bytes(&s->cells, settle_bytes(s));
    return WEIR_OK;
}
