"""Provides CUDA's libraries cuFFT, cuSOLVER, cuSPARSE and cuBLAS as tables of functions, by name.

`table` finds a library and its functions and converts error statuses to exceptions; loading, calls and
handles are implemented in C (cext/driver/cudalib, cext/py/librarycall, cext/core/handle). On the simulator,
Python code implements the functions: `fftsim`, `solversim` and `sparsesim` compute the libraries' results
with NumPy, from the same arguments, so that all calling code runs on the simulator as on a GPU. Begin with
table.py.
"""
