// Emitters and drains: water that comes and goes in every update, exact to the drop in the long run.
//
// A source owes `rate` more with every update, in 1/65536 drops; the whole drops are moved, the rest stays owed. They are
// spread evenly: every cell of the box takes the same number, or as much as it can if that is less. That number, the level, is
// the largest with
//
//     sum over cells of min(capacity, level) <= drops
//
// and what is then left, less than one drop per cell, goes to the first cells in coordinate order of bricks and, in a brick, of
// cells. All of it is whole numbers and coordinates, so the order of bricks in the pool changes nothing.
#include "world/region.h"
#include "world/world.h"

// What a cell can take in or give away.
static int32_t capacity(const world_source *source, int32_t mass)
{
    if (source->kind == SOURCE_DRAIN) return mass;
    return mass < WEIR_FULL ? WEIR_FULL - mass : 0;
}

// What the cells move at a level; *more gets how many could move another drop.
static int64_t moved_at(const brick_pool *pool, const world_source *source, int64_t level, int64_t *more)
{
    int64_t sum = 0;
    *more = 0;
    brick_mask cells;
    region_walk walk = region_walk_live(pool, source->box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_box_mask(source->box, pool->coord[brick], &cells)) continue;
        bricks_read(pool, brick);
        const int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = cells.plane[z] & pool->open[brick].plane[z]; left;) {
                int32_t most = capacity(source, mass[region_take(&left) + 64 * z]);
                sum += most < level ? most : level;
                *more += most > level;
            }
        }
    }
    return sum;
}

// The level for a number of drops; *rest gets the drops that are left over, fewer than cells that could move another one.
static int64_t find_level(const brick_pool *pool, const world_source *source, int64_t drops, int64_t *rest)
{
    int64_t cells, more;
    moved_at(pool, source, 0, &cells);
    *rest = 0;
    if (cells == 0) return 0;
    if (moved_at(pool, source, INT32_MAX, &more) <= drops) return INT32_MAX;

    // Enough for every cell to get its even part, not enough for all to get all they can; often the even part is the answer.
    int64_t low = drops / cells, high = INT32_MAX, probe = low + 1;
    while (high - low > 1) {
        if (moved_at(pool, source, probe, &more) <= drops)
            low = probe;
        else
            high = probe;
        probe = low + (high - low) / 2;
    }
    *rest = drops - moved_at(pool, source, low, &more);
    return low;
}

static void move(weir_world *world, const world_source *source, int64_t drops)
{
    brick_pool *pool = &world->bricks;
    region_bring(pool, source->box);
    int64_t rest;
    int64_t level = find_level(pool, source, drops, &rest);
    int32_t sign = source->kind == SOURCE_DRAIN ? -1 : 1;
    brick_mask cells;
    region_walk walk = region_walk_ordered(pool, source->box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_box_mask(source->box, pool->coord[brick], &cells)) continue;
        bricks_write(pool, brick);
        int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
        int64_t moved = 0;
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = cells.plane[z] & pool->open[brick].plane[z]; left;) {
                int32_t cell = region_take(&left) + 64 * z;
                int32_t most = capacity(source, mass[cell]);
                int32_t part = most < level ? most : (int32_t)level;
                if (most > level && rest > 0) part++, rest--;
                mass[cell] += sign * part;
                moved += part;
            }
        }
        if (moved == 0) continue;
        if (source->kind == SOURCE_DRAIN)
            world->removed += moved;
        else
            world->added += moved;
        world_count_brick(pool, brick);
        pool->changed[brick] = world->change;
    }
}

weir_status world_reserve_sources(weir_world *world)
{
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *source = &world->sources[i];
        if (source->kind != SOURCE_EMITTER || (source->owed + source->rate) >> 16 == 0) continue;
        weir_status status = world_touch(world, source->box);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

void world_apply_sources(weir_world *world)
{
    for (int32_t i = 0; i < world->source_count; i++) {
        world_source *source = &world->sources[i];
        if (source->kind == SOURCE_FORCE) continue;
        int64_t owed = source->owed + source->rate;
        source->owed = owed & 0xffff;
        if (owed >> 16 > 0) move(world, source, owed >> 16);
    }
}
