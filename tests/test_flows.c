// A laboratory of flows: jets, waves, dams, tubes, pools, films, each measured beside theory or experiment (flows.h).
//
// As a test it plays the quick ones, and holds them to the bounds below. By hand it shows what a change of the laws does to water:
//
//     build/release/tests/test_flows --list                          all flows
//     build/release/tests/test_flows jet-1 wave-32 --set damping=0   these, with that parameter
//     build/release/tests/test_flows --all                           every one of them, which takes minutes
//     --threads N, --backend cpu|opencl                              where
//
// A line is a flow, what was measured, its value, what theory or experiment says, and the value over that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEIR_DEBUG_BUILD
#define SKIP_IN_SLOW_BUILDS(def) \
    if ((def)->cost != FLOW_SMALL) skip()
#else
#define SKIP_IN_SLOW_BUILDS(def) (void)0
#endif

// What must hold, a line each: of the value over theory, or of the value itself where theory has none or says 0.
static const struct bound {
    const char *flow, *result;
    double low, high;
} bounds[] = {
    {"jet-1", "speed", 0.92, 1.02},
    {"jet-2", "speed", 0.92, 1.02},
    {"jet-4", "speed", 0.92, 1.02},
    {"jet-12", "speed", 0.9, 1.02},
    {"hole-reach-1", "reach", 0.9, 1.02},
    {"hole-reach-2", "reach", 0.9, 1.02},
    {"hole-reach-4", "reach", 0.9, 1.02},
    {"fountain-1", "rise", 0.73, 1},
    {"fountain-2", "rise", 0.8, 1},
    {"fountain-4", "rise", 0.88, 1},
    {"wave-8", "period", 0.95, 1.15},
    {"wave-8", "kept", 0.45, 1.01},
    {"wave-16", "period", 0.98, 1.03},
    {"wave-16", "kept", 0.7, 1.01},
    {"wave-32", "period", 0.985, 1.015},
    {"wave-32", "kept", 0.82, 1.01},
    {"wave-64", "period", 0.985, 1.015},
    {"wave-64", "kept", 0.82, 1.01},
    {"wave-128", "period", 0.985, 1.015},
    {"wave-128", "kept", 0.82, 1.01},
    {"shallow-64", "period", 0.97, 1.03},
    {"shallow-64", "kept", 0.743, 1.01},
    {"shallow-256", "kept", 0.654, 1.01},
    {"ritter-16", "front_mean", 0.92, 1.08},
    {"ritter-16", "front_late", 0.92, 1.08},
    {"ritter-32", "front_mean", 0.92, 1.08},
    {"ritter-32", "front_late", 0.92, 1.08},
    {"stoker-32-16", "bore_mean", 0.92, 1.08},
    {"stoker-32-16", "bore_late", 0.92, 1.08},
    {"stoker-32-8", "bore_mean", 0.92, 1.08},
    {"stoker-32-8", "bore_late", 0.92, 1.08},
    {"stoker-32-2", "bore_mean", 0.92, 1.08},
    {"stoker-32-2", "bore_late", 0.92, 1.08},
    {"ritter-16", "depth_at_dam", 0.93, 1.07},
    {"column-16", "front_2", 0.88, 1.12},
    {"column-16", "front_3", 0.9, 1.1},
    {"column-16", "front_4", 0.9, 1.1},
    {"column-16", "potential_2", 0.94, 1.06},
    {"column-16", "potential_3", 0.94, 1.06},
    {"column-16", "potential_4", 0.94, 1.06},
    {"column-16", "from_2_to_3", 0.95, 1.05},
    {"column-16", "from_2_to_4", 0.95, 1.05},
    {"column-32", "front_2", 0.88, 1.12},
    {"column-32", "front_3", 0.9, 1.1},
    {"column-32", "front_4", 0.9, 1.1},
    {"column-32", "potential_2", 0.96, 1.04},
    {"column-32", "potential_3", 0.96, 1.04},
    {"column-32", "potential_4", 0.96, 1.04},
    {"column-32", "from_2_to_3", 0.95, 1.05},
    {"column-32", "from_2_to_4", 0.95, 1.05},
    {"column-64", "front_3", 0.9, 1.1},
    {"column-64", "front_4", 0.9, 1.1},
    {"column-64", "potential_2", 0.97, 1.03},
    {"column-64", "potential_3", 0.97, 1.03},
    {"column-64", "potential_4", 0.97, 1.03},
    {"column-64", "from_2_to_3", 0.95, 1.05},
    {"column-64", "from_2_to_4", 0.95, 1.05},
    {"column-128", "front_3", 0.9, 1.1},
    {"column-128", "front_4", 0.9, 1.1},
    {"column-128", "potential_2", 0.97, 1.03},
    {"column-128", "potential_3", 0.97, 1.03},
    {"column-128", "potential_4", 0.97, 1.03},
    {"column-128", "from_2_to_3", 0.95, 1.05},
    {"column-128", "from_2_to_4", 0.95, 1.05},
    {"utube-1x1", "difference", -0.05, 0.05},
    {"utube-4x4-12x12", "difference", -0.05, 0.05},
    {"utube-pipe-100", "difference", -0.05, 0.05},
    {"utube-1x1", "swings", 25, FLOW_SWINGS},
    {"utube-1x1", "period", 0.99, 1.01},
    {"utube-1x1", "fill_largest", 0, 1.05},
    {"deep-200", "heave_down", -0.01, 0},
    {"deep-200", "heave_up", 0, 0.01},
    {"deep-200", "pressure_least", 0.9, 1},
    {"deep-200", "pressure_most", 1, 1.1},
    {"deep-400", "heave_down", -0.01, 0},
    {"deep-400", "heave_up", 0, 0.01},
    {"deep-400", "pressure_most", 1, 1.1},
    {"pool-rest-12.5", "flow_at_end", 0, 1e-6},
    {"pool-rest-24.05", "flow_at_end", 0, 1e-6},
    {"pool-rest-9.95", "flow_at_end", 0, 1e-6},
    {"spill", "wet_1600", 0, 1400},
    {"spill", "bricks_1600", 0, 140},
    {"stairs", "left", 0, 0.35},
    {"film-hole", "left", 0, 0.82},
    {"energy-dam", "energy_gain", 0, 0.002},
    {"energy-dam", "fill_largest", 0, 1.35},
    {"energy-dam", "over_longest", 0, 20},
    {"energy-column", "energy_gain", 0, 0.002},
    {"energy-column", "fill_largest", 0, 1.35},
    {"energy-column", "over_longest", 0, 20},
    {"energy-block", "energy_gain", 0, 0.007},
    {"energy-block", "fill_largest", 0, 1.35},
    {"energy-block", "over_longest", 0, 20},
    {"energy-slosh", "over_longest", 0, 20},
    {"dam-102", "fill_largest", 0, 1.35},
    {"dam-102", "over_longest", 0, 20},
    {"column-100", "fill_largest", 0, 1.35},
    {"column-100", "over_longest", 0, 20},
    {"dambreak-32", "fill_largest", 0, 1.35},
    {"dambreak-32", "over_longest", 0, 20},
    {"dambreak-64", "fill_largest", 0, 1.35},
    {"dambreak-64", "over_longest", 0, 20},
    {"dambreak-lid", "fill_largest", 0, 1.35},
    {"dambreak-lid", "over_longest", 0, 20},
};

