// Which materials a world of mixture holds, and what they are like to the laws. A material gets its channel when it is first put in, and
// with it all that it can turn into.
#include "solvers/mixture/mixture.h"

#include <assert.h>

// ---- Numbers -----------------------------------------------------------------------------------------------------------------

// By viscosity, each eight times that of the one before. Compared and not computed, so that all machines agree.
static int32_t rate_of(float viscosity, bool gas)
{
    static const int32_t rates[] = {224, 192, 128, 64, 16, 6, 2};
    int32_t i = 0;
    for (float least = 8; i < 6 && viscosity >= least; least *= 8) i++;
    return gas && i == 0 ? rates[1] : rates[i];
}

static int32_t whole(float value, float unit, int32_t least, int32_t most)
{
    const float scaled = value * unit + 0.5f;
    return scaled < (float)least ? least : scaled > (float)most ? most : (int32_t)scaled;
}

static int32_t quarters(float kelvins)
{
    return whole(kelvins, 4, 1, 4 * WEIR_TEMPERATURE_MAX);
}

static mixture_fluid fluid_of(const world_material *materials, weir_material material, int32_t channel)
{
    const weir_material_def *def = &materials[material].def;
    mixture_fluid f = {.material = material, .kind = def->kind, .channel = channel};
    const bool gas = def->kind == WEIR_KIND_GAS;
    f.rate = rate_of(def->viscosity, gas);
    f.up = gas ? (int32_t)(256.0f / (1.0f + def->density / MIXTURE_AIR)) : 0;
    f.heat = whole(def->heat_capacity, 8, 1, gas ? 4 : 8);
    f.conducts = whole(def->conductivity, 32, 0, 128 * f.heat);
    f.warm = quarters(def->temperature);
    return f;
}

// ---- The order ---------------------------------------------------------------------------------------------------------------

// Liquids first, then gases, then solids.
static bool comes_before(const world_material *materials, const mixture_fluid *a, const mixture_fluid *b)
{
    const float x = materials[a->material].def.density, y = materials[b->material].def.density;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (x != y) return a->kind == WEIR_KIND_GAS ? x < y : x > y;
    return a->material < b->material;
}

int32_t mixture_place(const mixture_order *order, weir_material material)
{
    for (int32_t i = 0; i < order->count; i++)
        if (order->fluid[i].material == material) return i;
    return -1;
}

static void add_change(mixture_order *order, int32_t cold, int32_t hot, float point, float heat, bool boils)
{
    if (cold < 0 || hot < 0) return;
    mixture_change change = {.cold = cold, .hot = hot, .point = quarters(point), .boils = boils};
    change.latent = whole(heat, 32, 1, 32 * 2000);
    change.turned = change.latent + (order->fluid[cold].heat - order->fluid[hot].heat) * change.point;
    order->change[order->changes++] = change;
}

// Of what a unit holds besides its warmth: materials are alike at the temperature of a room, a solid and a gas differ from their liquid
// by what freezing and boiling takes.
static int32_t heat_of_forming(const mixture_order *order, int32_t place)
{
    for (int32_t i = 0; i < order->changes; i++) {
        const mixture_change *c = &order->change[i];
        if (c->boils && c->hot == place) return c->turned - order->fluid[c->cold].heat * quarters(WEIR_TEMPERATURE);
        if (!c->boils && c->cold == place) return -c->turned - order->fluid[c->hot].heat * quarters(WEIR_TEMPERATURE);
    }
    return -order->fluid[place].heat * quarters(WEIR_TEMPERATURE);
}

// The place of a product; false: it has none so far.
static bool place_product(const mixture_order *order, weir_material to, int32_t *place)
{
    *place = to == WEIR_NOTHING ? MIXTURE_LEAVES : to == WEIR_TERRAIN ? MIXTURE_HARDENS : mixture_place(order, to);
    return to <= WEIR_NOTHING || *place >= 0;
}

