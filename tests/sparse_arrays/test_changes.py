"""Tests in-place changes of diagonals and shapes, with SciPy as the oracle."""

import numpy as np
import pytest
from kit.likescipy import check_expressions

from numbalite.cuda import sparse

OF_ALL = """
(A.setdiag(3), A)[1]
(A.setdiag(np.array([1, 2, 3, 0, 1, 2, 3], A.dtype), k=1), A)[1]
(A.setdiag(A.diagonal()[:2], k=-2), A)[1]
(A.setdiag(7, k=A.shape[1] - 1), A)[1]
(A.setdiag(7, k=-9), A)[1]
(A.resize(3, 4), A)[1]
(A.resize((8, 9)), A)[1]
(A.resize(3, 9), A)[1]
(A.resize(9, 0), A)[1]
(A.resize(0, 4), A)[1]
A.resize(-1, 2)
A.astype('i4', casting='safe')
A.astype('f8', 'same_kind')
"""
OF_COMPRESSED = """
A.sorted_indices()
A.has_sorted_indices
"""


@pytest.mark.parametrize("seed", range(32))
def test_in_place_changes_match_scipy(seed):
    check_expressions(OF_ALL, seed, formats=("csr", "csc", "coo", "dia"))
    check_expressions(OF_COMPRESSED, seed, formats=("csr", "csc"))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_products_use_changed_elements(form):
    a = np.array([[0, 2.0, 1], [1, 0, 0], [3, 0, 4]])
    s = form(a)
    s @ np.ones(3)
    s.setdiag([5, 6])
    a[[0, 1], [0, 1]] = 5, 6
    assert (s @ np.ones(3)).copy_to_host().tolist() == a.sum(1).tolist()
    s.resize(2, 3)
    assert (s @ np.ones(3)).copy_to_host().tolist() == a[:2].sum(1).tolist()


def test_one_dimensional_coo_arrays_are_resized():
    line = sparse.coo_array(np.array([0, 1.0, 2]))
    line.resize(2)
    assert line.toarray().copy_to_host().tolist() == [0, 1]
    line.resize((4,))
    assert line.toarray().copy_to_host().tolist() == [0, 1, 0, 0]


def test_setdiag_and_resize_reject_invalid_arguments():
    s = sparse.csr_array(np.eye(2))
    cases = [
        ("setdiag: k is 2, which is outside of shape", lambda: s.setdiag(1, 2)),
        ("setdiag: values has shape", lambda: s.setdiag(np.ones((1, 1)))),
        ("setdiag requires a sparse array of two dimensions", lambda: s[0].setdiag(1)),
        ("resize: shape is .*two whole numbers", lambda: s.resize(3)),
    ]
    for message, call in cases:
        with pytest.raises(ValueError, match=message):
            call()
