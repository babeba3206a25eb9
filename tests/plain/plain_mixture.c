#include "plain/plain_mixture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FULL = PLAIN_MIXTURE_FULL, GAS_MOST = 32767, WEIGHT_MOST = 262143 };

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

// ---- Materials -----------------------------------------------------------------------------------------------------------------

static int32_t rounded(float value, float unit, int32_t low, int32_t high)
{
    float scaled = value * unit + 0.5f;
    if (scaled < (float)low) return low;
    return scaled > (float)high ? high : (int32_t)scaled;
}

static void learn_kind(plain_kind *k)
{
    static const int32_t rates[7] = {224, 192, 128, 64, 16, 6, 2};
    const bool gas = k->def.kind == WEIR_KIND_GAS;
    int32_t step = 0;
    float limit = 8;
    while (step < 6 && k->def.viscosity >= limit) step++, limit *= 8;
    if (gas && step == 0) step = 1;
    k->rate = rates[step];
    k->up = gas ? (int32_t)(256.0f / (1.0f + k->def.density / 0.0012f)) : 0;
    k->heat = rounded(k->def.heat_capacity, 8, 1, gas ? 4 : 8);
    k->conducts = rounded(k->def.conductivity, 32, 0, 128 * k->heat);
    k->warm = rounded(k->def.temperature, 4, 1, 8000);
}

static int32_t rank(const plain_kind *k, int32_t m)
{
    (void)m;
    return k->def.kind == WEIR_KIND_LIQUID ? 0 : k->def.kind == WEIR_KIND_GAS ? 1 : 2;
}

static bool before(const plain_mixture *w, int32_t a, int32_t b)
{
    const plain_kind *x = &w->kind[a], *y = &w->kind[b];
    if (rank(x, a) != rank(y, b)) return rank(x, a) < rank(y, b);
    if (x->def.density != y->def.density)
        return rank(x, a) == 1 ? x->def.density < y->def.density : x->def.density > y->def.density;
    return a < b;
}

void plain_mixture_learn(plain_mixture *w, const weir_world *world)
{
    w->kinds = weir_world_material_count(world);
    w->liquids = w->gases = 0;
    int32_t count = 0;
    for (int32_t m = 1; m < w->kinds; m++) {
        weir_world_material(world, m, &w->kind[m].def);
        learn_kind(&w->kind[m]);
        w->liquids += w->kind[m].def.kind == WEIR_KIND_LIQUID;
        w->gases += w->kind[m].def.kind == WEIR_KIND_GAS;
        w->order[count++] = m;
    }
    for (int32_t i = 0; i < count; i++)
        for (int32_t j = i + 1; j < count; j++)
            if (before(w, w->order[j], w->order[i])) {
                const int32_t other = w->order[i];
                w->order[i] = w->order[j];
                w->order[j] = other;
            }
    w->reactions = weir_world_reaction_count(world);
    for (int32_t i = 0; i < w->reactions; i++) weir_world_reaction(world, i, &w->reaction[i]);
}

// ---- The world -----------------------------------------------------------------------------------------------------------------

static int64_t width(const plain_mixture *w, int axis)
{
    return axis == 0 ? w->box.max.x - w->box.min.x : axis == 1 ? w->box.max.y - w->box.min.y : w->box.max.z - w->box.min.z;
}

static bool holds(weir_box b, weir_coord c)
{
    return c.x >= b.min.x && c.x < b.max.x && c.y >= b.min.y && c.y < b.max.y && c.z >= b.min.z && c.z < b.max.z;
}

plain_mix *plain_mixture_at(const plain_mixture *w, weir_coord at)
{
    if (!holds(w->box, at)) return NULL;
    return &w->cell[(at.x - w->box.min.x) + width(w, 0) * ((at.y - w->box.min.y) + width(w, 1) * (at.z - w->box.min.z))];
}

static uint8_t *live_at(const plain_mixture *w, weir_coord at)
{
    const int64_t x = (at.x - w->box.min.x) / 8, y = (at.y - w->box.min.y) / 8, z = (at.z - w->box.min.z) / 8;
    return &w->live[x + width(w, 0) / 8 * (y + width(w, 1) / 8 * z)];
}

#define EACH_CELL(at, b)                                    \
    for (weir_coord at = (b).min; at.z < (b).max.z; at.z++) \
        for (at.y = (b).min.y; at.y < (b).max.y; at.y++)    \
            for (at.x = (b).min.x; at.x < (b).max.x; at.x++)

static int32_t down8(int32_t v)
{
    return (int32_t)floor(v / 8.0) * 8;
}

