"""Memory pools: what arrays use, what is kept for the next ones, and how much either may be.

Device memory that an array gives up is kept by size and used again without asking the driver; host
memory under large results likewise. Nothing is used again while work on any stream still needs it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from numbalite import _core, config, frontend

if TYPE_CHECKING:
    from numbalite.arguments import DeviceLike


def _bytes(number) -> str:
    if number is None:
        return "none"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            break
        number /= 1024
    return f"{number:.4g} {unit}"


def _size(value, what):
    if value is None:
        return None
    number = int(value)
    if number < 0:
        raise ValueError(f"{what} must not be negative, and {value!r} is")
    return number


class MemoryPool:
    """The memory of one device, in bytes; made by `cuda.memory_pool()`.

    `used` is what arrays hold, `cached` what is kept for the next ones, `held` the sum, `peak` the
    most that was ever used. `limit` (None: no limit) is how much may be used: more is refused as if
    the device were full. `cache_limit` is how much may be kept; 0 keeps nothing. On the simulator it
    is 0, because there every use of freed memory is found.

    >>> pool = cuda.memory_pool()
    >>> pool.limit = 4 << 30
    >>> pool.used <= pool.peak
    True
    >>> pool.trim()
    >>> pool.limit = None
    """

    __slots__ = ("device",)

    def __init__(self, device: int) -> None:
        self.device = device

    def _read(self, name):
        return _core.pool_statistics(self.device)[name]

    @property
    def used(self) -> int:
        return self._read("used")

    @property
    def cached(self) -> int:
        return self._read("cached")

    @property
    def held(self) -> int:
        now = _core.pool_statistics(self.device)
        return now["used"] + now["cached"]

    @property
    def peak(self) -> int:
        return self._read("peak")

    @property
    def limit(self) -> int | None:
        return self._read("limit")

    @limit.setter
    def limit(self, value: int | None) -> None:
        _core.pool_set_limits(self.device, _size(value, "limit"), self.cache_limit)

    @property
    def cache_limit(self) -> int:
        return self._read("cache_limit")

    @cache_limit.setter
    def cache_limit(self, value: int | None) -> None:
        if value is None:
            raise TypeError("cache_limit must be a number of bytes")
        _core.pool_set_limits(self.device, self.limit, _size(value, "cache_limit"))

    def trim(self, keep: int = 0) -> None:
        """Gives what is not in use back to the system, all but `keep` bytes; waits for the device."""
        _core.pool_trim(self.device, _size(keep, "keep"))

    def reset_peak(self) -> None:
        """`peak` begins again at what is used now."""
        _core.pool_reset_peak(self.device)

    def __repr__(self) -> str:
        now = _core.pool_statistics(self.device)
        return (
            f"<memory pool of device {self.device}: {_bytes(now['used'])} used, "
            f"{_bytes(now['cached'])} cached, peak {_bytes(now['peak'])}, "
            f"limit {_bytes(now['limit'])}>"
        )

    _repr_html_ = frontend.picture("pool")

    def __eq__(self, other: object) -> bool:
        return self.device == other.device if isinstance(other, MemoryPool) else NotImplemented

    def __hash__(self) -> int:
        return hash((MemoryPool, self.device))


class HostMemoryPool:
    """The host memory under results and pinned arrays, in bytes; `cuda.host_memory_pool()`.

    Large results (from 256 KiB) of copies to the host lie in blocks that are used again. A block that
    comes back a second time (one of more than 64 MiB a fourth time, for locking it takes longer) is
    page-locked, so that the bus writes into it directly. `limit` bounds what is locked for results,
    and what is kept; 0 switches all of that off. It begins as NUMBALITE_PINNED_LIMIT. `locked` is how
    much is page-locked now.
    """

    __slots__ = ()

    @property
    def used(self) -> int:
        return _core.host_statistics()["used"]

    @property
    def cached(self) -> int:
        return _core.host_statistics()["cached"]

    @property
    def held(self) -> int:
        now = _core.host_statistics()
        return now["used"] + now["cached"]

    @property
    def peak(self) -> int:
        return _core.host_statistics()["peak"]

    @property
    def locked(self) -> int:
        return _core.host_statistics()["locked"]

    @property
    def limit(self) -> int:
        return _core.host_statistics()["cache_limit"]

    @limit.setter
    def limit(self, value: int) -> None:
        if value is None:
            raise TypeError("limit must be a number of bytes")
        _core.host_set_limit(_size(value, "limit"))

    def trim(self, keep: int = 0) -> None:
        """Gives what no array uses back to the system, all but `keep` bytes."""
        _core.host_trim(_size(keep, "keep"))

    def reset_peak(self) -> None:
        """`peak` begins again at what is used now."""
        _core.host_reset_peak()

    def __repr__(self) -> str:
        now = _core.host_statistics()
        return (
            f"<host memory pool: {_bytes(now['used'])} used, {_bytes(now['cached'])} cached, "
            f"{_bytes(now['locked'])} page-locked, limit {_bytes(now['cache_limit'])}>"
        )

    _repr_html_ = frontend.picture("pool")


def memory_pool(device: DeviceLike = None) -> MemoryPool:
    """The memory pool of a device (number or Device), or of the calling thread's: a MemoryPool.

    IndexError where there is no such device.
    """
    if device is None:
        return MemoryPool(_core.current_device())
    number = int(getattr(device, "id", device))  # type: ignore[arg-type]
    if not 0 <= number < _core.device_count():
        raise IndexError(f"there is no device {number}: {_core.device_count()} found")
    return MemoryPool(number)


def host_memory_pool() -> HostMemoryPool:
    """The pool of host memory for results and pinned arrays, a HostMemoryPool; one for the process."""
    return HostMemoryPool()


def default_host_limit() -> int:
    """An eighth of the host's memory and at most 4 GiB, unless NUMBALITE_PINNED_LIMIT says."""
    wanted = config.PINNED_LIMIT
    if wanted is not None:
        return wanted
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(physical // 8, 4 << 30)
