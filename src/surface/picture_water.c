// The water look. A ray goes on from one meeting with the water's surface to the next: at the first one the sky is reflected, at every
// one the ray is bent, and water takes light on the way. It ends at terrain, at the floor or in the sky.
//
// Where there are several materials (picture_liquids.c, picture_gas.c) each step through a liquid takes and sends back light by the
// shares of what is there, solids and what else hides what is behind it are met inside of it too, and gas is gone through in the air.
#include "surface/picture_scene.h"

#define BEND (1 / 1.33f)  // air to water
#define MEETINGS 4        // with the surface, at most
#define STEP 0.75f        // through several liquids, cells
#define COVERED 0.5f      // share of a solid at its surface
#define YOUNG 0.05        // so far from where it begins on the surface a ray does not look for it, cells
#define SUN_GLINT 900.0f  // how small the sun's mirror image is

typedef enum meeting_kind { MEETS_NOTHING, MEETS_SURFACE, MEETS_TERRAIN } meeting_kind;

typedef struct meeting {
    meeting_kind kind;
    double t;
    int32_t axis;     // of the face of terrain, or of the flat side through which water is entered; -1: none
    weir_vec normal;  // of the surface, towards the air
} meeting;

// ---- The surface in a cell -------------------------------------------------------------------------------------------------

// The surface between two distances in a cell, where the fill is on different sides of it. A few steps of the false position
// rule (Illinois): the spline is so smooth that a thousandth of a cell is reached.
static float find_root(const float *corner, const cell_walk *c, float sign, float a, float fa, float b, float fb)
{
    for (int32_t i = 0; i < 4; i++) {
        float t = (a * fb - b * fa) / (fb - fa);
        float f = sign * (grid_fill(corner, cells_place(c, t)) - GRID_SURFACE);
        if (fabsf(f) < 1e-3f) return t;
        if ((f < 0) == (fb < 0)) {
            b = t, fb = f;
            fa *= 0.5f;
        } else {
            a = b, fa = fb;
            b = t, fb = f;
        }
    }
    return (a * fb - b * fa) / (fb - fa);
}

// Looks for the surface in a mixed cell, for a ray that is in the air or in the water when it comes in. A young ray begins on the
// surface, where the fill does not tell on which side it is.
static bool meet_surface(const float *corner, const cell_walk *c, bool in_water, bool young, float *at, float *carried)
{
    float sign = in_water ? -1 : 1;  // beyond the surface it is positive
    float begin = c->t, end = cells_out(c), middle = 0.5f * (begin + end);
    float f_begin = young || isnan(*carried) ? sign * (grid_fill(corner, cells_place(c, begin)) - GRID_SURFACE) : *carried;
    float f_end = sign * (grid_fill(corner, cells_place(c, end)) - GRID_SURFACE);
    *carried = f_end;
    if (!young && f_begin >= 0) {
        *at = begin;
        return true;
    }
    if (f_begin < 0 && f_end >= 0) {
        *at = find_root(corner, c, sign, begin, f_begin, end, f_end);
        return true;
    }
    // The smoothed fill bends so little that between the ends it is at most this much above them.
    float length = end - begin, highest = most_of(f_begin, f_end) + 0.15f * length * length;
    if (highest < 0) return false;
    float f_middle = sign * (grid_fill(corner, cells_place(c, middle)) - GRID_SURFACE);
    if (f_begin < 0 && f_middle < 0) {
        // A thin sheet may lie between: the parabola through the three tells where to look once more.
        float bend = f_begin - 2 * f_middle + f_end, slope = f_begin - f_end;
        if (!(bend < 0) || f_middle - slope * slope / (8 * bend) < -0.1f || fabsf(slope) > -2 * bend) return false;
        middle += 0.25f * length * slope / bend;
        f_middle = sign * (grid_fill(corner, cells_place(c, middle)) - GRID_SURFACE);
    }
    if (f_begin < 0 && f_middle >= 0) {
        *at = find_root(corner, c, sign, begin, f_begin, middle, f_middle);
        return true;
    }
    if (f_end < 0) return false;
    // A young ray that goes on, and meets the surface in the second half; or one that leaves at once.
    *at = f_middle < 0 ? find_root(corner, c, sign, middle, f_middle, end, f_end) : begin;
    return true;
}

static meeting terrain_met(const block_walk *w, const cell_walk *c)
{
    return (meeting){.kind = MEETS_TERRAIN, .t = w->in + c->t, .axis = c->entered < 0 ? 1 : c->entered};
}

