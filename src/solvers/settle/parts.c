// Bodies that come apart. One out of which cells were taken may be several: its cells are cut into parts that hang together, by bricks
// first and then from brick to brick, and what each piece of those that hang together would be is counted. All of that is found over as many
// updates as it takes, while the body stays one. Then the nodes of all but the largest piece change their body.
#include "solvers/settle/settle.h"

#include "world/coord_table.h"
#include <assert.h>
#include <string.h>

enum {
    PARTS_SPARE = 1024,   // more parts than nodes that a body may have
    PARTS_OF_NODE = 256,  // at most
    STAGE_CUT = 0,        // nodes into parts
    STAGE_TIE,            // parts that touch over the faces of bricks
    STAGE_WEIGH,          // what pieces hold, and their top layers
    STAGE_FIT,            // what fits into them
    STAGE_FOUND
};

static const uint64_t LOW_X = UINT64_C(0x0101010101010101);

// Cells of a node that hang together.
typedef struct settle_part {
    int32_t node;
    int32_t root;   // a part with which it hangs together
    int32_t piece;  // of a root: that its parts are; 0: not known
    bool loose;     // its node has others
    layer_mask cells;
} settle_part;

// Parts that hang together, and the body that they will be.
typedef struct settle_piece {
    int32_t body, top;
    int32_t nodes, area, partly;
    int32_t lowest;  // the part in its lowest brick
    int64_t volume, base, room;
} settle_piece;

// ---- Room --------------------------------------------------------------------------------------------------------------------

static weir_status reserve_parts(settle *s, int32_t room)
{
    if (room <= s->part_room) return WEIR_OK;
    memory *mem = &s->cells.world->mem;
    const int32_t more = room + room / 4;  // so that a world that grows need not ask in every update
    settle_part *parts = s->search.kind == SEARCH_PARTS
                             ? memory_resize(mem, s->parts, (size_t)s->part_room * sizeof *parts, (size_t)more * sizeof *parts)
                             : memory_alloc(mem, (size_t)more * sizeof *parts);
    if (!parts) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell %d parts of water apart", more);
    if (s->search.kind != SEARCH_PARTS) memory_free(mem, s->parts, (size_t)s->part_room * sizeof *parts);
    s->parts = parts;
    s->part_room = more;
    return WEIR_OK;
}

weir_status settle_reserve_parts(settle *s)
{
    memory *mem = &s->cells.world->mem;
    const int32_t nodes = store_used(&s->nodes);
    s->part_most = nodes + nodes / 4 + settle_parts_wanted(s) + PARTS_SPARE;
    const weir_status status = reserve_parts(s, s->part_most);
    if (status != WEIR_OK || s->piece_room >= s->bodies.room) return status;
    const size_t size = sizeof *s->pieces;
    settle_piece *pieces = memory_resize(mem, s->pieces, (size_t)s->piece_room * size, (size_t)s->bodies.room * size);
    if (!pieces) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell %d bodies of water apart", s->bodies.room);
    s->pieces = pieces;
    s->piece_room = s->bodies.room;
    return WEIR_OK;
}

int32_t settle_parts_wanted(const settle *s)
{
    const settle_search *q = &s->search;
    if (q->kind != SEARCH_PARTS) return 0;
    return q->owed > 0 ? q->wanted : q->loose + q->lacking + q->roots;
}

int64_t settle_search_bytes(const settle *s)
{
    return s->part_room * (int64_t)sizeof *s->parts + s->piece_room * (int64_t)sizeof *s->pieces +
           s->step_room * (int64_t)sizeof *s->steps;
}

void settle_free_search(settle *s)
{
    memory *mem = &s->cells.world->mem;
    memory_free(mem, s->parts, (size_t)s->part_room * sizeof *s->parts);
    memory_free(mem, s->pieces, (size_t)s->piece_room * sizeof *s->pieces);
    memory_free(mem, s->steps, (size_t)s->step_room * sizeof *s->steps);
    s->parts = NULL;
    s->pieces = NULL;
    s->steps = NULL;
    s->part_room = s->piece_room = s->step_room = 0;
}

// ---- Parts -------------------------------------------------------------------------------------------------------------------

// Whole layers that lie on each other hang together without a look, and most nodes have nothing else.
static bool is_solid_stack(const layer_mask *cells)
{
    int32_t changes = 0;
    for (int32_t y = 0; y < 8; y++) {
        if (cells->layer[y] != 0 && cells->layer[y] != ~UINT64_C(0)) return false;
        changes += y > 0 && cells->layer[y] != cells->layer[y - 1];
    }
    return changes < 2 || (changes == 2 && !cells->layer[0]);
}

