// Three rafts of different densities float in a basin, and a block of water falls in beside them. However they are tossed about, each must
// come to float as deep as Archimedes says: its density times its height. The water does not feel them.
//
//      +----------------------------+
//      |                          ##|   # a block of water in a corner, an eighth of size each way
//      |   ____                     |
//      |~~|____|~~~~____~~~~~____~~~|   each raft stays in its third of the basin
//      |           |____|   |____|  |
//      |############################|
//      +----------------------------+
#include "scenes/scene.h"

#include <math.h>

#define RAFTS 3

static const double DENSITY[RAFTS] = {0.25, 0.5, 0.75};

typedef struct raft_state {
    weir_floating_box boxes[RAFTS];
    double draught[RAFTS];  // summed over the second half of the run
    double tilt;            // largest of the run, in degrees
    int64_t updates;        // in those sums
} raft_state;

static weir_box basin(int32_t size)
{
    return scene_box(0, size, 0, size * 5 / 8, 0, size / 2);
}

static int32_t depth(int32_t size)
{
    return size / 4;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = basin(size);
}

static void set_up(scene_run *run)
{
    int32_t size = run->size, edge = size / 8;
    scene_fill(run, scene_box(0, size, 0, depth(size), 0, size / 2), 1.0f);
    scene_fill(run, scene_box(size - edge, size, size / 2 - edge, size / 2, 0, edge), 1.0f);
}

// ---- Rafts as rigid bodies -------------------------------------------------------------------------------------------------

static weir_vec add(weir_vec a, weir_vec b)
{
    return (weir_vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static weir_vec times(weir_vec a, float by)
{
    return (weir_vec){by * a.x, by * a.y, by * a.z};
}

static weir_vec cross(weir_vec a, weir_vec b)
{
    return (weir_vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static weir_vec rotate(weir_quat q, weir_vec v)
{
    const weir_vec axis = {q.x, q.y, q.z}, once = times(cross(axis, v), 2);
    return add(v, add(times(once, q.w), cross(axis, once)));
}

static weir_quat reverse(weir_quat q)
{
    return (weir_quat){-q.x, -q.y, -q.z, q.w};
}

// One update of a spin: q + (spin, 0) q / 2, made a rotation again.
static weir_quat turn(weir_quat q, weir_vec spin)
{
    const weir_vec axis = {q.x, q.y, q.z}, half = times(spin, 0.5f);
    const weir_vec by = add(times(half, q.w), cross(half, axis));
    q = (weir_quat){q.x + by.x, q.y + by.y, q.z + by.z, q.w - (half.x * axis.x + half.y * axis.y + half.z * axis.z)};
    const float length = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    return (weir_quat){q.x / length, q.y / length, q.z / length, q.w / length};
}

// Keeps a place between two walls, at which it stops.
static void keep_between(double *place, float *speed, double low, double high)
{
    if (*place < low) *place = low, *speed = fmaxf(*speed, 0);
    if (*place > high) *place = high, *speed = fminf(*speed, 0);
}

// Flat ones, as wide as long, which begin in the air above the water.
static void place_rafts(const scene_run *run, weir_floating_box boxes[RAFTS])
{
    const float half = (float)run->size / 16;
    for (int32_t i = 0; i < RAFTS; i++) {
        boxes[i] = (weir_floating_box){
            .centre = {run->size * (2 * i + 1) / 6.0, depth(run->size) + half, run->size / 4.0},
            .half_size = {half, half / 2, half},
            .orientation = {0, 0, 0, 1},
            .drag = 1,
            .damping = 0.05f,
        };
    }
}

// Semi-implicit Euler, an update long: velocities first, then places with the new ones.
static void move_raft(const scene_run *run, int32_t which, weir_floating_box *box, const weir_buoyancy *water)
{
    const weir_vec h = box->half_size, gravity = weir_world_params(run->world).gravity;
    const float mass = 8 * h.x * h.y * h.z * (float)DENSITY[which];
    box->velocity = add(box->velocity, add(gravity, times(water->force, 1 / mass)));
    // Its moments of inertia are known along its own axes.
    weir_vec torque = rotate(reverse(box->orientation), water->torque);
    torque.x *= 3 / (mass * (h.y * h.y + h.z * h.z));
    torque.y *= 3 / (mass * (h.z * h.z + h.x * h.x));
    torque.z *= 3 / (mass * (h.x * h.x + h.y * h.y));
    box->angular_velocity = add(box->angular_velocity, rotate(box->orientation, torque));
    box->centre.x += box->velocity.x;
    box->centre.y += box->velocity.y;
    box->centre.z += box->velocity.z;
    box->orientation = turn(box->orientation, box->angular_velocity);

    const weir_box walls = basin(run->size);
    const double reach = sqrt((double)h.x * h.x + (double)h.z * h.z), third = run->size / 3.0;
    keep_between(&box->centre.x, &box->velocity.x, which * third + reach, (which + 1) * third - reach);
    keep_between(&box->centre.y, &box->velocity.y, h.y, walls.max.y - h.y);
    keep_between(&box->centre.z, &box->velocity.z, reach, walls.max.z - reach);
}

static void after(scene_run *run)
{
    raft_state *state = run->state;
    weir_buoyancy water[RAFTS];
    if (state->boxes[0].half_size.x == 0) place_rafts(run, state->boxes);
    run->status = weir_world_buoyancy(run->world, state->boxes, RAFTS, water);
    if (run->status != WEIR_OK) return;
    const bool counts = scene_second_half(run);
    state->updates += counts;
    for (int32_t i = 0; i < RAFTS; i++) {
        weir_floating_box *box = &state->boxes[i];
        if (counts) state->draught[i] += water[i].level - (box->centre.y - box->half_size.y);
        move_raft(run, i, box, &water[i]);
        const double upright = rotate(box->orientation, (weir_vec){0, 1, 0}).y;
        state->tilt = fmax(state->tilt, acos(fmin(1, upright)) * 57.29577951308232);
    }
}

static void measure(scene_run *run)
{
    static const char *const names[RAFTS] = {"draught_light", "draught_middle", "draught_heavy"};
    const raft_state *state = run->state;
    for (int32_t i = 0; i < RAFTS; i++) {
        const double theory = DENSITY[i] * 2 * state->boxes[i].half_size.y;
        scene_set_probe(run, names[i], state->updates ? state->draught[i] / (double)state->updates / theory : NAN);
    }
    scene_set_probe(run, "tilt", state->tilt);
}

const scene_def raft_scene = {
    .name = "raft",
    .summary = "three rafts float while a block of water falls in beside them",
    .size_meaning = "length of the basin",
    .size = 64,
    .size_min = 32,
    .size_max = 512,
    .updates = 1200,
    .probes = {{"draught_light", "draught of the raft of density 0.25 in the second half, as a share of density times height",
                true},
               {"draught_middle", "the same of that of density 0.5", true},
               {"draught_heavy", "the same of that of density 0.75", true},
               {"tilt", "largest tilt of any raft, degrees", true}},
    .state_size = sizeof(raft_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
