/* moments: operations of reductions (reduce.cuh) whose results are not what is folded: means, variances, truths, sums
 * of what is made of each number (counts, norms), and the places of extremes. All of them commute. */
#ifndef NUMBALITE_MOMENTS_CUH
#define NUMBALITE_MOMENTS_CUH

#include "numbalite/complex.cuh"
#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

template <class W> struct part_of { typedef W type; };
template <class R> struct part_of<complex<R>> { typedef R type; };
template <class W> using real_of = typename part_of<W>::type;

/* NumPy's sums begin with 0: of -0.0 alone they are 0.0. */
template <class W> NUMBALITE_FUNCTION W from_0(const W &total) { return total + W(0); }

/* A sum of numbers of type W, divided at the end. */
template <class W> struct mean_of : operation_on<mean_of<W>, W> {
    typedef W value;
    static constexpr bool commutes = true;
    NUMBALITE_FUNCTION W operator()(const W &a, const W &b) const { return a + b; }
    template <class O> NUMBALITE_FUNCTION O result(const W &total, double divisor) const {
        return nl_convert<O>(from_0(total) / nl_convert<real_of<W>>(divisor));
    }
};

/* The number, the mean, and the sum of the squares of distances from it, of W. */
template <class W> struct __align__(16) moments {
    W mean;
    real_of<W> squares, count;
};

template <class R> NUMBALITE_FUNCTION R square_of(const R &x) { return x * x; }
template <class R> NUMBALITE_FUNCTION R square_of(const complex<R> &x) {
    return x.real() * x.real() + x.imag() * x.imag();
}

/* a / b up to a few units in the last place; b is a number of elements. */
NUMBALITE_FUNCTION float quick_quotient(float a, float b) { return __fdividef(a, b); }
NUMBALITE_FUNCTION double quick_quotient(double a, double b) {
    double inverse = (double)__fdividef(1.0f, (float)b);
    inverse = inverse * (2 - b * inverse); /* Newton's steps: 23 bits, 46, all */
    inverse = inverse * (2 - b * inverse);
    return a * inverse;
}

/* Variances in one pass: moments are combined as by Chan, Golub and LeVeque (1979), which loses nothing where the
 * mean is large. Neighbours that are loaded together are folded around their own mean. */
template <class W, bool IsRoot> struct variance_of : operation_on<variance_of<W, IsRoot>, moments<W>> {
    typedef moments<W> value;
    typedef real_of<W> real;
    static constexpr bool commutes = true;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        real count = a.count + b.count, part = quick_quotient(b.count, count);
        W apart = b.mean - a.mean;
        value both;
        both.mean = a.mean + apart * part;
        both.squares = a.squares + b.squares + square_of(apart) * (a.count * part);
        both.count = count;
        return both;
    }
    NUMBALITE_FUNCTION value even(const value &a, const value &b) const {
        W apart = b.mean - a.mean;
        value both;
        both.mean = a.mean + apart * real(0.5);
        both.squares = a.squares + b.squares + square_of(apart) * (a.count * real(0.5));
        both.count = a.count + b.count;
        return both;
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64) const {
        value one;
        one.mean = nl_convert<W>(x);
        one.squares = square_of(one.mean - one.mean); /* NaN of what is not finite */
        one.count = real(1);
        return one;
    }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class S, int N> NUMBALITE_FUNCTION value from(const S (&x)[N], int64) const {
        W item[N], sum = nl_convert<W>(x[0]);
        item[0] = sum;
#pragma unroll
        for (int k = 1; k < N; ++k)
            sum = sum + (item[k] = nl_convert<W>(x[k]));
        value all;
        all.mean = sum * (real(1) / real(N));
        all.squares = real(0);
        all.count = real(N);
#pragma unroll
        for (int k = 0; k < N; ++k)
            all.squares = all.squares + square_of(item[k] - all.mean);
        return all;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double divisor) const {
        if constexpr (nl_detail::is_same_type<O, value>::value) {
            return total; /* a part */
        } else {
            real variance = total.squares / nl_convert<real>(divisor);
            return nl_convert<O>(IsRoot ? ::sqrt(variance) : variance);
        }
    }
};

/* ---- truths ---- */

/* Is any number true, which is not 0, or are all? */
template <bool IsAll> struct truth_of : operation_on<truth_of<IsAll>, bool> {
    typedef bool value;
    static constexpr bool commutes = true;
    NUMBALITE_FUNCTION bool operator()(bool a, bool b) const { return IsAll ? a & b : a | b; }
};

/* ---- sums of what is made of each number ---- */

template <class S> NUMBALITE_FUNCTION bool is_nan(const S &x) { return x != x; }
template <class R> NUMBALITE_FUNCTION bool is_nan(const complex<R> &x) {
    return x.real() != x.real() || x.imag() != x.imag();
}

