"""Tests numba.cuda's names for devices, contexts, streams and events."""

import asyncio
import gc
import pickle
import re
import threading
import time
import weakref

import numpy as np
import pytest

import numbalite
from numbalite import cuda, errors


def test_every_name_of_all_exists():
    for name in cuda.__all__:
        assert getattr(cuda, name) is not None
    assert cuda.is_float16_supported() == (cuda.get_current_device().compute_capability >= (5, 3))
    assert cuda.float32 is numbalite.float32 and cuda.types.int32 is cuda.int32
    with pytest.raises(AttributeError, match="no 'nothing_like_it'$"):
        cuda.nothing_like_it


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("RawKernel", r"write @cuda\.jit"), ("busday_count", r"nor a counterpart of np\.busday_count: d\.copy"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_raise_with_an_alternative(name, advice):
    with pytest.raises(AttributeError, match=advice):
        getattr(cuda, name)


def test_namespace_works_as_a_cupy_replacement(capsys):
    """Tests lines of programs that were written for CuPy."""
    import numbalite.cuda as cp

    x = cp.arange(10, dtype="f4").reshape(2, 5)
    assert isinstance(x, cp.ndarray) and not isinstance(x.copy_to_host(), cp.ndarray)
    print(x)
    assert capsys.readouterr().out == "[[0. 1. 2. 3. 4.]\n [5. 6. 7. 8. 9.]]\n"
    host = np.arange(10, dtype="f4").reshape(2, 5)
    for made, expected in (
        (cp.linalg.norm(x), np.linalg.norm(host)),
        (cp.exp(x), np.exp(host)),
        (cp.reshape(x, (5, -1)) * cp.pi, host.reshape(5, 2) * np.pi),
        (cp.mean(cp.array([1, 2, 4])), 7 / 3),
        (cp.zeros_like(x) + cp.max(x, axis=1)[:, None], np.array([[4.0] * 5, [9] * 5])),
        (cp.fft.fft(cp.asarray(host[0])), np.fft.fft(host[0])),
        (x[:, cp.newaxis, cp.s_[1:3]] + cp.finfo(x.dtype).eps, host[:, None, 1:3]),
        (cp.transpose(x), host.T),
        (x.ptp(1) + x[0].searchsorted([1, 3]), [5.0, 7.0]),
    ):
        assert isinstance(made, cuda.DeviceNDArray)
        np.testing.assert_allclose(cp.asnumpy(made), expected, 1e-6, 1e-6)
    assert x.tobytes("F") == host.tobytes("F") and bytes(x) == bytes(host)
    assert cp.shape([[1, 2]]) == (1, 2) and cp.ndim(3) == 0 and cp.size([1, 2]) == 2
    assert cp.iscomplexobj([1j]) and cp.isrealobj([1]) and cp.min_scalar_type(300) == np.uint16
    assert cp.random.random_sample((2, 3)).shape == (2, 3)
    cp.random.seed(3)
    first = cp.random.normal(2, 0.5, size=(40, 50)), cp.random.rand(3), cp.random.randint(5, size=4)
    cp.random.seed(3)
    assert (first[0] == cp.random.normal(2, 0.5, (40, 50))).all() and first[1].shape == (3,)
    assert abs(first[0].mean().item() - 2) < 0.1 and first[2].max().item() < 5
    for missing in (cp.linalg, cp.random):
        with pytest.raises(AttributeError, match=r"numbalite\.cuda\.\w+ has no 'nothing'"):
            missing.nothing


def test_kernel_builtins_raise_outside_of_kernels():
    from numbalite.types import inkernel

    with pytest.raises(TypeError, match=r"cuda.grid is for the inside of kernels.*grid<1>\(\)"):
        cuda.grid(1)
    with pytest.raises(TypeError, match=r"__popc\(x\), of 64 bits __popcll\(x\)"):
        cuda.popc(1)
    with pytest.raises(TypeError, match=r"cuda.shared.array is for .* __shared__ float s"):
        cuda.shared.array(3, cuda.float32)
    place = cuda.threadIdx.x
    assert pickle.loads(pickle.dumps(place)) == place != cuda.threadIdx.y
    assert all(hasattr(cuda, name) for name in inkernel.INSTEAD)


def test_numba_module_aliases_are_the_same_objects():
    from numbalite.cuda.core.errors import NumbaPerformanceWarning
    from numbalite.cuda.cudadrv import devicearray, devices, driver, error

    assert driver.CudaAPIError is errors.CudaAPIError
    assert error.CudaSupportError is errors.CudaSupportError
    assert cuda.cudadrv.driver is driver
    assert NumbaPerformanceWarning is numbalite.NumbaPerformanceWarning is errors.PerformanceWarning
    assert devices.gpus is cuda.gpus and devices.get_context() == cuda.current_context()
    array = cuda.device_array(3)
    assert devicearray.is_cuda_ndarray(array) and not devicearray.is_cuda_ndarray(np.zeros(3))
    assert driver.device_pointer(array) == array.address
    with pytest.raises(TypeError):
        driver.require_device_memory(np.zeros(3))


# ---- devices


def test_is_simulated_matches_the_driver(driver_kind):
    assert cuda.is_simulated() == (driver_kind == "sim")
    assert cuda.is_available() == (driver_kind == "cuda")
    assert cuda.is_supported_version() == cuda.is_available()
    assert driver_kind == "sim" or cuda.cuda_error() is None


def test_device_list_contains_the_current_device():
    assert len(cuda.gpus) >= 1 and len(list(cuda.gpus)) == len(cuda.gpus) == len(cuda.gpus.lst)
    assert cuda.list_devices() is cuda.gpus
    device = cuda.get_current_device()
    assert device == cuda.gpus[device.id] == cuda.gpus.current
    assert cuda.gpus[0].id == 0 and str(cuda.gpus[0]) == "<Managed Device 0>"
    assert [one.id for one in cuda.gpus[:1]] == [0]
    assert isinstance(device.name, str) and device.name
    major, minor = device.compute_capability
    assert major >= 5 and 0 <= minor <= 9
    assert device.uuid.startswith("GPU-") and len(device.uuid) == 40
    assert device.WARP_SIZE == 32 and device.MAX_THREADS_PER_BLOCK == 1024
    assert device.MULTIPROCESSOR_COUNT >= 1 and device.MAX_GRID_DIM_X == 2**31 - 1
    assert device.CU_DEVICE_ATTRIBUTE_WARP_SIZE == 32
    assert device.get_primary_context() == cuda.current_context()
    assert device.from_identity(device.get_device_identity()) == device
    with pytest.raises(AttributeError):
        device.NO_SUCH_THING
    for bad in (len(cuda.gpus), -len(cuda.gpus) - 1):
        with pytest.raises(IndexError):
            cuda.gpus[bad]
    with pytest.raises(ValueError):
        cuda.select_device(99)


def test_memory_info_returns_free_and_total():
    info = cuda.current_context().get_memory_info()
    assert 0 < info.free <= info.total and info == (info.free, info.total)
    assert info.total == cuda.get_current_device().total_memory


def test_select_device_makes_its_context_current():
    current = cuda.get_current_device().id
    assert cuda.select_device(current).id == current
    with cuda.gpus[0] as device:
        assert device.WARP_SIZE == 32 and cuda.get_current_device().id == 0
    context = cuda.current_context()
    context.push()
    context.pop()
    with pytest.raises(RuntimeError, match="pop"):
        context.pop()
    with context:
        cuda.synchronize()
    assert cuda.get_current_device().id == current


def test_with_block_selects_the_device(run_python):
    result = run_python(
        "import threading\n"
        "from numbalite import cuda\n"
        "assert len(cuda.gpus) == 3\n"
        "with cuda.gpus[2]:\n"
        "    a = cuda.to_device([1, 2, 3])\n"
        "    with cuda.gpus[1]:\n"
        "        assert cuda.get_current_device().id == 1\n"
        "        b = cuda.device_array(3, a.dtype)\n"
        "        b[:] = a\n"
        "    assert cuda.get_current_device().id == 2\n"
        "assert cuda.get_current_device().id == 0\n"
        "assert (a.device, b.device, b.copy().device, b.astype('f4').device) == (2, 1, 1, 1)\n"
        "cuda.select_device(1)\n"
        "seen = []\n"
        "t = threading.Thread(target=lambda: seen.append(cuda.get_current_device().id))\n"
        "t.start(); t.join()\n"
        "@cuda.require_context\n"
        "def switch(): cuda.select_device(2)\n"
        "try: switch()\n"
        "except RuntimeError as e: print(e)\n"
        "print(seen, b.copy_to_host(), cuda.get_current_device().id)",
        NUMBALITE_DRIVER="sim",
        NUMBALITE_SIM_DEVICES="3",
    )
    assert result.stdout == "Cannot switch CUDA-context.\n[0] [1 2 3] 1\n"


def test_detect_prints_the_devices(capsys):
    assert cuda.detect()
    text = capsys.readouterr().out
    assert f"Found {len(cuda.gpus)} CUDA devices" in text
    assert cuda.get_current_device().uuid in text and "devices are supported" in text


def test_profiling_and_defer_cleanup_are_context_managers():
    with pytest.raises(KeyError), cuda.profiling():
        raise KeyError
    with cuda.defer_cleanup(), cuda.current_context().defer_cleanup():
        cuda.device_array(3)


def test_close_allows_a_new_context(run_python):
    result = run_python(
        "from numbalite import cuda\n"
        "a = cuda.to_device([1.0])\n"
        "cuda.close()\n"
        "print(cuda.to_device([2.0]).copy_to_host())"
    )
    assert result.stdout == "[2.]\n"


# ---- choosing the driver


def test_no_gpu_warns_once_at_first_use(run_python):
    code = (
        "import warnings; warnings.simplefilter('always')\n"
        "from numbalite import cuda\n"
        "print(cuda.is_available(), cuda.is_simulated())\n"
        "cuda.device_array(3)\n"
        "cuda.device_array(3)"
    )
    auto = run_python(code, NUMBALITE_DRIVER="auto", CUDA_VISIBLE_DEVICES="")
    assert auto.stdout.split() == ["False", "True"]
    assert auto.stderr.count("SimulatorWarning") == 1 and "simulator" in auto.stderr
    assert "<string>:4" in auto.stderr, "at the line that used it"
    assert auto.stderr.count("NUMBALITE_DRIVER=sim") == 1
    for name, value in (("NUMBALITE_DRIVER", "sim"), ("NUMBA_ENABLE_CUDASIM", "1")):
        variables = {"NUMBALITE_DRIVER": None, name: value}
        assert run_python(code, **variables).stderr == ""


def test_missing_gpu_raises_if_the_cuda_driver_is_required(run_python):
    result = run_python(
        "from numbalite import cuda, errors\n"
        "print(cuda.is_available(), cuda.is_simulated())\n"
        "try: cuda.device_array(3)\n"
        "except errors.CudaSupportError as problem: print(problem)",
        NUMBALITE_DRIVER="cuda",
        CUDA_VISIBLE_DEVICES="",
    )
    assert result.stdout.startswith("False False\n") and "NUMBALITE_DRIVER=sim" in result.stdout


# ---- streams and events


@pytest.mark.leaks
def test_streams_have_handle_and_numbered_repr():
    stream = cuda.stream()
    assert stream.handle > 2 and int(stream) == stream.handle and not stream.external
    numbers = [
        int(re.fullmatch(r"<CUDA stream (\d+)>", repr(s))[1]) for s in (stream, cuda.stream())
    ]
    assert 0 < numbers[0] < numbers[1] < 1_000_000, "numbers of streams, not addresses"
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert bool(stream)
    stream.synchronize()
    assert stream.query()
    other = cuda.external_stream(stream.handle)
    assert other.external and repr(other) == f"<External CUDA stream {stream.handle}>"
    assert repr(cuda.default_stream()) == "<Default CUDA stream>"
    assert repr(cuda.legacy_default_stream()) == "<Legacy default CUDA stream>"
    assert repr(cuda.per_thread_default_stream()) == "<Per-thread default CUDA stream>"
    with pytest.raises(TypeError, match="int"):
        cuda.external_stream("1")
    with cuda.stream(non_blocking=True, priority=0).auto_synchronize() as busy:
        array = cuda.to_device(np.arange(5), stream=busy)
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    for bad in (1.5, "0", object()):
        with pytest.raises(TypeError):
            cuda.to_device(np.arange(5), stream=bad)


def test_stream_callback_runs_in_another_thread():
    stream = cuda.stream()
    done = threading.Event()
    seen = []

    def record_callback(*args):
        seen.append((args, threading.get_ident()))
        done.set()

    stream.add_callback(record_callback, "argument")
    assert done.wait(10)
    (given, status, argument), thread = seen[0]
    assert given is stream and status == 0 and argument == "argument"
    assert thread != threading.get_ident()
    with pytest.raises(TypeError):
        stream.add_callback(3)


def test_callbacks_run_after_their_stream_is_deleted(run_python):
    result = run_python(
        "import time\n"
        "from numbalite import cuda\n"
        "seen = []\n"
        "for i in range(50):\n"
        "    cuda.stream().add_callback(lambda *args: seen.append(args[2]), i)\n"
        "deadline = time.time() + 10\n"
        "while len(seen) < 50 and time.time() < deadline: time.sleep(0.01)\n"
        "print(sorted(seen) == list(range(50)))"
    )
    assert result.stdout == "True\n" and result.stderr == ""


def test_async_done_completes_in_asyncio():
    async def await_streams():
        streams = [cuda.stream() for _ in range(3)]
        return streams, await asyncio.gather(*(stream.async_done() for stream in streams))

    streams, results = asyncio.run(await_streams())
    assert results == streams


def test_a_stream_is_destroyed_with_its_last_reference():
    stream = cuda.stream()
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None


@pytest.mark.leaks
def test_events_measure_elapsed_time():
    start, end = cuda.event(), cuda.event()
    stream = cuda.stream()
    start.record(stream)
    time.sleep(0.02)
    end.record(stream)
    end.synchronize()
    assert start.query() and end.query()
    assert 0 <= cuda.event_elapsed_time(start, end) < 10000
    assert start.elapsed_time(end) == cuda.event_elapsed_time(start, end)
    end.wait(stream)
    end.record()
    end.wait()
    cuda.synchronize()
    with pytest.raises(errors.CudaAPIError):
        cuda.event(timing=False).elapsed_time(end)
