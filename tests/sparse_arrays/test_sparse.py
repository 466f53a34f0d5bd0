"""Compares formats, products and triangular systems of cuda.sparse with dense NumPy arrays, and
with SciPy if it is installed."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.drawn import draw_examples, to_host

from numbalite import _core, cuda
from numbalite.cuda import sparse
from numbalite.errors import CudaAPIError
from numbalite.runtime.libraries.table import CUSPARSE

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.coo_array]
DTYPES = ["f4", "f8", "c8", "c16"]


def random_integers(rng, shape, dtype):
    values = rng.integers(-9, 10, shape) + (
        1j * rng.integers(-9, 10, shape) if dtype[0] == "c" else 0
    )
    return values.astype(dtype)


def random_dense(rng, shape, dtype):
    """Returns a random matrix whose elements are mostly zeros."""
    return np.where(rng.random(shape) < 0.4, random_integers(rng, shape, dtype), 0).astype(dtype)


def assert_close(result, expected):
    if sparse.issparse(result):
        result = result.toarray()
    expected = np.asarray(expected)
    assert isinstance(result, cuda.DeviceNDArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    tolerance = {"e": 1e-2, "f": 1e-4, "F": 1e-4}.get(expected.dtype.char, 1e-10)
    np.testing.assert_allclose(to_host(result), expected, rtol=tolerance, atol=tolerance)


@st.composite
def draw_arrays(draw, dtypes=DTYPES):
    """Returns (random generator, a dense array, the same array as a sparse array)."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    shape = draw(st.sampled_from([(0, 3), (3, 0), (1, 1), (4, 6), (6, 4), (5, 5)]))
    a = random_dense(rng, shape, draw(st.sampled_from(dtypes)))
    return rng, a, draw(st.sampled_from(FORMATS))(a)


def elements_with_summed_duplicates(elements):
    """Returns [(row, column, value)] in the order of the indices; values of equal indices are added."""
    found = {}
    for row, column, value in elements:
        found[row, column] = found.get((row, column), 0) + value
    return [(*place, found[place]) for place in sorted(found)]


@draw_examples(20)
@given(
    st.integers(0, 999),
    st.sampled_from([(1, 1), (1, 100), (100, 1), (7, 9), (300, 200), (70_000, 80_000)]),
    st.sampled_from(["f4", "f8", "c16", "i2"]),
    st.sampled_from([1, 2, 50, 3000]),
    st.booleans(),
)
def test_elements_in_any_order_become_rows_without_duplicates(seed, shape, dtype, count, by_rows):
    rng = np.random.default_rng(seed)
    row, column = (rng.integers(0, max(n * rng.random(), 1), count) for n in shape)
    values = random_integers(rng, count, dtype)
    expected = elements_with_summed_duplicates(
        zip(row.tolist(), column.tolist(), values.tolist(), strict=True)
    )
    made = sparse.coo_array((values, (row, column)), shape=shape)
    made = made.tocsr() if by_rows else made.T.tocsr().T
    elements = made.tocoo()
    parts = (to_host(a).tolist() for a in (elements.row, elements.col, elements.data))
    found = sorted(zip(*parts, strict=True), key=lambda element: element[:2])
    assert [element[:2] for element in found] == [element[:2] for element in expected]
    np.testing.assert_allclose([v for *_, v in found], [v for *_, v in expected], rtol=1e-6)
    assert made.has_canonical_format and made.dtype == dtype
    again = type(made)((made.data, made.indices, made.indptr), shape=shape)
    again.sum_duplicates()
    assert to_host(again.indices).tolist() == to_host(made.indices).tolist()


@draw_examples(30)
@given(draw_arrays(), st.sampled_from(DTYPES), st.sampled_from("CF"), st.booleans())
def test_products_with_dense_arrays_match_numpy(both, dtype, order, transposed):
    rng, a, s = both
    if transposed:
        a, s = a.T, s.T
    right, left = (random_integers(rng, (n, 3), dtype) for n in a.shape[::-1])
    right, left = np.asarray(right, order=order), np.asarray(left.T, order=order)
    d, e = cuda.to_device(right), cuda.to_device(left)
    assert_close(s @ d, a @ right)
    assert_close(e @ s, left @ a)
    assert_close(s @ d[:, 1], a @ right[:, 1])  # strided
    assert_close(e[0] @ s, left[0] @ a)
    out = cuda.device_array((a.shape[0], 3), np.result_type(a, right), order=order)
    assert s.dot(d, out=out) is out
    assert_close(out, a @ right)


