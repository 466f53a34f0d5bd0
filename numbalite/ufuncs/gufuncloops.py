"""Generates the kernels of a generalized ufunc on CUDA: one for each loop and each type of operand layout.

The core of an operand is the array of its core dimensions that one call of the function processes.

The generated source has the user's function and one kernel that calls it for each loop index:

    #include "numbalite/gufunc.cuh"
    namespace f1_matmul { ... }
    extern "C" __global__ void nl_matmul(const __grid_constant__ gufunc_call<3, 1, 6> call) {
        unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
        if (index >= (unsigned)call.count) return;
        auto place = gufunc_find(call, (int)index);
        f1_matmul::matmul(core_view<const float, 2, layout::any, 0>(call, 0, place.offset[0]), ...);
    }

With ``block``, a whole thread block runs the function for each index. Small cores of a fixed shape
(`GufuncPlan.fixed`) are copied to registers before the call; cores of results are copied from registers to memory
after the call. Larger cores (`GufuncPlan.staged`) are copied to shared memory, by the threads of a warp together.
"""

from __future__ import annotations

from typing import NamedTuple

from numbalite import types
from numbalite.compilers import templates
from numbalite.cxx.capture import ascii_name
from numbalite.kernels.builder import SourceBuilder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.types import Signature, void
from numbalite.types.describe import Parameter

from . import element

THREADS = 256
BLOCK_THREADS = 128
"""The default number of threads of a block that computes one core together."""
STAGED_THREADS = 128
"""The threads of a block whose warps stage their cores; fewer for large cores (gukernel.c)."""
LONG_THREADS = 32
"""The threads of a block with long cores: a compile-time limit, so that each thread may have many registers."""


class FixedCore(NamedTuple):
    """A small core whose shape is a compile-time constant."""

    shape: tuple
    order: str
    """"C" or "F": contiguous in that order."""
    align: int
    """Bytes, a power of two: all cores of the operand are aligned to it."""


class GufuncPlan(NamedTuple):
    """The dtypes, layout and options that determine a kernel of a generalized ufunc."""

    types: tuple
    """The operands' types: Array, or Scalar for a number."""
    nin: int
    cores: tuple
    """Core dimensions of each operand."""
    dims: int = 1
    """Loop dimensions."""
    wide: bool = False
    """Indices or offsets need 64 bits."""
    values: int = 0
    """Bit i: operand i is a number in the parameter itself."""
    fixed: tuple | None = None
    """A Fixed for each operand."""
    threads: int = THREADS
    block: bool = False
    staged: int = 0
    """Bit i: the cores of operand i are dense and staged in shared memory."""
    loaded: int = 0
    """Bit i: there is something in them before the call."""
    is_long: bool = False
    """They are staged by pieces of 16 bytes."""
    written: int = 0
    """Bit i: the function writes input i."""

    def writes(self, i: int) -> bool:
        """Returns whether the function writes to operand i."""
        return i >= self.nin or bool(self.written >> i & 1)

    @property
    def signature(self) -> Signature:
        return Signature(void, self.types)


