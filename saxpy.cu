
#include <iostream>
#include <cuda_runtime.h>
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
int main() {
    float *x, *y;
    cudaMallocManaged(&x, 400);
    cudaMallocManaged(&y, 400);
    saxpy<<<1, 100>>>(2.0f, x, y, 100);
    std::cout << y[0];
}
