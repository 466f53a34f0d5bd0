"""Compares products of matrices with NumPy's: shapes, layouts, dtypes, out=, errors."""

import concurrent.futures

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import assert_close, draw_examples, result_or_error
from kit.sample import random_generator

from numbalite import _core, cuda
from numbalite.runtime.libraries.table import CUBLAS

DTYPES = ["f4", "f8", "c8", "c16", "f2", "i4", "?", "u1"]


def small_random_array(seed, shape, dtype):
    """Returns integers, so that every order of additions has the same result."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(-4, 5, shape)
    return values.astype(dtype)


@st.composite
def draw_matmul_operands(draw):
    """Returns two operands in random layouts whose shapes match."""
    rows, depth, columns = (draw(st.sampled_from([0, 1, 1, 2, 3, 5, 17])) for _ in range(3))
    stacked = draw(st.lists(st.sampled_from([0, 1, 2, 2, 3]), max_size=3))
    dtypes = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(DTYPES))
    if draw(st.integers(0, 3)):
        dtypes = dtypes[0], dtypes[0]
    placed = []
    for dtype, matrix in zip(dtypes, ((rows, depth), (depth, columns)), strict=True):
        stack = stacked[draw(st.integers(0, len(stacked))) :]
        shape = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in stack) + matrix
        values = small_random_array(draw(st.integers(0, 99)), shape, dtype)
        placed.append(drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape)))))
    if draw(st.integers(0, 4)) == 0:  # vectors
        which = draw(st.integers(0, 1))
        vector = small_random_array(draw(st.integers(0, 9)), (depth,), dtypes[which])
        placed[which] = drawn.PlacedArray(vector, draw(drawn.array_recipes(1)))
    return placed


@draw_examples(120)
@given(data=st.data())
def test_matmul_of_random_operands_matches_numpy(data):
    a, b = data.draw(draw_matmul_operands())
    expected = np.asarray(np.matmul(a.host, b.host))
    place = data.draw(st.sampled_from(["device", "device", "foreign", "host"]))
    x, y = a.device(), drawn.convert_to_argument(b, place)
    assert_close(x @ y if place != "foreign" else np.matmul(x, y), expected, device=True)
    out = cuda.device_array(expected.shape, expected.dtype, order=data.draw(st.sampled_from("CF")))
    if data.draw(st.integers(0, 3)) == 0:
        out = out[..., ::-1]
    assert np.matmul(x, y, out=out) is out
    assert_close(out, expected, device=True)


def test_warm_matmul_call_runs_no_python(monkeypatch):
    from numbalite.linalg import matmul

    x = cuda.to_device(small_random_array(1, (4, 6), "f4"))
    warm = x @ x.T
    for name in ("operator", "matmul"):
        monkeypatch.setattr(matmul, name, None)
    assert_close(x @ x.T, warm.copy_to_host())
    out = cuda.device_array((2, 4, 4), "f4")
    stack = cuda.to_device(small_random_array(1, (2, 4, 6), "f4"))
    assert np.matmul(stack, x.T, out=out) is out
    host = np.asarray(stack)
    assert_close(np.matmul(stack, stack.swapaxes(1, 2)), host @ host.swapaxes(1, 2))


def test_out_may_overlap_an_operand():
    host = small_random_array(2, (5, 5), "f8")
    for dtype in ("f8", "i8"):
        d = cuda.to_device(host.astype(dtype))
        expected = host @ host.T
        np.matmul(d, d.T, out=d)
        np.testing.assert_array_equal(d, expected)
    d = cuda.to_device(host)
    d @= d
    np.testing.assert_array_equal(d, host @ host)


def test_matmul_on_many_streams_and_threads():
    """A cuBLAS handle belongs to a stream; at most 32 unused handles are cached, for all threads."""
    rng = np.random.default_rng(3)
    hosts = [rng.integers(-9, 10, (8, 8)).astype("f4") for _ in range(40)]

    def multiply_on_new_streams(host):
        found = []
        for _ in range(2):
            stream = cuda.stream()
            d = cuda.to_device(host, stream=stream)
            found.append(_core.matmul(d, d, stream=stream).copy_to_host(stream=stream))
        return found

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for host, found in zip(hosts, pool.map(multiply_on_new_streams, hosts), strict=True):
            np.testing.assert_array_equal(found, [host @ host] * 2)
    streams = [cuda.stream() for _ in range(40)]
    d, out = cuda.to_device(hosts[0]), [cuda.device_array((8, 8), "f4") for _ in streams]
    for _ in range(2):
        for stream, one in zip(streams, out, strict=True):
            assert _core.gemm(d, d, one, stream)
    for stream, one in zip(streams, out, strict=True):
        np.testing.assert_array_equal(one.copy_to_host(stream=stream), hosts[0] @ hosts[0])


def test_matmul_keywords_match_numpy():
    a, b = small_random_array(1, (3, 4), "f4"), small_random_array(2, (4, 2), "f4")
    x, y = cuda.to_device(a), cuda.to_device(b)
    assert_close(np.matmul(x, y, dtype="f8"), np.matmul(a, b, dtype="f8"))
    assert_close(
        np.matmul(x, y, axes=[(0, 1), (0, 1), (1, 0)]),
        np.matmul(a, b, axes=[(0, 1), (0, 1), (1, 0)]),
    )
    host = np.empty((3, 2), "f8")
    assert np.matmul(x, y, out=host) is host
    np.testing.assert_array_equal(host, a @ b)
    assert_close(a @ y, a @ b, device=True)
    assert_close(x @ b, a @ b, device=True)
    with cuda.stream().auto_synchronize() as stream:
        assert_close(_core.matmul(x, y, stream=stream), a @ b)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3,), (4,)), ((), (3,)), ((3,), ()), ((2, 3, 4), (3, 4, 5))]
)
def test_mismatched_matmul_shapes_raise_numpys_error(shapes):
    a, b = (np.ones(shape) for shape in shapes)
    with pytest.raises(ValueError) as numpys:
        np.matmul(a, b)
    with pytest.raises(ValueError) as ours:
        np.matmul(cuda.to_device(a), cuda.to_device(b))
    assert (
        str(ours.value).split(" and requested")[0].strip()
        == str(numpys.value).split("  and requested")[0].strip()
    )


def test_invalid_arguments_raise():
    a = np.ones((2, 2), "f4")
    d = cuda.to_device(a)
    for call in (
        lambda x: x @ 3,
        lambda x: np.matmul(x, a, out=a.astype("i4")),
        lambda x: np.matmul(x, x.astype("c8"), out=x),
        lambda x: np.matmul(x, x, casting="no", dtype="f8"),
        lambda x: np.matmul(x, x, 1),
        lambda x: np.matmul(x, np.array(["a"])),
    ):
        expected, refused = result_or_error(call, a)
        result, error = result_or_error(call, d)
        assert refused is not None and error is not None, (result, expected)
    read_only = cuda.from_cuda_array_interface(
        {**d.__cuda_array_interface__, "data": (d.address, True)}, d
    )
    with pytest.raises(ValueError, match="read-only"):
        np.matmul(d, d, out=read_only)
    with pytest.raises(ValueError, match="output array has shape"):
        np.matmul(d, d, out=cuda.device_array(3, "f4"))


@pytest.mark.parametrize("dtype", "?bBhHiIqQ")
def test_deep_products_of_integers_wrap_around(dtype):
    """Dot products are reductions; other products of few results are split along their depth."""
    rng = random_generator()
    for rows, columns in ((1, 1), (1, 3), (2, 20), (17, 1)):
        depth, stack = int(rng.integers(1, 9000)), int(rng.integers(1, 4))
        a = rng.integers(0, 1 << 62, (stack, rows, depth)).astype(dtype)
        b = rng.integers(0, 1 << 62, (depth, columns)).astype(dtype)
        assert_close(cuda.to_device(a) @ cuda.to_device(b), a @ b, device=True)
        assert_close(
            np.dot(cuda.to_device(a[0, 0]), cuda.to_device(b[:, 0])),
            np.dot(a[0, 0], b[:, 0]),
            device=True,
        )
    out = cuda.zeros((4, 6), dtype)
    np.matmul(cuda.to_device(a[0, :2]), cuda.to_device(b[:, [0, 0, 0]]), out=out[::2, ::2])
    np.testing.assert_array_equal(out[::2, ::2], (a[0, :2] @ b[:, [0, 0, 0]]))


def test_float16_matmul_with_float32_result_matches_numpy():
    a, b = small_random_array(1, (2, 5, 70), "f2"), small_random_array(2, (70, 66), "f2")
    x, y = cuda.to_device(a), cuda.to_device(b)
    assert_close(np.matmul(x, y, dtype="f4"), np.matmul(a, b, dtype="f4"), device=True)
    assert_close(
        np.matmul(x[:, ::-1], y.T.copy().T, dtype="f4"), np.matmul(a[:, ::-1], b, dtype="f4")
    )


def test_bfloat16_matmul_rounds_once():
    """The products of bfloat16 elements are added in float32, and the sum is rounded once."""
    random = np.random.default_rng(5)
    wide = [
        (random.standard_normal(s).astype("f4").view("u4") & 0xFFFF0000) for s in ((70, 9), (9, 5))
    ]
    x, y = (cuda.to_device((one >> 16).astype("u2")) for one in wide)
    a, b = (one.view("f4") for one in wide)
    CUBLAS.open()
    out, bits = cuda.device_array((70, 5), "f4"), cuda.device_array((70, 5), "u2")
    assert _core.gemm(x, y, out, 0, True) and _core.gemm(x, y, bits, 0, True)
    np.testing.assert_allclose(out, a @ b, 1e-5, 1e-6)
    rounded = (bits.copy_to_host().astype("u4") << 16).view("f4")
    np.testing.assert_allclose(rounded, a @ b, 2.0**-8, 1e-6)
    assert not _core.gemm(x, y, bits, 0)
    assert not _core.gemm(out, cuda.ones((5, 5), "f4"), bits, 0, True)


def test_bfloat16_matmul_and_dot_have_numpys_dtypes():
    """In NumPy, matmul returns float32 and dot returns bfloat16."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    a, b = small_random_array(1, (3, 33, 6), bfloat16), small_random_array(2, (6, 7), bfloat16)
    x, y = cuda.to_device(a), cuda.to_device(b)
    for of in (
        lambda x, y: x @ y,
        lambda x, y: x[::-1, ::2] @ y[:, ::-1],
        lambda x, y: np.dot(x[0], y[:, 1]),
        lambda x, y: np.tensordot(x, y, 1),
        lambda x, y: np.vdot(x[0, :, 0], x[1, :, 0]),
        lambda x, y: x @ y.astype("f4"),
        lambda x, y: np.matmul(x, y, out=np.empty((3, 33, 7), "f8")),
    ):
        assert_close(of(x, y), of(a, b))
    out = cuda.device_array((3, 33, 7), bfloat16)
    assert np.matmul(x, y, out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), np.matmul(a, b).astype(bfloat16))
