// Sleep of the momentum solver (docs/how-it-works.md, "Sleep"): who is awake, bodies of sleeping water, the rim, and what each brick knows of
// its rest. Everything is worked out anew in every update, from what bricks know and from their cells.
//
//     plan      who wakes and who falls asleep; sources act afterwards
//     commit    they do; bodies take what they are owed, and level
//     hide      sleeping bricks are the nothing
//     book      after each move: what the rim gained
//     trim      after each gradient: within the rim nothing flows
//     unhide
//     note      damping, and how much each awake brick moved
#include "plain/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STILL_UPDATES = 16,  // after which water is at rest
    QUIET_UPDATES = 48,  // more, after which water without a head may sleep
    LONG = STILL_UPDATES + QUIET_UPDATES,
    HOLD = 32,
    LOOKS = 3,
    GENTLE = 80,
    FADED = 112,
    DRIVEN = 16,
    ISLAND_LEAST = 36,  // bricks with a surface
    SURFACE_LEAST = 16,
    SPREAD_LEAST = 1024,
    LEVEL_MOST = PLAIN_FULL / 128,
    CELL_MOST = 4 * PLAIN_FULL - 1
};

enum { NOTHING_HAPPENS, WAKES, FALLS_ASLEEP, IS_HELD };
enum { QUIET, STILL, SOME, MOVES, PUSHES = 4, WILD = 8, RIPPLES = 16, SWELLS = 32 };
enum { IGNORED, COUNTED, FOLLOWED, FADING };

static const plain_rest BLANK = {.head = PLAIN_NO_HEAD};

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

static int64_t brick_count(const plain_world *w)
{
    return w->grid.all_cells / 512;
}

#define EACH_LIVE(w, b)                          \
    for (int64_t b = 0; b < brick_count(w); b++) \
        if ((w)->grid.live[b])

// From a brick to the next on an axis.
static int64_t brick_step(const plain_world *w, int axis)
{
    const int64_t nx = w->grid.size[0] / 8, ny = w->grid.size[1] / 8;
    return axis == 0 ? 1 : axis == 1 ? nx : nx * ny;
}

// Number k of the 27 bricks around one, itself among them.
static int64_t around(const plain_world *w, int64_t brick, int k)
{
    return brick + (k % 3 - 1) * brick_step(w, 0) + (k / 3 % 3 - 1) * brick_step(w, 1) + (k / 9 - 1) * brick_step(w, 2);
}

// The brick at a face: 0 to 2 before it on an axis, 3 to 5 behind it.
static int64_t beside(const plain_world *w, int64_t brick, int face)
{
    return brick + (face < 3 ? -1 : 1) * brick_step(w, face % 3);
}

static int opposite(int face)
{
    return (face + 3) % 6;
}

static bool cell_is_open(const plain_world *w, int64_t i)
{
    return w->grid.live[plain_brick_of(&w->grid, i)] && w->open[i];
}

static void look_if_wet(plain_world *w, int64_t brick)
{
    w->sleep.wet[brick] = 0;
    if (w->grid.live[brick]) EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) w->sleep.wet[brick] |= w->mass[i] > 0;
}

static void find_wet(plain_world *w)
{
    for (int64_t b = 0; b < brick_count(w); b++) look_if_wet(w, b);
}

// ---- Heights ---------------------------------------------------------------------------------------------------------------

static int64_t height(const plain_world *w, int64_t i)
{
    const plain_down down = plain_find_down(&w->params);
    const weir_coord c = plain_at(&w->grid, i);
    return -(int64_t)down.sign * (down.axis == 0 ? c.x : down.axis == 1 ? c.y : c.z);
}

// From a cell to the one above it.
static int64_t step_up(const plain_world *w)
{
    const plain_down down = plain_find_down(&w->params);
    return -down.sign * w->grid.step[down.axis];
}

static int32_t film_drops(const plain_world *w)
{
    return (int32_t)(w->params.momentum.film * (float)PLAIN_FULL);
}

// A surface cell has water, and air right above it.
static bool is_surface(const plain_world *w, int64_t i)
{
    const int64_t above = i + step_up(w);
    return w->mass[i] != 0 && cell_is_open(w, above) && w->mass[above] == 0;
}

static int32_t count_surface(const plain_world *w, int64_t brick)
{
    int32_t count = 0;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) count += is_surface(w, i);
    return count;
}

// Whether the wet cells of a brick hang together within it.
static bool in_one_part(const plain_world *w, int64_t brick)
{
    const int64_t first = plain_first_of(&w->grid, brick);
    bool seen[512] = {false}, grown = true, begun = false, all = true;
    int32_t k;
    while (grown) {
        grown = false;
        k = 0;
        EACH_CELL_OF(&w->grid, first, i)
        {
            const int at[3] = {k & 7, k >> 3 & 7, k >> 6}, step[3] = {1, 8, 64};
            bool joins = !begun;
            for (int axis = 0; axis < 3; axis++)
                joins |= (at[axis] > 0 && seen[k - step[axis]]) || (at[axis] < 7 && seen[k + step[axis]]);
            if (w->mass[i] != 0 && !seen[k] && joins) seen[k] = grown = begun = true;
            k++;
        }
    }
    k = 0;
    EACH_CELL_OF(&w->grid, first, i) all &= seen[k++] || w->mass[i] == 0;
    return begun && all;
}

// The head of a brick: the mean of y + P/g over its wet cells, at the surface y and what the cell holds. None if they lie far apart, or
// terrain splits its water.
static int64_t find_head(const plain_world *w, int64_t brick)
{
    const float inverse_g = plain_find_down(&w->params).inverse_head;
    const int64_t first = plain_first_of(&w->grid, brick), base = height(w, first);
    int64_t low = INT64_MAX, high = INT64_MIN, sum = 0, count = 0;
    if (!in_one_part(w, brick)) return PLAIN_NO_HEAD;
    EACH_CELL_OF(&w->grid, first, i)
    {
        if (w->mass[i] == 0) continue;
        const float above = w->pressure[i] * inverse_g;
        int64_t head = (height(w, i) - base) * PLAIN_FULL;
        head += is_surface(w, i) ? w->mass[i] : (int64_t)(above * (float)PLAIN_FULL);
        if (head < low) low = head;
        if (head > high) high = head;
        sum += head;
        count++;
    }
    return high - low <= PLAIN_FULL * 3 / 10 ? base * PLAIN_FULL + sum / count : PLAIN_NO_HEAD;
}