// How much more gas there is for a unit of a material that becomes another.
static int32_t more_gas(const mixture_order *order, int32_t from, int32_t to)
{
    return (to >= 0 && order->fluid[to].kind == WEIR_KIND_GAS) - (order->fluid[from].kind == WEIR_KIND_GAS);
}

// What leaves takes along what its material was.
static void add_reaction(mixture_order *order, const weir_reaction_def *def)
{
    enum { HEAT_MOST = 32 * 8000 };
    mixture_reaction r = {.first = mixture_place(order, def->first), .second = mixture_place(order, def->second)};
    if (r.first < 0 || r.second < 0 || !place_product(order, def->first_to, &r.first_to) ||
        !place_product(order, def->second_to, &r.second_to))
        return;
    const int32_t first = r.first_to < 0 ? r.first : r.first_to, second = r.second_to < 0 ? r.second : r.second_to;
    const int32_t first_weight = order->fluid[first].heat, second_weight = order->fluid[second].heat;
    r.law.rate = whole(def->rate, 256, 1, 256);
    r.law.out_first = order->fluid[r.first].heat;
    r.law.out_second = order->fluid[r.second].heat;
    r.law.in_first = r.first_to < 0 ? 0 : first_weight;
    r.law.in_second = r.second_to < 0 ? 0 : second_weight;
    r.law.gas_first = more_gas(order, r.first, r.first_to);
    r.law.gas_second = more_gas(order, r.second, r.second_to);
    r.law.weight = first_weight + second_weight;
    const int32_t most = whole(def->heat < 0 ? -def->heat : def->heat, 32, 0, HEAT_MOST);
    r.law.taken = heat_of_forming(order, first) + heat_of_forming(order, second) - heat_of_forming(order, r.first) -
                  heat_of_forming(order, r.second) - (def->heat < 0 ? -most : most);
    order->hardens |= r.first_to == MIXTURE_HARDENS || r.second_to == MIXTURE_HARDENS;
    order->reaction[order->reactions++] = r;
}

void mixture_arrange(const world_material *materials, uint32_t known, const int32_t channel[WEIR_MATERIAL_MAX],
                     mixture_order *order)
{
    *order = (mixture_order){.count = 0};
    for (weir_material m = 1; m < WEIR_MATERIAL_MAX; m++) {
        if (!(known >> m & 1)) continue;
        const mixture_fluid f = fluid_of(materials, m, channel[m]);
        int32_t at = order->count++;
        assert(order->count <= MIXTURE_FLUIDS);
        for (; at > 0 && comes_before(materials, &f, &order->fluid[at - 1]); at--) order->fluid[at] = order->fluid[at - 1];
        order->fluid[at] = f;
        order->liquids += f.kind == WEIR_KIND_LIQUID;
        order->gases += f.kind == WEIR_KIND_GAS;
    }
    for (int32_t i = 0; i < order->liquids; i++) {
        const weir_material_def *def = &materials[order->fluid[i].material].def;
        if (def->freezes_to)
            add_change(order, mixture_place(order, def->freezes_to), i, def->melting_point, def->melting_heat, false);
        if (def->boils_to)
            add_change(order, i, mixture_place(order, def->boils_to), def->boiling_point, def->boiling_heat, true);
    }
}

static uint32_t bit_of(const mixture_order *order, int32_t place)
{
    return UINT32_C(1) << order->fluid[place].material;
}

