// Sky, sun and terrain: what is around the water.
#include "surface/picture_scene.h"

#define SUN_LIGHT 1.9f
#define NUDGE 1e-3  // off a face, so that a shadow's ray does not meet it again

static const weir_vec SUN_COLOUR = {1.0f, 0.96f, 0.88f};
static const weir_vec STONE = {0.52f, 0.49f, 0.44f};
static const weir_vec FLOOR = {0.58f, 0.57f, 0.54f};

// ---- Sky -------------------------------------------------------------------------------------------------------------------

weir_vec picture_sky(weir_vec d)
{
    static const weir_vec zenith = {0.16f, 0.36f, 0.70f}, horizon = {0.66f, 0.78f, 0.90f}, ground = {0.34f, 0.40f, 0.48f};
    if (d.y < 0) return vec_mix(horizon, ground, smooth_step(0, 0.8f, -d.y));
    return vec_mix(horizon, zenith, 1 - (1 - d.y) * (1 - d.y));
}

// ---- Where terrain is ------------------------------------------------------------------------------------------------------

bool picture_floor(const picture_scene *s, const picture_ray *r, double begin, double end, solid_hit *hit)
{
    const picture_grid *g = &s->grid;
    if (!s->floor || r->d[1] >= 0) return false;
    double t = (g->bounds_low[1] - r->o[1]) * r->inverse[1];
    double x = r->o[0] + r->d[0] * t, z = r->o[2] + r->d[2] * t;
    bool on = x >= g->bounds_low[0] && x <= g->bounds_high[0] && z >= g->bounds_low[2] && z <= g->bounds_high[2];
    if (!on || t < begin || t > end) return false;
    *hit = (solid_hit){.t = t, .p = {x, g->bounds_low[1], z}, .axis = 1, .side = 1, .floor = true};
    return true;
}

static bool solid_at(const picture_grid *g, const int32_t cell[3])
{
    if (cell[0] < 0 || cell[1] < 0 || cell[2] < 0) return false;
    int32_t block = grid_at(g, cell[0] >> 3, cell[1] >> 3, cell[2] >> 3);
    return block && mask_has(&g->blocks[block].solid, (cell[0] & 7) + 8 * (cell[1] & 7) + 64 * (cell[2] & 7));
}

static int32_t cell_of(double p)
{
    int32_t cell = (int32_t)p;
    return cell - (cell > p);
}

// How much of the sky terrain takes from a point of a face: of the nine cells before the face those that are solid, weighted so that
// it changes softly along the face.
static float hidden_sky(const picture_grid *g, const solid_hit *hit)
{
    int32_t u = (hit->axis + 1) % 3, v = (hit->axis + 2) % 3, cell[3];
    int32_t at_u = cell_of(hit->p[u]), at_v = cell_of(hit->p[v]);
    cell[hit->axis] = cell_of(hit->p[hit->axis] + 0.5 * hit->side);
    cell[u] = at_u, cell[v] = at_v;
    // Mostly all nine are in one block, and mostly there is no terrain in it.
    bool one_block = ((at_u + 1) & 7) > 1 && ((at_v + 1) & 7) > 1;
    if (one_block && at_u >= 0 && at_v >= 0 && cell[hit->axis] >= 0) {
        int32_t block = grid_at(g, cell[0] >> 3, cell[1] >> 3, cell[2] >> 3);
        if (!block || mask_empty(&g->blocks[block].solid)) return 0;
    }
    spline_weights at = spline_at((four_floats){(float)(hit->p[u] - at_u), (float)(hit->p[v] - at_v), 0, 0});
    float hidden = 0;
    for (int32_t j = -1; j <= 1; j++) {
        for (int32_t i = -1; i <= 1; i++) {
            cell[u] = at_u + i;
            cell[v] = at_v + j;
            if (solid_at(g, cell)) hidden += at.w[i + 1][0] * at.w[j + 1][1];
        }
    }
    return hidden;
}

