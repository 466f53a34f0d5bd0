"""numbalite/_core.pyi describes the extension module: every name, and parameters where it documents
them."""

import ast
import pathlib
import re

import pytest

from numbalite import _core

STUB = pathlib.Path(__file__).resolve().parents[2] / "numbalite" / "_core.pyi"
# Attributes that every extension type has, or that Python creates from its slots.
OF_ALL_TYPES = {
    *("__doc__", "__module__", "__new__", "__init__", "__repr__", "__init_subclass__"),
    "__vectorcalloffset__",
    *("__buffer__", "__release_buffer__"),  # since Python 3.12
}

# Parameter names that Python 3.15 generates for functions with one argument or none: ($self,
# object, /).
AUTOMATIC = re.compile(r"\(\$\w+(, object)?, /\)")


def public_declarations(body):
    """Returns a dict from names to nodes of the public declarations of a module or class of the stub."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias":
            found[node.target.id] = node
    return found


STUBS = public_declarations(ast.parse(STUB.read_text()).body)
CLASSES = [name for name, value in vars(_core).items() if isinstance(value, type)]


def declared_members(cls):
    return {name for name in vars(cls) if name not in OF_ALL_TYPES}


def test_stub_declares_every_extension_name():
    differing = {name for name in vars(_core) if not name.startswith("__")} ^ set(STUBS)
    assert not differing, f"only one of {STUB.name} and the extension has {differing}"


@pytest.mark.parametrize("name", CLASSES)
def test_stub_classes_have_the_extensions_members(name):
    stub = public_declarations(STUBS[name].body)
    differing = declared_members(getattr(_core, name)) ^ (set(stub) - {"__new__", "__init__"})
    assert not differing, f"only one of {STUB.name} and the extension's {name} has {differing}"
    for member, node in stub.items():
        if member in ("__new__", "__init__"):
            continue
        kind = type(vars(getattr(_core, name))[member]).__name__
        is_data = isinstance(node, ast.AnnAssign) or "property" in decorator_names(node)
        assert is_data == (kind in ("getset_descriptor", "member_descriptor")), member
        assert ("classmethod" in decorator_names(node)) == (kind == "classmethod_descriptor"), (
            member
        )


def decorator_names(node):
    return {ast.unparse(decorator) for decorator in getattr(node, "decorator_list", ())}


def parameter_names(value, name):
    """Returns the names of an object's parameters: from its text signature, or from a docstring
    that begins with a call of it. None where it does not."""
    text = getattr(value, "__text_signature__", None)
    if not text or "*args" in text or AUTOMATIC.fullmatch(text):
        found = re.match(rf"{name}(\(.*?\))(?= ->|: |$|\n)", value.__doc__ or "")
        text = found[1] if found else None
    if text is None:
        return None
    plain = re.sub(r"[\[\]]|=[^,)]*(\([^)]*\))?", "", text[1:-1])
    names = [word.strip() for word in plain.split(",")]
    return [word.lstrip("*") for word in names if word.strip("*") and word[0] not in "/$"]


def parameter_list(node, of_class):
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [argument.arg for argument in every]
    if arguments.vararg:
        names.append(arguments.vararg.arg)
    return names[1:] if of_class else names


def stub_callables():
    for name, node in STUBS.items():
        value = getattr(_core, name, None)
        if isinstance(node, ast.FunctionDef):
            yield name, value, node, False
            continue
        if isinstance(node, ast.AnnAssign):
            continue
        stub = public_declarations(node.body)
        yield name, value, stub.get("__init__", stub.get("__new__")), True
        for member, inner in stub.items():
            if isinstance(inner, ast.FunctionDef) and not member.startswith("__"):
                yield f"{name}.{member}", vars(value)[member], inner, True


def test_stub_parameters_match_the_extension():
    checked = 0
    for name, value, node, of_class in stub_callables():
        names = parameter_names(value, name.rpartition(".")[2])
        if names is not None and node is not None:
            assert parameter_list(node, of_class) == names, name
            checked += 1
    assert checked > 60
