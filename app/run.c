// `weir run`: plays a scene, measures it, and tells what came out, as a table for people and as JSON for everything else.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "app/export.h"
#include "app/film.h"
#include "app/machine.h"
#include "app/near.h"
#include "app/plain.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/terrain.h"
#include "scenes/script.h"
#include <weir/path.h>

typedef struct hash_mark {
    int64_t update;
    uint64_t hash;
} hash_mark;

// What is gathered while a scene plays.
typedef struct run_record {
    float *update_ms;  // one per update
    int64_t updates, room;
    hash_mark *hashes;
    int64_t hash_count, hash_room;
    double seconds;
    weir_ledger start;
    int64_t cells_before;  // cells that the world had updated before, if it was loaded
    weir_stats begun;      // after the first update, when what a device needs at the start has travelled
    weir_stats played;     // after the last, before the questions that come then
    bool whole;            // all updates were made, and nothing failed
    film film;
} run_record;

// What is asked of the world when it is over.
typedef struct run_result {
    weir_stats stats;
    weir_ledger ledger;
    uint64_t hash;
    double median_ms, p99_ms, max_ms;
    double frame_ms, frame_max_ms;
    double max_fill, mean_excess;
    int64_t peak_cells;
} run_result;

// ---- Signals ---------------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;  // the signal's number; 0: none came

static void on_interrupt(int number)
{
    interrupted = number;
}

// From now on Ctrl-C, a polite kill and a closed terminal end the run after the update at work, and what was asked for is written.
// What waits for somebody else, such as a report for the reader of a pipe, gives up. The same signal once more ends the program at
// once. One that is ignored, as under nohup, stays so.
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, before;
        sigaction(numbers[i], &action, &before);
        if (before.sa_handler == SIG_IGN) sigaction(numbers[i], &before, NULL);
    }
}

// ---- Before the work -------------------------------------------------------------------------------------------------------

static int unknown_scene(const char *name)
{
    char all[512] = "";
    near_name near = near_begin(name ? name : "");
    for (int32_t i = 0; scene_at(i); i++) {
        near_try(&near, scene_at(i)->name);
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", scene_at(i)->name);
    }
    if (name && weir_path_ends_in(name, ".weir"))
        return app_fail(EXIT_WRONG, "'%s' is a snapshot, which needs its scene: weir run SCENE --load %s", name, name);
    if (name && (weir_path_ends_in(name, ".vox") || weir_path_ends_in(name, ".png")))
        return app_fail(EXIT_WRONG, "'%s' is no scene; for a file of terrain: weir run --terrain %s", name, name);
    if (!name) return app_fail(EXIT_WRONG, "weir run needs a scene, which is a script such as my.lua or one of %s", all);
    return app_fail(EXIT_WRONG, "unknown scene '%s'%s; there are %s", name, near_hint(&near, ""), all);
}

int app_check_path(const char *option, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return app_fail(EXIT_WRONG, "--%s %s cannot be written: it is %s", option, path,
                        S_ISDIR(info.st_mode) ? "a folder" : "not a plain file");
    }
    // It will be written beside its place first, so that is tried.
    char temporary[PATH_MAX + 32];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    FILE *trial = length < (int)sizeof temporary ? fopen(temporary, "wb") : NULL;
    if (!trial)
        return app_fail(EXIT_WRONG, "--%s %s cannot be written: %s", option, path,
                        strerror(length < (int)sizeof temporary ? errno : ENAMETOOLONG));
    fclose(trial);
    remove(temporary);
    return 0;
}

// What the library has to say while it opens a device: which one it is, and why it takes long the first time.
static void print_log(void *user, weir_log_level level, const char *line)
{
    (void)user;
    if (level < WEIR_LOG_INFO) return;
    app_print("device   %s", line);
    fflush(stdout);
}

// To stderr: stdout may be a report.
static void print_script_line(const char *line)
{
    progress_wipe();
    plain_write(stderr, line);
    fputc('\n', stderr);
}

