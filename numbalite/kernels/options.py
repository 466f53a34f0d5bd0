"""Checks the options of cuda.jit and cuda.module, and converts them for compilation."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, NamedTuple

from numbalite import config
from numbalite.compilers import files
from numbalite.compilers.linking import SUFFIXES, LinkedBinary
from numbalite.cxx.linemap import Text, consecutive_text
from numbalite.errors import DeprecationError, InvalidConfigWarning, warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal, SupportsIndex, TypedDict

    class KernelOptions(TypedDict, total=False):
        """The options as keyword arguments, without `device`."""

        inline: Literal["always", "never"] | bool | None
        forceinline: bool
        link: Any
        debug: bool | None
        opt: bool | int | None
        lineinfo: bool
        cache: bool
        launch_bounds: SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex] | None
        lto: Any
        shared_memory_carveout: str | SupportsIndex | None
        fastmath: Any
        max_registers: SupportsIndex | None
        extensions: Iterable[Any] | None
        options: Iterable[str | os.PathLike[str]] | None
        std: str | int | None
        cooperative: bool | None
        cluster: SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex] | None
        headers: Mapping[str, str] | None
        boundscheck: bool | None
        stoppable: bool | None
        doc: str | None


_CARVEOUTS = {"default": -1, "maxl1": 0, "maxshared": 100}
_SOURCES = (".cu", ".cuh", ".h", ".hpp", ".hxx", ".inl", ".c", ".cc", ".cpp", ".cxx")


class Options(NamedTuple):
    """All options of a kernel. Options of numba have numba's names and meanings."""

    device: bool = False
    inline: object = "never"
    forceinline: bool = False
    link: tuple = ()
    """C++ sources to compile before the kernel's, as linemap.Texts."""
    debug: bool = False
    boundscheck: bool = False
    opt: object = True
    lineinfo: bool = False
    cache: bool = True
    launch_bounds: tuple = ()
    lto: object = None
    shared_memory_carveout: int | None = None
    fastmath: bool = False
    max_registers: int | None = None
    extensions: tuple = ()
    options: tuple = ()
    std: str = "c++17"
    cooperative: bool | None = None
    cluster: tuple | None = None
    headers: tuple = ()
    linked: tuple = ()
    """The compiled code among the values of `link`, as linking.LinkedBinary."""
    doc: str | None = None
    stoppable: bool = False

    def source_fields(self) -> dict:
        """Returns the options that are fields of a compilers.Source, as a dict."""
        return {
            "options": self.options, "std": self.std, "headers": self.headers,
            "fastmath": self.fastmath, "debug": self.debug, "lineinfo": self.lineinfo,
            "opt": self.opt, "max_registers": self.max_registers, "boundscheck": self.boundscheck,
            "linked": self.linked, "stoppable": self.stoppable,
        }  # fmt: skip

    def replace(self, **changes) -> Options:
        return self._replace(**changes)

    @property
    def has_checks(self):
        return self.debug or self.boundscheck


def parse_options(given: dict, what: str = "cuda.jit") -> Options:
    """Returns options from keyword arguments. An invalid option raises TypeError or ValueError."""
    allowed = tuple(_PARSERS)
    for name in given:
        if name in ("argtypes", "restype", "bind"):
            raise DeprecationError(
                f"{what}: {name}= is no longer supported; pass a signature instead"
            )
        if name not in allowed:
            raise TypeError(f"{what}() has no option {name!r}{_suggest_option(name, allowed)}")
    values = {name: _PARSERS[name](name, value) for name, value in given.items()}
    _default_options(values, given)
    pieces = values.get("link", ())
    values["link"] = tuple(piece for piece in pieces if isinstance(piece, Text))
    values["linked"] = tuple(piece for piece in pieces if not isinstance(piece, Text))
    options = Options(**values)
    _check_combination(options, given)
    return options


def changed_options(options: Options, given: dict) -> Options:
    """Returns a copy of options with other values, which are checked like those of cuda.jit."""
    return options.replace(**{name: _PARSERS[name](name, value) for name, value in given.items()})


def check_names(what, given, allowed):
    """Raises TypeError if an option of `what` does not exist."""
    for name in given:
        if name not in allowed:
            import difflib

            near = difflib.get_close_matches(name, allowed, 1, 0.6)
            guess = f"did you mean {near[0]}=? " if near else ""
            raise TypeError(
                f"{what}() has no option {name!r}; {guess}it has {', '.join(sorted(allowed))}"
            )


