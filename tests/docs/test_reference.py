"""The reference lists every public name, each name has a docstring, and the examples run."""

import doctest
import inspect
import re
import types
import warnings

import doc_pages
import numpy as np
import pytest

import numbalite
from numbalite import config, course, cuda, errors

PAGES = doc_pages.ROOT / "docs/reference"
ERRORS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, (errors.NumbaliteError, Warning))
]
PUBLIC = [
    *(("numbalite", name, getattr(numbalite, name)) for name in numbalite.__all__),
    *(("numbalite.cuda", name, getattr(cuda, name)) for name in cuda.__all__),
    *(("numbalite.course", name, getattr(course, name)) for name in course.__all__),
    *(("numbalite.errors", cls.__name__, cls) for cls in dict.fromkeys(ERRORS)),
]
FUNCTIONS = [
    one
    for one in PUBLIC
    if callable(one[2]) and not isinstance(one[2], (type, numbalite.types.Type))
]
IDS = [f"{module}.{name}" for module, name, _ in PUBLIC]


def documented_names():
    """Returns the full names, such as numbalite.cuda.scan, that the reference documents."""
    found = set()
    for page in sorted(PAGES.glob("*.md")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            directive = re.match(r"\.\. (?:py:|auto)(\w+):: ([\w.]+)", line)
            if directive is None:
                members = re.match(r"   :members: (\w.*)", line)
                if members and module:
                    found.update(f"{module}.{name}" for name in members[1].split(", "))
                continue
            kind, name = directive.groups()
            if kind == "module":
                module = name
                found.add(name)
            else:
                found.add(name if name.startswith("numbalite.") else f"{module}.{name}")
    return found


def test_every_public_name_is_described():
    missing = sorted(set(IDS) - documented_names())
    assert not missing, f"docs/reference lacks {missing}"


@pytest.mark.parametrize("public", PUBLIC, ids=IDS)
def test_docstrings_are_not_empty(public):
    """A docstring is at least one sentence; a program in it is separated by an empty line."""
    _, name, value = public
    text = inspect.getdoc(value) or ""
    assert re.match(r"\S[^\n]{10,}", text), f"{name}: {text!r}"
    assert re.search(r"[.:?)`]($|\n)", text), f"{name}: {text!r}"


@pytest.mark.parametrize("public", FUNCTIONS, ids=[f"{one[0]}.{one[1]}" for one in FUNCTIONS])
def test_docstrings_of_functions_describe_the_parameters(public):
    """tests/layout/test_docstrings.py checks the form of these sections."""
    module, name, value = public
    text = inspect.getdoc(value) or ""
    assert "\nParameters\n---" in text or not inspect.signature(value).parameters, (
        f"the docstring of {module}.{name} has no section Parameters"
    )


def test_numbas_names_of_the_errors_are_listed():
    page = (PAGES / "errors.md").read_text(encoding="utf-8")
    names = {name for name, value in vars(errors).items() if isinstance(value, type)}
    missing = sorted(name for name in names if f"`{name}`" not in page and name not in page)
    assert not missing


def test_every_error_has_a_documented_remedy():
    """docs/errors.md mentions each exception class."""
    page = (doc_pages.ROOT / "docs/errors.md").read_text(encoding="utf-8")
    missing = [cls.__name__ for cls in ERRORS if cls.__name__ not in page]
    assert not missing


def test_configuration_page_lists_every_variable():
    """docs/reference/configuration.md contains the table of numbalite.config."""
    page = (PAGES / "configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", page, re.M)
    expected = []
    for row in config.VARIABLES.values():
        default = int(row.default) if isinstance(row.default, bool) else row.default
        aliases = [alias if isinstance(alias, str) else alias[0] for alias in row.aliases]
        expected.append(
            (
                f"NUMBALITE_{row.name}",
                "" if default in (None, ()) else f"`{default}`",
                row.doc,
                ", ".join(f"`{alias}`" for alias in aliases),
            )
        )
    assert [tuple(cell.strip() for cell in row) for row in rows] == expected


# ---- examples in docstrings


def names_outside_all():
    """Yields the names that the reference describes in addition to __all__."""
    from numbalite.cuda import random, sparse
    from numbalite.runtime import memory

    yield from (
        ("numbalite.types", name, getattr(numbalite.types, name))
        for name in ("from_dtype", "typeof")
    )
    yield "numbalite.runtime.memory", "MemoryPool", memory.MemoryPool
    for name in ("create_xoroshiro128p_states", "default_rng"):
        yield "numbalite.cuda.random", name, getattr(random, name)
    for name in sparse.__all__:
        yield "numbalite.cuda.sparse", name, getattr(sparse, name)
    yield "numbalite.cuda.sparse.linalg", "cg", sparse.linalg.cg


def public_doctests():
    """Yields (name, doctest) of the public names and of the methods of public classes."""
    seen = set()
    for module, name, value in (*PUBLIC, *names_outside_all()):
        holders = [(f"{module}.{name}", value)]
        if isinstance(value, type):
            holders += [
                (f"{module}.{name}.{key}", member)
                for key, member in inspect.getmembers(value)
                if not key.startswith("_") and getattr(member, "__doc__", None)
            ]
        for full, one in holders:
            text = getattr(one, "__doc__", None)
            if isinstance(one, types.ModuleType) or not isinstance(text, str) or ">>>" not in text:
                continue
            if text not in seen:
                seen.add(text)
                yield full, doctest.DocTestParser().get_doctest(text, {}, full, None, 0)


EXAMPLES = list(public_doctests())


@pytest.mark.parametrize("example", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_docstring_examples_run(example, driver_kind):
    name, case = example
    if ".checks" in name and driver_kind != "sim":
        pytest.skip("only the simulator has checks")
    import numbalite

    case.globs.update(np=np, numbalite=numbalite, cuda=cuda, __name__="__main__")
    case.globs.update({key: getattr(numbalite, key) for key in ("jit", "vectorize", "guvectorize")})
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(case, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_docstring_examples_are_found():
    assert len(EXAMPLES) > 30
