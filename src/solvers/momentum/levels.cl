// Kernels of the coarse levels of the pressure (docs/how-it-works.md, section 3); the CPU's are in cpu_levels.h.
//
// A cycle, `top` being the coarsest level:
//
//     restrict_fine                          residual and counts of the awake bricks, to level 1
//     first_down      level = 1              sweeps = smooths
//     level_down      level = 2 .. top-1     the same, after the right side from what is left on the level below
//     level_down      level = top            sweeps = 0
//     level_smooth    level = top            from ERROR to ERROR_NEXT and back, an even number of times
//     level_smooth    level = top-1 .. 2     from ERROR to ERROR_NEXT, with the correction from the level above
//     first_smooth    level = 1              the same
//     correct_fine
//
// coarse_tail does all that from level `first` up, once that level's counts are there, where its cells lie within 8 on each axis. A
// cycle leaves the error of the coarsest level in ERROR and that of the others in ERROR_NEXT; of the levels of the tail only the
// first one's is kept.
//
// Level 1 may have thousands of bricks, and a work-item does a row of 8 cells there. The levels above it have few: they take as long
// as one brick takes, and so a work-item does one cell.
//
// Counts and weights stay from cycle to cycle where the active cells they come from do: stamps tell.
//
// Cells without active fine cells have no links, and an error of exactly 0 whether they are worked on or not: leaving them out
// is a matter of speed.
//
// Here are the way from the live bricks to level 1 and back, and level 1 itself; levels_above.cl has the levels above it,
// levels_tail.cl the last ones together.

inline global float *level_cells(global float *pyramid, const device_level *level, int channel, int brick)
{
    return pyramid + (size_t)(level->first + channel * level->room + brick) * BRICK_CELLS;
}

// A channel of the level that a function is about.
#define CHANNEL(channel) level_cells(pyramid, level, channel, 0)

inline global const int *level_near(const device_level *level, global const int *tree, int brick)
{
    return tree + level->near + 27 * brick;
}

// Where the cells of an octant begin in their parent's brick.
inline int octant_start(int octant)
{
    return 4 * (octant & 1) + 32 * (octant >> 1 & 1) + 256 * (octant >> 2);
}

// The cell of 4 x 4 x 4 with number i, at the stride of a brick. Twice that is the first of the 2 x 2 x 2 cells below it.
#define OCTANT_CELL(i) (((i)&3) + (((i)&12) << 1) + (((i)&48) << 2))

// The channel with the error that a level hands down.
inline int final_error(int level, int top)
{
    return level == top ? DEVICE_ERROR : DEVICE_ERROR_NEXT;
}

// ---- The tree --------------------------------------------------------------------------------------------------------------

// The neighbour n of a brick, found among the children of its parent and of its parent's neighbours.
inline int find_near(global const int *tree, global const device_level *above, int up, int n)
{
    const int x = (up & 1) + n % 3 + 1, y = (up >> 1 & 1) + n / 3 % 3 + 1, z = (up >> 2 & 1) + n / 9 + 1;
    const int parent = tree[above->near + 27 * (up >> 3) + x / 2 + 3 * (y / 2) + 9 * (z / 2)];
    return tree[above->child + 8 * parent + x % 2 + 2 * (y % 2) + 4 * (z % 2)];
}

// When bricks came or went the host tells which brick is whose child. The ways up of the live bricks and the neighbours of
// level 1 follow here. Octants without a child are cleared, as nobody else writes their counts and right side. 64 work-items do one
// of the `bricks` of all levels, each level with its nothing; `levels` is where the table of levels begins.
ROW_KERNEL void grow_tree(global float *pyramid, global int *tree, int levels, int bricks)
{
    global const device_level *live = (global const device_level *)(tree + levels), *level = live + 1;
    int brick = ROW_NUMBER(bricks);
    for (; brick >= level->count; level++) brick -= level->count;
    const bool first = level == live + 1;
    global const int *child = tree + level->child + 8 * brick;
    if (first) {
        const int up = tree[level->up + brick];
        if (ROW < 8 && child[ROW] != 0) tree[live->up + child[ROW]] = 8 * brick + ROW;
        if (ROW < 27) tree[level->near + 27 * brick + ROW] = find_near(tree, level + 1, up, ROW);
    }
    const int channels = first ? DEVICE_FIRST_CHANNELS : DEVICE_LEVEL_CHANNELS;
    global float *cells = pyramid + (size_t)(level->first + brick) * BRICK_CELLS + OCTANT_CELL(ROW);
    for (int octant = 0; octant < 8; octant++)
        for (int c = 0; c < channels && child[octant] == 0; c++)
            cells[(size_t)c * level->room * BRICK_CELLS + octant_start(octant)] = 0.0f;
}

