// The validates: they find nothing in worlds that are whole, and say what is wrong with one in which something was broken on purpose.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_world.h"
#include <math.h>

#include "solvers/classic/cpu_classic.h"
#include "solvers/momentum/cpu_momentum.h"
#include "test_cells.h"
#include "world/coord_table.h"

// ---- Worlds ----------------------------------------------------------------------------------------------------------------

// What was changed in a world, to be put back before it ends.
typedef struct change_of_bytes {
    void *at;
    size_t size;
    uint8_t before[64];
} change_of_bytes;

enum { CHANGES_MAX = 8 };

typedef struct subject {
    weir_world *world;
    brick_pool *pool;
    cpu_machine *cpu;
    momentum_cpu *momentum;  // NULL: another solver
    change_of_bytes changes[CHANGES_MAX];
    int32_t count;
} subject;

static void set_bytes(subject *s, void *at, const void *value, size_t size)
{
    change_of_bytes *change = &s->changes[s->count++];
    assert_true(s->count <= CHANGES_MAX && size <= sizeof change->before);
    change->at = at;
    change->size = size;
    memcpy(change->before, at, size);
    memcpy(at, value, size);
}

#define SET(s, place, ...)                                    \
    do {                                                      \
        __typeof__(place) value_to_set = __VA_ARGS__;         \
        set_bytes(s, &(place), &value_to_set, sizeof(place)); \
    } while (0)

static void put_back(subject *s)
{
    while (s->count > 0) {
        const change_of_bytes *change = &s->changes[--s->count];
        memcpy(change->at, change->before, change->size);
    }
}

// A pool with an island in a basin, an emitter and a drain, a rule, and bricks that died.
static subject make_subject(weir_solver solver)
{
    weir_world_def def = test_def(solver, 40, 24, 24);
    subject s = {.world = test_make(&def)};
    static dye_options options = {.fading = 0.01f};
    const weir_rule_def rule = dye_rule(&options);
    assert_ok(weir_world_add_rule(s.world, &rule));
    assert_ok(weir_world_build(s.world, test_box(0, 0, 0, 40, 3, 24), 255));
    assert_ok(weir_world_build(s.world, test_box(8, 3, 8, 12, 6, 12), 200));
    test_fill(s.world, test_box(0, 3, 0, 20, 8, 24), 1.0f);
    test_fill(s.world, test_box(32, 16, 16, 33, 17, 17), 1.0f);
    assert_ok(weir_world_add_emitter(s.world, test_box(1, 9, 1, 2, 10, 2), WEIR_WATER, 0.5f, NULL));
    assert_ok(weir_world_add_drain(s.world, test_box(1, 4, 1, 2, 5, 2), 0.5f, NULL));
    test_step(s.world, 2);
    assert_ok(weir_world_drain(s.world, test_box(32, 8, 16, 40, 24, 24)));
    test_step(s.world, 2);
    s.pool = test_pool(s.world);
    if (solver == WEIR_SOLVER_MOMENTUM) s.momentum = ((momentum *)s.world->state)->cpu;
    s.cpu = s.momentum ? s.momentum->machine : ((classic *)s.world->state)->cpu->machine;
    assert_ptr_equal(s.cpu->world, s.world);
    assert_true(s.pool->free_count > 0);
    assert_null(world_validate(s.world, false));
    return s;
}

static int32_t brick_at(const subject *s, int32_t x, int32_t y, int32_t z)
{
    int32_t brick = bricks_find(s->pool, (weir_coord){x, y, z});
    assert_true(brick != BRICK_NOTHING);
    return brick;
}

// A brick of water, and the numbers of a wet and of a solid cell in it.
enum { WET_CELL = 5 * 8, SOLID_CELL = 0 };

static int32_t wet_brick(const subject *s)
{
    int32_t brick = brick_at(s, 0, 0, 0);
    assert_true(s->pool->wet[brick] && bricks_ints(s->pool, CHANNEL_MASS, brick)[WET_CELL] > 0);
    assert_true(mask_has(&s->pool->open[brick], WET_CELL) && !mask_has(&s->pool->open[brick], SOLID_CELL));
    return brick;
}

static int32_t dead_brick(const subject *s)
{
    return s->pool->free_list[s->pool->free_count - 1];
}

// ---- Ways to break them ----------------------------------------------------------------------------------------------------

typedef struct breakage {
    const char *says;  // part of what is said of it
    void (*act)(subject *s);
    weir_solver solver;
    bool for_good;  // it cannot be put back
} breakage;

