// Queries over a box that fill an array: x fastest, then y, then z. Like all queries they read the finished state, ask for no memory
// and change nothing. Values are copied row by row of a brick, up to 8 cells at a time.
#include "world/region.h"
#include "world/solver.h"

#include <assert.h>
#include <string.h>

static const float PER_DROP = 1.0f / WEIR_FULL;

// Copies `count` cells of a brick's row, from `cell` on.
typedef void read_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count, void *to);

static weir_status check_box(weir_box box, size_t cell_bytes)
{
    if (box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z) {
        return status_fail(WEIR_ERROR_ARGUMENT, "the box (%d, %d, %d) to (%d, %d, %d) holds no cell; min must be below max",
                           box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    }
    if (region_volume(box) > (double)(SIZE_MAX / cell_bytes))
        return status_fail(WEIR_ERROR_LIMIT, "the box has %.0f cells, more than an array can hold", region_volume(box));
    return WEIR_OK;
}

// The part of a box that lies in a brick.
static weir_box part_in(weir_box box, weir_coord brick)
{
    weir_coord o = {8 * brick.x, 8 * brick.y, 8 * brick.z};
    return (weir_box){
        {region_clamp(box.min.x, o.x, o.x + 8), region_clamp(box.min.y, o.y, o.y + 8), region_clamp(box.min.z, o.z, o.z + 8)},
        {region_clamp(box.max.x, o.x, o.x + 8), region_clamp(box.max.y, o.y, o.y + 8), region_clamp(box.max.z, o.z, o.z + 8)}};
}

// The fluid with what lies in the box here, and the bricks that have the upper faces of its last cells.
static fluid_view fetch_box(const weir_world *world, weir_box box)
{
    fluid_view view = world_fluid(world);
    box.max = (weir_coord){box.max.x + 1, box.max.y + 1, box.max.z + 1};
    region_fetch(&view, box);
    return world_check_query(world) ? view : world_fluid(world);
}

static weir_status read_live(const weir_world *world, weir_box box, size_t cell_bytes, read_row *read, weir_material material,
                             void *values)
{
    weir_status status = check_box(box, cell_bytes);
    if (status != WEIR_OK) return status;
    memset(values, 0, (size_t)region_volume(box) * cell_bytes);
    weir_box inside = box;
    if (!world_clip(world, &inside)) return WEIR_OK;
    const fluid_view view = fetch_box(world, inside);
    if (world->values_lost) return world_lost(world);

    region_walk walk = region_walk_live(&view, inside);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        weir_box part = part_in(inside, view.coord[brick]);
        for (int32_t z = part.min.z; z < part.max.z; z++) {
            for (int32_t y = part.min.y; y < part.max.y; y++) {
                char *to = (char *)values + cell_bytes * region_index(box, (weir_coord){part.min.x, y, z});
                read(&view, material, brick, cell_index((weir_coord){part.min.x, y, z}), part.max.x - part.min.x, to);
            }
        }
    }
    return WEIR_OK;
}

// ---- One reader per value --------------------------------------------------------------------------------------------------

static void read_fill_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count, void *to)
{
    (void)material;
    float *fill = to;
    int32_t room[BRICK_EDGE];
    const int32_t *mass = fluid_values(view, FLUID_DROPS, brick, cell, count, room);
    for (int32_t i = 0; i < count; i++) fill[i] = (float)mass[i] * PER_DROP;
}

static void read_pressure_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count,
                              void *to)
{
    (void)material;
    float room[BRICK_EDGE];
    memcpy(to, fluid_values(view, FLUID_PRESSURE, brick, cell, count, room), (size_t)count * sizeof(float));
}

static void read_flow_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count, void *to)
{
    (void)material;
    float *flow = to;
    for (int32_t axis = 0; axis < 3; axis++)
        for (int32_t i = 0; i < count; i++) flow[3 * i + axis] = fluid_flow_at(view, brick, cell + i, axis);
}

static void read_material_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count,
                              void *to)
{
    (void)material;
    int32_t room[BRICK_EDGE];
    const int32_t *mass = fluid_values(view, FLUID_DROPS, brick, cell, count, room);
    fluid_materials(view, brick, cell, count, to);
    for (int32_t i = 0; i < count; i++)
        if (mass[i] == 0) ((uint8_t *)to)[i] = WEIR_NOTHING;
}

static void read_amounts_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count,
                             void *to)
{
    float *fill = to;
    int32_t drops[BRICK_EDGE];
    fluid_amounts(view, brick, material, cell, count, drops);
    for (int32_t i = 0; i < count; i++) fill[i] = (float)drops[i] * PER_DROP;
}

