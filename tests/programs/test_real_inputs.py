"""Tests real_inputs.py with kernels of this file: right results, wrong results, and expected failures."""

import argparse
import json
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import described
import real_inputs

SOURCE = """
#include <cublas_v2.h>
template <class T> __global__ void twice(const T *x, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + x[i];
}
__global__ void low(const __nv_bfloat16 *x, __nv_bfloat16 *out) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void racing(int *out) { out[0] = threadIdx.x; }
int main() { twice<float><<<1, 1>>>(nullptr, nullptr, 0); }
"""


@pytest.fixture
def described_unit(tmp_path):
    (tmp_path / "k.cu").write_text(SOURCE)
    unit = described.KernelFile("k.cu", (), "k.cu")
    given = described.reals(100), described.output(100), 100
    unit.run("twice<float>", 2, 64, *given, oracle=lambda x, n: 2 * x)
    unit.run("twice<float>", 1, 64, *given, oracle=lambda x, n: 2 * x)
    small = described.integers(32, dtype="bf16"), described.output(32, dtype="bf16")
    unit.run("low", 1, 32, *small, oracle=lambda x: x)
    unit.run(
        "racing", 1, 32, described.output(1, dtype="i4"), finds="writes out[0]", because="it is one"
    )
    unit.run("nowhere", 1, 32, described.output(1))
    return unit


def test_real_inputs_are_run_and_compared(described_unit, tmp_path, capsys, driver_kind):
    checks, kept = driver_kind == "sim", str(tmp_path / "mine")
    asked = argparse.Namespace(checks=checks, exact=checks, budget=0.1)
    results = real_inputs.run_unit(described_unit, str(tmp_path), asked, kept)
    first, second, low, racing, nowhere = results
    assert first["wrong"] == low["wrong"] == racing["wrong"] == ""
    assert second["wrong"].startswith("out 0: 36 of 100 differ, [64] is 0.0, not ")
    assert "no kernel 'nowhere'" in nowhere["error"]
    if checks:
        assert "writes out[0]" in racing["found"] and not first["found"]
        assert racing["verdict"] == "races" and first["verdict"] == "no schedule races"
        real_inputs.report_verdicts([{**first, "races": "a race"}, racing])
        assert "no schedule races: a race" in capsys.readouterr().out
    expected = {("k.cu", case.index): case for case in described_unit.cases}
    real_inputs.print_report(results, expected, checks)
    assert "3 right" in capsys.readouterr().out
    real_inputs.write_results(f"{kept}.json", results)
    other = tmp_path / "other.json"
    assert real_inputs.compare_drivers(f"{kept}.json", f"{kept}.json") == 0
    results[0]["hashes"] = ["another"]
    other.write_text(json.dumps(results))
    with np.load(f"{kept}.npz") as arrays:
        changed = dict(arrays)
    changed["k.cu 0 0"] = changed["k.cu 0 0"] + 1
    np.savez(tmp_path / "other.npz", **changed)
    assert real_inputs.compare_drivers(f"{kept}.json", str(other)) == 1
    assert "k.cu twice<float>: 100 of 100 differ" in capsys.readouterr().out


def test_launch_descriptions_have_an_expected_result():
    """Each described launch has an oracle, or a mistake that makes the results undefined and an
    explanation of the mistake."""
    units = described.described_units()
    cases = [case for unit in units for case in unit.cases]
    assert len({(unit.name, case.kernel) for unit in units for case in unit.cases}) >= 150
    for case in cases:
        assert case.oracle or case.finds, case.kernel
        assert bool(case.finds) == bool(case.because), case.kernel