static void count_of_live(subject *s)
{
    SET(s, s->pool->live, s->pool->live + 1);
}

static void end_of_pool(subject *s)
{
    SET(s, s->pool->end, s->pool->capacity + 1);
}

static void trash_twice(subject *s)
{
    assert_true(s->pool->free_count > 1);
    SET(s, s->pool->free_list[0], s->pool->free_list[1]);
}

static void trash_of_a_live_brick(subject *s)
{
    SET(s, s->pool->free_list[0], wet_brick(s));
}

static void dead_brick_is_wet(subject *s)
{
    SET(s, s->pool->wet[dead_brick(s)], 1);
}

static void slot_is_lost(subject *s)
{
    SET(s, *coord_slot(s->pool->slot, s->pool->slot_mask, s->pool->coord, (weir_coord){0, 0, 0}), 0);
}

static void slot_of_another(subject *s)
{
    SET(s, *coord_slot(s->pool->slot, s->pool->slot_mask, s->pool->coord, (weir_coord){0, 0, 0}), brick_at(s, 1, 0, 0));
}

static void slot_out_of_range(subject *s)
{
    SET(s, *coord_slot(s->pool->slot, s->pool->slot_mask, s->pool->coord, (weir_coord){0, 0, 0}), s->pool->end);
}

static void brick_lies_elsewhere(subject *s)
{
    SET(s, s->pool->coord[wet_brick(s)].y, 100);
}

static void neighbour_is_lost(subject *s)
{
    SET(s, s->pool->near[wet_brick(s)][NEAR(1, 0, 0)], BRICK_NOTHING);
}

static void neighbour_over_an_edge_is_another(subject *s)
{
    SET(s, s->pool->near[wet_brick(s)][NEAR(1, 0, 1)], wet_brick(s));
}

static void neighbour_is_taken_for_solid(subject *s)
{
    SET(s, s->pool->closed[wet_brick(s)], 1u << NEAR(1, 0, 0));
}

static void nothing_holds_water(subject *s)
{
    SET(s, bricks_ints(s->pool, CHANNEL_MASS, BRICK_NOTHING)[77], 1);
}

static void nothing_is_open(subject *s)
{
    SET(s, s->pool->open[BRICK_NOTHING].plane[3], 1);
}

static void channels_are_one(subject *s)
{
    SET(s, s->pool->channel[CHANNEL_MASS_NEXT], s->pool->channel[CHANNEL_MASS]);
}

static void open_cell_is_solid(subject *s)
{
    SET(s, s->pool->open[brick_at(s, 1, 0, 1)].plane[7], 0);
}

static void open_place_is_taken_for_solid(subject *s)
{
    for (int32_t i = 27; i < 27 * s->pool->end; i++) {
        const int32_t brick = i / 27, k = i % 27;
        brick_mask open;
        if (!s->pool->alive[brick] || s->pool->near[brick][k]) continue;
        if (!terrain_open(&s->world->terrain, brick_neighbour(s->pool->coord[brick], k), &open)) continue;
        SET(s, s->pool->closed[brick], 1u << k);
        return;
    }
    fail_msg("no place to break");
}

static void wet_is_noted_as_dry(subject *s)
{
    SET(s, s->pool->wet[wet_brick(s)], 0);
}

// As if the brick set had been brought in line with the water.
static void settle_bricks(subject *s)
{
    memcpy(s->pool->wet_seen, s->pool->wet, (size_t)s->pool->end);
    s->pool->topology_dirty = false;
}

static void brick_lives_for_nothing(subject *s)
{
    brick_mask open;
    const weir_coord far = {4, 2, 0};
    assert_true(bricks_find(s->pool, far) == BRICK_NOTHING && terrain_open(&s->world->terrain, far, &open));
    assert_ok(bricks_reserve(s->pool, 1));
    bricks_born(s->pool, far, &open);
    settle_bricks(s);
}

static void water_lacks_a_neighbour(subject *s)
{
    int32_t brick = BRICK_NOTHING;
    for (int32_t b = 1; b < s->pool->end; b++)
        if (s->pool->alive[b] && !s->pool->wet[b]) brick = b;
    assert_true(brick != BRICK_NOTHING);
    bricks_die(s->pool, brick);
    settle_bricks(s);
}

static void mass_below_zero(subject *s)
{
    SET(s, bricks_ints(s->pool, CHANNEL_MASS, wet_brick(s))[WET_CELL], -1);
}

static void mass_above_all(subject *s)
{
    SET(s, bricks_ints(s->pool, CHANNEL_MASS, wet_brick(s))[WET_CELL], s->world->solver->cell_max + 1);
}

