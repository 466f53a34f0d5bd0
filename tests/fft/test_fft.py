"""np.fft on device arrays, with NumPy as the oracle."""

import concurrent.futures
import contextlib
import functools
import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.frames import numbalite_functions_in

from numbalite import _core, cuda
from numbalite.cuda.libs import cufft
from numbalite.errors import CudaAPIError
from numbalite.ndarray import assign
from numbalite.runtime.libraries.table import CUFFT

NORMS = (None, "backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MORE = ("fftn", "ifftn", "rfftn", "irfftn")
REAL_INPUT = ("rfft", "rfftn", "rfft2", "ihfft")

TIMES = 3
"""The first call is worked out, the second recorded, the third repeated."""


def assert_matches_numpy(name, host, *args, key=(), **keywords):
    """Asserts that the result for a view has NumPy's values, shape and dtype, and that the argument
    is unchanged."""
    view = cuda.to_device(host)
    if key:
        view, host = view[key], host[key]
    expected = getattr(np.fft, name)(host, *args, **keywords)
    if not host.size:  # padded with zeros; NumPy's hfft and irfft read uninitialized memory here
        expected = np.zeros_like(expected)
    for _ in range(TIMES):
        found = getattr(np.fft, name)(view, *args, **keywords)
    assert isinstance(found, cuda.DeviceNDArray)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    tolerance = 2e-4 if expected.dtype.char in "fF" else 1e-10
    if host.dtype == "f2":  # NumPy scales in float16
        tolerance = 1e-3
    size = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(found.copy_to_host(), expected, rtol=0, atol=tolerance * size)
    np.testing.assert_array_equal(view.copy_to_host(), host)


@st.composite
def draw_fft_input(draw, real, most=4):
    """Returns a host array, and the key of a view of this array."""
    ndim = draw(st.integers(1, most))
    shape = tuple(draw(st.integers(1, 9 if ndim < 3 else 4)) for _ in range(ndim))
    dtype = draw(st.sampled_from("fd" if real else "fdFDbHq"))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    base = random.standard_normal(shape) * 10
    if dtype in "FD":
        base = base + 1j * random.standard_normal(shape)
    base = base.astype(dtype)
    key = tuple(
        draw(st.sampled_from((slice(None), slice(None, None, -1), slice(None, None, 2))))
        for _ in shape
    )
    return base, key


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(ONE_AXIS), norm=st.sampled_from(NORMS))
def test_transforms_of_one_axis_match_numpy(data, name, norm):
    base, key = data.draw(draw_fft_input(name in REAL_INPUT))
    host = base[key]
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    least = 2 if name in ("irfft", "hfft") and host.shape[axis] == 1 else 1
    n = data.draw(st.one_of(st.integers(least, 12), st.none() if least == 1 else st.just(2)))
    assert_matches_numpy(name, base, n, axis, norm, key=key)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(MORE), norm=st.sampled_from(NORMS))
def test_transforms_of_several_axes_match_numpy(data, name, norm):
    base, key = data.draw(draw_fft_input(name in REAL_INPUT))
    host = base[key]
    axes = data.draw(st.permutations(range(host.ndim)))
    axes = axes[: data.draw(st.integers(1, host.ndim))]
    s = None
    if data.draw(st.booleans()) or (name == "irfftn" and host.shape[axes[-1]] == 1):
        s = [data.draw(st.integers(2, 6)) for _ in axes]
    assert_matches_numpy(name, base, s, axes, norm, key=key)


def test_transforms_of_repeated_axes_match_numpy():
    host = np.random.default_rng(1).standard_normal((3, 4, 5))
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        assert_matches_numpy(name, host, (6, 8))
    for name in MORE:
        assert_matches_numpy(name, host, None, (1, 1))
        assert_matches_numpy(name, host, (3, 5, 4), (0, 2, 0))
    assert_matches_numpy("fftn", np.ones((2, 2, 2, 3, 2)))
    assert_matches_numpy("rfftn", np.ones((2, 2, 2, 3, 2), "f"))


