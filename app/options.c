// Reading the command line. `--name value` and `--name=value` are the same; the last of two wins, but for --set, which adds up.
#include "app/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "app/near.h"
#include <weir/path.h>

// ---- Numbers and words -----------------------------------------------------------------------------------------------------

// A whole number and nothing else: no blanks, no trailing letters, no overflow. False after telling what is wrong.
static bool read_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (text[0] == '\0' || isspace((unsigned char)text[0]) || *end != '\0') {
        app_fail(EXIT_WRONG, "--%s takes a whole number, not '%s'", option, text);
        return false;
    }
    if (errno == ERANGE || number < least || number > most) {
        app_fail(EXIT_WRONG, "--%s %s is out of range: it takes %" PRId64 " to %" PRId64, option, text, least, most);
        return false;
    }
    *value = number;
    return true;
}

static bool read_choice(const char *option, const char *text, const char *const *choices, int32_t count, int32_t *value)
{
    char all[128] = "";
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *value = i;
            return true;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", choices[i]);
    }
    app_fail(EXIT_WRONG, "--%s takes %s, not '%s'", option, all, text);
    return false;
}

// ---- One reader per option -------------------------------------------------------------------------------------------------

static int read_solver(app_options *options, const char *text)
{
    const char *choices[WEIR_SOLVER_COUNT];
    int32_t choice;
    for (int32_t i = 0; i < WEIR_SOLVER_COUNT; i++) choices[i] = weir_solver_name((weir_solver)i);
    if (!read_choice("solver", text, choices, WEIR_SOLVER_COUNT, &choice)) return EXIT_WRONG;
    options->solver = (weir_solver)choice;
    options->solver_given = true;
    return 0;
}

static int read_backend(app_options *options, const char *text)
{
    static const char *const choices[WEIR_BACKEND_COUNT] = {"cpu", "opencl"};
    int32_t choice;
    if (!read_choice("backend", text, choices, WEIR_BACKEND_COUNT, &choice)) return EXIT_WRONG;
    options->backend = (weir_backend)choice;
    return 0;
}

// What it means is for the backend to say.
static int read_device(app_options *options, const char *text)
{
    options->device = text;
    return 0;
}

static int read_threads(app_options *options, const char *text)
{
    int64_t threads;
    if (!read_integer("threads", text, 1, 256, &threads)) return EXIT_WRONG;
    options->threads = (int32_t)threads;
    return 0;
}

static int read_simd(app_options *options, const char *text)
{
    static const char *const choices[WEIR_SIMD_COUNT] = {"auto", "scalar", "avx2", "avx512"};
    int32_t choice;
    if (!read_choice("simd", text, choices, WEIR_SIMD_COUNT, &choice)) return EXIT_WRONG;
    options->simd = (weir_simd)choice;
    return 0;
}

// The range depends on the scene, which knows it and says so.
static int read_size(app_options *options, const char *text)
{
    int64_t size;
    if (!read_integer("size", text, INT32_MIN, INT32_MAX, &size)) return EXIT_WRONG;
    options->size = (int32_t)size;
    options->size_given = true;
    return 0;
}

static int read_updates(app_options *options, const char *text)
{
    options->updates_given = true;
    return read_integer("updates", text, 0, 1000000000, &options->updates) ? 0 : EXIT_WRONG;
}

// Whether name and value suit each other is for weir_params_set to say, which needs the solver.
static int read_set(app_options *options, const char *text)
{
    static char names[OPTION_SETTINGS][32];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) return app_fail(EXIT_WRONG, "--set takes NAME=VALUE, not '%s'", text);
    if (options->setting_count == OPTION_SETTINGS) {
        return app_fail(EXIT_WRONG, "--set %s: more than %d settings", text, OPTION_SETTINGS);
    }
    size_t length = (size_t)(equals - text);
    if (length >= sizeof names[0]) return app_fail(EXIT_WRONG, "--set %s: there is no parameter of this name", text);

    char *end;
    errno = 0;
    double value = strtod(equals + 1, &end);
    if (equals[1] == '\0' || isspace((unsigned char)equals[1]) || *end != '\0') {
        return app_fail(EXIT_WRONG, "--set %s: '%s' is not a number", text, equals + 1);
    }
    if (errno == ERANGE && (value > 1 || value < -1)) {
        return app_fail(EXIT_WRONG, "--set %s: '%s' is too large a number", text, equals + 1);
    }
    char *name = names[options->setting_count];
    memcpy(name, text, length);
    name[length] = '\0';
    options->settings[options->setting_count++] = (scene_setting){name, value};
    return 0;
}

