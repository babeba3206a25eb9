// NanoVDB files, version 32.4 of the format: what Debian's libnanovdb-tools and OpenVDB 10 read.
//
//     file:  header | about "fill" | about "flow" | ... | grid "fill" | grid "flow" | ...
//     grid:  grid 672 | tree 64 | root | a tile of 32 per upper node | upper nodes | lower nodes | leaves
//
// A leaf is 8 x 8 x 8 voxels, which is a brick; a lower node has 16^3 leaves, an upper one 32^3 lower nodes. In all of them z runs
// fastest. Nodes lie in the order in which the tree is walked (breadth first), and children are found by offsets in bytes. A voxel
// of "fill", "flow" and "temperature" is active if its cell holds anything, one of a material's own grid if it holds that.
//
// Nothing is kept of a leaf but where it lies and what of it is active, so that the largest world can be written: values are read once
// for the statistics of the nodes above, and once more when the leaves are written.
#include "formats/bytes.h"
#include "formats/volume.h"

#include <math.h>
#include <stdlib.h>

enum {
    FORMAT_VERSION = 32 << 21 | 4 << 10 | 2,
    FILE_HEADER_BYTES = 16,
    ABOUT_BYTES = 176,
    GRID_BYTES = 672,
    TREE_BYTES = 64,
    ROOT_TILE_BYTES = 32,
    LEAF_CELLS = 512,
    LEAF_BITS = 3,
    LOWER_BITS = 7,   // of a coordinate within a lower node
    UPPER_BITS = 12,  // and within an upper one
    LOWER_TABLE = 4096,
    UPPER_TABLE = 32768,
    FLAG_BOX = 2,  // of a grid
    FLAG_MIN_MAX = 4,
    FLAG_AVERAGE = 8,
    FLAG_DEVIATION = 16,
    FLAG_BREADTH_FIRST = 32,
    NODE_HAS_BOX = 2
};
#define MAGIC 0x304244566f6e614eull  // "NanoVDB0"
#define NO_CHECKSUM 0xffffffffu

// What differs between the grids. A value is one float, or three for a vector; its statistics are always of one number, which is the
// square of a vector's length.
typedef struct grid_kind {
    const char *name;
    uint32_t type, kind;
    int32_t parts;
    weir_material material;                                                     // whose amounts it is about; WEIR_NOTHING: all
    weir_status (*read)(const weir_world *world, weir_box box, float *values);  // NULL: the amounts
} grid_kind;

static weir_status read_flow(const weir_world *world, weir_box box, float *values)
{
    return weir_world_read_flow(world, box, (weir_vec *)values);
}

// Float and fog volume, vec3f and no special kind, float and no special kind.
static const grid_kind FILL = {"fill", 1, 2, 1, WEIR_NOTHING, NULL}, FLOW = {"flow", 6, 0, 3, WEIR_NOTHING, read_flow},
                       TEMPERATURE = {"temperature", 1, 0, 1, WEIR_NOTHING, weir_world_read_temperature};

