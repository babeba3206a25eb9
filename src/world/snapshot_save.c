// Saving: a payload that is counted, then sent in chunks through zstd and the checksum to where it is kept. That is a file beside the
// old one, which it replaces when it is whole, memory of the game's, or a function of the game's.
//
// The header tells size and checksum of what follows. A file and memory have room left for it in front; what goes to a function comes in
// order, so it is packed twice: once to know the header, once to be sent.
#include "base/hash.h"
#include "world/snapshot.h"
#include "world/solver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum { CHUNK_BYTES = 1 << 18, ZSTD_LEVEL = 3 };

// ---- Writing ---------------------------------------------------------------------------------------------------------------

// Without a chunk it only counts the payload, which tells its size before it is packed.
typedef struct writer {
    weir_write *write;  // takes what is stored; NULL: that is only counted and hashed
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
} writer;

static void send_bytes(writer *w, const uint8_t *bytes, size_t size)
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

static void write_stored(writer *w, const void *bytes, size_t size)
{
    if (w->failure != WEIR_OK || size == 0) return;
    if (w->write) send_bytes(w, bytes, size);
    XXH3_64bits_update(&w->hash, bytes, size);
    w->stored += size;
}

static bool is_packed(const writer *w)
{
#ifdef WEIR_HAVE_ZSTD
    return w->zstd != NULL;
#else
    (void)w;
    return false;
#endif
}

static void flush_chunk(writer *w, bool last)
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

static void put_bytes(writer *w, const void *bytes, size_t size)
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

static void put_number(writer *w, uint64_t value, int32_t bytes)
{
    uint8_t raw[8];
    store_number(raw, value, bytes);
    put_bytes(w, raw, (size_t)bytes);
}

static void put_u32(writer *w, uint32_t value)
{
    put_number(w, value, 4);
}
static void put_i32(writer *w, int32_t value)
{
    put_number(w, (uint32_t)value, 4);
}
static void put_i64(writer *w, int64_t value)
{
    put_number(w, (uint64_t)value, 8);
}

static void put_float(writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(w, bits);
}

static void put_coord(writer *w, weir_coord c)
{
    put_i32(w, c.x);
    put_i32(w, c.y);
    put_i32(w, c.z);
}

static void put_box(writer *w, weir_box box)
{
    put_coord(w, box.min);
    put_coord(w, box.max);
}

static void put_vec(writer *w, weir_vec v)
{
    put_float(w, v.x);
    put_float(w, v.y);
    put_float(w, v.z);
}

// The 512 values of a brick's channel.
static void put_values(writer *w, const void *values)
{
    uint8_t raw[BRICK_CELLS * 4];
    const uint8_t *from = values;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        uint32_t bits;
        memcpy(&bits, from + 4 * i, sizeof bits);
        store_number(raw + 4 * i, bits, 4);
    }
    put_bytes(w, raw, sizeof raw);
}

// ---- What is written -------------------------------------------------------------------------------------------------------

static void put_name(writer *w, const char *name)
{
    put_number(w, strlen(name), 1);
    put_bytes(w, name, strlen(name));
}

static void put_params(writer *w, const weir_world *world)
{
    int32_t count = 0;
    while (params_field(world->solver, count)) count++;
    put_i32(w, count);
    for (int32_t i = 0; i < count; i++) {
        const param_def *p = params_field(world->solver, i);
        put_name(w, p->name);
        put_u32(w, param_bits(p, &world->params));
    }
}

static void put_source(writer *w, const world_source *source)
{
    put_u32(w, (uint32_t)source->kind);
    put_i32(w, source->id);
    put_box(w, source->box);
    put_u32(w, (uint32_t)source->material);
    put_i64(w, source->rate);
    put_i64(w, source->owed);
    put_vec(w, source->force);
}

static void put_terrain_brick(writer *w, const terrain_brick *brick)
{
    put_coord(w, brick->coord);
    put_number(w, brick->shares != NULL, 1);
    if (brick->shares)
        put_bytes(w, brick->shares, BRICK_CELLS);
    else
        put_number(w, brick->share, 1);
}

