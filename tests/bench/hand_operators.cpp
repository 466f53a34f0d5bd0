// Operators of PyTorch as they are written by hand in C++: a check of the tensors, and one launch.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <torch/library.h>

struct view {
    void *data;
    long long shape, stride;
};

static CUfunction add3;

static void open_kernel(std::string path) {
    CUmodule loaded;
    TORCH_CHECK(cuModuleLoad(&loaded, path.c_str()) == CUDA_SUCCESS, path);
    TORCH_CHECK(cuModuleGetFunction(&add3, loaded, "add3") == CUDA_SUCCESS);
}

static view view_of(const at::Tensor &x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == at::kFloat && x.dim() == 1);
    return {x.data_ptr(), x.size(0), 4};
}

static void change(const at::Tensor &x, const at::Tensor &y, at::Tensor &out) {
    view views[] = {view_of(x), view_of(y), view_of(out)};
    int n = (int)out.numel();
    void *arguments[] = {&views[0], &views[1], &views[2], &n};
    CUstream stream = c10::cuda::getCurrentCUDAStream(out.get_device());
    TORCH_CHECK(cuLaunchKernel(add3, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments,
                               NULL) == CUDA_SUCCESS);
}

static at::Tensor result(const at::Tensor &x, const at::Tensor &y) {
    at::Tensor out = at::empty_like(x);
    change(x, y, out);
    return out;
}

TORCH_LIBRARY(numbalite_hand, m) {
    m.def("open(str path) -> ()", open_kernel);
    m.def("change(Tensor x, Tensor y, Tensor(a!) out) -> ()");
    m.def("result(Tensor x, Tensor y) -> Tensor");
    m.def("differentiable(Tensor x, Tensor y) -> Tensor");
}

TORCH_LIBRARY_IMPL(numbalite_hand, CUDA, m) {
    m.impl("change", change);
    m.impl("result", result);
    m.impl("differentiable", result);
}
