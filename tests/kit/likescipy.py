"""Evaluates an expression with numbalite's and with SciPy's sparse arrays, and compares the
results."""

import warnings

import numpy as np
import pytest

from numbalite import cuda
from numbalite.cuda import sparse

scipy = pytest.importorskip("scipy.sparse")
DTYPES = ["f8", "f4", "c16", "c8", "i4", "i8", "u1", "?"]


def draw_sparse(rng, shape, dtype, form):
    """Returns a SciPy array of integers, most of them 0."""
    low = 0 if dtype in ("u1", "?") else -4
    values = rng.integers(low, 5, shape) + (
        1j * rng.integers(-4, 5, shape) if dtype[0] == "c" else 0
    )
    return scipy.csr_array(np.where(rng.random(shape) < 0.4, values, 0).astype(dtype)).asformat(
        form
    )


def to_numbalite(a):
    """Returns a copy of a sparse array on the device."""
    return getattr(sparse, f"{a.format}_array")(a)


def result_or_error(expression, names):
    """Returns the result of an expression, on the host, or the type of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return to_host_value(eval(expression, {"np": np, **names}))
        except Exception as error:
            return type(error)


def to_host_value(value):
    if isinstance(value, tuple):
        return tuple(map(to_host_value, value))
    if isinstance(value, cuda.DeviceNDArray):
        return value.copy_to_host()
    return value.get() if sparse.issparse(value) else value


def assert_agree(result, expected):
    """Asserts that both results have the same type, shape, dtype and values. Formats count for two
    dimensions."""
    if isinstance(expected, (type, tuple)):
        assert type(result) is type(expected)
        if isinstance(expected, type):
            assert result is expected
        else:
            for one, other in zip(result, expected, strict=True):
                np.testing.assert_array_equal(one, other)
        return
    assert scipy.issparse(result) == scipy.issparse(expected)
    assert (np.shape(result), np.ndim(result)) == (np.shape(expected), np.ndim(expected))
    if scipy.issparse(expected):
        assert result.dtype == expected.dtype
        assert result.ndim == 1 or result.format == expected.format
        result, expected = result.toarray(), expected.toarray()
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def check_expressions(expressions, seed, dtypes=DTYPES, formats=("csr", "csc", "coo")):
    """Asserts that all expressions agree for two random sparse arrays A and B of one shape, and a dense
    array D."""
    rng = np.random.default_rng(seed)
    shape = [(5, 6), (6, 5), (5, 5)][seed % 3]
    dtype = dtypes[seed % len(dtypes)]
    first, second = rng.choice(formats, 2)
    a, b = draw_sparse(rng, shape, dtype, first), draw_sparse(rng, shape, dtype, second)
    dense = rng.integers(-3, 4, shape).astype("f8")
    for expression in expressions.splitlines():
        if expression.strip():
            result = result_or_error(
                expression, {"A": to_numbalite(a), "B": to_numbalite(b), "D": dense, "sp": sparse}
            )
            expected = result_or_error(expression, {"A": a, "B": b, "D": dense, "sp": scipy})
            try:
                assert_agree(result, expected)
            except AssertionError as error:
                case = f"{expression} of {first} and {second}, {dtype}, seed {seed}"
                raise AssertionError(case) from error