static void water_in_stone(subject *s)
{
    SET(s, bricks_ints(s->pool, CHANNEL_MASS, wet_brick(s))[SOLID_CELL], 1);
}

static void flow_in_stone(subject *s)
{
    SET(s, bricks_floats(s->pool, CHANNEL_FLOW_Z, wet_brick(s))[SOLID_CELL], 0.5f);
}

static void flow_too_fast(subject *s)
{
    SET(s, bricks_floats(s->pool, CHANNEL_FLOW_Y, wet_brick(s))[WET_CELL], -8.5f);
}

static void flow_is_no_number(subject *s)
{
    SET(s, bricks_floats(s->pool, CHANNEL_FLOW_X, wet_brick(s))[WET_CELL], NAN);
}

static void pressure_is_no_number(subject *s)
{
    SET(s, bricks_floats(s->pool, CHANNEL_PRESSURE, wet_brick(s))[WET_CELL], INFINITY);
}

static void a_drop_too_few(subject *s)
{
    int32_t *mass = &bricks_ints(s->pool, CHANNEL_MASS, wet_brick(s))[WET_CELL];
    SET(s, *mass, *mass - 1);
}

static void a_drop_too_many_drained(subject *s)
{
    SET(s, s->world->ledger[WEIR_WATER].drained, s->world->ledger[WEIR_WATER].drained + 1);
}

static void change_to_come(subject *s)
{
    SET(s, s->pool->changed[wet_brick(s)], s->world->change + 1);
}

static terrain_brick *terrain_kept(subject *s, bool shares)
{
    terrain *t = &s->world->terrain;
    for (int32_t i = 0; i < t->slot_count; i++)
        if (t->slot[i].used && (t->slot[i].shares != NULL) == shares) return &t->slot[i];
    fail_msg("no such brick of terrain");
    return NULL;
}

static void terrain_is_counted_wrongly(subject *s)
{
    SET(s, s->world->terrain.brick_count, s->world->terrain.brick_count - 1);
}

static void terrain_lies_elsewhere(subject *s)
{
    SET(s, terrain_kept(s, true)->coord.x, 77);
}

static void terrain_has_another_count(subject *s)
{
    SET(s, terrain_kept(s, true)->solid, 9);
}

static void terrain_is_an_array_of_one_share(subject *s)
{
    static uint8_t one_share[BRICK_CELLS];
    SET(s, terrain_kept(s, true)->shares, one_share);
}

static void sources_out_of_order(subject *s)
{
    SET(s, s->world->sources[1].id, s->world->sources[0].id);
}

static void source_owes_too_much(subject *s)
{
    SET(s, s->world->sources[0].owed, 1 << 16);
}

static void rule_shares_a_channel(subject *s)
{
    SET(s, test_cells(s->world)->rules[0].next[0], test_cells(s->world)->rules[0].values[0]);
}

static pyramid_level *level_of(subject *s, int32_t l)
{
    assert_true(l <= s->momentum->levels.top && s->momentum->levels.level[l].count > 1);
    return &s->momentum->levels.level[l];
}

static void parent_is_another(subject *s)
{
    assert_true(level_of(s, 1)->count > 2);
    int32_t *parent = &s->momentum->levels.level[0].parent[wet_brick(s)];
    SET(s, *parent, *parent == 1 ? 2 : 1);
}

static void child_is_lost(subject *s)
{
    int32_t brick = wet_brick(s), parent = s->momentum->levels.level[0].parent[brick];
    SET(s, level_of(s, 1)->child[parent][pyramid_octant(s->pool->coord[brick])], 0);
}

static void coarse_neighbour_is_lost(subject *s)
{
    SET(s, level_of(s, 1)->near[1][BRICK_SELF], 0);
}

static void coarse_brick_lies_elsewhere(subject *s)
{
    SET(s, level_of(s, 2)->coord[1].z, 9);
}

static void level_too_many(subject *s)
{
    SET(s, s->momentum->levels.top, s->momentum->levels.top - 1);
}

static void coarse_nothing_holds_something(subject *s)
{
    SET(s, pyramid_cells(level_of(s, 1), LEVEL_ERROR, BRICK_NOTHING)[100], 1.0f);
}

static void brick_in_two_runs(subject *s)
{
    assert_true(s->cpu->run_count > 1);
    SET(s, s->cpu->runs[0], s->cpu->runs[s->cpu->run_count - 1]);
}

static void brick_in_no_run(subject *s)
{
    SET(s, s->cpu->run_count, s->cpu->run_count - 1);
}

