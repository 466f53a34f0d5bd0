/* sim/ptx: implements PTX instructions as functions; numbalite/compilers/sim/ptx.py translates asm
 * statements to calls of these functions. PTX registers are plain variables. */
#ifndef NUMBALITE_SIM_PTX_H
#define NUMBALITE_SIM_PTX_H

#ifndef NUMBALITE_HOST
namespace numbalite_sim {
namespace ptx {

typedef unsigned __int128 wide128;

/* Describes a type: `real` is 1 for floating-point types; `plain` is T, or the unsigned type of the
 * same size if T is a signed integer type. */
template <class T> struct kind {
    enum { real = 0 };
    typedef T plain;
};
template <> struct kind<float> {
    enum { real = 1 };
    typedef float plain;
};
template <> struct kind<double> {
    enum { real = 1 };
    typedef double plain;
};
#define NUMBALITE_SIM_SIGNED(T, unsigned_type) \
    template <> struct kind<T> { \
        enum { real = 0 }; \
        typedef unsigned_type plain; \
    };
NUMBALITE_SIM_SIGNED(short, unsigned short)
NUMBALITE_SIM_SIGNED(int, unsigned)
NUMBALITE_SIM_SIGNED(long, unsigned long)
NUMBALITE_SIM_SIGNED(long long, unsigned long long)
NUMBALITE_SIM_SIGNED(__int128, unsigned __int128)
#undef NUMBALITE_SIM_SIGNED

/* Converts a value to another type: reinterprets the bits between integers and floating-point
 * numbers, otherwise uses the C++ conversion. */
template <bool of_bits> struct turn {
    template <class To, class From> static NUMBALITE_SIM_INLINE To of(const From &value) {
        return (To)value;
    }
};
template <> struct turn<true> {
    template <class To, class From> static NUMBALITE_SIM_INLINE To of(const From &value) {
        To result = To();
        __builtin_memcpy(&result, &value, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
        return result;
    }
};
template <class T> struct bare { typedef T type; };
template <class T> struct bare<const T> { typedef T type; };
template <class T> struct bare<volatile T> { typedef T type; };
template <class T> struct bare<const volatile T> { typedef T type; };
template <class To, class From> NUMBALITE_SIM_INLINE To as(const From &value) {
    typedef typename bare<To>::type to;
    typedef typename bare<From>::type from;
    return turn<int(kind<to>::real) != int(kind<from>::real) || __is_class(from) || __is_class(to)>::template of<to>(
        (from)value);
}
template <class To, class From> NUMBALITE_SIM_INLINE To as(From *value) {
    return (To)(unsigned long long)value;
}
template <class D, class S> NUMBALITE_SIM_INLINE void put(D &to, const S &value) {
    to = as<typename bare<D>::type>(value);
}
template <class D, class S> NUMBALITE_SIM_INLINE void put(D *&to, const S &value) {
    to = (D *)(unsigned long long)value;
}
NUMBALITE_SIM_INLINE bool &lost() {
    static __thread bool carry;
    return carry;
}

/* Converts addresses. An address in shared memory may consist of only its lower 32 bits; then the
 * function completes it. */
template <class T> NUMBALITE_SIM_INLINE unsigned long long generic(const T &address) {
    return as<unsigned long long>(address);
}
template <class T> NUMBALITE_SIM_INLINE unsigned long long shared(const T &address) {
    return as<unsigned long long>(address);
}
NUMBALITE_SIM_INLINE unsigned long long nearest_address(unsigned low, unsigned long long base) {
    return base + (unsigned long long)(long long)(int)(low - (unsigned)base);
}
NUMBALITE_SIM_OWN unsigned long long complete_shared_address(unsigned low) {
    unsigned long long dynamic = (unsigned long long)ops->dynamic_shared();
    if (unsigned long long there = cluster_complete(low))
        return there;
    unsigned long long found = nearest_address(low, dynamic);
    if (found - dynamic < here.dynamic_bytes)
        return found;
#ifdef NUMBALITE_SIM_CHECKED
    return found;
#else
    return nearest_address(low, (unsigned long long)&here);
#endif
}
NUMBALITE_SIM_INLINE unsigned long long shared(const unsigned &address) {
    return complete_shared_address(address);
}
NUMBALITE_SIM_INLINE unsigned long long shared(const int &address) {
    return complete_shared_address((unsigned)address);
}

/* mapa returns the address of the same variable in the shared memory of another block of the
 * cluster. ctarank returns the rank of the block whose shared memory contains the address. */
NUMBALITE_SIM_INLINE unsigned long long mapa(unsigned long long at, unsigned block,
                                             const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return (unsigned long long)__cluster_map_shared_rank((const void *)at, block, file, line);
}
NUMBALITE_SIM_INLINE unsigned ctarank(unsigned long long at) {
    return __cluster_query_shared_rank((const void *)at);
}

/* how: 1: volatile, 2: with a memory order */
template <class T, int how> struct access {
    static NUMBALITE_SIM_INLINE T load(unsigned long long at) { return *(const T *)at; }
    static NUMBALITE_SIM_INLINE void store(unsigned long long at, T value) { *(T *)at = value; }
};
template <class T> struct access<T, 1> {
    static NUMBALITE_SIM_INLINE T load(unsigned long long at) { return *(const volatile T *)at; }
    static NUMBALITE_SIM_INLINE void store(unsigned long long at, T value) { *(volatile T *)at = value; }
};
template <class T> struct access<T, 2> {
    static NUMBALITE_SIM_INLINE T load(unsigned long long at) {
        spin("", 0);
        T value;
        __atomic_load((T *)at, &value, __ATOMIC_ACQUIRE);
        return value;
    }
    static NUMBALITE_SIM_INLINE void store(unsigned long long at, T value) {
        __atomic_store((T *)at, &value, __ATOMIC_RELEASE);
    }
};
template <class T, int how> NUMBALITE_SIM_INLINE T load(unsigned long long at) {
    return access<T, how>::load(at);
}
template <class T, int how> NUMBALITE_SIM_INLINE void store(unsigned long long at, T value) {
    access<T, how>::store(at, value);
}
template <class T, int n> NUMBALITE_SIM_INLINE void load_all(T (&to)[n], unsigned long long at) {
    for (int i = 0; i < n; i++)
        to[i] = ((const T *)at)[i];
}
template <class T, int n> NUMBALITE_SIM_INLINE void store_all(unsigned long long at, const T (&from)[n]) {
    for (int i = 0; i < n; i++)
        ((T *)at)[i] = from[i];
}
/* Implements cp.async: copies `kept` bytes, and fills the remaining bytes with zeros. */
NUMBALITE_SIM_INLINE void copy(unsigned long long to, unsigned long long from, unsigned size, unsigned kept) {
    asynccopy::begin((void *)to, (const void *)from, size);
    for (unsigned i = 0; i < size; i += 4)
        *(unsigned *)(to + i) = i < kept ? *(const unsigned *)(from + i) : 0;
    asynccopy::report_copy((void *)to, kept < size ? nullptr : (const void *)from, size);
}

template <class T> NUMBALITE_SIM_INLINE T add(T a, T b) {
    typedef typename kind<T>::plain U;
    return (T)((U)a + (U)b);
}
template <class T> NUMBALITE_SIM_INLINE T sub(T a, T b) {
    typedef typename kind<T>::plain U;
    return (T)((U)a - (U)b);
}
template <class T> NUMBALITE_SIM_INLINE T mul(T a, T b) {
    return a * b;
}
template <class T> NUMBALITE_SIM_INLINE T add_cc(T a, T b, bool carry, bool &out) {
    typedef typename kind<T>::plain U;
    U sum, whole;
    bool first = __builtin_add_overflow((U)a, (U)b, &sum);
    bool second = __builtin_add_overflow(sum, (U)carry, &whole);
    out = first | second;
    return (T)whole;
}
template <class T> NUMBALITE_SIM_INLINE T sub_cc(T a, T b, bool borrow, bool &out) {
    typedef typename kind<T>::plain U;
    U difference, whole;
    bool first = __builtin_sub_overflow((U)a, (U)b, &difference);
    bool second = __builtin_sub_overflow(difference, (U)borrow, &whole);
    out = first | second;
    return (T)whole;
}
template <class T> struct twice { typedef long long type; };
template <> struct twice<unsigned> { typedef unsigned long long type; };
template <> struct twice<unsigned short> { typedef unsigned type; };
template <> struct twice<short> { typedef int type; };
template <> struct twice<unsigned long long> { typedef unsigned __int128 type; };
template <> struct twice<long long> { typedef __int128 type; };
template <class T> NUMBALITE_SIM_INLINE typename twice<T>::type mul_wide(T a, T b) {
    typedef typename twice<T>::type W;
    return (W)a * (W)b;
}
template <class T> NUMBALITE_SIM_INLINE T mul_lo(T a, T b) {
    return (T)mul_wide<T>(a, b);
}
template <class T> NUMBALITE_SIM_INLINE T mul_hi(T a, T b) {
    return (T)(mul_wide<T>(a, b) >> (8 * sizeof(T)));
}
template <class T> NUMBALITE_SIM_INLINE T mul24(T a, T b) {
    return (T)(((unsigned)a << 8) * (unsigned long long)((unsigned)b << 8) >> 16);
}
template <class T> NUMBALITE_SIM_INLINE T mad24(T a, T b, T c) {
    return mul24<T>(a, b) + c;
}
template <class T> NUMBALITE_SIM_INLINE T div(T a, T b) {
    return kind<T>::real || b != 0 ? (T)(a / b) : (T)-1;
}
template <class T> NUMBALITE_SIM_INLINE T rem(T a, T b) {
    return b != 0 ? (T)(a % b) : a;
}
template <class T> NUMBALITE_SIM_INLINE T min(T a, T b) {
    return a != a ? b : b != b ? a : b < a ? b : a;
}
template <class T> NUMBALITE_SIM_INLINE T max(T a, T b) {
    return a != a ? b : b != b ? a : a < b ? b : a;
}
template <class T> NUMBALITE_SIM_INLINE T abs(T a) {
    return a < 0 ? (T)(0 - (typename kind<T>::plain)a) : a;
}
template <> NUMBALITE_SIM_INLINE float abs<float>(float a) {
    return __builtin_fabsf(a);
}
template <> NUMBALITE_SIM_INLINE double abs<double>(double a) {
    return __builtin_fabs(a);
}
template <class T> NUMBALITE_SIM_INLINE T neg(T a) {
    return kind<T>::real ? (T)-a : (T)(0 - (typename kind<T>::plain)a);
}
template <class T> NUMBALITE_SIM_INLINE T and_(T a, T b) {
    return (T)(a & b);
}
template <class T> NUMBALITE_SIM_INLINE T or_(T a, T b) {
    return (T)(a | b);
}
template <class T> NUMBALITE_SIM_INLINE T xor_(T a, T b) {
    return (T)(a ^ b);
}
template <class T> NUMBALITE_SIM_INLINE T not_(T a) {
    return (T)~a;
}
template <> NUMBALITE_SIM_INLINE bool not_<bool>(bool a) {
    return !a;
}
template <class T> NUMBALITE_SIM_INLINE T cnot(T a) {
    return a == 0;
}
template <class T> NUMBALITE_SIM_INLINE T sad(T a, T b, T c) {
    return c + (a < b ? b - a : a - b);
}
template <class T> NUMBALITE_SIM_INLINE T brev(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); i++)
        result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
}
NUMBALITE_SIM_INLINE int saturate_to_int(long long value) {
    return value > 2147483647 ? 2147483647 : value < -2147483647 - 1 ? -2147483647 - 1 : (int)value;
}
template <class T> NUMBALITE_SIM_INLINE T saturated_add(T a, T b) {
    return saturate_to_int((long long)a + b);
}
template <class T> NUMBALITE_SIM_INLINE T saturated_sub(T a, T b) {
    return saturate_to_int((long long)a - b);
}
template <class T> NUMBALITE_SIM_INLINE T saturate(T a) {
    return a > 0 ? (a < 1 ? a : (T)1) : (T)0;
}
template <class T> NUMBALITE_SIM_INLINE T shl(T a, unsigned n) {
    return n < 8 * sizeof(T) ? (T)(a << n) : (T)0;
}
template <class T> NUMBALITE_SIM_INLINE T shr(T a, unsigned n) {
    return n < 8 * sizeof(T) ? (T)(a >> n) : a < 0 ? (T)-1 : (T)0;
}
template <class T> NUMBALITE_SIM_INLINE T bfe(T a, unsigned position, unsigned length) {
    const int width = 8 * sizeof(T);
    int from = position & 255, count = length & 255;
    int top = from + count - 1 < width - 1 ? from + count - 1 : width - 1;
    bool sign = count && a < 0 ? true : false;
    typedef typename kind<T>::plain U;
    if (T(-1) < T(0))
        sign = count ? ((U)a >> (from < width && from + count - 1 < width ? from + count - 1 : width - 1) & 1) : false;
    else
        sign = false;
    (void)top;
    U result = 0;
    for (int i = 0; i < width; i++) {
        bool bit = i < count && from + i < width ? ((U)a >> (from + i) & 1) : sign;
        result |= (U)bit << i;
    }
    return (T)result;
}
template <class T> NUMBALITE_SIM_INLINE T bfi(T a, T b, unsigned position, unsigned length) {
    unsigned from = position & 255, count = length & 255, width = 8 * sizeof(T);
    for (unsigned i = 0; i < count && from + i < width; i++)
        b = (b & ~((T)1 << (from + i))) | ((a >> i & 1) << (from + i));
    return b;
}
NUMBALITE_SIM_INLINE unsigned bmsk_clamp(unsigned from, unsigned count) {
    unsigned ones = count < 32 ? (1u << count) - 1 : 0xffffffffu;
    return from < 32 ? ones << from : 0;
}
NUMBALITE_SIM_INLINE unsigned bmsk_wrap(unsigned from, unsigned count) {
    return bmsk_clamp(from & 31, count & 31);
}
NUMBALITE_SIM_INLINE unsigned szext_clamp(unsigned count) {
    return count < 32 ? count : 32;
}
NUMBALITE_SIM_INLINE unsigned szext_wrap(unsigned count) {
    return count & 31;
}
NUMBALITE_SIM_INLINE unsigned popc(unsigned a) {
    return __builtin_popcount(a);
}
NUMBALITE_SIM_INLINE unsigned popc(unsigned long long a) {
    return __builtin_popcountll(a);
}
NUMBALITE_SIM_INLINE unsigned clz(unsigned a) {
    return a ? __builtin_clz(a) : 32;
}
NUMBALITE_SIM_INLINE unsigned clz(unsigned long long a) {
    return a ? __builtin_clzll(a) : 64;
}
template <class T> NUMBALITE_SIM_INLINE unsigned bfind_shift(T a) {
    typedef typename kind<T>::plain U;
    U bits = T(-1) < T(0) && a < 0 ? ~(U)a : (U)a;
    typedef typename twice<U>::type wide;
    (void)sizeof(wide);
    return bits ? (sizeof(U) == 8 ? clz((unsigned long long)bits) : clz((unsigned)bits)) : 0xffffffffu;
}
template <class T> NUMBALITE_SIM_INLINE unsigned bfind(T a) {
    unsigned shift = bfind_shift(a);
    return shift == 0xffffffffu ? shift : (unsigned)(8 * sizeof(T)) - 1 - shift;
}
NUMBALITE_SIM_INLINE unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
    unsigned result = 0;
    if (table & 1)
        result |= ~a & ~b & ~c;
    if (table & 2)
        result |= ~a & ~b & c;
    if (table & 4)
        result |= ~a & b & ~c;
    if (table & 8)
        result |= ~a & b & c;
    if (table & 16)
        result |= a & ~b & ~c;
    if (table & 32)
        result |= a & ~b & c;
    if (table & 64)
        result |= a & b & ~c;
    if (table & 128)
        result |= a & b & c;
    return result;
}
template <class A> struct byte_of { typedef unsigned char type; };
template <> struct byte_of<int> { typedef signed char type; };
template <class A, class B, class C> NUMBALITE_SIM_INLINE C dp4a(unsigned a, unsigned b, C c) {
    for (int i = 0; i < 32; i += 8)
        c += (int)(typename byte_of<A>::type)(a >> i) * (int)(typename byte_of<B>::type)(b >> i);
    return c;
}

