/* sim/prelude: defines CUDA C++ keywords and builtins for a host compiler.
 *
 * The host compiler reads this header before the user's source. The prelude includes no standard
 * header, so that a kernel compiles in a fraction of a second; libc.h declares the required
 * functions of the C library. Users can write `#ifdef NUMBALITE_SIM` to distinguish the simulator
 * from a GPU.
 *
 * Differences from a GPU, for otherwise valid CUDA C++:
 * - With compilers of the clang family, integer division by zero, shifts by the width or more,
 *   and conversions of floating-point numbers out of range return the results of a GPU
 *   (numbalite/compilers/sim/irpatch.py). With g++, only division returns a GPU's result
 *   (division.h), except in sources that numbalite/compilers/sim/divisions.py does not change, for
 *   example those with bit-fields: in these sources the CPU and the compiler determine the result.
 *   `x << 32` and `(int)1e10f` have the CPU's result. The intrinsics (__float2int_rz,
 *   __funnelshift_l...) return the GPU's results with both families of compilers. - The fast
 *   intrinsics (__sinf, __expf...) are as accurate as the normal functions. - Threads of a warp run
 *   one after the other between warp operations: code that relies on lockstep, without __syncwarp,
 *   is as incorrect as on any GPU since Volta. With compilers of the clang family, lanes do
 *   synchronize at volatile accesses to shared memory.
 * - A thread that waits by reading memory in a loop must read through volatile or with an atomic,
 *   or call __nanosleep or __threadfence in the loop; with g++, volatile alone is not enough. */
#ifndef NUMBALITE_SIM_PRELUDE_H
#define NUMBALITE_SIM_PRELUDE_H

#define NUMBALITE_SIM 1

#ifndef __cplusplus
#error "CUDA C++ needs a C++ compiler"
#endif
#if !defined(__GNUC__) && !defined(__clang__)
#error "the simulator needs g++ 9, clang++ 10, or newer"
#endif
#ifdef __clang__
#define NUMBALITE_SIM_CLANG __clang_major__
#endif

/* Macros that NVRTC predefines and that user code tests. */
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_LIST__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#ifdef __CHAR_UNSIGNED__
#error "compile with -fsigned-char: char is signed in CUDA"
#endif

/* Memory spaces. All memory is host memory; a __shared__ variable exists once per OS thread,
 * because an OS thread runs one block at a time. */
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#ifdef NUMBALITE_HOST
#define __shared__ \
    static_assert(false, "numbalite: __shared__ memory needs a grid of threads, " \
                         "and code for the CPU runs without one: use it in kernels (cuda.jit)");
#else
#define __shared__ static thread_local
#endif

#define __forceinline__ inline NUMBALITE_SIM_ALWAYS_INLINE
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __local_maxnreg__(...)
#define __nv_pure__ __attribute__((pure))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define __specialization_static static

/* Marks a declaration whose use is an error with numbalite's message. host.py finds the message in
 * the compiler's output by the prefix. */
#if defined(NUMBALITE_SIM_CLANG) || __GNUC__ >= 12
#define NUMBALITE_SIM_CANNOT(message) __attribute__((unavailable("numbalite: " message)))
#else /* this variant reports only uses of functions */
#define NUMBALITE_SIM_CANNOT(message) __attribute__((error("numbalite: " message)))
#endif
/* Defines the body of a class template that must not be instantiated. */
#define NUMBALITE_SIM_CANNOT_BE(name, message) \
    { static_assert(::numbalite_sim::never<name>::value, "numbalite: " message); }
namespace numbalite_sim {
template <class> struct never { static constexpr bool value = false; };
template <class T> T copied(T); /* gotos.py uses this template to determine the type that `auto`
                                 * would deduce */
} // namespace numbalite_sim
#if defined(__has_builtin)
#define NUMBALITE_SIM_HAS(builtin) __has_builtin(builtin)
#else
#define NUMBALITE_SIM_HAS(builtin) 0
#endif
/* Precedes functions that sources may define themselves with the same parameters, as NVRTC allows:
 * overload resolution prefers functions to templates. */
#define NUMBALITE_SIM_YIELDING template <int = 0> NUMBALITE_SIM_INLINE
#include "attributes.h"

/* numbalite/compilers/sim/translation.py replaces code that cannot be compiled by these macros. */
#define NUMBALITE_SIM_ASM(instruction) \
    static_assert(false, \
                  "numbalite: inline PTX (asm) " instruction " cannot run on the CPU simulator")
/* A variant for headers of the user, which may contain functions that are not called: an error only
 * if a function with the code is compiled and used. hostlog.py reads the position at the end of the
 * message. */