static size_t round_up(size_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

static size_t value_bytes(const grid_kind *g)
{
    return 4 * (size_t)g->parts;
}

// An entry of a node's table: a value or the offset of a child.
static size_t entry_bytes(const grid_kind *g)
{
    return g->parts > 1 ? 16 : 8;
}

static size_t root_bytes(const grid_kind *g)
{
    return round_up(28 + 3 * value_bytes(g) + 8);
}

static size_t upper_bytes(const grid_kind *g)
{
    return 8256 + UPPER_TABLE * entry_bytes(g);
}

static size_t lower_bytes(const grid_kind *g)
{
    return 1088 + LOWER_TABLE * entry_bytes(g);
}

static size_t leaf_table(const grid_kind *g)
{
    return round_up(80 + 2 * value_bytes(g) + 8);
}

static size_t leaf_bytes(const grid_kind *g)
{
    return leaf_table(g) + LEAF_CELLS * value_bytes(g);
}

// ---- Statistics ------------------------------------------------------------------------------------------------------------

typedef struct value_stats {
    int64_t count;
    float min[3], max[3];  // the values with the smallest and the largest number
    double least, most;    // those numbers
    double mean, scatter;  // of the numbers; the sum of the squares of what they are away from their mean
} value_stats;

static void add_stats(value_stats *to, const value_stats *s)
{
    if (s->count == 0) return;
    if (to->count == 0 || s->least < to->least) to->least = s->least, memcpy(to->min, s->min, sizeof s->min);
    if (to->count == 0 || s->most > to->most) to->most = s->most, memcpy(to->max, s->max, sizeof s->max);
    double away = s->mean - to->mean, part = (double)s->count / (double)(to->count + s->count);
    to->scatter += s->scatter + away * away * part * (double)to->count;
    to->mean += away * part;
    to->count += s->count;
}

static void add_value(value_stats *to, const float *value, int32_t parts)
{
    value_stats one = {.count = 1};
    memcpy(one.min, value, 4 * (size_t)parts);
    memcpy(one.max, value, 4 * (size_t)parts);
    one.mean = parts == 1 ? value[0] : (double)(value[0] * value[0] + value[1] * value[1] + value[2] * value[2]);
    one.least = one.most = one.mean;
    add_stats(to, &one);
}

// Minimum, maximum, average and standard deviation, as every node has them.
static void store_stats(uint8_t *to, const value_stats *s, const grid_kind *g)
{
    for (int32_t i = 0; i < g->parts; i++) store_float(to + 4 * i, s->min[i]);
    for (int32_t i = 0; i < g->parts; i++) store_float(to + value_bytes(g) + 4 * i, s->max[i]);
    store_float(to + 2 * value_bytes(g), (float)s->mean);
    store_float(to + 2 * value_bytes(g) + 4, (float)(s->count ? sqrt(s->scatter / (double)s->count) : 0));
}

// ---- The tree --------------------------------------------------------------------------------------------------------------

typedef struct span {
    weir_coord min, max;  // of the active voxels, both included
} span;

typedef struct leaf {
    uint64_t root_key;
    int32_t in_upper, in_lower;  // places in the tables of the nodes above
    weir_coord origin;
    span active;
} leaf;

typedef struct inner_node {
    int64_t first, count;  // of its children
    int32_t in_upper;      // lower node: its place in the table above
    uint64_t root_key;     // upper node
    span active;
    value_stats stats;
} inner_node;

typedef struct water_tree {
    leaf *leaves;
    inner_node *lowers, *uppers;
    int64_t leaf_count, lower_count, upper_count;
    span active;
    int64_t voxels;
    value_stats stats;
} water_tree;

static void widen(span *s, const span *by)
{
    if (by->min.x < s->min.x) s->min.x = by->min.x;
    if (by->min.y < s->min.y) s->min.y = by->min.y;
    if (by->min.z < s->min.z) s->min.z = by->min.z;
    if (by->max.x > s->max.x) s->max.x = by->max.x;
    if (by->max.y > s->max.y) s->max.y = by->max.y;
    if (by->max.z > s->max.z) s->max.z = by->max.z;
}

static const span NO_SPAN = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}};

static weir_box leaf_box(weir_coord o)
{
    return (weir_box){o, {o.x + 8, o.y + 8, o.z + 8}};
}

// Looks at a brick's fills; false if it holds no water.
static bool make_leaf(weir_coord o, const float *fill, leaf *l, int64_t *voxels)
{
    *l = (leaf){.origin = o, .active = NO_SPAN};
    for (int32_t i = 0; i < LEAF_CELLS; i++) {
        if (!(fill[i] > 0)) continue;
        weir_coord c = {o.x + (i & 7), o.y + (i >> 3 & 7), o.z + (i >> 6)};
        widen(&l->active, &(span){c, c});
        ++*voxels;
    }
    const uint32_t x = (uint32_t)o.x, y = (uint32_t)o.y, z = (uint32_t)o.z;
    l->root_key = (uint64_t)(x >> UPPER_BITS) << 42 | (uint64_t)(y >> UPPER_BITS) << 21 | z >> UPPER_BITS;
    l->in_upper = (int32_t)((x >> LOWER_BITS & 31) << 10 | (y >> LOWER_BITS & 31) << 5 | (z >> LOWER_BITS & 31));
    l->in_lower = (int32_t)((x >> LEAF_BITS & 15) << 8 | (y >> LEAF_BITS & 15) << 4 | (z >> LEAF_BITS & 15));
    return l->active.min.x <= l->active.max.x;
}

