"""Implements numba.cuda's functions for devices: selection, current device and context, synchronize, close,
profiler control.

Each thread has a current device. Each device has one context, its primary context, so a context identifies a
device. The driver is opened at its first use; the hook `on_open` then reads the environment variables.
"""

from __future__ import annotations

import atexit
import functools
import operator
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, overload

from numbalite import _core, config, frontend
from numbalite.errors import CudaSupportError, SimulatorWarning, warn
from numbalite.runtime import contexts
from numbalite.runtime.attributes import NUMBERS, device_identity, device_number  # noqa: F401
from numbalite.runtime.contexts import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, SupportsIndex

    from numbalite.arguments import DeviceLike


def on_open(kind: str | None) -> None:
    """Called by C code: with None before the driver is opened, and with the driver's kind afterwards."""
    if kind is None:
        from numbalite.runtime import managers, memory

        _core.configure(config.driver(), config.SIM_DEVICES, config.DEVICE)
        _core.host_set_limit(memory.default_host_limit())
        managers.context_of = _device_context
        managers.read_environment()
        return
    atexit.register(_core.end)
    frontend.attach()
    _core.set_wait_limit(config.kernel_limit(_core.driver_has("checks")) or 0.0, True)
    if _core.driver_has("checks"):
        from numbalite.runtime import checks

        checks.on_open()
    if kind == "sim" and config.DRIVER != "sim":
        why = cuda_error() or _core.fallback_reason()
        reason = re.split(r" \(|: ", why or "no GPU can be used")[0]
        warn(
            f"{reason}: kernels run on the CPU simulator. Hide this message with NUMBALITE_DRIVER=sim. If there is a "
            "GPU, `numbalite info` prints what to do",
            SimulatorWarning,
        )


_core.set_open_hook(on_open)


def cuda_error() -> str | None:
    """Returns the reason why no GPU can be used.

    Returns
    -------
    str or None
        A sentence with the remedy, or None if there is a GPU.
    """
    if _simulator_counts():
        return None
    if config.DISABLE_CUDA:
        return "CUDA is disabled (NUMBALITE_DISABLE_CUDA)"
    return _core.probe()


def _current_driver_kind():
    """Returns the kind of the open driver, or of the driver that would be opened."""
    if _core.is_open():
        return _core.driver_kind()
    kind = config.driver()
    if kind == "auto":
        kind = "sim" if _core.probe() else "cuda"
    return kind


def is_simulated() -> bool:
    """Returns whether kernels run (or would run) on the CPU simulator.

    Returns
    -------
    bool
        True: kernels run on the simulator.

    Raises
    ------
    CudaSupportError
        A GPU is requested and there is none.

    Examples
    --------
    >>> cuda.is_simulated() in (True, False)
    True
    """
    return _current_driver_kind() == "sim"


simulator_is_available = False
"""Does a requested simulator count as available? For programs of numba, for which it does."""


def _simulator_counts():
    return simulator_is_available and config.driver() == "sim" and not config.DISABLE_CUDA


def is_available() -> bool:
    """Returns whether there is a GPU to run kernels on.

    This function never raises an exception. The result is True for a real GPU,
    if NVRTC is available to compile kernels. After
    `numbalite.install_as_numba`, the simulator also counts as a GPU if it was
    requested (NUMBALITE_DRIVER=sim, NUMBA_ENABLE_CUDASIM=1), as in numba.

    Returns
    -------
    bool
        True: there is a GPU.
    """
    try:
        from numbalite.compilers import toolkit

        if _simulator_counts():
            return True
        return (
            _current_driver_kind() == "cuda" and cuda_error() is None and bool(toolkit.libraries())
        )
    except Exception:
        return False


def is_supported_version() -> bool:
    """Returns whether numbalite works with the CUDA version.

    The version is that of the driver and of NVRTC; numbalite works with 12.0 or
    later.

    Returns
    -------
    bool
        True: numbalite works with this version.
    """
    try:
        from numbalite.compilers import toolkit

        if not is_available():
            return False
        if _simulator_counts():
            return True
        toolkit.nvrtc_library()
        return not _core.driver_has("host_code") and _core.driver_version() >= 12000
    except Exception:
        return False


