"""Frequent mistakes in CUDA C++: each causes a warning at its line with every compiler, and no corrected
version causes one."""

import os
import random
import re
import time
import warnings

import pytest
from kit import slips
from kit.sample import VARIABLE

from numbalite.cxx import linemap
from numbalite.cxx import slips as search
from numbalite.cxx.slip import LineRange
from numbalite.errors import KernelWarning
from numbalite.kernels import options
from numbalite.kernels.module import Module


@pytest.fixture(scope="module")
def warnings_of_source(target_of_each):
    """Returns a function warnings_of_source(source), which returns a compiler's warnings about a source."""

    def compile_and_warn(source, **more):
        given = options.parse_options(more, "cuda.module")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            Module(linemap.consecutive_text(source, "user.cu"), given)._images.image(target_of_each)
        return [one for one in found if one.category is KernelWarning]

    return compile_and_warn


@pytest.fixture(scope="module")
def slip_warnings(warnings_of_source):
    """Returns the warnings about the kernels of all mistakes, and their lines."""
    source, lines = slips.source_of_slips()
    return warnings_of_source(source), lines


def test_mistakes_warn_at_their_line(slip_warnings):
    found, lines = slip_warnings
    wanted = {lines[pair.name]: pair for pair in slips.PAIRS}
    at = {line: [str(one.message) for one in found if one.lineno == line] for line in wanted}
    others = {wanted[line].name: texts for line, texts in at.items() if len(texts) != 1}
    assert not others
    assert not [pair for line, pair in wanted.items() if pair.says not in at[line][0]]
    assert {one.filename for one in found} == {"user.cu"}
    assert {one.lineno for one in found} == set(wanted)


def test_a_warning_shows_the_line(slip_warnings):
    found, _ = slip_warnings
    rows = slips.source_of_slips()[0].split("\n")
    for one in found:
        assert rows[one.lineno - 1].strip() in str(one.message), one


def test_correct_variants_of_mistakes_do_not_warn(warnings_of_source):
    assert warnings_of_source(slips.source_without_slips()) == []


def test_common_idioms_do_not_warn(warnings_of_source):
    assert warnings_of_source(slips.silent_source()) == []


SIGNS = [
    *"(){}[];,=<>!&|^%/+-*:?.#",
    "if (",
    "else",
    "for (",
    "switch (",
    "case 1:",
    "return",
    "^ 2",
    "1/2",
    "float ",
]


def test_a_source_with_errors_is_searched_without_an_exception():
    """The compiler reports these errors; the search for frequent mistakes does not."""
    seed = os.environ.get(VARIABLE, "all")
    draw = random.Random(seed)
    texts = [slips.source_of_slips()[0], slips.source_without_slips(), slips.silent_source()]
    for _ in range(600):
        text = draw.choice(texts)
        start = draw.randrange(len(text))
        parts = re.findall(r"\w+|\s+|.", text[start : start + draw.randrange(1, 1200)])
        for _ in range(draw.randrange(8)):
            at = draw.randrange(len(parts))
            parts[at] = draw.choice(["", parts[at] + draw.choice(SIGNS), draw.choice(parts)])
        find_mistakes("".join(parts))


@pytest.mark.parametrize(
    "text, is_found",
    [
        ("float f(float v) { v * 2; }", True),
        ("float f(float v) { if (v > 0) return v; }", True),
        (
            "__device__ int f(int v) {\n    if (v > 0) { return 1; }\n    else if (v < 0) return 2;\n}",
            True,
        ),
        ("float f(float v) { if (v > 0) return v; else return -v; }", False),
        ("template <int n> float f(float v) { if constexpr (n > 0) return v; }", False),
        ("float f(float v) { for (;;) if (v > 0) return v; }", False),
        ('float f(float v) { printf("%f", v); assert(false); }', False),
        ('float f(float v) { asm("trap;"); }', False),
        ("struct S { float v; S(float w) { v = w; } };", False),
        ("__device__ void f(float *v) { *v = 1; }", False),
        (
            "template <int n> float f(float v) { }\ntemplate <> float f<1>(float v) { return v; }",
            False,
        ),
        ("struct S { alignas(4) char data[4]; };", False),
    ],
)
@pytest.mark.every_case
def test_a_function_without_a_result_is_reported(text, is_found):
    assert ["without a return" in slip.text for slip in find_mistakes(text)] == [True] * is_found


@pytest.mark.parametrize(
    "text, is_found",
    [
        ("float *f() { float s[2] = {}; return &s[0]; }", True),
        ("int *f() { int k = 1; return &k; }", True),
        ("float *f() { static float s[2]; return &s[0]; }", False),
        ("__device__ float *f() { __shared__ float s[2]; return &s[0]; }", False),
        ("float *f(float *s) { return &s[0]; }", False),
        ("float f() { float s[2] = {}; auto at = [&]() { return &s[0]; }; return *at(); }", False),
        ("int f(int k) { return k; }", False),
    ],
)
@pytest.mark.every_case
def test_the_address_of_a_variable_as_a_result_is_reported(text, is_found):
    assert ["ends with the function" in slip.text for slip in find_mistakes(text)] == [
        True
    ] * is_found


def find_mistakes(text):
    """Returns the slips in a text."""
    return search.find_slips(f'#line 1 "k.cu"\n{text}', [LineRange("k.cu", 1, 10**6)])[0]


@pytest.mark.parametrize(
    "text",
    [
        "n = " + " | ".join(map(str, range(2000))) + ";",
        "n = " + " < ".join(map(str, range(2000))) + ";",
        "".join(f"float v{i};\n" for i in range(2000)),
        "".join(f"out[i] = 1/n * x[{i}] + (i^2);\n" for i in range(1000)),
        "if (n) n = 1;\n" + "".join(f"else if (n == {i}) n = 1;\n" for i in range(4000)),
        "{" * 4000 + "}" * 4000,
        "n = " + "(" * 4000 + "1" + ")" * 4000 + ";",
    ],
    ids=["or", "less", "variables", "quotients", "else", "blocks", "parentheses"],
)
def test_generated_text_is_checked_in_seconds(text):
    began = time.process_time()
    find_mistakes(slips.KERNEL.format(name="k", text=text))
    assert time.process_time() - began < 20


def test_only_user_lines_are_checked_for_mistakes():
    text = "__device__ float f(float x) { return 1/2 * x; }"
    assert len(find_mistakes(text)) == 1
    assert search.find_slips(text, [LineRange("k.cu", 1, 9)]) == ([], [])
    assert search.find_slips(f'#line 4 "k.cu"\n{text}', [LineRange("k.cu", 1, 3)]) == ([], [])
    assert search.find_slips(f'#line 4 "k.cu"\n{text}', [LineRange("k.cu", 4, 4, True)]) == ([], [])
