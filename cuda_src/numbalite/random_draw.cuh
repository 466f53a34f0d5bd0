/* random_draw: draws from distributions that need a varying number of random words.
 *
 * Element i uses the blocks of random words from index RUN * i on; RUN blocks are always enough for
 * one element. All values are computed in double, also for float32 results, because acceptance
 * tests subtract large numbers. The methods are, for gamma:
 * Marsaglia and Tsang 2000. Poisson and binomial: Hörmann 1993 (transformed rejection, PTRS and
 * BTRS). Hypergeometric: Stadlober 1990. Von Mises: Best and Fisher 1979. Zipf: Devroye 1986.
 * Logarithmic: Kemp 1981. Wald: Michael, Schucany and Haas 1976. */
#ifndef NUMBALITE_RANDOM_DRAW_CUH
#define NUMBALITE_RANDOM_DRAW_CUH

#include "numbalite/random_fill.cuh"

namespace numbalite {
namespace nl_random {

enum { RUN = 256 }; /* blocks; must match kernels.py */

/* Functions with many callers are not inlined: inlining them in the larger distributions would take
 * seconds of compile time. */
static __device__ __noinline__ words noinline_philox_block(uint64 key, uint64 low, uint64 high) {
    return philox::block(key, low, high);
}
static __device__ __noinline__ double noinline_normal(uint64 x, uint64 y) {
    double a, b;
    compute_normal_pair<double>(x, y, a, b);
    return a;
}
static __device__ __noinline__ double noinline_exponential(uint64 x) {
    return exponential_of<double>(x);
}

/* The source of the random words of one element. */
class stream {
  public:
    NUMBALITE_FUNCTION stream(uint64 key, uint64 low, uint64 high)
        : key_(key), low_(low), high_(high), other_(0), has_other_(false) {
    }
    NUMBALITE_FUNCTION uint64 bits() {
        if (has_other_) {
            has_other_ = false;
            return other_;
        }
        words w = noinline_philox_block(key_, low_, high_);
        high_ += ++low_ == 0;
        other_ = join_words(w.c, w.d);
        has_other_ = true;
        return join_words(w.a, w.b);
    }
    NUMBALITE_FUNCTION double uniform() {
        return real<double>::uniform(bits());
    }
    NUMBALITE_FUNCTION double normal() {
        uint64 x = bits();
        return noinline_normal(x, bits());
    }
    NUMBALITE_FUNCTION double exponential() {
        return noinline_exponential(bits());
    }

