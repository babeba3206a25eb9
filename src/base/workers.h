// Work over threads: Weir's own pool, or the game's job system behind the same call.
#ifndef WEIR_BASE_WORKERS_H
#define WEIR_BASE_WORKERS_H

#include "base/memory.h"

typedef struct workers workers;

// threads 0: one per processor core, 256 at most. jobs.run set: the game's job system, and no threads are started.
weir_status workers_create(memory *mem, int32_t threads, weir_jobs jobs, workers **out);
void workers_destroy(workers *w);

// How many pieces may run at once; worker indices are below this.
int32_t workers_count(const workers *w);

// Calls task over 0 <= i < count in pieces of about `grain` items and returns when all are done. Counts up to grain run on the
// calling thread. The pieces one worker gets are near each other, so that memory order is kept.
void workers_run(workers *w, weir_task *task, void *context, int32_t count, int32_t grain);

#endif
