"""Tests sums, means, extremes and indices of extremes of sparse arrays, with SciPy as the
oracle."""

import warnings

import numpy as np
import pytest
from kit.likescipy import check_expressions

from numbalite.cuda import sparse

OF_ALL = """
A.sum()
A.sum(axis=0)
A.sum(axis=1)
A.sum(axis=-1)
A.sum(axis=(0, 1))
A.sum(axis=0, dtype='f4')
A.sum(axis=2)
A.sum(axis=1.5)
A.sum(axis=0, out=np.empty(3))
A.mean()
A.mean(axis=0)
A.mean(axis=1, dtype='c8')
A.max()
A.max(axis=0)
A.max(axis=1)
A.max(axis=2)
A.max(axis=1, explicit=True)
A.max(axis=0, out=np.empty(3))
A.min()
A.min(axis=-1)
A.nanmax(axis=0)
A.nanmin()
A.argmax()
A.argmax(axis=0)
A.argmin(axis=1)
A.argmin(axis=0, explicit=True)
A.argmax(axis=1, explicit=True)
A[:, :0].argmax(axis=0)
A[:2].argmin(axis=0, explicit=True)
A.count_nonzero()
A.trace()
A.trace(offset=1)
A.diagonal()
A.diagonal(1)
A.diagonal(-2)
np.sum(A)
np.sum(A, axis=0)
np.mean(A, axis=1)
np.max(A)
A[1].sum()
A[1].sum(axis=0)
A[1].sum(axis=1)
A[1].mean()
A[1].max()
A[1].max(axis=0)
A[1].argmax()
A[1].count_nonzero()
A[1].diagonal()
"""
OF_NOTHING = """
A[:0].sum(axis=0)
A[:0].max()
A[:0].max(axis=0)
A[:0].max(axis=1)
A[:0].mean()
A[:0].argmax()
A[:, :0].sum(axis=1)
"""


@pytest.mark.parametrize("seed", range(24))
def test_sparse_reductions_match_scipy(seed):
    check_expressions(OF_ALL, seed)
    check_expressions(OF_NOTHING, seed)


def test_explicit_argmax_ignores_implicit_zeros():
    a = np.array([[0, -2, 0], [0, 0, 0], [-1, 0, -3]])
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        places = [getattr(form(a), name)(explicit=True) for name in ("argmax", "argmin")]
        assert [one.item() for one in places] == [6, 8]  # SciPy's count the stored elements
        assert form(a)[2].argmin(explicit=True).item() == 2
        with pytest.raises(ValueError, match="argmax: no elements are stored"):
            form((2, 2)).argmax(explicit=True)


def test_count_nonzero_along_each_axis_matches_numpy():
    a = np.array([[0, 1.5, 0], [2, 0, -1]])
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        for axis in (0, 1):
            found = form(a).count_nonzero(axis=axis).copy_to_host()
            assert found.tolist() == np.count_nonzero(a, axis=axis).tolist()


def test_reductions_handle_nan_and_implicit_zeros():
    nan = np.nan
    a = np.array([[nan, 0, -1], [-1, -2, -3], [nan, nan, nan], [0, 0, 0], [5, nan, 7]])
    s = sparse.csr_array(a)
    for name in ("max", "min", "argmax", "argmin"):
        for axis in (0, 1):
            expected = getattr(a, name)(axis=axis)
            found = getattr(s, name)(axis=axis)
            found = found.toarray() if sparse.issparse(found) else found
            np.testing.assert_array_equal(found.copy_to_host(), expected)
        np.testing.assert_array_equal(getattr(s, name)().copy_to_host(), getattr(a, name)())
    for name in ("nanmax", "nanmin"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = getattr(np, name)(a, axis=1)
        found = getattr(s, name)(axis=1).toarray().copy_to_host()
        np.testing.assert_array_equal(found, expected)