// ---- The counts of level 1 -------------------------------------------------------------------------------------------------

// Where they lie in their word: 3 bits of links, 2 of thickness and 4 of border faces for each axis, and 4 of active cells.
#define LINK_AT(axis) (3 * (axis))
#define THICK_AT(axis) (9 + 2 * (axis))
#define BORDER_AT(axis) (15 + 4 * (axis))
#define COUNT_AT 27
#define LINK_OF(word, axis) ((float)(int)((word) >> LINK_AT(axis) & 7u))
#define THICK_OF(word, axis) ((float)(int)((word) >> THICK_AT(axis) & 3u))
#define BORDER_OF(word, axis) ((float)(int)((word) >> BORDER_AT(axis) & 15u))
#define COUNT_OF(word) ((float)(int)((word) >> COUNT_AT))

inline global uint *count_words(global float *pyramid, const device_level *level, int brick)
{
    return (global uint *)level_cells(pyramid, level, DEVICE_COUNTS, brick);
}

inline void load_words(uint v[8], global const uint *words, int row)
{
    global const uint4 *at = (global const uint4 *)words + 2 * row;
    uint4 low = at[0], high = at[1];
    UNPACK_ROW(v, low, high);
}

// ---- From the live bricks to level 1 ---------------------------------------------------------------------------------------

// A row's part in the counts of its parents, a byte each: the cells themselves, then their links across the parent's low side on x,
// y and z.
inline uint link_bits(bits_around a, int row)
{
    uint across_x = rule_link_faces(a.self, a.x0) & COARSE_EVEN_X;
    uint across_y = row & 1 ? 0u : rule_link_faces(a.self, a.y0), across_z = row & 8 ? 0u : rule_link_faces(a.self, a.z0);
    return a.self | across_x << 8 | across_y << 16 | across_z << 24;
}

// Border faces of its active cells towards lower and higher coordinates.
inline uint border_bits(uint self, uint low, uint high, uint open_low, uint open_high)
{
    return rule_border_faces(self, low, open_low) | rule_border_faces(self, high, open_high) << 8;
}

// The 2 x 2 x 2 cells of a coarse cell gathered from 4 rows of bytes: 8 bits in each byte, x before y before z.
inline uint gather_bits(local const uint *rows, int row, int x)
{
    uint pairs = 0x03030303u;
    return (rows[row] >> 2 * x & pairs) | (rows[row + 1] >> 2 * x & pairs) << 2 | (rows[row + 8] >> 2 * x & pairs) << 4 |
           (rows[row + 9] >> 2 * x & pairs) << 6;
}

#define COUNT_BITS(bits, mask) popcount((bits) & (mask))

// Of 2 x 2 x 2 cells whose halves have these bits.
inline uint thickness(uint bits, uint low, uint high)
{
    return rule_first_thickness((bits & low) != 0u ? 1u : 0u, (bits & high) != 0u ? 1u : 0u);
}

// Sum over the 2 x 2 x 2 cells below a coarse cell, of which `row` is the first row and x the place among 4.
inline float sum_pairs(local const float4 *rows, int row, int x)
{
    local const float2 *pairs = (local const float2 *)rows;
    const float2 r0 = *PAIR_OF(pairs, ROWS, row, x), r1 = *PAIR_OF(pairs, ROWS, row + 1, x);
    const float2 r2 = *PAIR_OF(pairs, ROWS, row + 8, x), r3 = *PAIR_OF(pairs, ROWS, row + 9, x);
    return rule_children(r0.x, r0.y, r1.x, r1.y, r2.x, r2.y, r3.x, r3.y);
}