plain_mixture *plain_mixture_make(const weir_world *world, uint32_t open_sides)
{
    plain_mixture *w = calloc(1, sizeof *w);
    w->bounds = weir_world_bounds(world);
    w->open_sides = open_sides;
    w->film = weir_world_params(world).mixture.film;
    w->pressure = weir_world_params(world).mixture.pressure;
    w->box.min = (weir_coord){down8(w->bounds.min.x) - 8, down8(w->bounds.min.y) - 8, down8(w->bounds.min.z) - 8};
    w->box.max = (weir_coord){down8(w->bounds.max.x + 7) + 8, down8(w->bounds.max.y + 7) + 8, down8(w->bounds.max.z + 7) + 8};
    w->cell = calloc((size_t)(width(w, 0) * width(w, 1) * width(w, 2)), sizeof *w->cell);
    w->live = calloc((size_t)(width(w, 0) * width(w, 1) * width(w, 2)) / 512, 1);
    EACH_CELL(at, w->box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        const weir_box b = w->bounds;
        const uint32_t behind = (at.x < b.min.x ? WEIR_SIDE_X_MIN : 0u) | (at.x >= b.max.x ? WEIR_SIDE_X_MAX : 0u) |
                                (at.y < b.min.y ? WEIR_SIDE_Y_MIN : 0u) | (at.y >= b.max.y ? WEIR_SIDE_Y_MAX : 0u) |
                                (at.z < b.min.z ? WEIR_SIDE_Z_MIN : 0u) | (at.z >= b.max.z ? WEIR_SIDE_Z_MAX : 0u);
        c->outside = behind != 0;
        c->solid = (behind & ~open_sides) != 0;
    }
    plain_mixture_learn(w, world);
    return w;
}

void plain_mixture_free(plain_mixture *w)
{
    free(w->cell);
    free(w->live);
    free(w);
}

// ---- A cell --------------------------------------------------------------------------------------------------------------------

static int32_t volume_of(const plain_mixture *w, const plain_mix *c, weir_material_kind kind)
{
    int32_t sum = 0;
    for (int32_t m = 1; m < w->kinds; m++)
        if (w->kind[m].def.kind == kind) sum += c->amount[m];
    return sum;
}

static int32_t weight_of(const plain_mixture *w, const plain_mix *c)
{
    int32_t sum = 0;
    for (int32_t m = 1; m < w->kinds; m++) sum += c->amount[m] * w->kind[m].heat;
    return sum;
}

static int32_t capacity_of(const plain_mixture *w, const plain_mix *c)
{
    return FULL - volume_of(w, c, WEIR_KIND_SOLID);
}

static bool is_wet(const plain_mixture *w, const plain_mix *c)
{
    for (int32_t m = 1; m < w->kinds; m++)
        if (c->amount[m]) return true;
    return false;
}

// The heat of a part of a cell: whole temperatures times weight, and of what is left over a share.
static int32_t carried(int32_t heat, int32_t weight, int32_t out)
{
    if (weight == 0) return 0;
    const int32_t warm = heat / weight, rest = heat % weight;
    int32_t part = (int32_t)((float)rest * ((float)out * (1.0f / (float)weight)));
    if (part > rest) part = rest;
    if (part > out) part = out;
    if (part < rest - (weight - out)) part = rest - (weight - out);
    return warm * out + part;
}

static void take(plain_mixture *w, plain_mix *c, int32_t m, int32_t units, int64_t *heat_book)
{
    const int32_t heat = carried(c->heat, weight_of(w, c), units * w->kind[m].heat);
    c->amount[m] -= units;
    c->heat -= heat;
    *heat_book += heat;
}

static void give(plain_mixture *w, plain_mix *c, int32_t m, int32_t units)
{
    c->amount[m] += units;
    c->heat += units * w->kind[m].heat * w->kind[m].warm;
    w->heat.added += (int64_t)units * w->kind[m].heat * w->kind[m].warm;
}

// ---- Edits ---------------------------------------------------------------------------------------------------------------------

static weir_box cut(const plain_mixture *w, weir_box b)
{
    const weir_box to = w->bounds;
    b.min = (weir_coord){most(b.min.x, to.min.x), most(b.min.y, to.min.y), most(b.min.z, to.min.z)};
    b.max = (weir_coord){least(b.max.x, to.max.x), least(b.max.y, to.max.y), least(b.max.z, to.max.z)};
    return b;
}

void plain_mixture_fill(plain_mixture *w, weir_box box, weir_material material, float fill)
{
    const int64_t drops = (int64_t)((double)fill * WEIR_FULL + 0.5);
    const int32_t units = (int32_t)((drops + PLAIN_MIXTURE_UNIT / 2) / PLAIN_MIXTURE_UNIT);
    box = cut(w, box);
    EACH_CELL(at, box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        if (c->solid) continue;
        // In the order of the laws, since heat is shared in whole units.
        for (int32_t i = 0; i < w->kinds - 1; i++) {
            const int32_t m = w->order[i], wanted = m == material ? units : 0;
            if (c->amount[m] > wanted) take(w, c, m, c->amount[m] - wanted, &w->heat.removed);
        }
        if (units > 0 && c->amount[material] < units) give(w, c, material, units - c->amount[material]);
    }
}

static void warm_cell(plain_mixture *w, plain_mix *c, int32_t quarters)
{
    const int32_t heat = weight_of(w, c) * quarters;
    if (heat > c->heat)
        w->heat.added += heat - c->heat;
    else
        w->heat.removed += c->heat - heat;
    c->heat = heat;
}

static void warm_box(plain_mixture *w, weir_box box, int32_t quarters)
{
    EACH_CELL(at, box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        if (!c->solid) warm_cell(w, c, quarters);
    }
}

