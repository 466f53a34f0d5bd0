"""Implements sparse arrays in device memory (`cuda.sparse`): csr_array, csc_array, coo_array and dia_array,
with the interface of SciPy's.

`array` contains the base class, `formats` and `diagonals` the classes, `construct` converts constructor
arguments. `products` calls cuSPARSE. `elementwise`, `indexing`, `changes` and `reductions` use NumPy's
functions and `kernels`, which contains the operations that cuSPARSE lacks: merging, sums of duplicates,
diagonals, integer products, conversions from and to dense arrays. `building` and `joining` contain the
functions that create arrays. Operations that need the number of elements of their result (a product or sum of
two sparse arrays, a conversion from a dense array) wait for the device. The package sparse uses
runtime, kernels, ndarray, ufuncs, algorithms, functions and random. Begin with formats.py.
"""

from numbalite.sparse import linalg
from numbalite.sparse.building import diags_array, eye_array, random_array
from numbalite.sparse.construct import issparse
from numbalite.sparse.diagonals import dia_array
from numbalite.sparse.formats import coo_array, csc_array, csr_array, spsolve_triangular
from numbalite.sparse.joining import (
    block_array,
    block_diag,
    find,
    hstack,
    kron,
    kronsum,
    tril,
    triu,
    vstack,
)

__all__ = [
    "block_array",
    "block_diag",
    "coo_array",
    "csc_array",
    "csr_array",
    "dia_array",
    "diags_array",
    "eye_array",
    "find",
    "hstack",
    "issparse",
    "kron",
    "kronsum",
    "linalg",
    "random_array",
    "spsolve_triangular",
    "tril",
    "triu",
    "vstack",
]

_OTHERS = {
    **{
        f"{name}_matrix": f"{name}_array (whose * is element by element)"
        for name in ("csr", "csc", "coo", "dia")
    },
    "eye": "eye_array",
    "identity": "eye_array",
    "diags": "diags_array",
    "spdiags": "diags_array",
    "random": "random_array",
    "rand": "random_array",
    "bmat": "block_array",
}


def __getattr__(name: str) -> object:
    """Raises AttributeError for names of SciPy's sparse matrices; the message contains the name of the array
    version."""
    if name in _OTHERS:
        raise AttributeError(f"cuda.sparse supports arrays, not matrices: use {_OTHERS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