// The pressure of a brick becomes that of its head, if it does not show it already.
static void show_head(plain_world *w, int64_t brick)
{
    plain_rest *rest = &w->sleep.rest[brick];
    const float g = plain_find_down(&w->params).head;
    if (rest->head == PLAIN_NO_HEAD || rest->head == rest->shown) return;
    rest->shown = rest->head;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
    {
        const int64_t above = rest->head - height(w, i) * PLAIN_FULL;
        w->pressure[i] = w->mass[i] > 0 && above > 0 ? g * ((float)above / (float)PLAIN_FULL) : 0.0f;
    }
}

// ---- Links and bodies ------------------------------------------------------------------------------------------------------

// The cells of a brick at one of its faces.
#define EACH_CELL_AT(w, brick, face, i)                            \
    EACH_CELL_OF(&(w)->grid, plain_first_of(&(w)->grid, brick), i) \
    if ((n_ >> 3 * ((face) % 3) & 7) == ((face) < 3 ? 0 : 7))

// Water hangs together over a face where both cells hold two films or more; one above the other, where the lower one does.
static bool touch(const plain_world *w, int64_t brick, int face)
{
    const int64_t across = (face < 3 ? -1 : 1) * w->grid.step[face % 3];
    const int32_t thick = 2 * film_drops(w) > 0 ? 2 * film_drops(w) : 1;
    if (!w->grid.live[beside(w, brick, face)]) return false;
    EACH_CELL_AT(w, brick, face, i)
    {
        const int32_t least_here = across == -step_up(w) ? 1 : thick, least_there = across == step_up(w) ? 1 : thick;
        if (w->mass[i] >= least_here && w->mass[i + across] >= least_there) return true;
    }
    return false;
}

// What a brick will be, if the plan is carried out.
static const plain_rest *next_rest(const plain_world *w, int64_t brick, bool planned)
{
    const plain_sleep *s = &w->sleep;
    return planned && s->turn[brick] != NOTHING_HAPPENS ? &s->plan[brick] : &s->rest[brick];
}

static bool sleeps(const plain_world *w, int64_t brick, bool planned)
{
    return w->grid.live[brick] && w->sleep.wet[brick] && next_rest(w, brick, planned)->asleep;
}

static bool linked(const plain_world *w, int64_t brick, int face, bool planned)
{
    const int64_t other = beside(w, brick, face);
    if (!sleeps(w, brick, planned) || !sleeps(w, other, planned)) return false;
    return next_rest(w, brick, planned)->links >> face & 1 || next_rest(w, other, planned)->links >> opposite(face) & 1;
}

static void fill_body(plain_world *w, int64_t brick, int32_t number, bool planned)
{
    plain_sleep *s = &w->sleep;
    int64_t *found = malloc((size_t)brick_count(w) * sizeof *found), count = 1;
    found[0] = brick;
    s->body[brick] = number;
    for (int64_t n = 0; n < count; n++)
        for (int face = 0; face < 6; face++) {
            const int64_t other = beside(w, found[n], face);
            if (s->body[other] != 0 || !linked(w, found[n], face, planned)) continue;
            s->body[other] = number;
            found[count++] = other;
        }
    free(found);
}

static plain_body measure_body(const plain_world *w, int64_t first, int32_t number, bool planned)
{
    plain_body body = {.first = first, .low = INT64_MAX, .high = INT64_MIN};
    EACH_LIVE(w, b)
    {
        const plain_rest *rest = next_rest(w, b, planned);
        if (w->sleep.body[b] != number) continue;
        body.owed += rest->owed;
        body.surface += rest->surface;
        if (rest->head < body.low) body.low = rest->head;
        if (rest->head > body.high) body.high = rest->head;
    }
    body.open = body.low != PLAIN_NO_HEAD && body.surface >= SURFACE_LEAST;
    return body;
}

// Sleeping bricks that are linked are a body. Bodies are numbered by their first bricks.
static void find_bodies(plain_world *w, bool planned)
{
    plain_sleep *s = &w->sleep;
    memset(s->body, 0, (size_t)brick_count(w) * sizeof *s->body);
    s->body_count = 0;
    EACH_LIVE(w, b)
    {
        if (!sleeps(w, b, planned) || s->body[b] != 0) continue;
        const int32_t number = ++s->body_count;
        fill_body(w, b, number, planned);
        s->bodies[number] = measure_body(w, b, number, planned);
    }
}

#define EACH_MEMBER(w, number, b) EACH_LIVE(w, b) if ((w)->sleep.body[b] == (number))

// ---- Drops into cells and out of them --------------------------------------------------------------------------------------

// Whether a brick is wet and how large its surface is may have changed.
static void recount(plain_world *w, int64_t brick)
{
    if (!w->grid.live[brick] || !w->sleep.rest[brick].asleep) return;
    look_if_wet(w, brick);
    w->sleep.rest[brick].surface = count_surface(w, brick);
}

static void recount_column(plain_world *w, int64_t brick)
{
    const int axis = plain_find_down(&w->params).axis;
    recount(w, brick);
    recount(w, beside(w, brick, axis));
    recount(w, beside(w, brick, axis + 3));
}

// A dry brick that a surface rises into belongs to the body below it; what was booked to it before it dried up stays so.
static void take_in(plain_world *w, int64_t brick, int64_t below)
{
    const plain_down down = plain_find_down(&w->params);
    const int64_t owed = w->sleep.rest[brick].owed;
    w->sleep.wet[brick] = 1;
    w->sleep.rest[brick] = (plain_rest){
        .asleep = true, .calm = LONG, .head = w->sleep.rest[below].head, .shown = PLAIN_NO_HEAD, .links = 1 << down.axis};
    w->sleep.rest[brick].owed = owed;
    if (down.sign > 0) w->sleep.rest[brick].links = 1 << (down.axis + 3);
    w->sleep.counts.wetted++;
}

// A surface that has become thicker than a film, beside an open cell without water, runs off: its brick wakes.
static void look_over_brim(plain_world *w, int64_t brick, int64_t i)
{
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1; side += 2) {
            const int64_t other = i + side * w->grid.step[axis];
            if (axis == plain_find_down(&w->params).axis || !cell_is_open(w, other) || w->mass[other] != 0) continue;
            w->sleep.rest[brick].calm = 0;
            w->sleep.counts.over_brim++;
        }
}

