"""The kernels of copies, of fancy indexing and of map-reduce compile for every GPU generation."""

import numpy as np
import pytest

from numbalite import types
from numbalite.compilers import templates
from numbalite.functions import reductions
from numbalite.ndarray import batchcopy, gather
from numbalite.ufuncs import element, mapped
from numbalite.ufuncs.protocols import cuda_ufunc_for

HEAD = '#include "numbalite.cuh"\nusing namespace numbalite;\n'


@pytest.mark.parametrize("arch", [75, 90])
def test_copy_and_index_kernels_compile(compile_with_nvrtc, toolkit_options, arch):
    if arch not in compile_with_nvrtc.architectures:
        pytest.skip(f"this NVRTC does not compile for sm_{arch}")
    names = ["transpose<uint8, 128, 4>", "transpose<uint32, 64, 2>", "transpose<complex128, 32, 1>"]
    result = compile_with_nvrtc(
        HEAD + templates.fill_template("transpose"), arch, toolkit_options, names
    )
    assert result.status == 0, result.log
    for count, name in (2, "join<uint8, 1>"), (16, "join<complex128, 4>"), (32, "join<int8, 3>"):
        result = compile_with_nvrtc(
            HEAD + batchcopy.kernel_source(count), arch, toolkit_options, [name]
        )
        assert result.status == 0, result.log
    names = ["gather<uint32, int32, 1, 0, false, 1>", "gather<complex128, int64, 3, 2, true, 4>"]
    for count in (1, 3):
        for checked in (True, False):
            text = gather.kernel_source(count, checked)
            result = compile_with_nvrtc(HEAD + text, arch, toolkit_options, names)
            assert result.status == 0, result.log
            assert checked == ("assert(index" in text)  # a failed assert would end the context


@pytest.mark.parametrize("lanes", [1, 4, 32, 256])
def test_map_reduce_kernels_compile(compile_with_nvrtc, toolkit_options, lanes):
    function = element.element_function(source="x * y + n", args="x, y, n", name="made")
    f4, f8 = types.float32, types.float64
    signature = types.Signature(f8, (f4, f8, types.int64))
    fold = mapped.MapReduce(function, signature, cuda_ufunc_for(np.add), np.dtype("f8"))
    stored = np.dtype("f2"), np.dtype("f8"), np.dtype("i8")
    for dims, width, kind in ((1, 2, "array"), (3, 1, "same"), (3, 0, "array")):
        form = mapped.KernelForm(lanes, False, dims, width, (kind, "value", "value"), stored)
        builder, _ = fold.generate_kernel(form)
        result = compile_with_nvrtc(builder.join_source(), 90, toolkit_options)
        assert result.status == 0, result.log


@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize("code", "fdFD")
def test_exact_dot_product_kernels_compile(compile_with_nvrtc, arch, code):
    """Compiles the dot product of two vectors, in the device's accumulator type."""
    dtype = np.dtype(code)
    fold = reductions.sum_of_products(dtype, "a * b")
    for width, lanes in ((16 // dtype.itemsize, 32), (1, 4), (0, 32)):
        form = mapped.KernelForm(lanes, False, 1, width, ("array", "array"), (dtype, dtype))
        result = compile_with_nvrtc(fold.generate_kernel(form)[0].join_source(), arch)
        assert result.status == 0, result.log