static void read_temperature_row(const fluid_view *view, weir_material material, int32_t brick, int32_t cell, int32_t count,
                                 void *to)
{
    (void)material;
    float room[BRICK_EDGE];
    memcpy(to, fluid_values(view, FLUID_TEMPERATURE, brick, cell, count, room), (size_t)count * sizeof(float));
}

weir_status weir_world_read_amounts(const weir_world *world, weir_box box, weir_material material, float *fill)
{
    assert(fill);
    if (material > WEIR_NOTHING && material < world->material_count)
        return read_live(world, box, sizeof *fill, read_amounts_row, material, fill);
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no material %d in this world; the last is %d, %s", material,
                       world->material_count - 1, world->materials[world->material_count - 1].name);
}

weir_status weir_world_read_temperature(const weir_world *world, weir_box box, float *temperature)
{
    assert(temperature);
    return read_live(world, box, sizeof *temperature, read_temperature_row, WEIR_NOTHING, temperature);
}

weir_status weir_world_read_material(const weir_world *world, weir_box box, uint8_t *materials)
{
    assert(materials);
    return read_live(world, box, sizeof *materials, read_material_row, WEIR_NOTHING, materials);
}

weir_status weir_world_read_fill(const weir_world *world, weir_box box, float *fill)
{
    assert(fill);
    return read_live(world, box, sizeof *fill, read_fill_row, WEIR_NOTHING, fill);
}

weir_status weir_world_read_flow(const weir_world *world, weir_box box, weir_vec *flow)
{
    assert(flow);
    return read_live(world, box, sizeof *flow, read_flow_row, WEIR_NOTHING, flow);
}

weir_status weir_world_read_pressure(const weir_world *world, weir_box box, float *pressure)
{
    assert(pressure);
    return read_live(world, box, sizeof *pressure, read_pressure_row, WEIR_NOTHING, pressure);
}

weir_status weir_world_read_terrain(const weir_world *world, weir_box box, uint8_t *shares)
{
    assert(shares);
    weir_status status = check_box(box, 1);
    if (status != WEIR_OK) return status;
    memset(shares, 255, (size_t)region_volume(box));
    weir_box inside = box;
    if (!world_clip(world, &inside)) return WEIR_OK;

    uint8_t of_brick[BRICK_CELLS];
    weir_box bricks = region_bricks(inside);
    for (int32_t bz = bricks.min.z; bz < bricks.max.z; bz++) {
        for (int32_t by = bricks.min.y; by < bricks.max.y; by++) {
            for (int32_t bx = bricks.min.x; bx < bricks.max.x; bx++) {
                weir_box part = part_in(inside, (weir_coord){bx, by, bz});
                terrain_shares(&world->terrain, (weir_coord){bx, by, bz}, of_brick);
                for (int32_t z = part.min.z; z < part.max.z; z++)
                    for (int32_t y = part.min.y; y < part.max.y; y++)
                        memcpy(shares + region_index(box, (weir_coord){part.min.x, y, z}),
                               of_brick + cell_index((weir_coord){part.min.x, y, z}), (size_t)(part.max.x - part.min.x));
            }
        }
    }
    return WEIR_OK;
}

// ---- Where there is anything -----------------------------------------------------------------------------------------------

static void include_brick(weir_box *box, weir_coord brick, bool *any)
{
    weir_coord o = {8 * brick.x, 8 * brick.y, 8 * brick.z};
    if (!*any) *box = (weir_box){o, o};
    *any = true;
    if (o.x < box->min.x) box->min.x = o.x;
    if (o.y < box->min.y) box->min.y = o.y;
    if (o.z < box->min.z) box->min.z = o.z;
    if (o.x + 8 > box->max.x) box->max.x = o.x + 8;
    if (o.y + 8 > box->max.y) box->max.y = o.y + 8;
    if (o.z + 8 > box->max.z) box->max.z = o.z + 8;
}

bool weir_world_extent(const weir_world *world, weir_box *box)
{
    assert(box);
    const fluid_view view = world_fluid(world);
    const terrain *t = &world->terrain;
    bool any = false;
    *box = (weir_box){{0, 0, 0}, {0, 0, 0}};
    for (int32_t b = 1; b < view.end; b++)
        if (view.alive[b] && view.wet[b]) include_brick(box, view.coord[b], &any);
    for (int32_t i = 0; i < t->slot_count; i++)
        if (t->slot[i].used) include_brick(box, t->slot[i].coord, &any);
    return any && world_clip(world, box);
}
