"""Every failure in the middle of a call of a generalized ufunc: nothing leaks, and the next call
works."""

import gc

import numpy as np
import pytest

from numbalite import _core, cuda, errors, guvectorize

CLEAN = (errors.CudaAPIError, MemoryError)
HOST = np.arange(24, dtype="f4").reshape(2, 3, 4)


class GufuncOperands:
    def __init__(self):
        @guvectorize(
            ["void(float32[:, ::1], float32, float32[:,:])"], "(m,n),()->(m,n)", target="cuda"
        )
        def scale(x, a, out):
            """
            for (int i = 0; i < x.shape[0]; ++i)
                for (int j = 0; j < x.shape[1]; ++j) out(i, j) = a * x(i, j);
            """

        self.scale = scale
        self.x = cuda.to_device(HOST)
        self.out = cuda.device_array((2, 3, 4), "f4")
        self.wide = cuda.device_array((2, 3, 4), "f8")
        self.stream = cuda.stream()


def scale_on_device(w):
    w.scale(w.x, 2, out=w.out)
    w.scale(w.x, 2)


def scale_on_stream(w):
    w.scale(w.x, 2, out=w.out, stream=w.stream)
    w.stream.synchronize()


def scale_on_host(w):
    w.scale(HOST, 2)
    w.scale(HOST, HOST[:, 0, 0], np.zeros((2, 3, 4), "f4"))


def scale_host_row(w):
    w.scale(w.x, HOST[0, 0, :2])


def scale_reversed_view(w):
    w.scale(
        w.x[:, :, ::-1], 2, out=w.wide
    )  # operands that are copied to the declared layout or cast
    w.scale(w.x, 2, out=w.x)
    w.scale(HOST.astype("f8"), 2, axes=[(0, 1), (), (1, 0)])


def call_with_invalid_arguments(w):
    for args, options in [
        ((w.x, "a"), {}),
        ((w.x, 2), {"axes": [(0, 9), (), (0, 1)]}),
        ((w.x, 2), {"out": w.x[0]}),
        ((w.x, [1, 2, 3]), {}),
        ((HOST, 2), {"where": True}),
    ]:
        with pytest.raises((TypeError, ValueError)):
            w.scale(*args, **options)


OPERATIONS = [
    scale_on_device,
    scale_on_stream,
    scale_on_host,
    scale_host_row,
    scale_reversed_view,
    call_with_invalid_arguments,
]


@pytest.fixture(scope="module")
def gufunc_operands():
    return GufuncOperands()


@pytest.mark.sim
@pytest.mark.parametrize("operation", OPERATIONS[:-1], ids=lambda f: f.__name__)
def test_gufuncs_survive_failing_driver_calls(gufunc_operands, operation, fail_each_step_once):
    fail_each_step_once(lambda: operation(gufunc_operands), _core.fail_call_at, CLEAN)


@pytest.mark.parametrize("operation", OPERATIONS[:-1], ids=lambda f: f.__name__)
def test_gufuncs_survive_failing_allocations(gufunc_operands, operation, fail_each_step_once):
    fail_each_step_once(lambda: operation(gufunc_operands), _core.fail_alloc_at, CLEAN)


def test_rejected_calls_leak_nothing(gufunc_operands):
    call_with_invalid_arguments(gufunc_operands)
    gc.collect()
    before = _core.live()
    call_with_invalid_arguments(gufunc_operands)
    gc.collect()
    assert _core.live() == before


@pytest.mark.parametrize("fail", [_core.fail_call_at, _core.fail_alloc_at], ids=["calls", "memory"])
def test_failures_while_timing_staging_are_ignored(fail_each_step_once, fail):
    """The call measures whether staging is faster; it does not fail if an event of this measurement
    fails."""

    def double(x, out):
        "for (int i = 0; i < x.size(); ++i) out[i] = 2 * x[i];"

    host = np.ones((40, 32), "f4")
    x = cuda.to_device(host)

    def call_gufunc():
        gufunc = guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")(double)
        gufunc.staged_from = 0
        for _ in range(6):
            out = gufunc(x)
            cuda.synchronize()
        assert (out.copy_to_host() == 2).all()

    fail_each_step_once(call_gufunc, fail, CLEAN)