void plain_mixture_warm(plain_mixture *w, weir_box box, float kelvins)
{
    warm_box(w, cut(w, box), (int32_t)(kelvins * 4 + 0.5f));
}

void plain_mixture_build(plain_mixture *w, weir_box box, bool solid)
{
    box = cut(w, box);
    EACH_CELL(at, box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        for (int32_t i = 0; i < w->kinds - 1 && solid; i++)
            if (c->amount[w->order[i]] > 0) take(w, c, w->order[i], c->amount[w->order[i]], &w->heat.removed);
        c->solid = solid;
        c->share = solid ? 255 : 0;
    }
}

void plain_mixture_add(plain_mixture *w, plain_source source)
{
    assert(w->sources < PLAIN_MIXTURE_SOURCES);
    source.box = cut(w, source.box);
    w->source[w->sources++] = source;
}

// ---- Sources -------------------------------------------------------------------------------------------------------------------

static int64_t due_of(const plain_source *s)
{
    return (s->owed + s->rate) / 65536 / PLAIN_MIXTURE_UNIT;  // units
}

static int32_t room_of(const plain_mixture *w, const plain_mix *c, const plain_source *s)
{
    const int32_t liquid = volume_of(w, c, WEIR_KIND_LIQUID), gas = volume_of(w, c, WEIR_KIND_GAS);
    const int32_t capacity = capacity_of(w, c);
    if (c->solid) return 0;
    if (s->kind == WEIR_SOURCE_DRAIN) return liquid + gas;
    if (w->kind[s->material].def.kind == WEIR_KIND_SOLID) return most(0, capacity - liquid);
    if (capacity <= FULL / 2 || liquid > capacity) return 0;
    return most(0, w->kind[s->material].def.kind == WEIR_KIND_GAS ? FULL - gas : capacity - liquid);
}

static void pour_cell(plain_mixture *w, plain_mix *c, const plain_source *s, int32_t units)
{
    if (s->kind == WEIR_SOURCE_EMITTER) {
        give(w, c, s->material, units);
        return;
    }
    while (units > 0) {
        int32_t of = w->order[0];
        for (int32_t i = 1; i < w->liquids + w->gases; i++)
            if (c->amount[w->order[i]] > c->amount[of]) of = w->order[i];
        const int32_t part = least(units, c->amount[of]);
        take(w, c, of, part, &w->heat.removed);
        units -= part;
    }
}

static void pour(plain_mixture *w, const plain_source *s, int64_t units)
{
    // The largest even part of which there is enough.
    int64_t level = 0, sum = 0;
    for (int64_t step = 32768; step > 0; step /= 2) {
        sum = 0;
        EACH_CELL(at, s->box) sum += least(room_of(w, plain_mixture_at(w, at), s), (int32_t)(level + step));
        if (sum <= units) level += step;
    }
    sum = 0;
    EACH_CELL(at, s->box) sum += least(room_of(w, plain_mixture_at(w, at), s), (int32_t)level);
    int64_t rest = units - sum;
    // What is left goes to the first cells, brick by brick.
    EACH_CELL(brick, ((weir_box){{s->box.min.x >> 3, s->box.min.y >> 3, s->box.min.z >> 3},
                                 {(s->box.max.x + 7) >> 3, (s->box.max.y + 7) >> 3, (s->box.max.z + 7) >> 3}}))
    {
        for (int32_t k = 0; k < 512; k++) {
            const weir_coord at = {8 * brick.x + (k & 7), 8 * brick.y + (k >> 3 & 7), 8 * brick.z + (k >> 6)};
            if (!holds(s->box, at)) continue;
            plain_mix *c = plain_mixture_at(w, at);
            const int32_t room = room_of(w, c, s);
            int32_t part = least(room, (int32_t)level);
            if (room > level && rest > 0) part++, rest--;
            if (part > 0) pour_cell(w, c, s, part);
        }
    }
}

static void apply_sources(plain_mixture *w)
{
    for (int32_t i = 0; i < w->sources; i++) {
        plain_source *s = &w->source[i];
        if (s->kind == WEIR_SOURCE_HEATER) {
            warm_box(w, s->box, s->warm);
            continue;
        }
        const int64_t units = due_of(s);
        s->owed += s->rate - units * PLAIN_MIXTURE_UNIT * 65536;
        if (units > 0) pour(w, s, units);
    }
}

// ---- A pair --------------------------------------------------------------------------------------------------------------------

static bool can_flow(const plain_mixture *w, const plain_mix *a, const plain_mix *b)
{
    return !a->solid && !b->solid && capacity_of(w, a) > FULL / 2 && capacity_of(w, b) > FULL / 2;
}

