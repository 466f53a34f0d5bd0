"""Defines ``cuda.autotune``: the decorator, and the kernel that it returns."""

from __future__ import annotations

import random
import re
from _thread import RLock
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite import _core, errors
from numbalite.compilers import cache
from numbalite.errors import CudaAPIError, SimulatorWarning
from numbalite.kernels.dispatcher import Dispatcher
from numbalite.kernels.source import BodySource
from numbalite.runtime.devices import get_current_device, synchronize
from numbalite.tuning import measure, search, variants
from numbalite.tuning.table import FAILED, MEASURED, UNMEASURED, Trial, Tuning

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEMA = 1  # version of the format of the stored tables and their keys
_EXHAUSTIVE = 24  # all variants are measured if there are at most this many
_FEWEST = 10
_FINAL_ROUNDS = 5
_FINALISTS, _CLOSE = 4, 1.1
_LINE = re.compile(r"^#line .*$", re.MULTILINE)
_noted: set = set()


def autotune(
    over: Mapping[str, Iterable],
    key: Iterable[str] | None = None,
    *,
    where: Callable[..., Any] | None = None,
    trials: int | None = None,
    tolerance: float | None = None,
    prune: bool = True,
) -> Callable[[Any], Tuned]:
    """Measures a kernel with several values of its constants.

    Use ``cuda.autotune`` as a decorator above ``cuda.jit``; the fastest values
    are kept. The launch configuration is a function of the arguments and the
    constants, by name, which returns (grid, block), (grid, block, stream) or
    (grid, block, stream, shared). For template parameters and
    macros of a source, decorate a function whose parameters are the names in
    ``over``, and which returns a kernel.

    The first launch tunes, for each device, list of argument types and class of
    sizes. The choice is stored in the disk cache, so other processes measure
    nothing. The simulator uses the first variant and measures nothing.

    Parameters
    ----------
    over : dict
        Maps names to the values to try. The names are compile-time constants in
        the kernel, whose body is a string or Python. ``max_registers``,
        ``launch_bounds``, ``shared_memory_carveout`` and ``cluster`` are
        options of cuda.jit.
    key : list of str
        The names of the parameters whose size matters (default: all
        arrays): two sizes are in the same class if they have the same
        number of binary digits.
    where : function
        A condition on the constants, called like the launch configuration
        without arguments.
    trials : int
        The number of variants to measure; by default all if there are at most
        24, otherwise a tenth, at least 10.
    tolerance : float
        The maximum difference between the results of two variants, relative to
        the largest element. By default, the results may differ by the rounding
        of another order of summation.
    prune : bool
        False: also measures variants that cannot be the fastest.

    Returns
    -------
    decorator
        The decorator returns a Tuned, which is launched like a kernel.

    Raises
    ------
    TypeError
        ``over`` is not a dict from names to lists of values, ``key`` is a
        string, or ``trials`` is not an integer.
    ValueError
        ``over`` has a name without values, ``trials`` is less than 1, or
        ``where`` accepts no variant.

    Notes
    -----
    If there are more variants than ``trials``, Bayesian optimization with a
    Gaussian process selects the variants to measure: each round measures the
    variant with the largest expected improvement.

    Examples
    --------
    >>> @cuda.autotune(over=dict(BLOCK=[64, 128, 256]), key=["n"])
    ... @cuda.jit
    ... def scale(x, n):
    ...     "int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) x[i] *= 2;"
    >>> x = cuda.to_device(np.ones(1000, np.float32))
    >>> scale[lambda n, BLOCK: (-(-n // BLOCK), BLOCK)](x, 1000)
    """
    values = _checked_space(over)
    if key is not None and isinstance(key, str):
        raise TypeError(f"cuda.autotune: key must be a list of names: [{key!r}]")
    keys = None if key is None else tuple(key)
    if trials is not None and (isinstance(trials, bool) or not isinstance(trials, int)):
        raise TypeError(f"cuda.autotune: trials must be a number of variants, not {trials!r}")
    if trials is not None and trials < 1:
        raise ValueError(f"cuda.autotune: at least 1 trial is needed, not {trials}")
    space = variants.combinations(values, where)
    if not space:
        raise ValueError("cuda.autotune: where= accepts no combination of over=")

    def decorate(kernel: Any) -> Tuned:
        return Tuned(kernel, space, keys, trials, tolerance, prune)

    return decorate


