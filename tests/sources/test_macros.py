"""A user's header may define macros of any name: they do not change the generated code after it.

Each generated source is compiled with a header that defines every identifier of the source as a macro.
"""

import re

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda, types
from numbalite.compilers import Source, compile_source, nvrtc
from numbalite.cpu import entries
from numbalite.cxx import capture, scanner
from numbalite.errors import CompileError
from numbalite.kernels import decorators, results
from numbalite.kernels.options import Options
from numbalite.kernels.source import BodySource
from numbalite.types import signatures
from numbalite.ufuncs import cudaloops, element, gufuncloops, gusignature, hostloops, reduceloops

GPU = ("cuda", 9, 0)
F4 = types.float32
# Identifiers that are not defined as macros: those of the user's lines below,
# and of lines that include numbalite's part.
NEEDED = {"make_tuple", "numbalite", "numbalite_host"}


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
    """Returns a header with a macro for each identifier of numbalite's part of a source."""
    words = set(
        re.findall(r"\b(?!nl_|NUMBALITE|f\d_|k_|record_)[A-Za-z]\w*", scanner.blank_comments(text))
    )
    words = {
        word for word in words - NEEDED - scanner.KEYWORDS if not capture.may_be_macro_name(word)
    }
    words |= set("C F any T N count index type value n".split())
    return "".join(f"#define {word} 1 +* 2\n" for word in sorted(words))


def check_compiles_with_macros(make, target, more=""):
    """Compiles the Source that ``make(options)`` returns, with a header that defines its identifiers as
    macros."""
    empty = make(Options(headers=(("macros.h", ""),)))
    source = make(Options(headers=(("macros.h", header_against(empty.text) + more),)))
    assert compile_source(source, target).data


pytestmark = pytest.mark.usefixtures("own_cache")


@needs_nvrtc
@pytest.mark.parametrize("function", [nl_sum, nl_both])
@pytest.mark.parametrize("kind", ["flat", "tiled", "strided32", "small"])
def test_ufuncs_compile_with_conflicting_macros(function, kind):
    loop = (F4, F4, F4, F4) if function is nl_both else (F4, types.int16, types.float64)
    stored = [types.SCALARS.index(t) + 1 for t in loop]
    stored.insert(2, cudaloops.BOOL)
    plan = cudaloops.UfuncPlan(loop, 2, bytes(stored), kind, int(kind in ("tiled", "strided32")))
    function = element.element_function(function)
    check_compiles_with_macros(
        lambda options: cudaloops.plan_kernel(function, plan, options).images.source, GPU
    )


@needs_nvrtc
@pytest.mark.parametrize("change", [{}, {"block": True, "threads": 64}, {"fixed": True}], ids=str)
def test_gufuncs_compile_with_conflicting_macros(change):
    if "fixed" in change:
        change = {"fixed": (gufuncloops.FixedCore((4,), "C", 16),) * 2}
    plan = gufuncloops.GufuncPlan((F4[::1], F4[:]), 1, (1, 1), **change)
    for function in (element.element_function(nl_copy), source_with_macros("nl_copy")):
        check_compiles_with_macros(
            lambda o, f=function: gufuncloops.plan_kernel(f, plan, o).images.source, GPU
        )


def source_with_macros(name):
    text = f"""
    #include "macros.h"
    template <class nl_A, class nl_B> __device__ void {name}(nl_A nl_x, nl_B nl_y) {{ nl_y[0] = nl_x[0]; }}"""
    return element.element_function(source=text, name=name)


@needs_nvrtc
@pytest.mark.parametrize(
    "kind", ["packed8", "columns4", "serial", "scan_tiles1x4", "at_few32", "at_each_any64"]
)
def test_reductions_compile_with_conflicting_macros(kind):
    function = element.element_function(nl_sum)
    f4 = np.dtype("f4")

    def make_reduction_source(options):
        loops = reduceloops.Loops(lambda dtype: function, "total", options)
        builder, made = loops.generate_kernel(kind, f4, f4, f4)
        return builder.source(made.definition, options, [f"nl_{kind}"])

    check_compiles_with_macros(make_reduction_source, GPU)


@needs_nvrtc
def test_ufunc_return_types_ignore_conflicting_macros(monkeypatch):
    sources = []

    def record_source(source, target):
        sources.append(source)
        return compile_source(source, target)

    def make_ufunc_source(options):
        function = element.element_function(nl_both, options=options)
        assert element.result_types(function, (F4, types.float64), GPU) == (types.float64, F4)
        return sources[-1]

    monkeypatch.setattr(results, "compile_source", record_source)
    check_compiles_with_macros(make_ufunc_source, GPU)