// All channels of the state: the fixed ones, then those of rules. Returns how many there are.
static int32_t list_channels(const weir_world *world, int32_t channels[CHANNEL_MAX])
{
    int32_t count = SNAPSHOT_STATE_CHANNELS;
    memcpy(channels, SNAPSHOT_STATE, sizeof SNAPSHOT_STATE);
    for (int32_t r = 0; r < world->rule_count; r++) {
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++) channels[count++] = world->rules[r].values[i];
    }
    return count;
}

static bool brick_empty(const brick_pool *pool, int32_t brick, const int32_t *channels, int32_t count)
{
    static const uint8_t zeros[BRICK_CELLS * 4];
    for (int32_t i = 0; i < count; i++) {
        if (memcmp(bricks_ints(pool, channels[i], brick), zeros, sizeof zeros) != 0) return false;
    }
    return true;
}

static int compare_terrain(const void *a, const void *b)
{
    const terrain_brick *p = *(const terrain_brick *const *)a, *q = *(const terrain_brick *const *)b;
    return snapshot_before(p->coord, q->coord) ? -1 : snapshot_before(q->coord, p->coord);
}

// What is in the order of a hash table or of birth, put into the order of coordinates.
typedef struct sorted {
    int32_t *bricks;
    int32_t brick_count;
    const terrain_brick **terrain;
    int32_t terrain_count;
} sorted;

static void free_sorted(memory *mem, sorted *s)
{
    memory_free(mem, s->bricks, (size_t)s->brick_count * sizeof *s->bricks);
    memory_free(mem, s->terrain, (size_t)s->terrain_count * sizeof *s->terrain);
}

static bool sort_world(const weir_world *world, memory *mem, sorted *s)
{
    const terrain *t = &world->terrain;
    *s = (sorted){.brick_count = world->bricks.live, .terrain_count = t->source ? 0 : t->brick_count};
    s->bricks = memory_alloc(mem, (size_t)s->brick_count * sizeof *s->bricks);
    s->terrain = memory_alloc(mem, (size_t)s->terrain_count * sizeof *s->terrain);
    if ((s->brick_count && !s->bricks) || (s->terrain_count && !s->terrain)) return false;
    if (s->brick_count) bricks_sorted(&world->bricks, s->bricks);
    if (s->terrain_count) {
        int32_t count = 0;
        for (int32_t i = 0; i < t->slot_count; i++) {
            if (t->slot[i].used) s->terrain[count++] = &t->slot[i];
        }
        qsort(s->terrain, (size_t)count, sizeof *s->terrain, compare_terrain);
    }
    return true;
}

static void put_world(writer *w, const weir_world *world, const sorted *s)
{
    put_u32(w, (uint32_t)world->solver->id);
    put_box(w, weir_world_bounds(world));
    put_u32(w, world->terrain.bounded ? world->terrain.open_sides : 0);
    put_params(w, world);
    put_i64(w, world->update);
    put_i64(w, world->change);
    put_i64(w, world->added);
    put_i64(w, world->removed);
    put_i64(w, world->drained);
    put_i64(w, world->turned);
    put_i32(w, solver_carried(world));

    // While a step runs the game may add emitters; they are not part of the state that it works on.
    put_i32(w, world->busy ? world->frozen.next_source_id : world->next_source_id);
    put_i32(w, world->source_count);
    for (int32_t i = 0; i < world->source_count; i++) put_source(w, &world->sources[i]);

    int32_t channels[CHANNEL_MAX];
    int32_t channel_count = list_channels(world, channels);
    put_i32(w, channel_count - SNAPSHOT_STATE_CHANNELS);
    for (int32_t r = 0; r < world->rule_count; r++) {
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++) put_name(w, world->rules[r].channel_names[i]);
    }

    put_number(w, world->terrain.source != NULL, 1);
    put_i32(w, s->terrain_count);
    for (int32_t i = 0; i < s->terrain_count; i++) put_terrain_brick(w, s->terrain[i]);

    // A brick that holds nothing need not be there: the next update makes those it wants.
    const brick_pool *pool = &world->bricks;
    int32_t count = 0;
    for (int32_t i = 0; i < s->brick_count; i++) count += !brick_empty(pool, s->bricks[i], channels, channel_count);
    put_i32(w, count);
    for (int32_t i = 0; i < s->brick_count; i++) {
        int32_t brick = s->bricks[i];
        if (brick_empty(pool, brick, channels, channel_count)) continue;
        put_coord(w, pool->coord[brick]);
        for (int32_t c = 0; c < channel_count; c++) put_values(w, bricks_ints(pool, channels[c], brick));
    }
}