def _checked_space(over):
    if not isinstance(over, Mapping) or not over:
        raise TypeError(
            f"cuda.autotune: over must be a dict from names to lists of values, not {over!r}"
        )
    found = {}
    for name, values in over.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"cuda.autotune: over has the key {name!r}, which is not a name")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"cuda.autotune: over[{name!r}] is a list of values, not {values!r}")
        found[name] = list(values)
        if not found[name]:
            raise ValueError(f"cuda.autotune: over[{name!r}] has no values")
    return found


class Tuned:
    """A kernel with tuned constants, created by ``cuda.autotune``. ``kernel[configuration](...)`` launches
    it."""

    source_role = "kernel"

    def __init__(
        self, kernel: Any, space: list[dict], key: tuple | None, trials: int | None,
        tolerance: float | None, prune: bool,
    ) -> None:  # fmt: skip
        self._space, self._trials = space, trials
        self._tolerance, self._prunes = tolerance, prune
        self._make = _variant_maker(kernel, space)
        self._lock = RLock()
        self._chosen: dict = {}  # key of a call -> (the Dispatcher, its constants)
        self._tables: list[Tuning] = []
        self._dispatchers: dict = {}
        self.__name__ = kernel.__name__
        self.__qualname__ = kernel.__qualname__
        self.__module__ = kernel.__module__
        self.__doc__ = kernel.__doc__
        first = kernel if isinstance(kernel, Dispatcher) else self.variant(**space[0])
        self._names = tuple(first._parameter_names)
        self._defaults = tuple(first._source.defaults)
        for name in key or ():
            if name not in self._names:
                raise ValueError(
                    f"cuda.autotune: key has {name!r}; the parameters of {self.__name__} are "
                    f"{', '.join(self._names)}"
                )
        for name in space[0]:
            if name in self._names:
                raise ValueError(
                    f"cuda.autotune: {name!r} in over= is a parameter of {self.__name__}, not a constant"
                )
        self._key = None if key is None else tuple(self._names.index(name) for name in key)

    @property
    def tuning(self) -> Tuning | None:
        """The table of the last tuning: variants, times, and the reasons why variants were not measured. None
        before a launch."""
        return self._tables[-1] if self._tables else None

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """The tables of all classes of calls so far."""
        return tuple(self._tables)

    def variant(self, **constants: Any) -> Dispatcher:
        """Returns the kernel with these constants, for inspection or for a launch without tuning."""
        found = [row for row in self._space if row == constants]
        if not found:
            raise ValueError(f"{self.__name__} has no variant {constants}")
        return self._dispatcher_of_constants(found[0])

    def _dispatcher_of_constants(self, constants):
        key = tuple(constants.values())
        if key not in self._dispatchers:
            self._dispatchers[key] = self._make(constants)
        return self._dispatchers[key]

    def __getitem__(self, configuration: Any) -> TunedLauncher:
        return TunedLauncher(self, configuration)

    def __repr__(self) -> str:
        return f"<tuned CUDA kernel {self.__name__}({', '.join(self._names)}): {len(self._space)} variants>"

    # --- the choice

    def _positional_arguments(self, args, kwargs):
        """Returns a tuple of all arguments by position. Raises TypeError if the arguments do not match the
        parameters."""
        names = self._names[len(args) :]
        defaults = dict(zip(reversed(self._names), reversed(self._defaults)))
        values = {**defaults, **kwargs}
        missing = [name for name in names if name not in values]
        unknown = [name for name in kwargs if name not in names]
        if missing or unknown or len(args) > len(self._names):
            raise TypeError(
                f"{self.__name__} has the parameters {', '.join(self._names)}; the call has {len(args)} arguments"
                + "".join(f", and {name}=" for name in kwargs)
            )
        return (*args, *(values[name] for name in names))

    def _size_classes(self, args):
        chosen = args if self._key is None else [args[i] for i in self._key]
        only_arrays = self._key is None
        return tuple(_size_class(arg, only_arrays) for arg in chosen)

    def _choose_variant(self, launcher, args, key):
        """Returns the Dispatcher and the constants for the first call with this key."""
        with self._lock:
            if key in self._chosen:
                return self._chosen[key]
            if _core.capture_here():
                raise RuntimeError(
                    f"{self.__name__} is not tuned for this call yet, and a graph capture cannot "
                    "measure: launch it once before"
                )
            table = self._tuning_table(launcher, args)
            self._tables.append(table)
            constants = table.best.constants
            self._chosen[key] = found = self._dispatcher_of_constants(constants), constants
            return found

    def _tuning_table(self, launcher, args):
        device = _name_of_device()
        sizes = self._describe_sizes(args)
        about = self.__name__, device, sizes
        if not are_times_meaningful():
            _warn_once(self.__name__)
            first, *others = self._space
            rows = [Trial(first, UNMEASURED, "the first variant")]
            rows += [Trial(row, UNMEASURED) for row in others]
            return Tuning(*about, rows, "simulator")
        stored = self._disk_cache_key(launcher, args, device, sizes)
        table = cache.load_entry(Tuning.from_bytes, stored, cache.TUNING)
        if table is not None and any(table.best.constants == row for row in self._space):
            return table
        table = Tuning(*about, self._measure_variants(launcher, args), "measured")
        if stored is not None:
            cache.store_bytes(stored, table.to_bytes(), cache.TUNING)
        return table

    def _describe_sizes(self, args):
        names = self._names if self._key is None else [self._names[i] for i in self._key]
        pairs = zip(names, self._size_classes(args))
        words = [f"{name}: {_size_text(size)}" for name, size in pairs if size is not None]
        return ", ".join(words) or "any size"

    def _disk_cache_key(self, launcher, args, device, sizes):
        """Returns the key in the disk cache: the device, the kernel's text, the types, the sizes and the variants."""
        if cache.usable_directory() is None:
            return None
        overload = self._dispatcher_of_constants(self._space[0]).overload_for(args)
        source = overload.images.source
        # The key does not depend on the kernel's position in the user's file.
        text = _LINE.sub("", source.text)
        source = source.replace(name="", text=text, users=(), slips=())
        return cache.hash_values(
            _SCHEMA, device, tuple(source), overload.expression, str(overload.signature), sizes,
            self._space, self._trials, launcher.identity,
        )  # fmt: skip

    # --- measuring

    def _measure_variants(self, launcher, args):
        """Returns a list with a Trial for each variant."""
        synchronize()  # earlier work may still write to the arguments
        made = [
            variants.Variant(constants, self._dispatcher_of_constants) for constants in self._space
        ]
        for variant in made:
            variant.configuration = launcher.configuration(args, variant.constants)
        variants.compile_all(made, args)
        for variant in made:
            if variant.is_unmeasured:
                variant.read_resources()
        if self._prunes:
            variants.drop_slow_variants(made)
        left = [variant for variant in made if variant.is_unmeasured]
        if left:
            self._search_variants(left, args)
        if not any(variant.status == MEASURED for variant in made):
            reasons = "; ".join(f"{v.trial()}: {v.why}" for v in made[:3])
            raise RuntimeError(f"{self.__name__}: no variant can be launched ({reasons})")
        return [variant.trial() for variant in made]

    def _search_variants(self, left, args):
        arguments = measure.Arguments(self._names, args, self._tolerance)
        timer = measure.Timer(arguments)

        def measured(index):
            variant = left[index]
            try:
                time = timer.measure_first(variant)
            except (ValueError, CudaAPIError) as problem:
                variant.drop(FAILED, problem)
                return None
            variant.status, variant.why = MEASURED, ""
            return time

        budget = self._trials or _measurement_budget(len(self._space))
        if budget >= len(left):
            for index in random.sample(range(len(left)), len(left)):
                measured(index)
        else:
            points = search.feature_coordinates([variant.features() for variant in left])
            start = max(range(len(left)), key=lambda i: left[i].warps)
            search.search(points, start, budget, measured)
        finalists = sorted(
            (v for v in left if v.status == MEASURED), key=lambda v: v.trial().time
        )  # fmt: skip
        finalists = [v for v in finalists[:_FINALISTS]
                     if v.trial().time <= _CLOSE * finalists[0].trial().time]  # fmt: skip
        for _ in range(_FINAL_ROUNDS if len(finalists) > 1 else 0):
            for variant in random.sample(finalists, len(finalists)):
                timer.measure_again(variant)


