"""A call without a stream argument runs on the stream that the library of its arrays uses.

Stand-ins replace PyTorch and CuPy, in a process of their own; tests/gpu has the real ones. The
`stream` check of the simulator reports work on two streams that is not ordered.
"""

import pytest

from .test_fast_arrays import STAND_INS

pytestmark = pytest.mark.sim

STREAMS = """
from numbalite import guvectorize

torch_stream, cupy_stream = cuda.stream(non_blocking=True), cuda.stream(non_blocking=True)
torch._C = AttributeHolder(_cuda_getCurrentRawStream=lambda device: torch_stream.handle)
cupy.cuda = AttributeHolder(get_current_stream=lambda: AttributeHolder(ptr=cupy_stream.handle, owner=cupy_stream))
fill = cuda.jit("__global__ void fill(float* x, float value, int n) { int i = threadIdx.x; "
                "for (int k = 0; k < 20; ++k) __nanosleep(200000); if (i < n) x[i] = value; }")
SIZE = 16


def export(self, stream=None, **options):
    "A producer that waits for its own work."
    dict(Tensor=torch_stream, ndarray=cupy_stream)[type(self).__name__].synchronize()
    return self.array.__dlpack__(stream=-1, **options)

Interface.__dlpack__ = export
Interface.__dlpack_device__ = lambda self: (2, 0)  # CUDA

def array(kind=None, value=0.0):
    d = cuda.to_device(np.full(SIZE, value, "f4"))
    cuda.synchronize()
    return kind(d) if kind else d


@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def doubled(x, y):
    "for (int i = 0; i < x.size(); ++i) y[i] = 2 * x[i];"

@cuda.vectorize(target="cuda")
def add_up(a, b):
    "a + b"


for kind in (Tensor, ndarray):  # the first use of a class makes it a class with a stream
    as_array(kind(array()))
"""


@pytest.fixture
def with_streams(run_python):
    def run_with_streams(code):
        checked = "with cuda.checks('stream'):\n" + "".join(
            f"    {line}\n" for line in code.strip().splitlines()
        )
        result = run_python(STAND_INS + STREAMS + checked + "\nprint('done')\n", timeout=300)
        assert result.stdout.endswith("done\n"), result.stdout + result.stderr

    return run_with_streams


@pytest.mark.parametrize("library", ["Tensor", "ndarray"])
def test_launches_are_ordered_with_the_librarys_work(with_streams, library):
    with_streams(f"""
kind, stream = {library}, dict(Tensor=torch_stream, ndarray=cupy_stream)["{library}"]
for wrap in (lambda x: x, cuda.as_cuda_array, lambda x: cuda.as_cuda_array(x)[:], cuda.from_dlpack,
             lambda x: cuda.from_dlpack(x)[:]):
    x, y = array(kind), array(kind)
    fill[1, 32, stream](x.array, 1, SIZE)      # the library's own operation
    raw[1, 32](wrap(x), wrap(y), SIZE)
    fill[1, 32, stream](x.array, 5, SIZE)      # and the next one: after the kernel
    assert (y.array.copy_to_host(stream=stream) == 2).all()
    assert (x.array.copy_to_host(stream=stream) == 5).all()
    assert (as_array(wrap(x)).copy_to_host() == 5).all()
    assert int(as_array(x).stream) == as_array(x).__cuda_array_interface__["stream"] == stream.handle
""")


def test_two_owners_are_ordered_in_both_directions(with_streams):
    with_streams("""
import itertools
for kinds in itertools.product((Tensor, ndarray, None), repeat=2):
    x, y = (array(kind) for kind in kinds)
    own = [{Tensor: torch_stream, ndarray: cupy_stream, None: 0}[kind] for kind in kinds]
    dx, dy = (a if kind is None else a.array for a, kind in zip((x, y), kinds))
    fill[1, 32, own[0]](dx, 1, SIZE)
    fill[1, 32, own[1]](dy, 9, SIZE)
    raw[1, 32](x, y, SIZE)
    fill[1, 32, own[0]](dx, 5, SIZE)
    assert (dy.copy_to_host(stream=own[1]) == 2).all(), kinds
    assert (dx.copy_to_host(stream=own[0]) == 5).all(), kinds
""")