static void put_header(uint8_t header[SNAPSHOT_HEADER_BYTES], const writer *w)
{
    uint32_t flags = is_packed(w) ? SNAPSHOT_FLAG_ZSTD : 0;
    memcpy(header, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_BYTES);
    store_number(header + 8, SNAPSHOT_VERSION, 4);
    store_number(header + 12, flags, 4);
    store_number(header + 16, w->size, 8);
    store_number(header + 24, w->stored, 8);
    store_number(header + 32, XXH3_64bits_digest(&w->hash), 8);
}

// Sends the world through zstd and the checksum, from the beginning.
static void pack_world(writer *w, const weir_world *world, const sorted *s, uint64_t size)
{
    w->used = 0;
    w->size = w->stored = 0;
    XXH3_64bits_reset(&w->hash);
#ifdef WEIR_HAVE_ZSTD
    // With the size known beforehand a reader can compare it with what the header says.
    bool ready = !w->zstd || (!ZSTD_isError(ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only)) &&
                              !ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
                              !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(w->zstd, size)));
    if (!ready) w->failure = WEIR_ERROR_MEMORY;
#endif
    put_world(w, world, s);
    flush_chunk(w, true);
    assert(w->size == size);
    (void)size;
}

static bool open_writer(memory *mem, writer *w)
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

static void close_writer(memory *mem, writer *w)
{
    memory_free(mem, w->chunk, CHUNK_BYTES);
#ifdef WEIR_HAVE_ZSTD
    memory_free(mem, w->packed, w->packed_room);
    ZSTD_freeCCtx(w->zstd);
#endif
}

weir_status snapshot_keep(weir_world *world, uint8_t **block, size_t *room, size_t *size)
{
    sorted s = {0};
    writer counter = {0};
    bool done = sort_world(world, &world->mem, &s);
    if (done) put_world(&counter, world, &s);
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
        writer w = {.block = *block};
        put_world(&w, world, &s);
        *size = (size_t)w.size;
    }
    free_sorted(&world->mem, &s);
    return done ? WEIR_OK : status_fail(WEIR_ERROR_MEMORY, "no memory for a checkpoint of %d bricks", world->bricks.live);
}

// ---- Where it is kept --------------------------------------------------------------------------------------------------------

// What saving takes, wherever it goes.
typedef struct saving {
    memory mem;  // a copy, since saving leaves the world as it is: all that is taken here is given back, and so is the count
    writer w;
    sorted s;
    uint64_t size;  // of the payload
} saving;

static void end_saving(saving *to)
{
    free_sorted(&to->mem, &to->s);
    close_writer(&to->mem, &to->w);
}

static weir_status no_memory(const char *name)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out while saving %s", snapshot_tail(name));
}

