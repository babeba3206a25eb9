// Plain types: places, definitions, and what queries return.
//
// Units: lengths in cells, time in updates, flow in cells per update (more than 1 where water is fast), mass in drops (a full cell holds
// WEIR_FULL of them). y points up. A box holds the cells min <= c < max.
#ifndef WEIR_TYPES_H
#define WEIR_TYPES_H

#include <stdbool.h>
#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_FULL 4194304            // drops in a full cell, 2^22
#define WEIR_COORD_LIMIT 1000000000  // cells lie within this distance of the origin on every axis

typedef struct weir_coord {
    int32_t x, y, z;
} weir_coord;

// A direction, a flow, an acceleration.
typedef struct weir_vec {
    float x, y, z;
} weir_vec;

// A place between cells: the cell (x, y, z) reaches from x to x + 1 and so on. Doubles: a world reaches farther than a float can tell
// cells apart.
typedef struct weir_point {
    double x, y, z;
} weir_point;

// An orientation as a quaternion of length 1: w is the cosine of half the angle, x, y, z the axis times its sine. All 0: unturned.
typedef struct weir_quat {
    float x, y, z, w;
} weir_quat;

typedef struct weir_box {
    weir_coord min, max;
} weir_box;

typedef struct weir_sphere {
    weir_point centre;
    double radius;
} weir_sphere;

// What a fluid is, by its number in a world: some are built in, others a game adds (weir_world_add_material).
typedef int32_t weir_material;
enum {
    WEIR_NOTHING,
    WEIR_WATER,
    WEIR_OIL,
    WEIR_LAVA,
    WEIR_HONEY,
    WEIR_MERCURY,
    WEIR_STEAM,
    WEIR_SMOKE,
    WEIR_ICE,
    WEIR_STONE,
    WEIR_MATERIALS_BUILT_IN
};
enum { WEIR_TERRAIN = -1 };   // no material: what a reaction makes that becomes solid terrain
#define WEIR_MATERIAL_MAX 32  // numbers that a world has, WEIR_NOTHING among them

typedef enum weir_material_kind { WEIR_KIND_LIQUID, WEIR_KIND_GAS, WEIR_KIND_SOLID, WEIR_KIND_COUNT } weir_material_kind;

#define WEIR_TEMPERATURE_MAX 2000  // K
#define WEIR_TEMPERATURE 293.15    // K, of what nobody gave another

// Amounts of every kind are drops: the drops of a full cell of water are those of a full cell of ice, and of the sixteen cells of steam that it
// boils into. So what heat does to a material is told per drop, with that of water for a measure: a cell's worth of water of a litre takes 4.18 kJ
// to be warmed by a kelvin.
typedef struct weir_material_def {
    const char *name;  // at most 31 bytes
    float density;     // of water: 1; up to 1000
    float viscosity;   // of water: 1; up to 1e9
    float colour[3];   // red, green, blue, each 0 to 1, as a screen shows them
    // For solvers that know more than liquids, or warmth. Zero in any field means its default.
    weir_material_kind kind;  // default: liquid
    float heat_capacity;      // of water: 1; up to 1, of a gas up to 0.5. 0: 1 of liquids, 0.5 of others
    float conductivity;       // of heat, of water: 1; up to 1000. 0: as its heat capacity
    float temperature;        // K, of what fills and emitters bring; 0: WEIR_TEMPERATURE
    // Of liquids: the solid into which it freezes and the gas into which it boils, at which temperature, and the heat of that: by how many
    // kelvins it would warm as many drops of water, 80 for ice and 540 for steam. Both ways: that solid melts into it, that gas condenses, and so
    // each is that of one liquid alone. WEIR_NOTHING, the default: it does not.
    weir_material freezes_to, boils_to;
    float melting_point, boiling_point;  // K
    float melting_heat, boiling_heat;    // K
} weir_material_def;

// What two materials become where they meet: as much of the one as of the other, volume for volume. What becomes a material is that
// from then on; WEIR_NOTHING: it leaves the world; WEIR_TERRAIN: it becomes solid terrain in its place. Of products that the solver's
// fluid cannot be, solids become terrain and all others leave the world. weir_ledger.turned tells how much.
typedef struct weir_reaction_def {
    weir_material first, second;        // that meet, in any order
    weir_material first_to, second_to;  // what each becomes: itself, another material, WEIR_NOTHING or WEIR_TERRAIN
    float rate;                         // share of a cell that reacts per update where they touch: above 0, up to 1
    // That a full cell of each sets free, or takes up where it is less than 0, in kelvins by which it would warm a cell of water; for solvers
    // that know temperature. What freezing and boiling set free and take up comes besides.
    float heat;
} weir_reaction_def;
#define WEIR_REACTION_MAX 64  // that a world has at most

