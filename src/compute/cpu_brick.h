// Brick tiles: the values of one brick and beside its six faces, packed so that wide registers are full. Part of the solvers' cpu_kernels.c.
//
//     plane z = -1..8:   row y = -1 | rows y = 0..7 | row y = 8       8 cells each, no rim in x       PLANE_AT(z) is where row 0 begins
//
// In y and z a neighbour is a constant offset. In x it is the cell before or after, but for the cells at the brick's sides: there the
// number read is put to zero by a product with STAYS_LOW or STAYS_HIGH, and the value from beyond the side is added, which lies in an
// array that is zero in all other cells. Both give the same bits as reading the neighbour itself, since no value is a negative zero.
#ifndef WEIR_COMPUTE_CPU_BRICK_H
#define WEIR_COMPUTE_CPU_BRICK_H

#include "cells/neighbours.h"
#include "compute/cpu_tile.h"

// Where the rows of plane z begin in a brick tile, and in a fill tile.
#define PLANE_AT(z) (16 + PZ * ((z) + 1))
#define FILL_PLANE_AT(z) (16 + MZ * ((z) + 2))

#define EIGHT_TIMES(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__

// 0 in the cells of a plane that have no neighbour inside at x - 1, x - 2 and x + 1, else 1.
static const _Alignas(64) float STAYS_LOW[PLANE] = {EIGHT_TIMES(0, 1, 1, 1, 1, 1, 1, 1)};
static const _Alignas(64) float STAYS_LOW_2[PLANE] = {EIGHT_TIMES(0, 0, 1, 1, 1, 1, 1, 1)};
static const _Alignas(64) float STAYS_HIGH[PLANE] = {EIGHT_TIMES(1, 1, 1, 1, 1, 1, 1, 0)};

// The values at x - 1 and x + 1 of cell c of a plane; `low` and `high` are the plane's values from beyond the brick's sides.
#define LOW_OF(p, low, c) (STAYS_LOW[c] * (p)[(c)-1] + (low)[c])
#define HIGH_OF(p, high, c) (STAYS_HIGH[c] * (p)[(c) + 1] + (high)[c])

// The values at x - 1 and x + 1 of the cells of a plane.
static inline void values_below_x(float *restrict out, const float *restrict p, const float *restrict low)
{
#ifdef __AVX512F__
    for (int c = 0; c < PLANE; c += 16) {
        __m512i own = _mm512_loadu_si512(p + c);
        _mm512_storeu_si512(out + c, _mm512_mask_alignr_epi32(_mm512_loadu_si512(low + c), 0xfefe, own, own, 15));
    }
#else
    LANES
    for (int c = 0; c < PLANE; c++) out[c] = LOW_OF(p, low, c);
#endif
}

static inline void values_above_x(float *restrict out, const float *restrict p, const float *restrict high)
{
#ifdef __AVX512F__
    for (int c = 0; c < PLANE; c += 16) {
        __m512i own = _mm512_loadu_si512(p + c);
        _mm512_storeu_si512(out + c, _mm512_mask_alignr_epi32(_mm512_loadu_si512(high + c), 0x7f7f, own, own, 1));
    }
#else
    LANES
    for (int c = 0; c < PLANE; c++) out[c] = HIGH_OF(p, high, c);
#endif
}

// The sums of each cell's two neighbours in x, p being a plane of a brick tile.
static inline void sums_along_x(float *restrict out, const float *restrict p, const float *restrict low,
                                const float *restrict high)
{
    float below[PLANE], above[PLANE];
    values_below_x(below, p, low);
    values_above_x(above, p, high);
    LANES
    for (int c = 0; c < PLANE; c++) out[c] = below[c] + above[c];
}

// The sum over the six neighbours, as rule_around, p being a plane of a brick tile and along_x what sums_along_x made of it.
#define SUM_OF_SIX(p, along_x, c) rule_over_axes((along_x)[c], (p)[(c)-PY] + (p)[(c) + PY], (p)[(c)-PZ] + (p)[(c) + PZ])

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

// What lies beyond the sides in x. Both arrays hold zeros but at x = 0 or x = 7.
static inline void gather_low(float *restrict low, const float *channel, const int32_t near[27])
{
    const float *from = channel + (size_t)near[NEAR(-1, 0, 0)] * BRICK_CELLS + 7;
    for (int row = 0; row < 64; row++) low[8 * row] = from[8 * row];
}

