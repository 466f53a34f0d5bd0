/* <stddef.h>: what the prelude does not have yet. */
#pragma once
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef decltype(nullptr) nullptr_t;
typedef struct {
    long long whole __attribute__((aligned(__alignof__(long long))));
    long double real __attribute__((aligned(__alignof__(long double))));
} max_align_t;
