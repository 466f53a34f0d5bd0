"""Stack overflows are reported for any size of the frame."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("is_checked", [False, True])
@pytest.mark.parametrize("size", [150_000, 1_600_000, 100_000_000])
def test_a_frame_larger_than_the_guard_is_a_stack_overflow(size, is_checked):
    kernel = cuda.jit(
        source="""
        __global__ void large(char *x) {
            volatile char part[SIZE];
            part[x[0]] = 1;
            x[threadIdx.x] = part[x[0]];
        }
        """.replace("SIZE", str(size)),
        name="large",
    )
    x = cuda.to_device(np.zeros(32, np.int8))
    with cuda.checks("memory" if is_checked else "none"):
        with pytest.raises(KernelError, match="stack overflow: the thread uses more than"):
            kernel[1, 32](x)
            cuda.synchronize()
