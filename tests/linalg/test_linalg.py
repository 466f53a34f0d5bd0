"""Compares np.linalg on device arrays with NumPy for every dtype, batch, layout and size, and tests
errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.drawn import PlacedArray, array_recipes, draw_examples, to_host
from kit.likenumpy import assert_same_result
from kit.sample import random_generator

from numbalite import _core, cuda
from numbalite.errors import CudaAPIError
from numbalite.linalg import lapack
from numbalite.runtime.libraries.table import CUSOLVER

L = np.linalg
DTYPES = ["f4", "f8", "c8", "c16", "i4"]
BATCHES = [(), (1,), (3,), (2, 2), (0,)]


def assert_close(result, expected):
    """Asserts that shapes and dtypes are NumPy's, and that numbers are equal within a tolerance."""
    if isinstance(expected, tuple):
        assert type(result) is type(expected)
        for one, wanted in zip(result, expected, strict=True):
            assert_close(one, wanted)
        return
    expected = np.asarray(expected)
    tolerance = 2e-3 if expected.dtype.char in "fF" else 1e-8
    assert isinstance(result, cuda.DeviceNDArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    size = float(np.abs(expected[np.isfinite(expected)]).max(initial=1))
    np.testing.assert_allclose(to_host(result), expected, rtol=tolerance, atol=tolerance * size)


def random_matrix(draw, shape, dtype):
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype == "i4":
        return rng.integers(-9, 10, shape).astype(dtype)
    values = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)
    return values.astype(dtype)


@st.composite
def draw_matrices(draw, square=False, matrices=None):
    """Returns matrices with a random layout, and the same matrices on the device."""
    dtype, batch = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(BATCHES))
    m = draw(st.sampled_from([0, 1, 2, 3, 5]))
    n = m if square else draw(st.sampled_from([0, 1, 2, 3, 5]))
    values = random_matrix(draw, (*batch, m, n), dtype)
    if square:  # well-conditioned
        values = values + (30 * np.eye(n)).astype(dtype)
    placed = PlacedArray(values, draw(array_recipes(values.ndim, unaligned=False)))
    return placed.host, placed.device()


@draw_examples(15)
@given(draw_matrices(square=True), st.data())
def test_solve_matches_numpy(both, data):
    a, d = both
    n = a.shape[-1]
    shape = data.draw(st.sampled_from([(n,), (n, 1), (n, 3), (2, 1, n, 2), (*a.shape[:-1], 2)]))
    b = random_matrix(data.draw, shape, data.draw(st.sampled_from(DTYPES)))
    try:
        expected = L.solve(a, b)
    except ValueError:
        with pytest.raises(ValueError, match=r"linalg.solve: a has shape .*, b has shape"):
            L.solve(d, b)
        return
    assert_close(L.solve(d, data.draw(st.sampled_from([b, cuda.to_device(b)]))), expected)


@draw_examples(12)
@given(draw_matrices(square=True))
def test_inv_det_and_cholesky_match_numpy(both):
    a, d = both
    assert_close(L.inv(d), L.inv(a))
    assert_close(L.det(d), L.det(a))
    assert_close(L.slogdet(d), L.slogdet(a))
    hermitian = a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=a.dtype)
    assert_close(L.cholesky(cuda.to_device(hermitian)), L.cholesky(hermitian))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        upper = L.cholesky(hermitian, upper=True)
        assert_close(L.cholesky(cuda.to_device(hermitian), upper=True), upper)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("full", [False, True])