static int read_seed(app_options *options, const char *text)
{
    int64_t seed;
    if (!read_integer("seed", text, 0, UINT32_MAX, &seed)) return EXIT_WRONG;
    options->seed = (uint32_t)seed;
    return 0;
}

static int read_hash_every(app_options *options, const char *text)
{
    return read_integer("hash-every", text, 1, 1000000000, &options->hash_every) ? 0 : EXIT_WRONG;
}

static int read_path(const char *option, const char *text, const char **path)
{
    if (text[0] == '\0') return app_fail(EXIT_WRONG, "--%s takes the name of a file, and got an empty one", option);
    *path = text;
    return 0;
}

static int read_report(app_options *options, const char *text)
{
    return read_path("report", text, &options->report);
}

static int read_save(app_options *options, const char *text)
{
    return read_path("save", text, &options->save);
}

static int read_load(app_options *options, const char *text)
{
    return read_path("load", text, &options->load);
}

static int read_export(app_options *options, const char *text)
{
    return read_path("export", text, &options->export);
}

static int read_export_every(app_options *options, const char *text)
{
    return read_integer("export-every", text, 1, 1000000000, &options->export_every) ? 0 : EXIT_WRONG;
}

// Coordinates with commas between them, and nothing else. False if that is not what the text is; *far if some lie outside of all worlds.
static bool read_coordinates(const char *text, int32_t count, int32_t *const numbers[], bool *far)
{
    *far = false;
    for (int32_t i = 0; i < count; i++) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || isspace((unsigned char)*text) || *end != (i < count - 1 ? ',' : '\0')) return false;
        *far = *far || number < -WEIR_COORD_LIMIT || number > WEIR_COORD_LIMIT;
        *numbers[i] = (int32_t)number;
        text = end + 1;
    }
    return true;
}

static int too_far(const char *option, const char *text)
{
    return app_fail(EXIT_WRONG, "--%s %s is out of range: coordinates go from %d to %d", option, text, -WEIR_COORD_LIMIT,
                    WEIR_COORD_LIMIT);
}

static int read_export_box(app_options *options, const char *text)
{
    weir_box *box = &options->export_box;
    int32_t *const numbers[6] = {&box->min.x, &box->min.y, &box->min.z, &box->max.x, &box->max.y, &box->max.z};
    bool far;
    options->export_boxed = true;
    if (!read_coordinates(text, 6, numbers, &far))
        return app_fail(EXIT_WRONG,
                        "--export-box takes six whole numbers x0,y0,z0,x1,y1,z1, the lowest cell and the one past the "
                        "highest, not '%s'",
                        text);
    if (far) return too_far("export-box", text);
    if (box->min.x < box->max.x && box->min.y < box->max.y && box->min.z < box->max.z) return 0;
    return app_fail(EXIT_WRONG, "--export-box %s holds no cell: x1,y1,z1 must each be above x0,y0,z0", text);
}

static int read_frames(app_options *options, const char *text)
{
    return read_path("frames", text, &options->frames);
}

static int read_video(app_options *options, const char *text)
{
    return read_path("video", text, &options->video);
}

static int read_look(app_options *options, const char *text)
{
    const char *choices[WEIR_LOOK_COUNT];
    int32_t choice;
    for (int32_t i = 0; i < WEIR_LOOK_COUNT; i++) choices[i] = weir_look_name((weir_look)i);
    options->picture_option = "look";
    if (!read_choice("look", text, choices, WEIR_LOOK_COUNT, &choice)) return EXIT_WRONG;
    options->look = (weir_look)choice;
    return 0;
}

// A number of pixels, up to a character that must follow it.
static bool read_pixels(const char **text, char after, int32_t *pixels)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    errno = 0;
    long number = strtol(*text, &end, 10);
    if (*end != after) return false;
    *pixels = errno || number > INT32_MAX ? INT32_MAX : (int32_t)number;
    *text = end + 1;
    return true;
}

static int read_picture(app_options *options, const char *text)
{
    const char *at = text;
    options->picture_option = "picture";
    if (!read_pixels(&at, 'x', &options->picture_width) || !read_pixels(&at, '\0', &options->picture_height))
        return app_fail(EXIT_WRONG, "--picture takes WIDTHxHEIGHT in pixels, such as 1280x720, not '%s'", text);
    int32_t width = options->picture_width, height = options->picture_height;
    if (width >= 1 && height >= 1 && width <= WEIR_PICTURE_LIMIT && height <= WEIR_PICTURE_LIMIT) return 0;
    return app_fail(EXIT_WRONG, "--picture %s is out of range: it takes 1 to %d pixels each way", text, WEIR_PICTURE_LIMIT);
}

