// The ground floor: sentences of failures, names of files, counted memory, and work over threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/workers.h"
#include <weir/path.h>

// ---- Status ----------------------------------------------------------------------------------------------------------------

static void every_status_has_a_sentence_of_its_own(void **state)
{
    for (int a = 0; a < WEIR_STATUS_COUNT; a++) {
        const char *text = weir_status_text((weir_status)a);
        assert_non_null(text);
        assert_true(strlen(text) > 8);
        for (int b = 0; b < a; b++) assert_string_not_equal(text, weir_status_text((weir_status)b));
    }
    assert_string_equal(weir_status_text(WEIR_ERROR_MEMORY), "memory ran out");
    assert_string_equal(weir_status_text(WEIR_ERROR_THREAD), "a thread could not be started");
}

static void a_number_that_is_no_status_has_a_sentence_too(void **state)
{
    assert_string_equal(weir_status_text(WEIR_STATUS_COUNT), "unknown status");
    assert_string_equal(weir_status_text((weir_status)-1), "unknown status");
}

static void the_last_failure_keeps_its_sentence(void **state)
{
    assert_int_equal(status_fail(WEIR_ERROR_FILE, "%s: line %d", "a.weir", 7), WEIR_ERROR_FILE);
    assert_string_equal(weir_error_message(), "a.weir: line 7");
    status_fail(WEIR_ERROR_FORMAT, "while loading: %s", weir_error_message());
    assert_string_equal(weir_error_message(), "while loading: a.weir: line 7");
}

static void a_long_sentence_is_cut(void **state)
{
    char text[1000];
    memset(text, 'w', sizeof text);
    text[sizeof text - 1] = 0;
    status_fail(WEIR_ERROR_FILE, "%s", text);
    assert_int_equal(strlen(weir_error_message()), 511);
}

static void *message_of_a_fresh_thread(void *out)
{
    strcpy(out, weir_error_message());
    status_fail(WEIR_ERROR_LIMIT, "elsewhere");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state)
{
    status_fail(WEIR_ERROR_ARGUMENT, "here");
    char other[256] = "?";
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, message_of_a_fresh_thread, other), 0);
    pthread_join(thread, NULL);
    assert_string_equal(other, "");
    assert_string_equal(weir_error_message(), "here");
}