class Device:
    """A device, from ``cuda.gpus`` or ``cuda.get_current_device()``.

    Every ``CU_DEVICE_ATTRIBUTE_...`` of the driver is an attribute without that prefix:
    ``device.MAX_THREADS_PER_BLOCK``.
    """

    def __init__(self, number: int) -> None:
        self.id = number

    @classmethod
    def from_identity(cls, identity: Any) -> Device:
        """Returns the device with an identity that `get_device_identity` returned."""
        for device in gpus:
            if device.get_device_identity() == identity:
                return device._device
        raise RuntimeError(f"no device has the identity {identity!r}")

    @property
    def name(self) -> str:
        return _core.device_name(self.id)

    @property
    def compute_capability(self) -> tuple:
        return self.COMPUTE_CAPABILITY_MAJOR, self.COMPUTE_CAPABILITY_MINOR

    @property
    def uuid(self) -> str:
        text = _core.device_uuid(self.id).hex()
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    @property
    def total_memory(self) -> int:
        return _core.device_total_memory(self.id)

    @property
    def pci_bus_id(self) -> str:
        return _core.device_pci_bus_id(self.id)

    @property
    def supports_float16(self) -> bool:
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self) -> bool:
        return self.compute_capability >= (8, 0)

    @property
    def supports_fp8(self) -> bool:
        return self.compute_capability >= (8, 9)

    @property
    def primary_context(self) -> Context:
        return _device_context(self.id)

    def get_primary_context(self) -> Context:
        return _device_context(self.id)

    def release_primary_context(self) -> None:
        """Has no effect, because contexts exist until the process ends. For compatibility with numba."""

    def get_device_identity(self) -> dict:
        return device_identity(self.id)

    def can_access_peer(self, other: Any) -> bool:
        """Returns whether kernels on this device can access the memory of another device."""
        return bool(_core.can_access_peer(self.id, int(getattr(other, "id", other))))

    def reset(self) -> None:
        """Resets the device: all of its memory is lost, including memory of other libraries in the process,
        which may then fail. `cuda.close()` does not affect other libraries.

        Raises RuntimeError while host arrays use the device's memory (managed or write-combined arrays; on
        the simulator also results of np.from_dlpack): reading them afterwards would crash.
        """
        contexts.reset_manager(self.id)
        _core.reset_device(self.id)

    def synchronize(self) -> None:
        """Waits for all work on the device."""
        _core.synchronize_device(self.id)

    def __getattr__(self, name: str) -> Any:
        number = None if name == "id" else NUMBERS.get(name.removeprefix("CU_DEVICE_ATTRIBUTE_"))
        if number is None:
            raise AttributeError(f"a device has no attribute {name!r}")
        value = _core.device_attribute(self.id, number)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *NUMBERS])

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name}'>"

    _repr_html_ = frontend.html_method("device")

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash((Device, self.id))

    def __reduce__(self) -> tuple[Any, ...]:
        return _device, (self.id,)


@functools.cache
def _device(number):
    return Device(number)


@functools.cache
def _device_context(number):
    return Context(_device(number))


