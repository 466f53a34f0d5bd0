"""Random expressions and statements: a kernel computes the same as Python, as long as no value
exceeds 64 bits."""

import importlib.util
import random

import numpy as np
import pytest

# Ignores warnings, because the random programs contain i ^ 2 and similar mistakes.
pytestmark = pytest.mark.filterwarnings("ignore::numbalite.errors.KernelWarning")

COUNT = 60
PROGRAMS = 15
INTEGERS = ["i", "j", "n", "t", "c"]  # int64, int64, int32, a thread index, int16
REALS = ["x", "y", "i", "n", "t"]


def draw_integer_expression(draw, depth):
    """Returns an expression of integers, small enough at this depth that no part of it leaves 64
    bits."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(
            [*INTEGERS, str(draw.randint(-9, 40)), str(draw.choice([255, 2**31 - 1]))]
        )
    a, b = draw_integer_expression(draw, depth - 1), draw_integer_expression(draw, depth - 1)
    divisor = draw.choice([f"(abs({b}) % 13 + 1)", f"(-(abs({b}) % 13) - 1)"])
    return draw.choice(
        [
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} % 1000 * ({b} % 1000))",
            f"({a} % 99 * ({b} // {divisor}))",
            f"({a} // {divisor})",
            f"({a} % {divisor})",
            f"({a} {draw.choice('&|^')} {b})",
            f"({a} >> (abs({b}) % 20))",
            f"({a} % 1000 << (abs({b}) % 20))",
            f"{draw.choice(['min', 'max'])}({a}, {b})",
            f"({draw.choice('-~')}{a})",
            f"({a} if {a} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {b} else {b})",
            f"int(({a} < {b} and not {b} == {a}) or {a} > 3)",
        ]
    )


def draw_real_expression(draw, depth):
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([*REALS, str(round(draw.uniform(-5, 5), 2))])
    a, b = draw_real_expression(draw, depth - 1), draw_real_expression(draw, depth - 1)
    return draw.choice(
        [
            f"({a} {draw.choice('+-*')} {b})",
            f"({a} / (abs({b}) + 1.5))",
            f"({a} {draw.choice(['//', '%'])} (abs({b}) + 1.5))",
            f"abs({a})",
            f"{draw.choice(['min', 'max'])}({a}, {b} + 0.0)",
            f"({a} if {a} < {b} else {b} * 1.0)",
        ]
    )


def draw_statements(draw, depth, count, inside=0):
    """Returns lines that change the variables i, j, n and the array v; all values stay small."""
    lines = []
    for _ in range(draw.randint(1, count)):
        name, value = draw.choice("ijn"), draw_integer_expression(draw, 2)
        place = f"v[({draw_integer_expression(draw, 1)}) % 8]"
        kind = draw.choice(["=", "+=", "store", "swap", *["if", "for", "while"] * (depth > 0)])
        inner = draw_statements(draw, depth - 1, 3, inside + (kind != "if")) if depth > 0 else []
        if kind in ("=", "+="):
            lines.append(
                f"{name} {kind} ({value}) % 1000 - t" if kind == "=" else f"{name} += ({value}) % 9"
            )
        elif kind == "store":
            lines.append(f"{place} {draw.choice(['=', '+=', '^='])} ({value}) % 100")
        elif kind == "swap":
            lines.append(f"i, j = j % 50, {place} + i % 7")
        elif kind == "if":
            lines += [f"if {draw_condition(draw)}:", *indented_lines(inner)]
            if draw.random() < 0.5:
                lines += [
                    f"elif {draw_condition(draw)}:",
                    f"    {name} -= 2",
                    "else:",
                    f"    {place} = i % 9",
                ]
            if inside and draw.random() < 0.5:
                lines += [
                    f"if {draw_condition(draw)}:",
                    f"    {draw.choice(['break', 'continue'])}",
                ]
        else:
            if kind == "while":
                left = f"w{len(lines)}{depth}"
                lines += [
                    f"{left} = n % 4",
                    f"while {left} > 0 and ({draw_condition(draw)}):",
                    f"    {left} -= 1",
                ]
            else:
                lines.append(draw_loop(draw))
            lines += indented_lines(inner)
            if draw.random() < 0.3:
                lines += ["else:", f"    {name} += 3"]
    return lines


def draw_condition(draw):
    a, b = draw_integer_expression(draw, 1), draw_integer_expression(draw, 1)
    return draw.choice(
        [
            f"{a} < {b}",
            f"0 <= {a} % 30 < 9 and not {b} == 3",
            f"{a} % 4 in (0, 3) or {b} > 5",
            f"{a} and {b}",
        ]
    )


def draw_loop(draw):
    """Returns the head of a loop, with variables that its body may change."""
    n = draw.choice(["n % 5", "v[1] % 5", "3"])
    over = draw.choice(
        [
            f"range({n})",
            f"range(j % 4, {n} + 4, {draw.choice(['2', 'n % 2 + 1'])})",
            f"range({n}, -2, -1)",
        ]
    )
    return draw.choice(
        [
            f"for i in {over}:",
            f"for j, i in enumerate({over}, n % 3):",
            f"for i, j in zip({over}, v[n % 2 :]):",
            f"for i, j in zip((n, 4, v[2]), {over}):",
            "for i in v:",
        ]
    )


def indented_lines(lines):
    return [f"    {line}" for line in lines or ["pass"]]


def import_text(tmp_path, text):
    path = tmp_path / "drawn.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("drawn", path)
    drawn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawn)
    return drawn


@pytest.mark.parametrize("seed", [1, 2])
def test_random_statements_match_python(tmp_path, seed):
    draw = random.Random(seed)
    lines = ["from numbalite import cuda"]
    for k in range(PROGRAMS):
        body = [*draw_statements(draw, 3, 6), "v[0] += i % 1000 + j % 1000 + n % 1000"]
        lines += ["@cuda.jit(device=True)", f"def p{k}(i, j, n, t, c, v):", *indented_lines(body)]
    calls = [f"p{k}(i, j, n, 1, 2, v[{k}])" for k in range(PROGRAMS)]
    lines += ["@cuda.jit", "def kernel(i, j, n, v):", *indented_lines(calls)]
    drawn = import_text(tmp_path, "\n".join(lines) + "\n")
    for _ in range(4):
        i, j, n = (draw.randint(-40, 40) for _ in range(3))
        v = np.array([[draw.randint(-20, 20) for _ in range(8)] for _ in range(PROGRAMS)])
        wanted = v.copy()
        drawn.kernel[1, 1](i, j, n, v)
        for k, row in enumerate(wanted):
            getattr(drawn, f"p{k}").py_func(i, j, n, 1, 2, row)
            assert row.tolist() == v[k].tolist(), (seed, k, i, j, n)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions_match_python(tmp_path, seed):
    draw = random.Random(seed)
    whole = [draw_integer_expression(draw, 3) for _ in range(COUNT)]
    real = [draw_real_expression(draw, 3) for _ in range(COUNT)]
    lines = ["    t = cuda.threadIdx.x"]
    lines += [f"    ints[t, {k}] = {text}" for k, text in enumerate(whole)]
    lines += [f"    floats[t, {k}] = {text}" for k, text in enumerate(real)]
    head = "from numbalite import cuda\n\n@cuda.jit\ndef kernel(i, j, n, c, x, y, ints, floats):\n"
    drawn = import_text(tmp_path, head + "\n".join(lines) + "\n")
    for _ in range(4):
        i, j, n, c = (draw.randint(-m, m) for m in (100, 60, 2000, 300))
        x, y = draw.uniform(-9, 9), draw.uniform(-3, 3)
        ints, floats = np.zeros((3, COUNT), np.int64), np.zeros((3, COUNT))
        drawn.kernel[1, 3](i, j, np.int32(n), np.int16(c), x, y, ints, floats)
        for t in range(3):
            names = {"i": i, "j": j, "n": n, "c": c, "t": t, "x": x, "y": y}
            for text, found in zip(whole, ints[t], strict=True):
                assert found == eval(text, dict(names)), (text, names)
            for text, found in zip(real, floats[t], strict=True):
                assert np.isclose(found, eval(text, dict(names)), rtol=1e-12, atol=1e-9), (
                    text,
                    names,
                )
