/* philox: the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", 2011).
 *
 *     philox4x32 rng(seed, grid<1>());             an independent stream for each thread
 *     float u = rng.uniform(), z = rng.normal();
 *
 * Block k of a stream is a function of only the key and k, so no state is stored between launches,
 * and any position can be reached directly. cuda.random.default_rng uses the same blocks.
 *
 * Logarithm, sine and cosine are polynomials of additions, multiplications and fused multiply-adds,
 * which are rounded equally on all devices. Products are added only by fma, because a compiler may
 * or may not fuse a separate multiplication and addition. So all numbers are bit-identical on a GPU
 * and on the simulator (not with fastmath). */
#ifndef NUMBALITE_PHILOX_CUH
#define NUMBALITE_PHILOX_CUH

#include "numbalite.cuh"

namespace numbalite {
namespace nl_random {

/* The four 32-bit words of one block. */
struct words {
    uint32 a, b, c, d;
};

struct philox {
    /* The block at a 128-bit counter. */
    static NUMBALITE_FUNCTION words block(uint64 key, uint64 low, uint64 high) {
        uint32 k0 = (uint32)key, k1 = (uint32)(key >> 32);
        words x = {(uint32)low, (uint32)(low >> 32), (uint32)high, (uint32)(high >> 32)};
#pragma unroll
        for (int round = 0; round < 10; ++round) {
            /* the low and high halves of products are computed separately, because 64-bit products
             * would need twice as many registers */
            uint32 p = 0xd2511f53u * x.a, high_p = __umulhi(0xd2511f53u, x.a);
            uint32 q = 0xcd9e8d57u * x.c, high_q = __umulhi(0xcd9e8d57u, x.c);
            x.a = high_q ^ x.b ^ k0;
            x.b = q;
            x.c = high_p ^ x.d ^ k1;
            x.d = p;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        return x;
    }
};

NUMBALITE_FUNCTION uint64 join_words(uint32 low, uint32 high) {
    return (uint64)high << 32 | low;
}

/* The operations that depend on the width of a floating-point type. A number of the type is
 * computed from one word of the same width. */
template <class R> struct real;

template <> struct real<float> {
    typedef uint32 word;
    enum { per_block = 4 };

    /* Returns a uniform number in [0, 1), a multiple of 2^-24; all multiples are equally likely. */
    static NUMBALITE_FUNCTION float uniform(uint32 x) {
        return (float)(x >> 8) * 5.9604645e-08f;
    }
    static NUMBALITE_FUNCTION float epsilon() {
        return 5.9604645e-08f;
    }
    /* Divides (0, 1) into 2^32 equal parts and returns the midpoint of part x, rounded to a float:
     * the last midpoints round to 1. */
    static NUMBALITE_FUNCTION float middle(uint32 x) {
        return ((float)x + 0.5f) * 2.3283064e-10f;
    }
    /* Returns log(2^exponent * (1 + f)) for f in [-1/3, 1/3]. */
    static NUMBALITE_FUNCTION float log_of(float exponent, float f) {
        float s = f * f;
        float r = ::fmaf(-0.130310059f, s, -0.121484190f);
        float t = ::fmaf(0.140869141f, s, 0.139814854f);
        r = ::fmaf(r, s, -0.166846052f);
        t = ::fmaf(t, s, 0.200120345f);
        r = ::fmaf(r, s, -0.249996200f);
        r = ::fmaf(t, f, r);
        r = ::fmaf(r, f, 0.333331972f);
        r = ::fmaf(r, f, -0.5f);
        r = ::fmaf(r, s, f);
        return ::fmaf(exponent, 0.693147182f, r);
    }
    /* Splits u into 2^exponent * (1 + f). */
    static NUMBALITE_FUNCTION void split(float u, float &exponent, float &f) {
        uint32 bits = (uint32)__float_as_int(u), whole = (bits - 0x3f2aaaabu) & 0xff800000u;
        exponent = (float)(int)whole * 1.1920929e-07f;
        f = __int_as_float((int)(bits - whole)) - 1.0f;
    }
    /* Splits 1 - w into 2^exponent * (1 + f), for w in (0, 1/2]; exact for small w. */
    static NUMBALITE_FUNCTION void split_rest(float w, float &exponent, float &f) {
        bool is_small = w < 0.333f;
        exponent = is_small ? 0.0f : -1.0f;
        f = is_small ? -w : ::fmaf(-2.0f, w, 1.0f);
    }
    static NUMBALITE_FUNCTION float root(float x) {
        return ::sqrtf(x);
    }
    /* Returns the square root of x in [2^-100, 2^100], equal to sqrtf. On a GPU, this function has
     * no call: the call that sqrtf makes for other values would prevent a loop from keeping the
     * round keys in registers. */
    static NUMBALITE_FUNCTION float near_root(float x) {
#ifdef NUMBALITE_SIM
        return ::sqrtf(x);
#else
        float inverse;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
        float r = __fmul_rn(x, inverse);
        return ::fmaf(::fmaf(-r, r, x), 0.5f * inverse, r);
#endif
    }
    static NUMBALITE_FUNCTION float fused(float x, float y, float z) {
        return ::fmaf(x, y, z);
    }
    /* Computes the sine and cosine of a uniform angle from a word; neither result is ever 0. The
     * low 30 bits are an angle of up to an eighth of a turn. Of the other two bits, one swaps sine
     * and cosine, and one negates the cosine. */
    static NUMBALITE_FUNCTION void turn(uint32 x, float &sine, float &cosine) {
        float t = ((float)(int)(x << 2) + 2.0f) * 1.1641532e-10f; /* in half turns */
        float s = t * t;
        float c = ::fmaf(0.231384277f, s, -1.33502197f);
        c = ::fmaf(c, s, 4.05870390f);
        c = ::fmaf(c, s, -4.93480206f);
        c = ::fmaf(c, s, 1.0f);
        float r = ::fmaf(-0.595703125f, s, 2.55039954f);
        r = ::fmaf(r, s, -5.16772413f);
        r = (t * s) * r;
        r = ::fmaf(t, 3.14159274f, r);
        c = __int_as_float(__float_as_int(c) ^ (int)(x & 0x80000000u));
        sine = x & 0x40000000u ? c : r;
        cosine = x & 0x40000000u ? r : c;
    }
};

template <> struct real<double> {
    typedef uint64 word;
    enum { per_block = 2 };

    static NUMBALITE_FUNCTION double uniform(uint64 x) {
        return (double)(x >> 11) * 1.1102230246251565e-16;
    }
    static NUMBALITE_FUNCTION double epsilon() {
        return 1.1102230246251565e-16;
    }
    static NUMBALITE_FUNCTION double middle(uint64 x) {
        return ((double)x + 0.5) * 5.421010862427522e-20;
    }
    /* As fdlibm: with s = f / (2 + f), log(1 + f) is 2 s + s^3 (2/3 + ...). */
    static NUMBALITE_FUNCTION double log_of(double exponent, double f) {
        double s = f / (2.0 + f), z = s * s, w = z * z;
        double odd = ::fma(w, 0.15313837699209373, 0.2222219843214978);
        odd = ::fma(w, odd, 0.3999999999940942);
        double even = ::fma(w, 0.14798198605116586, 0.1818357216161805);
        even = ::fma(w, even, 0.2857142874366239);
        even = ::fma(w, even, 0.6666666666666735);
        double half = 0.5 * f, rest = ::fma(half, f, ::fma(w, odd, z * even));
        double low = ::fma(exponent, 1.9082149292705877e-10, s * rest);
        return ::fma(exponent, 0.6931471803691238, f - ::fma(half, f, -low));
    }
    static NUMBALITE_FUNCTION void split(double u, double &exponent, double &f) {
        uint64 bits = (uint64)__double_as_longlong(u);
        uint64 whole = (bits - 0x3fe6a09e667f3bcdull) & 0xfff0000000000000ull;
        exponent = (double)((int)(whole >> 32) >> 20);
        f = __longlong_as_double((long long)(bits - whole)) - 1.0;
    }
    static NUMBALITE_FUNCTION void split_rest(double w, double &exponent, double &f) {
        bool is_small = w < 0.29;
        exponent = is_small ? 0.0 : -1.0;
        f = is_small ? -w : ::fma(-2.0, w, 1.0);
    }
    static NUMBALITE_FUNCTION double root(double x) {
        return ::sqrt(x);
    }
    static NUMBALITE_FUNCTION double near_root(double x) {
        return ::sqrt(x);
    }
    static NUMBALITE_FUNCTION double fused(double x, double y, double z) {
        return ::fma(x, y, z);
    }
    static NUMBALITE_FUNCTION void turn(uint64 x, double &sine, double &cosine) {
        double t = ((double)(int64)(x << 2) + 2.0) * 2.710505431213761e-20;
        double s = t * t;
        /* the series of cos(pi t) and sin(pi t): for |t| <= 1/4 the truncation error is less than
         * 2^-57 */
        double c = ::fma(4.303069587032947e-06, s, -1.0463810492484570e-04);
        c = ::fma(c, s, 1.9295743094039231e-03);
        c = ::fma(c, s, -2.5806891390014061e-02);
        c = ::fma(c, s, 2.3533063035889319e-01);
        c = ::fma(c, s, -1.3352627688545895e+00);
        c = ::fma(c, s, 4.0587121264167682e+00);
        c = ::fma(c, s, -4.9348022005446793e+00);
        c = ::fma(c, s, 1.0);
        double r = ::fma(7.9520540014755128e-07, s, -2.1915353447830216e-05);
        r = ::fma(r, s, 4.6630280576761256e-04);
        r = ::fma(r, s, -7.3704309457143504e-03);
        r = ::fma(r, s, 8.2145886611128232e-02);
        r = ::fma(r, s, -5.9926452932079209e-01);
        r = ::fma(r, s, 2.5501640398773455e+00);
        r = ::fma(r, s, -5.1677127800499703e+00);
        r = ::fma(t, 1.2246467991473532e-16, (t * s) * r); /* the low part of pi */
        r = ::fma(t, 3.1415926535897931e+00, r);
        c = __longlong_as_double(__double_as_longlong(c) ^ (long long)(x & 0x8000000000000000ull));
        sine = x & 0x4000000000000000ull ? c : r;
        cosine = x & 0x4000000000000000ull ? r : c;
    }
};

template <class R> NUMBALITE_FUNCTION R log_of(R u) {
    R exponent, f;
    real<R>::split(u, exponent, f);
    return real<R>::log_of(exponent, f);
}

/* Returns an exponential number with mean 1: its distribution is divided into equally likely parts,
 * in descending order, and the number is computed from the midpoint of part x. Both tails have full
 * resolution: near 0 the step size is that of x, not that of floats near 1. */
template <class R> NUMBALITE_FUNCTION R exponential_of(typename real<R>::word x) {
    typedef typename real<R>::word word;
    word top = (word)1 << (8 * sizeof(word) - 1);
    bool upper = x >= top;
    R v = real<R>::middle(upper ? (word)~x : x), exponent, f, rest_exponent, rest_f;
    real<R>::split(v, exponent, f);
    real<R>::split_rest(v, rest_exponent, rest_f);
    return -real<R>::log_of(upper ? rest_exponent : exponent, upper ? rest_f : f);
}

/* Computes two independent normal numbers with the Box-Muller transform. */
template <class R>
NUMBALITE_FUNCTION void compute_normal_pair(typename real<R>::word x, typename real<R>::word y, R &a, R &b) {
    R u = real<R>::middle(x), below_one = 1 - real<R>::epsilon();
    R sine, cosine, r = real<R>::near_root(-2 * log_of<R>(u < below_one ? u : below_one));
    real<R>::turn(y, sine, cosine);
    a = r * cosine;
    b = r * sine;
}

} // namespace nl_random

/* A position in a stream of random blocks: `key` selects the generator, `sequence` one of its 2^64
 * streams, and `offset` the first block. */
class philox4x32 {
  public:
    NUMBALITE_FUNCTION explicit philox4x32(uint64 key, uint64 sequence = 0, uint64 offset = 0)
        : key_(key), high_(sequence), low_(offset), left_(0) {
    }