@pytest.mark.parametrize("name", ["irfft", "hfft", "irfftn", "irfft2", "rfft", "fft"])
def test_transforms_of_float16_match_numpy(name):
    """NumPy's irfft and hfft return float16, the other functions float32 or complex64."""
    assert_matches_numpy(name, np.arange(30, dtype="f2").reshape(5, 6))


def test_fftshift_matches_numpy():
    host = np.arange(24.0).reshape(2, 3, 4)
    for axes in (None, 1, (0, -1)):
        assert_matches_numpy("fftshift", host, axes)
        assert_matches_numpy("ifftshift", host, axes)


def same_or_refused(name, host, **keywords):
    """Returns an array if NumPy does; otherwise raises an exception that names the function."""
    try:
        getattr(np.fft, name)(host, **keywords)
    except (IndexError, ValueError):
        with pytest.raises((IndexError, ValueError), match=f"fft.{name}: "):
            getattr(np.fft, name)(cuda.to_device(host), **keywords)
    else:
        assert_matches_numpy(name, host, **keywords)


@pytest.mark.parametrize("name", (*MORE, "fft2", "rfft2", "irfft2"))
def test_transforms_of_empty_arrays_match_numpy(name):
    host = np.random.default_rng(1).standard_normal((3, 4))
    for array in (host, np.float64(2) * np.ones(()), np.zeros((0, 3)), np.zeros((3, 0))):
        same_or_refused(name, array)
        for axes in ((), (0,), (1,), (0, 0), (0, 0, 1), (5,)):
            same_or_refused(name, array, axes=axes)
        same_or_refused(name, array, s=(), axes=())
        same_or_refused(name, array, s=(2, 3), axes=(0, 0))
        same_or_refused(name, array, s=(2, -1), axes=(0, -1))
    same_or_refused(name, np.arange(6).reshape(2, 3), axes=())  # integers stay integers


@pytest.mark.parametrize("name", ONE_AXIS)
def test_transforms_along_an_empty_axis_match_numpy(name):
    for array in (np.ones((3, 4)), np.ones(()), np.zeros((0, 3)), np.zeros((3, 0))):
        for keywords in ({}, {"axis": 0}, {"n": 0}, {"n": -1}, {"n": 5}):
            same_or_refused(name, array, **keywords)


def test_fft_writes_to_out():
    host = np.random.default_rng(2).standard_normal((4, 6)).astype("F")
    d, out = cuda.to_device(host), cuda.device_array((6, 4), "D").T
    assert np.fft.fft(d, out=out) is out
    np.testing.assert_allclose(out.copy_to_host(), np.fft.fft(host), atol=1e-4)
    assert np.fft.ifft(out, axis=0, norm="forward", out=out) is out
    assert np.fft.irfft(d, 10, out=cuda.device_array((4, 10), np.fft.irfft(host).dtype)).shape == (
        4,
        10,
    )
    with pytest.raises(ValueError, match=r"fft.fft: .*wrong shape.*\(4, 5\).*\(4, 6\)"):
        np.fft.fft(d, out=cuda.device_array((4, 5), "D"))
    with pytest.raises(TypeError, match=r"fft.fft: .*float32"):
        np.fft.fft(d, out=cuda.device_array((4, 6), "f"))
    with pytest.raises(TypeError, match=r"fft.fft: .*ndarray"):
        np.fft.fft(d, out=np.empty((4, 6), "D"))


def test_transforms_write_directly_to_out():
    """The transform writes directly to out=, unless out= overlaps the input."""
    host = np.random.default_rng(3).standard_normal((TIMES, 4, 6)) + 1j
    memory = cuda.device_array(30, "D")
    out, stream = memory[:24].reshape(4, 6), cuda.stream()
    for one in host:
        d = cuda.to_device(one)
        assert np.fft.fft(d, out=out) is out
        np.testing.assert_allclose(out.copy_to_host(), np.fft.fft(one))
        bound = cuda.to_device(one, stream=stream).bind(stream)
        np.fft.fft(bound, out=out)  # the sums detect a wrong order of work on two streams
        cuda.synchronize()
        np.testing.assert_allclose(out.copy_to_host(), np.fft.fft(one))
        memory[6:] = one.reshape(-1)
        np.fft.fft(memory[6:].reshape(4, 6), out=out)
        np.testing.assert_allclose(out.copy_to_host(), np.fft.fft(one))
        turned = cuda.device_array((6, 4), "D").T
        np.fft.ifft(d, out=turned)
        np.testing.assert_allclose(turned.copy_to_host(), np.fft.ifft(one))


