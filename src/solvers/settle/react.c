// What liquids do to each other where they meet: they react by the world's table, and films evaporate.
//
// Late in a turn each face between two liquids that react is gone through once, one after the other. What becomes solid terrain is
// handed to the world, which builds it when the turn is over.
#include "solvers/settle/settle.h"

// ---- A face ------------------------------------------------------------------------------------------------------------------

// One of two cells that react.
typedef struct side {
    settle_place at;
    settle_held holds;
    weir_material to;
    bool stays;  // it is not used up
} side;

static world_ledger *ledger_of(const settle *s, weir_material material)
{
    return settle_ledger(s, material);
}

// Solid share of a cell, with what has formed in this update.
static int32_t share_of(const settle *s, settle_place at)
{
    const uint8_t formed = world_formed(s->cells.world, s->cells.pool.coord[at.brick], at.cell);
    if (formed) return formed;
    const settle_brick *b = &s->bricks[at.brick];
    return b->shares ? b->shares[at.cell] : layers_have(&b->open, at.cell) ? 0 : 255;
}

static void harden(settle *s, settle_place at, int32_t units)
{
    weir_world *world = s->cells.world;
    const weir_coord brick = s->cells.pool.coord[at.brick];
    const int32_t more = (units + SETTLE_SHARE / 2) / SETTLE_SHARE, share = share_of(s, at) + more;
    if (more > 0 && world_can_form(world, brick)) world_form(world, brick, at.cell, (uint8_t)(share < 255 ? share : 255));
}

// Takes units out of a cell.
static void take(settle *s, side *of, int32_t units)
{
    ledger_of(s, of->holds.material)->turned += (int64_t)units * SETTLE_UNIT;
    if (of->holds.body) {
        body_at(s, of->holds.body)->volume -= units;
        settle_note_body(s, of->holds.body);
    } else {
        settle_set_cell(s->bricks[of->at.brick].page, of->at.cell, of->holds.material, of->holds.units - units);
    }
    of->holds.units -= units;
}

// Puts a product into a cell that has been used up, and is no body's. False: it has no place there.
static bool put(settle *s, const side *into, weir_material material, int32_t units)
{
    const settle_held there = settle_look_at(s, into->at);
    if (there.body || (there.material && there.material != material) || there.units + units > SETTLE_MOST) return false;
    if (!settle_ready(s, into->at, material)) return false;
    settle_set_cell(s->bricks[into->at.brick].page, into->at.cell, material, there.units + units);
    ledger_of(s, material)->turned -= (int64_t)units * SETTLE_UNIT;
    s->liquids |= UINT32_C(1) << material;
    return true;
}

// A body's cell that is used up leaves it, so that it can take a product.
static void leave(settle *s, side *of)
{
    settle_body *b = of->holds.body ? body_at(s, of->holds.body) : NULL;
    if (!b || of->holds.units > 0 || settle_is_last(s, of->holds.body)) return;
    b->volume += settle_release(s, of->at.brick, of->at.cell);  // which had been taken
    of->holds.body = 0;
}

static bool makes_liquid(const side *of)
{
    return !of->stays && of->to > WEIR_NOTHING;
}

// A game's own terrain is not Weir's to build: what would become terrain leaves the world.
static bool has_room(const settle *s, const side *of)
{
    const weir_world *world = s->cells.world;
    return of->stays || of->to != WEIR_TERRAIN || world->terrain.source ||
           world_can_form(world, s->cells.pool.coord[of->at.brick]);
}

// False if nothing comes of it.
static bool react(settle *s, side *a, side *b, float rate)
{
    const bool liquid = makes_liquid(a) || makes_liquid(b);
    // A product that is a liquid needs a cell: then one of the two is used up at once.
    int32_t units = liquid ? SETTLE_MOST : (int32_t)(rate * SETTLE_FULL);
    if (units < 1) units = 1;
    for (side *of = a;; of = b) {
        if (!of->stays && of->holds.units < units) units = of->holds.units;
        if (of->holds.body && !of->stays && body_at(s, of->holds.body)->volume < units)
            units = (int32_t)body_at(s, of->holds.body)->volume;
        if (of == b) break;
    }
    if (units <= 0) return false;
    if (!has_room(s, a) || !has_room(s, b)) {
        settle_wake(s, a->at.brick);
        return false;
    }
    for (side *of = a;; of = b) {
        if (!of->stays) take(s, of, units);
        if (of == b) break;
    }
    for (side *of = a, *other = b;; of = b, other = a) {
        if (!of->stays && of->to == WEIR_TERRAIN) harden(s, of->at, units);
        if (makes_liquid(of)) {
            leave(s, of);
            leave(s, other);
            if (!put(s, of, of->to, units)) put(s, other, of->to, units);  // or it leaves the world
        }
        if (of == b) break;
    }
    settle_stir(s, a->at);
    settle_stir(s, b->at);
    return true;
}

static bool try_face(settle *s, settle_place at, int32_t way)
{
    side a = {.at = at}, b = {.at = settle_next(s, at, way)};
    if (!b.at.brick) return false;
    a.holds = settle_look_at(s, a.at);
    b.holds = settle_look_at(s, b.at);
    if (!a.holds.material || !b.holds.material || a.holds.material == b.holds.material || !a.holds.units || !b.holds.units)
        return false;
    const weir_reaction_def *def = reactions_find(&s->cells.world->reactions, a.holds.material, b.holds.material);
    if (!def || share_of(s, a.at) == 255 || share_of(s, b.at) == 255) return false;
    const bool swapped = def->first != a.holds.material;
    a.to = reactions_product(s->cells.world, swapped ? def->second_to : def->first_to);
    b.to = reactions_product(s->cells.world, swapped ? def->first_to : def->second_to);
    a.stays = a.to == a.holds.material;
    b.stays = b.to == b.holds.material;
    return react(s, &a, &b, def->rate);
}

