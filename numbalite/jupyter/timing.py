"""Implements %gpu_timeit, which measures by events how long a statement keeps the GPU busy.

Two events surround many runs of the statement in one stream, so that the time is the device's and not
Python's time to enqueue the work. If enqueuing takes longer, the result contains a note. On the simulator,
the host's clock (time.perf_counter) is used, and the result contains a note.
"""

from __future__ import annotations

import ast
import statistics
import time

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from numbalite import config

_LEAST = 0.05
"""Seconds that one measurement takes at least, as far as that is up to us."""
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


_STOPPABLE = """
kernels are stoppable here, which can slow down loops of few instructions; to measure without:
numbalite.config.STOPPABLE = False, and run the cell of the kernel again"""


class GpuTiming:
    """The result of %gpu_timeit; times in seconds for one run of the statement.

    ``times`` has one entry for each measurement; ``median``, ``best`` and ``worst`` summarize ``times``;
    ``loops`` runs make a measurement; ``launches`` is the number of kernels that one run launches.
    ``host`` is the time that the host needs to enqueue one run. ``bytes`` is the value of the option -b,
    ``bandwidth`` the bytes per second at the median, or None. ``simulated`` is True if the times are those of
    a CPU; ``stoppable`` is True if kernels are compiled with ``stoppable=True`` by default.
    """

    def __init__(self, times, host, loops, launches, bytes=None, simulated=False, stoppable=False):
        self.times = list(times)
        self.host = host
        self.loops = loops
        self.launches = launches
        self.bytes = bytes
        self.simulated = simulated
        self.stoppable = stoppable

    median = property(lambda self: statistics.median(self.times))
    best = property(lambda self: min(self.times))
    worst = property(lambda self: max(self.times))

    @property
    def bandwidth(self):
        return None if self.bytes is None else self.bytes / self.median

    @property
    def is_host_bound(self) -> bool:
        """Returns whether the device waits for the host, because the host enqueues work more slowly than the
        device executes it."""
        return not self.simulated and self.host > 0.9 * self.median

    def __str__(self):
        runs = f"{len(self.times)} run{'s' * (len(self.times) != 1)}"
        each = f"{self.loops} loop{'s' * (self.loops != 1)}"
        kernels = f"{self.launches} launch{'es' * (self.launches != 1)} per loop"
        text = (
            f"{duration_text(self.median)} per loop (median; {duration_text(self.best)} to "
            f"{duration_text(self.worst)} in {runs} of {each}, {kernels})"
        )
        if self.bytes is not None:
            text += f", {rate_text(self.bandwidth)}"
        if self.simulated:
            text += "\nsimulated: this is the time of a CPU, and says nothing about a GPU"
        elif self.is_host_bound:
            text += f"\nthe GPU waits for the host, which needs {duration_text(self.host)} per loop"
        elif self.stoppable and self.launches:
            text += _STOPPABLE
        return text

    __repr__ = __str__


def duration_text(seconds) -> str:
    """ "12.3 µs" """
    unit, name = next((u for u in _UNITS if seconds >= u[0]), _UNITS[-1])
    return f"{seconds / unit:.3g} {name}" if seconds < 1000 * unit else f"{seconds:.0f} s"


def rate_text(per_second) -> str:
    """ "3.21 TB/s" """
    for unit, name in ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")):
        if per_second >= unit:
            return f"{per_second / unit:.3g} {name}"
    return f"{per_second:.3g} B/s"


