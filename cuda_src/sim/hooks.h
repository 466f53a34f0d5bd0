/* sim/hooks: the functions that the host compiler's instrumentation calls in checked images.
 *
 * A checked image is compiled with the instrumentation of the thread sanitizer (-fsanitize=thread),
 * which inserts a call before every memory access that is not obviously to a local variable. The
 * called functions are defined in this header, and no sanitizer runtime is linked. Each function
 * looks up the address in the engine's shadow memory (abi.h). If the shadow memory does not allow
 * the access, the function calls the engine. Indices, alignment and divisions are reported by calls
 * of other sanitizers (subscript.h, arithmetic.h).
 *
 * An access is identified by its address and the hook's return address, which the engine uses to
 * find the source line for a report.
 *
 * The hooks are the same for all kernels, and take longer to compile than most kernels. So the
 * hooks are in a separate compilation unit, which is compiled once and linked with each image
 * (numbalite/compilers/hostbuild.py). */
#ifndef NUMBALITE_SIM_HOOKS_H
#define NUMBALITE_SIM_HOOKS_H

extern "C" {
#include "abi.h"
}
#include "attributes.h"
#include "checker.h"

namespace numbalite_sim {

/* Returns the shadow state of `size` bytes that are all allocated and written. */
template <int size> struct shadow {
    typedef unsigned char word;
    static constexpr word good = 3;
};
template <> struct shadow<2> {
    typedef unsigned short word;
    static constexpr word good = 0x0303;
};
template <> struct shadow<4> {
    typedef unsigned word;
    static constexpr word good = 0x03030303u;
};
template <> struct shadow<8> {
    typedef unsigned long long word;
    static constexpr word good = 0x0303030303030303ull;
};

#if NUMBALITE_SIM_CHECKED & 1024 /* profile */
/* Returns the state of this OS thread for expected accesses, or NULL. */
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) nl_sim_counting *counting() {
#ifdef __x86_64__
    nl_sim_counting *state;
    if (__builtin_expect(!counting_offset, 0))
        return nullptr;
    __asm__("movq %%fs:(%1), %0" : "=r"(state) : "r"(counting_offset));
    return state;
#else
    return nullptr;
#endif
}

/* Counts an access that the warp's trace contains at this point. Returns false if the engine must
 * count the access. */
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) bool
is_expected(void *address, const void *pc) {
    nl_sim_counting *c = counting();
    if (__builtin_expect(!c, 0))
        return false;
    unsigned long long at = reinterpret_cast<unsigned long long>(address);
    unsigned thread = *c->current;
    const nl_sim_expected *e = c->next[thread];
    if (__builtin_expect(e->pc != pc || at - e->low >= e->span, 0))
        return false;
    e->address[thread % 32] = at;
    c->next[thread] = e + 1;
    return true;
}

/* Counts the start of a loop's next iteration (an event and a request), or the end of a loop, if
 * the warp's trace contains it at this point. */
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) bool
is_expected_repeat(unsigned loop, const void *pc) {
    nl_sim_counting *c = counting();
    if (__builtin_expect(!c, 0))
        return false;
    const nl_sim_expected *e = c->next[*c->current];
    if (__builtin_expect(e->pc != NL_SIM_EXPECTED_REPEAT || e->key != loop || e[1].pc != pc, 0))
        return false;
    c->next[*c->current] = e + 2;
    return true;
}
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) bool
is_expected_leave(unsigned loop) {
    nl_sim_counting *c = counting();
    if (__builtin_expect(!c, 0))
        return false;
    const nl_sim_expected *e = c->next[*c->current];
    if (__builtin_expect(e->pc != NL_SIM_EXPECTED_LEAVE || e->key != loop, 0))
        return false;
    c->next[*c->current] = e + 1;
    return true;
}

/* Returns whether the address is in the page of the caller's frame, and therefore on the thread's
 * stack, which the profiler does not count. Parameters of a kernel are read from the stack at each
 * access of an array. */
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) bool
is_local(const void *address) {
    const void *frame = __builtin_frame_address(0);
    return (reinterpret_cast<unsigned long long>(address) ^
            reinterpret_cast<unsigned long long>(frame)) < 4096;
}

static NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) void
count(void *address, unsigned long long size, unsigned kind, const void *pc) {
    if (is_local(address))
        return;
    if (__builtin_expect(checker->access(address, size, kind, pc), 0)) {
        let_others_run();
        check_rarely(address, size, kind, pc);
    }
}

