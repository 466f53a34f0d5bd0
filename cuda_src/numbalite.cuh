/* numbalite: the declarations that are available in CUDA C++ source written for numbalite.
 *
 * This header is read before every kernel. Therefore the header contains only declarations that
 * nearly every kernel needs, in C++ that is fast to parse: NumPy's type names, the thread's index
 * in the grid, and `array`. Other features (complex numbers, tuples, more atomics, random numbers,
 * groups of threads, half precision) are in separate headers, "numbalite/NAME.cuh".
 * numbalite/cxx/devicelib.py includes such a header if the source mentions one of its names; a
 * source may also include it itself.
 *
 * numbalite.cuh includes no other header. The header is compiled by NVRTC from 12.0 on and, for the
 * CPU simulator, by g++ and clang++ after sim/prelude.h. Everything is in the namespace
 * numbalite. */
#ifndef NUMBALITE_CUH
#define NUMBALITE_CUH

#define NUMBALITE_FUNCTION __device__ __forceinline__

/* Defines the types of <stdint.h>, which NVRTC lacks, as CCCL's <cuda/std/cstdint> does, so that
 * both can be included. The simulator's prelude already defines these types. */
#ifndef NUMBALITE_SIM
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;

/* NVRTC provides no address of __managed__ variables, so the keyword is redefined. The host
 * accesses variables as device arrays, so a variable in device memory has the same effect. */
#undef __managed__
#define __managed__ __device__
#endif

namespace numbalite {

/* NumPy's type names. float16, complex64 and complex128 are in half.cuh and complex.cuh. */
typedef bool bool_;
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef long long intp;
typedef unsigned long long uintp;
typedef float float32;
typedef double float64;

/* Types that nvcc takes from the host's <sys/types.h>. */
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

} // namespace numbalite

#ifdef NUMBALITE_HOST /* code for the CPU has no grid */
#ifdef NUMBALITE_DEBUG
#include "host/check.h"
#endif
#else
#ifdef NUMBALITE_DEBUG
#include "numbalite/check.cuh"
#endif
#include "numbalite/index.cuh"
#endif
#include "numbalite/array.cuh"

/* Aliases that begin with nl_, for generated code after a source whose macros may redefine the
 * other names. */
namespace nl_numbalite = numbalite;

#endif
