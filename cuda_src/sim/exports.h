/* sim/exports: exports the kernels and variables of the user's source in the form that the engine
 * requires (abi.h). This header is read before the source, and its macros are used after the
 * source, which may have defined macros with any name that does not begin with nl_ or NL_.
 *
 *   NUMBALITE_SIM_KERNEL(0, "saxpy<float>", (&saxpy<float>), 256) exports nl_sim_kernel_0
 *   NUMBALITE_SIM_VARIABLE(0, coefficients)                     exports nl_sim_variable_0
 *   NUMBALITE_SIM_DESCRIBE(0, some_type)                        stores the type's name in the image
 *
 * run_threads is the loop over a block's threads, with the kernel inlined. Parameters are copied to
 * the stack once. If a kernel never calls the engine, the compiler knows that `here.called` stays
 * false, and vectorizes the remaining plain loop. */
#ifndef NUMBALITE_SIM_EXPORTS_H
#define NUMBALITE_SIM_EXPORTS_H

#define NUMBALITE_SIM_EXPORT extern "C" __attribute__((__visibility__("default"), __used__))

/* Ignores destructors of __shared__ variables, such as cuda::barrier: a GPU does not call them. */
extern "C" __attribute__((__visibility__("hidden"))) int __cxa_thread_atexit(void (*)(void *),
                                                                             void *, void *) {
    return 0;
}