void mixture_choose(const mixture_order *all, uint32_t materials, mixture_order *order)
{
    int32_t place[MIXTURE_FLUIDS];
    order->count = order->liquids = order->gases = order->changes = order->reactions = 0;
    order->hardens = false;
    for (int32_t i = 0; i < all->count; i++) {
        place[i] = -1;
        if (!(materials & bit_of(all, i))) continue;
        place[i] = order->count;
        order->fluid[order->count++] = all->fluid[i];
        order->liquids += all->fluid[i].kind == WEIR_KIND_LIQUID;
        order->gases += all->fluid[i].kind == WEIR_KIND_GAS;
    }
    for (int32_t i = 0; i < all->changes; i++) {
        mixture_change change = all->change[i];
        if (place[change.cold] < 0 || place[change.hot] < 0) continue;
        change.cold = place[change.cold];
        change.hot = place[change.hot];
        order->change[order->changes++] = change;
    }
    for (int32_t i = 0; i < all->reactions; i++) {
        mixture_reaction r = all->reaction[i];
        r.first = place[r.first];
        r.second = place[r.second];
        if (r.first < 0 || r.second < 0) continue;
        if (r.first_to >= 0) r.first_to = place[r.first_to];
        if (r.second_to >= 0) r.second_to = place[r.second_to];
        order->hardens |= r.first_to == MIXTURE_HARDENS || r.second_to == MIXTURE_HARDENS;
        order->reaction[order->reactions++] = r;
    }
}

// With what comes of some materials that react; true: some do.
static bool add_reacted(const mixture_order *all, uint32_t *materials)
{
    bool any = false;
    for (int32_t i = 0; i < all->reactions; i++) {
        const mixture_reaction *r = &all->reaction[i];
        if (!(*materials & bit_of(all, r->first)) || !(*materials & bit_of(all, r->second))) continue;
        any = true;
        if (r->first_to >= 0) *materials |= bit_of(all, r->first_to);
        if (r->second_to >= 0) *materials |= bit_of(all, r->second_to);
    }
    return any;
}

uint32_t mixture_reach(const mixture_order *all, uint32_t materials, int32_t low, int32_t high, int32_t margin)
{
    low -= margin;
    high += margin;
    for (bool more = true; more;) {
        const uint32_t had = materials;
        // What reacts may come out at any temperature.
        if (add_reacted(all, &materials)) low = 0, high = 4 * WEIR_TEMPERATURE_MAX;
        more = materials != had;
        for (int32_t i = 0; i < all->changes; i++) {
            const mixture_change *c = &all->change[i];
            const uint32_t cold = bit_of(all, c->cold), hot = bit_of(all, c->hot), both = cold | hot;
            const int32_t least = low, most = high;
            if (!rule_mixture_reaches(materials & cold, materials & hot, c->point, margin, &low, &high)) continue;
            more = more || least != low || most != high || (both & ~materials);
            materials |= both;
        }
    }
    return materials;
}

// ---- Channels ----------------------------------------------------------------------------------------------------------------

// With all that some materials can turn into, also by reactions.
static uint32_t with_products(const weir_world *world, uint32_t materials)
{
    uint32_t all = materials;
    for (bool more = true; more;) {
        more = false;
        for (weir_material m = 1; m < world->material_count; m++) {
            const weir_material_def *def = &world->materials[m].def;
            uint32_t group = UINT32_C(1) << m;
            if (def->freezes_to) group |= UINT32_C(1) << def->freezes_to;
            if (def->boils_to) group |= UINT32_C(1) << def->boils_to;
            if (!(group & all) || !(group & ~all)) continue;
            all |= group;
            more = true;
        }
        for (int32_t i = 0; i < world->reactions.count; i++) {
            const weir_reaction_def *r = &world->reactions.items[i];
            uint32_t products = 0;
            if (!(all >> r->first & 1) || !(all >> r->second & 1)) continue;
            if (r->first_to > WEIR_NOTHING) products |= UINT32_C(1) << r->first_to;
            if (r->second_to > WEIR_NOTHING) products |= UINT32_C(1) << r->second_to;
            more = more || (products & ~all);
            all |= products;
        }
    }
    return all;
}

