"""Generates the kernels of a CUDA ufunc: one for each loop and each type of operand layout.

The generated source has the user's function, a struct that computes one element, and one kernel:

    #include "numbalite/ufunc.cuh"
    namespace f1_hypotenuse { ... }
    struct nl_element {
        template <class nl_L> NUMBALITE_FUNCTION static void apply(nl_L &l, int j) {
            put<2>(l, j, f1_hypotenuse::hypotenuse(item<0>(l, j), item<1>(l, j)));
        }
    };
    extern "C" __global__ void nl_hypotenuse(flat<3> p) { run<nl_element, 4, in<float, float>, ...>(p); }

Kernels of the type "small" have no such struct: they compute one element per thread, and compile in a third
of the time. C code launches the small kernels for few contiguous elements.
"""

from __future__ import annotations

from typing import NamedTuple

from numbalite import types
from numbalite.compilers import templates
from numbalite.cxx.capture import ascii_name
from numbalite.kernels.builder import SourceBuilder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.types.describe import Parameter

from . import element

BLOCK_THREADS = 256  # ufunc.cuh: BLOCK
BY_VALUE = 0x80
KINDS = ("flat", "rows", "shifted", "tiled", "single", "strided32", "strided64", "small")
BOOL = 1  # nl_dtype


class UfuncPlan(NamedTuple):
    """The dtypes, layout and options that determine a ufunc kernel."""

    loop: tuple
    """types.Scalar of the inputs and then the outputs, as the function has them."""
    nin: int
    stored: bytes
    """For each operand (inputs, the where-mask if there is one, outputs) its nl_dtype in memory, with
    0x80 for an input that is given by value."""
    kind: str
    dims: int

    @property
    def signature(self) -> types.Signature:
        returned = self.loop[self.nin :]
        return types.Signature(
            returned[0] if len(returned) == 1 else types.Tuple(returned), self.loop[: self.nin]
        )

    @property
    def has_mask(self) -> bool:
        return len(self.stored) > len(self.loop)


