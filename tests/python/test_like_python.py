"""Random expressions: a kernel computes what Python does, as long as nothing leaves 64 bits."""

import importlib.util
import random

import numpy as np
import pytest

COUNT = 60
INTEGERS = ["i", "j", "n", "t", "c"]  # int64, int64, int32, a thread's place, int16
REALS = ["x", "y", "i", "n", "t"]


def integers(draw, depth):
    """An expression of integers, small enough at this depth that no part of it leaves 64 bits."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(
            [*INTEGERS, str(draw.randint(-9, 40)), str(draw.choice([255, 2**31 - 1]))]
        )
    a, b = integers(draw, depth - 1), integers(draw, depth - 1)
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


def reals(draw, depth):
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([*REALS, str(round(draw.uniform(-5, 5), 2))])
    a, b = reals(draw, depth - 1), reals(draw, depth - 1)
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


@pytest.mark.parametrize("seed", [1, 2])
def test_expressions(tmp_path, seed):
    draw = random.Random(seed)
    whole = [integers(draw, 3) for _ in range(COUNT)]
    real = [reals(draw, 3) for _ in range(COUNT)]
    lines = ["    t = cuda.threadIdx.x"]
    lines += [f"    ints[t, {k}] = {text}" for k, text in enumerate(whole)]
    lines += [f"    floats[t, {k}] = {text}" for k, text in enumerate(real)]
    head = "from numbalite import cuda\n\n@cuda.jit\ndef kernel(i, j, n, c, x, y, ints, floats):\n"
    path = tmp_path / "drawn.py"
    path.write_text(head + "\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("drawn", path)
    drawn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawn)
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