// Which laws the water follows.
//   momentum: the default; keeps momentum, levels through pipes, shoots from holes.
//   classic:  van der Scheer's thesis as corrected in docs/how-it-works.md; slower, more viscous water.
//   settle:   for game servers: water that settles into level bodies which cost nothing, on the CPU; docs/settle.md. Down is -y.
//   mixture:  several fluids in a cell, layered by density, warm or cold, boiling and freezing; docs/mixture.md. Down is -y.
typedef enum weir_solver {
    WEIR_SOLVER_MOMENTUM,
    WEIR_SOLVER_CLASSIC,
    WEIR_SOLVER_SETTLE,
    WEIR_SOLVER_MIXTURE,
    WEIR_SOLVER_COUNT
} weir_solver;

// "momentum" and so on, and what it is like in a few words; NULL past the last.
WEIR_API const char *weir_solver_name(weir_solver solver);
WEIR_API const char *weir_solver_help(weir_solver solver);

// Where the rules run; all give the same bits.
typedef enum weir_backend { WEIR_BACKEND_CPU, WEIR_BACKEND_OPENCL, WEIR_BACKEND_COUNT } weir_backend;

// The width of the CPU's code path. AUTO takes the widest the processor has; all give the same bits.
typedef enum weir_simd { WEIR_SIMD_AUTO, WEIR_SIMD_SCALAR, WEIR_SIMD_AVX2, WEIR_SIMD_AVX512, WEIR_SIMD_COUNT } weir_simd;

// Sides of a bounded world that are open: water that crosses them is drained into the ledger. The others are walls.
typedef enum weir_side {
    WEIR_SIDE_X_MIN = 1,
    WEIR_SIDE_X_MAX = 2,
    WEIR_SIDE_Y_MIN = 4,
    WEIR_SIDE_Y_MAX = 8,
    WEIR_SIDE_Z_MIN = 16,
    WEIR_SIDE_Z_MAX = 32
} weir_side;

typedef struct weir_params weir_params;  // the numbers of the laws: weir/params.h

// Asks the game for the solid shares (0 open to 255 solid) of the 8 x 8 x 8 cells from origin on, index x + 8y + 64z. May be
// called from the thread that steps, edits or asks the world, and at the same time from the background thread of weir_world_step_begin.
typedef void weir_terrain_source(void *user, weir_coord origin, uint8_t shares[512]);

// How a world is made. Zero in any field means its default.
typedef struct weir_world_def {
    weir_box bounds;           // empty box (the default): unbounded
    uint32_t open_sides;       // weir_side bits; 0: all walls
    weir_solver solver;        // default momentum
    weir_backend backend;      // default cpu
    const char *device;        // for backends with devices: a number, a kind such as gpu, or a part of a name (weir/device.h).
                               // NULL: the first GPU, or else the first device
    weir_params *params;       // NULL: weir_params_default(); copied
    int32_t threads;           // 0: one per processor core; ignored when jobs.run is set
    weir_simd simd;            // default: the widest the processor has
    float rate;                // updates per second for weir_world_advance; 0: 100
    int32_t updates_per_step;  // 0: 1
    // The time that an update of settle may take; what it has not come to the next ones do. 0: no limit. The clock decides then how far each
    // comes, so that worlds with such a limit are not alike from run to run; `budget` of its parameters gives one that is.
    int32_t update_microseconds;
    int32_t reserve_bricks;  // room made at the start; 0: none
    // A fill, 0 to 1, so that water at rest, which goes on moving by a few drops, is not listed (weir_world_changed) and meshed for ever: an
    // update changes a brick only when one of its cells is so far from what it was when the brick last changed. Slow drift adds up and is
    // told. It is measured in steps of 1/16384, up to a fill of 4, and takes 2 bytes per cell. Edits, terrain and loads always count, and so
    // does what the next update makes of them. 0, the default: every drop counts.
    float change_threshold;
    int64_t memory_limit;  // bytes of this machine's memory that the world may take; what needs more fails on memory. 0: any
    int32_t
        checkpoint_every;  // for backends with devices: updates between copies of the state that the world goes back to if the
                           // device is lost. 0: 256, or more so that they take at most 2 % of the time; -1: no copies
    weir_allocator allocator;
    weir_logger logger;
    weir_jobs jobs;
    weir_terrain_source *terrain;  // NULL: terrain is Weir's own, open everywhere until built
    void *terrain_user;
} weir_world_def;

