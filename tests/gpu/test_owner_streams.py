"""Calls on PyTorch's tensors and CuPy's arrays run on the current stream of these libraries."""

import itertools

import numpy as np
import pytest

from numbalite import cuda, guvectorize, vectorize

pytestmark = pytest.mark.gpu

SIZE = 1 << 20
LOOPS = 20_000  # the kernel still runs when the library enqueues its next operation

slow_copy = cuda.jit("""
__global__ void slow_copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 20000; ++k) sum += __sinf(sum + k);
    if (i < n) y[i] = x[i] + 1 + (sum == 12345.f);
}""")


@cuda.jit
def slow_python(x, y):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(LOOPS):
        total += total * np.float32(0.5) + np.float32(k % 3)
    if i < x.size:
        y[i] = x[i] + 1 + (total == -1)


@vectorize(["float32(float32)"], target="cuda")
def slow_next(x):
    """
    float sum = 0;
    for (int k = 0; k < 20000; ++k) sum += __sinf(sum + k);
    return x + 1 + (sum == 12345.f);
    """


@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def slow_rows(x, y):
    """
    float sum = 0;
    for (int k = 0; k < 20000; ++k) sum += __sinf(sum + k);
    for (int i = 0; i < x.size(); ++i) y[i] = x[i] + 1 + (sum == 12345.f);
    """


def launch_slow_copy(x, y):
    slow_copy[SIZE // 256, 256](x, y, SIZE)
    return y


def launch_python(x, y):
    slow_python[SIZE // 256, 256](x, y)
    return y


def launch_wrapped(x, y):
    slow_copy[SIZE // 256, 256](cuda.as_cuda_array(x), cuda.as_cuda_array(y), SIZE)
    return y


def launch_exported(x, y):
    slow_copy[SIZE // 256, 256](cuda.from_dlpack(x), cuda.from_dlpack(y)[:], SIZE)
    return y


def add_into_output(x, y):
    slow_next(x, out=y)
    return y


def launch_slow_rows(x, y):
    slow_rows(x.reshape(-1, 1024), y.reshape(-1, 1024))
    return y


CALLS = (
    launch_slow_copy,
    launch_python,
    launch_wrapped,
    launch_exported,
    add_into_output,
    launch_slow_rows,
)
ids = [call.__name__ for call in CALLS]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("call", CALLS, ids=ids)
def test_kernels_are_ordered_with_torchs_work(torch, call):
    """Earlier work of PyTorch happens before the kernel, and later work after it."""
    for _ in range(5):
        x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                x += 1
            call(x, y)
            z = y * 2
            x.fill_(-1)
            assert (z == 42).all()


@pytest.mark.parametrize("call", CALLS, ids=ids)
@pytest.mark.parametrize("non_blocking", (False, True))
def test_kernels_are_ordered_with_cupys_work(cupy, call, non_blocking):
    for _ in range(5):
        x, y = cupy.zeros(SIZE, "f4"), cupy.zeros(SIZE, "f4")
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=non_blocking):
            for _ in range(20):
                x += 1
            call(x, y)
            z = y * 2
            x.fill(-1)
            assert (z == 42).all()


def test_ufunc_results_follow_torchs_stream(torch):
    stream = torch.cuda.Stream()
    for _ in range(5):
        x = torch.zeros(SIZE, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            x += 20
            r = slow_next(x)
            x.fill_(-1)
            assert r.stream.handle == stream.cuda_stream
            s = np.sqrt(r + 4) + np.sort(r)[0]
            z = torch.from_dlpack(s) * 2
            assert (z == 52).all()
        assert (r.copy_to_host() == 21).all() and (s.copy_to_host() == 26).all()


def test_operands_of_different_owners_are_ordered(torch, cupy):
    """Tests arrays of PyTorch, CuPy and numbalite, each on a stream of its own."""
    kinds = ("torch", "cupy", "own")
    for kx, ky in itertools.product(kinds, kinds):
        make = {
            "torch": lambda: torch.zeros(SIZE, device="cuda"),
            "cupy": lambda: cupy.zeros(SIZE, "f4"),
            "own": lambda: cuda.to_device(np.zeros(SIZE, "f4")),
        }
        fill = {
            "torch": lambda a, v: a.fill_(v),
            "cupy": lambda a, v: a.fill(v),
            "own": lambda a, v: a.fill(v),
        }
        x, y = make[kx](), make[ky]()
        cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()), cupy.cuda.Stream(non_blocking=True):
            for value in range(10):
                fill[kx](x, value)
                launch_slow_copy(x, y)
                fill[kx](x, -1)
                z = y * 1
                fill[ky](y, -1)
                found = (
                    z.copy_to_host()
                    if ky == "own"
                    else z.get()
                    if ky == "cupy"
                    else z.cpu().numpy()
                )
                assert (found == value + 1).all(), (kx, ky)


def test_a_named_stream_is_ordered_after_the_tensors_work(torch):
    x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
    own = cuda.stream(non_blocking=True)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            x += 1
        slow_copy[SIZE // 256, 256, own](x, y, SIZE)
    own.synchronize()
    assert (y == 51).all()


@pytest.mark.parametrize(
    "call", (launch_slow_copy, launch_wrapped, add_into_output), ids=lambda f: f.__name__
)
def test_kernels_are_captured_in_a_torch_graph(torch, call):
    x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
    call(x, y)  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        call(x, y)
        z = y * 2
    for i in range(1, 4):
        graph.replay()
        assert (z == 2 * (i + 1)).all()


def test_allocations_in_a_graph_of_torch_raise(torch):
    """An allocation during the capture raises an error, because the graph would use the array after its
    release; the rest of the graph works."""
    x, y = torch.zeros(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")
    slow_next(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        with pytest.raises(RuntimeError, match="out="):
            slow_next(x)
        slow_next(x, out=y)
    graph.replay()
    assert (y == 2).all()
    assert (slow_next(x).copy_to_host() == 2).all()


def test_device_arrays_are_captured_in_a_torch_graph(torch):
    x, y = torch.zeros(SIZE, device="cuda"), cuda.to_device(np.zeros(SIZE, "f4"))
    launch_slow_copy(x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        launch_slow_copy(x, y)
    for i in range(1, 4):
        graph.replay()
        torch.cuda.synchronize()
        assert (y.copy_to_host() == i + 1).all()


def test_printing_keeps_a_torch_capture_valid(torch):
    """The printed text of a device array reports the capture of PyTorch's stream, which stays valid."""
    x = torch.zeros(8, device="cuda")
    d, own = cuda.to_device(x), cuda.to_device(np.zeros(4))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        shown = [show(array) for array in (d, own) for show in (repr, str, type(d)._repr_html_)]
    graph.replay()
    torch.cuda.synchronize()
    assert all("no values while a graph is captured" in text for text in shown), shown
    assert str(d) == "[1. 1. 1. 1. 1. 1. 1. 1.]"
