"""Tests the presentation of a verdict: as text, as HTML, in a notebook; and the comparisons on
which it depends."""

import numpy as np
import pytest

from numbalite.course import Verdict, assess, tolerance
from numbalite.course.verdict import duration_text
from numbalite.course.work import ComputedOnHost, DriverWork, HostArray, guard_array, plain_array
from numbalite.judge.compare import array_text, find_mismatch
from numbalite.types.tolerance import Tolerance


def test_assess_shows_the_verdict(capsys):
    verdict = assess("bank_conflicts", lambda stride: 1)
    assert isinstance(verdict, Verdict) and not verdict
    out = capsys.readouterr().out
    assert out == str(verdict) + "\n"
    assert out.startswith(
        "bank_conflicts: not passed\n  With a stride of 2, the result is wrong.\n"
    )
    assert "stride               = 2\n" in out
    assert "the result, expected = 2\n" in out and "the result, got      = 1\n" in out
    assert repr(verdict) == "<bank_conflicts: not passed>"


def test_html_is_escaped():
    verdict = Verdict("x", False, "a < b & c", case="array<float>", notes=["<b>"])
    text = verdict._repr_html_()
    assert (
        "a &lt; b &amp; c" in text and "array&lt;float&gt;" in text and "<li>&lt;b&gt;</li>" in text
    )


def test_notebook_shows_the_verdict_once(run_python):
    """If the verdict is the cell's last expression, it is not displayed a second time."""
    pytest.importorskip("IPython")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.kernel = object()\n"
        "shown = []\n"
        "import IPython.display\n"
        "IPython.display.display = lambda data, raw: shown.append(data)\n"
        "shell.run_cell('from numbalite.course import assess')\n"
        "shell.run_cell('v = assess(\"bank_conflicts\", ...); v')\n"
        "first = len(shown)\n"
        "shell.run_cell('v')\n"
        "print('counts', first, len(shown), sorted(shown[0]))\n"
    )
    output = run_python(code, NUMBALITE_DRIVER="sim").stdout
    assert "counts 1 2 ['text/html', 'text/plain']" in output


def test_tolerance_depends_on_dtype_and_terms():
    assert tolerance(np.int32) == (0, 0, 0)
    assert tolerance(np.float64).rtol < 1e-14 < tolerance(np.float32).rtol < 1e-5
    assert tolerance(np.float16).rtol > 1e-3
    assert tolerance("f4", terms=100).rtol == pytest.approx(10 * tolerance("f4").rtol)
    assert tolerance(np.complex64) == tolerance(np.float32)


def test_mismatch_reports_the_first_wrong_element():
    want = np.arange(12, dtype=np.float32).reshape(3, 4)
    got = want.copy()
    assert find_mismatch(got, want) is None
    got[1, 2] += 1
    got[2, 0] = np.nan
    found = find_mismatch(got, want)
    assert found.place == (1, 2) and found.wrong == 2 and found.total == 12
    assert (found.got, found.expected) == (7, 6)


def test_nan_and_infinity_compare_equal_to_themselves():
    odd = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    assert find_mismatch(odd, odd) is None
    assert find_mismatch(odd, np.zeros(4, np.float32)).wrong == 4
    assert find_mismatch(np.zeros(4, np.float32), odd).wrong == 4
    assert find_mismatch(odd[::-1], odd).wrong == 4


def test_integers_are_compared_exactly():
    large = np.array([2**62 + 1, 2**62])
    assert find_mismatch(large, large + np.array([0, 1])).place == (1,)


def test_absolute_tolerance_bounds_the_difference():
    assert find_mismatch(np.float32([1e-7]), np.float32([0.0]), Tolerance(0, 0, 1e-6)) is None
    assert find_mismatch(np.float32([1e-5]), np.float32([0.0]), Tolerance(0, 0, 1e-6))


def test_launches_and_copies_are_formatted():
    assert str(DriverWork(1, 0, 0)) == "1 launch and no copies"
    copying = DriverWork(3, 1_600_000, 999)
    assert str(copying) == "3 launches, copies 1.6 MB to the device and 999 bytes back"


def test_guarded_host_arrays_raise_in_numpy_functions():
    x = guard_array(np.arange(3.0))
    assert isinstance(x, HostArray) and type(plain_array(x)) is np.ndarray
    for work in (lambda: x + 1, lambda: np.exp(x), lambda: x.sum(), lambda: np.add(1, x)):
        with pytest.raises(ComputedOnHost):
            work()
    assert np.empty_like(x).shape == (3,) and len(x) == x.size == 3


def test_durations_and_rows_are_formatted():
    assert (
        duration_text(2.5) == "2.5 s"
        and duration_text(0.25) == "250 ms"
        and duration_text(41.34e-6) == "41.3 µs"
    )
    assert array_text(np.array([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"
    assert array_text(np.float32([0.1, 1e10])) == "[0.1, 1e+10]"
