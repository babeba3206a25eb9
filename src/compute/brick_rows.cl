// Rows of bricks: the 8 cells along x that one work-item keeps in registers.
//
// 64 work-items work on a brick, and ROW_GROUP / 64 bricks, neighbours more often than not, share a group. Row y + 8z of brick b
// begins at cell 8 * (64 b + y + 8z) of a channel and has byte 64 b + y + 8z of a mask, bit x. In local memory a row is two float4
// that lie apart, the low halves of all rows before the high ones: so neighbouring work-items use neighbouring banks.

#define ROWS 64
#define GROUP_BRICKS (ROW_GROUP / ROWS)
#define ROW_KERNEL kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1)))
#define SLOT ((int)get_local_id(0) >> 6)  // which of the group's bricks
#define ROW ((int)get_local_id(0) & 63)

// The number of the brick that a work-item works on, among so many. The last group does the last brick several times, with the
// same results.
#define ROW_NUMBER(count) min((int)get_group_id(0) * GROUP_BRICKS + SLOT, (count)-1)

// One of the tables per brick (opencl_shared.h), which lie in one buffer behind its header.
#define TABLE(tables, type, at) ((global type *)((global uchar *)(tables) + (at)))

#define EACH_X _Pragma("unroll") for (int x = 0; x < 8; x++)

#define UNPACK_ROW(v, low, high) \
    do {                         \
        (v)[0] = (low).x;        \
        (v)[1] = (low).y;        \
        (v)[2] = (low).z;        \
        (v)[3] = (low).w;        \
        (v)[4] = (high).x;       \
        (v)[5] = (high).y;       \
        (v)[6] = (high).z;       \
        (v)[7] = (high).w;       \
    } while (0)
#define LOW_HALF(v) ((float4)((v)[0], (v)[1], (v)[2], (v)[3]))
#define HIGH_HALF(v) ((float4)((v)[4], (v)[5], (v)[6], (v)[7]))

inline void load_row(float v[8], global const float *channel, int row)
{
    global const float4 *at = (global const float4 *)channel + 2 * row;
    float4 low = at[0], high = at[1];
    UNPACK_ROW(v, low, high);
}

inline void store_row(global float *channel, int row, const float v[8])
{
    global float4 *at = (global float4 *)channel + 2 * row;
    at[0] = LOW_HALF(v);
    at[1] = HIGH_HALF(v);
}

// In local memory; `apart` is how many rows the tile has.
inline void read_row(float v[8], local const float4 *tile, int apart, int at)
{
    float4 low = tile[at], high = tile[at + apart];
    UNPACK_ROW(v, low, high);
}

inline void write_row(local float4 *tile, int apart, int at, const float v[8])
{
    tile[at] = LOW_HALF(v);
    tile[at + apart] = HIGH_HALF(v);
}

// Where two neighbouring cells, x = 2 pair, of a row lie in a tile of float2.
#define PAIR_OF(tile, apart, at, pair) ((tile) + 2 * ((at) + (apart) * ((pair) >> 1)) + ((pair)&1))

inline float4 fill_of_4(int4 mass)
{
    return convert_float4(mass) * RULE_DROP;
}

inline void load_fill(float v[8], global const int *mass, int row)
{
    global const int4 *at = (global const int4 *)mass + 2 * row;
    float4 low = fill_of_4(at[0]), high = fill_of_4(at[1]);
    UNPACK_ROW(v, low, high);
}

// A row and those beside it, counted over all bricks.
typedef struct rows_around {
    int self, x0, x1, y0, y1, z0, z1;
} rows_around;

inline rows_around look_from(device_place place, int row)
{
    int y = row & 7, z = row >> 3;
    rows_around at;
    at.self = ROWS * place.brick + row;
    at.x0 = ROWS * place.x0 + row;
    at.x1 = ROWS * place.x1 + row;
    at.y0 = y > 0 ? at.self - 1 : ROWS * place.y0 + row + 7;
    at.y1 = y < 7 ? at.self + 1 : ROWS * place.y1 + row - 7;
    at.z0 = z > 0 ? at.self - 8 : ROWS * place.z0 + row + 56;
    at.z1 = z < 7 ? at.self + 8 : ROWS * place.z1 + row - 56;
    return at;
}

// The place of a brick, but for whether it is clear.
inline device_place find_place(global const int *near, int brick)
{
    global const int *here = near + 27 * brick + SELF;
    device_place place = {brick, here[-1], here[1], here[-3], here[3], here[-9], here[9], 0};
    return place;
}

inline rows_around look_around_row(global const int *near, int brick, int row)
{
    return look_from(find_place(near, brick), row);
}

// A mask's bits of a row, and for every cell of it those of its six neighbours.
typedef struct bits_around {
    uint self, x0, x1, y0, y1, z0, z1;
} bits_around;

inline bits_around look_at_bits(global const uchar *mask, rows_around at)
{
    bits_around b;
    b.self = mask[at.self];
    b.x0 = (b.self << 1 | (uint)mask[at.x0] >> 7) & 255u;
    b.x1 = b.self >> 1 | (mask[at.x1] & 1u) << 7;
    b.y0 = mask[at.y0];
    b.y1 = mask[at.y1];
    b.z0 = mask[at.z0];
    b.z1 = mask[at.z1];
    return b;
}

#define BIT(bits, x) ((bits) >> (x)&1u)

inline float faces_of_bits(bits_around b, int x)
{
    return (float)(int)(BIT(b.x0, x) + BIT(b.x1, x) + BIT(b.y0, x) + BIT(b.y1, x) + BIT(b.z0, x) + BIT(b.z1, x));
}

// The bits of open cells; of a clear brick, one that is open throughout like its neighbours, they are not read.
inline bits_around look_at_open(global const uchar *open, rows_around at, bool clear)
{
    const bits_around all = {255u, 255u, 255u, 255u, 255u, 255u, 255u};
    if (clear) return all;
    return look_at_bits(open, at);
}

// The half rows beside a brick's faces across y and z are 64: each work-item has one.
typedef struct rim_piece {
    int side;       // 0: y = -1, 1: y = 8, 2: z = -1, 3: z = 8
    int along;      // which row of that side
    int upper;      // 0: x below 4, 1: the others
    int neighbour;  // the brick there
} rim_piece;

inline rim_piece rim_piece_of(int row)
{
    rim_piece r = {row >> 4, row >> 1 & 7, row & 1, 0};
    return r;
}

inline rim_piece rim_from(device_place place, int row)
{
    rim_piece r = rim_piece_of(row);
    r.neighbour = r.side < 2 ? (r.side & 1 ? place.y1 : place.y0) : (r.side & 1 ? place.z1 : place.z0);
    return r;
}

inline rim_piece find_rim(global const int *near, int brick, int row)
{
    rim_piece r = rim_piece_of(row);
    int step = r.side < 2 ? 3 : 9;
    r.neighbour = near[27 * brick + SELF + (r.side & 1 ? step : -step)];
    return r;
}

// The row, over all bricks, that lies `depth` rows out of the brick; 0 is the one beside it.
inline int rim_row(rim_piece r, int depth)
{
    int across = r.side & 1 ? depth : 7 - depth;
    return ROWS * r.neighbour + (r.side < 2 ? across + 8 * r.along : r.along + 8 * across);
}

// A tile of rows with one row of rim on each side.
#define P_ROWS 100
#define P_AT(y, z) ((y) + 1 + 10 * ((z) + 1))

inline int rim_place(rim_piece r)
{
    int across = r.side & 1 ? 8 : -1;
    return r.side < 2 ? P_AT(across, r.along) : P_AT(r.along, across);
}
