"""Runs random programs as kernels with Python bodies: the results equal those of Python with
numba's types.

Many expressions and statements are tested in one kernel, because compilation takes most of the time.
The tests compare each value, and the type of each expression, which is that of its C++ variable."""

import ast
import builtins
import importlib.util
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.drawn import draw_examples, make_values
from kit.typed import NAMES, TypedValue, cast_to_type, common_type, to_typed

from numbalite import config

pytestmark = [
    # Ignores warnings about lines of random programs that look like mistakes.
    pytest.mark.filterwarnings("ignore::numbalite.errors.KernelWarning"),
    pytest.mark.usefixtures("optimized_host_code"),
]

ROWS = 24
COUNT = 40
WHOLE = {"a": "i1", "b": "u1", "c": "i2", "d": "u2", "e": "i4", "f": "u4", "g": "i8", "h": "u8"}
INPUTS = {**WHOLE, "p": "?", "x": "f4", "y": "f8", "z": "c8", "w": "c16"}
NAMED = itertools.count()


@pytest.fixture(autouse=True)
def ignore_copy_warnings(monkeypatch):
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", False)


CASTS = ("int32", "uint8", "int16", "uint32", "int64", "uint64", "int", "int8")
SIGNED = ("int32", "int16", "int64", "int8", "int")


def _variable_names(text):
    names = {
        node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)
    }
    return names - set(NAMES) - set(dir(builtins))


class RandomExpressions:
    """Texts of expressions. Random expressions consist of literals, and of names, whose operations Python
    does not evaluate in advance."""

    def __init__(
        self, random, whole="abcdefghp", real="xy", natural=("f", "d", "b", "3"), casts=CASTS
    ):
        self.random, self.whole, self.real, self.natural = random, list(whole), list(real), natural
        self.casts = casts

    def choose(self, *choices):
        return self.random.choice(choices)

    def integer(self, depth=3):
        if depth == 0 or self.random.random() < 0.1:
            return self.choose(
                *self.whole * 3, str(self.random.randint(-9, 70)), "255", "2147483647"
            )
        less = depth - 1
        a, b = self.integer(less), self.integer(less)
        make = self.choose(
            *[self._arithmetic] * 4, self._bits, self._chosen, self._cast, self._truth
        )
        return make(a, b, less)

    def _arithmetic(self, a, b, less):
        b = self.choose(b, b, self.choose("3", "-4", "1", "16", "7"))
        return f"({a} {self.choose('+', '-', '*', '//', '%', '+', '-')} {b})"

    def _bits(self, a, b, less):
        a, b = f"int64({a})", self.choose(f"int64({b})", "15", "-2")
        return self.choose(
            f"({a} {self.choose(*'&|^')} {b})",
            f"({a} {self.choose('<<', '>>')} ({b} & 31))",
            f"(~{a})",
            f"({self.choose(*self.whole[:-1])} {self.choose('&', '|', '^', '>>')} {self.choose(*self.natural)})",
        )

    def _chosen(self, a, b, less):
        return self.choose(
            f"({a} if {self.truth(less)} else {a} + 1)",
            f"{self.choose('min', 'max')}({a}, {b})",
            f"(-{a})", f"abs({a})", f"{self._base(a)} ** {self.random.randint(0, 3)}",
        )  # fmt: skip

    def _base(self, a):
        """Returns expressions that are not compile-time constants, because constant powers beyond
        64 bits are refused, as in numba."""
        return a if _variable_names(a) else f"({a} + {self.choose(*self.whole)})"

    def _cast(self, a, b, less):
        name = self.choose(*self.casts)
        return f"{name}({self.choose(a, a, f'round({self.float_expression(less)})', self.float_expression(less))})"

    def _truth(self, a, b, less):
        return self.choose(f"int({self.truth(less)})", f"({self.truth(less)}) + {a}")

    def truth(self, depth=2):
        less = max(depth - 1, 0)
        a, b = self.integer(less), self.choose(self.integer, self.float_expression)(less)
        compared = [self.choose("<", "<=", ">", ">=", "==", "!=") for _ in range(2)]
        return self.choose(
            f"{a} {compared[0]} {b}",
            f"{a} {compared[0]} {b} {compared[1]} {self.integer(0)}",
            f"(not {a} {compared[0]} {b})",
            f"({a} {compared[0]} {b} {self.choose('and', 'or')} {self.integer(0)} {compared[1]} {b})",
            f"({a} in (1, 2, {self.integer(0)}))",
        )

    def float_expression(self, depth=2):
        if depth == 0 or self.random.random() < 0.1:
            return self.choose(
                *self.real * 2, *self.whole[:6], str(round(self.random.uniform(-5, 5), 2))
            )
        less = depth - 1
        a, b = (
            self.float_expression(less),
            self.choose(self.float_expression, self.integer)(less),
        )
        return self.choose(
            f"({a} {self.choose('+', '-', '*', '/')} {b})",
            f"({a} {self.choose('//', '%')} {b})",
            f"abs({a})",
            f"{self.choose('min', 'max')}({a}, {b})",
            f"(-{a})",
            f"float32({a})",
            f"float({b})",
            f"({b} / {self.integer(0)})",
            f"({a}) ** {self.random.randint(1, 2)}",  # as exact as Python's
            f"({a} if {self.truth(less)} else {a})",
        )

    def complex(self, depth=2):
        if depth == 0:
            return self.choose("z", "w", "z", "w", "2j")
        a = self.complex(depth - 1)
        b = self.choose(self.complex, self.float_expression)(0)
        return self.choose(
            f"({a} {self.choose(*'+-*')} {b})", f"(-{a})", f"({b} {self.choose(*'+-*')} {a})",
            f"complex64({a})",
        )  # fmt: skip

    def expression(self):
        return self.choose(
            self.integer, self.integer, self.integer, self.float_expression, self.float_expression, self.truth,
            self.complex, lambda: f"abs({self.complex(1)})", lambda: f"{self.complex(1)}.imag",
            lambda: f"({self.float_expression()}) ** 3",
        )()  # fmt: skip


