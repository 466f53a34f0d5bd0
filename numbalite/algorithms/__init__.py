"""Implements sorting, counting, selection and scans of device arrays by their own kernels; many functions
accept a user-defined operation.

Functions accept device arrays, axes counted from the front, and a stream; NumPy's functions and array methods
are built on these algorithms. The package algorithms uses types, compilers, runtime, kernels, ndarray
and ufuncs. Begin with sorting.py and radix.py; for user-defined operations, with operation.py and sort.py.
"""