@pytest.mark.parametrize("name", (*ONE_AXIS, *MORE))
def test_repeated_transforms_reuse_the_plan(name):
    """The only Python code is the call of the plan, and on the simulator the plan's computation."""
    host = np.ones((3, 4), "f" if name in REAL_INPUT else "F")
    d, transform = cuda.to_device(host), getattr(np.fft, name)
    out = transform(d, norm="ortho")
    for keywords in ({}, {"out": out}):
        for _ in range(TIMES):
            transform(d, norm="ortho", **keywords)
        codes = numbalite_functions_in(functools.partial(transform, d, norm="ortho", **keywords))
        assert not any(
            code.co_filename.endswith(("transforms.py", "execution.py")) for code in codes
        )


def test_out_may_be_the_input(monkeypatch):
    """It is transformed in place."""
    host = np.random.default_rng(4).standard_normal((6, 8)) + 1j
    d = cuda.to_device(host)
    copied = []
    monkeypatch.setattr(
        assign, "assign", lambda *args, usual=assign.assign: copied.append(usual(*args))
    )
    for _ in range(3):
        d.copy_to_device(host)
        assert np.fft.ifft(d, axis=0, out=d) is d
        np.testing.assert_allclose(d.copy_to_host(), np.fft.ifft(host, axis=0), atol=1e-10)
    assert not copied
    part = cuda.to_device(host)  # operands that overlap but are not equal
    assert np.fft.fft(part[:4], out=part[1:5]) is not None
    np.testing.assert_allclose(part.copy_to_host()[1:5], np.fft.fft(host[:4]), atol=1e-10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    (
        (
            lambda d: np.fft.fft(d, 0),
            ValueError,
            r"fft.fft: Invalid number of FFT data points \(0\)",
        ),
        (lambda d: np.fft.fft(d[:, :0]), ValueError, "fft.fft: Invalid number"),
        (lambda d: np.fft.ifft(d, norm="no"), ValueError, "fft.ifft: Invalid norm value no"),
        (lambda d: np.fft.fft(d, axis=2), IndexError, r"fft.fft: axis 2 .*\(3, 4\)"),
        (lambda d: np.fft.fftn(d, (1, 2), (1,)), ValueError, "fft.fftn: .*different lengths"),
        (lambda d: np.fft.rfft(d), TypeError, "fft.rfft: a is complex64"),
        (lambda d: np.fft.fft(d, 2.5), TypeError, "integer"),
        (lambda d: np.fft.fft(d.view("V8")), TypeError, "void64|V8"),
    ),
)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call(cuda.to_device(np.ones((3, 4), "F")))


def test_transforms_find_their_cached_plan():
    host = np.random.default_rng(3).standard_normal((5, 16)).astype("F")
    first, second = cuda.to_device(host), cuda.to_device(host[::-1].copy())
    np.fft.fft(first)
    kept = _core.thread_plans()
    for d, expected in ((first, host), (second, host[::-1])):
        np.testing.assert_allclose(np.fft.fft(d).copy_to_host(), np.fft.fft(expected), atol=1e-4)
    assert _core.thread_plans() == kept


def plans_destroyed(monkeypatch):
    """Empties the cache of plans; returns a list, to which the number of each plan is added when it is
    destroyed."""
    _core.thread_plans_clear()
    found, destroy = [], CUFFT.find("Destroy", False)
    plain = getattr(destroy, "outside_captures", destroy)
    monkeypatch.setitem(CUFFT.functions, "Destroy", lambda *a: found.append(a[1]) or plain(*a))
    return found


