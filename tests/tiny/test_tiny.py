"""Tests an installation in seconds: import, launch, driver, info. Run this first."""

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("optimized_host_code")


def test_import_opens_no_driver_or_compiler(run_python):
    """Importing numbalite opens no driver, starts no compiler, and imports no slow module of NumPy."""
    run_python(
        "import sys, numbalite\n"
        "from numbalite import cuda\n"
        "from numbalite import _core\n"
        "assert not _core.is_open()\n"
    )


def test_vadd_kernel_matches_numpy():
    from numbalite import cuda

    @cuda.jit("void(const float32[:], const float32[:], float32[:])")
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size()) out[i] = a[i] + b[i];
        """

    a = np.arange(100, dtype=np.float32)
    b = np.full(100, 2, np.float32)
    out = cuda.device_array(100, np.float32)
    vadd[4, 32](cuda.to_device(a), cuda.to_device(b), out)
    np.testing.assert_array_equal(out.copy_to_host(), a + b)


def test_without_a_gpu_the_simulator_runs_and_says_so(run_python):
    """NUMBALITE_DRIVER=auto: without a GPU the simulator is used, with one warning."""
    code = (
        "import warnings\n"
        "from numbalite import cuda\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    cuda.to_device([1.0]); cuda.to_device([2.0])\n"
        "said = [w for w in caught if 'simulator' in str(w.message)]\n"
        "print(cuda.is_available(), cuda.is_simulated(), len(said))"
    )
    hidden = run_python(code, NUMBALITE_DRIVER="auto", CUDA_VISIBLE_DEVICES="").stdout.split()
    assert hidden == ["False", "True", "1"]


def test_requesting_a_missing_gpu_raises(run_python):
    """NUMBALITE_DRIVER=cuda never falls back to the simulator."""
    code = "from numbalite import cuda; cuda.to_device([1.0])"
    result = run_python(code, check=False, NUMBALITE_DRIVER="cuda", CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 1
    assert "CudaSupportError" in result.stderr or "CudaAPIError" in result.stderr


@pytest.mark.parametrize("variable", ["NUMBALITE_DRIVER", "NUMBA_ENABLE_CUDASIM"])
def test_simulator_can_be_requested(run_python, variable):
    settings = {"NUMBALITE_DRIVER": None, variable: "1" if variable.startswith("NUMBA_") else "sim"}
    code = "from numbalite import cuda; cuda.to_device([1.0]); print(cuda.is_simulated())"
    result = run_python("import warnings; warnings.simplefilter('error'); " + code, **settings)
    assert result.stdout.strip() == "True"


def test_info_command_lists_what_it_found(run_python):
    """`python -m numbalite info` works on every machine and lists the found drivers and compilers."""
    out = run_python("-m numbalite info").stdout.lower()
    for word in ("driver", "device", "nvrtc", "compiler", "cache"):
        assert word in out


def test_demo_agrees_with_numpy(run_python, driver_kind):
    if driver_kind == "cuda":
        pytest.skip("takes a minute on a GPU: run `make demo`")
    out = run_python("-m numbalite demo", timeout=280).stdout
    assert "13 of 13 agree with NumPy" in out