static inline void gather_high(float *restrict high, const float *channel, const int32_t near[27])
{
    const float *from = channel + (size_t)near[NEAR(1, 0, 0)] * BRICK_CELLS;
    for (int row = 0; row < 64; row++) high[8 * row + 7] = from[8 * row];
}

// The rows beyond the lower and the upper sides in y and z.
static inline void gather_rows_below(float *restrict tile, const float *channel, const int32_t near[27])
{
    const float *y = channel + (size_t)near[NEAR(0, -1, 0)] * BRICK_CELLS + 56;
    for (int z = 0; z < 8; z++) memcpy(tile + PLANE_AT(z) - PY, y + PLANE * z, 32);
    memcpy(tile + PLANE_AT(-1), channel + (size_t)near[NEAR(0, 0, -1)] * BRICK_CELLS + 7 * PLANE, 4 * PLANE);
}

static inline void gather_rows_above(float *restrict tile, const float *channel, const int32_t near[27])
{
    const float *y = channel + (size_t)near[NEAR(0, 1, 0)] * BRICK_CELLS;
    for (int z = 0; z < 8; z++) memcpy(tile + PLANE_AT(z) + 8 * PY, y + PLANE * z, 32);
    memcpy(tile + PLANE_AT(8), channel + (size_t)near[NEAR(0, 0, 1)] * BRICK_CELLS, 4 * PLANE);
}

static inline void gather_planes(float *restrict tile, const float *channel, int32_t brick)
{
    const float *own = channel + (size_t)brick * BRICK_CELLS;
    for (int z = 0; z < 8; z++) memcpy(tile + PLANE_AT(z), own + PLANE * z, 4 * PLANE);
}

// A brick's values and those beyond its six sides.
static inline void gather_brick(float *restrict tile, brick_sides *sides, const float *channel, const int32_t near[27])
{
    gather_planes(tile, channel, near[BRICK_SELF]);
    gather_rows_below(tile, channel, near);
    gather_rows_above(tile, channel, near);
    gather_low(sides->low, channel, near);
    gather_high(sides->high, channel, near);
}

// Whether a brick's values and those beyond its sides are all zero, bit for bit. The rows of the tile that are never filled are.
static inline bool brick_is_zero(const float *tile, const brick_sides *sides)
{
    uint32_t any = 0;
    for (int i = PLANE_AT(-1); i < PLANE_AT(8) + PLANE; i++) any |= float_bits(tile[i]);
    for (int i = 0; i < BRICK_CELLS; i++) any |= float_bits(sides->low[i]) | float_bits(sides->high[i]);
    return any == 0;
}

// The rows beyond the sides in y and z of one tile into another.
static inline void copy_rows_beyond(float *restrict to, const float *restrict from)
{
    memcpy(to + PLANE_AT(-1), from + PLANE_AT(-1), 4 * PLANE);
    memcpy(to + PLANE_AT(8), from + PLANE_AT(8), 4 * PLANE);
    for (int z = 0; z < 8; z++) {
        memcpy(to + PLANE_AT(z) - PY, from + PLANE_AT(z) - PY, 32);
        memcpy(to + PLANE_AT(z) + 8 * PY, from + PLANE_AT(z) + 8 * PY, 32);
    }
}

static inline void store_planes(float *restrict out, const float *restrict tile)
{
    for (int z = 0; z < 8; z++) memcpy(out + PLANE * z, tile + PLANE_AT(z), 4 * PLANE);
}

// ---- Fill ------------------------------------------------------------------------------------------------------------------

INLINE void fill_cells(float *restrict to, const int32_t *restrict drops, const int count)
{
    LANES
    for (int i = 0; i < count; i++) to[i] = (float)drops[i] * RULE_DROP;
}

// The fill of a brick's own cells.
static void gather_own_fill(float *tile, const int32_t *mass, int32_t brick)
{
    for (int z = 0; z < 8; z++) fill_cells(tile + FILL_PLANE_AT(z), mass + (size_t)brick * BRICK_CELLS + PLANE * z, PLANE);
}

