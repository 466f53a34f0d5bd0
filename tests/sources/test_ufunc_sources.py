"""The generated kernels of ufuncs compile for every GPU, for all layouts and dtypes, with accesses of 16
bytes and without local memory. The tests compile with NVRTC, which needs no GPU."""

import re

import pytest
from kit.needs import needs_nvrtc
from kit.sample import draw_cases

from numbalite import types
from numbalite.compilers import compile_source
from numbalite.errors import CompileError
from numbalite.kernels.options import Options
from numbalite.ufuncs import cudaloops, element

pytestmark = needs_nvrtc
VALUE = cudaloops.BY_VALUE
TUPLE = "return make_tuple(x + y, x == y);"


def dtype_code(t):
    return types.SCALARS.index(types.scalar(t)) + 1


def make_overload(loop, stored=None, kind="flat", dims=0, source="x + y", mask=False):
    """Returns the kernel for a loop such as "f4 f4 f4" of a function with two inputs."""
    loop = tuple(types.scalar(t) for t in loop.split())
    codes = [dtype_code(t.dtype) for t in loop] if stored is None else list(stored)
    if mask:
        codes.insert(2, cudaloops.BOOL)
    plan = cudaloops.UfuncPlan(loop, 2, bytes(codes), kind, dims)
    function = element.element_function(source=source, args="x, y", name="f")
    return cudaloops.plan_kernel(function, plan, Options()), plan


CASES = {
    "flat": ("f4 f4 f4",),
    "flat, one byte": ("u1 u1 u1",),
    "flat, bool": ("f8 f8 ?", None, "flat", 0, "x > y"),
    "flat, half": ("f2 f2 f2", None, "flat", 0, "x * y + 2"),
    "flat, complex": ("c16 c16 c16", None, "flat", 0, "x * y"),
    "flat, values": ("f4 f4 f4", [dtype_code("f4") | VALUE, dtype_code("f4"), dtype_code("f4")]),
    "flat, value of complex": (
        "c16 c16 c16",
        [dtype_code("c16") | VALUE, dtype_code("c16"), dtype_code("c16")],
    ),
    "flat, mask": ("f8 f8 f8", None, "flat", 0, "x + y", True),
    "flat, conversions": ("f8 f8 f8", [dtype_code("f2"), dtype_code("?"), dtype_code("c8")]),
    "flat, other conversions": ("c8 c8 c8", [dtype_code("i8"), dtype_code("f2"), dtype_code("u1")]),
    "flat, two results": ("i4 f8 f8 ?", None, "flat", 0, TUPLE),
    "small": ("f4 f4 f4", None, "small"),
    "small, bool": ("f8 f8 ?", None, "small", 0, "x > y"),
    "small, half": ("f2 f2 f2", None, "small", 0, "x * y + 2"),
    "small, values": (
        "f4 c16 c16",
        [dtype_code("f4") | VALUE, dtype_code("c16"), dtype_code("c16")],
        "small",
    ),
    "small, conversions": (
        "c8 c8 c8",
        [dtype_code("i8"), dtype_code("?"), dtype_code("u1")],
        "small",
    ),
    "small, two results": ("i4 f8 f8 ?", None, "small", 0, TUPLE, True),
    "rows": ("f4 f4 f4", None, "rows", 1),
    "rows of many": ("f8 f8 f8", None, "rows", 8, "x + y", True),
    "shifted": ("f4 f4 f4", None, "shifted", 1),
    "shifted bytes": (
        "u1 i2 f4",
        [dtype_code("u1"), dtype_code("i2"), dtype_code("f4")],
        "shifted",
        2,
    ),
    "shifted, one byte": ("u1 u1 u1", None, "shifted", 1),
    "shifted, half": ("f2 f2 f2", None, "shifted", 1),
    "shifted, complex": ("c16 c16 c16", None, "shifted", 1),
    "shifted, mask": ("f8 f8 ?", None, "shifted", 3, "x > y", True),
    "tiled": ("f4 f4 f4", None, "tiled", 1),
    "tiled, one byte": ("u1 u1 u1", None, "tiled", 2),
    "tiled, mixed": ("f4 f8 f8 ?", None, "tiled", 1, TUPLE, True),
    "tiled, complex": ("c16 c16 c16", None, "tiled", 4),
    "strided32": ("f4 f4 f4", None, "strided32", 1),
    "strided32 of many": ("i8 f4 f8 ?", None, "strided32", 16, TUPLE, True),
    "strided64": ("c8 c8 c8", None, "strided64", 3),
    "strided64 of many": ("f2 f2 f2", None, "strided64", 32, "x - y"),
}


