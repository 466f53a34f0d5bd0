"""Implements skcuda.cufft for programs under `numbalite run`: cuFFT's plans and transforms, by addresses.

Transforms are computed by numbalite.fft, on the GPU and on the simulator, without normalization, as in cuFFT.
Data are addresses in device memory (`d.device_ctypes_pointer.value`, for example), ctypes pointers, or device
arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numbalite import cuda
from numbalite.fft.execution import execute_transform as execute

CUFFT_R2C, CUFFT_C2R, CUFFT_C2C = 0x2A, 0x2C, 0x29
CUFFT_D2Z, CUFFT_Z2D, CUFFT_Z2Z = 0x6A, 0x6C, 0x69
CUFFT_FORWARD, CUFFT_INVERSE = -1, 1
CUFFT_COMPATIBILITY_NATIVE, CUFFT_COMPATIBILITY_FFTW_PADDING = 0x00, 0x01
CUFFT_COMPATIBILITY_FFTW_ASYMMETRIC, CUFFT_COMPATIBILITY_FFTW_ALL = 0x02, 0x03

_TYPES = {  # (type of the input, of the output)
    CUFFT_R2C: ("f", "F"), CUFFT_C2R: ("F", "f"), CUFFT_C2C: ("F", "F"), CUFFT_D2Z: ("d", "D"), CUFFT_Z2D: ("D", "d"), CUFFT_Z2Z: ("D", "D"),
}  # fmt: skip


class cufftError(Exception):
    """Raised for a plan or a transform that is not supported."""


class _SideLayout:
    """The memory layout of the input or the output: lengths, and strides in elements."""

    def __init__(self, lengths: Any, code: str, embed: Any, step: int, distance: int) -> None:
        self.lengths, self.dtype = tuple(lengths), np.dtype(code)
        self.default = embed is None
        rows = list(self.lengths if embed is None else embed)
        self.step, self.distance = (1, int(np.prod(rows))) if embed is None else (step, distance)
        self.rows = rows

    def array(self, data: Any, batch: int, stream: Any, row: int | None = None) -> Any:
        """Returns the array at an address. row: the length of a padded row."""
        rows = [*self.rows[:-1], row or self.rows[-1]]
        steps = [self.step]
        for length in rows[:0:-1]:
            steps.insert(0, steps[0] * length)
        distance = int(np.prod(rows)) if row else self.distance
        size = self.dtype.itemsize
        array = cuda.from_cuda_array_interface(
            {
                "shape": (batch, *self.lengths),
                "strides": tuple(step * size for step in (distance, *steps)),
                "typestr": self.dtype.str,
                "data": (_device_address(data), False),
                "version": 3,
                "stream": None,
            }
        )
        return array.bind(stream) if stream else array


class _Plan:
    def __init__(self, lengths: Any, kind: int, batch: int, before: Any, after: Any) -> None:
        if kind not in _TYPES:
            raise cufftError(f"cufftPlan: {kind!r} is not a type of transform, such as CUFFT_C2C")
        lengths = [int(length) for length in lengths]
        if not 1 <= len(lengths) <= 3 or min(lengths) < 1 or batch < 1:
            raise cufftError(
                f"cufftPlan: expected 1 to 3 positive lengths and a positive batch, "
                f"got {lengths} and {batch}"
            )
        source, target = _TYPES[kind]
        half = [*lengths[:-1], lengths[-1] // 2 + 1]
        self.lengths, self.kind, self.batch, self.stream = lengths, kind, int(batch), 0
        self.source = _SideLayout(half if target in "fd" else lengths, source, *before)
        self.target = _SideLayout(half if source in "fd" else lengths, target, *after)

    def run(self, kind: int, source: Any, target: Any, direction: int) -> None:
        if kind != self.kind:
            raise cufftError("cufftExec: the plan is for a transform of other types")
        stream = cuda.external_stream(self.stream) if self.stream else 0
        padded: list[int | None] = [None, None]
        if _device_address(source) == _device_address(
            target
        ):  # the real rows have padding for the complex numbers
            row = 2 * (self.lengths[-1] // 2 + 1)
            for i, side in enumerate((self.source, self.target)):
                if side.dtype.kind == "f" and side.default:
                    padded[i] = row
        before = self.source.array(source, self.batch, stream, padded[0])
        after = self.target.array(target, self.batch, stream, padded[1])
        execute(before, after, range(1, len(self.lengths) + 1), self.lengths, direction)


def _device_address(data: Any) -> int:
    if hasattr(data, "__cuda_array_interface__"):
        return data.__cuda_array_interface__["data"][0]
    return int(getattr(data, "value", data) or 0)


def cufftPlan1d(nx: int, fft_type: int, batch: int = 1) -> _Plan:
    return cufftPlanMany(1, (nx,), None, 1, 0, None, 1, 0, fft_type, batch)


def cufftPlan2d(nx: int, ny: int, fft_type: int) -> _Plan:
    return cufftPlanMany(2, (nx, ny), None, 1, 0, None, 1, 0, fft_type, 1)


def cufftPlan3d(nx: int, ny: int, nz: int, fft_type: int) -> _Plan:
    return cufftPlanMany(3, (nx, ny, nz), None, 1, 0, None, 1, 0, fft_type, 1)


def cufftPlanMany(
    rank: int, n: Any, inembed: Any, istride: int, idist: int, onembed: Any, ostride: int, odist: int,
    fft_type: int, batch: int,
) -> _Plan:  # fmt: skip
    before, after = (
        (None if embed is None else [int(embed[i]) for i in range(rank)], step, distance)
        for embed, step, distance in ((inembed, istride, idist), (onembed, ostride, odist))
    )
    return _Plan([n[i] for i in range(rank)], fft_type, batch, before, after)


def cufftDestroy(plan: _Plan) -> None:
    """Plans are released with their last reference, so this function has no effect."""


def cufftSetCompatibilityMode(plan: _Plan, mode: int) -> None:
    """Has no effect, as in cuFFT since CUDA 9."""


def cufftSetStream(plan: _Plan, stream: Any) -> None:
    plan.stream = int(getattr(stream, "handle", stream) or 0)


def cufftExecC2C(plan: _Plan, idata: Any, odata: Any, direction: int) -> None:
    plan.run(CUFFT_C2C, idata, odata, direction)


def cufftExecZ2Z(plan: _Plan, idata: Any, odata: Any, direction: int) -> None:
    plan.run(CUFFT_Z2Z, idata, odata, direction)


def cufftExecR2C(plan: _Plan, idata: Any, odata: Any) -> None:
    plan.run(CUFFT_R2C, idata, odata, CUFFT_FORWARD)


def cufftExecD2Z(plan: _Plan, idata: Any, odata: Any) -> None:
    plan.run(CUFFT_D2Z, idata, odata, CUFFT_FORWARD)


def cufftExecC2R(plan: _Plan, idata: Any, odata: Any) -> None:
    plan.run(CUFFT_C2R, idata, odata, CUFFT_INVERSE)


def cufftExecZ2D(plan: _Plan, idata: Any, odata: Any) -> None:
    plan.run(CUFFT_Z2D, idata, odata, CUFFT_INVERSE)
