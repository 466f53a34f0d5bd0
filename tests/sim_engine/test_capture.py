"""Capturing streams and launching graphs, at the driver's own level: recorded and forbidden
calls."""

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
def memory(driver):
    """Four words on the device, and a host array to copy them to."""
    pointer = u64()
    driver.cuMemAlloc(ctypes.byref(pointer), size_t(16))
    driver.cuMemsetD32Async(pointer, 0, size_t(4), None)
    driver.synchronize()
    yield pointer
    driver.cuMemFree(pointer)


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


def test_captured_work_runs_at_each_launch(driver, streams, memory):
    stream = streams()
    assert capture_status(driver, stream) == 0
    begin_capture(driver, stream)
    assert capture_status(driver, stream) == 1
    driver.cuMemsetD32Async(memory, 5, size_t(1), stream)
    driver.cuMemcpyDtoDAsync(element_address(memory, 1), memory, size_t(4), stream)
    source = ctypes.c_uint32(1)
    driver.cuMemcpyHtoDAsync(element_address(memory, 2), ctypes.byref(source), size_t(4), stream)
    graph = end_capture(driver, stream)
    assert capture_status(driver, stream) == 0
    assert read_words(driver, memory) == [0, 0, 0, 0]
    made = instantiate_graph(driver, graph)
    driver.cuGraphDestroy(graph)
    for value in (1, 9):
        source.value = value
        driver.cuGraphLaunch(made, stream)
        driver.cuStreamSynchronize(stream)
        assert read_words(driver, memory) == [5, 5, value, 0]
    driver.cuGraphExecDestroy(made)
    assert driver.code("cuGraphLaunch", made, stream) == INVALID_HANDLE
    assert driver.code("cuGraphDestroy", graph) == INVALID_HANDLE


def test_capture_calls_in_other_states_fail(driver, streams):
    one, two = streams(), streams()
    assert driver.code("cuStreamBeginCapture", None, RELAXED) == UNSUPPORTED
    assert end_capture(driver, one) == ILLEGAL_STATE
    begin_capture(driver, one)
    assert driver.code("cuStreamBeginCapture", one, RELAXED) == ILLEGAL_STATE
    fork = create_event(driver)
    driver.cuEventRecord(fork, one)
    driver.cuStreamWaitEvent(two, fork, 0)
    assert capture_status(driver, two) == 1
    assert end_capture(driver, two) == UNMATCHED
    assert capture_status(driver, one) == 2
    assert end_capture(driver, one) == INVALIDATED
    assert capture_status(driver, two) == 0
    driver.cuEventDestroy(fork)


@pytest.mark.parametrize("flags", [0, NON_BLOCKING])
def test_default_stream_calls_invalidate_a_capture(driver, streams, memory, flags):
    stream = streams(flags)
    begin_capture(driver, stream)
    expected = 0 if flags else IMPLICIT
    value = ctypes.c_int()
    assert driver.code("cuStreamIsCapturing", None, ctypes.byref(value)) == expected
    assert capture_status(driver, stream) == 1  # a question harms nothing
    assert driver.code("cuMemsetD32Async", memory, 1, size_t(1), None) == expected
    assert driver.code("cuMemcpyHtoD", memory, bytes(4), size_t(4)) == expected
    assert capture_status(driver, stream) == (1 if flags else 2)
    graph = end_capture(driver, stream)
    if flags:
        driver.cuGraphDestroy(graph)
    else:
        assert graph == INVALIDATED


def test_waits_are_refused_during_capture(driver, streams, memory):
    for call, arguments in [
        ("cuStreamSynchronize", lambda s: (s,)),
        ("cuStreamQuery", lambda s: (s,)),
        ("cuCtxSynchronize", lambda s: ()),
    ]:
        stream = streams(NON_BLOCKING)
        begin_capture(driver, stream)
        assert driver.code(call, *arguments(stream)) == UNSUPPORTED
        assert driver.code("cuMemsetD32Async", memory, 1, size_t(1), stream) == INVALIDATED
        assert end_capture(driver, stream) == INVALIDATED
        driver.cuStreamSynchronize(stream)


def test_events_of_another_capture_state_fail(driver, streams, memory):
    one, two = streams(), streams()
    inside, outside = create_event(driver), create_event(driver)
    driver.cuEventRecord(outside, two)
    begin_capture(driver, one)
    assert driver.code("cuStreamWaitEvent", one, outside, 0) == ISOLATION
    assert end_capture(driver, one) == INVALIDATED
    begin_capture(driver, one)
    driver.cuEventRecord(inside, one)
    assert driver.code("cuEventQuery", inside) == CAPTURED_EVENT
    assert end_capture(driver, one) == INVALIDATED
    begin_capture(driver, one)
    begin_capture(driver, two)
    driver.cuEventRecord(inside, one)
    assert driver.code("cuStreamWaitEvent", two, inside, 0) == MERGE
    assert end_capture(driver, one) == end_capture(driver, two) == INVALIDATED
    driver.cuEventRecord(inside, one)  # an ordinary event again
    driver.cuEventSynchronize(inside)
    for each in (inside, outside):
        driver.cuEventDestroy(each)


def test_event_waits_join_streams_to_a_capture(driver, streams, memory):
    """A chain one -> two -> three -> one: a wait includes the earlier work."""
    one, two, three = streams(), streams(), streams()
    a, b, c = create_event(driver), create_event(driver), create_event(driver)
    for complete in (False, True):
        begin_capture(driver, one)
        driver.cuEventRecord(a, one)
        driver.cuStreamWaitEvent(two, a, 0)
        driver.cuMemsetD32Async(memory, 3, size_t(1), two)
        driver.cuEventRecord(b, two)
        driver.cuStreamWaitEvent(three, b, 0)
        driver.cuMemcpyDtoDAsync(element_address(memory, 3), memory, size_t(4), three)
        driver.cuEventRecord(c, three)
        if not complete:
            driver.cuMemsetD32Async(memory, 4, size_t(1), three)
        driver.cuStreamWaitEvent(one, c, 0)
        graph = end_capture(driver, one)
        assert (graph == UNJOINED) is not complete
    made = instantiate_graph(driver, graph)
    driver.cuGraphLaunch(made, two)
    driver.synchronize()
    assert read_words(driver, memory) == [3, 0, 0, 3]
    driver.cuGraphExecDestroy(made)
    driver.cuGraphDestroy(graph)
    for each in (a, b, c):
        driver.cuEventDestroy(each)


def test_destroying_a_capturing_stream_ends_the_capture(driver):
    stream = driver.stream()
    begin_capture(driver, stream)
    driver.cuStreamDestroy(stream)
    driver.synchronize()  # no stream is capturing


def test_allocations_are_not_captured(driver, streams, memory):
    stream = streams()
    begin_capture(driver, stream)
    pointer = u64()
    assert driver.code("cuMemAllocAsync", ctypes.byref(pointer), size_t(4), stream) == UNSUPPORTED
    driver.cuGraphDestroy(end_capture(driver, stream))
