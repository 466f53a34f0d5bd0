"""A user's header may have macros of any name: those that generated code uses behind it do not reach it.

Each source is generated, and compiled with a header in which every one of its own words is a macro.
"""

import re

import numpy as np
import pytest

from numbalite import cuda, types
from numbalite.compilers import Source, compile_source, toolkit
from numbalite.cpu import entries
from numbalite.errors import CudaSupportError
from numbalite.kernels import results
from numbalite.kernels.options import Options
from numbalite.text import capture, scanner
from numbalite.types import signatures
from numbalite.ufuncs import cudaloops, element, gufuncloops, gusignature, hostloops, reduceloops

GPU = ("cuda", 9, 0)
F4 = types.float32
# Words of parameters' types, which are declared ahead of the user's lines, and what leads to ours.
NEEDED = {"array", "layout", "tuple", "make_tuple", "numbalite", "numbalite_host"}


def nl_sum(nl_x, nl_y):
    """
    #include "macros.h"
    return nl_x + nl_y;
    """


def nl_both(nl_x, nl_y):
    """
    #include "macros.h"
    return numbalite::make_tuple(nl_x + nl_y, nl_x);
    """


def nl_copy(nl_x, nl_y):
    """
    #include "macros.h"
    nl_y[0] = nl_x[0];
    """


def header_against(text):
    """A header with a macro for each word of a source that is ours."""
    words = set(re.findall(r"\b(?!nl_|NUMBALITE|f\d_|k_)[A-Za-z]\w*", scanner.strip(text)))
    words = {word for word in words - NEEDED - scanner.KEYWORDS if not capture.may_be_macro(word)}
    words |= set("C F any T N count index type value n".split())
    return "".join(f"#define {word} 1 +* 2\n" for word in sorted(words))


def check(unit, target):
    """Compiles a unit with such a header."""
    unit = unit.replace(headers=(("macros.h", header_against(unit.text)),))
    try:
        assert compile_source(unit, target).data
    except CudaSupportError as problem:
        pytest.skip(str(problem))


pytestmark = pytest.mark.usefixtures("own_cache")
needs_nvrtc = pytest.mark.skipif(not toolkit.libraries(), reason="NVRTC is not installed")


@needs_nvrtc
@pytest.mark.parametrize("function", [nl_sum, nl_both])
@pytest.mark.parametrize("kind", ["flat", "tiled", "strided32"])
def test_ufuncs(function, kind):
    loop = (F4, F4, F4, F4) if function is nl_both else (F4, types.int16, types.float64)
    stored = [types.SCALARS.index(t) + 1 for t in loop]
    stored.insert(2, cudaloops.BOOL)
    plan = cudaloops.Plan(loop, 2, bytes(stored), kind, int(kind != "flat"))
    made = cudaloops.kernel(element.element_function(function), plan, Options())
    check(made.images.source, GPU)


@needs_nvrtc
@pytest.mark.parametrize("change", [{}, {"block": True, "threads": 64}, {"fixed": True}], ids=str)
def test_generalized_ufuncs(change):
    if "fixed" in change:
        change = {"fixed": (gufuncloops.Fixed((4,), "C", 16),) * 2}
    for function in (element.element_function(nl_copy), a_source("nl_copy")):
        plan = gufuncloops.Plan((F4[::1], F4[:]), 1, (1, 1), **change)
        check(gufuncloops.kernel(function, plan, Options()).images.source, GPU)


def a_source(name):
    text = f"""
    #include "macros.h"
    template <class nl_A, class nl_B> __device__ void {name}(nl_A nl_x, nl_B nl_y) {{ nl_y[0] = nl_x[0]; }}"""
    return element.element_function(source=text, name=name)


@needs_nvrtc
@pytest.mark.parametrize("kind", ["packed", "columns4", "serial", "scan_blocks", "at"])
def test_reductions(kind):
    function = element.element_function(nl_sum)
    f4 = np.dtype("f4")
    made, _ = reduceloops.Loops(lambda dtype: function, "total").generated(kind, f4, f4, f4)
    check(Source(made.finish(), kernels=(f"nl_{kind}",), describe=False), GPU)


@needs_nvrtc
def test_kernels_and_what_ufuncs_return():
    kernel = cuda.jit(nl_copy)
    for args in ((F4[::1], F4[:]), (F4[:, ::1], F4[::1, :])):
        check(kernel._source.kernel(args).images.source, GPU)
    builder_of = []
    keep = results._compile
    results._compile = lambda *given: builder_of.append(given[1]) or keep(*given)
    try:
        given = {"headers": (("macros.h", ""),)}
        function = element.element_function(nl_both, options=Options(**given))
        assert element.result_types(function, (F4, types.float64), GPU) == (types.float64, F4)
    finally:
        results._compile = keep
    check(Source(builder_of[0].finish(), kernels=("nl_results",)), GPU)


class Taken(Exception):
    """Ends the making of a loop where its source is known."""


@pytest.mark.parametrize("compiler", ["clang++", "g++"])
def test_the_cpu(monkeypatch, compiler):
    monkeypatch.setenv("NUMBALITE_CXX", compiler)
    units = []

    def take(unit, target):
        units.append(unit)
        raise Taken

    monkeypatch.setattr(hostloops, "compile_source", take)
    both = signatures.signatures(["f4(f4, f4)", "f8(f8, i4)"])
    functions = list(map(element.element_function, (nl_sum, nl_both, nl_copy)))
    for make, *given in (
        (hostloops.ufunc_loops, functions[0], both),
        (hostloops.lazy_loop, functions[1], (F4, types.int64), 2),
        (
            hostloops.gufunc_loops, functions[2],
            signatures.signatures(["void(f4[::1], f4[:])"]), gusignature.parse("(n)->(n)"),
        ),
    ):  # fmt: skip
        with pytest.raises(Taken):
            make(*given, "cpu", Options())
    lists = [(F4[:, ::1], F4[::1, :]), (F4[:], F4[:])]
    made, symbols = entries.function_source(functions[2], lists)
    units.append(made.source(functions[2].definition, Options(debug=True), symbols))
    for unit in units:
        check(unit, ("host",))
