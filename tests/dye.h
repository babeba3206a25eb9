// A rule of a game's own, to copy from: dye that the water carries along, and that fades.
//
// Its one channel is the concentration of dye in a cell's water, 0 (clear) to 1. Water that crosses a face takes with it the
// concentration of the cell it leaves, so after an update a cell's dye is
//
//     fill' c' = (fill - out) c  +  sum over faces of  in * (c of the neighbour behind that face)
//
// where in and out are what crossed the cell's faces. `out` never exceeds `fill`: c' is a mean of old concentrations, and stays
// between the smallest and the largest of them. What one cell gives its neighbour gets, so the sum of fill * c stays the same.
//
//     dye_options options = {.fading = 0.01f};
//     weir_rule_def rule = dye_rule(&options);
//     weir_world_add_rule(world, &rule);
//     weir_world_fill(world, box, WEIR_WATER, 1.0f);
//     weir_world_set_channel(world, box, "dye", 1.0f);
//
// A channel can be set where bricks live: fill first, then dye. Water that is poured into a cell later takes the
// colour that the cell has.
#ifndef WEIR_TESTS_DYE_H
#define WEIR_TESTS_DYE_H

#include <weir/weir.h>

// The law of one cell, compiled here and kept as a text for OpenCL devices.
WEIR_RULE_TEXT(dye_text,

typedef struct dye_options {
    float fading;  // share of the dye that is lost per update, 0 (never) to 1
} dye_options;

// Adds to the dye in a cell what came through one of its faces. `moved` is the fill that crossed it, positive into the cell.
static inline float dye_through(float moved, float own, float neighbour)
{
    return moved * (moved > 0.0f ? neighbour : own);
}

// Reads tiles, which have a rim of one cell around the brick, and writes only new_values. Neighbours in a tile are 1, 10 and 100 places
// away.
static inline void dye_cell(const weir_rule_brick *brick, const dye_options *options, int i, int j, int k)
{
    weir_tile c = brick->old_values[0];
    weir_tile x = brick->moved_x, y = brick->moved_y, z = brick->moved_z;  // through the face towards x-1, y-1, z-1
    int32_t t = WEIR_TILE_INDEX(i, j, k);
    float dye = brick->fill_before[t] * c[t];
    dye += dye_through(x[t], c[t], c[t - 1]) + dye_through(-x[t + 1], c[t], c[t + 1]);
    dye += dye_through(y[t], c[t], c[t - 10]) + dye_through(-y[t + 10], c[t], c[t + 10]);
    dye += dye_through(z[t], c[t], c[t - 100]) + dye_through(-z[t + 100], c[t], c[t + 100]);

    float concentration = brick->fill[t] > 0.0f ? dye / brick->fill[t] : 0.0f;
    if (!(concentration > 0.0f)) concentration = 0.0f;  // rounding may leave [0, 1] by a hair
    if (concentration > 1.0f) concentration = 1.0f;
    brick->new_values[0][WEIR_BRICK_INDEX(i, j, k)] = concentration * (1.0f - options->fading);
}
)

// Called once per live brick and update, on several threads at once.
static inline void dye_run(const weir_rule_brick *brick, void *user)
{
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 8; i++) dye_cell(brick, (const dye_options *)user, i, j, k);
}

// The rule runs when mass has moved, the only place where it can see what crossed each face. Weir copies the definition;
// `options` must live as long as the world.
static inline weir_rule_def dye_rule(dye_options *options)
{
    return (weir_rule_def){
        .name = "dye",
        .place = WEIR_PLACE_AFTER_MOVE,
        .sees = WEIR_SEES_FILL | WEIR_SEES_MOVED,
        .channel_count = 1,
        .channels = {"dye"},
        .run = dye_run,
        .user = options,
        .device_text = dye_text,
        .device_cell = "dye_cell",
        .user_bytes = sizeof *options,
    };
}

#endif