void mixture_learn(mixture *s)
{
    int32_t channel[WEIR_MATERIAL_MAX] = {0};
    for (int32_t i = 0; i < s->order.count; i++) channel[s->order.fluid[i].material] = s->order.fluid[i].channel;
    mixture_arrange(s->cells.world->materials, s->known, channel, &s->order);
    for (int32_t i = 0; i < s->cells.world->reactions.count; i++) add_reaction(&s->order, &s->cells.world->reactions.items[i]);
}

void mixture_name_channel(mixture *s)
{
    assert(s->layout.count < MIXTURE_CHANNELS);
    s->channels[s->layout.count++] = (cell_channel){.name = "amounts",
                                                    .type = CHANNEL_UNITS,
                                                    .bytes = sizeof(uint16_t),
                                                    .kept = true,
                                                    .next = CHANNEL_NONE,
                                                    .max = MIXTURE_AMOUNT_MOST};
}

static weir_status add_channel(mixture *s, weir_material material)
{
    int32_t channel;
    const weir_status status = bricks_add_channel(&s->cells.pool, sizeof(uint16_t), &channel);
    if (status != WEIR_OK) return status;
    mixture_name_channel(s);
    s->order.fluid[s->order.count++] =
        (mixture_fluid){.material = material, .channel = channel};  // arranged when all are there
    return WEIR_OK;
}

static weir_status know_all(mixture *s, uint32_t wanted)
{
    const weir_world *world = s->cells.world;
    const int32_t channels = s->layout.count, count = s->order.count;
    weir_status status = WEIR_OK;
    for (weir_material m = 1; m < world->material_count && status == WEIR_OK; m++)
        if (wanted >> m & 1 && !(s->known >> m & 1)) status = add_channel(s, m);
    if (status == WEIR_OK) {
        s->known |= wanted;
        mixture_learn(s);
    } else {
        bricks_drop_channels(&s->cells.pool, channels);
        s->layout.count = channels;
        s->order.count = count;
    }
    return status;
}

weir_status mixture_know(mixture *s, uint32_t materials)
{
    const weir_world *world = s->cells.world;
    const uint32_t fresh = materials & ~s->known;
    if (fresh == 0) return WEIR_OK;
    const uint32_t wanted = with_products(world, s->known | fresh);
    if (__builtin_popcount(wanted) > MIXTURE_FLUIDS)
        return status_fail(WEIR_ERROR_LIMIT,
                           "a world of mixture holds %d materials at most; %s, with what it turns into, would make them %d",
                           MIXTURE_FLUIDS, world->materials[__builtin_ctz(fresh)].name, __builtin_popcount(wanted));
    return know_all(s, wanted);
}

weir_status mixture_know_products(mixture *s)
{
    const weir_world *world = s->cells.world;
    for (weir_material m = 1; m < world->material_count; m++) {
        const weir_material_def *def = &world->materials[m].def;
        const uint32_t parts = UINT32_C(1) << def->freezes_to | UINT32_C(1) << def->boils_to;
        if (s->known >> m & 1 || !(s->known & parts & ~UINT32_C(1))) continue;
        const weir_status status = mixture_know(s, UINT32_C(1) << m);
        if (status == WEIR_ERROR_MEMORY) return status;
    }
    return WEIR_OK;
}

weir_status mixture_reaction_prepare(void *state, const weir_reaction_def *def)
{
    mixture *s = state;
    const weir_world *world = s->cells.world;
    const uint32_t wanted = with_products(world, s->known);
    if (__builtin_popcount(wanted) > MIXTURE_FLUIDS)
        return status_fail(
            WEIR_ERROR_LIMIT,
            "a world of mixture holds %d materials at most; what comes of the reaction of %s and %s would make them %d",
            MIXTURE_FLUIDS, world->materials[def->first].name, world->materials[def->second].name, __builtin_popcount(wanted));
    return know_all(s, wanted);
}

void mixture_reactions_changed(void *state)
{
    mixture *s = state;
    mixture_learn(s);
    mixture_wake_all(s);
}