class TunedLauncher:
    """A tuned kernel with a launch configuration, which may be a function of the arguments and the constants."""

    def __init__(self, tuned: Tuned, configuration: Any) -> None:
        self._tuned, self._given = tuned, configuration
        self._accepted: tuple | None = ()
        code = getattr(configuration, "__code__", None)
        if code is not None:
            self._accepted = variants.accepted_names(configuration)
        elif callable(configuration):
            self._accepted = None
        self._code = code

    @property
    def identity(self) -> Any:
        """A key that identifies the function in every process."""
        if self._code is None:
            return type(self._given).__qualname__ if callable(self._given) else "constant"
        return _code_key(self._code)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        tuned = self._tuned
        if kwargs or len(args) != len(tuned._names):
            args = tuned._positional_arguments(args, kwargs)
        key = _core.current_device(), _core.typecodes(args), tuned._size_classes(args), self._code
        found = tuned._chosen.get(key)
        kernel, constants = found if found is not None else tuned._choose_variant(self, args, key)
        kernel[self.configuration(args, constants)](*args)

    def configuration(self, args: tuple, constants: dict) -> tuple:
        """Returns (grid, block, ...) for the arguments and constants."""
        if not callable(self._given):
            return self._given
        values = {**dict(zip(self._tuned._names, args)), **constants}
        if self._accepted is not None:
            values = {name: values[name] for name in self._accepted if name in values}
        found = self._given(**values)
        if not isinstance(found, tuple) or not 2 <= len(found) <= 4:
            raise TypeError(
                f"{self._tuned.__name__}: the launch configuration returns (grid, block), "
                f"(grid, block, stream) or (grid, block, stream, shared), not {found!r}"
            )
        return found


