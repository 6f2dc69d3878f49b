/* One kernel for every tensor contraction.
 *
 * Matrix products, batched products, convolutions and all their gradients are,
 * once their loops are classified, the same statement:
 *
 *   for t < batch, i < m, j < n:
 *     c[ct[t] + cm[i] + cn[j]]  (= or +=)
 *       alpha * sum over p < k of  a[at[t] + am[i] + ak[p]] * b[bt[t] + bk[p] + bn[j]]
 *
 * The nine tables hold offsets in elements. Buffers carry their padding, so an
 * address is affine in the loops and a convolution needs nothing but tables.
 *
 * Use:
 *   1. fill the first part of a `contraction`: sizes, tables, storage types, ...
 *   2. contraction_plan_f32(&c) once; it derives the second part. It may exchange
 *      the roles of a and b, in the struct only: callers never notice.
 *   3. contract_f32(&c, a, b, out, part, parts, scratch) for part = 0 .. parts-1,
 *      each with scratch of its own: contract_scratch_f32(&c) bytes, 64-byte aligned.
 *
 * Parts write disjoint cells as long as the `split_*` flags tell the truth: a flag
 * says that two different values of that loop never meet in one cell of c. With
 * `accumulate`, cells may coincide in any other way (the gradient of a convolution
 * with respect to its input is such a scatter); each contribution is added once.
 *
 * The text below is compiled once for float, and once more for double if it is
 * included again with CONTRACT_F64 defined. It needs the conversions of math.c.
 *
 * The method is that of Goto and van de Geijn: a tile of c stays in registers while
 * k runs over a block; the panel of b it needs stays in the first-level cache, the
 * block of a in the second. Operands whose layout already suits the tile loop are
 * read in place; others are first copied ("packed") into scratch.
 */
#ifndef CONTRACT_ONCE
#define CONTRACT_ONCE

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contraction.h"

enum {
#if defined(__AVX512F__)
    VECTOR_BYTES = 64, TILE_ROWS = 8, /* 24 of 32 registers hold the tile */
#elif defined(__AVX2__)
    VECTOR_BYTES = 32, TILE_ROWS = 4, /* 12 of 16 */
#elif defined(__ARM_NEON)
    VECTOR_BYTES = 16, TILE_ROWS = 8,
#else
    VECTOR_BYTES = 16, TILE_ROWS = 4,
#endif
    TILE_VECTORS = 3,  /* vectors across a tile */
    WIDE_VECTORS = 8,  /* across a tile of a single row: long strips of b */
    MOST_PANELS = 16,  /* of b, packed together */
    DOT_COLUMNS = 4,   /* at most this many columns are done as dot products */
};

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")     /* completely: the bounds are constants */
#define SOME_UNROLL _Pragma("GCC unroll 4") /* to spare the loop's own instructions */

static inline int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