class _ManagedDevice:
    """A device that is also a context manager, `with cuda.gpus[1]:`, which makes it current."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> _ManagedDevice:
        contexts.push(self._device.id)
        return self

    def __exit__(self, *exception: object) -> None:
        contexts.pop()

    def __getattr__(self, name: str) -> Any:
        if name == "_device":  # copy.copy reads attributes before it sets _device
            raise AttributeError(name)
        return getattr(self._device, name)

    def __reduce__(self):
        return type(self), (self._device,)

    def __eq__(self, other):
        return self._device == getattr(other, "_device", other)

    def __hash__(self):
        return hash(self._device)

    def __str__(self):
        return f"<Managed Device {self.id}>"

    __repr__ = __str__


class _DeviceList:
    """The list of devices, which opens the driver at its first use."""

    @property
    def lst(self) -> list[_ManagedDevice]:
        return [_ManagedDevice(_device(number)) for number in range(_core.device_count())]

    @property
    def current(self) -> _ManagedDevice:
        """The calling thread's device."""
        return self[_core.current_device()]

    def __len__(self) -> int:
        return _core.device_count()

    def __iter__(self) -> Iterator[_ManagedDevice]:
        return iter(self.lst)

    @overload
    def __getitem__(self, which: slice) -> list[_ManagedDevice]: ...
    @overload
    def __getitem__(self, which: SupportsIndex) -> _ManagedDevice: ...
    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return self.lst[which]
        number, count = int(which), _core.device_count()
        if not -count <= number < count:
            raise IndexError(f"there is no device {number}: {count} found")
        return _ManagedDevice(_device(number % count))

    def __str__(self):
        return "\n".join(f"{device}" for device in self)


gpus = _DeviceList()

default_is_chosen = False
"""Has `set_default_device` been called?"""


def list_devices() -> _DeviceList:
    """Returns ``cuda.gpus``, the list of devices, as in numba.

    Returns
    -------
    list-like
        The devices, ``cuda.gpus``.
    """
    return gpus


def select_device(device_id: int) -> Device:
    """Selects a device, by its number, for the calling thread.

    ``with cuda.gpus[n]:`` selects a device for a block.

    Parameters
    ----------
    device_id : int
        The device's number.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    ValueError
        There is no such device.

    Examples
    --------
    >>> cuda.select_device(0).id
    0
    """
    number = int(device_id)
    if not 0 <= number < _core.device_count():
        raise ValueError(f"there is no device {number}: {_core.device_count()} found")
    _core.select_device(number)
    return _device(number)


def set_default_device(device: DeviceLike) -> None:
    """Sets the default device of threads that select no device.

    The default applies to all current and future threads. Call this function
    in programs with one device per process, such as MPI programs. The plug-in
    numbalite.runtime.workers.DevicePerWorker sets the default device of each
    dask.distributed worker. The environment variable NUMBALITE_DEVICE sets the
    initial default.

    Parameters
    ----------
    device : int or Device
        The device, as a number or an object.

    Raises
    ------
    IndexError
        There is no such device.
    """
    global default_is_chosen
    _core.select_first_device(getattr(device, "id", device))  # type: ignore[arg-type]
    default_is_chosen = True


def get_current_device() -> Device:
    """Returns the calling thread's device, as an object.

    The device, with its name, compute capability, limits and memory.

    Returns
    -------
    Device
        The device.

    Examples
    --------
    >>> device = cuda.get_current_device()
    >>> device.MAX_THREADS_PER_BLOCK, device.WARP_SIZE
    (1024, 32)
    """
    return _device(_core.current_device())


def current_context(devnum: int | None = None) -> Context:
    """Returns the context of a device, or of the calling thread's device.

    Each device has one context, its primary one.

    Parameters
    ----------
    devnum : int
        The device's number; by default the calling thread's device.

    Returns
    -------
    Context
        The context.

    Raises
    ------
    IndexError
        There is no such device.

    Examples
    --------
    >>> free, total = cuda.current_context().get_memory_info()    # bytes
    >>> 0 < free <= total
    True
    """
    number = _core.current_device() if devnum is None else gpus[operator.index(devnum)].id
    return _device_context(number)


def is_float16_supported() -> bool:
    """Returns whether the current device supports half precision arithmetic.

    Returns
    -------
    bool
        True: the device supports half precision.
    """
    return get_current_device().supports_float16


def is_bfloat16_supported() -> bool:
    """Returns whether the current device supports bfloat16 arithmetic.

    Returns
    -------
    bool
        True: the device supports bfloat16.
    """
    return get_current_device().supports_bfloat16


def is_fp8_supported() -> bool:
    """Returns whether the current device supports 8-bit floating-point arithmetic.

    Returns
    -------
    bool
        True: the device supports 8-bit floats.
    """
    return get_current_device().supports_fp8


