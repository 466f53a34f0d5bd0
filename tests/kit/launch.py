"""Launches kernels on copies of host arrays."""

import numpy as np

from numbalite import cuda


def run_on_copies(kernel, grid, block, *args):
    """Runs a kernel on copies of the arrays in `args`; returns the copies after the kernel."""
    device = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    kernel[grid, block](*device)
    return [
        d.copy_to_host() for d, a in zip(device, args, strict=True) if isinstance(a, np.ndarray)
    ]
