"""CuPy's arrays and PyTorch's tensors as arguments are read by their attributes, without the
dictionary of their CUDA Array Interface.

Stand-ins with the same attributes replace the libraries, in a process of their own; their unread
__cuda_array_interface__ shows that the fast path was used. tests/gpu has the real ones.
"""

import pytest

STAND_INS = """
import sys, types
import numpy as np
from numbalite import cuda, errors

asked = []

class Interface:
    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        asked.append(1)
        self.refuse()
        return self.array.__cuda_array_interface__

    def refuse(self):
        pass


class AttributeHolder:
    def __init__(self, **values):
        self.__dict__.update(values)


current = cuda.default_stream()


class ndarray(Interface):
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    data = property(lambda self: AttributeHolder(ptr=self.array.address))
    _c_contiguous = property(lambda self: self.array.is_c_contiguous())


cupy = types.ModuleType("cupy")
cupy.ndarray, ndarray.__module__ = ndarray, "cupy"
cupy.cuda = AttributeHolder(get_current_stream=lambda: AttributeHolder(ptr=current.handle))


class Tensor(Interface):
    is_cuda, requires_grad, is_sparse = True, False, False
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: getattr(torch, self.array.dtype.name))
    def data_ptr(self): return self.array.address
    def is_contiguous(self): return self.array.is_c_contiguous()
    def stride(self): return tuple(s // self.array.itemsize for s in self.array.strides)
    def refuse(self):
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")


torch = types.ModuleType("torch")
torch.Tensor, Tensor.__module__ = Tensor, "torch"
for name in ("bool int8 int16 int32 int64 uint8 float16 float32 float64 complex64 complex128").split():
    setattr(torch, name, AttributeHolder(name=name))
sys.modules["cupy"], sys.modules["torch"] = cupy, torch

from numbalite._core import from_interface as as_array

@cuda.vectorize(target="cuda")
def twice(x):
    "return x + x;"

@cuda.jit
def add(x, y, z):
    "int i = grid<1>(); if (i < z.size()) z[i] = x[i] + y[i];"

raw = cuda.jit("__global__ void raw(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] + 1; }")
"""


@pytest.fixture
def with_libraries(run_python):
    def run_with_libraries(code):
        result = run_python(STAND_INS + code, timeout=300)
        assert result.stdout.endswith("done\n"), result.stdout + result.stderr

    return run_with_libraries


@pytest.mark.parametrize("library", ["ndarray", "Tensor"])
def test_contiguous_arrays_are_read_without_the_interface(with_libraries, library):
    with_libraries(f"""
kind = {library}
for dtype in ("?", "f4", "f8", "i4", "i8", "u1", "c8", "f2", "i2", "i1", "c16"):
    d = cuda.to_device(np.arange(6).astype(dtype))
    assert as_array(kind(d)).dtype == d.dtype and as_array(kind(d)).address == d.address
for dtype in ("f4", "i8"):
    x = kind(cuda.to_device(np.arange(6).astype(dtype)))
    z = kind(cuda.device_array(6, dtype))
    add[1, 32](x, x, z)
    want = np.arange(6).astype(dtype) * 2
    assert z.array.copy_to_host().tolist() == want.tolist(), dtype
    assert twice(x).copy_to_host().tolist() == want.tolist()
x = kind(cuda.to_device(np.arange(6, dtype="f4").reshape(2, 3)))
raw[1, 32](x, x, 6)
assert x.array.copy_to_host().tolist() == [[1, 2, 3], [4, 5, 6]]
empty = kind(cuda.device_array((0, 3), "f4"))
add[1, 32](*[kind(cuda.device_array(0, "f4"))] * 3)
assert twice(empty).shape == (0, 3)
assert twice(kind(cuda.to_device(np.float32(3)))).copy_to_host() == 6
whole = as_array(x)
assert whole.shape == (2, 3) and whole.address == x.array.address and whole.dtype == np.float32
assert not asked
assert cuda.to_device(x).address == x.array.address
print("done")
""")


def test_strided_torch_arrays_are_read_without_the_interface(with_libraries):
    """torch's strides are attributes; CuPy's arrays with gaps are read through the CUDA Array
    Interface."""
    with_libraries("""
host = np.arange(12, dtype="f4").reshape(3, 4)
for kind, asks in ((Tensor, 0), (ndarray, 1)):
    x = kind(cuda.to_device(host).T)
    asked.clear()
    view = as_array(x)
    assert view.shape == (4, 3) and view.strides == (4, 16) and len(asked) == asks
    assert twice(x).copy_to_host().tolist() == (2 * host.T).tolist()
    try: raw[1, 32](x, x, 3)
    except (TypeError, ValueError) as error: assert "raw" in str(error) and "contiguous" in str(error).lower()
    else: raise AssertionError
print("done")
""")


