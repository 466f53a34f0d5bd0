/* The floors of element-wise functions and reductions: kernels written and optimized by hand, each for one
 * case. element_rows.py measures several variants of each (elements per thread, vectors per thread,
 * accumulators) and uses the fastest.
 *
 * n counts elements; sizes are multiples of a thread's elements, so no bounds checks are needed. */

template <class T, int V> struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) vec {
    T item[V];
};

template <class T> __device__ T noise_of(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return (T)(sizeof(T) == 1 ? (int)(x & 63) - 32 : x / 4294967296.0 * 100);
}
template <class T> __global__ void noise(T* x, long long n, unsigned seed) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) x[i] = noise_of<T>((unsigned)i + seed);
}
/* How many elements differ. */
template <class T> __global__ void differences(const T* x, const T* y, long long n, unsigned* count) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n && x[i] != y[i]) atomicAdd(count, 1u);
}

/* ---- element-wise ---- */

/* c = a + b; a thread makes U accesses of V elements each. */
template <class A, class B, class C, int V, int U>
__global__ void add(const A* a, const B* b, C* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    vec<A, V> x[U];
    vec<B, V> y[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        x[u] = ((const vec<A, V>*)a)[first + u * blockDim.x];
        y[u] = ((const vec<B, V>*)b)[first + u * blockDim.x];
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
        vec<C, V> z;
#pragma unroll
        for (int v = 0; v < V; ++v) z.item[v] = (C)((C)x[u].item[v] + (C)y[u].item[v]);
        ((vec<C, V>*)c)[first + u * blockDim.x] = z;
    }
}

/* c = 2.5 a */
template <class A, class C, int V, int U> __global__ void scale(const A* a, C* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    vec<A, V> x[U];
#pragma unroll
    for (int u = 0; u < U; ++u) x[u] = ((const vec<A, V>*)a)[first + u * blockDim.x];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        vec<C, V> z;
#pragma unroll
        for (int v = 0; v < V; ++v) z.item[v] = (C)x[u].item[v] * (C)2.5;
        ((vec<C, V>*)c)[first + u * blockDim.x] = z;
    }
}

/* c = a + row: each thread loads four elements of `row` once and uses them for R rows. Grid:
 * columns, rows. */
template <int R> __global__ void add_row(const float* a, const float* row, float* c, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, pitch = columns / 4;
    long long first = (long long)blockIdx.y * R * pitch + j;
    float4 r = ((const float4*)row)[j], x[R];
#pragma unroll
    for (int k = 0; k < R; ++k) x[k] = ((const float4*)a)[first + (long long)k * pitch];
#pragma unroll
    for (int k = 0; k < R; ++k)
        ((float4*)c)[first + (long long)k * pitch] =
            make_float4(x[k].x + r.x, x[k].y + r.y, x[k].z + r.z, x[k].w + r.w);
}

/* c = a + column; a thread computes U times four elements of one row. Grid: columns, rows. */
template <int U> __global__ void add_column(const float* a, const float* column, float* c, int columns) {
    long long first = (long long)blockIdx.y * (columns / 4) + blockIdx.x * blockDim.x * U + threadIdx.x;
    float r = column[blockIdx.y];
    float4 x[U];
#pragma unroll
    for (int k = 0; k < U; ++k) x[k] = ((const float4*)a)[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < U; ++k)
        ((float4*)c)[first + k * blockDim.x] =
            make_float4(x[k].x + r, x[k].y + r, x[k].z + r, x[k].w + r);
}

/* c = a + transposed b, n x n, by tiles of 32 x 32 in shared memory; blocks of 32 x Y threads. */
template <int Y> __global__ void add_transposed(const float* a, const float* b, float* c, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
#pragma unroll
    for (int k = 0; k < 32; k += Y)
        tile[threadIdx.y + k][threadIdx.x] = b[(long long)(x + threadIdx.y + k) * n + y + threadIdx.x];
    float r[32 / Y];
#pragma unroll
    for (int k = 0; k < 32; k += Y)
        r[k / Y] = a[(long long)(y + threadIdx.y + k) * n + x + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += Y)
        c[(long long)(y + threadIdx.y + k) * n + x + threadIdx.x] =
            r[k / Y] + tile[threadIdx.x][threadIdx.y + k];
}