#if defined(__has_attribute) && __has_attribute(error)
#define NUMBALITE_SIM_TEXT_OF(line) #line
#define NUMBALITE_SIM_TEXT(line) NUMBALITE_SIM_TEXT_OF(line)
#define NUMBALITE_SIM_ASM_USED(instruction) \
    [] { \
        struct nl_asm { \
            __attribute__((error("numbalite: inline PTX (asm) " instruction \
                                 " cannot run on the CPU simulator, at " __FILE__ \
                                 ":" NUMBALITE_SIM_TEXT(__LINE__)))) static void \
            missing(); \
        }; \
        nl_asm::missing(); \
    }()
#else
#define NUMBALITE_SIM_ASM_USED NUMBALITE_SIM_ASM
#endif
#define NUMBALITE_SIM_CHEVRONS(...) \
    ; \
    static_assert(false, \
                  "numbalite: a launch of a kernel without a name (<<<...>>>) " \
                  "cannot run on the CPU simulator")

/* Precedes a variable with static lifetime: on a GPU its initial value must be a constant. */
#ifdef NUMBALITE_SIM_CLANG
#define NUMBALITE_SIM_CONSTANT __attribute__((require_constant_initialization))
#elif __GNUC__ >= 10
#define NUMBALITE_SIM_CONSTANT __constinit
#else
#define NUMBALITE_SIM_CONSTANT
#endif

/* Follows a declaration that gotos.py changed: GPU compilers allow a goto past the declaration only
 * for scalar types. */
#define NUMBALITE_SIM_JUMPED(name) \
    static_assert(!__is_class(decltype(name)) && !__is_union(decltype(name)), \
                  "numbalite: transfer of control bypasses the initialization of " #name);

/* These macros precede a statement that GPU compilers reject. */
#define NUMBALITE_SIM_SHARED_VALUE \
    static_assert(false, "numbalite: a __shared__ variable cannot have an initializer: " \
                         "let threads write the value, then call __syncthreads()");
#define NUMBALITE_SIM_ALIGNAS \
    static_assert(false, \
                  "numbalite: alignas does not apply here: write it before all other keywords, " \
                  "as in alignas(16) extern __shared__ float s[];");
#define NUMBALITE_SIM_SHARED_TYPES(name) \
    static_assert(false, \
                  "numbalite: extern __shared__ " #name " has another type further up: " \
                  "all declarations of one extern __shared__ array must have the same type");
#define NUMBALITE_SIM_AUTOMATIC(space) \
    static_assert(false, "numbalite: a __" #space "__ variable inside of a function must be static: " \
                         "static __" #space "__ float x;");
#define NUMBALITE_SIM_THREAD_LOCAL \
    static_assert(false, "numbalite: thread_local is only for threads of the CPU: " \
                         "each thread of a kernel has its own local variables");
#define NUMBALITE_SIM_TYPEOF \
    static_assert(false, \
                  "numbalite: compilers for GPUs do not support __typeof__: use decltype(x)");
#define NUMBALITE_SIM_EXTENSION \
    static_assert(false, "numbalite: compilers for GPUs do not support __extension__");

extern "C" {
#ifdef NUMBALITE_HOST /* host/prelude.h: the cpu targets */
#include "../host/abi.h"
#else
#include "abi.h"
#endif
}
#include "libc.h"
#include <initializer_list> // included as in NVRTC, but after libc.h, because libc++ needs size_t
#include "threadlocal.h"
#include "vector.h"
#ifdef NUMBALITE_HOST
#include "../host/vector.h"
#include "../host/thread.h"
#else
#include "thread.h"
#endif
#include "builtins.h"
#include "math.h"
#include "math_functions.h"
#include "intrinsics.h"
#include "rounding.h"
#include "convert.h"
#include "video.h"
#ifndef NUMBALITE_HOST
#include "cluster.h"
#endif
#include "memory.h"
#include "atomics.h"
#include "nv_atomics.h"
#ifndef NUMBALITE_HOST
#include "warp.h"
#endif
#include "library.h"
#include "driver_types.h"
#include "texture.h"
#include "asynccopy.h"
#ifndef NUMBALITE_HOST
#include "phases.h"
#include "mbarrier.h"
#include "latch.h"
#include "namedbarrier.h"
#endif
#include "ptx.h"
#include "unsupported.h"
#include "division.h"
#include "new.h"
#ifdef NUMBALITE_SIM_CHECKED
#include "check.h"
#ifdef NUMBALITE_SIM_CLANG
#include "uninitialized.h"
#endif
#endif
#include "formats.h"
#ifndef NUMBALITE_HOST
#include "ptx16.h"
#include "matrix.h"
#endif

#endif
