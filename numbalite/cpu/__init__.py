"""Functions for the CPU: the decorator `jit`, the generated source, and the number of threads of parallel
loops.

Ufuncs for the CPU are in ufuncs/. The package cpu uses types, cxx, compilers, kernels, python and
ufuncs. Begin with jit.py.
"""
