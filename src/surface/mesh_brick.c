#include "surface/mesh_brick.h"

#include <math.h>
#include <string.h>

typedef enum cell_kind { CELL_INSIDE = 1, CELL_OPEN = 2, CELL_GROUND = 4 } cell_kind;  // ground under a film: inside too

enum { STEP_X = 1, STEP_Y = FIELD_ROW, STEP_Z = FIELD_ROW * FIELD_CELLS };

static const int32_t steps[3] = {STEP_X, STEP_Y, STEP_Z};

static const float NUDGE = 1.0f / 64;    // least distance of a vertex from a cell's centre
static const float WALL = 31.0f / 64;    // from the centre of a cell to the surface before the wall beside it
static const float CORNER = 30.0f / 64;  // to where two such surfaces meet; less than WALL, so that no two vertices coincide
static const float GROUND = 33.0f / 64;  // from the centre of a ground cell to the surface just above its face
static const float FILM = 34.0f / 64;    // to the top of the thinnest film
// From there to where the film meets deeper water, whose vertices may slide as far, but only in steps of 1/4096.
static const float MEETING = 31.0f / 64 + 1.0f / 8192;

// ---- The tile --------------------------------------------------------------------------------------------------------------

// The mass of every brick that has none, so that no row needs a question.
static const int32_t dry[BRICK_CELLS];

// The bits of a row's cells. Masks are taken apart by comparing with these, which compilers turn into vector code; shifts by a lane's
// number they do not.
static const int32_t bit[FIELD_ROW] = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                                       1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};

// One row of the tile from three bricks side by side.
static void gather_row(const int32_t *left, const int32_t *middle, const int32_t *right, int32_t *row)
{
    int32_t cells[FIELD_ROW] = {left[6], left[7]};
    memcpy(cells + 2, middle, 8 * sizeof *cells);
    memcpy(cells + 10, right, 3 * sizeof *cells);
    for (int32_t x = 0; x < FIELD_ROW; x++) row[x] = cells[x] < WEIR_FULL ? cells[x] : WEIR_FULL;
}

static uint32_t row_of_mask(const brick_mask *mask, int32_t at)
{
    return mask->plane[at >> 6] >> (at & 63) & 0xff;
}

// Copies the tile together. Returns whether all of its cells are open.
static bool gather(const fluid_view *fluid, const shown_part *shown, const mesh_near *near, mesh_field *f)
{
    const uint32_t whole = (1u << TILE_CELLS) - 1;
    const int32_t *mass[27];
    uint32_t all = whole;
    for (int32_t k = 0; k < 27; k++)
        mass[k] = near->brick[k] ? shown_drops(shown, fluid, near->brick[k], f->drops[k], f->other) : dry;
    for (int32_t z = 0; z < TILE_CELLS; z++) {
        for (int32_t y = 0; y < TILE_HEIGHT; y++) {
            int32_t left = 3 * ((y + 6) >> 3) + 9 * ((z + 6) >> 3), at = 8 * ((y + 6) & 7) + 64 * ((z + 6) & 7);
            gather_row(mass[left] + at, mass[left + 1] + at, mass[left + 2] + at, f->tile[z][y]);
            uint32_t open = row_of_mask(near->open[left], at) >> 6 | row_of_mask(near->open[left + 1], at) << 2 |
                            row_of_mask(near->open[left + 2], at) << 10;
            f->open[z][y] = (uint16_t)(open & whole);
            all &= open;
        }
    }
    return all == whole;
}

// Whether the surface may cross the cubes: not if no cell that has a say in their corners holds even a film, nor if all are on the inner
// side of it. A mean of such cells, rounded or not, is on that side too.
static bool may_cross(const mesh_field *f, int32_t iso)
{
    int32_t any = 0, all = -1, film = mesh_film(iso) - 1;  // the sign is set where a cell has more than that
    for (int32_t z = 1; z < TILE_CELLS - 1; z++) {
        for (int32_t y = 1; y < TILE_CELLS - 1; y++) {
            const int32_t *row = f->tile[z][y];
            for (int32_t x = 1; x < TILE_CELLS - 1; x++) {
                any |= film - row[x];
                all &= iso - row[x];
            }
        }
    }
    return any < 0 && all >= 0;
}

