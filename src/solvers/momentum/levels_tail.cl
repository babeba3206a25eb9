// The last coarse levels, of at most 8 x 8 x 8 cells, by one work-group (levels.cl tells of a cycle as a whole).

// If a level's cells lie within 8 on each axis, those of the level above lie within 4, and so on. So level first + k needs 8 >> k
// cells on each axis, and all of them fit into local memory: cell arrays one level after the other, and tiles with a rim of one
// cell, which is zero. They may lie in several bricks, which meet in the middle: bit 3k + axis of `split` says on which axes. All
// sweeps but those of the coarsest level stay inside a brick, as everywhere, while the cells beyond the middle stay as they were.
#define TAIL_CELLS (512 + 64 + 8 + 1)
#define TAIL_TILE (1000 + 216 + 64 + 27)

typedef struct tail_level {
    int shift;  // 3 - k: cells on an axis are 1 << shift
    int cells;  // where its cells begin
    int tile;   // where its tile begins
} tail_level;

inline tail_level find_tail(int k)
{
    tail_level t = {3 - k, k == 0 ? 0 : k == 1 ? 512 : k == 2 ? 576 : 584, k == 0 ? 0 : k == 1 ? 1000 : k == 2 ? 1216 : 1280};
    return t;
}

inline int tail_count(tail_level t)
{
    return 1 << 3 * t.shift;
}

// Where cell i of a level lies in its tile.
inline int tail_at(tail_level t, int i)
{
    int edge = (1 << t.shift) + 2, mask = (1 << t.shift) - 1;
    return t.tile + (i & mask) + 1 + edge * ((i >> t.shift & mask) + 1 + edge * ((i >> 2 * t.shift) + 1));
}

// Channels of counts; those of border faces become diagonal, its inverse and right side.
enum { TAIL_LINK, TAIL_THICK = 3, TAIL_BORDER = 6, TAIL_DIAGONAL = 6, TAIL_INVERSE, TAIL_RIGHT, TAIL_COUNT, TAIL_CHANNELS };

typedef struct tail_room {
    float cell[TAIL_CHANNELS][TAIL_CELLS];
    float weight[3][TAIL_TILE];
    float e[TAIL_TILE];
} tail_room;

inline coarse_cell tail_equation(local const tail_room *r, tail_level t, int i)
{
    int at = tail_at(t, i), edge = (1 << t.shift) + 2;
    coarse_cell c = {r->weight[0][at],
                     r->weight[0][at + 1],
                     r->weight[1][at],
                     r->weight[1][at + edge],
                     r->weight[2][at],
                     r->weight[2][at + edge * edge],
                     r->cell[TAIL_RIGHT][t.cells + i],
                     r->cell[TAIL_DIAGONAL][t.cells + i],
                     r->cell[TAIL_INVERSE][t.cells + i]};
    return c;
}

// Counts of the level above t.
inline void tail_build(local tail_room *r, tail_level t, tail_level above)
{
    const int sx = 1, sy = 1 << t.shift, sz = 1 << 2 * t.shift, mask = (1 << above.shift) - 1;
    EACH_ITEM(job, 7 * tail_count(above))
    {
        int part = job >> 3 * above.shift, i = job & (tail_count(above) - 1);
        int c = t.cells + 2 * ((i & mask) + sy * (i >> above.shift & mask) + sz * (i >> 2 * above.shift)), to = above.cells + i;
        if (part >= 3) {
            local float *v = r->cell[TAIL_BORDER + part - 3];
            v[to] = rule_children(COARSE_CUBE(v, c, sx, sy, sz));
        } else {
            int a = part == 0 ? sy : sx, b = part == 2 ? sy : sz, along = part == 0 ? sx : part == 1 ? sy : sz;
            local float *link = r->cell[TAIL_LINK + part], *thick = r->cell[TAIL_THICK + part];
            local const float *n = r->cell[TAIL_COUNT];
            link[to] = rule_side(COARSE_SIDE(link, c, a, b));
            thick[to] = COARSE_THICKNESS(thick, n, c, along, a, b);
        }
    }
    SYNC;
}

// The level of a cell, counted over all levels.
inline tail_level tail_of(int cell)
{
    return find_tail(cell < 512 ? 0 : cell < 576 ? 1 : cell < 584 ? 2 : 3);
}