static int64_t gcd(int64_t x, int64_t y)
{
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* The gcd of all positions where contiguity breaks: exact for the tables of loop
 * nests, whose breaks are periodic, and safe for any other. */
static int64_t run_of(const int64_t *table, int64_t length)
{
    int64_t run = length;
    for (int64_t i = 1; i < length && run > 1; i++)
        if (table[i] != table[i - 1] + 1)
            run = gcd(run, i);
    return run > 0 ? run : 1;
}

static inline bool within_run(int64_t start, int64_t length, int64_t run)
{
    return length <= run && start % run + length <= run;
}

static void exchange(contraction *c)
{
#define EXCHANGE(T, x, y) do { T kept = c->x; c->x = c->y; c->y = kept; } while (0)
    EXCHANGE(int64_t, m, n);
    EXCHANGE(const int64_t *, at, bt);
    EXCHANGE(const int64_t *, am, bn);
    EXCHANGE(const int64_t *, ak, bk);
    EXCHANGE(const int64_t *, cm, cn);
    EXCHANGE(bool, split_rows, split_columns);
    EXCHANGE(enum storage, a_type, b_type);
#undef EXCHANGE
    c->swapped = !c->swapped;
}

/* How well the columns suit the lanes of a vector: they should fill them, lie
 * together in c (or every result is written singly) and in b (or b is transposed). */
static int column_merit(const int64_t *bn, const int64_t *cn, int64_t n, int64_t lanes)
{
    int64_t full = least(n, lanes);
    return (int)(4 * full / lanes) + 2 * (n > 1 && run_of(cn, n) >= full)
         + (n > 1 && run_of(bn, n) >= full);
}

/* The range of a split loop that belongs to one part, cut at multiples of `unit`. */
static void share(int64_t length, int64_t unit, int part, int parts, int64_t *from, int64_t *to)
{
    int64_t units = (length + unit - 1) / unit;
    *from = least(length, units * part / parts * unit);
    *to = least(length, units * (part + 1) / parts * unit);
}

/* The size of the largest share, relative to a perfect one, in thousandths. */
static int64_t imbalance(int64_t length, int64_t unit, int parts)
{
    int64_t units = (length + unit - 1) / unit;
    return units ? (units + parts - 1) / parts * parts * 1000 / units : 1000;
}

typedef struct { int64_t t0, t1, i0, i1, j0, j1; } region;

/* Cut along the loop that divides most evenly; of equals, batch before rows (parts
 * then share nothing) before columns, unless there are far more columns. */
static region region_of_part(const contraction *c, int64_t lanes, int part, int parts)
{
    region r = { 0, c->batch, 0, c->m, 0, c->n };
    const int64_t never = INT64_MAX;
    int64_t favour = c->n > 4 * c->m ? 20 : 0;
    int64_t batch = c->split_batch ? imbalance(c->batch, 1, parts) : never;
    int64_t rows = c->split_rows ? imbalance(c->m, TILE_ROWS, parts) + 20 : never;
    int64_t columns = c->split_columns ? imbalance(c->n, lanes, parts) + 30 - favour : never;
    if (batch < never && batch <= rows && batch <= columns)
        share(c->batch, 1, part, parts, &r.t0, &r.t1);
    else if (rows < never && rows <= columns)
        share(c->m, TILE_ROWS, part, parts, &r.i0, &r.i1);
    else if (columns < never)
        share(c->n, lanes, part, parts, &r.j0, &r.j1);
    else if (part > 0)
        r.t1 = 0;
    return r;
}

#endif /* CONTRACT_ONCE */

#ifdef CONTRACT_F64
#define REAL double
#define REAL_INDEX int64_t
#define REAL_STORED STORED_F64
#define OF(name) name##_f64
#else
#define REAL float
#define REAL_INDEX int32_t
#define REAL_STORED STORED_F32
#define OF(name) name##_f32
#endif
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))

