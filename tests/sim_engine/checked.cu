/* Kernels for checked launches under the sanitizers: one for each type of mistake, and correct
 * kernels. All kernels have the same parameters as those of kernels.cpp. */

__device__ int ticket;

/* Each block adds its elements, the last block adds the sums: barriers, warps, fences, atomics. */
__global__ void sum_correctly(int *data, long n, long m) {
    __shared__ int s[64];
    __shared__ bool last;
    int t = threadIdx.x, *sums = data + n;
    s[t] = data[blockIdx.x * 64 + t];
    __syncthreads();
    for (int w = 32; w > 0; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(data + n + m, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += sums[b];
        data[n + m + 1] = sum;
    }
}

__global__ void write_out_of_bounds(int *data, long n, long) { data[blockIdx.x * blockDim.x + threadIdx.x + n] = 1; }

__global__ void read_without_barrier(int *data, long, long) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    data[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void read_unwritten(int *data, long n, long) {
    __shared__ int s[64];
    if (threadIdx.x < n) s[threadIdx.x] = 1;
    __syncthreads();
    data[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void leave_before_barrier(int *data, long n, long) {
    if (threadIdx.x >= n) return;
    __syncthreads();
    data[threadIdx.x] = 1;
}

__global__ void wait_forever(int *data, long n, long) {
    while (atomicAdd(data, 0) == n) {}
}

__global__ void divide_by_n(int *data, long n, long) { data[0] = (int)threadIdx.x / (int)n; }