// The scene that is asked for, built in, a script or made for the terrain.
static int find_scene(const app_options *options, const scene_options *play, const terrain_file *terrain, scene_script **script,
                      const scene_def **def)
{
    const char *name = options->name_count > 0 ? options->names[0] : NULL;
    if (options->name_count > 1)
        return app_fail(EXIT_WRONG, "weir run takes one scene, and got '%s' as well", options->names[1]);
    if (name && weir_path_ends_in(name, ".lua")) {
        weir_status status = scene_script_open(name, play, script);
        if (status != WEIR_OK) return app_fail(app_exit_status(status), "%s", scene_error());
        *def = scene_script_def(*script);
    } else if (terrain->scene) {
        *def = scene_terrain_file_def(terrain->scene);
    } else {
        *def = name ? scene_find(name) : NULL;
        if (!*def) return unknown_scene(name);
    }
    // In scene_options a size of 0 stands for the default, but one that the user typed is out of range like any other.
    if (!options->size_given || options->size != 0) return 0;
    return app_fail(EXIT_WRONG, "size 0 is out of range: scene %s takes %d to %d", (*def)->name, (*def)->size_min,
                    (*def)->size_max);
}

static int open_scene(const app_options *options, const report_file *report, const terrain_file *terrain, scene_script **script,
                      scene_run **run)
{
    scene_options play = scene_options_default();
    play.size = options->size;
    play.updates = options->updates;
    play.seed = options->seed;
    if (options->solver_given) play.def.solver = options->solver;
    play.def.backend = options->backend;
    play.def.device = options->device;
    play.def.threads = options->threads;
    play.def.simd = options->simd;
    play.settings = options->settings;
    play.setting_count = options->setting_count;
    play.load = options->load;
    play.print = print_script_line;
    if (options->backend != WEIR_BACKEND_CPU && !options->quiet && !report_on_stdout(report)) play.def.logger.write = print_log;
    const scene_def *def = NULL;
    int status = find_scene(options, &play, terrain, script, &def);
    if (status) return status;
    weir_status opened = scene_open(def, &play, run);
    return opened == WEIR_OK ? terrain_put(terrain, options, *run) : app_fail(app_exit_status(opened), "%s", scene_error());
}

// ---- The work --------------------------------------------------------------------------------------------------------------

// An array with room for one more element: the same one or a larger one; NULL if memory ran out, and the old one stays.
static void *with_room(void *array, int64_t count, int64_t *room, size_t size)
{
    if (count < *room) return array;
    int64_t larger = *room ? 2 * *room : 1024;
    void *moved = realloc(array, (size_t)larger * size);
    if (moved) *room = larger;
    return moved;
}

static bool record_time(run_record *record, double seconds)
{
    float *times = with_room(record->update_ms, record->updates, &record->room, sizeof *times);
    if (!times) return false;
    record->update_ms = times;
    record->update_ms[record->updates++] = (float)(1e3 * seconds);
    record->seconds += seconds;
    return true;
}

static bool record_hash(run_record *record, const scene_run *run)
{
    hash_mark *hashes = with_room(record->hashes, record->hash_count, &record->hash_room, sizeof *hashes);
    if (!hashes) return false;
    record->hashes = hashes;
    record->hashes[record->hash_count++] = (hash_mark){run->update, weir_world_hash(run->world)};
    return true;
}

static bool record_update(run_record *record, const scene_run *run, int64_t hash_every)
{
    if (!record_time(record, run->step_seconds)) return false;
    if (record->updates == 1) record->begun = weir_world_stats(run->world);
    return hash_every == 0 || run->update % hash_every != 0 || record_hash(record, run);
}

static int play_update(scene_run *run, const app_options *options, run_record *record, exporter *exports)
{
    const int64_t before = run->update;
    weir_status status = scene_update(run);
    if (run->update > before && !record_update(record, run, options->hash_every))
        return app_fail(EXIT_FAILED, "memory ran out for the measurements");
    // The scene's own work is done between updates.
    if (status != WEIR_OK && run->status != WEIR_OK)
        return app_fail(EXIT_FAILED, "after update %" PRId64 ": %s", run->update, scene_error());
    if (status != WEIR_OK) return app_fail(EXIT_FAILED, "update %" PRId64 " failed: %s", run->update + 1, scene_error());
    if (export_update(exports, run->update) != WEIR_OK) return app_fail(EXIT_FAILED, "%s", weir_error_message());
    return film_show(&record->film, run);
}

