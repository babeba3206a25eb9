// Saving: a payload that is counted, then sent in chunks through zstd and the checksum to where it is kept. That is a file beside the
// old one, which it replaces when it is whole, memory of the game's, or a function of the game's.
//
// The header tells size and checksum of what follows. A file and memory have room left for it in front; what goes to a function comes in
// order, so it is packed twice: once to know the header, once to be sent.
#include "base/hash.h"
#include "world/coord_table.h"
#include "world/solver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/path.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum { CHUNK_BYTES = 1 << 18, ZSTD_LEVEL = 3 };

// ---- Writing ---------------------------------------------------------------------------------------------------------------

// Without a chunk it only counts the payload, which tells its size before it is packed.
struct snapshot_writer {
    memory *mem;
    size_t scratch_used, scratch_peak;  // bytes, now and at most
    char *reserve;                      // that much, if it was made beforehand so that writing cannot fail
    weir_write *write;                  // takes what is stored; NULL: that is only counted and hashed
    void *user;
    uint8_t *block;  // takes the payload as it is
    uint8_t *chunk;  // CHUNK_BYTES of payload on their way
    size_t used;
    uint64_t size;    // bytes of payload
    uint64_t stored;  // bytes behind the header
    uint64_t sent;    // bytes that `write` has taken, the header among them
    XXH3_state_t hash;
    weir_status failure;  // WEIR_ERROR_MEMORY: zstd had none; WEIR_ERROR_FILE: `write` failed
#ifdef WEIR_HAVE_ZSTD
    ZSTD_CCtx *zstd;
    uint8_t *packed;
    size_t packed_room;
#endif
};

static void send_bytes(snapshot_writer *w, const uint8_t *bytes, size_t size)
{
    while (size > 0 && w->failure == WEIR_OK) {
        int64_t taken = w->write(w->user, bytes, (int64_t)size);
        if (taken <= 0 || (uint64_t)taken > size) {
            w->failure = WEIR_ERROR_FILE;
            return;
        }
        bytes += taken;
        size -= (size_t)taken;
        w->sent += (uint64_t)taken;
    }
}

static void write_stored(snapshot_writer *w, const void *bytes, size_t size)
{
    if (w->failure != WEIR_OK || size == 0) return;
    if (w->write) send_bytes(w, bytes, size);
    XXH3_64bits_update(&w->hash, bytes, size);
    w->stored += size;
}

static bool is_packed(const snapshot_writer *w)
{
#ifdef WEIR_HAVE_ZSTD
    return w->zstd != NULL;
#else
    (void)w;
    return false;
#endif
}

