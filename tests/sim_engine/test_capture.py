"""Tests stream capture and graph launches of the driver: recorded and forbidden calls."""

import ctypes

import pytest

u64 = ctypes.c_uint64
size_t = ctypes.c_size_t
c_ptr = ctypes.c_void_p
RELAXED = 2
NON_BLOCKING = 1
(INVALID_HANDLE, ILLEGAL_STATE) = 400, 401
(UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT) = range(
    900, 908
)


@pytest.fixture
def device_words(sim_driver):
    """Returns an array of four integers on the device, and a host array for copies."""
    pointer = u64()
    sim_driver.cuMemAlloc(ctypes.byref(pointer), size_t(16))
    sim_driver.cuMemsetD32Async(pointer, 0, size_t(4), None)
    sim_driver.synchronize()
    yield pointer
    sim_driver.cuMemFree(pointer)


def read_words(driver, memory):
    host = (ctypes.c_uint32 * 4)()
    driver.cuMemcpyDtoH(host, memory, size_t(16))
    return list(host)


def element_address(memory, index):
    return u64(memory.value + 4 * index)


def begin_capture(driver, stream):
    driver.cuStreamBeginCapture(stream, RELAXED)


def end_capture(driver, stream):
    graph = c_ptr()
    code = driver.code("cuStreamEndCapture", stream, ctypes.byref(graph))
    return graph if code == 0 else code


def instantiate_graph(driver, graph):
    made = c_ptr()
    driver.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, u64(0))
    return made


def capture_status(driver, stream):
    value = ctypes.c_int(7)
    driver.cuStreamIsCapturing(stream, ctypes.byref(value))
    return value.value


def create_event(driver):
    made = c_ptr()
    driver.cuEventCreate(ctypes.byref(made), 2)
    return made


def test_captured_work_runs_at_each_launch(sim_driver, make_stream, device_words):
    stream = make_stream()
    assert capture_status(sim_driver, stream) == 0
    begin_capture(sim_driver, stream)
    assert capture_status(sim_driver, stream) == 1
    sim_driver.cuMemsetD32Async(device_words, 5, size_t(1), stream)
    sim_driver.cuMemcpyDtoDAsync(element_address(device_words, 1), device_words, size_t(4), stream)
    source = ctypes.c_uint32(1)
    sim_driver.cuMemcpyHtoDAsync(
        element_address(device_words, 2), ctypes.byref(source), size_t(4), stream
    )
    graph = end_capture(sim_driver, stream)
    assert capture_status(sim_driver, stream) == 0
    assert read_words(sim_driver, device_words) == [0, 0, 0, 0]
    made = instantiate_graph(sim_driver, graph)
    sim_driver.cuGraphDestroy(graph)
    for value in (1, 9):
        source.value = value
        sim_driver.cuGraphLaunch(made, stream)
        sim_driver.cuStreamSynchronize(stream)
        assert read_words(sim_driver, device_words) == [5, 5, value, 0]
    sim_driver.cuGraphExecDestroy(made)
    assert sim_driver.code("cuGraphLaunch", made, stream) == INVALID_HANDLE
    assert sim_driver.code("cuGraphDestroy", graph) == INVALID_HANDLE


def test_capture_calls_in_other_states_fail(sim_driver, make_stream):
    one, two = make_stream(), make_stream()
    assert sim_driver.code("cuStreamBeginCapture", None, RELAXED) == UNSUPPORTED
    assert end_capture(sim_driver, one) == ILLEGAL_STATE
    begin_capture(sim_driver, one)
    assert sim_driver.code("cuStreamBeginCapture", one, RELAXED) == ILLEGAL_STATE
    fork = create_event(sim_driver)
    sim_driver.cuEventRecord(fork, one)
    sim_driver.cuStreamWaitEvent(two, fork, 0)
    assert capture_status(sim_driver, two) == 1
    assert end_capture(sim_driver, two) == UNMATCHED
    assert capture_status(sim_driver, one) == 2
    assert end_capture(sim_driver, one) == INVALIDATED
    assert capture_status(sim_driver, two) == 0
    sim_driver.cuEventDestroy(fork)


@pytest.mark.parametrize("flags", [0, NON_BLOCKING])
def test_default_stream_calls_invalidate_a_capture(sim_driver, make_stream, device_words, flags):
    stream = make_stream(flags)
    begin_capture(sim_driver, stream)
    expected = 0 if flags else IMPLICIT
    value = ctypes.c_int()
    assert sim_driver.code("cuStreamIsCapturing", None, ctypes.byref(value)) == expected
    assert capture_status(sim_driver, stream) == 1  # a question harms nothing
    assert sim_driver.code("cuMemsetD32Async", device_words, 1, size_t(1), None) == expected
    assert sim_driver.code("cuMemcpyHtoD", device_words, bytes(4), size_t(4)) == expected
    assert capture_status(sim_driver, stream) == (1 if flags else 2)
    graph = end_capture(sim_driver, stream)
    if flags:
        sim_driver.cuGraphDestroy(graph)
    else:
        assert graph == INVALIDATED


