// Hills of a seed, lakes in their valleys, and springs on their tops, which run for UPDATES_OPEN updates: streams find their way down,
// lakes rise and spill over. The seed is the run's.
//
//      |        T                       |   T springs
//      |       .##.           T         |
//      |   __ :#####.        .##.       |   lakes begin a cell below where they would spill over, and the valleys
//      |###~~~#######.  ____:####~~###  |   are under water up to a third of the hills' height
//      |##############~~~~~~###########~|
#include "scenes/hills.h"

#include <math.h>

#define SPRINGS 4
#define UPDATES_OPEN 1000
#define SPRING_TRIES 16  // places that are looked at for each, of which the highest is taken

typedef struct terrain_shape {
    hills_def hills;
    int32_t height;
} terrain_shape;

static terrain_shape shape_of(int32_t size)
{
    int32_t low = size / 16;
    terrain_shape shape = {.height = size * 5 / 8};
    shape.hills = (hills_def){.length = size,
                              .width = size,
                              .period = size / 4,
                              .low = low,
                              .relief = size * 3 / 8,
                              .slope = size / 16,
                              .sea = low + size / 8};
    return shape;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, shape_of(size).height, 0, size);
}

// All springs together give a quarter of a cell for each column.
static void add_springs(scene_run *run, const hills *ground)
{
    scene_random random = scene_random_seeded(run->seed);
    float rate = (float)(run->size * run->size) / (4 * UPDATES_OPEN * SPRINGS);
    for (int32_t i = 0; i < SPRINGS && run->status == WEIR_OK; i++) {
        weir_coord best = {0, -1, 0};
        for (int32_t k = 0; k < SPRING_TRIES; k++) {
            weir_coord at = {scene_random_between(&random, 1, run->size - 2), 0,
                             scene_random_between(&random, 1, run->size - 2)};
            at.y = ground->ground[at.x + ground->length * at.z];
            if (at.y > best.y) best = at;
        }
        weir_box spring = scene_box(best.x - 1, best.x + 2, best.y, best.y + 2, best.z - 1, best.z + 2);
        run->status = weir_world_add_emitter(run->world, spring, WEIR_WATER, rate, NULL);
    }
}

static void set_up(scene_run *run)
{
    terrain_shape shape = shape_of(run->size);
    hills ground;
    if (!hills_make(&shape.hills, run, &ground)) return;
    hills_build(run, &ground, run->size);
    hills_fill(run, &ground);
    add_springs(run, &ground);
    hills_free(&ground);
}

static void before(scene_run *run)
{
    if (run->update == UPDATES_OPEN) scene_stop_sources(run);
}

typedef struct lake_levels {
    double lowest, highest;  // mean levels of lakes
    double uneven;           // largest distance of a column's level from its lake's mean
} lake_levels;

// Water in a column, in cells.
static double depth(const scene_run *run, const hills *ground, int32_t column)
{
    int32_t x = column % ground->length, z = column / ground->length;
    return weir_world_column(run->world, x, z, ground->ground[column], weir_world_bounds(run->world).max.y);
}

static void measure_lake(const scene_run *run, const hills *ground, int32_t lake, lake_levels *levels)
{
    double sum = 0, lowest = INFINITY, highest = -INFINITY;
    for (int32_t c = 0; c < ground->length * ground->width; c++) {
        if (ground->lake[c] != lake) continue;
        double level = ground->ground[c] + depth(run, ground, c);
        sum += level;
        lowest = fmin(lowest, level);
        highest = fmax(highest, level);
    }
    double mean = sum / ground->lakes[lake].columns;
    levels->lowest = fmin(levels->lowest, mean);
    levels->highest = fmax(levels->highest, mean);
    levels->uneven = fmax(levels->uneven, fmax(highest - mean, mean - lowest));
}

static void measure(scene_run *run)
{
    terrain_shape shape = shape_of(run->size);
    hills ground;
    if (!hills_make(&shape.hills, run, &ground)) return;
    lake_levels levels = {INFINITY, -INFINITY, 0};
    for (int32_t i = 0; i < ground.lake_count; i++) measure_lake(run, &ground, i, &levels);
    int32_t wet = 0, columns = ground.length * ground.width;
    float empty = weir_world_params(run->world).empty;
    for (int32_t c = 0; c < columns; c++) wet += depth(run, &ground, c) > (double)empty;
    bool any = ground.lake_count > 0;
    scene_set_probe(run, "wet_share", (double)wet / columns);
    scene_set_probe(run, "lakes", ground.lake_count);
    scene_set_probe(run, "lake_highest", any ? levels.highest : NAN);
    scene_set_probe(run, "lake_lowest", any ? levels.lowest : NAN);
    scene_set_probe(run, "uneven", any ? levels.uneven : NAN);
    scene_set_probe(run, "water", (double)weir_world_ledger(run->world).held / WEIR_FULL);
    hills_free(&ground);
}

const scene_def terrain_scene = {
    .name = "terrain",
    .summary = "hills of a seed with lakes in their valleys and springs on their tops",
    .size_meaning = "length and width of the land",
    .size = 64,
    .size_min = 16,
    .size_max = 512,
    .updates = 2000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.3f, -1.0f, -0.8f},
    .probes = {{"wet_share", "share of the columns that are wet"},
               {"lakes", "hollows that hold a lake, without the water in the valleys"},
               {"lake_highest", "mean surface height of the highest lake, cells"},
               {"lake_lowest", "mean surface height of the lowest lake, cells"},
               {"uneven", "largest distance of a lake's surface from its mean, cells"},
               {"water", "water in all, full cells"}},
    .define = define,
    .set_up = set_up,
    .before = before,
    .measure = measure,
};
