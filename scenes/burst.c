// A chamber of smoke under pressure, and a wall with a pane in it that goes: a shock runs out into the room.
//
//      |            #                                      |
//      |   smoke    .   room, with less of it              |   . the pane
//      |____________#______________________________________|
//
// Before that the chamber rings: it holds a hair more at one end, and swings in its lowest tone, of which the probe takes half a period. There
// is no gravity, since a room of air is far too small to show it.
#include "scenes/scene.h"

#include <math.h>

enum { PRESSURE = 3, LONG = 4 };  // fill of the chamber; lengths of the chamber in the world

typedef struct burst_state {
    double tone, first, second;  // of the lowest tone: how strong it was, and updates at which it was none
} burst_state;

static weir_box chamber_of(int32_t size)
{
    return scene_box(0, size, 0, size, 0, size);
}

static int32_t goes_after(int32_t size)
{
    return 7 * size / 2;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, LONG * size, 0, size, 0, size);
    def->params->gravity = (weir_vec){0, 0, 0};
    def->params->momentum.gas = 0.2f;
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size;
    scene_build(run, scene_box(size, size + 1, 0, size, 0, size));
    for (int32_t x = 0; x < size; x++)
        scene_fill(run, scene_box(x, x + 1, 0, size, 0, size), PRESSURE + (float)(size - 1 - 2 * x) / (float)(32 * size));
    scene_fill(run, scene_box(size + 1, LONG * size, 0, size, 0, size), 1.0f / 16);
}

static void before(scene_run *run)
{
    const int32_t size = run->size, low = size / 4, high = size - size / 4;
    if (run->update == goes_after(size)) scene_dig(run, scene_box(size, size + 1, low, high, low, high));
}

// The lowest tone of the chamber.
static double tone(const scene_run *run)
{
    const int32_t size = run->size;
    double sum = 0;
    for (int32_t x = 0; x < size; x++)
        sum += cos(acos(-1.0) * (x + 0.5) / size) * scene_volume(run, scene_box(x, x + 1, 0, size, 0, size));
    return sum;
}

static void after(scene_run *run)
{
    burst_state *state = run->state;
    if (run->first > 0 || run->update > goes_after(run->size)) return;
    const double now = tone(run);
    if (run->update > 1 && (now < 0) != (state->tone < 0)) {
        const double when = (double)run->update - now / (now - state->tone);
        *(state->first > 0 ? &state->second : &state->first) = when;
    }
    state->tone = now;
}

// How far out of the chamber there is more in the middle of the room than there was.
static double front(const scene_run *run)
{
    const int32_t size = run->size, middle = size / 2;
    int32_t x = LONG * size;
    while (x > size + 1 && weir_world_cell(run->world, (weir_coord){x - 1, middle, middle}).fill < 0.125f) x--;
    return x - size - 1;
}

static void measure(scene_run *run)
{
    const burst_state *state = run->state;
    const weir_box chamber = chamber_of(run->size);
    const double cells = (double)run->size * run->size * run->size;
    scene_set_probe(run, "sound_speed", state->second > 0 ? run->size / (state->second - state->first) : NAN);
    scene_set_probe(run, "chamber", scene_volume(run, chamber) / cells);
    scene_set_probe(run, "front", front(run));
    scene_set_probe(run, "held", scene_held(run, weir_world_fluid(run->world)));
}

const scene_def burst_scene = {
    .name = "burst",
    .summary = "smoke under pressure that bursts into a room",
    .size_meaning = "edge of the chamber",
    .size = 24,
    .size_min = 6,
    .size_max = 64,
    .updates = 240,
    .probes = {{"sound_speed", "speed of sound in the chamber before it bursts, cells per update", true},
               {"chamber", "fill in the chamber, on the mean"},
               {"front", "how far out of the chamber the shock is"},
               {"held", "smoke that there is, full cells"}},
    .state_size = sizeof(burst_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