// 64 work-items per awake brick; to it a cell of the rim is open and not active. In the cycle's statistics 0 becomes the bits of the largest residual: those of floats that are
// not negative are in the order of the floats.
ROW_KERNEL void restrict_fine(global const float *pressure, global const float *divergence, global const uchar *open,
                              global float *pyramid, device_level here, device_level above, global int *tree,
                              global volatile int *tables, device_cycle cycle, int room, int awake)
{
    if (cycle_is_over((global const int *)tables, cycle)) return;
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *active = TABLE(tables, const uchar, DEVICE_ACTIVE(room));
    global const int *stamps = TABLE(tables, const int, DEVICE_STAMPS(room));
    global volatile int *stats = tables + DEVICE_CYCLE_STATS(cycle.index);
    if (get_global_id(0) == 0) stats[DEVICE_RAN] = 1;
    const device_level levels[2] = {here, above};
    local float4 left_rows[GROUP_BRICKS][2 * ROWS];
    local uint links[GROUP_BRICKS][ROWS], borders_xy[GROUP_BRICKS][ROWS], borders_z[GROUP_BRICKS][ROWS];
    local volatile int most;
    ONCE most = 0;
    const device_place place = places[ROW_NUMBER(awake)];
    const rows_around at = look_from(place, ROW);
    const bits_around a = look_at_bits(active, at);
    const bits_around o = look_at_open(open, at, place.clear);
    const int up = tree[levels[0].up + place.brick], stamp = tables[DEVICE_CYCLE_NUMBER];
    const bool changed = cycle.anew || stamped_around(stamps, place, stamp);
    links[SLOT][ROW] = link_bits(a, ROW);
    borders_xy[SLOT][ROW] = border_bits(a.self, a.x0, a.x1, o.x0, o.x1) | border_bits(a.self, a.y0, a.y1, o.y0, o.y1) << 16;
    borders_z[SLOT][ROW] = border_bits(a.self, a.z0, a.z1, o.z0, o.z1);
    float left[8], largest = 0.0f;
    EACH_X left[x] = 0.0f;
    if (a.self != 0u) largest = find_residual(left, pressure, divergence, at, a.self, o, place.clear);
    write_row(left_rows[SLOT], ROWS, ROW, left);
    SYNC;
    if (as_int(largest) > most) atomic_max(&most, as_int(largest));

    const int to = octant_start(up & 7) + OCTANT_CELL(ROW);
    const int x = ROW & 3, row = 2 * (ROW >> 2 & 3) + 16 * (ROW >> 4);  // the first of the four rows below
    if (changed) {
        const uint link = gather_bits(links[SLOT], row, x), border = gather_bits(borders_xy[SLOT], row, x);
        uint word = COUNT_BITS(link, 0xff00u) << LINK_AT(0) | COUNT_BITS(link, 0xff0000u) << LINK_AT(1) |
                    COUNT_BITS(link, 0xff000000u) << LINK_AT(2);
        word |= thickness(link, 0x55u, 0xaau) << THICK_AT(0) | thickness(link, 0x33u, 0xccu) << THICK_AT(1) |
                thickness(link, 0x0fu, 0xf0u) << THICK_AT(2);
        word |= COUNT_BITS(border, 0xffffu) << BORDER_AT(0) | COUNT_BITS(border, 0xffff0000u) << BORDER_AT(1) |
                COUNT_BITS(gather_bits(borders_z[SLOT], row, x), 0xffffu) << BORDER_AT(2);
        count_words(pyramid, levels + 1, up >> 3)[to] = word | COUNT_BITS(link, 0xffu) << COUNT_AT;
        tree[levels[1].stamp + (up >> 3)] = stamp;
    }
    level_cells(pyramid, levels + 1, DEVICE_RIGHT, up >> 3)[to] = sum_pairs(left_rows[SLOT], row, x);
    SYNC;
    ONCE
    {
        if (most > stats[DEVICE_BEGUN]) atomic_max(stats + DEVICE_BEGUN, most);
    }
}

// ---- Level 1 ---------------------------------------------------------------------------------------------------------------

// The brick of a level that a work-item works on, and its row there.
#define LEVEL_BRICK(level) (min((int)get_group_id(0) * GROUP_BRICKS + SLOT + 1, (level)->count - 1))

// The equations of a row of cells: links, right side, 1 over the diagonal; and the error.
typedef struct coarse_row {
    float x_link[9], y_link[8], y_next[8], z_link[8], z_next[8];
    float right[8], inverse[8];
    float e[8], x_low, x_high;
} coarse_row;

inline float row_sum(const coarse_row *r, int x, const float y0[8], const float y1[8], const float z0[8], const float z1[8])
{
    float e_x0 = x > 0 ? r->e[(x + 7) & 7] : r->x_low, e_x1 = x < 7 ? r->e[(x + 1) & 7] : r->x_high;
    return rule_weighted_sum(r->x_link[x], r->x_link[x + 1], r->y_link[x], r->y_next[x], r->z_link[x], r->z_next[x], e_x0, e_x1,
                             y0[x], y1[x], z0[x], z1[x]);
}

// The first sweep on the way down begins with an error of nothing: neighbours add nothing to it.
#define FIRST_SWEEP(right, inverse) rule_coarse_smooth(0.0f, right, 0.0f, inverse)

