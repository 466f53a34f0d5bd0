"""Creates the variants of a kernel: one for each combination of the constants' values."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from numbalite import _core
from numbalite.compilers import elf
from numbalite.errors import CompileError, TranslationError
from numbalite.kernels import options
from numbalite.kernels.dispatcher import Dispatcher
from numbalite.kernels.kernel import MULTIPROCESSOR_COUNT, block_threads
from numbalite.kernels.source import BodySource
from numbalite.kernels.targets import current_device, target_of
from numbalite.tuning.table import FAILED, PRUNED, SKIPPED, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numbalite.kernels.kernel import Kernel

OPTIONS = ("max_registers", "launch_bounds", "shared_memory_carveout", "cluster")
"""Names in ``over`` that are options of cuda.jit."""
_HAS_KEYWORDS = 0x08  # co_flags
_WARP = 32
_THREADS_OF_MULTIPROCESSOR = 39  # CUdevice_attribute
_FEW_WARPS, _MANY_WARPS = 4, 16
_SPILLED = (
    256  # maximum bytes of local memory in excess of the variant with the smallest local memory
)


def combinations(over: Mapping, where: Callable | None) -> list[dict]:
    """Returns all combinations of values that ``where`` accepts."""
    found = [dict(zip(over, values)) for values in itertools.product(*over.values())]
    if where is None:
        return found
    names = accepted_names(where)
    return [
        c
        for c in found
        if where(**{name: c[name] for name in (c if names is None else names) if name in c})
    ]


def accepted_names(function: Callable) -> tuple | None:
    """Returns the names of the parameters of a Python function, or None if it accepts all names, or has no code."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & _HAS_KEYWORDS:
        return None
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def from_kernel(kernel: Dispatcher) -> Callable[[dict], Dispatcher]:
    """Returns a function from constants to variants of a kernel with a body."""
    source = kernel._source

    def make_dispatcher(constants: dict) -> Dispatcher:
        chosen = {name: v for name, v in constants.items() if name in OPTIONS}
        names = {name: v for name, v in constants.items() if name not in OPTIONS}
        changed = options.changed_options(source.options, chosen)
        made = BodySource(source.definition.with_names(names), changed)
        return type(kernel)(made, kernel._given, kernel._py_func)

    return make_dispatcher


class Variant:
    """A variant of a kernel: one combination of constants, compiled for the arguments of one call."""

    def __init__(self, constants: dict, make: Callable[[dict], Dispatcher]) -> None:
        self.constants = constants
        self.status, self.why = SKIPPED, "not selected by the search"
        self.configuration: tuple = ()
        self.registers: int | None = None
        self.local_bytes: int | None = None
        self.code_bytes = 0
        self.occupancy: float | None = None
        self.warps = 0
        self.times: list = []
        self.problem: Exception | None = None
        """Why it does not compile."""
        self._make = make
        self.kernel: Dispatcher | None = None
        self._overload: Kernel | None = None

    @property
    def is_unmeasured(self) -> bool:
        return self.status == SKIPPED

    def drop(self, status: str, why: Any) -> None:
        self.status, self.why = status, str(why).splitlines()[0] if str(why) else ""

    def compile(self, target: tuple, args: tuple) -> None:
        """Compiles without using a device, because several threads call this method."""
        try:
            self.kernel = self._make(self.constants)
            self._overload = self.kernel.overload_for(args)
            self._overload.images.image(target)
        except (CompileError, TranslationError) as problem:
            self.problem = problem
            self.drop(FAILED, problem)

    def code(self, target: tuple) -> Any:
        """Returns a key that identifies the compiled code and the launch.

        NVRTC stores the constants as variables, too, although the code contains their values. Therefore
        variables do not belong to the key, except arrays, which the code may read.
        """
        assert self._overload is not None
        code = elf.without_section(self._overload.images.image(target).data, b".nv.global.init")
        arrays = [value for value in self.constants.values() if isinstance(value, tuple)]
        return code, repr(self.configuration[:2]), self.shared, repr(arrays)

    @property
    def shared(self) -> int:
        return self.configuration[3] if len(self.configuration) > 3 else 0

    def read_resources(self) -> None:
        """Reads the resources that the compiler reported, and the occupancy; drops a variant that cannot be
        launched."""
        assert self._overload is not None
        overload, threads = self._overload, block_threads(self.configuration[1])
        loaded = overload.load()
        self.registers, self.local_bytes = overload.regs_per_thread, overload.local_mem_per_thread
        self.code_bytes = elf.code_bytes(overload.images.image(target_of(current_device())).data)
        if not 0 < threads <= overload.max_threads_per_block:
            most = overload.max_threads_per_block
            self.drop(PRUNED, f"blocks of {threads} threads, {most} are possible")
            return
        blocks = loaded.occupancy(threads, self.shared)
        if not blocks:
            self.drop(PRUNED, "no block fits on a multiprocessor: too much shared memory")
            return
        device = current_device()
        most = _core.device_attribute(device, _THREADS_OF_MULTIPROCESSOR) // _WARP
        self.warps = blocks * -(-threads // _WARP)
        self.occupancy = min(1.0, self.warps / most)

    def features(self) -> list:
        """Returns the coordinates for the search: the constants, the resources, the size of the code and the
        shape of the launch."""
        grid = block_threads(self.configuration[0])
        full = grid / max(1, self.warps * _core.device_attribute(0, MULTIPROCESSOR_COUNT))
        resources = self.registers or 0, self.occupancy or 0.0, self.code_bytes
        return [*self.constants.values(), *resources, full]

    def trial(self) -> Trial:
        low, time, high = _quartiles(self.times) if self.times else (None, None, None)
        return Trial(
            self.constants, self.status, self.why, time, low, high, len(self.times), self.registers,
            self.local_bytes, self.occupancy,
        )  # fmt: skip


def _quartiles(times):
    ordered = sorted(times)
    return tuple(ordered[min(len(ordered) - 1, len(ordered) * k // 4)] for k in (1, 2, 3))


def compile_all(variants: list[Variant], args: tuple) -> None:
    """Compiles variants in parallel. If no variant compiles, raises the error of the first variant."""
    target = target_of(current_device())
    workers = min(len(variants), len(os.sched_getaffinity(0)), 16)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda variant: variant.compile(target, args), variants))
    if all(variant.problem for variant in variants):
        assert variants[0].problem is not None
        raise variants[0].problem.with_traceback(None)


def drop_slow_variants(variants: list[Variant]) -> None:
    """Drops compiled variants that cannot be the fastest: equal code, spilled registers, few resident
    warps."""
    target = target_of(current_device())
    seen: dict = {}
    for variant in filter(lambda v: v.is_unmeasured, variants):
        same = seen.setdefault(variant.code(target), variant)
        if same is not variant:
            variant.drop(PRUNED, f"the same code and launch as {same.trial()}")
    left = [v for v in variants if v.is_unmeasured]
    if not left:
        return
    least = min(v.local_bytes or 0 for v in left)
    most = max(v.warps for v in left)
    for variant in left:
        if (variant.local_bytes or 0) > least + _SPILLED:
            variant.drop(
                PRUNED, f"{variant.local_bytes} bytes of local memory a thread, others have {least}"
            )
        elif variant.warps < _FEW_WARPS and most >= _MANY_WARPS:
            variant.drop(
                PRUNED, f"{variant.warps} resident warps a multiprocessor, others have {most}"
            )
