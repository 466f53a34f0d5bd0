"""Checks the small tasks between the paragraphs of a lesson: the results of a learner's lines.

`check` tests a single case, whose data the lesson itself creates; `assess` judges a whole exercise.
"""

from __future__ import annotations

import numpy as np

from numbalite.course import timeouts
from numbalite.judge.compare import array_text, element_text, find_mismatch
from numbalite.judge.verdict import Failed
from numbalite.types.tolerance import tolerance

from .mistakes import UNFILLED, exception_message, is_unfilled
from .verdict import Verdict


def check(name, answer, run, expected, *, checks=False, terms=1) -> Verdict:
    """Compares the result of ``run()`` with ``expected``.

    Shows the verdict and returns it. Exceptions in the answer are part of the
    verdict and not raised.

    Parameters
    ----------
    name : str
        The task's name.
    answer : object or tuple
        The learner's answer, an object or a tuple of objects; ``...``, None
        and kernels without a body do not count as an answer.
    run : function
        Returns the result: numbers, NumPy or device arrays.
    expected : number or array
        The correct result; floats may differ by the tolerance of their
        dtype.
    checks : bool
        True: runs under ``cuda.checks``, where kernels are simulated.
    terms : int
        The number of terms of sums in the result, which widens the tolerance.

    Returns
    -------
    Verdict
        The verdict.

    Examples
    --------
    >>> from numbalite.course import check
    >>> verdict = check("double", ..., lambda: 2, 4)
    double: not passed
      There is no answer yet: fill in the cell.
    """
    from . import judging

    verdict = _answer_verdict(name, answer, run, expected, checks, terms)
    judging.verdicts.append(verdict)
    return verdict.show()


def _answer_verdict(name, answer, run, expected, checks, terms):
    try:
        answers = answer if isinstance(answer, tuple) else (answer,)
        if any(map(is_unfilled, answers)):
            raise Failed(UNFILLED)
        _compare_results(_run_as_numpy(run, checks), expected, terms)
    except Exception as error:
        failed = exception_message(error)
        return Verdict(name, False, failed.reason, case=failed.case)
    return Verdict(name, True, "Right.")


def _run_as_numpy(run, checks):
    """Returns the result of run() as a NumPy value, with a time limit."""
    from numbalite import cuda
    from numbalite.course.device import simulated

    def run_and_wait():
        result = run()
        cuda.synchronize()
        if cuda.is_cuda_array(result):
            return cuda.as_cuda_array(result).copy_to_host()
        return result

    if not simulated():
        return timeouts.run_in_thread(run_and_wait)
    with cuda.checks(limit=timeouts.LIMIT) if checks else timeouts.stop_kernels_after_limit(True):
        return timeouts.run_in_this_thread(run_and_wait)


def _compare_results(got, expected, terms):
    if got is None or got is Ellipsis:
        raise Failed(UNFILLED)
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        raise Failed(f"The result has the shape {got.shape}; it should be {expected.shape}.")
    allowed = tolerance(got.dtype if got.dtype.kind in "fc" else expected.dtype, terms)
    found = find_mismatch(got, expected, allowed)
    if found is None:
        return
    if found.total <= 8 and got.ndim < 2:
        case = f"expected = {array_text(expected)}\ngot      = {array_text(got)}"
    else:
        place = ", ".join(map(str, found.place))
        case = f"[{place}], expected = {element_text(found.expected)}\n[{place}], got      = {element_text(found.got)}"
    many = (
        "1 element is" if found.wrong == 1 else f"{found.wrong:,} of {found.total:,} elements are"
    )
    raise Failed("The result is wrong." if found.total == 1 else f"{many} wrong.", case)
