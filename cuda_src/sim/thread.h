/* sim/thread: the state of the running thread: its indices, and its calls of the engine.
 *
 * `here` contains the indices of the running thread; each OS thread has its own `here`. The address
 * of `here` is never passed out of the image, and only single members are accessed, so that the
 * compiler can optimize `here` and vectorize the loop over a block's threads.
 *
 * An engine call may run other threads on this OS thread; `engine_call` saves this thread's index
 * on its own stack and restores it. */
#ifndef NUMBALITE_SIM_THREAD_H
#define NUMBALITE_SIM_THREAD_H

#ifdef NUMBALITE_SIM_CHECKED
#include "checker.h"
#endif

namespace numbalite_sim {

struct place {
    unsigned thread_x, thread_y, thread_z;
    unsigned block_x, block_y, block_z;
    unsigned block_dim_x, block_dim_y, block_dim_z;
    unsigned grid_dim_x, grid_dim_y, grid_dim_z;
    unsigned dynamic_bytes;
    bool called; /* whether this thread has called the engine */
    bool cooperative;
    /* state of the numbered barriers: 1 while a thread of the block initializes the barriers, then
     * 2 */
    unsigned char named;
};

static __thread place here;
static __thread unsigned spins;
static const nl_sim_ops *ops;

NUMBALITE_SIM_PLACE uint3 thread_index() {
    return uint3{here.thread_x, here.thread_y, here.thread_z};
}
NUMBALITE_SIM_PLACE uint3 block_index() {
    return uint3{here.block_x, here.block_y, here.block_z};
}
NUMBALITE_SIM_PLACE dim3 block_dim() {
    return dim3(here.block_dim_x, here.block_dim_y, here.block_dim_z);
}
NUMBALITE_SIM_PLACE dim3 grid_dim() {
    return dim3(here.grid_dim_x, here.grid_dim_y, here.grid_dim_z);
}

/* Returns the linear index of the thread in its block. */
NUMBALITE_SIM_PLACE unsigned rank() {
    return here.thread_x + here.block_dim_x * (here.thread_y + here.block_dim_y * here.thread_z);
}
NUMBALITE_SIM_PLACE unsigned lane() {
    return rank() & 31;
}
NUMBALITE_SIM_PLACE unsigned block_threads() {
    return here.block_dim_x * here.block_dim_y * here.block_dim_z;
}

struct engine_call {
    unsigned x, y, z;
    NUMBALITE_SIM_INLINE engine_call() : x(here.thread_x), y(here.thread_y), z(here.thread_z) {
        here.called = true;
    }
    NUMBALITE_SIM_INLINE ~engine_call() {
        here.thread_x = x;
        here.thread_y = y;
        here.thread_z = z;
        here.called = true;
    }
};

NUMBALITE_SIM_OWN int barrier(nl_sim_block_op op, int value, const char *file, int line,
                              int column = 0) {
    engine_call call;
    return ops->barrier(op, value, rank(), nl_sim_site{file, line, column});
}

/* Waits for all threads of a tile of several warps; each receives the value of the tile's thread
 * `source`. */
NUMBALITE_SIM_OWN unsigned long long exchange_in_tile(unsigned threads, unsigned long long value,
                                          unsigned source, const char *file, int line) {
    engine_call call;
    return ops->tile(threads, value, source, rank(), nl_sim_site{file, line});
}

NUMBALITE_SIM_OWN void grid_barrier(const char *file = __builtin_FILE(),
                                    int line = __builtin_LINE()) {
    engine_call call;
    ops->grid_barrier(rank(), nl_sim_site{file, line});
}

NUMBALITE_SIM_OWN void yield(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    engine_call call;
#ifdef NUMBALITE_SIM_CHECKED
    /* saved, because other threads, with other flags, run during the call */
    bool narrow = is_narrow, drops = value_is_dropped;
    is_narrow = value_is_dropped = false;
    ops->yield(rank(), nl_sim_site{file, line});
    is_narrow = narrow;
    value_is_dropped = drops;
#else
    ops->yield(rank(), nl_sim_site{file, line});
#endif
}

/* Lets other threads run at intervals; must be called in loops that may wait for another thread. */
NUMBALITE_SIM_OWN void spin(const char *file, int line) {
    if (__builtin_expect((++spins & 255) == 0, 0))
        yield(file, line);
}

/* Synchronizes the lanes of a warp before a volatile access. */
NUMBALITE_SIM_OWN void synchronize_before_volatile(const void *address, unsigned place) {
    engine_call call;
    ops->warp(NL_SIM_WARP_STEP, 0, reinterpret_cast<unsigned long long>(address), place, rank(),
              nl_sim_site{nullptr, 0});
}

/* PTX's %smid, %globaltimer and exit. */
NUMBALITE_SIM_OWN unsigned smid() {
    return ops->smid();
}
NUMBALITE_SIM_OWN unsigned long long globaltimer() {
    return ops->globaltimer();
}
[[noreturn]] NUMBALITE_SIM_OWN void exit_thread() {
    ops->exit_thread(rank());
}

[[noreturn]] inline NUMBALITE_SIM_UNCHECKED __attribute__((noinline, cold)) void
fault(int status, const char *message, const char *file, int line) {
    ops->fault(status, message, rank(), nl_sim_site{file, line});
}

/* Dynamic shared memory: `extern __shared__ T x[];` becomes `auto &x = dynamic_shared<T[]>();`. */
NUMBALITE_SIM_OWN void *dynamic_base() {
    return ops->dynamic_shared();
}
#ifdef NUMBALITE_SIM_CHECKED
/* Reports that an array has no element `index` along `axis`. */
[[noreturn]] NUMBALITE_SIM_APART NUMBALITE_SIM_OWN void
bad_index(long long index, int axis, const long long *shape, int ndim, const void *array) {
    const nl_sim_index what = {array, shape, ndim, axis, index};
    ops->checker->index(&what, __builtin_return_address(0));
}

/* An array that generated code passes to the user's code, with its name in the user's code, which
 * reports contain. */
template <class A> struct nl_named {
    A nl_array;
    nl_sim_named row;
    NUMBALITE_SIM_UNCHECKED nl_named(const char *name, const A &given) : nl_array(given), row() {
        row.name = name;
        row.first = nl_array.pointer;
        row.item = sizeof(*nl_array.pointer);
        row.ndim = A::ndim;
        row.shape = nl_array.shape;
        row.strides = nl_array.strides;
        ops->checker->name(&row);
    }
    NUMBALITE_SIM_UNCHECKED ~nl_named() { ops->checker->unname(&row); }
    nl_named(const nl_named &) = delete;
};

/* The element type and extents of an array type. */
template <class T> struct elements {
    typedef T item;
    static constexpr unsigned ndim = 0;
    static constexpr unsigned long long extent(unsigned) { return 1; }
};
template <class T, size_t n> struct elements<T[n]> {
    typedef typename elements<T>::item item;
    static constexpr unsigned ndim = elements<T>::ndim + 1;
    static constexpr unsigned long long extent(unsigned k) {
        return k ? elements<T>::extent(k - 1) : n;
    }
};
template <class T> struct elements<T[]> : elements<T[1]> {};
template <class T> constexpr nl_sim_shared shared_of(unsigned long long size) {
    typedef elements<T> e;
    return {nullptr,
            size,
            sizeof(typename e::item),
            e::ndim,
            {e::extent(0), e::extent(1), e::extent(2), e::extent(3)}};
}

/* Returns a `__shared__ T name;`, which a number distinguishes from other variables of its type. */
template <class T, unsigned number> NUMBALITE_SIM_OWN T &shared_variable(const char *name) {
    static nl_sim_shared variable = shared_of<T>(sizeof(T));
    variable.name = name;
    return *static_cast<T *>(ops->checker->shared(&variable));
}
template <class Array> NUMBALITE_SIM_OWN Array &dynamic_shared(const char *name) {
    static nl_sim_shared variable = shared_of<Array>(0);
    variable.name = name;
    return *static_cast<Array *>(ops->checker->shared(&variable));
}
#endif
template <class Array> NUMBALITE_SIM_INLINE Array &dynamic_shared() {
    return *static_cast<Array *>(dynamic_base());
}

} // namespace numbalite_sim