static int play(scene_run *run, const app_options *options, int64_t updates, run_record *record, exporter *exports)
{
    progress_bar bar = progress_begin(run->def->name, updates, options->quiet);
    record->start = weir_world_ledger(run->world);
    record->cells_before = weir_world_stats(run->world).cells_updated;
    int status = film_show(&record->film, run);

    for (int64_t i = 0; i < updates && !interrupted && !status; i++) {
        progress_show(&bar, i);
        status = play_update(run, options, record, exports);
    }
    progress_end(&bar);
    record->played = weir_world_stats(run->world);
    // A world whose device was lost has gone back to a checkpoint.
    run->update = record->played.updates;
    if (record->updates > run->update - run->first) record->updates = run->update - run->first;
    record->whole = !status && record->updates == updates;
    return status;
}

// ---- What came out ---------------------------------------------------------------------------------------------------------

static void sort_times(run_record *record, run_result *result)
{
    int64_t n = record->updates;
    if (n == 0) return;
    app_sort(record->update_ms, n);
    result->median_ms = record->update_ms[(n - 1) / 2];
    result->p99_ms = record->update_ms[(99 * n + 99) / 100 - 1];
    result->max_ms = record->update_ms[n - 1];
}

// Goes through the live bricks, since a box around them all may be mostly empty.
static bool measure_fill(const weir_world *world, run_result *result)
{
    int32_t count = weir_world_bricks(world, NULL, 0);
    weir_coord *origins = malloc(sizeof *origins * ((size_t)count + 1));
    if (!origins) return false;
    weir_world_bricks(world, origins, count);

    float empty = weir_world_params(world).empty, fill[WEIR_BRICK_CELLS];
    double excess = 0;
    int64_t wet = 0;
    for (int32_t i = 0; i < count; i++) {
        weir_coord o = origins[i];
        if (weir_world_read_fill(world, (weir_box){o, {o.x + 8, o.y + 8, o.z + 8}}, fill) != WEIR_OK) continue;
        for (int32_t c = 0; c < WEIR_BRICK_CELLS; c++) {
            if (fill[c] <= empty) continue;
            wet++;
            excess += fmax(0, (double)fill[c] - 1);
            result->max_fill = fmax(result->max_fill, fill[c]);
        }
    }
    free(origins);
    result->mean_excess = wet ? excess / (double)wet : 0;
    return true;
}

static int measure(scene_run *run, run_record *record, run_result *result)
{
    *result = (run_result){
        .stats = weir_world_stats(run->world), .ledger = weir_world_ledger(run->world), .hash = weir_world_hash(run->world)};
    result->peak_cells = (int64_t)result->stats.peak_bricks * WEIR_BRICK_CELLS;
    sort_times(record, result);
    film_times(&record->film, &result->frame_ms, &result->frame_max_ms);
    scene_measure(run);
    if (!measure_fill(run->world, result)) return app_fail(EXIT_FAILED, "memory ran out for the measurements");
    return 0;
}

static const char *solver_name(const scene_run *run)
{
    return weir_solver_name(weir_world_solver(run->world));
}

static int64_t cells_updated(const run_record *record, const run_result *result)
{
    return result->stats.cells_updated - record->cells_before;
}

static double cells_per_second(const run_record *record, const run_result *result)
{
    return record->seconds > 0 ? (double)cells_updated(record, result) / record->seconds : 0;
}

static double bytes_per_cell(const run_result *result)
{
    return result->peak_cells ? (double)result->stats.peak_bytes / (double)result->peak_cells : 0;
}

static double rule_ms(const run_record *record, const weir_rule_time *rule)
{
    return record->updates ? 1e3 * rule->seconds / (double)record->updates : 0;
}

// What travels to and from a device, without what it takes to start.
static void write_transfer(report_file *report, const run_record *record)
{
    const weir_stats *first = &record->begun, *last = &record->played;
    double updates = (double)record->updates - 1, per_update = 0, share = 0;
    if (updates > 0) {
        per_update =
            (double)(last->bytes_to_device - first->bytes_to_device + last->bytes_from_device - first->bytes_from_device) /
            updates;
        double cells = (double)(last->cells_updated - first->cells_updated) / updates;
        share = cells > 0 && last->cell_bytes > 0 ? per_update / (last->cell_bytes * cells) : 0;
    }
    report_object(report, "transfer");
    report_integer(report, "to_device", last->bytes_to_device);
    report_integer(report, "from_device", last->bytes_from_device);
    report_number(report, "per_update", per_update);
    report_number(report, "share_of_channels", share);
    report_end(report, '}');
}

