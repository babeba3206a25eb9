// Reservoirs: bodies that are held at a level, and the free cells of a reservoir's box.
//
// A body of which a cell lies in the box is held as a whole, so a small box holds an ocean. Its volume follows from the level, and what it gains and
// loses is booked: it neither rises nor falls, and none of its bricks is looked at for that. Other liquids than its own it leaves alone. Which bodies are held follows from where they
// are, so there is nothing to keep, to save or to hand on when bodies become one or come apart.
#include "solvers/settle/settle.h"

#include <assert.h>

// The surface of a reservoir: in a layer, at a level of 1 to a full cell above its bottom.
typedef struct held_surface {
    int32_t top, level;
} held_surface;

static int64_t floor_of(int64_t a, int64_t b)
{
    return (a < 0 ? a - b + 1 : a) / b;
}

static held_surface surface_of(const world_source *holder)
{
    const int64_t units = floor_of(holder->level + SETTLE_UNIT / 2, SETTLE_UNIT), top = floor_of(units - 1, SETTLE_FULL);
    return (held_surface){(int32_t)top, (int32_t)(units - top * SETTLE_FULL)};
}

// What a cell of a layer holds below a surface.
static int32_t fill_under(const held_surface *surface, int32_t y, int32_t capacity)
{
    const settle_body like = {.top = surface->top, .level = surface->level};
    return y > surface->top ? 0 : body_fill(&like, y, capacity);
}

// The cells of a brick in a box. False if there are none.
static bool layers_in_box(weir_box box, weir_coord brick, layer_mask *cells)
{
    brick_mask mask;
    const bool any = region_box_mask(box, brick, &mask);
    *cells = (layer_mask){{0}};
    for (int32_t z = 0; z < BRICK_EDGE && any; z++)
        for (int32_t y = 0; y < BRICK_EDGE; y++) cells->layer[y] |= (mask.plane[z] >> 8 * y & 0xff) << 8 * z;
    return any;
}

// ---- Who is held -----------------------------------------------------------------------------------------------------------

static bool node_is_in(const settle *s, int32_t node, weir_box box)
{
    const settle_node *n = node_at(s, node);
    layer_mask cells;
    uint64_t any = 0;
    if (!layers_in_box(box, s->cells.pool.coord[n->brick], &cells)) return false;
    for (int32_t y = 0; y < 8; y++) any |= cells.layer[y] & n->cells.layer[y];
    return any != 0;
}

// By the body's nodes or by the bricks of the box, whichever are fewer.
static bool reaches_into(const settle *s, int32_t body, weir_box box)
{
    const settle_body *b = body_at(s, body);
    const weir_box bricks = region_bricks(box);
    if (b->nodes <= region_volume(bricks)) {
        for (int32_t list = 0; list < 2; list++)
            for (int32_t n = b->first[list]; n; n = node_at(s, n)->next)
                if (node_is_in(s, n, box)) return true;
        return false;
    }
    for (weir_coord at = {0, 0, bricks.min.z}; at.z < bricks.max.z; at.z++) {
        for (at.y = bricks.min.y; at.y < bricks.max.y; at.y++) {
            for (at.x = bricks.min.x; at.x < bricks.max.x; at.x++) {
                const int32_t brick = bricks_find(&s->cells.pool, at), node = brick ? settle_find_node(s, brick, body) : 0;
                if (node && node_is_in(s, node, box)) return true;
            }
        }
    }
    return false;
}

const world_source *settle_holder(const settle *s, int32_t body)
{
    const weir_world *world = s->cells.world;
    for (int32_t i = 0; i < world->source_count; i++)
        if (world->sources[i].kind == SOURCE_RESERVOIR && world->sources[i].material == body_at(s, body)->material &&
            reaches_into(s, body, world->sources[i].box))
            return &world->sources[i];
    return NULL;
}

void settle_note_box(settle *s, weir_box box)
{
    fluid_view view;
    cells_view(&s->cells, false, &view);
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
        for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick)
            if (node_is_in(s, n, box)) settle_note_body(s, node_at(s, n)->body);
}

// ---- Bodies ----------------------------------------------------------------------------------------------------------------

// Whether the layer above lies behind an open side, through which it would run out.
static bool ends_at_top(const settle *s, const settle_body *b)
{
    const terrain *t = &s->cells.world->terrain;
    return t->open_sides & WEIR_SIDE_Y_MAX && b->top + 1 == t->bounds.max.y;
}

