"""Devices and what belongs to them: contexts, streams, memory, IPC, checks, and CUDA's libraries.

Most types here are C's (numbalite._core); the modules add the parts that run once, and numba.cuda's names. `recorded`
declares functions whose calls are recorded and repeated in C. `shapes` computes shapes and strides as tuples.
`checks` chooses the checks of the simulator. libraries/ calls cuFFT, cuSOLVER, cuSPARSE and cuBLAS.
Uses types and compilers. Begin with devices.py.
"""
