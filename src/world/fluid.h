// The fluid of a world as everybody but its solver sees it: which bricks there are, and what is in their cells.
//
// A view points into the solver's tables and is good until the world changes. Values come without a copy where the solver has them in the
// form that is asked for, as whole drops or as floats in arrays of 512 per brick; otherwise the solver writes them where the reader has room.
#ifndef WEIR_WORLD_FLUID_H
#define WEIR_WORLD_FLUID_H

#include "world/brick.h"
#include "world/coord_table.h"
#include <string.h>

typedef enum fluid_part {
    FLUID_DROPS,   // int32_t
    FLUID_FLOW_X,  // float: through the face towards x - 1; positive moves fluid towards +x
    FLUID_FLOW_Y,
    FLUID_FLOW_Z,
    FLUID_PRESSURE,     // float
    FLUID_TEMPERATURE,  // float: K
    FLUID_PARTS
} fluid_part;

typedef struct fluid_view fluid_view;

struct fluid_view {
    // The bricks by index, 0 being the nothing. Their order is an accident.
    int32_t end, live;  // one past the last index, and how many are there
    const weir_coord *coord;
    const int32_t (*near)[27];
    const brick_mask *open;
    const uint8_t *alive, *wet;  // 1: it is there; it holds fluid
    const int64_t *changed;      // number of the change that made it or last touched its fluid or terrain
    int32_t *slot;               // where to find them by coordinate: coord_table.h
    uint32_t slot_mask;
    // Bricks that ended and are not there now, each once, with indices from 1 on and in any order; among them may be entries with the
    // number 0, which stand for nothing. NULL: the solver does not keep them, and weir_world_changed never tells of one that is gone.
    const weir_coord *gone;
    const int64_t *gone_change;  // number of the change in which it ended; 0: it came back
    int32_t gone_end;
    int64_t gone_forgotten;  // number of the last change of which some may be missing here; 0: none are

    weir_material material;  // of all of it, unless read_materials tells
    // Writes the materials of some cells of a brick; what it writes of dry ones means nothing. NULL: all of the fluid is of one. Called from
    // several threads at once.
    void (*read_materials)(const fluid_view *view, int32_t brick, int32_t first, int32_t count, uint8_t *materials);
    // Writes the drops of a material that some cells of a brick hold; read_materials then tells that of which there is most. NULL: a cell is
    // of one material. Called from several threads at once.
    void (*read_amounts)(const fluid_view *view, int32_t brick, weir_material material, int32_t first, int32_t count,
                         int32_t *drops);
    // Writes the heat of a brick's cells, in units of WEIR_HEAT; NULL: there is none.
    void (*read_heat)(const fluid_view *view, int32_t brick, int32_t *heat);
    float speed;                      // cells per update that a flow of 1 moves
    const void *direct[FLUID_PARTS];  // 512 values per brick, where the state has that form
    // Writes what has another form; NULL: it is 0 everywhere. Called from several threads at once.
    void (*read)(const fluid_view *view, fluid_part part, int32_t brick, int32_t first, int32_t count, void *values);
    // With a threshold of what counts as a change (weir_world_def.change_threshold): the drops of a brick's 512 cells as they were when it
    // last counted. Meshes are made of these, so that those of bricks side by side fit although some have drifted. NULL: as they are.
    void (*read_reported)(const fluid_view *view, int32_t brick, int32_t *drops);
    // Drops of a material that there are besides those in cells, or less than none; NULL: there are none.
    int64_t (*owed)(const fluid_view *view, weir_material material);
    // Fetches the values of bricks that a device has, before they are read; NULL: they are here.
    void (*fetch)(const fluid_view *view, const int32_t *bricks, int32_t count);
    const void *owner;  // of the solver's
};

enum { FLUID_SHARES = WEIR_MATERIAL_MAX - 1 };

typedef struct fluid_share {
    weir_material material;
    int32_t drops[BRICK_CELLS];
} fluid_share;

// The fluid of a brick on its way into a world.
typedef struct fluid_brick {
    weir_coord at;                   // brick coordinates
    weir_material material;          // WEIR_NOTHING: it is dry
    uint8_t materials[BRICK_CELLS];  // 0 in dry cells
    bool flows;                      // its flow is told; otherwise the faces keep what they have
    int32_t drops[BRICK_CELLS];
    float flow[3][BRICK_CELLS];  // through low faces, cells per update
    // Of a world whose cells hold several materials: how much of each they do, which together is `drops`, and their heat in units of
    // WEIR_HEAT. 0: each cell is of one.
    int32_t shares;
    fluid_share share[FLUID_SHARES];
    int32_t heat[BRICK_CELLS];
} fluid_brick;

// Gets one after the other; false when there are no more.
typedef bool fluid_next_brick(void *source, fluid_brick *brick);

