// Kernels that carry bricks and what is known of them between the host and the device. One work-group per brick; a brick has `words` words of
// four bytes in a channel.

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void pack_bricks(global const int *bricks, global const uint *channel,
                                                                           global uint *block, int first, int words)
{
    const int from = bricks[get_group_id(0)] * words, to = first + (int)get_group_id(0) * words;
    EACH(i, words) block[to + i] = channel[from + i];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void unpack_bricks(global const int *bricks, global uint *channel,
                                                                             global const uint *block, int first, int words)
{
    const int to = bricks[get_group_id(0)] * words, from = first + (int)get_group_id(0) * words;
    EACH(i, words) channel[to + i] = block[from + i];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void clear_bricks(global const int *bricks, global uint *channel,
                                                                            int words)
{
    const int at = bricks[get_group_id(0)] * words;
    EACH(i, words) channel[at + i] = 0;
}

// Brick b goes to place[b]; 0: it is dead.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void move_bricks(global const int *place, global const uint *from,
                                                                           global uint *to, int words)
{
    const int brick = (int)get_group_id(0);
    if (place[brick] > 0) EACH(i, words) to[place[brick] * words + i] = from[brick * words + i];
}

// Copies bricks from one channel to another.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void double_bricks(global const int *bricks, global const uint *from,
                                                                             global uint *to, int words)
{
    const int at = bricks[get_group_id(0)] * words;
    EACH(i, words) to[at + i] = from[at + i];
}

// A row says all that the host knows of one brick. In a newborn one the channels become zero, each of so many words per brick.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
take_rows(global const device_row *rows, global int *near, global uint *open, global int *coords, global uchar *clear,
          global uint *c0, global uint *c1, global uint *c2, global uint *c3, global uint *c4, global uint *c5, global uint *c6,
          global uint *c7, int8 words)
{
    global const device_row *row = &rows[get_group_id(0)];
    const int brick = row->brick;
    EACH(i, 27) near[27 * brick + i] = row->near[i];
    EACH(i, 16) open[16 * brick + i] = row->open[i];
    EACH(i, 3) coords[3 * brick + i] = row->coord[i];
    ONCE clear[brick] = (uchar)row->clear;
    if (row->newborn == 0) return;
    EACH(i, words.s0) c0[brick * words.s0 + i] = 0;
    EACH(i, words.s1) c1[brick * words.s1 + i] = 0;
    EACH(i, words.s2) c2[brick * words.s2 + i] = 0;
    EACH(i, words.s3) c3[brick * words.s3 + i] = 0;
    EACH(i, words.s4) c4[brick * words.s4 + i] = 0;
    EACH(i, words.s5) c5[brick * words.s5 + i] = 0;
    EACH(i, words.s6) c6[brick * words.s6 + i] = 0;
    EACH(i, words.s7) c7[brick * words.s7 + i] = 0;
}

// The places of the bricks that are worked on: one work-item each, those beyond the last do the last one again.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
place_bricks(global const int *list, global const int *near, global const uchar *clear, global int *tables, int room, int count)
{
    global device_place *places = TABLE(tables, device_place, DEVICE_PLACES(room));
    const int i = min((int)get_global_id(0), count - 1), brick = list[i];
    global const int *here = near + 27 * brick + SELF;
    const device_place place = {brick, here[-1], here[1], here[-3], here[3], here[-9], here[9], clear[brick]};
    places[i] = place;
}

// What the host says of some bricks, as 32 times each and its bits, added to what the move found out.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flag_bricks(global const int *flags, global int *tables,
                                                                           int count)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
    const int i = (int)get_global_id(0);
    if (i < count) brick_flags[flags[i] >> 5] |= (uchar)(flags[i] & 31);
}

// Which changes count (cells/changes.c). The mass has `bytes` per cell, each worth `unit` drops.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void report_changes(global const int *list, global const uchar *mass,
                                                                            global ushort *reported, global int *tables, int bytes,
                                                                            int unit, int threshold)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
    local volatile int apart;
    const int brick = list[get_group_id(0)], flags = brick_flags[brick], stale = flags & DEVICE_STALE;
    if (!(flags & (DEVICE_CHANGED | DEVICE_STALE))) return;
    ONCE apart = 0;
    SYNC;
    int steps[BRICK_CELLS / GROUP], n = 0;
    EACH(cell, BRICK_CELLS)
    {
        const int at = brick * BRICK_CELLS + cell;
        const int value = bytes == 4   ? ((global const int *)mass)[at]
                          : bytes == 2 ? (int)((global const ushort *)mass)[at]
                                       : (int)mass[at];
        steps[n] = reported_steps(value * unit);
        if (stale || reported_apart(steps[n], reported[at]) >= threshold) RAISE(apart, 1);
        n++;
    }
    SYNC;
    if (!apart) return;
    n = 0;
    EACH(cell, BRICK_CELLS) reported[brick * BRICK_CELLS + cell] = (ushort)steps[n++];
    if (flags & DEVICE_CHANGED) ONCE brick_flags[brick] = (uchar)(flags | DEVICE_REPORTS);
}

#define PAIR_BRICKS 36

// Pairs of bricks side by side on x, each as the 36 bricks of both and around them, given the left ones.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void pair_bricks(global const int *lefts, global const int *near,
                                                                           global int *pairs)
{
    int left = lefts[get_group_id(0)], right = near[27 * left + 14];
    EACH(i, PAIR_BRICKS)
    {
        int x = i & 3, neighbour = 3 * (i >> 2) + (x < 3 ? x : 2);
        pairs[PAIR_BRICKS * get_group_id(0) + i] = near[27 * (x < 3 ? left : right) + neighbour];
    }
}