WEIR_API weir_world_def weir_world_def_default(void);

// The most that one call of weir_world_advance may do. Zero in any field means its default.
typedef struct weir_advance_limit {
    int32_t updates;     // 0: one second's worth
    float milliseconds;  // that the updates may take: after the first none is begun that would end later, were it to take as
                         // long as those before it. 0: half of the time passed, at most 50; INFINITY: any
} weir_advance_limit;

// What a call of weir_world_advance did.
typedef struct weir_advanced {
    int32_t updates;  // that were run
    double dropped;   // seconds that the limits left no room for; they are not made up for
} weir_advanced;

// What a cell holds. flow is the mean of its opposite faces' flow, pressure in cells of water height times gravity.
typedef struct weir_cell {
    float fill;  // 1: full
    weir_vec flow;
    float pressure;
    weir_material material;
    uint8_t solid;  // solid share, 0 open to 255 solid
} weir_cell;

// All that is in a cell, for solvers whose cells hold several materials, and how warm it is.
typedef struct weir_mix {
    int32_t drops[WEIR_MATERIAL_MAX];  // of each material
    float temperature;                 // K; 0 where nothing is, and where the solver knows no warmth
} weir_mix;

typedef enum weir_source_kind {
    WEIR_SOURCE_EMITTER,
    WEIR_SOURCE_DRAIN,
    WEIR_SOURCE_FORCE,
    WEIR_SOURCE_RESERVOIR,
    WEIR_SOURCE_HEATER
} weir_source_kind;

// Something that acts in every update until it is removed.
typedef struct weir_source {
    int32_t id;
    weir_source_kind kind;
    weir_box box;            // cut to the world
    weir_material material;  // of an emitter or reservoir; else WEIR_NOTHING
    float rate;              // of an emitter or drain, in cells' worth per update; else 0
    weir_vec acceleration;   // of a force, in cells per update squared; else 0
    double level;            // of a reservoir; else 0
    float temperature;       // of a heater, K; else 0
} weir_source;

// The most bricks that are gone which a world remembers for weir_world_changed. When there are more, or memory is short, it forgets the older
// half.
#define WEIR_GONE_MEMORY 65536

// What has become of a brick.
typedef struct weir_brick_change {
    weir_coord origin;  // its lowest cell
    bool gone;          // it is not there any more; otherwise it came to be or changed
} weir_brick_change;

typedef enum weir_hit_kind { WEIR_HIT_NONE, WEIR_HIT_WATER, WEIR_HIT_TERRAIN } weir_hit_kind;

typedef struct weir_hit {
    weir_hit_kind kind;
    weir_coord cell;
    double distance;    // from the ray's origin, in cells
    weir_coord normal;  // of the face through which the ray entered; 0 if it began inside
} weir_hit;

// Cells in the largest box in which a sum asks for all of the game's own terrain.
#define WEIR_BOX_SUM_ASKED 16777216

// What a box holds.
typedef struct weir_box_sum {
    int64_t drops;       // water in the box
    int64_t open_cells;  // cells that terrain leaves open (share below 128), at most INT64_MAX. If the box has more than
                         // WEIR_BOX_SUM_ASKED cells, the game's own terrain is known in live bricks only, and open elsewhere
    int64_t wet_cells;   // cells with more than the `empty` threshold
    float mean_fill;     // over open cells
    float max_fill;
    weir_vec mean_flow;  // mean of the water's flow, weighted by mass
    float max_flow;      // largest component of flow at any cell that holds water
    float max_pressure;
} weir_box_sum;

#define WEIR_FLOATING_SMALLEST (1.0 / 1024)  // least and largest half size of a floating box, in cells
#define WEIR_FLOATING_LARGEST 1024.0

// A box that may float: what weir_world_buoyancy is asked about. All but its place and size may be 0.
typedef struct weir_floating_box {
    weir_point centre;          // anywhere: in the air, in terrain, outside the world
    weir_vec half_size;         // along its own axes, each from WEIR_FLOATING_SMALLEST to WEIR_FLOATING_LARGEST
    weir_quat orientation;      // turns its own axes into the world's; its length must be 1 within 0.001. 0: unturned
    weir_vec velocity;          // of its centre, cells per update
    weir_vec angular_velocity;  // about the world's axes, radians per update
    // How water that flows past holds on to it, each from 0 (not at all, the default) to 1000. drag is the coefficient of textbooks, 1.05 for a
    // cube: force = drag / 2 * density * area that faces the flow * speed^2. damping is the share of the relative flow that it would lose per
    // update were it as heavy as the water it displaces, slow or fast: it stands for waves that a box makes in nature, and brings bobbing to rest.
    float drag, damping;
    int32_t reach;  // cells above and below its centre in which the level is looked for, up to 4096; 0: 32
} weir_floating_box;