// One sweep over a row, with the rows beside it from a tile.
inline void sweep_row(coarse_row *r, local const float4 *tile)
{
    const int at = P_AT(ROW & 7, ROW >> 3);
    float y0[8], y1[8], z0[8], z1[8], next[8];
    read_row(y0, tile, P_ROWS, at - 1);
    read_row(y1, tile, P_ROWS, at + 1);
    read_row(z0, tile, P_ROWS, at - 10);
    read_row(z1, tile, P_ROWS, at + 10);
    EACH_X next[x] = rule_coarse_smooth(r->e[x], r->right[x], row_sum(r, x, y0, y1, z0, z1), r->inverse[x]);
    EACH_X r->e[x] = next[x];
}

// Sweeps on one coarse brick with its rim as it is, as smooth_rows of the live bricks: of `to` only its rim matters, and only the
// work-items have the result of the last sweep.
inline void sweep_rows(coarse_row *r, local float4 *from, local float4 *to, int sweeps)
{
    for (int k = 1; k < sweeps; k++) {
        sweep_row(r, from);
        write_row(to, P_ROWS, P_AT(ROW & 7, ROW >> 3), r->e);
        SYNC;
        local float4 *swap = from;
        from = to;
        to = swap;
    }
    if (sweeps > 0) sweep_row(r, from);
}

// A row of links. Where all cells are full the thickness is a power of two, and a product with its inverse is the same.
inline void weigh_row(float out[8], const float faces[8], const float low[8], const float high[8])
{
    uint rest = 0;
    EACH_X rest |= as_uint(rule_apart(low[x], high[x])) & 0x7fffffu;
    if (rest == 0u)
        EACH_X out[x] = rule_link_by_inverse(faces[x], as_float(0x7f000000u - as_uint(rule_apart(low[x], high[x]))));
    else
        EACH_X out[x] = rule_link(faces[x], low[x], high[x]);
}

// A row of border faces: most have none.
inline void border_row(float out[8], const float faces[8], const float thick[8])
{
    float most = 0.0f;
    EACH_X most = rule_max(most, faces[x]);
    EACH_X out[x] = 0.0f;
    if (most > 0.0f) EACH_X out[x] = rule_border(faces[x], thick[x]);
}

// The counts of 2 x 2 x 2 cells: index x + 2y + 4z.
typedef struct cube_counts {
    float link[3][8], border[3][8], thick[3][8], n[8];
} cube_counts;

inline void load_counts(cube_counts *c, global float *pyramid, const device_level *level, int brick, int cell)
{
    global const uint *words = count_words(pyramid, level, brick) + cell;
    for (int k = 0; k < 8; k++) {
        uint word = words[(k & 1) + 8 * (k >> 1 & 1) + 64 * (k >> 2)];
        for (int axis = 0; axis < 3; axis++) {
            c->link[axis][k] = LINK_OF(word, axis);
            c->thick[axis][k] = THICK_OF(word, axis);
            c->border[axis][k] = BORDER_OF(word, axis);
        }
        c->n[k] = COUNT_OF(word);
    }
}

// Counts and thickness of the octant above a brick: each work-item does one cell.
inline void build_octant(const cube_counts *c, global float *pyramid, const device_level *upper, int up)
{
    global float *to = level_cells(pyramid, upper, 0, up >> 3) + octant_start(up & 7) + OCTANT_CELL(ROW);
    const size_t channel = (size_t)upper->room * BRICK_CELLS;
    to[DEVICE_LINK_X * channel] = rule_side(COARSE_SIDE(c->link[0], 0, 2, 4));
    to[DEVICE_LINK_Y * channel] = rule_side(COARSE_SIDE(c->link[1], 0, 1, 4));
    to[DEVICE_LINK_Z * channel] = rule_side(COARSE_SIDE(c->link[2], 0, 1, 2));
    to[DEVICE_THICK_X * channel] = COARSE_THICKNESS(c->thick[0], c->n, 0, 1, 2, 4);
    to[DEVICE_THICK_Y * channel] = COARSE_THICKNESS(c->thick[1], c->n, 0, 2, 1, 4);
    to[DEVICE_THICK_Z * channel] = COARSE_THICKNESS(c->thick[2], c->n, 0, 4, 1, 2);
    for (int axis = 0; axis < 3; axis++)
        to[(DEVICE_BORDER_X + axis) * channel] = rule_children(COARSE_CUBE(c->border[axis], 0, 1, 2, 4));
    to[DEVICE_COUNT * channel] = rule_children(COARSE_CUBE(c->n, 0, 1, 2, 4));
}

// In deep water all links of level 1 weigh the same, four faces over a distance of two cells. Rows of such cells, with no border, are
// plain: a byte in place of six rows of weights says so.
#define PLAIN_WEIGHT 2.0f
#define PLAIN_DIAGONAL (6.0f * PLAIN_WEIGHT)