template <int size>
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) void
check(void *address, unsigned kind, const void *pc) {
    if (__builtin_expect(!is_expected(address, pc), 0))
        count(address, size, kind, pc);
}
#else
template <int size>
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) void
check(void *address, unsigned kind, const void *pc) {
    const nl_sim_checker *c = checker;
    unsigned long long at = reinterpret_cast<unsigned long long>(address) - c->low;
    constexpr int part = size < 8 ? size : 8;
    typedef typename shadow<part>::word word;
    if (__builtin_expect(at < c->span && at % size == 0 && !c->every, 1)) {
        word state, again;
        __builtin_memcpy(&state, c->shadow + at, sizeof state);
        __builtin_memcpy(&again, c->shadow + at + size - part, sizeof again);
        if (__builtin_expect((state & again) == shadow<part>::good, 1))
            return;
    }
    check_rarely(address, size, kind, pc);
}
#endif

static NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) void
check_atomic(const volatile void *address, unsigned long long size, unsigned kind, const void *pc) {
    bool narrow = is_narrow;
    unsigned running = operation;
    if (running && kind & NL_SIM_ACCESS_COMPARE)
        return;        /* the load of the same atomic operation was already reported as the whole
                        * operation */
    is_narrow = false; /* reset here, because other threads may run during the next call */
    operation = 0;
    if (running)
        kind |= NL_SIM_ACCESS_WRITE | running << NL_SIM_ACCESS_OPERATION;
    else if (is_update)
        kind |= NL_SIM_ACCESS_UPDATE;
    is_update = value_is_dropped = false;
    check_rarely(address, size, kind | NL_SIM_ACCESS_ATOMIC | (narrow ? NL_SIM_ACCESS_NARROW : 0u),
                 pc);
    is_narrow = narrow;
    operation = running;
}

/* Checks an access of any size; if the address is not a multiple of the size, each byte is checked.
 * */