static weir_vec face_normal(const picture_ray *r, int32_t axis)
{
    float n[3] = {0, 0, 0};
    n[axis] = r->d[axis] > 0 ? -1.0f : 1.0f;
    return vec(n[0], n[1], n[2]);
}

// The water's side against a wall, or against what the picture leaves out: flat, as if behind glass.
static meeting flat_met(const picture_ray *r, double t, int32_t axis)
{
    return (meeting){.kind = MEETS_SURFACE, .t = t, .axis = axis, .normal = face_normal(r, axis)};
}

static meeting surface_met(const block_walk *w, const cell_walk *c, const float *corner, float t)
{
    weir_vec gradient = grid_gradient(corner, cells_place(c, t));
    float length = sqrtf(vec_dot(gradient, gradient));
    weir_vec normal = length > 1e-6f ? vec_scale(gradient, -1 / length) : vec(0, 1, 0);
    return (meeting){.kind = MEETS_SURFACE, .t = w->in + t, .axis = -1, .normal = normal};
}

// ---- The way to the next meeting -------------------------------------------------------------------------------------------

// What a ray knows on its way to the next meeting.
typedef struct search {
    bool in_water;
    double young;   // up to this distance it is not asked on which side of the surface it is
    float carried;  // the fill at the end of the last cell, as meet_surface gives it; NaN: not known
} search;

static bool meet_in_block(const block_walk *w, const grid_block *block, search *way, meeting *met)
{
    cell_walk c = cells_begin(w);
    float young_until = (float)(way->young - w->in);
    do {
        if (way->in_water ? cells_in(&c, &block->water) : !cells_in(&c, &block->stops)) {
            way->carried = NAN;
            continue;
        }
        if (cells_in(&c, &block->solid)) {
            *met = terrain_met(w, &c);
            return true;
        }
        bool young = c.t < young_until, fresh = isnan(way->carried);
        if (cells_in(&c, &block->mixed)) {
            const float *corner = grid_corner(block->tile, c.x, c.y, c.z);
            float at;
            if (!meet_surface(corner, &c, way->in_water, young, &at, &way->carried)) continue;
            bool side = fresh && !young && at == c.t && c.entered >= 0;
            *met = side ? flat_met(w->ray, w->in + at, c.entered) : surface_met(w, &c, corner, at);
            return true;
        }
        if (!young) {
            *met = flat_met(w->ray, w->in + c.t, c.entered < 0 ? 1 : c.entered);
            return true;
        }
    } while (cells_next(&c));
    return false;
}

// part is that of the ray in the box of blocks; on_surface: it begins on the surface, or anywhere in the water.
static meeting next_meeting(const picture_scene *s, const picture_ray *r, const ray_part *part, bool in_water, bool on_surface)
{
    const picture_grid *g = &s->grid;
    block_walk w = walk_begin(g, r, part->begin, part->end, part->entered);
    double last = part->begin;
    search way = {in_water, on_surface ? part->begin + YOUNG : -1, NAN};
    meeting met = {.kind = MEETS_NOTHING};
    while (walk_next(&w)) {
        // Between blocks there is air.
        if (in_water && w.in > last + 1e-3) return flat_met(r, last, w.entered < 0 ? 1 : w.entered);
        last = w.out;
        const grid_block *block = &g->blocks[w.block];
        if (!(cells_groups(&w) & (in_water ? block->dry_groups : block->stop_groups))) {
            way.carried = NAN;
            continue;
        }
        if (meet_in_block(&w, block, &way, &met)) return met;
    }
    return met;
}

// ---- Light -----------------------------------------------------------------------------------------------------------------

// Schlick's approximation of Fresnel's equations.
static float reflected_share(float cosine)
{
    float away = 1 - cosine, square = away * away;
    return 0.04f + 0.96f * square * square * away;
}

static weir_vec reflect(weir_vec d, weir_vec n)
{
    return vec_sub(d, vec_scale(n, 2 * vec_dot(d, n)));
}

// Snell's law; false: the ray is reflected wholly. n points against d.
static bool refract(weir_vec d, weir_vec n, float ratio, weir_vec *bent)
{
    float cosine = -vec_dot(d, n), rest = 1 - ratio * ratio * (1 - cosine * cosine);
    if (rest < 0) return false;
    *bent = vec_unit(vec_add(vec_scale(d, ratio), vec_scale(n, ratio * cosine - sqrtf(rest))));
    return true;
}

