"""Streams and events, in numba.cuda's words.

A stream argument may be 0 or None (the default stream; copies then wait), a Stream, or anything with
`__cuda_stream__`.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numbalite import _core, frontend, required

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from typing import Any

Event = _core.Event


class _Entered(threading.local):
    """What was current before each block that the thread is in."""

    def __init__(self) -> None:
        self.streams: list[Any] = []


_entered = _Entered()


class Graph(_core.Graph):
    """Work of a stream, captured by `with stream.capture() as graph:` and launched at will.

    `launch(stream)` puts all of it into a stream with one call of the driver. `launches` has the kernel
    launches in it, in order, each with `update(*args)` for new arguments; calls of ufuncs, copies and
    fills are in the graph too, but not in that list. Everything that captured work uses is kept as
    long as the graph.
    """

    def __repr__(self) -> str:
        state = "being captured" if self.is_capturing else f"of {len(self.launches)} launches"
        return f"<CUDA graph {state}>"

    _repr_html_ = frontend.picture("graph")


class Stream(_core.Stream):
    """A queue of work for a device: what is put into it runs in order.

    Within `with stream:`, work of the calling thread that names no stream goes into this one: launches, ufuncs,
    operators, NumPy's functions, copies, events. Arrays that are made there are bound to it: their methods, and
    NumPy's functions of them, use it afterwards, too. Nothing is waited for at the end of the block.

    >>> stream = cuda.stream()
    >>> with stream:
    ...     d = np.sqrt(cuda.to_device(np.arange(4.0)))
    >>> d.stream is stream, d.sum().copy_to_host()
    (True, array(4.14626437))
    """

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """Within the block, work put into this stream is captured for a graph instead of run.

        Launches, ufuncs with device arrays, copies and fills are captured, with `stream=` this stream or
        none, so operators and NumPy's functions, too; and in other streams that wait for an event
        recorded in this one (which then has to wait for theirs before the block ends). Copies from and to NumPy arrays happen at each launch of the
        graph, with what is in the arrays then. New device arrays may be made in the block.

        RuntimeError: for work that would have to wait (host arrays as arguments, `synchronize()`,
        callbacks), for work that this thread puts into `cuda.default_stream()`, and for a capture in a capture (all
        leave the capture whole, if they are caught); ValueError: for the default stream. An exception
        that leaves the block ends the capture and drops it. While a stream is captured that was made
        without `non_blocking=True`, other threads may not use the default stream either.

        >>> @cuda.jit
        ... def add(x, value):
        ...     "x[threadIdx.x] += value;"
        >>> stream, d, e = cuda.stream(), cuda.to_device(np.zeros(2)), cuda.to_device(np.zeros(2))
        >>> with stream.capture() as graph:
        ...     add[1, 2, stream](d, 1)
        >>> for _ in range(10):
        ...     graph.launch(stream)
        >>> graph.launches[0].update(e, 5)
        >>> graph.launch(stream)
        >>> d.copy_to_host(stream=stream), e.copy_to_host(stream=stream)
        (array([10., 10.]), array([5., 5.]))
        """
        graph = Graph(self)
        try:
            yield graph
        except BaseException:
            graph._abandon()
            raise
        graph._finish()

    def __enter__(self) -> Stream:
        _entered.streams.append(_core.swap_stream(self))
        return self

    def __exit__(self, *error: object) -> None:
        if not _entered.streams:
            raise RuntimeError("a stream is left that was not entered: `with stream:` does both")
        _core.swap_stream(_entered.streams.pop())

    def __int__(self) -> int:
        return self.handle

    _repr_html_ = frontend.picture("stream")

    @staticmethod
    def priority_range() -> tuple:
        """(least, greatest): the priorities that the current device knows; lower numbers go first."""
        return _core.priority_range()

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Waits for the stream at the end of the block."""
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(  # type: ignore[override]
        self, callback: Callable[[Any, int, Any], object], arg: Any = None
    ) -> None:
        """Calls callback(stream, status, arg) on another thread when the work so far is done.

        The callback must not use CUDA. An exception in it is reported, not raised.
        """
        if not callable(callback):
            raise TypeError(f"the callback must be callable, not {type(callback).__name__}")
        super().add_callback(lambda: callback(self, 0, arg))

    def async_done(self) -> asyncio.Future[Stream]:
        """An asyncio future that is done when the work so far is; its result is the stream."""
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def resolve():
            if not future.done():
                future.set_result(self)

        def done(stream, status, arg):
            try:
                loop.call_soon_threadsafe(resolve)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        self.add_callback(done)
        return future


_core.register_stream_class(Stream)


def stream(non_blocking: bool = False, priority: int = 0) -> Stream:
    """A new stream on the calling thread's device.

    ``non_blocking=True``: its work is not ordered with the default stream's. ``priority``: lower
    numbers go first; `Stream.priority_range` tells which there are, others are brought into it.

    >>> stream = cuda.stream()
    >>> d = cuda.to_device(np.arange(3), stream=stream)
    >>> d.copy_to_host(stream=stream)
    array([0, 1, 2])
    >>> stream.synchronize()
    """
    return Stream(non_blocking=non_blocking, priority=priority)


def default_stream() -> Stream:
    """The default stream, as an object: unlike with ``stream=0``, copies given to it may be under way
    when the call returns."""
    return Stream.wrap(0)


def legacy_default_stream() -> Stream:
    """The default stream that is ordered with all streams but non-blocking ones, as an object."""
    return Stream.wrap(1)


def per_thread_default_stream() -> Stream:
    """The calling thread's own default stream."""
    return Stream.wrap(2)


def external_stream(ptr: int) -> Stream:
    """A stream made elsewhere, from its handle (an int); it is never destroyed here.

    For ``torch.cuda.current_stream().cuda_stream``, ``cupy.cuda.get_current_stream().ptr`` and the
    like. Whoever made it keeps it alive. TypeError for what is no int. The driver
    first hears of the handle when the stream is used, and refuses then what is no stream.

    >>> mine = cuda.stream()
    >>> cuda.external_stream(mine.handle).external
    True
    """
    if not isinstance(ptr, int):
        raise TypeError(f"ptr for external stream must be an int, not {type(ptr).__name__}")
    return Stream.wrap(ptr)


def event(timing: bool = True) -> Event:
    """A new event: a mark in a stream that can be waited for, and with ``timing``, measured.

    >>> start, end = cuda.event(), cuda.event()
    >>> start.record()
    >>> d = cuda.to_device(np.zeros(1000))
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0
    True
    """
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events that have happened, a float: what `Event.elapsed_time` gives.

    CudaAPIError where one of them has not happened yet, or was made without timing.
    """
    required.require_kind(evtstart, "event_elapsed_time", "two events", Event)
    return evtstart.elapsed_time(evtend)
