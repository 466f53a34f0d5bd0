"""Compares NumPy's functions of masks, nonzero elements and d[mask] on device arrays with NumPy."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.likenumpy import assert_same_result
from kit.needs import numpy_since
from kit.sample import random_generator

from numbalite import _core, cuda
from numbalite.algorithms import selection

RECORD = np.dtype([("a", "u1"), ("b", "f4", 2)])  # of 9 bytes
DTYPES = [np.dtype(code) for code in ("?", "f4", "D")] + [RECORD]


@st.composite
def draw_array_pair(draw, dtypes=DTYPES, least_dims=1):
    """Returns (NumPy array, the same array on the device): views with any axis order and few distinct
    values."""
    shape = draw(st.lists(st.integers(0, 5), min_size=least_dims - 1, max_size=3))
    shape += [draw(st.sampled_from((1, 7, 600)))] if least_dims else []
    dtype = draw(st.sampled_from(dtypes))
    made = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 3, shape)
    if dtype.names:
        host = np.zeros(shape, dtype)
        host["a"], host["b"] = made, made[..., None]
    else:
        host = np.asarray(made).astype(dtype)
    key = tuple(slice(None, None, draw(st.sampled_from((1, 1, 2, -1)))) for _ in shape)
    order = draw(st.permutations(range(len(shape))))
    device = cuda.to_device(host)
    if host.ndim == 0:
        return host, device
    return host[key].transpose(order), device[key].transpose(order)


def assert_equal_arrays(got, expected):
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_equal_arrays(one, other)
        return
    assert isinstance(got, cuda.DeviceNDArray)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got.copy_to_host(), expected)


@settings(max_examples=25, deadline=None)
@given(draw_array_pair(DTYPES[:-1]))
def test_nonzero_functions_match_numpy(pair):
    x, d = pair
    for function in (np.nonzero, np.flatnonzero, np.argwhere):
        assert_equal_arrays(function(d), function(x))
    assert_equal_arrays(np.where(d), np.where(x))


def test_empty_masks_match_any_axis():
    def assign_one(x, key):
        x[key] = 1
        return x

    x = np.arange(6).reshape(2, 3)
    for shape in ((0,), (0, 0), (0, 3), (2, 0), (0, 7), (3, 0)):
        mask = np.zeros(shape, bool)
        for key in (mask, (slice(None), mask), (mask, ...)):
            assert_same_result(lambda x, key: x[key], x, key)
            assert_same_result(assign_one, x, key)


@settings(max_examples=25, deadline=None)
@given(draw_array_pair(), st.data())
def test_boolean_indexing_over_all_axes_matches_numpy(pair, data):
    x, d = pair
    mask = np.random.default_rng(3).integers(0, 2, x.shape).astype(bool)
    given = data.draw(st.sampled_from((mask, np.asfortranarray(mask))))
    key = given if data.draw(st.booleans()) else cuda.to_device(given)
    assert_equal_arrays(d[key], x[mask])
    expected = x.copy()
    count = int(mask.sum())
    way = data.draw(st.sampled_from(("number", "array", "one", "part")))
    value = np.ones((), x.dtype)
    if way == "number":
        value = value[()] if x.dtype.names else 1
    elif way == "array":
        value = np.resize(x.ravel()[::-1], count) if x.size else value
    elif way == "one":
        value = np.resize(value, 1)
    else:
        value = 2 * count * [0] if x.dtype.names is None and count else value
    try:
        expected[mask] = value
    except ValueError:
        with pytest.raises(ValueError, match="cannot assign"):
            d[key] = value
        return
    d[key] = cuda.to_device(value) if isinstance(value, np.ndarray) and value.ndim else value
    assert_equal_arrays(d, expected)


@settings(max_examples=25, deadline=None)
@given(draw_array_pair(), st.data())
def test_place_and_putmask_match_numpy(pair, data):
    x, d = pair
    mask = (
        np.random.default_rng(4).integers(0, 3, x.shape).astype(data.draw(st.sampled_from("?if")))
    )
    values = np.resize(x.ravel()[::-1], data.draw(st.sampled_from((1, 5)))) if x.size else x.ravel()
    for function in (np.place, np.putmask):
        expected = x.copy()
        if values.size or not mask.size:
            function(expected, mask.astype(bool), values)
            function(d, cuda.to_device(mask), values)
            assert_equal_arrays(d, expected)
            x = expected


@settings(max_examples=25, deadline=None)
@given(draw_array_pair(), st.data())
def test_compress_and_extract_match_numpy(pair, data):
    x, d = pair
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    length = x.size if axis is None else x.shape[axis]
    condition = np.random.default_rng(5).integers(0, 2, data.draw(st.integers(0, length)))
    assert_equal_arrays(np.compress(condition, d, axis), np.compress(condition, x, axis))
    chosen = np.random.default_rng(6).integers(0, 2, x.shape)
    assert_equal_arrays(np.extract(chosen, d), np.extract(chosen, x))


def test_an_array_may_be_its_own_mask_and_values():
    x = np.arange(1000) % 3 == 0
    d = cuda.to_device(x)
    assert_equal_arrays(d[d], x[x])
    d[d] = False
    assert not d.copy_to_host().any()
    y = np.arange(2000)
    e = cuda.to_device(y)
    np.place(e, e % 2 == 0, e[::-1])
    np.place(y, y % 2 == 0, y[::-1].copy())
    assert_equal_arrays(e, y)


def test_single_boolean_as_index_matches_numpy():
    """Is a mask without axes."""
    host = np.arange(6).reshape(2, 3)
    for key in (True, np.True_, np.False_, (np.True_, 1), (0, np.False_, slice(2))):
        assert_same_result(lambda x, k=key: x[k], host)


def test_place_and_putmask_reject_host_arrays():
    """A host array is copied to the device, so results written to the copy would be lost."""
    mask = cuda.to_device(np.array([True, False]))
    for call in (np.place, np.putmask):
        with pytest.raises(TypeError, match=f"numpy.{call.__name__} into ndarray .* copy_to_host"):
            call(np.zeros(2), mask, [1.0])


def test_compress_writes_to_out():
    x = np.arange(10.0)
    d, out = cuda.to_device(x), cuda.device_array(3, "f4")
    assert np.compress(x > 6, d, out=out) is out
    assert_equal_arrays(out, x[x > 6].astype("f4"))
    assert_equal_arrays(d.compress(x > 6), x[x > 6])
    assert_equal_arrays((d - 1).nonzero(), (x - 1).nonzero())
    with pytest.raises(ValueError, match="compress"):
        np.compress(x > 5, d, out=out)


@numpy_since("2.1", "np.nonzero of an array without dimensions is an error")
@pytest.mark.parametrize(
    "function, error",
    [
        (lambda a, _: np.nonzero(a[0, 0, ...]), ValueError),
        (lambda a, _: np.compress([[True]], a), ValueError),
        (lambda a, _: np.compress([False] * 9 + [True], a), IndexError),
        (lambda a, _: np.place(a, np.ones(3, bool), 1), ValueError),
        (lambda a, m: np.place(a, m, []), ValueError),
        (lambda a, _: np.putmask(a, np.ones(3, bool), 1), ValueError),
        (lambda a, _: a.__getitem__(np.ones((2, 2), bool)), IndexError),
        (lambda a, m: a.__setitem__(m, np.ones((2, 3))), TypeError),
    ],
)
def test_mask_functions_raise_numpys_errors(function, error):
    x = np.arange(6.0).reshape(2, 3)
    for a in (x, cuda.to_device(x)):
        with pytest.raises(error):
            function(copy.copy(a), np.ones((2, 3), bool))


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 999),
    st.sampled_from([1, 31, 513, 4095, 4097, 20_000, 50_001]),
    st.sampled_from(["?", "i2", "f4", "D"]),
    st.sampled_from([0, 0.01, 0.5, 1]),
    st.integers(0, 33),
    st.booleans(),
)
def test_large_boolean_masks_match_numpy(seed, size, dtype, density, offset, is_many):
    """Tests contiguous masks, aligned and unaligned, with both tile sizes."""
    rng = np.random.default_rng(seed)
    shape = (size,) if size < 100 or rng.random() < 0.5 else (size // 7, 7)
    mask, host = rng.random(shape) < density, (100 * rng.random(shape)).astype(dtype)
    whole = cuda.to_device(np.zeros(mask.size + offset, bool))
    device_mask = whole[offset:].reshape(shape)
    device_mask[...] = cuda.to_device(mask)
    device, values = cuda.to_device(host), (50 * rng.random(int(mask.sum()))).astype(dtype)
    before = _core.reduction_limit("MANY_SELECTED", 0 if is_many else 1 << 30)
    try:
        assert_equal_arrays(device[device_mask], host[mask])
        assert_equal_arrays(device[::-1][device_mask], host[::-1][mask])
        assert_equal_arrays(np.nonzero(device_mask), np.nonzero(mask))
        assert_equal_arrays(np.argwhere(device_mask), np.argwhere(mask))
        device[device_mask] = cuda.to_device(values)
    finally:
        _core.reduction_limit("MANY_SELECTED", before)
    host[mask] = values
    assert_equal_arrays(device, host)


@pytest.mark.parametrize("capacity", [0, 1 << 24])
def test_selections_of_any_number_match_numpy(capacity, monkeypatch):
    """Results up to a size are selected into an array with space for all elements, and copied if less than half of
    the elements are selected; for larger results, the elements are counted first."""
    monkeypatch.setattr(selection, "_MAX_CAPACITY", capacity)
    rng = random_generator()
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        shape = tuple(int(n) for n in rng.integers(1, 40, rng.integers(1, 4)))
        host = np.where(rng.random(shape) < share, rng.integers(1, 9, shape), 0)
        device, mask = cuda.to_device(host), host != 0
        for found, want in (
            (device[cuda.to_device(mask)], host[mask]),
            (np.argwhere(device), np.argwhere(host)),
            (np.unique(device), np.unique(host)),
            *zip(np.nonzero(device), np.nonzero(host), strict=True),
            *zip(
                np.unique(device, return_index=True),
                np.unique(host, return_index=True),
                strict=True,
            ),
        ):
            assert found.shape == want.shape and found.dtype == want.dtype
            np.testing.assert_array_equal(found.copy_to_host(), want)
