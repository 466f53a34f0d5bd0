"""Tests window functions and FFT frequencies, which numbalite.cuda has under NumPy's names."""

import numpy as np
import pytest

from numbalite import cuda


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
def test_window_functions_match_numpy(name):
    more = (8.6,) if name == "kaiser" else ()
    for count in (0, 1, 2, 7, 50):
        made, expected = getattr(cuda, name)(count, *more), getattr(np, name)(count, *more)
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(made.copy_to_host(), expected, atol=1e-15)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_fft_frequencies_match_numpy(name):
    ours, numpys = getattr(cuda.fft, name), getattr(np.fft, name)
    for args in ((1,), (2,), (7, 0.25), (8, 3)):
        made, expected = ours(*args), numpys(*args)
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(made.copy_to_host(), expected)
    for function in (ours, numpys):
        with pytest.raises(ValueError, match="n should be an integer"):
            function(1.5)
    assert cuda.linalg.LinAlgError is np.linalg.LinAlgError