static void flush_chunk(snapshot_writer *w, bool last)
{
#ifdef WEIR_HAVE_ZSTD
    ZSTD_inBuffer in = {w->chunk, w->used, 0};
    size_t left = 1;
    while (w->zstd && w->failure == WEIR_OK && (in.pos < in.size || (last && left > 0))) {
        ZSTD_outBuffer out = {w->packed, w->packed_room, 0};
        left = ZSTD_compressStream2(w->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            w->failure = WEIR_ERROR_MEMORY;
        else
            write_stored(w, w->packed, out.pos);
    }
#endif
    (void)last;
    if (!is_packed(w)) write_stored(w, w->chunk, w->used);
    w->used = 0;
}

void snapshot_put_bytes(snapshot_writer *w, const void *bytes, size_t size)
{
    if (w->block) memcpy(w->block + w->size, bytes, size);
    w->size += size;
    if (!w->chunk) return;
    const uint8_t *from = bytes;
    while (size > 0) {
        size_t part = CHUNK_BYTES - w->used < size ? CHUNK_BYTES - w->used : size;
        memcpy(w->chunk + w->used, from, part);
        w->used += part;
        from += part;
        size -= part;
        if (w->used == CHUNK_BYTES) flush_chunk(w, false);
    }
}

static void store_number(uint8_t *to, uint64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

void snapshot_put_number(snapshot_writer *w, uint64_t value, int32_t bytes)
{
    uint8_t raw[8];
    assert(bytes > 0 && bytes <= 8);
    store_number(raw, value, 8);
    snapshot_put_bytes(w, raw, (size_t)bytes);
}

static void put_u32(snapshot_writer *w, uint32_t value)
{
    snapshot_put_number(w, value, 4);
}
static void put_i32(snapshot_writer *w, int32_t value)
{
    snapshot_put_number(w, (uint32_t)value, 4);
}
static void put_i64(snapshot_writer *w, int64_t value)
{
    snapshot_put_number(w, (uint64_t)value, 8);
}

static void put_float(snapshot_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(w, bits);
}

void snapshot_put_coord(snapshot_writer *w, weir_coord c)
{
    put_i32(w, c.x);
    put_i32(w, c.y);
    put_i32(w, c.z);
}

void snapshot_put_name(snapshot_writer *w, const char *name)
{
    snapshot_put_number(w, strlen(name), 1);
    snapshot_put_bytes(w, name, strlen(name));
}

void snapshot_put_box(snapshot_writer *w, weir_box box)
{
    snapshot_put_coord(w, box.min);
    snapshot_put_coord(w, box.max);
}

static void put_vec(snapshot_writer *w, weir_vec v)
{
    put_float(w, v.x);
    put_float(w, v.y);
    put_float(w, v.z);
}

void snapshot_put_values(snapshot_writer *w, const void *values, int32_t count, int32_t bytes)
{
    enum { PART = 512 };
    uint8_t raw[4 * PART];
    for (int32_t at = 0; at < count; at += PART) {
        const int32_t here = count - at < PART ? count - at : PART;
        const uint8_t *from = (const uint8_t *)values + (size_t)at * (size_t)bytes;
        for (int32_t i = 0; i < here; i++) {
            uint16_t two;
            uint32_t four;
            if (bytes == 4) {
                memcpy(&four, from + 4 * i, sizeof four);
                store_number(raw + 4 * i, four, 4);
            } else if (bytes == 2) {
                memcpy(&two, from + 2 * i, sizeof two);
                store_number(raw + 2 * i, two, 2);
            } else {
                raw[i] = from[i];
            }
        }
        snapshot_put_bytes(w, raw, (size_t)here * (size_t)bytes);
    }
}

void *snapshot_scratch(snapshot_writer *w, size_t bytes)
{
    const size_t begin = w->scratch_used, size = (bytes + 15) / 16 * 16;
    w->scratch_used += size;
    if (w->scratch_used > w->scratch_peak) w->scratch_peak = w->scratch_used;
    if (w->reserve) return w->reserve + begin;
    void *block = memory_alloc(w->mem, bytes);
    if (!block && bytes > 0) w->failure = WEIR_ERROR_MEMORY;
    return block;
}

void snapshot_scratch_free(snapshot_writer *w, void *block, size_t bytes)
{
    w->scratch_used -= (bytes + 15) / 16 * 16;
    if (!w->reserve) memory_free(w->mem, block, bytes);
}

// ---- What is written -------------------------------------------------------------------------------------------------------

static void put_params(snapshot_writer *w, const weir_world *world)
{
    const param_def *p;
    int32_t count = 0;
    for (int32_t i = 0; params_field(world->solver, i); i++) count += params_counts(world->solver, i, &world->params);
    put_i32(w, count);
    for (int32_t i = 0; (p = params_field(world->solver, i)); i++) {
        if (!params_counts(world->solver, i, &world->params)) continue;
        snapshot_put_name(w, p->name);
        put_u32(w, param_bits(p, &world->params));
    }
}

static void put_source(snapshot_writer *w, const world_source *source)
{
    put_u32(w, (uint32_t)source->kind);
    put_i32(w, source->id);
    snapshot_put_box(w, source->box);
    put_u32(w, (uint32_t)source->material);
    put_i64(w, source->kind >= SOURCE_RESERVOIR ? source->level : source->rate);
    put_i64(w, source->owed);
    put_vec(w, source->force);
}

static void put_terrain_brick(snapshot_writer *w, const terrain_brick *brick)
{
    snapshot_put_coord(w, brick->coord);
    snapshot_put_number(w, brick->shares != NULL, 1);
    if (brick->shares)
        snapshot_put_bytes(w, brick->shares, BRICK_CELLS);
    else
        snapshot_put_number(w, brick->share, 1);
}

static int compare_terrain(const void *a, const void *b)
{
    const terrain_brick *p = *(const terrain_brick *const *)a, *q = *(const terrain_brick *const *)b;
    return coord_compare(p->coord, q->coord);
}

// Terrain is in the order of a hash table, and written in that of coordinates.
void snapshot_put_terrain(snapshot_writer *w, const terrain *t, const weir_box *bricks)
{
    const size_t size = (size_t)t->brick_count * sizeof(const terrain_brick *);
    const terrain_brick **sorted = snapshot_scratch(w, size);
    int32_t count = 0;
    for (int32_t i = 0; i < t->slot_count && sorted; i++)
        if (t->slot[i].used && (!bricks || region_holds(*bricks, t->slot[i].coord))) sorted[count++] = &t->slot[i];
    snapshot_put_number(w, t->source != NULL, 1);
    put_i32(w, count);
    if (count > 0) qsort(sorted, (size_t)count, sizeof *sorted, compare_terrain);
    for (int32_t i = 0; i < count; i++) put_terrain_brick(w, sorted[i]);
    snapshot_scratch_free(w, sorted, size);
}

void snapshot_put_names(snapshot_writer *w, const weir_world *world)
{
    put_i32(w, world->material_count - WEIR_MATERIALS_BUILT_IN);
    for (int32_t i = WEIR_MATERIALS_BUILT_IN; i < world->material_count; i++) snapshot_put_name(w, world->materials[i].name);
}

static void put_warmth(snapshot_writer *w, const weir_material_def *def)
{
    put_i32(w, (int32_t)def->kind);
    put_float(w, def->heat_capacity);
    put_float(w, def->conductivity);
    put_float(w, def->temperature);
    put_i32(w, def->freezes_to);
    put_float(w, def->melting_point);
    put_float(w, def->melting_heat);
    put_i32(w, def->boils_to);
    put_float(w, def->boiling_point);
    put_float(w, def->boiling_heat);
}

// Those that a game added, and the account of each, water first.
static void put_materials(snapshot_writer *w, const weir_world *world)
{
    put_i32(w, world->material_count - WEIR_MATERIALS_BUILT_IN);
    for (int32_t i = WEIR_MATERIALS_BUILT_IN; i < world->material_count; i++) {
        const world_material *material = &world->materials[i];
        snapshot_put_name(w, material->name);
        put_float(w, material->def.density);
        put_float(w, material->def.viscosity);
        for (int32_t k = 0; k < 3; k++) put_float(w, material->def.colour[k]);
        put_warmth(w, &material->def);
    }
    for (int32_t i = WEIR_WATER; i < world->material_count; i++) {
        put_i64(w, world->ledger[i].added);
        put_i64(w, world->ledger[i].removed);
        put_i64(w, world->ledger[i].drained);
        put_i64(w, world->ledger[i].turned);
        put_i64(w, world->ledger[i].unloaded);
    }
}

// -1 for the built-in table.
static void put_reactions(snapshot_writer *w, const weir_world *world)
{
    const world_reactions *table = &world->reactions;
    const bool usual = reactions_are_built_in(table);
    put_i32(w, usual ? -1 : table->count);
    for (int32_t i = 0; i < table->count && !usual; i++) {
        const weir_reaction_def *def = &table->items[i];
        put_i32(w, def->first);
        put_i32(w, def->second);
        put_i32(w, def->first_to);
        put_i32(w, def->second_to);
        put_float(w, def->rate);
        put_float(w, def->heat);
    }
}

static void put_world(snapshot_writer *w, const weir_world *world)
{
    snapshot_put_name(w, world->solver->name);
    snapshot_put_box(w, weir_world_bounds(world));
    put_u32(w, world->terrain.bounded ? world->terrain.open_sides : 0);
    put_params(w, world);
    put_i64(w, world->update);
    put_i64(w, world->change);
    put_materials(w, world);
    put_reactions(w, world);
    put_i32(w, solver_carried(world));

    // While a step runs the game may add emitters; they are not part of the state that it works on.
    put_i32(w, world->busy ? world->frozen.next_source_id : world->next_source_id);
    put_i32(w, world->source_count);
    for (int32_t i = 0; i < world->source_count; i++) put_source(w, &world->sources[i]);
    snapshot_put_terrain(w, &world->terrain, NULL);
    put_i32(w, world->terrain.absent.count);
    for (int32_t i = 0; i < world->terrain.absent.count; i++) snapshot_put_box(w, world->terrain.absent.boxes[i]);
    put_i32(w, world->forming_count);
    for (int32_t i = 0; i < world->forming_count; i++) {
        snapshot_put_coord(w, world->forming[i].brick);
        snapshot_put_bytes(w, world->forming[i].shares, BRICK_CELLS);
    }
    world->solver->save(world->state, w);
}

static void put_snapshot(snapshot_writer *w, const weir_world *world, const void *what)
{
    (void)what;
    put_world(w, world);
}

// What is saved, and what saving it takes, wherever it goes.
typedef struct saving {
    const weir_world *world;
    const char *magic;
    snapshot_put *put;
    const void *what;
    memory mem;  // a copy, since saving leaves the world as it is: all that is taken here is given back, and so is the count
    snapshot_writer w;
    uint64_t size;  // of the payload
} saving;

static void put_header(uint8_t header[SNAPSHOT_HEADER_BYTES], const saving *to)
{
    const snapshot_writer *w = &to->w;
    uint32_t flags = is_packed(w) ? SNAPSHOT_FLAG_ZSTD : 0;
    memcpy(header, to->magic, SNAPSHOT_MAGIC_BYTES);
    store_number(header + 8, SNAPSHOT_VERSION, 4);
    store_number(header + 12, flags, 4);
    store_number(header + 16, w->size, 8);
    store_number(header + 24, w->stored, 8);
    store_number(header + 32, XXH3_64bits_digest(&w->hash), 8);
}

// Sends the payload through zstd and the checksum, from the beginning.
static void pack_world(saving *to)
{
    snapshot_writer *w = &to->w;
    w->used = 0;
    w->size = w->stored = 0;
    XXH3_64bits_reset(&w->hash);
#ifdef WEIR_HAVE_ZSTD
    // With the size known beforehand a reader can compare it with what the header says.
    bool ready = !w->zstd || (!ZSTD_isError(ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only)) &&
                              !ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
                              !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(w->zstd, to->size)));
    if (!ready) w->failure = WEIR_ERROR_MEMORY;
#endif
    to->put(w, to->world, to->what);
    flush_chunk(w, true);
    assert(w->size == to->size || w->failure != WEIR_OK);
}

