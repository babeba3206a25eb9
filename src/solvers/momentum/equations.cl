// The equations of the pressure on the live bricks, by rows (brick_rows.cl), and what is left of them (docs/how-it-works.md, R7).

// What a row knows of its pressure.
typedef struct pressure_row {
    float p[8], divergence[8], inverse[8], floor[8];
    float x_low, x_high;  // the pressure beyond its ends
} pressure_row;

// What is left of a row's equations where cells are active, and the largest of it; the rows beside it are given.
inline float row_residual(float left[8], const pressure_row *r, const float y0[8], const float y1[8], const float z0[8],
                          const float z1[8], uint active, bits_around open, bool clear)
{
    float largest = 0.0f;
    EACH_X
    {
        float x0 = x > 0 ? r->p[(x + 7) & 7] : r->x_low, x1 = x < 7 ? r->p[(x + 1) & 7] : r->x_high;
        float sum = rule_around(x0, x1, y0[x], y1[x], z0[x], z1[x]), faces = clear ? 6.0f : faces_of_bits(open, x);
        left[x] = rule_residual(r->p[x], sum, r->divergence[x], faces, (float)(int)BIT(active, x));
        largest = rule_max(largest, rule_abs(left[x]));
    }
    return largest;
}

// The same of a row in the channels.
inline float find_residual(float left[8], global const float *pressure, global const float *divergence, rows_around at,
                           uint active, bits_around open, bool clear)
{
    pressure_row r;
    float y0[8], y1[8], z0[8], z1[8];
    r.x_low = pressure[8 * at.x0 + 7];
    r.x_high = pressure[8 * at.x1];
    load_row(r.p, pressure, at.self);
    load_row(r.divergence, divergence, at.self);
    load_row(y0, pressure, at.y0);
    load_row(y1, pressure, at.y1);
    load_row(z0, pressure, at.z0);
    load_row(z1, pressure, at.z1);
    return row_residual(left, &r, y0, y1, z0, z1, active, open, clear);
}