def _suggest_option(name, allowed):
    import difflib

    aliases = {"maxrregcount": "max_registers", "sharedmem": "shared_memory_carveout",
               "include_dirs": "options", "code": "source", "cluster_dims": "cluster"}  # fmt: skip
    near = difflib.get_close_matches(name, allowed, 1, 0.5)
    guess = aliases.get(name) or (near and near[0])
    return f"; did you mean {guess}=?" if guess else f"; it has {', '.join(sorted(allowed))}"


def _default_options(values, given):
    if given.get("debug") is None and given.get("boundscheck") is None:
        values["debug"] = bool(config.CUDA_DEBUGINFO)
    if given.get("opt") is None:
        level = config.OPT
        values["opt"] = True if level is None else level
    if given.get("stoppable") is None:
        values["stoppable"] = bool(config.STOPPABLE or values.get("debug"))
    if values.get("inline") == "always":
        values["forceinline"] = True


def _check_combination(options, given):
    if options.debug and options.lineinfo:
        warn(
            "debug and lineinfo are mutually exclusive: debug=True includes what lineinfo=True would add",
            InvalidConfigWarning,
        )
    if options.debug and given.get("opt"):
        warn(
            "debug=True with opt=True is not supported by CUDA: debugged kernels are not optimised",
            InvalidConfigWarning,
        )
    if options.device and (options.launch_bounds or options.cooperative or options.cluster):
        raise TypeError(
            "launch_bounds, cooperative and cluster are options of kernels, not of device functions"
        )


# --- option -> parser of its value -----------------------------------------------------------------


def _parse_flag(name, value):
    if value is None:
        return False
    if not isinstance(value, (bool, int)) and type(value).__name__ != "bool":
        raise TypeError(f"{name} is True or False, not {value!r}")
    return bool(value)


def _parse_fastmath(name, value):
    if isinstance(value, (set, frozenset, dict, list, tuple)):  # numba: LLVM's flags
        return bool(value)
    return _parse_flag(name, value)


def _parse_inline(name, value):
    if value not in ("always", "never", True, False) and not callable(value):
        raise ValueError(f"inline is 'always' or 'never', not {value!r}")
    return "always" if value in ("always", True) else "never"


def _parse_opt(name, value):
    if value is None or isinstance(value, bool):
        return True if value is None else value
    if isinstance(value, int) and 0 <= value <= 3:
        return value
    raise ValueError(f"opt is True, False or 0 to 3, not {value!r}")


def _parse_launch_bounds(name, value):
    if value is None:
        return ()
    bounds = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(bounds) > 3:
        raise ValueError(
            f"Got {len(bounds)} launch bounds: they are the maximum threads per block, the minimum blocks per multiprocessor and the maximum blocks per cluster, not {value!r}"
        )
    if not bounds or any(not hasattr(b, "__index__") or isinstance(b, bool) for b in bounds):
        raise TypeError(
            f"launch_bounds is the maximum threads per block, or (threads, minimum blocks per multiprocessor, maximum blocks per cluster), not {value!r}"
        )
    bounds = tuple(operator.index(b) for b in bounds)
    if any(b < 1 for b in bounds):
        raise ValueError(f"launch_bounds are at least 1, not {value!r}")
    return bounds


def _parse_carveout(name, value):
    if value is None:
        return None
    if isinstance(value, str):
        if value.lower() not in _CARVEOUTS:
            raise ValueError(
                f"Invalid carveout value: {name} is 'default', 'MaxL1', 'MaxShared' or -1 to 100, not "
                f"{value!r}"
            )
        return _CARVEOUTS[value.lower()]
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is text or an integer, not {value!r}")
    if not -1 <= operator.index(value) <= 100:
        raise ValueError(
            f"{name} must be between -1 and 100: percent, or -1 for the default, not {value!r}"
        )
    return operator.index(value)


def _parse_max_registers(name, value):
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an integer, not {value!r}")
    if not 1 <= operator.index(value) <= 255:
        raise ValueError(f"{name} is 1 to 255, not {value!r}")
    return operator.index(value)


def _parse_strings(name, value):
    if value is None:
        return ()
    if isinstance(value, str):
        raise TypeError(f"{name} is a list of texts: [{value!r}]")
    values = tuple(os.fspath(v) if isinstance(v, os.PathLike) else v for v in value)
    for v in values:
        if not isinstance(v, str):
            raise TypeError(f"{name} is a list of texts, with {v!r} in it")
    return values


def _parse_std(name, value):
    if value is None:
        return "c++17"
    text = f"c++{value}" if isinstance(value, int) else value
    if not isinstance(text, str) or not text.startswith(("c++", "gnu++")):
        raise ValueError(f"std is for example 'c++17' or 'c++20', not {value!r}")
    return text


