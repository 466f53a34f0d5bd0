/* sim/video: the SIMD intrinsics on two 16-bit or four 8-bit lanes of a 32-bit word, and the
 * three-operand minimum and maximum of Hopper. */
#ifndef NUMBALITE_SIM_VIDEO_H
#define NUMBALITE_SIM_VIDEO_H

namespace numbalite_sim {
template <class Lane> struct lanes {
    static constexpr int bits = 8 * sizeof(Lane), count = 4 / sizeof(Lane);
    static constexpr unsigned mask = (1u << bits) - 1;
    static constexpr int largest =
        static_cast<Lane>(-1) < 0 ? static_cast<int>(mask >> 1) : static_cast<int>(mask);
    static constexpr int smallest = static_cast<Lane>(-1) < 0 ? -largest - 1 : 0;
    static NUMBALITE_SIM_INLINE int get(unsigned word, int i) {
        return static_cast<Lane>(word >> (bits * i));
    }
    static NUMBALITE_SIM_INLINE unsigned put(int value, int i) {
        return (static_cast<unsigned>(value) & mask) << (bits * i);
    }
    static NUMBALITE_SIM_INLINE int saturate(int value) {
        return value > largest ? largest : value < smallest ? smallest : value;
    }
};
} // namespace numbalite_sim

/* Defines a function for a lane width; the expression uses the lanes x and y as ints, and L. */
#define NUMBALITE_SIM_LANES(name, Lane, parameters, second, expression) \
    NUMBALITE_SIM_INLINE unsigned name parameters { \
        typedef numbalite_sim::lanes<Lane> L; \
        unsigned result = 0; \
        for (int i = 0; i < L::count; ++i) { \
            const int x = L::get(a, i), y = L::get(second, i); \
            (void)y; \
            result |= L::put(expression, i); \
        } \
        return result; \
    }