def count_calls_of(monkeypatch, *names):
    """Returns a dict from the name of a cuFFT function to the number of its calls from now on."""
    calls = dict.fromkeys(names, 0)

    def make_counter(name, function):
        def count_call(*args):
            calls[name] += 1
            return function(*args)

        return count_call

    for name in names:
        monkeypatch.setitem(CUFFT.functions, name, make_counter(name, CUFFT.find(name, False)))
    return calls


def test_plans_of_many_lengths_share_a_work_area(monkeypatch):
    _core.thread_plans_clear()
    calls = count_calls_of(
        monkeypatch, "Create", "SetAutoAllocation", "XtMakePlanMany", "SetStream", "XtExec"
    )
    host = np.random.default_rng(7).standard_normal(1200).astype("f")
    lengths = [*range(2, 1102)]
    np.random.default_rng(8).shuffle(lengths)
    for later in (False, True):
        before = dict(calls)
        for n in lengths:
            found = np.fft.rfft(cuda.to_device(host[:n])).copy_to_host()
            np.testing.assert_allclose(found, np.fft.rfft(host[:n]), atol=1e-3)
        made = {name: calls[name] - before[name] for name in calls}
        count = len(lengths)
        assert made == {
            "Create": 0 if later else count,
            "SetAutoAllocation": 0 if later else count,
            "XtMakePlanMany": 0 if later else count,
            "SetStream": 0,
            "XtExec": count,
        }
        assert len(_core.thread_plans()) == count
        assert len(_core.thread_work_areas()) <= 1
    if cuda.is_simulated():
        assert [area.nbytes for area in _core.thread_work_areas()] == [8 * max(lengths)]
    _core.thread_plans_clear()
    assert _core.thread_plans() == _core.thread_work_areas() == []


@pytest.fixture
def make_planned_calls():
    """make_planned_calls(needs, ...) returns one call for each number of bytes in `needs`: the call's plan needs a work
    area of this size. planned.log contains the arguments of the calls."""
    _core.thread_plans_clear()
    log = []

    def logging_function(name):
        return lambda stream, *args: log.append((name, *args)) or 0

    functions = {"Exec": logging_function("Exec"), "SetWorkArea": logging_function("SetWorkArea")}

    def make_plan(what, stream):
        log.append(("make", what))
        return what, what[1]

    def planned_calls(*needs):
        return [
            _core.Planned((i, n), make_plan, functions, "Exec", "SetWorkArea", None, None)
            for i, n in enumerate(needs)
        ]

    planned_calls.log = log
    yield planned_calls
    _core.thread_plans_clear()


def test_the_least_recently_used_plans_are_released(make_planned_calls):
    most, more = 4096, 10
    calls = make_planned_calls(*[0] * (most + more))
    hot = calls[0]
    for call in calls:
        call(0), hot(0)
    assert len(_core.thread_plans()) == most
    assert [numbers[0] for numbers in _core.thread_plans()] == [*range(more + 1, most + more), 0]
    assert [name for name, *_ in make_planned_calls.log].count("make") == most + more
    del make_planned_calls.log[:]
    calls[more + 1](0), calls[1](0)
    assert [name for name, *_ in make_planned_calls.log] == ["Exec", "make", "Exec"]


def test_a_work_area_grows_to_the_largest_need(make_planned_calls):
    calls = make_planned_calls(100, 10, 0, 1000, 100)
    for _ in range(3):
        for call in calls:
            call(0)
        (area,) = _core.thread_work_areas()
        assert area.nbytes == 1000
    areas = [args[-1] for name, *args in make_planned_calls.log if name == "SetWorkArea"]
    # The first two plans use the work area of 100 bytes. The fourth plan, which needs 1000 bytes,
    # and the fifth plan get a new work area. In the second round, the first three plans also use it.
    assert [a.nbytes for a in areas] == [100, 100, 1000, 1000, 1000, 1000]
    assert all(a is area for a in areas[2:])


def test_streams_and_threads_share_no_work_area(make_planned_calls):
    streams = [cuda.stream() for _ in range(3)]
    calls = make_planned_calls(10, 20)

    def work_areas():
        for stream in (0, *streams):
            for call in calls:
                call(stream)
        return _core.thread_work_areas()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        found = work_areas() + pool.submit(work_areas).result()
    assert len({area.address for area in found}) == len(found) == 8
    assert {area.nbytes for area in found} == {20}
    assert all(area.stream is None or not area.stream for area in found)


