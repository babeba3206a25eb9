// Things that float: what the water does to oriented boxes, many in one call.
//
// A box is cut into parts along its own axes, none wider than a cell across gravity unless the box is very large. Each part sees the
// columns of cells under and over it, weighted by how much of its footprint lies in each, and of every column the water between its own
// lowest and highest point. Water lies at the bottom of its cell, along gravity. The means of where that water begins and ends cut the
// part by two planes, and what lies between them, volume and centroid, has an exact formula:
//
//        column 1 | column 2
//           .-----|-----.        end:   mean of the columns' ends
//       ~~~/~~~~~~|~~~~~/~~~     begin: mean of where they begin, here the part's lowest point
//         '-------|----'
//
// So the answer is exact but for rounding for any box in level water over a level floor, tilted or not, since all columns then say the
// same. The share is exact in any water for a box that is not turned, since its footprints are rectangles and what is cut off grows
// evenly with height. Elsewhere it is a sum over parts that changes smoothly as the box moves.
//
// The force is the weight of what the box displaces: of each part the mean of the liquids in its columns.
//
// Heights are measured against gravity: along the axis where it is strongest, turned so that up is up. Sums add the parts of mirrored
// places first, so that a mirrored box in a mirrored world gets the mirrored answer to the bit.
#include "world/region.h"
#include "world/solver.h"

#include <assert.h>
#include <math.h>

enum {
    PART_LONGEST = 4,    // cells that a part may be long along gravity; across it none is longer than one
    PARTS_MOST = 32,     // along an axis of a box
    KEPT_MOST = 1024,    // cells around a box that are read once: enough for most, and little enough for any thread's stack
    COLUMNS_MOST = 3,    // along an axis that a part sees: its footprint is at most a cell wide; one more by rounding
    REACH = 32,          // cells in which a surface is looked for, unless the game says
    REACH_MOST = 4096,   // that it may say
    BOXES_AT_A_TIME = 8  // that a thread takes
};

static const double PER_DROP = 1.0 / WEIR_FULL;
static const double SPEED_MOST = 1e6, COEFFICIENT_MOST = 1e3;

typedef struct floating_job {
    fluid_view view;
    const weir_floating_box *boxes;
    weir_buoyancy *answers;
    double gravity[3];
    double density[WEIR_MATERIAL_MAX];
    int32_t axis[3];  // of the world: two across gravity, and that along which it is strongest
    double up;        // 1, -1: the way in which heights grow along axis[2]
    bool level;       // there is gravity, so water has a level
} floating_job;

typedef struct cell_water {
    double fill;  // up to 1
    float flow[3];
    uint8_t material;
    bool flows;  // the flow has been read, and the material
} cell_water;

// The cells around a box. The brick of the last one that was looked for is remembered: the next is mostly in it too.
typedef struct reader {
    const floating_job *job;
    weir_coord at;
    int32_t brick;
    // Those that were read once; size 0: there are too many.
    int32_t first[3], size[3];  // columns across gravity and heights, of which the last is fastest
    cell_water kept[KEPT_MOST];
} reader;

typedef struct body {
    const weir_floating_box *asked;
    double centre[3];  // along the world's axes
    double velocity[3], turning[3];
    double axis[3][3];    // its own axes, of length 1
    double half[3];       // its own half sizes
    double place[3];      // its centre across gravity and in height
    double span[3];       // how far it reaches from its centre along the world's axes, and a little more for roundings
    int32_t parts[3];     // along its own axes
    double part_half[3];  // half sizes of a part
    double rise[3];       // how far a part's faces lie above its middle
    double part_reach;    // how far a part reaches above and below its middle
    double footprint[2];  // half sizes of a part's, across gravity
} body;

// Of all parts, or of some of them. Shares are of the box.
typedef struct body_sums {
    double wet, mass;  // mass: wet times the liquid's density
    double moment[3];  // wet times place from the centre
    double weight[3];  // mass times place from the centre
    double flow[3];    // wet times flow
    double drag[3];    // force
    double turn[3];    // torque of it
} body_sums;

// Those of the library are calls, since they mind NaN.
static inline double least(double a, double b)
{
    return a < b ? a : b;
}

static inline double most(double a, double b)
{
    return a > b ? a : b;
}

// Of numbers that fit.
static inline int32_t floor_of(double value)
{
    const int32_t whole = (int32_t)value;
    return whole - (whole > value);
}

static inline int32_t ceil_of(double value)
{
    const int32_t whole = (int32_t)value;
    return whole + (whole < value);
}

