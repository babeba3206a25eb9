// `weir bench`: a fixed list of measurements, each beside the limit that the machine's memory sets and the figure of van der
// Scheer's thesis that it answers. `weir help bench` says what is counted how.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "app/machine.h"
#include "app/near.h"
#include "app/progress.h"
#include "app/report.h"

#define BATCHES_MIN 5
#define BATCHES_MAX 200
#define BATCH_SECONDS 0.02
#define ROW_SECONDS 2.0
#define SETTLED_UPDATES 8  // in a row with one V-cycle that began with little

#define TABLE_WIDTH 100

typedef struct bench_def {
    const char *name;  // after the solver's
    const char *scene;
    int32_t size, full_size;  // by default and with --full
    int32_t warm_up;          // updates before measuring, so that the scene's water is on its way
    int32_t settle;  // most updates after that until the pressure of a block at rest is found, as in Table 2's runs of 1000
    double reference_ms;
    const char *source;
    bool tick;              // it is for games with a tick to keep, which ask for the slowest update
    int32_t most;           // updates that are measured at most, before its water comes to rest; 0: any number
    scene_setting setting;  // of a parameter; no name: none
    // What happens to the scene's world besides, before the updates that are measured. NULL: nothing.
    weir_status (*event)(weir_world *world, int32_t size, int32_t update);
} bench_def;

#define TABLE_2 "van der Scheer, Table 2, CA simulator on an RX 6900 XT"
#define TABLE_1 "van der Scheer, Table 1, on an RX 6900 XT, "

// Sizes of the scenes are those whose peak number of cells comes close to the thesis's; tsunami does so with --full, late in
// its run.
static const bench_def benches[] = {
    {"block-32", "block", 32, 32, 20, 400, 0.104, TABLE_2},
    {"block-64", "block", 64, 64, 10, 200, 0.53052, TABLE_2},
    {"block-128", "block", 128, 128, 4, 120, 3.4, TABLE_2},
    {"block-256", "block", 256, 256, 2, 60, 27.313, TABLE_2},
    {"watercube", "watercube", 48, 48, 200, 0, 0.341, TABLE_1 "130176 cells"},
    {"dambreak", "dambreak", 76, 76, 150, 0, 1.011, TABLE_1 "627248 cells"},
    {"damhole", "damhole", 200, 200, 100, 0, 1.114, TABLE_1 "730048 cells"},
    {"tsunami", "tsunami", 64, 178, 100, 0, 23.245, TABLE_1 "11294784 cells"},
};

#define TABLE_6_4 "Medvecky-Heretik, Table 6.4, 48 x 48 x 48 cells at 502 frames per second, drawn"

#define FALL_UPDATES 1000  // while its tap is open
#define LAVA_UPDATES 500   // while its spring flows
#define EVENT_EVERY 20     // updates
#define EVENT_UPDATES 400
#define LAKE_LEVEL 20
#define LAKE_HEIGHT 32

// A bucket that takes the surface of the scene lake into the next layer of cells, and one that is taken out and takes it back.
static weir_status change_layer(weir_world *world, int32_t size, int32_t update)
{
    const int32_t x = size / 8;
    if (update % EVENT_EVERY != 0) return WEIR_OK;
    if (update / EVENT_EVERY % 2 == 1)
        return weir_world_drain(world, (weir_box){{x, LAKE_LEVEL - 4, x}, {x + 6, LAKE_LEVEL, x + 6}});
    return weir_world_fill(world, (weir_box){{x, LAKE_LEVEL + 1, x}, {x + 4, LAKE_LEVEL + 5, x + 4}}, WEIR_WATER, 1.0f);
}

// A dam through the middle of the lake, and its end.
static weir_status build_dam(weir_world *world, int32_t size, int32_t update)
{
    const weir_box dam = {{size / 2, 0, 0}, {size / 2 + 1, LAKE_HEIGHT, size}};
    if (update % EVENT_EVERY != 0) return WEIR_OK;
    return update / EVENT_EVERY % 2 == 1 ? weir_world_dig(world, dam) : weir_world_build(world, dam, 255);
}