// Takes the cells that hang together with the lowest one out of a mask.
static layer_mask take_part(layer_mask *cells)
{
    layer_mask part = {{0}};
    if (is_solid_stack(cells)) {
        part = *cells;
        *cells = (layer_mask){{0}};
        return part;
    }
    for (int32_t y = 0; y < 8; y++) {
        if (!cells->layer[y]) continue;
        part.layer[y] = cells->layer[y] == ~UINT64_C(0) ? cells->layer[y] : cells->layer[y] & -cells->layer[y];
        break;
    }
    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t y = 0; y < 8; y++) {
            uint64_t wider = part.layer[y] | layer_sides(part.layer[y]);
            if (y > 0) wider |= part.layer[y - 1];
            if (y < 7) wider |= part.layer[y + 1];
            wider &= cells->layer[y];
            grown |= wider != part.layer[y];
            part.layer[y] = wider;
        }
    }
    for (int32_t y = 0; y < 8; y++) cells->layer[y] &= ~part.layer[y];
    return part;
}

static int32_t root_of(settle_part *parts, int32_t part)
{
    while (parts[part].root != part) part = parts[part].root = parts[parts[part].root].root;
    return part;
}

// Whether cells of a brick touch those of the next one on an axis.
static bool touch_across(const layer_mask *a, const layer_mask *b, int32_t axis)
{
    uint64_t any = 0;
    if (axis == 1) return a->layer[7] & b->layer[0];
    for (int32_t y = 0; y < 8; y++)
        any |= axis == 0 ? a->layer[y] >> 7 & b->layer[y] & LOW_X : a->layer[y] >> 56 & b->layer[y] & 0xff;
    return any != 0;
}

// Cuts a node into parts.
static void cut_node(settle *s, int32_t node)
{
    settle_search *q = &s->search;
    const int32_t first = q->count;
    layer_mask left = node_at(s, node)->cells;
    while (!layers_empty(&left)) {
        s->parts[q->count] = (settle_part){.node = node, .root = q->count, .cells = take_part(&left)};
        q->count++;
    }
    node_at(s, node)->part = first;
    for (int32_t p = first; p < q->count && q->count - first > 1; p++) {
        s->parts[p].loose = true;
        q->loose++;
    }
}

// Joins a part with those that it touches over the upper faces of its brick. The lower number is the root.
static void tie_part(settle *s, int32_t p)
{
    static const int32_t next_brick[3] = {NEAR(1, 0, 0), NEAR(0, 1, 0), NEAR(0, 0, 1)};
    settle_search *q = &s->search;
    settle_part *parts = s->parts;
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t next = s->cells.pool.near[node_at(s, parts[p].node)->brick][next_brick[axis]];
        const int32_t node = next ? settle_find_node(s, next, q->body) : 0;
        for (int32_t r = node ? node_at(s, node)->part : q->count; r < q->count && parts[r].node == node; r++) {
            if (!touch_across(&parts[p].cells, &parts[r].cells, axis)) continue;
            const int32_t a = root_of(parts, p), b = root_of(parts, r);
            if (a == b) continue;
            parts[a < b ? b : a].root = a < b ? a : b;
            q->roots--;
        }
    }
}

// ---- Pieces ------------------------------------------------------------------------------------------------------------------

static settle_piece *piece_of(settle *s, int32_t part)
{
    return &s->pieces[s->parts[root_of(s->parts, part)].piece];
}

static int64_t volume_of(const settle *s, const settle_body *b, const settle_part *part)
{
    const settle_node *n = node_at(s, part->node);
    const settle_brick *brick = &s->bricks[n->brick];
    const int32_t bottom = 8 * s->cells.pool.coord[n->brick].y;
    int64_t volume = 0;
    for (int32_t y = 0; y < 8; y++) {
        if (!brick->shares) {
            if (part->cells.layer[y])
                volume += (int64_t)__builtin_popcountll(part->cells.layer[y]) * body_fill(b, bottom + y, SETTLE_FULL);
            continue;
        }
        for (uint64_t left = part->cells.layer[y]; left;)
            volume += body_fill(b, bottom + y, cell_capacity(brick, cell_of(y, region_take(&left))));
    }
    return volume;
}

static int order_of(const settle *s, int32_t a, int32_t b)
{
    const weir_coord *coord = s->cells.pool.coord;
    return coord_compare(coord[node_at(s, s->parts[a].node)->brick], coord[node_at(s, s->parts[b].node)->brick]);
}

