"""Tests checks of CUDA library calls, which the simulator computes by NumPy."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim


def test_library_calls_update_initialization_state():
    """Memory written by the simulated libraries counts as initialized; memory that they read must
    be."""
    a = cuda.to_device(np.eye(4))
    with cuda.checks():
        np.testing.assert_array_equal((a @ a).copy_to_host(), np.eye(4))
        out = cuda.device_array((4, 8))[:, :4]  # with gaps between the rows
        np.testing.assert_array_equal(np.matmul(a, a, out=out).copy_to_host(), np.eye(4))
        np.testing.assert_allclose(np.fft.ifft2(np.fft.fft2(a)).real.copy_to_host(), np.eye(4))
        np.testing.assert_array_equal(np.linalg.solve(a, a).copy_to_host(), np.eye(4))
    with pytest.raises(KernelError, match="nothing has written"), cuda.checks():
        np.fft.fft(cuda.device_array((4, 4)))
