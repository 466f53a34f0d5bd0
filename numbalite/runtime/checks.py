"""Selects the checks of kernels on the simulator: ``cuda.checks``, NUMBALITE_SIM_CHECKS.

A launch with checks of memory accesses runs an instrumented image of its kernel. A source is compiled with
the checks of the first thread that launches it (numbalite.kernels.targets). For a launch with other checks
than the image's, the driver calls `instrumented`, which returns another image of the same source. The layers
between Python and the driver therefore do not depend on checks.
"""

from __future__ import annotations

import itertools
import operator
from _thread import _local
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core, config
from numbalite.config import ALL_CHECKS, CHECKS, NO_CHECKS, check_names, parse_checks
from numbalite.errors import CudaSupportError

if TYPE_CHECKING:
    from typing import Any

_records = itertools.count(1)
_LIMIT = 60.0  # seconds, the default of limit=
_here = _local()


class Verdict(NamedTuple):
    """The result of an exact search for races in the launches of a kernel."""

    kernel: str
    kind: str
    """"no schedule races", "depends on atomics", "undecided" (a launch failed for another reason), or
    "races"."""
    launches: int
    schedules: int
    """How many schedules were run, of all launches."""

    def __str__(self) -> str:
        launch = "this launch" if self.launches == 1 else "these launches"
        if self.kind == "no schedule races":
            return f"no schedule of {launch} races"
        if self.kind == "depends on atomics":
            tried = "1 schedule" if self.schedules == 1 else f"{self.schedules} schedules"
            return f"depends on atomics: {tried} tried"
        return self.kind if self.kind == "races" else "undecided: a launch failed before its end"


_KINDS = ("no schedule races", "depends on atomics", "undecided", "races")  # in increasing severity


class checks:
    """Checks kernels for errors: ``with cuda.checks(): ...``

    The checks apply to kernels that the calling thread launches. The checks
    are:

    ========= ==============================================================
    memory    accesses out of bounds, to freed memory, and misaligned accesses
    unwritten reads of uninitialized device or shared memory, and (not with
              g++) of uninitialized local variables
    race      unordered accesses of two threads to the same memory, at least
              one of which writes
    sync      barriers and warp collectives that not all threads reach (also
              detected without checks); shuffles from lanes outside the mask
    hang      kernels that run longer than ``limit`` seconds
    divide    integer division by zero
    nan       operations on finite numbers whose result is NaN or infinity
    stack     more stack or shared memory than available (also detected
              without checks)
    overflow  signed overflow in the computation of an index (not with g++)
    stream    unordered kernels and copies of two streams that access the
              same memory
    ========= ==============================================================

    An error raises KernelError when the program waits for the launch; the
    message contains the first error and the number of errors. The end of the
    block waits for all devices; it does not replace an exception that leaves
    the block. Blocks can be nested; the innermost block applies. Only the
    simulator has these checks: on a GPU, entering the block raises
    CudaSupportError. On a GPU, ``debug=True`` checks indices, and
    compute-sanitizer provides other checks.

    Parameters
    ----------
    *wanted : str
        Names of checks. The default "all" selects all except "nan"; "none"
        disables all checks, also those of debug=True.
    seed : int
        Selects an order of blocks and threads, also with "none".
    limit : float
        The time limit of the check "hang", in seconds; 0 disables the time
        limit.
    exact : bool
        True: reports each pair of unordered accesses, also writes of equal
        values and plain reads concurrent with atomics. After the block,
        ``verdict`` is the Verdict on all launches, and ``verdicts`` contains
        one Verdict for each kernel. If atomics order the threads of a launch,
        the launch is repeated with other schedules; the results are those of
        the first run.
    budget : float
        The time for which a launch is repeated with ``exact=True``, in
        seconds.

    Raises
    ------
    ValueError
        There is no such check, ``exact`` is used without the check "race",
        or a time is negative or infinite.
    TypeError
        A name is not a string, ``seed`` is not an integer, or a time is not
        a number.

    Examples
    --------
    >>> @cuda.jit
    ... def shift(x, out):
    ...     "out[threadIdx.x] = x[threadIdx.x + 1];"
    >>> with cuda.checks("memory", "race"):
    ...     shift[1, 4](np.ones(4), np.ones(4))
    Traceback (most recent call last):
    numbalite.errors.KernelError: shift (...): ... thread (3,0,0) uses x[4], but x has 4 elements
    """

    def __init__(
        self,
        *wanted: str,
        seed: int | None = None,
        limit: float | None = None,
        exact: bool = False,
        budget: float = 1.0,
    ) -> None:
        mask = ALL_CHECKS if not wanted else 0
        for name in wanted:
            if not isinstance(name, str):
                raise TypeError(f"the names of checks are strings, not {name!r}")
            try:
                mask |= parse_checks(name)
            except ValueError as problem:
                raise ValueError(f"{name!r} is no check: expected {problem}") from None
        if seed is not None and not hasattr(seed, "__index__"):
            raise TypeError(f"cuda.checks: seed must be an integer, not {seed!r}")
        if seed is not None:
            seed = operator.index(seed)
        if exact and not mask & CHECKS["race"]:
            raise ValueError('cuda.checks: exact=True is for the check "race"')
        self._exact = bool(exact)
        self._budget = _milliseconds(budget, "budget")
        self._record = 0
        self._verdicts: tuple[Verdict, ...] | None = None
        self._mask = mask
        self._seed = seed
        self._limit = _milliseconds(limit)

    @property
    def names(self) -> tuple:
        """The names of the checks."""
        return check_names(self._mask)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each kernel that was launched in the block; available after the block, with
        ``exact=True``."""
        if not self._exact:
            raise AttributeError("cuda.checks computes verdicts only with exact=True")
        if self._verdicts is None:
            raise RuntimeError("the verdicts of cuda.checks are available after its block")
        return self._verdicts

    @property
    def verdict(self) -> Verdict | None:
        """The most severe verdict, with the launches and schedules of all kernels, or None without
        launches."""
        if not self.verdicts:
            return None
        worst = max(self.verdicts, key=lambda one: _KINDS.index(one.kind))
        return worst._replace(
            launches=sum(one.launches for one in self.verdicts),
            schedules=sum(one.schedules for one in self.verdicts),
        )

    def __enter__(self) -> checks:
        if not _core.driver_has("checks"):
            raise CudaSupportError(
                "cuda.checks: only the CPU simulator can check kernels while they run "
                "(NUMBALITE_DRIVER=sim); on a GPU use debug=True, which checks indices and asserts, "
                "or run the program under compute-sanitizer"
            )
        self._record = next(_records) if self._exact else 0
        exactly = (self._record, 0, self._budget, config.SIM_SCHEDULE or "") if self._exact else ()
        push_checks(self._mask, self._seed, self._limit, *exactly)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        pop("cuda.checks")
        try:
            if isinstance(error, Exception):
                _wait_and_add_note(error)
            elif error is None and not _core.capture_here():
                _core.synchronize_all()
        finally:
            if self._exact:
                taken = [Verdict(*one) for one in _core.take_verdicts(self._record)]
                self._verdicts = tuple(taken)

    def __repr__(self) -> str:
        return f"cuda.checks({', '.join(map(repr, self.names))})"


def push_checks(*state: Any) -> None:
    """Sets the checks for launches of the calling thread, with the arguments of _core.set_checks."""
    stack = _here.__dict__.setdefault("stack", [])
    stack.append(state)
    _core.set_checks(*state)


def push_limit(seconds: float) -> None:
    """Keeps the calling thread's checks, but sets another time limit."""
    stack = getattr(_here, "stack", None)
    mask, seed, _, *exactly = stack[-1] if stack else _process_checks()
    if seconds and mask != NO_CHECKS:
        mask |= CHECKS["hang"]
    elif seconds:
        mask = CHECKS["hang"]
    push_checks(mask, seed, _milliseconds(seconds), *exactly)


