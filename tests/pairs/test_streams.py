"""Tests mistakes in the order of streams: each is reported, and its corrected twin is not.

A pair is a host program, which returns its result and the expected result.
"""

import inspect
import itertools
import re

import numpy as np
import pytest

from numbalite import cuda, errors

pytestmark = pytest.mark.sim
N = 256
PAIRS = {}

SOURCE = """
__global__ void fill(array<float> x, float v) { x[grid<1>()] = v; }
__global__ void twice(array<float> x) { x[grid<1>()] *= 2; }
__global__ void copy(array<float> x, array<float> out) { out[grid<1>()] = x[grid<1>()]; }
__global__ void count(array<int> n) { atomicAdd(&n[0], 1); }
__global__ void parity(array<uint8> x, int first) { x[2 * grid<1>() + first] = first; }
"""
FILL, TWICE, COPY, COUNT, PARITY = (
    cuda.jit(SOURCE, name=name) for name in ("fill", "twice", "copy", "count", "parity")
)


def register_pair(function):
    PAIRS[function.__name__] = function
    return function


def device_array_of(v=0):
    return cuda.to_device(np.full(N, v, "f4"))


def pinned_array_of(v=0):
    h = cuda.pinned_array(N, "f4")
    h[:] = v
    return h


def make_streams(count=2, **options):
    return [cuda.stream(**options) for _ in range(count)]