def require_context(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that restores the current context after each call.

    Parameters
    ----------
    fn : function
        The function to wrap.

    Returns
    -------
    function
        The wrapping function. A call of the wrapping function raises
        RuntimeError if ``fn`` changed the context.
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        before = _core.current_device()
        try:
            return fn(*args, **kwargs)
        finally:
            if _core.current_device() != before:
                _core.select_device(before)
                raise RuntimeError("Cannot switch CUDA-context.")

    return wrapper


def synchronize() -> None:
    """Waits for all work on the calling thread's device, in all streams.

    Raises
    ------
    KernelError, CudaAPIError
        A kernel failed.
    """
    _core.synchronize()


def close() -> None:
    """Waits for all devices and releases their contexts; the next use opens them again.

    Existing arrays, streams and modules become invalid, and raise an exception when used. If another library in the
    process (CuPy, PyTorch, ...) uses a device, its context and all objects in it stay valid, and only cached memory
    is freed. The devices also stay open while there are managed or write-combined arrays, whose memory NumPy
    accesses directly. `cuda.gpus[n].reset()` resets a device for all libraries. Other threads must not use
    the devices during the call:
    their calls may fail.
    """
    contexts.forget_order()
    if _core.is_open():
        for number in range(_core.device_count()):
            contexts.close(number)


# numba defines these functions in the module cudadrv.devices, which is also available as cuda.devices.
get_context = current_context
reset = close


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Defers deallocations of a memory plug-in in a `with` block.

    Plug-ins without deferred deallocation ignore the block. Memory of
    numbalite's own pool is freed in stream order, without waiting.

    Returns
    -------
    context manager
        ``with cuda.defer_cleanup(): ...``
    """
    with current_context().defer_cleanup():
        yield


def profile_start() -> None:
    """Starts recording in a profiler that waits for this call (``nsys -c cudaProfilerApi``)."""
    _core.profiler_start()


def profile_stop() -> None:
    """Stops recording in a profiler."""
    _core.profiler_stop()


@contextmanager
def profiling() -> Iterator[None]:
    """Calls `profile_start` and `profile_stop` around a `with` block.

    `profile_stop` is called after an exception, too.

    Returns
    -------
    context manager
        ``with cuda.profiling(): ...``

    Examples
    --------
    >>> with cuda.profiling():
    ...     cuda.synchronize()
    """
    profile_start()
    try:
        yield
    finally:
        profile_stop()


def detect() -> bool:
    """Prints the devices, and returns whether any of them can be used.

    ``python -m numbalite info`` also prints compilers and headers.

    Returns
    -------
    bool
        True: a device can be used.
    """
    try:
        devices = list(gpus)
    except CudaSupportError as problem:
        print(problem)
        return False
    print(f"Found {len(devices)} CUDA devices")
    supported = 0
    for device in devices:
        capability = device.compute_capability
        usable = capability >= (5, 0)
        supported += usable
        verdict = "[SUPPORTED]" if usable else "[NOT SUPPORTED: too old]"
        print(f"id {device.id}    {device.name:>20} {verdict:>40}")
        facts = (
            ("Compute Capability", f"{capability[0]}.{capability[1]}"),
            ("PCI Device ID", device.PCI_DEVICE_ID),
            ("PCI Bus ID", device.PCI_BUS_ID),
            ("UUID", device.uuid),
            ("Watchdog", "Enabled" if device.KERNEL_EXEC_TIMEOUT else "Disabled"),
            ("FP32/FP64 Performance Ratio", device.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
            ("FP16 Support", "Yes" if device.supports_float16 else "No"),
            ("BF16 Support", "Yes" if device.supports_bfloat16 else "No"),
            ("FP8 Support", "Yes" if device.supports_fp8 else "No"),
        )
        for label, fact in facts:
            print(f"{label:>40}: {fact}")
    print("Summary:")
    print(f"\t{supported}/{len(devices)} devices are supported")
    return supported > 0