    /* Returns the next complete block of 128 random bits. Unused words of the last block are
     * discarded. */
    NUMBALITE_FUNCTION uint4 block() {
        nl_random::words w = next_block();
        left_ = 0;
        uint4 result;
        result.x = w.a, result.y = w.b, result.z = w.c, result.w = w.d;
        return result;
    }

    /* The next 32 or 64 random bits. */
    NUMBALITE_FUNCTION uint32 operator()() {
        if (left_ == 0) {
            words_ = next_block();
            left_ = 4;
        }
        uint32 x = words_.a;
        words_.a = words_.b, words_.b = words_.c, words_.c = words_.d;
        --left_;
        return x;
    }
    NUMBALITE_FUNCTION uint64 bits64() { /* an odd word is discarded */
        if (left_ < 2) {
            words_ = next_block();
            left_ = 4;
        }
        uint64 x = nl_random::join_words(words_.a, words_.b);
        words_.a = words_.c, words_.b = words_.d;
        left_ -= 2;
        return x;
    }

    /* [0, 1) */
    NUMBALITE_FUNCTION float uniform() {
        return nl_random::real<float>::uniform((*this)());
    }
    NUMBALITE_FUNCTION double uniform_double() {
        return nl_random::real<double>::uniform(bits64());
    }

    /* Returns a normal number with mean 0 and standard deviation 1. The function computes pairs of
     * independent numbers. */
    NUMBALITE_FUNCTION float normal() {
        float a, b;
        normal_pair(a, b);
        return a;
    }
    NUMBALITE_FUNCTION double normal_double() {
        double a, b;
        normal_pair(a, b);
        return a;
    }
    NUMBALITE_FUNCTION void normal_pair(float &a, float &b) {
        uint64 x = bits64();
        nl_random::compute_normal_pair<float>((uint32)x, (uint32)(x >> 32), a, b);
    }
    NUMBALITE_FUNCTION void normal_pair(double &a, double &b) {
        uint64 x = bits64();
        nl_random::compute_normal_pair<double>(x, bits64(), a, b);
    }