typedef REAL OF(vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL OF(vector_at) /* anywhere in memory */
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL_INDEX OF(lane_order) __attribute__((vector_size(VECTOR_BYTES)));

/* ---- Reading and writing stored elements ---- */

INLINE REAL OF(read)(const void *from, enum storage type, int64_t at)
{
    switch (type) {
    case STORED_F32: return (REAL)((const float *)from)[at];
    case STORED_F64: return (REAL)((const double *)from)[at];
    case STORED_BF16: return bf16_to_f32(((const uint16_t *)from)[at]);
    default: return f16_to_f32(((const uint16_t *)from)[at]);
    }
}

INLINE void OF(write)(void *to, enum storage type, int64_t at, REAL value)
{
    switch (type) {
    case STORED_F32: ((float *)to)[at] = (float)value; break;
    case STORED_F64: ((double *)to)[at] = (double)value; break;
    case STORED_BF16: ((uint16_t *)to)[at] = f32_to_bf16((float)value); break;
    default: ((uint16_t *)to)[at] = f32_to_f16((float)value); break;
    }
}

/* A vector of neighbours, converted. Out of line: it is large, and rarely needed. Each
 * loop has a constant type, so that it becomes a single vector conversion. */
static __attribute__((noinline)) OF(vector) OF(convert)(const void *from, enum storage type, int64_t at)
{
    REAL lane[LANES];
    OF(vector) v;
    if (type == STORED_BF16)
        for (int l = 0; l < LANES; l++)
            lane[l] = OF(read)(from, STORED_BF16, at + l);
    else if (type == STORED_F16)
        for (int l = 0; l < LANES; l++)
            lane[l] = OF(read)(from, STORED_F16, at + l);
    else
        for (int l = 0; l < LANES; l++)
            lane[l] = OF(read)(from, type, at + l);
    __builtin_memcpy(&v, lane, sizeof v);
    return v;
}

INLINE OF(vector) OF(load)(const void *from, enum storage type, int64_t at)
{
    if (type == REAL_STORED)
        return *(const OF(vector_at) *)((const REAL *)from + at);
    return OF(convert)(from, type, at);
}

/* Elements anywhere. The usual type has a loop to itself, free of choices. */
INLINE void OF(gather)(const void *from, enum storage type, int64_t first, const int64_t *table,
                       int64_t count, REAL *to)
{
    if (type == REAL_STORED)
        for (int64_t l = 0; l < count; l++)
            to[l] = ((const REAL *)from)[first + table[l]];
    else
        for (int64_t l = 0; l < count; l++)
            to[l] = OF(read)(from, type, first + table[l]);
}

INLINE void OF(store)(REAL *to, OF(vector) v) { *(OF(vector_at) *)to = v; }

/* ---- The tile loop ---- */

/* A tile of c: `rows` x `columns` results. The operands are those of the tile: see
 * enum left_form for a; step p of b is `columns` neighbours at b[b_step[p]]. */
typedef struct {
    const REAL *a;
    const int64_t *a_row, *a_step;
    int64_t a_run, a_left; /* BY_ROWS: steps between breaks, and to the first one */
    const REAL *b;
    const int64_t *b_step;
    int64_t k;

    void *c;
    enum storage c_type;
    const int64_t *cm, *cn;
    int64_t cn_run, j; /* of the contraction; j locates the tile in it */
    int rows, columns;
    bool whole; /* the columns fill their vectors and are neighbours in c */
    REAL alpha;
    bool add;
} OF(tile);

/* Results that are few, apart, or not stored as REAL. One by one, in order: cells
 * may coincide. */
static void OF(write_apart)(const OF(tile) *t, const REAL *result, int width)
{
    for (int i = 0; i < t->rows; i++, result += width)
        for (int j = 0; j < t->columns; j++) {
            int64_t at = t->cm[i] + t->cn[j];
            REAL before = t->add ? OF(read)(t->c, t->c_type, at) : 0;
            OF(write)(t->c, t->c_type, at, before + result[j]);
        }
}

/* As above, with those vectors in one piece that are contiguous in c. */
static __attribute__((noinline)) void OF(write_pieces)(const OF(tile) *t, const REAL *result, int width)
{
    OF(tile) piece = *t;
    for (int j = 0; j < t->columns; j += LANES) {
        piece.cn = t->cn + j;
        piece.columns = (int)least(LANES, t->columns - j);
        if (t->c_type != REAL_STORED || piece.columns < LANES
            || !within_run(t->j + j, LANES, t->cn_run)) {
            OF(write_apart)(&piece, result + j, width);
            continue;
        }
        for (int i = 0; i < t->rows; i++) {
            REAL *at = (REAL *)t->c + t->cm[i] + piece.cn[0];
            OF(vector) v = *(const OF(vector_at) *)(result + i * width + j);
            OF(store)(at, t->add ? v + *(OF(vector_at) *)at : v);
        }
    }
}

/* One step of k: every row's element of a, times all of b's. The arrays have constant
 * indices after unrolling, hence live in registers. */
INLINE void OF(step)(OF(vector) acc[TILE_ROWS][WIDE_VECTORS], int R, int V,
                     const REAL *const *row, int64_t p, const REAL *b)
{
    OF(vector) right[WIDE_VECTORS];
    UNROLL for (int v = 0; v < V; v++)
        right[v] = *(const OF(vector_at) *)(b + v * LANES);
    UNROLL for (int i = 0; i < R; i++) {
        REAL left = row[i][p];
        UNROLL for (int v = 0; v < V; v++)
            acc[i][v] += left * right[v];
    }
}

/* R and V are constants wherever this is inlined: see the list below. */
INLINE void OF(compute)(const OF(tile) *t, int R, int V, enum left_form form)
{
    OF(vector) acc[TILE_ROWS][WIDE_VECTORS];
    const REAL *row[TILE_ROWS];
    UNROLL for (int i = 0; i < R; i++)
        UNROLL for (int v = 0; v < V; v++)
            acc[i][v] = (OF(vector)){0};

    if (t->whole)
        for (int i = 0; i < t->rows; i++)
            UNROLL for (int v = 0; v < V; v++)
                __builtin_prefetch((REAL *)t->c + t->cm[i] + t->cn[0] + v * LANES, 1);

    if (form == BY_COLUMNS) {
        SOME_UNROLL for (int64_t p = 0; p < t->k; p++) {
            UNROLL for (int i = 0; i < R; i++)
                row[i] = t->a + t->a_step[p] + i;
            OF(step)(acc, R, V, row, 0, t->b + t->b_step[p]);
        }
    } else {
        int64_t left = t->a_left;
        for (int64_t p = 0; p < t->k; left = t->a_run) {
            int64_t end = least(t->k, p + left), origin = t->a_step[p] - p;
            UNROLL for (int i = 0; i < R; i++)
                row[i] = t->a + t->a_row[i] + origin;
            SOME_UNROLL for (; p < end; p++)
                OF(step)(acc, R, V, row, p, t->b + t->b_step[p]);
        }
    }

    UNROLL for (int i = 0; i < R; i++)
        UNROLL for (int v = 0; v < V; v++)
            acc[i][v] *= t->alpha;
    if (t->whole) {
        UNROLL for (int i = 0; i < R; i++) {
            if (i >= t->rows)
                break;
            REAL *at = (REAL *)t->c + t->cm[i] + t->cn[0];
            UNROLL for (int v = 0; v < V; v++, at += LANES)
                OF(store)(at, t->add ? acc[i][v] + *(OF(vector_at) *)at : acc[i][v]);
        }
    } else {
        REAL result[TILE_ROWS * WIDE_VECTORS * LANES];
        UNROLL for (int i = 0; i < R; i++)
            UNROLL for (int v = 0; v < V; v++)
                OF(store)(result + (i * V + v) * LANES, acc[i][v]);
        OF(write_pieces)(t, result, V * LANES);
    }
}

typedef void OF(kernel)(const OF(tile) *);
#define KERNEL(name, R, V, form) \
    static __attribute__((noinline)) void OF(name)(const OF(tile) *t) { OF(compute)(t, R, V, form); }
#define KERNELS(form, tag) \
    KERNEL(tag##_full_3, TILE_ROWS, 3, form) \
    KERNEL(tag##_full_2, TILE_ROWS, 2, form) \
    KERNEL(tag##_full_1, TILE_ROWS, 1, form) \
    KERNEL(tag##_half_3, TILE_ROWS / 2, 3, form) \
    KERNEL(tag##_half_2, TILE_ROWS / 2, 2, form) \
    KERNEL(tag##_half_1, TILE_ROWS / 2, 1, form) \
    KERNEL(tag##_one_3, 1, 3, form) \
    KERNEL(tag##_one_2, 1, 2, form) \
    KERNEL(tag##_one_1, 1, 1, form)
KERNELS(BY_ROWS, rows)
KERNELS(BY_COLUMNS, columns)
KERNEL(rows_one_wide, 1, WIDE_VECTORS, BY_ROWS)

static void OF(run_tile)(const OF(tile) *t, enum left_form form)
{
    static OF(kernel) *const kernels[2][3][TILE_VECTORS] = {
        { { OF(rows_full_1), OF(rows_full_2), OF(rows_full_3) },
          { OF(rows_half_1), OF(rows_half_2), OF(rows_half_3) },
          { OF(rows_one_1), OF(rows_one_2), OF(rows_one_3) } },
        { { OF(columns_full_1), OF(columns_full_2), OF(columns_full_3) },
          { OF(columns_half_1), OF(columns_half_2), OF(columns_half_3) },
          { OF(columns_one_1), OF(columns_one_2), OF(columns_one_3) } },
    };
    int vectors = (t->columns + LANES - 1) / LANES;
    int height = t->rows == 1 ? 2 : t->rows <= TILE_ROWS / 2 ? 1 : 0;
    if (vectors > TILE_VECTORS)
        OF(rows_one_wide)(t);
    else
        kernels[form][height][vectors - 1](t);
}

/* ---- Packing ---- */

/* Packed rows of a, or packed panels of its columns, lie this far apart: not a power of
 * two, which would pile them onto few cache sets. */
static int64_t OF(row_pitch)(int64_t k) { return round_up(k, LANES) + LANES; }
static int64_t OF(panel_pitch)(int64_t k) { return k * TILE_ROWS + LANES; }

/* Scratch, divided. Packed panels of b of v vectors step by b_step[v - 1]. */
typedef struct {
    REAL *a, *b;
    int64_t *a_row, *a_step, *b_step[WIDE_VECTORS];
} OF(room);

static size_t OF(divide)(const contraction *c, void *scratch, OF(room) *room)
{
    int64_t steps = round_up(c->block_k, 8);
    room->a_row = scratch;
    room->a_step = room->a_row + round_up(c->block_m, 8);
    int64_t *next = room->a_step + steps;
    for (int v = 0; v < WIDE_VECTORS; v++, next += steps)
        room->b_step[v] = next;
    room->a = (REAL *)next;
    room->b = room->a + c->block_m * OF(row_pitch)(c->block_k);
    REAL *end = room->b + c->block_k * c->block_n;
    return (size_t)((char *)end - (char *)scratch);
}

/* LANES x LANES: each round shuffles the whole square perfectly, which rotates the
 * bits of (row, lane) by one; after log2(LANES) rounds they have changed places. */
INLINE void OF(transpose)(OF(vector) square[LANES])
{
    OF(lane_order) low, high;
    UNROLL for (int l = 0; l < LANES; l++) {
        low[l] = l / 2 + l % 2 * LANES;
        high[l] = low[l] + LANES / 2;
    }
    UNROLL for (int round = 1; round < LANES; round *= 2) {
        OF(vector) next[LANES];
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = __builtin_shuffle(square[i], square[i + LANES / 2], low);
            next[2 * i + 1] = __builtin_shuffle(square[i], square[i + LANES / 2], high);
        }
        UNROLL for (int i = 0; i < LANES; i++)
            square[i] = next[i];
    }
}

/* A column of vectors of a panel: LANES columns of b from j on, of which `columns`
 * exist. The lanes beyond repeat the last one; their results are not written. */
static void OF(pack_b_lanes)(const contraction *c, const void *b, int64_t j, int64_t columns,
                             int64_t p0, int64_t k, REAL *to, int width)
{
    int64_t column[LANES];
    for (int l = 0; l < LANES; l++)
        column[l] = c->bn[j + least(l, columns - 1)];
    int64_t p = 0;
    if (columns == LANES && within_run(j, LANES, c->bn_run)) {
        for (; p < k; p++)
            OF(store)(to + p * width, OF(load)(b, c->b_type, c->bk[p0 + p] + column[0]));
        return;
    }
    while (p < k) {
        if (p + LANES <= k && within_run(p0 + p, LANES, c->bk_run)) {
            OF(vector) square[LANES];
            UNROLL for (int l = 0; l < LANES; l++)
                square[l] = OF(load)(b, c->b_type, c->bk[p0 + p] + column[l]);
            OF(transpose)(square);
            UNROLL for (int l = 0; l < LANES; l++)
                OF(store)(to + (p + l) * width, square[l]);
            p += LANES;
        } else {
            OF(gather)(b, c->b_type, c->bk[p0 + p], column, LANES, to + p * width);
            p++;
        }
    }
}

/* A panel of b: all steps p0 .. p0+k of some columns, `width` lanes per step. */
static void OF(pack_b)(const contraction *c, const void *b, int64_t j, int64_t columns,
                       int64_t p0, int64_t k, REAL *to)
{
    int width = (int)round_up(columns, LANES);
    if (columns == width && within_run(j, columns, c->bn_run)) {
        for (int64_t p = 0; p < k; p++, to += width)
            for (int l = 0; l < width; l += LANES)
                OF(store)(to + l, OF(load)(b, c->b_type, c->bk[p0 + p] + c->bn[j] + l));
        return;
    }
    for (int l = 0; l < width; l += LANES)
        OF(pack_b_lanes)(c, b, j + l, least(LANES, columns - l), p0, k, to + l, width);
}

/* Steps p0 .. p0+k of one row of a (or, with other tables, of a column of b). */
static void OF(pack_line)(const void *from, enum storage type, int64_t first, const int64_t *table,
                          int64_t run, int64_t p0, int64_t k, REAL *to)
{
    if (run < 4) /* no strips to speak of */
        OF(gather)(from, type, first, table + p0, k, to);
    else
        for (int64_t p = 0; p < k;) {
            int64_t end = least(k, p + run - (p0 + p) % run), origin = first + table[p0 + p] - p;
            for (; p + LANES <= end; p += LANES)
                OF(store)(to + p, OF(load)(from, type, origin + p));
            for (; p < end; p++)
                to[p] = OF(read)(from, type, origin + p);
        }
}

static void OF(pack_a_rows)(const contraction *c, const void *a, int64_t i0, int64_t rows,
                            int64_t p0, int64_t k, const OF(room) *room)
{
    room->a_step[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        room->a_row[i] = i * OF(row_pitch)(k);
        OF(pack_line)(a, c->a_type, c->am[i0 + i], c->ak, c->ak_run, p0, k, room->a + room->a_row[i]);
    }
}

/* Panels of TILE_ROWS neighbours per step, one panel after another. All panels are
 * filled at once: that reads a along its lines. */
static void OF(pack_a_columns)(const contraction *c, const void *a, int64_t i0, int64_t rows,
                               int64_t p0, int64_t k, const OF(room) *room)
{
    for (int64_t p = 0; p < k; p++) {
        int64_t line = c->ak[p0 + p], soon = c->ak[p0 + least(p + 2, k - 1)];
        room->a_step[p] = p * TILE_ROWS;
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            REAL *at = room->a + i / TILE_ROWS * OF(panel_pitch)(k) + p * TILE_ROWS;
            int64_t height = least(TILE_ROWS, rows - i);
            if (c->a_type == REAL_STORED && height == TILE_ROWS && c->am_run % TILE_ROWS == 0) {
                const REAL *from = (const REAL *)a + c->am[i0 + i];
                __builtin_prefetch(from + soon);
                __builtin_memcpy(at, from + line, TILE_ROWS * sizeof(REAL));
            } else
                for (int64_t r = 0; r < TILE_ROWS; r++)
                    at[r] = OF(read)(a, c->a_type, line + c->am[i0 + i + least(r, height - 1)]);
        }
    }
}

/* ---- Blocks ---- */

size_t OF(contract_scratch)(const contraction *c)
{
    OF(room) room;
    if (c->dots)
        return (size_t)(c->n * OF(row_pitch)(c->k)) * sizeof(REAL);
    return OF(divide)(c, NULL, &room);
}

static int OF(widest)(const contraction *c) { return (c->m == 1 ? WIDE_VECTORS : TILE_VECTORS) * LANES; }

/* The next panel: as wide as a tile, but of two uneven last panels make two alike. */
static int OF(panel_columns)(const contraction *c, int64_t j, int64_t j1)
{
    int64_t left = least(j1 - j, c->column_unit - j % c->column_unit);
    int64_t vectors = (left + LANES - 1) / LANES;
    if (left >= OF(widest)(c) && c->m == 1)
        vectors = WIDE_VECTORS;
    else if (vectors >= 2 * TILE_VECTORS)
        vectors = TILE_VECTORS;
    else if (vectors > TILE_VECTORS)
        vectors = (vectors + 1) / 2;
    return (int)least(left, vectors * LANES);
}

/* Columns j .. j + columns, ready for the tile loop. */
typedef struct {
    int64_t j;
    int columns;
    const REAL *b;
    const int64_t *step;
} OF(panel);

/* Take up to block_n columns, in panels, from column j on; pack those that must be. */
static int OF(take_panels)(const contraction *c, const region *r, int64_t j, int64_t p0, int64_t k,
                           const void *b, const OF(room) *room, OF(panel) *panel)
{
    int count = 0;
    int64_t most = least(MOST_PANELS, c->block_n / OF(widest)(c));
    REAL *to = room->b;
    for (; count < most && j < r->j1; count++, panel++) {
        panel->j = j;
        panel->columns = OF(panel_columns)(c, j, r->j1);
        j += panel->columns;
        if (c->b_in_place && panel->columns % LANES == 0
            && within_run(panel->j, panel->columns, c->bn_run)) {
            panel->b = (const REAL *)b + c->bn[panel->j];
            panel->step = c->bk + p0;
            continue;
        }
        int64_t width = round_up(panel->columns, LANES);
        int64_t *step = room->b_step[width / LANES - 1];
        for (int64_t p = 0; p < k; p++)
            step[p] = p * width;
        OF(pack_b)(c, b, panel->j, panel->columns, p0, k, to);
        panel->b = to;
        panel->step = step;
        to += k * width;
    }
    return count;
}

/* Rows i0 .. i1 of the panel whose columns and b stand in the tile. `row` says where
 * the rows of a begin, relative to i0, if they have beginnings. */
static void OF(down_the_rows)(const contraction *c, OF(tile) *t, int64_t i0, int64_t i1,
                              const REAL *a, const int64_t *row)
{
    int64_t last[TILE_ROWS];
    for (int64_t i = i0; i < i1; i += TILE_ROWS, row += TILE_ROWS) {
        t->rows = (int)least(TILE_ROWS, i1 - i);
        t->cm = c->cm + i;
        t->a_row = row;
        t->a = a;
        if (c->form == BY_COLUMNS)
            t->a = a + (c->a_in_place ? c->am[i] : (i - i0) / TILE_ROWS * OF(panel_pitch)(t->k));
        else if (t->rows < TILE_ROWS) { /* rows beyond repeat the last one */
            for (int r = 0; r < TILE_ROWS; r++)
                last[r] = row[least(r, t->rows - 1)];
            t->a_row = last;
        }
        OF(run_tile)(t, c->form);
    }
}

/* Rows i0 .. i1 of some panels, steps p0 .. p0 + t->k. */
static void OF(block)(const contraction *c, OF(tile) *t, int64_t i0, int64_t i1, int64_t p0,
                      const void *a, const OF(panel) *panel, int panels, const OF(room) *room)
{
    const int64_t *row = c->am + i0;
    t->a_step = c->ak + p0;
    t->a_run = c->ak_run;
    t->a_left = c->ak_run - p0 % c->ak_run;
    if (!c->a_in_place) {
        row = room->a_row;
        t->a_step = room->a_step;
        t->a_run = t->a_left = t->k;
        if (c->form == BY_ROWS)
            OF(pack_a_rows)(c, a, i0, i1 - i0, p0, t->k, room);
        else
            OF(pack_a_columns)(c, a, i0, i1 - i0, p0, t->k, room);
        a = room->a;
    }
    for (; panels > 0; panels--, panel++) {
        t->columns = panel->columns;
        t->j = panel->j;
        t->cn = c->cn + panel->j;
        t->b = panel->b;
        t->b_step = panel->step;
        t->whole = c->c_type == REAL_STORED && panel->columns % LANES == 0
                && within_run(panel->j, panel->columns, c->cn_run);
        OF(down_the_rows)(c, t, i0, i1, a, row);
    }
}

/* All of a region, steps p0 .. p0 + t->k. */
static void OF(sweep)(const contraction *c, OF(tile) *t, const region *r, int64_t p0,
                      const void *a, const void *b, const OF(room) *room)
{
    OF(panel) panel[MOST_PANELS];
    for (int64_t j = r->j0; j < r->j1;) {
        int panels = OF(take_panels)(c, r, j, p0, t->k, b, room, panel);
        for (int64_t i = r->i0; i < r->i1; i += c->block_m)
            OF(block)(c, t, i, least(r->i1, i + c->block_m), p0, a, panel, panels, room);
        j = panel[panels - 1].j + panel[panels - 1].columns;
    }
}

/* ---- Dot products ---- */

/* R rows times one column of packed b, along k. U vectors of each row are summed
 * apart, to keep the pipeline of the adder full when there is but one row. */
INLINE void OF(dots)(const contraction *c, const void *a, const int64_t *row, const REAL *column,
                     int R, int U, REAL *result)
{
    OF(vector) acc[TILE_ROWS] = {0};
    REAL rest[TILE_ROWS] = {0};
    for (int64_t p = 0; p < c->k;) {
        int64_t end = p + least(c->k - p, c->ak_run), origin = c->ak[p] - p;
        for (; p + U * LANES <= end; p += U * LANES)
            UNROLL for (int i = 0; i < R; i++)
                UNROLL for (int u = 0; u < U; u++)
                    acc[i * U + u] += OF(load)(a, c->a_type, row[i] + origin + p + u * LANES)
                                    * *(const OF(vector_at) *)(column + p + u * LANES);
        for (; p < end; p++)
            UNROLL for (int i = 0; i < R; i++)
                rest[i] += OF(read)(a, c->a_type, row[i] + origin + p) * column[p];
    }
    for (int i = 0; i < R; i++) {
        for (int u = 1; u < U; u++)
            acc[i * U] += acc[i * U + u];
        for (int l = 0; l < LANES; l++)
            rest[i] += acc[i * U][l];
        result[i] = rest[i];
    }
}

static void OF(few_columns)(const contraction *c, const region *r, int64_t t,
                            const void *a, const void *b, void *out, REAL *columns)
{
    int64_t pitch = OF(row_pitch)(c->k);
    for (int64_t j = r->j0; j < r->j1; j++)
        OF(pack_line)(b, c->b_type, c->bt[t] + c->bn[j], c->bk, c->bk_run, 0, c->k, columns + j * pitch);
    for (int64_t i = r->i0; i < r->i1; i += TILE_ROWS)
        for (int64_t j = r->j0; j < r->j1; j++) {
            int64_t rows = least(TILE_ROWS, r->i1 - i), row[TILE_ROWS];
            REAL result[TILE_ROWS];
            for (int64_t q = 0; q < TILE_ROWS; q++)
                row[q] = c->at[t] + c->am[i + least(q, rows - 1)];
            if (rows == 1)
                OF(dots)(c, a, row, columns + j * pitch, 1, TILE_ROWS, result);
            else
                OF(dots)(c, a, row, columns + j * pitch, TILE_ROWS, 1, result);
            for (int64_t q = 0; q < rows; q++) {
                int64_t at = c->ct[t] + c->cm[i + q] + c->cn[j];
                REAL before = c->accumulate ? OF(read)(out, c->c_type, at) : 0;
                OF(write)(out, c->c_type, at, before + (REAL)c->alpha * result[q]);
            }
        }
}

/* ---- Plan and entry ---- */

static bool OF(suits_dots)(int64_t n, int64_t k, int64_t ak_run)
{
    return n <= DOT_COLUMNS && k >= LANES && (ak_run >= 2 * LANES || ak_run == k);
}

static void OF(plan_roles)(contraction *c)
{
    bool dots = OF(suits_dots)(c->n, c->k, run_of(c->ak, c->k));
    bool other = OF(suits_dots)(c->m, c->k, run_of(c->bk, c->k));
    int merit = column_merit(c->bn, c->cn, c->n, LANES);
    int other_merit = column_merit(c->am, c->cm, c->m, LANES);
    c->swapped = false;
    if (dots || other ? other && (!dots || c->m < c->n) : other_merit > merit)
        exchange(c);
    c->dots = dots || other;
}

/* Copying a line costs about as much as one or two rows of work on it. That is worth
 * it if many tiles use the copy; short of that, only if the original is scattered. */
static void OF(plan_packing)(contraction *c)
{
    int64_t b_stride = c->k > 1 ? c->bk[1] - c->bk[0] : 0;
    bool b_dense = b_stride >= 0 && b_stride <= 2 * TILE_VECTORS * LANES;
    c->b_in_place = c->b_type == REAL_STORED && c->bn_run >= LANES
                 && (c->m <= 4 * TILE_ROWS || (c->m <= 32 * TILE_ROWS && b_dense));

    bool rows_suit = c->ak_run >= LANES || c->ak_run == c->k;
    bool columns_suit = c->am_run % TILE_ROWS == 0 && c->am_run > 1;
    c->form = !rows_suit && columns_suit ? BY_COLUMNS : BY_ROWS;
    c->a_in_place = c->a_type == REAL_STORED && (c->form == BY_ROWS
                    ? rows_suit : c->m % TILE_ROWS == 0 && c->n <= 8 * LANES);
}

/* Block of a and block of b together fill most of a second-level cache. With the rows
 * of a in place, long blocks of k are best: c is visited less often. Columns in place
 * use but part of their cache lines, which therefore should stay in the first level.
 * A packed block should serve many columns. */
static void OF(plan_blocks)(contraction *c)
{
    bool rows = c->form == BY_ROWS;
    int64_t most_k = (!c->a_in_place ? 2048 : rows ? 3072 : 1024) / (int64_t)sizeof(REAL);
    int64_t most_m = !c->a_in_place ? 256 : rows ? 128 : 512;
    int64_t panels = c->a_in_place ? MOST_PANELS / 2 : MOST_PANELS;

    /* Sums of several blocks of k meet in c, which must not round them on the way. */
    bool exact = c->c_type == REAL_STORED || c->c_type == STORED_F64;
    int64_t blocks = exact ? (c->k + most_k - 1) / most_k : 1;
    c->block_k = blocks > 1 ? round_up((c->k + blocks - 1) / blocks, LANES) : c->k;
    c->block_m = least(most_m, round_up(c->m, TILE_ROWS));
    while (c->block_m > TILE_ROWS && c->block_m * c->block_k > most_m * most_k)
        c->block_m = round_up(c->block_m / 2, TILE_ROWS);
    while (panels > 1 && panels * c->block_k > MOST_PANELS * most_k)
        panels /= 2;
    c->block_n = panels * OF(widest)(c);
}

void OF(contraction_plan)(contraction *c)
{
    OF(plan_roles)(c);
    c->am_run = run_of(c->am, c->m);
    c->ak_run = run_of(c->ak, c->k);
    c->bk_run = run_of(c->bk, c->k);
    c->bn_run = run_of(c->bn, c->n);
    c->cn_run = run_of(c->cn, c->n);
    OF(plan_packing)(c);

    int64_t unit = gcd(c->cn_run, c->b_in_place ? c->bn_run : c->cn_run);
    bool worth_it = unit % LANES == 0 || unit >= 2 * TILE_VECTORS * LANES;
    c->column_unit = worth_it ? unit : c->n > 0 ? c->n : 1;

    OF(plan_blocks)(c);
}

void OF(contract)(const contraction *c, const void *a, const void *b, void *out,
                  int part, int parts, void *scratch)
{
    region r = region_of_part(c, LANES, part, parts);
    const char *left = c->swapped ? b : a, *right = c->swapped ? a : b;
    static const int64_t sizes[] = { [STORED_F32] = 4, [STORED_F64] = 8, [STORED_BF16] = 2, [STORED_F16] = 2 };
    OF(room) room;
    OF(divide)(c, scratch, &room);
    OF(tile) tile = { .c_type = c->c_type, .cn_run = c->cn_run, .alpha = (REAL)c->alpha };
    for (int64_t t = r.t0; t < r.t1; t++) {
        if (c->dots) {
            OF(few_columns)(c, &r, t, left, right, out, scratch);
            continue;
        }
        tile.c = (char *)out + c->ct[t] * sizes[c->c_type];
        int64_t p = 0;
        do { /* at least once: an empty sum is written as well */
            tile.k = least(c->block_k, c->k - p);
            tile.add = c->accumulate || p > 0;
            OF(sweep)(c, &tile, &r, p, left + c->at[t] * sizes[c->a_type],
                      right + c->bt[t] * sizes[c->b_type], &room);
            p += tile.k;
        } while (p < c->k);
    }
}

#undef REAL
#undef REAL_INDEX
#undef REAL_STORED
#undef OF
#undef LANES
#undef KERNEL
#undef KERNELS
