"""Tests A[key] of sparse arrays, with SciPy as the oracle."""

import numpy as np
import pytest
from kit.likescipy import check_expressions

from numbalite import cuda
from numbalite.cuda import sparse

OF_ALL = """
A[1]
A[-1]
A[1:3]
A[4:1:-2]
A[1:1]
A[::-1]
A[:, 2]
A[:, -1]
A[1, 2]
A[-1, -2]
A[1:2, 3]
A[1, 2:4]
A[1:, 1:-1:2]
A[:, ::-1]
A[:3, :3]
A[...]
A[()]
A[1, ...]
A[1:3, ...]
A[np.array(1)]
A[[0, 2]]
A[[]]
A[[-1, -5, -1]]
A[[True, False, True, False, False] + [True] * (A.shape[0] - 5)]
A[:, [1, 1]]
A[:, [3, 0, 1]]
A[[0, 2], 1]
A[1, [0, 2]]
A[1:3, [0, 2]]
A[[0, 2], 1:3]
A[np.ix_([0, 2], [1, 3])]
A[[[0, 1], [1, 2]], [[0, 1], [1, 2]]]
A[[0, 2], [[1], [2]]]
A[[[0], [2]], [1, 3]]
A[7]
A[-7, 0]
A[[7]]
A[[0, 2], [0, 1, 2]]
A[[True, False]]
A[1, 2, 3]
A[1.5]
A['a']
A.T[1:3]
"""
OF_COMPRESSED = """
A[[0, 2], [1, 3]]
A[A > 0]
A[A != 0]
A[D > 0]
A[None]
A[[[0, 1], [1, 2]]]
"""
OF_LINES = """
A[1][2]
A[1][-1]
A[1][1:3]
A[1][::-1]
A[1][[1, 2, 1]]
A[1][7]
A[1][...]
"""


@pytest.mark.parametrize("seed", range(24))
def test_indexing_matches_scipy(seed):
    check_expressions(OF_ALL + OF_LINES, seed)
    check_expressions(OF_COMPRESSED, seed, formats=("csr", "csc"))


def test_device_index_arrays_match_scipy():
    a = np.arange(12.0).reshape(3, 4) * (np.arange(12).reshape(3, 4) % 2)
    s = sparse.csr_array(a)
    rows, columns = (cuda.to_device(np.array(one)) for one in ([2, -1, 0], [1, 3, 3]))
    assert (s[rows].toarray().copy_to_host() == a[[2, 2, 0]]).all()
    assert (s[:, columns].toarray().copy_to_host() == a[:, [1, 3, 3]]).all()
    assert s[rows, columns].copy_to_host().tolist() == [9, 11, 3]
    assert (s[rows > 0].toarray().copy_to_host() == a[[0]]).all()
    assert s[cuda.to_device(a) > 5].copy_to_host().tolist() == [7, 9, 11]
    with pytest.raises(IndexError, match="index 3 is out of bounds for an axis of length 3"):
        s[columns]


def test_indexing_sums_duplicates_in_unsorted_rows():
    data, indices, indptr = np.arange(1.0, 7), [3, 1, 3, 2, 2, 0], [0, 3, 6]
    s = sparse.csr_array((data, indices, indptr), shape=(2, 4))
    a = np.array([[0, 2, 0, 4], [6, 0, 9, 0]], "f8")
    assert s[0, 3] == 4 and s[1, 2] == 9 and s[0, 0] == 0
    assert s[[0, 1], [3, 2]].copy_to_host().tolist() == [4, 9]
    assert (s[::-1, 1:].toarray().copy_to_host() == a[::-1, 1:]).all()
    assert s[1].toarray().copy_to_host().tolist() == a[1].tolist()


def test_indexing_returns_a_copy():
    s = sparse.csr_array(np.eye(3))
    for part in (s[...], s[:2], s[:, :2], s[0], s[[0, 1]]):
        part.data.fill(7)
    assert (s.toarray().copy_to_host() == np.eye(3)).all()
    with pytest.raises(TypeError, match="elements of a sparse array cannot be assigned"):
        s[0, 0] = 1