static weir_status read_amounts(const weir_world *world, weir_material material, weir_box box, float *fill)
{
    return material ? weir_world_read_amounts(world, box, material, fill) : weir_world_read_fill(world, box, fill);
}

static int compare_leaves(const void *a, const void *b)
{
    const leaf *x = a, *y = b;
    if (x->root_key != y->root_key) return x->root_key < y->root_key ? -1 : 1;
    if (x->in_upper != y->in_upper) return x->in_upper < y->in_upper ? -1 : 1;
    return x->in_lower - y->in_lower;
}

static weir_status make_leaves(const weir_world *world, weir_material material, const weir_coord *bricks, int32_t count,
                               water_tree *tree)
{
    float fill[LEAF_CELLS];
    tree->active = NO_SPAN;
    for (int32_t i = 0; i < count; i++) {
        weir_status status = read_amounts(world, material, leaf_box(bricks[i]), fill);
        if (status != WEIR_OK) return status;
        leaf *l = &tree->leaves[tree->leaf_count];
        if (!make_leaf(bricks[i], fill, l, &tree->voxels)) continue;
        widen(&tree->active, &l->active);
        tree->leaf_count++;
    }
    qsort(tree->leaves, (size_t)tree->leaf_count, sizeof *tree->leaves, compare_leaves);
    return WEIR_OK;
}

// Leaves in order make lower nodes of those that share one, and these upper nodes.
static void make_inner_nodes(water_tree *tree)
{
    for (int64_t i = 0; i < tree->leaf_count; i++) {
        const leaf *l = &tree->leaves[i], *before = i > 0 ? l - 1 : NULL;
        bool new_upper = !before || before->root_key != l->root_key, new_lower = new_upper || before->in_upper != l->in_upper;
        if (new_upper)
            tree->uppers[tree->upper_count++] =
                (inner_node){.first = tree->lower_count, .root_key = l->root_key, .active = NO_SPAN};
        inner_node *upper = &tree->uppers[tree->upper_count - 1];
        if (new_lower) {
            tree->lowers[tree->lower_count++] = (inner_node){.first = i, .in_upper = l->in_upper, .active = NO_SPAN};
            upper->count++;
        }
        inner_node *lower = &tree->lowers[tree->lower_count - 1];
        lower->count++;
        widen(&lower->active, &l->active);
        widen(&upper->active, &l->active);
    }
}

static void free_tree(water_tree *tree)
{
    free(tree->leaves);
    free(tree->lowers);
    free(tree->uppers);
}

