#include "app/film.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "app/progress.h"
#include <weir/formats.h>

#define UPDATES_PER_SECOND 100.0  // of a world, unless a game says otherwise
#define DEFAULT_FPS 25

// ---- Before the run --------------------------------------------------------------------------------------------------------

static weir_picture_def definition(const app_options *options)
{
    weir_picture_def def = weir_picture_def_default();
    def.look = options->look;
    if (options->picture_width) def.width = options->picture_width, def.height = options->picture_height;
    if (options->camera_given) {
        def.camera = options->camera;
        if (options->fov > 0) def.camera.fov = options->fov;
    }
    return def;
}

static int32_t fps_of(const app_options *options)
{
    return options->fps ? options->fps : DEFAULT_FPS;
}

static int check_definition(const weir_picture_def *def)
{
    weir_status status = weir_picture_def_check(def);
    return status == WEIR_OK ? 0 : app_fail(app_exit_status(status), "%s", weir_error_message());
}

int film_check(const app_options *options)
{
    if (!options->frames && !options->video) {
        if (!options->picture_option) return 0;
        return app_fail(EXIT_WRONG, "--%s is for pictures, and none were asked for: give --frames DIR or --video FILE",
                        options->picture_option);
    }
    if (options->speed > 0 && options->frame_every > 0)
        return app_fail(EXIT_WRONG, "--speed and --frame-every both say which updates are shown: give one of them");
    weir_picture_def def = definition(options);
    int status = check_definition(&def);
    if (!status && options->video) status = video_check(options->video);
    if (status || !options->frames || weir_png_supported()) return status;
    return app_fail(EXIT_WRONG, "--frames %s: this build of Weir has no libpng (Debian: libpng-dev) to write pictures with",
                    options->frames);
}

// A folder that can be written to; made if it is not there.
static int make_folder(const char *option, const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0) return 0;
    int reason = errno;
    if (reason == EEXIST && stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) reason = ENOTDIR;
    if (reason == EEXIST && access(path, W_OK | X_OK) == 0) return 0;
    if (reason == EEXIST) reason = errno;
    return app_fail(EXIT_WRONG, "--%s %s cannot be written to: %s", option, path, strerror(reason));
}

// Without ffmpeg the run goes on, and its pictures are kept in a folder beside the film's place.
static int open_without_ffmpeg(film *f, const app_options *options)
{
    const char *folder = options->frames;
    f->lacks_ffmpeg = true;
    if (!weir_png_supported())
        return app_fail(EXIT_WRONG,
                        "--video %s: there is no ffmpeg here (Debian: ffmpeg), and this build of Weir has no libpng "
                        "(Debian: libpng-dev) to keep the pictures with",
                        options->video);
    if (!folder) {
        if (snprintf(f->made_folder, sizeof f->made_folder, "%s.frames", options->video) >= (int)sizeof f->made_folder)
            return app_fail(EXIT_WRONG, "--video: the name of the film is too long");
        int status = make_folder("video", f->made_folder);
        if (status) return status;
        f->folder = folder = f->made_folder;
    }
    app_fail(0, "there is no ffmpeg here to make %s (on Debian: apt-get install ffmpeg); its pictures will be in %s",
             options->video, folder);
    return 0;
}

static bool has_cells(weir_box box)
{
    return box.min.x < box.max.x && box.min.y < box.max.y && box.min.z < box.max.z;
}

// Without a camera of the user's the scene is framed from its own side.
static void frame_scene(weir_picture_def *def, const app_options *options, const scene_run *run)
{
    weir_box bounds = weir_world_bounds(run->world);
    def->direction = run->def->view;
    if (run->def->framed > 0) bounds.max.y = bounds.min.y + (int32_t)(run->def->framed * (float)(bounds.max.y - bounds.min.y));
    if (!options->camera_given && has_cells(bounds))
        def->camera = weir_camera_frame(bounds, def->direction, options->fov, (double)def->width / def->height);
}