@draw_examples(25)
@given(draw_arrays(), st.sampled_from(DTYPES), st.sampled_from(FORMATS))
def test_sums_and_products_of_sparse_arrays_match_numpy(both, dtype, other):
    rng, a, s = both
    b = random_dense(rng, a.shape, dtype)
    t = other(b)
    assert_close(s + t, a + b)
    assert_close(s - t, a - b)
    assert_close(s * t, a * b)
    assert_close(s @ t.T, a @ b.T)
    assert_close(s * b, a * b)
    assert_close(s + b, a + b)


@draw_examples(25)
@given(draw_arrays(), st.integers(-7, 7))
def test_conversions_between_formats_keep_values(both, k):
    rng, a, s = both
    for other in (s.tocsr(), s.tocsc(), s.tocoo(), s.T.T, s.copy(), sparse.csr_array(s)):
        assert (other.shape, other.nnz) == (a.shape, np.count_nonzero(a))
        assert_close(other, a)
    assert_close(s.conj(), a.conj())
    assert_close(s.astype("c16"), a.astype("c16"))
    for axis in (None, 0, 1):
        assert_close(s.sum(axis), a.sum(axis, dtype=a.dtype))
    expected = np.diagonal(a, k) if -a.shape[0] <= k <= a.shape[1] else a.ravel()[:0]
    assert_close(s.diagonal(k), expected)
    assert_close(s * 2, a * 2)
    assert_close(s / 4, (a.astype("f8") if a.dtype == "f4" else a) / 4)  # as SciPy
    assert_close(-s, -a)
    assert_close(abs(s), abs(a))


@pytest.mark.parametrize("index", ["i4", "i8"])
def test_duplicates_are_summed(index):
    rng = np.random.default_rng(3)
    row, col = rng.integers(0, 4, (2, 30)).astype(index)
    data = rng.integers(-5, 6, 30).astype("f8")
    a = np.zeros((4, 5))
    np.add.at(a, (row, col), data)
    s = sparse.coo_array((data, (row, col)), shape=(4, 5))
    assert s.nnz == 30
    assert_close(s, a)
    for made in (s.tocsr(), s.tocsc()):
        assert made.nnz == len(set(zip(row.tolist(), col.tolist()))) and made.has_canonical_format
        assert made.indices.dtype == made.indptr.dtype == index
        assert_close(made, a)
        assert_close(made @ np.arange(5.0), a @ np.arange(5.0))
    assert_close(np.square(s), a**2)
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(5)).astype(index)
    unsorted = sparse.csr_array((data[order], col[order], indptr), shape=(4, 5))
    assert_close(unsorted @ np.ones(5), a @ np.ones(5))
    unsorted.sum_duplicates()
    assert unsorted.nnz == s.nnz and to_host(unsorted.indices).tolist() == to_host(s.col).tolist()


@draw_examples(20)
@given(
    st.integers(0, 99),
    st.sampled_from(DTYPES),
    st.sampled_from(FORMATS),
    st.booleans(),
    st.booleans(),
)
def test_spsolve_triangular_matches_dense_solution(seed, dtype, form, lower, unit):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 6))
    a = random_dense(rng, (n, n), dtype) + (20 * np.eye(n)).astype(dtype)
    part = np.tril(a) if lower else np.triu(a)
    if unit:
        part[range(n), range(n)] = 1
        part = part - np.tril(part, -1) / 2 - np.triu(part, 1) / 2
        a = part + np.eye(n, dtype=dtype)  # its diagonal is not read
    for shape in ((n,), (n, 3)):
        b = random_integers(rng, shape, dtype)
        expected = np.linalg.solve(part, b)
        result = sparse.spsolve_triangular(form(a.astype(dtype)), b, lower, unit)
        assert_close(result, expected)


def test_float16_products_match_numpy():
    a = np.array([[1, 0, 2], [0, 0, 3]], "f2")
    s = sparse.csr_array(a)
    assert_close(s @ np.arange(3, dtype="f2"), a @ np.arange(3, dtype="f2"))
    assert_close(s.T @ np.ones((2, 4), "f2"), a.T @ np.ones((2, 4), "f2"))
    assert_close(s + s, a + a)
    assert_close(s @ s.T, a @ a.T)


