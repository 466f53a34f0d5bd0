/* sim/atomics: implements CUDA's atomic functions, lock-free on the host.
 *
 * Blocks run on several OS threads, so all these functions use atomic instructions of the CPU. The
 * scopes (_block, _system) only matter in checked images, which report accesses of block scope. All
 * operations are sequentially consistent, which is stronger than CUDA guarantees.
 *
 * An OS thread runs many CUDA threads, one at a time. So a CUDA thread that spins on a lock may
 * prevent the thread that holds the lock from running. Therefore every operation that looks like a
 * failed attempt is reported to the engine as a spin: a failed compare-and-swap, an exchange that
 * changed nothing, or an addition of 0, which only reads. After a few spins the engine runs other
 * CUDA threads.
 *
 * The overloads are exactly those of CUDA: code that compiles here compiles for a GPU. */
#ifndef NUMBALITE_SIM_ATOMICS_H
#define NUMBALITE_SIM_ATOMICS_H

#ifdef NUMBALITE_SIM_CHECKED
#include "checker.h"
#endif

namespace numbalite_sim {

#ifdef NUMBALITE_SIM_CHECKED
#define NUMBALITE_SIM_SCOPE_block numbalite_sim::narrow_scope scope(true);
#else
#define NUMBALITE_SIM_SCOPE_block
#endif
#define NUMBALITE_SIM_SCOPE
#define NUMBALITE_SIM_SCOPE_system

/* The unsigned integer type of a size. */
template <int size> struct word;
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef unsigned long long type; };

/* Marks a load and a compare-and-swap that implement one operation. The profiler counts these
 * accesses as one atomic: it counts the load but not the compare-and-swap. If the caller does not
 * use the old value, the load is reported as the operation `of` (nl_sim_operation). */
#ifdef NUMBALITE_SIM_CHECKED
NUMBALITE_SIM_OWN void begin_update(unsigned of = 0) {
    operation = pop_value_is_dropped() ? of : 0;
#if NUMBALITE_SIM_CHECKED & 1024 /* profile */
    is_update = true;
#endif
}
NUMBALITE_SIM_OWN void end_update() {
    operation = 0;
}
#define NUMBALITE_SIM_OPERATION_OF(of) NL_SIM_OPERATION_##of
#else
NUMBALITE_SIM_INLINE void begin_update(unsigned) {}
NUMBALITE_SIM_INLINE void end_update() {}
#define NUMBALITE_SIM_OPERATION_OF(of) 0
#endif

/* Returns the operation (nl_sim_operation) on values of type T for the operation on signed
 * integers; returns 0 if there is none. */
template <class T> NUMBALITE_SIM_INLINE constexpr unsigned operation_on(unsigned) {
    return 0;
}
#ifdef NUMBALITE_SIM_CHECKED
#define NUMBALITE_SIM_OPERATION_ON(T, result) \
    template <> NUMBALITE_SIM_INLINE constexpr unsigned operation_on<T>(unsigned of) { \
        return result; \
    }
constexpr unsigned unsigned_operation(unsigned of) {
    return of == NL_SIM_OPERATION_MIN   ? NL_SIM_OPERATION_UNSIGNED_MIN
           : of == NL_SIM_OPERATION_MAX ? NL_SIM_OPERATION_UNSIGNED_MAX
                                        : of;
}
constexpr unsigned real_operation(unsigned of) {
    return of == NL_SIM_OPERATION_ADD ? NL_SIM_OPERATION_ADD_REAL : 0;
}
NUMBALITE_SIM_OPERATION_ON(int, of)
NUMBALITE_SIM_OPERATION_ON(long, of)
NUMBALITE_SIM_OPERATION_ON(long long, of)
NUMBALITE_SIM_OPERATION_ON(unsigned, unsigned_operation(of))
NUMBALITE_SIM_OPERATION_ON(unsigned long, unsigned_operation(of))
NUMBALITE_SIM_OPERATION_ON(unsigned long long, unsigned_operation(of))
NUMBALITE_SIM_OPERATION_ON(float, real_operation(of))
NUMBALITE_SIM_OPERATION_ON(double, real_operation(of))
#undef NUMBALITE_SIM_OPERATION_ON
#endif