// ---- Playing ---------------------------------------------------------------------------------------------------------------

static const struct bound *bound_of(const flow_run *run, const flow_result *result)
{
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (strcmp(bounds[i].flow, run->def->name) == 0 && strcmp(bounds[i].result, result->name) == 0) return &bounds[i];
    return NULL;
}

static const flow_result *result_of(const flow_run *run, const char *name)
{
    for (int32_t i = 0; i < run->count; i++)
        if (strcmp(run->results[i].name, name) == 0) return &run->results[i];
    return NULL;
}

static bool has_ratio(const flow_result *result)
{
    return isfinite(result->theory) && result->theory != 0;
}

// What a bound is about.
static double judged(const flow_result *result)
{
    return has_ratio(result) ? result->value / result->theory : result->value;
}

static bool outside(const struct bound *b, const flow_result *result)
{
    return b && !(judged(result) >= b->low && judged(result) <= b->high);
}

static void print_result(const flow_run *run, const flow_result *result)
{
    const struct bound *b = bound_of(run, result);
    printf("%-16s %-15s %11.5g", run->def->name, result->name, result->value);
    if (isnan(result->theory))
        printf(" %11s", "-");
    else
        printf(" %11.5g", result->theory);
    if (has_ratio(result))
        printf(" %7.3f", judged(result));
    else
        printf(" %7s", "-");
    if (outside(b, result)) printf("  not from %g to %g", b->low, b->high);
    printf("\n");
    fflush(stdout);
}

static weir_params params;
static weir_world_def base;

// ---- As a test -------------------------------------------------------------------------------------------------------------