inline global uchar *plain_row(global float *pyramid, const device_level *level, int row)
{
    return (global uchar *)level_cells(pyramid, level, DEVICE_PLAIN, row / ROWS) + row % ROWS;
}

inline void store_equations(const coarse_row *r, float diagonal[8], const float border_x[8], const float border_y[8],
                            const float border_z[8], global float *pyramid, const device_level *level, int row)
{
    bool plain = r->x_link[8] == PLAIN_WEIGHT;
    EACH_X
    {
        diagonal[x] = rule_diagonal(border_x[x], border_y[x], border_z[x], r->x_link[x], r->x_link[x + 1], r->y_link[x],
                                    r->y_next[x], r->z_link[x], r->z_next[x]);
        plain &= (r->x_link[x] == PLAIN_WEIGHT) & (r->y_link[x] == PLAIN_WEIGHT) & (r->y_next[x] == PLAIN_WEIGHT) &
                 (r->z_link[x] == PLAIN_WEIGHT) & (r->z_next[x] == PLAIN_WEIGHT) & (diagonal[x] == PLAIN_DIAGONAL);
    }
    *plain_row(pyramid, level, row) = plain ? 1 : 0;
    store_row(CHANNEL(DEVICE_WEIGHT_X), row, r->x_link);
    store_row(CHANNEL(DEVICE_WEIGHT_Y), row, r->y_link);
    store_row(CHANNEL(DEVICE_WEIGHT_Z), row, r->z_link);
    store_row(CHANNEL(DEVICE_DIAGONAL), row, diagonal);
}

// One axis, y or z: weights of a row's links on both sides, and of its border faces.
inline void weigh_words(float link[8], float next[8], float border_out[8], const uint words[8], global const uint *all,
                        int low_row, int high_row, int axis)
{
    float faces[8], thick[8], other[8], border[8];
    uint low[8], high[8];
    load_words(low, all, low_row);
    load_words(high, all, high_row);
    EACH_X
    {
        faces[x] = LINK_OF(words[x], axis);
        thick[x] = THICK_OF(words[x], axis);
        border[x] = BORDER_OF(words[x], axis);
        other[x] = THICK_OF(low[x], axis);
    }
    weigh_row(link, faces, other, thick);
    border_row(border_out, border, thick);
    EACH_X
    {
        faces[x] = LINK_OF(high[x], axis);
        other[x] = THICK_OF(high[x], axis);
    }
    weigh_row(next, faces, thick, other);
}

// Weights and diagonal of a row, from the counts.
inline void make_equations(coarse_row *r, float diagonal[8], global float *pyramid, const device_level *level, rows_around at)
{
    global const uint *all = count_words(pyramid, level, 0);
    const uint before = all[8 * at.x0 + 7], after = all[8 * at.x1];
    uint words[8];
    float faces[8], thick[8], other[8], border[8], border_x[8], border_y[8], border_z[8];
    load_words(words, all, at.self);
    EACH_X
    {
        faces[x] = LINK_OF(words[x], 0);
        thick[x] = THICK_OF(words[x], 0);
        border[x] = BORDER_OF(words[x], 0);
    }
    EACH_X other[x] = x > 0 ? thick[(x + 7) & 7] : THICK_OF(before, 0);
    weigh_row(r->x_link, faces, other, thick);
    r->x_link[8] = rule_link(LINK_OF(after, 0), thick[7], THICK_OF(after, 0));
    border_row(border_x, border, thick);
    weigh_words(r->y_link, r->y_next, border_y, words, all, at.y0, at.y1, 1);
    weigh_words(r->z_link, r->z_next, border_z, words, all, at.z0, at.z1, 2);
    store_equations(r, diagonal, border_x, border_y, border_z, pyramid, level, at.self);
    EACH_X r->inverse[x] = rule_inverse(diagonal[x]);
}

// The same as they were left. `may_be_plain`: of a plain row nothing else is read. That pays where all loads are asked for at once, and
// not where others wait for the answer.
inline void load_equations(coarse_row *r, float diagonal[8], global float *pyramid, const device_level *level, rows_around at,
                           bool may_be_plain)
{
    if (may_be_plain && *plain_row(pyramid, level, at.self)) {
        EACH_X
        {
            r->x_link[x] = r->y_link[x] = r->y_next[x] = r->z_link[x] = r->z_next[x] = PLAIN_WEIGHT;
            diagonal[x] = PLAIN_DIAGONAL;
            r->inverse[x] = 1.0f / PLAIN_DIAGONAL;
        }
        r->x_link[8] = PLAIN_WEIGHT;
        return;
    }
    load_row(r->x_link, CHANNEL(DEVICE_WEIGHT_X), at.self);
    r->x_link[8] = CHANNEL(DEVICE_WEIGHT_X)[8 * at.x1];
    load_row(r->y_link, CHANNEL(DEVICE_WEIGHT_Y), at.self);
    load_row(r->y_next, CHANNEL(DEVICE_WEIGHT_Y), at.y1);
    load_row(r->z_link, CHANNEL(DEVICE_WEIGHT_Z), at.self);
    load_row(r->z_next, CHANNEL(DEVICE_WEIGHT_Z), at.z1);
    load_row(diagonal, CHANNEL(DEVICE_DIAGONAL), at.self);
    EACH_X r->inverse[x] = rule_inverse(diagonal[x]);
}

