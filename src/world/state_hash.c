// The state hash: one number over all that the next update depends on, and the numbers by which a game calls its emitters: the same edits
// and steps bring two worlds that have it in common to the same state. What tells of the past is not in it: the account of drops, and the
// marks of changes.
//
// Bricks are summed, so that their order does not matter; each is hashed with its coordinate. A brick whose values are all zero
// does not count, since it may be there or not without making a difference. Everything else is chained in a fixed order, field
// by field, so that no padding gets in.
#include "base/hash.h"
#include "world/solver.h"
#include <stdatomic.h>
#include <string.h>

enum { HASH_GRAIN = 64 };  // bricks per piece of work

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

typedef struct hash_job {
    const brick_pool *pool;
    int32_t channels[CHANNEL_MAX];
    int32_t channel_count;
    _Atomic uint64_t sum;
} hash_job;

static bool all_zero(const void *values)
{
    uint64_t words[8];
    for (size_t at = 0; at < BRICK_CELLS * 4; at += sizeof words) {
        memcpy(words, (const char *)values + at, sizeof words);
        uint64_t any = 0;
        for (int32_t i = 0; i < 8; i++) any |= words[i];
        if (any) return false;
    }
    return true;
}

static uint64_t hash_brick(const hash_job *job, int32_t brick)
{
    const brick_pool *pool = job->pool;
    bool empty = true;
    for (int32_t i = 0; i < job->channel_count && empty; i++) empty = all_zero(bricks_ints(pool, job->channels[i], brick));
    if (empty) return 0;

    uint64_t digests[CHANNEL_MAX];
    for (int32_t i = 0; i < job->channel_count; i++)
        digests[i] = hash_bytes(bricks_ints(pool, job->channels[i], brick), BRICK_CELLS * 4, 0);
    uint64_t hash = hash_bytes(&pool->coord[brick], sizeof pool->coord[brick], 0);
    hash = hash_bytes(&pool->open[brick], sizeof pool->open[brick], hash);
    return hash_bytes(digests, (size_t)job->channel_count * sizeof *digests, hash);
}

static void hash_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    hash_job *job = context;
    uint64_t sum = 0;
    for (int32_t b = begin; b < end; b++)
        if (job->pool->alive[b]) sum += hash_brick(job, b);
    atomic_fetch_add_explicit(&job->sum, sum, memory_order_relaxed);
}

static uint64_t hash_water(const weir_world *world)
{
    hash_job job = {.pool = world_bricks(world),
                    .channels = {CHANNEL_MASS, CHANNEL_FLOW_X, CHANNEL_FLOW_Y, CHANNEL_FLOW_Z, CHANNEL_PRESSURE},
                    .channel_count = 5};
    for (int32_t r = 0; r < world->rule_count; r++)
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++)
            job.channels[job.channel_count++] = world->rules[r].values[i];

    // While a background step runs the workers are its own.
    if (world->busy)
        hash_bricks(&job, 0, job.pool->end, 0);
    else
        workers_run(world->workers, hash_bricks, &job, job.pool->end, HASH_GRAIN);
    return atomic_load(&job.sum);
}

// ---- All else --------------------------------------------------------------------------------------------------------------

#define CHAIN(hash, field) hash_bytes(&(field), sizeof(field), hash)

static uint64_t chain_box(uint64_t hash, const weir_box *box)
{
    _Static_assert(sizeof *box == 6 * sizeof(int32_t), "a box has no padding");
    return hash_bytes(box, sizeof *box, hash);
}

static uint64_t chain_vec(uint64_t hash, const weir_vec *vec)
{
    _Static_assert(sizeof *vec == 3 * sizeof(float), "a vector has no padding");
    return hash_bytes(vec, sizeof *vec, hash);
}

// What all solvers share, and the world's own solver's: those of the others play no part in what comes next.
static uint64_t chain_params(uint64_t hash, const weir_world *world)
{
    const param_def *p;
    for (int32_t i = 0; (p = params_field(world->solver, i)); i++) {
        uint32_t bits = param_bits(p, &world->params);
        hash = CHAIN(hash, bits);
    }
    return hash;
}

static uint64_t chain_terrain(uint64_t hash, const terrain *t)
{
    const weir_box unbounded = {{0, 0, 0}, {0, 0, 0}};
    hash = chain_box(hash, t->bounded ? &t->bounds : &unbounded);
    uint32_t open_sides = t->bounded ? t->open_sides : 0;
    hash = CHAIN(hash, open_sides);
    uint64_t kept = terrain_hash(t);
    return CHAIN(hash, kept);
}

static uint64_t chain_source(uint64_t hash, const world_source *source)
{
    int32_t kind = (int32_t)source->kind, material = (int32_t)source->material;
    hash = CHAIN(hash, kind);
    hash = CHAIN(hash, source->id);
    hash = CHAIN(hash, material);
    hash = chain_box(hash, &source->box);
    hash = CHAIN(hash, source->rate);
    hash = CHAIN(hash, source->owed);
    return chain_vec(hash, &source->force);
}

// Rules count by name: what they do is the game's own.
static uint64_t chain_rule(uint64_t hash, const world_rule *rule)
{
    hash = hash_bytes(rule->name, strlen(rule->name), hash);
    for (int32_t i = 0; i < rule->def.channel_count; i++)
        hash = hash_bytes(rule->channel_names[i], strlen(rule->channel_names[i]), hash);
    return hash;
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

uint64_t world_hash(const weir_world *world)
{
    int64_t update = world->busy ? world->frozen.update : world->update;
    int32_t carried = world->busy ? world->frozen.carried : solver_carried(world);
    int32_t next_source_id = world->busy ? world->frozen.next_source_id : world->next_source_id;
    const world_source *sources = world->busy ? world->frozen.sources : world->sources;
    int32_t source_count = world->busy ? world->frozen.source_count : world->source_count;
    int32_t solver = (int32_t)world->solver->id;

    uint64_t hash = hash_water(world);
    hash = chain_terrain(hash, &world->terrain);
    hash = chain_params(hash, world);
    hash = CHAIN(hash, solver);
    hash = CHAIN(hash, update);
    hash = CHAIN(hash, carried);
    hash = CHAIN(hash, next_source_id);
    for (int32_t i = 0; i < source_count; i++) hash = chain_source(hash, &sources[i]);
    for (int32_t i = 0; i < world->rule_count; i++) hash = chain_rule(hash, &world->rules[i]);
    return hash;
}

uint64_t weir_world_hash(const weir_world *world)
{
    bricks_bring_all(world_bricks(world));
    bricks_catch_up(world_bricks(world));
    world_check_query(world);
    return world->gone ? 0 : world_hash(world);
}
