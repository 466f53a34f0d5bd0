"""The generated kernels of reductions and scans compile for GPUs, for every kind of number."""

import numpy as np
import pytest

from numbalite.ufuncs import element, reduceloops

KINDS = (
    "packed",
    "strided",
    "columns4",
    "teams4",
    "stripes4",
    "narrow4",
    "serial",
    "scan_serial",
    "scan_tiles1x4",
    "at_in_order",
)


def compiled(nvrtc, builder, arch, options=(), to="compute"):
    """To PTX: the assembler, which takes half of the time, sees every kind of loop in test_architectures."""
    result = nvrtc(builder.finish(), arch, options, to=to)
    assert result.status == 0, result.log
    assert bool(result.cubin) == (to == "sm")


@pytest.fixture(scope="module")
def loops():
    function = element.element_function(source="a + b", args="a, b", what="reduction")
    return reduceloops.Loops(lambda dtype: function, "total")


@pytest.mark.parametrize("kind", KINDS)
def test_architectures(nvrtc, loops, kind):
    f4 = np.dtype("f4")
    for arch in nvrtc.architectures:
        to = "sm" if arch in (nvrtc.architectures[0], nvrtc.architectures[-1]) else "compute"
        compiled(nvrtc, loops.generated(kind, f4, f4, f4)[0], arch, to=to)


@pytest.mark.parametrize("code", "?bhiqBHIQdFD")
def test_dtypes(nvrtc, loops, code):
    dtype, f8 = np.dtype(code), np.dtype("f8")
    for kind in ("packed", "scan_tiles1x4", "teams8", "stripes2", "narrow1"):
        compiled(nvrtc, loops.generated(kind, dtype, dtype, dtype)[0], 90)
    compiled(nvrtc, loops.generated("packed", dtype, f8, np.dtype("i2"))[0], 90)
    compiled(nvrtc, loops.generated("strided", f8, dtype, dtype)[0], 90)
    compiled(nvrtc, loops.generated(f"columns{16 // dtype.itemsize}", dtype, dtype, f8)[0], 90)
    compiled(nvrtc, loops.generated("serial", f8, dtype, dtype, masked=True, wide=True)[0], 90)


def test_in_order(nvrtc):
    """What is not known to commute has kernels of its own."""
    function = element.element_function(source="(a + b)", args="a, b", what="reduction")
    loops = reduceloops.Loops(lambda dtype: function, "total")
    for dtype in map(np.dtype, "bfD"):
        made = loops.generated("packed", dtype, dtype, dtype)[0]
        assert "commutes = false" in made.finish()
        compiled(nvrtc, made, 90)


def test_half(nvrtc, loops, toolkit_options):
    half = np.dtype("f2")
    for other in "?bqQdF":
        dtype = np.dtype(other)
        for kinds in ((half, dtype, half), (dtype, half, dtype)):
            compiled(nvrtc, loops.generated("packed", *kinds)[0], 90, toolkit_options)
    for kind in KINDS:
        compiled(nvrtc, loops.generated(kind, half, half, half)[0], 90, toolkit_options)


def test_a_function_of_one_number(nvrtc, loops):
    function = element.element_function(source="-a", args="a", what="ufunc")
    loops = reduceloops.Loops(lambda dtype: function, "negated")
    f4 = np.dtype("f4")
    compiled(nvrtc, loops.generated("at_in_order", f4, f4, f4, unary=True)[0], 90)