def elements_per_thread(plan: UfuncPlan) -> int:
    """Returns the number of elements per thread: 16 bytes of the widest operand, doubled if the narrowest
    operand has less than 4 bytes. For transposed operands, a thread computes a square of elements; for
    strided operands at most 4 elements, because each needs a separate access."""
    sizes = [types.SCALARS[code - 1].size for code in plan.stored if not code & BY_VALUE]
    widest, narrowest = max(sizes), min(sizes)
    if plan.kind == "tiled":
        return 16 if widest <= 4 else 4
    if plan.kind in ("single", "strided64", "small"):
        return 1
    if plan.kind == "strided32":
        return 1 if plan.dims > 4 or widest > 8 else 4
    count = max(16 // widest, 1)
    while count * narrowest < 4 and count * widest < 32:
        count *= 2
    return count


def parameter_size(plan: UfuncPlan) -> int:
    """Returns the size in bytes of a ufunc kernel's parameter, a struct."""
    operands, dims = len(plan.stored), plan.dims
    words = {"flat": 2, "small": 2, "rows": 4, "shifted": 4, "tiled": 5}.get(plan.kind, 1)
    size = 16 * operands + 8 * words
    if plan.kind not in ("flat", "small"):
        steps = dims + 2 if plan.kind == "tiled" else dims
        size += 16 * dims + 8 * steps * operands
    return -(-size // 16) * 16


def plan_kernel(function, plan: UfuncPlan, options) -> Kernel:
    """Returns the kernel for a launch plan; its first launch compiles it."""
    typed = element.typed_function(function, plan.signature)
    name = f"nl_{ascii_name(element.plain_name(function))}"
    builder = _loop_builder(typed, plan, name)
    source = builder.source(function.definition, options, [name])
    source = source._replace(is_short=plan.kind == "small")
    size = parameter_size(plan)
    row = Parameter("operands", "struct", plan.kind, "", size, size, 16, 0, "", False)
    title = f"{function.name} for {plan.signature}"
    return Kernel(
        Images(source, element.error_explainer(typed, title, builder.refused)), name, function.name, [row],
        options, plan.signature, builder.labels(),
    )  # fmt: skip


def _loop_builder(function, plan, kernel):
    builder = SourceBuilder(element.plain_name(function), f"{function.name}: {plan.signature}")
    stored = [types.SCALARS[(code & ~BY_VALUE) - 1] for code in plan.stored]
    builder.add_types(*plan.loop, *stored)
    template = "ufunc_small" if plan.kind == "small" else "ufunc"
    builder.ahead.append(f'#include "numbalite/{template}.cuh"\n')
    namespace = builder.add_function(function)
    count, dims, out = len(plan.stored), plan.dims, plan.nin + plan.has_mask
    struct = {
        "flat": f"flat<{count}>",
        "rows": f"rows<{count}, {dims}>",
        "shifted": f"shifted<{count}, {dims}, {out}, {stored[out].size}>",
        "tiled": f"tiled<{count}, {dims}>",
        "single": f"strided<{count}, {dims}, int>",
        "strided32": f"strided<{count}, {dims}, int>",
        "strided64": f"strided<{count}, {dims}, long long>",
        "small": f"small<{count}>",
    }[plan.kind]
    if plan.kind == "small":
        text = _small_template_values(function, namespace, plan, stored)
    else:
        text = {
            "body": _loop_body(function, namespace, plan),
            "per_thread": elements_per_thread(plan),
            "operands": ", ".join(_operand_types(plan, stored)),
        }
    filled = templates.fill_template(
        template, threads=BLOCK_THREADS, kernel=kernel, parameter=struct, **text
    )
    builder.write_generated(filled)
    return builder


def _small_template_values(function, namespace, plan, stored):
    """Returns the placeholder values of the template ufunc_small."""

    def operand_value(i):
        t = plan.loop[i].cxx
        if plan.stored[i] & BY_VALUE:
            return f"nl_ufunc::value_in<{t}>(p.operands[{i}])"
        if stored[i] is plan.loop[i] and t != "bool":
            return f"*p.at<const {t}>({i}, i)"  # compiles 5 % faster than load
        return f"p.load<{stored[i].cxx}, {t}>({i}, i)"

    called = element.call_text(function, namespace, ", ".join(map(operand_value, range(plan.nin))))
    mask = f" && p.load<bool, bool>({plan.nin}, i)" if plan.has_mask else ""
    return {"mask": mask, "body": _store_statements(plan, called, lambda o, t, result: (
        f"p.store<{stored[o].cxx}, {t.cxx}>({o}, i, {result});"
    ))}  # fmt: skip


def _operand_types(plan, stored):
    for i in range(plan.nin):
        if plan.stored[i] & BY_VALUE:
            yield f"value<{plan.loop[i].cxx}>"
        else:
            yield f"in<{stored[i].cxx}, {plan.loop[i].cxx}>"
    if plan.has_mask:
        yield "mask"
    first = plan.nin + plan.has_mask
    for i, t in enumerate(plan.loop[plan.nin :]):
        yield f"out<{stored[first + i].cxx}, {t.cxx}>"


def _loop_body(function, namespace, plan):
    values = ", ".join(f"nl_ufunc::item<{i}>(l, j)" for i in range(plan.nin))
    called = element.call_text(function, namespace, values)
    return _store_statements(
        plan, called, lambda o, t, result: f"nl_ufunc::put<{o}>(l, j, {result});"
    )


def _store_statements(plan, called, store):
    """Returns the statements that store the results of a call; ``store(operand, type, result)`` returns the
    statement for one result."""
    first, results = plan.nin + plan.has_mask, plan.loop[plan.nin :]
    if len(results) == 1:
        return f"        {store(first, results[0], called)}"
    stores = (store(first + i, t, f"numbalite::get<{i}>(r)") for i, t in enumerate(results))
    return "\n".join([f"        auto r = {called};", *(f"        {text}" for text in stores)])
