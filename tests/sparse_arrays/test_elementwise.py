"""Tests arithmetic, comparisons and element-wise functions of sparse arrays, with SciPy as the
oracle."""

import operator

import numpy as np
import pytest
from kit.likescipy import check_expressions, scipy
from kit.sample import random_generator

from numbalite.cuda import sparse
from numbalite.errors import PerformanceWarning

OF_ALL = """
A > 0
A < 0
A >= 1
A < 1
A == 0
A != 0
A == 2
A == B
A != B
A > B
A < B
A >= B
A <= B
A > D
D > A
A == None
A != None
A > None
A == sp.csr_array((3, 3))
A != sp.csr_array((3, 3))
A > sp.csr_array((3, 3))
A + 0
A + 1
1 - A
0 - A
A + B
A * B
A + D
D + A
A * 2
2 * A
A * 2.5
A * 3j
A * np.float32(2)
A.dot(2)
A / 2
A / 2.5
A / 2j
A / True
A / np.float32(2)
A / np.float64(2)
A / np.int8(2)
A / np.array(2, 'f4')
np.true_divide(A, 2)
A ** 2
A // 2
A + None
A + sp.csr_array((2, 2))
A.multiply(sp.csr_array((2, 2)))
A.multiply(np.ones((2, 2)))
A.maximum(B)
A.minimum(B)
A.maximum(0)
A.maximum(2)
A.minimum(0)
A.maximum(D)
A.power(0)
A ** A
abs(A)
A.sign()
A.trunc()
A.astype('f4')
A.astype(bool)
A.real
A.imag
A.conj()
A.nonzero()
A.reshape(1, -1)
A.reshape((-1,))
A.reshape(-1, 3)
A.reshape((3, -1), order='F')
A.reshape(7, 7)
A.asformat('coo')
A.asformat('csc')
A.asformat('xyz')
A.toarray(order='F')
A @ 2
len(A)
bool(A)
bool(A[:1, :1])
list(A)[1]
np.abs(A)
np.multiply(A, B)
np.add(A, B)
"""
OF_NUMBERS = """
A - B
A - A
D - A
A - D
-A
A.power(3, dtype='f4')
"""
OF_FLOATS = """
A.sqrt()
A.sin()
round(A, 1)
np.sqrt(A)
"""
OF_LINES = """
A[1].toarray()
A[1].T
A[1].tocsc()
A[1].nonzero()
A[1] + A[2]
A[1] * A[2]
A[1] > A[2]
A[1] != A[2]
A[1] > 0
A[1] * 2
A[1] * D[0]
A[1] + D[0]
A + A[1]
A[1] @ np.ones(A.shape[1])
A[1] @ np.ones((A.shape[1], 3))
D @ A[1]
"""
PRODUCTS_OF_LINES = """
A[1].power(2)
A.tocsr() @ A[1]
A @ B.T
A.T @ B
A[1] @ A.T
A[1] @ A[1]
"""


@pytest.mark.parametrize("seed", range(24))
def test_elementwise_operations_match_scipy(seed):
    check_expressions(OF_ALL + OF_LINES, seed)
    check_expressions(OF_NUMBERS, seed, "f8 f4 c16 c8 i4 i8".split())
    check_expressions(OF_FLOATS + PRODUCTS_OF_LINES, seed, "f8 f4 c16 c8".split())


BROADCAST = """
A.multiply(A[[1]])
A.multiply(A[:, [1]])
A[[1]].multiply(B)
A * A[1]
"""


@pytest.mark.parametrize("seed", range(2))
def test_broadcast_operations_match_scipy(seed):
    check_expressions(BROADCAST, seed, formats=("csr",))
    a = np.array([[0, 2.0, 0], [1, 0, 3]])
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        for b in (a, a[0], a[:, :1], 2):
            for result, expected in ((form(a) * b, a * b), (b * form(a), a * b)):
                assert result.format == form.format  # SciPy's has another one
                assert (result.toarray().copy_to_host() == expected).all()
        for dtype in ("f4", "i1"):
            quotient = form(a.astype("f4")) / np.ones_like(a, dtype)
            assert (
                quotient.dtype == (scipy.csr_array(a.astype("f4")) / np.ones_like(a, dtype)).dtype
            )
        quotient = form(a) / (a + 1)
        assert (quotient.toarray().copy_to_host() == a / (a + 1)).all()
        assert ((form(a[:1]) * a).toarray().copy_to_host() == a[:1] * a).all()