// Those of settle, whose blocks would be asleep. The slab's water is kept from settling for as long as it can be, so that every cell of it is
// worked on: 255 updates, the warm-up among them.
#define SLAB_UPDATES 200
static const bench_def settle_benches[] = {
    {"slab-48", "block", 48, 48, 10, 0, 1.992, TABLE_6_4, true, SLAB_UPDATES, {"patience", 255}, NULL},
    {"slab-96", "block", 96, 96, 10, 0, 1.992, TABLE_6_4, true, SLAB_UPDATES, {"patience", 255}, NULL},
    {"waterfall", "waterfall", 32, 32, 100, 0, 1.992, TABLE_6_4, true, FALL_UPDATES, {NULL, 0}, NULL},
    {"waterfall-budget", "waterfall", 32, 32, 100, 0, 1.992, TABLE_6_4, true, FALL_UPDATES, {"budget", 64}, NULL},
    {"terrain", "terrain", 64, 256, 100, 0, 1.992, TABLE_6_4, true, 0, {NULL, 0}, NULL},
    {"lavawater", "lavawater", 96, 96, 100, 0, 1.992, TABLE_6_4, true, LAVA_UPDATES, {NULL, 0}, NULL},
    {"lake-layer", "lake", 512, 512, 100, 0, 1.992, TABLE_6_4, true, EVENT_UPDATES, {NULL, 0}, change_layer},
    {"lake-layer-budget", "lake", 512, 512, 3000, 0, 1.992, TABLE_6_4, true, EVENT_UPDATES, {"budget", 64}, change_layer},
    {"lake-dam", "lake", 512, 512, 100, 0, 1.992, TABLE_6_4, true, EVENT_UPDATES, {NULL, 0}, build_dam},
    {"lake-dam-budget", "lake", 512, 512, 3000, 0, 1.992, TABLE_6_4, true, EVENT_UPDATES, {"budget", 64}, build_dam},
};

// Those of mixture. The document played its 176^3 cells on a GPU.
#define HEINTZ "Heintz et al. 2017, 176^3 cells at 100 frames per second on a Radeon R9 255"
static const bench_def mixture_benches[] = {
    {"block", "blend", 64, 176, 20, 0, 10, HEINTZ, true, 0, {NULL, 0}, NULL},
    {"layers", "layers", 64, 64, 100, 0, 10, HEINTZ, true, 0, {NULL, 0}, NULL},
    {"kettle", "kettle", 16, 32, 100, 0, 10, HEINTZ, true, 0, {NULL, 0}, NULL},
};

// Who plays what: of momentum and classic the thesis tells.
#define LIST(defs) defs, (int32_t)(sizeof defs / sizeof defs[0])
static const struct bench_list {
    weir_solver solver;
    const bench_def *defs;
    int32_t count;
    scene_setting awake;  // that keeps blocks awake; no name: none
} lists[] = {
    {WEIR_SOLVER_MOMENTUM, LIST(benches), {"sleep", 0}},
    {WEIR_SOLVER_CLASSIC, LIST(benches), {NULL, 0}},
    {WEIR_SOLVER_SETTLE, LIST(settle_benches), {NULL, 0}},
    {WEIR_SOLVER_MIXTURE, LIST(mixture_benches), {NULL, 0}},
};

#define LIST_COUNT ((int32_t)(sizeof lists / sizeof lists[0]))

// The surface of a scene in play, meshed again after every update. Its reference is what Weir asks of itself.
static const bench_def mesh_bench = {"dambreak", "dambreak", 128, 128, 200, 0, NAN, "the least that is asked for, on 2 cores"};

#define MESH_CELLS_PER_SECOND 30e6
#define MESH_BYTES_PER_CELL 4  // mass, read once
#define MESH_UPDATES 25

typedef struct bench_row {
    const bench_def *def;
    char name[64];
    weir_solver solver;
    scene_setting setting;
    int32_t size;
    bool left_out;     // its solver does not run on this backend, and nobody asked for it by name
    weir_stats stats;  // at the end
    double update_ms, slowest_ms;
    double cells_per_second, bytes_per_cell, limit, fraction;
    double rule_ms[WEIR_RULE_TIMES];
} bench_row;

// ---- Measuring -------------------------------------------------------------------------------------------------------------

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Runs one batch and gives its seconds per update; negative on a failure. *slowest, if not NULL, becomes those of an update that took longer.
// What happens to a bench's world happens only where the slowest is asked for.
static double run_batch(scene_run *run, const bench_def *def, int32_t updates, int32_t before, double *slowest)
{
    double seconds = 0;
    for (int32_t i = 0; i < updates; i++) {
        if (slowest && def->event && def->event(run->world, run->size, before + i) != WEIR_OK) return -1;
        if (scene_update(run) != WEIR_OK) return -1;
        seconds += run->step_seconds;
        if (slowest && run->step_seconds > *slowest) *slowest = run->step_seconds;
    }
    return seconds / updates;
}