template <class A> struct half_of { typedef unsigned short type; };
template <> struct half_of<int> { typedef short type; };
template <class A, class B, class C> NUMBALITE_SIM_INLINE C dp2a(unsigned a, unsigned b, C c) {
    for (int i = 0; i < 2; i++)
        c += (C)((int)(typename half_of<A>::type)(a >> (16 * i)) * (int)(typename byte_of<B>::type)(b >> (8 * i)));
    return c;
}

/* The video instructions: an operation on two lanes, and an operation on all lanes. */
/* Converts an operand whose constraint is a macro: a pointer is converted to a number. */
template <class T> NUMBALITE_SIM_INLINE T operand(T value) {
    return value;
}
template <class T> NUMBALITE_SIM_INLINE unsigned long long operand(T *value) {
    return reinterpret_cast<unsigned long long>(value);
}

#define NUMBALITE_SIM_VIDEO(name, expression) \
    NUMBALITE_SIM_INLINE int lanes_##name(int x, int y) { \
        return expression; \
    }
NUMBALITE_SIM_VIDEO(add, x + y)
NUMBALITE_SIM_VIDEO(sub, x - y)
NUMBALITE_SIM_VIDEO(avrg, (x + y + (x + y >= 0)) >> 1)
NUMBALITE_SIM_VIDEO(absdiff, x > y ? x - y : y - x)
NUMBALITE_SIM_VIDEO(min, x < y ? x : y)
NUMBALITE_SIM_VIDEO(max, x > y ? x : y)
NUMBALITE_SIM_VIDEO(eq, x == y)
NUMBALITE_SIM_VIDEO(ne, x != y)
NUMBALITE_SIM_VIDEO(lt, x < y)
NUMBALITE_SIM_VIDEO(le, x <= y)
NUMBALITE_SIM_VIDEO(gt, x > y)
NUMBALITE_SIM_VIDEO(ge, x >= y)
#undef NUMBALITE_SIM_VIDEO
template <class D, class A, class B, bool saturates, bool adds, int of(int, int)>
NUMBALITE_SIM_INLINE unsigned video_operation(unsigned a, unsigned b, unsigned c) {
    unsigned result = 0;
    for (int i = 0; i < lanes<D>::count; i++) {
        int one = of(lanes<A>::get(a, i), lanes<B>::get(b, i));
        if (saturates)
            one = lanes<D>::saturate(one);
        if (adds)
            c += (unsigned)(D)one;
        else
            result |= lanes<D>::put(one, i);
    }
    return adds ? c : result;
}