@pytest.mark.parametrize("library", ["Tensor", "ndarray"])
def test_ufunc_results_are_ordered_with_the_librarys_stream(with_streams, library):
    with_streams(f"""
kind, stream = {library}, dict(Tensor=torch_stream, ndarray=cupy_stream)["{library}"]
total = cuda.reduce("a + b")
calls = [
    lambda x, y: twice(x, out=y),
    lambda x, y: twice(x),
    lambda x, y: doubled(x, y),
    lambda x, y: twice(cuda.as_cuda_array(x)),
    lambda x, y: np.multiply(cuda.as_cuda_array(x), np.float32(2)),
    lambda x, y: cuda.as_cuda_array(x) + cuda.as_cuda_array(x),
    lambda x, y: np.sort(cuda.as_cuda_array(x)) * np.float32(2),
    lambda x, y: cuda.as_cuda_array(x)[::1] * np.float32(2),
]
for call in calls * 2:
    x, y = array(kind), array(kind)
    fill[1, 32, stream](x.array, 1, SIZE)
    result = call(x, y)
    fill[1, 32, stream](x.array, 5, SIZE)
    made = result if hasattr(result, "copy_to_host") else result.array
    assert made is y.array or result is y or made.stream.handle == stream.handle
    assert (made.copy_to_host(stream=stream) == 2).all()
x = array(kind)
fill[1, 32, stream](x.array, 1, SIZE)
assert total(x) == SIZE and twice.nin == 1
fill[1, 32, stream](x.array, 2, SIZE)
assert add_up.reduce(x).copy_to_host() == 2 * SIZE
assert (add_up.accumulate(x).copy_to_host() == 2 * np.arange(1, SIZE + 1)).all()
assert (add_up.reduceat(x, [0, 4]).copy_to_host() == [8, 24]).all()
add_up.at(x, [1], np.float32(3))
fill[1, 32, stream](x.array, 7, SIZE)
assert (x.array.copy_to_host(stream=stream) == 7).all()
""")


def test_stream_of_the_cuda_array_interface_is_waited_for(with_streams):
    with_streams("""
class Named:
    def __init__(self, array, stream): self.array, self.stream = array, stream
    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, "stream": self.stream.handle}

own = cuda.stream(non_blocking=True)
for attempt in range(2):
    x, y = Named(array(), own), Named(array(), own)
    fill[1, 32, own](x.array, 1, SIZE)
    raw[1, 32](x, y, SIZE)
    fill[1, 32, own](x.array, 5, SIZE)
    assert (y.array.copy_to_host(stream=own) == 2).all()
    fill[1, 32, own](x.array, 1, SIZE)
    assert (twice(x).copy_to_host() == 2).all()
    fill[1, 32, own](x.array, 5, SIZE)
    assert (x.array.copy_to_host(stream=own) == 5).all()
""")


def test_bound_array_orders_launches_on_its_stream(with_streams):
    with_streams("""
own = cuda.stream(non_blocking=True)
x, y = array(), array()
fill[1, 32, own](x, 1, SIZE)
raw[1, 32](x.bind(own), y, SIZE)
fill[1, 32, own](x, 5, SIZE)
assert (y.copy_to_host() == 2).all()
""")


def test_explicit_stream_is_used_for_the_launch(with_streams):
    with_streams("""
own = cuda.stream(non_blocking=True)
x, y = array(Tensor), array(Tensor)
fill[1, 32, torch_stream](x.array, 1, SIZE)
raw[1, 32, own](x, y, SIZE)
assert (y.array.copy_to_host(stream=own) == 2).all()
with own:
    raw[1, 32](x, y, SIZE)
    assert (y.array.copy_to_host() == 2).all()
""")


def test_arrays_of_more_than_8_streams_raise(with_streams):
    with_streams("""
many = cuda.jit("__global__ void many(" + ", ".join(f"float* p{i}" for i in range(9)) + ") {}")
bound = [array().bind(cuda.stream(non_blocking=True)) for _ in range(9)]
try: many[1, 1](*bound)
except ValueError as error: assert "more than 8 streams" in str(error) and "stream=" in str(error)
else: raise AssertionError
""")
