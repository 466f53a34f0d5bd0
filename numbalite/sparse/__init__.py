"""Sparse arrays in device memory (`cuda.sparse`): csr_array, csc_array, coo_array and dia_array, shaped like SciPy's.

`array` has what the formats share, `formats` and `diagonals` the classes, `construct` reads what they are made from,
`products` calls cuSPARSE, `elementwise`, `indexing`, `changes` and `reductions` are made of NumPy's functions and
`kernels`, which do what cuSPARSE has not: merging, sums of duplicates, diagonals, products of whole numbers,
conversions from and to dense arrays. `building` and `joining` have the functions that make arrays. What has to know
how many elements a result has (a product or sum of two sparse arrays, a conversion from a dense one) waits for the
device.
Uses runtime, kernels, ndarray, ufuncs, functions and random. Begin with formats.py.
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
    """What SciPy's matrices are called: the message says which name their arrays have."""
    if name in _OTHERS:
        raise AttributeError(f"cuda.sparse has arrays, not matrices: use {_OTHERS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