// What is over-full is trimmed, the lightest first.
static void trim(const plain_mixture *w, const plain_mix *a, const plain_mix *b, int32_t room_a, int32_t room_b,
                 int32_t moved[WEIR_MATERIAL_MAX])
{
    int32_t total = 0;
    const int32_t in_a = volume_of(w, a, WEIR_KIND_LIQUID), in_b = volume_of(w, b, WEIR_KIND_LIQUID);
    for (int32_t i = 0; i < w->liquids; i++) total += moved[w->order[i]];
    int32_t over_b = most(0, in_b + total - most(room_b, in_b));
    int32_t over_a = most(0, in_a - total - most(room_a, in_a));
    for (int32_t i = w->liquids - 1; i >= 0; i--) {
        int32_t *q = &moved[w->order[i]];
        while (*q > 0 && over_b > 0) {
            const int32_t part = least(*q, over_b);
            *q -= part, over_b -= part;
        }
        while (*q < 0 && over_a > 0) {
            const int32_t part = least(-*q, over_a);
            *q += part, over_a -= part;
        }
    }
}

static void move(plain_mix *a, plain_mix *b, int32_t m, int32_t units)
{
    a->amount[m] -= units;
    b->amount[m] += units;
}

// What a cell may hold: its capacity, and as much over it as the pressure asks for, which leaves room for its gas.
static int32_t pressed(const plain_mixture *w, const plain_mix *c, int32_t over)
{
    const int32_t room = most(0, (GAS_MOST - volume_of(w, c, WEIR_KIND_GAS)) / 2);
    return capacity_of(w, c) + least(most(0, over), least(FULL / 2, room));
}

static int32_t over_full(const plain_mixture *w, const plain_mix *c)
{
    return volume_of(w, c, WEIR_KIND_LIQUID) - capacity_of(w, c);
}

static void liquids_sideways(plain_mixture *w, plain_mix *a, plain_mix *b)
{
    int32_t moved[WEIR_MATERIAL_MAX] = {0};
    if (!can_flow(w, a, b)) return;
    for (int32_t i = 0; i < w->liquids; i++) {
        const int32_t m = w->order[i], d = a->amount[m] - b->amount[m];
        int32_t size = abs(d) * w->kind[m].rate / 256;
        if (size == 0 && abs(d) >= 2) size = 1;
        moved[m] = d < 0 ? -size : size;
    }
    if (w->pressure > 0)
        trim(w, a, b, pressed(w, a, over_full(w, b)), pressed(w, b, over_full(w, a)), moved);
    else
        trim(w, a, b, capacity_of(w, a), capacity_of(w, b), moved);
    for (int32_t i = 0; i < w->liquids; i++) move(a, b, w->order[i], moved[w->order[i]]);
}

// What the lower cell holds of what both do, when it rests: a full cell's worth, and up to the pressure more for a full cell above; what is
// more than that is shared so that the difference stays.
static int32_t bottom_of(const plain_mixture *w, const plain_mix *a, const plain_mix *b)
{
    const int32_t above = volume_of(w, a, WEIR_KIND_LIQUID) + over_full(w, b), full = capacity_of(w, a) + w->pressure;
    if (w->pressure == 0 || above <= 0) return capacity_of(w, b);
    if (above > full) return capacity_of(w, b) + (above - capacity_of(w, a) + w->pressure) / 2;
    return capacity_of(w, b) + (int32_t)((float)(above * w->pressure) / (float)full);
}

static void liquids_down(plain_mixture *w, plain_mix *a, plain_mix *b)
{
    int32_t moved[WEIR_MATERIAL_MAX] = {0};
    if (!can_flow(w, a, b)) return;
    for (int32_t i = 0; i < w->liquids; i++) {
        const int32_t m = w->order[i], room = most(0, capacity_of(w, b) - volume_of(w, b, WEIR_KIND_LIQUID));
        move(a, b, m, least(room, a->amount[m]));
    }
    int32_t left = bottom_of(w, a, b);
    const int32_t past = 3 * w->pressure, over_b = left - capacity_of(w, b);
    const int32_t over_a = over_full(w, a) + over_full(w, b) - over_b;
    for (int32_t i = 0; i < w->liquids; i++) {
        const int32_t m = w->order[i], wanted = least(a->amount[m] + b->amount[m], left), d = wanted - b->amount[m];
        int32_t size = (abs(d) * least(256, 2 * w->kind[m].rate) + 255) / 256;
        if (w->pressure > 0 && abs(d) <= 4 * w->pressure) {
            size = abs(d) * least(448, 7 * w->kind[m].rate / 2) / 256;
            if (d != 0) size = most(size, 1);
        }
        left -= wanted;
        moved[m] = d < 0 ? -least(size, b->amount[m]) : least(size, a->amount[m]);
    }
    if (w->pressure > 0)
        trim(w, a, b, pressed(w, a, over_a + past), pressed(w, b, over_b + past), moved);
    else
        trim(w, a, b, capacity_of(w, a), capacity_of(w, b), moved);
    for (int32_t i = 0; i < w->liquids; i++) move(a, b, w->order[i], moved[w->order[i]]);
}

static int32_t gas_room(const plain_mixture *w, const plain_mix *c)
{
    if (capacity_of(w, c) <= FULL / 2) return 0;
    return most(capacity_of(w, c) - volume_of(w, c, WEIR_KIND_LIQUID), FULL / 8);
}

