// A thread pool for many short jobs: an update runs dozens of passes of some tens of microseconds each, so what counts is how
// fast a pass begins and ends.
//
// One atomic word says all about the job that is out:
//
//     bits 63..32  number of the job      so that a thread takes part in a job once
//     bit  31      open                   threads may still join
//     bits 30..0   threads inside         besides the caller
//
// The caller writes the job, opens it, works on it as worker 0, closes it when no piece is left, and waits for the threads that
// are inside. A thread that wakes too late finds the door closed and is not waited for: with more threads than cores, or on a
// busy machine, a job never waits for one that has not begun.
//
// Items are dealt out in one contiguous range per worker, the same ones in every pass over the same bricks, which keeps a
// worker's bricks in its own cache. A range has a counter from which pieces are taken; who is done with its own takes from
// the others'.
#ifdef __linux__
#define _GNU_SOURCE  // sched_getaffinity
#endif
#include "base/workers.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"

#define MOST_THREADS 256
#define SPIN_SECONDS 50e-6  // longer than the gap between two passes, short against the time that a game's frame sleeps

#define JOB_OPEN (UINT64_C(1) << 31)
#define JOB_INSIDE (JOB_OPEN - 1)
#define JOB_NUMBER(state) ((uint32_t)((state) >> 32))

typedef struct range {
    _Alignas(64) _Atomic int64_t next;  // 64 bits: the counter runs past the end by a piece per thread
    int64_t end;
} range;

typedef struct worker {
    workers *pool;
    int32_t index;
    pthread_t thread;
} worker;

struct workers {
    memory *mem;
    weir_jobs jobs;
    int32_t count;
    int32_t started;  // threads that run, the caller not among them
    bool spin;

    // The job: written while it is closed and nobody is inside.
    weir_task *task;
    void *context;
    int64_t grain;
    int32_t range_count;
    range *ranges;
    worker *threads;

    _Alignas(64) _Atomic uint64_t state;
    _Atomic bool quit;

    // Sleeping. Who goes to sleep first says so and then looks at the state again; who changes the state then looks whether
    // somebody sleeps. In the one order of sequentially consistent operations at least one of them sees the other.
    _Atomic int32_t sleepers;
    _Atomic bool caller_sleeps;
    pthread_mutex_t mutex;
    pthread_cond_t job_opened;
    pthread_cond_t job_left;
};

static int32_t core_count(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > MOST_THREADS ? MOST_THREADS : (int32_t)online;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// ---- Working on a job ------------------------------------------------------------------------------------------------------

static void work(workers *w, int32_t index)
{
    for (int32_t i = 0; i < w->range_count; i++) {
        range *r = &w->ranges[(index + i) % w->range_count];
        for (;;) {
            int64_t begin = atomic_fetch_add_explicit(&r->next, w->grain, memory_order_relaxed);
            if (begin >= r->end) break;
            int64_t end = begin + w->grain < r->end ? begin + w->grain : r->end;
            w->task(w->context, (int32_t)begin, (int32_t)end, index);
        }
    }
}

// ---- The threads -----------------------------------------------------------------------------------------------------------

static bool has_work(workers *w, uint32_t last_job)
{
    uint64_t state = atomic_load(&w->state);
    return ((state & JOB_OPEN) && JOB_NUMBER(state) != last_job) || atomic_load(&w->quit);
}

static void wait_for_work(workers *w, uint32_t last_job)
{
    if (w->spin) {
        double end = clock_seconds() + SPIN_SECONDS;
        do {
            for (int i = 0; i < 16; i++) {
                if (has_work(w, last_job)) return;
                pause_briefly();
            }
        } while (clock_seconds() < end);
    }
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->sleepers, 1);
    while (!has_work(w, last_job)) pthread_cond_wait(&w->job_opened, &w->mutex);
    atomic_fetch_sub(&w->sleepers, 1);
    pthread_mutex_unlock(&w->mutex);
}

// Joins the job that is out, unless it has closed meanwhile.
static bool enter(workers *w, uint32_t *last_job)
{
    uint64_t state = atomic_load(&w->state);
    while ((state & JOB_OPEN) && JOB_NUMBER(state) != *last_job) {
        if (!atomic_compare_exchange_weak(&w->state, &state, state + 1)) continue;
        *last_job = JOB_NUMBER(state);
        return true;
    }
    return false;
}

static void leave(workers *w)
{
    uint64_t state = atomic_fetch_sub(&w->state, 1) - 1;
    bool last = !(state & JOB_OPEN) && (state & JOB_INSIDE) == 0;
    if (!last || !atomic_load(&w->caller_sleeps)) return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_signal(&w->job_left);
    pthread_mutex_unlock(&w->mutex);
}

static void *thread_main(void *argument)
{
    worker *me = argument;
    workers *w = me->pool;
    uint32_t last_job = 0;
    while (!atomic_load(&w->quit)) {
        if (enter(w, &last_job)) {
            work(w, me->index);
            leave(w);
        }
        wait_for_work(w, last_job);
    }
    return NULL;
}

// ---- The caller ------------------------------------------------------------------------------------------------------------