@magics_class
class GpuTimeit(Magics):
    """The magic %gpu_timeit."""

    @no_var_expand
    @line_cell_magic
    def gpu_timeit(self, line="", cell=None):
        """Times a statement on the GPU.

        ::

            %gpu_timeit [-n N] [-r R] [-b BYTES] [-s STREAM] [-q] [-o] statement
            %%gpu_timeit [options] setup that runs once before the statements

        -n N: runs of a measurement (default: as many as take 50 ms). -r R: measurements (7).
        -b BYTES: bytes that one run moves, as an expression without spaces, such as -b 3*x.nbytes, to get
        the bandwidth. -s STREAM: the stream that runs the work (default: the default stream).
        -q: print nothing. -o: return the result, a GpuTiming.
        """
        given, statement = self.parse_options(
            line, "n:r:b:s:oq", posix=False, strict=False, preserve_non_opts=True
        )
        if cell is None:
            setup, cell = "pass", statement
        else:
            setup = statement or "pass"
        if not cell.strip():
            raise UsageError("%gpu_timeit: write a statement to time")
        loops = self._number_option(given, "n", 0)
        repeat = self._number_option(given, "r", 7)
        size = self._evaluate_option(given, "b")
        run = self._compile_loop(setup, cell)
        result = measure_loops(run, loops, repeat, size, self._evaluate_option(given, "s"))
        if "q" not in given:
            print(result)
        return result if "o" in given else None

    def _number_option(self, given, letter, default):
        text = getattr(given, letter, None)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(
                f"%gpu_timeit -{letter} {text}: the value must be an integer, at least 1"
            )
        return int(text)

    def _evaluate_option(self, given, letter):
        text = getattr(given, letter, None)
        return None if text is None else self.shell.ev(text.strip("\"'"))

    def _compile_loop(self, setup, statement):
        """Returns a function run(loops, begin, end), which executes the setup, begin(), the statement ``loops`` times,
        and end()."""
        parts = []
        for text in (setup, statement):
            tree = self.shell.compile.ast_parse(self.shell.transform_cell(text))
            parts.append(self.shell.transform_ast(tree).body or [ast.Pass()])
        tree = ast.parse(_FRAME)
        function = tree.body[0]
        function.body[:1] = parts[0]
        loop = next(
            node for node in function.body if isinstance(node, ast.For) and node.lineno == 4
        )
        loop.body = parts[1]
        names = {}
        code = self.shell.compile(ast.fix_missing_locations(tree), "<gpu_timeit>", "exec")
        exec(code, self.shell.user_ns, names)
        return names["_run"]


_FRAME = """def _run(_loops, _begin, _end):
    pass
    _begin()
    for _ in range(_loops):
        pass
    return _end()
"""


def measure_loops(run, loops=0, repeat=7, size=None, stream=None) -> GpuTiming:
    """Times run(loops, begin, end). If ``loops`` is 0, a measurement determines the number of loops."""
    from numbalite import _core, cuda

    simulated = cuda.is_simulated()
    clock = _HostTimer if simulated else _EventTimer
    run(1, _empty_statement, _empty_statement)  # the first run compiles the kernels
    cuda.synchronize()
    _core.trace(True)
    try:
        run(1, _empty_statement, _empty_statement)
        calls = _core.traced()
    finally:
        _core.trace(False)
    if not loops:
        loops = _choose_loops(lambda loops: _measure_once(run, loops, clock(stream))[2])
    found = [_measure_once(run, loops, clock(stream)) for _ in range(repeat)]
    return GpuTiming(
        [device / loops for device, _, _ in found],
        statistics.median(host for _, host, _ in found) / loops,
        loops,
        sum(call.startswith("cuLaunch") for call in calls),
        size,
        simulated,
        config.STOPPABLE and not simulated,
    )


def _choose_loops(took):
    """Returns the number of loops of a measurement, from the shorter of two times, because other load may
    lengthen one."""
    loops = 1
    while (seconds := min(took(loops), took(loops))) < _LEAST and loops < 1_000_000:
        needed = _LEAST / max(seconds, 1e-9) * loops
        loops = int(min(max(needed * 1.1, loops + 1), loops * 20))
        if needed < 2 * loops and seconds > _LEAST / 20:
            break
    return loops


def _empty_statement():
    pass


def _measure_once(run, loops, clock):
    """Returns (time on the device, time on the host to enqueue all work, longer of these times) in seconds"""
    run(loops, clock.begin, clock.end)
    return clock.device, clock.host, max(clock.device, clock.host)


class _HostTimer:
    """Measures the time on the host until the device is done."""

    def __init__(self, stream):
        from numbalite import cuda

        self._wait = cuda.synchronize if stream is None else stream.synchronize

    def begin(self):
        self._wait()
        self._start = time.perf_counter()

    def end(self):
        self.host = time.perf_counter() - self._start
        self._wait()
        self.device = time.perf_counter() - self._start


class _EventTimer:
    """Measures the time between two events in a stream."""

    def __init__(self, stream):
        from numbalite import cuda

        self._stream = 0 if stream is None else stream
        self._first, self._last = cuda.event(), cuda.event()

    def begin(self):
        from numbalite import cuda

        cuda.synchronize()
        self._start = time.perf_counter()
        self._first.record(self._stream)

    def end(self):
        self._last.record(self._stream)
        self.host = time.perf_counter() - self._start
        self._last.synchronize()
        self.device = self._first.elapsed_time(self._last) / 1e3
