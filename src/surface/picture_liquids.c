// How materials look. Each liquid takes light of its own colours on the way through it and sends its own back, in proportion to its share
// of a cell; solids, lava and mercury are met as surfaces of their own, in the air and in a liquid; gases are picture_gas.c's. What is
// smoothed into the water's surface is the fill of all but gases together; shares are read from the eight cells around a place, so that
// colours run into each other over a cell.
#include "surface/picture_scene.h"

// So that the thickest look thick and none is black.
#define DARKEST 0.02f
#define CLEAREST 0.9f

enum { FULL_SHARE = 255 };

static float absorbed(float light)
{
    return -logf(clampf(light, DARKEST, CLEAREST));
}

static picture_material look_of(const weir_material_def *def, weir_material material, float clarity)
{
    const weir_vec light = picture_light(vec(def->colour[0], def->colour[1], def->colour[2]));
    picture_material m = {
        .absorb = vec_scale(vec(absorbed(light.x), absorbed(light.y), absorbed(light.z)), 3 / clarity),
        .deep = vec_scale(light, 0.8f),
        .light = light,
        .gas = def->kind == WEIR_KIND_GAS,
    };
    if (def->kind == WEIR_KIND_SOLID) m.cover = material == WEIR_ICE ? 0.75f : 1;
    if (material == WEIR_LAVA) m.cover = m.glow = 1;
    if (material == WEIR_MERCURY) m.cover = m.mirror = 1;
    return m;
}

void picture_set_liquids(picture_scene *s, float clarity)
{
    const picture_grid *g = &s->grid;
    s->several = g->kinds > 0;
    for (int32_t i = 0; i < g->kinds; i++) {
        const weir_material material = g->kind[i];
        s->materials[i] = look_of(&g->world->materials[material].def, material, clarity);
        if (material != WEIR_WATER) continue;
        s->materials[i].absorb = s->absorb;
        s->materials[i].deep = PICTURE_DEEP;
    }
}

// ---- What is at a place ------------------------------------------------------------------------------------------------------

// The shares of a cell, or NULL where nothing is.
static const uint8_t *shares_at(const picture_grid *g, int32_t x, int32_t y, int32_t z)
{
    const int32_t block = grid_at(g, x >> 3, y >> 3, z >> 3);
    if (block <= 0 || !g->blocks[block].shares) return NULL;
    return g->blocks[block].shares + g->kinds * ((x & 7) + 8 * (y & 7) + 64 * (z & 7));
}

void picture_shares_at(const picture_scene *s, const double p[3], float shares[WEIR_MATERIAL_MAX])
{
    const picture_grid *g = &s->grid;
    int32_t low[3];
    float u[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        const double at = p[axis] - 0.5;
        low[axis] = (int32_t)floor(at);
        u[axis] = (float)(at - low[axis]);
    }
    for (int32_t i = 0; i < g->kinds; i++) shares[i] = 0;
    for (int32_t k = 0; k < 8; k++) {
        const uint8_t *cell = shares_at(g, low[0] + (k & 1), low[1] + (k >> 1 & 1), low[2] + (k >> 2));
        const float weight = (k & 1 ? u[0] : 1 - u[0]) * (k & 2 ? u[1] : 1 - u[1]) * (k & 4 ? u[2] : 1 - u[2]);
        for (int32_t i = 0; i < g->kinds && cell; i++) shares[i] += weight * (1.0f / FULL_SHARE) * (float)cell[i];
    }
}

static float all_but_gas(const picture_scene *s, const float shares[WEIR_MATERIAL_MAX])
{
    float sum = 0;
    for (int32_t i = 0; i < s->grid.kinds; i++) sum += s->materials[i].gas ? 0 : shares[i];
    return sum;
}

// The smoothed surface reaches out of cells that hold something: the fullest one beside the place tells.
static void shares_beside(const picture_scene *s, const double p[3], float shares[WEIR_MATERIAL_MAX])
{
    float most = 0, found[WEIR_MATERIAL_MAX];
    for (int32_t k = 0; k < 27; k++) {
        const double q[3] = {p[0] + k % 3 - 1, p[1] + k / 3 % 3 - 1, p[2] + k / 9 - 1};
        picture_shares_at(s, q, found);
        const float sum = all_but_gas(s, found);
        if (sum <= most) continue;
        most = sum;
        for (int32_t i = 0; i < s->grid.kinds; i++) shares[i] = found[i];
    }
}

