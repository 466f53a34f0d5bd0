"""Runs autograd's own tests of NumPy functions on device arrays. `make test` omits these tests, because no
package contains them.

    python tests/autograd/own_tests.py FOLDER [options of pytest]     FOLDER: tests/ of autograd's repository

The tests compare derivatives with finite differences for all combinations of arguments. In this run each
array
argument is a device array, and its gradients must be device arrays, too."""

import sys

import autograd.test_util as util
import numpy as np
import pytest

import numbalite.autograd  # noqa: F401  (registers device arrays)
from numbalite import cuda

check_grads = util.check_grads


def to_device_values(value):
    is_array = isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fc"
    return cuda.to_device(value) if is_array else value


def make_device_check(function, *options, **more):
    check = check_grads(function, *options, **more)
    return lambda *args, **keywords: check(*map(to_device_values, args), **keywords)


if __name__ == "__main__":
    util.check_grads = make_device_check
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    names = [f"{folder}/test_systematic.py", f"{folder}/test_numpy.py"]
    options = [
        "-p",
        "no:cacheprovider",
        "-q",
        "-W",
        "ignore",
        "-c",
        "/dev/null",
        "--rootdir",
        folder,
    ]
    sys.exit(pytest.main([*options, *sys.argv[2:], *names]))