// Drops into a surface cell, or out of it; what it cannot take goes to the cell above, what it does not have comes from the one below,
// as long as bricks sleep. Returns what is left.
static int64_t put(plain_world *w, int64_t i, int64_t drops)
{
    while (drops != 0) {
        const int64_t brick = plain_brick_of(&w->grid, i);
        const int32_t before = w->mass[i], film = film_drops(w);
        const int64_t room = before < PLAIN_FULL ? PLAIN_FULL - before : 0;
        const int64_t part = drops > room ? room : drops < -before ? -before : drops;
        w->mass[i] += (int32_t)part;
        drops -= part;
        if (before == 0 || w->mass[i] == 0) recount_column(w, brick);
        if (before < film && w->mass[i] >= film) look_over_brim(w, brick, i);
        const int64_t next = drops > 0 ? i + step_up(w) : i - step_up(w), other = plain_brick_of(&w->grid, next);
        if (drops == 0 || !cell_is_open(w, next) || !w->sleep.rest[other].asleep) break;
        if (drops < 0 && w->mass[next] == 0) break;
        if (drops > 0 && !w->sleep.wet[other]) take_in(w, other, brick);
        i = next;
    }
    return drops;
}

// Drops into the wet cells of a brick, or out of them, whatever their level; each keeps one. Returns what is left.
static int64_t force_brick(plain_world *w, int64_t brick, int64_t drops)
{
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
    {
        if (w->mass[i] == 0) continue;
        const int64_t most = CELL_MOST - w->mass[i], least = 1 - (int64_t)w->mass[i];
        const int64_t part = drops > most ? most : drops < least ? least : drops;
        w->mass[i] += (int32_t)part;
        drops -= part;
        if (part != 0) w->sleep.counts.forced++;
    }
    return drops;
}

// What a body is owed lies with the first of its bricks that are wet. One that dried up gets it from whatever water there is.
static void set_owed(plain_world *w, int32_t number, int64_t owed)
{
    int64_t first = -1;
    EACH_MEMBER(w, number, b)
    {
        w->sleep.rest[b].owed = 0;
        if (first < 0 && w->sleep.wet[b]) first = b;
    }
    if (first >= 0)
        w->sleep.rest[first].owed = owed;
    else
        EACH_LIVE(w, b) if (owed != 0 && w->sleep.wet[b]) owed = force_brick(w, b, owed);
}

static int64_t sum_owed(const plain_world *w, int32_t number)
{
    int64_t owed = 0;
    EACH_MEMBER(w, number, b) owed += w->sleep.rest[b].owed;
    return owed;
}

// ---- Spreading and levelling -----------------------------------------------------------------------------------------------

// The pressure of a rim follows its head at once.
static void raise_head(plain_world *w, int64_t brick, int64_t drops)
{
    plain_rest *rest = &w->sleep.rest[brick];
    if (drops == 0 || rest->head == PLAIN_NO_HEAD) return;
    rest->head += drops;
    if (w->sleep.phase[brick] == PLAIN_RIM) show_head(w, brick);
}

// The surface cells of a brick, as they are before any of them changes.
typedef struct cell_list {
    int64_t cell[512];
    int32_t count;
} cell_list;

static cell_list list_surface(const plain_world *w, int64_t brick)
{
    cell_list list = {.count = 0};
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) if (is_surface(w, i)) list.cell[list.count++] = i;
    return list;
}

// The bricks of a body that have a surface now: it changes as they do.
static int64_t *list_bricks(const plain_world *w, int32_t number, int32_t *count)
{
    int64_t *list = calloc((size_t)brick_count(w), sizeof *list);
    *count = 0;
    EACH_MEMBER(w, number, b) if (w->sleep.rest[b].surface > 0) list[(*count)++] = b;
    return list;
}

// Every surface cell of a body gets the same; `all`: to the last drop, those that are left over one by one.
static void spread(plain_world *w, int32_t number, bool all)
{
    int32_t count;
    int64_t *bricks = list_bricks(w, number, &count), cells = 0;
    const int64_t owed = sum_owed(w, number);
    for (int32_t n = 0; n < count; n++) cells += w->sleep.rest[bricks[n]].surface;
    if (cells > 0 && owed != 0) {
        const int64_t each = owed / cells;
        int64_t single = all ? owed % cells : 0, left = owed;
        for (int32_t n = 0; n < count; n++) {
            const cell_list list = list_surface(w, bricks[n]);
            for (int32_t k = 0; k < list.count; k++) {
                const int64_t one = single > 0 ? 1 : single < 0 ? -1 : 0;
                single -= one;
                left -= each + one - put(w, list.cell[k], each + one);
            }
        }
        EACH_MEMBER(w, number, b) raise_head(w, b, each);
        set_owed(w, number, left);
    }
    free(bricks);
}

// A body gets all it is owed: what its surface does not take goes anywhere in it, and what it cannot take at all to other water.
static void settle(plain_world *w, int32_t number)
{
    if (sum_owed(w, number) == 0) return;
    w->sleep.counts.settled++;
    spread(w, number, true);
    int64_t owed = sum_owed(w, number);
    EACH_MEMBER(w, number, b) if (owed != 0) owed = force_brick(w, b, owed);
    set_owed(w, number, 0);
    EACH_LIVE(w, b) if (owed != 0 && w->sleep.wet[b]) owed = force_brick(w, b, owed);
}

// Water that stands over a cell of its body with room fills it first.
static void sink(plain_world *w, int32_t number, int64_t i)
{
    const int64_t below = i - step_up(w), brick = plain_brick_of(&w->grid, i), other = plain_brick_of(&w->grid, below);
    if (!w->grid.live[other] || w->sleep.body[other] != number || w->mass[below] == 0) return;
    const int32_t room = PLAIN_FULL - w->mass[below], part = w->mass[i] < room ? w->mass[i] : room;
    if (part <= 0) return;
    w->mass[i] -= part;
    w->mass[below] += part;
    w->sleep.counts.sunk++;
    if (w->mass[i] == 0) recount_column(w, brick);
}

static int64_t part_of_way(int64_t way)
{
    const int64_t part = way / 4;
    return part > LEVEL_MOST ? LEVEL_MOST : part < -LEVEL_MOST ? -LEVEL_MOST : part;
}

static int64_t surface_head(const plain_world *w, int64_t i)
{
    return height(w, i) * PLAIN_FULL + w->mass[i];
}