picture_mix picture_mix_at(const picture_scene *s, const double p[3])
{
    const float little = 0.02f;
    float shares[WEIR_MATERIAL_MAX];
    picture_shares_at(s, p, shares);
    float sum = all_but_gas(s, shares);
    if (sum < little) {
        shares_beside(s, p, shares);
        sum = all_but_gas(s, shares);
    }
    picture_mix mix = {.covering = -1};
    float clear = 0, most = 0;
    for (int32_t i = 0; i < s->grid.kinds && sum > 0; i++) {
        const picture_material *m = &s->materials[i];
        const float share = m->gas ? 0 : shares[i] / sum;
        if (m->cover > 0) {
            mix.covered += share;
            if (share > most) most = share, mix.covering = i;
            continue;
        }
        clear += share;
        mix.absorb = vec_add(mix.absorb, vec_scale(m->absorb, share));
        mix.deep = vec_add(mix.deep, vec_scale(m->deep, share));
    }
    if (clear > 0) {
        mix.absorb = vec_scale(mix.absorb, 1 / clear);
        mix.deep = vec_scale(mix.deep, 1 / clear);
    } else {
        mix.absorb = s->absorb;
        mix.deep = mix.covering >= 0 ? s->materials[mix.covering].deep : PICTURE_DEEP;
    }
    return mix;
}

// Away from what covers.
weir_vec picture_cover_normal(const picture_scene *s, const double p[3], weir_vec otherwise)
{
    float slope[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        double low[3] = {p[0], p[1], p[2]}, high[3] = {p[0], p[1], p[2]};
        low[axis] -= 0.6;
        high[axis] += 0.6;
        slope[axis] = picture_mix_at(s, low).covered - picture_mix_at(s, high).covered;
    }
    const weir_vec normal = vec(slope[0], slope[1], slope[2]);
    return vec_dot(normal, normal) > 1e-4f ? vec_unit(normal) : otherwise;
}

// ---- What is seen of it ------------------------------------------------------------------------------------------------------

static weir_vec glow(weir_vec light, weir_vec normal, const picture_scene *s)
{
    const weir_vec hot = vec(light.x * 1.6f, light.y * 3.2f, light.z * 2.0f);
    const float facing = most_of(0, vec_dot(normal, s->sun)), up = most_of(0, normal.y);
    return vec_add(vec_scale(vec_mix(light, hot, up * up * 0.5f), 0.75f + 0.25f * facing), vec_scale(light, 0.15f));
}

weir_vec picture_cover(const picture_scene *s, int32_t kind, const double p[3], weir_vec normal, weir_vec direction)
{
    const picture_material *m = &s->materials[kind];
    if (m->glow > 0) return glow(m->light, normal, s);
    if (vec_dot(normal, direction) > 0) normal = vec_scale(normal, -1);
    const float sun = 0.95f * picture_sunlight(s, p, normal) * most_of(0, vec_dot(normal, s->sun));
    const weir_vec ambient = vec_mix(vec(0.26f, 0.25f, 0.24f), vec(0.44f, 0.50f, 0.58f), 0.5f + 0.5f * normal.y);
    const weir_vec matt = vec_mul(m->light, vec_add(ambient, vec_scale(vec(1.0f, 0.96f, 0.88f), sun)));
    if (!(m->mirror > 0)) return matt;
    const weir_vec away = vec_sub(direction, vec_scale(normal, 2 * vec_dot(direction, normal)));
    const float toward = most_of(0, vec_dot(away, s->sun)), glint = powf(toward, 60) * 1.5f;
    const weir_vec sky = vec_add(picture_sky(away), vec(glint, glint, glint));
    return vec_add(vec_scale(vec_mul(m->light, sky), 0.85f), vec_scale(matt, 0.15f));
}

weir_vec picture_cube_colour(const picture_scene *s, const uint8_t *shares, float fill)
{
    const weir_vec water = s->colours[(int32_t)(fill * (PICTURE_COLOURS - 1) + 0.5f)];
    weir_vec sum = {0, 0, 0};
    float all = 0;
    for (int32_t i = 0; i < s->grid.kinds && shares; i++) {
        if (s->materials[i].gas || shares[i] == 0) continue;
        const float share = (float)shares[i];
        // Others than water have their own colour, and are dark where there is little.
        const weir_vec own = vec_scale(s->materials[i].light, 0.5f + 0.5f * fill);
        sum = vec_add(sum, vec_scale(s->grid.kind[i] == WEIR_WATER ? water : own, share));
        all += share;
    }
    return all > 0 ? vec_scale(sum, 1 / all) : water;
}