static inline NUMBALITE_SIM_UNCHECKED __attribute__((always_inline)) void
check_range(void *address, unsigned long long size, unsigned kind, const void *pc) {
    if (size)
        check_rarely(address, size, kind | NL_SIM_ACCESS_RANGE, pc);
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_HOOKS(size) \
    NUMBALITE_SIM_HOOK void nl_sim_read##size(void *p) __asm__("__tsan_read" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_read##size(void *p) { \
        numbalite_sim::check<size>(p, 0, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_write##size(void *p) __asm__("__tsan_write" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_write##size(void *p) { \
        numbalite_sim::check<size>(p, NL_SIM_ACCESS_WRITE, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_volatile_read##size(void *p) __asm__( \
        "__tsan_volatile_read" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_volatile_read##size(void *p) { \
        numbalite_sim::check_rarely(p, size, NL_SIM_ACCESS_VOLATILE, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_volatile_write##size(void *p) __asm__( \
        "__tsan_volatile_write" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_volatile_write##size(void *p) { \
        numbalite_sim::check_rarely(p, size, NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_VOLATILE, \
                                    NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_read##size(void *p) __asm__( \
        "__tsan_unaligned_read" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_read##size(void *p) { \
        numbalite_sim::check_range(p, size, 0, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_write##size(void *p) __asm__( \
        "__tsan_unaligned_write" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_write##size(void *p) { \
        numbalite_sim::check_range(p, size, NL_SIM_ACCESS_WRITE, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_volatile_read##size(void *p) __asm__( \
        "__tsan_unaligned_volatile_read" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_volatile_read##size(void *p) { \
        numbalite_sim::check_range(p, size, NL_SIM_ACCESS_VOLATILE, NUMBALITE_SIM_PC); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_volatile_write##size(void *p) __asm__( \
        "__tsan_unaligned_volatile_write" #size); \
    NUMBALITE_SIM_HOOK void nl_sim_unaligned_volatile_write##size(void *p) { \
        numbalite_sim::check_range(p, size, NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_VOLATILE, \
                                   NUMBALITE_SIM_PC); \
    }
NUMBALITE_SIM_HOOKS(1)
NUMBALITE_SIM_HOOKS(2)
NUMBALITE_SIM_HOOKS(4)
NUMBALITE_SIM_HOOKS(8)
NUMBALITE_SIM_HOOKS(16)
#undef NUMBALITE_SIM_HOOKS

NUMBALITE_SIM_HOOK void nl_sim_read_range(void *p, unsigned long size) __asm__("__tsan_read_range");
NUMBALITE_SIM_HOOK void nl_sim_read_range(void *p, unsigned long size) {
    numbalite_sim::check_range(p, size, 0, NUMBALITE_SIM_PC);
}
NUMBALITE_SIM_HOOK void nl_sim_write_range(void *p,
                                           unsigned long size) __asm__("__tsan_write_range");
NUMBALITE_SIM_HOOK void nl_sim_write_range(void *p, unsigned long size) {
    numbalite_sim::check_range(p, size, NL_SIM_ACCESS_WRITE, NUMBALITE_SIM_PC);
}
NUMBALITE_SIM_HOOK void nl_sim_vptr_update(void **p, void *) __asm__("__tsan_vptr_update");
NUMBALITE_SIM_HOOK void nl_sim_vptr_update(void **p, void *) {
    numbalite_sim::check<8>(p, NL_SIM_ACCESS_WRITE, NUMBALITE_SIM_PC);
}
NUMBALITE_SIM_HOOK void nl_sim_vptr_read(void **p) __asm__("__tsan_vptr_read");
NUMBALITE_SIM_HOOK void nl_sim_vptr_read(void **p) {
    numbalite_sim::check<8>(p, 0, NUMBALITE_SIM_PC);
}
NUMBALITE_SIM_HOOK void nl_sim_func_entry(void *) __asm__("__tsan_func_entry");
NUMBALITE_SIM_HOOK void nl_sim_func_entry(void *) {}
NUMBALITE_SIM_HOOK void nl_sim_func_exit(void *) __asm__("__tsan_func_exit");
NUMBALITE_SIM_HOOK void nl_sim_func_exit(void *) {}
NUMBALITE_SIM_HOOK void nl_sim_check_init() __asm__("__tsan_init");
NUMBALITE_SIM_HOOK void nl_sim_check_init() {}

/* ---- Implements block copies, which the compiler also generates for copies of structs. ---- */

#define NUMBALITE_SIM_COPY(function, symbol) \
    NUMBALITE_SIM_HOOK void *function(void *to, const void *from, \
                                      unsigned long size) __asm__(symbol); \
    NUMBALITE_SIM_HOOK void *function(void *to, const void *from, unsigned long size) { \
        numbalite_sim::checker->copy(to, from, size, NUMBALITE_SIM_PC); \
        return to; \
    }
NUMBALITE_SIM_COPY(nl_sim_copy, "memcpy")
NUMBALITE_SIM_COPY(nl_sim_move, "memmove")
NUMBALITE_SIM_COPY(nl_sim_tsan_copy, "__tsan_memcpy")
NUMBALITE_SIM_COPY(nl_sim_tsan_move, "__tsan_memmove")
#undef NUMBALITE_SIM_COPY
#define NUMBALITE_SIM_FILL(function, symbol) \
    NUMBALITE_SIM_HOOK void *function(void *to, int value, unsigned long size) __asm__(symbol); \
    NUMBALITE_SIM_HOOK void *function(void *to, int value, unsigned long size) { \
        numbalite_sim::check_range(to, size, NL_SIM_ACCESS_WRITE, NUMBALITE_SIM_PC); \
        numbalite_sim::checker->fill(to, value, size); \
        return to; \
    }
NUMBALITE_SIM_FILL(nl_sim_fill, "memset")
NUMBALITE_SIM_FILL(nl_sim_tsan_fill, "__tsan_memset")
#undef NUMBALITE_SIM_FILL

/* ---- atomics ---- */

#define NUMBALITE_SIM_SWAPS (NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_COMPARE)
#define NUMBALITE_SIM_PUTS (NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_BLIND)

namespace numbalite_sim {

static inline NUMBALITE_SIM_UNCHECKED unsigned exchange_kind() {
    return pop_value_is_dropped() ? NUMBALITE_SIM_PUTS
                          : NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_EXCHANGE;
}
static inline NUMBALITE_SIM_UNCHECKED unsigned update_kind(nl_sim_operation of) {
    return NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC |
           (pop_value_is_dropped() ? of << NL_SIM_ACCESS_OPERATION : 0u);
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_ATOMIC_RMW(bits, T, name, change, of) \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_##name(volatile T *p, T v, int) __asm__( \
        "__tsan_atomic" #bits "_" #name); \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_##name(volatile T *p, T v, int) { \
        numbalite_sim::check_atomic( \
            p, bits / 8, numbalite_sim::update_kind(NL_SIM_OPERATION_##of), NUMBALITE_SIM_PC); \
        return change(p, v, __ATOMIC_SEQ_CST); \
    }
#define NUMBALITE_SIM_ATOMIC_SWAP(bits, T, name) \
    NUMBALITE_SIM_HOOK int nl_sim_atomic##bits##_##name(volatile T *p, T *expected, T v, int, \
                                                        int) __asm__("__tsan_atomic" #bits \
                                                                     "_compare_exchange_" #name); \
    NUMBALITE_SIM_HOOK int nl_sim_atomic##bits##_##name(volatile T *p, T *expected, T v, int, \
                                                        int) { \
        numbalite_sim::check_atomic(p, bits / 8, NUMBALITE_SIM_SWAPS, NUMBALITE_SIM_PC); \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST); \
    }
#define NUMBALITE_SIM_ATOMICS_OF(bits, T) \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_load(const volatile T *p, \
                                                    int) __asm__("__tsan_atomic" #bits "_load"); \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_load(const volatile T *p, int) { \
        numbalite_sim::check_atomic(p, bits / 8, NL_SIM_ACCESS_ATOMIC, NUMBALITE_SIM_PC); \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
    } \
    NUMBALITE_SIM_HOOK void nl_sim_atomic##bits##_store(volatile T *p, T v, int) __asm__( \
        "__tsan_atomic" #bits "_store"); \
    NUMBALITE_SIM_HOOK void nl_sim_atomic##bits##_store(volatile T *p, T v, int) { \
        numbalite_sim::check_atomic(p, bits / 8, NUMBALITE_SIM_PUTS, NUMBALITE_SIM_PC); \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
    } \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_exchange(volatile T *p, T v, int) __asm__( \
        "__tsan_atomic" #bits "_exchange"); \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_exchange(volatile T *p, T v, int) { \
        numbalite_sim::check_atomic(p, bits / 8, numbalite_sim::exchange_kind(), \
                                    NUMBALITE_SIM_PC); \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); \
    } \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_add, __atomic_fetch_add, ADD) \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_sub, __atomic_fetch_sub, ADD) \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_and, __atomic_fetch_and, AND) \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_or, __atomic_fetch_or, OR) \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_xor, __atomic_fetch_xor, XOR) \
    NUMBALITE_SIM_ATOMIC_RMW(bits, T, fetch_nand, __atomic_fetch_nand, NONE) \
    NUMBALITE_SIM_ATOMIC_SWAP(bits, T, strong) \
    NUMBALITE_SIM_ATOMIC_SWAP(bits, T, weak) \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_swap(volatile T *p, T expected, T v, int, \
                                                    int) __asm__("__tsan_atomic" #bits \
                                                                 "_compare_exchange_val"); \
    NUMBALITE_SIM_HOOK T nl_sim_atomic##bits##_swap(volatile T *p, T expected, T v, int, int) { \
        numbalite_sim::check_atomic(p, bits / 8, NUMBALITE_SIM_SWAPS, NUMBALITE_SIM_PC); \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected; \
    }