static void open_job(workers *w, int64_t count)
{
    int64_t pieces = (count + w->grain - 1) / w->grain;
    w->range_count = pieces < w->count ? (int32_t)pieces : w->count;
    for (int32_t i = 0; i < w->range_count; i++) {
        // Cut between pieces, so that no range ends with a crumb.
        atomic_store_explicit(&w->ranges[i].next, pieces * i / w->range_count * w->grain, memory_order_relaxed);
        int64_t end = pieces * (i + 1) / w->range_count * w->grain;
        w->ranges[i].end = end < count ? end : count;
    }

    uint32_t number = JOB_NUMBER(atomic_load(&w->state)) + 1;
    atomic_store(&w->state, (uint64_t)number << 32 | JOB_OPEN);

    if (atomic_load(&w->sleepers) == 0) return;
    pthread_mutex_lock(&w->mutex);
    if (w->range_count >= w->count) {
        pthread_cond_broadcast(&w->job_opened);
    } else {
        for (int32_t i = 1; i < w->range_count; i++) pthread_cond_signal(&w->job_opened);
    }
    pthread_mutex_unlock(&w->mutex);
}

static bool is_left(workers *w)
{
    return (atomic_load(&w->state) & JOB_INSIDE) == 0;
}

static void close_job(workers *w)
{
    atomic_fetch_and(&w->state, ~JOB_OPEN);
    if (w->spin) {
        double end = clock_seconds() + SPIN_SECONDS;
        do {
            for (int i = 0; i < 16; i++) {
                if (is_left(w)) return;
                pause_briefly();
            }
        } while (clock_seconds() < end);
    }
    if (is_left(w)) return;
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->caller_sleeps, true);
    while (!is_left(w)) pthread_cond_wait(&w->job_left, &w->mutex);
    atomic_store(&w->caller_sleeps, false);
    pthread_mutex_unlock(&w->mutex);
}

void workers_run(workers *w, weir_task *task, void *context, int32_t count, int32_t grain)
{
    assert(grain >= 1);
    if (count <= 0) return;
    if (count > grain && w->jobs.run) {
        w->jobs.run(w->jobs.user, task, context, count);
        return;
    }
    if (count <= grain || w->count == 1) {
        task(context, 0, count, 0);
        return;
    }
    w->task = task;
    w->context = context;
    w->grain = grain;
    open_job(w, count);
    work(w, 0);
    close_job(w);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static void free_pool(workers *w)
{
    memory *mem = w->mem;
    size_t count = (size_t)w->count;
    memory_free(mem, w->ranges, count * sizeof *w->ranges);
    memory_free(mem, w->threads, count * sizeof *w->threads);
    memory_free(mem, w, sizeof *w);
}

static weir_status start_threads(workers *w)
{
    for (int32_t i = 1; i < w->count; i++) {
        w->threads[i] = (worker){.pool = w, .index = i};
        int error = pthread_create(&w->threads[i].thread, NULL, thread_main, &w->threads[i]);
        if (error != 0) {
            return status_fail(WEIR_ERROR_THREAD, "thread %d of %d could not be started (%s); ask for fewer threads", i + 1,
                               w->count, strerror(error));
        }
        w->started = i;
    }
    return WEIR_OK;
}

weir_status workers_create(memory *mem, int32_t threads, weir_jobs jobs, workers **out)
{
    *out = NULL;
    if (jobs.run && jobs.workers < 1) {
        return status_fail(WEIR_ERROR_ARGUMENT, "jobs.workers is %d; with jobs.run set it must be at least 1", jobs.workers);
    }
    if (!jobs.run && (threads < 0 || threads > MOST_THREADS)) {
        return status_fail(WEIR_ERROR_ARGUMENT, "threads is %d; it must be 0 (one per core) to %d", threads, MOST_THREADS);
    }

    int32_t cores = core_count();
    int32_t count = jobs.run ? jobs.workers : threads > 0 ? threads : cores < MOST_THREADS ? cores : MOST_THREADS;

    workers *w = memory_alloc_zero(mem, sizeof *w);
    if (!w) return status_fail(WEIR_ERROR_MEMORY, "no memory for the thread pool");
    w->mem = mem;
    w->jobs = jobs;
    w->count = count;
    w->spin = count <= cores;  // with fewer cores than threads, who spins holds up who works
    atomic_init(&w->state, 0);
    atomic_init(&w->quit, false);
    atomic_init(&w->sleepers, 0);
    atomic_init(&w->caller_sleeps, false);

    if (!jobs.run) {
        w->ranges = memory_alloc_zero(mem, (size_t)count * sizeof *w->ranges);
        w->threads = memory_alloc_zero(mem, (size_t)count * sizeof *w->threads);
        if (!w->ranges || !w->threads) {
            free_pool(w);
            return status_fail(WEIR_ERROR_MEMORY, "no memory for a pool of %d threads", count);
        }
    }
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->job_opened, NULL);
    pthread_cond_init(&w->job_left, NULL);

    weir_status status = jobs.run ? WEIR_OK : start_threads(w);
    if (status != WEIR_OK) {
        workers_destroy(w);
        return status;
    }
    *out = w;
    return WEIR_OK;
}

void workers_destroy(workers *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->quit, true);
    pthread_cond_broadcast(&w->job_opened);
    pthread_mutex_unlock(&w->mutex);
    for (int32_t i = 1; i <= w->started; i++) pthread_join(w->threads[i].thread, NULL);

    pthread_cond_destroy(&w->job_left);
    pthread_cond_destroy(&w->job_opened);
    pthread_mutex_destroy(&w->mutex);
    free_pool(w);
}

int32_t workers_count(const workers *w)
{
    return w->count;
}