// The keys and their meanings are those of docs/report.md and stay as they are; see `weir help run`.
static void write_report(report_file *report, const app_options *options, const scene_run *run, const run_record *record,
                         const run_result *result)
{
    const weir_stats *stats = &result->stats;
    const weir_ledger *start = &record->start, *end = &result->ledger;
    report_object(report, NULL);
    report_string(report, "scene", run->def->name);
    report_string(report, "solver", solver_name(run));
    report_string(report, "backend", machine_backend_name(options->backend));
    report_string(report, "device", machine_device(options->backend, options->device, stats->simd));
    report_integer(report, "threads", stats->threads);
    report_integer(report, "size", run->size);
    report_integer(report, "seed", run->seed);
    report_integer(report, "updates", record->updates);
    report_number(report, "seconds", record->seconds);
    report_object(report, "update_ms");
    report_number(report, "median", result->median_ms);
    report_number(report, "p99", result->p99_ms);
    report_number(report, "max", result->max_ms);
    report_end(report, '}');
    report_integer(report, "frames", record->film.count);
    report_object(report, "frame_ms");
    report_number(report, "median", result->frame_ms);
    report_number(report, "max", result->frame_max_ms);
    report_end(report, '}');
    report_integer(report, "cells_updated", cells_updated(record, result));
    report_number(report, "cells_per_second", cells_per_second(record, result));
    report_integer(report, "peak_bricks", stats->peak_bricks);
    report_integer(report, "peak_cells", result->peak_cells);
    report_integer(report, "peak_bytes", stats->peak_bytes);
    report_number(report, "bytes_per_cell", bytes_per_cell(result));
    report_drops(report, "mass_start", start->held);
    report_drops(report, "mass_end", end->held);
    report_object(report, "ledger");
    report_drops(report, "added", end->added - start->added);
    report_drops(report, "removed", end->removed - start->removed);
    report_drops(report, "drained", end->drained - start->drained);
    report_drops(report, "turned", end->turned - start->turned);
    report_end(report, '}');
    report_drops(report, "drift", end->drift);
    report_number(report, "max_fill", result->max_fill);
    report_number(report, "mean_excess", result->mean_excess);
    report_hash(report, "hash", result->hash);
    report_array(report, "hashes");
    for (int64_t i = 0; i < record->hash_count; i++) {
        report_object(report, NULL);
        report_integer(report, "update", record->hashes[i].update);
        report_hash(report, "hash", record->hashes[i].hash);
        report_end(report, '}');
    }
    report_end(report, ']');
    report_array(report, "rules");
    for (int32_t i = 0; i < stats->rule_count; i++) {
        report_object(report, NULL);
        report_string(report, "name", stats->rules[i].name);
        report_number(report, "ms", rule_ms(record, &stats->rules[i]));
        report_end(report, '}');
    }
    report_end(report, ']');
    write_transfer(report, record);
    report_array(report, "rules_on_host");
    for (int32_t i = 0; i < stats->rule_count; i++)
        if (stats->rules[i].on_host) report_string(report, NULL, stats->rules[i].name);
    report_end(report, ']');
    report_object(report, "probes");
    for (int32_t i = 0; i < SCENE_PROBES && run->def->probes[i].name; i++) {
        report_number(report, run->def->probes[i].name, run->probes[i]);
    }
    report_end(report, '}');
    report_end(report, '}');
}