// The fill of a brick and of two cells beyond its sides in y and z.
static void gather_brick_fill(float *tile, const int32_t *mass, const int32_t near[27])
{
    const int32_t *y0 = mass + (size_t)near[NEAR(0, -1, 0)] * BRICK_CELLS + 6 * PY;
    const int32_t *y1 = mass + (size_t)near[NEAR(0, 1, 0)] * BRICK_CELLS;
    const int32_t *z0 = mass + (size_t)near[NEAR(0, 0, -1)] * BRICK_CELLS + 6 * PLANE;
    const int32_t *z1 = mass + (size_t)near[NEAR(0, 0, 1)] * BRICK_CELLS;
    gather_own_fill(tile, mass, near[BRICK_SELF]);
    for (int z = 0; z < 8; z++) {
        fill_cells(tile + FILL_PLANE_AT(z) - 2 * PY, y0 + PLANE * z, 2 * PY);
        fill_cells(tile + FILL_PLANE_AT(z) + PLANE, y1 + PLANE * z, 2 * PY);
    }
    for (int z = 0; z < 2; z++) {
        fill_cells(tile + FILL_PLANE_AT(z - 2), z0 + PLANE * z, PLANE);
        fill_cells(tile + FILL_PLANE_AT(z + 8), z1 + PLANE * z, PLANE);
    }
}

// Whether there is any fill in two cells beyond a brick's sides; low and high are its neighbours in x.
static bool fill_beyond(const float *low, const float *m, const float *high)
{
    float sum[16] = {0};
    for (int z = -2; z < 10; z++) {
        bool beyond_z = z < 0 || z > 7;
        for (int y = beyond_z ? 0 : -2; y < (beyond_z ? 8 : 10); y += 2) {
            if (!beyond_z && y >= 0 && y < 8) continue;
            for (int i = 0; i < 16; i++) sum[i] += m[FILL_PLANE_AT(z) + PY * y + i];
        }
        for (int y = 0; y < 8 && !beyond_z; y++) {
            const float *l = low + FILL_PLANE_AT(z) + PY * y, *h = high + FILL_PLANE_AT(z) + PY * y;
            sum[0] += (l[6] + l[7]) + (h[0] + h[1]);
        }
    }
    float all = 0;
    for (int i = 0; i < 16; i++) all += sum[i];
    return all > 0.0f;
}

// The values at x + step of the cells of a plane, step being -2, -1 or 1; `beyond` is the same plane of the brick on that side.
INLINE void values_along_x(float *restrict out, const float *restrict own, const float *restrict beyond, const int step)
{
    const int across = step < 0 ? step + 8 : step - 8;
#ifdef __AVX512F__
    const __mmask16 outside = (__mmask16)(0x0101 * (step < 0 ? (1 << -step) - 1 : 256 - (256 >> step)));
    for (int c = 0; c < PLANE; c += 16)
        _mm512_storeu_ps(out + c, _mm512_mask_loadu_ps(_mm512_loadu_ps(own + c + step), outside, beyond + c + across));
#else
    const float *stays = step == -2 ? STAYS_LOW_2 : step == -1 ? STAYS_LOW : STAYS_HIGH;
    LANES
    for (int c = 0; c < PLANE; c++) out[c] = stays[c] * own[c + step] + (1.0f - stays[c]) * beyond[c + across];
#endif
}

// ---- Masks -----------------------------------------------------------------------------------------------------------------

// A brick's mask and its six neighbours', so that a neighbour's bit is a shift away.
typedef struct mask_view {
    const brick_mask *own, *x0, *x1, *y0, *y1, *z0, *z1;
} mask_view;

static inline mask_view view_mask(const brick_mask *masks, const int32_t near[27])
{
    return (mask_view){&masks[near[NEAR(0, 0, 0)]],  &masks[near[NEAR(-1, 0, 0)]], &masks[near[NEAR(1, 0, 0)]],
                       &masks[near[NEAR(0, -1, 0)]], &masks[near[NEAR(0, 1, 0)]],  &masks[near[NEAR(0, 0, -1)]],
                       &masks[near[NEAR(0, 0, 1)]]};
}

#define COLUMN_0 UINT64_C(0x0101010101010101)

