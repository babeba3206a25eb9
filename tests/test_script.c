// Scenes in Lua: what they can do, that they are as exact as the others, and that a hostile one gets a sentence.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scenes/script.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weir/formats.h>

#define IN_A_BOX "world{bounds = box(0, 0, 0, 16, 16, 16), updates = 20}\n"

static char script_path[64];

static const char *write_script(const char *text)
{
    snprintf(script_path, sizeof script_path, "test-script-%ld.lua", (long)getpid());
    FILE *file = fopen(script_path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return script_path;
}

typedef struct played {
    scene_script *script;
    scene_run *run;
} played;

// Opens a script and its scene; the status of the first that failed.
static weir_status try_play(const char *text, const scene_options *options, played *p)
{
    *p = (played){0};
    weir_status status = scene_script_open(write_script(text), options, &p->script);
    if (status == WEIR_OK) status = scene_open(scene_script_def(p->script), options, &p->run);
    remove(script_path);
    return status;
}

static void end(played *p)
{
    scene_close(p->run);
    scene_script_close(p->script);
}

static played play(const char *text, int64_t updates)
{
    played p;
    scene_options options = scene_options_default();
    weir_status status = try_play(text, &options, &p);
    if (status != WEIR_OK) print_message("%s\n", scene_error());
    assert_int_equal(status, WEIR_OK);
    assert_int_equal(scene_updates(p.run, updates), WEIR_OK);
    return p;
}

// ---- What scripts can do ---------------------------------------------------------------------------------------------------

static void a_script_makes_the_same_world_as_c(void **state)
{
    played p = play(IN_A_BOX "build(box(8, 0, 0, 10, 4, 16))\n"
                             "dig(sphere(9, 2, 8, 1.5))\n"
                             "fill(box(0, 0, 0, 8, 10, 16))\n"
                             "fill(sphere(12, 12, 8, 3), 0.5)\n"
                             "drain(box(0, 8, 0, 4, 10, 4))\n"
                             "flow(box(0, 0, 0, 4, 4, 4), 0.1, 0, 0)\n"
                             "local tap = emitter(box(2, 14, 2, 4, 16, 4), 1.5)\n"
                             "local sea = reservoir(box(0, 0, 0, 4, 8, 4), 3.5)\n"
                             "level(sea, 4.25)\n"
                             "sink(box(14, 0, 14, 16, 2, 16), 0.25)\n"
                             "force(box(0, 0, 0, 16, 16, 8), 0.001, 0, 0)\n"
                             "set('damping', 0.01)\n"
                             "at(6, function() remove(tap) end)\n",
                    12);
    weir_world_def def = weir_world_def_default();
    def.bounds = test_box(0, 0, 0, 16, 16, 16);
    weir_params params = weir_params_default();
    params.noise_seed = 1;
    def.params = &params;
    weir_world *world = test_make(&def);
    int32_t tap, sea;
    assert_ok(weir_world_build(world, test_box(8, 0, 0, 10, 4, 16), 255));
    assert_ok(weir_world_dig_sphere(world, (weir_sphere){{9, 2, 8}, 1.5f}));
    assert_ok(weir_world_fill(world, test_box(0, 0, 0, 8, 10, 16), WEIR_WATER, 1));
    assert_ok(weir_world_fill_sphere(world, (weir_sphere){{12, 12, 8}, 3}, WEIR_WATER, 0.5f));
    assert_ok(weir_world_drain(world, test_box(0, 8, 0, 4, 10, 4)));
    assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 4, 4, 4), (weir_vec){0.1f, 0, 0}));
    assert_ok(weir_world_add_emitter(world, test_box(2, 14, 2, 4, 16, 4), WEIR_WATER, 1.5f, &tap));
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 0, 4, 8, 4), WEIR_WATER, 3.5, &sea));
    assert_ok(weir_world_set_level(world, sea, 4.25));
    assert_ok(weir_world_add_drain(world, test_box(14, 0, 14, 16, 2, 16), 0.25f, NULL));
    assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 16, 16, 8), (weir_vec){0.001f, 0, 0}, NULL));
    assert_ok(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "damping", 0.01));
    assert_ok(weir_world_set_params(world, &params));
    for (int32_t i = 0; i < 12; i++) {
        if (i == 6) assert_ok(weir_world_remove(world, tap));
        assert_ok(weir_world_step(world));
    }
    assert_true(weir_world_hash(p.run->world) == weir_world_hash(world));
    weir_world_destroy(world);
    end(&p);
}

