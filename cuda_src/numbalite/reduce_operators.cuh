/* reduce_operators: reduction operators (reduce.cuh) with an accumulator type of their own: mean,
 * variance, any, all, counts, norms, minimum and maximum, argmin, argmax. All of these operators
 * are commutative. */
#ifndef NUMBALITE_REDUCE_OPERATORS_CUH
#define NUMBALITE_REDUCE_OPERATORS_CUH

#include "numbalite/complex.cuh"
#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

template <class W> struct part_of { typedef W type; };
template <class R> struct part_of<complex<R>> { typedef R type; };
template <class W> using real_of = typename part_of<W>::type;

template <class S> NUMBALITE_FUNCTION bool is_nan(const S &x) { return x != x; }
template <class R> NUMBALITE_FUNCTION bool is_nan(const complex<R> &x) {
    return x.real() != x.real() || x.imag() != x.imag();
}

/* ---- Sums that are rounded once ----
 *
 * Sums of W are computed in an accumulator. If the device computes in a type of twice the precision
 * as fast as it reads memory, the accumulator has this type. Otherwise the accumulator consists of
 * two numbers, where the second contains the rounding errors of the first (Knuth's two-sum, 1969).
 * With such accumulators, a sum of any length is as accurate as one rounding, unless nearly all
 * terms cancel. */

template <class W> struct two_part {
    W high, low;
};

template <class W> NUMBALITE_FUNCTION two_part<W> sum_of_two(const W &a, const W &b) {
    two_part<W> made;
    made.high = a + b;
    const W of_b = made.high - a;
    made.low = (a - (made.high - of_b)) + (b - of_b);
    return made;
}
template <class W> NUMBALITE_FUNCTION two_part<W> operator+(const two_part<W> &a, const two_part<W> &b) {
    two_part<W> made = sum_of_two(a.high, b.high);
    made.low = made.low + (a.low + b.low);
    return made;
}

/* The accumulator type for sums of W. The first case is for compute capabilities with one
 * double-precision unit for every two single-precision units. */
#if defined(NUMBALITE_SIM) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 600 || __CUDA_ARCH__ == 700 || \
    __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
template <class W> struct accurate_of;
template <> struct accurate_of<float> { typedef double type; };
template <> struct accurate_of<complex<float>> { typedef complex<double> type; };
#else
template <class W> struct accurate_of;
template <> struct accurate_of<float> { typedef two_part<float> type; };
template <> struct accurate_of<complex<float>> { typedef two_part<complex<float>> type; };
#endif
template <> struct accurate_of<double> { typedef two_part<double> type; };
template <> struct accurate_of<complex<double>> { typedef two_part<complex<double>> type; };
template <class W> using accurate = typename accurate_of<W>::type;

/* Whether the accumulator is a single number, not a two_part. */
template <class A> struct is_number { static constexpr bool value = true; };
template <class W> struct is_number<two_part<W>> { static constexpr bool value = false; };

/* Converts a number to an accumulator. */
template <class A> struct into {
    template <class S> static NUMBALITE_FUNCTION A of(const S &x) { return nl_convert<A>(x); }
    static NUMBALITE_FUNCTION A of(const A &x) { return x; }
};
template <class W> struct into<two_part<W>> {
    template <class S> static NUMBALITE_FUNCTION two_part<W> of(const S &x) {
        two_part<W> made;
        made.high = nl_convert<W>(x);
        made.low = W(0);
        return made;
    }
    static NUMBALITE_FUNCTION two_part<W> of(const two_part<W> &x) { return x; }
};

/* Returns the sum of both parts of a two_part, or only `high` if the sum is NaN or `low` is 0. */
template <class R> NUMBALITE_FUNCTION R joined(const R &high, const R &low) {
    const R both = high + low;
    return both != both || low == R(0) ? high : both;
}
template <class R> NUMBALITE_FUNCTION complex<R> joined(const complex<R> &high, const complex<R> &low) {
    return complex<R>(joined(high.real(), low.real()), joined(high.imag(), low.imag()));
}
template <class A> NUMBALITE_FUNCTION A number_in(const A &a) { return a; }
template <class W> NUMBALITE_FUNCTION W number_in(const two_part<W> &a) { return joined(a.high, a.low); }