// Every surface cell of a body goes a part of its way to the level, the mean of all of them, and so does every head.
static void level(plain_world *w, int32_t number)
{
    int32_t count;
    int64_t *bricks = list_bricks(w, number, &count), sum = 0, cells = 0, moved = 0;
    const int64_t base = height(w, plain_first_of(&w->grid, w->sleep.bodies[number].first)) * PLAIN_FULL;
    for (int32_t n = 0; n < count; n++) {
        const cell_list list = list_surface(w, bricks[n]);
        for (int32_t k = 0; k < list.count; k++) sink(w, number, list.cell[k]);
    }
    for (int32_t n = 0; n < count; n++) {
        const cell_list list = list_surface(w, bricks[n]);
        for (int32_t k = 0; k < list.count; k++) sum += surface_head(w, list.cell[k]) - base;
        cells += list.count;
    }
    if (cells > 0) {
        const int64_t to = base + sum / cells;
        for (int32_t n = 0; n < count; n++) {
            const cell_list list = list_surface(w, bricks[n]);
            for (int32_t k = 0; k < list.count; k++) {
                const int64_t part = part_of_way(to - surface_head(w, list.cell[k]));
                moved += part - put(w, list.cell[k], part);
                w->sleep.counts.levelled += part != 0;
            }
        }
        EACH_MEMBER(w, number, b) raise_head(w, b, part_of_way(to - w->sleep.rest[b].head));
        set_owed(w, number, sum_owed(w, number) - moved);
    }
    free(bricks);
}

// How far the head of a brick lies from that of the water beside it, which may have none: then from its cells at the face.
static int64_t heads_apart(const plain_world *w, int64_t brick, int face)
{
    const int64_t other = beside(w, brick, face), head = w->sleep.rest[brick].head, there = w->sleep.rest[other].head;
    const float inverse_g = plain_find_down(&w->params).inverse_head;
    int64_t most = 0;
    if (there != PLAIN_NO_HEAD) return llabs(head - there);
    EACH_CELL_AT(w, other, opposite(face), i)
    {
        if (w->mass[i] == 0 || w->pressure[i] == 0.0f) continue;
        const int64_t above = (int64_t)(w->pressure[i] * inverse_g * (float)PLAIN_FULL);
        const int64_t apart = llabs(head - height(w, i) * PLAIN_FULL - above);
        if (apart > most) most = apart;
    }
    return most;
}

// Where a body rose or fell beside sleeping water of another, and their heads lie 0.1 apart now, both wake.
static void wake_apart(plain_world *w, int32_t number)
{
    plain_sleep *s = &w->sleep;
    EACH_MEMBER(w, number, b)
    {
        for (int face = 0; face < 6 && s->rest[b].head != PLAIN_NO_HEAD; face++) {
            const int64_t other = beside(w, b, face);
            if (s->body[other] == number || s->body[other] == 0 || !touch(w, b, face)) continue;
            if (heads_apart(w, b, face) <= PLAIN_FULL / 10) continue;
            s->rest[b].calm = s->rest[other].calm = 0;
            s->counts.apart++;
        }
    }
}

static void update_bodies(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    for (int32_t i = 1; i <= s->body_count; i++) s->bodies[i].owed = sum_owed(w, i);
    for (int32_t i = 1; i <= s->body_count; i++) {
        if (!s->bodies[i].open) continue;
        if (llabs(s->bodies[i].owed) >= SPREAD_LEAST * s->bodies[i].surface) {
            s->counts.spread++;
            spread(w, i, false);
            wake_apart(w, i);
        }
        if (w->update % 16 == 0) level(w, i);
    }
}

// ---- Who is awake ----------------------------------------------------------------------------------------------------------

static void mark_around(plain_world *w, int64_t brick)
{
    for (int k = 0; k < 27; k++) w->sleep.awake[around(w, brick, k)] |= w->grid.live[around(w, brick, k)];
}

// Dry bricks at the faces of wet ones that are awake are awake: water may run into them.
static void mark_dry_around(plain_world *w, int64_t brick)
{
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (w->grid.live[other] && !w->sleep.wet[other]) w->sleep.awake[other] = 1;
    }
}

static bool box_meets_brick(const plain_world *w, weir_box box, int64_t brick)
{
    const weir_coord c = plain_at(&w->grid, plain_first_of(&w->grid, brick));
    return box.min.x < c.x + 8 && box.max.x > c.x && box.min.y < c.y + 8 && box.max.y > c.y && box.min.z < c.z + 8 &&
           box.max.z > c.z;
}

// Emitters and drains that move something keep the bricks of their boxes awake, forces those that are wet, reservoirs those that are dry and should
// not be.
static void mark_sources(plain_world *w)
{
    for (int32_t k = 0; k < w->source_count; k++) {
        const plain_source *source = &w->sources[k];
        const bool acts = (source->owed + source->rate) >> 16 > 0;
        EACH_LIVE(w, b)
        {
            const bool marks = source->kind == PLAIN_FORCE       ? w->sleep.wet[b]
                               : source->kind == PLAIN_RESERVOIR ? !w->sleep.wet[b] && plain_wants_water(w, source, b)
                                                                 : acts;
            if (box_meets_brick(w, source->box, b) && marks) mark_around(w, b);
        }
    }
}

static void find_awake(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    memset(s->awake, 0, (size_t)brick_count(w));
    EACH_LIVE(w, b)
    {
        if (!s->on) s->awake[b] = 1;
        if (s->wet[b] && s->rest[b].calm < STILL_UPDATES) mark_around(w, b);
        if (s->wet[b] && s->rest[b].hold > 0) s->awake[b] = 1;
    }
    if (s->on) mark_sources(w);
    EACH_LIVE(w, b) if (s->awake[b] && s->wet[b]) mark_dry_around(w, b);
    if (!w->gas || !s->on) return;
    // Where air has a pressure all bricks sleep, when all have been quiet for long, or none.
    memset(s->awake, 0, (size_t)brick_count(w));
    mark_sources(w);
    bool any = false;
    EACH_LIVE(w, b) any |= s->awake[b] || (s->wet[b] && (s->rest[b].calm < LONG || s->rest[b].hold > 0));
    EACH_LIVE(w, b) s->awake[b] = any;
}

void plain_sleep_forgive(plain_world *w, weir_box box)
{
    plain_sleep *s = &w->sleep;
    find_bodies(w, false);
    EACH_LIVE(w, b)
    {
        if (!box_meets_brick(w, box, b) || !s->rest[b].asleep || s->body[b] == 0) continue;
        const int64_t owed = sum_owed(w, s->body[b]);
        *(owed > 0 ? &w->removed : &w->added) += llabs(owed);
        EACH_MEMBER(w, s->body[b], m) s->rest[m].owed = 0;
    }
}

// What a brick will know when it sleeps.
static plain_rest look(const plain_world *w, int64_t brick)
{
    plain_rest rest = {.asleep = true, .calm = LONG, .head = PLAIN_NO_HEAD, .shown = PLAIN_NO_HEAD};
    if (!w->sleep.wet[brick] || w->gas) return rest;
    rest.surface = count_surface(w, brick);
    rest.head = find_head(w, brick);
    return rest;
}