static void a_script_has_gases_and_solids(void **state)
{
    scene_options options = scene_options_default();
    options.def.solver = WEIR_SOLVER_MIXTURE;
    played p;
    const weir_status status = try_play(
        IN_A_BOX
        "material('crust', 1.1, 1e9, {0.3, 0.4, 0.1}, {kind = 'solid', heat_capacity = 0.25})\n"
        "material('fume', 0.001, 0.02, nil, {kind = 'gas'})\n"
        "material('slime', 1.05, 300, {0.4, 0.7, 0.1}, {temperature = 320, freezes_to = 'crust', melting_point = 310,\n"
        "    melting_heat = 40, boils_to = 'fume', boiling_point = 400, boiling_heat = 100})\n"
        "fill(box(0, 0, 0, 8, 4, 16), 1, 'slime')\n",
        &options, &p);
    if (status != WEIR_OK) fail_msg("%s", scene_error());
    const weir_world *world = p.run->world;
    const weir_material crust = weir_world_find_material(world, "crust"), fume = weir_world_find_material(world, "fume");
    weir_material_def def;
    assert_true(weir_world_material(world, crust, &def) && def.kind == WEIR_KIND_SOLID && def.heat_capacity == 0.25f);
    assert_true(weir_world_material(world, fume, &def) && def.kind == WEIR_KIND_GAS);
    assert_true(weir_world_material(world, weir_world_find_material(world, "slime"), &def) && def.kind == WEIR_KIND_LIQUID);
    assert_true(def.freezes_to == crust && def.boils_to == fume && def.melting_point == 310 && def.boiling_heat == 100);
    assert_true(weir_world_mix(world, (weir_coord){1, 1, 1}).temperature == 320);
    end(&p);
}

static void a_script_has_several_liquids_and_reactions(void **state)
{
    scene_options options = scene_options_default();
    options.def.solver = WEIR_SOLVER_SETTLE;
    played p;
    const weir_status status = try_play(
        IN_A_BOX "material('treacle', 1.4, 5000, {0.8, 0.5, 0.1})\n"
                 "noreaction('lava', 'water')\n"
                 "reaction('treacle', 'water', 'terrain', 'oil', 0.25, 3)\n"
                 "reaction('oil', 'lava', 'nothing', 'lava')\n"
                 "fill(box(0, 0, 0, 8, 4, 16), 1, 'treacle')\n"
                 "fill(sphere(12, 2, 8, 2), 0.5, 'oil')\n"
                 "emitter(box(14, 8, 14, 16, 10, 16), 1, 'lava')\n"
                 "reservoir(box(14, 0, 0, 16, 2, 2), 1, 'oil')\n"
                 "probe('treacle', function() return cell(2, 2, 2).material == 'treacle' and account('treacle').added end)\n"
                 "probe('dry', function() return cell(9, 15, 2).material == nil and account('lava').held end)\n",
        &options, &p);
    if (status != WEIR_OK) fail_msg("%s", scene_error());
    const weir_world *world = p.run->world;
    const weir_material honey = weir_world_find_material(world, "treacle");
    weir_reaction_def def;
    assert_int_equal(weir_world_reaction_count(world), 2);
    assert_true(weir_world_reaction(world, 0, &def));
    assert_true(def.first == WEIR_WATER && def.second == honey && def.first_to == WEIR_OIL && def.second_to == WEIR_TERRAIN);
    assert_true(def.rate == 0.25f && def.heat == 3);
    assert_true(weir_world_reaction(world, 1, &def));
    assert_true(def.first == WEIR_OIL && def.first_to == WEIR_NOTHING && def.second_to == WEIR_LAVA && def.rate == 1);
    assert_true(scene_probe(p.run, "treacle") == 512);
    assert_true(scene_probe(p.run, "dry") == 0);
    assert_int_equal(weir_world_cell(world, (weir_coord){12, 2, 8}).material, WEIR_OIL);
    weir_source sources[2];
    assert_int_equal(weir_world_sources(world, sources, 2), 2);
    assert_true(sources[0].material == WEIR_LAVA && sources[1].material == WEIR_OIL);
    end(&p);
}

