// What the files of the program share: the commands, and the one manner in which they fail.
#ifndef APP_APP_H
#define APP_APP_H

#include "app/options.h"

// Exit statuses.
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,   // something went wrong at work: memory, a disk that filled up
    EXIT_WRONG = 2,    // a wrong option, file or value
    EXIT_SIGNAL = 128  // and the signal's number: stopped from outside, as shells number it
};

typedef struct app_command {
    const char *name;
    option_commands bit;
    const char *usage;    // what follows the name
    const char *summary;  // one line
    int (*run)(const app_options *options);
} app_command;

// The index-th command; NULL past the last.
const app_command *app_command_at(int32_t index);
const app_command *app_command_find(const char *name);

// For a sentence about a name that is no command's; see near.h.
const char *app_command_hint(const char *name);

int command_run(const app_options *options);
int command_bench(const app_options *options);
int command_scenes(const app_options *options);
int command_devices(const app_options *options);
int command_help(const app_options *options);

// Prints one command's help.
void help_print_command(const app_command *command);

// Prints "weir: ..." as one line on stderr and returns the status, to be returned in turn.
int app_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Prints one line on stdout, whatever the names in it hold; see plain.h.
void app_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Finds out before a long run whether the file of an option will have a place. Returns 0, or an exit status after telling why not.
int app_check_path(const char *option, const char *path);

// Sorts times, least first.
void app_sort(float *times, int64_t count);

// The exit status that a failure of the library deserves: 2 for what the user gave, 1 for what the machine lacks.
int app_exit_status(weir_status status);

#endif
