// Sets of bricks as boxes: see absent.h. A set changes by a walk over its slabs, rows and boxes, at each of which the same is done on one axis
// less.
#include "world/absent.h"

#include <string.h>

enum { X, Y, Z };

static int32_t *low(weir_box *b, int32_t axis)
{
    return axis == X ? &b->min.x : axis == Y ? &b->min.y : &b->min.z;
}

static int32_t *high(weir_box *b, int32_t axis)
{
    return axis == X ? &b->max.x : axis == Y ? &b->max.y : &b->max.z;
}

static int32_t low_of(const weir_box *b, int32_t axis)
{
    return axis == X ? b->min.x : axis == Y ? b->min.y : b->min.z;
}

static int32_t high_of(const weir_box *b, int32_t axis)
{
    return axis == X ? b->max.x : axis == Y ? b->max.y : b->max.z;
}

// ---- Changing --------------------------------------------------------------------------------------------------------------

// A change under way. Boxes that are written get the slab and row that they are in from `place`.
typedef struct change {
    weir_box bricks;
    bool add;
    weir_box place;
    weir_box *out;
    int32_t count;
} change;

// Whether the boxes of the last two groups on an axis are the same on the axes below it.
static bool same_below(const change *c, int32_t first, int32_t second, int32_t axis)
{
    if (second - first != c->count - second) return false;
    for (int32_t i = 0; i < second - first; i++)
        for (int32_t a = X; a < axis; a++)
            if (low_of(&c->out[first + i], a) != low_of(&c->out[second + i], a) ||
                high_of(&c->out[first + i], a) != high_of(&c->out[second + i], a))
                return false;
    return true;
}

static void walk(change *c, const weir_box *boxes, int32_t count, int32_t axis);

