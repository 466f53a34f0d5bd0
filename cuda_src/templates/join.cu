/* The kernel of several small copies in one launch: copy k of `count` is made by some of the
 * blocks, in C order from of<k> to to<k>. The host has merged the axes and chosen the word type. */
#include "numbalite/complex.cuh"
#include "numbalite/unsigned_types.cuh"
enum { THREADS = 256, EACH = 4 };

template <class T, int D>
__device__ void copy_part(const array<T, D> &to, const array<const T, D> &of, int block) {
    typedef typename word_of<sizeof(T)>::type word;
    int count = 1;
#pragma unroll
    for (int d = 0; d < D; ++d)
        count *= (int)of.shape[d];
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        int left = (block * EACH + j) * THREADS + (int)threadIdx.x;
        long long from = 0, into = 0;
        if (left >= count)
            return;
#pragma unroll
        for (int d = D - 1; d >= 0; --d) {
            int length = (int)of.shape[d], rest = d > 0 ? left / length : 0;
            from += (left - rest * length) * of.strides[d];
            into += (left - rest * length) * to.strides[d];
            left = rest;
        }
        *(word *)((char *)to.data() + into) = *(const word *)((const char *)of.data() + from);
    }
}

template <class T, int D>
__global__ void __launch_bounds__(THREADS) join($parameters) {
    int block = (int)blockIdx.x;
$parts}
