"""Streams and events, in numba.cuda's words.

A stream argument may be 0 or None (the default stream; copies then wait), a Stream, or anything with
`__cuda_stream__`.
"""

from __future__ import annotations

from contextlib import contextmanager

from numbalite import _core

Event = _core.Event


class Graph(_core.Graph):
    """Work of a stream, captured by `with stream.capture() as graph:` and launched at will.

    `launch(stream)` puts all of it into a stream with one call of the driver. `launches` has the kernel
    launches in it, in order, each with `update(*args)` for new arguments; calls of ufuncs, copies and
    fills are in the graph too, but not in that list. Everything that captured work uses is kept as
    long as the graph.
    """

    def __repr__(self):
        state = "being captured" if self.is_capturing else f"of {len(self.launches)} launches"
        return f"<CUDA graph {state}>"

    def _repr_html_(self):
        from numbalite.jupyter import rich

        return rich.graph(self)


class Stream(_core.Stream):
    """A queue of work for a device: what is put into it runs in order."""

    @contextmanager
    def capture(self):
        """Within the block, work put into this stream is captured for a graph instead of run.

        Launches, ufuncs with device arrays, copies and fills are captured, with `stream=` this stream,
        also in other streams that wait for an event recorded in this one (which then has to wait for
        theirs before the block ends). Copies from and to NumPy arrays happen at each launch of the
        graph, with what is in the arrays then. New device arrays may be made in the block.

        RuntimeError: for work that would have to wait (host arrays as arguments, `synchronize()`,
        callbacks), for work of this thread on the default stream, and for a capture in a capture;
        ValueError: for the default stream. An exception in the block ends the capture and drops it.
        While a stream is captured that was made without `non_blocking=True`, other threads may not use
        the default stream either.

        Example::

            stream = cuda.stream()
            with stream.capture() as graph:
                step[blocks, threads, stream](a, b)
                step[blocks, threads, stream](b, a)
            for _ in range(1000):
                graph.launch(stream)
            graph.launches[0].update(c, b)
        """
        graph = Graph(self)
        try:
            yield graph
        except BaseException:
            graph._abandon()
            raise
        graph._finish()

    def __int__(self):
        return self.handle

    def _repr_html_(self):
        from numbalite.jupyter import rich

        return rich.stream(self)

    @staticmethod
    def priority_range() -> tuple:
        """(least, greatest): the priorities that the current device knows; lower numbers go first."""
        return _core.priority_range()

    @contextmanager
    def auto_synchronize(self):
        """Waits for the stream at the end of the block."""
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(self, callback, arg=None):
        """Calls callback(stream, status, arg) on another thread when the work so far is done.

        The callback must not use CUDA. An exception in it is reported, not raised.
        """
        if not callable(callback):
            raise TypeError(f"the callback must be callable, not {type(callback).__name__}")
        super().add_callback(lambda: callback(self, 0, arg))

    def async_done(self):
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


def stream(non_blocking=False, priority=0) -> Stream:
    """A new stream.

    non_blocking: its work is not ordered with the default stream's. priority: lower numbers first.
    """
    return Stream(non_blocking=non_blocking, priority=priority)


def default_stream() -> Stream:
    """The default stream, as an object: work given to it is not waited for."""
    return Stream.wrap(0)


def legacy_default_stream() -> Stream:
    """The default stream that is ordered with all blocking streams."""
    return Stream.wrap(1)


def per_thread_default_stream() -> Stream:
    """The calling thread's own default stream."""
    return Stream.wrap(2)


def external_stream(pointer) -> Stream:
    """A stream made elsewhere, from its handle; it is never destroyed here."""
    if not isinstance(pointer, int):
        raise TypeError(f"ptr for external stream must be an int, not {type(pointer).__name__}")
    return Stream.wrap(pointer)


def event(timing=True) -> Event:
    """A new event: a mark in a stream that can be waited for, and with timing, measured."""
    return Event(timing)


def event_elapsed_time(evtstart, evtend) -> float:
    """Milliseconds between two events that have happened."""
    return evtstart.elapsed_time(evtend)