// The brick at a brick coordinate, or BRICK_NOTHING.
static inline int32_t fluid_find(const fluid_view *view, weir_coord coord)
{
    return view->slot ? *coord_slot(view->slot, view->slot_mask, view->coord, coord) : BRICK_NOTHING;
}

// `count` values of a part from a cell of a brick on, in the state itself or in `room`.
static inline const void *fluid_values(const fluid_view *view, fluid_part part, int32_t brick, int32_t first, int32_t count,
                                       void *room)
{
    if (view->direct[part]) return (const char *)view->direct[part] + 4 * ((size_t)brick * BRICK_CELLS + (size_t)first);
    if (view->read && brick != BRICK_NOTHING)
        view->read(view, part, brick, first, count, room);
    else
        memset(room, 0, 4 * (size_t)count);
    return room;
}

// The drops of a brick's 512 cells.
static inline const int32_t *fluid_drops(const fluid_view *view, int32_t brick, int32_t room[BRICK_CELLS])
{
    return fluid_values(view, FLUID_DROPS, brick, 0, BRICK_CELLS, room);
}

// The same as they were when the brick last counted as changed.
static inline const int32_t *fluid_reported_drops(const fluid_view *view, int32_t brick, int32_t room[BRICK_CELLS])
{
    if (!view->read_reported) return fluid_drops(view, brick, room);
    view->read_reported(view, brick, room);
    return room;
}

static inline int32_t fluid_drops_at(const fluid_view *view, int32_t brick, int32_t cell)
{
    int32_t room;
    return *(const int32_t *)fluid_values(view, FLUID_DROPS, brick, cell, 1, &room);
}

// The materials of `count` cells of a brick; those of dry ones mean nothing.
static inline void fluid_materials(const fluid_view *view, int32_t brick, int32_t first, int32_t count, uint8_t *materials)
{
    if (view->read_materials && brick != BRICK_NOTHING)
        view->read_materials(view, brick, first, count, materials);
    else
        memset(materials, view->material, (size_t)count);
}

static inline weir_material fluid_material_at(const fluid_view *view, int32_t brick, int32_t cell)
{
    uint8_t material;
    fluid_materials(view, brick, cell, 1, &material);
    return material;
}

// The drops of a material in `count` cells of a brick.
static inline void fluid_amounts(const fluid_view *view, int32_t brick, weir_material material, int32_t first, int32_t count,
                                 int32_t *drops)
{
    uint8_t materials[BRICK_CELLS];
    int32_t room[BRICK_CELLS];
    if (view->read_amounts && brick != BRICK_NOTHING) {
        view->read_amounts(view, brick, material, first, count, drops);
        return;
    }
    const int32_t *all = fluid_values(view, FLUID_DROPS, brick, first, count, room);
    fluid_materials(view, brick, first, count, materials);
    for (int32_t i = 0; i < count; i++) drops[i] = materials[i] == material ? all[i] : 0;
}

static inline float fluid_pressure_at(const fluid_view *view, int32_t brick, int32_t cell)
{
    float room;
    return *(const float *)fluid_values(view, FLUID_PRESSURE, brick, cell, 1, &room);
}

// The next cell towards an axis (0 x, 1 y, 2 z) and side (-1, +1): its brick, which may be the nothing, and its index there.
static inline int32_t fluid_step(const int32_t (*near)[27], int32_t brick, int32_t cell, int32_t axis, int32_t side,
                                 int32_t *next)
{
    int32_t stride = 1 << (3 * axis);
    int32_t place = cell >> (3 * axis) & 7;
    if (place + side >= 0 && place + side < BRICK_EDGE) {
        *next = cell + side * stride;
        return brick;
    }
    static const int32_t near_step[3] = {NEAR(1, 0, 0) - BRICK_SELF, NEAR(0, 1, 0) - BRICK_SELF, NEAR(0, 0, 1) - BRICK_SELF};
    *next = cell - 7 * side * stride;
    return near[brick][BRICK_SELF + side * near_step[axis]];
}

// The flow of a cell along an axis, in cells per update: the mean of that through its opposite faces, of which the upper one belongs to
// the next cell.
static inline float fluid_flow_at(const fluid_view *view, int32_t brick, int32_t cell, int32_t axis)
{
    const fluid_part part = (fluid_part)(FLUID_FLOW_X + axis);
    float room[2];
    int32_t next, there = fluid_step(view->near, brick, cell, axis, 1, &next);
    float low = *(const float *)fluid_values(view, part, brick, cell, 1, &room[0]);
    float high = *(const float *)fluid_values(view, part, there, next, 1, &room[1]);
    return 0.5f * (low + high) * view->speed;
}

static inline void fluid_fetch(const fluid_view *view, const int32_t *bricks, int32_t count)
{
    if (view->fetch && count > 0) view->fetch(view, bricks, count);
}

#endif