@pytest.mark.parametrize("arch", [(7, 5), (10, 0)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_ufunc_loop_source_compiles(case, arch):
    made, _ = make_overload(*CASES[case])
    image = compile_source(made.images.source, ("cuda", *arch))
    assert image.lowered[made.expression] == "nl_f"
    assert b".local" not in image.ptx, "elements went into local memory"


def compile_to_ptx(*given, **more):
    made, plan = make_overload(*given, **more)
    return compile_source(made.images.source, ("cuda", 9, 0)).ptx.decode(), plan


def test_contiguous_loops_use_wide_accesses():
    for loop, count in (
        ("f4 f4 f4", 4),
        ("f8 f8 f8", 2),
        ("c16 c16 c16", 1),
        ("u1 u1 u1", 16),
        ("i2 i2 i2", 8),
    ):
        text, plan = compile_to_ptx(loop)
        assert cudaloops.elements_per_thread(plan) == count, loop
        loads = re.findall(r"ld\.global\.(v[248]\.[bfu]\d+)", text)
        stores = re.findall(r"st\.global\.(v[248]\.[bfu]\d+)", text)
        widths = [int(n[1]) * int(n.split(".")[1][1:]) for n in loads + stores]
        assert widths.count(128) >= 3, (loop, loads, stores)


def test_ufunc_loops_use_32_bit_indices_where_sufficient():
    text, _ = compile_to_ptx("f4 f4 f4", kind="strided32", dims=3)
    assert "div." not in text and "rem." not in text


def test_elements_per_thread_depend_on_element_size():
    def elements_per_thread(loop, stored=None, kind="flat"):
        return cudaloops.elements_per_thread(
            make_overload(loop, stored, kind, int(kind != "flat"))[1]
        )

    assert elements_per_thread("c16 c16 c16") == 1
    assert elements_per_thread("f8 f8 ?") == 4
    assert (
        elements_per_thread(
            "f8 f8 f8", [dtype_code("f8") | VALUE, dtype_code("i1"), dtype_code("i1")]
        )
        == 16
    )
    assert elements_per_thread("f4 f4 f4", kind="rows") == 4
    assert elements_per_thread("f4 f4 f4", kind="strided32") == 4
    assert elements_per_thread("c16 c16 c16", kind="strided32") == 1
    assert elements_per_thread("f4 f4 f4", kind="strided64") == 1
    assert elements_per_thread("f4 f4 u1", kind="tiled") == 16
    assert elements_per_thread("f4 f8 f8", kind="tiled") == 4


SHORT = ["x + y", "sin(x) * cos(y)", "x > y ? x : y", "exp(x) - tgamma(y)", "x * y * x + y"]


@pytest.mark.parametrize("loop", ["f4 f4 f4", "f8 f8 f8", "i4 i8 i8", "f2 f2 f2", "f4 i2 f8"])
def test_short_sources_compile_to_the_same_code(loop):
    """NVRTC omits declarations for small kernels (--minimal), and loads need no conversion."""
    for source in draw_cases(1, [one for one in SHORT if loop[0] != "i" or "(" not in one], loop):
        unit = make_overload(loop, None, "small", source=source)[0].images.source
        text = re.sub(r"\*p\.at<const (\w+)>\((\d), i\)", r"p.load<\1, \1>(\2, i)", unit.text)
        assert unit.is_short and text != unit.text
        short = compile_source(unit, ("cuda", 9, 0))
        complete = compile_source(unit.replace(text=text, is_short=False), ("cuda", 9, 0))
        assert short.data == complete.data


def test_short_sources_may_use_every_declaration():
    source = "cudaStream_t s = nullptr; return x + (s ? y : 1);"
    unit = make_overload("f4 f4 f4", None, "small", source=source)[0].images.source
    assert compile_source(unit, ("cuda", 9, 0)).lowered == {"nl_f": "nl_f"}
    unit = make_overload("f4 f4 f4", None, "small", source="x + absent")[0].images.source
    with pytest.raises(CompileError, match='identifier "absent" is undefined'):
        compile_source(unit, ("cuda", 9, 0))


def test_ufunc_compile_errors_have_the_users_lines():
    made, _ = make_overload("f4 f4 f4", source="return x +\n  y;")
    text = made.images.source.text
    assert re.search(r'#line \d+ "[^"]*test_ufunc_sources.py"', text)


@pytest.mark.parametrize("kind", cudaloops.KINDS)
def test_ufunc_parameter_sizes_match_the_compiler(kind):
    dims = 0 if kind in ("flat", "small") else 3
    made, plan = make_overload("f4 f4 f4", None, kind, dims, "x + y", True)
    unit = made.images.source
    size = cudaloops.parameter_size(plan)
    first = "    const long long i" if kind == "small" else "    run<"
    text = unit.text.replace(first, f'    static_assert(sizeof(p) == {size}, "");\n{first}')
    assert text != unit.text
    compile_source(unit.replace(text=text), ("cuda", 9, 0))


def test_result_types_are_deduced():
    def result_types_of(source, *given):
        function = element.element_function(source=source, args="x, y", name="f")
        found = element.result_types(function, map(types.scalar, given), ("cuda", 9, 0))
        return [str(t) for t in found]

    assert result_types_of("x + y", "f4", "f8") == ["float64"]
    assert result_types_of("x + y", "i2", "i1") == ["int32"]
    assert result_types_of("x * y", "c8", "f8") == ["complex128"]
    assert result_types_of("x / 3", "f2", "f2") == ["float16"]
    assert result_types_of(TUPLE, "u1", "u8") == ["uint64", "boolean"]
    assert result_types_of('printf("%d", 1);', "u1", "u8") == []
