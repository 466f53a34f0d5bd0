"""Tests conjugate gradients, and sparse arrays whose coordinates are in one array."""

import itertools

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda
from numbalite.cuda import sparse

scipy_sparse = pytest.importorskip("scipy.sparse")


def positive_definite_system(dtype=np.float64, n=60):
    random = random_generator()
    root = scipy_sparse.random_array((n, n), density=0.05, rng=random).toarray().astype(dtype)
    if np.dtype(dtype).kind == "c":
        root = root + 1j * scipy_sparse.random_array((n, n), density=0.05, rng=random).toarray()
    matrix = (root @ root.conj().T + 2 * np.eye(n)).astype(dtype)
    return matrix, random.normal(size=n).astype(dtype)


CLASSES = sparse.csr_array, sparse.csc_array, sparse.coo_array, cuda.asarray


@pytest.mark.parametrize(
    "dtype, make",
    list(itertools.product(["f4", "f8", "c8", "c16"], CLASSES)),
)
def test_cg_solves_positive_definite_systems(dtype, make):
    matrix, b = positive_definite_system(dtype)
    rtol = 1e-5 if np.dtype(dtype).char in "fF" else 1e-10
    x, info = sparse.linalg.cg(make(matrix), cuda.asarray(b), rtol=rtol)
    assert (info, x.dtype) == (0, np.dtype(dtype))
    np.testing.assert_allclose(matrix @ x.copy_to_host(), b, atol=20 * rtol * np.linalg.norm(b))


def test_cg_accepts_scipys_arguments():
    matrix, b = positive_definite_system()
    a, seen = sparse.csr_array(matrix), []
    x, info = sparse.linalg.cg(a, b, rtol=1e-12, callback=lambda x: seen.append(x.copy_to_host()))
    assert info == 0
    np.testing.assert_array_equal(seen[-1], x.copy_to_host())
    _, info = sparse.linalg.cg(a, b, rtol=1e-12, maxiter=2)
    assert info == 2
    exact, info = sparse.linalg.cg(a, b, x0=x, rtol=1e-6)
    np.testing.assert_array_equal(exact.copy_to_host(), x.copy_to_host())
    inverse = sparse.csr_array(np.diag(1 / np.diag(matrix)))
    for m in (inverse, lambda r: inverse @ r):
        y, info = sparse.linalg.cg(lambda v: a @ v, b, M=m, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(y.copy_to_host(), np.linalg.solve(matrix, b), atol=1e-7)
    zero, info = sparse.linalg.cg(a, np.zeros_like(b))
    assert (info, float(np.max(np.abs(zero)))) == (0, 0)
    column, info = sparse.linalg.cg(a, b[:, None])
    assert (info, column.shape) == (0, b.shape)
    for given, message in (
        ((a, b[:5]), "A has shape"),
        ((a, matrix), "b must be a vector"),
        ((a, b, b[:3]), "x0 has 3"),
    ):
        with pytest.raises(ValueError, match=message):
            sparse.linalg.cg(*given)


@pytest.mark.parametrize("make", [np.asarray, cuda.asarray, np.ndarray.tolist])
@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array"])
def test_coordinates_may_be_one_index_array(name, make):
    random = random_generator()
    ij, values = random.integers(0, 7, (2, 20)), random.normal(size=20)
    ours = getattr(sparse, name)((values, make(ij)), shape=(7, 8))
    theirs = getattr(scipy_sparse, name)((values, ij), shape=(7, 8))
    np.testing.assert_allclose(ours.toarray().copy_to_host(), theirs.toarray())
    assert getattr(sparse, name)((values, make(ij))).shape == tuple(ij.max(1) + 1)


def test_one_dimensional_coo_arrays_accept_one_index_array():
    made = sparse.coo_array(([1.0, 2.0], np.array([[3, 1]])), shape=(5,))
    assert made.toarray().copy_to_host().tolist() == [0, 2, 0, 1, 0]
    with pytest.raises(TypeError, match="a tuple is"):
        sparse.coo_array(([1.0, 2.0], np.zeros((3, 2), int)))
