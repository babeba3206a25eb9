#include "app/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/progress.h"

#define TRIAD_REPEATS 6
#define TRIAD_THREADS 256

// ---- Names -----------------------------------------------------------------------------------------------------------------

const char *machine_simd_name(weir_simd simd)
{
    static const char *const names[WEIR_SIMD_COUNT] = {"auto", "scalar", "avx2", "avx512"};
    return names[simd];
}

const char *machine_backend_name(weir_backend backend)
{
    static const char *const names[WEIR_BACKEND_COUNT] = {"cpu", "opencl"};
    return names[backend];
}

const char *machine_device(weir_backend backend, const char *which, weir_simd simd)
{
    static char text[320];
    weir_device device;
    if (weir_device_find(backend, which, &device) != WEIR_OK) return "unknown device";
    const char *detail = backend == WEIR_BACKEND_CPU ? machine_simd_name(simd) : device.driver;
    snprintf(text, sizeof text, "%s, %s%s", device.name, backend == WEIR_BACKEND_CPU ? "" : "driver ", detail);
    return text;
}

// ---- Bandwidth -------------------------------------------------------------------------------------------------------------

typedef struct triad {
    float *a, *b, *c;
    size_t count;          // of elements
    int32_t threads;       // that could be started
    pthread_mutex_t gate;  // held until that number is known
    pthread_barrier_t barrier;
    double best;  // seconds of the fastest round
} triad;

typedef struct triad_thread {
    triad *triad;
    int32_t index;
    pthread_t handle;
} triad_thread;

// One thread's share. It touches its own part first, so that on machines with several memories the part lies near the thread.
static void *run_share(void *user)
{
    triad_thread *thread = user;
    triad *all = thread->triad;
    pthread_mutex_lock(&all->gate);
    pthread_mutex_unlock(&all->gate);
    size_t threads = (size_t)all->threads, index = (size_t)thread->index;
    size_t begin = all->count * index / threads, end = all->count * (index + 1) / threads;
    float *a = all->a, *b = all->b, *c = all->c;
    for (size_t i = begin; i < end; i++) {
        a[i] = 0;
        b[i] = 1;
        c[i] = 2;
    }
    for (int32_t round = 0; round < TRIAD_REPEATS; round++) {
        pthread_barrier_wait(&all->barrier);
        double start = progress_clock();
        float scale = (float)round;
        for (size_t i = begin; i < end; i++) a[i] = b[i] + scale * c[i];
        pthread_barrier_wait(&all->barrier);
        double seconds = progress_clock() - start;
        if (index == 0 && (round == 0 || seconds < all->best)) all->best = seconds;
    }
    return NULL;
}

// Runs the triad on as many of the threads as can be started, the calling one among them.
static void run_triad(triad *all, int32_t threads)
{
    triad_thread shares[TRIAD_THREADS];
    pthread_mutex_init(&all->gate, NULL);
    pthread_mutex_lock(&all->gate);
    shares[0] = (triad_thread){.triad = all};
    all->threads = 1;
    for (int32_t i = 1; i < threads; i++) {
        shares[i] = (triad_thread){.triad = all, .index = i};
        if (pthread_create(&shares[i].handle, NULL, run_share, &shares[i])) break;
        all->threads++;
    }
    pthread_barrier_init(&all->barrier, NULL, (unsigned)all->threads);
    pthread_mutex_unlock(&all->gate);
    run_share(&shares[0]);
    for (int32_t i = 1; i < all->threads; i++) pthread_join(shares[i].handle, NULL);
    pthread_barrier_destroy(&all->barrier);
    pthread_mutex_destroy(&all->gate);
}

double machine_bandwidth(int32_t threads)
{
    triad all = {.a = malloc(MACHINE_TRIAD_BYTES), .b = malloc(MACHINE_TRIAD_BYTES), .c = malloc(MACHINE_TRIAD_BYTES)};
    all.count = MACHINE_TRIAD_BYTES / sizeof(float);
    bool ready = all.a && all.b && all.c;
    if (ready) run_triad(&all, threads < TRIAD_THREADS ? threads : TRIAD_THREADS);
    free(all.a);
    free(all.b);
    free(all.c);
    return ready ? 12.0 * (double)all.count / all.best : 0;
}