int film_open(film *f, const app_options *options, const scene_run *run)
{
    *f = (film){.on = options->frames || options->video, .def = definition(options), .first = run->update};
    if (!f->on) return 0;
    frame_scene(&f->def, options, run);
    double speed = options->speed > 0 ? options->speed : 1;
    f->updates_per_frame = UPDATES_PER_SECOND * speed / fps_of(options);
    if (options->frame_every > 0) f->updates_per_frame = (double)options->frame_every;

    int status = check_definition(&f->def);
    if (!status && f->def.look == WEIR_LOOK_TEMPERATURE && !weir_world_knows_temperature(run->world))
        status = app_fail(EXIT_WRONG, "--look temperature: the solver %s knows no temperature; mixture does",
                          weir_solver_name(weir_world_solver(run->world)));
    if (!status && options->frames) {
        f->folder = options->frames;
        status = make_folder("frames", options->frames);
    }
    f->rgb = malloc((size_t)f->def.width * (size_t)f->def.height * 3);
    if (!status && !f->rgb)
        status = app_fail(EXIT_FAILED, "memory ran out for pictures of %d x %d", f->def.width, f->def.height);
    if (status || !options->video) return status;
    if (!video_possible()) return open_without_ffmpeg(f, options);
    status = video_open(&f->video, options->video, f->def.width, f->def.height, fps_of(options));
    f->has_video = !status;
    return status;
}

// ---- During the run --------------------------------------------------------------------------------------------------------

static bool keep_time(film *f, double seconds)
{
    if (f->drawn == f->room) {
        int64_t room = f->room ? 2 * f->room : 256;
        float *times = realloc(f->draw_ms, (size_t)room * sizeof *times);
        if (!times) return false;
        f->draw_ms = times;
        f->room = room;
    }
    f->draw_ms[f->drawn++] = (float)(1e3 * seconds);
    return true;
}

// Whether there was room for it.
static bool frame_path(const film *f, int64_t number, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/frame-%05" PRId64 ".png", f->folder, number) < PATH_MAX;
}

static int write_file(const film *f)
{
    char path[PATH_MAX];
    if (!frame_path(f, f->count, path)) return app_fail(EXIT_WRONG, "--frames: the name of the folder is too long");
    weir_status status = weir_png_write(path, f->def.width, f->def.height, f->rgb);
    if (status == WEIR_OK) return 0;
    return app_fail(status == WEIR_ERROR_UNSUPPORTED ? EXIT_WRONG : EXIT_FAILED, "%s", weir_error_message());
}

static int draw(film *f, const scene_run *run)
{
    // A legend's range only grows, so that colours do not jump from picture to picture.
    float range = weir_world_range(run->world, f->def.look);
    const float low = weir_world_range_low(run->world, f->def.look);
    if (f->def.range == 0 || low < f->def.range_low) f->def.range_low = low;
    if (range > f->def.range) f->def.range = range;
    double start = progress_clock();
    weir_status drawn = weir_world_draw(run->world, &f->def, f->rgb);
    double seconds = progress_clock() - start;
    if (drawn != WEIR_OK) return app_fail(app_exit_status(drawn), "%s", weir_error_message());
    return keep_time(f, seconds) ? 0 : app_fail(EXIT_FAILED, "memory ran out for the measurements");
}

static int add(film *f)
{
    int status = f->folder ? write_file(f) : 0;
    if (status) return status;
    f->count++;
    return f->has_video ? video_add(&f->video, f->rgb, (size_t)f->def.width * (size_t)f->def.height * 3) : 0;
}

static bool is_due(const film *f, const scene_run *run)
{
    return f->on && (double)f->first + (double)f->count * f->updates_per_frame < (double)run->update + 0.5;
}

// In slow motion several pictures show one update; it is drawn once.
int film_show(film *f, const scene_run *run)
{
    int status = is_due(f, run) ? draw(f, run) : 0;
    while (!status && is_due(f, run)) status = add(f);
    return status;
}

// ---- After it --------------------------------------------------------------------------------------------------------------

void film_remove_older(film *f)
{
    char path[PATH_MAX];
    while (f->folder && frame_path(f, f->count + f->removed, path) && unlink(path) == 0) f->removed++;
}

int film_close(film *f)
{
    // A film without a picture is none.
    int status = f->has_video ? video_close(&f->video, f->count > 0) : 0;
    f->has_video = false;
    return status ? status : f->lacks_ffmpeg ? EXIT_FAILED : 0;
}

void film_free(film *f)
{
    if (f->has_video) video_close(&f->video, false);
    free(f->rgb);
    free(f->draw_ms);
    *f = (film){0};
}

void film_times(film *f, double *median, double *longest)
{
    *median = *longest = 0;
    if (f->drawn == 0) return;
    app_sort(f->draw_ms, f->drawn);
    *median = f->draw_ms[(f->drawn - 1) / 2];
    *longest = f->draw_ms[f->drawn - 1];
}
