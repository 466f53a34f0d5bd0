"""Implements NumPy's Fourier transforms on device arrays, by cuFFT.

`transforms` contains np.fft's functions, `inplace` the functions of numbalite.cuda.libs.cufft. `transforms` and
`inplace` determine the transformed axes and lengths. `execution` copies the array into a layout that cuFFT
reads, and scales the result; `plans` keeps cuFFT's plans. On the simulator, numbalite/runtime/libraries/fftsim.py
computes transforms of the same layouts. The package fft uses runtime, ndarray, ufuncs and functions.
Begin with transforms.py.
"""
