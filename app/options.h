// The options of all commands: one table that both the parser and the help read.
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include "scenes/scene.h"

typedef enum option_commands {
    FOR_RUN = 1,
    FOR_BENCH = 2,
    FOR_SCENES = 4,
    FOR_DEVICES = 8,
    FOR_HELP = 16,
    FOR_ALL = 31
} option_commands;

#define OPTION_SETTINGS 64
#define OPTION_NAMES 64

// What the command line asked for. Zero and NULL: not said.
typedef struct app_options {
    const char *names[OPTION_NAMES];  // words that are no options
    int32_t name_count;
    weir_solver solver;
    bool solver_given;
    weir_backend backend;
    const char *device;
    weir_simd simd;
    int32_t threads;
    int32_t size;
    bool size_given;
    int64_t updates;
    bool updates_given;
    int64_t hash_every;
    uint32_t seed;
    scene_setting settings[OPTION_SETTINGS];
    int32_t setting_count;
    const char *report, *save, *load, *export;
    int64_t export_every;
    weir_box export_box;
    bool export_boxed;
    const char *frames, *video;  // where pictures go
    const char *picture_option;  // the last option given that is about pictures
    weir_look look;
    int32_t picture_width, picture_height;
    int32_t fps;
    double speed;  // 1: simulated time as it is
    int64_t frame_every;
    weir_camera camera;  // its fov is a default
    bool camera_given;
    float fov;
    const char *terrain;  // a file of terrain
    bool terrain_placed;
    weir_coord terrain_at;  // where its lowest corner goes, if that was said
    float terrain_scale;
    int32_t fluid_index;
    bool quiet, list, full, help;
} app_options;

typedef struct option_def {
    const char *name;      // without the dashes
    const char *argument;  // NULL: takes none
    const char *help;
    option_commands commands;
    // Reads the argument; returns 0, or an exit status after telling what is wrong.
    int (*read)(app_options *options, const char *text);
} option_def;

// The index-th option; NULL past the last.
const option_def *option_at(int32_t index);

// Reads the words after the command. Returns 0, or an exit status after telling what is wrong.
int options_read(app_options *options, option_commands command, int count, char **words);

#endif
