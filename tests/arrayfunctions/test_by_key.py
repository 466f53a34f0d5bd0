"""Compares cuda.reduce_by_key with a loop over the runs of equal keys."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbalite import cuda
from numbalite.algorithms import by_key
from numbalite.ufuncs import reduceplan

total = cuda.reduce_by_key("a + b")
first = cuda.reduce_by_key("a")


def reduce_runs(keys, values, reduce):
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    parts = np.split(values, begins[1:]) if len(keys) else []
    return keys[begins], np.array([reduce(part) for part in parts], values.dtype)


def assert_equal_arrays(got, expected):
    for one, other in zip(got, expected, strict=True):
        host = one.copy_to_host() if isinstance(one, cuda.DeviceNDArray) else one
        np.testing.assert_array_equal(host, other)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_reduce_by_key_of_random_runs_matches_numpy(data):
    size = data.draw(st.sampled_from((0, 1, 33, 700, 9000)))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    lengths = rng.integers(1, data.draw(st.sampled_from((2, 5, 600))), size)
    keys = np.repeat(rng.integers(0, 3, size), lengths)[:size].astype("i2")
    values = rng.integers(-9, 9, size)
    step = data.draw(st.sampled_from((1, 2, -1)))
    k, v = cuda.to_device(keys)[::step], cuda.to_device(values)[::step]
    assert_equal_arrays(total(k, v), reduce_runs(keys[::step], values[::step], np.sum))
    assert_equal_arrays(
        first(k, v), reduce_runs(keys[::step], values[::step], lambda part: part[0])
    )


def test_reduce_by_key_of_many_tiles_keeps_order(monkeypatch):
    """Tests groups and ranges of tiles of 32 elements, with the affine maps of test_scan.py, which do not
    commute."""
    monkeypatch.setattr(reduceplan, "THREADS", 32)
    monkeypatch.setattr(by_key, "_MAX_ITEMS", 1)
    maps = np.random.default_rng(1).integers(0, 1 << 32, (40_000, 2), "u4")
    records = np.ascontiguousarray(maps).view([("m", "u4"), ("c", "u4")])[:, 0]
    keys = np.repeat(np.arange(5.0), (7, 20_000, 1, 19_000, 992))

    def compose_all(part):
        def compose_affine(a, b):
            return a[0] * b[0] & 0xFFFFFFFF, (a[1] * b[0] + b[1]) & 0xFFFFFFFF

        *_, last = itertools.accumulate(part.tolist(), compose_affine)
        return last

    @cuda.reduce_by_key
    def compose_affine_by_key(a, b):
        "return decltype(a){a.m * b.m, a.c * b.m + b.c};"

    assert_equal_arrays(
        compose_affine_by_key(keys, records), reduce_runs(keys, records, compose_all)
    )


def test_reduce_by_key_writes_to_out_and_count():
    keys, values = np.arange(3000) // 7, np.ones(3000, "f4")
    k, v = cuda.to_device(keys), cuda.to_device(values)
    out = cuda.device_array(3000, keys.dtype), cuda.device_array(4000, "f4")
    expected = reduce_runs(keys, values, np.sum)
    got = total(k, v, out)
    assert got[0].address == out[0].address
    assert_equal_arrays(got, expected)
    count, stream = cuda.device_array(1, "i8"), cuda.stream()
    with stream.capture() as graph:
        assert total(k, v, out, count=count, stream=stream) is out
    out[0][:] = out[1][:] = 0
    graph.launch(stream)
    stream.synchronize()
    number = int(count.copy_to_host()[0])
    assert_equal_arrays([one[:number] for one in out], expected)
    number = len(total(k, v, (k, v))[0])  # in place
    assert_equal_arrays((k[:number], v[:number]), expected)


def test_reduce_by_key_rejects_invalid_arguments():
    d = cuda.to_device(np.arange(10))
    for words, error, arguments in (
        ("1-dimensional and of equal length", ValueError, (d, d[1:])),
        ("1-dimensional and of equal length", ValueError, (d.reshape(2, 5), d.reshape(2, 5))),
        ("out= must be a pair", TypeError, (d, d, d)),
        ("out= has shape", ValueError, (d, d, (d[1:], d[1:]))),
        ("keys", TypeError, (cuda.to_device(np.zeros(3, [("x", "i4")])), d[:3])),
    ):
        with pytest.raises(error, match=words):
            total(*arguments)
