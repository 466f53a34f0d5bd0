"""Functions for the CPU: `jit`, their source, and the number of threads of parallel loops.

Uses kernels, text, types and compilers. Ufuncs for the CPU are in ufuncs/. Begin with jit.py.
"""