static bool open_writer(memory *mem, snapshot_writer *w)
{
    w->chunk = memory_alloc(mem, CHUNK_BYTES);
#ifdef WEIR_HAVE_ZSTD
    // For builds without zstd, on other machines.
    const char *plain = getenv("WEIR_PLAIN_SNAPSHOTS");
    if (plain && strcmp(plain, "1") == 0) return w->chunk != NULL;
    w->packed_room = ZSTD_CStreamOutSize();
    w->packed = memory_alloc(mem, w->packed_room);
    w->zstd = ZSTD_createCCtx();
    if (!w->packed || !w->zstd) return false;
#endif
    return w->chunk != NULL;
}

static void close_writer(memory *mem, snapshot_writer *w)
{
    memory_free(mem, w->chunk, CHUNK_BYTES);
#ifdef WEIR_HAVE_ZSTD
    memory_free(mem, w->packed, w->packed_room);
    ZSTD_freeCCtx(w->zstd);
#endif
}

weir_status snapshot_keep(weir_world *world, uint8_t **block, size_t *room, size_t *size)
{
    // All that can fail comes first: the block may hold an older checkpoint.
    snapshot_writer counter = {.mem = &world->mem};
    put_world(&counter, world);
    char *reserve = memory_alloc(&world->mem, counter.scratch_peak);
    bool done = counter.failure == WEIR_OK && (reserve || counter.scratch_peak == 0);
    if (done && *room < counter.size) {
        size_t larger = (size_t)counter.size + (size_t)counter.size / 8;
        uint8_t *grown = memory_alloc(&world->mem, larger);
        done = grown != NULL;
        if (done) {
            memory_free(&world->mem, *block, *room);
            *block = grown;
            *room = larger;
        }
    }
    if (done) {
        snapshot_writer w = {.mem = &world->mem, .reserve = reserve, .block = *block};
        put_world(&w, world);
        assert(w.failure == WEIR_OK && w.size == counter.size && w.scratch_peak == counter.scratch_peak);
        *size = (size_t)w.size;
    }
    memory_free(&world->mem, reserve, counter.scratch_peak);
    return done ? WEIR_OK
                : status_fail(WEIR_ERROR_MEMORY, "no memory for a checkpoint of update %lld", (long long)world->update);
}

