"""Compares cuda.scan, for operations of the user, with a loop in Python."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbalite import cuda
from numbalite.ufuncs import reduceloops

# The operation composes maps x -> m x + c, which do not commute.
AFFINE = np.dtype([("m", "u4"), ("c", "u4"), ("tag", "u4")])
after = cuda.scan("return decltype(a){a.m * b.m, a.c * b.m + b.c, b.tag};")
last = cuda.scan("b")
total = cuda.scan("a + b")


def random_affine_maps(size, seed=0):
    made = np.empty(size, AFFINE)
    bits = np.random.default_rng(seed).integers(0, 1 << 32, (3, size), "u4")
    made["m"], made["c"], made["tag"] = bits
    return made


def compose_in_order(maps, initial=None):
    """Returns the inclusive scan, computed one element after the other."""
    out = np.empty_like(maps)
    so_far = initial
    for i, (m, c, tag) in enumerate(maps.tolist()):
        if so_far is None:
            so_far = (m, c, tag)
        else:
            so_far = (so_far[0] * m & 0xFFFFFFFF, (so_far[1] * m + c) & 0xFFFFFFFF, tag)
        out[i] = so_far
    return out


@pytest.fixture
def small_tiles(reduction_limits):
    """Reduces the tile size, so that few elements fill many tiles, groups and ranges."""
    reduction_limits(TILE_THREADS=32, TILE_RUNS=1)


def test_scan_of_records_keeps_operand_order():
    maps = random_affine_maps(6000)
    expected = compose_in_order(maps)
    d = cuda.to_device(maps)
    assert (after(d).copy_to_host() == expected).all()
    assert (after(maps[::2]) == compose_in_order(maps[::2])).all()
    start = (3, 5, 7)
    assert (after(d, initial=start).copy_to_host() == compose_in_order(maps, start)).all()
    exclusive = after(d, initial=start, exclusive=True).copy_to_host()
    assert exclusive[0] == np.array(start, AFFINE)
    assert (exclusive[1:] == compose_in_order(maps, start)[:-1]).all()


def test_scan_of_many_tiles_uses_all_tree_levels(small_tiles):
    """Tests two rows of more than 1024 tiles of 32 records each, so that every level of the scan tree is
    used."""
    maps = random_affine_maps(2 * 34_000).reshape(2, -1)
    got = cuda.scan("return decltype(a){a.m * b.m, a.c * b.m + b.c, b.tag};")(
        cuda.to_device(maps), 1
    ).copy_to_host()
    for line in range(2):
        assert (got[line] == compose_in_order(maps[line])).all()


def test_scan_of_many_columns_matches_serial_scan():
    """Tests operations that do not commute, with an initial value, and exclusive scans."""
    maps, start = random_affine_maps(1300 * 33).reshape(1300, 33), (3, 5, 7)
    d = cuda.to_device(maps)
    got = after(d, 0, initial=start).copy_to_host()
    exclusive = after(d, 0, initial=start, exclusive=True).copy_to_host()
    for column in 0, 31, 32:
        expected = compose_in_order(maps[:, column], start)
        assert (got[:, column] == expected).all()
        assert exclusive[0, column] == np.array(start, AFFINE)
        assert (exclusive[1:, column] == expected[:-1]).all()


@pytest.fixture
def small_scan_pipelines(driver_kind, reduction_limits, scan_steps):
    """Lets three blocks scan rows of a few thousand elements in a pipeline, with small tiles, so
    that there are many look-back windows."""
    if driver_kind != "sim" and not reduceloops.pipeline_blocks():
        pytest.skip("needs bulk copies: compute capability 9.0")
    reduction_limits(PIPELINES=3, PIPELINE_THREADS=32, PIPELINE_TURNS=1)
    return scan_steps


def kernel_kinds_of(plans):
    """Returns the kind of kernel of each scan."""
    return [steps[-1][0].rstrip("0123456789x") for steps in plans]


SMALL = np.dtype([("m", "u2"), ("c", "u2")])


def test_pipelined_scan_of_noncommuting_records_keeps_order(small_scan_pipelines):
    """Tests an operation that does not commute, with an incomplete last tile, an initial value, several rows,
    and in place."""
    composition = cuda.scan("return decltype(a){(uint16)(a.m * b.m), (uint16)(a.c * b.m + b.c)};")
    maps = np.empty(2 * 26_003, SMALL)
    for name in SMALL.names:
        maps[name] = np.random.default_rng(4).integers(0, 1 << 16, maps.size)

    def expected_scan(maps, so_far=None):
        out = np.empty_like(maps)
        for i, (m, c) in enumerate(maps.tolist()):
            if so_far is not None:
                m, c = so_far[0] * m & 0xFFFF, so_far[1] * m + c & 0xFFFF
            out[i] = so_far = m, c
        return out

    d, start = cuda.to_device(maps), (3, 5)
    assert (composition(d).copy_to_host() == expected_scan(maps)).all()
    begun = expected_scan(maps, start)
    assert (composition(d, initial=start).copy_to_host() == begun).all()
    exclusive = composition(d, initial=start, exclusive=True).copy_to_host()
    assert exclusive[0].tolist() == start and (exclusive[1:] == begun[:-1]).all()
    lines = d[:-6].reshape(2, -1)  # each row begins at a multiple of 16 bytes
    got = composition(lines, 1).copy_to_host()
    for line, host in zip(got, maps[:-6].reshape(2, -1), strict=True):
        assert (line == expected_scan(host)).all()
    composition(d, out=d)
    assert (d.copy_to_host() == expected_scan(maps)).all()
    assert set(kernel_kinds_of(small_scan_pipelines)) == {"pipelined_scan"}


@pytest.mark.parametrize("code", "ifdlQFe")
def test_pipelined_sums_match_cumsum(small_scan_pipelines, code):
    x = np.random.default_rng(5).integers(0, 3, 30_001).astype(code)
    x[1::2] *= -1 if code not in "Q" else 1
    got = total(cuda.to_device(x)).copy_to_host()
    np.testing.assert_array_equal(got, np.cumsum(x, dtype=x.dtype))
    assert kernel_kinds_of(small_scan_pipelines) == ["pipelined_scan"]


@pytest.mark.parametrize("stored, result", [("i4", "i8"), ("?", "i8"), ("u1", "u2"), ("f8", "f4")])
def test_pipelined_scan_converts_the_element_size(small_scan_pipelines, stored, result):
    x = np.random.default_rng(8).integers(0, 2, 30_001).astype(stored)
    d, out = cuda.to_device(x), cuda.device_array(x.size, result)
    np.add.accumulate(d, dtype=result, out=out)
    expected = np.add.accumulate(x, dtype=result)
    np.testing.assert_array_equal(out.copy_to_host(), expected)
    spread = cuda.to_device(np.full(3 * x.size, 7, result))
    np.add.accumulate(d, dtype=result, out=spread[1::3])
    found = spread.copy_to_host().reshape(-1, 3)
    np.testing.assert_array_equal(found[:, 1], expected)
    assert (found[:, ::2] == 7).all()
    assert set(kernel_kinds_of(small_scan_pipelines)) == {"pipelined_scan"}


def test_unsupported_scans_do_not_use_the_pipeline(small_scan_pipelines):
    """Tests unaligned addresses, columns, strides, and elements of 16 bytes."""
    x = np.random.default_rng(6).integers(0, 9, (30_001, 9)).astype("i4")
    d = cuda.to_device(x)
    for got, host in (
        (total(d, 0), x),
        (total(d[:, 0], 0), x[:, 0]),
        (total(d.reshape(-1)[1:], 0), x.reshape(-1)[1:]),
        (total(cuda.to_device(x[:, 0].astype("D")), 0), x[:, 0].astype("D")),
    ):
        np.testing.assert_array_equal(got.copy_to_host(), np.cumsum(host, 0, dtype=host.dtype))
    assert "pipelined_scan" not in kernel_kinds_of(small_scan_pipelines)


@pytest.mark.parametrize("dtype, columns", [("f4", 2), ("f4", 3), ("i4", 4), ("u1", 2), ("i2", 3)])
def test_pipelined_scan_of_columns_matches_numpy(small_scan_pipelines, dtype, columns):
    """A few columns are scanned as the elements of one row; the last tile ends within 16 bytes, and
    rows begin at multiples of 16 bytes."""
    x = np.random.default_rng(7).integers(0, 2, (2, 8_012 + 2, columns)).astype(dtype)
    d = cuda.to_device(x)
    for got, host, axis in ((d[0], x[0], 0), (d[:, :8_012], x[:, :8_012], 1)):
        found = total(got, axis, initial=3).copy_to_host()
        expected = np.cumsum(host, axis, "i8") + 3
        np.testing.assert_array_equal(found, expected.astype(dtype))
    total(d[0], 0, out=d[0])
    np.testing.assert_array_equal(d[0].copy_to_host(), np.cumsum(x[0], 0, "i8").astype(dtype))
    assert "pipelined_scan" in kernel_kinds_of(small_scan_pipelines)


@pytest.mark.skipif(not cuda.is_simulated(), reason="only the simulator looks for mistakes")
def test_checkers_report_no_error_in_a_pipelined_scan(small_scan_pipelines):
    """Local structs in the operation are copied to shared memory."""
    x = np.random.default_rng(9).integers(0, 2, (30_001, 2)).astype("u1")
    with cuda.checks():
        found = total(cuda.to_device(x), 0)
    np.testing.assert_array_equal(found.copy_to_host(), np.cumsum(x, 0, "u1"))
    assert kernel_kinds_of(small_scan_pipelines) == ["pipelined_scan"]


def test_scan_initial_may_exceed_the_element_dtype():
    dtype = np.dtype([("x", "f8", 5)])
    x = np.zeros(3000, dtype)
    x["x"][:, 4] = np.arange(3000)
    later = cuda.scan("a.x[4] > b.x[4] ? a : b")
    start = np.zeros((), dtype)
    start["x"][4] = 1000.0
    got = later(cuda.to_device(x), initial=start).copy_to_host()
    np.testing.assert_array_equal(got["x"][:, 4], np.maximum(np.arange(3000), 1000))


def test_scan_accepts_python_functions():
    @cuda.scan
    def running_maximum(a, b):
        return max(a, b)

    x = np.random.default_rng(1).normal(size=5000).astype("f4")
    np.testing.assert_array_equal(running_maximum(x), np.maximum.accumulate(x))

    @cuda.scan
    def larger_tag(a, b):
        return a if a.tag > b.tag else b

    maps = random_affine_maps(500)
    got = larger_tag(maps)
    np.testing.assert_array_equal(got["tag"], np.maximum.accumulate(maps["tag"]))
    assert running_maximum.__name__ == "running_maximum" and "running_maximum" in repr(
        running_maximum
    )
    assert pickle.loads(pickle.dumps(total)).called == "cuda.scan"


def test_exclusive_scans_begin_with_the_identity():
    x = np.arange(1, 5001)
    np.testing.assert_array_equal(total(x, exclusive=True), np.cumsum(x) - x)
    product = cuda.scan("a * b")
    assert product(np.array([2, 3, 4]), exclusive=True).tolist() == [1, 2, 6]
    with pytest.raises(ValueError, match="exclusive=True needs initial="):
        last(x, exclusive=True)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_scan_of_random_strided_views_matches_serial_scan(data):
    """Tests views of one buffer along each axis, inclusive and exclusive, into new arrays, into
    out=, and in place."""
    shape = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=3)) + [
        data.draw(st.sampled_from((1, 33, 300)))
    ]
    host = np.random.default_rng(2).integers(-9, 9, shape)
    key = tuple(slice(None, None, data.draw(st.sampled_from((1, 2, -1)))) for _ in shape)
    order = data.draw(st.permutations(range(len(shape))))
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    exclusive, start = data.draw(st.booleans()), data.draw(st.sampled_from((None, 5)))
    device = cuda.to_device(host)[key].transpose(order)
    x = host[key].transpose(order)
    expected = np.cumsum(x, axis)
    if exclusive:
        expected -= x.ravel() if axis is None else x
    expected += start or 0
    more = {"initial": start, "exclusive": exclusive}
    where = data.draw(st.sampled_from(("new", "given", "in place")))
    if where == "new" or axis is None:
        got = total(device, axis, **more)
    else:
        out = cuda.device_array(x.shape, "i8") if where == "given" else device
        got = total(device, axis, out, **more)
        assert got is out
    np.testing.assert_array_equal(got.copy_to_host(), expected)


def test_scan_writes_to_out():
    x = np.arange(100.0)
    d = cuda.to_device(x)
    single = cuda.device_array(100, "f4")
    assert total(d, out=single) is single
    np.testing.assert_array_equal(single.copy_to_host(), np.cumsum(x).astype("f4"))
    total(d[:-1], out=d[1:])  # they share memory
    np.testing.assert_array_equal(d.copy_to_host()[1:], np.cumsum(x[:-1]))
    for out, problem, words in (
        (x, TypeError, "out= must be a device array"),
        (cuda.device_array(99), ValueError, "out= has shape"),
        (cuda.device_array(100, "i4"), TypeError, "out= has dtype int32"),
    ):
        with pytest.raises(problem, match=words):
            total(d, out=out)


def test_scan_is_captured_in_a_graph():
    stream = cuda.stream()
    d = cuda.to_device(np.ones(5000, "i4"))
    out = cuda.device_array(5000, "i4")
    total(d, out=out, stream=stream)
    with stream.capture() as graph:
        total(out, out=out, stream=stream)
    graph.launch(stream)
    stream.synchronize()
    n = np.arange(1, 5001)
    np.testing.assert_array_equal(out.copy_to_host(), n * (n + 1) // 2)


def test_scan_rejects_invalid_arguments():
    with pytest.raises(TypeError, match="a function of two numbers"):
        cuda.scan("a + b + c", args="a, b, c")
    with pytest.raises(TypeError, match=r"cuda\.scan"):
        total(np.array(["text"]))
    with pytest.raises(TypeError, match="initial"):
        total(np.arange(3), initial=2.5)
    with pytest.raises(np.exceptions.AxisError if hasattr(np, "exceptions") else np.AxisError):
        total(np.arange(3), 1)