#define NUMBALITE_SIM_SIGNED(name, expression) \
    NUMBALITE_SIM_LANES(name##2, short, (unsigned a, unsigned b), b, expression) \
    NUMBALITE_SIM_LANES(name##4, signed char, (unsigned a, unsigned b), b, expression)
#define NUMBALITE_SIM_UNSIGNED(name, expression) \
    NUMBALITE_SIM_LANES(name##2, unsigned short, (unsigned a, unsigned b), b, expression) \
    NUMBALITE_SIM_LANES(name##4, unsigned char, (unsigned a, unsigned b), b, expression)
#define NUMBALITE_SIM_UNARY(name, expression) \
    NUMBALITE_SIM_LANES(name##2, short, (unsigned a), a, expression) \
    NUMBALITE_SIM_LANES(name##4, signed char, (unsigned a), a, expression)

NUMBALITE_SIM_UNARY(__vabs, x < 0 ? -x : x)
NUMBALITE_SIM_UNARY(__vabsss, L::saturate(x < 0 ? -x : x))
NUMBALITE_SIM_UNARY(__vneg, -x)
NUMBALITE_SIM_UNARY(__vnegss, L::saturate(-x))
NUMBALITE_SIM_UNSIGNED(__vadd, x + y)
NUMBALITE_SIM_SIGNED(__vaddss, L::saturate(x + y))
NUMBALITE_SIM_UNSIGNED(__vaddus, L::saturate(x + y))
NUMBALITE_SIM_UNSIGNED(__vsub, x - y)
NUMBALITE_SIM_SIGNED(__vsubss, L::saturate(x - y))
NUMBALITE_SIM_UNSIGNED(__vsubus, L::saturate(x - y))
NUMBALITE_SIM_SIGNED(__vabsdiffs, x > y ? x - y : y - x)
NUMBALITE_SIM_UNSIGNED(__vabsdiffu, x > y ? x - y : y - x)
NUMBALITE_SIM_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
NUMBALITE_SIM_UNSIGNED(__vavgu, (x + y + 1) >> 1)
NUMBALITE_SIM_UNSIGNED(__vhaddu, (x + y) >> 1)
NUMBALITE_SIM_SIGNED(__vmaxs, x > y ? x : y)
NUMBALITE_SIM_UNSIGNED(__vmaxu, x > y ? x : y)
NUMBALITE_SIM_SIGNED(__vmins, x < y ? x : y)
NUMBALITE_SIM_UNSIGNED(__vminu, x < y ? x : y)

/* Defines comparisons, whose result is all ones (__vcmp) or 1 (__vset) if true. */
#define NUMBALITE_SIM_COMPARISON(kind, name, operation) \
    kind(__vcmp##name, x operation y ? -1 : 0) kind(__vset##name, x operation y ? 1 : 0)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, eq, ==)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, ne, !=)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_SIGNED, ges, >=)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_SIGNED, gts, >)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_SIGNED, les, <=)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_SIGNED, lts, <)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, geu, >=)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, gtu, >)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, leu, <=)
NUMBALITE_SIM_COMPARISON(NUMBALITE_SIM_UNSIGNED, ltu, <)
#undef NUMBALITE_SIM_COMPARISON

/* Defines sums of absolute differences over the lanes. */
#define NUMBALITE_SIM_SAD(name, Lane) \
    NUMBALITE_SIM_INLINE unsigned name(unsigned a, unsigned b) { \
        typedef numbalite_sim::lanes<Lane> L; \
        unsigned sum = 0; \
        for (int i = 0; i < L::count; ++i) { \
            int difference = L::get(a, i) - L::get(b, i); \
            sum += static_cast<unsigned>(difference < 0 ? -difference : difference); \
        } \
        return sum; \
    }
NUMBALITE_SIM_SAD(__vsads2, short)
NUMBALITE_SIM_SAD(__vsads4, signed char)
NUMBALITE_SIM_SAD(__vsadu2, unsigned short)
NUMBALITE_SIM_SAD(__vsadu4, unsigned char)
#undef NUMBALITE_SIM_SAD
#undef NUMBALITE_SIM_UNARY
#undef NUMBALITE_SIM_SIGNED
#undef NUMBALITE_SIM_UNSIGNED
#undef NUMBALITE_SIM_LANES

/* ---- Minimum and maximum of three numbers, of a sum, or with 0 (relu) ---- */

#define NUMBALITE_SIM_EXTREMES(T, suffix) \
    NUMBALITE_SIM_INLINE T __vimax3_##suffix(T a, T b, T c) { \
        return max(max(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE T __vimin3_##suffix(T a, T b, T c) { \
        return min(min(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE T __viaddmax_##suffix(T a, T b, T c) { \
        return max(static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); \
    } \
    NUMBALITE_SIM_INLINE T __viaddmin_##suffix(T a, T b, T c) { \
        return min(static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); \
    } \
    NUMBALITE_SIM_INLINE T __vibmax_##suffix(T a, T b, bool *first) { \
        *first = a >= b; \
        return max(a, b); \
    } \
    NUMBALITE_SIM_INLINE T __vibmin_##suffix(T a, T b, bool *first) { \
        *first = a <= b; \
        return min(a, b); \
    }
NUMBALITE_SIM_EXTREMES(int, s32)
NUMBALITE_SIM_EXTREMES(unsigned, u32)
#undef NUMBALITE_SIM_EXTREMES

/* Defines the minimum and maximum functions for two 16-bit halves; `high` and `low` return whether
 * the half of a was selected. */
#define NUMBALITE_SIM_EXTREMES_OF_HALVES(sign) \
    NUMBALITE_SIM_INLINE unsigned __vimax3_##sign##16x2(unsigned a, unsigned b, unsigned c) { \
        return __vmax##sign##2(__vmax##sign##2(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE unsigned __vimin3_##sign##16x2(unsigned a, unsigned b, unsigned c) { \
        return __vmin##sign##2(__vmin##sign##2(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE unsigned __viaddmax_##sign##16x2(unsigned a, unsigned b, unsigned c) { \
        return __vmax##sign##2(__vadd2(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE unsigned __viaddmin_##sign##16x2(unsigned a, unsigned b, unsigned c) { \
        return __vmin##sign##2(__vadd2(a, b), c); \
    } \
    NUMBALITE_SIM_INLINE unsigned __vibmax_##sign##16x2(unsigned a, unsigned b, bool *high, bool *low) { \
        const unsigned first = __vsetge##sign##2(a, b); \
        *high = first >> 16; \
        *low = first & 1; \
        return __vmax##sign##2(a, b); \
    } \
    NUMBALITE_SIM_INLINE unsigned __vibmin_##sign##16x2(unsigned a, unsigned b, bool *high, bool *low) { \
        const unsigned first = __vsetle##sign##2(a, b); \
        *high = first >> 16; \
        *low = first & 1; \
        return __vmin##sign##2(a, b); \
    }
NUMBALITE_SIM_EXTREMES_OF_HALVES(s)
NUMBALITE_SIM_EXTREMES_OF_HALVES(u)
#undef NUMBALITE_SIM_EXTREMES_OF_HALVES

NUMBALITE_SIM_INLINE int __vimax_s32_relu(int a, int b) {
    return max(max(a, b), 0);
}
NUMBALITE_SIM_INLINE int __vimin_s32_relu(int a, int b) {
    return max(min(a, b), 0);
}
NUMBALITE_SIM_INLINE unsigned __vimax_s16x2_relu(unsigned a, unsigned b) {
    return __vmaxs2(__vmaxs2(a, b), 0);
}
NUMBALITE_SIM_INLINE unsigned __vimin_s16x2_relu(unsigned a, unsigned b) {
    return __vmaxs2(__vmins2(a, b), 0);
}
#define NUMBALITE_SIM_RELU(name) \
    NUMBALITE_SIM_INLINE int name##_s32_relu(int a, int b, int c) { \
        return max(name##_s32(a, b, c), 0); \
    } \
    NUMBALITE_SIM_INLINE unsigned name##_s16x2_relu(unsigned a, unsigned b, unsigned c) { \
        return __vmaxs2(name##_s16x2(a, b, c), 0); \
    }
NUMBALITE_SIM_RELU(__vimax3)
NUMBALITE_SIM_RELU(__vimin3)
NUMBALITE_SIM_RELU(__viaddmax)
NUMBALITE_SIM_RELU(__viaddmin)
#undef NUMBALITE_SIM_RELU

#endif
