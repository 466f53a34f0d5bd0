"""Returns advice for constructs that kernels do not support: what to write instead."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from typing import Any

from numbalite.types import inkernel

_ELEMENTS = "Arrays have no arithmetic in kernels: each thread computes its element"
_NO_ARRAYS = (
    "A kernel makes no arrays: pass one as an argument; cuda.local.array(n, dtype) holds a few numbers of each "
    "thread, cuda.shared.array(n, dtype) those of a block."
)
_OUTSIDE = " cuda.reduce is for whole arrays, outside of kernels."
_LOOP = f"Write a loop: for i in range(x.size): ... .{_OUTSIDE}"
RANDOM = "cuda.random has generators for kernels: xoroshiro128p_uniform_float32(states, i)."
_HOST = "Do it before the launch, and pass the result as an argument."
_TEXT = 'Kernels have no texts but in print("x =", x).'
_FUNCTIONS = "Kernels call device functions, @cuda.jit(device=True), and what math and cuda have."

_BY_NAME = {
    _NO_ARRAYS: "zeros ones empty full arange linspace array asarray zeros_like ones_like empty_like full_like "
    "eye identity copy astype tolist flatten repeat concatenate stack meshgrid",
    _LOOP: "sum prod mean min max dot vdot matmul inner any all sort sorted argmax argmin argsort std var "
    "median cumsum cumprod norm count_nonzero map filter reversed trace",
    "Write y[:] = 0, or y[i] = 0 in each thread.": "fill",
    _HOST: "open input time eval exec getattr setattr hasattr",
    _TEXT: "str repr format join",
    "Write a tuple, or cuda.local.array(n, dtype) for what changes.": "list set append extend",
    "Write arrays, or a record.": "dict",
    "Write x.size, or len(x).": "length len count",
}
_REMEDIES = {name: text for text, names in _BY_NAME.items() for name in names.split()}


_ON_CPU = {
    _ELEMENTS: "Arithmetic of whole arrays is not compiled: write a loop over the elements",
    _NO_ARRAYS: "A compiled function makes no arrays: pass one as an argument, and write into it.",
    _OUTSIDE: "",
    RANDOM: "np.random.random, uniform, normal, standard_normal and randint are possible.",
    _HOST: "Do it before the call, and pass the result as an argument.",
    _FUNCTIONS: "Compiled functions call other functions in Python, functions of jit, and what math has.",
    "or y[i] = 0 in each thread": "or y[i] = 0 in a loop",
    "; or compute one element in each thread": "; or compute one element in each step of a loop",
    "a loop that stores into an array: cuda.local.array(n, dtype) holds a few numbers of each thread": (
        "a loop that stores into an array, which is an argument"
    ),
    "cuda.local.array(n, dtype)": "an array that is an argument",
    "a device function outside: @cuda.jit(device=True)": "a function outside",
    "A kernel starts no kernels: launch it from the host, or call a device function.": (
        "A compiled function starts no kernels: launch it from Python."
    ),
    "Kernels have": "Compiled functions have",
    "A kernel": "A compiled function",
    "a kernel": "a compiled function",
    "this kernel": "this function",
    "kernels": "compiled functions",
}
"""Texts about kernels -> the same about functions on the CPU; replaced in this order."""


def cpu_message(text: str) -> str:
    """Adapts a message to a function that runs on the CPU."""
    for ours, theirs in _ON_CPU.items():
        text = text.replace(ours, theirs)
    return text


def function_remedy(value: Any, node: ast.AST | None = None) -> str:
    """Returns what to write instead of a call of an unsupported function."""
    arguments = node.args if isinstance(node, ast.Call) else ()
    return _array_remedy(_function_remedy(value), arguments[0] if arguments else None)


def _array_remedy(remedy, node):
    """Returns the remedy text for an array `x`, with the name of the array in the user's line."""
    is_named = isinstance(node, (ast.Name, ast.Attribute))
    return remedy.replace("x.size", f"{ast.unparse(node)}.size") if is_named else remedy


def _function_remedy(value):
    module = getattr(value, "__module__", None) or _method_module(value)
    if module.startswith("numpy.random") or module == "random":
        return RANDOM
    name = getattr(value, "__name__", "")
    if module.partition(".")[0] in ("numpy", "builtins", "math", "time") and name in _REMEDIES:
        return _REMEDIES[name]
    if module.partition(".")[0] == "numpy":
        return "Of NumPy's functions those on single numbers are possible: np.sin(x[i])."
    if module.partition(".")[0] == "numbalite" and not getattr(value, "targetoptions", None):
        return _HOST
    if callable(value):
        return _FUNCTIONS
    return ""


def _method_module(value):
    """Returns the name of the module of a bound method's class: np.random.rand is a method of a RandomState."""
    return getattr(type(getattr(value, "__self__", None)), "__module__", "") or ""


def method_remedy(name: str, owner: ast.AST | None = None) -> str:
    return _array_remedy(_REMEDIES.get(name, ""), owner)


def storage_remedy(t: Any) -> str:
    """Returns what to write instead of storing an object that is not a number."""
    names = getattr(getattr(t, "dtype", None), "names", None)
    if getattr(t, "ndim", 0):
        return "An element is one number: index the array that is stored."
    return f"Store one of its fields: {', '.join(names)}." if names else ""


def subscript_remedy(value: Any) -> str:
    """Returns what to write instead of indexing a Python object."""
    if isinstance(value, list):
        return "A kernel takes numbers from a tuple, or from an array: np.array([...])."
    if isinstance(value, dict):
        return "Write a record, an array, or a name for each value."
    if callable(value):
        return "A kernel starts no kernels: launch it from the host, or call a device function."
    return ""


def array_operation_remedy(*values: Any) -> str:
    """Returns what to write instead of an operation on arrays."""
    arrays = [value for value in values if getattr(value.type, "ndim", 0)]
    if not arrays:
        return ""
    names = dict.fromkeys(value.text for value in arrays if value.text.isidentifier())
    elements = [f"{v.text}[{', '.join('ijkl'[: v.type.ndim])}]" for v in arrays if v.text in names]
    return f"{_ELEMENTS}, {' and '.join(dict.fromkeys(elements)) or 'y[i] = 2 * x[i]'}."


def attribute_names(owner: Any) -> list[str]:
    """Returns the supported attributes of a module or another Python object."""
    if isinstance(owner, inkernel.KernelName):
        return list(inkernel.PARTS.get(owner.path, ()))
    words = inkernel.INSTEAD if getattr(owner, "__name__", "") == "numbalite.cuda" else ()
    return [*dir(owner), *words]


def similar_name(name: str, names: Iterable[str]) -> str:
    """Returns a name that the user may have meant."""
    names = [n for n in names if not n.startswith("_")]
    if max(map(len, names), default=9) == 1:
        return f"There are {', '.join(names[:-1])} and {names[-1]}."
    found = difflib.get_close_matches(name, names, 1, 0.6)
    return f"Is {found[0]} meant?" if found else ""