def test_idle_work_areas_are_bounded_in_bytes(make_planned_calls):
    """A single call may need a larger work area than this limit."""
    streams = [cuda.stream() for _ in range(4)]
    small, large = make_planned_calls(400, 2000)
    usual = _core.limit_work_areas(1000)
    try:
        for stream in streams:
            small(stream)
        assert [area.nbytes for area in _core.thread_work_areas()] == [400, 400]
        del make_planned_calls.log[:]
        small(streams[3]), small(streams[2]), small(streams[0])
        assert [name for name, *_ in make_planned_calls.log] == [
            "Exec",
            "Exec",
            "SetWorkArea",
            "Exec",
        ]
        large(streams[1])
        assert [area.nbytes for area in _core.thread_work_areas()] == [2000]
    finally:
        assert _core.limit_work_areas(usual) == 1000
    assert usual == 1 << 30


def test_a_capture_of_another_library_keeps_plans_and_work_areas(make_planned_calls):
    """Plans and work areas are kept until the thread ends, because the other library's graph does not
    reference them."""

    def area_of_capture():
        small, large = make_planned_calls(10, 20)
        small(0)
        (area,) = _core.thread_work_areas()
        seen = weakref.ref(area)
        del area, make_planned_calls.log[:]
        _core.pretend_foreign_capture(True)
        try:
            small(0)
            with pytest.raises(RuntimeError, match="while another library captures"):
                large(0)
        finally:
            _core.pretend_foreign_capture(False)
        large(0), _core.thread_plans_clear()
        del make_planned_calls.log[:]
        gc.collect()
        assert seen() is not None and seen().nbytes == 10
        return seen

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        seen = pool.submit(area_of_capture).result()
    gc.collect()
    assert seen() is None


def test_a_plan_that_fails_leaves_nothing(monkeypatch):
    _core.thread_plans_clear()
    destroyed = plans_destroyed(monkeypatch)
    d = cuda.to_device(np.ones(11, "F"))
    for name in ("Create", "SetAutoAllocation", "XtMakePlanMany"):
        with monkeypatch.context() as patch:
            patch.setitem(CUFFT.functions, name, lambda *args: 5)
            with pytest.raises(CudaAPIError, match=rf"cufft{name} failed .*INTERNAL_ERROR"):
                np.fft.fft(d)
        assert _core.thread_plans() == _core.thread_work_areas() == []
    assert len(destroyed) == 2
    with monkeypatch.context() as patch:
        patch.setitem(CUFFT.functions, "SetWorkArea", lambda *args: 5)
        with pytest.raises(CudaAPIError, match=r"cufftSetWorkArea failed .*INTERNAL_ERROR"):
            np.fft.fft(d)
    assert_matches_numpy("fft", np.ones(11, "F"))


def test_cached_plans_are_released_if_memory_is_short(monkeypatch):
    _core.thread_plans_clear()
    assert_matches_numpy("fft", np.ones(11, "F"))
    assert_matches_numpy("fft", np.ones(13, "F"))
    make, statuses = CUFFT.find("XtMakePlanMany", False), [2]
    monkeypatch.setitem(
        CUFFT.functions, "XtMakePlanMany", lambda *args: statuses.pop() if statuses else make(*args)
    )
    assert_matches_numpy("fft", np.ones(17, "F"))
    assert len(_core.thread_plans()) == 1
    _core.thread_plans_clear()
    statuses[:] = [2]
    with pytest.raises(CudaAPIError, match="ALLOC_FAILED"):
        np.fft.fft(cuda.to_device(np.ones(19, "F")))
    statuses[:] = [2, 2]
    with pytest.raises(CudaAPIError, match="ALLOC_FAILED"):
        np.fft.fft(cuda.to_device(np.ones(19, "F"))), np.fft.fft(cuda.to_device(np.ones(23, "F")))