def _code_key(code):
    consts = tuple(_code_key(c) if hasattr(c, "co_code") else c for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, consts


def are_times_meaningful() -> bool:
    """Returns whether times are meaningful on this device."""
    return not _core.driver_has("host_code")


def _warn_once(name):
    if _noted:
        return
    _noted.add(name)
    errors.warn(
        f"{name}: the simulator measures no times; cuda.autotune uses the first variant",
        SimulatorWarning,
    )


def _name_of_device():
    device = get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    major, minor = device.compute_capability
    return f"{name} ({major}.{minor}, {device.MULTIPROCESSOR_COUNT} multiprocessors)"


def _measurement_budget(size):
    return size if size <= _EXHAUSTIVE else max(_FEWEST, size // 10)


def _variant_maker(kernel, space):
    """Returns the function that creates the variant for given constants."""
    if isinstance(kernel, Dispatcher):
        if not isinstance(kernel._source, BodySource):
            raise TypeError(
                f"cuda.autotune: {kernel.__name__} is made of a whole source. Decorate a function that returns "
                f"it: def make({', '.join(space[0])}): return cuda.jit(source=..., name=...)"
            )
        return variants.from_kernel(kernel)
    code = getattr(kernel, "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
    if set(names) != set(space[0]):
        raise TypeError(
            f"cuda.autotune is for kernels: put @cuda.jit under it. "
            f"A function that returns a kernel has the parameters {', '.join(space[0])}"
        )

    def make_variant(constants):
        made = kernel(**constants)
        if not isinstance(made, Dispatcher):
            raise TypeError(f"cuda.autotune: {kernel.__name__} returns a kernel, not {made!r}")
        return made

    return make_variant


def _size_class(value, only_arrays):
    """Returns the size class of an argument. Calls share a choice if integers and lengths of arrays have
    equal numbers of bits."""
    if type(value) is int:
        return None if only_arrays else _signed_bit_length(value)
    shape = getattr(value, "shape", None)
    if shape:
        return tuple(map(_signed_bit_length, shape))
    if only_arrays:
        return None
    return _signed_bit_length(int(value)) if isinstance(value, np.integer) else str(value)


def _signed_bit_length(n):
    return n.bit_length() if n >= 0 else -n.bit_length()


def _size_text(size):
    """ "2**9" for 512 to 1023."""
    if isinstance(size, tuple):
        return "x".join(map(_size_text, size))
    if isinstance(size, str) or size == 0:
        return str(size)
    return f"{'-' * (size < 0)}2**{abs(size) - 1}"