// On the way down: the counts of the level above and the weights, where they are not what they were, and sweeps. Of a brick without
// a stamp around it the weights beside it stay too, even if they are written again right now.
ROW_KERNEL void first_down(global float *pyramid, device_level here, device_level above, global int *tree,
                           global const int *tables, device_cycle cycle, int sweeps)
{
    if (cycle_is_over(tables, cycle)) return;
    local float4 tiles[GROUP_BRICKS][2][2 * P_ROWS];
    const device_level levels[2] = {here, above}, *level = levels;
    const int brick = LEVEL_BRICK(level), stamp = tables[DEVICE_CYCLE_NUMBER], up = tree[level->up + brick];
    const device_place place = find_place(tree + level->near, brick);
    const rows_around at = look_from(place, ROW);
    const int rim_at = rim_place(rim_piece_of(ROW)) + P_ROWS * (ROW & 1);
    coarse_row r;
    float diagonal[8];
    load_row(r.right, CHANNEL(DEVICE_RIGHT), at.self);
    if (cycle.anew || stamped_around(tree + level->stamp, place, stamp))
        make_equations(&r, diagonal, pyramid, level, at);
    else
        load_equations(&r, diagonal, pyramid, level, at, true);
    if (cycle.anew || tree[level->stamp + brick] == stamp) {
        cube_counts counts;
        load_counts(&counts, pyramid, level, brick, 2 * OCTANT_CELL(ROW));
        build_octant(&counts, pyramid, level + 1, up);
        tree[level[1].stamp + (up >> 3)] = stamp;
    }
    EACH_X r.e[x] = FIRST_SWEEP(r.right[x], r.inverse[x]);
    r.x_low = r.x_high = 0.0f;
    local float4 *tile = tiles[SLOT][0], *other = tiles[SLOT][1];
    write_row(tile, P_ROWS, P_AT(ROW & 7, ROW >> 3), r.e);
    tile[rim_at] = other[rim_at] = (float4)(0.0f);
    SYNC;
    sweep_rows(&r, tile, other, sweeps - 1);
    store_row(CHANNEL(DEVICE_ERROR), at.self, r.e);
}

// ---- Corrections -----------------------------------------------------------------------------------------------------------

// How the error changes towards a neighbour of the coarse cell, across a link.
inline float towards(global float *pyramid, const device_level *level, global const float *e, global const int *near,
                     int coarse, int axis, int step)
{
    int own = near[SELF] * BRICK_CELLS + coarse, other = neighbour_cell(near, coarse, axis, step);
    global const float *link = level_cells(pyramid, level, DEVICE_LINK_X + axis, 0);
    return rule_towards(e[own], e[other], link[step < 0 ? own : other]);
}

// The correction of one cell below the octant that `up` names, from the level above it and its channel `error`.
inline float prolong(global float *pyramid, const device_level *level, global const int *tree, int error, int up, int cell)
{
    global const float *e = level_cells(pyramid, level, error, 0);
    global const int *near = level_near(level, tree, up >> 3);
    int coarse = octant_start(up & 7) + (cell >> 1 & 3) + 8 * (cell >> 4 & 3) + 64 * (cell >> 7);
    float dx = towards(pyramid, level, e, near, coarse, 0, cell & 1 ? 1 : -1);
    float dy = towards(pyramid, level, e, near, coarse, 1, cell & 8 ? 1 : -1);
    float dz = towards(pyramid, level, e, near, coarse, 2, cell & 64 ? 1 : -1);
    return rule_prolong(e[near[SELF] * BRICK_CELLS + coarse], dx, dy, dz);
}

// The links on one axis of 4 cells from `cell` on; `words`: on level 1.
inline float4 load_links(global float *pyramid, const device_level *level, int axis, int cell, bool words)
{
    if (!words) return *(global const float4 *)(level_cells(pyramid, level, DEVICE_LINK_X + axis, 0) + cell);
    uint4 word = *(global const uint4 *)(count_words(pyramid, level, 0) + cell);
    return (float4)(LINK_OF(word.x, axis), LINK_OF(word.y, axis), LINK_OF(word.z, axis), LINK_OF(word.w, axis));
}

