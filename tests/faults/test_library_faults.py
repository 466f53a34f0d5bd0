"""The n-th call of a CUDA library, the n-th driver call and the n-th allocation fail in linear
algebra, in sparse arrays, in Fourier transforms and in random numbers: each raises an exception,
leaks nothing, and the next call works."""

import functools

import numpy as np
import pytest
from kit.walk import count_live_objects

from numbalite import _core, cuda
from numbalite.cuda import sparse
from numbalite.cuda.libs import cufft
from numbalite.errors import CudaAPIError
from numbalite.runtime.libraries.table import CUBLAS, CUFFT, CUSOLVER, CUSPARSE

L = np.linalg
A = np.array([[2.0, 1], [1, 3]])


@functools.cache
def shared_stream():
    """Returns one stream for all tests, because a library handle is cached for each stream."""
    return cuda.stream()


def call_solvers(one, many):
    for d in (one, many):
        (
            L.solve(d, d),
            L.inv(d),
            L.cholesky(d),
            L.eigh(d),
            L.svd(d),
            L.qr(d),
            L.eigvals(d),
            L.slogdet(d),
            L.pinv(d),
        )


def call_products(s, v):
    (
        s @ v,
        s @ A,
        s @ s,
        s.tocsc(),
        s.tocoo().tocsr(),
        s + s,
        sparse.spsolve_triangular(s, v, unit_diagonal=True),
    )


def call_transforms(d):
    """Clears the plan cache first, so that each transform creates and releases its plan."""
    _core.thread_plans_clear()
    try:
        np.fft.fft(d), np.fft.irfft(d), np.fft.fftn(d[:, ::2]), cufft.fft_inplace(d)
        np.fft.fft(d)  # by the cached plan
    finally:
        _core.thread_plans_clear()


def multiply_matrices(d, bits):
    d @ d, np.matmul(d[::2], d, out=d[:1].copy()), np.einsum("ij,kj->ki", d, d)
    _core.gemm(bits, bits, cuda.device_array((2, 2), "f4"), 0, True)
    cuda.matmul(d, d, epilogue="x + y", y=d, stream=shared_stream())


def multiply_during_capture(d):
    """The graph has its own workspace, which the handle uses during the call."""
    out, stream = cuda.device_array((2, 2)), shared_stream()
    with stream.capture():
        _core.workspace_of_graph(stream, 100)
        try:
            _core.gemm(d, d, out, stream)
        except RuntimeError as refused:
            if "capture it on a GPU" not in str(refused):  # the simulator's message
                raise
    assert _core.gemm(d, d, out, stream)


def draw_numbers():
    rng = cuda.random.default_rng(1)
    rng.random(5, "f4"), rng.standard_normal(5, out=cuda.device_array(5)), rng.integers(9, size=5)
    (
        rng.gamma(np.ones(3)),
        rng.permutation(2000),
        rng.choice(9, 5),
        rng.poisson(3.0, 5),
        rng.spawn(2),
    )


OPERATIONS = {
    "solvers": lambda: call_solvers(cuda.to_device(A), cuda.to_device(np.stack([A, A]))),
    "products": lambda: call_products(sparse.csr_array(np.tril(A)), np.ones(2)),
    "transforms": lambda: call_transforms(cuda.to_device(np.ones((2, 3), "F"))),
    "convolution": lambda: cufft.fftconvolve(cuda.to_device(A), A, "same"),
    "matrices": lambda: multiply_matrices(cuda.to_device(A), cuda.to_device(A.astype("u2"))),
    "captured": lambda: multiply_during_capture(cuda.to_device(A)),
    "numbers": draw_numbers,
}


@pytest.fixture(params=OPERATIONS, scope="module")
def library_operation(request):
    return OPERATIONS[request.param]


@pytest.mark.sim
def test_library_functions_survive_failing_driver_calls(library_operation, fail_each_step):
    assert fail_each_step(library_operation, _core.fail_call_at) > 15


@pytest.mark.sim
def test_library_functions_survive_failing_allocations(library_operation, fail_each_step):
    assert fail_each_step(library_operation, _core.fail_alloc_at) > 5


@pytest.mark.parametrize("library_operation", ["solvers", "products", "transforms"], indirect=True)
def test_failing_library_calls_raise(library_operation, monkeypatch):
    library_operation()
    seen, at = 0, 0

    def count_calls(name, function):
        def fail_at_call(*args):
            nonlocal seen
            seen += 1
            return 7 if seen == at else function(*args)

        return function if "estroy" in name else fail_at_call

    for table in (CUSOLVER, CUBLAS, CUSPARSE, CUFFT):
        for name, function in list(table.functions.items()):
            monkeypatch.setitem(table.functions, name, count_calls(name, function))
    library_operation()
    calls, before = seen, None
    for _ in range(2):  # objects that the first walk caches, such as plans, are no leak
        cuda.synchronize()
        before = count_live_objects()
        for step in range(1, calls + 1):
            seen, at = 0, step
            with pytest.raises(CudaAPIError, match="failed"):
                library_operation()
        seen, at = 0, 0
        library_operation()
        assert seen == calls > 20
    cuda.synchronize()
    assert count_live_objects() == before
