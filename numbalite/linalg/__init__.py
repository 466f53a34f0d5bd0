"""NumPy's linear algebra on device arrays (`np.linalg.solve(d, e)`), by cuSOLVER, and the products: `@`,
dot, einsum, by cuBLAS.

`a @ b` of two arrays that cuBLAS takes as they lie never comes here: it is C (cext/py/matmul.c). Other
products are made such in `matmul`; whole numbers and booleans have a kernel of our own
(cuda_src/templates/matmul.cu). `products` and `einsum` are NumPy's functions made of products.

`arguments` reads matrices and batches of them, `lapack` calls the library on them, `solving`,
`decompositions` and `norms` are NumPy's functions. Matrices are given to the library as they lie, by rows, where the
mathematics of the transposed matrix lets that be; otherwise one copy turns them. What a factorization has to
say (a singular matrix) is read once, at the end: those functions wait for the device. Uses types,
compilers, runtime, kernels, ndarray, ufuncs and functions. Begin with solving.py.
"""