/* How check.cuh ends a thread. */
[[noreturn]] NUMBALITE_SIM_INLINE void __nl_sim_exit() {
    numbalite_sim::exit_thread();
}

/* ---- The barriers of the block; the engine's reports contain the source position ---- */

#if defined(__has_builtin)
#if __has_builtin(__builtin_COLUMN)
#define NUMBALITE_SIM_COLUMN __builtin_COLUMN()
#endif
#endif
#ifndef NUMBALITE_SIM_COLUMN
#define NUMBALITE_SIM_COLUMN 0
#endif
#define NUMBALITE_SIM_BARRIER_SITE \
    const char *file = __builtin_FILE(), int line = __builtin_LINE(), \
               int column = NUMBALITE_SIM_COLUMN

NUMBALITE_SIM_INLINE void __syncthreads(NUMBALITE_SIM_BARRIER_SITE) {
    numbalite_sim::barrier(NL_SIM_BARRIER, 0, file, line, column);
}
NUMBALITE_SIM_INLINE int __syncthreads_count(int predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return numbalite_sim::barrier(NL_SIM_BARRIER_COUNT, predicate, file, line, column);
}
NUMBALITE_SIM_INLINE int __syncthreads_and(int predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return numbalite_sim::barrier(NL_SIM_BARRIER_AND, predicate, file, line, column);
}
NUMBALITE_SIM_INLINE int __syncthreads_or(int predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return numbalite_sim::barrier(NL_SIM_BARRIER_OR, predicate, file, line, column);
}

