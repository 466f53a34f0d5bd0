"""Compares cuda.select and cuda.partition with NumPy's masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbalite import _core, cuda
from numbalite.algorithms import selection

large = cuda.select("x > 5")
by_size = cuda.partition("x > 5")
RECORD = np.dtype([("key", "i2"), ("value", "f4", 3)], align=True)


def split_in_halves(found):
    return [part.copy_to_host() if isinstance(part, cuda.DeviceNDArray) else part for part in found]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_select_of_random_shapes_and_strides_matches_numpy(data):
    shape = data.draw(st.lists(st.integers(0, 6), max_size=3)) + [
        data.draw(st.sampled_from((1, 40, 700)))
    ]
    host = np.random.default_rng(data.draw(st.integers(0, 9))).integers(0, 9, shape)
    key = tuple(slice(None, None, data.draw(st.sampled_from((1, 2, -1)))) for _ in shape)
    order = data.draw(st.permutations(range(len(shape))))
    x = host[key].transpose(order)
    d = cuda.to_device(host)[key].transpose(order)
    # Arrays of one tile, and of several tiles
    before = _core.reduction_limit("SELECT_THREADS", data.draw(st.sampled_from((32, 256))))
    try:
        np.testing.assert_array_equal(large(d).copy_to_host(), x[x > 5])
        chosen, others = split_in_halves(by_size(d))
    finally:
        _core.reduction_limit("SELECT_THREADS", before)
    np.testing.assert_array_equal(chosen, x[x > 5])
    np.testing.assert_array_equal(others, x[~(x > 5)])


def test_select_over_many_tiles_matches_numpy(reduction_limits):
    """Tests groups and ranges of tiles, of 256 elements each."""
    reduction_limits(SELECT_THREADS=32)
    x = np.random.default_rng(1).integers(0, 9, 300_000)
    got = large(cuda.to_device(x)).copy_to_host()
    np.testing.assert_array_equal(got, x[x > 5])


def test_select_returns_all_or_no_elements():
    x = cuda.to_device(np.arange(6, 3000))
    assert large(x).copy_to_host().tolist() == list(range(6, 3000))
    chosen, others = by_size(cuda.to_device(np.zeros(3000)))
    assert (chosen.shape, others.shape) == ((0,), (3000,))
    assert large(np.empty(0)).shape == (0,)


def test_select_accepts_records_and_python_functions():
    @cuda.select
    def has_odd_key(x):
        return x.key % 2 == 1

    rng = np.random.default_rng(2)
    x = np.zeros(2000, RECORD)
    x["key"], x["value"] = rng.integers(0, 99, 2000), rng.normal(size=(2000, 3))
    got = has_odd_key(cuda.to_device(x)).copy_to_host()
    np.testing.assert_array_equal(got, x[x["key"] % 2 == 1])
    limit = 50
    chosen, others = cuda.partition("x.key < limit")(x)
    np.testing.assert_array_equal(
        np.concatenate([chosen, others]), x[np.argsort(x["key"] >= 50, kind="stable")]
    )


def test_select_writes_to_out_and_count():
    x = np.arange(5000) % 10
    d, out = cuda.to_device(x), cuda.device_array(6000, x.dtype)
    got = large(d, out)
    assert got.address == out.address
    np.testing.assert_array_equal(got.copy_to_host(), x[x > 5])
    out[:] = 0
    count, stream = cuda.device_array(1, "i8"), cuda.stream()
    large(d, out, count=count, stream=stream)
    with stream.capture() as graph:
        assert large(d, out[::-1], count=count, stream=stream) is not None
    d[:100] = 9
    graph.launch(stream)
    stream.synchronize()
    x[:100] = 9
    number = int(count.copy_to_host()[0])
    assert number == (x > 5).sum()
    np.testing.assert_array_equal(out[::-1][:number].copy_to_host(), x[x > 5])
    large(d, d)  # the kernel works in place: elements are written after all were read
    np.testing.assert_array_equal(d[:number].copy_to_host(), x[x > 5])


def test_select_rejects_invalid_arguments():
    d = cuda.to_device(np.arange(10))
    for words, error, arguments in (
        ("out= has shape", ValueError, {"out": cuda.device_array(9, "i8")}),
        ("out= has dtype", TypeError, {"out": cuda.device_array(10, "i4")}),
        ("out= must be a device array", TypeError, {"out": np.empty(10, "i8")}),
        ("count= must be a device array of one int64", TypeError, {"count": 3}),
    ):
        with pytest.raises(error, match=words):
            large(d, **arguments)
    with pytest.raises(TypeError, match="function of one number"):
        cuda.select("x + y", args="x, y")


def test_selection_rejects_invalid_arguments():
    x, count = cuda.to_device(np.zeros((2, 3))), cuda.to_device(np.zeros(1, int))
    mask, loops = cuda.to_device(np.zeros((2, 3), bool)), selection.mask_selection_kernels()
    for what, array, selected, error in (
        ("all", x, mask, TypeError),
        ("values", 3, mask, TypeError),
        ("values", x, 3, TypeError),
        ("values", x, mask.T, ValueError),
        ("values", x, x, ValueError),
    ):
        with pytest.raises(error):
            _core.select_elements(loops, what, array, selected, x, count, 8, 0, None)