static double dot(const double a[3], const double b[3])
{
    return (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void doubles_of(weir_vec v, double out[3])
{
    out[0] = v.x, out[1] = v.y, out[2] = v.z;
}

static weir_vec vec_of(const double v[3])
{
    return (weir_vec){(float)v[0], (float)v[1], (float)v[2]};
}

// ---- What is asked ---------------------------------------------------------------------------------------------------------

static weir_status check_number(int32_t index, const char *name, double value, double least, double most)
{
    if (value >= least && value <= most) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "box %d: %s is %g; it must be a number from %g to %g", index, name, value, least,
                       most);
}

static weir_status check_vec(int32_t index, const char *const names[3], weir_vec value, double least, double most)
{
    weir_status status = check_number(index, names[0], value.x, least, most);
    if (status == WEIR_OK) status = check_number(index, names[1], value.y, least, most);
    if (status == WEIR_OK) status = check_number(index, names[2], value.z, least, most);
    return status;
}

static double quat_length(weir_quat q)
{
    return sqrt(((double)q.x * q.x + (double)q.y * q.y) + ((double)q.z * q.z + (double)q.w * q.w));
}

static weir_status check_box(int32_t index, const weir_floating_box *box)
{
    static const char *const half_size[] = {"half_size.x", "half_size.y", "half_size.z"};
    static const char *const velocity[] = {"velocity.x", "velocity.y", "velocity.z"};
    static const char *const turning[] = {"angular_velocity.x", "angular_velocity.y", "angular_velocity.z"};
    if (!isfinite(box->centre.x) || !isfinite(box->centre.y) || !isfinite(box->centre.z)) {
        return status_fail(WEIR_ERROR_ARGUMENT, "box %d: centre is (%g, %g, %g); it must be a place", index, box->centre.x,
                           box->centre.y, box->centre.z);
    }
    const double length = quat_length(box->orientation);
    if (length != 0 && !(fabs(length - 1) <= 1e-3)) {
        return status_fail(WEIR_ERROR_ARGUMENT, "box %d: orientation has the length %g; it must be 1, or 0 for unturned", index,
                           length);
    }
    weir_status status = check_vec(index, half_size, box->half_size, WEIR_FLOATING_SMALLEST, WEIR_FLOATING_LARGEST);
    if (status == WEIR_OK) status = check_vec(index, velocity, box->velocity, -SPEED_MOST, SPEED_MOST);
    if (status == WEIR_OK) status = check_vec(index, turning, box->angular_velocity, -SPEED_MOST, SPEED_MOST);
    if (status == WEIR_OK) status = check_number(index, "drag", box->drag, 0, COEFFICIENT_MOST);
    if (status == WEIR_OK) status = check_number(index, "damping", box->damping, 0, COEFFICIENT_MOST);
    if (status == WEIR_OK) status = check_number(index, "reach", box->reach, 0, REACH_MOST);
    return status;
}

static weir_status check_boxes(const weir_world *world, const weir_floating_box *boxes, int32_t count,
                               const weir_buoyancy *answers)
{
    if (!world) return status_fail(WEIR_ERROR_ARGUMENT, "the world is NULL");
    if (count < 0) return status_fail(WEIR_ERROR_ARGUMENT, "the number of boxes is %d; it must be 0 or more", count);
    if (count > 0 && !boxes) return status_fail(WEIR_ERROR_ARGUMENT, "boxes is NULL, and %d are asked for", count);
    if (count > 0 && !answers) return status_fail(WEIR_ERROR_ARGUMENT, "answers is NULL, and there are %d boxes", count);
    for (int32_t i = 0; i < count; i++) {
        weir_status status = check_box(i, &boxes[i]);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

// The axes of a box as columns of its rotation; a quaternion of 0 is unturned.
static void axes_of(weir_quat orientation, double axis[3][3])
{
    const double length = quat_length(orientation), scale = length > 0 ? 1 / length : 0;
    const double x = orientation.x * scale, y = orientation.y * scale, z = orientation.z * scale;
    const double w = length > 0 ? orientation.w * scale : 1;
    axis[0][0] = 1 - 2 * (y * y + z * z), axis[0][1] = 2 * (x * y + w * z), axis[0][2] = 2 * (x * z - w * y);
    axis[1][0] = 2 * (x * y - w * z), axis[1][1] = 1 - 2 * (x * x + z * z), axis[1][2] = 2 * (y * z + w * x);
    axis[2][0] = 2 * (x * z + w * y), axis[2][1] = 2 * (y * z - w * x), axis[2][2] = 1 - 2 * (x * x + y * y);
}

// Half of the width of a rectangle that is as broad as the shadow of a part on an axis: the same if it is upright, and with the same mean
// square if not. Parts of very large boxes look at a cell's width in their middle.
static double footprint_of(const body *b, int32_t axis)
{
    double square = 0;
    for (int32_t i = 0; i < 3; i++) square += b->axis[i][axis] * b->axis[i][axis] * b->part_half[i] * b->part_half[i];
    return least(0.5, sqrt(square));
}

static body make_body(const floating_job *job, const weir_floating_box *asked)
{
    body b = {.asked = asked, .centre = {asked->centre.x, asked->centre.y, asked->centre.z}};
    doubles_of(asked->half_size, b.half);
    doubles_of(asked->velocity, b.velocity);
    doubles_of(asked->angular_velocity, b.turning);
    axes_of(asked->orientation, b.axis);
    b.place[0] = b.centre[job->axis[0]];
    b.place[1] = b.centre[job->axis[1]];
    b.place[2] = job->up * b.centre[job->axis[2]];
    for (int32_t i = 0; i < 3; i++) {
        // Upright ones may be longer: a column is as good as several short ones.
        const double rise = b.axis[i][job->axis[2]], lean = sqrt(most(0, 1 - rise * rise));
        b.parts[i] = (int32_t)least(PARTS_MOST, ceil(2 * b.half[i] * most(lean, 1.0 / PART_LONGEST)));
        b.part_half[i] = b.half[i] / b.parts[i];
        b.rise[i] = b.part_half[i] * (job->up * b.axis[i][job->axis[2]]);
    }
    b.part_reach = (fabs(b.rise[0]) + fabs(b.rise[1])) + fabs(b.rise[2]);
    for (int32_t i = 0; i < 2; i++) b.footprint[i] = footprint_of(&b, job->axis[i]);
    for (int32_t axis = 0; axis < 3; axis++) {
        b.span[axis] = 1e-6;
        for (int32_t i = 0; i < 3; i++) b.span[axis] += fabs(b.axis[i][axis]) * b.half[i];
    }
    return b;
}

// ---- Cells -----------------------------------------------------------------------------------------------------------------

// The cells first to last that a stretch has a share in; its ends are measured from `from`.
typedef struct stretch {
    int32_t first, last;
} stretch;

static stretch cells_of(double from, double low, double high)
{
    stretch cells = {floor_of(from + low), ceil_of(from + high) - 1};
    // The sums are rounded, the differences are not.
    if (cells.first - from > low) cells.first--;
    if (cells.last + 1 - from < high) cells.last++;
    return cells;
}

// The cell of a column (i, j) whose bottom lies at the height k.
static weir_coord cell_at(const floating_job *job, int32_t i, int32_t j, int32_t k)
{
    int32_t cell[3];
    cell[job->axis[0]] = i;
    cell[job->axis[1]] = j;
    cell[job->axis[2]] = job->up > 0 ? k : -1 - k;
    return (weir_coord){cell[0], cell[1], cell[2]};
}

static void begin_reading(reader *r, const floating_job *job)
{
    r->job = job;
    r->at = (weir_coord){0, 0, 0};
    r->brick = fluid_find(&job->view, r->at);
    r->size[0] = 0;
}

static int32_t brick_at(reader *r, weir_coord cell)
{
    const weir_coord at = brick_of_cell(cell);
    if (coords_equal(at, r->at)) return r->brick;
    r->at = at;
    r->brick = fluid_find(&r->job->view, at);
    return r->brick;
}

// The drops of a cell. Those of bricks without water are not looked at: a device may have others.
static int32_t drops_at(reader *r, weir_coord cell)
{
    const int32_t brick = brick_at(r, cell);
    return r->job->view.wet[brick] ? fluid_drops_at(&r->job->view, brick, cell_index(cell)) : 0;
}

static double fill_of(int32_t drops)
{
    return drops < WEIR_FULL ? drops * PER_DROP : 1;
}

static cell_water *kept_at(reader *r, int32_t i, int32_t j, int32_t k)
{
    const int32_t x = i - r->first[0], y = j - r->first[1], z = k - r->first[2];
    assert(x >= 0 && x < r->size[0] && y >= 0 && y < r->size[1] && z >= 0 && z < r->size[2]);
    return &r->kept[(x * r->size[1] + y) * r->size[2] + z];
}

// Reads the fills of those cells that are to be kept and lie in one brick. Also as columns and heights, cells come in bricks of 8. Returns
// whether the brick has water.
static bool keep_brick(reader *r, const int32_t brick[3])
{
    const floating_job *job = r->job;
    int32_t low[3], high[3];
    for (int32_t n = 0; n < 3; n++) {
        low[n] = 8 * brick[n] > r->first[n] ? 8 * brick[n] : r->first[n];
        high[n] = 8 * brick[n] + 8 < r->first[n] + r->size[n] ? 8 * brick[n] + 8 : r->first[n] + r->size[n];
    }
    const int32_t found = brick_at(r, cell_at(job, low[0], low[1], low[2]));
    const bool wet = job->view.wet[found];
    const int32_t upward = (job->up > 0 ? 1 : -1) * (1 << 3 * job->axis[2]);  // from a cell to the next in its column
    for (int32_t i = low[0]; i < high[0]; i++) {
        for (int32_t j = low[1]; j < high[1]; j++) {
            cell_water *to = kept_at(r, i, j, low[2]);
            int32_t cell = cell_index(cell_at(job, i, j, low[2]));
            for (int32_t k = low[2]; k < high[2]; k++, to++, cell += upward)
                *to = (cell_water){.fill = wet ? fill_of(fluid_drops_at(&job->view, found, cell)) : 0};
        }
    }
    return wet;
}

// Keeps the cells that the parts of a box see, if there is room. False: all of them are dry.
static bool keep_cells(reader *r, const body *b)
{
    double cells = 1;
    int32_t size[3];
    for (int32_t n = 0; n < 3; n++) {
        const double span = b->span[r->job->axis[n]];
        const stretch all = cells_of(b->place[n], -span, span);
        r->first[n] = all.first;
        size[n] = all.last - all.first + 1;
        cells *= size[n];
    }
    if (cells > KEPT_MOST) return true;
    for (int32_t n = 0; n < 3; n++) r->size[n] = size[n];
    const int32_t *low = r->first, high[3] = {low[0] + size[0] - 1, low[1] + size[1] - 1, low[2] + size[2] - 1};
    bool wet = false;
    for (int32_t i = low[0] >> 3; i <= high[0] >> 3; i++)
        for (int32_t j = low[1] >> 3; j <= high[1] >> 3; j++)
            for (int32_t k = low[2] >> 3; k <= high[2] >> 3; k++) wet |= keep_brick(r, (int32_t[3]){i, j, k});
    return wet;
}

// A cell with its fill and, if it has water, its flow: one that is kept, or else in `room`.
static const cell_water *water_of(reader *r, cell_water *kept, int32_t i, int32_t j, int32_t k, cell_water *room)
{
    if (kept && (kept->fill == 0 || kept->flows)) return kept;
    const weir_coord cell = cell_at(r->job, i, j, k);
    cell_water *to = kept ? kept : room;
    if (!kept) to->fill = fill_of(drops_at(r, cell));
    if (to->fill == 0) return to;
    const int32_t brick = brick_at(r, cell), index = cell_index(cell);
    for (int32_t axis = 0; axis < 3; axis++) to->flow[axis] = fluid_flow_at(&r->job->view, brick, index, axis);
    to->material = (uint8_t)fluid_material_at(&r->job->view, brick, index);
    to->flows = true;
    return to;
}

// ---- Columns ---------------------------------------------------------------------------------------------------------------

// The water of a column between two heights, pressed together if there are gaps in it. Heights are measured from the box's centre.
typedef struct column_water {
    double begin, end;
    double flow[3], mass;  // summed along it
} column_water;

static column_water water_between(reader *r, const body *b, int32_t i, int32_t j, double low, double high, stretch heights)
{
    column_water water = {low, low, {0, 0, 0}, 0};
    cell_water room, *kept = r->size[0] > 0 ? kept_at(r, i, j, heights.first) : NULL;
    for (int32_t k = heights.first; k <= heights.last; k++, kept += kept != NULL) {
        const cell_water *cell = water_of(r, kept, i, j, k, &room);
        const double fill = cell->fill, bottom = k - b->place[2], from = most(bottom, low);
        // Without gravity water is everywhere in its cell: what is covered of it counts by its fill.
        const double to = r->job->level ? least(bottom + fill, high) : from + fill * (least(bottom + 1, high) - from);
        if (!(to > from)) continue;
        if (water.end == low) water.begin = water.end = from;
        water.end = from == water.end ? to : water.end + (to - from);
        for (int32_t n = 0; n < 3; n++) water.flow[n] += (to - from) * cell->flow[n];
        water.mass += (to - from) * r->job->density[cell->material];
    }
    return water;
}

// The height of the surface in a column, from a height on up if there is water and else down; NaN if there is none within reach. What lies
// in the cell above the last one that is at least half full stands on it; thinner water must lie on something.
static double surface_of(reader *r, int32_t i, int32_t j, int32_t k, int32_t reach)
{
    const floating_job *job = r->job;
    const int32_t half = WEIR_FULL / 2;
    int32_t drops = drops_at(r, cell_at(job, i, j, k)), above = 0;
    if (drops >= half) {
        for (int32_t n = 0; n <= reach; n++, k++, drops = above) {
            above = drops_at(r, cell_at(job, i, j, k + 1));
            if (above < half) return k + (fill_of(drops) + above * PER_DROP);
        }
        return NAN;
    }
    for (int32_t n = 0; n <= reach; n++, k--, above = drops) {
        const weir_coord cell = cell_at(job, i, j, k), below = cell_at(job, i, j, k - 1);
        drops = drops_at(r, cell);
        if (drops >= half) return k + (fill_of(drops) + above * PER_DROP);
        if (drops == 0) continue;
        const int32_t brick = brick_at(r, below);
        if (!mask_has(&job->view.open[brick], cell_index(below))) return k + drops * PER_DROP;
    }
    return NAN;
}

// Over or under the centre: the mean of the columns that a square of one cell there lies in.
static double level_at(reader *r, const body *b)
{
    if (!r->job->level) return NAN;
    const int32_t reach = b->asked->reach > 0 ? b->asked->reach : REACH;
    const stretch u = cells_of(b->place[0], -0.5, 0.5), v = cells_of(b->place[1], -0.5, 0.5);
    double sum = 0, weight = 0;
    for (int32_t j = v.first; j <= v.last; j++) {
        double row_sum = 0, row_weight = 0;
        for (int32_t i = u.first; i <= u.last; i++) {
            const double height = surface_of(r, i, j, (int32_t)floor(b->place[2]), reach);
            const double width = least(i + 1 - b->place[0], 0.5) - most(i - b->place[0], -0.5);
            if (isnan(height) || width <= 0) continue;
            row_sum += width * (height - b->place[2]);
            row_weight += width;
        }
        const double width = least(j + 1 - b->place[1], 0.5) - most(j - b->place[1], -0.5);
        sum += width * row_sum;
        weight += width * row_weight;
    }
    return weight > 0 ? r->job->up * (b->place[2] + sum / weight) : NAN;
}

// ---- Parts -----------------------------------------------------------------------------------------------------------------

// What of a part lies below a plane: its share, and the mean of that times the place along the part's axes, from -1 to 1 each.
typedef struct cut {
    double share, moment[3];
} cut;

// A tetrahedron whose corners lie at heights h[0] <= ... <= h[3], cut at t: the share below, and that times the mean of its barycentric
// coordinates. Every term is a product of ratios between 0 and 1, so nothing is lost where heights are almost alike.
static double cut_tetrahedron(const double h[4], double t, double mean[4])
{
    if (t <= h[1]) {
        const double s1 = (t - h[0]) / (h[1] - h[0]), s2 = (t - h[0]) / (h[2] - h[0]), s3 = (t - h[0]) / (h[3] - h[0]);
        const double share = s1 * s2 * s3;
        mean[1] = share * s1 / 4, mean[2] = share * s2 / 4, mean[3] = share * s3 / 4;
        return share;
    }
    if (t >= h[2]) {
        const double s0 = (h[3] - t) / (h[3] - h[0]), s1 = (h[3] - t) / (h[3] - h[1]), s2 = (h[3] - t) / (h[3] - h[2]);
        const double dry = s0 * s1 * s2;
        mean[1] = 0.25 - dry * s1 / 4, mean[2] = 0.25 - dry * s2 / 4;
        mean[3] = 0.25 - dry * (4 - s0 - s1 - s2) / 4;
        return 1 - dry;
    }
    // Corners 0 and 1 are below: a wedge, of three tetrahedra.
    const double s02 = (t - h[0]) / (h[2] - h[0]), s03 = (t - h[0]) / (h[3] - h[0]);
    const double s12 = (t - h[1]) / (h[2] - h[1]), s13 = (t - h[1]) / (h[3] - h[1]);
    const double a = s02 * s03, b = (1 - s02) * s03 * s12, c = (1 - s03) * s12 * s13;
    mean[1] = (a + b * (2 - s12) + c * (3 - s12 - s13)) / 4;
    mean[2] = (a * s02 + b * (s02 + s12) + c * s12) / 4;
    mean[3] = (a * s03 + b * s03 + c * (s03 + s13)) / 4;
    return a + b + c;
}

// A part is six tetrahedra, one for each order in which one can walk from its lowest corner along its three axes to the highest.
static cut cut_below(const double rise[3], double reach, double t)
{
    static const int32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    cut below = {0, {0, 0, 0}};
    if (t <= -reach) return below;
    if (t >= reach) return (cut){1, {0, 0, 0}};
    for (int32_t o = 0; o < 6; o++) {
        const int32_t *order = orders[o];
        double h[4] = {-reach}, mean[4];
        for (int32_t i = 0; i < 2; i++) h[i + 1] = h[i] + 2 * fabs(rise[order[i]]);
        h[3] = reach;
        const double share = cut_tetrahedron(h, t, mean);
        below.share += share / 6;
        below.moment[order[0]] += (2 * (mean[1] + mean[2] + mean[3]) - share) / 6;
        below.moment[order[1]] += (2 * (mean[2] + mean[3]) - share) / 6;
        below.moment[order[2]] += (2 * mean[3] - share) / 6;
    }
    // An axis that lies level has nothing of it on either side, where the sum leaves a rounding.
    for (int32_t i = 0; i < 3; i++) below.moment[i] *= (rise[i] > 0) - (rise[i] < 0);
    return below;
}

// The water at a part: how much of its footprint has any, where it begins and ends there from the part's middle, and how it flows.
typedef struct part_water {
    double wet, begin, end, flow[3], density;
    double amount;  // that flow and density are weighted by
} part_water;

static void add_water(part_water *sum, const part_water *more, double weight)
{
    sum->wet += weight * more->wet;
    sum->begin += weight * more->begin;
    sum->end += weight * more->end;
    sum->amount += weight * more->amount;
    sum->density += weight * more->density;
    for (int32_t i = 0; i < 3; i++) sum->flow[i] += weight * more->flow[i];
}

static part_water water_in_column(reader *r, const body *b, int32_t i, int32_t j, double height, stretch heights)
{
    const column_water water = water_between(r, b, i, j, height - b->part_reach, height + b->part_reach, heights);
    part_water part = {0};
    if (!(water.end > water.begin)) return part;
    part.wet = 1;
    part.begin = water.begin - height;
    part.end = water.end - height;
    part.amount = water.end - water.begin;
    part.density = water.mass;
    for (int32_t axis = 0; axis < 3; axis++) part.flow[axis] = water.flow[axis];
    return part;
}

// Means over the columns; wet is a share of the footprint.
static part_water water_at(reader *r, const body *b, const double offset[3])
{
    const floating_job *job = r->job;
    const double middle[2] = {offset[job->axis[0]], offset[job->axis[1]]}, height = job->up * offset[job->axis[2]];
    double low[2], high[2];
    stretch across[2];
    for (int32_t i = 0; i < 2; i++) {
        low[i] = middle[i] - b->footprint[i];
        high[i] = middle[i] + b->footprint[i];
        across[i] = cells_of(b->place[i], low[i], high[i]);
        assert(across[i].last - across[i].first < COLUMNS_MOST);
    }
    const stretch heights = cells_of(b->place[2], height - b->part_reach, height + b->part_reach);
    part_water sum = {0};
    for (int32_t j = across[1].first; j <= across[1].last; j++) {
        part_water row = {0};
        for (int32_t i = across[0].first; i <= across[0].last; i++) {
            const double width = least(i + 1 - b->place[0], high[0]) - most(i - b->place[0], low[0]);
            if (width <= 0) continue;
            const part_water column = water_in_column(r, b, i, j, height, heights);
            add_water(&row, &column, width);
        }
        const double width = least(j + 1 - b->place[1], high[1]) - most(j - b->place[1], low[1]);
        if (width > 0) add_water(&sum, &row, width);
    }
    if (sum.wet > 0) {
        sum.begin /= sum.wet;
        sum.end /= sum.wet;
        for (int32_t i = 0; i < 3; i++) sum.flow[i] /= sum.amount;
        sum.density /= sum.amount;
    }
    sum.wet = least(1, sum.wet / ((high[0] - low[0]) * (high[1] - low[1])));
    return sum;
}

// The force of the flow past a share `wet` of a box, at a place of it: half the density times coefficient times the area that faces the
// flow times its speed squared, and the damping.
static void drag_at(const body *b, double mass, const double place[3], const double flow[3], body_sums *sums)
{
    double carried[3], past[3];
    cross(b->turning, place, carried);
    for (int32_t i = 0; i < 3; i++) past[i] = flow[i] - (b->velocity[i] + carried[i]);
    const double area_speed =
        4 * ((b->half[1] * b->half[2] * fabs(dot(past, b->axis[0])) + b->half[2] * b->half[0] * fabs(dot(past, b->axis[1]))) +
             b->half[0] * b->half[1] * fabs(dot(past, b->axis[2])));
    const double volume = 8 * b->half[0] * b->half[1] * b->half[2];
    const double factor = mass * (0.5 * b->asked->drag * area_speed + b->asked->damping * volume);
    for (int32_t i = 0; i < 3; i++) sums->drag[i] = factor * past[i];
    cross(place, sums->drag, sums->turn);
}

static body_sums sum_part(reader *r, const body *b, const int32_t at[3])
{
    body_sums sums = {0};
    double along[3], offset[3];
    for (int32_t i = 0; i < 3; i++) along[i] = (2 * at[i] + 1 - b->parts[i]) * b->part_half[i];
    for (int32_t i = 0; i < 3; i++)
        offset[i] = (along[0] * b->axis[0][i] + along[1] * b->axis[1][i]) + along[2] * b->axis[2][i];
    const part_water water = water_at(r, b, offset);
    if (!(water.wet > 0)) return sums;

    cut wet = {1, {0, 0, 0}};
    if (r->job->level) {
        wet = cut_below(b->rise, b->part_reach, water.end);
        const cut ground = cut_below(b->rise, b->part_reach, water.begin);
        wet.share -= ground.share;
        for (int32_t i = 0; i < 3; i++) wet.moment[i] -= ground.moment[i];
    } else {
        wet.share = (water.end - water.begin) / (2 * b->part_reach);
    }
    if (!(wet.share > 0)) return sums;
    double place[3];
    for (int32_t i = 0; i < 3; i++) along[i] = b->part_half[i] * (wet.moment[i] / wet.share);
    for (int32_t i = 0; i < 3; i++)
        place[i] = offset[i] + ((along[0] * b->axis[0][i] + along[1] * b->axis[1][i]) + along[2] * b->axis[2][i]);
    sums.wet = water.wet * wet.share / ((double)b->parts[0] * b->parts[1] * b->parts[2]);
    sums.mass = sums.wet * water.density;
    for (int32_t i = 0; i < 3; i++) {
        sums.moment[i] = sums.wet * place[i];
        sums.weight[i] = sums.mass * place[i];
        sums.flow[i] = sums.wet * water.flow[i];
    }
    if (b->asked->drag > 0 || b->asked->damping > 0) drag_at(b, sums.mass, place, water.flow, &sums);
    return sums;
}

static void add_sums(body_sums *sum, const body_sums *more)
{
    sum->wet += more->wet;
    sum->mass += more->mass;
    for (int32_t i = 0; i < 3; i++) {
        sum->moment[i] += more->moment[i];
        sum->weight[i] += more->weight[i];
        sum->flow[i] += more->flow[i];
        sum->drag[i] += more->drag[i];
        sum->turn[i] += more->turn[i];
    }
}

// All parts along the axes up to `axis`, those of mirrored places in pairs.
static body_sums sum_parts(reader *r, const body *b, int32_t axis, int32_t at[3])
{
    if (axis < 0) return sum_part(r, b, at);
    body_sums sum = {0};
    for (int32_t low = 0, high = b->parts[axis] - 1; low <= high; low++, high--) {
        at[axis] = low;
        body_sums pair = sum_parts(r, b, axis - 1, at);
        if (high > low) {
            at[axis] = high;
            const body_sums other = sum_parts(r, b, axis - 1, at);
            add_sums(&pair, &other);
        }
        add_sums(&sum, &pair);
    }
    return sum;
}

// ---- Boxes -----------------------------------------------------------------------------------------------------------------

// The cells from whose values an answer is made, with the upper faces of the last ones, in two boxes: around the box, and along gravity
// through its centre. False: all of it lies outside of what a world can be.
static bool cells_asked(const floating_job *job, const body *b, weir_box around[2])
{
    const double limit = WEIR_COORD_LIMIT;
    const double reach = b->asked->reach > 0 ? b->asked->reach : REACH;
    int32_t min[2][3], max[2][3];
    for (int32_t axis = 0; axis < 3; axis++) {
        const double line = axis == job->axis[2] ? reach + 2 : 0.5;
        if (fabs(b->centre[axis]) > limit + b->span[axis] + line + 2) return false;
        for (int32_t n = 0; n < 2; n++) {
            const double distance = n == 0 ? b->span[axis] : line;
            min[n][axis] = (int32_t)floor(b->centre[axis] - distance);
            max[n][axis] = (int32_t)ceil(b->centre[axis] + distance) + 1;
        }
    }
    for (int32_t n = 0; n < 2; n++)
        around[n] = (weir_box){{min[n][0], min[n][1], min[n][2]}, {max[n][0], max[n][1], max[n][2]}};
    return true;
}

static weir_buoyancy answer_box(const floating_job *job, const weir_floating_box *asked)
{
    weir_buoyancy answer = {.level = NAN, .centre = asked->centre};
    const body b = make_body(job, asked);
    weir_box around[2];
    if (!cells_asked(job, &b, around)) return answer;
    reader r;
    begin_reading(&r, job);
    answer.level = level_at(&r, &b);

    int32_t at[3] = {0, 0, 0};
    if (!keep_cells(&r, &b)) return answer;
    const body_sums sums = sum_parts(&r, &b, 2, at);
    if (!(sums.wet > 0)) return answer;
    const double volume = 8 * b.half[0] * b.half[1] * b.half[2];
    double lift[3], turn[3], force[3], flow[3];
    for (int32_t i = 0; i < 3; i++) {
        lift[i] = -volume * job->gravity[i];
        flow[i] = sums.flow[i] / sums.wet;
        force[i] = sums.mass * lift[i] + sums.drag[i];
    }
    cross(sums.weight, lift, turn);
    for (int32_t i = 0; i < 3; i++) turn[i] += sums.turn[i];
    answer.centre.x += sums.moment[0] / sums.wet;
    answer.centre.y += sums.moment[1] / sums.wet;
    answer.centre.z += sums.moment[2] / sums.wet;
    answer.submerged = (float)least(1, sums.wet);
    answer.volume = (float)(least(1, sums.wet) * volume);
    answer.flow = vec_of(flow);
    answer.force = vec_of(force);
    answer.torque = vec_of(turn);
    answer.drag = vec_of(sums.drag);
    return answer;
}

static void answer_boxes(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const floating_job *job = context;
    for (int32_t i = begin; i < end; i++) job->answers[i] = answer_box(job, &job->boxes[i]);
}

// Brings the bricks of all boxes here, as many at a time as there are; those that are here already cost nothing.
static void fetch_boxes(const floating_job *job, int32_t count)
{
    enum { BATCH = 1024 };
    int32_t bricks[BATCH], waiting = 0;
    for (int32_t i = 0; job->view.fetch && i < count; i++) {
        const body b = make_body(job, &job->boxes[i]);
        weir_box around[2];
        if (!cells_asked(job, &b, around)) continue;
        for (int32_t n = 0; n < 2; n++) {
            region_walk walk = region_walk_live(&job->view, around[n]);
            for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
                bricks[waiting++] = brick;
                if (waiting < BATCH) continue;
                fluid_fetch(&job->view, bricks, waiting);
                waiting = 0;
            }
        }
    }
    fluid_fetch(&job->view, bricks, waiting);
}

static floating_job make_job(const weir_world *world, const weir_floating_box *boxes, weir_buoyancy *answers)
{
    floating_job job = {.view = world_fluid(world), .boxes = boxes, .answers = answers};
    int32_t down = 1;
    doubles_of(world->params.gravity, job.gravity);
    for (int32_t axis = 0; axis < 3; axis++)
        if (fabs(job.gravity[axis]) > fabs(job.gravity[down])) down = axis;
    job.axis[0] = (down + 1) % 3;
    job.axis[1] = (down + 2) % 3;
    job.axis[2] = down;
    job.up = job.gravity[down] > 0 ? -1 : 1;
    job.level = job.gravity[down] != 0;
    for (int32_t i = 1; i < world->material_count; i++) job.density[i] = world->materials[i].def.density;
    return job;
}

weir_status weir_world_buoyancy(const weir_world *world, const weir_floating_box *boxes, int32_t count, weir_buoyancy *answers)
{
    weir_status status = check_boxes(world, boxes, count, answers);
    if (status != WEIR_OK) return status;
    floating_job job = make_job(world, boxes, answers);
    fetch_boxes(&job, count);
    if (!world_check_query(world)) job.view = world_fluid(world);
    if (world->values_lost) return world_lost(world);
    if (world->busy)
        answer_boxes(&job, 0, count, 0);
    else
        workers_run(world->workers, answer_boxes, &job, count, BOXES_AT_A_TIME);
    return WEIR_OK;
}
