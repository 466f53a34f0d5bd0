"""Manages memory pools: statistics and limits of device memory, and of host memory for results.

Freed device memory is cached by size and reused without a driver call; host memory of large results is cached
in the same way. Memory is reused only after all work that uses it has finished, on any stream.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from numbalite import _core, config, frontend

if TYPE_CHECKING:
    from numbalite.arguments import DeviceLike


def _bytes_text(number) -> str:
    if number is None:
        return "none"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            break
        number /= 1024
    return f"{number:.4g} {unit}"


def _parse_size(value, what):
    if value is None:
        return None
    number = int(value)
    if number < 0:
        raise ValueError(f"{what} must not be negative, and {value!r} is")
    return number


class MemoryPool:
    """The memory pool of one device, from `cuda.memory_pool()`; all sizes are in bytes.

    `used` is the memory of arrays, `cached` the free memory for reuse, `held` the sum `used` + `cached`, `peak` the
    maximum of `used`. `limit` (None: no limit) is the maximum of `used`: a larger allocation fails as if the
    device were full. `cache_limit` is the maximum of `cached`; 0 disables the cache. On the simulator,
    `cache_limit` is 0, so that each use of freed memory is detected.

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

    def _pool_statistic(self, name):
        return _core.pool_statistics(self.device)[name]

    @property
    def used(self) -> int:
        return self._pool_statistic("used")

    @property
    def cached(self) -> int:
        return self._pool_statistic("cached")

    @property
    def held(self) -> int:
        now = _core.pool_statistics(self.device)
        return now["used"] + now["cached"]

    @property
    def peak(self) -> int:
        return self._pool_statistic("peak")

    @property
    def limit(self) -> int | None:
        return self._pool_statistic("limit")

    @limit.setter
    def limit(self, value: int | None) -> None:
        _core.pool_set_limits(self.device, _parse_size(value, "limit"), self.cache_limit)

    @property
    def cache_limit(self) -> int:
        return self._pool_statistic("cache_limit")

    @cache_limit.setter
    def cache_limit(self, value: int | None) -> None:
        if value is None:
            raise TypeError("cache_limit must be an integer number of bytes")
        _core.pool_set_limits(self.device, self.limit, _parse_size(value, "cache_limit"))

    def trim(self, keep: int = 0) -> None:
        """Returns unused memory to the system, except for `keep` bytes. Waits for the device."""
        _core.pool_trim(self.device, _parse_size(keep, "keep"))

    def reset_peak(self) -> None:
        """Resets `peak` to the memory in use."""
        _core.pool_reset_peak(self.device)

    def __repr__(self) -> str:
        now = _core.pool_statistics(self.device)
        return (
            f"<memory pool of device {self.device}: {_bytes_text(now['used'])} used, "
            f"{_bytes_text(now['cached'])} cached, peak {_bytes_text(now['peak'])}, "
            f"limit {_bytes_text(now['limit'])}>"
        )

    _repr_html_ = frontend.html_method("pool")

    def __eq__(self, other: object) -> bool:
        return self.device == other.device if isinstance(other, MemoryPool) else NotImplemented

    def __hash__(self) -> int:
        return hash((MemoryPool, self.device))


class HostMemoryPool:
    """The host memory pool for results and pinned arrays, from `cuda.host_memory_pool()`; sizes are in bytes.

    Copies of 256 KiB or more to the host use blocks of the pool. If a block returns to the pool a second time
    (over 64 MiB: a fourth time, because locking is slower), the block is page-locked, so that the device
    writes to it directly. `limit` is the maximum of memory that is locked for results, and of cached memory;
    0 disables both. The default of `limit` is NUMBALITE_PINNED_LIMIT. `locked` is the size of page-locked
    memory.
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
        _core.host_set_limit(_parse_size(value, "limit"))

    def trim(self, keep: int = 0) -> None:
        """Returns memory that no array uses to the system, except for `keep` bytes."""
        _core.host_trim(_parse_size(keep, "keep"))

    def reset_peak(self) -> None:
        """Resets `peak` to the memory in use."""
        _core.host_reset_peak()

    def __repr__(self) -> str:
        now = _core.host_statistics()
        return (
            f"<host memory pool: {_bytes_text(now['used'])} used, {_bytes_text(now['cached'])} cached, "
            f"{_bytes_text(now['locked'])} page-locked, limit {_bytes_text(now['cache_limit'])}>"
        )

    _repr_html_ = frontend.html_method("pool")


def memory_pool(device: DeviceLike = None) -> MemoryPool:
    """Returns the MemoryPool of a device.

    Parameters
    ----------
    device : int or Device
        The device; default: the calling thread's device.

    Returns
    -------
    MemoryPool
        The statistics and limits of the pool.

    Raises
    ------
    IndexError
        There is no such device.

    Examples
    --------
    >>> d = cuda.to_device(np.zeros(1000))
    >>> cuda.memory_pool().used >= d.nbytes
    True
    """
    if device is None:
        return MemoryPool(_core.current_device())
    number = int(getattr(device, "id", device))  # type: ignore[arg-type]
    if not 0 <= number < _core.device_count():
        raise IndexError(f"there is no device {number}: {_core.device_count()} found")
    return MemoryPool(number)


def host_memory_pool() -> HostMemoryPool:
    """Returns the process's HostMemoryPool, for results and pinned arrays.

    Returns
    -------
    HostMemoryPool
        The statistics and the limit of the pool.

    Examples
    --------
    >>> pool = cuda.host_memory_pool()
    >>> pool.used + pool.cached == pool.held
    True
    """
    return HostMemoryPool()


def default_host_limit() -> int:
    """Returns NUMBALITE_PINNED_LIMIT, or by default an eighth of the host's memory, at most 4 GiB."""
    wanted = config.PINNED_LIMIT
    if wanted is not None:
        return wanted
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(physical // 8, 4 << 30)