// The corrections of a row of 8 cells, above which lie 4 coarse ones, at once.
inline void prolong_row(float c[8], global float *pyramid, const device_level *level, global const int *tree, int error, int up,
                        int row, bool words)
{
    global const float *e = level_cells(pyramid, level, error, 0);
    global const int *near = level_near(level, tree, up >> 3);
    const int coarse = octant_start(up & 7) + 8 * (row >> 1 & 3) + 64 * (row >> 4), self = (up >> 3) * BRICK_CELLS + coarse;
    const int x0 = neighbour_cell(near, coarse, 0, -1), x1 = neighbour_cell(near, coarse + 3, 0, 1);
    const int y = neighbour_cell(near, coarse, 1, row & 1 ? 1 : -1), z = neighbour_cell(near, coarse, 2, row & 8 ? 1 : -1);
#define FOUR(channel, at) (*(global const float4 *)((channel) + (at)))
    const float4 own = FOUR(e, self), link_x = load_links(pyramid, level, 0, self, words);
    const float4 link_y = load_links(pyramid, level, 1, row & 1 ? y : self, words);
    const float4 link_z = load_links(pyramid, level, 2, row & 8 ? z : self, words);
    const float4 e_y = FOUR(e, y), e_z = FOUR(e, z);
    const float e_low = e[x0], e_high = e[x1];
    const float link_high =
        words ? LINK_OF(count_words(pyramid, level, 0)[x1], 0) : level_cells(pyramid, level, DEVICE_LINK_X, 0)[x1];
#undef FOUR
#define PROLONG(k, i, before, after, after_link)                                                    \
    do {                                                                                            \
        float dy = rule_towards(own.i, e_y.i, link_y.i), dz = rule_towards(own.i, e_z.i, link_z.i); \
        c[k] = rule_prolong(own.i, rule_towards(own.i, before, link_x.i), dy, dz);                  \
        c[k + 1] = rule_prolong(own.i, rule_towards(own.i, after, after_link), dy, dz);             \
    } while (0)
    PROLONG(0, x, e_low, own.y, link_x.y);
    PROLONG(2, y, own.x, own.z, link_x.z);
    PROLONG(4, z, own.y, own.w, link_x.w);
    PROLONG(6, w, own.z, e_high, link_high);
#undef PROLONG
}

// The error of one cell of a level with its correction.
inline float corrected(global float *pyramid, const device_level *level, global const int *tree, int above, int cell)
{
    float e = CHANNEL(DEVICE_ERROR)[cell], diagonal = CHANNEL(DEVICE_DIAGONAL)[cell];
    if (!(diagonal > COARSE_LEAST)) return e;
    float c = prolong(pyramid, level + 1, tree, above, tree[level->up + cell / BRICK_CELLS], cell % BRICK_CELLS);
    return rule_coarse_correct(e, c, diagonal);
}

// And of half a row, above which lie 2 coarse cells.
inline float4 corrected_half(global float *pyramid, const device_level *level, global const int *tree, int error, int cell)
{
    const device_level *above = level + 1;
    global const float *e = level_cells(pyramid, above, error, 0);
    global const float *lx = level_cells(pyramid, above, DEVICE_LINK_X, 0);
    global const float *ly = level_cells(pyramid, above, DEVICE_LINK_Y, 0);
    global const float *lz = level_cells(pyramid, above, DEVICE_LINK_Z, 0);
    const float4 before = *(global const float4 *)(CHANNEL(DEVICE_ERROR) + cell);
    const float4 diagonal = *(global const float4 *)(CHANNEL(DEVICE_DIAGONAL) + cell);
    const int up = tree[level->up + cell / BRICK_CELLS];
    global const int *near = level_near(above, tree, up >> 3);
    const int coarse = octant_start(up & 7) + (cell >> 1 & 3) + 8 * (cell >> 4 & 3) + 64 * (cell >> 7 & 3);
    const int self = (up >> 3) * BRICK_CELLS + coarse;
    const int x0 = neighbour_cell(near, coarse, 0, -1), x1 = neighbour_cell(near, coarse + 1, 0, 1);
    const int y = neighbour_cell(near, coarse, 1, cell & 8 ? 1 : -1), z = neighbour_cell(near, coarse, 2, cell & 64 ? 1 : -1);
#define TWO(channel, at) (*(global const float2 *)((channel) + (at)))
    const float2 own = TWO(e, self), link_x = TWO(lx, self);
    const float2 link_y = TWO(ly, cell & 8 ? y : self), link_z = TWO(lz, cell & 64 ? z : self);
    const float2 e_y = TWO(e, y), e_z = TWO(e, z);
#undef TWO
    const float low_y = rule_towards(own.x, e_y.x, link_y.x), low_z = rule_towards(own.x, e_z.x, link_z.x);
    const float high_y = rule_towards(own.y, e_y.y, link_y.y), high_z = rule_towards(own.y, e_z.y, link_z.y);
    float4 c;
    c.x = rule_prolong(own.x, rule_towards(own.x, e[x0], link_x.x), low_y, low_z);
    c.y = rule_prolong(own.x, rule_towards(own.x, own.y, link_x.y), low_y, low_z);
    c.z = rule_prolong(own.y, rule_towards(own.y, own.x, link_x.y), high_y, high_z);
    c.w = rule_prolong(own.y, rule_towards(own.y, e[x1], lx[x1]), high_y, high_z);
    return (float4)(rule_coarse_correct(before.x, c.x, diagonal.x), rule_coarse_correct(before.y, c.y, diagonal.y),
                    rule_coarse_correct(before.z, c.z, diagonal.z), rule_coarse_correct(before.w, c.w, diagonal.w));
}