def test_ufuncs_of_sparse_arrays_match_numpy():
    a = np.array([[0, 0.5, 0], [1, 0, -2]])
    s = sparse.csr_array(a)
    assert_close(np.sin(s), np.sin(a))
    assert_close(np.multiply(s, 3), a * 3)
    assert_close(np.matmul(s, np.ones(3)), a @ np.ones(3))
    cube = cuda.vectorize(source="x * x * x", args="x")
    assert_close(cube(s), a**3)
    scaled = cuda.vectorize(source="x * y", args="x, y")
    assert_close(scaled(2.0, s), 2 * a)
    assert_close(cuda.to_device(a) * s, a * a)
    with pytest.raises(TypeError, match="does not return 0 for 0"):
        np.cos(s)
    assert_close(s.map(np.cos), np.where(a != 0, np.cos(a), 0))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_conversion_to_scipy_and_back_is_exact(name, dtype):
    scipy = pytest.importorskip("scipy.sparse")
    host = np.random.default_rng(1).integers(0, 3, (6, 7)).astype(dtype)
    for scipys in (scipy.csr_array(host), scipy.coo_matrix(host), scipy.lil_array(host)):
        s = getattr(sparse, f"{name}_array")(scipys)
        back = s.get()
        assert back.format == name and back.dtype == s.dtype == dtype and back.shape == (6, 7)
        assert (back.toarray() == host).all()
        for other in ("csr", "csc", "coo"):
            converted = getattr(s, f"to{other}")().get()
            assert converted.format == other and (converted.toarray() == host).all()


def test_scipy_arrays_are_converted():
    scipy = pytest.importorskip("scipy.sparse")
    a = scipy.random_array((6, 7), density=0.3, random_state=1)
    assert_close(sparse.csr_array(scipy.csr_matrix(a)) @ np.ones(7), a @ np.ones(7))


def test_a_warm_product_makes_no_new_descriptors(monkeypatch):
    s = sparse.csr_array(np.eye(4))
    v = cuda.to_device(np.ones(4))
    s @ v
    called = []
    for name in ("CreateCsr", "CreateDnVec", "SpMV_bufferSize"):
        monkeypatch.setitem(CUSPARSE.functions, name, lambda *args: called.append(args) or 7)
    assert_close(s @ v, np.ones(4))
    assert not called
    stream = cuda.stream()
    with pytest.raises(CudaAPIError, match="cusparseCreateCsr failed .*INTERNAL_ERROR"):
        s @ v.bind(stream)  # each stream has its own buffer


@pytest.mark.skipif(
    not _core.driver_has("host_code"), reason="descriptors can be counted on the simulator"
)
def test_descriptors_are_destroyed():
    from numbalite.runtime.libraries import sparsesim

    gc.collect()
    before = len(sparsesim._descriptors)
    s = sparse.csr_array(np.eye(3))
    s @ np.ones(3), s @ np.ones((3, 2)), s @ s, sparse.spsolve_triangular(s, np.ones(3))
    assert len(sparsesim._descriptors) > before
    del s
    gc.collect()
    assert len(sparsesim._descriptors) == before


@pytest.mark.sim
@pytest.mark.skipif(
    not _core.driver_has("host_code"), reason="descriptors can be counted on the simulator"
)
def test_a_graph_keeps_the_array_of_a_captured_product(monkeypatch):
    """The simulator cannot capture products, so a C function without effect replaces cuSPARSE's."""
    from numbalite.runtime.libraries import sparsesim

    stream = cuda.stream()
    s, x = sparse.csr_array(np.eye(3)), cuda.to_device(np.ones(3)).bind(stream)
    s @ x
    stream.synchronize()
    for name in ("DnVecSetValues", "SpMV"):
        nothing = _core.LibraryCall("libc.so.6", "sched_yield")
        monkeypatch.setitem(CUSPARSE.functions, name, nothing)
    gc.collect()
    with stream.capture() as graph:
        s @ x
    before, seen = len(sparsesim._descriptors), weakref.ref(s.data)
    del s, x
    gc.collect()
    assert len(sparsesim._descriptors) == before and seen() is not None
    del graph
    gc.collect()
    assert len(sparsesim._descriptors) < before and seen() is None


def test_graphs_have_separate_product_buffers(monkeypatch):
    """Graphs do not use the product buffers that an array caches, because graphs may run
    concurrently."""
    stream = cuda.stream()
    s, x = sparse.csr_array(np.eye(3)), cuda.to_device(np.ones(3)).bind(stream)
    s @ x
    stream.synchronize()
    if cuda.is_simulated():  # which captures no product
        for name in ("DnVecSetValues", "SpMV"):
            nothing = _core.LibraryCall("libc.so.6", "sched_yield")
            monkeypatch.setitem(CUSPARSE.functions, name, nothing)
    multiply, buffers = CUSPARSE.functions["SpMV"], []
    noted = lambda *args: buffers.append(args[-1]) or multiply(*args)
    monkeypatch.setitem(CUSPARSE.functions, "SpMV", noted)
    s @ x
    graphs = []
    for _ in range(2):
        with stream.capture() as graph:
            s @ x, s @ x
        graphs.append(graph)
    own, *others = (one.address for one in buffers)
    assert others[0] == others[1] and others[2] == others[3]
    assert len({own, others[0], others[2]}) == 3