static void print_table(const app_options *options, const scene_run *run, const run_record *record, const run_result *result)
{
    const weir_stats *stats = &result->stats;
    app_print("scene    %s, size %d, seed %" PRIu32 "", run->def->name, run->size, run->seed);
    app_print("solver   %s on %s, %d thread%s", solver_name(run),
              machine_device(options->backend, options->device, stats->simd), stats->threads, stats->threads == 1 ? "" : "s");
    app_print("updates  %" PRId64 " in %.3f s: median %.3f ms, p99 %.3f ms, max %.3f ms", record->updates, record->seconds,
              result->median_ms, result->p99_ms, result->max_ms);
    if (record->film.on) {
        app_print("frames   %" PRId64 " of %d x %d, look %s: median %.1f ms, max %.1f ms", record->film.count,
                  record->film.def.width, record->film.def.height, weir_look_name(record->film.def.look), result->frame_ms,
                  result->frame_max_ms);
    }
    if (record->film.removed > 0)
        app_print("         %" PRId64 " of an earlier run removed from %s", record->film.removed, record->film.folder);
    app_print("cells    %.2f million per second; at most %" PRId64 " at a time", 1e-6 * cells_per_second(record, result),
              result->peak_cells);
    app_print("memory   %.1f MB at most, %.1f bytes per cell", 1e-6 * (double)stats->peak_bytes, bytes_per_cell(result));
    app_print("water    %" PRId64 " drops before, %" PRId64 " after, drift %" PRId64 "", record->start.held,
              result->ledger.held, result->ledger.drift);
    app_print("fill     at most %.4f, mean excess %.3g", result->max_fill, result->mean_excess);
    app_print("hash     %016" PRIx64 "", result->hash);
    for (int32_t i = 0; i < stats->rule_count; i++) {
        app_print("%-8s %-28s %.4f ms", i ? "" : "rules", stats->rules[i].name, rule_ms(record, &stats->rules[i]));
    }
    for (int32_t i = 0; i < SCENE_PROBES && run->def->probes[i].name; i++) {
        char value[32] = "not reached";
        if (!isnan(run->probes[i])) snprintf(value, sizeof value, "%.6g", run->probes[i]);
        app_print("%-8s %-28s %s", i ? "" : "probes", run->def->probes[i].name, value);
    }
}

// ---- The command -----------------------------------------------------------------------------------------------------------

static int fail_as_weir(void)
{
    return app_fail(EXIT_FAILED, "%s", weir_error_message());
}

// Writes all that was asked for. A part that fails does not keep the others from being written.
static int finish(const app_options *options, scene_run *run, run_record *record, exporter *exports, report_file *report,
                  run_result *result)
{
    int status = measure(run, record, result);
    const bool measured = status == 0;
    if (export_last(exports, run->update) != WEIR_OK) status = fail_as_weir();
    if (film_close(&record->film) != 0) status = EXIT_FAILED;
    if (options->save && weir_world_save(run->world, options->save) != WEIR_OK) status = fail_as_weir();
    if (record->whole && status == 0) film_remove_older(&record->film);
    if (!measured) return status;
    if (report->path) write_report(report, options, run, record, result);
    if (!options->quiet && !report_on_stdout(report)) print_table(options, run, record, result);
    return report_close(report) != 0 ? EXIT_FAILED : status;
}

static int run_scene(const app_options *options, scene_run *run, run_record *record, report_file *report)
{
    int64_t updates = options->updates_given ? options->updates : run->def->updates;
    run_result result;
    int status = export_check_box(options, run->world);
    if (status) return status;
    catch_signals();  // before there is a film to leave behind
    status = film_open(&record->film, options, run);
    if (status) return status;

    exporter exports = export_begin(options, run->world);
    status = play(run, options, updates, record, &exports);
    // Of a run that failed on its way, what was done is told all the same.
    int finished = finish(options, run, record, &exports, report, &result);
    if (!status) status = finished;
    export_end(&exports);
    if (result.ledger.drift != 0) {
        int drifted = app_fail(EXIT_FAILED, "the ledger does not balance: drift of %" PRId64 " drops", result.ledger.drift);
        if (!status) status = drifted;
    }
    if (status) return status;
    if (record->whole) return EXIT_DONE;
    return app_fail(EXIT_SIGNAL + interrupted, "interrupted after %" PRId64 " of %" PRId64 " updates", record->updates,
                    updates);
}

int command_run(const app_options *options)
{
    report_file report;
    scene_script *script = NULL;
    scene_run *run = NULL;
    terrain_file terrain = {0};
    run_record record = {0};
    int status = options->save ? app_check_path("save", options->save) : 0;
    if (!status) status = export_check(options);
    if (!status) status = film_check(options);
    if (status) return status;
    status = report_open(&report, options->report);
    if (status) return status;

    status = terrain_read(&terrain, options);
    if (!status) status = open_scene(options, &report, &terrain, &script, &run);
    if (!status) status = run_scene(options, run, &record, &report);
    report_abandon(&report);
    free(record.update_ms);
    free(record.hashes);
    film_free(&record.film);
    scene_close(run);
    scene_script_close(script);
    terrain_end(&terrain);
    return status;
}