// What the surface mirrors: the sky and the sun. Downwards it would be water again.
static weir_vec mirrored(const picture_scene *s, weir_vec d)
{
    weir_vec sky = picture_sky(vec(d.x, fabsf(d.y), d.z));
    if (d.y < 0) sky = vec_mix(sky, vec_scale(PICTURE_DEEP, 3), smooth_step(0, 0.5f, -d.y));
    float toward = most_of(0, vec_dot(d, s->sun));
    float glint = powf(toward, SUN_GLINT) * 14 + powf(toward, 60) * 0.35f;
    return vec_add(sky, vec(glint, glint, glint));
}

static weir_vec kept_of(weir_vec absorb, float length)
{
    return vec(expf(-length * absorb.x), expf(-length * absorb.y), expf(-length * absorb.z));
}

static weir_vec terrain_seen(const picture_scene *s, const picture_ray *r, const solid_hit *hit, float footprint)
{
    float lit = picture_sunlight(s, hit->p, face_normal(r, hit->axis));
    return picture_terrain(s, hit, lit, footprint);
}

// ---- The way of a ray ------------------------------------------------------------------------------------------------------

typedef struct light_path {
    weir_vec seen;   // light collected so far
    weir_vec share;  // of what comes from ahead
    bool in_water, reflected;
    bool covered;  // it is in what hides what is behind it
    float before;  // length of the way up to the ray's beginning
    float lit;     // how much light falls into the water here
} light_path;

static void pass_water(light_path *path, weir_vec absorb, weir_vec deep, float length)
{
    weir_vec kept = kept_of(absorb, length);
    weir_vec lost = vec_mul(path->share, vec_sub(vec(1, 1, 1), kept));
    path->seen = vec_add(path->seen, vec_mul(lost, vec_scale(deep, path->lit)));
    path->share = vec_mul(path->share, kept);
}

static void end_path(light_path *path, weir_vec colour)
{
    path->seen = vec_add(path->seen, vec_mul(path->share, colour));
    path->share = vec(0, 0, 0);
}

// At the surface of what hides what is behind it. Returns whether the path has ended there.
static bool meet_cover(const picture_scene *s, light_path *path, int32_t kind, const double p[3], weir_vec normal, weir_vec d)
{
    const float cover = s->materials[kind].cover;
    const weir_vec colour = picture_cover(s, kind, p, normal, d);
    path->covered = true;
    path->seen = vec_add(path->seen, vec_scale(vec_mul(path->share, colour), cover));
    path->share = vec_scale(path->share, 1 - cover);
    return cover >= 1;
}

static void place_at(const picture_ray *r, float t, double p[3])
{
    for (int32_t axis = 0; axis < 3; axis++) p[axis] = r->o[axis] + r->d[axis] * (double)t;
}

// Between two distances of which the first is outside of what covers and the second inside.
static bool enter_cover(const picture_scene *s, light_path *path, const picture_ray *r, float out, float in, int32_t kind)
{
    double p[3];
    for (int32_t i = 0; i < 5; i++) {
        const float middle = 0.5f * (out + in);
        place_at(r, middle, p);
        if (picture_mix_at(s, p).covered < COVERED)
            out = middle;
        else
            in = middle;
    }
    place_at(r, in, p);
    const weir_vec d = ray_direction(r), normal = picture_cover_normal(s, p, vec_scale(d, -1));
    return meet_cover(s, path, kind, p, normal, d);
}

// Through several liquids, step by step. Returns whether the path has ended.
static bool pass_liquids(const picture_scene *s, light_path *path, const picture_ray *r, float length)
{
    float before = 0;
    double p[3];
    for (float t = 0; t < length && path->share.y > 0.01f; t += STEP) {
        const float part = least_of(STEP, length - t), middle = t + 0.5f * part;
        place_at(r, middle, p);
        const picture_mix mix = picture_mix_at(s, p);
        const bool covered = mix.covered >= COVERED;
        if (covered && !path->covered && enter_cover(s, path, r, before, middle, mix.covering)) return true;
        path->covered = covered;
        pass_water(path, mix.absorb, mix.deep, part);
        before = middle;
    }
    return false;
}

// What a ray comes into at the surface. Returns whether the path has ended there.
static bool enter_liquid(const picture_scene *s, light_path *path, const picture_ray *r, const double p[3], weir_vec normal)
{
    const double inside[3] = {p[0] - 0.4 * (double)normal.x, p[1] - 0.4 * (double)normal.y, p[2] - 0.4 * (double)normal.z};
    const picture_mix mix = picture_mix_at(s, inside);
    path->covered = mix.covered >= COVERED;
    return path->covered && meet_cover(s, path, mix.covering, p, normal, ray_direction(r));
}

