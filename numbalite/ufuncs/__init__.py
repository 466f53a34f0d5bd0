"""Creates ufuncs, generalized ufuncs and reductions for all targets.

The decorators create objects whose calls are implemented in C (cext/py/ufunc.c, gufunc.c, hostufunc.c, reduction.c).
This package runs once for new types: it selects a loop by NumPy's rules, generates its source and compiles it.
cudaufunc and cudagufunc are for GPUs, hostufunc is for the CPU. The package ufuncs uses types, cxx,
compilers, runtime, kernels, python and ndarray. Begin with decorators.py, then cudaufunc.py.
"""
