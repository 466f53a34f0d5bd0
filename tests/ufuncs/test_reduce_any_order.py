"""Tests reductions that combine elements in another order, because the operation commutes."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.sample import draw_cases

from numbalite import cuda

NUMPYS = {
    "a + b": np.add,
    "b * a": np.multiply,
    "a & b": np.bitwise_and,
    "a | b": np.bitwise_or,
    "a ^ b": np.bitwise_xor,
    "min(a, b)": np.minimum,
    "a > b ? a : b": np.maximum,
    "b": None,
}
WHOLE = "bHiQ"
# Each pair of dtypes and each layout compiles a kernel.
PAIRS = draw_cases(
    2, [("a + b", "b"), ("b * a", "Q"), ("a ^ b", "H"), ("min(a, b)", "i"), ("b", "b")]
)


@functools.cache
def reduction(expression):
    return cuda.reduce(expression)


def expected_result(expression, x, axis):
    operation = NUMPYS[expression]
    if operation is None:
        return x.take(-1, axis=axis)
    return operation.reduce(x, axis=axis, dtype=x.dtype)


@pytest.mark.parametrize("expression", ["a & b", "a | b", "a > b ? a : b"])
def test_any_order_reductions_match_numpy(expression):
    host = np.random.default_rng(1).integers(-99, 99, (5, 9001), dtype="i4")
    found = reduction(expression)(cuda.to_device(host), axis=1).copy_to_host()
    np.testing.assert_array_equal(found, expected_result(expression, host, 1))


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_shape_and_strides_match_numpy(data):
    """Tests any shape, strides and alignment; integers wrap around."""
    expression, code = data.draw(st.sampled_from(PAIRS))
    shape = data.draw(
        st.sampled_from([(1, 1), (3, 2000), (2, 4099), (40, 33), (40, 300), (70, 17), (5, 9001)])
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    begin, step = data.draw(st.integers(0, 7)), data.draw(st.sampled_from([1, 1, 1, 2, -1]))
    wide = (shape[0], (shape[1] + begin) * abs(step))
    info = np.iinfo(code)
    host = rng.integers(info.min, info.max, wide, dtype=code, endpoint=True)
    device = cuda.to_device(host)[:, begin::step]
    host = host[:, begin::step]
    if data.draw(st.booleans()):
        device, host = device.T, host.T
    axis = data.draw(st.integers(0, 1))
    found = reduction(expression)(device, axis=axis).copy_to_host()
    np.testing.assert_array_equal(found, expected_result(expression, host, axis))
    if NUMPYS[expression] is not None:
        every = functools.reduce(NUMPYS[expression], expected_result(expression, host, axis))
        assert reduction(expression)(device) == every


@pytest.mark.parametrize("code", WHOLE + "?fFe")
def test_any_order_reductions_of_exact_numbers_match_numpy(code):
    """The same whichever the order. Tests rows that a warp, a block, or several blocks reduce."""
    rng = np.random.default_rng(1)
    for shape in ((70, 515), (2, 5003)):
        x = rng.integers(0, 2, shape).astype(code)
        d = cuda.to_device(x)
        for axis in (None, 1):
            found = reduction("a + b")(d, axis=axis)
            found = found if axis is None else found.copy_to_host()
            wanted = np.add.reduce(
                x.astype("f") if code == "e" else x, axis, dtype="f" if code == "e" else x.dtype
            )
            np.testing.assert_allclose(found, wanted, rtol=1e-2 if code == "e" else 0)


@pytest.mark.parametrize("code", "fd")
def test_rounding_errors_grow_slowly_and_are_repeatable(code):
    """No partial sum has many consecutive additions: at most some 40 roundings are between an
    element and the result. Equal calls return equal bits."""
    x = np.random.default_rng(2).random(300_001).astype(code) - np.array(0.25, code)
    exact = x.astype(np.longdouble).sum()
    device = cuda.to_device(x)
    found = reduction("a + b")(device)
    assert abs(found - exact) <= 40 * np.finfo(code).eps / 2 * np.abs(x).sum()
    assert reduction("a + b")(device).tobytes() == found.tobytes()
    assert reduction("a + b")(cuda.to_device(x)).tobytes() == found.tobytes()


def test_sum_of_equal_numbers_is_accurate():
    """The rounding errors of the summed numbers do not cancel; each column is added by a single thread
    if no other schedule is possible."""
    x = np.full((75_000, 4), 0.1, "f4")
    device, exact = cuda.to_device(x), 75_000 * float(np.float32(0.1))
    bound = 200 * np.finfo("f4").eps
    np.testing.assert_allclose(reduction("a + b")(device), 4 * exact, rtol=bound)
    for way in np.s_[:], np.s_[::-1]:
        found = reduction("a + b")(device[way], axis=0).copy_to_host()
        np.testing.assert_allclose(found, exact, rtol=bound)


def test_any_order_float_sums_match_numpy():
    """A sum of numbers with NaNs or infinities is NaN or infinite, as in NumPy."""
    x = np.zeros((70, 2000), "f4")
    x[3, 17], x[5, 1999], x[9, 0], x[9, 5] = np.nan, np.inf, np.inf, -np.inf
    found = reduction("a + b")(cuda.to_device(x), axis=1).copy_to_host()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, x.sum(axis=1))
