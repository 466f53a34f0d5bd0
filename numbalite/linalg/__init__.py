"""Implements NumPy's linear algebra on device arrays (`np.linalg.solve(d, e)`), by cuSOLVER, and
products (`@`, dot, einsum) by cuBLAS.

C code (cext/py/matmul.c) computes `a @ b` of two arrays whose layout cuBLAS supports. `matmul` converts other
products to products of two such arrays; integers and booleans have a separate kernel
(cuda_src/templates/matmul.cu). `products` and `einsum` reduce NumPy's functions to matrix products.

`arguments` converts matrices and stacks of matrices, `lapack` calls cuSOLVER; `solving`, `decompositions` and
`norms` contain NumPy's functions. cuSOLVER expects column-major matrices. A row-major matrix is passed
unchanged if the result can be computed from the transposed matrix; otherwise the matrix is copied once,
transposed. The status of a factorization (whether the matrix is singular) is read once, at the end, so
factorizing functions wait for the device. The package linalg uses types, compilers, runtime, kernels, ndarray,
ufuncs and functions. Begin with solving.py.
"""