// Looks whether the world can be saved and brings all of it here. On WEIR_OK call end_saving.
static weir_status begin_saving(const weir_world *world, const char *name, saving *to)
{
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a world cannot be saved while a background step runs");
    bricks_bring_all(&world->bricks);
    bricks_catch_up(&world->bricks);
    world_check_query(world);
    if (world->gone) return world_lost(world);
    *to = (saving){.mem = world->mem};
    if (!open_writer(&to->mem, &to->w) || !sort_world(world, &to->mem, &to->s)) {
        end_saving(to);
        return no_memory(name);
    }
    writer counter = {0};
    put_world(&counter, world, &to->s);
    to->size = counter.size;
    return WEIR_OK;
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
static void write_file(saving *to, const weir_world *world, file_sink *sink)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES] = {0};
    writer *w = &to->w;
    send_bytes(w, header, sizeof header);
    pack_world(w, world, &to->s, to->size);
    put_header(header, w);
    if (w->failure != WEIR_OK) return;
    errno = 0;
    bool written = fseek(sink->file, 0, SEEK_SET) == 0 && fwrite(header, 1, sizeof header, sink->file) == sizeof header &&
                   fflush(sink->file) == 0 && fsync(fileno(sink->file)) == 0;
    if (!written) sink->failure = errno ? errno : EIO;
}

static weir_status save_beside(saving *to, const weir_world *world, const char *path, const char *beside)
{
    errno = 0;
    file_sink sink = {.file = fopen(beside, "wb")};
    if (!sink.file) return status_fail(WEIR_ERROR_FILE, "cannot write %s: %s", snapshot_tail(path), strerror(errno));
    to->w.write = write_to_file;
    to->w.user = &sink;
    write_file(to, world, &sink);
    if (fclose(sink.file) != 0 && !sink.failure) sink.failure = errno;
    bool whole = !sink.failure && to->w.failure == WEIR_OK;
    if (whole && rename(beside, path) != 0) sink.failure = errno;
    if (whole && !sink.failure) return WEIR_OK;
    unlink(beside);
    if (!sink.failure) return no_memory(path);
    return status_fail(sink.failure == ENOMEM ? WEIR_ERROR_MEMORY : WEIR_ERROR_FILE, "cannot write %s: %s", snapshot_tail(path),
                       strerror(sink.failure));
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
        return status_fail(WEIR_ERROR_FILE, "cannot write %s: it is not a plain file", snapshot_tail(path));
    }
    // Through a link to the file itself, so that the rename does not put a file in the link's place.
    char *target = realpath(path, NULL);
    if (target) path = target;
    size_t beside_size = strlen(path) + 32;
    char *beside = memory_alloc(&to.mem, beside_size);
    if (beside) {
        snprintf(beside, beside_size, "%s.tmp-%ld", path, (long)getpid());
        status = save_beside(&to, world, path, beside);
    } else {
        status = no_memory(path);
    }
    memory_free(&to.mem, beside, beside_size);
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
    writer *w = &to.w;
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    pack_world(w, world, &to.s, to.size);
    put_header(header, w);

    w->write = write;
    w->user = user;
    send_bytes(w, header, sizeof header);
    uint8_t after[SNAPSHOT_HEADER_BYTES];
    if (w->failure == WEIR_OK) pack_world(w, world, &to.s, to.size);
    put_header(after, w);
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

weir_status weir_world_save_memory(const weir_world *world, void *bytes, size_t room, size_t *size)
{
    assert(size && (bytes || room == 0));
    *size = 0;
    saving to;
    weir_status status = begin_saving(world, "a snapshot", &to);
    if (status != WEIR_OK) return status;
    uint8_t header[SNAPSHOT_HEADER_BYTES] = {0};
    memory_sink sink = {bytes, room, 0};
    to.w.write = write_to_memory;
    to.w.user = &sink;
    send_bytes(&to.w, header, sizeof header);
    pack_world(&to.w, world, &to.s, to.size);
    put_header(header, &to.w);
    status = to.w.failure;
    end_saving(&to);
    if (status != WEIR_OK) return no_memory("a snapshot");
    *size = sink.used;
    if (!bytes) return WEIR_OK;
    if (sink.used > room)
        return status_fail(WEIR_ERROR_LIMIT, "the snapshot has %zu bytes, and there is room for %zu", sink.used, room);
    memcpy(bytes, header, sizeof header);
    return WEIR_OK;
}
