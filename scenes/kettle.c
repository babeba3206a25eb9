// A kettle on a stove, under a lid that is warm at first: the water boils. In the second half of the run the stove is off and the lid cold,
// and all of the steam comes back.
//
//      ############   lid
//      |  . . .   |   steam
//      |~~~~~~~~~~|   water
//      ############   stove
#include "scenes/scene.h"

#include <math.h>

typedef struct kettle_state {
    int32_t stove, lid;
    double low, high, steam;
} kettle_state;

static weir_box water_of(int32_t size)
{
    return scene_box(0, size, 1, 1 + size / 2, 0, size);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, 2 * size + 2, 0, size);
}

static void set_up(scene_run *run)
{
    kettle_state *state = run->state;
    const int32_t size = run->size;
    const weir_box stove = scene_box(0, size, 0, 1, 0, size), lid = scene_box(0, size, 2 * size + 1, 2 * size + 2, 0, size);
    *state = (kettle_state){.low = INFINITY, .high = -INFINITY};
    scene_build(run, stove);
    scene_build(run, lid);
    scene_fill(run, water_of(size), 1.0f);
    scene_warm(run, water_of(size), 353.15f);
    scene_heat(run, stove, 500, &state->stove);
    scene_heat(run, lid, 370, &state->lid);
}

// Sources keep their numbers in a snapshot.
static void loaded(scene_run *run)
{
    *(kettle_state *)run->state = (kettle_state){.stove = 1, .lid = 2, .low = INFINITY, .high = -INFINITY};
}

static void before(scene_run *run)
{
    kettle_state *state = run->state;
    if (run->update != run->planned / 2) return;
    if (run->status == WEIR_OK) run->status = weir_world_remove(run->world, state->stove);
    if (run->status == WEIR_OK) run->status = weir_world_set_heater(run->world, state->lid, 283.15f);
}

// Cells that are more than half full of water with steam in it boil.
static void after(scene_run *run)
{
    kettle_state *state = run->state;
    const int32_t size = run->size;
    if (scene_second_half(run) || run->update % 20 != 0) return;
    for (int32_t z = 0; z < size; z++) {
        for (int32_t y = 1; y <= size / 2; y++) {
            for (int32_t x = 0; x < size; x++) {
                const weir_mix mix = weir_world_mix(run->world, (weir_coord){x, y, z});
                if (mix.drops[WEIR_WATER] < WEIR_FULL / 2 || mix.drops[WEIR_STEAM] == 0) continue;
                state->low = fmin(state->low, (double)mix.temperature);
                state->high = fmax(state->high, (double)mix.temperature);
            }
        }
    }
    state->steam = fmax(state->steam, scene_held(run, WEIR_STEAM));
}

static void measure(scene_run *run)
{
    const kettle_state *state = run->state;
    const weir_box water = water_of(run->size);
    const double filled = (double)run->size * run->size * (water.max.y - water.min.y);
    scene_set_probe(run, "boils_low", isfinite(state->low) ? state->low : NAN);
    scene_set_probe(run, "boils_high", isfinite(state->high) ? state->high : NAN);
    scene_set_probe(run, "most_steam", state->steam);
    scene_set_probe(run, "steam", scene_held(run, WEIR_STEAM));
    scene_set_probe(run, "missing", (filled - scene_held(run, WEIR_WATER)) * WEIR_FULL);
    scene_set_probe(run, "heat_drift", (double)weir_world_heat_ledger(run->world).drift);
}

const scene_def kettle_scene = {
    .name = "kettle",
    .summary = "water that boils on a stove, and comes back when that is off and the lid cold",
    .size_meaning = "width of the kettle, a quarter full",
    .size = 16,
    .size_min = 4,
    .size_max = 64,
    .updates = 3000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"boils_low", "least temperature of boiling water while the stove is on, K", true},
               {"boils_high", "greatest, K", true},
               {"most_steam", "most steam while the stove is on, cells of water", true},
               {"steam", "steam now, cells of water"},
               {"missing", "drops of the water that are not water now"},
               {"heat_drift", "heat that the account does not explain"}},
    .state_size = sizeof(kettle_state),
    .define = define,
    .set_up = set_up,
    .loaded = loaded,
    .before = before,
    .after = after,
    .measure = measure,
};