/* Computes a / b, accurate to a few units in the last place; b is a number of elements. */
NUMBALITE_FUNCTION float fast_quotient(float a, float b) {
    return __fdividef(a, b);
}
NUMBALITE_FUNCTION double fast_quotient(double a, double b) {
    double inverse = (double)__fdividef(1.0f, (float)b);
    inverse = inverse * (2 - b * inverse); /* Newton's method: 23 correct bits, then 46, then all */
    inverse = inverse * (2 - b * inverse);
    return a * inverse;
}

/* The functions below compute quotients and square roots with a single rounding. A division is
 * slower than a multiplication by an inverse, so fast_quotient estimates the quotient, and the
 * remainder corrects its error. */
template <class R> NUMBALITE_FUNCTION R quotient_of(const R &high, const R &low, const R &divisor) {
    if (!(divisor > R(0)))
        return high / divisor;
    const R quotient = fast_quotient(high, divisor);
    const R rest = ::fma(-quotient, divisor, high) + low;
    return joined(quotient, fast_quotient(rest, divisor));
}
template <class R>
NUMBALITE_FUNCTION complex<R> quotient_of(const complex<R> &high, const complex<R> &low, const R &divisor) {
    return complex<R>(quotient_of(high.real(), low.real(), divisor),
                      quotient_of(high.imag(), low.imag(), divisor));
}
template <class A> NUMBALITE_FUNCTION A quotient_in(const A &a, double divisor) {
    return a / nl_convert<real_of<A>>(divisor);
}
template <class W> NUMBALITE_FUNCTION W quotient_in(const two_part<W> &a, double divisor) {
    return quotient_of(a.high, a.low, nl_convert<real_of<W>>(divisor));
}
template <class A> NUMBALITE_FUNCTION A square_root(const A &a) { return ::sqrt(a); }
NUMBALITE_FUNCTION double square_root(const int64 &a) { return ::sqrt((double)a); }
template <class R> NUMBALITE_FUNCTION R square_root(const two_part<R> &a) {
    const R root = ::sqrt(joined(a.high, a.low));
    const R rest = ::fma(-root, root, a.high) + a.low;
    return root > R(0) ? joined(root, rest / (root + root)) : root;
}