// Plays until the start of the scene is forgotten: its updates, and for a block until its pressure has been found for a while.
static double warm_up(scene_run *run, const bench_def *def)
{
    double last = run_batch(run, def, def->warm_up, 0, NULL);
    for (int32_t i = 0, steady = 0; last >= 0 && i < def->settle && steady < SETTLED_UPDATES; i++) {
        weir_stats stats = weir_world_stats(run->world);
        bool found = stats.cycles <= 1 && stats.solved;
        steady = found ? steady + 1 : 0;
        last = run_batch(run, def, 1, 0, NULL);
    }
    return last;
}

static int64_t peak_cells(const bench_row *row)
{
    return (int64_t)row->stats.peak_bricks * WEIR_BRICK_CELLS;
}

static int measure_batches(scene_run *run, bench_row *row)
{
    double last = warm_up(run, row->def);
    weir_stats before = weir_world_stats(run->world);
    // A batch must be long against the clock's grain.
    const double longest = row->def->most > 0 ? row->def->most / BATCHES_MIN : 1000;
    const int32_t updates = last > 0 ? (int32_t)fmin(longest, ceil(BATCH_SECONDS / last)) : 1;
    const int32_t batches_most = row->def->most > 0 ? (int32_t)fmin(BATCHES_MAX, row->def->most / updates) : BATCHES_MAX;

    double batches[BATCHES_MAX], total = 0, slowest = 0;
    int32_t count = 0;
    while (last >= 0 && count < batches_most && (count < BATCHES_MIN || total < ROW_SECONDS)) {
        last = run_batch(run, row->def, updates, count * updates, &slowest);
        batches[count++] = last;
        total += last * updates;
    }
    if (last < 0) return app_fail(EXIT_FAILED, "%s: %s", row->name, scene_error());

    qsort(batches, (size_t)count, sizeof batches[0], compare_doubles);
    double median = batches[count / 2], all = (double)count * updates;
    row->stats = weir_world_stats(run->world);
    row->update_ms = 1e3 * median;
    row->slowest_ms = 1e3 * slowest;
    row->cells_per_second = (double)(row->stats.cells_updated - before.cells_updated) / all / median;
    row->bytes_per_cell = (double)row->stats.peak_bytes / (double)peak_cells(row);
    for (int32_t i = 0; i < row->stats.rule_count; i++) {
        // Rules come in the same order all along; one that first ran just now was not in the earlier list.
        double earlier = i < before.rule_count ? before.rules[i].seconds : 0;
        row->rule_ms[i] = 1e3 * (row->stats.rules[i].seconds - earlier) / all;
    }
    return 0;
}

// Steps the scene and meshes what changed, which in a scene like this is nearly everything; the best time counts, as nothing but other
// programs can make it longer. All live bricks count, as in the other rows.
static int measure_meshes(scene_run *run, bench_row *row)
{
    weir_mesher *mesher;
    double last = warm_up(run, row->def), best = INFINITY;
    if (last < 0) return app_fail(EXIT_FAILED, "%s: %s", row->name, scene_error());
    weir_status status = weir_mesher_create(run->world, NULL, &mesher);
    for (int32_t i = 0; i <= MESH_UPDATES && status == WEIR_OK; i++) {
        double start = progress_clock();
        status = weir_mesher_update(mesher, NULL);
        double seconds = progress_clock() - start;
        if (i > 0 && seconds < best) {  // the first makes room
            best = seconds;
            row->cells_per_second = (double)weir_world_stats(run->world).bricks * WEIR_BRICK_CELLS / seconds;
        }
        if (status == WEIR_OK) status = scene_update(run);
    }
    weir_mesher_destroy(mesher);
    if (status != WEIR_OK) return app_fail(EXIT_FAILED, "%s: %s", row->name, weir_error_message());
    row->stats = weir_world_stats(run->world);
    row->stats.rule_count = 0;  // they tell of updates
    row->update_ms = 1e3 * best;
    row->slowest_ms = NAN;
    row->bytes_per_cell = NAN;
    return 0;
}

static int measure_row(const app_options *options, double limit, bench_row *row)
{
    bool mesh = row->def == &mesh_bench;
    scene_options play = scene_options_default();
    scene_run *run;
    play.size = row->size;
    play.updates = 1000000000;  // no second half, in which scenes measure
    play.def.solver = row->solver;
    play.def.backend = options->backend;
    play.def.device = options->device;
    play.def.threads = options->threads;
    play.def.simd = options->simd;
    play.settings = &row->setting;
    play.setting_count = row->setting.name ? 1 : 0;
    weir_status opened = scene_open(scene_find(row->def->scene), &play, &run);
    row->left_out = opened == WEIR_ERROR_UNSUPPORTED && options->name_count == 0;
    if (row->left_out) return 0;
    if (opened != WEIR_OK) return app_fail(app_exit_status(opened), "%s: %s", row->name, scene_error());

    int status = mesh ? measure_meshes(run, row) : measure_batches(run, row);
    scene_close(run);
    row->limit = limit;
    // The least that an update must do: read the state once, and write it once.
    const double cell_bytes = mesh ? MESH_BYTES_PER_CELL : 2.0 * row->stats.cell_state_bytes;
    row->fraction = limit > 0 ? cell_bytes * row->cells_per_second / limit : NAN;
    return status;
}