namespace numbalite_sim {

template <unsigned...> struct indices {};
template <unsigned n, unsigned... rest> struct count_to : count_to<n - 1, n - 1, rest...> {};
template <unsigned... all> struct count_to<0, all...> { typedef indices<all...> type; };

NUMBALITE_SIM_UNCHECKED NUMBALITE_SIM_INLINE void set_launch_indices(const nl_sim_launch *launch,
                                                        nl_sim_dim block) {
    here.block_x = block.x;
    here.block_y = block.y;
    here.block_z = block.z;
    here.block_dim_x = launch->block.x;
    here.block_dim_y = launch->block.y;
    here.block_dim_z = launch->block.z;
    here.grid_dim_x = launch->grid.x;
    here.grid_dim_y = launch->grid.y;
    here.grid_dim_z = launch->grid.z;
    here.dynamic_bytes = launch->shared_bytes;
    here.cooperative = launch->cooperative != 0;
    spins = 0; /* resets the state, so that the same order of threads produces the same run */
    here.named = 0;
}

static NUMBALITE_SIM_UNCHECKED void enter_block(const nl_sim_launch *launch, nl_sim_dim block) {
    set_launch_indices(launch, block);
}

NUMBALITE_SIM_UNCHECKED NUMBALITE_SIM_INLINE void enter_thread(const nl_sim_launch *launch,
                                                               unsigned thread) {
    here.thread_x = thread;
    here.thread_y = here.thread_z = 0;
    if (thread >= launch->block.x) { /* 1-D blocks need no divisions */
        unsigned rows = thread / launch->block.x;
        here.thread_x = thread % launch->block.x;
        here.thread_y = rows % launch->block.y;
        here.thread_z = rows / launch->block.y;
    }
}

/* The arguments of __cluster_dims__(x, y, z). */
constexpr nl_sim_dim cluster_dims() {
    return {0, 0, 0};
}
constexpr nl_sim_dim cluster_dims(unsigned x, unsigned y = 1, unsigned z = 1) {
    return {x, y, z};
}

template <class F> struct is_kernel { static constexpr bool value = false; };
template <class... A> struct is_kernel<void (*)(A...)> { static constexpr bool value = true; };
template <class F, F kernel> struct nl_entry {
    static_assert(is_kernel<F>::value,
                  "numbalite: a kernel is a __global__ function that returns void");
};
template <class I, class... A> struct nl_functions;
template <unsigned... i, class... A> struct nl_functions<indices<i...>, A...> {
    /* The loop is a function that is not inlined, because compilers optimize a function before they
     * inline it. */
    template <void (*kernel)(A...)>
/* in debug builds, clang would also inline the kernel, and debuggers would lose its variables */
#ifndef NUMBALITE_SIM_CLANG
    __attribute__((flatten))
#endif
    static __attribute__((noinline)) void
    run_threads(const nl_sim_launch *launch, nl_sim_dim block, unsigned first, A... arguments) {
        set_launch_indices(launch, block);
        nl_sim_dim size = launch->block;
        unsigned x = first % size.x, rows = first / size.x;
        unsigned y = rows % size.y, z = rows / size.y;
        for (; z < size.z; ++z, y = 0)
            for (; y < size.y; ++y, x = 0)
/* vectorization makes the loop fast; unrolling and interleaving would only double the code to
 * compile */
#ifdef NUMBALITE_SIM_CLANG
#pragma clang loop unroll(disable) interleave(disable)
#endif
                for (; x < size.x; ++x) {
                    here.thread_x = x;
                    here.thread_y = y;
                    here.thread_z = z;
                    here.called = false;
                    kernel(arguments...);
                    if (__builtin_expect(here.called, 0) && ops->is_fibers())
                        return;
                }
    }
    template <void (*kernel)(A...)>
    static void run_block(const nl_sim_launch *launch, nl_sim_dim block, unsigned first) {
        run_threads<kernel>(launch, block, first, *static_cast<const A *>(launch->args[i])...);
    }
    template <void (*kernel)(A...)>
    static NUMBALITE_SIM_UNCHECKED void run_thread(const nl_sim_launch *launch, nl_sim_dim,
                                                   unsigned thread) {
        enter_thread(launch, thread);
#ifdef NUMBALITE_SIM_CLANG
        kernel(*static_cast<const A *>(launch->args[i])...);
#else /* g++ does not inline the kernel, because compiling it twice takes longer than the calls */
        void (*called)(A...) = kernel;
        __asm__("" : "+r"(called));
        called(*static_cast<const A *>(launch->args[i])...);
#endif
    }
};
template <class... A, void (*kernel)(A...)> struct nl_entry<void (*)(A...), kernel> {
    typedef nl_functions<typename count_to<sizeof...(A)>::type, A...> functions;
    static constexpr nl_sim_param params[] = {{sizeof(A), alignof(A)}..., {0, 0}};
    static constexpr nl_sim_kernel nl_table(const char *text, unsigned most_threads,
                                            nl_sim_dim cluster = {0, 0, 0}) {
        return {NL_SIM_ABI,
                sizeof...(A),
                params,
/* the threads of a checked block always run on fibers, because the engine must know which thread
 * runs */
#ifdef NUMBALITE_SIM_CHECKED
                nullptr,
#else
                functions::template run_block<kernel>,
#endif
                functions::template run_thread<kernel>,
                text,
                most_threads,
                enter_block,
                cluster};
    }
};
template <class... A, void (*kernel)(A...)>
constexpr nl_sim_param nl_entry<void (*)(A...), kernel>::params[];

#if __cplusplus >= 201703L
template <class... A, void (*kernel)(A...) noexcept>
struct nl_entry<void (*)(A...) noexcept, kernel> : nl_entry<void (*)(A...), kernel> {};
#endif

#ifdef NUMBALITE_SIM_CHECKED
/* Functions that allow all accesses, for the time before the image is initialized. */
static inline NUMBALITE_SIM_UNCHECKED int allow_access(void *, unsigned long long, unsigned,
                                                const void *) {
    return 0;
}
static inline NUMBALITE_SIM_UNCHECKED void allow_fence(int) {}
static inline NUMBALITE_SIM_UNCHECKED void allow_copy(void *to, const void *from,
                                                      unsigned long long size, const void *) {
    for (unsigned long long i = 0; i < size; ++i)
        static_cast<volatile char *>(to)[i] = static_cast<const volatile char *>(from)[i];
}
static inline NUMBALITE_SIM_UNCHECKED void allow_fill(void *to, int value,
                                                      unsigned long long size) {
    for (unsigned long long i = 0; i < size; ++i)
        static_cast<volatile char *>(to)[i] = static_cast<char>(value);
}
static const nl_sim_checker absent = {0,          0,          nullptr, 0,       allow_access,
                                      allow_copy, allow_fill, nullptr, nullptr, allow_fence,
                                      nullptr,    nullptr,    nullptr, nullptr, nullptr,
                                      nullptr,    nullptr,    nullptr, 0};
const nl_sim_checker *checker = &absent;
long counting_offset;
__thread bool value_is_dropped, is_narrow, is_update;
__thread unsigned operation;

NUMBALITE_SIM_UNCHECKED __attribute__((noinline, cold)) void let_others_run() {
    engine_call call;
    bool drops = pop_value_is_dropped();
    checker->preempt();
    value_is_dropped = drops;
}

/* The description of a parameter. An array is recognized by its members. */
struct shape_of_value {
    static constexpr nl_sim_shape shape = {0, 0, 0};
};
template <class T> struct size_of { static constexpr unsigned value = sizeof(T); };
template <> struct size_of<void> { static constexpr unsigned value = 1; };
template <> struct size_of<const void> { static constexpr unsigned value = 1; };
template <class A, class = void> struct shape_of : shape_of_value {};
template <class T> struct shape_of<T *, void> {
    static constexpr nl_sim_shape shape = {1, 0, size_of<T>::value};
};
template <class R, class... A> struct shape_of<R (*)(A...), void> : shape_of_value {};
template <class A>
struct shape_of<A, decltype(static_cast<void>(A::ndim + sizeof(A().pointer) + sizeof(A().shape) +
                                              sizeof(A().strides)))> {
    static constexpr nl_sim_shape shape = {2, A::ndim, sizeof(*A().pointer)};
};
template <class F> struct nl_shapes_of;
template <class... A> struct nl_shapes_of<void (*)(A...)> {
    static constexpr unsigned count = sizeof...(A);
    static constexpr nl_sim_shape all[] = {shape_of<A>::shape..., {0, 0, 0}};
    static constexpr nl_sim_parameters nl_table(const char *names) {
        return {NL_SIM_ABI, count, all, names};
    }
};
template <class... A> constexpr nl_sim_shape nl_shapes_of<void (*)(A...)>::all[];
#if __cplusplus >= 201703L
template <class... A>
struct nl_shapes_of<void (*)(A...) noexcept> : nl_shapes_of<void (*)(A...)> {};
#endif
#endif

} // namespace numbalite_sim