static int read_fps(app_options *options, const char *text)
{
    int64_t fps;
    options->picture_option = "fps";
    if (!read_integer("fps", text, 1, 240, &fps)) return EXIT_WRONG;
    options->fps = (int32_t)fps;
    return 0;
}

static int read_frame_every(app_options *options, const char *text)
{
    options->picture_option = "frame-every";
    return read_integer("frame-every", text, 1, 1000000000, &options->frame_every) ? 0 : EXIT_WRONG;
}

// A number and nothing else; NULL if the text does not begin with one, or else what follows it.
static const char *read_number(const char *text, double *value)
{
    char *end;
    if (text[0] == '\0' || isspace((unsigned char)text[0])) return NULL;
    *value = strtod(text, &end);
    return end == text ? NULL : end;
}

static int read_in_range(const char *option, const char *text, double least, double most, double *value)
{
    const char *end = read_number(text, value);
    if (!end || *end != '\0') return app_fail(EXIT_WRONG, "--%s takes a number, not '%s'", option, text);
    if (*value >= least && *value <= most) return 0;
    return app_fail(EXIT_WRONG, "--%s %s is out of range: it takes %g to %g", option, text, least, most);
}

static int read_speed(app_options *options, const char *text)
{
    options->picture_option = "speed";
    return read_in_range("speed", text, 0.01, 100, &options->speed);
}

static int read_fov(app_options *options, const char *text)
{
    double fov = 0;
    options->picture_option = "fov";
    int status = read_in_range("fov", text, 1, 150, &fov);
    options->fov = (float)fov;
    return status;
}

static int read_camera(app_options *options, const char *text)
{
    double numbers[6];
    const char *at = text;
    for (int32_t i = 0; i < 6; i++) {
        at = read_number(at, &numbers[i]);
        bool good = at && *at == (i < 5 ? ',' : '\0') && fabs(numbers[i]) <= 2.0 * WEIR_COORD_LIMIT;
        if (!good)
            return app_fail(EXIT_WRONG, "--camera takes six numbers x,y,z,tx,ty,tz, a place and what it looks at, not '%s'",
                            text);
        at++;
    }
    options->picture_option = "camera";
    options->camera_given = true;
    options->camera = (weir_camera){.position = {numbers[0], numbers[1], numbers[2]},
                                    .target = {numbers[3], numbers[4], numbers[5]},
                                    .fov = WEIR_CAMERA_FOV};
    return 0;
}

// FILE or FILE@x,y,z. An @ that is not followed by a number belongs to the name.
static int read_terrain(app_options *options, const char *text)
{
    static char path[PATH_MAX];
    const char *at = strrchr(text, '@');
    options->terrain_placed = at && (at[1] == '-' || isdigit((unsigned char)at[1]));
    if (!options->terrain_placed) return read_path("terrain", text, &options->terrain);
    bool far;
    int32_t *const numbers[3] = {&options->terrain_at.x, &options->terrain_at.y, &options->terrain_at.z};
    if (!read_coordinates(at + 1, 3, numbers, &far))
        return app_fail(EXIT_WRONG, "--terrain %s: a place is three whole numbers, as in %.*s@0,0,0", text, (int)(at - text),
                        text);
    if (far) return too_far("terrain", text);
    if (at - text >= (ptrdiff_t)sizeof path) return app_fail(EXIT_WRONG, "--terrain %s: the name is too long", text);
    memcpy(path, text, (size_t)(at - text));
    path[at - text] = '\0';
    return read_path("terrain", path, &options->terrain);
}

static int read_terrain_scale(app_options *options, const char *text)
{
    double scale;
    const char *end = read_number(text, &scale);
    if (!end || *end != '\0' || !(scale >= 1e-6 && scale <= 1e6))
        return app_fail(EXIT_WRONG, "--terrain-scale takes a number from 0.000001 to 1000000, not '%s'", text);
    options->terrain_scale = (float)scale;
    return 0;
}

static int read_fluid_index(app_options *options, const char *text)
{
    int64_t index;
    if (!read_integer("fluid-index", text, 1, 255, &index)) return EXIT_WRONG;
    options->fluid_index = (int32_t)index;
    return 0;
}

