#include "scenes/hills.h"

#include <stdlib.h>
#include <string.h>

#define OCTAVES 5
#define SHORTEST_PERIOD 4
#define LAKE_COLUMNS 12  // a lake has at least; less is a puddle

// ---- Noise -----------------------------------------------------------------------------------------------------------------

// A value of 0 to 65535 for a point of the lattice of one octave.
static int64_t lattice(uint32_t seed, int32_t octave, int32_t x, int32_t z)
{
    uint64_t h = seed + 0x9e3779b97f4a7c15u * (uint64_t)(octave + 1);
    h = (h ^ (uint32_t)x) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 29) ^ (uint32_t)z) * 0x94d049bb133111ebu;
    return (int64_t)((h ^ (h >> 32)) & 0xffff);
}

// 3 t^2 - 2 t^3, with t = part / whole; in and out 65536 stands for 1.
static int64_t smooth(int32_t part, int32_t whole)
{
    int64_t t = (int64_t)part * 65536 / whole;
    return t * t / 65536 * (3 * 65536 - 2 * t) / 65536;
}

static int64_t blend(int64_t a, int64_t b, int64_t t)
{
    return a + (b - a) * t / 65536;
}

// Smooth noise of one period, 0 to 65535.
static int64_t noise(uint32_t seed, int32_t octave, int32_t period, int32_t x, int32_t z)
{
    int32_t i = x / period, k = z / period;
    int64_t tx = smooth(x % period, period), tz = smooth(z % period, period);
    int64_t near = blend(lattice(seed, octave, i, k), lattice(seed, octave, i + 1, k), tx);
    int64_t far = blend(lattice(seed, octave, i, k + 1), lattice(seed, octave, i + 1, k + 1), tx);
    return blend(near, far, tz);
}

// Octaves of half the period and half the height each. Their sum keeps to the middle, so its middle two thirds are spread over the whole range.
static int32_t height_of(const hills_def *def, uint32_t seed, int32_t x, int32_t z)
{
    int64_t sum = 0, most = 0;
    for (int32_t octave = 0; octave < OCTAVES; octave++) {
        int32_t period = def->period >> octave;
        if (period < SHORTEST_PERIOD) break;
        sum += noise(seed, octave, period, x, z) >> octave;
        most += 65535 >> octave;
    }
    int64_t spread = (6 * sum - most) / 4;
    if (spread < 0) spread = 0;
    if (spread > most) spread = most;
    return def->low + (int32_t)(def->relief * spread / most) + (int32_t)((int64_t)def->slope * x / def->length);
}

// ---- Lakes -----------------------------------------------------------------------------------------------------------------

// The columns beside one, through whose faces water would pass; returns how many.
static int32_t beside(const hills *h, int32_t column, int32_t found[4])
{
    int32_t x = column % h->length, z = column / h->length, count = 0;
    if (x > 0) found[count++] = column - 1;
    if (x < h->length - 1) found[count++] = column + 1;
    if (z > 0) found[count++] = column - h->length;
    if (z < h->width - 1) found[count++] = column + h->length;
    return count;
}

// Where the sea comes in; without one water runs to the lowest columns.
static bool is_shore(const hills *h, int32_t column)
{
    return h->sea > h->lowest ? column % h->length == 0 && h->ground[column] < h->sea : h->ground[column] == h->lowest;
}

// The level to which water rises in each column before it runs off, from the shore upwards: the next column to be reached is always the one
// that is reached at the lowest level. `first` has a list for each level, `next` goes on in it.
static void flood(const hills *h, int32_t *brim, int32_t *first, int32_t *next)
{
    int32_t columns = h->length * h->width, begin = h->sea > h->lowest ? h->sea : h->lowest;
    for (int32_t level = 0; level <= h->highest; level++) first[level] = -1;
    for (int32_t c = 0; c < columns; c++) {
        brim[c] = is_shore(h, c) ? begin : -1;
        if (brim[c] < 0) continue;
        next[c] = first[begin];
        first[begin] = c;
    }
    for (int32_t level = begin; level <= h->highest; level++) {
        while (first[level] >= 0) {
            int32_t column = first[level], found[4], count = beside(h, column, found);
            first[level] = next[column];
            for (int32_t i = 0; i < count; i++) {
                int32_t c = found[i];
                if (brim[c] >= 0) continue;
                brim[c] = scene_at_least(h->ground[c], level);
                next[c] = first[brim[c]];
                first[brim[c]] = c;
            }
        }
    }
}

// Whether a lake that spills at this brim has water in the column: it stands a cell below.
static bool holds_lake(const hills *h, const int32_t *brim, int32_t column)
{
    return brim[column] > h->sea && h->ground[column] < brim[column] - 1;
}

// Gives the columns that hang together with one a lake's number, and returns how many they are. What is too small gets -2 and is no lake.
static int32_t mark_lake(hills *h, const int32_t *brim, int32_t start, int32_t number, int32_t *stack)
{
    int32_t count = 1;
    stack[0] = start;
    h->lake[start] = number;
    for (int32_t done = 0; done < count; done++) {
        int32_t found[4], sides = beside(h, stack[done], found);
        for (int32_t i = 0; i < sides; i++) {
            int32_t c = found[i];
            if (h->lake[c] != -1 || brim[c] != brim[start] || !holds_lake(h, brim, c)) continue;
            h->lake[c] = number;
            stack[count++] = c;
        }
    }
    for (int32_t i = 0; i < count && count < LAKE_COLUMNS; i++) h->lake[stack[i]] = -2;
    return count;
}

