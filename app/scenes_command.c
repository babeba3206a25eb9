// `weir scenes`: every scene with its sizes and probes.
#include <stdio.h>

#include "app/app.h"

int command_scenes(const app_options *options)
{
    (void)options;
    for (int32_t i = 0; scene_at(i); i++) {
        const scene_def *def = scene_at(i);
        printf("%s%s: %s\n", i ? "\n" : "", def->name, def->summary);
        printf("    size %d (%d to %d): %s; %d updates; solver %s\n", def->size, def->size_min, def->size_max,
               def->size_meaning, def->updates, weir_solver_name(def->solver));
        for (int32_t p = 0; p < SCENE_PROBES && def->probes[p].name; p++) {
            printf("    %-14s %s\n", def->probes[p].name, def->probes[p].meaning);
        }
    }
    return EXIT_DONE;
}
