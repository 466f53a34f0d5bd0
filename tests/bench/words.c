/* Calls a function of a CUDA library repeatedly. The function's arguments are 64-bit words, as in
 * cext/driver/cudalib.h. */
#include <stdint.h>
#include <time.h>

typedef int (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* Returns the microseconds of a call, including the wait at the end (NULL: no wait); negative if a
 * call failed. */
double time_words(function called, const uint64_t w[14], int (*wait)(void), long count) {
    struct timespec start, end;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < count; i++)
        status |= called(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                         w[12], w[13]);
    if (wait)
        status |= wait();
    clock_gettime(CLOCK_MONOTONIC, &end);
    double taken =
        (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) * 1e-3;
    return status ? -1 : taken / (double)count;
}
