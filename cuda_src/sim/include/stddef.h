/* <stddef.h>: those declarations that the prelude lacks. */
#pragma once
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef decltype(nullptr) nullptr_t;
/* The guards have the same names as in the compilers' own headers, which some libraries include
 * directly. */
#if !defined(__CLANG_MAX_ALIGN_T_DEFINED) && !defined(_GCC_MAX_ALIGN_T)
#define __CLANG_MAX_ALIGN_T_DEFINED
#define _GCC_MAX_ALIGN_T
typedef struct {
    long long whole __attribute__((aligned(__alignof__(long long))));
    long double real __attribute__((aligned(__alignof__(long double))));
} max_align_t;
#endif
