"""Compares ufuncs of scipy.special on device arrays with SciPy's results on the host."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda
from numbalite.ufuncs import special

scipy_special = pytest.importorskip("scipy.special")

UNIT, POSITIVE = {"logit", "ndtri", "erfinv", "erfcinv"}, {"y0", "y1", "gammaln"}


def special_function_points(name, dtype):
    random = random_generator()
    x = random.normal(size=500) * 3
    if name in UNIT:
        x = random.random(500)
    elif name in POSITIVE:
        x = np.abs(x) + 0.01
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", special.NAMES)
def test_special_functions_match_scipy(name, dtype):
    ufunc = getattr(scipy_special, name)
    inputs = [special_function_points(name, dtype) for _ in range(ufunc.nin)]
    if name in ("xlogy", "rel_entr", "kl_div", "entr"):
        inputs = [np.abs(one) for one in inputs]
    with np.errstate(all="ignore"):
        expected = ufunc(*inputs)
    found = ufunc(*map(cuda.to_device, inputs))
    assert type(found) is cuda.DeviceNDArray
    assert found.dtype == expected.dtype == np.dtype(dtype)
    rtol, atol = (2e-5, 2e-6) if dtype == "f4" else (1e-10, 1e-12)
    np.testing.assert_allclose(found.copy_to_host(), expected, rtol=rtol, atol=atol)


EDGES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 3.0, 40.0, -40.0])


@pytest.mark.parametrize("name", [name for name in special.NAMES if name not in ("y0", "y1")])
def test_special_functions_match_scipy_at_edge_values(name):
    ufunc = getattr(scipy_special, name)
    inputs = (
        [EDGES] if ufunc.nin == 1 else [np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))]
    )
    with np.errstate(all="ignore"):
        expected = ufunc(*inputs)
    if name in ("j0", "j1"):  # CUDA has the limit
        expected[np.isinf(EDGES)] = 0
    found = ufunc(*map(cuda.to_device, inputs)).copy_to_host()
    if name in ("i0", "i1"):  # CUDA returns the limit, SciPy returns NaN
        found, expected = found[np.isfinite(EDGES)], expected[np.isfinite(EDGES)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


def test_special_functions_accept_dtype_and_out():
    d = cuda.to_device(np.arange(4))
    assert scipy_special.erf(d).dtype == np.float64
    out = cuda.zeros(4, np.float32)
    assert scipy_special.erf(d.astype(np.float32), out=out) is out
    np.testing.assert_allclose(out.copy_to_host(), scipy_special.erf(np.arange(4.0)), rtol=1e-6)
    np.testing.assert_allclose(scipy_special.xlogy(2, d[1:]).copy_to_host(), 2 * np.log([1, 2, 3]))
    masked = scipy_special.erf(d, where=d > 1, out=cuda.zeros(4))
    assert masked.copy_to_host()[:2].tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"scipy.special.erf of complex128 has no counterpart"):
        scipy_special.erf(d + 1j)
    with pytest.raises(TypeError, match=r"cupyx\.scipy\.special\.gammainc\(cupy\.asarray\(d\)\)"):
        scipy_special.gammainc(d, d)


def test_digamma_matches_scipy_near_poles_and_for_extreme_arguments():
    """psi and digamma are one ufunc. digamma's series, recurrence and reflection agree with
    SciPy."""
    rng = random_generator()
    x = np.concatenate([
        rng.normal(size=1000) * 10, np.arange(-20, 0) + 1e-3 + rng.random(20) * 1e-2, 10.0 ** rng.uniform(-30, 30, 300),
        rng.uniform(1.4, 1.5, 100), np.nextafter([9, 10, 11], [0, 0, 0]),
    ])  # fmt: skip
    for dtype, rtol, atol in (("f8", 1e-9, 1e-12), ("f4", 1e-4, 1e-4)):  # SciPy's error near poles
        given = x.astype(dtype)
        if (
            dtype == "f4"
        ):  # removes numbers near poles, where adjacent float32 numbers differ much in their results
            given = given[np.abs(given - np.rint(given)) > 1e-2]
        expected = scipy_special.digamma(given)
        found = scipy_special.digamma(cuda.to_device(given)).copy_to_host()
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def test_scipy_is_not_imported(run_python):
    run_python(
        """
import sys
import numpy as np
from numbalite import cuda
d = cuda.ones(3)
np.sqrt(d + 1)
assert not any(name.startswith("scipy.special") for name in sys.modules)
"""
    )