/* The operator of a sum of W; the initial value in the plan has the type W. */
template <class W, class A> struct sum_of : operation_on<sum_of<W, A>, A> {
    typedef A value;
    typedef operation_on<sum_of, value> base;
    static constexpr bool commutes = true;
    using base::from;

    NUMBALITE_FUNCTION A operator()(const A &a, const A &b) const { return a + b; }
    NUMBALITE_FUNCTION A from(const A &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION A from(const S &x, int64) const {
        return into<A>::of(nl_convert<W>(x));
    }
    NUMBALITE_FUNCTION A first(const void *bytes) const {
        W number;
        memcpy(&number, bytes, sizeof(W));
        return into<A>::of(number);
    }
    template <class O> NUMBALITE_FUNCTION O result(const A &total, double) const {
        if constexpr (nl_detail::is_same_type<O, A>::value)
            return total; /* the result is that of a part, or the accumulator has the result type */
        else
            return nl_convert<O>(number_in(total));
    }
};

/* Returns a product that is rounded before it is used in a sum. Without this rounding, compilers
 * contract a product and a sum to one fma, and the error term would belong to a different
 * product. */
NUMBALITE_FUNCTION float rounded_product(float a, float b) {
    return __fmul_rn(a, b);
}
NUMBALITE_FUNCTION double rounded_product(double a, double b) {
    return __dmul_rn(a, b);
}

/* Products in accumulators, for the reduction operator prod. */
template <class A> NUMBALITE_FUNCTION A product_of(const A &a, const A &b) { return a * b; }
template <class R> NUMBALITE_FUNCTION two_part<R> product_of(const two_part<R> &a, const two_part<R> &b) {
    two_part<R> made;
    made.high = rounded_product(a.high, b.high);
    made.low = ::fma(a.high, b.high, -made.high) + (a.high * b.low + a.low * b.high);
    return made;
}
template <class R>
NUMBALITE_FUNCTION two_part<complex<R>> product_of(const two_part<complex<R>> &a, const two_part<complex<R>> &b) {
    const two_part<R> a_re = {a.high.real(), a.low.real()}, a_im = {a.high.imag(), a.low.imag()};
    const two_part<R> b_re = {b.high.real(), b.low.real()}, b_im = {b.high.imag(), b.low.imag()};
    const two_part<R> minus = {-a_im.high, -a_im.low};
    const two_part<R> re = product_of(a_re, b_re) + product_of(minus, b_im);
    const two_part<R> im = product_of(a_re, b_im) + product_of(a_im, b_re);
    two_part<complex<R>> made;
    made.high = complex<R>(re.high, im.high);
    made.low = complex<R>(re.low, im.low);
    return made;
}
template <class W, class A> struct prod_of : sum_of<W, A> {
    typedef A value;
    NUMBALITE_FUNCTION A operator()(const A &a, const A &b) const { return product_of(a, b); }
    NUMBALITE_FUNCTION A even(const A &a, const A &b) const { return product_of(a, b); }
    using sum_of<W, A>::from;
    template <class S, int N> NUMBALITE_FUNCTION A from(const S (&x)[N], int64 i) const {
        A all = this->from(x[0], i);
#pragma unroll
        for (int k = 1; k < N; ++k)
            all = product_of(all, this->from(x[k], i + k));
        return all;
    }
};

/* Adds 0 to a total, because NumPy's sums start at 0: the sum of -0.0 alone is 0.0. */
template <class W> NUMBALITE_FUNCTION W from_0(const W &total) { return total + W(0); }

/* The operator of a mean: a sum of W that is divided by the plan's divisor at the end. */
template <class W, class A> struct mean_of : operation_on<mean_of<W, A>, A> {
    typedef A value;
    typedef operation_on<mean_of, value> base;
    static constexpr bool commutes = true;
    using base::from;

    NUMBALITE_FUNCTION A operator()(const A &a, const A &b) const { return a + b; }
    template <class S> NUMBALITE_FUNCTION A from(const S &x, int64) const {
        return into<A>::of(nl_convert<W>(x));
    }
    NUMBALITE_FUNCTION A from(const A &x, int64) const { return x; }
    template <class O> NUMBALITE_FUNCTION O result(const A &total, double divisor) const {
        if constexpr (nl_detail::is_same_type<O, A>::value && !is_number<A>::value)
            return total; /* a part */
        else
            return nl_convert<O>(from_0(quotient_in(total, divisor)));
    }
};

/* ---- variances ---- */

template <class R> NUMBALITE_FUNCTION R square_of(const R &x) { return x * x; }
template <class R> NUMBALITE_FUNCTION R square_of(const complex<R> &x) {
    return x.real() * x.real() + x.imag() * x.imag();
}
template <class R> NUMBALITE_FUNCTION R real_product(const R &x, const R &y) { return x * y; }
template <class R> NUMBALITE_FUNCTION R real_product(const complex<R> &x, const complex<R> &y) {
    return x.real() * y.real() + x.imag() * y.imag();
}

/* The accumulator of a variance: the number of elements (count), one of the elements (shift), and
 * the sums of the differences from `shift` and of their squares. */
template <class W> struct __align__(16) shifted_sums {
    W shift, sum;
    real_of<W> squares, count;
};

/* Computes variances in one pass, by sums in W, which has twice the precision of the result. The
 * result is computed from the sum of squares minus the square of the sum, which loses a factor of
 * up to `count` in precision if the shift is an outlier. */
template <class W, bool IsRoot>
struct shifted_variance : operation_on<shifted_variance<W, IsRoot>, shifted_sums<W>> {
    typedef shifted_sums<W> value;
    typedef real_of<W> real;
    static constexpr bool commutes = true, in_chunks = true, extends = true;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        const W apart = b.shift - a.shift;
        value both;
        both.shift = a.shift;
        both.count = a.count + b.count;
        both.sum = a.sum + (b.sum + apart * b.count);
        both.squares =
            a.squares + (b.squares + real_product<real>(apart, b.sum + b.sum + apart * b.count));
        return both;
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64) const {
        value one = start(x);
        one.sum = one.shift - one.shift; /* NaN, if x is infinite or NaN */
        one.count = real(1);
        return one;
    }
    template <class S, int N> NUMBALITE_FUNCTION value from(const S (&x)[N], int64) const {
        value all = start(x[0]);
        extend(all, x);
        return all;
    }
    template <class S> NUMBALITE_FUNCTION value start(const S &x) const {
        value none = {};
        none.shift = nl_convert<W>(x);
        return none;
    }
    template <class S, int N> NUMBALITE_FUNCTION void extend(value &total, const S (&x)[N]) const {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W item = nl_convert<W>(x[k]) - total.shift;
            total.sum = total.sum + item;
            total.squares = total.squares + square_of(item);
        }
        total.count += real(N);
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double divisor) const {
        if constexpr (nl_detail::is_same_type<O, value>::value) {
            return total; /* a part */
        } else {
            const real squares = total.squares - square_of(total.sum) / total.count;
            const real variance =
                (squares < real(0) ? real(0) : squares) / nl_convert<real>(divisor);
            return nl_convert<O>(IsRoot ? ::sqrt(variance) : variance);
        }
    }
};

