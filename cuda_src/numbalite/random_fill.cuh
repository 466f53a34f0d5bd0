/* random_fill: fills arrays from distributions of cuda.random (numbalite/random/) that need exactly
 * one word per number.
 *
 * A unit is one block of Philox, which is used as 4 numbers of 32 bits or 2 numbers of 64 bits,
 * stored together. An element depends only on the key, the counter and its index, not on the launch
 * configuration.
 *
 * A distribution has parameters, each a number or an array of the output's size. */
#ifndef NUMBALITE_RANDOM_FILL_CUH
#define NUMBALITE_RANDOM_FILL_CUH

#include "numbalite/philox.cuh"

namespace numbalite {
namespace nl_random {

template <class P> NUMBALITE_FUNCTION P at(P value, uint64) {
    return value;
}
template <class P> NUMBALITE_FUNCTION P at(const P *values, uint64 i) {
    return values[i];
}

/* Converts the four 32-bit words of a counter block to words of the distribution's number type. */
NUMBALITE_FUNCTION void split(const words &w, uint32 *x) {
    x[0] = w.a, x[1] = w.b, x[2] = w.c, x[3] = w.d;
}
NUMBALITE_FUNCTION void split(const words &w, uint64 *x) {
    x[0] = join_words(w.a, w.b), x[1] = join_words(w.c, w.d);
}

/* Computes the random words of one Philox block. If a distribution rejects a word, it requests
 * further blocks. */
struct source {
    uint64 key, low, high;

    NUMBALITE_FUNCTION words block() const {
        return philox::block(key, low, high);
    }
    /* Returns the block at the same position of another stream, which has a different key. */
    NUMBALITE_FUNCTION words other(uint64 attempt) const {
        return philox::block(key + attempt * 0x9e3779b97f4a7c15ull, low, high);
    }
};

/* The elements that a thread stores with one access. */
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) unit {
    T items[N];
};

template <class D, class T, class... P>
NUMBALITE_FUNCTION void fill_unit(T *items, uint64 k, uint64 n, uint64 key, uint64 low, uint64 high,
                                  P... p) {
    typedef typename D::word word;
    source from = {key, low + k, high + (low + k < k)};
    word x[16 / sizeof(word)];
    split(from.block(), x);
    D::make(from, x, items, k * (16 / sizeof(word)), n, p...);
}

template <class D, class T, class... P>
NUMBALITE_FUNCTION void fill(T *out, uint64 n, uint64 key, uint64 low, uint64 high, P... p) {
    typedef typename D::word word;
    constexpr int count = 16 / sizeof(word);
    typedef unit<T, count> together;
    bool aligned = (uintptr_t)out % alignof(together) == 0;
    uint64 units = (n + count - 1) / count, whole = aligned ? n / count : 0;
    uint64 step = (uint64)gridDim.x * blockDim.x;
    uint64 thread = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 2
    for (uint64 k = thread; k < whole; k += step) {
        together made;
        fill_unit<D>(made.items, k, n, key, low, high, p...);
        ((together *)out)[k] = made;
    }
    for (uint64 k = whole + thread; k < units; k += step) {
        T items[count];
        fill_unit<D>(items, k, n, key, low, high, p...);
#pragma unroll
        for (int j = 0; j < count; ++j) {
            if (k * count + j < n)
                out[k * count + j] = items[j];
        }
    }
}

/* A distribution whose numbers are computed independently by E::one(word, parameters). Past the end
 * of the array, the parameters of the last element are used. */
template <class R, class E> struct each {
    typedef typename real<R>::word word;
    template <class T, class... P>
    static NUMBALITE_FUNCTION void make(const source &, const word *x, T *out, uint64 first,
                                        uint64 n, P... p) {
#pragma unroll
        for (int j = 0; j < real<R>::per_block; ++j) {
            uint64 i = first + j < n ? first + j : n - 1;
            out[j] = (T)E::one(x[j], at(p, i)...);
        }
    }
};

template <class R> struct uniform : each<R, uniform<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x) {
        return real<R>::uniform(x);
    }
    static NUMBALITE_FUNCTION R one(word x, R low, R width) {
        return real<R>::fused(width, real<R>::uniform(x), low);
    }
};

/* A float16 has 11 bits of precision: a conversion from float would round some numbers below 1 to
 * 1. */
struct uniform_half : each<float, uniform_half> {
    static NUMBALITE_FUNCTION float one(uint32 x) {
        return (float)(x >> 21) * 4.8828125e-04f;
    }
};

template <class R> struct normal {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R scaled(R z) {
        return z;
    }
    static NUMBALITE_FUNCTION R scaled(R z, R loc, R scale) {
        return real<R>::fused(scale, z, loc);
    }
    template <class T, class... P>
    static NUMBALITE_FUNCTION void make(const source &, const word *x, T *out, uint64 first,
                                        uint64 n, P... p) {
#pragma unroll
        for (int j = 0; j < real<R>::per_block; j += 2) {
            R a, b;
            compute_normal_pair<R>(x[j], x[j + 1], a, b);
            uint64 i = first + j < n ? first + j : n - 1, next = i + 1 < n ? i + 1 : i;
            out[j] = (T)scaled(a, at(p, i)...);
            out[j + 1] = (T)scaled(b, at(p, next)...);
        }
    }
};

