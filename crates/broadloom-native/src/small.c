/* Small functions and conversions. What is out of range becomes the nearest integer, what is not a number 0. */

static inline int32_t f64_to_i32(double x)
{
    double within = x > -2147483648.0 ? x : -2147483648.0;
    within = within < 2147483647.0 ? within : 2147483647.0;
    return x == x ? (int32_t)within : 0;
}

static inline uint8_t f64_to_u8(double x)
{
    double within = x > 0.0 ? x : 0.0;
    return (uint8_t)(within < 255.0 ? within : 255.0);
}

static inline int8_t f64_to_i8(double x)
{
    double within = x > -128.0 ? x : -128.0;
    within = within < 127.0 ? within : 127.0;
    return x == x ? (int8_t)within : 0;
}

static inline int16_t f64_to_i16(double x)
{
    double within = x > -32768.0 ? x : -32768.0;
    within = within < 32767.0 ? within : 32767.0;
    return x == x ? (int16_t)within : 0;
}

static inline int64_t f64_to_i64(double x)
{
    return x >= 9223372036854775808.0 ? INT64_MAX : x < -9223372036854775808.0 ? INT64_MIN : x == x ? (int64_t)x : 0;
}

static inline uint8_t i64_to_u8(int64_t x) { return x < 0 ? 0 : x > UINT8_MAX ? UINT8_MAX : (uint8_t)x; }

static inline int8_t i64_to_i8(int64_t x) { return x < INT8_MIN ? INT8_MIN : x > INT8_MAX ? INT8_MAX : (int8_t)x; }

static inline int16_t i64_to_i16(int64_t x) { return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : (int16_t)x; }

static inline int32_t i64_to_i32(int64_t x) { return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x; }

/* Integers: what is too large is the nearest there is. */
static inline int64_t i64_add(int64_t x, int64_t y)
{
    int64_t z;
    return __builtin_add_overflow(x, y, &z) ? (x < 0 ? INT64_MIN : INT64_MAX) : z;
}

static inline int64_t i64_sub(int64_t x, int64_t y)
{
    int64_t z;
    return __builtin_sub_overflow(x, y, &z) ? (x < 0 ? INT64_MIN : INT64_MAX) : z;
}

static inline int64_t i64_mul(int64_t x, int64_t y)
{
    int64_t z;
    return __builtin_mul_overflow(x, y, &z) ? ((x < 0) != (y < 0) ? INT64_MIN : INT64_MAX) : z;
}

