"""Tests generalized ufuncs on the device that write into their inputs: writable_args, and layouts without
outputs."""

import os
import pickle
import random

import numpy as np
import pytest
from kit.sample import VARIABLE, random_generator

from numbalite import cuda, guvectorize
from numbalite.errors import SignatureError

BODY_THAT_WRITES = """
for (int i = 0; i < b.size(); ++i) {
    o[i] = a[0] + b[i];
    b[i] = -b[i];
}
"""


@pytest.fixture
def random_of_session():
    return random.Random(f"{os.environ[VARIABLE]} written inputs")


def make_gufunc(signatures, block=False, named=True):
    if block:
        body = BODY_THAT_WRITES.replace("int i = 0", "int i = threadIdx.x").replace(
            "++i", "i += blockDim.x"
        )
    else:
        body = BODY_THAT_WRITES
    return guvectorize(
        signatures, "(n),(m)->(m)", target="cuda", source=body, args="a, b, o", block=block,
        writable_args=("b",) if named else (1,),
    )  # fmt: skip


SIGNATURES = [
    ["void(float64[:], float64[:], float64[:])"],
    [],
    ["void(float64[:], float64[::1], float64[:])"],
]
VIEWS = [
    lambda b: b,
    lambda b: b[..., ::-1],
    lambda b: np.asfortranarray(b),
    lambda b: np.repeat(b, 2, axis=-1)[..., ::2],
]


@pytest.mark.parametrize("block", [False, 32])
@pytest.mark.parametrize("signatures", SIGNATURES)
def test_ufuncs_write_input_arrays(random_of_session, signatures, block):
    """After the call the input array contains the written values, on the host or the device, for any layout
    and dtype."""
    change = make_gufunc(signatures, block, random_of_session.choice([True, False]))
    rng = np.random.default_rng(random_of_session.randrange(2**32))
    for _ in range(30):
        dtype = random_of_session.choice(["f8", "f8", "f4", "i4", "f2", ">f8"])
        shape = random_of_session.choice(
            [(3,), (2, 3), (4, 2, 3), (0, 3), (2, 0), (1, 3), (300, 5), (40, 20)]
        )
        b = random_of_session.choice(VIEWS)(rng.integers(1, 9, shape).astype(dtype))
        before, a = b.copy(), rng.integers(9, size=2).astype("f8")
        place = random_of_session.choice(["host", "device", "device view", "unaligned"])
        if place == "host" or not np.dtype(dtype).isnative:
            given, a_given = b, a
        else:
            given, a_given = cuda.to_device(b), cuda.to_device(a)
        if given is not b and place == "device view":
            wide = cuda.device_array((*shape, 2), dtype)
            given = wide[..., 1]
            given[...] = b
        elif given is not b and place == "unaligned" and b.size and dtype == "f8":
            raw = cuda.device_array(b.nbytes + 8, np.uint8)
            given = raw[4 : 4 + b.nbytes].view("f8").reshape(shape)
            given[...] = b
        result = change(a_given, given)
        assert np.array_equal(np.asarray(copy_to_host_array(result)), a[0] + before), (
            dtype,
            shape,
            place,
        )
        assert np.array_equal(copy_to_host_array(given), -before), (dtype, shape, place)
        out = np.zeros(shape) if given is b else cuda.device_array(shape)
        assert change(a_given, given, out=out) is out
        assert np.array_equal(copy_to_host_array(out), a[0] - before), (dtype, shape, place)
        assert np.array_equal(copy_to_host_array(given), before), (dtype, shape, place)


def copy_to_host_array(array):
    return array.copy_to_host() if isinstance(array, cuda.DeviceNDArray) else array


def test_ufuncs_write_large_input_arrays():
    """Cores in registers (if they are small and many) and in shared memory are written back."""
    for size, count in ((2, 20_000), (40, 30_000), (300, 5_000)):
        change = make_gufunc([])
        change.staged = size > 2 or None
        b = np.random.default_rng(size).integers(1, 9, (count, size)).astype("f8")
        for given in (b.copy(), cuda.to_device(b)):
            for sign in (1, -1):
                result = change(np.ones(1), given)
                assert np.array_equal(copy_to_host_array(result), 1 + sign * b)
                assert np.array_equal(copy_to_host_array(given), -sign * b)


