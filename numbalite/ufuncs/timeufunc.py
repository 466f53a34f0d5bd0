"""Implements ufuncs of dates and times. NumPy describes the types of a ufunc's loops by characters, which
contain no unit of time. For each signature, this module therefore uses a ufunc of int64 counts, and adds the
units of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numbalite import types
from numbalite.cxx import linemap
from numbalite.cxx.capture import Scope, ascii_name
from numbalite.cxx.definition import Definition
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.types import Signature

from . import element


def has_times(signatures: Any) -> bool:
    """Returns whether there is a signature with datetime64 or timedelta64."""
    return any(
        isinstance(_element_type(t), types.Time)
        for signature in signatures
        for t in (*signature.args, *element.returned_types(signature))
    )


class TimeUfunc:
    """A ufunc or generalized ufunc with dates or times (datetime64, timedelta64) in a signature. The ufunc is
    called like any other ufunc, and computes with the int64 counts of the times.

    ``build(function, signature)`` returns the ufunc of the counts.
    """

    def __init__(self, function: DeviceFunction, signatures: list, build: Callable) -> None:
        self.__name__ = function.name
        self.__doc__ = function.__doc__
        self._parts = [
            (s, build(_function_of_counts(function, s), _count_signature(s))) for s in signatures
        ]
        self.nin, self.nout = self._parts[0][1].nin, self._parts[0][1].nout
        self.nargs = self.nin + self.nout
        self.types = [str(signature) for signature in signatures]

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__}: {', '.join(self.types)}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self.__name__} is a ufunc of dates and times, which can be called; it has no {name!r}: use a ufunc of int64, and pass x.view('int64')"
        )

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments but "
                f"{len(args)} were given"
            )
        inputs, outputs = list(args[: self.nin]), args[self.nin :]
        if outputs and out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        if out is not None:
            outputs = out if isinstance(out, tuple) else (out,)
        inputs = [x if hasattr(x, "dtype") else np.asarray(x) for x in inputs]
        signature, ufunc = self._select_ufunc(inputs)
        dtypes = _dtypes(signature)
        counts = [_to_counts(self, x, t) for x, t in zip(inputs, dtypes, strict=False)]
        results = dtypes[self.nin :]
        if outputs:
            places = [
                x if x is None else _to_counts(self, x, t, is_output=True)
                for x, t in zip(outputs, results, strict=False)
            ]
            options["out"] = tuple(places) if len(places) > 1 else places[0]
        found = ufunc(*counts, **options)
        several = found if isinstance(found, tuple) else (found,)
        timed = [
            given if given is not None else _to_times(x, t)
            for x, t, given in zip(
                several, results, [*outputs, *[None] * len(several)], strict=False
            )
        ]
        return tuple(timed) if isinstance(found, tuple) else timed[0]

    def _select_ufunc(self, inputs):
        """Returns (signature, ufunc) for these inputs: the first signature with exactly these types,
        otherwise the first signature to which they can be converted."""
        for fits in (lambda a, b: a == b, np.can_cast):
            for signature, ufunc in self._parts:
                if all(fits(x.dtype, t) for x, t in zip(inputs, _dtypes(signature), strict=False)):
                    return signature, ufunc
        given = ", ".join(str(x.dtype) for x in inputs)
        raise TypeError(f"{self.__name__} takes {'; '.join(self.types)}: not ({given})")


def _element_type(t):
    return t.dtype if isinstance(t, types.Array) else t


def _is_time(dtype):
    return dtype.kind in "mM"


def _dtypes(signature):
    """Returns the list of NumPy dtypes of the inputs and the outputs."""
    returned = () if signature.return_type is types.void else element.returned_types(signature)
    return [_element_type(t).dtype for t in (*signature.args, *returned)]


def _to_counts(ufunc, x, dtype, is_output=False):
    """Converts an array of times to counts of the required unit; returns other arrays unchanged."""
    if not _is_time(dtype):
        return x
    if x.dtype != dtype:
        if is_output or not isinstance(x, (np.ndarray, np.generic)):
            raise TypeError(f"{ufunc.__name__}: {dtype} is required, not an array of {x.dtype}")
        x = x.astype(dtype)
    return x.view(np.int64)


def _to_times(x, dtype):
    return x.view(dtype) if _is_time(dtype) else x


def _stored_type(t):
    if isinstance(t, types.Time):
        return types.int64
    if isinstance(t, types.Array) and isinstance(t.dtype, types.Time):
        return t.copy(dtype=types.int64)
    return types.Tuple(map(_stored_type, t.types)) if isinstance(t, types.Tuple) else t


def _count_signature(signature):
    return Signature(_stored_type(signature.return_type), map(_stored_type, signature.args))


def _function_of_counts(function, signature):
    """Returns a device function that calls `function` with int64 counts instead of times. No conversion is
    needed, because C++ represents a time by its count."""
    name = f"{ascii_name(element.plain_name(function))}_of_times"
    names = [f"x{k}" for k in range(len(signature.args))]
    give = "" if signature.return_type is types.void else "return "
    text = linemap.consecutive_text(f"{give}{name}({', '.join(names)});", function.name)
    scope = Scope({name: element.typed_function(function, signature)})
    definition = Definition(function.name, names, text, scope, module=function.__module__)
    return DeviceFunction(definition, (), function.options, function._py_func)