/* A number as it is folded, unlike one that is read. */
template <class R> struct folded {
    R number;
};

/* Each::of a number of type W is an R; of the sum of all Each::end makes the result. */
template <class W, class R, class Each>
struct sum_of_each : operation_on<sum_of_each<W, R, Each>, folded<R>> {
    typedef folded<R> value;
    typedef operation_on<sum_of_each, value> base;
    static constexpr bool commutes = true;
    using base::from;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        return value{a.number + b.number};
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64) const {
        return value{Each::of(nl_convert<W>(x))};
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double) const {
        if constexpr (nl_detail::is_same_type<O, value>::value)
            return total; /* a part */
        else
            return nl_convert<O>(Each::end(total.number));
    }
};

template <class W> struct squared {
    static NUMBALITE_FUNCTION real_of<W> of(const W &x) { return square_of(x); }
    static NUMBALITE_FUNCTION real_of<W> end(const real_of<W> &total) { return ::sqrt(total); }
};
template <class W> using norm_of = sum_of_each<W, real_of<W>, squared<W>>;

/* How many numbers are true. */
struct one_if_true {
    static NUMBALITE_FUNCTION int64 of(bool x) { return x; }
    static NUMBALITE_FUNCTION int64 end(int64 total) { return total; }
};
using count_of = sum_of_each<bool, int64, one_if_true>;

/* NaN counts as 0. */
template <class W> struct number_or_0 {
    static NUMBALITE_FUNCTION W of(const W &x) { return is_nan(x) ? W() : x; }
    static NUMBALITE_FUNCTION W end(const W &total) { return from_0(total); }
};
template <class W> using nan_sum_of = sum_of_each<W, W, number_or_0<W>>;

/* ---- extremes and their places ---- */

template <class S> NUMBALITE_FUNCTION bool is_below(const S &x, const S &y) { return x < y; }
template <class R> NUMBALITE_FUNCTION bool is_below(const complex<R> &x, const complex<R> &y) {
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

/* The smallest and the largest number, both NaN if there is one. */
template <class S> struct limits { S low, high; };
template <class S> struct limits_of : operation_on<limits_of<S>, limits<S>> {
    typedef limits<S> value;
    typedef operation_on<limits_of, value> base;
    static constexpr bool commutes = true;
    using base::from;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        value both;
        both.low = a.low < b.low || is_nan(a.low) ? a.low : b.low;
        both.high = a.high > b.high || is_nan(a.high) ? a.high : b.high;
        return both;
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class In> NUMBALITE_FUNCTION value from(const In &x, int64) const {
        value one;
        one.low = one.high = nl_convert<S>(x);
        return one;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &found, double) const {
        return found;
    }
};

template <class S> struct __align__(16) placed {
    S number;
    int64 place;
};

/* The first of the largest numbers, or the smallest; of NaNs if there are any, or if they do not count -1 where
 * there is nothing else. */
template <class S, bool IsLargest, bool NansCount>
struct extreme_place : operation_on<extreme_place<S, IsLargest, NansCount>, placed<S>> {
    typedef placed<S> value;
    static constexpr bool commutes = true;

    static NUMBALITE_FUNCTION bool is_before(const S &x, const S &y) {
        if constexpr (nl_detail::cast_kind_of<S>::value == nl_detail::complex_kind) {
            if (NansCount ? is_nan(x) : is_nan(y))
                return is_nan(x) != is_nan(y);
            return IsLargest ? is_below(y, x) : is_below(x, y);
        } else { /* not the other way round or equal, which is true of NaN, too */
            return !(IsLargest ? x <= y : x >= y) && !is_nan(NansCount ? y : x);
        }
    }
    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        bool of_b = is_before(b.number, a.number) |
                    ((b.place < a.place) & !is_before(a.number, b.number));
        return of_b ? b : a;
    }
    NUMBALITE_FUNCTION value even(const value &a, const value &b) const {
        return is_before(b.number, a.number) ? b : a; /* b's places come later */
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class In> NUMBALITE_FUNCTION value from(const In &x, int64 i) const {
        value one;
        one.number = nl_convert<S>(x);
        one.place = i;
        return one;
    }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class In, int N> NUMBALITE_FUNCTION value from(const In (&x)[N], int64 i) const {
        value first;
        first.number = nl_convert<S>(x[0]);
        int at = 0;
#pragma unroll
        for (int k = 1; k < N; ++k) {
            S next = nl_convert<S>(x[k]);
            bool later = is_before(next, first.number);
            first.number = later ? next : first.number;
            at = later ? k : at;
        }
        first.place = i + at;
        return first;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &found, double) const {
        if constexpr (nl_detail::is_same_type<O, value>::value)
            return found; /* a part */
        else
            return nl_convert<O>(!NansCount && is_nan(found.number) ? (int64)-1 : found.place);
    }
};

} // namespace nl_reduce
} // namespace numbalite

#endif
