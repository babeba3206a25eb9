// The kernel of a game's rule, behind its text: loads the tiles that the rule sees and calls its function CELL for every cell.
//
// SEES holds the bits of weir_sees, CHANNELS the number of the rule's own channels, USER_WORDS the size of *user in words.

#define SEES_FILL (SEES & 1)
#define SEES_FLOW (SEES >> 1 & 1)
#define SEES_PRESSURE (SEES >> 2 & 1)
#define SEES_OPEN (SEES >> 3 & 1)
#define SEES_MOVED (SEES >> 4 & 1)
#define TILES (SEES_FILL + 3 * SEES_FLOW + SEES_PRESSURE + SEES_OPEN + 4 * SEES_MOVED + CHANNELS)

typedef struct rule_user {
    int word[USER_WORDS > 0 ? USER_WORDS : 1];
} rule_user;

#define FILL_IN(cell) ((float)masses[cell] * RULE_DROP)
#define VALUE_IN(cell) values[cell]

inline weir_tile load_fill_tile(local float *tile, local const int *near_here, global const int *masses)
{
    LOAD_TILE(tile, 1, 1, FILL_IN)
    return tile;
}

inline weir_tile load_tile(local float *tile, local const int *near_here, global const float *values)
{
    LOAD_TILE(tile, 1, 1, VALUE_IN)
    return tile;
}

inline weir_tile load_open_tile(local float *tile, local const int *near_here, global const uint *open)
{
    LOAD_FLAGS(tile, 1, 1, open)
    return tile;
}

GROUP_KERNEL void game_rule(global const int *list, global const int *near, global const uint *open, global const int *coords,
                            global const int *mass, global const int *mass_before, global const float *flow_x,
                            global const float *flow_y, global const float *flow_z, global const float *moved_x,
                            global const float *moved_y, global const float *moved_z, global const float *pressure,
                            global const float *old_0, global const float *old_1, global const float *old_2,
                            global const float *old_3, global float *new_0, global float *new_1, global float *new_2,
                            global float *new_3, rule_user user, long update)
{
    local int near_here[27];
    local float tiles[TILES > 0 ? TILES : 1][TILE_CELLS(1, 1)];
    local float (*next)[TILE_CELLS(1, 1)] = tiles;
    const int brick = list[get_group_id(0)], first = brick * BRICK_CELLS;
    load_near(near_here, near, brick);

    weir_rule_brick view = {{coords[3 * brick] * 8, coords[3 * brick + 1] * 8, coords[3 * brick + 2] * 8}, update};
    if (SEES_FILL) view.fill = load_fill_tile(*next++, near_here, mass);
    if (SEES_FLOW) {
        view.flow_x = load_tile(*next++, near_here, flow_x);
        view.flow_y = load_tile(*next++, near_here, flow_y);
        view.flow_z = load_tile(*next++, near_here, flow_z);
    }
    if (SEES_PRESSURE) view.pressure = load_tile(*next++, near_here, pressure);
    if (SEES_OPEN) view.open = load_open_tile(*next++, near_here, open);
    if (SEES_MOVED) {
        view.fill_before = load_fill_tile(*next++, near_here, mass_before);
        view.moved_x = load_tile(*next++, near_here, moved_x);
        view.moved_y = load_tile(*next++, near_here, moved_y);
        view.moved_z = load_tile(*next++, near_here, moved_z);
    }
    global const float *from[4] = {old_0, old_1, old_2, old_3};
    global float *to[4] = {new_0, new_1, new_2, new_3};
    for (int c = 0; c < CHANNELS; c++) {
        view.old_values[c] = load_tile(*next++, near_here, from[c]);
        view.new_values[c] = to[c] + first;
    }
    SYNC;
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        for (int c = 0; c < CHANNELS; c++) view.new_values[c][cell] = view.old_values[c][WEIR_TILE_INDEX(x, y, z)];
        CELL(&view, (const void *)&user, x, y, z);
    }
}