// As many layers as the level asks for and terrain allows. A layer that would hold less than a unit per cell is none. False if the next
// update goes on.
static bool rise_to(settle *s, int32_t body, const held_surface *surface)
{
    settle_body *b = body_at(s, body);
    while (b->top < surface->top && !ends_at_top(s, b)) {
        const int32_t level = b->top + 1 == surface->top ? surface->level : SETTLE_FULL;
        if (!settle_searches_above(s, body)) settle_lift_cover(s, body);
        if (!settle_search_above(s, body, false)) return false;
        const int32_t cells = s->search.area;
        b->closed = cells == 0;
        if (cells == 0 || settle_found_holds(s, level) < cells) return true;
        if (s->nodes.budget < b->nodes || !settle_may_change(s, s->search.count)) return false;
        settle_take_layer(s);
    }
    return true;
}

// While layers come or go a body holds at least what those below its top layer do, and no more than all.
static settle_found hold_later(settle *s, settle_body *b)
{
    const int64_t full = b->base + b->room, volume = b->volume < b->base ? b->base : b->volume > full ? full : b->volume;
    cells_book(&s->cells, b->material, (volume - b->volume) * SETTLE_UNIT);
    b->volume = volume;
    return FOUND_LATER;
}

settle_found settle_hold(settle *s, int32_t body, const world_source *holder)
{
    const held_surface surface = surface_of(holder);
    settle_body *b = body_at(s, body);
    b->closed = false;
    settle_leave_lost_layers(s, b);
    while (b->nodes > 0 && b->top > surface.top) {
        if (!settle_search_top(s, body, false) || !settle_may_change(s, s->search.count)) return hold_later(s, b);
        settle_give_layer(s);
    }
    if (b->nodes > 0 && !rise_to(s, body, &surface)) return hold_later(s, b);
    int64_t volume = b->base + (b->top == surface.top ? settle_layer_holds(s, b, surface.level) : b->room);
    if (volume == 0 && b->nodes > 0) settle_drop_layer(s, body);
    if (b->nodes == 0) volume = 0;
    cells_book(&s->cells, b->material, (volume - b->volume) * SETTLE_UNIT);
    b->volume = volume;
    if (b->nodes > 0) return FOUND_LAYERS;
    settle_end_body(s, body);
    return FOUND_END;
}

// ---- Free water ------------------------------------------------------------------------------------------------------------

static void keep_brick(settle *s, int32_t brick, const layer_mask *cells, const held_surface *surface, int32_t material)
{
    settle_brick *b = &s->bricks[brick];
    const layer_mask taken = settle_taken(s, brick);
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    int64_t given = 0;
    bool changed = false;
    for (int32_t y = 0; y < 8; y++) {
        for (uint64_t left = cells->layer[y] & b->open.layer[y] & ~taken.layer[y]; left;) {
            const int32_t cell = cell_of(y, region_take(&left));
            const int32_t capacity = cell_capacity(b, cell), units = fill_under(surface, bottom + y, capacity);
            const int32_t more = units - page_fill(b->page)[cell];
            if (more == 0 || (more < 0 && units == capacity)) continue;  // what is too much rises
            if (!page_can_hold(b->page, cell, material)) continue;
            settle_set_cell(b->page, cell, material, units);
            s->liquids |= UINT32_C(1) << material;
            given += more;
            changed = true;
        }
    }
    if (!changed) return;
    cells_book(&s->cells, material, given * SETTLE_UNIT);
    settle_look_at_page(s, brick);
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
    cells_flags(&s->cells)[brick] = s->cells.world->change;
    settle_wake_around(s, brick);
}

void settle_keep_free(settle *s)
{
    const weir_world *world = s->cells.world;
    fluid_view view;
    cells_view(&s->cells, false, &view);
    for (int32_t i = 0; i < world->source_count && s->work_count > 0; i++) {
        const world_source *source = &world->sources[i];
        if (source->kind != SOURCE_RESERVOIR) continue;
        const held_surface surface = surface_of(source);
        layer_mask cells;
        region_walk walk = region_walk_live(&view, source->box);
        for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
            if (s->bricks[brick].worked && layers_in_box(source->box, view.coord[brick], &cells))
                keep_brick(s, brick, &cells, &surface, source->material);
    }
}

bool settle_is_filled(const settle *s, int32_t brick)
{
    const weir_world *world = s->cells.world;
    for (int32_t i = 0; i < world->source_count; i++)
        if (world->sources[i].kind == SOURCE_RESERVOIR &&
            region_holds(region_bricks(world->sources[i].box), s->cells.pool.coord[brick]) &&
            cells_reservoir_lacks(&s->cells, &world->sources[i], brick))
            return true;
    return false;
}
