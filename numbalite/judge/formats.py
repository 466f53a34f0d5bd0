"""Reads tasks in the formats of GPU MODE's leaderboards and of KernelBench, where they are plain functions.

A task of GPU MODE is a folder with `task.yml` and `reference.py`, which defines `ref_kernel(data)` and
`generate_input(**spec)`. A task of KernelBench is a file with `Model`, `get_inputs` and `get_init_inputs`.
Tasks of both formats may compute with PyTorch or NumPy. PyTorch runs on the CPU: arguments that name a GPU
are replaced.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import inspect
import operator
import os
import re
import runpy
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite.judge.guarded import unwritten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_ELEMENTS = 1 << 17  # larger inputs of KernelBench's tasks are replaced by smaller inputs
_DIMENSION = 32  # value of each dimension that is reduced, if the task accepts this value
_THREADS = 256
_OPERATORS = {
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: operator.pow,
}
_SPEC = re.compile(r"\s*-\s*(\{.*\})")


def read_task(path: str, launch: str | None) -> dict | None:
    """Returns the arguments of Task for a task in another format, or None for any other path. ``launch`` is an
    expression of the kernel's parameters."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if os.path.basename(path) in ("task.yml", "reference.py") or os.path.isdir(path):
        return _gpu_mode_task(folder or ".", launch)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return _kernelbench_task(path, launch) if re.search(r"(?m)^def get_inputs\b", text) else None


def _gpu_mode_task(folder, launch):
    for name in ("task.yml", "reference.py"):
        if not os.path.exists(os.path.join(folder, name)):
            raise TypeError(
                f"{folder} has no {name}: a folder is a task of GPU MODE, with task.yml and reference.py"
            )
    sections = _yaml_sections(os.path.join(folder, "task.yml"))
    specs: dict = {}
    for section in ("tests", "benchmarks"):
        for spec in sections.get(section, []):
            given = {name: value for name, value in spec.items() if name != "seed"}
            if not all(isinstance(value, (int, float)) for value in given.values()):
                raise TypeError(f"{folder}: {spec} has values that are not numbers")
            specs.setdefault(tuple(given.values()), (section, given))
    sizes = {
        s: [k for k, (section, _) in specs.items() if section == s] for s in ("tests", "benchmarks")
    }
    if not sizes["tests"]:
        raise TypeError(f"{folder}: task.yml has no tests in the form - {{...}}")
    found = _reference_names(folder, sections.get("files", []))
    names = ("ref_kernel", "generate_input")
    reference, generate = (
        _require_definition(found, name, f"{folder}/reference.py") for name in names
    )

    def inputs(rng, size):
        given = generate(**specs[size][1], seed=int(rng.integers(1 << 31)))
        return list(given) if isinstance(given, (tuple, list)) else [given]

    def compute(values, size):
        return reference(tuple(values) if len(values) > 1 else values[0])

    name = os.path.basename(os.path.abspath(folder)).removesuffix("_py")
    options = {
        "sizes": sizes["tests"],
        "benchmarks": sizes["benchmarks"],
        "valid": lambda *size: size in specs,
    }
    return _task_arguments(
        name,
        inspect.getdoc(reference),
        inputs,
        compute,
        _unpacked_parameter_names(os.path.join(folder, "reference.py")),
        options,
        launch,
    )


def _kernelbench_task(path, launch):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    full = _input_dimensions(tree)

    @functools.lru_cache(64)
    def model_at_size(*size):
        """Returns (model, get_inputs) of the file with other dimensions."""
        found: dict = {"__name__": "reference"}
        with _force_cpu():
            exec(
                compile(_module_copy(tree, dict(zip(full, size, strict=True))), path, "exec"), found
            )
            model = _require_definition(found, "Model", path)(
                *found["get_init_inputs"]() if "get_init_inputs" in found else []
            )
        return model, found["get_inputs"]

    def inputs(rng, size):
        _seed_generators(rng)
        return list(model_at_size(*size)[1]())

    def compute(values, size):
        return model_at_size(*size)[0].forward(*values)

    model = model_at_size(*full.values())[0]
    if any(True for _ in getattr(model, "parameters", list)()):
        raise TypeError(
            f"{path}: the model has parameters; only models that are functions are supported"
        )

    @functools.cache
    def elements(*size):
        """Returns the number of elements of the inputs, or 0 if the size is not valid."""
        if min(size, default=1) < 1:
            return 0
        try:
            with _force_cpu():
                given = inputs(np.random.default_rng(1), size)
                count = sum(map(np.size, map(_as_numpy, given)))
                if count <= _MAX_ELEMENTS:
                    compute(given, size)
                return count
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
            return 0

    size: tuple = ()
    for most in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        each = tuple(min(n, most) for n in full.values())
        if elements(*each) > _MAX_ELEMENTS or (size and most > _DIMENSION):
            break
        size = each if elements(*each) else size
    if not 0 < elements(*size) <= _MAX_ELEMENTS:
        names = ", ".join(map(_dimension_name, full)) or "the integers of get_inputs"
        raise TypeError(f"{path}: no smaller size is valid, with other values of {names}")
    options = {
        "sizes": [size],
        "benchmarks": [tuple(full.values())],
        "valid": lambda *size: 0 < elements(*size) <= _MAX_ELEMENTS,
    }
    name = re.sub(r"^\d+_", "", os.path.splitext(os.path.basename(path))[0]).strip("_")
    forward = list(inspect.signature(model.forward).parameters)
    return _task_arguments(name, inspect.getdoc(model), inputs, compute, forward, options, launch)