static void probes_and_questions_tell_what_is_there(void **state)
{
    played p = play(IN_A_BOX "fill(box(0, 0, 0, 16, 4, 16))\n"
                             "count = 0\n"
                             "every(5, function(update) count = count + update end)\n"
                             "probe('level', function() return surface(3, 3) end, 'height')\n"
                             "probe('dry', function() return surface(3, 3, 8, 16) end)\n"
                             "probe('water', function() return volume() end)\n"
                             "probe('part', function() return volume(box(0, 0, 0, 8, 16, 16)) end)\n"
                             "probe('cell', function() return cell(1, 1, 1).fill end)\n"
                             "probe('under', function() return submerged({0, 2, 0, 1, 6, 1}) end)\n"
                             "probe('count', function() return count end)\n"
                             "probe('done', function() return updates() end)\n",
                    12);
    assert_true(fabs(scene_probe(p.run, "level") - 4.0) < 1e-3);
    assert_true(isnan(scene_probe(p.run, "dry")));
    assert_true(scene_probe(p.run, "water") == 1024.0);
    assert_true(fabs(scene_probe(p.run, "part") - 512.0) < 0.1);
    assert_true(fabs(scene_probe(p.run, "cell") - 1.0) < 1e-3);
    assert_true(fabs(scene_probe(p.run, "under") - 0.5) < 1e-2);
    assert_true(scene_probe(p.run, "count") == 15.0);
    assert_true(scene_probe(p.run, "done") == 12.0);
    end(&p);
}

static void places_far_away_are_told_as_well_as_here(void **state)
{
    played p = play("x = 100000003\n"
                    "world{}\n"
                    "fill(sphere(x + 0.5, 4.5, 0.5, 0.25))\n"
                    "probe('cell', function() return cell(x, 4, 0).fill end)\n"
                    "probe('under', function() return submerged({x + 0.5, 4, 0, x + 2.5, 5, 1}) end)\n"
                    "probe('water', function() return volume() end)\n",
                    0);
    assert_true(scene_probe(p.run, "cell") == 1.0);
    assert_true(fabs(scene_probe(p.run, "under") - 0.25) < 1e-6);
    assert_true(scene_probe(p.run, "water") == 1.0);
    end(&p);
}

static void size_and_seed_come_from_outside(void **state)
{
    static const char text[] =
        "size = size or 8\n"
        "world{bounds = box(0, 0, 0, size, size, size), open = {'+x', '-z'}, updates = 7, params = {gravity = 0.02}}\n"
        "fill(box(random(0, 3), 0, 0, size, 2, size))\n";
    uint64_t hashes[3];
    for (int32_t i = 0; i < 3; i++) {
        played p;
        scene_options options = scene_options_default();
        options.size = i > 0 ? 24 : 0;
        options.seed = i > 1 ? 3 : 1;
        assert_int_equal(try_play(text, &options, &p), WEIR_OK);
        assert_int_equal(p.run->size, i > 0 ? 24 : 8);
        assert_int_equal(weir_world_bounds(p.run->world).max.x, i > 0 ? 24 : 8);
        assert_int_equal(p.run->planned, 7);
        assert_true(weir_world_params(p.run->world).gravity.y == -0.02f);
        assert_int_equal(scene_updates(p.run, 7), WEIR_OK);
        assert_true(weir_world_ledger(p.run->world).drained > 0);
        hashes[i] = weir_world_hash(p.run->world);
        end(&p);
    }
    assert_true(hashes[0] != hashes[1] && hashes[1] != hashes[2]);
}