/* With the sign of the divisor; 0 if that is 0. */
static inline int64_t i64_mod(int64_t x, int64_t y)
{
    int64_t rest = y == 0 || y == -1 ? 0 : x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Rounded down; the quotient by 0 is the greatest or the least integer, and that of 0 is 0. */
static inline int64_t i64_floor_div(int64_t x, int64_t y)
{
    if (y == 0)
        return x == 0 ? 0 : x < 0 ? INT64_MIN : INT64_MAX;
    if (y == -1)
        return x == INT64_MIN ? INT64_MAX : -x;
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static inline int64_t i64_bit_and(int64_t x, int64_t y) { return x & y; }

static inline int64_t i64_bit_or(int64_t x, int64_t y) { return x | y; }

static inline int64_t i64_bit_xor(int64_t x, int64_t y) { return x ^ y; }

/* Times 2 for each place; fewer places than none divide, and round down. */
static inline int64_t i64_shift_left(int64_t x, int64_t places)
{
    if (places < 0)
        return x >> (places < -63 ? 63 : -places);
    if (x == 0)
        return 0;
    if (places < 63) {
        int64_t moved = (int64_t)((uint64_t)x << places);
        if (moved >> places == x)
            return moved;
    }
    return x < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t i64_shift_right(int64_t x, int64_t places)
{
    return i64_shift_left(x, places == INT64_MIN ? INT64_MAX : -places);
}

/* Beyond 64, only the sign depends on the exponent. A fraction is 0, and 1 / 0 the greatest integer. */
static inline int64_t i64_pow(int64_t x, int64_t y)
{
    if (y < 0 && x != 1 && x != -1)
        return x == 0 ? INT64_MAX : 0;
    int64_t power = 1;
    for (int64_t n = y < 0 ? y & 1 : y > 64 ? 64 + (y & 1) : y; n != 0; n >>= 1, x = i64_mul(x, x))
        if (n & 1)
            power = i64_mul(power, x);
    return power;
}

static inline int64_t i64_max(int64_t x, int64_t y) { return x > y ? x : y; }

static inline int64_t i64_min(int64_t x, int64_t y) { return x < y ? x : y; }

static inline int64_t i64_neg(int64_t x) { return x == INT64_MIN ? INT64_MAX : -x; }

static inline int64_t i64_abs(int64_t x) { return x == INT64_MIN ? INT64_MAX : x < 0 ? -x : x; }

static inline int64_t i64_sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

static inline int64_t i64_select(_Bool condition, int64_t x, int64_t y) { return condition ? x : y; }

static inline float f32_abs(float x) { return __builtin_fabsf(x); }

static inline double f64_abs(double x) { return __builtin_fabs(x); }

/* Numbers as other types hold them. */
static inline float f32_as_bool(float x) { return x != 0.0f ? 1.0f : 0.0f; }

static inline double f64_as_bool(double x) { return x != 0.0 ? 1.0 : 0.0; }

static inline float f32_as_u8(float x) { return (float)f64_to_u8(x); }

static inline double f64_as_u8(double x) { return (double)f64_to_u8(x); }

static inline float f32_as_i8(float x) { return (float)f64_to_i8(x); }

static inline double f64_as_i8(double x) { return (double)f64_to_i8(x); }

static inline float f32_as_i16(float x) { return (float)f64_to_i16(x); }

static inline double f64_as_i16(double x) { return (double)f64_to_i16(x); }

static inline float f32_as_i32(float x) { return (float)f64_to_i32(x); }

static inline double f64_as_i32(double x) { return (double)f64_to_i32(x); }

static inline float f32_as_i64(float x) { return (float)f64_to_i64(x); }

static inline double f64_as_i64(double x) { return (double)f64_to_i64(x); }

/* A float that rounds to 16 bits as the wide one does: if bits are lost, the last one that stays is set. */
static inline float f64_to_odd(double x)
{
    float nearest = (float)x;
    if ((double)nearest == x || !isfinite(nearest))
        return nearest;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    bits = (bits - (f64_abs((double)nearest) > f64_abs(x))) | 1;
    memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

static inline float f32_as_bf16(float x) { return bf16_to_f32(f32_to_bf16(x)); }

static inline double f64_as_bf16(double x) { return bf16_to_f32(f32_to_bf16(f64_to_odd(x))); }

static inline float f32_as_f16(float x) { return f16_to_f32(f32_to_f16(x)); }

static inline double f64_as_f16(double x) { return f16_to_f32(f32_to_f16(f64_to_odd(x))); }

static inline float f32_as_f32(float x) { return x; }

/* Through memory: where two cells are left at the end of a loop, gcc 12 forgets to round them. */
static inline double f64_as_f32(double x) { volatile float rounded = (float)x; return rounded; }

static inline float f32_as_f64(float x) { return x; }

static inline double f64_as_f64(double x) { return x; }

static inline float f32_sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

static inline double f64_sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

static inline float f32_square(float x) { return x * x; }

static inline double f64_square(double x) { return x * x; }

static inline float f32_floor(float x) { return __builtin_floorf(x); }

static inline double f64_floor(double x) { return __builtin_floor(x); }

static inline float f32_ceil(float x) { return __builtin_ceilf(x); }

static inline double f64_ceil(double x) { return __builtin_ceil(x); }

/* To the nearest integer, ties to even. */
static inline float f32_round(float x) { return __builtin_rintf(x); }

static inline double f64_round(double x) { return __builtin_rint(x); }

static inline float f32_trunc(float x) { return __builtin_truncf(x); }

static inline double f64_trunc(double x) { return __builtin_trunc(x); }

/* The remainder with the sign of the divisor: exact, however large the quotient is. */
static inline float f32_mod(float x, float y)
{
    float rest = __builtin_fmodf(x, y);
    return rest != 0.0f && (rest < 0.0f) != (y < 0.0f) ? rest + y : rest;
}

static inline double f64_mod(double x, double y)
{
    double rest = __builtin_fmod(x, y);
    return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

/* The quotient rounded down, from the remainder, so that a quotient that is nearly whole is not rounded up first. */
static inline double f64_floor_div(double x, double y)
{
    double rest = __builtin_fmod(x, y);
    double above = rest != 0.0 && (rest < 0.0) != (y < 0.0) ? 1.0 : 0.0;
    return y == 0.0 ? x / y : __builtin_rint((x - rest) / y - above);
}

static inline float f32_floor_div(float x, float y) { return (float)f64_floor_div(x, y); }

static inline float f32_bit_and(float x, float y) { return (float)(double)i64_bit_and(f64_to_i64(x), f64_to_i64(y)); }

static inline double f64_bit_and(double x, double y) { return (double)i64_bit_and(f64_to_i64(x), f64_to_i64(y)); }

static inline float f32_bit_or(float x, float y) { return (float)(double)i64_bit_or(f64_to_i64(x), f64_to_i64(y)); }

static inline double f64_bit_or(double x, double y) { return (double)i64_bit_or(f64_to_i64(x), f64_to_i64(y)); }

static inline float f32_bit_xor(float x, float y) { return (float)(double)i64_bit_xor(f64_to_i64(x), f64_to_i64(y)); }

static inline double f64_bit_xor(double x, double y) { return (double)i64_bit_xor(f64_to_i64(x), f64_to_i64(y)); }

static inline float f32_shift_left(float x, float y) { return (float)(double)i64_shift_left(f64_to_i64(x), f64_to_i64(y)); }

static inline double f64_shift_left(double x, double y) { return (double)i64_shift_left(f64_to_i64(x), f64_to_i64(y)); }

static inline float f32_shift_right(float x, float y) { return (float)(double)i64_shift_right(f64_to_i64(x), f64_to_i64(y)); }

static inline double f64_shift_right(double x, double y) { return (double)i64_shift_right(f64_to_i64(x), f64_to_i64(y)); }

/* An index that was read from memory, kept inside its axis. */
static inline int64_t index_within(int64_t index, int64_t least, int64_t greatest)
{
    return index < least ? least : index > greatest ? greatest : index;
}

/* Where a block of a loop ends. */
static inline int64_t end_of_block(int64_t block, int64_t length, int64_t extent)
{
    int64_t end = (block + 1) * length;
    return end < extent ? end : extent;
}

/* How many parts to cut a loop into: a few for each thread, so that a thread that is held up holds up little. */
static int64_t parts_of_loop(const broadloom_parallel *parallel, int64_t extent, int64_t grain)
{
    int64_t grains = (extent + grain - 1) / grain, parts = parallel ? 4 * parallel->threads : 1;
    return grains < parts ? grains : parts;
}

/* Where a part of a loop begins: at a multiple of `grain`, so that the same cells are computed together whatever
 * the number of parts. */
static inline int64_t begin_of_part(int64_t extent, int64_t grain, int64_t part, int64_t parts)
{
    int64_t grains = (extent + grain - 1) / grain, begin = grains * part / parts * grain;
    return begin < extent ? begin : extent;
}

/* Has work done, part by part, by whichever thread is free. */
static void share_work(const broadloom_parallel *parallel, int64_t parts,
    void (*work)(void *argument, int64_t part, int64_t parts), void *argument)
{
    if (parallel && parallel->threads > 1 && parts > 1)
        parallel->run(parallel, parts, work, argument);
    else
        work(argument, 0, 1);
}

/* The reports of parts; the first that failed counts, as if there had been no parts. */
enum { MOST_REPORTS = 64 };

static bool first_report(int64_t reports[MOST_REPORTS][4], int64_t *report)
{
    for (int part = 0; part < MOST_REPORTS; part++)
        if (reports[part][3]) {
            memcpy(report, reports[part], 3 * sizeof *report);
            return true;
        }
    return false;
}

/* Sets the margins of an array: what lies before and after each axis. */
static void fill_margins(char *cells, int bytes, const void *value, int rank, const int64_t *before,
    const int64_t *size, const int64_t *after)
{
    int64_t inner = 1;
    for (int axis = 1; axis < rank; axis++)
        inner *= before[axis] + size[axis] + after[axis];
    for (int64_t i = 0; i < before[0] * inner; i++, cells += bytes)
        memcpy(cells, value, (size_t)bytes);
    for (int64_t i = 0; i < size[0]; i++, cells += inner * bytes)
        if (rank > 1)
            fill_margins(cells, bytes, value, rank - 1, before + 1, size + 1, after + 1);
    for (int64_t i = 0; i < after[0] * inner; i++, cells += bytes)
        memcpy(cells, value, (size_t)bytes);
}

static void fill_margins_8(void *cells, uint8_t value, int rank, const int64_t *before, const int64_t *size,
    const int64_t *after)
{
    fill_margins(cells, 1, &value, rank, before, size, after);
}

static void fill_margins_16(void *cells, uint16_t value, int rank, const int64_t *before, const int64_t *size,
    const int64_t *after)
{
    fill_margins(cells, 2, &value, rank, before, size, after);
}

static void fill_margins_32(void *cells, uint32_t value, int rank, const int64_t *before, const int64_t *size,
    const int64_t *after)
{
    fill_margins(cells, 4, &value, rank, before, size, after);
}

static void fill_margins_64(void *cells, uint64_t value, int rank, const int64_t *before, const int64_t *size,
    const int64_t *after)
{
    fill_margins(cells, 8, &value, rank, before, size, after);
}