def test_waits_are_refused_during_capture(sim_driver, make_stream, device_words):
    for call, arguments in [
        ("cuStreamSynchronize", lambda s: (s,)),
        ("cuStreamQuery", lambda s: (s,)),
        ("cuCtxSynchronize", lambda s: ()),
    ]:
        stream = make_stream(NON_BLOCKING)
        begin_capture(sim_driver, stream)
        assert sim_driver.code(call, *arguments(stream)) == UNSUPPORTED
        assert (
            sim_driver.code("cuMemsetD32Async", device_words, 1, size_t(1), stream) == INVALIDATED
        )
        assert end_capture(sim_driver, stream) == INVALIDATED
        sim_driver.cuStreamSynchronize(stream)


def test_events_of_another_capture_state_fail(sim_driver, make_stream, device_words):
    one, two = make_stream(), make_stream()
    inside, outside = create_event(sim_driver), create_event(sim_driver)
    sim_driver.cuEventRecord(outside, two)
    begin_capture(sim_driver, one)
    assert sim_driver.code("cuStreamWaitEvent", one, outside, 0) == ISOLATION
    assert end_capture(sim_driver, one) == INVALIDATED
    begin_capture(sim_driver, one)
    sim_driver.cuEventRecord(inside, one)
    assert sim_driver.code("cuEventQuery", inside) == CAPTURED_EVENT
    assert end_capture(sim_driver, one) == INVALIDATED
    begin_capture(sim_driver, one)
    begin_capture(sim_driver, two)
    sim_driver.cuEventRecord(inside, one)
    assert sim_driver.code("cuStreamWaitEvent", two, inside, 0) == MERGE
    assert end_capture(sim_driver, one) == end_capture(sim_driver, two) == INVALIDATED
    sim_driver.cuEventRecord(inside, one)  # an ordinary event again
    sim_driver.cuEventSynchronize(inside)
    for each in (inside, outside):
        sim_driver.cuEventDestroy(each)


def test_event_waits_join_streams_to_a_capture(sim_driver, make_stream, device_words):
    """A chain one -> two -> three -> one: a wait includes the earlier work."""
    one, two, three = make_stream(), make_stream(), make_stream()
    a, b, c = create_event(sim_driver), create_event(sim_driver), create_event(sim_driver)
    for complete in (False, True):
        begin_capture(sim_driver, one)
        sim_driver.cuEventRecord(a, one)
        sim_driver.cuStreamWaitEvent(two, a, 0)
        sim_driver.cuMemsetD32Async(device_words, 3, size_t(1), two)
        sim_driver.cuEventRecord(b, two)
        sim_driver.cuStreamWaitEvent(three, b, 0)
        sim_driver.cuMemcpyDtoDAsync(
            element_address(device_words, 3), device_words, size_t(4), three
        )
        sim_driver.cuEventRecord(c, three)
        if not complete:
            sim_driver.cuMemsetD32Async(device_words, 4, size_t(1), three)
        sim_driver.cuStreamWaitEvent(one, c, 0)
        graph = end_capture(sim_driver, one)
        assert (graph == UNJOINED) is not complete
    made = instantiate_graph(sim_driver, graph)
    sim_driver.cuGraphLaunch(made, two)
    sim_driver.synchronize()
    assert read_words(sim_driver, device_words) == [3, 0, 0, 3]
    sim_driver.cuGraphExecDestroy(made)
    sim_driver.cuGraphDestroy(graph)
    for each in (a, b, c):
        sim_driver.cuEventDestroy(each)


def test_destroying_a_capturing_stream_ends_the_capture(sim_driver):
    stream = sim_driver.stream()
    begin_capture(sim_driver, stream)
    sim_driver.cuStreamDestroy(stream)
    sim_driver.synchronize()  # no stream is capturing


def test_allocations_are_not_captured(sim_driver, make_stream, device_words):
    stream = make_stream()
    begin_capture(sim_driver, stream)
    pointer = u64()
    assert (
        sim_driver.code("cuMemAllocAsync", ctypes.byref(pointer), size_t(4), stream) == UNSUPPORTED
    )
    sim_driver.cuGraphDestroy(end_capture(sim_driver, stream))