// ---- The field -------------------------------------------------------------------------------------------------------------

// Sums with the weights 1 2 1 along x, y and z, one axis after the other. Whole numbers, so that no order of additions matters.
// The sum around the cell x, y, z of the field lands at [z + 1][y + 1][x + 1].
static void sum_around(int32_t cells[TILE_CELLS][TILE_CELLS][FIELD_ROW])
{
    for (int32_t z = 0; z < TILE_CELLS; z++) {
        for (int32_t y = 0; y < TILE_CELLS; y++) {
            int32_t *row = cells[z][y], sums[12];
            for (int32_t x = 0; x < 12; x++) sums[x] = row[x] + 2 * row[x + 1] + row[x + 2];
            memcpy(row, sums, sizeof sums);
        }
        for (int32_t y = 0; y < FIELD_CELLS; y++)
            for (int32_t x = 0; x < 12; x++) cells[z][y][x] = cells[z][y][x] + 2 * cells[z][y + 1][x] + cells[z][y + 2][x];
    }
    for (int32_t z = 0; z < FIELD_CELLS; z++)
        for (int32_t y = 0; y < FIELD_CELLS; y++)
            for (int32_t x = 0; x < 12; x++) cells[z][y][x] = cells[z][y][x] + 2 * cells[z + 1][y][x] + cells[z + 2][y][x];
}

// Sets the weights, and lets the ground under water count as full: the more the more water lies on it, until that is a film, so that
// nothing jumps.
static void weigh(mesh_field *f)
{
    enum { FILM_BITS = 14 };  // a sixteenth of a sixteenth of a full cell
    for (int32_t z = 0; z < TILE_CELLS; z++) {
        for (int32_t y = 0; y < TILE_CELLS; y++) {
            const int32_t *here = f->tile[z][y], *above = f->tile[z][y + 1], open = f->open[z][y];
            int32_t *weight = f->weight[z][y], *sum = f->sum[z][y];
            for (int32_t x = 0; x < FIELD_ROW; x++) {
                int32_t on = above[x] >> FILM_BITS, ground = on < 16 ? on : 16;
                weight[x] = open & bit[x] ? 16 : ground;
                sum[x] = open & bit[x] ? here[x] : ground << 18;  // a sixteenth of a full cell each
            }
        }
    }
    sum_around(f->weight);
}

// The mean of each cell's own fill and that around it. All open: every weight is 64, and dividing by it is exact.
static void take_means(mesh_field *f, bool all_open)
{
    const float half_drop = 0.5f / WEIR_FULL;
    for (int32_t z = 0; z < FIELD_CELLS; z++) {
        for (int32_t y = 0; y < FIELD_CELLS; y++) {
            const int32_t *own = f->tile[z + 1][y + 1] + 1, *sum = f->sum[z][y], *weight = f->weight[z][y];
            float *value = f->value + STEP_Y * y + STEP_Z * z, *around = f->around + STEP_Y * y + STEP_Z * z;
            for (int32_t x = 0; x < 12; x++) around[x] = half_drop * ((float)sum[x] * (1.0f / 64));
            for (int32_t x = 0; x < 12 && !all_open; x++)
                around[x] = half_drop * (16 * (float)sum[x] / (float)(weight[x] > 0 ? weight[x] : 1));
            for (int32_t x = 0; x < 12; x++) value[x] = half_drop * (float)own[x] + around[x];
        }
    }
}