// ---- Where it is kept --------------------------------------------------------------------------------------------------------

static void end_saving(saving *to)
{
    close_writer(&to->mem, &to->w);
}

static weir_status no_memory(const char *name)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out while saving %s", weir_path_tail(name));
}

// Makes room and counts the payload. On WEIR_OK call end_saving.
static weir_status begin_payload(const char *name, saving *to)
{
    to->mem = to->world->mem;
    snapshot_writer counter = {.mem = &to->mem};
    to->w.mem = &to->mem;
    const bool ready = open_writer(&to->mem, &to->w);
    if (ready) to->put(&counter, to->world, to->what);
    to->size = counter.size;
    if (ready && counter.failure == WEIR_OK) return WEIR_OK;
    end_saving(to);
    return no_memory(name);
}

// Looks whether the world can be saved and fetches all of it.
static weir_status begin_saving(const weir_world *world, const char *name, saving *to)
{
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a world cannot be saved while a background step runs");
    world_fetch_all(world);
    solver_catch_up(world);
    world_check_query(world);
    if (world->values_lost) return world_lost(world);
    *to = (saving){.world = world, .magic = SNAPSHOT_MAGIC, .put = put_snapshot};
    return begin_payload(name, to);
}

typedef struct file_sink {
    FILE *file;
    int failure;  // errno of the first failure, 0 if none
} file_sink;