@pytest.mark.sim
@pytest.mark.parametrize(
    ("area", "status"), ((None, "NO_WORKSPACE"), (100, "EXEC_FAILED")), ids=("none", "too small")
)
def test_the_simulator_reports_a_wrong_work_area(monkeypatch, area, status):
    _core.thread_plans_clear()
    wrong = None if area is None else cuda.device_array(area, np.uint8)
    set_area = CUFFT.find("SetWorkArea", False)
    monkeypatch.setitem(
        CUFFT.functions, "SetWorkArea", lambda stream, plan, _: set_area(stream, plan, wrong)
    )
    with pytest.raises(CudaAPIError, match=f"cufftXtExec failed .*{status}"):
        np.fft.fft(cuda.to_device(np.ones(31, "F")))
    _core.thread_plans_clear()


def test_cached_plans_keep_no_stream_alive():
    d = cuda.to_device(np.ones(9, "F"))
    stream = cuda.stream()
    bound = d.bind(stream)
    np.fft.fft(bound), np.fft.irfft(bound), cufft.fft_inplace(bound)
    seen = weakref.ref(stream)
    del stream, bound
    gc.collect()
    assert seen() is None


def test_transforms_work_in_several_threads():
    hosts = [np.random.default_rng(i).standard_normal((64, 32)).astype("F") for i in range(8)]

    def transform_repeatedly(host):
        stream = cuda.stream()
        d = cuda.to_device(host, stream=stream).bind(stream)
        for _ in range(5):
            d = np.fft.ifft(np.fft.fft(d))
        return d.copy_to_host(stream=stream)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for host, found in zip(hosts, pool.map(transform_repeatedly, hosts), strict=True):
            np.testing.assert_allclose(found, host, atol=1e-4)


def test_graph_launches_repeat_captured_transforms():
    host = np.random.default_rng(4).standard_normal(64).astype("F")
    stream = cuda.stream()
    d = cuda.to_device(host).bind(stream)
    cufft.fft_inplace(d)  # the plan is made
    cufft.ifft_inplace(d)
    stream.synchronize()
    with contextlib.ExitStack() as stack:
        if cuda.is_simulated():
            stack.enter_context(pytest.raises(RuntimeError, match="capture it on a GPU"))
        graph = stack.enter_context(stream.capture())
        cufft.fft_inplace(d)
        cufft.ifft_inplace(d)
    if cuda.is_simulated():
        return
    for _ in range(2):
        graph.launch()
    np.testing.assert_allclose(d.copy_to_host(stream=stream) / 64**3, host, atol=1e-4)


def test_a_graph_keeps_its_plan(monkeypatch):
    """The simulator captures no transform: a C function without effect replaces cuFFT's."""
    destroyed = plans_destroyed(monkeypatch)
    host = np.random.default_rng(4).standard_normal(67).astype("F")
    stream = cuda.stream()
    d = cuda.to_device(host).bind(stream)
    np.fft.fft(cuda.to_device(host))
    cufft.fft_inplace(d)
    number = int(_core.thread_plans()[-1])
    stream.synchronize()
    if cuda.is_simulated():
        nothing = _core.LibraryCall("libc.so.6", "sched_yield")
        monkeypatch.setitem(CUFFT.functions, "XtExec", nothing)
    with stream.capture() as graph:
        cufft.fft_inplace(d)
    _core.thread_plans_clear()
    gc.collect()
    assert destroyed and number not in destroyed
    graph.launch(stream)
    if not cuda.is_simulated():
        expected = np.fft.fft(np.fft.fft(host))
        np.testing.assert_allclose(d.copy_to_host(stream=stream), expected, atol=1e-3)
    stream.synchronize()
    del graph
    gc.collect()
    assert number in destroyed


