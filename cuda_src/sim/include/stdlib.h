/* <stdlib.h>: the prelude declares malloc and free; abort() ends the launch with an error. */
#pragma once
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
typedef struct {
    int quot, rem;
} div_t;
typedef struct {
    long quot, rem;
} ldiv_t;
typedef struct {
    long long quot, rem;
} lldiv_t;
#ifdef NUMBALITE_FAIL /* numbalite/check.cuh */
[[noreturn]] inline void abort(int line = NUMBALITE_HERE) {
    NUMBALITE_FAIL_AT(fault_trap, "", "abort", line, file);
}
#else
[[noreturn]] inline void abort() {
    numbalite_sim::fault(719, "abort() was called", "", 0);
}
#endif
/* rand() is declared because standard headers use its name; a call in a kernel aborts. */
inline int rand() {
    abort();
}
