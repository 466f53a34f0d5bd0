"""Which mistakes of kernels are looked for on the simulator: ``cuda.checks``, NUMBALITE_SIM_CHECKS.

A launch for which accesses of memory are checked runs an image of its kernel that was compiled with the
host compiler's instrumentation. A source is compiled for what the thread that first needs it looks for
(numbalite.kernels.targets). When a launch comes that looks for something else, the driver asks
`instrumented` for another image of the same source. So nothing between here and the driver knows of checks.
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
_LIMIT = 60.0  # seconds, where nobody says
_here = _local()


class Verdict(NamedTuple):
    """What an exact search for races decided about the launches of a kernel."""

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


_KINDS = ("no schedule races", "depends on atomics", "undecided", "races")  # the last one counts


class checks:
    """Looks for mistakes in the kernels that the calling thread launches: ``with cuda.checks(): ...``

    ``wanted`` are names of checks, by default "all", which is all but "nan"; "none" is
    nothing, not even what debug=True asks for:

    ========= ==============================================================================
    memory    accesses out of bounds, to freed memory, and misaligned ones
    unwritten reads of device or shared memory that nothing has written, and (not with g++) of local
              variables
    race      two threads, one of them writing, with nothing that orders them
    sync      barriers and warp collectives that not all threads reach (found without checks too);
              shuffles from lanes outside of the mask
    hang      kernels that run longer than ``limit`` seconds
    divide    integer division by zero
    nan       NaN or infinity made from ordinary numbers
    stack     more stack or shared memory than there is (found without checks too)
    overflow  signed arithmetic of an index that does not fit into its type (not with g++)
    stream    kernels and copies of two streams that touch the same memory with nothing that orders them
    ========= ==============================================================================

    ``seed`` runs blocks and threads in an order that this number decides, with "none" too. What is found is a
    KernelError when the launch is waited for: the first mistake, and how many there are. Leaving the block
    waits for all devices; an exception that leaves it already is not replaced. Blocks can be nested; the inner one counts. Only the simulator can look: on a GPU, entering the block is a
    CudaSupportError that says so; there ``debug=True`` checks indices, and compute-sanitizer the rest.

    ``exact=True`` decides about races: each pair of accesses that nothing orders is reported, also
    writes of equal values and plain reads concurrent with atomics. After the block, ``verdict`` is the
    Verdict of all launches, and ``verdicts`` has one for each kernel. If atomics order the threads of a
    launch, it runs again in other schedules for ``budget`` seconds; its results are those of the first.

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
                raise TypeError(f"checks are named by strings, not {name!r}")
            try:
                mask |= parse_checks(name)
            except ValueError as problem:
                raise ValueError(f"{name!r} is no check: expected {problem}") from None
        if seed is not None and not hasattr(seed, "__index__"):
            raise TypeError(f"cuda.checks: seed is an integer, not {seed!r}")
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
        """With ``exact=True``, after the block: the verdict on each kernel that was launched in it."""
        if not self._exact:
            raise AttributeError("cuda.checks has verdicts with exact=True only")
        if self._verdicts is None:
            raise RuntimeError("cuda.checks has verdicts when its block has ended")
        return self._verdicts

    @property
    def verdict(self) -> Verdict | None:
        """The worst of the verdicts, with the launches and schedules of all kernels; None if there was no
        launch."""
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
                "cuda.checks: only the CPU simulator can look for mistakes while kernels run "
                "(NUMBALITE_DRIVER=sim); on a GPU use debug=True, which checks indices and asserts, "
                "or run the program under compute-sanitizer"
            )
        self._record = next(_records) if self._exact else 0
        exactly = (self._record, 0, self._budget, config.SIM_SCHEDULE or "") if self._exact else ()
        push(self._mask, self._seed, self._limit, *exactly)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        pop("cuda.checks")
        try:
            if isinstance(error, Exception):
                _wait_beside(error)
            elif error is None and not _core.capture_here():
                _core.synchronize_all()
        finally:
            if self._exact:
                taken = [Verdict(*one) for one in _core.take_verdicts(self._record)]
                self._verdicts = tuple(taken)

    def __repr__(self) -> str:
        return f"cuda.checks({', '.join(map(repr, self.names))})"


def push(*state: Any) -> None:
    """From now on the launches of the calling thread are checked so: the arguments of _core.set_checks."""
    stack = _here.__dict__.setdefault("stack", [])
    stack.append(state)
    _core.set_checks(*state)


def push_limit(seconds: float) -> None:
    """The calling thread's checks as they are, with another limit."""
    stack = getattr(_here, "stack", None)
    mask, seed, _, *exactly = stack[-1] if stack else _of_process()
    if seconds and mask != NO_CHECKS:
        mask |= CHECKS["hang"]
    elif seconds:
        mask = CHECKS["hang"]
    push(mask, seed, _milliseconds(seconds), *exactly)


def pop(name: str) -> None:
    """The end of the block that the last push began; ``name`` is for messages."""
    stack = getattr(_here, "stack", None)
    if not stack:
        raise RuntimeError(f"{name} is left that was not entered: `with` does both")
    stack.pop()
    _core.set_checks(*(stack[-1] if stack else ()))


def _wait_beside(error):
    """Waits; a mistake that is found does not take the place of the exception, but is told with it."""
    if _core.capture_here():
        return
    try:
        _core.synchronize_all()
    except Exception as found:
        if found is not error and hasattr(error, "add_note"):  # Python 3.11
            error.add_note(f"cuda.checks, on leaving the block: {type(found).__name__}: {found}")


def _milliseconds(limit, name="limit"):
    if limit is None:
        limit = (config.LIMIT or _LIMIT) if config.SIM_LIMIT is None else config.SIM_LIMIT
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"cuda.checks: {name} is a number of seconds, not {limit!r}")
    if not 0 <= limit < float("inf"):
        raise ValueError(f"cuda.checks: {name} is a number of seconds, 0 for none, not {limit!r}")
    return int(limit * 1000)


def on_open() -> None:
    """The simulator has been opened: from now on it does what the environment says."""
    _core.set_process_checks(*_of_process())


def _of_process():
    """The checks that the environment asks for, as arguments of the extension."""
    mask = config.SIM_CHECKS
    if config.LIMIT if config.SIM_LIMIT is None else config.SIM_LIMIT:
        mask |= CHECKS["hang"]
    if config.SIM_SEED is not None and mask != NO_CHECKS:
        mask |= CHECKS["sync"]
    return mask, config.SIM_SEED, _milliseconds(None)


class display:
    """Inside, copies to the host read elements that nothing has written without a finding: consoles,
    notebooks and debuggers show values that the program does not use."""

    def __enter__(self) -> None:
        self._earlier = ()
        self._is_changed = False
        if not _core.is_open() or not _core.driver_has("checks"):
            return
        stack = getattr(_here, "stack", None)
        self._earlier = stack[-1] if stack else ()
        mask, *others = self._earlier or _of_process()
        if mask & CHECKS["unwritten"]:
            self._is_changed = True
            _core.set_checks(mask & ~CHECKS["unwritten"], *others)

    def __exit__(self, *error: object) -> None:
        if self._is_changed:
            _core.set_checks(*self._earlier)


def instrumented(image: bytes, mask: int) -> bytes:
    """The image of the same source for the checks in ``mask``, 0 for none; called by the driver."""
    from numbalite import compilers

    source = compilers.source_of(image)
    if source is None:
        raise RuntimeError("a kernel whose source is not known cannot be checked")
    return compilers.compile_source(source, ("sim", *check_names(mask))).data
