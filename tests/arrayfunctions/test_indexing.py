"""Compares fancy indexing, take, put, repeat and pad with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_equal_results, assert_same
from kit.needs import IS_X86
from kit.sample import random_generator

from numbalite import _core, cuda
from numbalite.errors import KernelError
from numbalite.ndarray import gather

DTYPES = ["f4", "f8", "u1"]


@st.composite
def draw_array_pair(draw, min_dims=1, dtypes=DTYPES):
    shape = draw(st.lists(st.integers(1, 4), min_size=min_dims, max_size=3).map(tuple))
    values = (
        np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(draw(st.sampled_from(dtypes)))
    )
    placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
    return placed.device(), placed.host


def draw_index_items(draw, length, shape):
    """Returns (a key's item for the device, the same item for the host)."""
    kind = draw(st.sampled_from(["array", "device", "slice", "int", "list"]))
    if kind == "slice":
        item = draw(st.sampled_from([slice(None), slice(1, None), slice(None, None, -1), slice(0)]))
        return item, item
    if kind == "int":
        item = draw(st.integers(-length, length - 1))
        return item, item
    rng = np.random.default_rng(draw(st.integers(0, 20)))
    item = rng.integers(-length, length, draw(st.sampled_from(shape)))
    if kind == "list":
        return item.tolist(), item.tolist()
    return (cuda.to_device(item) if kind == "device" else item), item


@st.composite
def draw_index_key(draw, shape):
    """Tests integer arrays that broadcast in various ways, in every kind of key."""
    chosen = draw(st.sampled_from([[(3,), (1,)], [(3,), (2, 1)], [(), (2,)], [(3,), (2,)], [(0,)]]))
    count = draw(st.integers(1, len(shape)))
    added = draw(st.sampled_from([None, ..., *["nothing"] * 6]))
    at = draw(st.integers(0, count))
    after = count - at if added is ... else 0  # items after ... are for the last axes
    lengths = shape[: count - after] + shape[len(shape) - after :]
    pairs = [draw_index_items(draw, n, chosen) for n in lengths]
    if added != "nothing":
        pairs.insert(at, (added, added))
    if len(pairs) == 1:
        return pairs[0]
    return tuple(zip(*pairs, strict=True))


def is_of_one_element(key, ndim, kinds=int):
    numbers = key if isinstance(key, tuple) else (key,)
    return len(numbers) == ndim and all(
        isinstance(number, kinds) and np.ndim(number) == 0 for number in numbers
    )


@draw_examples(60)
@given(data=st.data())
def test_random_keys_match_numpy(data):
    device, host = data.draw(draw_array_pair())
    key, host_key = data.draw(draw_index_key(host.shape))
    if not is_of_one_element(key, host.ndim):  # the result is a scalar on the host
        assert_same(lambda x, k: x[k], (device, key), (host, host_key))
    values = [7, np.float32(3)]
    if not is_of_one_element(host_key, host.ndim, (int, np.ndarray)):
        values.append([5])  # NumPy's exception for one element depends on the dtype
    value = data.draw(st.sampled_from(values))

    def assign_at_key(x, k):
        x = x.copy()
        x[k] = value
        return x

    assert_same(assign_at_key, (device, key), (host, host_key))


@pytest.mark.parametrize("key", [1, np.array(1), (1, ...), (np.array(1), ...)], ids=str)
def test_list_cannot_be_assigned_to_one_element(key):
    host = np.zeros(3)
    device = cuda.to_device(host)
    keys = tuple(
        cuda.to_device(k) if isinstance(k, np.ndarray) else k
        for k in (key if isinstance(key, tuple) else (key,))
    )
    for value in ([5], [[5]], (5,), []):
        with pytest.raises(ValueError):
            host[key] = value
        with pytest.raises(ValueError):
            device[key] = value
        with pytest.raises(ValueError):
            device[keys] = value
    assert not device.copy_to_host().any()


def test_assigned_values_are_broadcast_and_converted():
    """The assigned values are broadcast, converted, or read from the array itself."""
    host = np.arange(24, dtype="f4").reshape(4, 6)
    places = np.array([3, 1])
    for value in (
        np.arange(6),
        np.arange(12.0).reshape(2, 6),
        np.arange(12).reshape(1, 1, 2, 6),
        host[:2],
    ):
        expected = host.copy()
        expected[places] = value
        for what in (value, cuda.to_device(value)):
            d = cuda.to_device(host)
            d[cuda.to_device(places)] = what
            assert_equal_results(d, expected)
    d, expected = cuda.to_device(host), host.copy()
    d[[0, 1]] = d[1:3]
    expected[[0, 1]] = expected[1:3].copy()
    assert_equal_results(d, expected)
    stream = cuda.stream()
    d.setitem(([0, 1], 2), 9, stream)
    expected[[0, 1], 2] = 9
    stream.synchronize()
    assert_equal_results(d, expected)
    d[[0, 1]] += 1
    expected[[0, 1]] += 1
    assert_equal_results(d, expected)
    with pytest.raises(ValueError, match=r"shape mismatch: value array of shape \(3,\) could not"):
        d[[0, 1]] = np.zeros(3)


@pytest.mark.parametrize("dtype", ["S3", "c16", [("a", "i2"), ("b", "f4", 3)], "M8[s]"])
def test_fancy_indexing_supports_every_element_size(dtype):
    host = np.zeros((5, 4), dtype)
    host.view("u1").reshape(-1)[:] = np.arange(host.nbytes) % 100
    d = cuda.to_device(host)
    for key in (([4, 0],), (slice(None), [3, 1]), ([1, 2], [3, 3])):
        assert d[key].copy_to_host().tobytes() == host[key].tobytes()
    d[[1, 2]], host[[1, 2]] = d[[0, 4]], host[[0, 4]]
    assert d.copy_to_host().tobytes() == host.tobytes()


def test_gather_uses_16_byte_accesses(monkeypatch):
    """Rows are copied in units of 16 bytes if their alignment allows it."""
    words = []
    real = gather.gather_kernel
    monkeypatch.setattr(gather, "gather_kernel", lambda *key: words.append(key[:3]) or real(*key))
    _core.copy_kernels.clear()
    host = np.arange(96, dtype="f4").reshape(4, 24)
    d = cuda.to_device(host)
    rows = cuda.to_device(np.array([3, 0], "i4"))
    assert_equal_results(d[rows], host[[3, 0]])
    assert_equal_results(d[:, 1:4][rows], host[:, 1:4][[3, 0]])
    assert words == [(16, 4, 2), (4, 4, 2)]


def test_fancy_indexing_accepts_strided_index_arrays():
    """Tests strided index arrays of two dtypes in one key, and the same key at another address."""
    host = np.arange(60.0).reshape(5, 12)
    d, rows = cuda.to_device(host), np.array([4, 0, -1, 2], "i4")
    strided = cuda.to_device(np.repeat(rows, 2))[::2]
    columns = cuda.to_device(np.array([3, 1, 2, 0]))
    assert_equal_results(d[strided, columns], host[rows, [3, 1, 2, 0]])
    for part in (np.s_[:], np.s_[:, 1:], np.s_[:]):
        assert_equal_results(d[part][strided], host[part][rows])
    assert_equal_results(d[columns.reshape(2, 2)], host[np.array([[3, 1], [2, 0]])])


def test_invalid_keys_raise_numpys_errors():
    host = np.arange(6.0).reshape(2, 3)
    d = cuda.to_device(host)
    for key in ([2], (0, [-4]), [0.5], ([0, 1], [0, 1, 2]), (0, 0, [1]), (..., [0], ...), "a", {}):
        assert_same(lambda x, k=key: x[k], (d,), (host,))
    for value in (1j, "text", None):
        assert_same(lambda x, v=value: x.__setitem__([0, 1], v), (d,), (host,))
    with pytest.raises(IndexError, match="index -4 is out of bounds for axis 1 with size 3"):
        d[0, [-4]]
    with pytest.raises(
        IndexError, match="arrays of integers or booleans are valid indices, not dict"
    ):
        d[{}]
    with pytest.raises(IndexError, match="with size 0"):
        d[:0][cuda.to_device(np.array([0]))]


def test_out_of_range_device_indices_access_no_memory_outside():
    """No memory outside of the arrays is accessed; the simulator checks this."""
    host = np.arange(6.0)
    d, bad = cuda.to_device(host), cuda.to_device(np.array([1, 8, -7]))
    if cuda.is_simulated():
        with pytest.raises(KernelError, match="index_is_within_the_axis"):
            d[bad]
    else:
        assert_equal_results(d[bad], host[[1, 2, 5]])
    for mode in ("wrap", "clip"):
        assert_equal_results(d.take(bad, mode=mode), host.take([1, 8, -7], mode=mode))


# ------------------------------------------------------------------------------------- functions


@draw_examples(40)
@given(data=st.data())
def test_take_and_put_match_numpy(data):
    device, host = data.draw(draw_array_pair(dtypes=["f4"]))
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip"]))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    indices = data.draw(st.sampled_from([0, -1, np.uint8(1), [1, -1, 0], [[0], [5]], [], [300]]))
    assert_same(lambda x: np.take(x, indices, axis, mode=mode), (device,), (host,))
    values = data.draw(st.sampled_from([9, [7, 8], [1, 2, 3, 4], []]))
    flat = np.ravel(np.asarray(indices, int))
    flat = np.clip(flat, 0, host.size - 1) if mode == "clip" else flat % host.size
    if len(set(flat)) == len(flat):  # which duplicate wins is undefined

        def put_at_indices(x):
            x = x.copy()
            np.put(x, indices, values, mode)
            return x

        assert_same(put_at_indices, (device,), (host,))


@draw_examples(40)
@given(data=st.data())
def test_take_along_axis_matches_numpy(data):
    device, host = data.draw(draw_array_pair(dtypes=["f4"]))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    shape = list(host.shape)
    shape[axis] = data.draw(st.integers(0, 3))
    length = host.shape[axis]
    order = np.argsort(np.random.default_rng(1).random((*shape, length)), -1)[..., 0]
    on_device = data.draw(st.booleans())
    indices = cuda.to_device(order) if on_device else order
    assert_same(np.take_along_axis, (device, indices, axis), (host, order, axis))

    def put_along_axis(x, i):
        x = x.copy()
        np.put_along_axis(x, i, 50, axis)
        return x

    assert_same(put_along_axis, (device, indices), (host, order))
    repeats = data.draw(st.sampled_from([0, 2, [3], list(range(length))]))
    assert_same(lambda x: np.repeat(x, repeats, axis), (device,), (host,))
    assert_same(lambda x: np.repeat(x, 2), (device,), (host,))


def test_pad_reflect_of_random_widths_matches_numpy():
    random = random_generator()
    for _ in range(60):
        shape = tuple(random.integers(1, 5, random.integers(1, 4)))
        widths = [tuple(map(int, random.integers(0, 12, 2))) for _ in shape]
        x = (random.normal(size=shape) * 50).astype(random.choice(["f4", "f8", "i4", "c8"]))
        for mode in ("reflect", "symmetric"):
            expected = np.pad(x, widths, mode, reflect_type="odd")
            found = np.pad(cuda.to_device(x), widths, mode, reflect_type="odd")
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(
                found.copy_to_host(), expected, err_msg=f"{shape} {widths}"
            )


@draw_examples(40)
@given(data=st.data())
def test_pad_matches_numpy(data):
    device, host = data.draw(draw_array_pair(dtypes=["f4"]))
    width = data.draw(st.sampled_from([1, 3, (2, 0), [(1, 2)] * host.ndim, -1, 1.5]))
    mode = data.draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    keywords = {}
    if mode == "constant":
        keywords = data.draw(
            st.sampled_from([{}, {"constant_values": 4}, {"constant_values": (1, 2)}])
        )
    assert_same(lambda x: np.pad(x, width, mode, **keywords), (device,), (host,))


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_pad_with_statistics_and_ramps_matches_numpy(dtype):
    host = np.random.default_rng(2).integers(-9, 9, (3, 4)).astype(dtype)
    device = cuda.to_device(host)
    widths = ((1, 2), (3, 0))
    for mode in ("maximum", "mean", "median", "minimum"):
        # The mean of no elements is NaN, whose integer depends on the processor.
        for length in (None, 2, (1, 2), *([0] if IS_X86 else []), -1):
            assert_same(
                np.pad, (device, widths, mode), (host, widths, mode), {"stat_length": length}
            )
    for ends in (0, (3, -5), [(1, 2), (3, 4)]):
        keywords = {"mode": "linear_ramp", "end_values": ends}
        assert_same(np.pad, (device, widths), (host, widths), keywords)
    for mode in ("mean", "linear_ramp", "none such"):
        assert_same(np.pad, (device[:0], 1, mode), (host[:0], 1, mode))
        assert_same(np.pad, (device, 1, mode), (host, 1, mode), {"constant_values": 3})
    assert_same(np.pad, (device[0, :1].reshape(()), 1, "mean"), (np.asarray(host[0, 0]), 1, "mean"))


def test_choose_matches_numpy():
    a = np.array([[0, 1, 2], [2, 0, 1]])
    choices = [np.arange(3), 10, np.arange(6.0).reshape(2, 3)]
    d = cuda.to_device(a)
    assert_equal_results(np.choose(d, choices), np.choose(a, choices))
    assert_equal_results(
        (d + 1).choose(choices, mode="clip"), np.choose(a + 1, choices, mode="clip")
    )
    assert_equal_results(
        np.choose(d % 2, [d.astype("u1"), 7]), np.choose(a % 2, [a.astype("u1"), 7])
    )
    for mode in ("raise", "wrap"):  # indices on the host are checked on the host
        assert_same(np.choose, ([5, 0, -1], [d, d]), ([5, 0, -1], [a, a]), {"mode": mode})
    with pytest.raises(TypeError, match="a function for its mode has no counterpart"):
        np.pad(d, 1, lambda *_: None)
    assert_equal_results(np.repeat(d[0, 0, ...], 2, axis=0), np.repeat(a[0, 0, ...], 2, axis=0))
    out = cuda.device_array((2, 2), "i2")
    assert np.take(d, [0, 2], 1, out=out) is out
    assert_equal_results(out, a[:, [0, 2]].astype("i2"))
    repeats = cuda.to_device(np.array([2, 0, 3]))
    assert_equal_results(np.repeat(d, repeats, 1), np.repeat(a, [2, 0, 3], 1))


def test_gather_of_long_rows_matches_numpy():
    """A thread copies several 16-byte units; threads of the last block copy fewer."""
    h = np.arange(513 * 8196, dtype=np.float32).reshape(513, 8196)
    rows = np.arange(513)[::-1] % 7
    d = cuda.to_device(h)[cuda.to_device(rows)]
    np.testing.assert_array_equal(d.copy_to_host(), h[rows])