// The boxes of a group, all with the same extent on this axis, cut to a part of it; changed on the axes below if the part lies in the box.
// *last is where the group written before begins: it grows if this one is the same and lies beside it.
static void put_part(change *c, const weir_box *boxes, int32_t count, int32_t axis, int32_t from, int32_t to, bool inside,
                     int32_t *last)
{
    if (from >= to) return;
    const int32_t begin = c->count;
    *low(&c->place, axis) = from;
    *high(&c->place, axis) = to;
    if (axis == X) {
        if (inside ? c->add : count > 0) c->out[c->count++] = c->place;
    } else if (inside) {
        walk(c, boxes, count, axis - 1);
    } else {
        for (int32_t i = 0; i < count; i++) {
            weir_box *box = &c->out[c->count++];
            *box = boxes[i];
            for (int32_t a = axis; a <= Z; a++) {
                *low(box, a) = low_of(&c->place, a);
                *high(box, a) = high_of(&c->place, a);
            }
        }
    }
    if (c->count == begin) return;
    if (*last < begin && high_of(&c->out[*last], axis) == from && same_below(c, *last, begin, axis)) {
        for (int32_t i = *last; i < begin; i++) *high(&c->out[i], axis) = to;
        c->count = begin;
    } else {
        *last = begin;
    }
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

// What lies between two groups, where nothing was.
static void put_gap(change *c, int32_t axis, int32_t from, int32_t to, int32_t *last)
{
    if (c->add)
        put_part(c, NULL, 0, axis, larger(from, low_of(&c->bricks, axis)), lesser(to, high_of(&c->bricks, axis)), true, last);
}

static void walk(change *c, const weir_box *boxes, int32_t count, int32_t axis)
{
    const int32_t b0 = low_of(&c->bricks, axis), b1 = high_of(&c->bricks, axis);
    int32_t at = INT32_MIN, last = c->count;
    for (int32_t i = 0, end; i < count; i = end) {
        const int32_t from = low_of(&boxes[i], axis), to = high_of(&boxes[i], axis);
        for (end = i; end < count && low_of(&boxes[end], axis) == from;) end++;
        put_gap(c, axis, at, from, &last);
        put_part(c, boxes + i, end - i, axis, from, lesser(to, b0), false, &last);
        put_part(c, boxes + i, end - i, axis, larger(from, b0), lesser(to, b1), true, &last);
        put_part(c, boxes + i, end - i, axis, larger(from, b1), to, false, &last);
        at = to;
    }
    put_gap(c, axis, at, INT32_MAX, &last);
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

void absent_free(absent_set *set, memory *mem)
{
    memory_free(mem, set->boxes, (size_t)set->room * sizeof *set->boxes);
    *set = (absent_set){0};
}

static int compare(const weir_box *box, weir_coord brick)
{
    const int32_t at[3] = {brick.x, brick.y, brick.z};
    for (int32_t axis = Z; axis >= X; axis--) {
        if (high_of(box, axis) <= at[axis]) return -1;
        if (low_of(box, axis) > at[axis]) return 1;
    }
    return 0;
}

static const weir_box *find(const absent_set *set, weir_coord brick)
{
    int32_t from = 0, to = set->count;
    while (from < to) {
        const int32_t middle = from + (to - from) / 2;
        const int order = compare(&set->boxes[middle], brick);
        if (order == 0) return &set->boxes[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

bool absent_has(const absent_set *set, weir_coord brick)
{
    return find(set, brick) != NULL;
}

// Bricks, or cells: a double, since the largest box has more than an int64 can count.
static double shared(weir_box a, weir_box b)
{
    double volume = 1;
    for (int32_t axis = X; axis <= Z; axis++) {
        const double from = larger(low_of(&a, axis), low_of(&b, axis)), to = lesser(high_of(&a, axis), high_of(&b, axis));
        volume *= to > from ? to - from : 0;
    }
    return volume;
}

bool absent_has_any(const absent_set *set, weir_box bricks)
{
    for (int32_t i = 0; i < set->count; i++)
        if (shared(set->boxes[i], bricks) > 0) return true;
    return false;
}

bool absent_has_all(const absent_set *set, weir_box bricks)
{
    const weir_coord low = bricks.min, top = bricks.max;
    if (low.x >= top.x || low.y >= top.y || low.z >= top.z) return true;
    const weir_box *b = find(set, low);
    if (!b) return false;
    // What its lowest box leaves over: three boxes.
    const weir_coord to = {lesser(top.x, b->max.x), lesser(top.y, b->max.y), lesser(top.z, b->max.z)};
    return absent_has_all(set, (weir_box){{to.x, low.y, low.z}, {top.x, to.y, to.z}}) &&
           absent_has_all(set, (weir_box){{low.x, to.y, low.z}, {top.x, top.y, to.z}}) &&
           absent_has_all(set, (weir_box){{low.x, low.y, to.z}, top});
}

double absent_volume(const absent_set *set, weir_box cells)
{
    double volume = 0;
    for (int32_t i = 0; i < set->count; i++) {
        const weir_box b = set->boxes[i];
        volume += shared((weir_box){{8 * b.min.x, 8 * b.min.y, 8 * b.min.z}, {8 * b.max.x, 8 * b.max.y, 8 * b.max.z}}, cells);
    }
    return volume;
}

// A box cuts each slab, row and box into three at most, and adds as many gaps as there are of them.
bool absent_change(const absent_set *set, weir_box bricks, bool add, memory *mem, absent_set *next)
{
    *next = (absent_set){0};
    if (set->count > (INT32_MAX >> 5) - 1) return false;
    const int32_t room = 8 * (set->count + 1);
    weir_box *out = memory_alloc(mem, (size_t)room * sizeof *out);
    if (!out) return false;
    change c = {.bricks = bricks, .add = add, .out = out};
    walk(&c, set->boxes, set->count, Z);
    if (c.count == 0) {
        memory_free(mem, out, (size_t)room * sizeof *out);
        return true;
    }
    next->boxes = memory_resize(mem, out, (size_t)room * sizeof *out, (size_t)c.count * sizeof *out);
    next->count = next->room = c.count;
    if (next->boxes) return true;
    memory_free(mem, out, (size_t)room * sizeof *out);
    *next = (absent_set){0};
    return false;
}

// Boxes of one group begin and end alike, others lie apart on the axis, and no two groups side by side are the same.
static bool groups_sound(const weir_box *boxes, int32_t count, int32_t axis)
{
    int32_t before = -1, before_count = 0;
    for (int32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && low_of(&boxes[end], axis) == low_of(&boxes[i], axis); end++)
            if (axis == X || high_of(&boxes[end], axis) != high_of(&boxes[i], axis)) return false;
        if (low_of(&boxes[i], axis) >= high_of(&boxes[i], axis)) return false;
        if (before >= 0 && high_of(&boxes[before], axis) > low_of(&boxes[i], axis)) return false;
        if (axis > X && !groups_sound(boxes + i, end - i, axis - 1)) return false;
        if (before >= 0 && high_of(&boxes[before], axis) == low_of(&boxes[i], axis) && before_count == end - i) {
            bool same = true;
            for (int32_t k = 0; k < end - i; k++)
                for (int32_t a = X; a < axis; a++)
                    same &= low_of(&boxes[before + k], a) == low_of(&boxes[i + k], a) &&
                            high_of(&boxes[before + k], a) == high_of(&boxes[i + k], a);
            if (same) return false;
        }
        before = i;
        before_count = end - i;
    }
    return true;
}

bool absent_sound(const absent_set *set)
{
    return set->count <= set->room && groups_sound(set->boxes, set->count, Z);
}