static int32_t gas_takes(const plain_mixture *w, const plain_mix *c)
{
    const int32_t over = most(0, volume_of(w, c, WEIR_KIND_LIQUID) - capacity_of(w, c));
    if (over > 0 && w->pressure == 0) return 0;
    return most(0, GAS_MOST - 2 * over - volume_of(w, c, WEIR_KIND_GAS));
}

static void gases(plain_mixture *w, plain_mix *a, plain_mix *b, bool down)
{
    const int32_t room_a = gas_room(w, a), room_b = gas_room(w, b);
    if (a->solid || b->solid || room_a + room_b == 0) return;
    const int32_t total = volume_of(w, a, WEIR_KIND_GAS) + volume_of(w, b, WEIR_KIND_GAS);
    int32_t top = room_a / 16, bottom = room_b / 16;
    if (total > top + bottom) {
        top = least(total, (int32_t)((float)total * (float)room_a / (float)(room_a + room_b)));
        bottom = total - top;
    }
    for (int32_t i = w->liquids; i < w->liquids + w->gases; i++) {
        const int32_t m = w->order[i], both = a->amount[m] + b->amount[m];
        int32_t wish;
        if (down) {
            const int32_t up = least(top, most((both * w->kind[m].up + 255) / 256, both - bottom));
            top -= up;
            bottom -= both - up;
            wish = a->amount[m] - up;
        } else {
            const float apart = (float)(a->amount[m] * room_b - b->amount[m] * room_a);
            wish = (int32_t)(apart / (float)(room_a + room_b) * ((float)w->kind[m].rate * (1.0f / 128)));
        }
        if (wish > 0) wish = least(wish, least(a->amount[m], gas_takes(w, b)));
        if (wish < 0) wish = -least(-wish, least(b->amount[m], gas_takes(w, a)));
        move(a, b, m, wish);
    }
}

static float warmth(const plain_mixture *w, const plain_mix *c)
{
    const int32_t weight = weight_of(w, c);
    return weight ? (float)c->heat / (float)weight : 0;
}

static int32_t conduction(const plain_mixture *w, const plain_mix *c)
{
    int32_t sum = 0;
    for (int32_t m = 1; m < w->kinds; m++) sum += c->amount[m] * w->kind[m].conducts;
    return sum;
}

static int32_t conducted(float warm_a, float warm_b, int32_t flow)
{
    const float d = warm_a - warm_b;
    return fabsf(d) < 1.0f / 64 ? 0 : (int32_t)(d * ((float)flow * (1.0f / 256)));
}

// ---- Melting, freezing, boiling and condensing -----------------------------------------------------------------------------------

typedef struct plain_turn {
    int32_t cold, hot, point, latent, turned, heavier;
    bool boils;
} plain_turn;

// The changes of a liquid: false if it has none of that sort.
static bool turn_of(const plain_mixture *w, int32_t liquid, bool boils, plain_turn *t)
{
    const weir_material_def *d = &w->kind[liquid].def;
    const int32_t to = boils ? d->boils_to : d->freezes_to;
    if (to == WEIR_NOTHING) return false;
    t->boils = boils;
    t->cold = boils ? liquid : to;
    t->hot = boils ? to : liquid;
    t->point = rounded(boils ? d->boiling_point : d->melting_point, 4, 1, 8000);
    t->latent = rounded(boils ? d->boiling_heat : d->melting_heat, 32, 1, 64000);
    t->heavier = w->kind[t->hot].heat - w->kind[t->cold].heat;
    t->turned = t->latent - t->heavier * t->point;
    return true;
}

static int32_t excess(const plain_mixture *w, const plain_mix *c, const plain_turn *t)
{
    return c->heat - weight_of(w, c) * t->point;
}

static bool fits(const plain_mixture *w, const plain_mix *c, int32_t more)
{
    return weight_of(w, c) + more <= WEIGHT_MOST;
}

static void turn(plain_mixture *w, plain_mix *c, const plain_turn *t, int32_t units)
{
    c->amount[t->cold] -= units;
    c->amount[t->hot] += units;
    c->heat -= units * t->turned;
    w->heat.turned += (int64_t)units * t->turned;
}

// Not where the cell would have less than no heat then, or be hotter than anything may be.
static bool can_turn(const plain_mixture *w, const plain_mix *c, int32_t units, int32_t turned, int32_t heavier)
{
    const float left = (float)c->heat - (float)units * (float)turned;
    return left >= (float)c->heat * 0.0001f && left <= (float)(weight_of(w, c) + heavier) * 8000.0f;
}

// Whether a cell that has `own` of the heat for one unit could have the rest of a neighbour that has `other` to spare.
static bool could(int32_t own, int32_t other, int32_t latent, int32_t there)
{
    return there > 0 && own >= 0 && own < latent && other > 0 && other >= latent - own;
}