/* The moments of some elements: their number (count), their mean, and the sum of the squared
 * differences from the mean; `rest` and `lost` are the rounding errors of the mean and of that
 * sum. */
template <class W> struct __align__(16) moments {
    W mean, rest;
    real_of<W> squares, lost, count;
};

/* Computes variances in one pass, if no type has more precision than the result. Moments are
 * combined with the formula of Chan, Golub and LeVeque (1979), which stays accurate if the mean is
 * large. Neighbouring elements that are loaded together are reduced around their own mean, as
 * differences from the first element. */
template <class W, bool IsRoot>
struct variance_of : operation_on<variance_of<W, IsRoot>, moments<W>> {
    typedef moments<W> value;
    typedef real_of<W> real;
    static constexpr bool commutes = true, in_chunks = true;

    /* Returns the moments of all elements of a and b; `part` is the fraction of the elements that
     * belong to b. */
    NUMBALITE_FUNCTION value both_of(const value &a, const value &b, real part) const {
        const W apart = (b.mean - a.mean) + (b.rest - a.rest);
        const two_part<W> mean = sum_of_two<W>(a.mean, a.rest + apart * part);
        const two_part<real> sum =
            sum_of_two<real>(a.squares, b.squares + square_of(apart) * (a.count * part));
        value both;
        both.count = a.count + b.count;
        both.mean = mean.high;
        both.rest = mean.low;
        both.squares = sum.high;
        both.lost = (a.lost + b.lost) + sum.low;
        return both;
    }
    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        const real count = a.count + b.count;
        const real part = fast_quotient(b.count, count);
        return both_of(a, b,
                       ::fma(::fma(-part, count, b.count), fast_quotient(real(1), count), part));
    }
    NUMBALITE_FUNCTION value even(const value &a, const value &b) const {
        return both_of(a, b, real(0.5));
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64) const {
        value one = {};
        one.mean = nl_convert<W>(x);
        one.squares = square_of(one.mean - one.mean); /* NaN, if x is infinite or NaN */
        one.count = real(1);
        return one;
    }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class S, int N> NUMBALITE_FUNCTION value from(const S (&x)[N], int64) const {
        value all = {};
        W item[N], first = nl_convert<W>(x[0]), sum = first - first;
        real squares = square_of(sum);
        item[0] = sum;
#pragma unroll
        for (int k = 1; k < N; ++k) {
            item[k] = nl_convert<W>(x[k]) - first;
            sum = sum + item[k];
        }
        const W mean = sum * (real(1) / real(N));
#pragma unroll
        for (int k = 0; k < N; ++k)
            squares = squares + square_of(item[k] - mean);
        all.mean = first;
        all.rest = mean;
        all.squares = squares;
        all.count = real(N);
        return all;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double divisor) const {
        if constexpr (nl_detail::is_same_type<O, value>::value) {
            return total; /* a part */
        } else {
            const real variance = quotient_of(total.squares, total.lost, nl_convert<real>(divisor));
            return nl_convert<O>(IsRoot ? ::sqrt(variance) : variance);
        }
    }
};

