// `weir run --export FILE`: the world in files that other programs read. The file's ending says which.
#ifndef APP_EXPORT_H
#define APP_EXPORT_H

#include "app/options.h"

// What is kept from one export of a run to the next.
typedef struct exporter {
    weir_world *world;
    const char *path;                         // NULL: nothing is exported
    int64_t every;                            // 0: only at the end
    const weir_box *box;                      // NULL: all of the world
    int64_t written;                          // the update that was exported last; -1: none yet
    weir_mesher *meshers[WEIR_MATERIAL_MAX];  // by material, [0] of all together; each made when its mesh is first asked for
    weir_mesh terrain;
} exporter;

// Before the run: whether there is a format of this ending, and a place for the file. Returns 0, or an exit status after telling what is
// wrong.
int export_check(const app_options *options);

// When the world is there: whether the box of --export-box meets it. Returns as export_check.
int export_check_box(const app_options *options, const weir_world *world);

exporter export_begin(const app_options *options, weir_world *world);

// After an update: writes the file if it is time for one; at the end, if it is not written yet. Failures have their sentence in
// weir_error_message.
weir_status export_update(exporter *e, int64_t update);
weir_status export_last(exporter *e, int64_t update);

void export_end(exporter *e);

// Prints the endings and what they are, for the help.
void export_print_formats(void);

#endif