// Weights of the links of the first `count` cells, and their diagonal in place of the counts of border faces.
inline void tail_equations(local tail_room *r, int count)
{
    EACH_ITEM(cell, count)
    {
        const tail_level t = tail_of(cell);
        const int i = cell - t.cells, at = tail_at(t, i), mask = (1 << t.shift) - 1;
        float low[3], high[3], border[3];
        _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
        {
            const int stride = 1 << axis * t.shift, along = i >> axis * t.shift & mask;
            local const float *link = r->cell[TAIL_LINK + axis] + cell, *thick = r->cell[TAIL_THICK + axis] + cell;
            const float faces = r->cell[TAIL_BORDER + axis][cell];
            low[axis] = rule_link(link[0], along > 0 ? thick[-stride] : 0.0f, thick[0]);
            high[axis] = along < mask ? rule_link(link[stride], thick[0], thick[stride]) : 0.0f;
            border[axis] = rule_border(faces, thick[0]);
            r->weight[axis][at] = low[axis];
        }
        const float diagonal =
            rule_diagonal(border[0], border[1], border[2], low[0], high[0], low[1], high[1], low[2], high[2]);
        r->cell[TAIL_DIAGONAL][cell] = diagonal;
        r->cell[TAIL_INVERSE][cell] = rule_inverse(diagonal);
    }
}

// The correction of cell i of level t from the one above.
inline float tail_prolong(local const tail_room *r, tail_level t, tail_level above, int i)
{
    const int edge = (1 << above.shift) + 2, mask = (1 << t.shift) - 1;
    int x = i & mask, y = i >> t.shift & mask, z = i >> 2 * t.shift;
    int at = above.tile + (x >> 1) + 1 + edge * ((y >> 1) + 1 + edge * ((z >> 1) + 1));
    float own = r->e[at], d[3];
    for (int axis = 0; axis < 3; axis++) {
        int stride = axis == 0 ? 1 : axis == 1 ? edge : edge * edge;
        bool high = (axis == 0 ? x : axis == 1 ? y : z) & 1;
        d[axis] = rule_towards(own, r->e[at + (high ? stride : -stride)], r->weight[axis][high ? at + stride : at]);
    }
    return rule_prolong(own, d[0], d[1], d[2]);
}

// Of a cell and an axis: where the neighbour lies that sweeps do not change, on the low side (-1), the high side (1) or nowhere (0).
inline int tail_side(tail_level t, int i, int axis, int split)
{
    const int along = i >> axis * t.shift & ((1 << t.shift) - 1), middle = 1 << t.shift >> 1;
    return !(split >> axis & 1) ? 0 : along == middle ? -1 : along == middle - 1 ? 1 : 0;
}

// As cell_sum; `beyond` are the values of those neighbours.
inline float tail_sum(coarse_cell c, local const float *e, int edge, const int side[3], const float beyond[3])
{
    const int over = edge * edge;
#define BESIDE(axis, way, stride) (side[axis] == (way) ? beyond[axis] : e[(way) * (stride)])
    return rule_weighted_sum(c.x0, c.x1, c.y0, c.y1, c.z0, c.z1, BESIDE(0, -1, 1), BESIDE(0, 1, 1), BESIDE(1, -1, edge),
                             BESIDE(1, 1, edge), BESIDE(2, -1, over), BESIDE(2, 1, over));
#undef BESIDE
}

// One visit of level t: on the way down from nothing, and what is left becomes the right side above it; on the way back after the
// correction from above. `other` is a tile like e; what it holds inside its rims does not matter. Ends with a barrier.
inline void tail_visit(local tail_room *r, local float *other, local float *left, tail_level t, tail_level above, bool down,
                       int sweeps, int split, int restricted)
{
    const int count = tail_count(t), edge = (1 << t.shift) + 2;
    // A single cell has no neighbours: it needs no barriers.
    const int rest = down ? sweeps - 1 : sweeps, alone = count == 1 ? rest : 0, together = rest - alone;
    local float *from = together & 1 ? other : r->e, *to = together & 1 ? r->e : other;
    coarse_cell own[CELL_OWN];
    int at[CELL_OWN], side[CELL_OWN][3];
    float e[CELL_OWN], beyond[CELL_OWN][3];
    EACH_OWN
    {
        int i = OWN_CELL(k);
        if (i < count) {
            own[k] = tail_equation(r, t, i);
            at[k] = tail_at(t, i);
            e[k] = down ? FIRST_SWEEP(own[k].right, own[k].inverse)
                        : rule_coarse_correct(r->e[at[k]], tail_prolong(r, t, above, i), own[k].diagonal);
            for (int sweep = 0; sweep < alone; sweep++) e[k] = rule_coarse_smooth(e[k], own[k].right, 0.0f, own[k].inverse);
            from[at[k]] = e[k];
        }
    }
    SYNC;
    EACH_OWN
    {
        _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
        {
            side[k][axis] = 0;
            beyond[k][axis] = 0.0f;
            if (split != 0 && OWN_CELL(k) < count) {
                side[k][axis] = tail_side(t, OWN_CELL(k), axis, split);
                if (!down) beyond[k][axis] = from[at[k] + side[k][axis] * (axis == 0 ? 1 : axis == 1 ? edge : edge * edge)];
            }
        }
    }
    for (int sweep = 0; sweep < together; sweep++) {
        EACH_OWN
        {
            if (OWN_CELL(k) < count) {
                float sum = tail_sum(own[k], from + at[k], edge, side[k], beyond[k]);
                e[k] = rule_coarse_smooth(e[k], own[k].right, sum, own[k].inverse);
                to[at[k]] = e[k];
            }
        }
        SYNC;
        local float *swap = from;
        from = to;
        to = swap;
    }
    EACH_OWN
    {
        int i = OWN_CELL(k);
        if (i < restricted) {
            left[i] = rule_coarse_residual(own[k].right, own[k].diagonal, e[k], cell_sum(own[k], r->e + at[k], edge));
        }
    }
    SYNC;
    const int sy = 1 << t.shift, sz = 1 << 2 * t.shift, mask = (1 << above.shift) - 1;
    EACH_ITEM(i, restricted >> 3)
    {
        int c = 2 * ((i & mask) + sy * (i >> above.shift & mask) + sz * (i >> 2 * above.shift));
        r->cell[TAIL_RIGHT][above.cells + i] = rule_children(COARSE_CUBE(left, c, 1, sy, sz));
    }
    SYNC;
}

