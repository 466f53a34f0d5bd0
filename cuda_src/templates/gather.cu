/* The kernel of fancy indexing: gathers elements by index arrays, or scatters to them. Both arrays
 * are passed with the shape of the result: index arrays have stride 0 along axes that they do not
 * index, and the indexed array has stride 0 along the axes of the indices. An index out of bounds
 * wraps around or is clipped, or, if it is checked, fails an assertion; no memory outside of the
 * array is accessed. */
#include "numbalite/complex.cuh"
#include "numbalite/unsigned_types.cuh"
template <int Mode, typename I>
__device__ long long checked_offset(I index, long long length, long long step) {
    long long i = (long long)index;
    if (Mode == 2) {
        i = i < 0 ? 0 : i >= length ? length - 1 : i;
    } else {
        if (i < 0)
            i += length;
        bool index_is_within_the_axis = i >= 0 && i < length;
        if (Mode == 0) {
            ${check}
        }
        if (!index_is_within_the_axis) {
            i %= length;
            if (i < 0)
                i += length;
        }
    }
    return i * step;
}

template <typename W, typename I, int D, int Mode, bool Scatter, int Several> __global__ void __launch_bounds__(256)
gather(array<const W, D> from, array<W, D> to, ${parameters}) {
    long long first = (long long)blockIdx.x * blockDim.x * Several + threadIdx.x, size = to.size();
    typedef typename word_of<sizeof(W)>::type word;
    word words[Several]; /* all loads are issued before the first store */
    word *targets[Several];
#pragma unroll
    for (int s = 0; s < Several; s++) {
        long long n = first + s * blockDim.x;
        if (n >= size)
            break;
        long long of = 0, at = 0, ${offsets};
        if (size >> 31) {
#pragma unroll
            for (int d = D - 1; d >= 0; d--) {
                long long rest = d ? n / to.shape[d] : 0, k = n - rest * to.shape[d];
                of += k * from.strides[d], at += k * to.strides[d];
                ${steps}
                n = rest;
            }
        } else {
            unsigned int m = (unsigned int)n;
#pragma unroll
            for (int d = D - 1; d >= 0; d--) {
                unsigned int rest = d ? m / (unsigned int)to.shape[d] : 0;
                long long k = m - rest * (unsigned int)to.shape[d];
                of += k * from.strides[d], at += k * to.strides[d];
                ${steps}
                m = rest;
            }
        }
        long long place = ${places};
        (Scatter ? at : of) += place;
        words[s] = *(const word *)((const char *)from.data() + of);
        targets[s] = (word *)((char *)to.data() + at);
    }
#pragma unroll
    for (int s = 0; s < Several; s++)
        if (first + s * blockDim.x < size)
            *targets[s] = words[s];
}