// ---- Bricks ------------------------------------------------------------------------------------------------------------------

// Whether two of some materials, as bits, react; `hardens`: so that one becomes terrain.
static bool any_react(const settle *s, uint32_t liquids, bool hardens)
{
    const world_reactions *table = &s->cells.world->reactions;
    for (int32_t i = 0; i < table->count; i++) {
        const weir_reaction_def *def = &table->items[i];
        if (!(liquids >> def->first & 1) || !(liquids >> def->second & 1)) continue;
        if (!hardens || reactions_product(s->cells.world, def->first_to) == WEIR_TERRAIN ||
            reactions_product(s->cells.world, def->second_to) == WEIR_TERRAIN)
            return true;
    }
    return false;
}

void settle_react(settle *s, int32_t brick)
{
    if (!any_react(s, settle_liquids_beside(s, brick), false)) return;
    const layer_mask cells = settle_meeting_cells(s, brick);
    bool any = false;
    for (int32_t y = 0; y < 8; y++) {
        const uint64_t open = s->bricks[brick].open.layer[y];
        for (uint64_t left = any ? open : open & cells.layer[y]; left;) {
            const int32_t bit = region_take(&left);
            const settle_place at = {brick, cell_of(y, bit)};
            bool reacts = false;
            for (int32_t way = 0; way < 6; way++) {
                if (!settle_look_at(s, at).material) break;
                // Upper faces are the brick's own; a lower one only where the brick beyond is not worked on.
                const settle_place next = settle_next(s, at, way);
                if (way & 1 || (next.brick && next.brick != brick && !s->bricks[next.brick].worked))
                    reacts |= try_face(s, at, way);
            }
            // From the first one on that reacts any cell may be beside another liquid.
            if (reacts) settle_charge(s, SETTLE_COST_MOVE);
            if (reacts && !any) left = bit < 63 ? open & ~UINT64_C(0) << (bit + 1) : 0;
            any |= reacts;
        }
    }
}

bool settle_may_form(const settle *s, uint32_t liquids)
{
    return any_react(s, liquids, true);
}

// The next update looks at all of it.
void settle_reactions_changed(void *state)
{
    settle *s = state;
    settle_end_search(s);
    for (int32_t b = 1; b < s->cells.pool.end; b++)
        if (s->cells.pool.alive[b] && b < s->brick_room && any_react(s, settle_liquids_around(s, b), false)) settle_wake(s, b);
}

// ---- Films -------------------------------------------------------------------------------------------------------------------

enum { PHASES = 64 };  // updates between two losses of a film

static int32_t phase_of(weir_coord brick)
{
    return (int32_t)(((uint32_t)brick.x + 3 * (uint32_t)brick.y + 5 * (uint32_t)brick.z) % PHASES);
}

static void lose(settle *s, int32_t material, int64_t units)
{
    settle_ledger(s, material)->turned += units * SETTLE_UNIT;
}

// The films in the free cells of a brick. Nobody wakes.
static void evaporate_brick(settle *s, int32_t brick, int32_t most)
{
    settle_page *page = s->bricks[brick].page;
    bool any = false;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t fill = page_fill(page)[cell], material = fill > 0 ? page_material(page, cell) : WEIR_NOTHING;
        if (fill == 0 || fill >= settle_film(s, material)) continue;
        const int32_t units = fill < most ? fill : most;
        lose(s, material, units);
        if (units == fill)
            settle_set_cell(page, cell, WEIR_NOTHING, 0);
        else
            page_fill(page)[cell] = (uint16_t)(fill - units);
        any = true;
    }
    if (!any) return;
    settle_look_at_page(s, brick);
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
    cells_flags(&s->cells)[brick] = s->cells.world->change;
    if (!s->bricks[brick].active && layers_empty(&page->wet)) settle_drop_page(s, brick);
}

// A body that is a film: one layer, and thinner than it.
static void evaporate_body(settle *s, int32_t body, int32_t most)
{
    settle_body *b = body_at(s, body);
    if (b->base > 0 || b->volume >= (int64_t)b->area * settle_film(s, b->material)) return;
    const int32_t brick = settle_lowest_brick(s, body);
    if (!brick || phase_of(s->cells.pool.coord[brick]) != s->phase || settle_holder(s, body)) return;
    const int64_t units = b->volume < (int64_t)b->area * most ? b->volume : (int64_t)b->area * most;
    lose(s, b->material, units);
    b->volume -= units;
    settle_note_body(s, body);
}

void settle_evaporate(settle *s)
{
    const brick_pool *pool = &s->cells.pool;
    const float rate = s->cells.world->params.settle.evaporation;
    const int32_t most = (int32_t)(rate * (PHASES * SETTLE_FULL));
    if (rate == 0) {
        s->phase = 0;
        return;
    }
    s->phase = (s->phase + 1) % PHASES;
    for (int32_t b = 1; b < pool->end && most > 0; b++)
        if (pool->wet[b] && phase_of(pool->coord[b]) == s->phase && pool->alive[b] && s->bricks[b].page)
            evaporate_brick(s, b, most);
    for (int32_t body = 1; body < s->bodies.end && most > 0; body++)
        if (body_at(s, body)->used) evaporate_body(s, body, most);
}