static void parameters_have_short_and_full_names(void **state)
{
    static const char text[] = "world{bounds = box(0, 0, 0, 8, 8, 8), params = {damping = 0.5, ['momentum.viscosity'] = 0.125, "
                               "['classic.iterations'] = 3}}\n"
                               "at(1, function() set('classic.max_flow', 0.25) set('max_flow', 0.125) end)\n";
    for (int32_t solver = 0; solver < 2; solver++) {
        played p;
        scene_options options = scene_options_default();
        options.def.solver = (weir_solver)solver;
        assert_int_equal(try_play(text, &options, &p), WEIR_OK);
        assert_int_equal(scene_updates(p.run, 1), WEIR_OK);
        const weir_params standard = weir_params_default(), params = weir_world_params(p.run->world);
        const bool classic = solver == WEIR_SOLVER_CLASSIC;
        assert_true(params.momentum.viscosity == 0.125f && params.classic.iterations == 3);
        assert_true(params.momentum.damping == (classic ? standard.momentum.damping : 0.5f));
        assert_true(params.classic.damping == (classic ? 0.5f : standard.classic.damping));
        assert_true(params.momentum.max_flow == (classic ? standard.momentum.max_flow : 0.125f));
        assert_true(params.classic.max_flow == (classic ? 0.125f : 0.25f));
        end(&p);
    }
}

static void a_script_goes_on_from_a_snapshot(void **state)
{
    static const char text[] = IN_A_BOX "fill(box(0, 0, 0, 6, 10, 16))\n"
                                        "local tap = emitter(box(12, 12, 12, 14, 14, 14), 2)\n"
                                        "at(15, function() remove(tap) end)\n"
                                        "every(4, function() fill(box(0, 15, 0, 1, 16, 1)) end)\n";
    char path[64];
    snprintf(path, sizeof path, "test-script-%ld.weir", (long)getpid());
    played straight = play(text, 20), first = play(text, 10), second;
    assert_ok(weir_world_save(first.run->world, path));
    scene_options options = scene_options_default();
    options.load = path;
    assert_int_equal(try_play(text, &options, &second), WEIR_OK);
    assert_int_equal(scene_updates(second.run, 10), WEIR_OK);
    assert_true(weir_world_hash(second.run->world) == weir_world_hash(straight.run->world));
    remove(path);
    end(&straight);
    end(&first);
    end(&second);
}

// ---- What is refused -------------------------------------------------------------------------------------------------------

// A script that fails at the start, and words that its sentence must have.
static void refused(const char *text, const char *words)
{
    played p;
    scene_options options = scene_options_default();
    weir_status status = try_play(text, &options, &p);
    if (status == WEIR_OK || !strstr(scene_error(), words)) print_message("%s\n    %s\n", text, scene_error());
    assert_int_equal(status, WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(scene_error(), words));
    assert_non_null(strstr(scene_error(), script_path));
    end(&p);
}