def test_svd_of_large_matrices_is_accurate(dtype, full):
    """Some matrices are nearly singular; the polar decomposition perturbs them."""
    rng = random_generator()
    m, n = (int(one) for one in rng.integers(lapack.POLAR, lapack.POLAR + 30, 2))
    a = rng.standard_normal((3, m, n)) + 1j * rng.standard_normal((3, m, n))
    a = (a.real if dtype[0] == "f" else a).astype(dtype)
    a[1] = a[1][:, :4] @ a[1][:4]
    values = L.svd(a, compute_uv=False)
    u, s, vh = L.svd(cuda.to_device(a), full_matrices=full)
    tolerance = 2000 * np.finfo(dtype).eps
    np.testing.assert_allclose(to_host(s), values, rtol=0, atol=tolerance * values.max())
    u, s, vh = map(to_host, (u, s, vh))
    k = min(m, n)
    made = (u[:, :, :k] * s[:, None]) @ vh[:, :k]
    np.testing.assert_allclose(made, a, rtol=0, atol=tolerance * values.max())
    for one in (u.conj().swapaxes(-1, -2) @ u, vh @ vh.conj().swapaxes(-1, -2)):
        np.testing.assert_allclose(one, [np.eye(one.shape[-1])] * 3, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_cholesky_reads_one_triangle(dtype):
    rng = random_generator()
    for shape in ((1,), (5,), (40,), (3, 7)):
        n = shape[-1]
        half = rng.standard_normal((*shape, n)) + 1j * rng.standard_normal((*shape, n))
        half = half.real.astype(dtype) if dtype[0] == "f" else half.astype(dtype)
        whole = half @ half.conj().swapaxes(-1, -2) + 2 * np.eye(n, dtype=dtype)
        lower = L.cholesky(whole)
        noise = np.full_like(whole, 77)
        assert_close(L.cholesky(cuda.to_device(np.tril(whole) + np.triu(noise, 1))), lower)
        upper = L.cholesky(cuda.to_device(np.triu(whole) + np.tril(noise, -1)), upper=True)
        assert_close(upper, lower.conj().swapaxes(-1, -2))


@draw_examples(12)
@given(draw_matrices(square=True), st.sampled_from("LUlu"))
def test_eigh_matches_numpy(both, side):
    a, d = both
    values, vectors = L.eigh(d, side)
    assert_close(values, L.eigh(a, side)[0])
    assert_close(L.eigvalsh(d, side), L.eigvalsh(a, side))
    read = np.tril(a) if side in "Ll" else np.triu(a)
    whole = read + np.triu(read.conj().swapaxes(-1, -2), 1)
    if side in "Uu":
        whole = read + np.tril(read.conj().swapaxes(-1, -2), -1)
    whole[..., range(a.shape[-1]), range(a.shape[-1])] = np.diagonal(a.real, 0, -2, -1)
    assert (vectors.shape, vectors.dtype) == (a.shape, L.eigh(a, side)[1].dtype)
    w, v = to_host(values), to_host(vectors)
    size = np.abs(a).max(initial=1)
    np.testing.assert_allclose(whole @ v, v * w[..., None, :], atol=1e-4 * size)


@draw_examples(15)
@given(draw_matrices(square=True), st.integers(0, 2))
def test_eig_matches_numpy(both, turns):
    """Tests matrices with complex eigenvalues, and matrices with only real eigenvalues; eigenvectors equal
    NumPy's up to a factor."""
    a, _ = both
    if turns < 2:
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        a = np.triu(a) if turns else a - 30 * eye + np.triu(a - 30 * eye, 1)
    d = cuda.to_device(a)
    try:
        expected = L.eig(a)
    except L.LinAlgError:
        with pytest.raises(L.LinAlgError):
            L.eig(d)
        return
    made = L.eig(d)
    assert type(made) is type(expected)
    for one, wanted in zip(made, expected, strict=True):
        assert isinstance(one, cuda.DeviceNDArray)
        assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
    values, vectors = map(to_host, made)
    size = np.abs(a).max(initial=1)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=2e-4 * size)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, atol=1e-4)
    alone = to_host(L.eigvals(d))
    assert alone.dtype == values.dtype
    np.testing.assert_allclose(np.sort(alone), np.sort(values), atol=2e-4 * size)