// Which cells of a row are inside and which hold a film. Many rows are dry, and told at once.
static void tell_row(mesh_field *f, int32_t y, int32_t z, float iso, int32_t film_drops, int32_t *inside, int32_t *film)
{
    const int32_t *own = f->tile[z + 1][y + 1] + 1, open = f->open[z + 1][y + 1] >> 1, whole = (1 << FIELD_CELLS) - 1;
    float *value = f->value + STEP_Y * y + STEP_Z * z;
    uint8_t *kind = f->kind + STEP_Y * y + STEP_Z * z;
    int32_t any = 0;
    *inside = *film = 0;
    for (int32_t x = 0; x < 12; x++) any |= own[x];
    if (!any && (open & whole) == whole) {
        for (int32_t x = 0; x < 12; x++) value[x] = value[x] < iso ? value[x] : iso;
        memset(kind, CELL_OPEN, FIELD_CELLS);
        return;
    }
    for (int32_t x = 0; x < FIELD_CELLS; x++) {
        if (own[x] == 0 && value[x] > iso) value[x] = iso;
        int32_t is_open = open >> x & 1, in = (value[x] > iso) & is_open;
        *inside |= in << x;
        *film |= (own[x] >= film_drops) << x;
        kind[x] = (uint8_t)(in | is_open << 1);
    }
}

// Tells what every cell is. The ground is known for the corners of cubes only, so nothing else may ask for it.
static void tell_kinds(mesh_field *f, float iso, int32_t film_drops)
{
    for (int32_t z = 0; z < FIELD_CELLS; z++) {
        int32_t below = 0;  // what is inside in the row below
        for (int32_t y = 0; y < FIELD_CELLS; y++) {
            int32_t inside, film;
            tell_row(f, y, z, iso, film_drops, &inside, &film);
            if (z == 0 || z == FIELD_CELLS - 1 || y < 2) {
                below = inside;
                continue;
            }
            // Solid, and a film on it.
            uint32_t ground = (uint32_t)(film & ~inside & ~(f->open[z + 1][y] >> 1));
            uint8_t *kind = f->kind + STEP_Y * (y - 1) + STEP_Z * z;
            for (uint32_t left = ground; left; left &= left - 1) kind[__builtin_ctz(left)] |= CELL_GROUND;
            f->inside[z - 1][y - 2] = (uint16_t)(((uint32_t)below | ground) >> 1 & 0x1ff);
            below = inside;
        }
    }
}

// ---- Vertices --------------------------------------------------------------------------------------------------------------

// Rounds a distance so that adding it to a coordinate rounds no more.
static float even(float distance)
{
    return (float)(int32_t)(distance * 4096 + (distance < 0 ? -0.5f : 0.5f)) * (1.0f / 4096);
}

// How far from an inside cell's centre towards an outside one's the surface lies.
static float crossing(float in, float out, float iso)
{
    float t = (in - iso) / (in - out), a = t < 0.5f ? t : 1 - t;
    // Between full and empty cells the field is no straight line. With the surface of level water in a cell of fill F, a = F - 1/2 above
    // the cell's centre, the three values there are (7 + F) / 8, (1 + 6 F) / 8 and F / 8; a straight line through the last two crosses
    // 1/2 at 0.75 a / (0.4375 + 0.625 a). Undoing that puts level water at its height, and makes round things rounder.
    a = 0.4375f * a / (0.75f - 0.625f * a);
    t = t < 0.5f ? a : 1 - a;
    return even(t < NUDGE ? NUDGE : t > 1 - NUDGE ? 1 - NUDGE : t);
}

// The slope of the field at a cell; across a wall it goes on as it was.
static void slope_at(const mesh_field *f, int32_t at, float slope[3])
{
    for (int32_t axis = 0; axis < 3; axis++) {
        int32_t high = at + steps[axis], low = at - steps[axis];
        bool both = f->kind[high] & f->kind[low] & CELL_OPEN;
        float above = f->kind[high] & CELL_OPEN ? f->around[high] : f->around[at];
        float below = f->kind[low] & CELL_OPEN ? f->around[low] : f->around[at];
        slope[axis] = (above - below) * (both ? 0.5f : 1.0f);
    }
}

// Makes a vector of length 1; false if it is too short to have a direction.
static bool normalise(float v[3])
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (square < 1e-10f) return false;
    float scale = 1.0f / sqrtf(square);
    for (int32_t i = 0; i < 3; i++) v[i] *= scale;
    return true;
}