static void wrong_scripts_are_told_file_and_line(void **state)
{
    refused("\n\nx = = 3", ".lua:3: unexpected symbol");
    refused("print_nothing = 1", "never calls world{...}");
    refused("fill(box(0, 0, 0, 1, 1, 1))", ":1: there is no world yet");
    refused(IN_A_BOX "world{}", ":2: a script has one world");
    refused("world{sise = 3}", ":1: world{...} knows bounds");
    refused("world{bounds = {1, 2, 3}}", "six numbers");
    refused("world{bounds = box(0, 0, 0, 8, 8, 8), open = {'x'}}", "open takes");
    refused("world{params = {gravty = 1}}", "there is no parameter \"gravty\"");
    refused("world{params = {gravity = 0/0}}", "gravity");
    refused("world{updates = 0}", "updates must be");
    refused("world{updates = 'x'}", "updates must be");
    refused("world{open = '+x'}", "open takes");
    refused("world{params = 3}", "params takes");
    refused("pcall(world, {})", "never calls world");
    refused("world{bounds = box(8, 8, 8, 0, 0, 0)}\nfill(box(0, 0, 0, 1, 1, 1))", "hold no cell");
    refused(IN_A_BOX "fill(box(20, 20, 20, 30, 30, 30))", ":2: the cells");
    refused(IN_A_BOX "fill(box(0, 0, 0, 1.5, 1, 1))", "whole numbers");
    refused(IN_A_BOX "fill(box(0, 0, 0, 1e300, 1, 1))", "whole numbers");
    refused(IN_A_BOX "fill(box(0, 0, 0, 1, 1, 1), 2)", "fill is 2");
    refused(IN_A_BOX "build(box(0, 0, 0, 1, 1, 1), 300)", "solid share");
    refused(IN_A_BOX "remove(17)", ":2: ");
    refused(IN_A_BOX "fill(box(0, 0, 0, 1, 1, 1), 1, 'tar')",
            ":2: bad argument #3 to 'fill' (there is no material of this name)");
    refused(IN_A_BOX "fill(box(0, 0, 0, 1, 1, 1), 1, 'oil')", "cannot hold oil");
    refused(IN_A_BOX "material('oil', 1, 1)", "there is already a material \"oil\"");
    refused(IN_A_BOX "material('tar', 1, 1, {1, 2})", "numbers only");
    refused(IN_A_BOX "material('tar', 1, 1, nil, {kind = 'plasma'})", "and not \"plasma\"");
    refused(IN_A_BOX "material('tar', 1, 1, nil, {taste = 3})", "a material has no \"taste\"");
    refused(IN_A_BOX "material('tar', 1, 1, nil, {boils_to = 'vapour'})", "there is no material of this name");
    refused(IN_A_BOX "material('tar', 1, 1, nil, {kind = 'gas', heat_capacity = 2})", "heat capacity of tar is 2");
    refused(IN_A_BOX "reaction('oil', 'tar', 'nothing', 'nothing')", "#2 to 'reaction' (there is no material of this name)");
    refused(IN_A_BOX "reaction('oil', 'lava', 'nothing')", "#4 to 'reaction'");
    refused(IN_A_BOX "reaction('oil', 'lava', 'nothing', 'gravel')", "#4 to 'reaction' (there is no material of this name)");
    refused(IN_A_BOX "reaction('oil', 'oil', 'nothing', 'nothing')", "oil cannot react with itself");
    refused(IN_A_BOX "noreaction('oil', 'lava')", "there is no reaction of oil and lava");
    refused(IN_A_BOX "every(0, function() end)", "at least 1");
    refused(IN_A_BOX "at(1, 2)", "function expected");
    refused(IN_A_BOX "probe('a', function() end) probe('a', function() end)", "already a probe");
    refused(IN_A_BOX "for i = 1, 9 do probe('p' .. i, function() end) end", "at most 8 probes");
    refused(IN_A_BOX "error({})", "without a sentence");
    refused("\x1bLua", "binary");
    refused("world{} fill(box(0, 0, 0, 100000, 100000, 100000))", ":1: the shape has more than 134 million cells");
    refused("world{} build(sphere(0, 0, 0, 300))", "take it in parts");
    refused("world{} dig(sphere(0, 0, 0, 1e30))", "take it in parts");
    refused("world{} build(sphere(0/0, 0, 0, 1))", "is not a place");
    refused("world{} dig(sphere(0, 0, 0, -1))", "radius");
}

static void a_script_reaches_nothing_outside(void **state)
{
    static const char *const names[] = {"io",           "os",         "debug",      "package",        "require",
                                        "load",         "dofile",     "loadfile",   "collectgarbage", "setmetatable",
                                        "getmetatable", "rawset",     "coroutine",  "string.dump",    "string.find",
                                        "string.gsub",  "table.sort", "math.random"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        snprintf(text, sizeof text, IN_A_BOX "assert(%s == nil, 'reaches')", names[i]);
        played p = play(text, 0);
        end(&p);
    }
    refused(IN_A_BOX "return ('x'):find('x')", "attempt to call a nil value");
}

static void loops_without_end_are_ended(void **state)
{
    refused(IN_A_BOX "while true do end", ":2: the script takes too long");
    refused(IN_A_BOX "while true do pcall(function() while true do end end) end", "takes too long");
    refused(IN_A_BOX "local function f() while true do pcall(f) end end f()", "script");
    refused(IN_A_BOX "while true do local s = ('x'):rep(1e7) end", "takes too long");
    refused("while true do end", "takes too long");
}