def test_eig_without_the_cusolver_function_raises(monkeypatch):
    d = cuda.to_device(np.eye(2))
    with pytest.raises(L.LinAlgError, match="infs or NaNs"):
        L.eig(d * np.nan)
    monkeypatch.setattr(type(CUSOLVER), "has_function", lambda library, name: name != "Xgeev")
    with pytest.raises(TypeError, match=r"12\.8: d\.copy_to_host\(\) .*torch.from_dlpack"):
        L.eigvals(d)


@draw_examples(15)
@given(draw_matrices(), st.sampled_from(["reduced", "complete", "r", "raw"]))
def test_qr_matches_numpy(both, mode):
    assert_close(L.qr(both[1], mode), L.qr(both[0], mode))


@draw_examples(15)
@given(draw_matrices(), st.booleans())
def test_svd_matches_numpy(both, full):
    a, d = both
    u, values, vh = L.svd(d, full)
    expected = L.svd(a, full)
    for one, wanted in zip((u, values, vh), expected, strict=True):
        assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
    assert_close(values, expected[1])
    assert_close(L.svd(d, compute_uv=False), expected[1])
    u, values, vh = map(to_host, (u, values, vh))
    k = values.shape[-1]
    again = (u[..., :k] * values[..., None, :]) @ vh[..., :k, :]
    np.testing.assert_allclose(again, a, atol=1e-4 * np.abs(a).max(initial=1))
    for basis in (u, vh.conj().swapaxes(-1, -2)):
        identity = np.broadcast_to(
            np.eye(basis.shape[-1]), (*a.shape[:-2],) + (basis.shape[-1],) * 2
        )
        np.testing.assert_allclose(basis.conj().swapaxes(-1, -2) @ basis, identity, atol=1e-4)
    if a.shape[-1] and a.shape[-2]:
        assert_close(L.matrix_rank(d), L.matrix_rank(a))


@draw_examples(12)
@given(draw_matrices(), st.data())
def test_pinv_and_lstsq_match_numpy(both, data):
    a, d = both
    assert_close(L.pinv(d), L.pinv(a))
    if a.ndim == 2:
        shape = data.draw(st.sampled_from([(a.shape[0],), (a.shape[0], 2)]))
        b = random_matrix(data.draw, shape, data.draw(st.sampled_from(["f4", "f8", "c16"])))
        x, residuals, rank, values = L.lstsq(d, b)
        expected = L.lstsq(a, b)
        assert_close((x, residuals, values), (expected[0], expected[1], expected[3]))
        assert rank == expected[2] and rank.dtype == expected[2].dtype


