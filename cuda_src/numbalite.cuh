/* numbalite: what CUDA C++ source written for numbalite finds in scope.
 *
 * This head is read before every kernel, so it is kept to what nearly every kernel needs and to C++
 * that is cheap to parse: NumPy's type names, the thread's place in the grid, and `array`. All else
 * (complex numbers, tuples, more atomics, random numbers, groups of threads, half precision) is a
 * part of its own, "numbalite/NAME.cuh", which numbalite/cxx/devicelib.py adds when the source mentions a
 * name of it, and which a source may include by hand.
 *
 * It needs no other header, is read by NVRTC from 12.0 on and, for the CPU simulator, by g++ and
 * clang++ after sim/prelude.h. Everything is in namespace numbalite. */
#ifndef NUMBALITE_CUH
#define NUMBALITE_CUH

#define NUMBALITE_FUNCTION __device__ __forceinline__

/* <stdint.h>'s names, which NVRTC lacks; the same types as in CCCL's <cuda/std/cstdint>, so that
 * both can be included. The simulator's prelude has them already. */
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

/* NVRTC gives no address of managed variables. What the host sees of a variable is a device array, so
 * that one in device memory does the same. */
#undef __managed__
#define __managed__ __device__
#endif

namespace numbalite {

/* NumPy's names. float16, complex64 and complex128 are in half.cuh and complex.cuh. */
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

/* What nvcc has from the host's <sys/types.h>. */
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

/* Names beginning with nl_ that mean the same as others are for generated text behind sources whose
 * macros have the others. */
namespace nl_numbalite = numbalite;

#endif