static int32_t find_links(const plain_world *w, int64_t brick)
{
    int32_t links = 0;
    if (w->sleep.plan[brick].head == PLAIN_NO_HEAD) return 0;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (w->sleep.awake[other] || !w->grid.live[other] || next_rest(w, other, true)->head == PLAIN_NO_HEAD) continue;
        if (touch(w, brick, face)) links |= 1 << face;
    }
    return links;
}

static void find_turns(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    memset(s->turn, NOTHING_HAPPENS, (size_t)brick_count(w));
    EACH_LIVE(w, b)
    {
        if (s->rest[b].asleep && s->awake[b]) s->turn[b] = WAKES, s->plan[b] = BLANK;
        if (!s->rest[b].asleep && !s->awake[b]) s->turn[b] = FALLS_ASLEEP, s->plan[b] = look(w, b);
    }
    EACH_LIVE(w, b) if (s->turn[b] == FALLS_ASLEEP) s->plan[b].links = find_links(w, b);
}

// ---- Who may not sleep yet -------------------------------------------------------------------------------------------------

// What a brick knows after its head was looked at once more: it rests, or rises or falls evenly, or neither.
static plain_rest look_again(plain_rest rest, int64_t head)
{
    const bool known = rest.head != PLAIN_NO_HEAD && head != PLAIN_NO_HEAD;
    const int64_t rise = known ? head - rest.head : 0;
    const bool evenly = rest.looks == 0 || llabs(rise - rest.rise) <= PLAIN_FULL / 200;
    const bool rests = known && llabs(rise) <= PLAIN_FULL / 50 && evenly;
    rest.looks = !rests ? 0 : rest.looks < LOOKS ? rest.looks + 1 : LOOKS;
    rest.rise = rests ? (int32_t)rise : 0;
    rest.head = head;
    return rest;
}

static bool lies_level_beside_body(const plain_world *w, int64_t brick, const int32_t *body, const plain_body *bodies)
{
    const plain_sleep *s = &w->sleep;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (!(s->plan[brick].links >> face & 1) || s->turn[other] != NOTHING_HAPPENS || !s->rest[other].asleep) continue;
        if (bodies[body[other]].open && llabs(s->rest[other].head - s->plan[brick].head) <= PLAIN_FULL / 50) return true;
    }
    return false;
}

static bool must_wait(const plain_world *w, int64_t brick, const int32_t *body, const plain_body *bodies)
{
    const plain_rest *rest = &w->sleep.rest[brick];
    const int64_t head = w->sleep.plan[brick].head;
    if (head == PLAIN_NO_HEAD) return rest->calm < LONG;
    return rest->looks < LOOKS && look_again(*rest, head).looks < LOOKS && !lies_level_beside_body(w, brick, body, bodies);
}

static bool body_touches_awake(const plain_world *w, int32_t number)
{
    EACH_MEMBER(w, number, b)
    for (int face = 0; face < 6; face++)
        if (w->sleep.awake[beside(w, b, face)] && touch(w, b, face)) return true;
    return false;
}

static bool body_is_refused(const plain_world *w, int32_t number)
{
    const plain_body *body = &w->sleep.bodies[number];
    if (body->low != PLAIN_NO_HEAD && body->high - body->low > (body->open ? PLAIN_FULL / 10 : PLAIN_FULL / 25)) return true;
    return !body->open && body_touches_awake(w, number);
}

// It stays awake, and with it the dry bricks at its faces.
static void refuse(plain_world *w, int64_t brick)
{
    plain_sleep *s = &w->sleep;
    s->turn[brick] = IS_HELD;
    s->plan[brick] = look_again(s->rest[brick], s->plan[brick].head);
    s->plan[brick].hold = HOLD;
    s->awake[brick] = 1;
    s->counts.refused++;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (!w->grid.live[other] || s->wet[other] || s->awake[other]) continue;
        s->awake[other] = 1;
        s->turn[other] = s->rest[other].asleep ? WAKES : NOTHING_HAPPENS;
        s->plan[other] = BLANK;
    }
}

// One round over the bodies as they would be. Tells whether any brick was refused: then others may be in the next round.
static bool refuse_some(plain_world *w, const int32_t *body, const plain_body *bodies)
{
    plain_sleep *s = &w->sleep;
    bool any = false;
    find_bodies(w, true);
    for (int32_t i = 1; i <= s->body_count; i++) s->bodies[i].refused = body_is_refused(w, i);
    EACH_LIVE(w, b)
    {
        if (s->turn[b] != FALLS_ASLEEP || s->body[b] == 0) continue;
        if (!s->bodies[s->body[b]].refused && !must_wait(w, b, body, bodies)) continue;
        refuse(w, b);
        any = true;
    }
    return any;
}

static void refuse_all(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    const size_t count = (size_t)brick_count(w);
    int32_t *body = malloc(count * sizeof *body);
    plain_body *bodies = malloc((count + 1) * sizeof *bodies);
    memcpy(body, s->body, count * sizeof *body);
    memcpy(bodies, s->bodies, (count + 1) * sizeof *bodies);
    while (refuse_some(w, body, bodies)) continue;
    free(body);
    free(bodies);
    // Links lead to bricks that sleep.
    EACH_LIVE(w, b)
    for (int face = 0; face < 6 && s->turn[b] == FALLS_ASLEEP; face++)
        if (s->awake[beside(w, b, face)]) s->plan[b].links &= ~(1 << face);
}

// Of the bricks that sleep those beside awake ones are rim, if their body is open.
static void find_phases(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    memcpy(s->phase_before, s->phase, (size_t)brick_count(w));
    EACH_LIVE(w, b)
    {
        bool rim = false;
        for (int k = 0; k < 27; k++) rim |= s->awake[around(w, b, k)];
        rim = rim && s->body[b] != 0 && s->bodies[s->body[b]].open;
        s->phase[b] = s->awake[b] ? PLAIN_AWAKE : rim ? PLAIN_RIM : PLAIN_ASLEEP;
        s->counts.rims += !s->awake[b] && rim;
    }
}

void plain_sleep_plan(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    const plain_down down = plain_find_down(&w->params);
    const bool momentum = w->solver == WEIR_SOLVER_MOMENTUM;
    s->on = momentum && w->params.momentum.gas == 0.0f && w->params.momentum.sleep > 0.0f && down.sign != 0 &&
            w->params.noise == 0.0f;
    find_wet(w);
    memcpy(s->was_wet, s->wet, (size_t)brick_count(w));
    // Nothing is known of how water moves when sleep comes on.
    EACH_LIVE(w, b) if (!s->on && !s->rest[b].asleep) s->rest[b] = BLANK;
    find_bodies(w, false);
    find_awake(w);
    find_turns(w);
    refuse_all(w);
    find_phases(w);
}

