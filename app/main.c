// The program: finds the command, reads its options, runs it.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "app/near.h"
#include "app/plain.h"
#include "app/progress.h"

#define LINE_BYTES 16384  // two names of files, as long as they can be, and what is wrong with them

static const app_command commands[] = {
    {"run", FOR_RUN, "SCENE [OPTIONS]", "play a scene and measure it", command_run},
    {"bench", FOR_BENCH, "[NAME...] [OPTIONS]", "run the benchmarks", command_bench},
    {"scenes", FOR_SCENES, "", "list the scenes and what they measure", command_scenes},
    {"devices", FOR_DEVICES, "", "list what Weir can compute on", command_devices},
    {"help", FOR_HELP, "[COMMAND]", "explain a command", command_help},
};

const app_command *app_command_at(int32_t index)
{
    return index >= 0 && index < (int32_t)(sizeof commands / sizeof commands[0]) ? &commands[index] : NULL;
}

const app_command *app_command_find(const char *name)
{
    for (int32_t i = 0; app_command_at(i); i++) {
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    }
    return NULL;
}

const char *app_command_hint(const char *name)
{
    static near_name near;
    near = near_begin(name);
    for (int32_t i = 0; app_command_at(i); i++) near_try(&near, commands[i].name);
    return near_hint(&near, "");
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void app_sort(float *times, int64_t count)
{
    qsort(times, (size_t)count, sizeof *times, compare_floats);
}

static void print_line(FILE *file, const char *before, const char *format, va_list arguments)
{
    char line[LINE_BYTES];
    vsnprintf(line, sizeof line, format, arguments);
    progress_wipe();
    fputs(before, file);
    plain_write(file, line);
    fputc('\n', file);
}

int app_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(stderr, "weir: ", format, arguments);
    va_end(arguments);
    return status;
}

void app_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(stdout, "", format, arguments);
    va_end(arguments);
}

int app_exit_status(weir_status status)
{
    switch (status) {
    case WEIR_OK: return EXIT_DONE;
    case WEIR_ERROR_ARGUMENT:
    case WEIR_ERROR_OUTSIDE:
    case WEIR_ERROR_FILE:
    case WEIR_ERROR_FORMAT:
    case WEIR_ERROR_VERSION:
    case WEIR_ERROR_UNSUPPORTED: return EXIT_WRONG;
    default: return EXIT_FAILED;
    }
}

static int run_command(int count, char **words)
{
    if (count < 2) return command_help(&(app_options){0});
    const char *name = words[1];
    if (strcmp(name, "--version") == 0) {
        printf("weir %s\n", weir_version());
        return EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";

    const app_command *command = app_command_find(name);
    if (!command) {
        const char *kind = name[0] == '-' ? "option" : "command";
        return app_fail(EXIT_WRONG, "unknown %s '%s'%s; 'weir help' lists the commands", kind, name, app_command_hint(name));
    }

    static app_options options;
    int status = options_read(&options, command->bit, count - 2, words + 2);
    if (status) return status;
    if (options.help) {
        help_print_command(command);
        return EXIT_DONE;
    }
    if (options.name_count > 0 && (command->bit & (FOR_SCENES | FOR_DEVICES))) {
        return app_fail(EXIT_WRONG, "weir %s takes no names, and got '%s'", command->name, options.names[0]);
    }
    return command->run(&options);
}

int main(int count, char **words)
{
    int status = run_command(count, words);
    // A full disk behind stdout shows up here at the latest.
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written || status ? status : app_fail(EXIT_FAILED, "stdout could not be written");
}
