"""Compiles a device function alone: a source with C linkage, and its PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.compilers import Source
from numbalite.cxx.definition import Definition, device_texts
from numbalite.errors import SignatureError
from numbalite.kernels import builder, translations
from numbalite.kernels.images import Images
from numbalite.kernels.options import Options
from numbalite.types import Signature, signatures

if TYPE_CHECKING:
    from typing import Any

    from numbalite.kernels.devicefunction import DeviceFunction


def exported_source(
    function: DeviceFunction, signature: Signature, exported: str, options: Options
) -> tuple:
    """Returns (Source, return type, function that explains compile errors). ``exported`` is the function's C
    name."""
    if not function.definition.is_unit:
        check_parameter_count(signature, function.definition)
    if options.linked:
        raise NotImplementedError(
            "cuda.compile does not support link=, which is for launched kernels"
        )
    text, result = _generate_source(function, signature, exported, options)
    fields = options.source_fields()
    fields["stoppable"] = False  # not stoppable: programs that link this code have no stop flag
    fields["options"] = ("--relocatable-device-code=true", *fields["options"])
    made = Source(text=text, name=f"{function.name}.cu", describe=False, **fields)

    def explain_error(problem):
        from numbalite.compilers import hints

        definition = function.typed(signature)[0].definition
        refused = definition.capture().refused
        others = device_texts(definition)
        return hints.add_hints(problem, function.name, refused, (), definition.cxx, others)

    return made, result, explain_error


def _generate_source(function, signature, exported, options):
    """Returns (the C++ text, the return type). A Python body whose translation is in the disk cache is not
    translated again."""
    definition = function.definition
    types_of_call = *signature.args, signature.return_type
    contents = definition.device_function_contents(function, [types_of_call], options, exported)
    key, made = translations.find_translation(contents)
    if made is None:
        typed, signature = function.typed(signature)
        made = builder.device_source(typed, exported, signature), signature.return_type
        translations.store_translation(key, contents, made, typed.definition.warnings)
    return made


def exported_ptx(function: DeviceFunction, sig: Any) -> str:
    """Returns the PTX as text, compiled with the options of the function's definition."""
    from numbalite.kernels import inspection

    signature = signatures.signature(sig, function.definition.scope.get)
    options = function.options or Options(device=True)
    made, _, explain = exported_source(function, signature, function.name, options)
    return inspection.ptx_text(Images(made, explain))


def check_parameter_count(signature: Signature, definition: Definition) -> None:
    """Raises an error unless the signature has one type for each parameter."""
    if len(signature.args) != len(definition.parameters):
        raise SignatureError(
            f"{definition.name} has {len(definition.parameters)} parameters, "
            f"the signature {signature} has {len(signature.args)}"
        )
