"""Manages devices, contexts, streams, memory, IPC, checks, and CUDA's libraries.

Most types are implemented in C (numbalite._core); the Python modules add code that runs once, and
numba.cuda's names. `traced` declares functions whose calls are traced and replayed in C. `shapes` computes
shapes and strides as tuples. `checks` selects the checks of the simulator. libraries/ calls cuFFT, cuSOLVER,
cuSPARSE and cuBLAS. Uses types and compilers. Begin with devices.py.
"""