static void a_flow_stays_within_its_bounds(void **state)
{
    const flow_def *def = *state;
    SKIP_IN_SLOW_BUILDS(def);
    flow_run run = flow_play(def, &base, print_result);
    assert_int_equal(run.drift, 0);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const struct bound *b = &bounds[i];
        if (strcmp(b->flow, def->name) != 0) continue;
        const flow_result *result = result_of(&run, b->result);
        if (!result) fail_msg("%s has no result %s", b->flow, b->result);
        if (outside(b, result))
            fail_msg("%s of %s is %.9g; it must be from %g to %g", b->result, b->flow, judged(result), b->low, b->high);
    }
}

// A bound of nothing would never be asked for.
static void every_bound_is_of_a_flow(void **state)
{
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        assert_non_null(flow_find(bounds[i].flow));
        assert_true(bounds[i].low <= bounds[i].high);
    }
}

static int play_as_test(void)
{
    enum { MOST = 128 };
    struct CMUnitTest tests[MOST] = {cmocka_unit_test(every_bound_is_of_a_flow)};
    size_t count = 1;
    const flow_def *def;
    for (int32_t i = 0; (def = flow_at(i)) != NULL && count < MOST; i++)
        if (def->cost != FLOW_LONG)
            tests[count++] = (struct CMUnitTest){def->name, a_flow_stays_within_its_bounds, NULL, NULL, (void *)def};
    return cmocka_run_group_tests(tests, NULL, NULL);  // passes over those without a name
}

// ---- By hand ---------------------------------------------------------------------------------------------------------------

static int usage(void)
{
    fprintf(stderr, "usage: test_flows [FLOW...] [--all] [--list] [--set NAME=VALUE] [--threads N] [--backend cpu|opencl]\n");
    return 2;
}

static void list_flows(void)
{
    const flow_def *def;
    for (int32_t i = 0; (def = flow_at(i)) != NULL; i++)
        printf("%-16s %-5s %s\n", def->name, def->cost == FLOW_LONG ? "" : "quick", def->summary);
}

// NAME=VALUE
static bool set_param(const char *word)
{
    char name[64];
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || equals - word >= (ptrdiff_t)sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    char *end;
    double value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != 0) return false;
    if (weir_params_set(&params, base.solver, name, value) == WEIR_OK) return true;
    fprintf(stderr, "test_flows: %s\n", weir_error_message());
    exit(2);
}

static bool set_threads(const char *word)
{
    char *end;
    long threads = strtol(word, &end, 10);
    base.threads = (int32_t)threads;
    return *word != 0 && *end == 0 && threads >= 1 && threads <= 1024;
}

static bool set_backend(const char *word)
{
    base.backend = strcmp(word, "opencl") == 0 ? WEIR_BACKEND_OPENCL : WEIR_BACKEND_CPU;
    return strcmp(word, "cpu") == 0 || strcmp(word, "opencl") == 0;
}

// Returns how many drops went astray.
static int64_t play_by_hand(const flow_def *def)
{
    flow_run run = flow_play(def, &base, print_result);
    if (run.drift != 0) printf("%-16s %-15s %11lld %11d %7s\n", def->name, "drift", (long long)run.drift, 0, "-");
    return run.drift;
}

int main(int argc, char **argv)
{
    bool by_hand = false, astray = false;
    params = weir_params_default();
    base = weir_world_def_default();
    base.params = &params;
    base.threads = 1;
    // Options first, so that they hold for all flows.
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(word, "--list") == 0) {
            list_flows();
            return 0;
        } else if (strcmp(word, "--all") == 0 || flow_find(word)) {
            by_hand = true;
        } else if ((strcmp(word, "--set") == 0 && set_param(value)) || (strcmp(word, "--threads") == 0 && set_threads(value)) ||
                   (strcmp(word, "--backend") == 0 && set_backend(value))) {
            i++;
        } else {
            fprintf(stderr, "test_flows: what is '%s'?\n", word);
            return usage();
        }
    }
    if (!(params.gravity.y < 0)) {
        fprintf(stderr, "test_flows: flows need gravity downward\n");
        return 2;
    }
    if (!by_hand) return play_as_test();
    for (int i = 1; i < argc; i++) {
        const flow_def *def = flow_find(argv[i]);
        if (def && play_by_hand(def) != 0) astray = true;
        if (strcmp(argv[i], "--all") != 0) continue;
        for (int32_t k = 0; (def = flow_at(k)) != NULL; k++)
            if (play_by_hand(def) != 0) astray = true;
    }
    return astray;
}