static weir_status make_tree(const char *path, const weir_world *world, weir_material material, water_tree *tree)
{
    const int32_t count = weir_world_bricks(world, NULL, 0);
    const size_t room = count > 0 ? (size_t)count : 1;
    *tree = (water_tree){0};
    weir_coord *bricks = malloc(room * sizeof *bricks);
    tree->leaves = malloc(room * sizeof *tree->leaves);
    tree->lowers = malloc(room * sizeof *tree->lowers);
    tree->uppers = malloc(room * sizeof *tree->uppers);
    weir_status status = WEIR_OK;
    if (!bricks || !tree->leaves || !tree->lowers || !tree->uppers)
        status = format_fail(WEIR_ERROR_MEMORY, "memory ran out for the tree of %d bricks of %s", count, weir_path_tail(path));
    if (status == WEIR_OK) {
        weir_world_bricks(world, bricks, count);
        status = make_leaves(world, material, bricks, count, tree);
    }
    if (status == WEIR_OK) make_inner_nodes(tree);
    free(bricks);
    return status;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

// The values of a leaf, x fastest, and its active voxels' statistics.
typedef struct leaf_values {
    float fill[LEAF_CELLS], read[3 * LEAF_CELLS];
    const float *values;
    value_stats stats;
} leaf_values;

static weir_status read_leaf(const weir_world *world, const leaf *l, const grid_kind *g, leaf_values *v)
{
    weir_status status = read_amounts(world, g->material, leaf_box(l->origin), v->fill);
    if (status == WEIR_OK && g->read) status = g->read(world, leaf_box(l->origin), v->read);
    v->stats = (value_stats){0};
    v->values = g->read ? v->read : v->fill;
    for (int32_t i = 0; i < LEAF_CELLS && status == WEIR_OK; i++)
        if (v->fill[i] > 0) add_value(&v->stats, v->values + g->parts * i, g->parts);
    return status;
}

static weir_status gather_stats(const weir_world *world, const grid_kind *g, water_tree *tree)
{
    leaf_values v;
    tree->stats = (value_stats){0};
    for (int64_t u = 0; u < tree->upper_count; u++) {
        inner_node *upper = &tree->uppers[u];
        upper->stats = (value_stats){0};
        for (int64_t k = upper->first; k < upper->first + upper->count; k++) {
            inner_node *lower = &tree->lowers[k];
            lower->stats = (value_stats){0};
            for (int64_t i = lower->first; i < lower->first + lower->count; i++) {
                weir_status status = read_leaf(world, &tree->leaves[i], g, &v);
                if (status != WEIR_OK) return status;
                add_stats(&lower->stats, &v.stats);
            }
            add_stats(&upper->stats, &lower->stats);
        }
        add_stats(&tree->stats, &upper->stats);
    }
    return WEIR_OK;
}

// ---- The parts of a grid ---------------------------------------------------------------------------------------------------

// Where everything lies, from the beginning of the grid.
typedef struct grid_places {
    uint64_t root, uppers, lowers, leaves, end;
} grid_places;

static grid_places places_of(const grid_kind *g, const water_tree *tree)
{
    grid_places p = {.root = GRID_BYTES + TREE_BYTES};
    p.uppers = p.root + root_bytes(g) + ROOT_TILE_BYTES * (uint64_t)tree->upper_count;
    p.lowers = p.uppers + upper_bytes(g) * (uint64_t)tree->upper_count;
    p.leaves = p.lowers + lower_bytes(g) * (uint64_t)tree->lower_count;
    p.end = p.leaves + leaf_bytes(g) * (uint64_t)tree->leaf_count;
    return p;
}

static void store_span(uint8_t *to, const span *s)
{
    const int32_t numbers[6] = {s->min.x, s->min.y, s->min.z, s->max.x, s->max.y, s->max.z};
    for (int32_t i = 0; i < 6; i++) store_i32(to + 4 * i, numbers[i]);
}

// The box of the active cells in the world's space. The format wants voxels to reach from their index to the next.
static void store_world_box(uint8_t *to, const water_tree *tree)
{
    const span *s = &tree->active;
    const double numbers[6] = {s->min.x + 0.5, s->min.y + 0.5, s->min.z + 0.5, s->max.x + 1.5, s->max.y + 1.5, s->max.z + 1.5};
    for (int32_t i = 0; i < 6 && tree->voxels > 0; i++) store_double(to + 8 * i, numbers[i]);
}

// A voxel's centre lies at its index plus a half: matrix, inverse, shift and taper, once as floats and once as doubles.
static void store_map(uint8_t *to)
{
    for (int32_t i = 0; i < 3; i++) {
        store_float(to + 16 * i, 1);
        store_float(to + 36 + 16 * i, 1);
        store_float(to + 72 + 4 * i, 0.5f);
        store_double(to + 88 + 32 * i, 1);
        store_double(to + 160 + 32 * i, 1);
        store_double(to + 232 + 8 * i, 0.5);
    }
    store_float(to + 84, 1);
    store_double(to + 256, 1);
}

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int32_t bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void store_grid(uint8_t *to, const grid_kind *g, const water_tree *tree, const grid_places *p)
{
    uint32_t flags = FLAG_MIN_MAX | FLAG_AVERAGE | FLAG_DEVIATION | FLAG_BREADTH_FIRST | (tree->voxels > 0 ? FLAG_BOX : 0);
    store_u64(to, MAGIC);
    store_u32(to + 16, FORMAT_VERSION);
    store_u32(to + 20, flags);
    store_u32(to + 28, 1);  // one grid in this piece of the file
    store_u64(to + 32, p->end);
    memcpy(to + 40, g->name, strlen(g->name));
    store_map(to + 296);
    store_world_box(to + 560, tree);
    for (int32_t i = 0; i < 3; i++) store_double(to + 608 + 8 * i, 1);
    store_u32(to + 632, g->kind);
    store_u32(to + 636, g->type);

    uint8_t *t = to + GRID_BYTES;
    const uint64_t offsets[3] = {p->leaves, p->lowers, p->uppers};
    const int64_t counts[3] = {tree->leaf_count, tree->lower_count, tree->upper_count};
    for (int32_t i = 0; i < 3; i++) {
        store_u64(t + 8 * i, counts[i] ? offsets[i] - GRID_BYTES : 0);
        store_u32(t + 32 + 4 * i, (uint32_t)counts[i]);
    }
    store_u64(t + 24, p->root - GRID_BYTES);
    store_u64(t + 56, (uint64_t)tree->voxels);
}

static void store_root(uint8_t *to, const grid_kind *g, const water_tree *tree, const grid_places *p)
{
    store_span(to, &tree->active);
    store_u32(to + 24, (uint32_t)tree->upper_count);
    store_stats(to + 28 + value_bytes(g), &tree->stats, g);  // behind the background, which is 0
    for (int64_t i = 0; i < tree->upper_count; i++) {
        uint8_t *tile = to + root_bytes(g) + ROOT_TILE_BYTES * (size_t)i;
        store_u64(tile, tree->uppers[i].root_key);
        store_u64(tile + 8, p->uppers + upper_bytes(g) * (uint64_t)i - p->root);
    }
}

// Grid, tree and root, over which the checksum goes; that over all nodes, which the format leaves open, is not made.
static weir_status write_top(new_file *f, const grid_kind *g, const water_tree *tree, const grid_places *p)
{
    const size_t size = (size_t)p->uppers;
    uint8_t *top = calloc(size, 1);
    if (!top) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the root of a tree");
    store_grid(top, g, tree, p);
    store_root(top + p->root, g, tree, p);
    store_u32(top + 8, crc32_of(top + 16, size - 16));
    store_u32(top + 12, NO_CHECKSUM);
    new_file_write(f, top, size);
    free(top);
    return WEIR_OK;
}

// An inner node: box, flags, mask of active values (none), mask of children, statistics, table.
typedef struct inner_layout {
    size_t bytes, mask_bytes;
    uint64_t nodes, node_bytes, children, child_bytes;  // where the nodes and their children lie, and how far apart
} inner_layout;

static void store_inner(uint8_t *to, const inner_node *node, const grid_kind *g, const inner_layout *in)
{
    memset(to, 0, in->bytes);
    store_span(to, &node->active);
    store_u64(to + 24, NODE_HAS_BOX);
    store_stats(to + 32 + 2 * in->mask_bytes, &node->stats, g);
}

// The offset of a child counts from the node itself.
static void store_child(uint8_t *to, int32_t place, int64_t node, int64_t child, const grid_kind *g, const inner_layout *in)
{
    const size_t table = in->bytes - 8 * in->mask_bytes * entry_bytes(g);
    to[32 + in->mask_bytes + (size_t)place / 8] |= (uint8_t)(1 << (place & 7));
    store_u64(to + table + (size_t)place * entry_bytes(g),
              in->children + in->child_bytes * (uint64_t)child - (in->nodes + in->node_bytes * (uint64_t)node));
}

static weir_status write_inner(new_file *f, const grid_kind *g, const water_tree *tree, const grid_places *p)
{
    const inner_layout upper = {upper_bytes(g), UPPER_TABLE / 8, p->uppers, upper_bytes(g), p->lowers, lower_bytes(g)};
    const inner_layout lower = {lower_bytes(g), LOWER_TABLE / 8, p->lowers, lower_bytes(g), p->leaves, leaf_bytes(g)};
    uint8_t *node = malloc(upper.bytes);
    if (!node) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for a node of a tree");
    for (int64_t i = 0; i < tree->upper_count; i++) {
        const inner_node *u = &tree->uppers[i];
        store_inner(node, u, g, &upper);
        for (int64_t k = u->first; k < u->first + u->count; k++) store_child(node, tree->lowers[k].in_upper, i, k, g, &upper);
        new_file_write(f, node, upper.bytes);
    }
    for (int64_t i = 0; i < tree->lower_count; i++) {
        const inner_node *l = &tree->lowers[i];
        store_inner(node, l, g, &lower);
        for (int64_t k = l->first; k < l->first + l->count; k++) store_child(node, tree->leaves[k].in_lower, i, k, g, &lower);
        new_file_write(f, node, lower.bytes);
    }
    free(node);
    return WEIR_OK;
}

// ---- Leaves ----------------------------------------------------------------------------------------------------------------

static void store_leaf(uint8_t *to, const leaf *l, const leaf_values *v, const grid_kind *g)
{
    memset(to, 0, leaf_bytes(g));
    const span *s = &l->active;
    const int32_t min[3] = {s->min.x, s->min.y, s->min.z}, max[3] = {s->max.x, s->max.y, s->max.z};
    for (int32_t i = 0; i < 3; i++) {
        store_i32(to + 4 * i, min[i]);
        to[12 + i] = (uint8_t)(max[i] - min[i]);
    }
    to[15] = NODE_HAS_BOX;
    store_stats(to + 80, &v->stats, g);
    for (int32_t i = 0; i < LEAF_CELLS; i++) {
        if (!(v->fill[i] > 0)) continue;
        const int32_t at = (i & 7) << 6 | (i & 56) | i >> 6;  // x slowest
        to[16 + at / 8] |= (uint8_t)(1 << (at & 7));
        for (int32_t k = 0; k < g->parts; k++)
            store_float(to + leaf_table(g) + 4 * (size_t)(g->parts * at + k), v->values[g->parts * i + k]);
    }
}

static weir_status write_leaves(new_file *f, const weir_world *world, const grid_kind *g, const water_tree *tree)
{
    uint8_t bytes[8192];
    leaf_values v;
    for (int64_t i = 0; i < tree->leaf_count && !ferror(f->file); i++) {
        weir_status status = read_leaf(world, &tree->leaves[i], g, &v);
        if (status != WEIR_OK) return status;
        store_leaf(bytes, &tree->leaves[i], &v, g);
        new_file_write(f, bytes, leaf_bytes(g));
    }
    return WEIR_OK;
}

static weir_status write_grid(new_file *f, const weir_world *world, const grid_kind *g, water_tree *tree)
{
    const grid_places places = places_of(g, tree);
    weir_status status = gather_stats(world, g, tree);
    if (status == WEIR_OK) status = write_top(f, g, tree, &places);
    if (status == WEIR_OK) status = write_inner(f, g, tree, &places);
    return status == WEIR_OK ? write_leaves(f, world, g, tree) : status;
}

// ---- The file --------------------------------------------------------------------------------------------------------------

// A key by which grids are found by name.
static uint64_t name_key(const char *name)
{
    uint64_t key = 0;
    for (; *name; name++) key = key * 67 + (uint8_t)*name + (key >> 56);
    return key;
}

// What a reader may know of a grid without reading it.
static void write_about(new_file *f, const grid_kind *g, const water_tree *tree)
{
    uint8_t about[ABOUT_BYTES] = {0};
    const uint64_t size = places_of(g, tree).end;
    store_u64(about, size);
    store_u64(about + 8, size);
    store_u64(about + 16, name_key(g->name));
    store_u64(about + 24, (uint64_t)tree->voxels);
    store_u32(about + 32, g->type);
    store_u32(about + 36, g->kind);
    store_world_box(about + 40, tree);
    store_span(about + 88, &tree->active);
    for (int32_t i = 0; i < 3; i++) store_double(about + 112 + 8 * i, 1);
    store_u32(about + 136, (uint32_t)strlen(g->name) + 1);
    store_u32(about + 140, (uint32_t)tree->leaf_count);
    store_u32(about + 144, (uint32_t)tree->lower_count);
    store_u32(about + 148, (uint32_t)tree->upper_count);
    store_u32(about + 152, 1);
    store_u32(about + 172, FORMAT_VERSION);
    new_file_write(f, about, sizeof about);
    new_file_write(f, g->name, strlen(g->name) + 1);
}

// A grid of the file and its tree, which those of all fluids together share.
typedef struct file_grid {
    grid_kind kind;
    char name[MATERIAL_FIELD];
    water_tree *tree, own;
} file_grid;

typedef struct grid_list {
    file_grid grid[3 + WEIR_MATERIAL_MAX];
    int32_t count;
} grid_list;

static weir_status write_file(new_file *f, const weir_world *world, grid_list *list)
{
    uint8_t header[FILE_HEADER_BYTES] = {0};
    store_u64(header, MAGIC);
    store_u32(header + 8, FORMAT_VERSION);
    header[12] = (uint8_t)list->count;  // they are not packed
    new_file_write(f, header, sizeof header);
    weir_status status = WEIR_OK;
    for (int32_t i = 0; i < list->count; i++) write_about(f, &list->grid[i].kind, list->grid[i].tree);
    for (int32_t i = 0; i < list->count && status == WEIR_OK; i++)
        status = write_grid(f, world, &list->grid[i].kind, list->grid[i].tree);
    return status;
}

// Of the materials those that are there now: a grid without a voxel is of no use.
static weir_status list_grids(const char *path, const weir_world *world, grid_list *list)
{
    bool known[WEIR_MATERIAL_MAX];
    file_grid *all = list->grid;
    // Counting all drops also brings every brick of a device here at once; one by one they would take long.
    volume_materials(world, known);
    weir_status status = make_tree(path, world, WEIR_NOTHING, &all->own);
    list->grid[0].kind = FILL, list->grid[1].kind = FLOW, list->grid[2].kind = TEMPERATURE;
    list->count = weir_world_knows_temperature(world) ? 3 : 2;
    for (int32_t i = 0; i < 3; i++) list->grid[i].tree = &all->own;
    for (weir_material m = 1; m < weir_world_material_count(world) && status == WEIR_OK; m++) {
        if (!known[m] || weir_world_material_ledger(world, m).held == 0) continue;
        file_grid *g = &list->grid[list->count++];
        volume_field_name(world, m, g->name);
        g->kind = FILL;
        g->kind.name = g->name;
        g->kind.material = m;
        g->tree = &g->own;
        status = make_tree(path, world, m, g->tree);
    }
    return status;
}

weir_status weir_nvdb_write(const char *path, const weir_world *world)
{
    grid_list list = {.count = 0};
    new_file f;
    weir_status status = list_grids(path, world, &list);
    if (status == WEIR_OK) status = new_file_open(&f, path);
    if (status == WEIR_OK) {
        status = write_file(&f, world, &list);
        weir_status closed = new_file_close(&f, status == WEIR_OK);
        if (status == WEIR_OK) status = closed;
    }
    for (int32_t i = 0; i < list.count; i++) free_tree(&list.grid[i].own);
    return status;
}