// What a cell does with its neighbour's help: the units that turn, and the heat that the neighbour gives.
static int32_t helped(const plain_mixture *w, const plain_mix *c, const plain_turn *t, int32_t own, int32_t other,
                      int32_t other_warm, bool rival_melts, bool rival_freezes, int32_t *gives)
{
    if (could(own, other, t->latent, c->amount[t->cold]) && !rival_melts && fits(w, c, t->heavier) &&
        (!t->boils || volume_of(w, c, WEIR_KIND_GAS) < GAS_MOST)) {
        *gives = t->latent - own;
        return 1;
    }
    int32_t film = 0;
    if (t->boils && other < 0) {
        const int32_t gas = c->amount[t->hot], apart = most(0, least(256, t->point - other_warm));
        film = 1 + gas * apart * w->film / 65536;
        film = least(film, gas);
        film = most(0, least(film, (int32_t)((float)(-other / 2) / (float)t->latent)));
        if (!fits(w, c, -film * t->heavier) || !can_turn(w, c, film, t->heavier * t->point, -film * t->heavier)) film = 0;
    }
    if (film > 0) {
        *gives = -film * t->latent;
        return -film;
    }
    *gives = 0;
    if (could(-own, -other, t->latent, c->amount[t->hot]) && !rival_freezes && fits(w, c, -t->heavier)) {
        *gives = -(t->latent + own);
        return -1;
    }
    return 0;
}

static void turn_between(plain_mixture *w, plain_mix *a, plain_mix *b, const plain_turn *t)
{
    const int32_t xa = excess(w, a, t), xb = excess(w, b, t), l = t->latent;
    const bool melts_a = could(xa, xb, l, a->amount[t->cold]) && xa >= xb,
               melts_b = could(xb, xa, l, b->amount[t->cold]) && xb >= xa;
    const bool freezes_a = could(-xa, -xb, l, a->amount[t->hot]) && xa <= xb,
               freezes_b = could(-xb, -xa, l, b->amount[t->hot]) && xb <= xa;
    int32_t to_a, to_b;
    const int32_t in_a = helped(w, a, t, xa, xb, (int32_t)warmth(w, b), melts_b, freezes_b, &to_a);
    const int32_t in_b = helped(w, b, t, xb, xa, (int32_t)warmth(w, a), melts_a, freezes_a, &to_b);
    turn(w, a, t, in_a);
    turn(w, b, t, in_b);
    a->heat += to_a - to_b;
    b->heat += to_b - to_a;
}

// ---- Reactions -----------------------------------------------------------------------------------------------------------------

// What a unit of a material holds besides its warmth, at the temperature of a room.
static int32_t forming(const plain_mixture *w, int32_t m)
{
    for (int32_t i = 0; i < w->liquids; i++) {
        for (int32_t boils = 0; boils < 2; boils++) {
            plain_turn t;
            const int32_t liquid = w->order[i];
            if (!turn_of(w, liquid, boils, &t) || m == liquid || (m != t.hot && m != t.cold)) continue;
            return (boils ? t.turned : -t.turned) - w->kind[liquid].heat * 1173;
        }
    }
    return -w->kind[m].heat * 1173;
}

// One of two materials that react, and what it becomes.
typedef struct plain_half {
    int32_t from, to;     // WEIR_NOTHING and WEIR_TERRAIN among what it becomes
    int32_t out, weight;  // heat capacities of a unit, and of what it becomes; what leaves keeps its own
    int32_t gas;          // how much more gas there is for a unit
} plain_half;

static plain_half half_of(const plain_mixture *w, int32_t from, int32_t to)
{
    const int32_t as = to > 0 ? to : from;
    const bool was = w->kind[from].def.kind == WEIR_KIND_GAS, is = to > 0 && w->kind[to].def.kind == WEIR_KIND_GAS;
    return (plain_half){.from = from, .to = to, .out = w->kind[from].heat, .weight = w->kind[as].heat, .gas = is - was};
}

static int32_t taken_by(const plain_mixture *w, const weir_reaction_def *d)
{
    const int32_t first = d->first_to > 0 ? d->first_to : d->first, second = d->second_to > 0 ? d->second_to : d->second;
    const int32_t heat = rounded(fabsf(d->heat), 32, 0, 256000);
    return forming(w, first) + forming(w, second) - forming(w, d->first) - forming(w, d->second) - (d->heat < 0 ? -heat : heat);
}

static int32_t reacts(const plain_mixture *w, const weir_reaction_def *d, int32_t first, int32_t second)
{
    (void)w;
    return least(8192, (least(first, second) * rounded(d->rate, 256, 1, 256) + 255) / 256);
}

static int32_t stays_of(const plain_half *h)
{
    return h->to > 0 ? h->weight : 0;
}

static void become(plain_mix *c, const plain_half *h, int32_t units)
{
    c->amount[h->from] -= units;
    if (h->to > 0) c->amount[h->to] += units;
    if (h->to == WEIR_TERRAIN) c->hardened += units;
}

// What some units give off when they react: false if they cannot, since they are too cold.
static bool give_off(int32_t heat, int32_t units, int32_t weight, int32_t taken, int32_t *left)
{
    const float want = (float)units * (float)taken;
    if (want > (float)heat * 0.9999f) return false;
    *left = weight * 8000;
    if ((float)heat - want < (float)*left) *left = least(*left, heat - units * taken);
    return true;
}

static bool too_much(const plain_mixture *w, const plain_mix *c, int32_t more_weight, int32_t more_gas)
{
    return !fits(w, c, more_weight) || volume_of(w, c, WEIR_KIND_GAS) + more_gas > GAS_MOST;
}