def test_scaling_is_part_of_a_graph(monkeypatch):
    """The transform is ordered with the work of the array's stream."""
    host = np.random.default_rng(6).standard_normal(48).astype("F")
    stream = cuda.stream(non_blocking=True)
    d = cuda.to_device(host, stream=stream).bind(stream)
    np.fft.ifft(d), np.fft.ifft(d), np.fft.ifft2(d.reshape(6, 8))
    stream.synchronize()
    if cuda.is_simulated():  # which captures no transform
        nothing = _core.LibraryCall("libc.so.6", "sched_yield")
        monkeypatch.setitem(CUFFT.functions, "XtExec", nothing)
    with stream.capture() as graph:  # the capture fails if work moves to another stream
        made = np.fft.ifft(d), np.fft.ifft(d, norm="ortho")
    graph.launch(stream)
    stream.synchronize()
    if not cuda.is_simulated():
        for one, norm in zip(made, (None, "ortho"), strict=True):
            found = one.copy_to_host(stream=stream)
            np.testing.assert_allclose(found, np.fft.ifft(host, norm=norm), atol=1e-5)


def test_captured_transforms_use_the_captured_stream(monkeypatch):
    """A plan belongs to a stream; during the capture of another stream, it uses the captured
    stream."""
    host = np.random.default_rng(6).standard_normal(48).astype("F")
    d, stream = cuda.to_device(host), cuda.stream()
    np.fft.fft(d), cufft.fft_inplace(d.copy())
    nothing = _core.LibraryCall("libc.so.6", "sched_yield")
    set_stream, streams = CUFFT.find("SetStream", False), []
    noted = lambda *args: streams.append(args[2]) or set_stream(*args)
    if cuda.is_simulated():  # which captures no transform
        noted = lambda *args: streams.append(args[2]) or 0
        monkeypatch.setitem(CUFFT.functions, "XtExec", nothing)
    monkeypatch.setitem(CUFFT.functions, "SetStream", noted)
    cuda.synchronize()
    with stream.capture() as graph:
        made = np.fft.fft(d)
        cufft.fft_inplace(made)
    assert streams == [stream.handle, 0] * 2
    graph.launch(stream)
    stream.synchronize()
    if not cuda.is_simulated():
        np.testing.assert_allclose(made.copy_to_host(), np.fft.fft(np.fft.fft(host)), atol=1e-4)


def test_graphs_have_separate_work_areas(monkeypatch):
    """A plan's work area serves one transform at a time, but graphs may run concurrently, so each
    graph needs its own."""
    _core.thread_plans_clear()
    stream = cuda.stream()
    d = cuda.to_device(np.ones(1_000_003, "F")).bind(stream)
    cufft.fft_inplace(d)
    (work,) = _core.thread_work_areas()
    if cuda.is_simulated():  # which captures no transform
        nothing = _core.LibraryCall("libc.so.6", "sched_yield")
        monkeypatch.setitem(CUFFT.functions, "XtExec", nothing)
    set_area, areas = CUFFT.find("SetWorkArea", False), []
    noted = lambda *args: areas.append(args[2].address) or set_area(*args)
    monkeypatch.setitem(CUFFT.functions, "SetWorkArea", noted)
    stream.synchronize()
    graphs = []
    for _ in range(2):
        with stream.capture() as graph:
            cufft.fft_inplace(d)
            cufft.fft_inplace(d)
        graphs.append(graph)
    cufft.fft_inplace(d)
    cufft.fft_inplace(d)
    assert len(areas) == len(set(areas)) == 3  # two graphs and the thread
    assert areas[2] == work.address
    assert _core.thread_work_areas() == [work]
    with stream.capture():
        small, large = (_core.workspace_of_graph(stream, n) for n in (10, 1000))
        assert _core.workspace_of_graph(stream, 10).address == large.address != small.address
    assert _core.workspace_of_graph(stream, 10) is None


@pytest.mark.sim
def test_default_stream_transforms_work_during_a_capture():
    d = cuda.to_device(np.ones(8, "F"))
    call = _core.LibraryCall("libc.so.6", "sched_yield")
    with pytest.raises(RuntimeError, match="sched_yield on the default stream inside a capture"):
        with cuda.stream().capture():
            call(cuda.default_stream(), d)


def test_transforms_work_after_a_device_reset(run_python):
    run_python("""
import numpy as np
from numbalite import cuda
x = np.arange(8.0).astype("D")
for end in (cuda.gpus[0].reset, cuda.close, lambda: None):
    assert np.allclose(np.fft.ifft(np.fft.fft(cuda.to_device(x))).copy_to_host(), x)
    end()
""")