// At the surface: gives the direction in which the ray goes on.
static weir_vec cross_surface(const picture_scene *s, light_path *path, weir_vec d, const meeting *met, bool first)
{
    weir_vec n = met->normal;
    // Seen from behind, as a smoothed normal can be at an edge, the surface is seen edge-on.
    float facing = vec_dot(d, n) * (path->in_water ? -1 : 1);
    if (facing > 0) n = vec_unit(vec_sub(n, vec_scale(d, vec_dot(d, n) * 1.001f)));
    weir_vec against = path->in_water ? vec_scale(n, -1) : n, bent;
    float cosine = clampf(-vec_dot(d, against), 0, 1);
    if (path->in_water) {
        path->in_water = false;
        if (refract(d, against, 1 / BEND, &bent)) return bent;
        // Reflected wholly: once that is followed, but the thousand mirrors of a droplet are only noise.
        path->in_water = !path->reflected;
        path->reflected = true;
        return path->in_water ? reflect(d, against) : d;
    }
    path->in_water = true;
    if (first) {
        float mirror = reflected_share(cosine) * (met->axis >= 0 ? 0.6f : 1);  // less at the glass
        weir_vec light = vec_scale(mirrored(s, reflect(d, against)), mirror);
        path->seen = vec_add(path->seen, vec_mul(path->share, light));
        path->share = vec_scale(path->share, 1 - mirror);
        // More light falls into water that faces the sun: that is what shows its shape.
        path->lit = 0.7f + 0.5f * most_of(0, vec_dot(n, s->sun));
    }
    return refract(d, against, BEND, &bent) ? bent : d;
}

// Follows the ray to the next meeting; false when the path has ended.
static bool follow(const picture_scene *s, light_path *path, picture_ray *r, int32_t number)
{
    const picture_grid *g = &s->grid;
    ray_part part;
    meeting met = {.kind = MEETS_NOTHING};
    solid_hit hit;
    bool inside = ray_cut(r, g->low, g->high, &part);
    if (inside) met = next_meeting(s, r, &part, path->in_water, number > 0 || path->in_water);
    double end = met.kind == MEETS_NOTHING ? (inside ? part.end : 0) : met.t;
    const bool floor = picture_floor(s, r, 0, met.kind == MEETS_NOTHING ? WALK_FAR : met.t, &hit);
    if (s->gassy) picture_gas(s, r, 0, floor ? hit.t : met.kind == MEETS_NOTHING ? WALK_FAR : met.t, &path->seen, &path->share);
    if (path->in_water && inside && !s->several) pass_water(path, s->absorb, PICTURE_DEEP, (float)end);
    if (path->in_water && inside && s->several && pass_liquids(s, path, r, (float)end)) return false;

    if (floor) {
        end_path(path, terrain_seen(s, r, &hit, s->pixel * (path->before + (float)hit.t)));
        return false;
    }
    if (met.kind == MEETS_NOTHING) {
        end_path(path, picture_sky(ray_direction(r)));
        return false;
    }
    double p[3];
    for (int32_t axis = 0; axis < 3; axis++) p[axis] = r->o[axis] + r->d[axis] * met.t;
    path->before += (float)met.t;
    if (met.kind == MEETS_TERRAIN) {
        hit = (solid_hit){.t = met.t, .p = {p[0], p[1], p[2]}, .axis = met.axis, .side = r->d[met.axis] > 0 ? -1 : 1};
        end_path(path, terrain_seen(s, r, &hit, s->pixel * path->before));
        return false;
    }
    if (s->several && !path->in_water && enter_liquid(s, path, r, p, met.normal)) return false;
    *r = ray_from(p, cross_surface(s, path, ray_direction(r), &met, number == 0));
    return true;
}

PICTURE_HOT static weir_vec trace(const picture_scene *s, weir_vec direction)
{
    light_path path = {.share = {1, 1, 1}, .in_water = s->eye_in_water, .lit = 1};
    picture_ray r = ray_from(s->eye, direction);
    for (int32_t i = 0; i < MEETINGS; i++) {
        if (!follow(s, &path, &r, i)) return path.seen;
        if (path.share.z < 0.04f) break;
    }
    end_path(&path, picture_sky(ray_direction(&r)));
    return path.seen;
}

weir_vec picture_trace_water(const picture_scene *s, weir_vec direction)
{
    return trace(s, direction);
}
