"""Generates the source of functions for the CPU: the user's function, and an entry point for each list of
types.

    #include "numbalite.cuh" ...
    namespace f1_hypot { the function, as a device function is written }
    struct nl_block_0 { double p0; double p1; };
    static void nl_run_0(void *nl_frame) { ... f1_hypot::hypot(nl_b.p0, nl_b.p1) ... }
    NUMBALITE_FUNCTION_ENTRY(0, nl_block_0, decltype(...))

cuda_src/host/function.h contains the macros and types.
"""

from __future__ import annotations

from numbalite import types
from numbalite.compilers import templates
from numbalite.cxx.capture import ascii_name
from numbalite.errors import TranslationError
from numbalite.kernels.builder import SourceBuilder
from numbalite.python.problem import messages_for_cpu
from numbalite.ufuncs import element

_IN_PYTHON = (
    "A function of jit is compiled for numbers and the elements of arrays that it is given. What makes arrays or "
    "lists can stay in Python: leave jit out, or set NUMBALITE_DISABLE_JIT=1 for all such functions."
)


def function_source(function, lists) -> tuple[SourceBuilder, list, list]:
    """Returns a Builder of the source of a DeviceFunction with an entry point for each of these lists of
    argument types, and the symbols of the entry points."""
    builder = SourceBuilder(element.plain_name(function), f"{function.name} for the CPU")
    for args in lists:
        builder.add_types(*args)
    function = function.of(*lists)
    namespace, returned = _add_function(builder, function, lists)
    builder.ahead.append('#include "host/function.h"\n')
    for index, args in enumerate(lists):
        builder.write_generated(_entry_source(function, namespace, index, args, returned[index]))
    return builder, [f"nl_function_{i}" for i in range(len(lists))], returned


def _add_function(builder, function, lists):
    try:
        with messages_for_cpu():
            namespace = builder.add_function(function)
            returned = [
                function.definition.array_results(builder.functions, args) for args in lists
            ]
    except TranslationError as refused:
        raise TranslationError(
            f"{refused}\n{_IN_PYTHON}", file=refused.file, line=refused.line
        ) from None
    return namespace, returned


def _entry_source(function, namespace, index, args, returned=None):
    members = "".join(f" {t.cxx} p{i};" for i, t in enumerate(args))
    values = ", ".join(f"nl_b.p{i}" for i in range(len(args)))
    call = element.call_text(function, namespace, values)
    if (
        returned is not None
    ):  # the extension module creates the returned arrays, which are arguments or parts of arguments
        made = [i for i, item in enumerate(returned[1]) if not isinstance(item, int) or item < 0]
        listed = ", ".join(map(str, made))
        if any(isinstance(item, tuple) for item in returned[1]):
            head = (
                f"views(numbalite::nl_function::items<{listed}>{{}}, " if returned[0] else "viewed("
            )
            call = f"numbalite::nl_function::{head}{call})"
        elif made:
            call = f"numbalite::nl_function::only<{listed}>({call})"
        else:
            call = f"static_cast<void>({call})"
    block = f"nl_block_{index}"
    result = f"decltype({call.replace('nl_b.', f'((const {block} *)0)->')})"
    return templates.fill_template(
        "host_function",
        number=index,
        members=members,
        names=_array_names(function, args),
        result=result,
        call=call,
    )


def _array_names(function, args):
    """Returns code with which a failed check reports the array's name."""
    parameters = function.definition.parameters
    if len(parameters) != len(args) or not any(map(_has_axes, args)):
        return ""
    lines = ["#ifdef NUMBALITE_DEBUG\n"]
    slot = 0
    for i, (name, t) in enumerate(zip(parameters, args, strict=True)):
        if _has_axes(t):
            name = ascii_name(name)
            lines.append(f"{{ auto &{name} = nl_b.p{i}; NUMBALITE_NAME_ARRAY({slot}, {name}); }}\n")
            slot += 1
    return "".join([*lines, "#endif\n"])


def _has_axes(t):
    return isinstance(t, types.Array) and t.ndim > 0