// Words that take long each, most of them with too few instructions between them to be counted.
static void words_that_take_long_are_ended(void **state)
{
    // It waits for limits of time, in which a slow build finds nothing else.
    if (test_length(0, 1)) skip();
    static const char *const texts[] = {
        "world{} for i = 1, 200 do build(box(0, 0, 0, 500, 500, 500), i) end",
        "world{} while true do fill(box(0, 0, 0, 200, 200, 200)) drain(box(0, 0, 0, 200, 200, 200)) end",
        "world{} b = box(0, 0, 0, 200, 200, 200) while true do pcall(fill, b) pcall(drain, b) end",
        "world{} b = box(0, 0, 0, 100, 100, 100) fill(b) while true do volume(b) submerged(b) end",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        time_t begun = time(NULL);
        refused(texts[i], ":1: the script takes too long");
        assert_true(time(NULL) - begun < 20);
    }
    // A box is cut to the world before its cells are counted.
    played p = play(IN_A_BOX "fill(box(-1000000, 0, -1000000, 1000000, 4, 1000000)) drain(sphere(0, 0, 0, 1e6))", 0);
    assert_true(weir_world_ledger(p.run->world).held == 0);
    end(&p);
}

static void huge_memory_is_refused(void **state)
{
    refused(IN_A_BOX "s = ('x'):rep(1e9)", "more than 64 MiB");
    refused(IN_A_BOX "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", "more than 64 MiB");
    refused(IN_A_BOX "local function f() return f() + 1 end f()", "");
    // Memory that runs out to the last bytes.
    for (int32_t i = 0; i < 8; i++) {
        char text[256];
        snprintf(text, sizeof text, "p = '%.*s' local l while true do l = {l} end", 9 * i + 1,
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        refused(text, "more than 64 MiB");
    }
    refused("world{} fill(box(0, 0, 0, 512, 512, 512))", "of memory, which is not there");
}

static void an_error_between_updates_ends_the_run(void **state)
{
    played p = play(IN_A_BOX "every(3, function() nope() end)", 2);
    assert_int_equal(scene_update(p.run), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(scene_error(), ":2: attempt to call a nil value (global 'nope')"));
    end(&p);
    p = play(IN_A_BOX "every(1, function() while true do end end)", 0);
    assert_int_equal(scene_update(p.run), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(scene_error(), "takes too long"));
    end(&p);
}

static void a_byte_order_mark_and_a_first_line_with_a_hash_are_passed_over(void **state)
{
    played p = play("\xEF\xBB\xBF" IN_A_BOX "fill(box(0, 0, 0, 8, 8, 8))", 1);
    end(&p);
    refused("\xEF\xBB\xBF\n\nx = = 3", ".lua:3: unexpected symbol");
    refused("\xEF\xBB\xBF", "never calls world");
    refused("\xEF\xBB", ":1: unexpected symbol");
    p = play("\xEF\xBB\xBF#!/usr/bin/env weir\n" IN_A_BOX, 1);
    end(&p);
    refused("#!weir\n\nx = = 3", ".lua:3: unexpected symbol");
    refused("#", "never calls world");
}

static void a_file_that_is_not_there_is_told(void **state)
{
    scene_options options = scene_options_default();
    scene_script *script;
    assert_int_equal(scene_script_open("no-such-file.lua", &options, &script), WEIR_ERROR_FILE);
    assert_null(script);
    assert_non_null(strstr(scene_error(), "no-such-file.lua"));
    assert_int_equal(scene_script_open("/", &options, &script), WEIR_ERROR_FILE);
}

// ---- Terrain from files ----------------------------------------------------------------------------------------------------

// A floor of 5 x 2 x 3 with a cell of water in it, in the folder of the scripts.
static void write_floor(const char *path)
{
    uint8_t values[30];
    memset(values, 3, sizeof values);
    values[12] = 9;
    const weir_voxels floor = {.kind = WEIR_VOXELS_PALETTE, .size = {5, 2, 3}, .values = values};
    assert_ok(weir_vox_write(path, &floor));
}

static void a_script_reads_terrain_beside_it(void **state)
{
    write_floor("test-floor.vox");
    played p = play(IN_A_BOX "local x, y, z = terrain('test-floor.vox', 4, 0, 8, nil, 9)\n"
                             "terrain('test-floor.vox')\n"
                             "probe('size', function() return 100 * x + 10 * y + z end)\n",
                    0);
    assert_true(scene_probe(p.run, "size") == 523);
    assert_int_equal(weir_world_cell(p.run->world, (weir_coord){4, 0, 8}).solid, 255);
    assert_int_equal(weir_world_cell(p.run->world, (weir_coord){2, 0, 1}).solid, 255);
    assert_true(weir_world_cell(p.run->world, (weir_coord){6, 0, 9}).fill == 1);
    assert_true(weir_world_ledger(p.run->world).held == WEIR_FULL);
    end(&p);
    remove("test-floor.vox");
}

static void a_script_reads_nothing_elsewhere(void **state)
{
    static const char *const calls[][2] = {
        {"terrain('/etc/passwd')", "own folder"},
        {"terrain('/tmp/x.vox')", "own folder"},
        {"terrain('../x.vox')", "own folder"},
        {"terrain('a/../../x.png')", "own folder"},
        {"terrain('test-link.vox')", "leads out"},
        {"terrain('tap.lua')", ".vox and .png"},
        {"terrain('x.obj')", ".vox and .png"},
        {"terrain('nothing.vox')", "No such file"},
        {"terrain('test-floor.vox', 100)", "outside the world"},
        {"terrain('test-floor.vox', 0.5)", "integer"},
        {"terrain('test-floor.vox', 0, 0, 0, 2)", "no scale"},
        {"terrain('test-floor.vox', 0, 0, 0, nil, 256)", "1 to 255"},
        {"while true do terrain('test-floor.vox') end", "takes too long"},
    };
    char outside[64];
    snprintf(outside, sizeof outside, "/tmp/weir-test-%ld.vox", (long)getpid());
    write_floor("test-floor.vox");
    write_floor(outside);
    remove("test-link.vox");
    assert_int_equal(symlink(outside, "test-link.vox"), 0);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char text[160];
        snprintf(text, sizeof text, IN_A_BOX "%s\n", calls[i][0]);
        played p;
        scene_options options = scene_options_default();
        assert_int_equal(try_play(text, &options, &p), WEIR_ERROR_ARGUMENT);
        if (!strstr(scene_error(), calls[i][1]))
            fail_msg("%s: '%s' does not say '%s'", calls[i][0], scene_error(), calls[i][1]);
        assert_non_null(strstr(scene_error(), ".lua:2: "));
        end(&p);
    }
    remove("test-link.vox");
    remove("test-floor.vox");
    remove(outside);
}

