"""If a fault has no line in the kernel, the report contains the line of the launch and the
parameter."""

import contextlib
import random

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("seed", range(20))
def test_a_store_past_the_end_is_reported_with_parameter_and_launch(seed):
    drawn = random.Random(seed)
    count, written, by_graph = drawn.randrange(1, 6), drawn.randrange(5), drawn.random() < 0.5
    written %= count
    names = [f"{'n' if i != written and drawn.random() < 0.5 else 'p'}{i}" for i in range(count)]
    parameters = [f"float *{name}" if name[0] == "p" else f"char {name}" for name in names]
    kernels = cuda.module(
        f"__global__ void k({', '.join(parameters)}) {{ {names[written]}[7] = 1; }}"
    )
    args = [cuda.to_device(np.zeros(7, np.float32)) if name[0] == "p" else 1 for name in names]
    stream = cuda.stream()
    with cuda.checks("none"), pytest.raises(KernelError) as caught:
        with stream.capture() if by_graph else contextlib.nullcontext() as graph:
            kernels.k[1, 1, stream](*args)  # the launch
        if by_graph:
            graph.launches[0].update(*args)
            graph.launch(stream)
        stream.synchronize()
    text, line = str(caught.value), line_numbers_of("# the launch", __file__)[0]
    assert f", the memory of parameter {written + 1}; run it under" in text
    assert text.endswith(f"; launched at test_launch_lines.py, line {line}")