@register_pair
def kernel_reads_what_another_stream_writes(right):
    a, b = make_streams()
    x, done = device_array_of(), cuda.event()
    FILL[2, N // 2, a](x, 3)
    if right:
        done.record(a)
        done.wait(b)
    TWICE[2, N // 2, b](x)
    return x, 6


@register_pair
def event_recorded_before_the_kernel(right):
    a, b = make_streams()
    x, done = device_array_of(), cuda.event()
    if not right:
        done.record(a)
    FILL[2, N // 2, a](x, 3)
    if right:
        done.record(a)
    done.wait(b)
    TWICE[2, N // 2, b](x)
    return x, 6


@register_pair
def event_awaited_by_wrong_stream(right):
    a, b, c = make_streams(3)
    x, done = device_array_of(), cuda.event()
    FILL[2, N // 2, a](x, 3)
    done.record(a)
    done.wait(b if right else c)
    TWICE[2, N // 2, b](x)
    return x, 6


@register_pair
def chain_of_events_without_first_wait(right):
    a, b, c = make_streams(3)
    x, first, second = device_array_of(), cuda.event(), cuda.event()
    FILL[2, N // 2, a](x, 3)
    first.record(a)
    if right:
        first.wait(b)
    second.record(b)
    second.wait(c)
    TWICE[2, N // 2, c](x)
    return x, 6


@register_pair
def result_copied_on_another_stream(right):
    a, b = make_streams()
    x, h = device_array_of(), pinned_array_of()
    FILL[2, N // 2, a](x, 3)
    x.copy_to_host(h, stream=a if right else b)
    return h, 3


@register_pair
def input_copied_on_another_stream(right):
    a, b = make_streams()
    x, h = device_array_of(), pinned_array_of(3)
    x.copy_to_device(h, stream=a)
    if right:
        a.synchronize()
    TWICE[2, N // 2, b](x)
    return x, 6


@register_pair
def input_overwritten_while_it_is_read(right):
    """Tests the second half of double buffering: the writer must wait for the reader."""
    a, b = make_streams()
    x, out, h, done = device_array_of(1), device_array_of(), pinned_array_of(5), cuda.event()
    COPY[2, N // 2, a](x, out)
    if right:
        done.record(a)
        done.wait(b)
    x.copy_to_device(h, stream=b)
    return out, 1


@register_pair
def non_blocking_stream_not_ordered_with_default_stream(right):
    """The default stream is ordered after and before ordinary streams, but not with non-blocking streams."""
    (a,) = make_streams(1, non_blocking=not right)
    x = device_array_of()
    FILL[2, N // 2, a](x, 3)
    TWICE[2, N // 2](x)
    return x, 6


@register_pair
def overlapping_slices_in_two_streams(right):
    a, b = make_streams()
    x = device_array_of()
    FILL[1, N // 2, a](x[: N // 2], 3)
    part = x[N // 2 :] if right else x[N // 2 - 1 : N - 1]
    FILL[1, N // 2, b](part, 3)
    return x, 3


@register_pair
def adjacent_bytes_do_not_conflict(right):
    """Accesses to neighbouring bytes of a word do not conflict."""
    a, b = make_streams()
    x = cuda.to_device(np.zeros(N, "u1"))
    PARITY[1, N // 2, a](x, 0)
    PARITY[1, N // 2, b](x, 1 if right else 0)
    return x, np.arange(N) % 2


@register_pair
def atomics_and_copy_conflict(right):
    """Atomics of two streams are not a race, but an atomic and a copy are."""
    a, b = make_streams()
    n = cuda.to_device(np.zeros(1, "i4"))
    h = cuda.pinned_array(1, "i4")
    COUNT[2, 32, a](n)
    if right:
        COUNT[2, 32, b](n)
        cuda.synchronize()
    n.copy_to_host(h, stream=b)
    return h, 128


@register_pair
def graph_launch_without_order_to_other_stream(right):
    a, b = make_streams()
    x = device_array_of()
    with a.capture() as graph:
        FILL[2, N // 2, a](x, 3)
    graph.launch(a)
    TWICE[2, N // 2, a if right else b](x)
    return x, 6


@pytest.mark.parametrize("name", PAIRS)
def test_checkers_report_the_stream_race(name):
    with pytest.raises(errors.KernelError, match="orders the two: let one stream") as caught:
        with cuda.checks("stream"):
            PAIRS[name](False)
    assert caught.value.kind == "stream"


@pytest.mark.parametrize("name", PAIRS)
def test_checkers_accept_the_ordered_program(name):
    with cuda.checks():
        found, expected = PAIRS[name](True)
        cuda.synchronize()
    np.testing.assert_array_equal(np.asarray(found), np.broadcast_to(expected, found.shape))


def test_stream_race_report_names_both_operations():
    with pytest.raises(errors.KernelError) as caught, cuda.checks():
        kernel_reads_what_another_stream_writes(False)
    found = caught.value
    assert found.array == "x" and found.kernel in ("fill", "twice") and found.line
    other = "twice" if found.kernel == "fill" else "fill"
    assert f"and kernel {other} on stream " in str(found)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_streams_have_numbers_and_operations_have_lines():
    """The report contains the stream and the line of the launch or the copy, not a line of the kernel."""
    for pair_, texts in (
        (kernel_reads_what_another_stream_writes, ("FILL[", "TWICE[")),
        (result_copied_on_another_stream, ("FILL[", "x.copy_to_host(")),
        (input_copied_on_another_stream, ("x.copy_to_device(", "TWICE[")),
        (atomics_and_copy_conflict, ("COUNT[", "copy_to_host(")),
    ):
        with pytest.raises(errors.KernelError) as caught, cuda.checks("stream"):
            pair_(False)
        found = re.findall(r"on stream (\d+) \(test_streams.py, line (\d+)\)", str(caught.value))
        assert {int(line) for _, line in found} == {line_of(pair_, text) for text in texts}
        assert len({number for number, _ in found}) == 2 and all(int(n) < 1000 for n, _ in found)


def test_reports_have_the_numbers_that_streams_show():
    a, b = make_streams(2, non_blocking=True)
    x = device_array_of()
    with pytest.raises(errors.KernelError) as caught, cuda.checks("stream"):
        FILL[2, N // 2, a](x, 1)
        TWICE[2, N // 2, b](x)
        cuda.synchronize()
    found = set(re.findall(r"on (stream \d+) \(", str(caught.value)))
    assert {f"<CUDA {one}>" for one in found} == {repr(a), repr(b)}


def test_memory_reused_across_streams_is_not_reported():
    """An array is freed before its last use, and its memory is allocated again."""
    streams_ = itertools.cycle([*make_streams(3), *make_streams(3, non_blocking=True), None])
    with cuda.checks("stream"):
        for i, stream in zip(range(60), streams_):
            x = cuda.device_array(N, "f4", stream=stream or 0)
            FILL[2, N // 2, stream or 0](x, i)
            TWICE[2, N // 2, stream or 0](x)
            if i % 3 == 0:
                assert x.copy_to_host(stream=stream or 0)[5] == 2 * i
            if i % 7 == 0:  # a host array is copied to the device and back automatically
                h = np.zeros(N, "f4")
                FILL[2, N // 2, stream or 0](h, i)


def test_host_synchronization_orders_streams():
    a, b = make_streams(2, non_blocking=True)
    x, done, called = device_array_of(), cuda.event(), []
    with cuda.checks("stream"):
        FILL[2, N // 2, a](x, 1)
        done.record(a)
        while not done.query():
            pass
        TWICE[2, N // 2, b](x)
        while not b.query():
            pass
        TWICE[2, N // 2, a](x)
        a.add_callback(lambda *_: called.append(1))
        while not called:
            pass
        TWICE[2, N // 2](x)
        done.record()
        done.synchronize()
        TWICE[2, N // 2, b](x)
        b.synchronize()
    assert x.copy_to_host()[0] == 16


def test_short_lived_streams_are_ordered():
    """Uses more streams than the check can track at once."""
    x = device_array_of()
    with cuda.checks("stream"):
        many = [cuda.stream() for _ in range(80)]
        for i, stream in enumerate(many):
            FILL[1, 2, stream](x[2 * i : 2 * i + 2], i)
        TWICE[2, N // 2](x)
        del many, stream
        for _ in range(80):
            TWICE[1, 1, cuda.stream()](x)
            TWICE[1, 1](x)
    assert x.copy_to_host()[3] == 2