/* A variance operator that ignores NaN (nanvar, nanstd). The plan's divisor is the number
 * subtracted from each result's count (ddof). */
template <class Moments>
struct of_numbers : operation_on<of_numbers<Moments>, typename Moments::value> {
    typedef typename Moments::value value;
    static constexpr bool commutes = true, in_chunks = true;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        return b.count == 0 ? a : a.count == 0 ? b : Moments()(a, b);
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64 i) const {
        const value none = {};
        return is_nan(x) ? none : Moments().from(x, i);
    }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class S, int N> NUMBALITE_FUNCTION value from(const S (&x)[N], int64 i) const {
        bool has_nan = false;
#pragma unroll
        for (int k = 0; k < N; ++k)
            has_nan |= is_nan(x[k]);
        if (!has_nan)
            return Moments().from(x, i);
        value all = from(x[0], i);
#pragma unroll
        for (int k = 1; k < N; ++k)
            all = (*this)(all, from(x[k], i + k));
        return all;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double taken) const {
        if constexpr (nl_detail::is_same_type<O, value>::value) {
            return total; /* a part */
        } else {
            const double divisor = (double)total.count - taken;
            return divisor > 0 ? Moments().template result<O>(total, divisor)
                               : nl_convert<O>(::sqrt(-1.0)); /* NaN: too few elements */
        }
    }
};

/* The variance operator for W that is as accurate as sums in accurate<W>. */
template <class W, class A, bool IsRoot> struct accurate_variance {
    typedef shifted_variance<A, IsRoot> type;
};
template <class W, bool IsRoot> struct accurate_variance<W, two_part<W>, IsRoot> {
    typedef variance_of<W, IsRoot> type;
};
template <class W, class A, bool IsRoot>
using variance_in = typename accurate_variance<W, A, IsRoot>::type;

/* The number of integers of up to 32 bits, their sum, and the sum of their squares as low + 2^32 *
 * high. */
struct __align__(16) integer_moments {
    int64 sum, count;
    uint64 low, high;
};

/* Computes variances of integers of up to 32 bits; a result may have at most 2^31 elements. The
 * sums are exact; the result is rounded once. */