// The first material of a with the second of b, and the other way round.
static void react_between(plain_mixture *w, plain_mix *a, plain_mix *b, const weir_reaction_def *d)
{
    if (a->solid || b->solid) return;
    const plain_half f = half_of(w, d->first, d->first_to), s = half_of(w, d->second, d->second_to);
    const int32_t forth = reacts(w, d, a->amount[f.from], b->amount[s.from]);
    const int32_t back = reacts(w, d, b->amount[f.from], a->amount[s.from]);
    const int32_t units = forth + back;
    if (units == 0) return;
    const int32_t out_a = forth * f.out + back * s.out, out_b = back * f.out + forth * s.out;
    const int32_t in_a = forth * stays_of(&f) + back * stays_of(&s), in_b = back * stays_of(&f) + forth * stays_of(&s);
    const int32_t from_a = carried(a->heat, weight_of(w, a), out_a), from_b = carried(b->heat, weight_of(w, b), out_b);
    const int32_t weight = units * (f.weight + s.weight);
    int32_t left;
    if (too_much(w, a, in_a - out_a, forth * f.gas + back * s.gas)) return;
    if (too_much(w, b, in_b - out_b, back * f.gas + forth * s.gas)) return;
    if (!give_off(from_a + from_b, units, weight, taken_by(w, d), &left)) return;
    const int32_t to_a = carried(left, weight, in_a), to_b = carried(left, weight, in_b);
    become(a, &f, forth);
    become(b, &s, forth);
    become(b, &f, back);
    become(a, &s, back);
    a->heat += to_a - from_a;
    b->heat += to_b - from_b;
    w->heat.turned += (int64_t)from_a + from_b - to_a - to_b;
}

static void react_within(plain_mixture *w, plain_mix *c, const weir_reaction_def *d)
{
    const plain_half f = half_of(w, d->first, d->first_to), s = half_of(w, d->second, d->second_to);
    const int32_t units = reacts(w, d, c->amount[f.from], c->amount[s.from]);
    if (units == 0) return;
    const int32_t out = units * (f.out + s.out), in = units * (stays_of(&f) + stays_of(&s));
    const int32_t weight = units * (f.weight + s.weight), from = carried(c->heat, weight_of(w, c), out);
    int32_t left;
    if (too_much(w, c, in - out, units * (f.gas + s.gas)) || !give_off(from, units, weight, taken_by(w, d), &left)) return;
    const int32_t to = carried(left, weight, in);
    become(c, &f, units);
    become(c, &s, units);
    c->heat += to - from;
    w->heat.turned += from - to;
}

// What became terrain is built at the end; it pushes out what is left in a cell that it shuts.
static void harden(plain_mixture *w, plain_mix *c)
{
    const int32_t more = (c->hardened + 32) / 64;
    c->hardened = 0;
    if (more == 0) return;
    c->share = least(255, c->share + more);
    c->solid = c->share >= 128;
    for (int32_t i = 0; i < w->kinds - 1 && c->solid; i++)
        if (c->amount[w->order[i]] > 0) take(w, c, w->order[i], c->amount[w->order[i]], &w->heat.removed);
}

static void book_wall(plain_mixture *w, int32_t heat)
{
    if (heat > 0)
        w->heat.added += heat;
    else
        w->heat.removed -= heat;
}

// Beside terrain that is held at a temperature.
static void touch_wall(plain_mixture *w, plain_mix *c, int32_t wall)
{
    if (!is_wet(w, c)) return;
    const int32_t came = conducted((float)wall, warmth(w, c), conduction(w, c));
    c->heat += came;
    book_wall(w, came);
    for (int32_t i = 0; i < w->liquids; i++) {
        for (int32_t boils = 0; boils < 2; boils++) {
            plain_turn t;
            int32_t to;
            if (!turn_of(w, w->order[i], boils, &t)) continue;
            const int32_t other = wall > t.point ? 1 << 30 : wall < t.point ? -(1 << 30) : 0;
            const int32_t units = helped(w, c, &t, excess(w, c, &t), other, wall, false, false, &to);
            turn(w, c, &t, units);
            c->heat += to;
            book_wall(w, to);
        }
    }
}

// ---- An update -----------------------------------------------------------------------------------------------------------------

// The temperature at which terrain is held; 0: none, or the cell is open.
static int32_t wall_at(const plain_mixture *w, weir_coord at)
{
    int32_t wall = 0;
    const plain_mix *c = plain_mixture_at(w, at);
    if (c && !c->solid && *live_at(w, at)) return 0;
    for (int32_t i = 0; i < w->sources; i++)
        if (w->source[i].kind == WEIR_SOURCE_HEATER && holds(w->source[i].box, at)) wall = w->source[i].warm;
    return wall;
}

