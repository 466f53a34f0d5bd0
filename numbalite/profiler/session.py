"""``with cuda.profile(gpu="H200") as p:``: counts the memory accesses of the calling thread's launches in the
block."""

from __future__ import annotations

import json
import os
from html import escape
from typing import TYPE_CHECKING

from numbalite import _core, config
from numbalite.errors import CudaSupportError
from numbalite.profiler import gpus, html, measured, pictures, resources, text
from numbalite.profiler.counters import KernelProfile, Launch
from numbalite.profiler.measured import MISSING, Measured, MeasuredKernel
from numbalite.runtime import checks

if TYPE_CHECKING:
    from typing import Any


class profile:
    """Counts memory accesses: ``with cuda.profile(gpu="H200") as p: ...``

    The profile contains the kernels that the calling thread launches. After the
    block, ``p.launches`` contains each launch, ``p.NAME`` or ``p["NAME"]`` all
    launches of a kernel, ``p.lines`` and ``p.line(12)`` the lines. Printing a
    profile shows a table of the source with counters. Only the simulator can
    count. On a GPU, launches have the attributes ``time`` (measured by events),
    ``registers``, ``local_bytes``, ``shared_bytes`` and ``occupancy``; other
    attributes raise an error that recommends a tool.

    A profiled launch is not checked, and a launch in a nested
    ``cuda.checks()`` block is not profiled.

    Parameters
    ----------
    gpu : str
        The GPU for which registers, occupancy and times are computed: "T4",
        "A100", "RTX 4090", "H100" (the default), "H200" or "B200".
    as_written : bool
        True: each access of the source is counted. False: if nvdisasm is
        installed, the machine code for the chosen GPU determines the accesses
        of a line and their width; without nvdisasm, each access of the source
        is counted.

    Raises
    ------
    ValueError
        There are no data for ``gpu``.
    TypeError
        ``gpu`` is not a string.

    Examples
    --------
    >>> @cuda.jit
    ... def every_other(x, out):
    ...     "out[threadIdx.x] = x[2 * threadIdx.x];"
    >>> with cuda.profile(gpu="H200") as p:
    ...     every_other[1, 32](np.ones(64, np.float32), np.ones(32, np.float32))
    >>> p.every_other.load_sectors_per_request
    8.0
    """

    def __init__(self, gpu: str | gpus.GPU | None = None, as_written: bool = False) -> None:
        self.gpu = gpus.find_gpu(gpu)
        self._as_written = as_written
        self.is_measured = False
        """Are the launches timed on a GPU, instead of being counted on the simulator?"""
        self._token = 0
        self._launches: list = []
        self._kernels: dict = {}

    def __enter__(self) -> profile:
        _core.open()
        self.is_measured = not _core.driver_has("checks")
        if self._token:
            raise RuntimeError("cuda.profile: this profile was entered already")
        self._token = _core.profile_open()
        if not self.is_measured:
            checks.push_checks(config.PROFILE, None, 0, 0, self._token)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not self.is_measured:
            checks.pop("cuda.profile")
        try:
            if not _core.capture_here():
                if error is None:
                    _core.synchronize_all()
                self._collect_launches()
        finally:
            _core.profile_close(self._token)
            self._token = 0

    def _collect_launches(self):
        while self._token and (record := _core.profile_take(self._token)) is not None:
            self._launches.append(self._launch_profile(record))

    def _launch_profile(self, record):
        if record[-1] is not None:
            return Measured(record, record[-1])
        return Launch(self.gpu, record, self._compiled_kernel(record), self._as_written)

    def _compiled_kernel(self, record):
        key = record[2], record[1]
        if key not in self._kernels:
            self._kernels[key] = resources.compiled_kernel(self.gpu, *key)
        return self._kernels[key]

    @property
    def launches(self) -> tuple:
        """All launches, in the order in which they ended; within the block, this waits for them."""
        if self._token and not _core.capture_here():
            _core.synchronize_all()
            self._collect_launches()
        return tuple(self._launches)

    @property
    def kernels(self) -> dict:
        """A dict from a kernel's name to its KernelProfile, in the order of the first launches."""
        found: dict = {}
        for launch in self.launches:
            found.setdefault(launch.kernel, []).append(launch)
        kind = MeasuredKernel if self.is_measured else KernelProfile
        return {name: kind(name, launches) for name, launches in found.items()}

    def __getitem__(self, name: str) -> KernelProfile:
        kernels = self.kernels
        if f"{name}_" in kernels:  # a name that is a keyword of C++
            name = kernels.get(name, kernels[f"{name}_"]).name
        if name not in kernels:
            names = ", ".join(kernels) or "none"
            raise KeyError(f"no kernel {name!r} was launched in the block; launched were: {names}")
        return kernels[name]

    def __getattr__(self, name: str) -> KernelProfile:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as problem:
            raise AttributeError(problem.args[0]) from None

    def __dir__(self) -> list:
        return [*super().__dir__(), *filter(str.isidentifier, self.kernels)]

    def _all_launches(self):
        if self.is_measured:
            raise CudaSupportError(f"cuda.profile: {MISSING}")
        return KernelProfile("all kernels", self.launches)

    @property
    def lines(self) -> tuple:
        """The lines of all kernels."""
        return self._all_launches().lines

    def line(self, number: int, file: str | None = None) -> Any:
        """Returns one line, with the counters of all kernels."""
        return self._all_launches().line(number, file)

    @property
    def advice(self) -> tuple:
        """Advice: sentences with a line and a change."""
        return self._all_launches().advice

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        kernels = [kernel.as_dict() for kernel in self.kernels.values()]
        if self.is_measured:
            return {"not measured": MISSING, "kernels": kernels}
        return {"gpu": self.gpu.name, "counters": self.counters_are, "kernels": kernels}

    @property
    def counters_are(self) -> str:
        """ "as compiled" if the machine code determines the accesses of all launches, otherwise "as
        written"."""
        launches = self.launches
        is_compiled = launches and all(not launch.written_because for launch in launches)
        return "as compiled" if is_compiled else "as written"

    @property
    def roofline(self) -> pictures.Picture:
        """A plot of the operations per second of each kernel against operations per byte, and the GPU's
        limits."""
        if self.is_measured:
            raise CudaSupportError(f"cuda.profile: {MISSING}")
        if not self.launches:
            raise LookupError("no kernel was launched in the block")
        return pictures.roofline_plot(list(self.launches))

    def save(self, path: Any) -> None:
        """Writes a page with all tables and pictures (name.html), or all numbers (name.json)."""
        name = os.fspath(path)
        if not name.endswith((".html", ".json")):
            raise ValueError(f"the file name must end with .html or .json, not {name!r}")
        page = self._repr_html_() if self.is_measured else html.html_page(self)
        whole = page if name.endswith(".html") else json.dumps(self.as_dict(), indent=2)
        with open(name, "w", encoding="utf-8") as file:
            file.write(whole)

    def __repr__(self) -> str:
        return measured.measured_text(self.kernels) if self.is_measured else text.profile_text(self)

    def _repr_html_(self) -> str:
        if self.is_measured:
            return f"<pre>{escape(repr(self))}</pre>"
        return html.profile_html(self)
