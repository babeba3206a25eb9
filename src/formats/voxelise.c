// Closed meshes into solid voxels: through the centres of every column of cells goes a ray upwards, and where it has entered the mesh
// more often than it has left, it is inside.
//
// Corners are moved to a grid of 1/65536 cells, on which it is exactly known on which side of an edge a ray passes. A ray that meets an
// edge or a corner counts as one that passes beside it, for all triangles on the same side, so it meets one of two neighbours and never
// both or none. Triangles that overlap, as where a mesh is made of several bodies, do no harm.
#include "formats/mesh_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE_MOST = 16384, UNIT_BITS = 16, UNIT = 1 << UNIT_BITS };

#define VISITS_MOST ((double)(1ull << 31))     // looks at a column by a triangle, which take the time
#define CROSSINGS_MOST ((double)(1ull << 27))  // of rays and triangles, which take the memory
#define LITTLE 1e-6                            // of a cell, for which no layer of cells is made
#define LEAKS_MOST 0.005                       // share of the rays that may end inside before we say that the mesh is open

typedef struct corner {
    int64_t x, y, z;  // in units of the grid
} corner;

typedef struct crossing {
    float y;      // in cells
    int32_t way;  // +1: into the mesh, -1: out of it
} crossing;

typedef struct voxeliser {
    const char *path;
    const triangle_soup *soup;
    double scale;
    double low[3];  // where the mesh and its voxels begin, in cells
    double size[3];
    weir_voxels *voxels;
    uint32_t *begins;  // of each column's crossings, one more than there are columns
    crossing *crossings;
} voxeliser;

// ---- Where the mesh lies ---------------------------------------------------------------------------------------------------

static weir_status measure(voxeliser *v, const weir_voxels_def *def)
{
    double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY}, longest = 0;
    for (int64_t i = 0; i < 9 * v->soup->count; i++) {
        double at = v->soup->corners[i];
        if (!isfinite(at)) return format_fail(WEIR_ERROR_FORMAT, "%s: a corner is not at a number", weir_path_tail(v->path));
        min[i % 3] = fmin(min[i % 3], at);
        max[i % 3] = fmax(max[i % 3], at);
    }
    for (int32_t i = 0; i < 3; i++) longest = fmax(longest, max[i] - min[i]);
    if (!(longest > 0))
        return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh has no triangles with a size", weir_path_tail(v->path));
    v->scale = def && def->scale != 0 ? def->scale : WEIR_VOXELS_EDGE / longest;
    if (!(v->scale > 0 && isfinite(v->scale)))
        return format_fail(WEIR_ERROR_ARGUMENT, "a scale of %g cells per unit; it must be above 0", v->scale);
    for (int32_t i = 0; i < 3; i++) {
        v->low[i] = min[i] * v->scale;
        v->size[i] = fmax(1, ceil((max[i] - min[i]) * v->scale - LITTLE));
        if (v->size[i] <= EDGE_MOST && fabs(v->low[i]) < WEIR_COORD_LIMIT) continue;
        return format_fail(WEIR_ERROR_LIMIT,
                           "%s: at %g cells per unit the mesh is %.0f x %.0f x %.0f cells or lies too far out; at most %d",
                           weir_path_tail(v->path), v->scale, (max[0] - min[0]) * v->scale, (max[1] - min[1]) * v->scale,
                           (max[2] - min[2]) * v->scale, EDGE_MOST);
    }
    return WEIR_OK;
}

static corner corner_of(const voxeliser *v, int64_t triangle, int32_t i)
{
    const float *c = v->soup->corners + 9 * triangle + 3 * i;
    return (corner){llrint((c[0] * v->scale - v->low[0]) * UNIT), llrint((c[1] * v->scale - v->low[1]) * UNIT),
                    llrint((c[2] * v->scale - v->low[2]) * UNIT)};
}

// ---- Rays and triangles ----------------------------------------------------------------------------------------------------

// Twice the area of a, b and the ray at (x, z), seen from above; positive if it passes on the left of the edge.
static int64_t side(const corner *a, const corner *b, int64_t x, int64_t z)
{
    return (b->x - a->x) * (z - a->z) - (b->z - a->z) * (x - a->x);
}