// The crossing from the cell `in` towards the cell `out` on the surface between water and air.
static float free_vertex(const mesh_field *f, int32_t in, int32_t out, float iso, float normal[3])
{
    float t = crossing(f->value[in], f->value[out], iso), here[3], there[3];
    slope_at(f, in, here);
    slope_at(f, out, there);
    for (int32_t i = 0; i < 3; i++) normal[i] = -(here[i] + t * (there[i] - here[i]));
    return t;
}

typedef enum slide_kind { SLIDE_NONE, SLIDE_TO_SURFACE, SLIDE_INTO_CORNER, SLIDE_AROUND_CORNER } slide_kind;

// How far a vertex between the cell `in` and the solid one `wall` slides along the wall in the direction of a step.
static slide_kind slide(const mesh_field *f, int32_t in, int32_t wall, int32_t step, float iso, float *far)
{
    uint32_t neighbour = f->kind[in + step], on = f->kind[wall + step];
    *far = CORNER;
    if (neighbour & CELL_INSIDE) return on & CELL_INSIDE ? SLIDE_AROUND_CORNER : SLIDE_NONE;
    if (!(neighbour & CELL_OPEN)) return SLIDE_INTO_CORNER;
    // Where the wall ends, so does the slide.
    float t = crossing(f->value[in], f->value[in + step], iso);
    if (t < CORNER || !(on & CELL_OPEN)) *far = t;
    return SLIDE_TO_SURFACE;
}

// The water line on a wall runs from one of these points to the other: u along one axis, v along the other. The vertex slides to
// the point of it that is nearest.
static void slide_to_line(float *u, float *v)
{
    float scale = *u * *v / (*u * *u + *v * *v), nearest = *v * scale;
    *v = even(*u * scale);
    *u = even(nearest);
}

// Slides a vertex before a wall along one axis. Between two slides it goes half the way of each, but a water line comes before a corner:
// it is what is seen. Returns whether it was one.
static bool slide_along(const mesh_field *f, int32_t in, int32_t wall, int32_t axis, float iso, float *offset, float *normal)
{
    float down, up;
    slide_kind below = slide(f, in, wall, -steps[axis], iso, &down), above = slide(f, in, wall, steps[axis], iso, &up);
    *normal = (float)((above == SLIDE_INTO_CORNER) - (above == SLIDE_AROUND_CORNER) - (below == SLIDE_INTO_CORNER) +
                      (below == SLIDE_AROUND_CORNER));
    bool to_surface = below == SLIDE_TO_SURFACE || above == SLIDE_TO_SURFACE;
    if (to_surface && below != SLIDE_TO_SURFACE) below = SLIDE_NONE;
    if (to_surface && above != SLIDE_TO_SURFACE) above = SLIDE_NONE;
    *offset = (above ? up : 0) - (below ? down : 0);
    if (above && below) *offset *= 0.5f;
    return to_surface;
}

// The vertex before a wall: where it slides to on the two axes along the wall, and its normal.
static void wall_vertex(const mesh_field *f, int32_t in, int32_t wall, int32_t axis, float iso, float offset[3],
                        float normal[3])
{
    int32_t to_surface = 0;
    offset[axis] = 0;
    normal[axis] = wall > in ? 1 : -1;
    for (int32_t turn = 1; turn < 3; turn++) {
        int32_t along = (axis + turn) % 3;
        if (slide_along(f, in, wall, along, iso, &offset[along], &normal[along])) to_surface |= turn;
    }
    if (!to_surface) return;
    float *u = &offset[(axis + 1) % 3], *v = &offset[(axis + 2) % 3];
    if (to_surface == 3 && *u != 0 && *v != 0) slide_to_line(u, v);
    // At the water line it is the water's surface that is seen, so its normal counts.
    float slope[3];
    slope_at(f, in, slope);
    if (!normalise(slope)) return;
    for (int32_t i = 0; i < 3; i++) normal[i] = -slope[i];
}