def _require_definition(found, name, path):
    if name not in found:
        raise TypeError(f"{path} must define {name}")
    return found[name]


def _input_dimensions(tree):
    """Returns {(name, index): value} of the integers at module level that get_inputs uses, also through other
    assignments, and get_init_inputs does not. The index of an integer in a tuple is its position, otherwise None."""
    integers: dict = {}
    others, used = {}, {}
    for node in tree.body:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if isinstance(node, ast.FunctionDef):
            used[node.name] = names
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, parts = node.targets[0].id, dict(_integers_of(node.value))
            if parts:
                integers[name] = parts
            others[name] = names

    def reachable_names(names):
        more = set().union(*(others.get(name, set()) for name in names)) - names
        return reachable_names(names | more) if more else names

    wanted = reachable_names(used.get("get_inputs", set())) - reachable_names(
        used.get("get_init_inputs", set())
    )
    return {
        (name, index): value
        for name, parts in integers.items()
        if name in wanted
        for index, value in parts.items()
    }


def _integers_of(node):
    """Yields (None, value) for an integer, or (position, value) for each integer of a tuple or list. An integer may be
    an expression of integers, such as 256 * 8."""
    is_sequence = isinstance(node, (ast.Tuple, ast.List))
    for position, part in enumerate(node.elts) if is_sequence else [(None, node)]:
        value = _constant_integer(part)
        if value is not None:
            yield position, value


def _constant_integer(node):
    """Returns the value of an integer or of an expression of integers, otherwise None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _constant_integer(node.left), _constant_integer(node.right)
        return None if left is None or right is None else _OPERATORS[type(node.op)](left, right)
    return None


def _dimension_name(key):
    name, index = key
    return name if index is None else f"{name}[{index}]"


def _module_copy(tree, values):
    """Returns a copy of a module in which integers have other values."""
    changed = copy.deepcopy(tree)
    for node in changed.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if (name, None) in values:
                node.value = ast.copy_location(ast.Constant(values[name, None]), node.value)
            for index, part in enumerate(getattr(node.value, "elts", [])):
                if (name, index) in values:
                    node.value.elts[index] = ast.copy_location(
                        ast.Constant(values[name, index]), part
                    )
    return changed


def _task_arguments(name, text, inputs, compute, names, options, launch):
    """Returns the arguments of Task. A kernel has the inputs as parameters, and the result as its last parameter
    if the inputs have no array for the result."""
    rng, size = np.random.default_rng(0), options["sizes"][0]
    with _force_cpu():
        first = inputs(rng, size)
        result = compute(list(first), size)
        if isinstance(result, (tuple, list)) or not hasattr(result, "dtype"):
            raise TypeError(
                f"task {name}: the reference returns a {type(result).__name__} instead of one array"
            )
        place = _result_parameter_index(first, result, lambda values: compute(values, size))
    names = names if len(names) == len(first) else [f"x{i}" for i in range(len(first))]
    if place is None:
        place = len(first)
        names = [*names, "out" if "out" not in names else "out_"]
    sizes: dict = {}  # shapes of the arguments -> size

    def generate(rng, size):
        with _force_cpu():
            values = inputs(rng, size)
            result = _as_numpy(compute(list(values), size))
        arrays = [_as_numpy(value) for value in values]
        dtype = arrays[place].dtype if place < len(arrays) else result.dtype
        arrays[place : place + 1] = [unwritten(result.shape, dtype)]
        sizes[tuple(map(np.shape, arrays))] = size
        return tuple(arrays)

    def function(*arguments):
        size = sizes[tuple(map(np.shape, arguments))]
        given = [a for i, a in enumerate(arguments) if i != place or place < len(first)]
        with _force_cpu():
            try:
                result = compute(
                    [_convert_like(v, example) for v, example in zip(given, first, strict=True)],
                    size,
                )
            except RuntimeError:  # a reference that creates arrays of its declared types
                result = compute(
                    [
                        _convert_like(v, example, True)
                        for v, example in zip(given, first, strict=True)
                    ],
                    size,
                )
            arguments[place][...] = _as_numpy(result)

    given = generate(rng, size)
    function.__name__, function.__doc__ = re.sub(r"\W", "_", name), text
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )
    function.__annotations__ = {
        n: _parameter_type(v, i == place) for i, (n, v) in enumerate(zip(names, given, strict=True))
    }
    chosen = (
        _launch_function(launch, names)
        if launch
        else lambda *a: (-(-a[place].size // _THREADS), _THREADS)
    )
    return {
        "function": function,
        "launch": chosen,
        "kinds": ("normal",),
        "generate": generate,
        **options,
    }


def _result_parameter_index(given, result, compute):
    """Returns the index of the input that is an array for the result: it has the result's shape, and its values do
    not change the result; or None."""
    wanted = _as_numpy(result)
    for i in reversed(range(len(given))):
        value = _as_numpy(given[i])
        if isinstance(value, np.ndarray) and (value.shape, value.dtype.kind) == (
            wanted.shape,
            wanted.dtype.kind,
        ):
            other = [*given[:i], _convert_like(np.full_like(value, 77), given[i]), *given[i + 1 :]]
            if np.array_equal(
                _as_numpy(compute(other)), wanted, equal_nan=wanted.dtype.kind in "fc"
            ):
                return i
    return None


def _launch_function(text, names):
    expected = f"expected (grid, block), an expression of {', '.join(names)}"
    try:
        code = compile(text, "--launch", "eval")
    except SyntaxError as problem:
        raise ValueError(f"--launch {text!r}: {problem.msg}; {expected}") from None

    def launch(*arguments):
        try:
            found = eval(code, {"np": np}, dict(zip(names, arguments, strict=True)))
        except Exception as problem:
            raise ValueError(
                f"--launch {text!r}: {type(problem).__name__}: {problem}; {expected}"
            ) from None
        if not isinstance(found, tuple) or not 2 <= len(found) <= 4:
            raise ValueError(f"--launch {text!r} is {found!r}; {expected}")
        return found

    return launch


def _yaml_sections(path):
    """Returns {section: [dict]} of the lines `- {...}` of a YAML file."""
    found: dict = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if section := re.match(r"(\w+):", line):
                name = section[1]
            elif spec := _SPEC.match(line):
                found.setdefault(name, []).append(ast.literal_eval(spec[1]))
    return found


def _reference_names(folder, files):
    """Returns the names that reference.py defines, which imports the task's other files."""
    with tempfile.TemporaryDirectory() as together:
        for file in files or [{"name": "reference.py", "source": "reference.py"}]:
            source = os.path.join(folder, file["source"])
            if file["name"] not in ("submission.py", "eval.py") and os.path.exists(source):
                shutil.copyfile(source, os.path.join(together, file["name"]))
        before = set(sys.modules)
        sys.path.insert(0, together)
        try:
            with _force_cpu():
                return runpy.run_path(os.path.join(together, "reference.py"))
        finally:
            sys.path.remove(together)
            for name in {os.path.splitext(file["name"])[0] for file in files} - before:
                sys.modules.pop(name, None)