def pop(name: str) -> None:
    """Restores the checks that were set before the last `push_checks`. ``name`` is for messages."""
    stack = getattr(_here, "stack", None)
    if not stack:
        raise RuntimeError(f"{name} is left that was not entered: `with` does both")
    stack.pop()
    _core.set_checks(*(stack[-1] if stack else ()))


def _wait_and_add_note(error):
    """Waits for all work. An error of a kernel is added as a note to the exception that left the block, which
    is not replaced."""
    if _core.capture_here():
        return
    try:
        _core.synchronize_all()
    except Exception as found:
        if found is not error and hasattr(error, "add_note"):  # Python 3.11
            error.add_note(f"cuda.checks, on leaving the block: {type(found).__name__}: {found}")


def _milliseconds(limit, name="limit"):
    if limit is None:
        limit = config.kernel_limit(True)
        limit = _LIMIT if limit is None else limit
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"cuda.checks: {name} must be a number of seconds, not {limit!r}")
    if not 0 <= limit < float("inf"):
        raise ValueError(
            f"cuda.checks: {name} must be a number of seconds, 0 for no limit, not {limit!r}"
        )
    return int(limit * 1000)


def on_open() -> None:
    """Sets the checks in NUMBALITE_CHECKS; called after the simulator was opened."""
    _core.set_process_checks(*_process_checks())


def _process_checks():
    """Returns the checks in NUMBALITE_CHECKS, as arguments of _core.set_checks."""
    mask = config.SIM_CHECKS
    if config.kernel_limit(True):
        mask |= CHECKS["hang"]
    if config.SIM_SEED is not None and mask != NO_CHECKS:
        mask |= CHECKS["sync"]
    return mask, config.SIM_SEED, _milliseconds(None)


class display:
    """A context manager in which copies to the host may read uninitialized elements without a report.

    Consoles, notebooks and debuggers use this context manager to display arrays.
    """

    def __enter__(self) -> None:
        self._earlier = ()
        self._is_changed = False
        if not _core.is_open() or not _core.driver_has("checks"):
            return
        stack = getattr(_here, "stack", None)
        self._earlier = stack[-1] if stack else ()
        mask, *others = self._earlier or _process_checks()
        if mask & CHECKS["unwritten"]:
            self._is_changed = True
            _core.set_checks(mask & ~CHECKS["unwritten"], *others)

    def __exit__(self, *error: object) -> None:
        if self._is_changed:
            _core.set_checks(*self._earlier)


def instrumented(image: bytes, mask: int) -> bytes:
    """Returns another image of the same source, for the checks in ``mask`` (0 for no checks). Called by the
    driver."""
    from numbalite import compilers

    source = compilers.source_of(image)
    if source is None:
        raise RuntimeError("a kernel without a source cannot be checked")
    return compilers.compile_source(source, ("sim", *check_names(mask))).data