/* Executes *address = change(*address) atomically; returns the old value. */
template <class T, class Change>
NUMBALITE_SIM_INLINE T update(T *address, Change change, unsigned of = 0) {
    typedef typename word<sizeof(T)>::type Word;
    Word *place = reinterpret_cast<Word *>(address);
    begin_update(of);
    Word old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &old, bits<Word>(change(bits<T>(old))), true,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    end_update();
    return bits<T>(old);
}

template <class T>
NUMBALITE_SIM_INLINE T compare_and_swap(T *address, T compare, T value, const char *file,
                                        int line) {
    typedef typename word<sizeof(T)>::type Word;
    Word old = bits<Word>(compare);
    if (!__atomic_compare_exchange_n(reinterpret_cast<Word *>(address), &old, bits<Word>(value),
                                     false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        spin(file, line);
    return bits<T>(old);
}

template <class T>
NUMBALITE_SIM_INLINE T exchange(T *address, T value, const char *file, int line) {
    typedef typename word<sizeof(T)>::type Word;
    Word old =
        __atomic_exchange_n(reinterpret_cast<Word *>(address), bits<Word>(value), __ATOMIC_SEQ_CST);
    if (old == bits<Word>(value))
        spin(file, line);
    return bits<T>(old);
}

template <class T> NUMBALITE_SIM_INLINE T changed(T old, bool change, const char *file, int line) {
    if (!change)
        spin(file, line);
    return old;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* Defines integer operations that the CPU supports. */
#define NUMBALITE_SIM_FETCH(s, name, T, operation, change) \
    NUMBALITE_SIM_INLINE T name##s(T *address, T value, NUMBALITE_SIM_SITE) { \
        NUMBALITE_SIM_SCOPE##s return numbalite_sim::changed( \
            __atomic_fetch_##operation(address, value, __ATOMIC_SEQ_CST), change, file, line); \
    }
/* Defines operations that are implemented by compare-and-swap; `old` is the current value. */
#define NUMBALITE_SIM_UPDATE(s, name, T, expression, of) \
    NUMBALITE_SIM_INLINE T name##s(T *address, T value) { \
        NUMBALITE_SIM_SCOPE##s return numbalite_sim::update( \
            address, [value](T old) -> T { return expression; }, NUMBALITE_SIM_OPERATION_OF(of)); \
    }
#define NUMBALITE_SIM_EXTREME(s, name, T, comparison, of) \
    NUMBALITE_SIM_INLINE T name##s(T *address, T value, NUMBALITE_SIM_SITE) { \
        NUMBALITE_SIM_SCOPE##s numbalite_sim::begin_update(NUMBALITE_SIM_OPERATION_OF(of)); \
        T old = __atomic_load_n(address, __ATOMIC_RELAXED); \
        while (value comparison old && \
               !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) { \
        } \
        numbalite_sim::end_update(); \
        return numbalite_sim::changed(old, value comparison old, file, line); \
    }
#define NUMBALITE_SIM_SWAP(s, name, T) \
    NUMBALITE_SIM_INLINE T name##s(T *address, T compare, T value, NUMBALITE_SIM_SITE) { \
        NUMBALITE_SIM_SCOPE##s return numbalite_sim::compare_and_swap(address, compare, value, \
                                                                      file, line); \
    }
#define NUMBALITE_SIM_EXCHANGE(s, name, T) \
    NUMBALITE_SIM_INLINE T name##s(T *address, T value, NUMBALITE_SIM_SITE) { \
        NUMBALITE_SIM_SCOPE##s return numbalite_sim::exchange(address, value, file, line); \
    }
