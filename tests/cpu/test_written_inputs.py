"""Tests generalized ufuncs for the CPU that write into their inputs: writable_args, and layouts without
outputs."""

import pickle

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import guvectorize

TARGETS = ["cpu", "parallel"]


@pytest.fixture(scope="module", params=TARGETS)
def ufunc_target(request):
    return request.param


BODY_THAT_WRITES = """
for (int i = 0; i < b.size(); ++i) {
    o[i] = a[0] + b[i];
    b[i] = -b[i];
}
"""


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("signatures", [["void(float64[:], float64[:], float64[:])"], [],
                                        ["void(float64[:], float64[::1], float64[:])"]])  # fmt: skip
def test_ufuncs_may_write_input_arrays(ufunc_target, signatures, named):
    """The array contains the results even if NumPy converted its elements or numbalite converted
    its layout."""
    change = guvectorize(
        signatures, "(n),(m)->(m)", target=ufunc_target, source=BODY_THAT_WRITES, args="a, b, o",
        writable_args=("b",) if named else (1,),
    )  # fmt: skip
    rng = random_generator()
    for dtype in ("f8", "f4", "i4", "f2"):
        for shape in ((3,), (2, 3), (4, 2, 3), (0, 3), (2, 0)):
            b = rng.integers(1, 9, shape).astype(dtype)
            for given in (
                b,
                b[..., ::-1],
                np.asfortranarray(b),
                np.repeat(b, 2, axis=-1)[..., ::2],
            ):
                before, a = given.copy(), rng.integers(9, size=2).astype("f8")
                result = change(a, given)
                assert np.array_equal(result, a[0] + before)
                assert np.array_equal(given, -before)
                given[...] = before
    locked = np.ones(3)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        change(np.ones(2), locked)
    again = pickle.loads(pickle.dumps(change))
    b = np.ones(3, "f4")
    again(np.ones(2), b)
    assert (b == -1).all()


def test_gufuncs_write_input_arrays_without_core_dimensions(ufunc_target):
    """A layout without core dimensions, too: NumPy would discard the converted copies of written inputs."""

    @guvectorize(
        "void(float64[:], float64[:])", "()->()", target=ufunc_target, writable_args=("x",)
    )
    def write_both_inputs(x, y):
        y[0] = x[0] + 1
        x[0] = 6.5

    for dtype in ("f8", "f4"):
        for size in (1, 3, 1000):
            x = np.arange(size).astype(dtype)
            assert np.array_equal(write_both_inputs(x), np.arange(size) + 1.0) and (x == 6.5).all()


BODY_OF_SUMS = """
double total = 0;
for (int i = 0; i < sums.size(); ++i)
    sums[i] = total += x[i];
"""


@pytest.mark.parametrize("layout", ["(n),(m)", "(n), (m)->"])
@pytest.mark.parametrize("more", [{}, {"writable_args": (1,)}])
@pytest.mark.parametrize("signatures", [["void(float64[:], float64[:])"], []])
def test_gufuncs_without_outputs_write_their_inputs(ufunc_target, layout, more, signatures):
    """For each loop index the function writes into its arguments; it has no return value."""

    running = guvectorize(
        signatures, layout, target=ufunc_target, source=BODY_OF_SUMS, args="x, sums", **more
    )
    assert running.nout == 0 and running.signature == "(n),(m)"
    rng = random_generator()
    for shape in ((4,), (3, 4), (2, 3, 4)):
        x, sums = rng.random(shape), np.zeros(shape)
        assert running(x, sums) == ()
        assert np.allclose(sums, x.cumsum(axis=-1))
    one = np.zeros(4)
    if more:  # NumPy does not broadcast written arguments
        with pytest.raises(ValueError, match="output operand"):
            running(np.ones((5, 4)), one)
    else:  # one argument for each row, so that no two threads write the same argument
        running(np.ones((5, 4)), one)
        assert np.array_equal(one, [1, 2, 3, 4])
    again = pickle.loads(pickle.dumps(running))
    again(np.ones(4), one[::-1])
    assert np.array_equal(one, [4, 3, 2, 1])