def test_unsupported_cupy_and_torch_arrays_use_the_interface(with_libraries):
    with_libraries("""
def reads_interface(x, error=None):
    asked.clear()
    try: as_array(x)
    except Exception as problem: assert error and error in str(problem), problem
    else: assert not error
    return bool(asked)

d = cuda.to_device(np.arange(4, dtype="f4"))
assert not reads_interface(Tensor(d)) and not reads_interface(ndarray(d))
class Parameter(Tensor): pass
assert reads_interface(Parameter(d)), "a sub-class"
t = Tensor(d); t.requires_grad = True
assert reads_interface(t, "requires grad")
t = Tensor(d); t.is_cuda = False
assert reads_interface(t)
t = Tensor(d); t.is_sparse = True
assert reads_interface(t)
times = cuda.to_device(np.zeros(3, "M8[s]"))
assert reads_interface(ndarray(times))
for name, bad in (("shape", 3), ("shape", (-1,)), ("shape", (1 << 62, 8)), ("shape", (1.0,)), ("data", None),
                  ("dtype", "f4"), ("_c_contiguous", None), ("data", AttributeHolder(ptr="x")), ("data", AttributeHolder(ptr=-5)),
                  ("data", AttributeHolder(ptr=0)), ("shape", (1,) * 99)):
    one = type("ndarray", (ndarray,), {"__module__": "cupy"})
    old = ndarray.__dict__[name]
    setattr(ndarray, name, property(lambda self: bad))
    assert reads_interface(ndarray(d)), (name, bad)
    setattr(ndarray, name, old)
def raise_key_error(self): raise KeyError("mine")
old, ndarray.data = ndarray.data, property(raise_key_error)
assert reads_interface(ndarray(d))
ndarray.data = old
assert not reads_interface(ndarray(d))
class ndarray(Interface): pass
assert reads_interface(ndarray(d)), "another library's, of the same name"
print("done")
""")


def test_calls_wait_for_cupys_current_stream(with_libraries):
    with_libraries("""
slow = cuda.jit("__global__ void slow(float* x) { for (int i = 0; i < 50; ++i) __nanosleep(1000000); x[0] = 7; }")
d = cuda.to_device(np.zeros(4, "f4"))
current = cuda.stream(non_blocking=True)
slow[1, 1, current](d)
assert twice(ndarray(d)).copy_to_host()[0] == 14
assert not asked
print("done")
""")


def test_an_imported_array_follows_the_current_stream_of_its_library(run_python):
    """The last used stream is kept alive, because a new stream could get its handle."""
    run_python(
        STAND_INS
        + """
import gc, weakref

class Stream:
    def __init__(self):
        self.stream = cuda.stream()
        self.ptr = self.stream.handle

now = default = Stream()
cupy.cuda.get_current_stream = lambda: now
view = cuda.as_cuda_array(ndarray(cuda.to_device(np.arange(4.0))))
assert int(view.stream) == default.ptr
now = Stream()
assert int(view.stream) == now.ptr
assert view[1:].copy_to_host().tolist() == [1, 2, 3]
gone, now = weakref.ref(now), default
gc.collect()
assert gone() is not None and int(view.stream) == default.ptr
gc.collect()
assert gone() is None
"""
    )


def test_lazy_conjugates_and_negatives_are_refused(with_libraries):
    """The memory of lazy tensors contains the elements of the original tensor. Lazy tensors are also
    converted if their class is a subclass, whose interface dictionary is read; they require no
    gradient."""
    with_libraries("""
class TensorSubclass(Tensor):
    pass

x, y = cuda.to_device(np.ones((3, 4), "c8")), cuda.to_device(np.ones((3, 4), "f4"))
for kind in (Tensor, TensorSubclass):
    for array, flag in ((x, "conj"), (y[:, ::2], "neg"), (y[:1, :1], "neg"), (x.T, "conj")):
        asked.clear()
        lazy = kind(array)
        setattr(lazy, "is_" + flag, lambda: True)
        for do in (as_array, twice, lambda t: add[1, 32](t, t, t)):
            try: do(lazy)
            except BufferError as error: assert f"pass resolve_{flag}() of it" in str(error), error
            else: raise AssertionError((kind, flag))
        assert bool(asked) == (kind is TensorSubclass)
        setattr(lazy, "is_" + flag, lambda: False)
        assert as_array(lazy).address == array.address
strange = TensorSubclass(y[:1, :1])
strange.is_neg = "no method"
assert as_array(strange).address == y.address
print("done")
""")
