"""Runs a few of NumPy's own tests on device arrays; numpy_suite.py runs all of them."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def test_selected_tests_of_numpys_suite_pass():
    pytest.importorskip("numpy.lib.tests.test_twodim_base", reason="NumPy came without its tests")
    command = [
        sys.executable,
        HERE / "numpy_suite.py",
        "--pyargs",
        "numpy.lib.tests.test_twodim_base",
    ]
    picked = ["-k", "Fliplr or Flipud"]
    done = subprocess.run([*command, *picked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "calls of 2 functions went to the device" in done.stdout
