"""Implements numba.cuda's streams and events, and graphs.

A stream argument may be 0 or None (the default stream; copies then wait), a Stream, or an object with
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


class _EnteredStreams(threading.local):
    """The streams that were current before each `with` block that the thread has entered."""

    def __init__(self) -> None:
        self.streams: list[Any] = []


_entered = _EnteredStreams()


class Graph(_core.Graph):
    """A CUDA graph of work that `with stream.capture() as graph:` captured.

    `launch(stream)` enqueues all captured work in a stream with one driver call. `launches` contains the
    kernel launches in order, each with a method `update(*args)` for new arguments; ufunc calls, copies and
    fills are in the graph, but not in this list. The graph keeps all objects that the captured work uses
    alive.
    """

    def __repr__(self) -> str:
        state = "being captured" if self.is_capturing else f"of {len(self.launches)} launches"
        return f"<CUDA graph {state}>"

    _repr_html_ = frontend.html_method("graph")


class Stream(_core.Stream):
    """A queue of work for a device, which runs in order.

    Within `with stream:`, the calling thread's work without an explicit stream uses this stream: launches,
    ufuncs, operators, NumPy's functions, copies, events. Arrays created in the block are bound to the stream:
    their methods, and NumPy functions called with them, also use the stream after the block. The end of the
    block does not wait.

    >>> stream = cuda.stream()
    >>> with stream:
    ...     d = np.sqrt(cuda.to_device(np.arange(4.0)))
    >>> d.stream is stream, d.sum().copy_to_host()
    (True, array(4.14626437))
    """

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """Captures work in this stream for a graph, in a `with` block.

        The work is not executed. The capture includes launches, ufuncs with device
        arrays, operators, NumPy's functions, copies and fills, with this stream or
        without an explicit stream. The capture also includes work in other streams
        that wait for an event recorded in this stream (which must then wait for
        their events before the block ends). Copies from and to NumPy arrays run
        at each launch of the graph, with the arrays' contents at that time. New
        device arrays may be created in the block.

        An exception that leaves the block ends and discards the capture. During
        the capture of a stream that was created without `non_blocking=True`,
        other threads must not use the default stream.

        Returns
        -------
        context manager
            In ``with stream.capture() as graph``, ``graph`` is a Graph.

        Raises
        ------
        RuntimeError
            A call would have to wait (host arrays as arguments, `synchronize()`,
            callbacks), enqueues work in `cuda.default_stream()`, or begins a
            nested capture; the capture remains valid if the exception is
            caught.
        ValueError
            The stream is the default stream.

        Examples
        --------
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
            raise RuntimeError("the stream was not entered before: use `with stream:`")
        _core.swap_stream(_entered.streams.pop())

    def __int__(self) -> int:
        return self.handle

    _repr_html_ = frontend.html_method("stream")

    @staticmethod
    def priority_range() -> tuple:
        """Returns the priorities that the current device supports.

        Returns
        -------
        tuple of int
            (least, greatest); lower numbers run first.
        """
        return _core.priority_range()

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Waits for the stream at the end of a `with` block.

        Returns
        -------
        context manager
            In ``with stream.auto_synchronize() as s``, ``s`` is the stream.
        """
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(  # type: ignore[override]
        self, callback: Callable[[Any, int, Any], object], arg: Any = None
    ) -> None:
        """Calls a function when all previous work of the stream is done.

        The callback runs on another thread, and must not use CUDA. An exception in
        the callback is reported, not raised.

        Parameters
        ----------
        callback : function
            The function, called as ``callback(stream, status, arg)``.
        arg : object
            The last argument of the call.

        Raises
        ------
        TypeError
            ``callback`` is not callable.
        """
        if not callable(callback):
            raise TypeError(f"the callback must be callable, not {type(callback).__name__}")
        super().add_callback(lambda: callback(self, 0, arg))

    def async_done(self) -> asyncio.Future[Stream]:
        """Returns an asyncio future that is done when all previous work is done.

        Returns
        -------
        asyncio.Future
            The future, whose result is the stream.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def resolve_future():
            if not future.done():
                future.set_result(self)

        def call_from_stream(stream, status, arg):
            try:
                loop.call_soon_threadsafe(resolve_future)
            except RuntimeError:
                pass  # the event loop is closed, so no task waits

        self.add_callback(call_from_stream)
        return future


_core.register_stream_class(Stream)


def stream(non_blocking: bool = False, priority: int = 0) -> Stream:
    """Returns a new stream on the calling thread's device.

    Parameters
    ----------
    non_blocking : bool
        True: the stream's work is not ordered with the default stream's.
    priority : int
        Lower numbers run first; values outside `Stream.priority_range` are
        clamped.

    Returns
    -------
    Stream
        The stream.

    Examples
    --------
    >>> stream = cuda.stream()
    >>> d = cuda.to_device(np.arange(3), stream=stream)
    >>> d.copy_to_host(stream=stream)
    array([0, 1, 2])
    >>> stream.synchronize()
    """
    return Stream(non_blocking=non_blocking, priority=priority)


def default_stream() -> Stream:
    """Returns the default stream as an object.

    Unlike with ``stream=0``, a copy in this stream may be incomplete when the
    call returns.

    Returns
    -------
    Stream
        The default stream.
    """
    return Stream.wrap(0)


def legacy_default_stream() -> Stream:
    """Returns the legacy default stream as an object.

    Returns
    -------
    Stream
        The stream, which is ordered with all streams except non-blocking
        ones.
    """
    return Stream.wrap(1)


def per_thread_default_stream() -> Stream:
    """Returns the per-thread default stream of the calling thread.

    Returns
    -------
    Stream
        The stream.
    """
    return Stream.wrap(2)


def external_stream(ptr: int) -> Stream:
    """Returns a stream of another library, from its handle.

    numbalite never destroys the stream. The other library must keep the
    stream alive. The driver checks the handle when the stream is first
    used.

    Parameters
    ----------
    ptr : int
        The handle, such as ``torch.cuda.current_stream().cuda_stream`` or
        ``cupy.cuda.get_current_stream().ptr``.

    Returns
    -------
    Stream
        The stream.

    Raises
    ------
    TypeError
        ``ptr`` is not an int.

    Examples
    --------
    >>> mine = cuda.stream()
    >>> cuda.external_stream(mine.handle).external
    True
    """
    if not isinstance(ptr, int):
        raise TypeError(f"ptr for external stream must be an int, not {type(ptr).__name__}")
    return Stream.wrap(ptr)


def event(timing: bool = True) -> Event:
    """Returns a new event: a position in a stream for which other work can wait.

    Parameters
    ----------
    timing : bool
        True: the event also records the time.

    Returns
    -------
    Event
        The event.

    Examples
    --------
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
    """Returns the time between two completed events.

    The result is the same as that of `Event.elapsed_time`.

    Parameters
    ----------
    evtstart, evtend : Event
        The first and the second event.

    Returns
    -------
    float
        The time in milliseconds.

    Raises
    ------
    CudaAPIError
        An event is not completed, or was created without timing.
    """
    required.require_kind(evtstart, "event_elapsed_time", "two events", Event)
    return evtstart.elapsed_time(evtend)