static int64_t write_to_file(void *user, const void *bytes, int64_t size)
{
    file_sink *sink = user;
    errno = 0;
    if (fwrite(bytes, 1, (size_t)size, sink->file) == (size_t)size) return size;
    sink->failure = errno ? errno : EIO;
    return -1;
}

// The header comes last, when size and checksum are known, into the place that was left for it.
static void write_file(saving *to, file_sink *sink)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES] = {0};
    snapshot_writer *w = &to->w;
    send_bytes(w, header, sizeof header);
    pack_world(to);
    put_header(header, to);
    if (w->failure != WEIR_OK) return;
    errno = 0;
    bool written = fseek(sink->file, 0, SEEK_SET) == 0 && fwrite(header, 1, sizeof header, sink->file) == sizeof header &&
                   fflush(sink->file) == 0 && fsync(fileno(sink->file)) == 0;
    if (!written) sink->failure = errno ? errno : EIO;
}

static weir_status save_to_temporary(saving *to, const char *path, const char *temporary)
{
    errno = 0;
    file_sink sink = {.file = fopen(temporary, "wb")};
    if (!sink.file) return status_fail(WEIR_ERROR_FILE, "cannot write %s: %s", weir_path_tail(path), strerror(errno));
    to->w.write = write_to_file;
    to->w.user = &sink;
    write_file(to, &sink);
    if (fclose(sink.file) != 0 && !sink.failure) sink.failure = errno;
    bool whole = !sink.failure && to->w.failure == WEIR_OK;
    if (whole && rename(temporary, path) != 0) sink.failure = errno;
    if (whole && !sink.failure) return WEIR_OK;
    unlink(temporary);
    if (!sink.failure) return no_memory(path);
    return status_fail(sink.failure == ENOMEM ? WEIR_ERROR_MEMORY : WEIR_ERROR_FILE, "cannot write %s: %s",
                       weir_path_tail(path), strerror(sink.failure));
}

