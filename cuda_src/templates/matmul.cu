/* The kernel of products of integer and bool matrices, c[p, i] = a[i] b[i] over part p of the
 * depth: a block of 16 x 16 threads computes one tile of c at a time, from tiles of a and b in
 * shared memory. Integer sums wrap around as in NumPy. */
template <typename T>
__device__ T multiply_add(T sum, T x, T y) {
    return sum + x * y;
}
__device__ inline bool multiply_add(bool sum, bool x, bool y) {
    return sum || (x && y);
}

template <typename T>
__global__ void matmul(array<const T, 3> a, array<const T, 3> b, array<T, 4> c) {
    constexpr int size = 16;
    __shared__ T of_a[size][size + 1], of_b[size][size + 1];
    long long parts = c.shape[0], stack = c.shape[1], rows = c.shape[2], columns = c.shape[3];
    long long depth = a.shape[2], each = (depth + parts * size - 1) / (parts * size) * size;
    long long down = (rows + size - 1) / size, across = (columns + size - 1) / size;
    int x = threadIdx.x, y = threadIdx.y;
    for (long long tile = blockIdx.x; tile < parts * stack * down * across; tile += gridDim.x) {
        long long part = tile / (down * across) / stack, n = tile / (down * across) % stack;
        long long i = tile / across % down * size + y, j = tile % across * size + x;
        long long end = (part + 1) * each < depth ? (part + 1) * each : depth;
        T sum = 0;
        for (long long k = part * each; k < end; k += size) {
            of_a[y][x] = i < rows && k + x < end ? a(n, i, k + x) : T(0);
            of_b[y][x] = k + y < end && j < columns ? b(n, k + y, j) : T(0);
            __syncthreads();
            for (int l = 0; l < size; l++)
                sum = multiply_add(sum, of_a[y][l], of_b[l][x]);
            __syncthreads();
        }
        if (i < rows && j < columns) c(part, n, i, j) = sum;
    }
}