static void weigh_part(settle *s, int32_t p)
{
    settle_search *q = &s->search;
    const settle_part *part = &s->parts[p];
    settle_part *root = &s->parts[root_of(s->parts, p)];
    if (!root->piece) {
        root->piece = ++q->pieces;
        s->pieces[root->piece] = (settle_piece){.top = INT32_MIN, .lowest = p};
    }
    settle_piece *piece = &s->pieces[root->piece];
    const int32_t bottom = 8 * s->cells.pool.coord[node_at(s, part->node)->brick].y;
    piece->volume += volume_of(s, body_at(s, q->body), part);
    piece->nodes++;
    for (int32_t y = 7; y >= 0 && bottom + y > piece->top; y--)
        if (part->cells.layer[y]) piece->top = bottom + y;
    if (order_of(s, p, piece->lowest) < 0) piece->lowest = p;
    const int order = order_of(s, p, q->lowest);
    if (order < 0 || (order == 0 && settle_lowest_cell(&part->cells) < settle_lowest_cell(&s->parts[q->lowest].cells)))
        q->lowest = p;
}

static void fit_part(settle *s, int32_t p)
{
    const settle_part *part = &s->parts[p];
    const int32_t brick = node_at(s, part->node)->brick, bottom = 8 * s->cells.pool.coord[brick].y;
    const settle_brick *b = &s->bricks[brick];
    settle_piece *piece = piece_of(s, p);
    for (int32_t y = 0; y < 8; y++) {
        const uint64_t cells = part->cells.layer[y];
        if (!cells) continue;
        const int32_t number = __builtin_popcountll(cells);
        int64_t fits = (int64_t)number * SETTLE_FULL;
        if (b->shares) {
            fits = 0;
            for (uint64_t left = cells; left;) {
                const int32_t share = b->shares[cell_of(y, region_take(&left))];
                fits += rule_settle_capacity(share);
                piece->partly += bottom + y == piece->top && share > 0;
            }
        }
        if (bottom + y < piece->top) {
            piece->base += fits;
            continue;
        }
        piece->room += fits;
        piece->area += number;
    }
}

// ---- Searching ---------------------------------------------------------------------------------------------------------------

static bool cut_nodes(settle *s)
{
    settle_search *q = &s->search;
    for (;;) {
        if (!q->node && q->list == LIST_SURFACE) return true;
        if (!q->node) {
            q->node = body_at(s, q->body)->first[++q->list];
            continue;
        }
        if (s->part_most - q->count < PARTS_OF_NODE) {
            q->lacking = q->count;
            return false;
        }
        if (!settle_look_on(s, SETTLE_COST_LOOK)) return false;
        cut_node(s, q->node);
        q->node = node_at(s, q->node)->next;
    }
}

// Goes on with what is done to each part. False if the next update does.
static bool walk_parts(settle *s, int32_t *part, int64_t cost, void (*visit)(settle *s, int32_t part))
{
    for (; *part < s->search.count; ++*part) {
        if (!settle_look_on(s, cost)) return false;
        visit(s, *part);
    }
    *part = 0;
    return true;
}

// Finds the parts of a body, and if they are several pieces what these are.
static bool find_pieces(settle *s, int32_t body)
{
    settle_search *q = &s->search;
    const settle_body *b = body_at(s, body);
    if (q->kind != SEARCH_PARTS || q->body != body) {
        const bool lost = q->kind == SEARCH_PARTS && q->body == 0;
        *q = (settle_search){.kind = SEARCH_PARTS,
                             .body = body,
                             .top = b->top,
                             .node = b->first[0],
                             .owed = lost ? q->owed : 0,
                             .wanted = lost ? q->wanted : 0};
    }
    if (q->stage == STAGE_CUT) {
        if (!cut_nodes(s)) return false;
        q->roots = q->count;
        q->stage = STAGE_TIE;
    }
    if (q->stage == STAGE_TIE) {
        if (!walk_parts(s, &q->part, SETTLE_COST_AROUND, tie_part)) return false;
        q->stage = q->roots > 1 ? STAGE_WEIGH : STAGE_FOUND;
    }
    if (q->stage == STAGE_WEIGH) {
        if (q->roots - 1 > s->bodies.budget) return false;  // the next update has room for them
        if (!walk_parts(s, &q->part, SETTLE_COST_LOOK, weigh_part)) return false;
        q->stage = STAGE_FIT;
    }
    if (q->stage == STAGE_FIT) {
        if (!walk_parts(s, &q->part, SETTLE_COST_LOOK, fit_part)) return false;
        q->stage = STAGE_FOUND;
    }
    return true;
}