static int read_quiet(app_options *options, const char *text)
{
    (void)text;
    options->quiet = true;
    return 0;
}

static int read_list(app_options *options, const char *text)
{
    (void)text;
    options->list = true;
    return 0;
}

static int read_full(app_options *options, const char *text)
{
    (void)text;
    options->full = true;
    return 0;
}

static int read_help(app_options *options, const char *text)
{
    (void)text;
    options->help = true;
    return 0;
}

// ---- The table -------------------------------------------------------------------------------------------------------------

static const option_def table[] = {
    {"solver", "S", "laws of the water: one of the solvers below, default the scene's own", FOR_RUN, read_solver},
    {"backend", "B", "where to compute: cpu (default) or opencl", FOR_RUN | FOR_BENCH, read_backend},
    {"device", "D", "device of the backend: a number, gpu, cpu, or a part of its name; see 'weir devices'", FOR_RUN | FOR_BENCH,
     read_device},
    {"threads", "N", "threads, default one per processor core", FOR_RUN | FOR_BENCH, read_threads},
    {"simd", "S", "code path: auto (default), scalar, avx2 or avx512", FOR_RUN | FOR_BENCH, read_simd},
    {"size", "N", "the scene's resolution, see 'weir scenes'", FOR_RUN, read_size},
    {"updates", "N", "how many updates to run; with --load, how many more", FOR_RUN, read_updates},
    {"set", "NAME=VALUE", "set a parameter; may be repeated", FOR_RUN, read_set},
    {"seed", "N", "seed of the scene's random numbers and of the noise, default 1", FOR_RUN, read_seed},
    {"hash-every", "N", "put the state hash of every N-th update into the report", FOR_RUN, read_hash_every},
    {"save", "FILE", "write a snapshot at the end", FOR_RUN, read_save},
    {"export", "FILE", "write the world at the end for other programs; the ending says how, see below", FOR_RUN, read_export},
    {"export-every", "N", "write it every N-th update too, with the update's number before the ending", FOR_RUN,
     read_export_every},
    {"export-box", "BOX", "only the cells of a box, x0,y0,z0,x1,y1,z1; for .vti and .vox", FOR_RUN, read_export_box},
    {"terrain", "FILE[@x,y,z]", "put terrain from a file into the scene; without a scene, into a world of its size", FOR_RUN,
     read_terrain},
    {"terrain-scale", "N", "cells per unit of a mesh, or height in cells of white in a height map", FOR_RUN,
     read_terrain_scale},
    {"fluid-index", "N", "colour of a .vox file's palette that is water, 1 to 255", FOR_RUN, read_fluid_index},
    {"load", "FILE", "go on from a snapshot of the same scene, size and solver", FOR_RUN, read_load},
    {"frames", "DIR", "draw pictures into a folder: frame-00000.png and so on", FOR_RUN, read_frames},
    {"video", "FILE", "draw a film, .mp4, .webm or .gif, with the help of ffmpeg", FOR_RUN, read_video},
    {"look", "L", "water (default), voxel, flow, pressure, fill or temperature", FOR_RUN, read_look},
    {"picture", "WxH", "size of the pictures, default 1280x720", FOR_RUN, read_picture},
    {"fps", "N", "pictures per second of film, default 25", FOR_RUN, read_fps},
    {"speed", "X", "simulated seconds per second of film, default 1", FOR_RUN, read_speed},
    {"frame-every", "N", "a picture of every N-th update, whatever time that is", FOR_RUN, read_frame_every},
    {"camera", "X,Y,Z,TX,TY,TZ", "look from a place at another, in cells; default: frames the scene", FOR_RUN, read_camera},
    {"fov", "D", "field of view from bottom to top, degrees, default 35", FOR_RUN, read_fov},
    {"report", "FILE", "write the measurements as JSON; '-': to stdout, and nothing else there", FOR_RUN | FOR_BENCH,
     read_report},
    {"list", NULL, "list the benchmarks and run none", FOR_BENCH, read_list},
    {"full", NULL, "run tsunami at about the thesis's size, which takes minutes and 1 GB", FOR_BENCH, read_full},
    {"quiet", NULL, "print no table and no progress", FOR_RUN | FOR_BENCH, read_quiet},
    {"help", NULL, "show this page", FOR_ALL, read_help},
};

const option_def *option_at(int32_t index)
{
    return index >= 0 && index < (int32_t)(sizeof table / sizeof table[0]) ? &table[index] : NULL;
}