// The plane z of the mask, moved so that each bit shows the neighbour at -1 or +1 on an axis.
static inline uint64_t plane_shifted(const mask_view *v, int z, int axis, int step)
{
    uint64_t own = v->own->plane[z];
    if (axis == 0 && step < 0) return (own << 1 & ~COLUMN_0) | (v->x0->plane[z] >> 7 & COLUMN_0);
    if (axis == 0) return (own >> 1 & ~(COLUMN_0 << 7)) | (v->x1->plane[z] & COLUMN_0) << 7;
    if (axis == 1 && step < 0) return own << 8 | v->y0->plane[z] >> 56;
    if (axis == 1) return own >> 8 | v->y1->plane[z] << 56;
    if (step < 0) return z > 0 ? v->own->plane[z - 1] : v->z0->plane[7];
    return z < 7 ? v->own->plane[z + 1] : v->z1->plane[0];
}

// A number from 0 to 7 for each cell of a plane, as three words of bits.
typedef struct plane_counts {
    uint64_t ones, twos, fours;
} plane_counts;

// How many of a cell's six neighbours are in the mask.
static inline plane_counts count_neighbours(const mask_view *v, int z)
{
    uint64_t a = plane_shifted(v, z, 0, -1), b = plane_shifted(v, z, 0, 1), c = plane_shifted(v, z, 1, -1);
    uint64_t d = plane_shifted(v, z, 1, 1), e = plane_shifted(v, z, 2, -1), f = plane_shifted(v, z, 2, 1);
    uint64_t one_1 = a ^ b ^ c, two_1 = (a & b) | (c & (a ^ b));
    uint64_t one_2 = d ^ e ^ f, two_2 = (d & e) | (f & (d ^ e));
    uint64_t two_3 = one_1 & one_2;
    return (plane_counts){one_1 ^ one_2, two_1 ^ two_2 ^ two_3, (two_1 & two_2) | (two_3 & (two_1 ^ two_2))};
}

// Looks every cell's number up in a table.
static inline void spread_counts(float *restrict out, plane_counts n, const float table[8])
{
#ifdef __AVX512F__
    __m512 values = _mm512_castps256_ps512(_mm256_loadu_ps(table));
    for (int c = 0; c < PLANE; c += 16) {
        __m512i number = _mm512_maskz_set1_epi32((__mmask16)(n.ones >> c), 1);
        number = _mm512_or_epi32(number, _mm512_maskz_set1_epi32((__mmask16)(n.twos >> c), 2));
        number = _mm512_or_epi32(number, _mm512_maskz_set1_epi32((__mmask16)(n.fours >> c), 4));
        _mm512_storeu_ps(out + c, _mm512_permutexvar_ps(number, values));
    }
#elif defined __AVX2__
    const __m256i x = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), one = _mm256_set1_epi32(1);
    __m256 values = _mm256_loadu_ps(table);
    for (int c = 0; c < PLANE; c += 8) {
        __m256i ones = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)(n.ones >> c & 255)), x), one);
        __m256i twos = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)(n.twos >> c & 255)), x), one);
        __m256i fours = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)(n.fours >> c & 255)), x), one);
        __m256i number = _mm256_add_epi32(ones, _mm256_add_epi32(_mm256_slli_epi32(twos, 1), _mm256_slli_epi32(fours, 2)));
        _mm256_storeu_ps(out + c, _mm256_permutevar8x32_ps(values, number));
    }
#else
    for (int c = 0; c < PLANE; c++) out[c] = table[(n.ones >> c & 1) | (n.twos >> c & 1) << 1 | (n.fours >> c & 1) << 2];
#endif
}

// The bits of a plane as 1 and 0.
static inline void spread_flags(float *restrict out, uint64_t bits, const float flags[256][8])
{
#ifdef __AVX512F__
    (void)flags;
    for (int c = 0; c < PLANE; c += 16)
        _mm512_storeu_ps(out + c, _mm512_maskz_mov_ps((__mmask16)(bits >> c), _mm512_set1_ps(1.0f)));
#else
    for (int y = 0; y < 8; y++) memcpy(out + 8 * y, flags[bits >> 8 * y & 255], 32);
#endif
}

// The cells of a plane where a > b.
static inline uint64_t plane_above(const float *a, const float *b)
{
    uint64_t bits = 0;
#ifdef __AVX512F__
    for (int c = 0; c < PLANE; c += 16)
        bits |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(a + c), _mm512_loadu_ps(b + c), _CMP_GT_OQ) << c;
#else
    for (int y = 0; y < 8; y++) bits |= row_above(a + 8 * y, b + 8 * y) << 8 * y;
#endif
    return bits;
}

#endif