# ---------------------------------------------------------------------------------- in place


@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("key", (np.s_[:], np.s_[:, ::2], np.s_[::-1]), ids=str)
def test_fft_inplace_matches_numpy(dtype, key):
    host = np.random.default_rng(5).standard_normal((4, 6, 3)).astype(dtype)
    whole = cuda.to_device(host)
    part = whole[key]
    assert cufft.fft_inplace(part) is None
    expected = host.copy()
    expected[key] = np.fft.fftn(host[key])
    np.testing.assert_allclose(whole.copy_to_host(), expected, atol=1e-3)
    cufft.ifft_inplace(part)
    expected[key] = host[key] * host[key].size
    np.testing.assert_allclose(whole.copy_to_host(), expected, atol=1e-3)


def test_fft_inplace_transforms_host_arrays():
    host = np.arange(8).astype("F")
    expected = np.fft.fft(host)
    cufft.fft_inplace(host, stream=cuda.stream())
    np.testing.assert_allclose(host, expected, atol=1e-4)
    with pytest.raises(TypeError, match="fft_inplace: ary is float32"):
        cufft.fft_inplace(cuda.to_device(np.ones(3, "f")))
    with pytest.raises(TypeError, match="ifft_inplace: ary must be an array, not list"):
        cufft.ifft_inplace([1, 2])
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        cufft.fft_inplace(host)
    with pytest.raises(ValueError, match="read-only|overlap"):
        cufft.fft_inplace(np.broadcast_to(cuda.to_device(np.ones(3, "F")), (2, 3)))


# ------------------------------------------------------------------------------- convolution


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_fftconvolve_matches_the_direct_sum(data):
    """Compares a convolution with the sum that defines it."""
    ndim = data.draw(st.integers(1, 3))
    shapes = [tuple(data.draw(st.integers(1, 5)) for _ in range(ndim)) for _ in range(2)]
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = (random.standard_normal(shape) for shape in shapes)
    if data.draw(st.booleans()):
        a = a + 1j * random.standard_normal(a.shape)
    full = np.zeros([n + m - 1 for n, m in zip(*shapes, strict=True)], np.result_type(a, b))
    for place in np.ndindex(b.shape):
        full[tuple(slice(p, p + n) for p, n in zip(place, a.shape, strict=True))] += a * b[place]
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    np.testing.assert_allclose(cufft.fftconvolve(d_a, d_b).copy_to_host(), full, atol=1e-10)
    middle = tuple(
        slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(full.shape, a.shape, strict=True)
    )
    found = cufft.fftconvolve(d_a, d_b, mode="same").copy_to_host()
    np.testing.assert_allclose(found, full[middle], atol=1e-10)
    large, small = (a, b) if all(np.array(a.shape) >= b.shape) else (b, a)
    if all(np.array(large.shape) >= small.shape):
        inside = tuple(slice(m - 1, n) for n, m in zip(large.shape, small.shape, strict=True))
        found = cufft.fftconvolve(d_a, d_b, "valid").copy_to_host()
        np.testing.assert_allclose(found, full[inside], atol=1e-10)
    else:
        with pytest.raises(ValueError, match="valid"):
            cufft.fftconvolve(d_a, d_b, "valid")


def test_fftconvolve_over_some_axes_matches_numpy():
    a, b = np.random.default_rng(6).standard_normal((3, 8)), np.ones((1, 3))
    found = cufft.fftconvolve(cuda.to_device(a), cuda.to_device(b), "same", axes=1).copy_to_host()
    np.testing.assert_allclose(found, [np.convolve(row, b[0], "same") for row in a], atol=1e-10)
    with pytest.raises(ValueError, match="mode"):
        cufft.fftconvolve(cuda.to_device(a), cuda.to_device(b), "some")
    with pytest.raises(ValueError, match="dimensionality"):
        cufft.fftconvolve(cuda.to_device(a), cuda.to_device(b[0]))