NUMBALITE_SIM_INLINE long long wide_add(long long x, long long y) {
    return x + y;
}
NUMBALITE_SIM_INLINE long long wide_sub(long long x, long long y) {
    return x - y;
}
NUMBALITE_SIM_INLINE long long wide_absdiff(long long x, long long y) {
    return x > y ? x - y : y - x;
}
NUMBALITE_SIM_INLINE long long wide_min(long long x, long long y) {
    return x < y ? x : y;
}
NUMBALITE_SIM_INLINE long long wide_max(long long x, long long y) {
    return x > y ? x : y;
}
template <class T> NUMBALITE_SIM_INLINE T lowest(long long x) {
    return static_cast<T>(x);
}

template <class T> NUMBALITE_SIM_INLINE T fma(T a, T b, T c) {
    return ::fma(a, b, c);
}
template <class T> NUMBALITE_SIM_INLINE T sqrt(T a) {
    return ::sqrt(a);
}
template <class T> NUMBALITE_SIM_INLINE T rsqrt(T a) {
    return 1 / ::sqrt(a);
}
template <class T> NUMBALITE_SIM_INLINE T rcp(T a) {
    return 1 / a;
}
template <class T> NUMBALITE_SIM_INLINE T sin(T a) {
    return ::sin(a);
}
template <class T> NUMBALITE_SIM_INLINE T cos(T a) {
    return ::cos(a);
}
template <class T> NUMBALITE_SIM_INLINE T ex2(T a) {
    return ::exp2(a);
}
template <class T> NUMBALITE_SIM_INLINE T lg2(T a) {
    return ::log2(a);
}
template <class T> NUMBALITE_SIM_INLINE T tanh(T a) {
    return ::tanh(a);
}

