"""CUDA's libraries cuFFT, cuSOLVER, cuSPARSE and cuBLAS as tables of functions, by name.

`table` finds a library and its functions, keeps a handle for each device and thread, and makes exceptions of
statuses. On the simulator the functions are Python's: `fftsim`, `solversim` and `sparsesim` compute with NumPy what the
libraries compute, from the same arguments, so that everything above runs there as on a GPU. Uses compilers (to
find the toolkit). Begin with table.py.
"""