// How high over the centre of a ground cell the film on it stands.
static float film_height(const mesh_field *f, int32_t ground, float iso)
{
    // The ground's own value is what that of a full cell would be.
    int32_t film = ground + STEP_Y;
    float own = 2 * (f->value[film] - f->around[film]);
    float height = crossing(0.875f + 0.125f * own, f->value[film], iso);
    return height > FILM ? height : FILM;
}

static int32_t drops_at(const mesh_field *f, int32_t at)
{
    return f->tile[at / STEP_Z + 1][at % STEP_Z / STEP_Y + 1][at % STEP_Y + 1];
}

// How far from the middle of a ground cell its film ends, where there is no film on the ground beside it.
static float film_end(const mesh_field *f, int32_t ground, int32_t other, int32_t film_drops)
{
    if (f->kind[other] & CELL_OPEN || !(f->kind[other + STEP_Y] & CELL_OPEN)) return WALL;
    int32_t here = drops_at(f, ground + STEP_Y), there = drops_at(f, other + STEP_Y);
    if (there >= film_drops) return MEETING;
    float t = (float)(here - film_drops) / (float)(here - there);
    return even(t < NUDGE ? NUDGE : t > 1 - NUDGE ? 1 - NUDGE : t);
}

// The vertex of a ground cell: on top of its film, or laid on the ground.
static void ground_vertex(const mesh_field *f, int32_t ground, int32_t other, int32_t axis, float iso, float offset[3],
                          float normal[3])
{
    const int32_t film_drops = mesh_film((int32_t)(iso * WEIR_FULL));
    float slope[3], sign = other > ground ? 1 : -1;
    bool at_wall = axis != 1 && !(f->kind[other + STEP_Y] & CELL_OPEN);
    for (int32_t i = 0; i < 3; i++) offset[i] = normal[i] = 0;
    if (axis == 1 && other < ground) {
        offset[1] = GROUND;
        normal[1] = -1;
        return;
    }
    offset[1] = axis == 1 || at_wall ? film_height(f, ground, iso) : GROUND;
    if (axis != 1) offset[axis] = sign * film_end(f, ground, other, film_drops);
    normal[axis] = sign;
    normal[1] = 1;
    if (axis != 1 && !at_wall) return;
    slope_at(f, ground + STEP_Y, slope);
    if (!normalise(slope)) return;
    for (int32_t i = 0; i < 3; i++) normal[i] = -slope[i];
}

static void add_vertex(mesh_field *f, int32_t x, int32_t y, int32_t z, int32_t axis, float iso, mesh_output *out)
{
    int32_t low = x + 1 + STEP_Y * (y + 1) + STEP_Z * (z + 1), high = low + steps[axis];
    bool low_inside = f->kind[low] & (CELL_INSIDE | CELL_GROUND);
    int32_t in = low_inside ? low : high, other = low_inside ? high : low;
    float *normal = out->normal[out->vertex_count], *position = out->position[out->vertex_count];
    float offset[3] = {0, 0, 0}, sign = low_inside ? 1.0f : -1.0f;
    if (f->kind[in] & CELL_GROUND) {
        ground_vertex(f, in, other, axis, iso, offset, normal);
    } else if (f->kind[other] & CELL_OPEN) {
        offset[axis] = sign * free_vertex(f, in, other, iso, normal);
    } else {
        wall_vertex(f, in, other, axis, iso, offset, normal);
        offset[axis] = sign * WALL;
    }
    if (!low_inside) offset[axis] += 1;
    position[0] = (float)x + 0.5f + offset[0];
    position[1] = (float)y + 0.5f + offset[1];
    position[2] = (float)z + 0.5f + offset[2];
    if (!normalise(normal)) {
        for (int32_t i = 0; i < 3; i++) normal[i] = 0;
        normal[axis] = sign;
    }
    int32_t edge = axis + 3 * (x + 9 * (y + 9 * z));
    f->vertex[edge] = (int16_t)out->vertex_count;
    out->edge[out->vertex_count++] = (uint16_t)edge;
}

