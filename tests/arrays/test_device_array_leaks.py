"""No use of device arrays, repeated often, leaks objects; nor does cuda.close()."""

import gc
import itertools
import os
import pickle

import numpy as np
import pytest

from numbalite import _core, cuda

ROUNDS = int(os.environ.get("NUMBALITE_TEST_ROUNDS", "300"))  # 30000 are a million operations
RECORD = np.dtype([("x", "f4"), ("n", "i2"), ("p", "f8", (2,))])


def valid_and_invalid_operations():
    """Returns two lists of functions without arguments: the functions of the second list raise an
    exception."""
    host = np.arange(24, dtype="f4").reshape(4, 6)
    device, other = cuda.to_device(host), cuda.to_device(host.astype("f8"))
    records = cuda.to_device(np.zeros(4, RECORD))
    back = np.zeros((4, 6), "f4")
    stream = cuda.stream()
    good = [
        lambda: cuda.to_device(host),
        lambda: cuda.to_device(host.T, stream),
        lambda: cuda.device_array((3, 5)),
        lambda: device[1:, ::-2],
        lambda: device[2, 3],
        lambda: device.getitem((slice(None), None, 2), stream),
        lambda: device.T.reshape(6, 4).swapaxes(0, 1).squeeze(),
        lambda: device.reshape(-1, copy=True).view("u1"),
        lambda: device.ravel("F"),
        lambda: device.__setitem__((slice(None), slice(None, None, 2)), 3),
        lambda: device.__setitem__(slice(None, None, -1), other),
        lambda: device.__setitem__(..., host[0]),
        lambda: device.setitem(0, [1, 2, 3, 4, 5, 6], stream),
        lambda: device.fill(2, stream),
        lambda: device.astype("f8"),
        lambda: device.T.copy(),
        lambda: device.copy_to_host(back, stream),
        lambda: device[:, ::2].copy_to_host(),
        lambda: device.copy_to_device(host),
        lambda: device.bind(stream).diagonal(),
        lambda: list(device.reshape(24).split(5)),
        lambda: device.item(3),
        lambda: device[[1, 2]],
        lambda: device[host > 3],
        lambda: repr(device),
        lambda: records[1]["x"],
        lambda: records[2].__setitem__("p", (1, 2)),
        lambda: records.__setitem__(0, (1, 2, 3)),
        lambda: records[["x", "n"]].__setitem__(1, (3, 4)),
        lambda: records[1] == records[2],
        lambda: pickle.loads(pickle.dumps(device)),
        lambda: cuda.as_cuda_array(device),
        lambda: cuda.from_cuda_array_interface(device.__cuda_array_interface__, owner=device),
        lambda: cuda.from_dlpack(device),
        lambda: iter(device),
    ]
    bad = [
        lambda: device[9],
        lambda: device[[1, 9]],
        lambda: device.__setitem__(0, host),
        lambda: device.__setitem__(0, other),
        lambda: device.__setitem__(0, "text"),
        lambda: device.__setitem__((0, 0), [1, 2]),
        lambda: device.reshape(7),
        lambda: device.T.reshape(24, copy=False),
        lambda: device.view("S7"),
        lambda: device.astype("i4", casting="safe"),
        lambda: device.astype("O"),
        lambda: device.copy_to_device(other),
        lambda: device.copy_to_host(np.zeros(3, "f4")),
        lambda: device._view((100,), None, None),
        lambda: records["nothing"],
        lambda: records[0].__setitem__("p", (1, 2, 3)),
        lambda: cuda.to_device(host, device=99),
        lambda: cuda.device_array((2**40, 2**40)),
        lambda: cuda.to_device(np.array([object()])),
        lambda: device.transpose(0, 0),
    ]
    return good, bad


def run_operations(good, bad, rounds):
    for _ in itertools.repeat(None, rounds):
        for operation in good:
            operation()
        for operation in bad:
            with pytest.raises((ValueError, TypeError, IndexError)):
                operation()


def test_a_million_operations_leak_nothing():
    good, bad = valid_and_invalid_operations()
    run_operations(good, bad, 2)  # kernels are compiled, pools are filled
    gc.collect()
    cuda.synchronize()
    before = _core.live()
    run_operations(good, bad, ROUNDS // 5)
    objects = len(gc.get_objects())
    run_operations(good, bad, ROUNDS)
    cuda.synchronize()
    gc.collect()
    after = _core.live()
    assert {**after, "blocks": 0} == {**before, "blocks": 0}
    assert after["blocks"] <= before["blocks"] + 50, "pools may grow once, not with the rounds"
    assert len(gc.get_objects()) < objects + 500


def test_close_destroys_all_driver_handles(run_python):
    """cuda.close() also releases live arrays, views, records and streams; their later use raises an
    error."""
    run_python("""
import gc
import numpy as np
from numbalite import _core, cuda
from numbalite.runtime import traced
from numbalite.ufuncs import cudaufunc
for _ in range(3):
    device = cuda.to_device(np.arange(24, dtype="f4").reshape(4, 6))
    records = cuda.to_device(np.zeros(3, [("a", "i4"), ("b", "f8")]))
    stream = cuda.stream()
    part, record, bound = device[::2], records[1], device.bind(stream)
    device[:, ::2] = np.arange(3)
    device.astype("i8").T.copy()
    record["a"] = 4
    cuda.close()
    for use in (lambda: part.copy_to_host(), lambda: part.__setitem__(0, 1), lambda: record["a"], lambda: device.T.copy(),
                lambda: device.astype("i8"), lambda: device.fill(1), lambda: bound.copy_to_host(), lambda: device[0, 0],
                lambda: records.__setitem__(0, (1, 2))):
        try:
            use()
        except RuntimeError as error:
            assert "was reset" in str(error), error
        else:
            raise SystemExit("it did not notice")
    del device, records, stream, part, record, bound, use
    cudaufunc._casts.clear()
    traced.drop_traces()
    gc.collect()
    assert not any(_core.live().values()), _core.live()
""")


def test_arrays_may_outlive_the_interpreter(run_python):
    result = run_python("""
import builtins, threading
import numpy as np
from numbalite import cuda
builtins.kept = [cuda.to_device(np.zeros(3)), cuda.to_device(np.zeros(2, [("a", "i4")]))[1], cuda.to_device(np.zeros((3, 3))).T.copy()]
class ArrayInCycle:
    def __init__(self):
        self.array = cuda.to_device(np.ones(5))[::2]
        self.me = self
builtins.late = ArrayInCycle()
""")
    assert not result.stderr.replace("SimulatorWarning", "").count("Error")