@draw_examples(40)
@given(draw_matrices(), st.data())
def test_norm_matches_numpy(both, data):
    a, d = both
    order = data.draw(
        st.sampled_from([None, 1, -1, 2, -2, np.inf, -np.inf, 0, 3, "fro", "nuc", "x"])
    )
    axis = data.draw(st.sampled_from([None, 0, -1, (-2, -1), (-1, -2), (0, 1), (0, 0), (0, 1, 2)]))
    keepdims = data.draw(st.booleans())
    if a.dtype.kind != "i" and order == 3:
        order = 2.0
    try:
        with np.errstate(all="ignore"):
            expected = L.norm(a, order, axis, keepdims)
    except (ValueError, np.exceptions.AxisError) as error:
        with pytest.raises((ValueError, np.exceptions.AxisError)):
            L.norm(d, order, axis, keepdims)
        return
    assert_close(L.norm(d, order, axis, keepdims), expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_norm_of_integers_is_exact(dtype):
    """Norms of integer arrays need no float64 copy, and squares of 8-bit integers are summed
    exactly."""
    whole = random_generator().integers(0, 256, (3, 500 * np.dtype(dtype).itemsize), np.uint8)
    a = whole % 2 == 1 if dtype == "?" else whole.view(dtype)
    d = cuda.to_device(a)
    for order, axis in ((None, None), (2, 0), ("fro", (0, 1)), (2, 1), (1, 1), (np.inf, 0), (0, 1)):
        assert_close(L.norm(d, order, axis), L.norm(a, order, axis))
    if a.itemsize == 1:
        assert L.norm(d).item() == np.sqrt(np.sum(a.astype(float) ** 2))


def test_condition_numbers_match_numpy():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    for matrix in (a, np.ones((2, 2)), np.array([[1, np.nan], [0, 1]])):
        for p in (1, -1, np.inf, "fro"):
            with np.errstate(all="ignore"):
                assert_close(L.cond(cuda.to_device(matrix), p), L.cond(matrix, p))
    singular = cuda.to_device(np.stack([np.eye(3), np.ones((3, 3))]))
    assert_close(L.det(singular), np.array([1.0, 0.0]))
    assert to_host(L.slogdet(singular)[1]).tolist() == [0, -np.inf]


def test_errors_name_function_argument_and_shapes():
    ones = cuda.to_device(np.ones((3, 3)))
    wide = cuda.to_device(np.ones((2, 3)))
    cases = [
        (L.LinAlgError, "Singular matrix", lambda: L.solve(ones, ones)),
        (L.LinAlgError, "Singular matrix", lambda: L.inv(ones)),
        (L.LinAlgError, "Matrix is not positive definite", lambda: L.cholesky(ones - 3)),
        (L.LinAlgError, r"linalg.det: a has shape \(2, 3\)", lambda: L.det(wide)),
        (L.LinAlgError, r"linalg.svd: a has shape \(3,\)", lambda: L.svd(ones[0])),
        (ValueError, r"b has shape \(4,\): b must have 3 rows", lambda: L.solve(ones, np.ones(4))),
        (TypeError, "float16 is unsupported", lambda: L.inv(ones.astype("f2"))),
        (ValueError, "UPLO argument", lambda: L.eigh(ones, "x")),
        (ValueError, "unrecognized mode 'full'", lambda: L.qr(ones, "full")),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.skipif(
    not _core.driver_has("host_code"), reason="functions are Python's on the simulator"
)
def test_nonzero_library_status_raises(monkeypatch):
    """In each run another call of the library fails."""
    ones = cuda.to_device(np.eye(3))
    for name in ("Xgetrf_bufferSize", "Xgetrf", "Xgetrs"):
        with monkeypatch.context() as patch:
            CUSOLVER.find(name)
            patch.setitem(CUSOLVER.functions, name, lambda *args: 7)
            with pytest.raises(CudaAPIError, match=f"cusolverDn{name} failed .*INTERNAL_ERROR"):
                L.solve(ones, ones)
    assert_close(L.solve(ones, ones), np.eye(3))


def test_batched_linalg_of_random_orders_matches_numpy():
    """Tests sizes below and above the limit for the library's batched functions."""
    rng = np.random.default_rng(5)
    for count, n in ((2, 32), (2, 33), (2, 128), (2, 129), (40, 4)):
        a = rng.normal(size=(count, n, n)) + n * np.eye(n)
        d = cuda.to_device(a + a.swapaxes(1, 2))
        assert_close(L.eigvalsh(d), L.eigvalsh(to_host(d)))
        assert_close(L.svd(d, compute_uv=False), L.svd(to_host(d), compute_uv=False))
        assert_close(L.cholesky(d), L.cholesky(to_host(d)))
        assert_close(L.inv(cuda.to_device(a)), L.inv(a))
        assert_close(L.solve(cuda.to_device(a), a[:, :, :2]), L.solve(a, a[:, :, :2]))


def test_linalg_runs_on_the_arrays_stream():
    stream = cuda.stream()
    a = np.eye(4) + 1
    with_stream = cuda.to_device(a).bind(stream)
    result = L.solve(with_stream, np.ones(4))
    stream.synchronize()
    assert_close(result, L.solve(a, np.ones(4)))


def test_hermitian_matrices_are_square():
    for matrix in (np.arange(6.0).reshape(2, 3), np.eye(2)):
        for name in ("matrix_rank", "pinv", "svd"):
            words = {"compute_uv": False} if name == "svd" else {}
            assert_same_result(getattr(np.linalg, name), matrix, hermitian=True, **words)
