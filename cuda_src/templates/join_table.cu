/* The kernel that concatenates any number of contiguous arrays: row k of `parts` is (address, words
 * in each row of the result, offset in the row, first block) of array k. `pitch` is the number of
 * words of a row. */
#include "numbalite/complex.cuh"
#include "numbalite/unsigned_types.cuh"
enum { THREADS = 256, EACH = 4 };

template <class T>
__global__ void __launch_bounds__(THREADS)
    join_table(array<const long long, 2> parts, array<T, 1> to, long long rows, long long pitch) {
    typedef typename word_of<sizeof(T)>::type word;
    long long low = 0, high = parts.shape[0];
    while (high - low > 1) { /* finds the last array whose first block is not after this block */
        long long middle = (low + high) / 2;
        if (parts(middle, 3) <= (long long)blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    const word *from = (const word *)parts(low, 0);
    const long long words = parts(low, 1), offset = parts(low, 2);
    const long long first = ((long long)blockIdx.x - parts(low, 3)) * (EACH * THREADS) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const long long i = first + j * THREADS, row = rows == 1 ? 0 : i / words;
        if (i < rows * words)
            ((word *)to.data())[row * pitch + offset + (i - row * words)] = from[i];
    }
}
