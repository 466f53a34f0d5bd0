"""Tests dia_array, with SciPy as the oracle."""

import copy
import pickle

import numpy as np
import pytest
from kit.likescipy import check_expressions, scipy
from kit.sample import draw_cases

from numbalite import cuda
from numbalite.cuda import sparse
from numbalite.errors import PerformanceWarning

OF_ALL = """
A.todia()
A.asformat('dia')
sp.dia_array(A)
sp.dia_array(D)
sp.dia_array(A, dtype='c16')
sp.dia_array((np.arange(12.0).reshape(3, 4), [0, 3, -2]), shape=(4, 4))
sp.dia_array((np.arange(6.0).reshape(3, 2), [2, 0, -2]), shape=(4, 3)).tocsr()
sp.dia_array((np.arange(1.0, 5), 1), shape=(3, 4)).T
sp.dia_array((2, 3))
sp.dia_array((np.ones((2, 2)), [1, 1]), shape=(3, 3))
sp.dia_array((np.ones((2, 2)), [1]), shape=(3, 3))
sp.dia_array((np.ones((2, 2)), [1, 2]))
"""
OF_DIAGONALS = """
A.tocsr()
A.tocsc()
A.tocoo()
A.T
A.T.tocsr()
A.toarray()
A.offsets
A.data
A.nnz
A.diagonal()
A.diagonal(2)
A.diagonal(-9)
A.trace()
A + C
A - C
A * C
A + B
A * B
A * 2
2 * A
A / 2
A * D
-A
abs(A)
A.power(2)
A > 0
A != B
A != C
A.maximum(C)
A.conj()
A.astype('f4')
A.copy()
A.count_nonzero()
A.nonzero()
A.sum()
A.sum(axis=0)
A.mean(axis=1)
A.reshape(1, -1)
A @ np.ones(A.shape[1])
A @ D.T
D.T @ A
A @ C.T
A @ B.T
B.T @ A
A.dot(np.ones(A.shape[1], 'f4'))
sp.vstack([A, B])
sp.block_diag([A, 2])
sp.kron(A, B, format='csr')
sp.tril(A)
(A.setdiag(5, k=1), A)[1]
(A.resize(3, 3), A)[1]
"""


def test_conversions_to_dia_match_scipy():
    for seed in draw_cases(2, range(24)):
        check_expressions(OF_ALL, seed, formats=("csr", "csc", "coo", "dia"))


@pytest.mark.parametrize("seed", range(24))
def test_dia_array_operations_match_scipy(seed):
    lines = OF_DIAGONALS.replace("C", "B.todia()").replace("D", "np.asarray(D)")
    check_expressions(lines, seed, "f8 f4 c16 c8 i4 i8".split(), formats=("dia",))
    check_expressions("A + B\nB + A\nB @ A.T\nA @ B.T", seed, formats=("dia", "csr", "csc", "coo"))


def test_slices_of_dia_arrays_match_scipy():
    a = np.diag([1.0, 2, 3]) + np.diag([4.0, 5], 1)
    s = sparse.dia_array(a)
    assert (s[1].toarray().copy_to_host() == a[1]).all() and s[0, 1] == 4
    assert (s[:2, 1:].toarray().copy_to_host() == a[:2, 1:]).all() and s[:2].format == "csr"
    assert s.max() == 5 and s.argmax(axis=1).copy_to_host().tolist() == [1, 2, 2]


def test_elements_outside_the_matrix_are_ignored():
    data = np.arange(1.0, 11).reshape(2, 5)
    s = sparse.dia_array((data, [1, -1]), shape=(3, 3))
    a = scipy.dia_array((data, [1, -1]), shape=(3, 3)).toarray()
    for made in (s, s.T.T, s.tocsr(), s * sparse.dia_array(np.ones((3, 3)))):
        assert (made.toarray().copy_to_host() == a).all()
    assert (s.nnz, s.sum().item()) == (4, a.sum())
    assert (s @ np.ones(3)).copy_to_host().tolist() == a.sum(1).tolist()


def test_copies_and_pickles_keep_the_dia_format():
    s = sparse.dia_array(np.eye(3))
    for made in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.get()):
        assert made.format == "dia" and (made != s).nnz == 0
    out = cuda.to_device(np.empty(3))
    assert s.dot(np.arange(3.0), out=out) is out
    assert out.copy_to_host().tolist() == [0, 1, 2]


def test_spsolve_triangular_accepts_dia_arrays():
    lower = sparse.diags_array([[2.0, 4.0], [1.0]], offsets=[0, -1])
    assert sparse.spsolve_triangular(lower, [2.0, 5.0]).copy_to_host().tolist() == [1, 1]


def test_dia_arrays_reject_invalid_arguments():
    cases = [
        (".data, offsets. requires shape=", lambda: sparse.dia_array((np.ones((1, 2)), [0]))),
        ("offsets have dtype float64", lambda: make_dia_array([0.5])),
        ("a row for each of 2 offsets", lambda: make_dia_array([0, 1])),
        ("an offset occurs twice", lambda: make_dia_array([0, 0], 2)),
        ("todia requires a sparse array of two", lambda: sparse.coo_array(np.ones(2)).todia()),
    ]

    def make_dia_array(offsets, rows=1):
        return sparse.dia_array((np.ones((rows, 2)), offsets), shape=(2, 2))

    for message, call in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_many_diagonals_warn():
    with pytest.warns(PerformanceWarning, match="todia: 120 diagonals"):
        assert sparse.csr_array(np.ones((1, 120))).todia().nnz == 120
