"""Contains launches that were timed on a GPU: by events, with the driver's data about their kernels."""

from __future__ import annotations

import statistics
from html import escape
from typing import Any

from numbalite import _core

MISSING = (
    "accesses by line, cache hits, bytes of DRAM and what bounds a launch cannot be read on a GPU: "
    "NUMBALITE_DRIVER=sim predicts them, Nsight Compute (ncu) measures them"
)
_WARP, _THREADS_OF_MULTIPROCESSOR = 32, 39  # the latter: a CUdevice_attribute


class Measured:
    """One launch on a GPU. ``time`` is in seconds; ``grid``, ``block``, ``registers``, ``local_bytes`` and
    ``shared_bytes`` are those of the launch; ``occupancy`` is the fraction of a multiprocessor's warps that
    can be resident at once."""

    __slots__ = (
        "block",
        "grid",
        "is_complete",
        "kernel",
        "local_bytes",
        "occupancy",
        "registers",
        "shared_bytes",
        "time",
    )

    def __init__(self, record: tuple, measured: tuple) -> None:
        milliseconds, registers, local, static, blocks = measured
        self.kernel: str = record[0].removeprefix("nl_")
        self.grid: tuple = record[3]
        self.block: tuple = record[4]
        self.is_complete = not record[9]
        self.time: float = milliseconds / 1e3
        """From the event before the launch to the one after it, in seconds; about 1 us of it is not the kernel's."""
        self.registers: int = registers
        self.local_bytes: int = local
        self.shared_bytes: int = record[5] + static
        x, y, z = self.block
        resident = blocks * -(-x * y * z // _WARP) * _WARP
        self.occupancy: float = resident / _core.device_attribute(0, _THREADS_OF_MULTIPROCESSOR)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{name}: {MISSING}")

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return f"<Measured {self.kernel}, grid {self.grid}, block {self.block}: {self.time * 1e6:.4g} us>"


class MeasuredKernel:
    """All launches of a kernel, and the sum of their ``time``."""

    def __init__(self, name: str, launches: list) -> None:
        self.name = name
        self.launches: tuple = tuple(launches)

    @property
    def time(self) -> float:
        """The sum over the launches, in seconds."""
        return sum(launch.time for launch in self.launches)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in Measured.__slots__:
            raise AttributeError(f"each launch has its own {name}: use .launches[0].{name}")
        raise AttributeError(f"{name}: {MISSING}")

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        launches = [launch.as_dict() for launch in self.launches]
        return {"kernel": self.name, "time": self.time, "launches": launches}

    def __repr__(self) -> str:
        times = [launch.time * 1e6 for launch in self.launches]
        last = self.launches[-1]
        spread = f" ({min(times):.4g} to {max(times):.4g})" if len(times) > 1 else ""
        return (
            f"{self.name}: {len(times)} launch{'es' if len(times) > 1 else ''}, {statistics.median(times):.4g} us"
            f"{spread}; {last.registers} registers, {last.local_bytes} bytes of local memory, {last.shared_bytes} "
            f"bytes of shared memory, occupancy {last.occupancy:.0%}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


def measured_text(kernels: dict) -> str:
    """Returns a text with a row for each kernel, the longest time first."""
    rows = sorted(kernels.values(), key=lambda kernel: -kernel.time)
    return "\n".join([*map(repr, rows), f"Not measured: {MISSING}."])
