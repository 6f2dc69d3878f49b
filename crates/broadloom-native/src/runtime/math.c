/* Elementary functions of one element.
 *
 * They are written so that the compiler turns a loop over them into vector code: no
 * branches, no calls, tables or memory; both sides of every choice are computed and
 * one is selected. Infinities and NaN come out as IEEE 754 and C prescribe.
 *
 * Errors stay below 2.5 ulp in f32. Reductions of the argument are written with fma and
 * rint, so that they are exact whatever the compiler is told about sums. In f64 the exponential family
 * is ours too, below 2 ulp; angles and powers are those of libm.
 */
#ifndef MATH_ONCE
#define MATH_ONCE

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float f32_of_bits(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
static inline uint64_t f64_bits(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static inline double f64_of_bits(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

/* Without the instruction, fma would be a slow call. */
#if defined(__FMA__) || defined(__aarch64__)
static inline float f32_fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double f64_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
#else
static inline float f32_fma(float x, float y, float z) { return x * y + z; }
static inline double f64_fma(double x, double y, double z) { return x * y + z; }
#endif

/* ---- Small functions ---- */

static inline float f32_sqrt(float x) { return __builtin_sqrtf(x); }
static inline double f64_sqrt(double x) { return __builtin_sqrt(x); }
static inline float f32_recip(float x) { return 1.0f / x; }
static inline double f64_recip(double x) { return 1.0 / x; }

/* x / y for many x: with the inverse of y, or by division if that would lose digits. */
static inline float f32_inverse(float y)
{
    float size = __builtin_fabsf(y);
    return (size > 0x1p-126f) & (size < 0x1p126f) ? 1.0f / y : 0.0f;
}
static inline float f32_over(float x, float y, float inverse) { return inverse != 0.0f ? x * inverse : x / y; }

static inline float f32_select(_Bool condition, float x, float y) { return condition ? x : y; }
static inline double f64_select(_Bool condition, double x, double y) { return condition ? x : y; }

/* NaN if either is: C's fmax would drop it. */
static inline float f32_max(float x, float y) { return x > y || x != x ? x : y; }
static inline float f32_min(float x, float y) { return x < y || x != x ? x : y; }
static inline double f64_max(double x, double y) { return x > y || x != x ? x : y; }
static inline double f64_min(double x, double y) { return x < y || x != x ? x : y; }

/* ---- Exponential family ---- */

/* e^t for t in [-104, 89]: 2^n e^r with |r| <= ln(2)/2. The power of two is applied in halves, so
 * that results reach both infinity and the subnormals. n + 254 is found in the last bits of a sum
 * that is so large that its last digit is 1; half of it is the exponent of a float. What is not a
 * number passes through. */
static inline float f32_exp_within(float t)
{
#if defined(__FMA__) || defined(__aarch64__)
    float sum = f32_fma(t, 1.44269504f, 12583166.0f), n = sum - 12583166.0f;
    uint32_t power = f32_bits(sum);
#else
    float n = __builtin_rintf(t * 1.44269504f);
    uint32_t power = (uint32_t)((int32_t)n + 254);
#endif
    float r = f32_fma(n, -0.693145752f, t);
    r = f32_fma(n, -1.42860677e-6f, r);
    float p = 1.386375749e-3f;
    p = f32_fma(p, r, 8.367509581e-3f);
    p = f32_fma(p, r, 4.166723788e-2f);
    p = f32_fma(p, r, 1.666653454e-1f);
    p = f32_fma(p, r, 0.5f);
    p = f32_fma(p, r, 1.0f);
    uint32_t first = power >> 1 << 23, second = (power << 23) - first;
    float half = f32_of_bits(first);
    return f32_fma(p, r * half, half) * f32_of_bits(second);
}

static inline float f32_exp(float x)
{
    float t = 89.0f < x ? 89.0f : x;
    t = x < -104.0f ? 0.0f : t; /* whose result is 0: underflow is slow */
    float result = f32_exp_within(t);
    return x < -104.0f ? 0.0f : result;
}

/* x = 2^n m with m around 1, then a polynomial in m - 1. */
static inline float f32_log(float x)
{
    float tiny = x < 1.17549435e-38f ? 8388608.0f : 1.0f; /* make subnormals normal */
    uint32_t u = f32_bits(x * tiny) - 0x3f3504f3; /* sqrt(1/2) */
    float n = (float)((int32_t)u >> 23) - (x < 1.17549435e-38f ? 23.0f : 0.0f);
    float f = f32_of_bits((u & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float s = f * f;
    float p = 7.0376836292e-2f;
    p = f32_fma(p, f, -1.1514610310e-1f);
    p = f32_fma(p, f, 1.1676998740e-1f);
    p = f32_fma(p, f, -1.2420140846e-1f);
    p = f32_fma(p, f, 1.4249322787e-1f);
    p = f32_fma(p, f, -1.6668057665e-1f);
    p = f32_fma(p, f, 2.0000714765e-1f);
    p = f32_fma(p, f, -2.4999993993e-1f);
    p = f32_fma(p, f, 3.3333331174e-1f);
    float y = f32_fma(n, -2.12194440e-4f, p * f * s);
    y = f32_fma(s, -0.5f, y);
    float result = f32_fma(n, 0.693359375f, f + y);
    result = x == 0.0f ? -__builtin_inff() : result;
    result = x < 0.0f ? __builtin_nanf("") : result;
    return x < __builtin_inff() ? result : x; /* infinity and NaN are their own */
}

/* log(1 + x), also where 1 + x is 1: what was rounded away is put back as a factor. */
static inline float f32_log1p(float x)
{
    float sum = 1.0f + x;
    float exact = f32_log(sum) * (x / (sum - 1.0f));
    return sum == 1.0f || x == INFINITY ? x : exact;
}

/* Near 0 a polynomial, for the difference of exponentials would lose its digits. */
static inline float f32_tanh(float x)
{
    float z = x * x, t = __builtin_fabsf(x);
    float p = -5.70498872745e-3f;
    p = f32_fma(p, z, 2.06390887954e-2f);
    p = f32_fma(p, z, -5.37397155531e-2f);
    p = f32_fma(p, z, 1.33314422036e-1f);
    p = f32_fma(p, z, -3.33332819422e-1f);
    float small = f32_fma(p * z, x, x);
    float twice = 20.0f < 2.0f * t ? 20.0f : 2.0f * t; /* rounds to 1 from here on */
    float large = 1.0f - 2.0f / (f32_exp_within(twice) + 1.0f);
    return __builtin_copysignf(t < 0.625f ? small : large, x);
}

static inline float f32_sigmoid(float x)
{
    float t = f32_exp(-__builtin_fabsf(x)); /* never overflows */
    return (x < 0.0f ? t : 1.0f) / (1.0f + t);
}

static inline float f32_erf(float x)
{
    float t = __builtin_fabsf(x), s = x * x;
    t = t > 4.0f ? 4.0f : t; /* rounds to 1 from here on */
    float p = f32_fma(-1.72853470e-5f, t, 3.83197126e-4f);
    p = f32_fma(p, t * t, f32_fma(-3.88396438e-3f, t, 2.42546219e-2f));
    p = f32_fma(p, t, -1.06777877e-1f);
    p = f32_fma(p, t, -6.34846687e-1f);
    p = f32_fma(p, t, -1.28717512e-1f);
    float large = 1.0f - f32_exp_within(f32_fma(p, t, -t));
    float q = -5.96761703e-4f;
    q = f32_fma(q, s, 4.99119423e-3f);
    q = f32_fma(q, s, -2.67681349e-2f);
    q = f32_fma(q, s, 1.12819925e-1f);
    q = f32_fma(q, s, -3.76125336e-1f);
    q = f32_fma(q, s, 1.28379166e-1f);
    return t < 0.927734375f ? f32_fma(q, x, x) : __builtin_copysignf(large, x);
}

/* ---- Sine and cosine ---- */

/* 2^(8k) modulo 2 pi, in three parts: the product of each of the first two with a 32-bit float is exact. */
static const double f32_turn_high[14] = {
    1.0, -0x1.9c501fcp+0, 0x1.304999dp+1, -0x1.c9b6499p-1,
    -0x1.54a767dp+1, -0x1.5ca6dffp+1, 0x1.09f4684p-3, 0x1.d412de5p+0,
    0x1.8f1a5c4p+1, 0x1.ee66399p-3, -0x1.082d21ap+0, -0x1.214a9b9p-2,
    0x1.89a58c4p+1, 0x1.e52a7a6p+0,
};
static const double f32_turn_middle[14] = {
    0.0, 0x1.4c71cb2p-30, -0x1.2a1861fp-29, 0x1.f76407bp-32,
    -0x1.830ee72p-31, 0x1.547827dp-29, -0x1.6d7ee7p-34, -0x1.303030cp-33,
    -0x1.56965f3p-30, -0x1.e27ecb4p-33, 0x1.13f76c9p-30, -0x1.233b1d7p-34,
    0x1.dc40bb6p-31, 0x1.8010099p-30,
};
static const double f32_turn_low[14] = {
    0.0, -0x1.c1e2e42bd1a05p-60, 0x1.bd574414fe088p-59, 0x1.9bc9fa389d0eep-62,
    0x1.90e2f7eca664p-61, 0x1.f354bfc0606e9p-60, -0x1.1ef13090dba7dp-67, -0x1.4e92bbf3cbaf2p-63,
    0x1.bcfc435cea4c1p-60, 0x1.686f5a7eabc09p-63, 0x1.360b631bf3c4fp-60, -0x1.056ce9aa8fc96p-64,
    0x1.175ed2702248ep-62, -0x1.95d398331c24ep-63,
};

/* x - n pi/2 for the nearest n. A number from 2^24 on is m 2^(8k) with a whole m, and its turns are those of m times
 * 2^(8k) modulo 2 pi: accurate for every x. */
static inline float f32_quarter_turns(float x, int32_t *quadrant)
{
    uint32_t bits = f32_bits(x);
    int32_t k = ((int32_t)(bits >> 23 & 255) - 150) >> 3;
    k = k < 0 ? 0 : k > 13 ? 13 : k;
    double m = (double)f32_of_bits(bits - ((uint32_t)k << 26));
    double high = m * f32_turn_high[k] + (double)(x - x); /* infinite numbers have no angle */
    double middle = m * f32_turn_middle[k];
    double n = __builtin_rint((high + middle) * 0.63661977236758134);
    double r = f64_fma(n, -1.5707963267948966, high) + middle;
    r += f64_fma(n, -6.123233995736766e-17, m * f32_turn_low[k]);
    *quadrant = (int32_t)(n - 4.0 * __builtin_floor(n * 0.25));
    return n == 0.0 ? x : (float)r; /* with the sign of -0 */
}

/* sin(r) in even quadrants, cos(r) in odd ones; negative in the upper two of four. */
static inline float f32_sine_of_quadrant(float r, int32_t quadrant)
{
    float z = r * r;
    float s = -1.9515295891e-4f;
    s = f32_fma(s, z, 8.3321608736e-3f);
    s = f32_fma(s, z, -1.6666654611e-1f);
    s = __builtin_copysignf(f32_fma(s * z, r, r), r);
    float c = 2.443315711809948e-5f;
    c = f32_fma(c, z, -1.388731625493765e-3f);
    c = f32_fma(c, z, 4.166664568298827e-2f);
    c = f32_fma(c, z, -0.5f);
    c = f32_fma(c, z, 1.0f);
    float y = quadrant & 1 ? c : s;
    return f32_of_bits(f32_bits(y) ^ ((uint32_t)(quadrant & 2) << 30));
}

static inline float f32_sin(float x)
{
    int32_t quadrant;
    float r = f32_quarter_turns(x, &quadrant);
    return f32_sine_of_quadrant(r, quadrant);
}

static inline float f32_cos(float x)
{
    int32_t quadrant;
    float r = f32_quarter_turns(x, &quadrant);
    return f32_sine_of_quadrant(r, quadrant + 1);
}

/* ---- Powers ---- */

/* log2 |x|, to about 12 digits: enough for pow, which multiplies the error by up to 150. */
static inline double f32_log2_wide(float x)
{
    uint64_t u = f64_bits((double)x) & 0x7fffffffffffffff;
    uint64_t shifted = u - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    double n = (double)((int32_t)(shifted >> 32) >> 20);
    double m = f64_of_bits((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
    double s = (m - 1.0) / (m + 1.0), z = s * s; /* 2 atanh(s) = ln(m) */
    double p = 1.0 / 15;
    p = f64_fma(p, z, 1.0 / 13);
    p = f64_fma(p, z, 1.0 / 11);
    p = f64_fma(p, z, 1.0 / 9);
    p = f64_fma(p, z, 1.0 / 7);
    p = f64_fma(p, z, 1.0 / 5);
    p = f64_fma(p, z, 1.0 / 3);
    p = f64_fma(p, z, 1.0);
    double result = f64_fma(p * s, 2.8853900817779268, n);
    result = u == 0 ? -__builtin_inf() : result;
    return u < 0x7ff0000000000000 ? result : f64_of_bits(u);
}

static inline float f32_exp2_wide(double x)
{
    double t = x > 200.0 ? 200.0 : x;
    t = t < -200.0 ? -200.0 : t;
    double n = __builtin_rint(t), r = (t - n) * 0.69314718055994531;
    double p = 1.0 / 3628800;
    p = f64_fma(p, r, 1.0 / 362880);
    p = f64_fma(p, r, 1.0 / 40320);
    p = f64_fma(p, r, 1.0 / 5040);
    p = f64_fma(p, r, 1.0 / 720);
    p = f64_fma(p, r, 1.0 / 120);
    p = f64_fma(p, r, 1.0 / 24);
    p = f64_fma(p, r, 1.0 / 6);
    p = f64_fma(p, r, 0.5);
    p = f64_fma(p, r, 1.0);
    p = f64_fma(p, r, 1.0);
    int64_t power = (int32_t)n;
    float result = (float)(p * f64_of_bits((uint64_t)(power + 1023) << 52));
    return x == x ? result : (float)x;
}

static inline float f32_pow(float x, float y)
{
    float size = f32_exp2_wide((double)y * f32_log2_wide(x));
    float half = 0.5f * y;
    int whole = __builtin_rintf(y) == y;
    int odd = whole & (__builtin_rintf(half) != half);
    uint32_t sign = f32_bits(x) & 0x80000000;
    float result = f32_of_bits(f32_bits(size) | (odd ? sign : 0));
    result = (x < 0.0f) & (x > -__builtin_inff()) & !whole ? __builtin_nanf("") : result;
    int minus_one = (x == -1.0f) & (__builtin_fabsf(y) == __builtin_inff());
    result = (y != y) | (x != x) ? x + y : result;
    return (x == 1.0f) | (y == 0.0f) | minus_one ? 1.0f : result;
}

/* ---- The same in double: the exponential family ---- */

/* e^t = 2^n e^r for t in [-746, 710], as for floats: the two halves of 2^n, r, and what e^r is beyond 1 + r. */
typedef struct { double first, second, r, more; } f64_power;

static inline f64_power f64_power_of_e(double t)
{
    double sum = f64_fma(t, 1.4426950408889634, 6755399441057790.0), n = sum - 6755399441057790.0;
    double near = f64_fma(n, -0.693147180559663, t), rest = n * 2.8235290563031577e-13;
    double r = near - rest, lost = (near - r) - rest;
    double p = 2.510065503606659e-08;
    p = f64_fma(p, r, 2.762043894863442e-07);
    p = f64_fma(p, r, 2.755726789174553e-06);
    p = f64_fma(p, r, 2.480152055701783e-05);
    p = f64_fma(p, r, 0.0001984126986342035);
    p = f64_fma(p, r, 0.0013888888917690603);
    p = f64_fma(p, r, 0.008333333333329989);
    p = f64_fma(p, r, 0.04166666666662317);
    p = f64_fma(p, r, 0.16666666666666669);
    p = f64_fma(p, r, 0.5);
    uint64_t power = f64_bits(sum), half = power >> 1 << 52;
    f64_power found = {f64_of_bits(half), f64_of_bits((power << 52) - half), r, f64_fma(p * r, r, lost)};
    return found;
}

static inline double f64_whole_power(f64_power e)
{
    double sum = 1.0 + e.r, low = (1.0 - sum) + e.r + e.more;
    return f64_fma(sum, e.first, low * e.first) * e.second;
}

/* The power less 1, and what is rounded away in it. */
static inline double f64_power_less_one(f64_power e, double *lost)
{
    double power = e.first * e.second, whole = power - 1.0, part = power * e.r;
    double sum = whole + part, low = f64_fma(power, e.more, (whole - sum) + part);
    double result = sum + low;
    *lost = (sum - result) + low;
    return result;
}

static inline double f64_exp(double x)
{
    double t = 710.0 < x ? 710.0 : x;
    t = x < -746.0 ? 0.0 : t; /* whose result is 0: underflow is slow */
    double result = f64_whole_power(f64_power_of_e(t));
    return x < -746.0 ? 0.0 : result;
}

static inline double f64_expm1(double x)
{
    double t = 710.0 < x ? 710.0 : x, lost;
    t = t < -40.0 ? -40.0 : t; /* rounds to -1 from here on */
    f64_power e = f64_power_of_e(t);
    double large = f64_whole_power(e), result = f64_power_less_one(e, &lost);
    result = x > 60.0 ? large : result; /* the 1 does not count */
    return x == 0.0 ? x : result; /* with the sign of -0 */
}

/* log(x + x more) for the bits of a normal x, and a very small `more`: x = 2^n (1 + f), and a series in f / (2 + f). */
static inline double f64_log_of_bits(uint64_t bits, double more)
{
    uint64_t shifted = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    double n = f64_of_bits(shifted >> 52 | 0x4330000000000000) - 4503599627371519.0; /* 2^52 + 1023 */
    double f = f64_of_bits((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double p = 0.14617807153417325;
    p = f64_fma(p, z, 0.15331611722055008);
    p = f64_fma(p, z, 0.1818289243253687);
    p = f64_fma(p, z, 0.22222211089379496);
    p = f64_fma(p, z, 0.28571428626253836);
    p = f64_fma(p, z, 0.3999999999989889);
    p = f64_fma(p, z, 0.666666666666667);
    double tail = f64_fma(n, 2.8235290563031577e-13, more);
    tail = f64_fma(s, f64_fma(p, z, half), tail);
    return f64_fma(n, 0.693147180559663, f - (half - tail));
}

static inline double f64_log(double x)
{
    _Bool tiny = x < 0x1p-1022;
    double result = f64_log_of_bits(f64_bits(tiny ? x * 0x1p54 : x), 0.0);
    result = tiny ? result - 37.42994775023705 : result; /* 54 ln(2) */
    result = x == 0.0 ? -__builtin_inf() : result;
    result = x < 0.0 ? __builtin_nan("") : result;
    return x < __builtin_inf() ? result : x; /* infinity and NaN are their own */
}

/* What is rounded away in 1 + x is put back. */
static inline double f64_log1p(double x)
{
    double sum = 1.0 + x;
    double lost = x < 1.0 ? x - (sum - 1.0) : 1.0 - (sum - x);
    double result = f64_log_of_bits(f64_bits(sum), lost / sum);
    result = x == -1.0 ? -__builtin_inf() : result;
    result = x < -1.0 ? __builtin_nan("") : result;
    return sum == 1.0 || !(x < __builtin_inf()) ? x : result;
}

/* e / (e + 2), where e is e^(2x) - 1, with what is rounded away in both. */
static inline double f64_tanh(double x)
{
    double t = __builtin_fabs(x), lost;
    double e = f64_power_less_one(f64_power_of_e(22.0 < t ? 44.0 : 2.0 * t), &lost); /* rounds to 1 from here on */
    double sum = e + 2.0, kept = sum - e, more = (e - (sum - kept)) + (2.0 - kept);
    double result = e / sum;
    return __builtin_copysign(result + (lost - result * more) / sum, x);
}

static inline double f64_sigmoid(double x)
{
    double t = f64_exp(-__builtin_fabs(x)); /* never overflows */
    double sum = 1.0 + t, more = (1.0 - sum) + t;
    double result = (x < 0.0 ? t : 1.0) / sum;
    return result - result * more / sum;
}

/* Up to 1 a series; above, e^(-x^2) times a polynomial in (x - 3.5) / (x + 3.5) is what is left to 1. */
static inline double f64_erf(double x)
{
    double t = __builtin_fabs(x), z = x * x;
    t = t > 6.0 ? 6.0 : t; /* rounds to 1 from here on */
    double q = 5.957176147748911e-11;
    q = f64_fma(q, z, -1.1372848856791674e-09);
    q = f64_fma(q, z, 1.4659775274047436e-08);
    q = f64_fma(q, z, -1.6350312701054695e-07);
    q = f64_fma(q, z, 1.6461000484121368e-06);
    q = f64_fma(q, z, -1.4925595266831182e-05);
    q = f64_fma(q, z, 0.0001205533111164271);
    q = f64_fma(q, z, -0.000854832698083379);
    q = f64_fma(q, z, 0.0052239776248180145);
    q = f64_fma(q, z, -0.026866170645076792);
    q = f64_fma(q, z, 0.11283791670954879);
    q = f64_fma(q, z, -0.3761263890318375);
    q = f64_fma(q, z, 0.1283791670955126);
    double u = (t - 3.5) / (t + 3.5);
    double p = -1.5885446316700733e-07;
    p = f64_fma(p, u, -1.949999883482146e-06);
    p = f64_fma(p, u, -1.7121197069097852e-06);
    p = f64_fma(p, u, 1.3412352275651315e-05);
    p = f64_fma(p, u, -4.640178919530465e-06);
    p = f64_fma(p, u, -0.00010808575517121791);
    p = f64_fma(p, u, 0.000288552006757455);
    p = f64_fma(p, u, 0.00026738478589562463);
    p = f64_fma(p, u, -0.004242238468024573);
    p = f64_fma(p, u, 0.016976760950897597);
    p = f64_fma(p, u, -0.04543676118647769);
    p = f64_fma(p, u, 0.09442780690876125);
    p = f64_fma(p, u, -0.16133852476447896);
    p = f64_fma(p, u, 0.23313048160025399);
    p = f64_fma(p, u, -0.2892650448327675);
    p = f64_fma(p, u, 0.1552936556088943);
    double large = f64_fma(-f64_whole_power(f64_power_of_e(-(t * t))), p, 1.0);
    return t < 1.0 ? f64_fma(q, x, x) : __builtin_copysign(large, x);
}

static inline double f64_sin(double x) { return __builtin_sin(x); }
static inline double f64_cos(double x) { return __builtin_cos(x); }
static inline double f64_pow(double x, double y) { return __builtin_pow(x, y); }

/* ---- The exponential family of floats by that of doubles, which is right to the last digit ---- */

static inline float f32_expm1(float x) { return (float)f64_expm1((double)x); }

static inline float f32_sinh(float x)
{
    double t = __builtin_fabs((double)x);
    double e = f64_expm1(t > 100.0 ? 100.0 : t); /* infinite from here on */
    return (float)__builtin_copysign(0.5 * (e + e / (e + 1.0)), (double)x);
}

static inline float f32_cosh(float x)
{
    double t = __builtin_fabs((double)x);
    double e = f64_exp(t > 100.0 ? 100.0 : t);
    return (float)(0.5 * (e + 1.0 / e));
}

static inline float f32_asinh(float x)
{
    double t = __builtin_fabs((double)x), z = t * t;
    double result = f64_log1p(t + z / (1.0 + f64_sqrt(z + 1.0)));
    return (float)__builtin_copysign(t < __builtin_inf() ? result : t, (double)x);
}

static inline float f32_acosh(float x)
{
    double t = (double)x - 1.0;
    double result = f64_log1p(t + f64_sqrt(t * (t + 2.0)));
    return x < 1.0f ? __builtin_nanf("") : (float)result;
}

static inline float f32_atanh(float x)
{
    double t = __builtin_fabs((double)x);
    return (float)__builtin_copysign(0.5 * f64_log1p(2.0 * t / (1.0 - t)), (double)x);
}

/* ---- 16-bit storage ---- */

/* Integer arithmetic throughout: unlike conversions from _Float16, it becomes vector
 * code with every compiler and on every machine. */

static inline float bf16_to_f32(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

/* To nearest, ties to even. A NaN might lose its only bits: it gets the quiet one. */
static inline uint16_t f32_to_bf16(float x)
{
    uint32_t u = f32_bits(x);
    uint32_t nearest = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (uint16_t)(x == x ? nearest : (u >> 16) | 0x40);
}

/* The fields move to their places in a float; a product with 2^112 mends the bias of
 * the exponent, of subnormals as well. */
static inline float f16_to_f32(uint16_t h)
{
    uint32_t size = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t u = f32_bits(f32_of_bits(size) * 5.192296858534828e33f);
    u = size >= 0x0f800000 ? size | 0x7f800000 : u; /* infinity, NaN */
    return f32_of_bits(u | sign);
}

/* To nearest, ties to even. Adding 0.5 leaves a subnormal's digits, rounded, in the
 * last places of the sum. */
static inline uint16_t f32_to_f16(float x)
{
    uint32_t u = f32_bits(x) & 0x7fffffff, sign = (f32_bits(x) >> 16) & 0x8000;
    uint32_t subnormal = f32_bits(f32_of_bits(u) + 0.5f) - 0x3f000000;
    uint32_t normal = (u - 0x38000000 + 0xfff + ((u >> 13) & 1)) >> 13;
    uint32_t h = u < 0x38800000 ? subnormal : normal;
    h = u >= 0x47800000 ? (u > 0x7f800000 ? 0x7e00 : 0x7c00) : h;
    return (uint16_t)(h | sign);
}

/* ---- Random numbers ---- */

typedef struct { uint32_t x0, x1; } threefry_words;

static inline uint32_t rotate_left(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3"): a function of key and position alone, so that elements may be computed in
 * any order, by any thread. */
static inline threefry_words threefry(uint64_t key, uint64_t position)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = 0x1bd11bda ^ k0 ^ k1;
    uint32_t x0 = (uint32_t)position + k0, x1 = (uint32_t)(position >> 32) + k1;
#define ROUND(by) x0 += x1, x1 = rotate_left(x1, by) ^ x0
#define EVEN_ROUNDS ROUND(13), ROUND(15), ROUND(26), ROUND(6)
#define ODD_ROUNDS ROUND(17), ROUND(29), ROUND(16), ROUND(24)
    EVEN_ROUNDS, x0 += k1, x1 += k2 + 1;
    ODD_ROUNDS, x0 += k2, x1 += k0 + 2;
    EVEN_ROUNDS, x0 += k0, x1 += k1 + 3;
    ODD_ROUNDS, x0 += k1, x1 += k2 + 4;
    EVEN_ROUNDS, x0 += k2, x1 += k0 + 5;
#undef ROUND
#undef EVEN_ROUNDS
#undef ODD_ROUNDS
    return (threefry_words){ x0, x1 };
}

/* Uniform in [0, 1): 24 bits, or 53. Every step is exact. */
static inline float f32_uniform(uint64_t key, uint64_t position)
{
    return (float)(int32_t)(threefry(key, position).x0 >> 8) * 0x1p-24f;
}

static inline double f64_uniform(uint64_t key, uint64_t position)
{
    threefry_words w = threefry(key, position);
    return (double)w.x0 * 0x1p-32 + (double)(int32_t)(w.x1 >> 11) * 0x1p-53;
}

/* ---- Functions that are not computed in vectors: those of libm, in double, are right to the last digit of a float ---- */

static inline float f32_tan(float x) { return (float)tan((double)x); }
static inline double f64_tan(double x) { return tan(x); }
static inline float f32_asin(float x) { return (float)asin((double)x); }
static inline double f64_asin(double x) { return asin(x); }
static inline float f32_acos(float x) { return (float)acos((double)x); }
static inline double f64_acos(double x) { return acos(x); }
static inline float f32_atan(float x) { return (float)atan((double)x); }
static inline double f64_atan(double x) { return atan(x); }
static inline double f64_sinh(double x) { return sinh(x); }
static inline double f64_cosh(double x) { return cosh(x); }
static inline double f64_asinh(double x) { return asinh(x); }
static inline double f64_acosh(double x) { return acosh(x); }
static inline double f64_atanh(double x) { return atanh(x); }
static inline float f32_atan2(float y, float x) { return (float)atan2((double)y, (double)x); }
static inline double f64_atan2(double y, double x) { return atan2(y, x); }

/* ---- The gamma function ----
 *
 * `gamma.rs` of the loops has the same polynomials, and says where they come from.
 */

static inline float f32_lgamma(float x) { return (float)lgamma((double)x); }
static inline double f64_lgamma(double x) { return lgamma(x); }

/* From 2 on: what is left beside log(x - 1/2). */
static inline double f64_digamma_above(double x)
{
    double z = x - 0.5, y = 1.0 / (z * z);
    double p = 0.014210694804086457;
    p = p * y + 0.6951330947298276;
    p = p * y + 3.4860244530729014;
    p = p * y + 5.143578734631839;
    p = p * y + 2.847483998143777;
    p = p * y + 0.6109387733645413;
    p = p * y + 0.04166666666666134;
    double q = 1.672728730144368;
    q = q * y + 26.953481646904308;
    q = q * y + 101.96954928544254;
    q = q * y + 134.57385495719362;
    q = q * y + 70.84392191335158;
    q = q * y + 14.8375305606488;
    q = q * y + 1.0;
    return log(z) + y * (p / q);
}

/* Between 1 and 2: the quotient by the distance from the root. */
static inline double f64_digamma_near(double x)
{
    double s = x - 1.5;
    double p = -2.1371909144303333e-7;
    p = p * s + 1.9227634434238662e-5;
    p = p * s + 0.0035369185229135415;
    p = p * s + 0.06552136794893776;
    p = p * s + 0.41869245850949033;
    p = p * s + 1.0786473286494878;
    p = p * s + 0.9510558760318328;
    double q = 0.000857691360255349;
    q = q * s + 0.023995076433558565;
    q = q * s + 0.22226135682897646;
    q = q * s + 0.8909108601153678;
    q = q * s + 1.5795862133768737;
    q = q * s + 1.0;
    return (x - 1.4616321325302124 - 1.2438149938918909e-8) * (p / q);
}

static inline double f64_digamma(double x)
{
    double at = x > 0.0 ? x : 1.0 - x;
    double value = at >= 2.0 ? f64_digamma_above(at) : f64_digamma_near(at < 1.0 ? at + 1.0 : at);
    value = at < 1.0 ? value - 1.0 / at : value;
    if (x > 0.0 || x != x)
        return value;
    double part = x - round(x);
    if (x == 0.0)
        return -1.0 / x;
    return part == 0.0 ? __builtin_nan("") : value - 3.141592653589793 / tan(3.141592653589793 * part);
}
static inline float f32_digamma(float x) { return (float)f64_digamma((double)x); }

static inline double f64_trigamma(double x)
{
    double at = x > 0.0 ? x : 1.0 - x, first = 0.0, second = 0.0;
    if (at < 2.0) {
        first = 1.0 / (at * at);
        at = at + 1.0;
        if (at < 2.0) {
            second = 1.0 / (at * at);
            at = at + 1.0;
        }
    }
    double z = at - 0.5, y = 1.0 / (z * z);
    double p = 0.06278933185376341;
    p = p * y + 5.72525436858474;
    p = p * y + 34.457177016853244;
    p = p * y + 61.65002487891478;
    p = p * y + 43.998560433198996;
    p = p * y + 13.751813907505975;
    p = p * y + 1.835191186820074;
    p = p * y + 0.0833333333333298;
    double q = 11.736841625364589;
    q = q * y + 164.04698744264482;
    q = q * y + 619.8296104645391;
    q = q * y + 903.9116685756197;
    q = q * y + 582.5886174678394;
    q = q * y + 172.57528416907058;
    q = q * y + 22.372294241796574;
    q = q * y + 1.0;
    double value = (1.0 - y * (p / q)) / z + second + first;
    if (x > 0.0 || x != x)
        return value;
    double sine = sin(3.141592653589793 * (x - round(x))) / 3.141592653589793;
    return sine == 0.0 ? __builtin_inf() : 1.0 / (sine * sine) - value;
}
static inline float f32_trigamma(float x) { return (float)f64_trigamma((double)x); }

#endif /* MATH_ONCE */