// ---- Turning ---------------------------------------------------------------------------------------------------------------

static void wake(plain_world *w, int64_t brick)
{
    plain_sleep *s = &w->sleep;
    show_head(w, brick);
    const plain_rest was = s->rest[brick];
    s->rest[brick] = BLANK;
    s->rest[brick].calm = was.calm;
    s->rest[brick].hold = was.hold;
    s->rest[brick].gentle = FADED;
    s->rest[brick].looks = was.calm == 0 ? 0 : LOOKS;
    for (int face = 0; face < 6; face++) s->rest[beside(w, brick, face)].links &= ~(1 << opposite(face));
    s->counts.woke += s->wet[brick];
}

// Over which faces water may flow: one of the bricks is awake, the other at least rim.
static bool flows_between(uint8_t a, uint8_t b)
{
    return a != PLAIN_ASLEEP && b != PLAIN_ASLEEP && (a == PLAIN_AWAKE || b == PLAIN_AWAKE);
}

// Takes the flow from the low faces of a brick over which nothing may flow.
static void stop_flow(plain_world *w, int64_t brick)
{
    const uint8_t *phase = w->sleep.phase;
    if (!w->grid.live[brick]) return;
    for (int axis = 0; axis < 3; axis++) EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
        {
            const int64_t before = plain_brick_of(&w->grid, i - w->grid.step[axis]);
            if (!w->grid.live[before] || !flows_between(phase[brick], phase[before])) w->flow[axis][i] = 0.0f;
        }
}

void plain_sleep_commit(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    find_wet(w);
    find_bodies(w, false);
    for (int32_t i = 1; i <= s->body_count; i++) {
        bool wakes = false;
        EACH_MEMBER(w, i, b) wakes |= s->turn[b] == WAKES;
        if (wakes) settle(w, i);
    }
    EACH_LIVE(w, b)
    {
        if (s->turn[b] == WAKES) wake(w, b);
        if (s->turn[b] == FALLS_ASLEEP || s->turn[b] == IS_HELD) s->rest[b] = s->plan[b];
        s->counts.slept += s->turn[b] == FALLS_ASLEEP && s->wet[b];
    }
    EACH_LIVE(w, b)
    {
        if (s->phase[b] == s->phase_before[b]) continue;
        stop_flow(w, b);
        for (int axis = 0; axis < 3; axis++) stop_flow(w, beside(w, b, axis + 3));
        if (s->phase[b] == PLAIN_RIM || s->turn[b] == FALLS_ASLEEP) show_head(w, b);
    }
    find_bodies(w, false);
    update_bodies(w);
}

void plain_sleep_wake(plain_world *w, weir_box box)
{
    plain_sleep *s = &w->sleep;
    find_wet(w);
    find_bodies(w, false);
    weir_box wide = {{(box.min.x & ~7) - 8, (box.min.y & ~7) - 8, (box.min.z & ~7) - 8},
                     {box.max.x + 8, box.max.y + 8, box.max.z + 8}};
    const weir_coord low = w->grid.low;
    if (w->gas) wide = (weir_box){low, {low.x + w->grid.size[0], low.y + w->grid.size[1], low.z + w->grid.size[2]}};
    for (int32_t i = 1; i <= s->body_count; i++) {
        bool wakes = false;
        EACH_MEMBER(w, i, b) wakes |= box_meets_brick(w, wide, b);
        if (wakes) settle(w, i);
    }
    EACH_LIVE(w, b)
    {
        if (!box_meets_brick(w, wide, b)) continue;
        s->rest[b].calm = 0;
        if (s->rest[b].asleep) wake(w, b);
        s->rest[b].gentle = 0;
    }
}

// ---- During an update ------------------------------------------------------------------------------------------------------

// Swaps the cells of sleeping bricks with what is kept aside.
static void swap_cells(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    float *const here[] = {w->flow[0], w->flow[1], w->flow[2], w->pressure};
    float *const aside[] = {s->flow[0], s->flow[1], s->flow[2], s->pressure};
    EACH_LIVE(w, b)
    {
        if (s->phase[b] != PLAIN_ASLEEP) continue;
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i)
        {
            const int32_t mass = w->mass[i];
            w->mass[i] = s->mass[i];
            s->mass[i] = mass;
            for (int k = 0; k < 4; k++) {
                const float value = here[k][i];
                here[k][i] = aside[k][i];
                aside[k][i] = value;
            }
        }
    }
}

void plain_sleep_hide(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    float *const scratch[] = {w->m,        w->m2,       w->F[0],     w->F[1],       w->F[2],  w->q,        w->h,
                              w->flow2[0], w->flow2[1], w->flow2[2], w->divergence, w->floor, w->pressure2};
    swap_cells(w);
    EACH_LIVE(w, b)
    {
        if (s->phase[b] == PLAIN_AWAKE) continue;
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i)
        {
            for (size_t k = 0; k < sizeof scratch / sizeof scratch[0]; k++) scratch[k][i] = 0.0f;
            w->active[i] = 0;
        }
    }
}

void plain_sleep_unhide(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    swap_cells(w);
    EACH_LIVE(w, b)
    {
        if (s->phase[b] != PLAIN_ASLEEP) continue;
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i)
        {
            s->mass[i] = 0;
            s->flow[0][i] = s->flow[1][i] = s->flow[2][i] = s->pressure[i] = 0.0f;
        }
    }
}

// What a move brought to the rim, or took from it, is booked; its cells stay as they are, and so does its pressure.
void plain_sleep_book(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    EACH_LIVE(w, b)
    {
        if (s->phase[b] != PLAIN_RIM) continue;
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i)
        {
            const int32_t before = (int32_t)(w->m[i] * (float)PLAIN_FULL);
            s->rest[b].owed += w->mass[i] - before;
            s->counts.booked += w->mass[i] != before;
            w->mass[i] = before;
            w->m2[i] = w->m[i];
            w->pressure2[i] = w->pressure[i];
        }
    }
}

// In the rim water flows over the faces to awake bricks only.
void plain_sleep_trim(plain_world *w)
{
    EACH_LIVE(w, b) if (w->sleep.phase[b] == PLAIN_RIM) stop_flow(w, b);
}

// ---- The end of an update --------------------------------------------------------------------------------------------------

static float fill_at(const plain_world *w, int64_t i)
{
    return (float)w->mass[i] / (float)PLAIN_FULL;
}

// The flux over the low face of a cell, by which water counts as moving.
static float flux_at(const plain_world *w, int64_t i, int axis)
{
    const float f = w->flow[axis][i], size = fabsf(f), donor = fill_at(w, f > 0.0f ? i - w->grid.step[axis] : i);
    return size > 5.0f * w->params.momentum.sleep && donor > 0.0f ? size : size * plain_least(1.0f, donor);
}