def test_cancelled_elements_are_not_stored():
    rng = np.random.default_rng(1)
    a = sparse.csr_array(scipy.random_array((9, 8), density=0.3, rng=rng))
    assert (a - a).nnz == (a != a.copy()).nnz == (a > a).nnz == 0
    assert (a != 2 * a).nnz == a.nnz


def test_rows_of_very_different_lengths_are_merged():
    """Threads merge parts of a long row, and several short and empty rows; results store no zeros."""
    rng = random_generator()
    for _ in range(25):
        rows, columns = (int(n) for n in rng.integers(1, 60, 2))
        if rng.integers(2):
            rows, columns = int(rng.integers(1, 4)), int(rng.integers(100, 500))
        hosts = []
        for _ in range(2):
            values = rng.integers(-2, 3, (rows, columns)) * (
                rng.random((rows, columns)) < rng.random()
            )
            values[rng.random(rows) < rng.choice([0.0, 0.5, 0.9])] = 0
            hosts.append(scipy.csr_array(values.astype("f4")))
        a, b = hosts if rng.integers(5) else hosts[:1] * 2
        ours = sparse.csr_array(a), sparse.csr_array(b)
        for operation in (operator.add, operator.sub, operator.mul, operator.ne, operator.lt):
            result = operation(*ours)
            expected = scipy.csr_array(operation(a.toarray(), b.toarray()))
            for name in ("indptr", "indices", "data"):
                host = getattr(result, name).copy_to_host()
                np.testing.assert_array_equal(host, getattr(expected, name), str(operation))


def test_infinity_times_implicit_zeros_matches_scipy():
    a, b = np.array([[np.inf, 0], [0, 1]]), np.array([[0, 1.0], [1, 1]])
    found = (sparse.csr_array(a) * sparse.csr_array(b)).toarray().copy_to_host()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, a * b)


def test_full_results_warn():
    a = sparse.csr_array(np.eye(3))
    for call in (lambda: a == 0, lambda: a <= a, lambda: a.maximum(1)):
        with pytest.warns(PerformanceWarning, match="the result stores all elements"):
            assert call().format == "csr"


def test_scipy_operands_are_converted():
    host = scipy.csr_array(np.array([[0, 2.0], [1, 0]]))
    s = sparse.csr_array(host)
    assert ((s + host).toarray().copy_to_host() == 2 * host.toarray()).all()
    for product in (s @ host, host @ s):
        assert (product.toarray().copy_to_host() == (host @ host).toarray()).all()
    assert (host + s).nnz == 2 and (s - host).nnz == (host - s).nnz == 0
    assert (s != host).nnz == (host != s).nnz == (host > s).nnz == 0
    assert (host * s).data.copy_to_host().tolist() == [4, 1]


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_stored_zeros_are_eliminated(form):
    s = form(np.array([[0, 2.0, 1], [1, 0, 0]]))
    made = s * np.array([[1, 1, 0], [0, 1, 1]])
    made.eliminate_zeros()
    assert made.nnz == 1 and made.toarray().copy_to_host().tolist() == [[0, 2, 0], [0, 0, 0]]


def test_unsupported_operations_raise():
    s = sparse.csr_array(np.eye(2))
    cases = [
        (NotImplementedError, "power 0 is a dense array", lambda: s**0),
        (NotImplementedError, "use toarray", lambda: s + 1),
        (TypeError, "use A != B", lambda: (s > 0) - (s > 0)),
        (TypeError, "values of dtype <U1", lambda: sparse.csr_array(np.array([["a"]]))),
        (ValueError, "reshape.*returns a row", lambda: s[0].tocsr()),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.parametrize("made", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_in_place_scaling_keeps_the_object(made):
    dense = np.array([[0, 2.0], [3, 0]])
    a = again = made(dense)
    again *= 3
    again /= 2
    assert again is a
    np.testing.assert_array_equal(a.toarray().get(), dense * 3 / 2)
    np.testing.assert_array_equal(a.mT.toarray().get(), dense.T * 3 / 2)
    again *= a  # a new array
    np.testing.assert_array_equal(again.toarray().get(), (dense * 3 / 2) ** 2)
    whole = made(dense.astype(int))
    with pytest.raises(TypeError, match="casting rule"):
        whole *= 1.5
