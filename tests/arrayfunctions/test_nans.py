"""Compares NumPy's functions that ignore NaN on device arrays with the same functions on host
arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_same

from numbalite import cuda

FOLDS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


@st.composite
def draw_array_pair(draw, dtypes):
    """Returns (device array, host array) in which some elements are NaN; in every third array, entire rows
    are NaN."""
    shape = draw(drawn.draw_shapes(0, 3, most=5))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 30)))
    values = np.asarray(rng.integers(0, 5, shape) + (2j if dtype.kind == "c" else 0), dtype)
    if dtype.kind in "fc":
        values[rng.random(shape) < 0.3] = np.nan
        if len(shape) and shape[0] and draw(st.integers(0, 2)) == 0:
            values[0] = np.nan
    placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
    return placed.device(), placed.host


@draw_examples(20)
@given(data=st.data())
def test_nan_reductions_match_numpy(data):
    name = data.draw(st.sampled_from(FOLDS))
    real = ["f4", "i4"]
    device, host = data.draw(
        draw_array_pair(real if name in ("nanmax", "nanmin") else [*real, "c8"])
    )
    numbers = st.integers(-host.ndim, host.ndim - 1) if host.ndim else st.none()
    keywords = {
        "axis": data.draw(st.one_of(st.none(), numbers)),
        "keepdims": data.draw(st.booleans()),
    }
    if name in ("nanvar", "nanstd"):
        keywords["ddof"] = data.draw(st.integers(0, 2))
    if name == "nansum" and data.draw(st.booleans()):
        keywords["initial"] = 3
    function = getattr(np, name)
    if name not in ("nanmax", "nanmin") and data.draw(st.booleans()):
        mask = np.random.default_rng(1).random(host.shape) < 0.5
        where = cuda.to_device(mask)
        assert_same(lambda x, m: function(x, where=m, **keywords), (device, where), (host, mask))
    else:
        assert_same(function, (device,), (host,), keywords)


@draw_examples(10)
@given(data=st.data())
def test_nanargmax_and_nancumsum_match_numpy(data):
    name = data.draw(st.sampled_from(["nanargmax", "nanargmin", "nancumsum", "nancumprod"]))
    device, host = data.draw(draw_array_pair(["f4", "i4"]))
    numbers = st.integers(-host.ndim, host.ndim - 1) if host.ndim else st.none()
    assert_same(
        getattr(np, name), (device,), (host,), {"axis": data.draw(st.one_of(st.none(), numbers))}
    )


@pytest.mark.parametrize("dtype", ["f2", "f8", "c8", "i4"])
def test_nan_to_num_matches_numpy(dtype):
    host = np.arange(12).reshape(3, 4).astype(dtype)
    if host.dtype.kind in "fc":
        host[0] = [np.nan, np.inf, -np.inf, 1]
    d = cuda.to_device(host)
    assert_same(np.nan_to_num, (d,), (host,))
    assert_same(np.nan_to_num, (d[:, ::2],), (host[:, ::2],), {"nan": 7, "posinf": 8, "neginf": -8})
    assert np.nan_to_num(d, copy=False) is d
    assert np.isfinite(d.copy_to_host()).all()


def test_nan_reductions_support_out_and_dtype():
    host = np.array([[1.5, np.nan, 2], [3, 4, np.nan]], "f4")
    d, out = cuda.to_device(host), cuda.device_array(2, "f8")
    assert np.nanmean(d, axis=1, out=out) is out
    np.testing.assert_array_equal(out, np.nanmean(host, axis=1))
    assert_same(np.nansum, (d,), (host,), {"dtype": "f8", "axis": 0})
    assert_same(np.nanvar, (d,), (host,), {"mean": 2.0, "correction": 1})
    assert_same(np.nanargmax, (d * np.nan,), (host * np.nan,))  # refused: NaN alone
    assert_same(np.nanargmax, (d, (0, 1)), (host, (0, 1)))
    assert_same(np.argmax, (d, (0, 1)), (host, (0, 1)))


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_nansum_with_dtype_matches_numpy():
    for x in np.array([[1, np.nan], [3, 2]]), np.array([[1, complex(5, np.nan)], [3, 2]]):
        d = cuda.to_device(x)
        for dtype in "i8", "?", "f4":
            made = np.nansum(d, axis=1, dtype=dtype).copy_to_host()
            np.testing.assert_array_equal(made, np.nansum(x, axis=1, dtype=dtype))
        for a in x, d:
            with pytest.raises(ValueError):
                np.nansum(a, initial=None, where=~np.isnan(a))