// ---- Light -----------------------------------------------------------------------------------------------------------------

// What the water on the way takes, in cells; or -1 if terrain is in the way.
static float water_before_sun(const picture_scene *s, const picture_ray *r)
{
    const picture_grid *g = &s->grid;
    ray_part part;
    if (!ray_cut(r, g->low, g->high, &part)) return 0;
    float length = 0;
    block_walk w = walk_begin(g, r, part.begin, part.end, part.entered);
    while (walk_next(&w)) {
        const grid_block *block = &g->blocks[w.block];
        if (block->full) {
            length += (float)(w.out - w.in);
            continue;
        }
        if (!(cells_groups(&w) & block->stop_groups)) continue;
        cell_walk c = cells_begin(&w);
        do {
            if (!cells_in(&c, &block->stops)) continue;
            if (cells_in(&c, &block->solid)) return -1;
            float out = cells_out(&c), part_of = 1;
            if (block->tile && cells_in(&c, &block->mixed)) {
                const float *corner = grid_corner(block->tile, c.x, c.y, c.z);
                part_of = grid_fill(corner, cells_place(&c, 0.5f * (c.t + out)));
            }
            length += part_of * (out - c.t);
        } while (cells_next(&c));
    }
    return length;
}

PICTURE_HOT static float sunlight(const picture_scene *s, const double p[3], weir_vec normal)
{
    if (vec_dot(normal, s->sun) <= 0) return 0;
    double from[3] = {p[0] + NUDGE * normal.x, p[1] + NUDGE * normal.y, p[2] + NUDGE * normal.z};
    picture_ray r = ray_from(from, s->sun);
    float water = water_before_sun(s, &r);
    // Water scatters light forward: a shadow of water is never dark.
    return water < 0 ? 0 : 0.35f + 0.65f * expf(-water * s->absorb.y * 1.5f);
}

float picture_sunlight(const picture_scene *s, const double p[3], weir_vec normal)
{
    return sunlight(s, p, normal);
}

float picture_line(float from, float half_width, float footprint)
{
    float wide = 0.5f * footprint + 1e-6f;
    float covered = clampf((half_width - from) / (2 * wide) + 0.5f, 0, 1);
    // A line that is thinner than a pixel covers that share of it.
    return covered * least_of(1, 2 * half_width / (2 * wide));
}

// Lines on the floor at every eighth cell, to see sizes by.
static float floor_lines(const picture_grid *g, const solid_hit *hit, float footprint)
{
    double x = hit->p[0] - g->bounds_low[0], z = hit->p[2] - g->bounds_low[2];
    float from_x = (float)fabs(x - 8 * floor(x / 8 + 0.5)), from_z = (float)fabs(z - 8 * floor(z / 8 + 0.5));
    return most_of(picture_line(from_x, 0.08f, footprint), picture_line(from_z, 0.08f, footprint));
}

weir_vec picture_terrain(const picture_scene *s, const solid_hit *hit, float lit, float footprint)
{
    float normal[3] = {0, 0, 0};
    normal[hit->axis] = (float)hit->side;
    weir_vec n = vec(normal[0], normal[1], normal[2]);
    weir_vec colour = hit->floor ? FLOOR : STONE;
    if (hit->floor) colour = vec_scale(colour, 1 - 0.22f * floor_lines(&s->grid, hit, footprint));
    // From above comes the sky's light, from below what the ground throws back.
    weir_vec ambient = vec_mix(vec(0.26f, 0.25f, 0.24f), vec(0.44f, 0.50f, 0.58f), 0.5f + 0.5f * n.y);
    ambient = vec_scale(ambient, 1 - 0.75f * hidden_sky(&s->grid, hit));
    float sun = SUN_LIGHT * 0.5f * lit * most_of(0, vec_dot(n, s->sun));
    return vec_mul(colour, vec_add(ambient, vec_scale(SUN_COLOUR, sun)));
}