#define NUMBALITE_SIM_BITWISE(s, T, sign) \
    NUMBALITE_SIM_FETCH(s, atomicAnd, T, and, true) \
    NUMBALITE_SIM_FETCH(s, atomicOr, T, or, value != 0) \
    NUMBALITE_SIM_FETCH(s, atomicXor, T, xor, value != 0) \
    NUMBALITE_SIM_EXTREME(s, atomicMin, T, <, sign##MIN) \
    NUMBALITE_SIM_EXTREME(s, atomicMax, T, >, sign##MAX)

#define NUMBALITE_SIM_ATOMICS(s) \
    NUMBALITE_SIM_FETCH(s, atomicAdd, int, add, value != 0) \
    NUMBALITE_SIM_FETCH(s, atomicAdd, unsigned, add, value != 0) \
    NUMBALITE_SIM_FETCH(s, atomicAdd, unsigned long long, add, value != 0) \
    NUMBALITE_SIM_UPDATE(s, atomicAdd, float, old + value, ADD_REAL) \
    template <int = 0> \
    NUMBALITE_SIM_UPDATE(s, atomicAdd, double, old + value, ADD_REAL) \
    NUMBALITE_SIM_INLINE float2 atomicAdd##s(float2 *address, float2 value) { \
        return float2{atomicAdd##s(&address->x, value.x), atomicAdd##s(&address->y, value.y)}; \
    } \
    NUMBALITE_SIM_INLINE float4 atomicAdd##s(float4 *address, float4 value) { \
        return float4{atomicAdd##s(&address->x, value.x), atomicAdd##s(&address->y, value.y), \
                      atomicAdd##s(&address->z, value.z), atomicAdd##s(&address->w, value.w)}; \
    } \
    NUMBALITE_SIM_FETCH(s, atomicSub, int, sub, value != 0) \
    NUMBALITE_SIM_FETCH(s, atomicSub, unsigned, sub, value != 0) \
    NUMBALITE_SIM_BITWISE(s, int, ) \
    NUMBALITE_SIM_BITWISE(s, unsigned, UNSIGNED_) \
    NUMBALITE_SIM_BITWISE(s, long long, ) \
    NUMBALITE_SIM_BITWISE(s, unsigned long long, UNSIGNED_) \
    NUMBALITE_SIM_UPDATE(s, atomicInc, unsigned, old >= value ? 0 : old + 1, COUNT) \
    NUMBALITE_SIM_UPDATE(s, atomicDec, unsigned, old == 0 || old > value ? value : old - 1, COUNT) \
    NUMBALITE_SIM_EXCHANGE(s, atomicExch, int) \
    NUMBALITE_SIM_EXCHANGE(s, atomicExch, unsigned) \
    NUMBALITE_SIM_EXCHANGE(s, atomicExch, unsigned long long) \
    NUMBALITE_SIM_EXCHANGE(s, atomicExch, float) \
    NUMBALITE_SIM_SWAP(s, atomicCAS, int) \
    NUMBALITE_SIM_SWAP(s, atomicCAS, unsigned) \
    NUMBALITE_SIM_SWAP(s, atomicCAS, unsigned long long) \
    NUMBALITE_SIM_SWAP(s, atomicCAS, unsigned short)

NUMBALITE_SIM_ATOMICS()
NUMBALITE_SIM_ATOMICS(_block)
NUMBALITE_SIM_ATOMICS(_system)

#undef NUMBALITE_SIM_SCOPE_system
#undef NUMBALITE_SIM_SCOPE_block
#undef NUMBALITE_SIM_SCOPE
#undef NUMBALITE_SIM_ATOMICS
#undef NUMBALITE_SIM_BITWISE
#undef NUMBALITE_SIM_EXCHANGE
#undef NUMBALITE_SIM_SWAP
#undef NUMBALITE_SIM_EXTREME
#undef NUMBALITE_SIM_FETCH

#endif