template <bool IsRoot>
struct integer_variance : operation_on<integer_variance<IsRoot>, integer_moments> {
    typedef integer_moments value;
    static constexpr bool commutes = true, in_chunks = true;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        value both;
        both.sum = a.sum + b.sum;
        both.count = a.count + b.count;
        const uint64 low = a.low + b.low;
        both.low = (unsigned int)low;
        both.high = a.high + b.high + (low >> 32);
        return both;
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    NUMBALITE_FUNCTION value from(const value (&x)[1], int64) const { return x[0]; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64 i) const {
        const S one[1] = {x};
        return from(one, i);
    }
    template <class S, int N> NUMBALITE_FUNCTION value from(const S (&x)[N], int64) const {
        static_assert(sizeof(S) <= 4 && N <= 256, "");
        value all = {};
        all.count = N;
        if constexpr (sizeof(S) == 1) {
            int sum = 0, squares = 0;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                sum += x[k];
                squares += (int)x[k] * (int)x[k];
            }
            all.sum = sum;
            all.low = (unsigned int)squares;
        } else if constexpr (sizeof(S) == 2) {
            int sum = 0;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                sum += x[k];
                all.low += (unsigned int)x[k] * (unsigned int)x[k];
            }
            all.sum = sum;
        } else {
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const uint64 wide = (uint64)(int64)x[k], square = wide * wide;
                all.sum += x[k];
                all.low += (unsigned int)square;
                all.high += square >> 32;
            }
        }
        return all;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &total, double divisor) const {
        if constexpr (nl_detail::is_same_type<O, value>::value) {
            return total; /* a part */
        /* computes (count * squares - sum * sum) / (count * divisor), with a 128-bit numerator */
        } else {
            const uint64 count = (uint64)total.count;
            const uint64 sum = (uint64)(total.sum < 0 ? -total.sum : total.sum);
            const uint64 low = total.low * count, middle = total.high * count;
            uint64 bottom = low + (middle << 32);
            uint64 top = __umul64hi(total.high, count) << 32 | middle >> 32;
            top += bottom < low;
            const uint64 square = sum * sum;
            top -= __umul64hi(sum, sum) + (bottom < square);
            bottom -= square;
            const two_part<double> high = sum_of_two<double>((double)(top >> 32) * 0x1p96,
                                                             (double)(unsigned int)top * 0x1p64);
            const two_part<double> rest =
                sum_of_two<double>((double)(bottom >> 32) * 0x1p32, (double)(unsigned int)bottom);
            const two_part<double> distance = high + rest;
            const double by = (double)count * divisor;
            const double lost = ::fma((double)count, divisor, -by);
            const double made = quotient_of(
                distance.high,
                distance.low - (by > 0 ? fast_quotient(distance.high, by) * lost : 0), by);
            return nl_convert<O>(IsRoot ? ::sqrt(made) : made);
        }
    }
};

/* ---- truths ---- */

/* The operators any (is an element nonzero?) and all (are all elements nonzero?). */
template <bool IsAll> struct truth_of : operation_on<truth_of<IsAll>, bool> {
    typedef bool value;
    static constexpr bool commutes = true;
    NUMBALITE_FUNCTION bool operator()(bool a, bool b) const { return IsAll ? a & b : a | b; }
};

/* ---- Sums of a function of each element ---- */

/* An accumulator type that differs from the element type; otherwise the overloads of from() would
 * be ambiguous. */
template <class R> struct reduced {
    R number;
};

/* The operator of the sum of Each::of(element), which converts a W to an R; Each::end converts the
 * sum to the result. */