// What gravity and pressure would add to the flow over it.
static float kick_at(const plain_world *w, int64_t i, int axis)
{
    const float g = axis == 0 ? w->params.gravity.x : axis == 1 ? w->params.gravity.y : w->params.gravity.z;
    const int64_t low = i - w->grid.step[axis];
    const float push = g + (w->pressure[low] - w->pressure[i]), donor = fill_at(w, push > 0.0f ? low : i);
    return cell_is_open(w, low) && cell_is_open(w, i) ? fabsf(push) * plain_least(1.0f, donor) : 0.0f;
}

// The largest of them over the faces between a brick and the one behind it on an axis.
static float largest_behind(const plain_world *w, int64_t brick, int axis, float (*at)(const plain_world *, int64_t, int))
{
    float most = 0.0f;
    EACH_CELL_AT(w, brick, axis + 3, i) most = plain_most(most, at(w, i + w->grid.step[axis], axis));
    return most;
}

// And over all low faces of a brick.
static float largest_low(const plain_world *w, int64_t brick, int axis, float (*at)(const plain_world *, int64_t, int))
{
    float most = 0.0f;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) most = plain_most(most, at(w, i, axis));
    return most;
}

static float largest_flux(const plain_world *w, int64_t brick)
{
    float flux = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        flux = plain_most(flux, largest_low(w, brick, axis, flux_at));
        if (w->sleep.phase[beside(w, brick, axis + 3)] == PLAIN_RIM)
            flux = plain_most(flux, largest_behind(w, brick, axis, flux_at));
    }
    return flux;
}

static float largest_kick(const plain_world *w, int64_t brick)
{
    float kick = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        kick = plain_most(kick, largest_low(w, brick, axis, kick_at));
        if (w->sleep.phase[beside(w, brick, axis + 3)] != PLAIN_AWAKE)
            kick = plain_most(kick, largest_behind(w, brick, axis, kick_at));
    }
    return kick;
}

// Whether a brick pushes against water that sleeps without a rim.
static bool pushes(const plain_world *w, int64_t brick)
{
    const plain_sleep *s = &w->sleep;
    const float least = 0.03f * plain_find_down(&w->params).head;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (!w->grid.live[other] || s->phase[other] != PLAIN_ASLEEP || !s->wet[other]) continue;
        if (largest_behind(w, face < 3 ? other : brick, face % 3, kick_at) > least) return true;
    }
    return false;
}

// The largest kick over the faces to the rim.
static float largest_swell(const plain_world *w, int64_t brick)
{
    float swell = 0.0f;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (!w->grid.live[other] || w->sleep.phase[other] != PLAIN_RIM) continue;
        swell = plain_most(swell, largest_behind(w, face < 3 ? other : brick, face % 3, kick_at));
    }
    return swell;
}

static uint8_t find_motion(const plain_world *w, int64_t brick)
{
    const float moves = w->params.momentum.sleep, g = plain_find_down(&w->params).head, flux = largest_flux(w, brick);
    if (flux > 10.0f * moves) return MOVES | WILD;
    if (flux > moves) return MOVES;
    const float kick = largest_kick(w, brick);
    const float borne = 2.0f * w->params.momentum.viscosity * g;
    const bool still = flux <= 0.5f * moves && kick <= 0.075f * g + borne;
    const bool quiet = flux <= 0.05f * moves && kick <= 0.015f * g + borne;
    // Kicks or fluxes of waves, and those that reach the rim.
    const float swell = largest_swell(w, brick);
    const bool runs = flux > 0.1f * moves, swells = swell > 0.012f * g + borne || (runs && swell > 0.0f);
    const int waves = (kick > 0.01f * g + borne || runs ? RIPPLES : 0) | (swells ? SWELLS : 0);
    return (uint8_t)((quiet ? QUIET : still ? STILL : SOME) | waves | (pushes(w, brick) ? PUSHES : 0));
}

// The share of its flow on an axis that water loses. All water beside the rim of a driven island does, most of it up and down; quiet water;
// still water beside a rim; and still water that has been gentle for long, in bricks with 192 open cells or more.
static float find_loss(const plain_world *w, int64_t brick, int axis)
{
    const plain_rest *rest = &w->sleep.rest[brick];
    bool beside_rim = false;
    int32_t open = 0;
    for (int k = 0; k < 27; k++)
        beside_rim |= w->grid.live[around(w, brick, k)] && w->sleep.phase[around(w, brick, k)] == PLAIN_RIM;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) open += w->open[i];
    if (rest->driven && beside_rim) return axis == plain_find_down(&w->params).axis ? 0.09f : 0.01f;
    if (rest->calm > STILL_UPDATES) return 0.02f;
    return rest->calm > 0 && (beside_rim || (rest->gentle >= GENTLE && open >= 192)) ? 0.02f : 0.0f;
}

// Faces between cells of which neither is half full keep their flow.
static void damp(plain_world *w, int64_t brick)
{
    for (int axis = 0; axis < 3; axis++) {
        const float loss = find_loss(w, brick, axis);
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
        {
            const int64_t low = i - w->grid.step[axis];
            if (loss == 0.0f || (w->mass[low] < PLAIN_FULL / 2 && w->mass[i] < PLAIN_FULL / 2)) continue;
            w->flow[axis][i] = plain_still(w->flow[axis][i] * (1.0f - loss));
        }
    }
}

// All of a body that is pushed will wake.
static void push(plain_world *w, int64_t brick)
{
    plain_sleep *s = &w->sleep;
    for (int face = 0; face < 6; face++) {
        const int64_t other = beside(w, brick, face);
        if (!w->grid.live[other] || s->body[other] == 0 || s->phase[other] != PLAIN_ASLEEP) continue;
        EACH_MEMBER(w, s->body[other], b) s->rest[b].calm = 0;
        s->counts.pushed++;
    }
}

static bool of_island(const plain_world *w, int64_t brick)
{
    return w->grid.live[brick] && w->sleep.wet[brick] && w->sleep.phase[brick] == PLAIN_AWAKE;
}

// For how many times 16 updates a brick has not been wild; what was dry before the update does not count.
static int32_t find_gentle(const plain_world *w, int64_t brick)
{
    const plain_sleep *s = &w->sleep;
    return s->motion[brick] & WILD ? 0 : s->was_wet[brick] ? s->rest[brick].gentle : FADED;
}

