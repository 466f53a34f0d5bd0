"""Lists every environment variable that numbalite reads, in one table.

``config.NAME`` reads NUMBALITE_NAME, then the equivalent numba variable, at each access: no variable is read
at import, so a program may set os.environ until the value is needed. Assigning to ``config.NAME`` overrides
the environment, as users of numba do. The assigned value is text, as in the environment, or the converted
value. ``del config.NAME`` restores the value of the environment. An invalid value raises ValueError with the
variable and the valid values.
"""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from numbalite.errors import CudaSupportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal


def _parse_boolean(text):
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("1 or 0")


def _integer_parser(low, high=None):
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise ValueError(f"an integer from {low}" + (f" to {high}" if high else " up"))
        return value

    return parse


def _choice_parser(*choices):
    def parse(text):
        value = text.strip().lower()
        if value not in choices:
            raise ValueError(" or ".join(choices))
        return value

    return parse


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _parse_size_in_bytes(text):
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in _UNITS and digits else ""
    try:
        value = int(float(digits.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        value = -1
    if value < 0:
        raise ValueError("a number of bytes, such as 500M or 2G")
    return value


def _parse_schedule(text):
    text = text.strip()
    if not re.fullmatch(r"(.+@(\d+:\d+\.\d+)(,\d+:\d+\.\d+){0,3})?", text):
        raise ValueError("a schedule as a KernelError names it, such as kernel@5:0.3")
    return text


def _parse_capability(text):
    major, _, minor = text.strip().replace(",", ".").partition(".")
    if not (major.isdecimal() and minor.isdecimal() and len(minor) == 1):
        raise ValueError("a compute capability, such as 9.0")
    return int(major), int(minor)


def _parse_paths(text):
    return tuple(part for part in text.split(os.pathsep) if part)


def _parse_optimization_level(text):
    if text.strip().lower() == "max":
        return 3
    return _integer_parser(0, 3)(text)


# Bits of the checks, as in cext/driver/checks.h.
CHECKS = {
    "memory": 1,
    "unwritten": 2,
    "race": 4,
    "sync": 8,
    "hang": 16,
    "divide": 32,
    "nan": 64,
    "stack": 128,
    "stream": 256,
    "overflow": 512,
}
ALL_CHECKS = sum(CHECKS.values()) - CHECKS["nan"]
"""The checks of "all": NaN and infinity are often intended, so their check must be enabled explicitly."""
PROFILE = 1024
"""Not a check: launches count their memory accesses (numbalite.profiler)."""
NO_CHECKS = 1 << 30
"""Disables all checks, also those of debug=True."""


def parse_checks(text: str) -> int:
    """Returns the bit mask for a list of names, such as "memory,race", "all", "none"; raises ValueError for
    unknown names."""
    mask = 0
    if text.strip().lower() == "none":
        return NO_CHECKS
    for name in text.replace(" ", ",").split(","):
        lowered = name.strip().lower()
        if lowered == "all":
            mask |= ALL_CHECKS
        elif lowered in CHECKS:
            mask |= CHECKS[lowered]
        elif lowered not in ("none", ""):
            known = ", ".join(CHECKS)
            raise ValueError(f"all, none, or a list of {known}")
    return mask


def check_names(mask: int) -> tuple:
    """Returns the names of the checks in a mask, and "profile"."""
    return tuple(name for name, bit in {**CHECKS, "profile": PROFILE}.items() if mask & bit)


def _parse_seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError("a number of seconds, 0 for no limit")
    return value


class Variable:
    """One row. An alias is the name of another environment variable with the same meaning, or
    (name, parse)."""

    __slots__ = ("aliases", "default", "doc", "name", "parse")

    def __init__(
        self, name: str, default: Any, parse: Callable[[str], Any], doc: str, aliases: Any = ()
    ) -> None:
        self.name = name
        self.default = default
        self.parse = parse
        self.doc = doc
        self.aliases = aliases


def _is_sim(text):
    # NUMBA_ENABLE_CUDASIM=0 has no effect.
    return "sim" if _parse_boolean(text) else None


def _in_numbalite_folder(text):
    return os.path.join(text, "numbalite")


_TABLE = (
    Variable("DRIVER", "auto", _choice_parser("auto", "cuda", "sim"),
             "cuda: the GPU; sim: the CPU simulator; auto: the GPU where there is one",
             (("NUMBA_ENABLE_CUDASIM", _is_sim),)),
    Variable("DISABLE_CUDA", False, _parse_boolean, "behave as if there were no GPU", ("NUMBA_DISABLE_CUDA",)),
    Variable("SIM_DEVICES", 1, _integer_parser(1, 64), "how many devices the simulator has"),
    Variable("DEVICE", 0, _integer_parser(0, 63), "the device that threads begin with, of those that are seen"),
    Variable("NUM_THREADS", None, _integer_parser(1, 4096), "threads for the simulator and the CPU targets",
             ("NUMBA_NUM_THREADS",)),
    Variable("SIM_CHECKS", 0, parse_checks,
             "mistakes that the simulator looks for in all kernels: all, none, or a list of memory, "
             "unwritten, race, sync, hang, divide, nan, stack, stream, overflow"),
    Variable("SIM_SEED", None, _integer_parser(0),
             "run the blocks and threads of kernels in the order that this number gives"),
    Variable("SIM_SCHEDULE", None, _parse_schedule,
             "run this schedule of a kernel under cuda.checks(\"race\", exact=True), as a KernelError "
             "names it"),
    Variable("SIM_LIMIT", None, _parse_seconds,
             "NUMBALITE_LIMIT for the simulator alone, where kernels are stopped, checked or not"),
    Variable("COVERAGE", None, str, "a folder for the coverage of kernels on the simulator"),
    Variable("COVERAGE_OF_NUMBALITE", False, _parse_boolean, "also record numbalite's own CUDA C++ files"),
    Variable("CXX", None, str, "the host C++ compiler"),
    Variable("NVRTC", None, str, "the NVRTC library (libnvrtc.so) to use"),
    Variable("INCLUDE_PATH", (), _parse_paths, "more directories of headers for kernels",
             ("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", "NUMBA_CUDA_INCLUDE_PATH")),
    Variable("CACHE_DIR", None, str, "where compiled kernels are kept",
             (("NUMBA_CACHE_DIR", _in_numbalite_folder),)),
    Variable("CACHE_SIZE", 1 << 30, _parse_size_in_bytes, "how much the cache may hold; what was used least goes"),
    Variable("DISABLE_CACHE", False, _parse_boolean, "keep nothing, compile in each process"),
    Variable("FORCE_CUDA_CC", None, _parse_capability, "compile for this compute capability",
             ("NUMBA_FORCE_CUDA_CC",)),
    Variable("CUDA_WARN_ON_IMPLICIT_COPY", True, _parse_boolean, "warn when a kernel copies a host array, or a library a device array",
             ("NUMBA_CUDA_WARN_ON_IMPLICIT_COPY",)),
    Variable("IMPLICIT_COPY", "warn", _choice_parser("warn", "error", "allow"),
             "what happens when a library converts a device array to a NumPy array"),
    Variable("CUDA_LOW_OCCUPANCY_WARNINGS", False, _parse_boolean,
             "warn of a kernel whose grid has fewer than 128 blocks; in numba that is the default",
             ("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS",)),
    Variable("DISABLE_JIT", False, _parse_boolean,
             "Python functions that jit would compile for the CPU stay as they are, for a debugger",
             ("NUMBA_DISABLE_JIT",)),
    Variable("DISABLE_PERFORMANCE_WARNINGS", False, _parse_boolean, "no performance warnings at all",
             ("NUMBA_DISABLE_PERFORMANCE_WARNINGS",)),
    Variable("CUDA_ARRAY_INTERFACE_SYNC", True, _parse_boolean,
             "wait for the stream of a foreign array before using it",
             ("NUMBA_CUDA_ARRAY_INTERFACE_SYNC",)),
    Variable("PINNED_LIMIT", None, _parse_size_in_bytes,
             "bytes of page-locked memory for results on the host; what is kept of it for later"),
    Variable("CUDA_MEMORY_MANAGER", "default", str,
             "torch, cupy or rmm: allocate device memory from that library's pool; or the module of a plug-in",
             ("NUMBA_CUDA_MEMORY_MANAGER",)),
    Variable("CUDA_DEBUGINFO", False, _parse_boolean, "debug=True for every kernel that does not say",
             ("NUMBA_CUDA_DEBUGINFO",)),
    Variable("NOTEBOOK_HINT", True, _parse_boolean,
             "the first cell that imports numbalite in a notebook mentions `%load_ext numbalite`"),
    Variable("NOTEBOOK_PROGRESS", True, _parse_boolean,
             "a line in a notebook while kernels run longer than two seconds"),
    Variable("PROGRAM", None, str,
             "what `numbalite run` runs; it sets this, for the processes that the program starts"),
    Variable("STOPPABLE", False, _parse_boolean,
             "stoppable=True for every kernel that does not say; `%load_ext numbalite` sets it, unless it is 0"),
    Variable("LIMIT", None, _parse_seconds,
             "seconds after which a wait for kernels ends with KernelTimeout, and kernels that can be stopped are "
             "stopped; 0: never (else checked ones on the simulator after 60)"),
    Variable("OPT", None, _parse_optimization_level, "opt= for every kernel that does not say", ("NUMBA_OPT",)),
    Variable("CPU_OPT", None, _parse_optimization_level,
             "optimization level of code for the CPU without opt=, simulated kernels included: 0 compiles "
             "in half the time, for test suites (else 2, and 3 for the CPU targets)"),
)  # fmt: skip

# Variables of the system and the toolkit that numbalite also reads, with their purpose.
OUTSIDE = {
    "CUDA_PATH": "the folder of a CUDA toolkit",
    "CUDA_HOME": "the folder of a CUDA toolkit",
    "CONDA_PREFIX": "the conda environment, which may hold a toolkit",
    "LD_LIBRARY_PATH": "folders that may hold NVRTC",
    "XDG_CACHE_HOME": "the folder that holds the cache",
    "HOME": "the folder that holds zig's cache",
    "ZIG_GLOBAL_CACHE_DIR": "zig's cache",
    "PATH": "where the host compiler is looked for",
    "CXX": "the host compiler, if NUMBALITE_CXX does not say",
    "CUDA_VISIBLE_DEVICES": "read by the driver",
}

VARIABLES = {row.name: row for row in _TABLE}
"""The rows of the table, by variable name."""


def _parse_variable(name, parse, text):
    try:
        return parse(text)
    except ValueError as problem:
        raise ValueError(f"{name}={text!r}: expected {problem}") from None


def _read_variable(row):
    own = "NUMBALITE_" + row.name
    text = os.environ.get(own)
    if text is not None and (text or row.parse is _parse_boolean):
        return _parse_variable(own, row.parse, text)
    for alias in row.aliases:
        name, parse = (alias, row.parse) if isinstance(alias, str) else alias
        text = os.environ.get(name)
        if text:
            value = _parse_variable(name, parse, text)
            if value is not None:
                return value
    return row.default


OF_NUMBA = frozenset(
    """ALWAYS_WARN_UNINIT_VAR ANNOTATE BOUNDSCHECK CACHE_LOCATOR_CLASSES CAPTURED_ERRORS CHROME_TRACE
    COLOR_SCHEME CPU_FEATURES CPU_NAME CUDA_DEALLOCS_COUNT CUDA_DEALLOCS_RATIO CUDA_DEBUG_POISON
    CUDA_DEFAULT_PTX_CC CUDA_DRIVER CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY CUDA_ENABLE_NRT
    CUDA_ENABLE_PYNVJITLINK CUDA_LOG_API_ARGS CUDA_LOG_LEVEL CUDA_LOG_SIZE CUDA_NRT_STATS
    CUDA_PER_THREAD_DEFAULT_STREAM CUDA_USE_NVIDIA_BINDING CUDA_VERBOSE_JIT_LOG DEBUG DEBUGINFO_DEFAULT
    DEBUG_ARRAY_OPT DEBUG_ARRAY_OPT_RUNTIME DEBUG_ARRAY_OPT_STATS DEBUG_CACHE DEBUG_FRONTEND
    DEBUG_INLINE_CLOSURE DEBUG_JIT DEBUG_NRT DEBUG_NRT_STACK_LIMIT DEBUG_PRINT_AFTER DEBUG_PRINT_BEFORE
    DEBUG_PRINT_WRAP DEBUG_TYPEINFER DEVELOPER_MODE DIFF_IR DISABLE_ERROR_MESSAGE_HIGHLIGHTING
    DISABLE_INTEL_SVML DISABLE_TYPEINFER_FAIL_CACHE DUMP_ANNOTATION DUMP_ASSEMBLY DUMP_BYTECODE DUMP_CFG
    DUMP_FUNC_OPT DUMP_IR DUMP_LLVM DUMP_OPTIMIZED DUMP_SSA EMBED_SOURCE_IN_COREDUMP ENABLE_AVX
    ENABLE_PROFILING ENABLE_SYS_MONITORING EXTEND_VARIABLE_LIFETIMES FULL_TRACEBACKS FUNCTION_CACHE_SIZE
    GDB_BINARY HIGHLIGHT_DUMPS HTML JIT_COVERAGE LLVM_PASS_TIMINGS LLVM_REFPRUNE_FLAGS LLVM_REFPRUNE_PASS
    LOOP_VECTORIZE NRT_STATS OPT_LEVEL PARALLEL_DIAGNOSTICS PARFOR_MAX_TUPLE_SIZE SHOW_HELP SLP_VECTORIZE
    THREADING_LAYER THREADING_LAYER_PRIORITY TRACE USE_LLVMLITE_MEMORY_MANAGER VERBOSE WARNINGS""".split()
)
"""Variables of numba's config about what numbalite has not: they may be assigned, which changes nothing."""


_NUMBAS = {
    alias.removeprefix("NUMBA_"): row.name
    for row in _TABLE
    for alias in row.aliases
    if isinstance(alias, str)
} | {"CUDA_DEBUGINFO_DEFAULT": "CUDA_DEBUGINFO", "NUMBA_NUM_THREADS": "NUM_THREADS"}
"""numba's name of a variable -> ours."""


def __getattr__(name: str) -> Any:
    if name == "ENABLE_CUDASIM":  # numba's word for it
        return _current_value("DRIVER") == "sim"
    if name == "NUMBA_DEFAULT_NUM_THREADS":
        return processors()
    if (
        name == "NUMBA_NUM_THREADS"
    ):  # in numba, this attribute is a number even if the variable is not set
        return _current_value("NUM_THREADS") or processors()
    if _NUMBAS.get(name, name) != name:
        return _current_value(_NUMBAS[name])
    if name in OF_NUMBA:
        return 0
    row = VARIABLES.get(name)
    if row is None:
        raise AttributeError(f"numbalite.config has no {name!r}")
    return _read_variable(row)


# --- assignments

_SEPARATORS = {_parse_paths: os.pathsep, _parse_capability: ".", parse_checks: ","}


def _text_of_value(row, value):
    """Returns a value converted as if from the environment; raises ValueError for invalid values."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)) and row.parse in _SEPARATORS:
        return _SEPARATORS[row.parse].join(map(str, value))
    if row.parse is str or isinstance(value, (bytes, tuple, list, dict)) or value is None:
        raise ValueError("text")
    if row.parse is _parse_boolean and (value is True or value is False):
        return str(int(value))
    if row.parse is parse_checks and isinstance(value, int):
        texts = ("none", ",".join(check_names(value)))
        texts = [text for text in texts if parse_checks(text) == value]
        return texts[0] if texts else str(value)
    return str(value)


def _check_assigned(row, value):
    if value is None and row.default is None:
        return None
    try:
        return row.parse(_text_of_value(row, value))
    except ValueError as problem:
        raise ValueError(f"config.{row.name} = {value!r}: expected {problem}") from None


class _Config(ModuleType):
    """The class of this module; an assignment to a variable of the module checks the value."""

    def __setattr__(self, name, value):
        if name == "ENABLE_CUDASIM":  # numba's word for it
            chosen = _check_assigned(Variable(name, False, _parse_boolean, ""), value)
            name, value = "DRIVER", "sim" if chosen else "auto"
        name = _NUMBAS.get(name, name)
        row = VARIABLES.get(name)
        if row is not None:
            value = _check_assigned(row, value)
        elif name not in self.__dict__ and not name.startswith("__") and name not in OF_NUMBA:
            import difflib

            near = difflib.get_close_matches(name, VARIABLES, 1, 0.6)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(f"numbalite.config has no {name!r}{guess}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config


def _current_value(name):
    """Returns the value for users of the module, including assignments."""
    return globals()[name] if name in globals() else _read_variable(VARIABLES[name])


def kernel_limit(is_simulated: bool) -> float | None:
    """Returns the maximum run time in seconds of kernels of this process: 0 for no limit, None if no variable
    is set."""
    limit: float | None = _current_value("SIM_LIMIT") if is_simulated else None
    return _current_value("LIMIT") if limit is None else limit


def is_default(name: str) -> bool:
    """Returns whether a variable of the table is neither assigned nor set in the environment."""
    row = VARIABLES[name]
    names = ["NUMBALITE_" + name, *(alias for alias in row.aliases if isinstance(alias, str))]
    return name not in globals() and not any(other in os.environ for other in names)


def read_external(name: str) -> Any:
    """Returns the value of a variable in the table OUTSIDE, or None if the variable is not set or empty."""
    if name not in OUTSIDE:
        raise KeyError(name)
    return os.environ.get(name) or None


def processors() -> int:
    """Returns the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def set_for_child_processes(name: str, value: str) -> None:
    """Sets a variable of the table for child processes."""
    os.environ["NUMBALITE_" + VARIABLES[name].name] = value


def driver() -> Literal["auto", "cuda", "sim"]:
    """Returns the type of driver to open: "auto", "cuda" or "sim"."""
    kind = _current_value("DRIVER")
    if _current_value("DISABLE_CUDA"):
        if kind == "cuda":
            raise CudaSupportError("CUDA is both requested (NUMBALITE_DRIVER=cuda) and disabled")
        return "sim"
    return kind


def describe() -> list[Any]:
    """Returns (variable, text) for the variables set in the environment, for `python -m numbalite info`."""
    names = []
    for row in _TABLE:
        names.append("NUMBALITE_" + row.name)
        names += [alias if isinstance(alias, str) else alias[0] for alias in row.aliases]
    names += ["CUDA_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"]
    return [(name, os.environ[name]) for name in names if name in os.environ]


def __dir__() -> list[str]:
    return sorted([*VARIABLES, "ENABLE_CUDASIM", "VARIABLES", "describe", "driver", "outside"])
