"""Provides transforms in place, and convolution, by cuFFT. The functions of np.fft also accept device
arrays."""

from numbalite.fft.convolution import fftconvolve
from numbalite.fft.inplace import fft_inplace, ifft_inplace

__all__ = ["fft_inplace", "fftconvolve", "ifft_inplace"]
