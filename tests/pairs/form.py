"""Defines pairs: a kernel with one planted mistake, and the same kernel without the mistake.

    @register_pair("race", array="s", grid=1, block=64, expect=lambda x: x.sum())
    def reduction(x: random_floats(64), out: zeros_of_shape(1)):
        '''
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        for (int w = 32; w > 0; w /= 2) {
            if (t < w) s[t] += s[t + w];    //!
            __syncthreads();                //+
        }
        if (t == 0) out[0] = s[0];
        '''

Marks define the differences: `//-` ends a line of the wrong kernel only, `//+` a line of the right
kernel only, `//!` a line that the report of the mistake may name (`//-!`: both marks). A line of the
other kernel becomes an empty line, so that both kernels have the line numbers of this file. The
annotation of a parameter is the argument with which the kernel is launched. A text that contains a
__global__ function is a complete source. Constants of the file are in capitals.

The module can be imported without a device: kernels are compiled when they are requested.
"""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import dataclass, field

import numpy as np

KINDS = ("memory", "unwritten", "race", "sync", "hang", "divide", "overflow", "nan", "stack")
_MARK = re.compile(r"//([-+]?)(!?)(?: .*)?$")


@dataclass(frozen=True)
class KernelPair:
    """A wrong kernel and its correction. `wrong` and `right` are the options in which their
    launches differ."""

    name: str
    theme: str
    kind: str
    title: str
    array: str | None
    parameters: dict
    launch: dict
    right: dict
    options: dict
    expect: object
    key: object
    text: str
    file: str
    first: int
    """The number of the line of `file` in which the text begins."""
    function: object = field(repr=False)

    @property
    def lines(self) -> set:
        """Returns the numbers of the lines with a `//!` mark: a correct report states one of them."""
        found = {
            self.first + number
            for number, line in enumerate(self.text.split("\n"))
            if (mark := _MARK.search(line)) and mark[2]
        }
        assert found, f"{self.name}: no line is marked with //!"
        return found

    def source(self, right: bool) -> str:
        """Returns the text of the wrong or the right kernel, with a #line for its position in the file."""
        other = "-" if right else "+"
        lines = [
            "" if (mark := _MARK.search(line)) and mark[1] == other else line
            for line in self.text.split("\n")
        ]
        return f'#line {self.first} "{self.file}"\n' + "\n".join(lines)

    @property
    def is_source(self) -> bool:
        """Returns whether the text is a whole source, not the body of a function."""
        return "__global__" in self.text

    @property
    def constants(self) -> dict:
        """Returns the names in the text that are numbers and arrays in the function's scope."""
        scope = self.function.__globals__
        words = dict.fromkeys(re.findall(r"\b[A-Z]\w*\b", self.text))
        return {w: scope[w] for w in words if isinstance(scope.get(w), (int, float, np.ndarray))}

    def constant_lines(self) -> str:
        """Returns the constants as C++, for a source that uses no names of the function's scope."""
        return "".join(f"constexpr auto {name} = {v};\n" for name, v in self.constants.items())

    @property
    def is_alone(self) -> bool:
        """Returns whether the kernel needs a separate compilation."""
        return bool(self.options) or any(isinstance(v, np.ndarray) for v in self.constants.values())

    def kernel(self, right: bool, **more):
        """Returns the kernel, compiled by `cuda.jit`; `more` are further options."""
        from numbalite import cuda

        options = {**self.options, **(self.right.get("options", {}) if right else {}), **more}
        if self.is_source:
            return cuda.jit(source=self.constant_lines() + self.source(right), **options)
        # A copy of the function with another string,
        # so that the string is not looked up in the file.
        code = self.function.__code__.replace(co_filename="<pair>")
        made = types.FunctionType(code, self.function.__globals__, self.name)
        made.__doc__ = self.source(right)
        return cuda.jit(**options)(made)

    def arguments(self, right: bool) -> dict:
        """Returns the arguments of a launch: arrays are copied to the device, and each DeviceArgument has created its
        argument."""
        from numbalite import cuda

        given = dict(self.parameters)
        given.update({k: v for k, v in self.right.items() if right and k in given})
        made = {}
        for name, value in given.items():
            if isinstance(value, np.ndarray):
                value = cuda.to_device(value)
            elif isinstance(value, DeviceArgument):
                value = value.make(made)
            made[name] = value
        return made

    def run(self, right: bool, kernel=None, **more) -> dict:
        """Launches the wrong or the right kernel and waits. Returns the arguments after the launch, with arrays copied
        to the host.

        kernel: the compiled kernel; None: it is created with the options in `more`.
        """
        from numbalite import cuda

        kernel = kernel or self.kernel(right, **more)
        arguments = self.arguments(right)
        launch = {**self.launch, **({k: v for k, v in self.right.items() if right})}
        kernel[launch["grid"], launch["block"], 0, launch.get("shared", 0)](*arguments.values())
        cuda.synchronize()
        return {
            name: value.copy_to_host() if hasattr(value, "copy_to_host") else value
            for name, value in arguments.items()
        }

    def check(self, result: dict):
        """Asserts that the arguments after the right kernel equal NumPy's results."""
        given = {**self.parameters, **{k: v for k, v in self.right.items() if k in self.parameters}}
        wanted = self.expect(*(given[name] for name in inspect.signature(self.expect).parameters))
        if not isinstance(wanted, dict):
            arrays = [name for name, value in result.items() if isinstance(value, np.ndarray)]
            wanted = {arrays[-1]: wanted}
        for name, value in wanted.items():
            found = result[name]
            value = np.broadcast_to(value, found.shape)
            if self.key:
                found, value = self.key(found), self.key(value)
            if found.dtype.kind in "fc":
                np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(found, value, err_msg=name)


