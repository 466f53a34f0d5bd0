/* sim/nv_atomics: the __nv_atomic_* functions, which accept any type of a supported size, an order
 * and a scope.
 *
 * Scopes and orders only affect the checks: a fence precedes a release operation and follows an
 * acquire operation, as in <cuda/atomic>. A load is reported as a spin, because the thread may be
 * waiting. */
#ifndef NUMBALITE_SIM_NV_ATOMICS_H
#define NUMBALITE_SIM_NV_ATOMICS_H

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace numbalite_sim {

template <> struct word<1> { typedef unsigned char type; };

struct nv_scope : narrow_scope {
    NUMBALITE_SIM_INLINE explicit nv_scope(int scope)
        : narrow_scope(scope <= __NV_THREAD_SCOPE_BLOCK) {}
};
NUMBALITE_SIM_INLINE void fence_before(int order, int scope) {
    nv_scope all(scope);
    if (order >= __NV_ATOMIC_RELEASE)
        __threadfence();
}
NUMBALITE_SIM_INLINE void fence_after(int order, int scope) {
    nv_scope all(scope);
    if (order != __NV_ATOMIC_RELAXED && order != __NV_ATOMIC_RELEASE)
        __threadfence();
}
template <class Operation>
NUMBALITE_SIM_INLINE auto run_in_scope(int scope, Operation operation) -> decltype(operation()) {
    nv_scope all(scope);
    return operation();
}
/* Executes an operation between the fences that its memory order requires. */
template <class T, class Operation>
NUMBALITE_SIM_INLINE T run_between_fences(int order, int scope, Operation operation) {
    fence_before(order, scope);
    T old = run_in_scope(scope, operation);
    fence_after(order, scope);
    return old;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_SCOPE int scope = __NV_THREAD_SCOPE_SYSTEM
/* The pointed-to type, in a form that is not deduced from the value argument. */
#define NUMBALITE_SIM_VALUE typename numbalite_sim::itself<T>::type
#define NUMBALITE_SIM_WORD typename numbalite_sim::word<sizeof(T)>::type

template <class T>
NUMBALITE_SIM_INLINE T __nv_atomic_load_n(const T *address, int order, NUMBALITE_SIM_SCOPE,
                                          NUMBALITE_SIM_SITE) {
    typedef NUMBALITE_SIM_WORD Word;
    Word found = numbalite_sim::run_in_scope(scope, [=]() -> Word {
        return __atomic_load_n(reinterpret_cast<const Word *>(address), __ATOMIC_SEQ_CST);
    });
    numbalite_sim::spin(file, line);
    numbalite_sim::fence_after(order, scope);
    return numbalite_sim::bits<T>(found);
}
template <class T>
NUMBALITE_SIM_INLINE void __nv_atomic_load(const T *address, NUMBALITE_SIM_VALUE *result, int order,
                                           int scope = __NV_THREAD_SCOPE_SYSTEM,
                                           NUMBALITE_SIM_SITE) {
    *result = __nv_atomic_load_n(address, order, scope, file, line);
}
template <class T>
NUMBALITE_SIM_INLINE void __nv_atomic_store_n(T *address, NUMBALITE_SIM_VALUE value, int order,
                                              NUMBALITE_SIM_SCOPE) {
    typedef NUMBALITE_SIM_WORD Word;
    numbalite_sim::fence_before(order, scope);
    numbalite_sim::nv_scope all(scope);
    __atomic_store_n(reinterpret_cast<Word *>(address), numbalite_sim::bits<Word>(value),
                     __ATOMIC_SEQ_CST);
}
template <class T>
NUMBALITE_SIM_INLINE void __nv_atomic_store(T *address, NUMBALITE_SIM_VALUE *value, int order,
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {
    __nv_atomic_store_n(address, *value, order, scope);
}
template <class T>
NUMBALITE_SIM_INLINE T __nv_atomic_exchange_n(T *address, NUMBALITE_SIM_VALUE value, int order,
                                              NUMBALITE_SIM_SCOPE, NUMBALITE_SIM_SITE) {
    return numbalite_sim::run_between_fences<T>(
        order, scope, [=]() -> T { return numbalite_sim::exchange(address, value, file, line); });
}
template <class T>
NUMBALITE_SIM_INLINE void
__nv_atomic_exchange(T *address, NUMBALITE_SIM_VALUE *value, NUMBALITE_SIM_VALUE *old, int order,
                     int scope = __NV_THREAD_SCOPE_SYSTEM, NUMBALITE_SIM_SITE) {
    *old = __nv_atomic_exchange_n(address, *value, order, scope, file, line);
}
template <class T>
NUMBALITE_SIM_INLINE bool
__nv_atomic_compare_exchange_n(T *address, NUMBALITE_SIM_VALUE *expected, NUMBALITE_SIM_VALUE value,
                               bool, int order, int, NUMBALITE_SIM_SCOPE, NUMBALITE_SIM_SITE) {
    typedef NUMBALITE_SIM_WORD Word;
    T old = numbalite_sim::run_between_fences<T>(order, scope, [=]() -> T {
        return numbalite_sim::compare_and_swap(address, *expected, value, file, line);
    });
    bool same = numbalite_sim::bits<Word>(old) == numbalite_sim::bits<Word>(*expected);
    *expected = old;
    return same;
}
template <class T>
NUMBALITE_SIM_INLINE bool
__nv_atomic_compare_exchange(T *address, NUMBALITE_SIM_VALUE *expected, NUMBALITE_SIM_VALUE *value,
                             bool weak, int order, int failed, int scope = __NV_THREAD_SCOPE_SYSTEM,
                             NUMBALITE_SIM_SITE) {
    return __nv_atomic_compare_exchange_n(address, expected, *value, weak, order, failed, scope,
                                          file, line);
}

#define NUMBALITE_SIM_OPERATION(name, expression, of) \
    template <class T> \
    NUMBALITE_SIM_INLINE T __nv_atomic_fetch_##name(T *address, NUMBALITE_SIM_VALUE value, \
                                                    int order, NUMBALITE_SIM_SCOPE) { \
        return numbalite_sim::run_between_fences<T>(order, scope, [=]() -> T { \
            return numbalite_sim::update( \
                address, [value](T old) -> T { return expression; }, \
                numbalite_sim::operation_on<T>(NUMBALITE_SIM_OPERATION_OF(of))); \
        }); \
    } \
    template <class T> \
    NUMBALITE_SIM_INLINE void __nv_atomic_##name(T *address, NUMBALITE_SIM_VALUE value, int order, \
                                                 int scope = __NV_THREAD_SCOPE_SYSTEM) { \
        __nv_atomic_fetch_##name(address, value, order, scope); \
    }
NUMBALITE_SIM_OPERATION(add, old + value, ADD)
NUMBALITE_SIM_OPERATION(sub, old - value, ADD)
NUMBALITE_SIM_OPERATION(and, old &value, AND)
NUMBALITE_SIM_OPERATION(or, old | value, OR)
NUMBALITE_SIM_OPERATION(xor, old ^ value, XOR)
NUMBALITE_SIM_OPERATION(min, value < old ? value : old, MIN)
NUMBALITE_SIM_OPERATION(max, old < value ? value : old, MAX)
#undef NUMBALITE_SIM_OPERATION

NUMBALITE_SIM_INLINE void __nv_atomic_thread_fence(int order,
                                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
    numbalite_sim::nv_scope all(scope);
    if (order != __NV_ATOMIC_RELAXED)
        __threadfence();
}

#undef NUMBALITE_SIM_SCOPE
#undef NUMBALITE_SIM_VALUE
#undef NUMBALITE_SIM_WORD

#endif