/* Their older names, of a bool. */
NUMBALITE_SIM_YIELDING int syncthreads_count(bool predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return __syncthreads_count(predicate, file, line, column);
}
NUMBALITE_SIM_YIELDING bool syncthreads_and(bool predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return __syncthreads_and(predicate, file, line, column);
}
NUMBALITE_SIM_YIELDING bool syncthreads_or(bool predicate, NUMBALITE_SIM_BARRIER_SITE) {
    return __syncthreads_or(predicate, file, line, column);
}

/* ---- Fences, by which a thread may wait for other threads. ---- */

namespace numbalite_sim {

/* While an object of this class exists, and `narrow` is set, atomics and fences have block scope.
 */
#ifdef NUMBALITE_SIM_CHECKED
NUMBALITE_SIM_OWN void set_is_narrow(bool narrow) {
    is_narrow = narrow;
}
struct narrow_scope {
    const bool narrow;
    NUMBALITE_SIM_INLINE explicit narrow_scope(bool narrow) : narrow(narrow) {
        if (narrow)
            set_is_narrow(true);
    }
    NUMBALITE_SIM_INLINE ~narrow_scope() {
        if (narrow)
            set_is_narrow(false);
    }
};
#else
struct narrow_scope {
    NUMBALITE_SIM_INLINE explicit narrow_scope(bool) {}
    NUMBALITE_SIM_INLINE ~narrow_scope() {}
};
#endif

} // namespace numbalite_sim

NUMBALITE_SIM_INLINE void __threadfence(const char *file = __builtin_FILE(),
                                        int line = __builtin_LINE()) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    numbalite_sim::spin(file, line);
}
NUMBALITE_SIM_INLINE void __threadfence_block(const char *file = __builtin_FILE(),
                                              int line = __builtin_LINE()) {
    numbalite_sim::narrow_scope scope(true);
    __threadfence(file, line);
}
NUMBALITE_SIM_INLINE void __threadfence_system(const char *file = __builtin_FILE(),
                                               int line = __builtin_LINE()) {
    __threadfence(file, line);
}
NUMBALITE_SIM_INLINE void __nanosleep(unsigned, const char *file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    numbalite_sim::yield(file, line);
}

#endif