static void run_of_three(subject *s)
{
    SET(s, s->cpu->runs[0].count, 3);
}

static void brick_in_no_column(subject *s)
{
    s->cpu->tried = UINT64_MAX;
    SET(s, s->cpu->column_count, s->cpu->column_count - 1);
}

static void column_twice(subject *s)
{
    s->cpu->tried = UINT64_MAX;
    assert_true(s->cpu->column_count < s->cpu->run_room);
    SET(s, s->cpu->columns[s->cpu->column_count], s->cpu->columns[0]);
    SET(s, s->cpu->column_count, s->cpu->column_count + 1);
}

// A column that also moves the bricks below it, which are another column's.
static void column_moves_neighbours(subject *s)
{
    s->cpu->tried = UINT64_MAX;
    for (int32_t i = 0; i < s->cpu->column_count; i++) {
        brick_column *column = &s->cpu->columns[i];
        if (column->size.y != 1 || s->pool->near[column->first][NEAR(0, -1, 0)] == BRICK_NOTHING) continue;
        SET(s, column->low.y, column->low.y - 1);
        SET(s, column->size.y, 2);
        return;
    }
    fail_msg("no column to break");
}

// The same where a column's bricks were found before: one that also moves a brick beside it.
static void column_has_a_stranger(subject *s)
{
    classic_cpu *cpu = ((classic *)s->world->state)->cpu;
    s->cpu->tried = UINT64_MAX;
    for (int32_t i = 0; i < s->cpu->column_count; i++) {
        column_bricks *column = &cpu->columns[i];
        if (column->ny != 1 || column->at[1][0][1] == BRICK_NOTHING) continue;
        SET(s, column->at[1][2][1], column->at[1][0][1]);
        SET(s, column->ny, 2);
        return;
    }
    fail_msg("no column to break");
}

static void brick_is_noted_as_clear(subject *s)
{
    SET(s, s->cpu->clear[wet_brick(s)], 1);
}

static void brick_stays_listed(subject *s)
{
    SET(s, s->momentum->flags.listed[wet_brick(s)], 1);
}

static void stone_is_active(subject *s)
{
    SET(s, s->momentum->flags.active[wet_brick(s)].plane[0], 1);
}

static const breakage BREAKAGES[] = {
    {"counted", count_of_live},
    {"room for", end_of_pool},
    {"to be used again", trash_twice},
    {"to be used again", trash_of_a_live_brick},
    {"neither alive nor dead", dead_brick_is_wet},
    {"slots of the pool", slot_is_lost},
    {"not found at its coordinate", slot_of_another},
    {"slots of the pool", slot_out_of_range},
    {"not found at its coordinate", brick_lies_elsewhere},
    {"as its neighbour", neighbour_is_lost},
    {"as its neighbour", neighbour_over_an_edge_is_another},
    {"for solid", neighbour_is_taken_for_solid},
    {"the nothing holds", nothing_holds_water},
    {"the nothing is not solid", nothing_is_open},
    {"the same memory", channels_are_one},
    {"not those of the terrain", open_cell_is_solid},
    {"where the terrain is open", open_place_is_taken_for_solid},
    {"noted as dry", wet_is_noted_as_dry},
    {"without water near", brick_lives_for_nothing, .for_good = true},
    {"lacks its neighbour", water_lacks_a_neighbour, .for_good = true},
    {"holds -1 drops", mass_below_zero},
    {"drops", mass_above_all},
    {"drops", mass_above_all, WEIR_SOLVER_CLASSIC},
    {"is solid and holds", water_in_stone},
    {"is solid and holds", flow_in_stone},
    {"is -8.5", flow_too_fast},
    {"nan", flow_is_no_number},
    {"inf", pressure_is_no_number},
    {"its account says", a_drop_too_few},
    {"its account says", a_drop_too_many_drained},
    {"changed in change", change_to_come},
    {"counted", terrain_is_counted_wrongly},
    {"not found at its coordinate", terrain_lies_elsewhere},
    {"an array of it", terrain_is_an_array_of_one_share},
    {"and counts 9", terrain_has_another_count},
    {"comes after", sources_out_of_order},
    {"owes 65536", source_owes_too_much},
    {"not its own", rule_shares_a_channel},
    {"as its parent", parent_is_another},
    {"not a child", child_is_lost},
    {"as its neighbour", coarse_neighbour_is_lost},
    {"not found at its coordinate", coarse_brick_lies_elsewhere},
    {"levels where its bricks ask for", level_too_many},
    {"where it has no child", coarse_nothing_holds_something},
    {"both write", brick_in_two_runs},
    {"no run writes", brick_in_no_run},
    {"has 3 bricks", run_of_three},
    {"no column writes", brick_in_no_column},
    {"both write", column_twice},
    {"both write", column_moves_neighbours},
    {"no column writes", brick_in_no_column, WEIR_SOLVER_CLASSIC},
    {"both write", column_has_a_stranger, WEIR_SOLVER_CLASSIC},
    {"noted as clear", brick_is_noted_as_clear},
    {"still listed", brick_stays_listed},
    {"are active", stone_is_active},
};