// Sweeps on every brick of level 1, after the correction with the channel `error_above` of the level above.
ROW_KERNEL void first_smooth(global float *pyramid, device_level here, device_level above, global const int *tree,
                             global const int *tables, device_cycle cycle, int sweeps, int error_above)
{
    if (cycle_is_over(tables, cycle)) return;
    local float4 tiles[GROUP_BRICKS][2][2 * P_ROWS];
    const device_level levels[2] = {here, above}, *level = levels;
    const int brick = LEVEL_BRICK(level);
    const rows_around at = look_around_row(tree + level->near, brick, ROW);
    const rim_piece edge = find_rim(tree + level->near, brick, ROW);
    coarse_row r;
    float diagonal[8], c[8];
    load_equations(&r, diagonal, pyramid, level, at, false);
    load_row(r.right, CHANNEL(DEVICE_RIGHT), at.self);
    load_row(r.e, CHANNEL(DEVICE_ERROR), at.self);
    prolong_row(c, pyramid, level + 1, tree, error_above, tree[level->up + brick], ROW, false);
    EACH_X r.e[x] = rule_coarse_correct(r.e[x], c[x], diagonal[x]);
    r.x_low = corrected(pyramid, level, tree, error_above, 8 * at.x0 + 7);
    r.x_high = corrected(pyramid, level, tree, error_above, 8 * at.x1);
    const float4 rim = corrected_half(pyramid, level, tree, error_above, 8 * rim_row(edge, 0) + 4 * edge.upper);
    const int rim_at = rim_place(edge) + P_ROWS * edge.upper;
    local float4 *tile = tiles[SLOT][0], *other = tiles[SLOT][1];
    write_row(tile, P_ROWS, P_AT(ROW & 7, ROW >> 3), r.e);
    tile[rim_at] = other[rim_at] = rim;
    SYNC;
    sweep_rows(&r, tile, other, sweeps);
    store_row(CHANNEL(DEVICE_ERROR_NEXT), at.self, r.e);
}

// 64 work-items per awake brick. The pressure is corrected in place. No floor is above `head`: where the pressure stays
// above it, as in all deep water, the floor need not be read. What changes from now on has the next cycle's stamp.
ROW_KERNEL void correct_fine(global float *pressure, global const float *floor, global float *pyramid, device_level here,
                             device_level above, global const int *tree, global int *tables, device_cycle cycle, int room,
                             int top, float head, int awake)
{
    if (cycle_is_over(tables, cycle)) return;
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *active = TABLE(tables, const uchar, DEVICE_ACTIVE(room));
    if (get_global_id(0) == 0) tables[DEVICE_CYCLE_NUMBER]++;
    const device_level levels[2] = {here, above};
    const int number = (int)get_group_id(0) * GROUP_BRICKS + SLOT;
    if (number >= awake) return;
    const int brick = places[number].brick, row = ROWS * brick + ROW;
    const uint bits = active[row];
    if (bits == 0u) return;
    float p[8], c[8], f[8];
    load_row(p, pressure, row);
    prolong_row(c, pyramid, levels + 1, tree, final_error(1, top), tree[levels[0].up + brick], ROW, true);
    float least = p[0] + c[0];
    EACH_X least = rule_min(least, p[x] + c[x]);
    EACH_X f[x] = 0.0f;
    if (least <= head) load_row(f, floor, row);
    EACH_X p[x] = rule_correct(p[x], c[x], BIT(bits, x), f[x]);
    store_row(pressure, row, p);
}