// Awake bricks whose water lies side by side are an island. It is driven if one of them has been wild for long. If not, it has been
// gentle for as long as all of it has, and its waves count until that is long, or fade after it; if it is large they are followed over its rim.
static void judge_island(plain_world *w, int64_t brick, uint8_t *seen)
{
    plain_sleep *s = &w->sleep;
    int64_t *found = malloc((size_t)brick_count(w) * sizeof *found), count = 1, area = 0;
    int32_t gentle = FADED;
    bool driven = false;
    const int64_t up =
        step_up(w) > 0 ? brick_step(w, plain_find_down(&w->params).axis) : -brick_step(w, plain_find_down(&w->params).axis);
    found[0] = brick;
    seen[brick] = 1;
    for (int64_t n = 0; n < count; n++) {
        driven |= s->rest[found[n]].wild == DRIVEN;
        if (find_gentle(w, found[n]) < gentle) gentle = find_gentle(w, found[n]);
        area += !s->wet[found[n] + up];
        for (int face = 0; face < 6; face++) {
            const int64_t other = beside(w, found[n], face);
            if (!of_island(w, other) || seen[other]) continue;
            seen[other] = 1;
            found[count++] = other;
        }
    }
    for (int64_t n = 0; n < count; n++) {
        plain_rest *rest = &s->rest[found[n]];
        rest->driven = driven;
        rest->gentle = driven ? find_gentle(w, found[n]) : gentle;
        s->waves[found[n]] = driven || gentle == FADED ? IGNORED
                             : gentle >= GENTLE        ? FADING
                             : area < ISLAND_LEAST     ? COUNTED
                                                       : FOLLOWED;
    }
    free(found);
}

static void judge_waves(plain_world *w)
{
    uint8_t *seen = calloc((size_t)brick_count(w), 1);
    EACH_LIVE(w, b) if (of_island(w, b) && !seen[b]) judge_island(w, b, seen);
    free(seen);
}

static void note_brick(plain_world *w, int64_t brick)
{
    plain_sleep *s = &w->sleep;
    plain_rest *rest = &s->rest[brick];
    int motion = s->motion[brick] & 3;
    const bool follows = s->motion[brick] & SWELLS && s->waves[brick] == FOLLOWED;
    const bool rippled = s->motion[brick] & RIPPLES && s->waves[brick] != IGNORED && motion != QUIET && !follows;
    const bool fades = rippled && s->waves[brick] == FADING, ripples = rippled && !fades;
    if (follows) motion = MOVES;
    if (ripples) motion = SOME;
    s->counts.followed += follows;
    s->counts.rippled += ripples;
    if (rest->hold > 0) rest->hold--;
    if (rest->gentle < FADED && w->update % 16 == 0) rest->gentle++;
    if (w->update % 16 == 0) rest->wild = rest->gentle > 1 ? 0 : rest->wild < DRIVEN ? rest->wild + 1 : DRIVEN;
    if (ripples && rest->calm < STILL_UPDATES) rest->calm = 0;
    if (motion != QUIET && rest->calm > STILL_UPDATES) rest->calm = STILL_UPDATES;
    if (motion == QUIET && rest->calm < LONG) rest->calm++;
    if (motion == STILL && rest->calm < (fades ? STILL_UPDATES - 1 : STILL_UPDATES)) rest->calm++;
    if (motion == MOVES || (s->wet[brick] && !s->was_wet[brick])) {
        rest->calm = rest->looks = 0;
        rest->head = PLAIN_NO_HEAD;
    }
    if (!s->wet[brick]) *rest = BLANK;
    if (s->motion[brick] & PUSHES) push(w, brick);
}

// What was booked to a rim that has dried up is owed to the water that is left.
static void keep_owed_with_water(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    EACH_LIVE(w, b)
    {
        // One that was dry when the bodies were found gives it to the first that it is linked to, or to whatever water there is.
        int64_t owed = s->rest[b].owed, to = -1;
        if (s->wet[b] || owed == 0 || s->body[b] != 0) continue;
        for (int face = 5; face >= 0; face--) {
            const int64_t other = beside(w, b, face);
            const bool link = s->rest[b].links >> face & 1 || s->rest[other].links >> opposite(face) & 1;
            if (link && w->grid.live[other] && s->body[other] != 0) to = other;
        }
        s->rest[b].owed = 0;
        if (to >= 0) s->rest[to].owed += owed;
        if (to < 0) EACH_LIVE(w, n) if (owed != 0 && s->wet[n]) owed = force_brick(w, n, owed);
    }
    EACH_LIVE(w, b) if (!s->wet[b] && s->rest[b].owed != 0) set_owed(w, s->body[b], sum_owed(w, s->body[b]));
}

void plain_sleep_note(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    if (!s->on) return;
    find_wet(w);
    keep_owed_with_water(w);
    EACH_LIVE(w, b)
    {
        if (s->phase[b] != PLAIN_AWAKE) continue;
        if (s->wet[b]) damp(w, b);
        s->motion[b] = s->wet[b] ? find_motion(w, b) : QUIET;
    }
    judge_waves(w);
    EACH_LIVE(w, b) if (s->phase[b] == PLAIN_AWAKE) note_brick(w, b);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

void plain_sleep_end_brick(plain_world *w, int64_t brick)
{
    w->sleep.rest[brick] = BLANK;
    w->sleep.phase[brick] = PLAIN_AWAKE;
}

void plain_sleep_make(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    const size_t count = (size_t)brick_count(w), cells = (size_t)w->grid.all_cells;
    uint8_t **const bytes[] = {&s->phase, &s->phase_before, &s->wet, &s->was_wet, &s->awake, &s->turn, &s->motion, &s->waves};
    for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) *bytes[k] = calloc(count, 1);
    s->rest = calloc(count, sizeof *s->rest);
    s->plan = calloc(count, sizeof *s->plan);
    s->body = calloc(count, sizeof *s->body);
    s->bodies = calloc(count + 1, sizeof *s->bodies);
    s->mass = calloc(cells, sizeof *s->mass);
    s->pressure = calloc(cells, sizeof *s->pressure);
    for (int axis = 0; axis < 3; axis++) s->flow[axis] = calloc(cells, sizeof(float));
    for (int64_t b = 0; b < brick_count(w); b++) plain_sleep_end_brick(w, b);
}

void plain_sleep_free(plain_world *w)
{
    plain_sleep *s = &w->sleep;
    void *const all[] = {s->phase,  s->phase_before, s->wet,     s->was_wet, s->awake,  s->turn,
                         s->motion, s->waves,        s->rest,    s->plan,    s->body,   s->bodies,
                         s->mass,   s->pressure,     s->flow[0], s->flow[1], s->flow[2]};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
}
