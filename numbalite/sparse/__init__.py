"""Sparse arrays in device memory (`cuda.sparse`): csr_array, csc_array and coo_array, shaped like SciPy's.

`array` has what the formats share, `formats` the classes, `construct` reads what they are made from, `products`
calls cuSPARSE, `elementwise`, `indexing` and `reductions` are made of NumPy's functions and `kernels`, which do
what cuSPARSE has not: merging, sums of duplicates, conversions from and to dense arrays. What has to know how many
elements a result has (a product or sum of two sparse arrays, a conversion from a dense one) waits for the device.
Uses libraries, kernels and cuda. Begin with formats.py.
"""

from numbalite.sparse.construct import issparse
from numbalite.sparse.formats import coo_array, csc_array, csr_array, spsolve_triangular

__all__ = ["coo_array", "csc_array", "csr_array", "issparse", "spsolve_triangular"]