static void the_version_is_the_headers(void **state)
{
    int major, minor, patch;
    char rest;
    assert_int_equal(sscanf(weir_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
    assert_int_equal(major, WEIR_VERSION_MAJOR);
    assert_int_equal(minor, WEIR_VERSION_MINOR);
    assert_int_equal(patch, WEIR_VERSION_PATCH);
}

static void the_clock_goes_forward(void **state)
{
    double start = clock_seconds();
    while (clock_seconds() - start < 1e-3) sched_yield();
    assert_true(clock_seconds() - start < 600.0);
}

// ---- Memory ----------------------------------------------------------------------------------------------------------------

// An allocator that keeps its own count and gives `left` blocks before it fails.
typedef struct purse {
    int left;
    int64_t bytes;
    int blocks;
} purse;

static void *purse_alloc(void *user, size_t size)
{
    purse *p = user;
    if (p->left == 0) return NULL;
    p->left--;
    p->bytes += (int64_t)size;
    p->blocks++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void purse_free(void *user, void *block, size_t size)
{
    purse *p = user;
    p->bytes -= (int64_t)size;
    p->blocks--;
    free(block);
}

static memory memory_from(purse *p)
{
    return memory_make((weir_allocator){purse_alloc, purse_free, p});
}

static void memory_is_aligned_and_counted(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    void *a = memory_alloc(&mem, 1), *b = memory_alloc(&mem, 100), *c = memory_alloc_zero(&mem, 1000);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal((uintptr_t)b % 64, 0);
    assert_int_equal((uintptr_t)c % 64, 0);
    for (int i = 0; i < 1000; i++) assert_int_equal(((unsigned char *)c)[i], 0);
    assert_int_equal(mem.bytes, 1101);
    memory_free(&mem, b, 100);
    assert_int_equal(mem.bytes, 1001);
    memory_free(&mem, a, 1);
    memory_free(&mem, c, 1000);
    memory_free(&mem, NULL, 50);
    assert_int_equal(mem.bytes, 0);
}

static void nothing_asked_for_is_nothing_given(void **state)
{
    purse p = {.left = 10};
    memory mem = memory_from(&p);
    assert_null(memory_alloc(&mem, 0));
    assert_null(memory_alloc_zero(&mem, 0));
    assert_int_equal(p.left, 10);
    assert_int_equal(mem.bytes, 0);
}

static void a_size_that_would_wrap_around_is_refused(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    volatile size_t most = SIZE_MAX;
    assert_null(memory_alloc(&mem, most));
    assert_int_equal(mem.bytes, 0);
}

static void the_games_allocator_gets_the_sizes_back(void **state)
{
    purse p = {.left = -1};
    memory mem = memory_from(&p);
    void *a = memory_alloc(&mem, 77);
    a = memory_resize(&mem, a, 77, 1234);
    assert_int_equal(p.bytes, 1234);
    assert_int_equal(p.blocks, 1);
    memory_free(&mem, a, 1234);
    assert_int_equal(p.bytes, 0);
    assert_int_equal(p.blocks, 0);
}

static void memory_that_runs_out_is_not_counted(void **state)
{
    purse p = {.left = 1};
    memory mem = memory_from(&p);
    void *a = memory_alloc(&mem, 10);
    assert_non_null(a);
    assert_null(memory_alloc(&mem, 10));
    assert_null(memory_alloc_zero(&mem, 10));
    assert_int_equal(mem.bytes, 10);
    memory_free(&mem, a, 10);
}

static void a_resize_keeps_the_data(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    unsigned char *block = memory_alloc(&mem, 200);
    for (int i = 0; i < 200; i++) block[i] = (unsigned char)i;
    block = memory_resize(&mem, block, 200, 5000);
    for (int i = 0; i < 200; i++) assert_int_equal(block[i], i);
    block = memory_resize(&mem, block, 5000, 60);
    for (int i = 0; i < 60; i++) assert_int_equal(block[i], i);
    assert_int_equal(mem.bytes, 60);
    memory_free(&mem, block, 60);
    assert_int_equal(mem.bytes, 0);
}

static void a_resize_of_nothing_allocates(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    void *block = memory_resize(&mem, NULL, 0, 64);
    assert_non_null(block);
    memory_free(&mem, block, 64);
}

static void a_resize_that_fails_leaves_the_old_block(void **state)
{
    purse p = {.left = 1};
    memory mem = memory_from(&p);
    char *block = memory_alloc(&mem, 6);
    strcpy(block, "water");
    assert_null(memory_resize(&mem, block, 6, 100));
    assert_string_equal(block, "water");
    assert_int_equal(mem.bytes, 6);
    memory_free(&mem, block, 6);
}

// ---- Workers ---------------------------------------------------------------------------------------------------------------

#define MOST_ITEMS 1000
#define MOST_WORKERS 16

typedef struct tally {
    _Atomic int done[MOST_ITEMS];
    _Atomic int busy[MOST_WORKERS];  // pieces that run now, per worker index
    _Atomic int clashes;             // two at once
    _Atomic int outside;             // ranges or indices that must not be
    int32_t count, workers, longest;
} tally;

static void count_items(void *context, int32_t begin, int32_t end, int32_t worker)
{
    tally *t = context;
    if (begin < 0 || end <= begin || end > t->count || end - begin > t->longest || worker < 0 || worker >= t->workers) {
        t->outside++;
        return;
    }
    if (atomic_fetch_add(&t->busy[worker], 1) != 0) t->clashes++;
    for (int32_t i = begin; i < end; i++) {
        t->done[i]++;
        if (i % 7 == 0) sched_yield();
    }
    atomic_fetch_sub(&t->busy[worker], 1);
}

static void check_run(workers *pool, int32_t count, int32_t grain)
{
    static tally t;
    memset(&t, 0, sizeof t);
    t.count = count;
    t.workers = workers_count(pool);
    t.longest = t.workers > 1 ? grain : count;
    workers_run(pool, count_items, &t, count, grain);
    for (int32_t i = 0; i < MOST_ITEMS; i++) assert_int_equal(t.done[i], i < count ? 1 : 0);
    assert_int_equal(t.clashes, 0);
    assert_int_equal(t.outside, 0);
}

static workers *pool_of(memory *mem, int32_t threads)
{
    workers *pool = NULL;
    assert_int_equal(workers_create(mem, threads, (weir_jobs){0}, &pool), WEIR_OK);
    assert_non_null(pool);
    return pool;
}

static void every_item_is_done_exactly_once(void **state)
{
    static const int32_t threads[] = {1, 2, 3, 8, 16}, counts[] = {0, 1, 5, 1000}, grains[] = {1, 3, 64, 2000};
    for (int t = 0; t < 5; t++) {
        memory mem = memory_make((weir_allocator){0});
        workers *pool = pool_of(&mem, threads[t]);
        assert_int_equal(workers_count(pool), threads[t]);
        for (int again = 0; again < 3; again++) {
            for (int c = 0; c < 4; c++) {
                for (int g = 0; g < 4; g++) check_run(pool, counts[c], grains[g]);
            }
        }
        workers_destroy(pool);
        assert_int_equal(mem.bytes, 0);
    }
}

static void sum_items(void *context, int32_t begin, int32_t end, int32_t worker)
{
    atomic_fetch_add((_Atomic int64_t *)context, ((int64_t)begin + end - 1) * ((int64_t)end - begin) / 2);
}

// Many short jobs, with pauses around the time after which threads go to sleep: where a lost wake-up would hang.
static void many_short_jobs_end_well(void **state)
{
    static const int32_t threads[] = {2, 5, 16};
    for (int t = 0; t < 3; t++) {
        memory mem = memory_make((weir_allocator){0});
        workers *pool = pool_of(&mem, threads[t]);
        for (int job = 0; job < 4000; job++) {
            _Atomic int64_t sum = 0;
            int32_t count = 2 + job % 97;
            workers_run(pool, sum_items, &sum, count, 1);
            assert_int_equal(sum, (int64_t)count * (count - 1) / 2);
            if (job % 16 == 0) {
                double start = clock_seconds();
                while (clock_seconds() - start < 1e-6 * (job % 100)) continue;
            }
        }
        workers_destroy(pool);
    }
}

static void wait_for_company(void *context, int32_t begin, int32_t end, int32_t worker)
{
    _Atomic int *present = context;
    atomic_fetch_add(present, 1);
    double start = clock_seconds();
    while (atomic_load(present) < 4 && clock_seconds() - start < 60.0) sched_yield();
}

// Each of four pieces waits until all four have begun, which only four threads can do.
static void pieces_run_side_by_side(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    workers *pool = pool_of(&mem, 4);
    double start = clock_seconds();
    _Atomic int present = 0;
    workers_run(pool, wait_for_company, &present, 4, 1);
    assert_int_equal(present, 4);
    assert_true(clock_seconds() - start < 60.0);
    workers_destroy(pool);
}

static void a_count_near_the_largest_number_does_not_wrap_around(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    workers *pool = pool_of(&mem, 3);
    _Atomic int64_t sum = 0;
    int32_t count = INT32_MAX;
    workers_run(pool, sum_items, &sum, count, 1 << 30);
    assert_int_equal(sum, (int64_t)count * (count - 1) / 2);
    workers_destroy(pool);
}

static void zero_threads_means_one_per_core(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    workers *pool = pool_of(&mem, 0);
    assert_in_range(workers_count(pool), 1, 256);
    workers_destroy(pool);
    workers_destroy(NULL);
}

static void a_senseless_thread_count_is_refused(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    workers *pool = (workers *)&mem;
    assert_int_equal(workers_create(&mem, -1, (weir_jobs){0}, &pool), WEIR_ERROR_ARGUMENT);
    assert_null(pool);
    assert_non_null(strstr(weir_error_message(), "threads is -1"));
    assert_int_equal(workers_create(&mem, 257, (weir_jobs){0}, &pool), WEIR_ERROR_ARGUMENT);
}

static void a_pool_without_memory_fails_and_holds_nothing(void **state)
{
    for (int blocks = 0;; blocks++) {
        purse p = {.left = blocks};
        memory mem = memory_from(&p);
        workers *pool;
        weir_status status = workers_create(&mem, 2, (weir_jobs){0}, &pool);
        if (status == WEIR_OK) {
            assert_true(blocks > 0);
            workers_destroy(pool);
            assert_int_equal(p.bytes, 0);
            break;
        }
        assert_int_equal(status, WEIR_ERROR_MEMORY);
        assert_null(pool);
        assert_int_equal(p.blocks, 0);
        assert_int_equal(mem.bytes, 0);
    }
}

// The linker sends the library's calls of pthread_create here.
static int threads_allowed = -1;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
    if (threads_allowed == 0) return EAGAIN;
    if (threads_allowed > 0) threads_allowed--;
    return __real_pthread_create(thread, how, run, argument);
}

static void a_thread_that_does_not_start_releases_everything(void **state)
{
    for (int allowed = 0; allowed < 3; allowed++) {
        purse p = {.left = -1};
        memory mem = memory_from(&p);
        workers *pool;
        threads_allowed = allowed;
        weir_status status = workers_create(&mem, 4, (weir_jobs){0}, &pool);
        threads_allowed = -1;
        assert_int_equal(status, WEIR_ERROR_THREAD);
        assert_null(pool);
        assert_non_null(strstr(weir_error_message(), "of 4 could not be started"));
        assert_int_equal(p.blocks, 0);
        assert_int_equal(mem.bytes, 0);
    }
}

// A game's job system in miniature: odd pieces, last ones first.
static void run_backwards(void *user, weir_task *task, void *context, int32_t count)
{
    ++*(int *)user;
    for (int32_t end = count; end > 0;) {
        int32_t begin = end > 37 ? end - 37 : 0;
        task(context, begin, end, end % 3);
        end = begin;
    }
}

static void the_games_job_system_does_the_work(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    int calls = 0;
    workers *pool;
    threads_allowed = 0;
    assert_int_equal(workers_create(&mem, 8, (weir_jobs){run_backwards, 3, &calls}, &pool), WEIR_OK);
    threads_allowed = -1;
    assert_int_equal(workers_count(pool), 3);

    static tally t;
    memset(&t, 0, sizeof t);
    t.count = 500;
    t.workers = 3;
    t.longest = 37;
    workers_run(pool, count_items, &t, 500, 10);
    for (int32_t i = 0; i < 500; i++) assert_int_equal(t.done[i], 1);
    assert_int_equal(t.outside, 0);
    assert_int_equal(calls, 1);

    check_run(pool, 0, 10);
    check_run(pool, 10, 10);
    assert_int_equal(calls, 1);

    workers_destroy(pool);
    assert_int_equal(mem.bytes, 0);
}

static void a_job_system_without_workers_is_refused(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    int calls = 0;
    workers *pool;
    assert_int_equal(workers_create(&mem, 0, (weir_jobs){run_backwards, 0, &calls}, &pool), WEIR_ERROR_ARGUMENT);
    assert_null(pool);
    assert_non_null(strstr(weir_error_message(), "jobs.workers is 0"));
    assert_int_equal(mem.bytes, 0);
}

// ---- Names of files --------------------------------------------------------------------------------------------------------

static void names_of_files_are_cut_into_their_parts(void **state)
{
    assert_string_equal(weir_path_name("folder.d/of/flood.tar.vox"), "flood.tar.vox");
    assert_string_equal(weir_path_name("flood"), "flood");
    assert_string_equal(weir_path_name("folder/"), "");
    assert_string_equal(weir_path_ending("folder.d/flood.tar.vox"), ".vox");
    assert_string_equal(weir_path_ending("folder.d/flood"), "");
    assert_string_equal(weir_path_ending("folder/.mp4"), "");
    assert_true(weir_path_is_absolute("/flood.vox"));
    assert_false(weir_path_is_absolute("folder/flood.vox"));
    assert_false(weir_path_is_absolute(""));
}

static void an_ending_is_the_same_in_capitals(void **state)
{
    assert_true(weir_path_ends_in("flood.vox", ".vox"));
    assert_true(weir_path_ends_in("flood.VoX", ".vox"));
    assert_true(weir_path_ends_in("flood", ""));
    assert_false(weir_path_ends_in("flood.voxel", ".vox"));
    assert_false(weir_path_ends_in("flood.vo", ".vox"));
    assert_false(weir_path_ends_in("flood", ".vox"));
    assert_false(weir_path_ends_in(".vox", ".vox"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_sentence_of_its_own),
        cmocka_unit_test(a_number_that_is_no_status_has_a_sentence_too),
        cmocka_unit_test(the_last_failure_keeps_its_sentence),
        cmocka_unit_test(a_long_sentence_is_cut),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(the_version_is_the_headers),
        cmocka_unit_test(the_clock_goes_forward),
        cmocka_unit_test(names_of_files_are_cut_into_their_parts),
        cmocka_unit_test(an_ending_is_the_same_in_capitals),
        cmocka_unit_test(memory_is_aligned_and_counted),
        cmocka_unit_test(nothing_asked_for_is_nothing_given),
        cmocka_unit_test(a_size_that_would_wrap_around_is_refused),
        cmocka_unit_test(the_games_allocator_gets_the_sizes_back),
        cmocka_unit_test(memory_that_runs_out_is_not_counted),
        cmocka_unit_test(a_resize_keeps_the_data),
        cmocka_unit_test(a_resize_of_nothing_allocates),
        cmocka_unit_test(a_resize_that_fails_leaves_the_old_block),
        cmocka_unit_test(every_item_is_done_exactly_once),
        cmocka_unit_test(many_short_jobs_end_well),
        cmocka_unit_test(pieces_run_side_by_side),
        cmocka_unit_test(a_count_near_the_largest_number_does_not_wrap_around),
        cmocka_unit_test(zero_threads_means_one_per_core),
        cmocka_unit_test(a_senseless_thread_count_is_refused),
        cmocka_unit_test(a_pool_without_memory_fails_and_holds_nothing),
        cmocka_unit_test(a_thread_that_does_not_start_releases_everything),
        cmocka_unit_test(the_games_job_system_does_the_work),
        cmocka_unit_test(a_job_system_without_workers_is_refused),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
