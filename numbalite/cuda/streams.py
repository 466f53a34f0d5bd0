"""Streams and events, in numba.cuda's words.

A stream argument may be 0 or None (the default stream; copies then wait), a Stream, or anything with
`__cuda_stream__`.
"""

from __future__ import annotations

from contextlib import contextmanager

from numbalite import _core

Event = _core.Event


class Stream(_core.Stream):
    """A queue of work for a device: what is put into it runs in order."""

    def __int__(self):
        return self.handle

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
