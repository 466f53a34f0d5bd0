/* Products of integer and bool matrices, c[i] = a[i] b[i]: a block of 16 x 16 threads computes one
 * tile of c at a time, from tiles of a and b in shared memory. Integer sums wrap around as in
 * NumPy. */
template <typename T>
__device__ T multiplied_and_added(T sum, T x, T y) {
    return sum + x * y;
}
__device__ inline bool multiplied_and_added(bool sum, bool x, bool y) {
    return sum || (x && y);
}

template <typename T>
__global__ void matmul(array<const T, 3> a, array<const T, 3> b, array<T, 3> c) {
    constexpr int size = 16;
    __shared__ T of_a[size][size + 1], of_b[size][size + 1];
    long long rows = c.shape[1], columns = c.shape[2], depth = a.shape[2];
    long long down = (rows + size - 1) / size, across = (columns + size - 1) / size;
    int x = threadIdx.x, y = threadIdx.y;
    for (long long tile = blockIdx.x; tile < c.shape[0] * down * across; tile += gridDim.x) {
        long long n = tile / (down * across);
        long long i = tile / across % down * size + y, j = tile % across * size + x;
        T sum = 0;
        for (long long k = 0; k < depth; k += size) {
            of_a[y][x] = i < rows && k + x < depth ? a(n, i, k + x) : T(0);
            of_b[y][x] = k + y < depth && j < columns ? b(n, k + y, j) : T(0);
            __syncthreads();
            for (int l = 0; l < size; l++)
                sum = multiplied_and_added(sum, of_a[y][l], of_b[l][x]);
            __syncthreads();
        }
        if (i < rows && j < columns) c(n, i, j) = sum;
    }
}