static void find_lakes(hills *h, const int32_t *brim, int32_t *stack)
{
    int32_t columns = h->length * h->width;
    for (int32_t c = 0; c < columns; c++) h->lake[c] = -1;
    for (int32_t c = 0; c < columns; c++) {
        if (h->lake[c] != -1 || !holds_lake(h, brim, c)) continue;
        int32_t count = mark_lake(h, brim, c, h->lake_count, stack);
        if (count >= LAKE_COLUMNS) h->lakes[h->lake_count++] = (hills_lake){brim[c] - 1, count};
    }
    for (int32_t c = 0; c < columns; c++)
        if (h->lake[c] < 0) h->lake[c] = -1;
}

// ---- Making them -----------------------------------------------------------------------------------------------------------

bool hills_make(const hills_def *def, scene_run *run, hills *made)
{
    size_t columns = (size_t)def->length * (size_t)def->width;
    int32_t levels = def->low + def->relief + def->slope + 1;
    *made = (hills){.length = def->length, .width = def->width, .sea = def->sea};
    made->ground = malloc(columns * sizeof *made->ground);
    made->lake = malloc(columns * sizeof *made->lake);
    made->lakes = malloc((columns / LAKE_COLUMNS + 1) * sizeof *made->lakes);
    int32_t *brim = malloc(columns * sizeof *brim), *next = malloc(columns * sizeof *next);
    int32_t *first = malloc((size_t)levels * sizeof *first);
    bool room = made->ground && made->lake && made->lakes && brim && next && first;
    if (room) {
        made->lowest = INT32_MAX;
        for (int32_t c = 0; c < (int32_t)columns; c++) {
            int32_t height = made->ground[c] = height_of(def, run->seed, c % def->length, c / def->length);
            if (height < made->lowest) made->lowest = height;
            if (height > made->highest) made->highest = height;
        }
        flood(made, brim, first, next);
        find_lakes(made, brim, next);
    } else {
        hills_free(made);
        if (run->status == WEIR_OK) run->status = weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for the hills of a scene");
    }
    free(brim);
    free(next);
    free(first);
    return room;
}

void hills_free(hills *made)
{
    free(made->ground);
    free(made->lake);
    free(made->lakes);
    *made = (hills){0};
}

// ---- Putting them into a world ---------------------------------------------------------------------------------------------

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

// One block, from x, z on: solid up to its lowest column, and shares from there to its highest.
static void build_block(scene_run *run, const hills *h, weir_box block)
{
    int32_t low = INT32_MAX, high = 0;
    for (int32_t z = block.min.z; z < block.max.z; z++) {
        for (int32_t x = block.min.x; x < block.max.x; x++) {
            int32_t height = h->ground[x + h->length * z];
            low = lesser(low, height);
            high = scene_at_least(height, high);
        }
    }
    scene_build(run, scene_box(block.min.x, block.max.x, 0, low, block.min.z, block.max.z));
    block.min.y = low;
    block.max.y = high;
    size_t row = (size_t)(block.max.x - block.min.x), layers = (size_t)(high - low);
    if (layers == 0 || run->status != WEIR_OK) return;

    uint8_t *shares = malloc(row * layers * (size_t)(block.max.z - block.min.z)), *share = shares;
    if (!shares) {
        run->status = weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for the hills of a scene");
        return;
    }
    for (int32_t z = block.min.z; z < block.max.z; z++) {
        for (int32_t y = low; y < high; y++) {
            for (int32_t x = block.min.x; x < block.max.x; x++) *share++ = h->ground[x + h->length * z] > y ? 255 : 0;
        }
    }
    run->status = weir_world_build_shares(run->world, block, shares);
    free(shares);
}

void hills_build(scene_run *run, const hills *made, int32_t block)
{
    for (int32_t z = 0; z < made->width; z += block) {
        for (int32_t x = 0; x < made->length; x += block) {
            int32_t x_end = lesser(x + block, made->length), z_end = lesser(z + block, made->width);
            build_block(run, made, scene_box(x, x_end, 0, 0, z, z_end));
        }
    }
}

// Whether all columns of a row are of one lake that has not been filled yet.
static bool row_waits(const hills *h, const uint8_t *done, int32_t x, int32_t x_end, int32_t z, int32_t lake)
{
    for (int32_t c = x + h->length * z; c < x_end + h->length * z; c++)
        if (done[c] || h->lake[c] != lake) return false;
    return true;
}

// The largest box that begins with a column and has none but its lake's: first along x, then along z. Below the ground it is solid, and
// stays so.
static weir_box lake_box(const hills *h, const uint8_t *done, int32_t x, int32_t z)
{
    int32_t lake = h->lake[x + h->length * z], x_end = x + 1, z_end = z + 1;
    while (x_end < h->length && row_waits(h, done, x_end, x_end + 1, z, lake)) x_end++;
    while (z_end < h->width && row_waits(h, done, x, x_end, z_end, lake)) z_end++;
    return scene_box(x, x_end, scene_at_least(h->sea, h->lowest), h->lakes[lake].level, z, z_end);
}

void hills_fill(scene_run *run, const hills *made)
{
    // Lakes stand higher than the sea, so that filling their hollows to its level too does no harm.
    scene_fill(run, scene_box(0, made->length, made->lowest, made->sea, 0, made->width), 1.0f);
    uint8_t *done = calloc((size_t)made->length * (size_t)made->width, 1);
    if (!done && run->status == WEIR_OK)
        run->status = weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for the lakes of a scene");
    for (int32_t c = 0; c < made->length * made->width && run->status == WEIR_OK; c++) {
        if (made->lake[c] < 0 || done[c]) continue;
        weir_box box = lake_box(made, done, c % made->length, c / made->length);
        for (int32_t z = box.min.z; z < box.max.z; z++)
            memset(done + box.min.x + made->length * z, 1, (size_t)(box.max.x - box.min.x));
        scene_fill(run, box, 1.0f);
    }
    free(done);
}
