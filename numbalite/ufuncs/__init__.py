"""ufuncs, generalized ufuncs and reductions, on every target.

The decorators make objects whose calls are C (cext/py/ufunc.c, gufunc.c, hostufunc.c, reduction.c); here is
what happens once for new types: choosing a loop by NumPy's rules, and writing and compiling it. cudaufunc
and cudagufunc are for GPUs, hostufunc for the CPU. Uses types, cxx, compilers,
runtime, kernels, python and ndarray. Begin with decorators.py, then cudaufunc.py.
"""