  private:
    uint64 key_, low_, high_, other_;
    bool has_other_;
};

/* Draws gamma-distributed numbers for shape >= 1 and scale 1. */
static __device__ __noinline__ double draw_gamma(stream &rng, double shape) {
    double d = shape - 1.0 / 3.0, c = 1.0 / ::sqrt(9.0 * d);
    for (;;) {
        double x, v;
        do {
            x = rng.normal();
            v = ::fma(c, x, 1.0);
        } while (v <= 0.0);
        v = v * v * v;
        double u = rng.uniform();
        if (u < ::fma(-0.0331 * (x * x), x * x, 1.0) ||
            ::log(u) < ::fma(0.5 * x, x, d * (1.0 - v + ::log(v))))
            return d * v;
    }
}

struct gamma {
    static NUMBALITE_FUNCTION double make(stream &rng, double shape) {
        if (shape == 0.0)
            return 0.0;
        if (shape >= 1.0)
            return draw_gamma(rng, shape);
        double part = ::exp(-rng.exponential() / shape);
        return part * draw_gamma(rng, shape + 1.0);
    }
    static NUMBALITE_FUNCTION double make(stream &rng, double shape, double scale) {
        return scale * make(rng, shape);
    }
};

/* Returns the logarithm of a gamma number: for small shapes, the number itself may underflow. */
static __device__ __noinline__ double log_gamma(stream &rng, double shape) {
    if (shape >= 1.0)
        return ::log(draw_gamma(rng, shape));
    double part = -rng.exponential() / shape;
    return part + ::log(draw_gamma(rng, shape + 1.0));
}

struct beta {
    static NUMBALITE_FUNCTION double make(stream &rng, double a, double b) {
        double first = log_gamma(rng, a);
        return 1.0 / (1.0 + ::exp(log_gamma(rng, b) - first));
    }
};

struct chisquare {
    static NUMBALITE_FUNCTION double make(stream &rng, double df) {
        return 2.0 * gamma::make(rng, 0.5 * df);
    }
};

struct f {
    static NUMBALITE_FUNCTION double make(stream &rng, double dfnum, double dfden) {
        double above = chisquare::make(rng, dfnum) * dfden;
        return above / (chisquare::make(rng, dfden) * dfnum);
    }
};

struct standard_t {
    static NUMBALITE_FUNCTION double make(stream &rng, double df) {
        double z = rng.normal();
        return z * ::sqrt(0.5 * df / gamma::make(rng, 0.5 * df));
    }
};

struct poisson {
    static NUMBALITE_FUNCTION long long small(stream &rng, double lam) {
        double end = ::exp(-lam), product = rng.uniform();
        long long k = 0;
        for (; product > end; ++k)
            product *= rng.uniform();
        return k;
    }
    static __device__ __noinline__ long long make(stream &rng, double lam) {
        if (lam < 10.0)
            return lam == 0.0 ? 0 : small(rng, lam);
        if (!(lam < 9.2e18)) /* of a negative binomial distribution */
            return 0x7fffffffffffffffll;
        double b = ::fma(2.53, ::sqrt(lam), 0.931), a = ::fma(0.02483, b, -0.059);
        double inverse = 1.1239 + 1.1328 / (b - 3.4), inside = 0.9277 - 3.6224 / (b - 2.0);
        for (;;) {
            double u = rng.uniform() - 0.5, v = rng.uniform();
            double us = 0.5 - ::fabs(u), k = ::floor(::fma(2.0 * a / us + b, u, lam + 0.43));
            if (us >= 0.07 && v <= inside)
                return (long long)k;
            if (k < 0.0 || (us < 0.013 && v > us))
                continue;
            if (::log(v * inverse / (a / (us * us) + b)) <=
                ::fma(k, ::log(lam), -lam) - ::lgamma(k + 1.0))
                return (long long)k;
        }
    }
};

struct noncentral_chisquare {
    static NUMBALITE_FUNCTION double make(stream &rng, double df, double nonc) {
        if (df > 1.0) {
            double z = rng.normal() + ::sqrt(nonc);
            return ::fma(z, z, chisquare::make(rng, df - 1.0));
        }
        return chisquare::make(rng, ::fma(2.0, (double)poisson::make(rng, 0.5 * nonc), df));
    }
};

struct noncentral_f {
    static NUMBALITE_FUNCTION double make(stream &rng, double dfnum, double dfden,
                                          double nonc) {
        double above = noncentral_chisquare::make(rng, dfnum, nonc) * dfden;
        return above / (chisquare::make(rng, dfden) * dfnum);
    }
};

struct binomial {
    /* Returns log(k!) minus the first terms of Stirling's series. */
    static NUMBALITE_FUNCTION double correction(double k) {
        if (k < 10.0)
            return ::lgamma(k + 1.0) -
                   (::fma(k + 0.5, ::log(k + 1.0), 0.9189385332046728) - (k + 1.0));
        double x = k + 1.0, s = x * x;
        return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / s) / s) / x;
    }
    /* Draws a binomial number by counting successes: draws the number of trials between two
     * successes. */
    static NUMBALITE_FUNCTION long long waiting(stream &rng, double n, double p) {
        double rate = -::log1p(-p), trials = 0.0;
        for (long long k = 0;; ++k) {
            trials += ::floor(rng.exponential() / rate) + 1.0;
            if (!(trials <= n))
                return k;
        }
    }
    static NUMBALITE_FUNCTION long long at_most_half(stream &rng, double n, double p) {
        if (n * p < 10.0)
            return p > 0.0 ? waiting(rng, n, p) : 0;
        double deviation = ::sqrt(n * p * (1.0 - p)), odds = p / (1.0 - p);
        double b = ::fma(2.53, deviation, 1.15), a = ::fma(0.0248, b, ::fma(0.01, p, -0.0873));
        double inside = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
        double mode = ::floor((n + 1.0) * p);
        for (;;) {
            double u = rng.uniform() - 0.5, v = rng.uniform();
            double us = 0.5 - ::fabs(u), k = ::floor(::fma(2.0 * a / us + b, u, ::fma(n, p, 0.5)));
            if (us >= 0.07 && v <= inside)
                return (long long)k;
            if (k < 0.0 || k > n)
                continue;
            double bound = (mode + 0.5) * ::log((mode + 1.0) / (odds * (n - mode + 1.0)));
            bound = ::fma(n + 1.0, ::log((n - mode + 1.0) / (n - k + 1.0)), bound);
            bound = ::fma(k + 0.5, ::log(odds * (n - k + 1.0) / (k + 1.0)), bound);
            bound += correction(mode) + correction(n - mode) - correction(k) - correction(n - k);
            if (::log(v * alpha / (a / (us * us) + b)) <= bound)
                return (long long)k;
        }
    }
    static NUMBALITE_FUNCTION long long make(stream &rng, long long n, double p) {
        if (p <= 0.5)
            return at_most_half(rng, (double)n, p);
        return n - at_most_half(rng, (double)n, 1.0 - p);
    }
};