def test_gufuncs_write_input_arrays_without_core_dimensions():
    @guvectorize("void(float64[:], float64[:])", "()->()", target="cuda", writable_args=("x",))
    def write_both_inputs(x, y):
        y[0] = x[0] + 1
        x[0] = 6.5

    for dtype in ("f8", "f4"):
        for size in (1, 3, 1000):
            x = np.arange(size).astype(dtype)
            assert np.array_equal(write_both_inputs(x), np.arange(size) + 1.0)
            assert (x == 6.5).all()
            d = cuda.to_device(np.arange(size).astype(dtype))
            assert np.array_equal(write_both_inputs(d).copy_to_host(), np.arange(size) + 1.0)
            assert (d.copy_to_host() == 6.5).all()


BODY_OF_SUMS = """
double total = 0;
for (int i = 0; i < sums.size(); ++i)
    sums[i] = total += x[i];
"""


@pytest.mark.parametrize("layout", ["(n),(m)", "(n), (m)->"])
@pytest.mark.parametrize("more", [{}, {"writable_args": (1,)}])
@pytest.mark.parametrize("signatures", [["void(float64[:], float64[:])"], []])
def test_gufuncs_without_outputs_write_their_inputs(layout, more, signatures):
    """For each loop index the function writes into its arguments; it returns no results, as on the CPU."""
    running = guvectorize(
        signatures, layout, target="cuda", source=BODY_OF_SUMS, args="x, sums", **more
    )
    assert (running.nin, running.nout, running.signature) == (2, 0, "(n),(m)")
    rng = random_generator()
    for shape in ((4,), (3, 4), (2, 3, 4)):
        x, sums = rng.random(shape), np.zeros(shape)
        assert running(x, sums) == ()
        assert np.allclose(sums, x.cumsum(axis=-1))
        d = cuda.device_array(shape)
        assert running(cuda.to_device(x), d) == ()
        assert np.array_equal(d.copy_to_host(), sums)
    with pytest.raises(ValueError, match="non-broadcastable written input operand 1"):
        running(np.ones((5, 4)), np.zeros(4))
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        running(np.ones(4), np.zeros(4), np.zeros(4))
    again = pickle.loads(pickle.dumps(running))
    one = np.zeros(4)
    again(np.ones(4), one[::-1])
    assert np.array_equal(one, [4, 3, 2, 1])


def test_python_bodies_write_their_inputs():
    @guvectorize("void(float32[:], float32[:])", "(n),(n)", target="cuda", writable_args=("b",))
    def add(a, b):
        for i in range(a.size):
            b[i] += a[i]

    @guvectorize([], "(n),(n)", target="cuda", writable_args=(1,))
    def add_into_input(a, b):
        for i in range(a.size):
            b[i] += a[i]

    for function in (add, add_into_input):
        a, b = np.arange(12, dtype="f4").reshape(3, 4), np.ones((3, 4), "f4")
        function(a, b)
        assert np.array_equal(b, a + 1)
        d = cuda.to_device(a)
        function(d[0], d[1])
        assert np.array_equal(d.copy_to_host()[1], a[0] + a[1])


def test_written_inputs_may_share_memory():
    """An input is copied if it shares memory with a written operand; two written operands that share memory
    raise an error."""
    change = make_gufunc(SIGNATURES[0])
    b = cuda.to_device(np.arange(1.0, 7.0))
    result = change(b, b)  # a reads what b had
    assert np.array_equal(result.copy_to_host(), 1 + np.arange(1.0, 7.0))
    assert np.array_equal(b.copy_to_host(), -np.arange(1.0, 7.0))
    with pytest.raises(
        ValueError, match="operands 2 and 3 share memory, and the function writes both"
    ):
        change(np.ones(1), b, out=b)


def test_read_only_written_inputs_raise():
    change = make_gufunc(SIGNATURES[0])
    locked = np.ones(3)
    locked.flags.writeable = False
    with pytest.raises(
        ValueError, match="operand 2, an input that the function writes, is read-only"
    ):
        change(np.ones(2), locked)
    with pytest.raises(TypeError, match="operand 2, .* must be an array, not list"):
        change(np.ones(2), [1.0, 2.0])
    with pytest.raises(
        ValueError, match="elements of operand 2, an input that .* overlap in memory"
    ):
        change(np.ones(2), np.lib.stride_tricks.as_strided(np.ones(3), (3, 3), (8, 0)))
    with pytest.raises(ValueError, match="non-broadcastable written input operand 1"):
        change(np.ones((4, 2)), np.ones(3))
    with pytest.raises(SignatureError, match="an input of writable_args is an array"):
        guvectorize(
            ["void(float64, float64[:])"], "()->()", target="cuda", source="x = 1;", args="x, y",
            writable_args=("x",),
        )  # fmt: skip
    with pytest.raises(ValueError, match="1 is not an input"):
        guvectorize([], "(n)->()", target="cuda", source=";", args="x, y", writable_args=(1,))
