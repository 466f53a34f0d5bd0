/* The kernel that copies a stack of matrices whose rows are contiguous on one side and whose
 * columns are contiguous on the other: from(n, y, x) has neighbours along x, to(n, y, x) along y,
 * or elements with a small stride. A block copies a tile through shared memory, so that both sides
 * are accessed by complete cache lines. An access reads V elements if the host has determined that
 * all rows are aligned for it. */
#include "numbalite/complex.cuh"
#include "numbalite/unsigned_types.cuh"

template <typename Element, int Side, int V> __global__ void __launch_bounds__(256)
transpose(array<const Element, 3> from, array<Element, 3> to) {
    typedef typename word_of<sizeof(Element)>::type T;
    struct alignas(sizeof(T) * V) run { T item[V]; };
    constexpr int lanes = Side / V, lines = 256 / lanes;
    __shared__ T tile[Side][Side + (sizeof(T) < 4 ? 4 / sizeof(T) : 1)];
    const long long width = from.shape[2], height = from.shape[1];
    const long long across = (width + Side - 1) / Side, down = (height + Side - 1) / Side;
    long long block = blockIdx.x, n = block / (across * down);
    block -= n * across * down;
    const long long left = block % across * Side, top = block / across * Side;
    const char *in = (const char *)from.data() + n * from.strides[0];
    char *out = (char *)to.data() + n * to.strides[0];
    const int lane = threadIdx.x % lanes * V, line = threadIdx.x / lanes;
    const long long step = V > 1 ? sizeof(T) : from.strides[2], step_out = V > 1 ? sizeof(T) : to.strides[1];
    const bool whole = left + Side <= width && top + Side <= height;
    if (whole) {
        run raw[Side / lines];
#pragma unroll
        for (int k = 0; k < Side / lines; k++)
            raw[k] = *(const run *)(in + (top + line + k * lines) * from.strides[1] +
                                    (left + lane) * step);
#pragma unroll
        for (int k = 0; k < Side / lines; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                tile[line + k * lines][lane + v] = raw[k].item[v];
    } else {
        for (int y = line; y < Side && top + y < height; y += lines)
            for (int v = 0; v < V; v++)
                if (left + lane + v < width)
                    tile[y][lane + v] = *(const T *)(in + (top + y) * from.strides[1] +
                                                     (left + lane + v) * step);
    }
    __syncthreads();
    if (whole) {
#pragma unroll
        for (int k = 0; k < Side / lines; k++) {
            run items;
#pragma unroll
            for (int v = 0; v < V; v++)
                items.item[v] = tile[lane + v][line + k * lines];
            *(run *)(out + (left + line + k * lines) * to.strides[2] +
                     (top + lane) * step_out) = items;
        }
    } else {
        for (int x = line; x < Side && left + x < width; x += lines)
            for (int v = 0; v < V; v++)
                if (top + lane + v < height)
                    *(T *)(out + (left + x) * to.strides[2] +
                           (top + lane + v) * step_out) = tile[lane + v][x];
    }
}