NUMBALITE_SIM_ATOMICS_OF(8, unsigned char)
NUMBALITE_SIM_ATOMICS_OF(16, unsigned short)
NUMBALITE_SIM_ATOMICS_OF(32, unsigned)
NUMBALITE_SIM_ATOMICS_OF(64, unsigned long)
#undef NUMBALITE_SIM_ATOMICS_OF
#undef NUMBALITE_SIM_ATOMIC_SWAP
#undef NUMBALITE_SIM_ATOMIC_RMW

NUMBALITE_SIM_HOOK void nl_sim_thread_fence(int) __asm__("__tsan_atomic_thread_fence");
NUMBALITE_SIM_HOOK void nl_sim_thread_fence(int) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    numbalite_sim::checker->fence(numbalite_sim::is_narrow);
}
NUMBALITE_SIM_HOOK void nl_sim_signal_fence(int) __asm__("__tsan_atomic_signal_fence");
NUMBALITE_SIM_HOOK void nl_sim_signal_fence(int) {}

#if NUMBALITE_SIM_CHECKED & 1024
/* Reports iterations of loops in images that count accesses (numbalite/compilers/sim/loops.py). */
NUMBALITE_SIM_HOOK void nl_sim_loop_repeat(unsigned number) {
    if (!numbalite_sim::is_expected_repeat(number, NUMBALITE_SIM_PC))
        numbalite_sim::checker->loop(number, NUMBALITE_SIM_PC);
}
NUMBALITE_SIM_HOOK void nl_sim_loop_leave(unsigned number) {
    if (!numbalite_sim::is_expected_leave(number))
        numbalite_sim::checker->loop(number, nullptr);
}
#endif

#include "arithmetic.h"
#include "subscript.h"

#endif