/* mode: n rounds to nearest even, z to zero, m down, p up */
template <class T> NUMBALITE_SIM_INLINE T rounded(T a, char mode) {
    return mode == 'n' ? ::rint(a) : mode == 'z' ? ::trunc(a) : mode == 'm' ? ::floor(a) : ::ceil(a);
}
template <class T, class F> NUMBALITE_SIM_INLINE T whole(F a) {
    const bool has_sign = T(-1) < T(0);
    const int width = 8 * sizeof(T) - has_sign;
    typedef typename kind<T>::plain U;
    const U all = (U)~(U)0;
    const T most = (T)(has_sign ? all >> 1 : all), least = has_sign ? (T)(-most - 1) : (T)0;
    F limit = 1;
    for (int i = 0; i < width; i++)
        limit *= 2;
    if (a != a)
        return sizeof(T) == 8 && has_sign ? least : sizeof(T) == 8 ? (T)((U)1 << (8 * sizeof(T) - 1)) : (T)0;
    return a >= limit ? most : a <= (has_sign ? -limit : (F)0) ? least : (T)a;
}
template <class T, class S> NUMBALITE_SIM_INLINE T clamped(S a) {
    const bool has_sign = T(-1) < T(0);
    typedef typename kind<T>::plain U;
    const U all = (U)~(U)0;
    const T most = (T)(has_sign ? all >> 1 : all), least = has_sign ? (T)(-most - 1) : (T)0;
    __int128 value = a;
    return value > (__int128)most ? most : value < (__int128)least ? least : (T)a;
}

