"""Linear algebra on device arrays: NumPy's products, `@`, einsum, norms.

`a @ b` of two arrays that cuBLAS takes as they lie never comes here: it is C (cext/py/matmul.c). Other
products are made such in matmul.py; whole numbers and booleans have a kernel of our own
(cuda_src/templates/matmul.cu). products.py, norms.py and einsum.py have NumPy's functions that are made of
products; they are in the table of cuda/arrayfunctions. Solving and decompositions get a module beside them.
"""