#include "nested.h"

namespace numbalite_sim {

/* Extracts the compiler's spelling of T from the name of this function. */
template <int index, class T> constexpr const char *NLDESC() {
    return __PRETTY_FUNCTION__;
}

} // namespace numbalite_sim

#define NUMBALITE_SIM_KERNEL(nl_i, nl_text, nl_address, ...) \
    NUMBALITE_SIM_EXPORT const nl_sim_kernel nl_sim_kernel_##nl_i = \
        numbalite_sim::nl_entry<decltype(nl_address), nl_address>::nl_table(nl_text, __VA_ARGS__);
#define NUMBALITE_SIM_PARAMETERS(nl_i, nl_address, nl_names) \
    NUMBALITE_SIM_EXPORT const nl_sim_parameters nl_sim_parameters_##nl_i = \
        numbalite_sim::nl_shapes_of<decltype(nl_address)>::nl_table(nl_names);
#define NUMBALITE_SIM_NAMES(nl_text) NUMBALITE_SIM_EXPORT const char *const nl_sim_names = nl_text;
#define NUMBALITE_SIM_VARIABLE(nl_i, ...) \
    NUMBALITE_SIM_EXPORT const nl_sim_global nl_sim_variable_##nl_i = { \
        NL_SIM_ABI, (void *)&(__VA_ARGS__), sizeof(__VA_ARGS__)};
#define NUMBALITE_SIM_DESCRIBE(nl_i, ...) \
    NUMBALITE_SIM_EXPORT const char *const nl_sim_description_##nl_i = \
        numbalite_sim::NLDESC<nl_i, __VA_ARGS__>();

/* g++ cannot insert calls that detect NaN and infinity, so the image requests the processor's
 * floating-point exceptions. The bit 64 is NL_CHECK_NAN */
#if defined(NUMBALITE_SIM_CHECKED) && defined(__x86_64__) && !defined(NUMBALITE_SIM_CLANG)
#if NUMBALITE_SIM_CHECKED & 64
NUMBALITE_SIM_EXPORT const unsigned nl_sim_traps_reals = 1;
#endif
#endif

#ifdef NUMBALITE_SIM_CHECKED
NUMBALITE_SIM_EXPORT const unsigned nl_sim_checks = NUMBALITE_SIM_CHECKED;
#endif

/* Marks an image of kernels whose bodies are Python. */
#define NUMBALITE_SIM_PYTHON NUMBALITE_SIM_EXPORT const unsigned nl_sim_python = 1;

#ifdef NUMBALITE_DEBUG /* marks a compilation unit with debug=True */
NUMBALITE_SIM_EXPORT const unsigned nl_sim_debug = 1;
#endif

NUMBALITE_SIM_EXPORT NUMBALITE_SIM_UNCHECKED void nl_sim_image_init(const nl_sim_ops *table) {
    numbalite_sim::ops = table;
#ifdef NUMBALITE_SIM_CHECKED
    numbalite_sim::checker = table->checker;
    numbalite_sim::counting_offset = table->checker->counting;
#endif
}

#endif
