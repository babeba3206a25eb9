// `weir help`: what the commands do and take, from the same tables by which they work.
#include <signal.h>
#include <stdio.h>

#include "app/app.h"
#include "app/export.h"
#include "app/machine.h"
#include <weir/formats.h>

#define OPTION_COLUMN 22

static void print_options(option_commands command)
{
    printf("\nOptions:\n");
    for (int32_t i = 0; option_at(i); i++) {
        const option_def *def = option_at(i);
        if (!(def->commands & command)) continue;
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", def->name, def->argument ? " " : "", def->argument ? def->argument : "");
        printf("  %-*s %s\n", OPTION_COLUMN, left, def->help);
    }
}

static void print_param(const weir_param *param)
{
    char range[40];
    snprintf(range, sizeof range, "%.4g to %.*g", param->min, param->whole ? 10 : 4, param->max);
    printf("  %-12s %-7.4g %-15s %s\n", param->name, param->default_value, range, param->help);
}

static void print_params(void)
{
    weir_param param;
    printf("\nSolvers for --solver; 'weir scenes' tells which one a scene has by default:\n");
    for (int32_t s = 0; s < WEIR_SOLVER_COUNT; s++)
        printf("  %-12s %s\n", weir_solver_name((weir_solver)s), weir_solver_help((weir_solver)s));
    printf("\nParameters for --set, their defaults and their ranges:\n");
    for (int32_t i = 0; weir_params_shared(i, &param); i++) print_param(&param);
    for (int32_t s = 0; s < WEIR_SOLVER_COUNT; s++) {
        const char *name = weir_solver_name((weir_solver)s);
        for (int32_t i = 0; weir_params_own((weir_solver)s, i, &param); i++) {
            if (i == 0) printf("\nThose of %s (%s.%s and so on):\n", name, name, param.name);
            print_param(&param);
        }
    }
}

static void print_run_notes(void)
{
    export_print_formats();
    print_params();
    printf("\nSCENE is one of those that 'weir scenes' lists, or a file in Lua whose name ends in .lua, such as\n"
           "scenes/lua/tap.lua; docs/scenes-in-lua.md tells how to write one.\n");
    printf("\n--terrain takes MagicaVoxel files (.vox), height maps (.png, 8 or 16 bits) and closed meshes (.obj,\n"
           ".ply, .stl, .glb and others that assimp reads). The file's lowest corner goes to x,y,z or, if no\n"
           "place is given, to that of the world. Without a scene the world is as large as the file, and water\n"
           "falls onto it, unless --fluid-index says that the file has water. White is %d cells high, and the\n"
           "longest side of a mesh %d cells long, unless --terrain-scale says otherwise.\n",
           WEIR_VOXELS_EDGE, WEIR_VOXELS_EDGE);
    printf("\nThe report is one JSON object. Its ledger counts from mass_start on, so that mass_end is\n"
           "mass_start + added - removed - drained - turned + drift, all in drops (a full cell holds %d).\n"
           "max_fill and mean_excess are of the last state; rules give the mean time per update. A probe\n"
           "that the run was too short to measure is null.\n"
           "\nCtrl-C ends a run after the update at work, and so do SIGTERM and SIGHUP. Report, snapshot and\n"
           "film then tell what was done, and the exit status is %d and the signal's number: %d after Ctrl-C.\n",
           WEIR_FULL, EXIT_SIGNAL, EXIT_SIGNAL + SIGINT);
}

static void print_bench_notes(void)
{
    printf("\nNAME is a benchmark's name or some words of it: block-32 means that of every\n"
           "solver, and the name of a solver all that run with it.\n"
           "\nEvery benchmark runs some updates to warm up, then batches of updates; update_ms is the median\n"
           "batch's time per update. The block-N ones are a full block of N^3 cells; the others are scenes\n"
           "at about the thesis's peak number of cells, but for tsunami, which is smaller unless --full is\n"
           "given. Every solver runs with its default parameters.\n"
           "\nlimit_bytes_per_second is what the memory gives, measured in the same run with the same threads\n"
           "by a triad a[i] = b[i] + s * c[i] over three arrays of %d MiB, counted as STREAM does: 12 bytes\n"
           "per element of 4-byte floats, without the read that a write may cost the processor; on an OpenCL\n"
           "device by a copy between two buffers, bytes read and written both counted. An update\n"
           "must at least read its state once and write it once, which takes so many bytes per cell, so\n"
           "fraction_of_limit = those bytes * cells_per_second / limit_bytes_per_second.\n"
           "\nmesh-dambreak meshes the water's surface after every update of dambreak; ms/update is the best\n"
           "time of the mesher alone, Mcells/s counts the cells of all live bricks, and 4 bytes per cell are\n"
           "what it must read.\n"
           "\nreference is the figure of van der Scheer's thesis that a row answers, from an AMD RX 6900 XT\n"
           "GPU: Table 2 for blocks, Table 1 for scenes (the print says nanoseconds, the figures are\n"
           "microseconds). The thesis's multi-threaded CPU version updated 5 to 15 million cells per second.\n",
           MACHINE_TRIAD_BYTES >> 20);
}

static void print_devices_notes(void)
{
    printf("\nThe cpu backend has one device, the processor. OpenCL devices are those of all drivers on this\n"
           "machine; 'weir run SCENE --backend opencl' takes the first GPU, or else the first device, unless\n"
           "--device chooses another by its number, its kind (gpu, cpu, accelerator) or a part of its name.\n"
           "\nThe bandwidth of an OpenCL device is the best of several copies between two buffers in its\n"
           "memory, bytes read and written both counted.\n"
           "\nCompiled kernels are kept in $XDG_CACHE_HOME/weir or ~/.cache/weir; they may be deleted at any time.\n");
}

void help_print_command(const app_command *command)
{
    printf("weir %s%s%s: %s\n", command->name, command->usage[0] ? " " : "", command->usage, command->summary);
    print_options(command->bit);
    if (command->bit == FOR_RUN) print_run_notes();
    if (command->bit == FOR_BENCH) print_bench_notes();
    if (command->bit == FOR_DEVICES) print_devices_notes();
}

static void print_overview(void)
{
    printf("Weir: living water for voxel worlds.\n\n");
    for (int32_t i = 0; app_command_at(i); i++) {
        const app_command *command = app_command_at(i);
        char left[64];
        snprintf(left, sizeof left, "%s %s", command->name, command->usage);
        printf("  weir %-27s %s\n", left, command->summary);
    }
    printf("  weir %-27s %s\n", "--version", "print the version");
    printf("\nTry: weir run dambreak\n'weir help run' lists its options and the parameters of every solver.\n");
}

int command_help(const app_options *options)
{
    if (options->name_count == 0) {
        print_overview();
        return EXIT_DONE;
    }
    for (int32_t i = 0; i < options->name_count; i++) {
        const app_command *command = app_command_find(options->names[i]);
        if (!command)
            return app_fail(EXIT_WRONG, "unknown command '%s'%s; 'weir help' lists the commands", options->names[i],
                            app_command_hint(options->names[i]));
        help_print_command(command);
    }
    return EXIT_DONE;
}