// The vertices of the edges that begin in a row of cells, those that are the brick's own or the others.
static void add_row(mesh_field *f, int32_t y, int32_t z, bool own, float iso, mesh_output *out)
{
    uint32_t row = f->inside[z][y];
    bool in_brick = y < 8 && z < 8;
    uint32_t cells = own ? (in_brick ? 0xff : 0) : in_brick ? 0x100 : 0x1ff;
    const uint32_t crossed[3] = {(row ^ row >> 1) & 0xff & cells, y < 8 ? (row ^ f->inside[z][y + 1]) & cells : 0,
                                 z < 8 ? (row ^ f->inside[z + 1][y]) & cells : 0};
    for (uint32_t left = crossed[0] | crossed[1] | crossed[2]; left; left &= left - 1) {
        int32_t x = __builtin_ctz(left);
        for (int32_t axis = 0; axis < 3; axis++)
            if (crossed[axis] >> x & 1) add_vertex(f, x, y, z, axis, iso, out);
    }
}

static void add_vertices(mesh_field *f, float iso, mesh_output *out)
{
    for (int32_t own = 1; own >= 0; own--) {
        for (int32_t z = 0; z < 9; z++)
            for (int32_t y = 0; y < 9; y++) add_row(f, y, z, own, iso, out);
        if (own) out->own_count = out->vertex_count;
    }
}

// ---- Triangles -------------------------------------------------------------------------------------------------------------

static void add_cube(const mesh_field *f, const mesh_case *c, int32_t x, int32_t y, int32_t z, mesh_output *out)
{
    // From the number of the cube's lowest edge to those of its twelve.
    enum { Y = 3 * 9, Z = 3 * 9 * 9 };
    static const int16_t to_edge[CUBE_EDGES] = {0, Y, Z, Y + Z, 1, 1 + 3, 1 + Z, 1 + 3 + Z, 2, 2 + 3, 2 + Y, 2 + 3 + Y};
    const int16_t *vertex = f->vertex + 3 * x + Y * y + Z * z;
    uint16_t *index = out->index + 3 * out->triangle_count;
    for (int32_t i = 0; i < 3 * c->triangle_count; i++) index[i] = (uint16_t)vertex[to_edge[c->edge[i]]];
    out->triangle_count += c->triangle_count;
}

static void add_cubes(const mesh_field *f, const mesh_cases *cases, int32_t y, int32_t z, mesh_output *out)
{
    uint32_t a = f->inside[z][y], b = f->inside[z][y + 1], c = f->inside[z + 1][y], d = f->inside[z + 1][y + 1];
    uint32_t any = a | b | c | d, all = a & b & c & d;
    for (uint32_t left = (any | any >> 1) & ~(all & all >> 1) & 0xff; left; left &= left - 1) {
        int32_t x = __builtin_ctz(left);
        uint32_t inside = (a >> x & 3) | (b >> x & 3) << 2 | (c >> x & 3) << 4 | (d >> x & 3) << 6;
        add_cube(f, &cases->of[inside], x, y, z, out);
    }
}

void mesh_brick(const mesh_cases *cases, const fluid_view *fluid, const shown_part *shown, const mesh_near *near, int32_t iso,
                mesh_field *f, mesh_output *out)
{
    out->vertex_count = out->own_count = out->triangle_count = 0;
    bool all_open = gather(fluid, shown, near, f);
    if (!may_cross(f, iso)) return;
    for (int32_t z = 0; z < TILE_CELLS && all_open; z++) memcpy(f->sum[z], f->tile[z], sizeof f->sum[z]);
    if (!all_open) weigh(f);
    sum_around(f->sum);
    take_means(f, all_open);
    const float value = (float)iso / WEIR_FULL;
    tell_kinds(f, value, mesh_film(iso));
    add_vertices(f, value, out);
    for (int32_t z = 0; z < 8; z++)
        for (int32_t y = 0; y < 8; y++) add_cubes(f, cases, y, z, out);
}