// Whether a ray that meets the edge belongs to the triangle on its left: of the two directions of an edge, for one only.
static bool owns(const corner *a, const corner *b)
{
    return b->z > a->z || (b->z == a->z && b->x > a->x);
}

static int64_t first_column(int64_t at)
{
    // The first centre, which lies at a half, not before `at`.
    int64_t column = (at + UNIT / 2 - 1) >> UNIT_BITS;
    return column < 0 ? 0 : column;
}

typedef struct facing {
    corner a, b, c;  // anticlockwise from above
    int64_t area;    // twice; 0: seen from its edge, which no ray crosses
    int32_t way;
    int64_t x0, x1, z0, z1;  // columns that it may cover
} facing;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static facing face_of(const voxeliser *v, int64_t triangle)
{
    facing f = {corner_of(v, triangle, 0), corner_of(v, triangle, 1), corner_of(v, triangle, 2), .way = 1};
    f.area = side(&f.a, &f.b, f.c.x, f.c.z);
    if (f.area < 0) {
        corner swapped = f.b;
        f.b = f.c;
        f.c = swapped;
        f.area = -f.area;
        f.way = -1;
    }
    f.x0 = first_column(least(f.a.x, least(f.b.x, f.c.x)));
    f.z0 = first_column(least(f.a.z, least(f.b.z, f.c.z)));
    f.x1 = least(first_column(most(f.a.x, most(f.b.x, f.c.x)) + 1), v->voxels->size.x);
    f.z1 = least(first_column(most(f.a.z, most(f.b.z, f.c.z)) + 1), v->voxels->size.z);
    return f;
}

// Whether the ray of a column crosses the triangle, and how high.
static bool crosses(const facing *f, int64_t column_x, int64_t column_z, float *y)
{
    const int64_t x = column_x * UNIT + UNIT / 2, z = column_z * UNIT + UNIT / 2;
    const int64_t a = side(&f->b, &f->c, x, z), b = side(&f->c, &f->a, x, z), c = side(&f->a, &f->b, x, z);
    if (a < 0 || b < 0 || c < 0) return false;
    if ((a == 0 && !owns(&f->b, &f->c)) || (b == 0 && !owns(&f->c, &f->a)) || (c == 0 && !owns(&f->a, &f->b))) return false;
    double height = ((double)a * (double)f->a.y + (double)b * (double)f->b.y + (double)c * (double)f->c.y) / (double)f->area;
    *y = (float)(height / UNIT);
    return true;
}

// Goes through all crossings. The first time they are counted, the second time they are kept.
static void each_crossing(voxeliser *v, bool keep)
{
    const int64_t width = v->voxels->size.x;
    for (int64_t i = 0; i < v->soup->count; i++) {
        facing f = face_of(v, i);
        if (f.area == 0) continue;
        for (int64_t z = f.z0; z < f.z1; z++) {
            for (int64_t x = f.x0; x < f.x1; x++) {
                float y;
                if (!crosses(&f, x, z, &y)) continue;
                uint32_t *begin = &v->begins[x + width * z];
                if (keep) v->crossings[*begin] = (crossing){y, f.way};
                ++*begin;
            }
        }
    }
}

static weir_status too_much(const voxeliser *v)
{
    return format_fail(WEIR_ERROR_LIMIT, "%s has too many triangles for its size in cells; give it fewer or a smaller scale",
                       weir_path_tail(v->path));
}

// Fills begins and crossings: column i has those from begins[i] up to begins[i + 1].
static weir_status find_crossings(voxeliser *v)
{
    double visits = 0, total = 0;
    for (int64_t i = 0; i < v->soup->count && visits <= VISITS_MOST; i++) {
        facing f = face_of(v, i);
        if (f.x1 > f.x0 && f.z1 > f.z0) visits += (double)(f.x1 - f.x0) * (double)(f.z1 - f.z0);
    }
    if (visits > VISITS_MOST) return too_much(v);
    const size_t columns = (size_t)v->voxels->size.x * (size_t)v->voxels->size.z;
    v->begins = calloc(columns + 1, sizeof *v->begins);
    if (!v->begins) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for %zu columns", columns);
    each_crossing(v, false);
    for (size_t i = 0; i < columns; i++) total += v->begins[i];
    if (total > CROSSINGS_MOST) return too_much(v);
    v->crossings = malloc(((size_t)total + 1) * sizeof *v->crossings);
    if (!v->crossings) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for %.0f crossings", total);

    uint32_t begin = 0;
    for (size_t i = 0; i < columns; i++) {
        uint32_t count = v->begins[i];
        v->begins[i] = begin;
        begin += count;
    }
    each_crossing(v, true);
    // Every begin has moved to the next column's; move them back.
    for (size_t i = columns; i > 0; i--) v->begins[i] = v->begins[i - 1];
    v->begins[0] = 0;
    return WEIR_OK;
}

