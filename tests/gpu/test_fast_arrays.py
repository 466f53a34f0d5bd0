"""Reading the attributes of CuPy's and PyTorch's arrays gives the same results and errors as reading their
CUDA Array Interface."""

import numpy as np
import pytest

from numbalite import _core, cuda, vectorize

pytestmark = pytest.mark.gpu


@vectorize(target="cuda")
def twice(x):
    "return x + x;"


@cuda.jit
def add(x, y, z):
    "int i = grid<1>(); if (i < z.size()) z[i] = x[i] + y[i];"


class UnknownArray:
    """Wraps an array of another library, so that only its CUDA Array Interface can be read."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def assert_same_by_both_paths(array):
    """Checks that both code paths return the same array, and returns it."""
    known, asked = _core.from_interface(array), _core.from_interface(UnknownArray(array))
    assert (known.shape, known.strides, known.dtype) == (asked.shape, asked.strides, asked.dtype)
    assert (known.address, known.readonly) == (asked.address, asked.readonly)
    return known


@pytest.mark.parametrize("dtype", ["bool", "i1", "i4", "i8", "u1", "f2", "f4", "f8", "c8", "c16"])
def test_cupy_arrays_are_read_without_copy(dtype):
    cupy = pytest.importorskip("cupy")
    host = np.arange(12).astype(dtype).reshape(3, 4)
    x = cupy.asarray(host)
    for array in (x, x.T, x[:, ::2], x[:0], x[1], x[1, 2], cupy.asfortranarray(x), x.reshape(-1)):
        np.testing.assert_array_equal(assert_same_by_both_paths(array).copy_to_host(), array.get())
    with cupy.cuda.Stream(non_blocking=True):
        y = cupy.asarray(host)
        np.testing.assert_array_equal(assert_same_by_both_paths(y).copy_to_host(), host)


def test_cupy_arrays_are_kernel_arguments():
    cupy = pytest.importorskip("cupy")
    x, z = cupy.arange(100, dtype="f4"), cupy.zeros(100, "f4")
    add[1, 128](x, x, z)
    assert z.get().tolist() == (2 * np.arange(100)).tolist()
    assert twice(x).copy_to_host().tolist() == z.get().tolist()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        z = x * 3
        add[1, 128, stream](z, z, z)
        stream.synchronize()
        assert z.get().tolist() == (6 * np.arange(100)).tolist()


@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "int64", "uint8", "float16", "float32", "complex64"]
)
def test_torch_tensors_are_read_without_copy(dtype):
    torch = pytest.importorskip("torch")
    x = torch.arange(12, device="cuda").reshape(3, 4).to(getattr(torch, dtype))
    for array in (x, x.T, x[:, ::2], x[:0], x[1], x[1, 2]):
        np.testing.assert_array_equal(
            assert_same_by_both_paths(array).copy_to_host(), array.cpu().numpy()
        )


def test_torch_tensors_are_kernel_arguments():
    torch = pytest.importorskip("torch")
    x = torch.arange(100, device="cuda", dtype=torch.float32)
    z = torch.zeros_like(x)
    add[1, 128](x, x, z)
    assert z.tolist() == twice(x).copy_to_host().tolist() == (2 * np.arange(100)).tolist()
    needs = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        _core.from_interface(needs)
    with pytest.raises(TypeError):
        _core.from_interface(torch.ones(3))
    with pytest.raises((TypeError, KeyError, BufferError)):
        twice(torch.ones(3, device="cuda", dtype=torch.bfloat16))


def test_lazily_conjugated_torch_tensors_raise():
    torch = pytest.importorskip("torch")
    x = torch.ones(4, device="cuda", dtype=torch.complex64)
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        with pytest.raises(BufferError, match=r"resolve_conj\(\)"):
            _core.from_interface(x.conj())
        with pytest.raises(BufferError, match=r"resolve_neg\(\)"):
            _core.from_interface(x.conj().imag)
    assert (_core.from_interface(x.conj().resolve_conj()).copy_to_host() == 1).all()


def test_launches_wait_for_torchs_stream():
    """A torch stream is not ordered with the default stream."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch does not tell its stream")
    x = torch.zeros(1 << 24, device="cuda")
    z = torch.zeros_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            x += 1
        add[1 << 17, 128](x, x, z)
    cuda.synchronize()
    assert (z == 100).all()
