"""Measures benchmark rows of arrays in memory: creation, slicing, small and large copies from and
to the host.

The floor of a large copy is the same copy from or to page-locked memory, in C. The first large copies of a
process are measured separately: they have no cached buffers to reuse.
"""

import json
import statistics

import numpy as np
from measure import SMALL, make_call_measure, median, median_in_turn, register_row, time_process

LARGE = 1 << 20 if SMALL else 1 << 30  # bytes


@register_row("M1", "device_array of 1 MB, made and dropped", "us", "0.5 us", gpu=True)
def measure_array_creation(floor):
    from numbalite import cuda

    d = cuda.device_array(1 << 18, np.float32)
    d.fill(3)
    assert d.copy_to_host()[-1] == 3
    del d
    ours = make_call_measure(lambda: cuda.device_array(1 << 18, np.float32))
    return *median_in_turn(ours, floor.driver_call("allocate_and_free"), count=300), 0.5


@register_row("M2", "slice d[10:100]", "us", "0.4 us")
def measure_slicing(floor):
    from numbalite import cuda

    x = np.arange(1 << 18, dtype=np.float32)
    d = cuda.to_device(x)
    np.testing.assert_array_equal(d[10:100].copy_to_host(), x[10:100])
    return median(lambda: d[10:100], 5000), None, 0.4


LARGE_COPY = f"""
import gc, json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
x = np.arange({LARGE // 4}, dtype=np.float32)
small = cuda.to_device(np.ones(1000, np.float32))
small.copy_to_host()
cuda.synchronize()
into, back = [], []
for turn in range(6):
    start = time.perf_counter()
    d = cuda.to_device(x)
    cuda.synchronize()
    into.append(time.perf_counter() - start)
    y = None  # the one before is dropped
    start = time.perf_counter()
    y = d.copy_to_host()
    back.append(time.perf_counter() - start)
    assert y[-1] == x[-1] and (y[:: 4099] == x[:: 4099]).all()
    x[0] += 1
kept = [y]
fresh = []
for turn in range(3):
    start = time.perf_counter()
    kept.append(d.copy_to_host())
    fresh.append(time.perf_counter() - start)
assert (kept[-1] == kept[0]).all()
print(json.dumps([into, back, fresh]))
"""
# A virtual machine receives physical memory from its host at the first write to it, at 5 to 25 GB/s.
# So this program writes to this amount of memory before it measures.
USED_BEFORE = f"""
import threading
import numpy as np
threads = [threading.Thread(target=np.ones, args=({LARGE // 8},)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
_COPIED = []


def large_copy_times():
    """Returns the microseconds of large copies in a separate process: [to the device, to the host,
    to the host while all results are kept], each in the order of the calls."""
    if not _COPIED:
        time_process(USED_BEFORE)
        _COPIED.extend(json.loads(time_process(LARGE_COPY)[1]))
    return [[t * 1e6 for t in times] for times in _COPIED]


def large_row(key, what):
    return register_row(key, what, "us", "40 GB/s", gpu=True, moved=LARGE)


def bandwidth_ratio(times, floor, direction):
    speed = floor.program_results("copies")[direction]
    return statistics.median(times), LARGE / speed, LARGE / 40e3


@large_row("T1", "to_device, 1 GiB of ordinary memory")
def large_to_device(floor):
    return bandwidth_ratio(large_copy_times()[0][1:], floor, "to_device")


@large_row("T1f", "the same, the first call of a process")
def first_copy_to_device(floor):
    return bandwidth_ratio(large_copy_times()[0][:1], floor, "to_device")


@large_row("T2", "copy_to_host, 1 GiB, new array, earlier ones dropped")
def large_to_host(floor):
    return bandwidth_ratio(large_copy_times()[1][2:], floor, "to_host")


@large_row("T2f", "the same, the first call of a process")
def first_copy_to_host(floor):
    return bandwidth_ratio(large_copy_times()[1][:1], floor, "to_host")


@large_row("T2k", "the same, earlier ones kept")
def copy_to_host_with_kept_results(floor):
    return bandwidth_ratio(large_copy_times()[2], floor, "to_host")


@register_row("T3a", "to_device of 4 kB, synchronised", "us", "10 us", gpu=True)
def small_to_device(floor):
    from numbalite import cuda

    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(cuda.to_device(x).copy_to_host(), x)
    ours = make_call_measure(lambda: (cuda.to_device(x), cuda.synchronize()))
    return *median_in_turn(ours, floor.driver_call("copy_to_device"), count=300, rounds=15), 10


@register_row("T3b", "copy_to_host of 4 kB", "us", "10 us", gpu=True)
def small_to_host(floor):
    from numbalite import cuda

    x = np.arange(1000, dtype=np.float32)
    d = cuda.to_device(x)
    np.testing.assert_array_equal(d.copy_to_host(), x)
    ours = make_call_measure(d.copy_to_host)
    return *median_in_turn(ours, floor.driver_call("copy_to_host"), count=300, rounds=15), 10