static void what_is_broken_is_found_and_named(void **state)
{
    subject subjects[TEST_FLOW_SOLVERS];
    for (int32_t i = 0; i < TEST_FLOW_SOLVERS; i++) subjects[i] = make_subject((weir_solver)i);
    for (size_t i = 0; i < sizeof BREAKAGES / sizeof *BREAKAGES; i++) {
        subject *s = &subjects[BREAKAGES[i].solver];
        BREAKAGES[i].act(s);
        const char *wrong = world_validate(s->world, false);
        if (!wrong || !strstr(wrong, BREAKAGES[i].says))
            fail_msg("breakage %zu: \"%s\" does not say \"%s\"", i, wrong ? wrong : "", BREAKAGES[i].says);
        put_back(s);
        if (BREAKAGES[i].for_good) {
            weir_world_destroy(s->world);
            *s = make_subject(BREAKAGES[i].solver);
        }
        assert_null(world_validate(s->world, false));
    }
    for (int32_t i = 0; i < TEST_FLOW_SOLVERS; i++) weir_world_destroy(subjects[i].world);
}

// ---- Worlds that are whole -------------------------------------------------------------------------------------------------

static void scenes_stay_whole(void **state)
{
    static const char *const names[] = {"dambreak", "tube", "random"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!scene_find(names[i])) continue;
        for (int32_t solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
            if (!test_can_play(names[i], (weir_solver)solver)) continue;
            scene_run *run = test_open(names[i], (weir_solver)solver, 0, 40);
            for (int32_t u = 0; u < test_length(40, 6); u++) {
                assert_ok(scene_updates(run, 1));
                const char *wrong = world_validate(run->world, false);
                if (wrong) fail_msg("%s: %s", names[i], wrong);
            }
            scene_close(run);
        }
    }
}

// A look changes nothing of what the next update depends on.
static void a_look_disturbs_nothing(void **state)
{
    for (int32_t solver = 0; solver < TEST_FLOW_SOLVERS; solver++) {
        subject looked_at = make_subject((weir_solver)solver), left_alone = make_subject((weir_solver)solver);
        for (int32_t i = 0; i < 8; i++) {
            looked_at.cpu->tried = UINT64_MAX;
            assert_null(world_validate(looked_at.world, false));
            test_step(looked_at.world, 1);
            test_step(left_alone.world, 1);
            assert_int_equal(weir_world_hash(looked_at.world), weir_world_hash(left_alone.world));
        }
        weir_world_destroy(looked_at.world);
        weir_world_destroy(left_alone.world);
    }
}

// Between edits and the update that follows them brick sets and lists are behind; that is as it should be.
static void edits_leave_worlds_whole(void **state)
{
    for (int32_t solver = 0; solver < TEST_FLOW_SOLVERS; solver++) {
        subject s = make_subject((weir_solver)solver);
        assert_ok(weir_world_dig(s.world, test_box(4, 0, 4, 20, 3, 20)));
        assert_null(world_validate(s.world, false));
        assert_ok(weir_world_build_sphere(s.world, (weir_sphere){{16, 6, 12}, 5}, 255));
        assert_null(world_validate(s.world, false));
        test_fill(s.world, test_box(30, 10, 0, 40, 20, 10), 0.5f);
        assert_ok(weir_world_drain(s.world, test_box(0, 0, 0, 8, 24, 8)));
        assert_null(world_validate(s.world, false));
        assert_ok(weir_world_set_flow(s.world, test_box(0, 0, 0, 40, 24, 24), (weir_vec){0.1f, 0, 0.1f}));
        assert_null(world_validate(s.world, false));
        for (int32_t i = 0; i < 4; i++) {
            test_step(s.world, 1);
            assert_null(world_validate(s.world, false));
        }
        weir_world_destroy(s.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_broken_is_found_and_named),
        cmocka_unit_test(scenes_stay_whole),
        cmocka_unit_test(a_look_disturbs_nothing),
        cmocka_unit_test(edits_leave_worlds_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