template <class R> struct lognormal {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION float power(float x) {
        return ::expf(x);
    }
    static NUMBALITE_FUNCTION double power(double x) {
        return ::exp(x);
    }
    template <class T, class... P>
    static NUMBALITE_FUNCTION void make(const source &from, const word *x, T *out, uint64 first,
                                        uint64 n, P... p) {
        R made[real<R>::per_block];
        normal<R>::make(from, x, made, first, n, p...);
#pragma unroll
        for (int j = 0; j < real<R>::per_block; ++j)
            out[j] = (T)power(made[j]);
    }
};

template <class R> struct exponential : each<R, exponential<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x) {
        return exponential_of<R>(x);
    }
    static NUMBALITE_FUNCTION R one(word x, R scale) {
        return scale * exponential_of<R>(x);
    }
};

/* The lowest bit of the word is the sign; the other bits determine an exponential number. */
template <class R> struct laplace : each<R, laplace<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R loc, R scale) {
        R e = exponential_of<R>((x & ~(word)1) | (x >> (8 * sizeof(word) - 1)));
        return real<R>::fused(x & 1 ? scale : -scale, e, loc);
    }
};

template <class R> struct gumbel : each<R, gumbel<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R loc, R scale) {
        return real<R>::fused(-scale, log_of<R>(exponential_of<R>(x)), loc);
    }
};

/* Computes log(u / (1 - u)) from the smaller of u and 1 - u. */
template <class R> struct logistic : each<R, logistic<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R loc, R scale) {
        bool upper = x >> (8 * sizeof(word) - 1);
        R v = real<R>::middle(upper ? (word)~x : x);
        R exponent, f;
        real<R>::split_rest(v, exponent, f);
        R size = real<R>::log_of(exponent, f) - log_of<R>(v);
        return real<R>::fused(upper ? scale : -scale, size, loc);
    }
};

template <class R> struct cauchy : each<R, cauchy<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x) {
        R sine, cosine;
        real<R>::turn(x, sine, cosine);
        return sine / cosine;
    }
};

template <class R> struct rayleigh : each<R, rayleigh<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R scale) {
        R e = exponential_of<R>(x);
        return scale * real<R>::near_root(e + e);
    }
};

/* The result is computed in double, because powers of floats near 0 and 1 would lose too much
 * precision. */
template <class R> struct weibull : each<R, weibull<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R a) {
        return a == 0 ? (R)0 : (R)::pow((double)exponential_of<R>(x), 1.0 / (double)a);
    }
};
template <class R> struct pareto : each<R, pareto<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R a) {
        return (R)::expm1((double)exponential_of<R>(x) / (double)a);
    }
};
template <class R> struct power : each<R, power<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R a) {
        return (R)::exp(-(double)exponential_of<R>(x) / (double)a);
    }
};

template <class R> struct triangular : each<R, triangular<R> > {
    typedef typename real<R>::word word;
    static NUMBALITE_FUNCTION R one(word x, R left, R mode, R right) {
        R base = right - left, rising = mode - left, u = real<R>::uniform(x);
        if (u * base <= rising)
            return real<R>::fused(real<R>::root(u * rising * base), 1, left);
        return right - real<R>::root((1 - u) * base * (right - mode));
    }
};

/* Draws a geometric number: the number of trials up to the first success. */
struct geometric : each<double, geometric> {
    static NUMBALITE_FUNCTION long long one(uint64 x, double p) {
        double trials = ::ceil(exponential_of<double>(x) / -::log1p(-p));
        return trials < 1.0 ? 1 : trials < 9.2e18 ? (long long)trials : 0x7fffffffffffffffll;
    }
};

/* Draws an integer from low to low + last, all equally likely, by Lemire's method, as in
 * philox4x32::below. */
template <class W> struct integers {
    typedef W word;
    static NUMBALITE_FUNCTION uint32 product(uint32 a, uint32 b, uint32 &low) {
        uint64 p = (uint64)a * b;
        low = (uint32)p;
        return (uint32)(p >> 32);
    }
    static NUMBALITE_FUNCTION uint64 product(uint64 a, uint64 b, uint64 &low) {
        low = a * b;
        return __umul64hi(a, b);
    }
    static NUMBALITE_FUNCTION W below(const source &from, W x, int lane, W n) {
        W low, high = product(x, n, low);
        if (low < n) {
            W excess = ((W)0 - n) % n;
            for (uint64 attempt = 1; low < excess; ++attempt) {
                W others[16 / sizeof(W)];
                split(from.other(attempt), others);
#pragma unroll
                for (int j = 0; j < (int)(16 / sizeof(W)); ++j)
                    x = j == lane ? others[j] : x;
                high = product(x, n, low);
            }
        }
        return high;
    }
    template <class T, class L, class N>
    static NUMBALITE_FUNCTION void make(const source &from, const W *x, T *out, uint64 first,
                                        uint64 n, L low, N last) {
#pragma unroll
        for (int j = 0; j < (int)(16 / sizeof(W)); ++j) {
            uint64 i = first + j < n ? first + j : n - 1;
            W count = (W)at(last, i) + 1;
            out[j] = (T)((uint64)at(low, i) + (count ? below(from, x[j], j, count) : x[j]));
        }
    }
};

} // namespace nl_random
} // namespace numbalite

template <class D, class T, class... P>
__global__ void __launch_bounds__(256)
    nl_random_fill(T *out, unsigned long long n, unsigned long long key, unsigned long long low,
                   unsigned long long high, P... p) {
    numbalite::nl_random::fill<D>(out, n, key, low, high, p...);
}

#endif
