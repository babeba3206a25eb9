// Tiles in local memory: the values of a brick and of the cells around it, so that a neighbour is a constant offset.
//
// One work-group of GROUP work-items works on one brick. A channel is one array over all bricks, 512 cells each, cell index
// x + 8y + 64z; brick 0 stands for what is not there, is solid and holds zeros. near holds 27 neighbours per brick, index
// (dx+1) + 3(dy+1) + 9(dz+1). Masks are 16 words per brick: bit (x + 8y) & 31 of word 2z + (y >> 2).

#define BRICK_CELLS 512
#define SELF 13

// Runs over `count` items with all work-items of the group.
#define EACH(i, count) for (int i = (int)get_local_id(0); i < (count); i += GROUP)
// What one work-item does for all. A loop, because PoCL 3.1 loses a plain `if` on the work-item's number behind the last barrier.
#define ONCE _Pragma("unroll 1") EACH(once, 1)
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)

// Sets bits of a flag in local memory that all work-items share; most find them set already.
#define RAISE(flag, bits)                                              \
    do {                                                               \
        if (((flag) & (bits)) != (bits)) atomic_or(&(flag), bits);     \
    } while (0)

// The brick's 27 neighbours into local memory. Ends with a barrier.
inline void load_near(local int *near_here, global const int *near, int brick)
{
    EACH(i, 27) near_here[i] = near[27 * brick + i];
    SYNC;
}

// Where the cell (x, y, z), each from -8 to 15, lies in a channel.
inline int cell_at(local const int *near_here, int x, int y, int z)
{
    int side = ((x + 8) >> 3) + 3 * ((y + 8) >> 3) + 9 * ((z + 8) >> 3);
    return near_here[side] * BRICK_CELLS + (x & 7) + 8 * (y & 7) + 64 * (z & 7);
}

// Whether a cell is open (or active): 1 or 0.
inline float flag_at(global const uint *masks, local const int *near_here, int x, int y, int z)
{
    int side = ((x + 8) >> 3) + 3 * ((y + 8) >> 3) + 9 * ((z + 8) >> 3);
    uint word = masks[16 * near_here[side] + 2 * (z & 7) + ((y & 7) >> 2)];
    return (float)(int)(word >> ((x & 7) + 8 * (y & 3)) & 1u);
}

// A tile of edge `low` + 8 + `high` in which cell (x, y, z) of the brick lies at AT(low, high, x, y, z).
#define EDGE(low, high) (8 + (low) + (high))
#define AT(low, high, x, y, z) \
    (((x) + (low)) + EDGE(low, high) * (((y) + (low)) + EDGE(low, high) * ((z) + (low))))
#define TILE_CELLS(low, high) (EDGE(low, high) * EDGE(low, high) * EDGE(low, high))

// Fills a tile from a channel, VALUE(cell index) giving the value. No barrier.
#define LOAD_TILE(tile, low, high, VALUE)                                   \
    EACH(load_i, TILE_CELLS(low, high))                                     \
    {                                                                       \
        int load_x = load_i % EDGE(low, high) - (low);                      \
        int load_y = load_i / EDGE(low, high) % EDGE(low, high) - (low);    \
        int load_z = load_i / (EDGE(low, high) * EDGE(low, high)) - (low);  \
        (tile)[load_i] = VALUE(cell_at(near_here, load_x, load_y, load_z)); \
    }

// The same for masks.
#define LOAD_FLAGS(tile, low, high, masks)                                        \
    EACH(load_i, TILE_CELLS(low, high))                                           \
    {                                                                             \
        int load_x = load_i % EDGE(low, high) - (low);                            \
        int load_y = load_i / EDGE(low, high) % EDGE(low, high) - (low);          \
        int load_z = load_i / (EDGE(low, high) * EDGE(low, high)) - (low);        \
        (tile)[load_i] = flag_at(masks, near_here, load_x, load_y, load_z);       \
    }

// ---- Neighbours without a tile ---------------------------------------------------------------------------------------------

// Where the neighbour of a brick's cell lies in a channel, one step (-1 or 1) along an axis; `near` are the brick's own 27.
inline int neighbour_cell(global const int *near, int cell, int axis, int step)
{
    int stride = 1 << 3 * axis;
    int next = (cell >> 3 * axis & 7) + step;
    int side = axis == 0 ? 1 : axis == 1 ? 3 : 9;
    if (next >= 0 && next <= 7) return near[SELF] * BRICK_CELLS + cell + step * stride;
    return near[SELF + step * side] * BRICK_CELLS + cell - 7 * step * stride;
}

// The bit of a mask for a place in a channel: masks go by cells too, 32 to a word.
inline uint bit_at(global const uint *masks, int at)
{
    return masks[at >> 5] >> (at & 31) & 1u;
}

#define GROUP_KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