// a and b side by side, or a above b.
static void pair_up(plain_mixture *w, weir_coord at_a, weir_coord at_b, bool down)
{
    plain_mix stone_a = {.solid = true}, stone_b = {.solid = true};
    plain_mix *a = plain_mixture_at(w, at_a), *b = plain_mixture_at(w, at_b);
    if ((!a || !is_wet(w, a)) && (!b || !is_wet(w, b))) return;
    // Where no brick lives there is nothing to flow into.
    if (!a || !*live_at(w, at_a)) a = &stone_a;
    if (!b || !*live_at(w, at_b)) b = &stone_b;
    const plain_mix old_a = *a, old_b = *b;
    const int32_t weight_a = weight_of(w, a), weight_b = weight_of(w, b);
    if (down)
        liquids_down(w, a, b);
    else
        liquids_sideways(w, a, b);
    gases(w, a, b, down);
    int32_t out_a = 0, out_b = 0;
    for (int32_t m = 1; m < w->kinds; m++) {
        out_a += most(0, old_a.amount[m] - a->amount[m]) * w->kind[m].heat;
        out_b += most(0, old_b.amount[m] - b->amount[m]) * w->kind[m].heat;
    }
    const int32_t there = carried(old_a.heat, weight_a, out_a), back = carried(old_b.heat, weight_b, out_b);
    a->heat += back - there;
    b->heat += there - back;
    if (is_wet(w, a) && is_wet(w, b)) {
        const int32_t flow = conducted(warmth(w, a), warmth(w, b), least(conduction(w, a), conduction(w, b)));
        a->heat -= flow;
        b->heat += flow;
    }
    plain_turn t;
    for (int32_t i = 0; i < w->liquids; i++)
        for (int32_t boils = 0; boils < 2; boils++)
            if (turn_of(w, w->order[i], boils, &t)) turn_between(w, a, b, &t);
    for (int32_t i = 0; i < w->reactions; i++) react_between(w, a, b, &w->reaction[i]);
    const int32_t wall_a = a->solid ? wall_at(w, at_a) : 0, wall_b = b->solid ? wall_at(w, at_b) : 0;
    if (wall_b && !a->solid) touch_wall(w, a, wall_b);
    if (wall_a && !b->solid) touch_wall(w, b, wall_a);
}

static void turn_within(plain_mixture *w, plain_mix *c)
{
    for (int32_t i = 0; i < w->reactions; i++) react_within(w, c, &w->reaction[i]);
    for (int32_t i = 0; i < w->liquids; i++) {
        for (int32_t boils = 0; boils < 2; boils++) {
            plain_turn t;
            if (!turn_of(w, w->order[i], boils, &t)) continue;
            int32_t units = (int32_t)((float)excess(w, c, &t) / (float)t.latent);
            units = most(-c->amount[t.hot], least(c->amount[t.cold], units));
            if (boils) units = least(units, most(0, GAS_MOST - volume_of(w, c, WEIR_KIND_GAS)));
            if (!can_turn(w, c, units, t.turned, units * t.heavier)) units = 0;
            if (fits(w, c, units * t.heavier)) turn(w, c, &t, units);
        }
    }
}

// Bricks that hold something, those around them, and those of emitters that act.
static void find_live(plain_mixture *w)
{
    const weir_coord low = w->box.min, high = w->box.max;
    memset(w->live, 0, (size_t)(width(w, 0) * width(w, 1) * width(w, 2)) / 512);
    EACH_CELL(at, w->box)
    {
        if (!is_wet(w, plain_mixture_at(w, at))) continue;
        for (int32_t k = 0; k < 27; k++) {
            const weir_coord near = {at.x + 8 * (k % 3 - 1), at.y + 8 * (k / 3 % 3 - 1), at.z + 8 * (k / 9 - 1)};
            if (holds((weir_box){low, high}, near)) *live_at(w, near) = 1;
        }
    }
    for (int32_t i = 0; i < w->sources; i++) {
        if (w->source[i].kind != WEIR_SOURCE_EMITTER || due_of(&w->source[i]) == 0) continue;
        EACH_CELL(at, w->source[i].box) * live_at(w, at) = 1;
    }
}

static void sweep(plain_mixture *w, int axis)
{
    const int32_t odd = (int32_t)(w->update & 1);
    EACH_CELL(at, w->box)
    {
        const int32_t along = axis == 0 ? at.x : axis == 1 ? at.y : at.z;
        if (((along + odd) & 1) != 0) continue;
        weir_coord next = at;
        *(axis == 0 ? &next.x : axis == 1 ? &next.y : &next.z) += 1;
        if (axis == 1)
            pair_up(w, next, at, true);
        else
            pair_up(w, at, next, false);
    }
}

void plain_mixture_update(plain_mixture *w)
{
    find_live(w);
    apply_sources(w);
    const bool z_first = ((w->update / 2 + w->update) & 1) != 0;
    sweep(w, z_first ? 2 : 0);
    sweep(w, z_first ? 0 : 2);
    sweep(w, 1);
    EACH_CELL(at, w->box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        if (!c->solid && is_wet(w, c)) turn_within(w, c);
    }
    EACH_CELL(at, w->box)
    {
        plain_mix *c = plain_mixture_at(w, at);
        for (int32_t i = 0; i < w->kinds - 1 && c->outside; i++)
            if (c->amount[w->order[i]] > 0) take(w, c, w->order[i], c->amount[w->order[i]], &w->heat.drained);
        harden(w, c);
    }
    w->update++;
}