// ---- Coming apart ------------------------------------------------------------------------------------------------------------

// Gives a part to the body of its piece.
static void move_part(settle *s, int32_t p)
{
    const settle_part *part = &s->parts[p];
    const int32_t body = piece_of(s, p)->body;
    if (node_at(s, part->node)->body == body) return;
    if (!part->loose) {
        settle_hand_node(s, part->node, body);
        return;
    }
    settle_node *there = node_at(s, settle_need_node(s, node_at(s, part->node)->brick, body)), *n = node_at(s, part->node);
    for (int32_t y = 0; y < 8; y++) {
        there->cells.layer[y] |= part->cells.layer[y];
        n->cells.layer[y] &= ~part->cells.layer[y];
    }
}

// A node all parts of which are others'.
static void end_if_empty(settle *s, int32_t p)
{
    const settle_part *part = &s->parts[p];
    const bool last = p + 1 == s->search.count || s->parts[p + 1].node != part->node;
    if (part->loose && last && layers_empty(&node_at(s, part->node)->cells)) settle_end_node(s, part->node);
}

static void count_shares(settle *s, int32_t p)
{
    const settle_part *part = &s->parts[p];
    const int32_t brick = node_at(s, part->node)->brick, y = piece_of(s, p)->top;
    const settle_brick *b = &s->bricks[brick];
    if (!b->shares || y >> 3 != s->cells.pool.coord[brick].y) return;
    for (uint64_t left = part->cells.layer[y & 7]; left;) {
        const int32_t share = b->shares[cell_of(y & 7, region_take(&left))];
        if (share > 0) histogram_of(s, body_at(s, piece_of(s, p)->body))[share]++;
    }
}

// The largest piece keeps the body's number, of which there is nothing to see.
static int32_t largest_piece(const settle *s)
{
    int32_t largest = 1;
    for (int32_t i = 2; i <= s->search.roots; i++)
        if (s->pieces[i].nodes > s->pieces[largest].nodes) largest = i;
    return largest;
}

// The piece with the lowest cell keeps what is in no cell. Their cells hold what they held.
static void come_apart(settle *s)
{
    static const int32_t no_shares[256] = {0};
    const settle_search *q = &s->search;
    const settle_body before = *body_at(s, q->body);
    const int32_t keeps = largest_piece(s);
    settle_piece *first = piece_of(s, q->lowest);
    int32_t partly = 0;
    settle_wake_outlets(s, q->body, true);
    first->volume = before.volume;
    for (int32_t i = 1; i <= q->roots; i++)
        if (&s->pieces[i] != first) first->volume -= s->pieces[i].volume;
    assert(first->volume >= 0);
    for (int32_t i = 1; i <= q->roots; i++) {
        settle_piece *piece = &s->pieces[i];
        piece->body = i == keeps ? q->body : settle_new_body(s, piece->top, before.material);
        settle_body *b = body_at(s, piece->body);
        b->volume = piece->volume;
        b->base = piece->base;
        b->top = piece->top;
        b->level = piece->top == before.top ? before.level : SETTLE_FULL;
        b->closed = false;
        settle_set_layer(s, b, piece->room, piece->area, piece->partly, no_shares);
        settle_note_body(s, piece->body);
        partly += piece->partly;
    }
    for (int32_t p = 0; p < q->count && partly > 0; p++) count_shares(s, p);
    for (int32_t p = 0; p < q->count; p++) {
        move_part(s, p);
        end_if_empty(s, p);
    }
    if (before.top >> 3 != s->pieces[keeps].top >> 3) settle_relist(s, body_at(s, q->body));
    for (int32_t i = 1; i <= q->roots; i++) {
        const settle_part *lowest = &s->parts[s->pieces[i].lowest];
        body_at(s, s->pieces[i].body)->lowest = lowest->loose ? 0 : lowest->node;
    }
}

bool settle_split(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    const settle_search *q = &s->search;
    if (b->nodes == 0) return true;
    if (!find_pieces(s, body) || q->roots - 1 > s->bodies.budget || q->loose > s->nodes.budget) return false;
    if (q->roots > 1 && !settle_may_change(s, q->count)) return false;
    b->may_be_split = false;
    b->cut_pieces = 0;
    if (q->roots > 1) come_apart(s);
    s->search.kind = SEARCH_NOTHING;
    return true;
}
