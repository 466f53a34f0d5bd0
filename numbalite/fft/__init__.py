"""NumPy's Fourier transforms on device arrays, by cuFFT.

`transforms` has np.fft's functions, `inplace` those of numbalite.cuda.libs.cufft. Both contain the
transformed axes and their lengths; `execution` copies the array into a layout that cuFFT reads, and
scales the result; `plans` keeps cuFFT's plans. On the simulator
numbalite/runtime/libraries/fftsim.py computes from the same layouts. Uses runtime, ndarray, ufuncs
and functions. Begin with transforms.py.
"""