template <class Whole, class Part> NUMBALITE_SIM_INLINE Whole packed(Part a, Part b) {
    return (Whole)a | (Whole)b << (8 * sizeof(Part));
}
template <class Whole, class Part> NUMBALITE_SIM_INLINE Whole packed(Part a, Part b, Part c, Part d) {
    const int n = 8 * sizeof(Part);
    return (Whole)a | (Whole)b << n | (Whole)c << 2 * n | (Whole)d << 3 * n;
}
template <class Part, class Whole> NUMBALITE_SIM_INLINE Part part(Whole whole, int index) {
    return (Part)(whole >> (8 * sizeof(Part) * index));
}

/* c: the last lane of a segment, and from bit 8 on a mask of the lane bits that identify its
 * segment */
NUMBALITE_SIM_INLINE unsigned shuffle_from_lane(unsigned value, unsigned source, bool is, unsigned mask, nl_sim_shuffle how,
                                           bool *is_out, const char *file, int line) {
    *is_out = is;
    return shuffle(mask, value, how, is ? source & 31 : lane(), file, line);
}
#define NUMBALITE_SIM_PTX_SHUFFLE(name, how, source_of, test) \
    NUMBALITE_SIM_INLINE unsigned shuffle_##name(unsigned value, unsigned b, unsigned c, unsigned mask, bool *is, \
                                                 const char *file = __builtin_FILE(), \
                                                 int line = __builtin_LINE()) { \
        unsigned me = lane(), segment = c >> 8 & 31, last = (me & segment) | (c & 31 & ~segment); \
        unsigned first = me & segment; \
        b &= 31; \
        int source = (int)(source_of); \
        (void)first; \
        return shuffle_from_lane(value, (unsigned)source, (test), mask, how, is, file, line); \
    }
NUMBALITE_SIM_PTX_SHUFFLE(up, NL_SIM_SHUFFLE_UP, me - b, source >= (int)last)
NUMBALITE_SIM_PTX_SHUFFLE(down, NL_SIM_SHUFFLE_DOWN, me + b, source <= (int)last)
NUMBALITE_SIM_PTX_SHUFFLE(bfly, NL_SIM_SHUFFLE_XOR, me ^ b, source <= (int)last)
NUMBALITE_SIM_PTX_SHUFFLE(idx, NL_SIM_SHUFFLE_INDEX, first | (b & ~segment), source <= (int)last)
#undef NUMBALITE_SIM_PTX_SHUFFLE

} // namespace ptx
} // namespace numbalite_sim
#endif

#endif
