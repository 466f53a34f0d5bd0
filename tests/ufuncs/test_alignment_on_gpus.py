"""Executes NVRTC's PTX of ufunc kernels with operands of any alignment."""

import functools
import itertools
import math
import struct

import numpy as np
import pytest
from kit import ptxrun
from kit.needs import needs_nvrtc

from numbalite import types
from numbalite.compilers import nvrtc
from numbalite.ufuncs import cudaloops
from numbalite.ufuncs.cudaufunc import cast_ufunc

pytestmark = needs_nvrtc

BASE = 1 << 20
DTYPES = ("u1", "f2", "f4", "c8", "f8", "c16")
ARCHITECTURES = ((7, 5), (9, 0))
EACH = list(itertools.product(DTYPES, ARCHITECTURES))


def dtype_code_of(dtype):
    return types.SCALARS.index(types.scalar(np.dtype(dtype))) + 1


@functools.cache
def compiled_ptx(dtype, kind, dims, architecture):
    """Returns the PTX of the kernel that copies elements, and the number of elements for each thread."""
    scalar = types.scalar(np.dtype(dtype))
    plan = cudaloops.UfuncPlan((scalar, scalar), 1, bytes([dtype_code_of(dtype)] * 2), kind, dims)
    kernel = cast_ufunc(scalar)._compiled_overload(plan)
    # An earlier test may have compiled this kernel while debugging was the default.
    source = kernel.images.source._replace(debug=False, opt=True)
    return nvrtc.compile(source, architecture).ptx, cudaloops.elements_per_thread(plan)


def packed_divider(divisor):
    shift = (divisor - 1).bit_length()
    return struct.pack("<2I", (((1 << shift) - divisor) << 32) // divisor + 1, shift)


def kernel_parameters(kind, shape, strides, addresses, each):
    """Returns the kernel's parameter, with the layout of cext/core/loop.h, and the number of
    threads."""
    slots = b"".join(struct.pack("<2Q", address, 0) for address in addresses)
    count = math.prod(shape)
    if kind in ("single", "strided32", "strided64"):
        head, outer, threads = struct.pack("<q", count), shape, -(-count // (256 * each)) * 256
    elif kind == "shifted":
        columns, rows = shape[-1], math.prod(shape[:-1])
        pieces = -(-(columns + each - 1) // each)
        head = struct.pack("<3q", rows, columns, 3) + packed_divider(pieces)
        outer, threads = shape[:-1] or (1,), rows * pieces
        strides = [steps[:-1] or (0,) for steps in strides]
    else:
        tile, (rows, columns) = 64 if each >= 16 else 32, shape[-2:]
        along = [
            sum((steps[d] == size) << i for i, (steps, size) in enumerate(strides))
            for d in (-1, -2)
        ]
        head = struct.pack("<5q", math.prod(shape[:-2]), columns, rows, *along)
        outer = shape[:-2] or (1,)
        threads = math.prod(outer) * -(-rows // tile) * -(-columns // tile) * 256
        strides = [steps if len(steps) > 2 else (0, *steps) for steps, _ in strides]
    text = (
        slots + head + struct.pack(f"<{len(outer)}q", *outer) + b"".join(map(packed_divider, outer))
    )
    text += b"".join(struct.pack(f"<{len(steps)}q", *steps) for steps in strides)
    return text.ljust(-(-len(text) // 16) * 16, b"\0"), threads


def check_copies(dtype, kind, shape, gaps, offsets, architecture, order="C"):
    """Copies an array by a kernel. `offsets` are the byte offsets of the first elements of both
    arrays; `gaps` are the gaps between neighbouring elements along the innermost axis."""
    dtype = np.dtype(dtype)
    extents, strides = [], []
    for gap, of in zip(gaps, ("C", order), strict=True):
        steps, step = [0] * len(shape), dtype.itemsize + gap
        for d in reversed(range(len(shape))) if of == "C" else range(len(shape)):
            steps[d] = step
            step *= shape[d]
        strides.append(tuple(steps))
        extents.append(step + 64)
    addresses = [BASE + 64 + offsets[0], BASE + 64 + -(-extents[0] // 64) * 64 + 64 + offsets[1]]
    memory = bytearray(addresses[1] - BASE + extents[1])
    random = np.random.default_rng(1)
    view = [
        np.ndarray(shape, dtype, memory, address - BASE, steps)
        for address, steps in zip(addresses, strides, strict=True)
    ]
    view[0][...] = random.integers(0, 100, shape).astype(dtype)
    before = bytes(memory)
    dims = {"shifted": len(shape) - 1 or 1, "tiled": len(shape) - 2 or 1}.get(kind, len(shape))
    ptx, each = compiled_ptx(dtype.str, kind, dims, architecture)
    given = [(steps, dtype.itemsize) for steps in strides] if kind == "tiled" else strides
    text, threads = kernel_parameters(kind, shape, given, addresses, each)
    ptxrun.run_ptx(ptx, text, memory, BASE, 256, -(-threads // 256))
    np.testing.assert_array_equal(view[1], view[0])
    view[1][...] = np.ndarray(shape, dtype, before, addresses[1] - BASE, strides[1])
    assert memory == before, "stores to other bytes"


@pytest.mark.cases(1)
@pytest.mark.parametrize("dtype, architecture", EACH)
def test_element_accesses_respect_alignment(dtype, architecture):
    """Tests strided elements, rows that cannot be read by wide accesses, and transposed operands."""
    align = np.dtype(dtype).alignment
    for offset in sorted({n // align * align for n in (0, align, 4, 8, 12, 15)}):
        for kind, shape in (
            ("strided32", (5,)),
            ("strided32", (3, 2)),
            ("shifted", (1,)),
            ("shifted", (2, 40)),
        ):
            gap = align if kind == "strided32" else 0
            other = (offset + align) % 16
            check_copies(dtype, kind, shape, (gap, 0), (offset, other), architecture)
            check_copies(dtype, kind, shape, (0, gap), (other, offset), architecture)
    for offsets, shape in (((0, 0), (3, 5)), ((align, 0), (6, 4)), ((0, align), (5, 33))):
        check_copies(dtype, "tiled", shape, (0, 0), offsets, architecture, order="F")


@pytest.mark.parametrize("dtype, architecture", EACH)
def test_unaligned_record_fields_are_copied(dtype, architecture):
    for offset in (0, 1, 2, 4, 8, 9, 12, 15):
        for shape, gaps in (((5,), (1, 0)), ((3, 2), (0, 3)), ((1,), (0, 0))):
            check_copies(dtype, "strided64", shape, gaps, (offset, 7 * offset % 16), architecture)