struct negative_binomial {
    static NUMBALITE_FUNCTION long long make(stream &rng, double n, double p) {
        return poisson::make(rng, gamma::make(rng, n) * ((1.0 - p) / p));
    }
};

struct wald {
    static NUMBALITE_FUNCTION double make(stream &rng, double mean, double scale) {
        double z = rng.normal(), w = z * z * mean / (2.0 * scale);
        double x = 1.0 / (1.0 + w + ::sqrt(w * (w + 2.0))); /* of the mean */
        return rng.uniform() <= 1.0 / (1.0 + x) ? mean * x : mean / x;
    }
};

struct vonmises {
    static NUMBALITE_FUNCTION double make(stream &rng, double mu, double kappa) {
        const double pi = 3.141592653589793;
        double angle;
        if (kappa < 1e-8) {
            angle = pi * ::fma(2.0, rng.uniform(), -1.0);
        } else if (kappa > 1e6) {
            angle = rng.normal() / ::sqrt(kappa);
        } else {
            double s;
            if (kappa < 1e-5) {
                s = 1.0 / kappa + kappa;
            } else {
                double r = 1.0 + ::sqrt(::fma(4.0 * kappa, kappa, 1.0));
                double rho = (r - ::sqrt(2.0 * r)) / (2.0 * kappa);
                s = ::fma(rho, rho, 1.0) / (2.0 * rho);
            }
            double w, y, v;
            do {
                double z = ::cos(pi * rng.uniform());
                w = ::fma(s, z, 1.0) / (s + z);
                y = kappa * (s - w);
                v = rng.uniform();
            } while (y * (2.0 - y) < v && ::log(y / v) + 1.0 - y < 0.0);
            angle = ::acos(w < -1.0 ? -1.0 : w > 1.0 ? 1.0 : w);
            angle = rng.uniform() < 0.5 ? -angle : angle;
        }
        return ::remainder(angle + mu, 2.0 * pi);
    }
};

struct zipf {
    static NUMBALITE_FUNCTION long long make(stream &rng, double a) {
        if (a >= 1025.0)
            return 1;
        const double largest = 9.2e18;
        double less = a - 1.0, b = ::pow(2.0, less), lowest = ::pow(largest, -less);
        for (;;) {
            double part = rng.uniform(), u = ::fma(part, lowest, 1.0 - part);
            double v = rng.uniform(), x = ::floor(::pow(u, -1.0 / less));
            if (!(x >= 1.0 && x <= largest))
                continue;
            double t = ::pow(1.0 + 1.0 / x, less);
            if (v * x * (t - 1.0) / (b - 1.0) <= t / b)
                return (long long)x;
        }
    }
};