// ---- Inside --------------------------------------------------------------------------------------------------------------

static int compare_crossings(const void *a, const void *b)
{
    const crossing *x = a, *y = b;
    return x->y != y->y ? (x->y > y->y) - (x->y < y->y) : x->way - y->way;
}

static void fill_between(weir_voxels *voxels, int32_t x, int32_t z, float low, float high)
{
    int32_t begin = (int32_t)ceilf(low - 0.5f), end = (int32_t)ceilf(high - 0.5f);
    if (begin < 0) begin = 0;
    if (end > voxels->size.y) end = voxels->size.y;
    for (int32_t y = begin; y < end; y++) voxels->values[voxels_place(voxels, x, y, z)] = 255;
}

// Returns whether the ray came out again. One that did not is filled as if every second crossing led out: some meshes have
// triangles that are turned the wrong way.
static bool fill_column(const voxeliser *v, int32_t x, int32_t z)
{
    const size_t column = (size_t)x + (size_t)v->voxels->size.x * (size_t)z;
    crossing *c = v->crossings + v->begins[column];
    const uint32_t count = v->begins[column + 1] - v->begins[column];
    int64_t wound = 0;
    qsort(c, count, sizeof *c, compare_crossings);
    for (uint32_t i = 0; i < count; i++) wound += c[i].way;
    const bool turned = wound != 0;
    if (turned && count % 2 == 1) return false;
    wound = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        wound = turned ? !wound : wound + c[i].way;
        if (wound != 0) fill_between(v->voxels, x, z, c[i].y, c[i + 1].y);
    }
    return true;
}

static weir_status fill_inside(voxeliser *v)
{
    int64_t hit = 0, leaks = 0;
    for (int32_t z = 0; z < v->voxels->size.z; z++) {
        for (int32_t x = 0; x < v->voxels->size.x; x++) {
            const size_t column = (size_t)x + (size_t)v->voxels->size.x * (size_t)z;
            if (v->begins[column] == v->begins[column + 1]) continue;
            hit++;
            leaks += !fill_column(v, x, z);
        }
    }
    if ((double)leaks > LEAKS_MOST * (double)hit)
        return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh is not closed: %lld of the %lld rays that enter it do not come out",
                           weir_path_tail(v->path), (long long)leaks, (long long)hit);
    const weir_coord size = v->voxels->size;
    if (memchr(v->voxels->values, 255, (size_t)size.x * (size_t)size.y * (size_t)size.z)) return WEIR_OK;
    return format_fail(WEIR_ERROR_FORMAT, "%s: at %g cells per unit the mesh fills no cell: it is too thin or too small",
                       weir_path_tail(v->path), v->scale);
}

weir_status voxelise(const char *path, const triangle_soup *soup, const weir_voxels_def *def, weir_voxels *voxels)
{
    voxeliser v = {.path = path, .soup = soup, .voxels = voxels};
    *voxels = (weir_voxels){0};
    weir_status status = measure(&v, def);
    if (status == WEIR_OK) status = voxels_make(path, def, v.size[0], v.size[1], v.size[2], voxels);
    if (status != WEIR_OK) return status;
    voxels->origin = (weir_coord){(int32_t)lround(v.low[0]), (int32_t)lround(v.low[1]), (int32_t)lround(v.low[2])};
    status = find_crossings(&v);
    if (status == WEIR_OK) status = fill_inside(&v);
    free(v.begins);
    free(v.crossings);
    if (status != WEIR_OK) weir_voxels_free(voxels);
    return status;
}