def parameter_size(plan: GufuncPlan) -> int:
    """Returns the size in bytes of the kernel's only parameter: gufunc_call<N, D, C>."""
    operands, core = len(plan.types), max(sum(plan.cores), 1)
    words = 2 * operands + 2 + (2 + operands) * plan.dims + 2 * core
    return 16 * -(-words // 2)


def plan_kernel(function, plan: GufuncPlan, options) -> Kernel:
    """Returns the kernel for a launch plan; its first launch compiles it."""
    name = f"nl_{ascii_name(element.plain_name(function))}"
    builder = _loop_builder(function, plan, name)
    source = builder.source(function.definition, options, [name])
    size = parameter_size(plan)
    row = Parameter("operands", "struct", "gufunc_call", "", size, size, 16, 0, "", False)
    explain = element.error_explainer(function, f"{function.name} for {plan.signature}")
    return Kernel(
        Images(source, explain), name, function.name, [row], options, plan.signature,
        builder.labels(),
    )  # fmt: skip


def _loop_builder(function, plan, kernel):
    title = f"{function.name}: {plan.signature}"
    builder = SourceBuilder(element.plain_name(function), title)
    builder.add_types(*plan.types)
    header = "core_stage" if plan.staged else "gufunc"
    builder.ahead.append(f'#include "numbalite/{header}.cuh"\n')
    function = function.of(
        t.copy(readonly=True) if t.is_array and not plan.writes(i) else t
        for i, t in enumerate(plan.types)
    )
    namespace = builder.add_function(function)
    parts = [_operand_code(plan, i) for i in range(len(plan.types))]
    names = element.parameter_names(function)
    if not element.is_from_body(function):
        builder.write_generated(_call_with_const(function, namespace, plan))
        values = [_with_report_name(plan, i, names, part.value) for i, part in enumerate(parts)]
        call = f"nl_apply(0, {', '.join(values)});\n"
    else:
        values = [
            _with_report_name(plan, i, names, _const_expression(plan, i, part.value))
            for i, part in enumerate(parts)
        ]
        call = element.call_text(function, namespace, ", ".join(values)) + ";\n"
    before = "".join(part.before for part in parts)
    after = "".join(part.after for part in parts)
    builder.write_generated(_kernel_text(plan, kernel, before, call, after))
    return builder


def _kernel_text(plan, kernel, before, call, after):
    template = "gufunc_staged" if plan.staged else "gufunc_block" if plan.block else "gufunc"
    fields = {"index": "long long" if plan.wide else "int"}
    if not plan.block:
        fields["whole"] = "long long" if plan.wide else "unsigned"
    if plan.staged:
        fields.update(
            before=_indent_lines(before, 4),
            body=_indent_lines(call, 8),
            after=_indent_lines(after, 4),
        )
    else:
        fields["body"] = _indent_lines(before + call + after, 8)
    return templates.fill_template(
        template, threads=plan.threads, kernel=kernel, operands=len(plan.types), dims=plan.dims,
        core=sum(plan.cores), **fields,
    )  # fmt: skip


def _indent_lines(lines, spaces):
    return "\n".join(" " * spaces + line for line in lines.splitlines())


class _OperandCode(NamedTuple):
    """The code for one operand in the kernel."""

    value: str
    before: str = ""
    after: str = ""


def _operand_code(plan, i):
    t = plan.types[i]
    element_type = (t.dtype if t.is_array else t).cxx
    by_value = plan.values >> i & 1
    if plan.fixed is None and not by_value:
        if not t.is_array:
            return _OperandCode(
                f"*(const {element_type} *)((const char *)call.operand[{i}].word[0] + "
                f"place.offset[{i}])"
            )
        first = sum(plan.cores[:i])
        view = f"core_view<{element_type}, {plan.cores[i]}, {types.LAYOUTS[t.layout]}, {first}>"
        lying = f"{view}(call, {i}, place.offset[{i}])"
        return _staged_operand_code(plan, i, lying) if plan.staged >> i & 1 else _OperandCode(lying)
    shape, order, align = (
        plan.fixed[i] if plan.fixed and not by_value else ((1,) * plan.cores[i], "C", 1)
    )
    count = 1
    for n in shape:
        count *= n
    before = f"core_copy<{element_type}, {count}, {align}> core{i};\n"
    if by_value:
        before += f"core{i}.take(call, {i});\n"
    else:
        before += f"core{i}.load(call, {i}, place.offset[{i}]);\n"
    after = "" if not plan.writes(i) else f"core{i}.store(call, {i}, place.offset[{i}]);\n"
    if not t.is_array:
        return _OperandCode(f"*(const {element_type} *)core{i}.data()", before)
    shape = shape or (1,)
    size = t.dtype.size
    strides = _core_strides(shape, size, order)
    view = (
        f"array<{element_type}, {len(shape)}, {types.LAYOUTS[t.layout]}>"
        f"{{core{i}.data(), {{{_comma_separated(shape)}}}, {{{_comma_separated(strides)}}}}}"
    )
    return _OperandCode(view, before, after)


def _staged_operand_code(plan, i, lying):
    """Returns the C++ code for an operand whose cores are staged in shared memory. `lying` is the C++ view of
    a core in global memory."""
    t = plan.types[i]
    stage = f"{'long_' * plan.is_long}core_stage<{t.dtype.cxx}> stage{i}"
    before = (
        f"auto core{i} = {lying};\n"
        f"{stage}(core{i}.data(), core{i}.size(), lanes, free);\n"
        f"core{i}.pointer = stage{i}.staged();\n"
    )
    if plan.cores[i] == 1:  # the core is contiguous, which the type of the stride expresses
        before += f"core{i}.strides[0] = sizeof({t.dtype.cxx});\n"
    if plan.loaded >> i & 1:
        before += f"stage{i}.load(rows);\n"
    after = "" if not plan.writes(i) else f"stage{i}.store(rows);\n"
    return _OperandCode(f"core{i}", before, after)


def _comma_separated(numbers):
    return ", ".join(map(str, numbers))


def _core_strides(shape, size, order):
    axes = range(len(shape)) if order == "F" else reversed(range(len(shape)))
    strides = [0] * len(shape)
    for axis in axes:
        strides[axis] = size
        size *= shape[axis]
    return strides


def _const_array_type(plan, i):
    t = plan.types[i]
    return f"array<const {t.dtype.cxx}, {t.ndim}, {types.LAYOUTS[t.layout]}>"


def _const_expression(plan, i, value):
    if plan.writes(i) or not plan.types[i].is_array:
        return value
    return f"{_const_array_type(plan, i)}({value})"


def _with_report_name(plan, i, names, value):
    """Returns the C++ expression `value`. On the simulator, a macro around the expression attaches the
    parameter's name for reports."""
    if not plan.types[i].is_array or i >= len(names):
        return value
    return f'NUMBALITE_NAMED("{names[i]}", {value})'


def _call_with_const(function, namespace, plan):
    """Returns the C++ call of a function that declares its own types. Inputs are passed as arrays of const
    elements, unless the function accepts only arrays of non-const elements."""
    count = len(plan.types)
    heads = ", ".join(f"class nl_T{i}" for i in range(count))
    parameters = ", ".join(f"nl_T{i} a{i}" for i in range(count))
    const = ", ".join(_const_expression(plan, i, f"a{i}") for i in range(count))
    plain = ", ".join(f"a{i}" for i in range(count))
    return templates.fill_template(
        "gufunc_apply",
        types=heads,
        parameters=parameters,
        const_call=element.call_text(function, namespace, const),
        call=element.call_text(function, namespace, plain),
    )