def input_rows(seed):
    """Returns a dict from a name to a value for each row: mostly small values, and the limits of the
    types."""
    found = {}
    for k, (name, t) in enumerate(INPUTS.items()):
        found[name] = make_values([seed, k], (ROWS,), t, low=-40, high=40)
        if t[0] in "iu":
            info = np.iinfo(t)
            found[name][:6] = [info.min, info.max, 0, 1, info.max // 2, info.min // 2]
            np.random.default_rng([seed, k]).shuffle(found[name])
    return found


def compile_program(tmp_path, lines):
    name = f"drawn{next(NAMED)}"
    path = tmp_path / f"{name}.py"
    names = ", ".join(sorted(name for name in NAMES if not hasattr(builtins, name)))
    path.write_text("\n".join([f"from numbalite import cuda, {names}", *lines, ""]))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


HEAD = [
    f"def kernel({', '.join(name.upper() for name in INPUTS)}, whole, natural, real, complex_):",
    "    t = cuda.grid(1)",
    *(f"    {name} = {name.upper()}[t]" for name in INPUTS),
]
KINDS = {"b": "whole", "i": "whole", "u": "natural", "f": "real", "c": "complex_"}
OUTPUTS = {"whole": "i8", "natural": "u8", "real": "f8", "complex_": "c16"}


def python_values_of_row(values, k):
    """Returns the values of a program's names in one row, for Python."""
    given = {
        name: TypedValue(v[k] if v.dtype.kind in "fc" else v[k].item(), v.dtype)
        for name, v in values.items()
    }
    return {**NAMES, **given}


def assert_results_agree(text, found, expected):
    """Compares floats with a tolerance: powers are computed by multiplications, and a GPU
    computes a * b + c with one rounding."""
    v = expected.value
    if expected.dtype.kind not in "fc":
        return found == v
    if not np.isfinite(v):
        return True  # skips results after an overflow
    is_single = re.search(r"\b(x|z|float32|complex64)\b", text)
    return np.isclose(found, v, rtol=1e-5 if is_single else 1e-13, atol=1e-4 if is_single else 1e-9)


@given(random=st.randoms(use_true_random=False), seed=st.integers(0, 1000))
@draw_examples(2)
def test_random_expressions_match_python(tmp_path_factory, random, seed):
    values = input_rows(seed)
    texts, expected = [], []
    while len(texts) < COUNT:
        text = RandomExpressions(random).expression()
        results = [evaluate_in_python(text, python_values_of_row(values, k)) for k in range(ROWS)]
        kinds = {r.dtype for r in results if r is not None}
        if len(kinds) == 1:  # else nothing is defined
            texts.append(text)
            expected.append((kinds.pop(), results))
    lines = ["@cuda.jit", *HEAD]
    for k, (text, (t, _)) in enumerate(zip(texts, expected, strict=True)):
        lines += [f"    e{k} = {text}", f"    {KINDS[t.kind]}[t, {k}] = e{k}"]
    kernel = compile_program(tmp_path_factory.mktemp("drawn"), lines)
    outputs = {name: np.zeros((ROWS, COUNT), t) for name, t in OUTPUTS.items()}
    kernel[1, ROWS](*values.values(), *outputs.values())
    (source,) = kernel.inspect_source().values()
    for k, (text, (t, results)) in enumerate(zip(texts, expected, strict=True)):
        declared = re.search(rf"^ *(?:const )?(\w+) e{k}(?: =|;)", source, re.MULTILINE)[1]
        assert declared == t.name, f"{text} is {declared}, not {t.name}"
        for row, (result, found) in enumerate(
            zip(results, outputs[KINDS[t.kind]][:, k], strict=True)
        ):
            assert result is None or assert_results_agree(text, found, result), (
                f"{text} is {found}, not {result} with { {n: v[row] for n, v in values.items()} }"
            )


class CommonTypeChoices(ast.NodeTransformer):
    """``a if test else b`` has the common type of a and b, whichever is selected."""

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        args = [node.test, node.body, node.orelse]
        return ast.copy_location(ast.Call(ast.Name("chosen", ast.Load()), args, []), node)


def select_by_condition(test, a, b):
    a, b = to_typed(a), to_typed(b)
    return cast_to_type(a if test else b, common_type(a.dtype, b.dtype))


def evaluate_in_python(text, names):
    tree = ast.fix_missing_locations(CommonTypeChoices().visit(ast.parse(text, mode="eval")))
    try:
        result = eval(compile(tree, "", "eval"), {"chosen": select_by_condition}, names)
    except (ArithmeticError, TypeError):
        return None
    if isinstance(result, TypedValue):
        return result
    return None if np.array(result).dtype == object else TypedValue(result, np.array(result).dtype)


# ---- statements ----
class RandomProgram:
    """Returns the lines of a function of integers and floats that returns a tuple of an integer and a
    float."""

    WHOLE = ("i", "j", "k", "n", "m")
    REAL = ("r", "s")

    def __init__(self, random, name):
        self.random, self.loops, self.name = random, [], name
        self.of = RandomExpressions(
            random, [*self.WHOLE, "v[-1]", "v[2]", "u[1, 0]"], self.REAL, "37", SIGNED
        )
        self.lines = [f"def {name}(i, j, k, n, m, r, s):", "    v = cuda.local.array(6, int64)"]
        self.lines += ["    u = cuda.local.array((2, 3), int64)", "    for q in range(6):"]
        self.lines += ["        v[q] = q * i", "        u[q // 3, q % 3] = j - q"]
        self.add_block(1, 8)
        self.add_lines(1, self.return_statement())

    def return_statement(self):
        return "return i, j, k, n, m, sum_of(v), sum_of(u[0]) - sum_of(u[1]), r, s"

    def add_lines(self, depth, *texts):
        self.lines += ["    " * depth + text for text in texts]

    def choose(self, *choices):
        return self.random.choice(choices)

    def small_integer_text(self, depth=1):
        """Returns the text of a small integer."""
        return f"({self.of.integer(depth)}) % {self.choose(97, 1009, -89)}"

    def add_block(self, depth, most):
        for _ in range(self.random.randint(1, most)):
            simple = [
                self.add_assignment,
                self.add_augmented_assignment,
                self.add_element_assignment,
                self.add_multiple_assignment,
                self.add_float_assignment,
            ]
            simple += [self.add_tuple_statements, self.add_call]
            nested = (
                [self.add_branch, self.add_range_loop, self.add_while_loop, self.add_iteration]
                if depth < 4
                else []
            )
            leaves = [self.add_jump] if depth > 1 else []
            self.choose(*simple * 2, *nested * 2, *leaves)(depth)

    def add_assignment(self, depth):
        name = self.choose(*self.WHOLE)
        self.add_lines(depth, f"{name} = {self.small_integer_text(2)}")

    def add_augmented_assignment(self, depth):
        name, value = self.choose(*self.WHOLE), self.small_integer_text()
        op = self.choose("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
        if op in ("//", "%"):
            value = f"abs({value}) + {self.choose(1, 3)}"
        elif op in ("<<", ">>"):
            value = f"{self.choose(*self.WHOLE)} & 3"
        self.add_lines(depth, f"{name} {op}= {value}", f"{name} %= {self.choose(5003, 211)}")

    def add_float_assignment(self, depth):
        name, op = self.choose(*self.REAL), self.choose("=", "+=", "-=", "*=")
        self.add_lines(
            depth,
            f"{name} {op} {self.choose(*self.REAL, *self.WHOLE)} * {self.choose(0.5, 1.25, -2.0)}",
        )
        self.add_lines(depth, f"{name} = min(max({name}, -50.5), 1e3)")

    def add_element_assignment(self, depth):
        i, value = self.choose(*self.WHOLE), self.small_integer_text()
        text = self.choose(
            f"v[{i} % 6] = {value}",
            f"v[{i} % 6 - 6] += {value}",
            f"v[-{self.random.randint(1, 6)}] = {value}",
            f"u[{i} % 2, {i} % 3 - 3] -= {value} % 7",
            f"u[-1][{i} % 3] = {value}",
            f"v[1:{self.random.randint(3, 6)}][{i} % 2] = {value}",
            f"v[::-2][{i} % 3 - 3] = {value}",
            f"u[:, {i} % 3][-1] = {value}",
            f"v[{self.random.randint(0, 3)}:][-1] = v[-6:-2][1]",
            f"u[{i} % 2, 1:] = {value}",
        )
        if self.random.random() < 0.4:
            test = self.choose(
                f"{i} > 0", f"0 < {i} < 7", f"{i} >= 1 and {i} <= 6", f"not {i} <= 0 and {i} < 7"
            )
            self.add_lines(depth, f"{i} %= 7", f"if {test}:", f"    v[{i} - 1] = {value}")
            self.add_lines(depth + 1, f"{i} -= 2", f"v[{i}] = {i} if {i} > -1 else v[{i} - 1]")
        else:
            self.add_lines(depth, text)

    def add_multiple_assignment(self, depth):
        a, b, c = self.random.sample(self.WHOLE, 3)
        self.add_lines(depth, self.choose(
            f"{a}, {b} = {b}, {a}",
            f"{a}, {b}, {c} = {c} // 2, {a}, {b} - 1",
            f"{a}, v[{b} % 6] = v[{b} % 6 - 1], {a}",
            f"({a}, {b}), {c} = ({c} + 1, {a} % 50), {b}",
            f"{a} = {b} = {self.small_integer_text()}",
            f"{a} = ({a}, {b}, {c})[{self.random.randint(-3, 2)}]",
            f"{a}, *rest = {b}, {c}, {a}",
            f"{a} = (3, {b}, {c} + 1)[{a} % 3 - {self.random.randint(0, 3)}]",
            f"{a}, {b} = divmod({c}, {self.choose(3, -7, 10)})",
        ))  # fmt: skip

    def add_tuple_statements(self, depth):
        a, b, c = self.random.sample(self.WHOLE, 3)
        pair, test = f"pair{len(self.lines)}", self.of.truth(0)
        self.add_lines(depth, self.choose(
            f"{pair} = ({a}, {b}) if {test} else ({b}, {a})",
            f"{pair} = ({a}, {c}, {b})[1:]",
            f"{pair} = ({a}, {b}) + ()",
            f"{pair} = {a}, {b}",
        ), self.choose(
            f"{c} = {pair}[0] - {pair}[-1] + len({pair})",
            f"{c}, {a} = {pair}",
            f"{c} = {pair}[{a} % 2]",
            f"{c} = 3 if {pair} == ({a}, {b}) else {pair}[1]",
            f"{c} += {a} in {pair}",
        ))  # fmt: skip

    def add_call(self, depth):
        a, b, c = self.random.sample(self.WHOLE, 3)
        inner = f"inner{len(self.lines)}"
        self.add_lines(depth, *self.choose(
            [f"{c} = mixed({a})"],
            [f"{c} = mixed({b}, c={a})"],
            [f"{c} = mixed(b={self.small_integer_text(0)}, a=3)"],
            [f"if ({inner} := {a} // 2) > 3:", f"    {b} = {inner}"],
            [f"{inner} = lambda x, y: x - y % 7", f"{c} = {inner}({a}, {b})"],
            [f"def {inner}(x):", "    if x > 3:", "        return x - 3", "    return 2 * x",
             f"{c} = {inner}({a}) + {inner}(5)"],
        ))  # fmt: skip

    def add_branch(self, depth):
        self.add_lines(depth, f"if {self.of.truth(1)}:")
        self.add_block(depth + 1, 2)
        for _ in range(self.random.randint(0, 2)):
            self.add_lines(depth, f"elif {self.of.truth(1)}:")
            self.add_block(depth + 1, 2)
        if self.random.random() < 0.5:
            self.add_lines(depth, "else:")
            self.add_block(depth + 1, 2)

    def add_range_loop(self, depth):
        name = self.choose(f"q{depth}", *self.WHOLE)
        start, stop = (
            self.choose("0", "-2", f"{self.choose(*self.WHOLE)} % 4"),
            f"({self.small_integer_text(0)}) % 6",
        )
        step = self.choose(1, 1, 2, 3)
        limits = self.choose(
            f"{start}, {stop}, {step}", f"{stop}, {start}, {-step}", stop, f"{start}, {stop}"
        )
        self.add_loop(depth, f"for {name} in range({limits}):", f"v[{name} % 6] += {name}")

    def add_iteration(self, depth):
        a = self.choose(*self.WHOLE)
        head = self.choose(
            f"for {a} in v:",
            "for q, p in enumerate(v[1:4]):",
            "for q, p in zip(u[0], u[1]):",
            f"for {a} in (3, {a}, 5):",
            f"for {self.choose(*self.REAL)} in (0.5, {a}, -2):",
            "for row in u:",
        )
        used = "row[1]" if "row" in head else "p + q" if "p" in head else a
        self.add_loop(depth, head, f"{self.choose(*self.WHOLE)} = ({used}) % 1009")

    def add_while_loop(self, depth):
        left = f"left{depth}"
        self.add_lines(depth, f"{left} = {self.random.randint(1, 5)}")
        self.add_loop(
            depth,
            f"while {self.choose(f'{left} > 0', f'{left} and {self.of.truth(0)}')}:",
            f"{left} -= 1",
        )

    def add_loop(self, depth, head, first):
        self.add_lines(depth, head)
        self.add_lines(depth + 1, first)
        self.add_block(depth + 1, 2)
        if self.random.random() < 0.3:
            self.add_lines(depth, "else:")
            self.add_block(depth + 1, 1)

    def add_jump(self, depth):
        inside = any(
            line.lstrip().startswith(("for", "while")) for line in self.enclosing_heads(depth)
        )
        word = self.choose("break", "continue") if inside else self.return_statement()
        self.add_lines(depth, f"if {self.of.truth(0)}:", f"    {word}")

    def enclosing_heads(self, depth):
        """Yields the heads of the blocks that contain a line at this depth."""
        for line in reversed(self.lines[1:]):
            here = (len(line) - len(line.lstrip())) // 4
            if here < depth:
                depth = here
                yield line if not line.lstrip().startswith("else") else ""


SUM = [
    "def sum_of(v):",
    "    total = 0",
    "    for x in v:",
    "        total += x",
    "    return total",
    "def mixed(a, b=7, c=2):",
    "    if a > b:",
    "        return a - c",
    "    return b + c",
]
PROGRAMS = 8


class LocalVariable:
    """cuda.local, for Python."""

    @staticmethod
    def array(shape, dtype):
        return np.full(shape, TypedValue(0, "i8"), object)


class HostResults:
    local = LocalVariable


@given(random=st.randoms(use_true_random=False), seed=st.integers(0, 1000))
@draw_examples(2)
def test_random_statements_match_python(tmp_path_factory, random, seed):
    programs = [RandomProgram(random, f"f{k}") for k in range(PROGRAMS)]
    text = [*SUM, *(line for p in programs for line in p.lines)]
    lines = [*text, "@cuda.jit", "def kernel(whole, real, out):", "    t = cuda.grid(1)"]
    lines += ["    i, j, k, n, m = whole[t]", "    r, s = real[t]"]
    for k in range(PROGRAMS):
        names = ", ".join(f"out[t, {k}, {c}]" for c in range(9))
        lines.append(f"    {names} = f{k}(i, j, k, n, m, r, s)")
    names = {
        **NAMES,
        "cuda": HostResults,
        "divmod": lambda a, b: (a // b, a % b),
        "range": typed_range,
    }
    exec("\n".join(text), names)
    rng = np.random.default_rng(seed)
    whole, real = rng.integers(-30, 60, (ROWS, 5)), rng.normal(size=(ROWS, 2))
    kernel = compile_program(tmp_path_factory.mktemp("drawn"), lines)
    out = np.zeros((ROWS, PROGRAMS, 9))
    kernel[1, ROWS](whole, real, out)
    for t, (program, ours) in itertools.product(
        range(ROWS), zip(programs, range(PROGRAMS), strict=True)
    ):
        given_ = [TypedValue(int(v), "i8") for v in whole[t]] + [
            TypedValue(v, "f8") for v in real[t]
        ]
        try:
            expected = [to_typed(v).value for v in names[program.name](*given_)]
        except (ArithmeticError, RecursionError):
            continue
        shown = "\n".join(program.lines)
        assert np.allclose(out[t, ours], expected, rtol=1e-12, atol=1e-9), (
            f"{shown}\n{out[t, ours]} instead of {expected} with {given_}"
        )


def typed_range(*limits):
    return (TypedValue(i, "i8") for i in range(*map(int, limits)))
