"""CUDA's libraries cuFFT, cuSOLVER, cuSPARSE and cuBLAS as tables of functions, by name.

`table` finds a library and its functions and makes exceptions of statuses; loading, calls and handles are C
(cext/driver/cudalib, cext/py/librarycall, cext/core/handle). On the simulator the functions are Python's:
`fftsim`, `solversim` and `sparsesim` compute the libraries' results with NumPy, from the same
arguments, so that all code above runs there as on a GPU. Begin with table.py.
"""