int main(void)
{
    scene_options options = scene_options_default();
    scene_script *script;
    if (scene_script_open("no-such-file.lua", &options, &script) == WEIR_ERROR_UNSUPPORTED) {
        print_message("skipped: %s\n", scene_error());
        return 0;
    }
    // Scripts lie in a folder of their own, so that a test that is killed leaves nothing in the tree.
    char folder[] = "/tmp/weir-test-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_makes_the_same_world_as_c),
        cmocka_unit_test(a_script_has_gases_and_solids),
        cmocka_unit_test(a_script_has_several_liquids_and_reactions),
        cmocka_unit_test(probes_and_questions_tell_what_is_there),
        cmocka_unit_test(places_far_away_are_told_as_well_as_here),
        cmocka_unit_test(size_and_seed_come_from_outside),
        cmocka_unit_test(parameters_have_short_and_full_names),
        cmocka_unit_test(a_script_goes_on_from_a_snapshot),
        cmocka_unit_test(wrong_scripts_are_told_file_and_line),
        cmocka_unit_test(a_script_reaches_nothing_outside),
        cmocka_unit_test(loops_without_end_are_ended),
        cmocka_unit_test(words_that_take_long_are_ended),
        cmocka_unit_test(huge_memory_is_refused),
        cmocka_unit_test(an_error_between_updates_ends_the_run),
        cmocka_unit_test(a_byte_order_mark_and_a_first_line_with_a_hash_are_passed_over),
        cmocka_unit_test(a_file_that_is_not_there_is_told),
        cmocka_unit_test(a_script_reads_terrain_beside_it),
        cmocka_unit_test(a_script_reads_nothing_elsewhere),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/") != 0 || rmdir(folder) != 0) print_message("%s is left behind\n", folder);
    return failed;
}