// What the water does to a box. Masses are in full cells of water, so forces are in that times cells per update squared.
typedef struct weir_buoyancy {
    double
        level;  // where the surface is over or under its centre, along the axis of gravity; NaN: none within reach, or no gravity
    weir_point centre;  // of its part under water, on which the buoyancy acts; its own if it is dry
    float submerged;    // its share under water, 0 to 1
    float volume;       // the same in cells
    weir_vec flow;      // mean flow of the water in its place, cells per update; 0 if it is dry
    weir_vec force;     // of the water on it, buoyancy and drag together; its own weight is not in it
    weir_vec torque;    // of the same about its centre
    weir_vec drag;      // what of the force is drag and damping
} weir_buoyancy;

// The exact account, in drops. Always: held = added - removed - drained - turned - unloaded.
typedef struct weir_ledger {
    int64_t held;     // what the world holds now, counted cell by cell
    int64_t added;    // by fills, emitters and loaded snapshots
    int64_t removed;  // by drains, fills that lower, and terrain built over water
    int64_t drained;  // through open sides
    int64_t
        turned;  // into something else, less what something else turned into it: of all materials together, what left or became terrain
    int64_t unloaded;  // away with regions, less what came back with them: 0 when all are there that left
    int64_t drift;     // held minus what the account says: 0
} weir_ledger;

#define WEIR_HEAT 524288  // units of heat that warm a cell's worth of water by one kelvin

// The exact account of warmth, in units of WEIR_HEAT: drops times heat capacity times temperature, of all that there is. Always: held = added -
// removed - drained - turned - unloaded.
typedef struct weir_heat_ledger {
    int64_t held;     // what the world holds now, counted cell by cell
    int64_t added;    // with fluid that came, by heaters and by edits of temperature
    int64_t removed;  // with fluid that was taken out, by heaters that are cold and by edits of temperature
    int64_t drained;  // through open sides
    // Taken up by what melted and boiled, less what freezing and condensing gave back: the heat of that, less what the product holds more at that
    // temperature since it has another heat capacity. So ice that melts makes it smaller.
    int64_t turned;
    int64_t unloaded;  // away with regions, less what came back with them
    int64_t drift;     // held minus what the account says: 0
} weir_heat_ledger;

#define WEIR_RULE_TIMES 24

typedef struct weir_rule_time {
    const char *name;
    double seconds;
    bool on_host;  // the world's values are on a device, and this rule of the game's own runs on the host
} weir_rule_time;

typedef struct weir_stats {
    int64_t updates;        // finished since the beginning, those before a snapshot that was loaded included
    int64_t cells_updated;  // cells of live bricks, summed over updates
    int32_t bricks, peak_bricks;
    int32_t awake_bricks;                  // that the last update worked on; the others sleep
    int32_t cell_bytes, cell_state_bytes;  // of one cell in all channels of the solver, and in those that make up its state
    // Where updates have a budget (weir_settle_params, weir_world_def.update_microseconds): bricks of the water's present turn that are
    // still to be worked on, and updates that it has taken so far. Both 0: the last update finished what it began.
    int32_t behind_bricks, behind_updates;
    int64_t bytes, peak_bytes;  // channels, brick tables, coarse levels and terrain; not the working memory of threads
    int32_t substeps;           // moves of the last update; 0 where there is no more than one ever
    int32_t cycles;             // V-cycles of the last update, or of the last of its substeps
    float residual;             // largest residual before the last V-cycle
    bool solved;                // the last update solved its pressure to the tolerance; true where there is nothing to solve
    int32_t threads;
    weir_simd simd;  // the code path in use
    // Backends with devices, 0 for the others: what has travelled since the world was made, and how long its kernels took to build
    // or, if an earlier run had built them, to load.
    int64_t bytes_to_device, bytes_from_device;
    double program_seconds;
    bool program_cached;
    int32_t rule_count;
    weir_rule_time rules[WEIR_RULE_TIMES];  // time per rule since the world was made
} weir_stats;

#ifdef __cplusplus
}
#endif
#endif