// ---- Telling ---------------------------------------------------------------------------------------------------------------

static void print_heading(const app_options *options, double limit, const weir_stats *machine)
{
    app_print("%s, %d thread%s, memory %.1f GB/s (%s)", machine_device(options->backend, options->device, machine->simd),
              machine->threads, machine->threads == 1 ? "" : "s", 1e-9 * limit,
              options->backend == WEIR_BACKEND_CPU ? "triad" : "copy");
    printf("\n%-20s %5s %12s %11s %11s %11s %9s %13s\n", "", "size", "peak cells", "ms/update", "Mcells/s", "bytes/cell",
           "of limit", "theirs, ms");
}

static void print_row(const bench_row *row)
{
    long long cells = peak_cells(row);
    printf("%-20s %5d %12lld %11.3f %11.2f ", row->name, row->size, cells, row->update_ms, 1e-6 * row->cells_per_second);
    if (row->def == &mesh_bench)
        printf("%11s %7.1f %% %13s\n", "", 100 * row->fraction, "");
    else
        printf("%11.1f %7.1f %% %13.3f\n", row->bytes_per_cell, 100 * row->fraction, row->def->reference_ms);
    if (row->def->tick) printf("    slowest update %.3f ms\n", row->slowest_ms);
    int32_t column = TABLE_WIDTH;
    for (int32_t i = 0; i < row->stats.rule_count; i++) {
        char text[128];
        int32_t length = snprintf(text, sizeof text, "%s %.3f ms", row->stats.rules[i].name, row->rule_ms[i]);
        bool fits = column + 2 + length <= TABLE_WIDTH;
        printf("%s%s", fits ? ", " : i ? ",\n    " : "    ", text);
        column = fits ? column + 2 + length : 4 + length;
    }
    if (row->stats.rule_count) printf("\n");
    fflush(stdout);
}

static void report_row(report_file *report, const app_options *options, const bench_row *row)
{
    report_object(report, NULL);
    report_string(report, "name", row->name);
    report_string(report, "solver", weir_solver_name(row->solver));
    report_string(report, "backend", machine_backend_name(options->backend));
    report_string(report, "device", machine_device(options->backend, options->device, row->stats.simd));
    report_integer(report, "threads", row->stats.threads);
    report_integer(report, "size", row->size);
    report_integer(report, "peak_cells", peak_cells(row));
    report_number(report, "update_ms", row->update_ms);
    report_number(report, "slowest_ms", row->slowest_ms);
    report_number(report, "cells_per_second", row->cells_per_second);
    report_number(report, "bytes_per_cell", row->bytes_per_cell);
    report_number(report, "limit_bytes_per_second", row->limit);
    report_number(report, "fraction_of_limit", row->fraction);
    report_object(report, "reference");
    report_string(report, "source", row->def->source);
    report_number(report, "value", row->def == &mesh_bench ? MESH_CELLS_PER_SECOND : row->def->reference_ms);
    report_string(report, "unit", row->def == &mesh_bench ? "cells per second" : "ms per update");
    report_end(report, '}');
    report_array(report, "rules");
    for (int32_t i = 0; i < row->stats.rule_count; i++) {
        report_object(report, NULL);
        report_string(report, "name", row->stats.rules[i].name);
        report_number(report, "ms", row->rule_ms[i]);
        report_end(report, '}');
    }
    report_end(report, ']');
    report_end(report, '}');
}

// ---- The command -----------------------------------------------------------------------------------------------------------

static int32_t row_count(void)
{
    int32_t count = 1;  // the mesh
    for (int32_t l = 0; l < LIST_COUNT; l++) count += lists[l].count;
    return count;
}

