"""Transforms in place, and convolution, by cuFFT. np.fft's functions accept device arrays, too."""

from numbalite.fft.convolution import fftconvolve
from numbalite.fft.inplace import fft_inplace, ifft_inplace

__all__ = ["fft_inplace", "fftconvolve", "ifft_inplace"]