/* c = a + transposed b by squares of 4 x 4 in a thread's registers; a block of 256 threads computes
 * 64 x 64 elements. */
__global__ void add_transposed_squares(const float* a, const float* b, float* c, int n) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int x = blockIdx.x * 64 + (lane % 8 + warp % 2 * 8) * 4;
    int y = blockIdx.y * 64 + (lane / 8 + warp / 2 * 4) * 4;
    vec<float, 4> p[4], q[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) q[k] = *(const vec<float, 4>*)(b + (long long)(x + k) * n + y);
#pragma unroll
    for (int k = 0; k < 4; ++k) p[k] = *(const vec<float, 4>*)(a + (long long)(y + k) * n + x);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int j = 0; j < 4; ++j) p[k].item[j] += q[j].item[k];
        *(vec<float, 4>*)(c + (long long)(y + k) * n + x) = p[k];
    }
}

/* c[i] = a[2 i] + b[i]: all of a is read, 16 bytes at a time. */
template <int U> __global__ void add_every_other(const float* a, const float* b, float* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    float4 p[U], q[U], y[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        long long i = first + u * blockDim.x;
        p[u] = ((const float4*)a)[2 * i];
        q[u] = ((const float4*)a)[2 * i + 1];
        y[u] = ((const float4*)b)[i];
    }
#pragma unroll
    for (int u = 0; u < U; ++u)
        ((float4*)c)[first + u * blockDim.x] =
            make_float4(p[u].x + y[u].x, p[u].z + y[u].y, q[u].x + y[u].z, q[u].z + y[u].w);
}
/* c[i] = a[2 i] + b[i], one element at a time. */
template <int U> __global__ void add_every_other_single(const float* a, const float* b, float* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    float x[U], y[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        x[u] = a[2 * (first + u * blockDim.x)];
        y[u] = b[first + u * blockDim.x];
    }
#pragma unroll
    for (int u = 0; u < U; ++u) c[first + u * blockDim.x] = x[u] + y[u];
}

/* c[i] = a[i + 1] + b[i]; the last element is not computed. */
template <int U> __global__ void add_next(const float* a, const float* b, float* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    float4 x[U], y[U];
    float next[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        long long i = first + u * blockDim.x;
        x[u] = ((const float4*)a)[i];
        next[u] = 4 * i + 4 < n ? a[4 * i + 4] : 0;
        y[u] = ((const float4*)b)[i];
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
        long long i = first + u * blockDim.x;
        float4 z = make_float4(x[u].y + y[u].x, x[u].z + y[u].y, x[u].w + y[u].z, next[u] + y[u].w);
        if (4 * i + 4 < n)
            ((float4*)c)[i] = z;
        else
            c[4 * i] = z.x, c[4 * i + 1] = z.y, c[4 * i + 2] = z.z;
    }
}
template <int U> __global__ void add_next_single(const float* a, const float* b, float* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x * U + threadIdx.x;
    float x[U], y[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
        long long i = first + u * blockDim.x;
        x[u] = i + 1 < n ? a[i + 1] : 0;
        y[u] = b[i];
    }
#pragma unroll
    for (int u = 0; u < U; ++u)
        if (first + u * blockDim.x + 1 < n) c[first + u * blockDim.x] = x[u] + y[u];
}

/* ---- Sums whose order of additions is not fixed. ---- */