// The index-th benchmark of all: list by list, then the mesh.
static bench_row row_at(int32_t index, bool full)
{
    for (int32_t l = 0; l < LIST_COUNT; index -= lists[l].count, l++) {
        if (index >= lists[l].count) continue;
        const bench_def *def = &lists[l].defs[index];
        bench_row row = {.def = def, .solver = lists[l].solver, .size = full ? def->full_size : def->size};
        row.setting = def->settle > 0 ? lists[l].awake : def->setting;
        snprintf(row.name, sizeof row.name, "%s-%s", weir_solver_name(row.solver), def->name);
        return row;
    }
    return (bench_row){.def = &mesh_bench, .name = "mesh-dambreak", .size = mesh_bench.size};
}

// Whether a benchmark is meant by what was typed: its name, or some of its words, so that block-32 and block mean those of both solvers.
static bool means(const char *typed, const char *name)
{
    size_t length = strlen(typed);
    for (const char *word = name; word; word = strchr(word, '-') ? strchr(word, '-') + 1 : NULL)
        if (length > 0 && strncmp(word, typed, length) == 0 && (word[length] == '-' || word[length] == '\0')) return true;
    return false;
}

static bool wanted(const app_options *options, const char *name)
{
    for (int32_t i = 0; i < options->name_count; i++) {
        if (means(options->names[i], name)) return true;
    }
    return options->name_count == 0;
}

static int check_names(const app_options *options)
{
    const int32_t count = row_count();
    for (int32_t i = 0; i < options->name_count; i++) {
        bool known = false;
        near_name near = near_begin(options->names[i]);
        for (int32_t r = 0; r < count; r++) {
            bench_row row = row_at(r, false);
            if (means(options->names[i], row.name)) known = true;
            near_try(&near, row.def->name);
            near_try(&near, row.name);
        }
        if (!known)
            return app_fail(EXIT_WRONG, "unknown benchmark '%s'%s; 'weir bench --list' lists them", options->names[i],
                            near_hint(&near, ""));
    }
    return 0;
}

// Which threads and code path the worlds will have, asked of an empty one.
static int ask_world(const app_options *options, weir_stats *stats)
{
    weir_world_def def = weir_world_def_default();
    weir_world *world;
    def.backend = options->backend;
    def.device = options->device;
    def.threads = options->threads;
    def.simd = options->simd;
    weir_status status = weir_world_create(&def, &world);
    if (status != WEIR_OK) return app_fail(app_exit_status(status), "%s", weir_error_message());
    *stats = weir_world_stats(world);
    weir_world_destroy(world);
    return 0;
}

static int measure_limit(const app_options *options, int32_t threads, double *limit)
{
    if (options->backend == WEIR_BACKEND_CPU) {
        *limit = machine_bandwidth(threads);
        return 0;
    }
    weir_status status = weir_device_bandwidth(options->backend, options->device, limit);
    return status == WEIR_OK ? 0 : app_fail(app_exit_status(status), "%s", weir_error_message());
}

static int run_rows(const app_options *options, report_file *report)
{
    weir_stats machine = {0};
    int status = ask_world(options, &machine);
    if (status) return status;
    bool print = !options->quiet && !report_on_stdout(report);
    double limit;
    status = measure_limit(options, machine.threads, &limit);
    if (status) return status;
    if (print) print_heading(options, limit, &machine);
    if (report->path) report_array(report, NULL);

    const int32_t count = row_count();
    for (int32_t r = 0; r < count; r++) {
        bench_row row = row_at(r, options->full);
        if (!wanted(options, row.name)) continue;
        progress_bar bar = progress_begin(row.name, count, options->quiet);
        progress_show(&bar, r);
        status = measure_row(options, limit, &row);
        progress_end(&bar);
        if (status) return status;
        if (row.left_out) {
            if (print) app_print("%s: %s\n", row.name, scene_error());
            continue;
        }
        if (print) print_row(&row);
        if (report->path) report_row(report, options, &row);
    }
    if (print)
        printf("\nTheir figures are of a GPU, but for settle's; van der Scheer's CPU version updated 5 to 15 Mcells/s. See "
               "'weir help bench'.\n");
    if (report->path) report_end(report, ']');
    return report_close(report);
}

int command_bench(const app_options *options)
{
    int status = check_names(options);
    if (status) return status;
    if (options->list) {
        const int32_t count = row_count();
        for (int32_t r = 0; r < count; r++) {
            bench_row row = row_at(r, false);
            if (wanted(options, row.name)) printf("%s\n", row.name);
        }
        return EXIT_DONE;
    }
#ifdef WEIR_DEBUG_BUILD
    return app_fail(EXIT_FAILED, "this is a debug build, whose speed means nothing; build the release preset for benchmarks");
#endif
    report_file report;
    status = report_open(&report, options->report);
    if (status) return status;
    status = run_rows(options, &report);
    report_abandon(&report);
    return status;
}