struct logseries {
    static NUMBALITE_FUNCTION long long make(stream &rng, double p) {
        double rate = ::log1p(-p);
        for (;;) {
            double v = rng.uniform();
            if (v >= p)
                return 1;
            double q = -::expm1(rate * rng.uniform());
            if (v > q)
                return 1;
            if (v > q * q)
                return 2;
            double k = ::floor(1.0 + ::log(v) / ::log(q));
            if (k >= 1.0 && v > 0.0)
                return k < 9.2e18 ? (long long)k : 0x7fffffffffffffffll;
        }
    }
};

struct hypergeometric {
    /* One after the other. */
    static NUMBALITE_FUNCTION long long few(stream &rng, long long good, long long bad,
                                            long long sample) {
        long long total = good + bad, taken = sample <= total / 2 ? sample : total - sample;
        double left = (double)good, all = (double)total;
        for (long long k = 0; k < taken && left > 0.0; ++k, all -= 1.0)
            left -= rng.uniform() * all < left ? 1.0 : 0.0;
        return taken == sample ? good - (long long)left : (long long)left;
    }
    static NUMBALITE_FUNCTION double factorials(double a, double b, double c, double d) {
        return ::lgamma(a + 1.0) + ::lgamma(b + 1.0) + ::lgamma(c + 1.0) + ::lgamma(d + 1.0);
    }
    static NUMBALITE_FUNCTION long long make(stream &rng, long long good, long long bad,
                                             long long sample) {
        double total = (double)good + (double)bad;
        double taken = (double)sample, rest = total - taken;
        taken = taken < rest ? taken : rest;
        if (taken < 10.0)
            return few(rng, good, bad, sample);
        double less = (double)(good < bad ? good : bad), more = total - less;
        double p = less / total, a = ::fma(taken, p, 0.5);
        double c = ::sqrt((total - taken) * taken * p * (1.0 - p) / (total - 1.0) + 0.5);
        double h = ::fma(1.7155277699214135, c, 0.8989161620588988);
        double mode = ::floor((taken + 1.0) * (less + 1.0) / (total + 2.0));
        double g = factorials(mode, less - mode, taken - mode, more - taken + mode);
        double most = (taken < less ? taken : less) + 1.0, far = ::floor(::fma(16.0, c, a));
        most = most < far ? most : far;
        double k;
        for (;;) {
            double u = 1.0 - rng.uniform(), v = rng.uniform();
            double x = a + h * (v - 0.5) / u;
            if (x < 0.0 || x >= most)
                continue;
            k = ::floor(x);
            double t = g - factorials(k, less - k, taken - k, more - taken + k);
            if (u * (4.0 - u) - 3.0 <= t)
                break;
            if (u * (u - t) < 1.0 && 2.0 * ::log(u) <= t)
                break;
        }
        k = good > bad ? taken - k : k;
        return taken < (double)sample ? good - (long long)k : (long long)k;
    }
};

template <class D, class T, class... P>
NUMBALITE_FUNCTION void draw(T *out, uint64 n, uint64 key, uint64 low, uint64 high, P... p) {
    uint64 step = (uint64)gridDim.x * blockDim.x;
    for (uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint64 first = low + RUN * i;
        stream rng(key, first, high + (first < low));
        out[i] = (T)D::make(rng, at(p, i)...);
    }
}

} // namespace nl_random
} // namespace numbalite

template <class D, class T, class... P>
__global__ void __launch_bounds__(256)
    nl_random_draw(T *out, unsigned long long n, unsigned long long key, unsigned long long low,
                   unsigned long long high, P... p) {
    numbalite::nl_random::draw<D>(out, n, key, low, high, p...);
}

#endif