class PairsUnit:
    """Compiles the kernels of several pairs as one unit, because most of the compile time does not
    depend on their number."""

    def __init__(self, pairs):
        self.pairs = [pair for pair in pairs if not pair.is_alone]
        self.module = None

    def kernel(self, pair, right):
        """Returns the kernel of KernelPair.kernel."""
        from numbalite import cuda

        if pair not in self.pairs:
            return pair.kernel(right)
        if self.module is None:
            both = [(p, r) for p in self.pairs for r in (False, True)]
            text = "\n".join(_in_namespace(p, r) for p, r in both)
            names = [_qualified_name(p, r) for p, r in both]
            # The optimization level of checked images, which are the images that run.
            self.module = cuda.module(text, names=names, opt=1)
        return self.module[_qualified_name(pair, right)]


def _qualified_name(pair, right):
    function = re.search(r"__global__ void (\w+)", pair.text)[1] if pair.is_source else "kernel"
    return f"{pair.name}_{'right' if right else 'wrong'}::{function}"


def _in_namespace(pair, right):
    """Returns the text of the wrong or the right kernel as a part of a larger source."""
    text = pair.source(right)
    if not pair.is_source:
        arguments = pair.arguments(right)
        parameters = ", ".join(f"{_c_type(v)} {name}" for name, v in arguments.items())
        text = f"__global__ void kernel({parameters}) {{\n{text}\n}}"
    included = re.findall(r"^\s*#include.*$", text, re.M)
    return "\n".join([
        *included,
        f"namespace {_qualified_name(pair, right).partition(':')[0]} {{",
        pair.constant_lines(),
        *("" if line in included else line for line in text.split("\n")),
        "}",
    ])  # fmt: skip


def _c_type(value):
    if not hasattr(value, "dtype"):
        return {int: "int", float: "float"}[type(value)]
    layout = "layout::C" if value.flags["C_CONTIGUOUS"] else "layout::any"
    return f"array<{value.dtype}, {value.ndim}, {layout}>"


PAIRS: dict[str, KernelPair] = {}
"""All pairs of the themes that were imported, by name."""


def register_pair(
    kind, *, grid, block, expect, array=None, shared=0, right=None, key=None, **options
):
    """Decorates a function whose body is a marked string: registers its pair. The module's
    docstring describes the marks.

    kind: the check that finds the mistake. array: the name that the report must contain. expect: function of
    some parameters (before the launch) that returns the expected contents of the last array after the right
    kernel, or a dict for several arrays. key: applied to arrays before the comparison (np.sort if the order
    is undefined). right: arguments, shared= and options={} that differ in the right kernel's launch. Further
    keyword arguments are options of cuda.jit.
    """
    assert kind in KINDS, kind

    def make_pair(function):
        lines, start = inspect.getsourcelines(function)
        quotes = next(n for n, line in enumerate(lines) if line.strip().startswith(('"""', 'r"""')))
        text = function.__doc__
        if not text.startswith("\n"):
            raise ValueError(
                f"{function.__name__}: the text must begin on the line after the quotes"
            )
        code = function.__code__
        name = function.__name__
        assert name not in PAIRS, name
        PAIRS[name] = made = KernelPair(
            name=name,
            theme=function.__module__.rpartition(".")[2],
            kind=kind,
            title=name.replace("_", " "),
            array=array,
            parameters={p: function.__annotations__[p] for p in code.co_varnames[: code.co_argcount]},
            launch={"grid": grid, "block": block, "shared": shared},
            right=right or {},
            options=options,
            expect=expect,
            key=key,
            text=text,
            file=code.co_filename,
            first=start + quotes,
            function=function,
        )  # fmt: skip
        return made

    return make_pair


# --- arguments -------------------------------------------------------------------------------------------


class DeviceArgument:
    """An argument that a function creates on the device for each launch, from the earlier arguments."""

    def __init__(self, make):
        self.make = make


def random_floats(*shape, low=0.0, high=1.0, seed=1, dtype=np.float32):
    """Returns numbers between `low` and `high`, which are the same in each call."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def random_ints(*shape, below, low=0, seed=1, dtype=np.int32):
    """Returns integers from `low` to `below - 1`, which are the same in each call."""
    return np.random.default_rng(seed).integers(low, below, shape).astype(dtype)


def zeros_of_shape(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def uninitialized_array(*shape, dtype=np.float32):
    """Returns an uninitialized device array."""

    def make_uninitialized(_):
        from numbalite import cuda

        return cuda.device_array(shape, dtype)

    return DeviceArgument(make_uninitialized)


def zero_counts(*shape):
    return np.zeros(shape, np.int32)


def ascending(n, dtype=np.float32):
    """0, 1, ..., n - 1."""
    return np.arange(n, dtype=dtype)


def addresses_of(*shape, freed=False):
    """Returns a device array over the address of another device array, which contains 1, 2, 3, ... and is
    freed first if `freed`."""

    def make_addresses(made):
        from numbalite import cuda

        values = cuda.to_device(np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape))
        address = values.__cuda_array_interface__["data"][0]
        maker.kept = None if freed else values
        return cuda.to_device(np.array([address], np.uint64))

    maker = DeviceArgument(make_addresses)
    return maker


def part_of(whole, index):
    """Returns a view of a larger array on the device."""

    def make_part(_):
        from numbalite import cuda

        return cuda.to_device(whole)[index]

    return DeviceArgument(make_part)
