/* sim/memory: loads and stores with cache hints, address spaces, and the heap of kernels. */
#ifndef NUMBALITE_SIM_MEMORY_H
#define NUMBALITE_SIM_MEMORY_H

namespace numbalite_sim {
template <class T> struct is_bool { static constexpr bool value = false; };
template <> struct is_bool<bool> { static constexpr bool value = true; };
} // namespace numbalite_sim
/* A compile error unless the type is a number or a vector of two or four numbers, for which a GPU
 * has instructions. */
#define NUMBALITE_SIM_ONE_ACCESS(name, T) \
    static_assert((sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16 && \
                      !numbalite_sim::is_bool<T>::value, \
                  "numbalite: " #name " takes numbers, and vectors of 2 or 4 of them with up to 16 " \
                  "bytes");

/* Defines loads; the cache hints have no effect, because the simulator has no caches. */
#define NUMBALITE_SIM_LOAD(name) \
    template <class T> NUMBALITE_SIM_INLINE T name(const T *address) { \
        NUMBALITE_SIM_ONE_ACCESS(name, T) \
        return *address; \
    }
NUMBALITE_SIM_LOAD(__ldg)
NUMBALITE_SIM_LOAD(__ldca)
NUMBALITE_SIM_LOAD(__ldcg)
NUMBALITE_SIM_LOAD(__ldcs)
NUMBALITE_SIM_LOAD(__ldlu)
#undef NUMBALITE_SIM_LOAD

/* __ldcv never reads from a cache, so programs use it in loops that wait for a value of another
 * thread. Therefore each call of __ldcv is reported to the engine as a spin. */
template <class T>
NUMBALITE_SIM_INLINE T __ldcv(const T *address, const char *file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    numbalite_sim::spin(file, line);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return *address;
}

namespace numbalite_sim {
template <class T> struct itself { typedef T type; };
} // namespace numbalite_sim
#define NUMBALITE_SIM_STORE(name) \
    template <class T> \
    NUMBALITE_SIM_INLINE void name(T *address, typename numbalite_sim::itself<T>::type value) { \
        NUMBALITE_SIM_ONE_ACCESS(name, T) \
        *address = value; \
    }
NUMBALITE_SIM_STORE(__stwb)
NUMBALITE_SIM_STORE(__stcg)
NUMBALITE_SIM_STORE(__stcs)
NUMBALITE_SIM_STORE(__stwt)
#undef NUMBALITE_SIM_STORE
#undef NUMBALITE_SIM_ONE_ACCESS

/* Cache hints for addresses have no effect. */
NUMBALITE_SIM_INLINE void *__nv_associate_access_property(const void *address, unsigned long long) {
    return const_cast<void *>(address);
}

/* These functions return the address space of an address: all memory is global, except the block's
 * shared memory. */
NUMBALITE_SIM_INLINE unsigned __isShared(const void *address) {
#ifdef NUMBALITE_HOST
    (void)address;
    return 0;
#else
    return numbalite_sim::cluster_rank_of(address) == static_cast<int>(__clusterRelativeBlockRank());
#endif
}
NUMBALITE_SIM_INLINE unsigned __isCtaShared(const void *address) {
    return __isShared(address);
}
NUMBALITE_SIM_INLINE unsigned __isGlobal(const void *address) {
    return !__isShared(address);
}
NUMBALITE_SIM_INLINE unsigned __isConstant(const void *) {
    return 0;
}
NUMBALITE_SIM_INLINE unsigned __isLocal(const void *) {
    return 0;
}
NUMBALITE_SIM_INLINE unsigned __isGridConstant(const void *) {
    return 0;
}
NUMBALITE_SIM_INLINE size_t __cvta_generic_to_global(const void *p) {
    return reinterpret_cast<size_t>(p);
}
NUMBALITE_SIM_INLINE size_t __cvta_generic_to_shared(const void *p) {
    return reinterpret_cast<size_t>(p);
}
NUMBALITE_SIM_INLINE size_t __cvta_generic_to_constant(const void *p) {
    return reinterpret_cast<size_t>(p);
}
NUMBALITE_SIM_INLINE size_t __cvta_generic_to_grid_constant(const void *p) {
    return reinterpret_cast<size_t>(p);
}
NUMBALITE_SIM_INLINE size_t __cvta_generic_to_local(const void *p) {
    return reinterpret_cast<size_t>(p);
}
NUMBALITE_SIM_INLINE void *__cvta_global_to_generic(size_t p) {
    return reinterpret_cast<void *>(p);
}
NUMBALITE_SIM_INLINE void *__cvta_shared_to_generic(size_t p) {
    return reinterpret_cast<void *>(p);
}
NUMBALITE_SIM_INLINE void *__cvta_constant_to_generic(size_t p) {
    return reinterpret_cast<void *>(p);
}
NUMBALITE_SIM_INLINE void *__cvta_grid_constant_to_generic(size_t p) {
    return reinterpret_cast<void *>(p);
}
NUMBALITE_SIM_INLINE void *__cvta_local_to_generic(size_t p) {
    return reinterpret_cast<void *>(p);
}

#endif
