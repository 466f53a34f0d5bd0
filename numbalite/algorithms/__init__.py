"""Algorithms over device arrays, with kernels of their own: sorting, counting, scans; many with an
operation of the user's.

Functions take device arrays, axes counted from the front and a stream; NumPy's functions and the methods of arrays are
made of them. Uses types, compilers, runtime, kernels, ndarray and ufuncs. Begin with sorting.py and radix.py; operation.py and sort.py for
operations of the user's.
"""
