"""Tests `from skcuda import cufft` in programs under `numbalite run`, with NumPy as the oracle."""

import subprocess
import sys

import numpy as np
import pytest

from numbalite import cuda
from numbalite.numba import cufft

PROGRAM = """
import numpy as np
from numba import cuda
from skcuda import cufft

x = np.random.default_rng(1).random(64).astype(np.complex64)
d, out = cuda.to_device(x), cuda.device_array(64, np.complex64)
plan = cufft.cufftPlan1d(64, cufft.CUFFT_C2C, 1)
cufft.cufftExecC2C(plan, d.device_ctypes_pointer.value, out.device_ctypes_pointer.value, cufft.CUFFT_FORWARD)
cufft.cufftDestroy(plan)
print(np.allclose(out.copy_to_host(), np.fft.fft(x), atol=1e-3))
try:
    import skcuda.linalg
except ModuleNotFoundError as error:
    print(error)
"""


def test_skcuda_program_runs_unchanged(tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "numbalite", "run", str(tmp_path / "prog.py")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "True",
        "skcuda.linalg: of skcuda, numbalite has skcuda.cufft",
    ], done.stderr


def random_numbers(rng, shape, code):
    values = rng.standard_normal(shape)
    if np.dtype(code).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(code)


@pytest.mark.parametrize("seed", range(12))
def test_random_cufft_plans_match_numpy(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    lengths, batch = [int(n) for n in rng.integers(1, 9, rank)], int(rng.integers(1, 4))
    single, axes = bool(rng.integers(2)), range(1, rank + 1)
    real, pair = ("f", "F") if single else ("d", "D")
    embed = None, 1, 0
    limits = {"rtol": 1e-3, "atol": 1e-3} if single else {}

    def plan_many(kind):
        return cufft.cufftPlanMany(rank, lengths, *embed, *embed, kind, batch)

    x = random_numbers(rng, (batch, *lengths), pair)
    d, out = cuda.to_device(x), cuda.device_array(x.shape, pair)
    kind, run = (
        (cufft.CUFFT_C2C, cufft.cufftExecC2C) if single else (cufft.CUFFT_Z2Z, cufft.cufftExecZ2Z)
    )
    run(plan_many(kind), d.device_ctypes_pointer.value, out, cufft.CUFFT_INVERSE)
    np.testing.assert_allclose(
        out.copy_to_host(), np.fft.ifftn(x, axes=axes, norm="forward"), **limits
    )

    x = random_numbers(rng, (batch, *lengths), real)
    half = np.fft.rfftn(x, axes=axes)
    d, out = cuda.to_device(x), cuda.device_array(half.shape, pair)
    kind, run = (
        (cufft.CUFFT_R2C, cufft.cufftExecR2C) if single else (cufft.CUFFT_D2Z, cufft.cufftExecD2Z)
    )
    run(plan_many(kind), d.device_ctypes_pointer, out.device_ctypes_pointer)
    np.testing.assert_allclose(out.copy_to_host(), half, **limits)
    kind, run = (
        (cufft.CUFFT_C2R, cufft.cufftExecC2R) if single else (cufft.CUFFT_Z2D, cufft.cufftExecZ2D)
    )
    run(plan_many(kind), out, d)
    np.testing.assert_allclose(d.copy_to_host(), x * np.prod(lengths), **limits)


@pytest.mark.parametrize("length", [7, 8])
def test_in_place_real_rows_are_padded(length):
    x = np.random.default_rng(0).standard_normal((3, length))
    rows = np.zeros((3, 2 * (length // 2 + 1)))
    rows[:, :length] = x
    d = cuda.to_device(rows)
    cufft.cufftExecD2Z(cufft.cufftPlan1d(length, cufft.CUFFT_D2Z, 3), d, d)
    np.testing.assert_allclose(d.copy_to_host().view(np.complex128), np.fft.rfft(x), atol=1e-12)


def test_batched_columns_match_numpy():
    """A batch of columns: step 5, distance 1."""
    x = random_numbers(np.random.default_rng(0), (6, 5), "D")
    d, out = cuda.to_device(x), cuda.device_array(x.shape, "D")
    plan = cufft.cufftPlanMany(1, [6], [6], 5, 1, [6], 5, 1, cufft.CUFFT_Z2Z, 5)
    cufft.cufftExecZ2Z(plan, d, out, cufft.CUFFT_FORWARD)
    np.testing.assert_allclose(out.copy_to_host(), np.fft.fft(x, axis=0), atol=1e-12)


def test_invalid_cufft_plans_raise():
    with pytest.raises(cufft.cufftError, match="not a type of transform"):
        cufft.cufftPlan1d(8, 3, 1)
    with pytest.raises(cufft.cufftError, match="positive"):
        cufft.cufftPlan2d(8, 0, cufft.CUFFT_C2C)
    d = cuda.device_array(8, np.complex64)
    with pytest.raises(cufft.cufftError, match="other types"):
        cufft.cufftExecZ2Z(cufft.cufftPlan1d(8, cufft.CUFFT_C2C, 1), d, d, cufft.CUFFT_FORWARD)