    /* Mean 1. */
    NUMBALITE_FUNCTION float exponential() {
        return nl_random::exponential_of<float>((*this)());
    }
    NUMBALITE_FUNCTION double exponential_double() {
        return nl_random::exponential_of<double>(bits64());
    }

    /* Returns an integer from 0 to n - 1, all equally likely, or 0 for n = 0. Uses Lemire's method:
     * the result is the high half of a product. The draw is repeated if the low half is in the
     * range that would bias the result. */
    NUMBALITE_FUNCTION uint32 below(uint32 n) {
        uint64 product = (uint64)(*this)() * n;
        if ((uint32)product < n) {
            uint32 excess = (0u - n) % n;
            while ((uint32)product < excess)
                product = (uint64)(*this)() * n;
        }
        return (uint32)(product >> 32);
    }

    /* Advances the position by a number of blocks, without computing them. */
    NUMBALITE_FUNCTION void skip(uint64 blocks) {
        low_ += blocks;
        high_ += low_ < blocks;
        left_ = 0;
    }

  private:
    NUMBALITE_FUNCTION nl_random::words next_block() {
        nl_random::words w = nl_random::philox::block(key_, low_, high_);
        high_ += ++low_ == 0;
        return w;
    }

    uint64 key_, high_, low_;
    nl_random::words words_;
    int left_;
};

} // namespace numbalite

#endif
