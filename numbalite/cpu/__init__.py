"""Functions for the CPU: `jit`, their source, and the number of threads of parallel loops.

Ufuncs for the CPU are in ufuncs/. Uses types, cxx, compilers, kernels, python and ufuncs. Begin with jit.py.
"""