# Tests names in the heads of kernels and device functions, which are captured before their bodies.
RECORD = np.dtype([("nl_re", "f4"), ("nl_half", "f2")])
nl_Z, nl_P, nl_H = 2 + 1j, (1, 2.5), np.float16(1.5)
nl_A = np.arange(3, dtype=np.float32)
HEADS = (
    F4[:], F4[::1, :], types.from_dtype(RECORD), types.complex128,
    types.Tuple((types.int32, types.float16)), types.typeof(None), types.typeof(np.dtype("c8")),
    types.typeof(np.zeros((), "f4")),
)  # fmt: skip


@cuda.jit("complex128(complex128, float32[::1, :])", device=True)
def nl_inner(nl_z, nl_x):
    """
    #include "macros.h"
    return nl_z + nl_Z;
    """


def nl_heads(nl_x, nl_y, nl_r, nl_z, nl_t, nl_n, nl_d, nl_s):
    """
    #include "macros.h"
    nl_x[0] = nl_y(0, 0) + nl_A[1] + (nl_n == nullptr) + sizeof(nl_d) + sizeof(nl_t) + sizeof(nl_P) + sizeof(nl_H);
    nl_x[1] = nl_r.nl_re + sizeof(nl_inner(nl_z, nl_y));
    """


MORE = "".join(
    f"#define {n} 1 +* 2\n" for n in "min max grid gridsize make_tuple numbalite".split()
)


@pytest.mark.parametrize("target", [pytest.param(GPU, marks=needs_nvrtc), ("sim",)], ids=str)
def test_kernels_compile_with_conflicting_macros(target):
    def make_body_source(kernel, args):
        definition = decorators.definition_of(kernel)
        return lambda options: BodySource(definition, options).kernel(args).images.source

    if target == GPU and nvrtc.open_library()[1] < (12, 2):  # no constants of float16
        with pytest.raises(CompileError, match="non-constexpr function .__half::__half"):
            check_compiles_with_macros(make_body_source(nl_heads, HEADS), target, MORE)
    else:
        check_compiles_with_macros(make_body_source(nl_heads, HEADS), target, MORE)
    for args in ((F4[::1], F4[:]), (F4[:, ::1], F4[::1, :])):
        check_compiles_with_macros(make_body_source(nl_copy, args), target)


class SourceTaken(Exception):
    """Raised to stop the creation of a ufunc's loop after its source has been generated."""


def test_cpu_loops_compile_with_conflicting_macros(monkeypatch, host_compiler):
    nl_sum_, nl_both_, nl_copy_ = map(element.element_function, (nl_sum, nl_both, nl_copy))
    both = signatures.signatures(["f4(f4, f4)", "f8(f8, i4)"])
    arrays = signatures.signatures(["void(f4[::1], f4[:])"]), gusignature.parse_layout("(n)->(n)")
    for loops, *given in (
        (hostloops.ufunc_loops, nl_sum_, both),
        (hostloops.lazy_loop, nl_both_, (F4, types.int64), 2),
        (hostloops.gufunc_loops, nl_copy_, *arrays),
    ):

        def make_cpu_loop_source(options, loops=loops, given=given):
            sources = []

            def record_and_stop(source, target):
                sources.append(source)
                raise SourceTaken

            with monkeypatch.context() as patch, pytest.raises(SourceTaken):
                patch.setattr(hostloops, "compile_source", record_and_stop)
                loops(*given, "cpu", options)
            return sources[0]

        check_compiles_with_macros(make_cpu_loop_source, ("host",))

    def make_function_source(options):
        made, symbols, _ = entries.function_source(
            nl_copy_, [(F4[:, ::1], F4[::1, :]), (F4[:],) * 2]
        )
        return made.source(nl_copy_.definition, options.replace(debug=True), symbols)

    check_compiles_with_macros(make_function_source, ("host",))


@pytest.mark.parametrize("target", [pytest.param(GPU, marks=needs_nvrtc), ("sim",)], ids=str)
def test_pre_included_header_may_define_conflicting_macros(target, tmp_path):
    """The header is included after numbalite's part, like macros that options define."""
    header = tmp_path / "macros.h"
    words = "A C F K N T V count i index n type value x".split()
    header.write_text("".join(f"#define {word} 1 +* 2\n" for word in words) + "#define MINE 7\n")
    unit = Source(
        '#include "numbalite.cuh"\nusing namespace numbalite;\n'
        '__global__ void k(int* nl_x) { static_assert(MINE == 7, ""); nl_x[0] = MINE; }\n',
        kernels=("k",),
    )
    for options in (
        ("-include", "macros.h", f"-I{tmp_path}"),
        (f"--pre-include={header}", "-DMINE=7"),
    ):
        assert compile_source(unit.replace(options=options), target).data