// One group in all, for the levels `first` to `top`, at most DEVICE_TAIL_LEVELS. `sweeps` are those of the coarsest level. At `box`
// the tree has the first level's eight octants: the bricks below them, and where they lie as the way up of those; 0: nothing. The
// right side comes from those bricks, unless they are live ones: restrict_fine has left it then.
CELL_KERNEL void coarse_tail(global float *pyramid, device_level below, device_level here, global const int *tree,
                             global const int *tables, device_cycle cycle, int box, int split, int first, int top, int smooths,
                             int sweeps)
{
    if (cycle_is_over(tables, cycle)) return;
    local tail_room room __attribute__((aligned(16)));
    local tail_room *r = &room;
    const device_level *level = &here;
    const int last = top - first;
    float count[TAIL_CHANNELS][CELL_OWN], right[CELL_OWN], given[CELL_OWN];
    int place[CELL_OWN];
    EACH_OWN
    {
        const int up = tree[box + 8 + OCTANT_OF(OWN_CELL(k))];
        place[k] = (up >> 3) * BRICK_CELLS + octant_start(up & 7) + OCTANT_CELL(IN_OCTANT(OWN_CELL(k)));
        const uint word = count_words(pyramid, level, 0)[place[k]];
        _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
        {
#define COUNT_IN(channel, of) first == 1 ? of(word, axis) : level_cells(pyramid, level, channel + axis, 0)[place[k]]
            count[TAIL_LINK + axis][k] = COUNT_IN(DEVICE_LINK_X, LINK_OF);
            count[TAIL_THICK + axis][k] = COUNT_IN(DEVICE_THICK_X, THICK_OF);
            count[TAIL_BORDER + axis][k] = COUNT_IN(DEVICE_BORDER_X, BORDER_OF);
#undef COUNT_IN
        }
        count[TAIL_COUNT][k] = first == 1 ? COUNT_OF(word) : level_cells(pyramid, level, DEVICE_COUNT, 0)[place[k]];
        given[k] = level_cells(pyramid, level, DEVICE_RIGHT, 0)[place[k]];
    }
    gather_left(right, (local float4 *)r->cell, pyramid, &below, tree, tree + box, first == 1);
    SYNC;
    EACH_OWN
    {
        _Pragma("unroll") for (int c = 0; c < TAIL_CHANNELS; c++) r->cell[c][OWN_CELL(k)] = count[c][k];
    }
    EACH_ITEM(i, TAIL_TILE) r->weight[0][i] = r->weight[1][i] = r->weight[2][i] = r->e[i] = 0.0f;
    SYNC;
    for (int k = 0; k < last; k++) tail_build(r, find_tail(k), find_tail(k + 1));
    const int cells = find_tail(last).cells + tail_count(find_tail(last));
    tail_equations(r, cells);
    SYNC;
    // Where counts of links and thickness were.
    local float *other = r->cell[TAIL_LINK], *left = other + TAIL_TILE;
    EACH_ITEM(i, TAIL_TILE) other[i] = 0.0f;
    EACH_OWN r->cell[TAIL_RIGHT][OWN_CELL(k)] = first > 1 ? right[k] : given[k];
    SYNC;
    // To the coarsest level and back, with the barriers in one place: compilers for CPUs take long over many of them.
    for (int visit = 0; visit <= 2 * last; visit++) {
        const int k = visit <= last ? visit : 2 * last - visit;
        const tail_level t = find_tail(k), above = find_tail(k + 1);
        tail_visit(r, other, left, t, above, visit <= last, visit == last ? sweeps : smooths,
                   visit == last ? 0 : split >> 3 * k, visit < last ? tail_count(t) : 0);
    }
    global float *out = level_cells(pyramid, level, final_error(first, top), 0);
    EACH_OWN out[place[k]] = r->e[tail_at(find_tail(0), OWN_CELL(k))];
}