/* Returns the sum of 16 bytes of elements S; bytes are added four at a time. */
template <class S> struct summand {
    enum { count = 16 / sizeof(S) };
    S part[count];
    __device__ summand() {
        for (int k = 0; k < count; ++k) part[k] = 0;
    }
    __device__ void add(const vec<S, count>& x) {
#pragma unroll
        for (int k = 0; k < count; ++k) part[k] += x.item[k];
    }
    __device__ S total() const {
        S sum = part[0];
#pragma unroll
        for (int k = 1; k < count; ++k) sum += part[k];
        return sum;
    }
};
template <> struct summand<signed char> {
    enum { count = 16 };
    unsigned part[4] = {0, 0, 0, 0};
    __device__ void add(const vec<signed char, 16>& x) {
        const unsigned* words = (const unsigned*)&x;
#pragma unroll
        for (int k = 0; k < 4; ++k) part[k] = __vadd4(part[k], words[k]);
    }
    __device__ signed char total() const {
        unsigned sum = __vadd4(__vadd4(part[0], part[1]), __vadd4(part[2], part[3]));
        return (signed char)(sum + (sum >> 8) + (sum >> 16) + (sum >> 24));
    }
};

template <class S> __device__ S over_block(S value) {
    __shared__ S of_warps[32];
    if (sizeof(S) == 1) {
        int wide = value;
        for (int step = 16; step; step /= 2) wide += __shfl_down_sync(~0u, wide, step);
        value = (S)wide;
    } else {
        for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < (int)blockDim.x / 32; ++w) value += of_warps[w];
    return value;
}

/* A block sums the elements from begin to end: for all axes the grid shares one row, then one block
 * sums the blocks' partial sums; along rows each block has its own. */
template <class S, int U> __device__ S sum_between(const S* x, long long begin, long long end) {
    typedef vec<S, summand<S>::count> wide;
    const wide* from = (const wide*)x;
    summand<S> sum;
    begin /= summand<S>::count;
    end /= summand<S>::count;
    long long i = begin + threadIdx.x;
    for (; i + (U - 1) * (long long)blockDim.x < end; i += U * (long long)blockDim.x) {
        wide w[U];
#pragma unroll
        for (int u = 0; u < U; ++u) w[u] = from[i + u * blockDim.x];
#pragma unroll
        for (int u = 0; u < U; ++u) sum.add(w[u]);
    }
    for (; i < end; i += blockDim.x) sum.add(from[i]);
    return over_block(sum.total());
}
/* Grid: pieces of a row, rows. */
template <class S, int U> __global__ void sum_rows(const S* x, S* out, long long columns) {
    long long each = columns / gridDim.x, begin = blockIdx.y * columns + blockIdx.x * each;
    S total = sum_between<S, U>(x, begin, begin + each);
    if (threadIdx.x == 0) out[blockIdx.y * (long long)gridDim.x + blockIdx.x] = total;
}
/* Columns: a thread sums as many adjacent columns as 16 bytes contain. Grid: columns, parts of the
   rows; out has a row for each part. */
template <class S, int U> __global__ void sum_columns(const S* x, S* out, int columns, int rows) {
    typedef vec<S, 16 / sizeof(S)> wide;
    int j = blockIdx.x * blockDim.x + threadIdx.x, pitch = columns / (16 / (int)sizeof(S));
    int each = rows / gridDim.y;
    const wide* from = (const wide*)x + (long long)blockIdx.y * each * pitch + j;
    wide sum;
#pragma unroll
    for (int k = 0; k < 16 / (int)sizeof(S); ++k) sum.item[k] = 0;
    for (int i = 0; i < each; i += U) {
        wide w[U];
#pragma unroll
        for (int u = 0; u < U; ++u) w[u] = from[(long long)(i + u) * pitch];
#pragma unroll
        for (int u = 0; u < U; ++u) {
            if (sizeof(S) == 1) {
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    ((unsigned*)&sum)[k] = __vadd4(((unsigned*)&sum)[k], ((unsigned*)&w[u])[k]);
            } else {
#pragma unroll
                for (int k = 0; k < 16 / (int)sizeof(S); ++k) sum.item[k] += w[u].item[k];
            }
        }
    }
    ((wide*)out)[(long long)blockIdx.y * pitch + j] = sum;
}