@pytest.mark.sim
def test_sparse_arrays_keep_no_stream_or_operand_alive():
    s, stream = sparse.csr_array(np.eye(3)), cuda.stream()
    x = cuda.to_device(np.ones(3)).bind(stream)
    y = s @ x
    assert_close(s @ x, y.copy_to_host(stream=stream))
    seen = [weakref.ref(one) for one in (stream, x, y)]
    del stream, x, y
    gc.collect()
    assert [one() for one in seen] == [None] * 3


def test_invalid_arguments_raise():
    s = sparse.csr_array(np.ones((2, 3)))
    make = sparse.csr_array
    cases = [
        (ValueError, r"indices must be from 0 to 2", lambda: make(([1.0], [3], [0, 1]), (1, 3))),
        (ValueError, r"indptr must increase", lambda: make(([1.0], [0], [0, 2]), (1, 3))),
        (ValueError, r"indptr has 2 elements", lambda: make(([1.0], [0], [0, 1]), (2, 3))),
        (
            ValueError,
            r"row must be from 0 to 1",
            lambda: sparse.coo_array(([1.0], ([2], [0])), (2, 2)),
        ),
        (ValueError, r"shape is \(3, 3\), the array has shape \(2, 3\)", lambda: make(s, (3, 3))),
        (
            TypeError,
            r"csr_array: values of dtype datetime64",
            lambda: make(np.ones((2, 2), "M8[s]")),
        ),
        (ValueError, r"must have two dimensions", lambda: make(np.ones(3))),
        (ValueError, r"shapes \(2, 3\) and \(2,\)", lambda: s @ np.ones(2)),
        (ValueError, r"shapes \(2, 3\) and \(2, 3\)", lambda: s @ s),
        (ValueError, r"out has shape", lambda: s.dot(np.ones(3), out=cuda.device_array(3))),
        (ValueError, r"must be square", lambda: sparse.spsolve_triangular(s, np.ones(2))),
        (TypeError, r"ambiguous", lambda: len(s)),
        (NotImplementedError, r"use toarray", lambda: s + 1),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
    singular = make(np.array([[0.0, 0], [1, 1]]))
    with pytest.raises(np.linalg.LinAlgError, match="zero entry on diagonal"):
        sparse.spsolve_triangular(singular, np.ones(2))


@pytest.mark.parametrize("made", FORMATS)
def test_copies_and_pickles_keep_the_format(made):
    a = made(np.array([[0, 2.0, 0], [1, 0, 3]]))
    for again in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.copy(a)):
        assert type(again) is made
        assert_close(again, a.toarray().get())
        assert_close(again @ np.ones(3), np.array([2.0, 4]))
    deep = copy.deepcopy(a)
    deep.data *= 2
    assert_close(a, np.array([[0, 2.0, 0], [1, 0, 3]]))
    assert copy.copy(a).data is a.data


@pytest.mark.parametrize("made", FORMATS)
def test_transpose_takes_axes(made):
    host = np.array([[0, 2.0, 0], [1, 0, 3]])
    a = made(host)
    for axes in (None, (1, 0), [-1, -2], np.array([1, 0])):
        assert_close(a.transpose(axes), host.T)
        assert_close(a.transpose(axes=axes, copy=True), host.T)
    assert_close(a.transpose((0, 1)), host)
    for wrong in (0, (0,), (0, 0), (1, 2), (0, 1, 2)):
        with pytest.raises(ValueError, match="don't match"):
            a.transpose(wrong)


@pytest.mark.parametrize("made", FORMATS)
def test_empty_coordinates_without_shape_raise(made):
    nothing = np.zeros(0), (np.zeros(0, int), np.zeros(0, int))
    with pytest.raises(ValueError, match="requires shape="):
        made(nothing)
    assert made(nothing, shape=(2, 3)).shape == (2, 3)


def test_products_with_invalid_operands_raise():
    a = sparse.csr_array(np.eye(2))
    for product in (a.dot, a.multiply):
        for other in (None, "x", {}):
            with pytest.raises(TypeError, match="neither a number nor an array"):
                product(other)
    with pytest.raises(TypeError, match="unsupported operand"):
        a * None
