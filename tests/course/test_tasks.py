"""The tasks inside of lessons: `check` reports whether a few lines have the expected result, and never raises."""

import numpy as np
import pytest

from numbalite import cuda, vectorize
from numbalite.course import check, timeouts

NUMBERS = np.arange(5, dtype=np.float32)


@cuda.jit
def empty_answer(x):
    "// your answer"


@pytest.mark.parametrize(
    ("answer", "run", "said"),
    [
        (..., lambda: NUMBERS, "There is no answer yet"),
        (empty_answer, lambda: NUMBERS, "There is no answer yet"),
        ((len, empty_answer), lambda: NUMBERS, "There is no answer yet"),
        (len, lambda: None, "There is no answer yet"),
        (len, lambda: NUMBERS[1:], r"has the shape \(4,\); it should be \(5,\)"),
        (len, lambda: NUMBERS + 1, "(?s)5 of 5 elements are wrong.*got      = .1, 2, 3, 4, 5."),
        (len, lambda: 1 / 0, "(?s)ZeroDivisionError.*test_tasks.py, line"),
    ],
)
def test_wrong_answers_raise_with_the_reason(capsys, answer, run, said):
    verdict = check("numbers", answer, run, NUMBERS)
    assert not verdict and verdict.name == "numbers"
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(str(verdict))
    assert capsys.readouterr().out == f"{verdict}\n"


def test_right_answers_pass():
    @vectorize(target="cuda")
    def double(x):
        "x + x"

    x = cuda.to_device(NUMBERS)
    assert check("double", double, lambda: double(x), 2 * NUMBERS)
    assert check("double", double, lambda: double(NUMBERS), 2 * NUMBERS)
    assert check("number", len, lambda: 3, 3) and check("truth", len, lambda: True, True)


def test_endless_answers_fail(monkeypatch):
    for limit in ("CALL_LIMIT", "LIMIT"):  # on the simulator; on a GPU
        monkeypatch.setattr(timeouts, limit, 0.3)

    def loop_forever():
        while True:
            pass

    assert "It never ends" in check("endless", loop_forever, loop_forever, 1).reason


@pytest.mark.sim
def test_answers_right_by_chance_fail():
    @cuda.jit
    def count_positive(x, out):
        "if (x[threadIdx.x] > 0) out[0] += 1;"

    def positive_count(out):
        count_positive[1, 5](NUMBERS, out)
        return out[0]

    assert check("count", count_positive, lambda: positive_count(np.zeros(1, np.int32)), 4)
    verdict = check(
        "count", count_positive, lambda: positive_count(np.zeros(1, np.int32)), 4, checks=True
    )
    assert "two threads access out[0]" in verdict.reason and "atomicAdd" in verdict.case
