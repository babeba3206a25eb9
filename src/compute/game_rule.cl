// The words of weir/rule.h in OpenCL C, for a game's rule that follows this text in its program (opencl_rules.c).

typedef uchar uint8_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;

#define sqrtf sqrt
#define fabsf fabs
#define WEIR_TILE_INDEX(x, y, z) AT(1, 1, x, y, z)
#define WEIR_BRICK_INDEX(x, y, z) ((x) + 8 * (y) + 64 * (z))

typedef local const float *weir_tile;

typedef struct weir_coord {
    int32_t x, y, z;
} weir_coord;

typedef struct weir_rule_brick {
    weir_coord origin;
    int64_t update;
    weir_tile fill, fill_before;
    weir_tile flow_x, flow_y, flow_z;
    weir_tile moved_x, moved_y, moved_z;
    weir_tile pressure;
    weir_tile open;
    weir_tile old_values[4];
    global float *new_values[4];
} weir_rule_brick;
