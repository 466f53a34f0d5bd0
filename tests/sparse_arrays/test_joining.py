"""Compares functions that create sparse arrays, also from other sparse arrays, with SciPy's."""

import numpy as np
import pytest
from kit.likescipy import check_expressions, scipy

from numbalite import cuda
from numbalite.cuda import sparse

JOINED = """
sp.vstack([A, B])
sp.vstack([A, A])
sp.vstack([A, B], format='csc')
sp.vstack([A, B], dtype='c16')
sp.vstack([A > 0, A])
sp.vstack([A[0], A[1]])
sp.vstack([A, A[:, :2]])
sp.vstack([])
sp.hstack([A, B])
sp.hstack([A, A])
sp.hstack([A, B], format='csr')
sp.hstack([A, D])
sp.hstack([A[0], A[1]])
sp.block_array([[A, None], [None, B]])
sp.block_array([[A, B], [B, A]])
sp.block_array([[A, A], [A, A]])
sp.block_array([[A, B], [None, A[:2]]])
sp.block_array([[A, None], [None, None]])
sp.block_array([[A, A[:2]]])
sp.block_array([])
sp.block_diag([A, B])
sp.block_diag([A, 2, [1, 2]])
sp.block_diag([])
sp.kron(A, B, "coo")
sp.kron(A, B, format='csr')
sp.kron(A, D, format='coo')
sp.kronsum(A[:5, :5], B[:5, :5])
sp.kronsum(A[:2], B)
sp.tril(A)
sp.triu(A, k=1)
sp.tril(A, k=-1, format='csr')
sp.triu(A, -2, format='csc')
"""
DIAGONALS = """
sp.eye_array(3)
sp.eye_array(3, 4, k=-1, dtype='i4')
sp.diags_array([[1.0, 2], [4, 5, 6]], offsets=[-1, 0])
sp.eye_array(3, format='csr')
sp.eye_array(3, 4, k=1, format='csr', dtype='f4')
sp.eye_array(3, 4, k=-2, format='coo', dtype='i4')
sp.eye_array(3, k=5, format='csr')
sp.diags_array([1, 2, 3], dtype='f8', format='csr')
sp.diags_array([[1.0], [2, 3.0]], offsets=[0, 1], format='csr')
sp.diags_array([[1.0, 2, 3], [4.0]], offsets=[0, 1], shape=(3, 4), format='csc')
sp.diags_array([[1.0, 2, 3], [4, 5]], offsets=[0, 1], shape=(4, 4), format='csr')
sp.diags_array([1.0, 2, 3], offsets=[0, 1, -1], shape=(4, 4), format='csr')
sp.diags_array([[1, 2, 3]], offsets=[0, 0], shape=(4, 4))
sp.diags_array([[1.0, 2, 3], [1, 2, 3]], offsets=[0, 0], shape=(3, 3), format='csr')
sp.diags_array([[1.0]], offsets=[-9], shape=(3, 3), format='csr')
sp.random_array((5, 6), density=2)
"""


@pytest.mark.parametrize("seed", range(24))
def test_stacking_functions_match_scipy(seed):
    check_expressions(JOINED, seed)


def test_diags_array_matches_scipy():
    check_expressions(DIAGONALS, 0)
    d = cuda.to_device(np.arange(1.0, 4))
    for made in (sparse.diags_array(d), sparse.diags_array([d], offsets=[0])):
        assert (made.format, made.toarray().copy_to_host().tolist()) == (
            "dia",
            np.diag([1, 2, 3.0]).tolist(),
        )


def test_find_matches_scipy():
    a = scipy.random_array((5, 6), density=0.4, rng=np.random.default_rng(1), format="csc")
    found = zip(*(one.copy_to_host().tolist() for one in sparse.find(sparse.csc_array(a))))
    assert list(found) == sorted(zip(*(one.tolist() for one in scipy.find(a))))


@pytest.mark.parametrize("density", [0, 0.1, 0.5, 1])
@pytest.mark.parametrize("dtype", ["f4", "c16", "i2", "?"])
def test_random_array_has_density_and_dtype(density, dtype):
    a = sparse.random_array((20, 30), density=density, dtype=dtype, rng=1, format="csr")
    assert (a.format, a.shape, a.dtype, a.nnz) == ("csr", (20, 30), dtype, round(600 * density))
    again = sparse.random_array((20, 30), density=density, dtype=dtype, rng=1)
    assert again.format == "coo" and (a != again).nnz == 0


def test_random_array_draws_values_and_indices():
    ones = sparse.random_array((9,), density=0.5, rng=2, data_sampler=lambda size: cuda.ones(size))
    assert ones.shape == (9,) and ones.sum().copy_to_host() == ones.nnz == 4
    counts = sum(
        sparse.random_array((4, 5), density=0.2, rng=i).astype(bool).astype("i8") for i in range(99)
    )
    assert counts.sum().copy_to_host() == 396 and counts.nnz == 20  # each place was drawn


def test_spmatrix_names_raise_with_an_alternative():
    for name, other in (("csr_matrix", "csr_array"), ("eye", "eye_array"), ("bmat", "block_array")):
        with pytest.raises(AttributeError, match=f"use {other}"):
            getattr(sparse, name)
    assert not hasattr(sparse, "lil_array")
