// What must hold of the settling automaton between updates, looked at plainly and from scratch.
#include "base/broken.h"
#include "solvers/settle/settle.h"

#include <string.h>

static const char *validate_page(const settle *s, int32_t brick, const layer_mask *taken, int64_t units[WEIR_MATERIAL_MAX])
{
    const settle_brick *b = &s->bricks[brick];
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t fill = page_fill(b->page)[cell];
        const weir_coord at = brick_cell(s->cells.pool.coord[brick], cell);
        const int32_t material = fill > 0 ? page_material(b->page, cell) : WEIR_NOTHING;
        if (fill > 0 &&
            (material <= WEIR_NOTHING || material >= s->cells.world->material_count || !(s->liquids >> material & 1)))
            return broken("the cell (%d, %d, %d) holds a material %d", at.x, at.y, at.z, material);
        units[material] += fill;
        if (fill > SETTLE_MOST) return broken("the cell (%d, %d, %d) holds %d units", at.x, at.y, at.z, fill);
        if (fill > 0 && (!layers_have(&b->open, cell) || layers_have(taken, cell)))
            return broken("the cell (%d, %d, %d) is solid or a body's, and holds free water", at.x, at.y, at.z);
        if (layers_have(&b->page->wet, cell) != (fill > 0) ||
            layers_have(&b->page->full, cell) != (fill > 0 && fill >= cell_capacity(b, cell)))
            return broken("the cell (%d, %d, %d) holds %d units and is noted otherwise", at.x, at.y, at.z, fill);
    }
    return NULL;
}

static const char *validate_shape(const settle *s, int32_t brick)
{
    const settle_brick *b = &s->bricks[brick];
    const terrain *t = &s->cells.world->terrain;
    uint8_t shares[BRICK_CELLS];
    if (t->source) return NULL;
    terrain_shares(t, s->cells.pool.coord[brick], shares);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        if (cell_capacity(b, cell) != rule_settle_capacity(shares[cell]))
            return broken("brick %d takes its cell %d for another", brick, cell);
    return NULL;
}

static const char *validate_brick(const settle *s, int32_t brick, int64_t units[WEIR_MATERIAL_MAX])
{
    const settle_brick *b = &s->bricks[brick];
    layer_mask taken = {{0}};
    if (!s->known[brick]) return b->page || b->node || b->active ? broken("brick %d is not known and has water", brick) : NULL;
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick) {
        const settle_node *node = node_at(s, n);
        if (node->brick != brick || !body_at(s, node->body)->used) return broken("node %d is in no body or brick", n);
        if (layers_empty(&node->cells)) return broken("node %d has no cells", n);
        for (int32_t y = 0; y < 8; y++) {
            if (node->cells.layer[y] & (taken.layer[y] | ~b->open.layer[y]))
                return broken("node %d has cells that are solid or another's", n);
            taken.layer[y] |= node->cells.layer[y];
        }
    }
    const char *wrong = validate_shape(s, brick);
    if (!wrong && b->page) wrong = validate_page(s, brick, &taken, units);
    const bool wet = s->cells.store->wet(&s->cells, brick);
    if (!wrong && wet != (s->cells.pool.wet[brick] != 0)) wrong = broken("brick %d is noted as %s", brick, wet ? "dry" : "wet");
    if (!wrong && (b->queued || (b->joins && s->flood.count == 0) ||
                   (b->worked && (s->stage == STAGE_BEGIN || !b->active || (!b->page && (s->stage > STAGE_WORK || b->done))))))
        wrong = broken("brick %d is still listed", brick);
    if (!wrong && b->done && (s->stage != STAGE_WORK || !b->worked))
        wrong = broken("brick %d is done and not worked on", brick);
    return wrong;
}

// Adds what fits into some cells of a layer, and for the top one its partly solid cells by their share.
static void count_cells(const settle_brick *brick, int32_t y, uint64_t cells, settle_body *sum, settle_histogram *partly)
{
    for (int32_t bit = 0; bit < 64; bit++) {
        if (!(cells >> bit & 1)) continue;
        const int32_t cell = cell_of(y & 7, bit), share = brick->shares ? brick->shares[cell] : 0;
        if (y < sum->top) {
            sum->base += cell_capacity(brick, cell);
            continue;
        }
        sum->room += cell_capacity(brick, cell);
        sum->area++;
        if (share > 0) sum->partly++, partly->count[share]++;
    }
}