static const option_def *find(const char *name, size_t length, option_commands command)
{
    for (int32_t i = 0; option_at(i); i++) {
        const option_def *def = option_at(i);
        if ((def->commands & command) && strlen(def->name) == length && strncmp(def->name, name, length) == 0) return def;
    }
    return NULL;
}

static const char *command_name(option_commands command)
{
    int32_t i = 0;
    while (app_command_at(i)->bit != command) i++;
    return app_command_at(i)->name;
}

static int unknown_option(option_commands command, const char *word, size_t length)
{
    const char *name = word + strspn(word, "-");
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(length - (size_t)(name - word)), name);
    near_name near = near_begin(typed);
    for (int32_t i = 0; option_at(i); i++)
        if (option_at(i)->commands & command) near_try(&near, option_at(i)->name);
    return app_fail(EXIT_WRONG, "unknown option %.*s%s; 'weir help %s' lists them", (int)length, word, near_hint(&near, "--"),
                    command_name(command));
}

// Reads the option at words[*i] and moves *i on over its argument.
static int read_option(app_options *options, option_commands command, int count, char **words, int *i)
{
    const char *word = words[*i] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const option_def *def = find(word, length, command);
    if (!def) return unknown_option(command, words[*i], length + 2);
    if (!def->argument) {
        if (equals) return app_fail(EXIT_WRONG, "--%s takes no value", def->name);
        return def->read(options, NULL);
    }
    if (equals) return def->read(options, equals + 1);
    if (*i + 1 >= count) return app_fail(EXIT_WRONG, "--%s needs a value: --%s %s", def->name, def->name, def->argument);
    // A forgotten value must not make the next option a file's name.
    const char *value = words[*i + 1];
    if (strncmp(value, "--", 2) == 0)
        return app_fail(EXIT_WRONG, "--%s needs a value before %s: --%s %s; one that begins so is given as --%s=%s", def->name,
                        value, def->name, def->argument, def->name, value);
    ++*i;
    return def->read(options, value);
}

static bool same_path(const char *a, const char *b)
{
    while (strncmp(a, "./", 2) == 0) a += 2;
    while (strncmp(b, "./", 2) == 0) b += 2;
    return strcmp(a, b) == 0;
}

// Of two files in one place the later one would be all that is left; and what is read is not to be lost. A snapshot may take the place of
// the one that was loaded.
static int check_outputs(const app_options *options)
{
    const struct {
        const char *name, *path;
    } outputs[] = {{"report", options->report},
                   {"save", options->save},
                   {"export", options->export},
                   {"frames", options->frames},
                   {"video", options->video}};
    const int count = (int)(sizeof outputs / sizeof *outputs);
    const bool script = options->name_count > 0 && weir_path_ends_in(options->names[0], ".lua");
    const char *const inputs[] = {options->terrain, script ? options->names[0] : NULL};
    for (int i = 0; i < count; i++) {
        const char *path = outputs[i].path;
        for (int j = i + 1; path && j < count; j++)
            if (outputs[j].path && same_path(path, outputs[j].path))
                return app_fail(EXIT_WRONG, "--%s and --%s would both write to %s", outputs[i].name, outputs[j].name, path);
        for (int j = 0; path && j < (int)(sizeof inputs / sizeof *inputs); j++)
            if (inputs[j] && same_path(path, inputs[j]))
                return app_fail(EXIT_WRONG, "--%s would write over %s, which is read", outputs[i].name, path);
    }
    return 0;
}

int options_read(app_options *options, option_commands command, int count, char **words)
{
    bool names_only = false;  // after a bare --
    options->seed = 1;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (!names_only && strcmp(word, "--") == 0) {
            names_only = true;
        } else if (!names_only && strcmp(word, "-h") == 0) {
            options->help = true;
        } else if (!names_only && strncmp(word, "--", 2) == 0) {
            int status = read_option(options, command, count, words, &i);
            if (status) return status;
        } else if (!names_only && word[0] == '-') {
            return unknown_option(command, word, strlen(word));
        } else if (options->name_count == OPTION_NAMES) {
            return app_fail(EXIT_WRONG, "too many words on the command line, from '%s' on", word);
        } else {
            options->names[options->name_count++] = word;
        }
    }
    if (options->backend == WEIR_BACKEND_CPU && options->device && strcmp(options->device, "0") != 0) {
        return app_fail(EXIT_WRONG, "--device %s: the cpu backend has device 0 only; devices are for --backend opencl",
                        options->device);
    }
    return check_outputs(options);
}