def _unpacked_parameter_names(path):
    """Returns the names to which ref_kernel assigns the parts of its parameter: `a, b = data`."""
    with open(path, encoding="utf-8") as file:
        functions = [
            n for n in ast.parse(file.read()).body if getattr(n, "name", "") == "ref_kernel"
        ]
    parameter = functions[0].args.args[0].arg
    for node in ast.walk(functions[0]):
        if isinstance(node, ast.Assign) and getattr(node.value, "id", "") == parameter:
            parts = getattr(node.targets[0], "elts", [])
            if parts and all(isinstance(part, ast.Name) for part in parts):
                return [part.id for part in parts]
    return [parameter]


# --- PyTorch's tensors as NumPy's arrays


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    value = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
    return np.ascontiguousarray(np.atleast_1d(value))


def _convert_like(value, example, exactly=False):
    """Returns an array as the type of an example, a tensor or an array; with its dtype if ``exactly``."""
    if not hasattr(example, "dtype"):
        return value
    value = np.array(value).reshape(value.shape if np.ndim(example) else ())
    if hasattr(example, "detach"):
        tensor = sys.modules["torch"].from_numpy(value)
        return tensor.to(example.dtype) if exactly else tensor
    return value.astype(example.dtype) if exactly else value


def _parameter_type(value, is_written):
    if not isinstance(value, np.ndarray):
        return np.result_type(value).name
    axes = ", ".join([":"] * (value.ndim - 1) + ["::1"])
    return f"{'' if is_written else 'const '}{value.dtype.name}[{axes}]"


def _seed_generators(rng):
    np.random.seed(int(rng.integers(1 << 31)))
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(int(rng.integers(1 << 31)))


@contextlib.contextmanager
def _force_cpu() -> Iterator[None]:
    """PyTorch creates tensors on the CPU, also where a task names a GPU."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError):
            torch: Any = __import__("torch")
            stack.enter_context(_mode_class(torch)())
            generator = torch.Generator
            torch.Generator = type(
                "Generator", (generator,), {"__new__": lambda cls, *a, **k: generator()}
            )
            stack.callback(setattr, torch, "Generator", generator)
        yield


@functools.cache
def _mode_class(torch: Any) -> Any:
    """Returns a class of PyTorch's modes, which replaces GPUs by the CPU in calls of PyTorch."""
    from torch.overrides import TorchFunctionMode

    class CpuMode(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if kwargs.get("device") is not None:
                kwargs["device"] = "cpu"
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            args = tuple("cpu" if isinstance(a, str) and a.startswith("cuda") else a for a in args)
            return function(*args, **kwargs)

    return CpuMode