weir_status weir_world_save(const weir_world *world, const char *path)
{
    assert(path);
    saving to;
    weir_status status = begin_saving(world, path, &to);
    if (status != WEIR_OK) return status;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        end_saving(&to);
        return status_fail(WEIR_ERROR_FILE, "cannot write %s: it is not a plain file", weir_path_tail(path));
    }
    // Through a link to the file itself, so that the rename does not put a file in the link's place.
    char *target = realpath(path, NULL);
    if (target) path = target;
    size_t temporary_size = strlen(path) + 32;
    char *temporary = memory_alloc(&to.mem, temporary_size);
    if (temporary) {
        snprintf(temporary, temporary_size, "%s.tmp-%ld", path, (long)getpid());
        status = save_to_temporary(&to, path, temporary);
    } else {
        status = no_memory(path);
    }
    memory_free(&to.mem, temporary, temporary_size);
    free(target);
    end_saving(&to);
    return status;
}

weir_status weir_world_save_to(const weir_world *world, weir_write *write, void *user)
{
    assert(write);
    saving to;
    weir_status status = begin_saving(world, "a snapshot", &to);
    if (status != WEIR_OK) return status;
    snapshot_writer *w = &to.w;
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    pack_world(&to);
    put_header(header, &to);

    w->write = write;
    w->user = user;
    send_bytes(w, header, sizeof header);
    uint8_t after[SNAPSHOT_HEADER_BYTES];
    if (w->failure == WEIR_OK) pack_world(&to);
    put_header(after, &to);
    const bool same = memcmp(header, after, sizeof header) == 0;
    const uint64_t sent = w->sent;
    status = w->failure;
    end_saving(&to);
    if (status == WEIR_ERROR_MEMORY) return no_memory("a snapshot");
    if (status == WEIR_OK && !same)
        return status_fail(WEIR_ERROR_BUSY, "the world was changed while its snapshot was written, which cannot be read then");
    if (status == WEIR_OK) return WEIR_OK;
    return status_fail(status, "the game's function for writing a snapshot failed after %llu bytes", (unsigned long long)sent);
}

typedef struct memory_sink {
    uint8_t *bytes;
    size_t room, used;  // used may be more than there is room
} memory_sink;

static int64_t write_to_memory(void *user, const void *bytes, int64_t size)
{
    memory_sink *sink = user;
    size_t left = sink->used < sink->room ? sink->room - sink->used : 0, fits = left < (size_t)size ? left : (size_t)size;
    if (fits > 0) memcpy(sink->bytes + sink->used, bytes, fits);
    sink->used += (size_t)size;
    return size;
}

// Into memory, and then end_saving.
static weir_status save_to_memory(saving *to, const char *name, void *bytes, size_t room, size_t *size)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES] = {0};
    memory_sink sink = {bytes, room, 0};
    to->w.write = write_to_memory;
    to->w.user = &sink;
    send_bytes(&to->w, header, sizeof header);
    pack_world(to);
    put_header(header, to);
    const weir_status status = to->w.failure;
    end_saving(to);
    if (status != WEIR_OK) return no_memory(name);
    *size = sink.used;
    if (!bytes) return WEIR_OK;
    if (sink.used > room)
        return status_fail(WEIR_ERROR_LIMIT, "%s has %zu bytes, and there is room for %zu", name, sink.used, room);
    memcpy(bytes, header, sizeof header);
    return WEIR_OK;
}

weir_status weir_world_save_memory(const weir_world *world, void *bytes, size_t room, size_t *size)
{
    assert(size && (bytes || room == 0));
    *size = 0;
    saving to;
    const weir_status status = begin_saving(world, "the snapshot", &to);
    return status == WEIR_OK ? save_to_memory(&to, "the snapshot", bytes, room, size) : status;
}

weir_status snapshot_write(const weir_world *world, const char *name, const char *magic, snapshot_put *put, const void *what,
                           void *bytes, size_t room, size_t *size)
{
    saving to = {.world = world, .magic = magic, .put = put, .what = what};
    *size = 0;
    const weir_status status = begin_payload(name, &to);
    return status == WEIR_OK ? save_to_memory(&to, name, bytes, room, size) : status;
}