// What is known of a body, counted again.
static const char *validate_body(const settle *s, int32_t body)
{
    const settle_body *b = body_at(s, body);
    settle_body count = {.top = b->top};
    settle_histogram partly = {{0}};
    int32_t nodes = 0;
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next, nodes++) {
            const settle_node *node = node_at(s, n);
            const int32_t bottom = 8 * s->cells.pool.coord[node->brick].y;
            if (node->body != body || node->list != list) return broken("node %d is not where it is listed", n);
            if ((bottom >> 3 == b->top >> 3) != (list == LIST_SURFACE)) return broken("node %d is in the wrong list", n);
            for (int32_t y = 0; y < 8; y++) {
                if (node->cells.layer[y] && bottom + y > b->top) return broken("body %d has cells above its top layer", body);
                count_cells(&s->bricks[node->brick], bottom + y, node->cells.layer[y], &count, &partly);
            }
        }
    }
    if (nodes != b->nodes || nodes == 0) return broken("body %d has %d nodes and counts %d", body, nodes, b->nodes);
    if (count.base != b->base || count.room != b->room || count.area != b->area || count.partly != b->partly)
        return broken("body %d has counted wrongly what fits into it", body);
    if (b->histogram && memcmp(histogram_of(s, b), partly.count, sizeof partly) != 0)
        return broken("body %d has counted wrongly how much of its cells is solid", body);
    if (b->partly > 0 && !b->histogram) return broken("body %d has not counted how much of its cells is solid", body);
    if (!(s->liquids >> b->material & 1) || b->material == WEIR_NOTHING)
        return broken("body %d is of a material %d", body, b->material);
    if (b->volume < 0) return broken("body %d holds %lld units", body, (long long)b->volume);
    for (int32_t o = b->outlet; o; o = outlet_at(s, o)->next) {
        const settle_outlet *outlet = outlet_at(s, o);
        if (outlet->body != body || s->bricks[outlet->brick].active) return broken("outlet %d is not where it is listed", o);
        if (outlet->up < b->least_up || outlet->down > b->most_down) return broken("body %d overlooks outlet %d", body, o);
    }
    return NULL;
}

// The bricks of the generation under way: those that are done lie before the cursor, and the others there are listed to be done again.
static const char *validate_generation(const settle *s)
{
    int32_t redo = 0;
    if (s->stage == STAGE_BEGIN)
        return s->work_count || s->redo_count || s->levels.body || s->levels.round
                   ? broken("a generation has ended and has bricks")
                   : NULL;
    if (s->work_count > s->active_count || s->cursor > s->work_count) return broken("the generation has come too far");
    for (int32_t i = 0; i < s->work_count && s->stage == STAGE_WORK; i++) {
        const settle_brick *b = &s->bricks[s->active[i]];
        if (!b->worked || (b->done && i >= s->cursor)) return broken("brick %d is done too early", s->active[i]);
        redo += i < s->cursor && !b->done;
    }
    const settle_levels *l = &s->levels;
    if (l->due > s->changed_count || (l->due > 0 && !l->body) || (l->body && !body_at(s, l->body)->used))
        return broken("body %d is being levelled, and then %d of %d", l->body, l->due, s->changed_count);
    return redo == s->redo_count ? NULL : broken("%d bricks are to be done again and %d listed", redo, s->redo_count);
}

static const char *validate_lists(const settle *s)
{
    int32_t active = 0;
    // Where there was no memory for larger tables, the last bricks are not in them.
    for (int32_t b = 1; b < s->cells.pool.end && b < s->brick_room; b++)
        active += s->cells.pool.alive[b] && s->bricks[b].active;
    for (int32_t i = 0; i < s->active_count; i++) {
        const int32_t brick = s->active[i];
        const bool rests = brick == 0 && s->stage == STAGE_REST && i < s->cursor;
        active += rests;
        if (!rests && !s->bricks[brick].active) return broken("brick %d is listed and not active", brick);
    }
    if (active != s->active_count) return broken("%d bricks are active and %d listed", active, s->active_count);
    return validate_generation(s);
}

const char *settle_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here)
{
    (void)cells_only, (void)all_here;
    const settle *s = state;
    const brick_pool *pool = &s->cells.pool;
    int64_t units[WEIR_MATERIAL_MAX] = {0};
    const char *wrong = bricks_validate(pool);
    if (!wrong) wrong = deaths_validate(&s->cells.deaths, pool);
    for (int32_t b = 1; b < pool->end && !wrong; b++)
        if (pool->alive[b] && b < s->brick_room) wrong = validate_brick(s, b, units);
    if (!wrong) wrong = validate_lists(s);
    for (int32_t body = 1; body < s->bodies.end && !wrong; body++) {
        if (!body_at(s, body)->used) continue;
        wrong = validate_body(s, body);
        units[body_at(s, body)->material] += body_at(s, body)->volume;
    }
    for (int32_t i = 0; i < WEIR_MATERIAL_MAX; i++) held[i] += units[i] * SETTLE_UNIT;
    return wrong;
}
