/* sim/division: handles integer division by zero with g++, which assumes that it never happens.
 *
 * divisions.py replaces `a / b` by `a / by->* b`, and `a /= b` by `a /= by = b`. `by` converts an
 * integer to a `divisor` and leaves other types unchanged, so that only divisions by integers use
 * this code: an integer dividend tests the divisor first, and other dividends are divided normally.
 * In constant expressions, division by zero is still an error. (For clang, irpatch.py changes the
 * intermediate code instead.) */
#ifndef NUMBALITE_SIM_DIVISION_H
#define NUMBALITE_SIM_DIVISION_H
#ifndef NUMBALITE_SIM_CLANG

namespace numbalite_sim {

template <bool, class T = int> struct only_if {};
template <class T> struct only_if<true, T> { using type = T; };

/* Hides the value from the optimizer: the division is executed, and the engine corrects it when it
 * traps. */
template <class T> NUMBALITE_SIM_INLINE T hidden(T value) {
    __asm__("" : "+r"(value));
    return value;
}
template <class T> NUMBALITE_SIM_INLINE T negated(T value) {
    T result;
    __builtin_sub_overflow(T(0), value, &result); /* the absolute value of the smallest number is
    the number itself */
    return result;
}

/* Operators that the user defines are preferred to the operators for this type. */
template <class T> struct any_divisor {
    T value;
    constexpr explicit any_divisor(T b) : value(b) {}
};
template <class T> struct divisor : any_divisor<T> {
    constexpr explicit divisor(T b) : any_divisor<T>(b) {}
    NUMBALITE_SIM_INLINE constexpr operator T() const {
        return __builtin_is_constant_evaluated() ||
                       (__builtin_constant_p(this->value) && this->value != 0)
                   ? this->value
                   : hidden(this->value);
    }
};

/* Whether T is an arithmetic type, or a type that is implicitly convertible to one, such as an
 * enumeration. */
template <class T> T &&some();
void take_number(long double);
template <class T> struct bare { using type = T; };
template <class T> struct bare<T &> { using type = T; };
template <class T, class = void> struct is_number { static constexpr bool value = false; };
template <class T> struct is_number<T, decltype(take_number(some<T>()))> {
    static constexpr bool value =
        !__is_class(typename bare<T>::type) && !__is_union(typename bare<T>::type);
};

/* Operands are promoted as in the division itself. */
template <class T> NUMBALITE_SIM_INLINE constexpr divisor<T> divisor_of(T b) {
    return divisor<T>(b);
}
template <class T> NUMBALITE_SIM_INLINE constexpr T quotient(T a, T b) {
    return __builtin_is_constant_evaluated()         ? a / b
           : __builtin_expect(b == 0, 0)             ? static_cast<T>(~T(0))
           : T(-1) < T(0) && b == static_cast<T>(-1) ? negated(a)
                                                     : a / b;
}
template <class T> NUMBALITE_SIM_INLINE constexpr T rest(T a, T b) {
    return __builtin_is_constant_evaluated()         ? a % b
           : __builtin_expect(b == 0, 0)             ? a
           : T(-1) < T(0) && b == static_cast<T>(-1) ? T(0)
                                                     : a % b;
}
#define NUMBALITE_SIM_REAL(T) \
    NUMBALITE_SIM_INLINE constexpr T divisor_of(T b) { \
        return b; \
    } \
    NUMBALITE_SIM_INLINE constexpr T quotient(T a, T b) { \
        return a / b; \
    }
NUMBALITE_SIM_REAL(float)
NUMBALITE_SIM_REAL(double)
NUMBALITE_SIM_REAL(long double)
#undef NUMBALITE_SIM_REAL

struct divide_by {
    template <class T, typename only_if<is_number<T>::value>::type = 0>
    NUMBALITE_SIM_INLINE constexpr auto operator->*(T b) const -> decltype(divisor_of(+b)) {
        return divisor_of(+b);
    }
    template <class T, typename only_if<is_number<T>::value>::type = 0>
    NUMBALITE_SIM_INLINE constexpr auto operator=(T b) const -> decltype(divisor_of(+b)) {
        return divisor_of(+b);
    }
    template <class T, typename only_if<!is_number<T>::value>::type = 0>
    NUMBALITE_SIM_INLINE constexpr T &&operator->*(T &&b) const {
        return static_cast<T &&>(b);
    }
    template <class T, typename only_if<!is_number<T>::value>::type = 0>
    NUMBALITE_SIM_INLINE constexpr T &&operator=(T &&b) const {
        return static_cast<T &&>(b);
    }
};
static constexpr divide_by by{};

template <class T, class U, typename only_if<is_number<T>::value>::type = 0>
NUMBALITE_SIM_INLINE constexpr auto operator/(T a, divisor<U> b) -> decltype(a / b.value) {
    return quotient(static_cast<decltype(a / b.value)>(a),
                    static_cast<decltype(a / b.value)>(b.value));
}
template <class T, class U, typename only_if<is_number<T>::value>::type = 0>
NUMBALITE_SIM_INLINE constexpr auto operator%(T a, divisor<U> b) -> decltype(a % b.value) {
    return rest(static_cast<decltype(a % b.value)>(a), static_cast<decltype(a % b.value)>(b.value));
}

/* in instrumented images, the built-in operator must access memory on the user's line, so only the
 * divisor is hidden */
#ifndef NUMBALITE_SIM_CHECKED
#define NUMBALITE_SIM_ASSIGNS(sign) \
    template <class T, class U, typename only_if<is_number<T>::value>::type = 0> \
    NUMBALITE_SIM_INLINE constexpr auto operator sign##=(T &a, divisor<U> b) \
        ->decltype(a sign## = b.value) { \
        return a = static_cast<T>(a sign b); \
    }
NUMBALITE_SIM_ASSIGNS(/)
NUMBALITE_SIM_ASSIGNS(%)
#undef NUMBALITE_SIM_ASSIGNS
#endif

#define NUMBALITE_SIM_DIVIDES(sign) \
    template <class T, class U, typename only_if<!is_number<T>::value>::type = 0> \
    NUMBALITE_SIM_INLINE constexpr auto operator sign(const T &a, any_divisor<U> b) \
        ->decltype(a sign b.value) { \
        return a sign b.value; \
    } \
    template <class T, class U, typename only_if<!is_number<T>::value>::type = 0> \
    NUMBALITE_SIM_INLINE constexpr auto operator sign##=(T &a, any_divisor<U> b) \
        ->decltype(a sign## = b.value) { \
        return a sign## = b.value; \
    }
NUMBALITE_SIM_DIVIDES(/)
NUMBALITE_SIM_DIVIDES(%)
#undef NUMBALITE_SIM_DIVIDES

} // namespace numbalite_sim

#endif
#endif
