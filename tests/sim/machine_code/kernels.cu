extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
#pragma unroll 1
    for (int t = 0; t < n; t += 16) {
        left[y][x] = a[row * n + t + x];
        right[y][x] = b[(t + y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += left[y][k] * right[k][x]; // inner
        __syncthreads();
    }
    c[row * n + column] = sum;
}
extern "C" __global__ void sum_four(const float *x, float *out) {
    const float *first = (const float *)__builtin_assume_aligned(x, 16) + 4 * threadIdx.x;
    out[threadIdx.x] = first[0] + first[1] + first[2] + first[3]; // four
}
extern "C" __global__ void twice(const float *__restrict__ x, float *__restrict__ out) {
    float a = x[threadIdx.x]; // once
    out[threadIdx.x] = a;
    out[threadIdx.x + 32] = 2 * x[threadIdx.x]; // again
}
extern "C" __global__ void steps(float *x, float a, int n) {
    float v = x[threadIdx.x];
    for (int i = 0; i < n; i++)
        v = v * v + a; // step
    x[threadIdx.x] = v;
}