def _parse_cooperative(name, value):
    return None if value is None else _parse_flag(name, value)


def _parse_cluster(name, value):
    if value is None:
        return None
    dims = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(dims) <= 3 or any(
        isinstance(d, bool) or not hasattr(d, "__index__") for d in dims
    ):
        raise TypeError(f"cluster is an integer or a tuple of 1 to 3, not {value!r}")
    dims = tuple(operator.index(d) for d in dims)
    if any(d < 1 for d in dims):
        raise ValueError(f"cluster sizes are at least 1, not {value!r}")
    return dims + (1,) * (3 - len(dims))


def _parse_headers(name, value):
    if value is None:
        return ()
    if not hasattr(value, "items"):
        raise TypeError(f"headers is a dict from name to text, not {value!r}")
    for key, text in value.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"headers is a dict from name to text, with {key!r}: {text!r} in it")
        parts = key.split("/")
        is_long = any(len(os.fsencode(part)) > 255 for part in parts)
        if not key.strip() or "\0" in key or (parts[-1] in ("", ".") and key != ".") or is_long:
            raise ValueError(f"headers: {key!r} is not the name of a file")
        if os.path.isabs(key) or os.path.normpath(key).split(os.sep)[0] in ("..", "."):
            raise ValueError(
                f"headers: the name {key!r} is outside of the folder of headers; write it as in the "
                'source\'s #include, such as "mine.h" or "parts/mine.h"'
            )
    return tuple(value.items())


def check_extension(extension):
    if not hasattr(extension, "prepare_args"):
        raise TypeError(f"an extension has a method prepare_args; {extension!r} has none")


def _parse_extensions(name, value):
    extensions = tuple(value or ())
    for extension in extensions:
        check_extension(extension)
    return extensions


# Classes of linkable code in numba, recognized by name, because other packages define such classes.
_CLASSES = {"PTXSource": "ptx", "Cubin": "cubin", "Fatbin": "fatbin", "Archive": "archive",
            "Object": "object", "LTOIR": "ltoir"}  # fmt: skip


def _parse_doc(name, value):
    if value is not None and not isinstance(value, str):
        raise TypeError(f"doc is the text of __doc__, not {value!r}")
    return value


def _parse_link(name, value):
    """Returns a Text for each source, and a linking.LinkedBinary for compiled code."""
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=lambda item: str(getattr(item, "name", item)))
    elif isinstance(value, (Text, LinkedBinary)) or not isinstance(value, (list, tuple)):
        value = (value,) if value else ()
    return tuple(map(_as_linked_code, value))


def _as_linked_code(item):
    if isinstance(item, (Text, LinkedBinary)):
        return item
    data, kind = getattr(item, "data", None), type(item).__name__
    if data is None:
        path = os.fspath(item)
        if path.endswith(_SOURCES):
            return consecutive_text(files.read_text(path), path)
        kind = SUFFIXES.get(os.path.splitext(path)[1])
        if kind is None:
            raise ValueError(
                f"link={path}: the suffix is unknown; supported are {', '.join(_SOURCES)}, "
                f"{', '.join(SUFFIXES)}"
            )
        return LinkedBinary(kind, path, files.read_bytes(path))
    if kind == "CUSource":
        text = data.decode() if isinstance(data, bytes) else data
        return consecutive_text(text, getattr(item, "name", None) or "<linked source>")
    if kind not in _CLASSES:
        raise TypeError(f"link= takes paths, CUSource, {', '.join(_CLASSES)}, not {kind}")
    data = data.encode() if isinstance(data, str) else bytes(data)
    return LinkedBinary(_CLASSES[kind], getattr(item, "name", None) or f"<linked {kind}>", data)


_PARSERS = {
    "device": _parse_flag, "inline": _parse_inline, "forceinline": _parse_flag, "link": _parse_link, "debug": _parse_flag,
    "opt": _parse_opt, "lineinfo": _parse_flag, "cache": _parse_flag, "launch_bounds": _parse_launch_bounds,
    "lto": lambda name, value: value, "shared_memory_carveout": _parse_carveout, "fastmath": _parse_fastmath,
    "max_registers": _parse_max_registers, "extensions": _parse_extensions, "options": _parse_strings, "std": _parse_std,
    "doc": _parse_doc, "cooperative": _parse_cooperative, "cluster": _parse_cluster, "headers": _parse_headers, "boundscheck": _parse_flag,
    "stoppable": _parse_flag,
}  # fmt: skip