template <class W, class R, class Each>
struct sum_of_each : operation_on<sum_of_each<W, R, Each>, reduced<R>> {
    typedef reduced<R> value;
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

/* Returns a product that is rounded once or, as a two_part, is exact. */
template <class A> struct exact_product {
    template <class R> static NUMBALITE_FUNCTION A of(const R &a, const R &b) { return A(a) * A(b); }
};
template <class R> struct exact_product<two_part<R>> {
    static NUMBALITE_FUNCTION two_part<R> of(const R &a, const R &b) {
        two_part<R> made;
        made.high = rounded_product(a, b);
        made.low = ::fma(a, b, -made.high);
        return made;
    }
};
template <class R> struct exact_product<two_part<complex<R>>> {
    static NUMBALITE_FUNCTION two_part<complex<R>> of(const complex<R> &a, const complex<R> &b) {
        return product_of(into<two_part<complex<R>>>::of(a), into<two_part<complex<R>>>::of(b));
    }
};
template <class A> struct exact_product_of_conjugate {
    template <class R> static NUMBALITE_FUNCTION A of(const R &a, const R &b) {
        return exact_product<A>::of(conj(a), b);
    }
};
/* Returns a sum that is rounded once or, as a two_part, is exact. */
template <class A> struct exact_sum {
    template <class R> static NUMBALITE_FUNCTION A of(const R &a, const R &b) { return A(a) + A(b); }
};
template <class R> struct exact_sum<two_part<R>> {
    static NUMBALITE_FUNCTION two_part<R> of(const R &a, const R &b) { return sum_of_two(a, b); }
};
/* Returns the square of an absolute value, rounded like exact_product. */
template <class A, class R> NUMBALITE_FUNCTION A exact_square(const R &x) {
    return exact_product<A>::of(x, x);
}
template <class A, class R> NUMBALITE_FUNCTION A exact_square(const complex<R> &x) {
    return exact_product<A>::of(x.real(), x.real()) + exact_product<A>::of(x.imag(), x.imag());
}

template <class W, class A> struct squared {
    static NUMBALITE_FUNCTION A of(const W &x) { return exact_square<A>(x); }
    static NUMBALITE_FUNCTION auto end(const A &total) -> decltype(square_root(total)) { return square_root(total); }
};
template <class W, class A> using norm_of = sum_of_each<W, A, squared<W, A>>;

/* count_nonzero. */
struct one_if_true {
    static NUMBALITE_FUNCTION int64 of(bool x) { return x; }
    static NUMBALITE_FUNCTION int64 end(int64 total) { return total; }
};
using count_of = sum_of_each<bool, int64, one_if_true>;

/* nansum: NaN counts as 0. */
template <class W, class A> struct number_or_0 {
    static NUMBALITE_FUNCTION A of(const W &x) { return into<A>::of(is_nan(x) ? W() : x); }
    static NUMBALITE_FUNCTION auto end(const A &total) -> decltype(from_0(number_in(total))) {
        return from_0(number_in(total));
    }
};
/* The accumulator of nanmean: the sum and the number of the elements that are not NaN. */
template <class A> struct __align__(16) counted {
    A total;
    int64 count;
};
template <class W, class A> struct nan_mean_of : operation_on<nan_mean_of<W, A>, counted<A>> {
    typedef counted<A> value;
    typedef operation_on<nan_mean_of, value> base;
    static constexpr bool commutes = true;
    using base::from;

    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        value both;
        both.total = a.total + b.total;
        both.count = a.count + b.count;
        return both;
    }
    NUMBALITE_FUNCTION value from(const value &x, int64) const { return x; }
    template <class S> NUMBALITE_FUNCTION value from(const S &x, int64) const {
        const bool counts = !is_nan(x);
        value one;
        one.total = into<A>::of(counts ? nl_convert<W>(x) : W());
        one.count = counts;
        return one;
    }
    template <class O> NUMBALITE_FUNCTION O result(const value &all, double) const {
        if constexpr (nl_detail::is_same_type<O, value>::value)
            return all; /* a part */
        else
            return nl_convert<O>(from_0(quotient_in(all.total, (double)all.count)));
    }
};

template <class W, class A> using nan_sum_of = sum_of_each<W, A, number_or_0<W, A>>;

/* ---- Operators for minimum and maximum, and for their positions ---- */

template <class S> NUMBALITE_FUNCTION bool is_below(const S &x, const S &y) { return x < y; }
template <class R> NUMBALITE_FUNCTION bool is_below(const complex<R> &x, const complex<R> &y) {
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

/* The smallest and the largest element; both are NaN if any element is NaN. */
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

/* argmax and argmin: the position of the first largest (or smallest) element. If NansCount is set,
 * the result is the position of the first NaN, if any; otherwise NaN is ignored, and the result is
 * -1 if all elements are NaN. */
template <class S, bool IsLargest, bool NansCount>
struct extreme_place : operation_on<extreme_place<S, IsLargest, NansCount>, placed<S>> {
    typedef placed<S> value;
    static constexpr bool commutes = true;

    static NUMBALITE_FUNCTION bool is_before(const S &x, const S &y) {
        if constexpr (nl_detail::cast_kind_of<S>::value == nl_detail::complex_kind) {
            if (NansCount ? is_nan(x) : is_nan(y))
                return is_nan(x) != is_nan(y);
            return IsLargest ? is_below(y, x) : is_below(x, y);
        } else { /* the comparison is negated, so that it is also true for NaN */
            return !(IsLargest ? x <= y : x >= y) && !is_nan(NansCount ? y : x);
        }
    }
    NUMBALITE_FUNCTION value operator()(const value &a, const value &b) const {
        bool of_b = is_before(b.number, a.number) |
                    ((b.place < a.place) & !is_before(a.number, b.number));
        return of_b ? b : a;
    }
    NUMBALITE_FUNCTION value even(const value &a, const value &b) const {
        return is_before(b.number, a.number) ? b : a; /* b's positions are later */
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
