"""Frequent mistakes in Python bodies: each causes a warning at its line, and no corrected version causes a
warning."""

import warnings

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelWarning, TranslationError


@pytest.fixture
def warnings_of_body(tmp_path):
    """Returns a function warnings_of_body(body), which returns the KernelWarnings about a kernel of this
    body, as (line of the body, text)."""
    count = 0

    def launch_body(body, dtype=np.float32):
        nonlocal count
        count += 1
        file = tmp_path / f"k{count}.py"
        lines = [
            "from numbalite import cuda",
            "@cuda.jit",
            "def k(x, out, n):",
            "    i = cuda.grid(1)",
        ]
        text = "\n".join([*lines, *(f"    {row}" for row in body.split("\n"))]) + "\n"
        file.write_text(text)
        names = {}
        exec(compile(text, str(file), "exec"), names)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            names["k"][1, 4](np.ones(4, dtype), np.zeros(4, dtype), 4)
        found = [one for one in found if one.category is KernelWarning]
        assert all(one.filename == str(file) for one in found)
        rows = text.split("\n")
        assert all(rows[one.lineno - 1].strip() in str(one.message) for one in found)
        return [(one.lineno - len(lines), one.message.text) for one in found]

    return launch_body


@pytest.mark.parametrize(
    ("wrong", "line", "message", "right"),
    [
        ("out[i] == x[i]", 1, "write out[i] = x[i]", "out[i] = x[i] == 1"),
        ("out[i] + 1", 1, "write out[i] += 1", "out[i] += 1"),
        ("if i == 3 or 4:\n    out[i] = 1", 1, "write i == 4", "out[i] = (n or 7) + (i == 3 or i == 4)"),
        ("out[i] = i ^ 2", 1, "write i ** 2", "out[i] = i ^ 0b10"),
        ("out[i] = (i + 1) ^ 3", 1, "write (i + 1) ** 3", "out[i] = (i ^ 1) + (i ^ 2) + (i ^ 4)"),
        (
            "if x[i] > 2:\n    s = 1\nout[i] = s", 3, "s has no value where the if of line 5",
            "if x[i] > 2:\n    s = 1\nelse:\n    s = 2\nout[i] = s",
        ),
        (
            "if x[i] > 2:\n    s = 1\nelif x[i] < 0:\n    s = 2\nout[i] = s", 5, "set it before the if",
            "if x[i] > 2:\n    s = 1\nif x[i] > 2:\n    out[i] = s",
        ),
        (
            "if i < n:\n    if x[i] > 2:\n        s = 1\nelse:\n    s = 3\nout[i] = s", 6, "s has no value",
            "if x[i] > 2:\n    s = 1\nelse:\n    return\nout[i] = s",
        ),
        (
            "if i > 1:\n    s = 1\ns += 2\nout[i] = s", 3, "s has no value",
            "if x[i] > 2:\n    s = 1\nif x[i] <= 2:\n    return\nout[i] = s",
        ),
        (
            "if i > 1:\n    s = 1\nout[i] = s if s > 0 else n", 3, "s has no value",
            "for k in range(n):\n    s = x[k]\nout[i] = s",
        ),
    ],
)  # fmt: skip
def test_mistakes_warn_and_correct_variants_do_not(warnings_of_body, wrong, line, message, right):
    ((at, text),) = warnings_of_body(wrong)
    assert at == line and message in text
    assert warnings_of_body(right) == []


def test_unsigned_difference_compared_with_0_warns(warnings_of_body):
    body = "if x[i] - x[0] >= 0:\n    out[i] = 1"
    ((line, text),) = warnings_of_body(body, np.uint32)
    assert line == 1 and "never below 0" in text and "int64(a)" in text
    assert warnings_of_body(body, np.int32) == warnings_of_body(body, np.float32) == []


def test_a_wrong_number_of_indices_is_an_error(warnings_of_body):
    with pytest.raises(TranslationError, match="2 indices for an array of 1 dimension"):
        warnings_of_body("out[i, 0] = x[i, 0]")


def test_cpp_only_mistakes_do_not_warn_in_python(warnings_of_body):
    assert warnings_of_body("out[i] = 1 / 2 * x[-1] + (0 < i < 3) + (not i == 3)") == []


def test_mistake_in_a_device_function_warns_once(tmp_path):
    @cuda.jit(device=True)
    def twice(v):
        v == 2  # noqa: B015
        return 2 * v

    @cuda.jit
    def call_twice(x, out):
        out[0] = twice(x[0]) + twice(x[1])

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call_twice[1, 1](np.ones(2), np.zeros(2))
    (one,) = [one for one in found if one.category is KernelWarning]
    assert "v == 2" in str(one.message) and one.filename == __file__


def test_called_cpp_functions_are_checked_for_mistakes():
    @cuda.jit(device=True)
    def half(v):
        "return 1/2 * v;"

    @cuda.jit
    def call_half(x, out):
        out[0] = half(x[0])

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call_half[1, 1](np.ones(2), np.zeros(2))
    (one,) = [one for one in found if one.category is KernelWarning]
    assert "write 1.0f/2" in str(one.message)
