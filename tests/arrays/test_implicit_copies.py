"""If a library copies a device array to the host, the warning names the line of the user's
program."""

import warnings

import numpy as np
import pytest

from numbalite import config, cuda
from numbalite.errors import PerformanceWarning

X = np.arange(12.0)


@pytest.fixture(scope="module")
def device_x():
    return cuda.to_device(X)


EXPLICIT = {
    "asarray": lambda d: np.asarray(d),
    "array": lambda d: np.array(d, dtype="f4"),
    "nested": lambda d: np.array([np.asarray(
        d)[0], float(np.array(d[3]))]),
    "list": lambda d: np.asarray([d, d]),
    "copy_to_host": lambda d: d.copy_to_host(),
    "assignment": lambda d: np.zeros(12).__setitem__(slice(None), d),
    "testing": lambda d: np.testing.assert_array_equal(d, X),
    "elements": lambda d: [float(x) for x in d[:2]] + [d[0].item(), int(d[1])],
    "text": lambda d: f"{d} {d!r}",
    "device functions": lambda d: (np.sort(d) + X, np.isin(d, [1, 2]), np.maximum.reduce(d)),
}  # fmt: skip
IMPLICIT = {
    "dot": lambda d: X.dot(d),
    "permutation": lambda d: np.random.default_rng(1).permutation(d),
    "array of numpy.ma": lambda d: np.ma.array(d),
    "numpy": lambda d: np.vectorize(lambda x: x)(d),
}


@pytest.mark.parametrize("call", EXPLICIT.values(), ids=EXPLICIT)
def test_explicit_conversions_do_not_warn(device_x, call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(device_x)


def test_assignment_to_a_host_array_does_not_warn(device_x):
    host = np.zeros(12)
    host[:] = device_x
    host[2:] = device_x[2:]
    np.testing.assert_array_equal(host, X)


@pytest.mark.parametrize("call", IMPLICIT.values(), ids=IMPLICIT)
def test_conversions_by_a_library_warn_once(device_x, call, monkeypatch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            call(device_x)
    (warning,) = caught
    assert warning.category is PerformanceWarning and warning.filename == __file__
    assert warning.lineno == call.__code__.co_firstlineno
    assert "copy_to_host()" in str(warning.message)
    monkeypatch.setattr(config, "IMPLICIT_COPY", "error")
    with pytest.raises(TypeError, match="converts a device array to a NumPy array"):
        call(device_x)
    monkeypatch.setattr(config, "IMPLICIT_COPY", "allow")
    call(device_x)
    monkeypatch.setattr(config, "IMPLICIT_COPY", "warn")
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", False)
    call(device_x)


def test_warning_names_the_converting_function(device_x):
    with pytest.warns(PerformanceWarning, match=r"dot\(\) converts"):
        X.dot(device_x)
    with pytest.warns(PerformanceWarning, match=r"of numpy\.ma\S* converts"):
        np.ma.array(device_x)


def test_scipy_functions_warn_about_the_copy(device_x):
    ndimage = pytest.importorskip("scipy.ndimage")
    with pytest.warns(PerformanceWarning, match=r"gaussian_filter\(\) of scipy\.ndimage"):
        ndimage.gaussian_filter(device_x, 1)


def test_numpy_as_strided_raises(device_x):
    """Writes to the result would change only the copy."""
    with pytest.raises(TypeError, match="sliding_window_view"):
        np.lib.stride_tricks.as_strided(device_x, (3,), (8,))


def test_environment_variable_makes_copies_errors(run_python):
    code = "import numpy as np\nfrom numbalite import cuda\nnp.ma.array(cuda.to_device(np.ones(3)))"
    result = run_python(code, NUMBALITE_IMPLICIT_COPY="error", check=False)
    assert "TypeError" in result.stderr and "numpy.ma" in result.stderr


LISTS = {
    "piecewise": lambda at, x, s: np.piecewise(x, [x < 2, x >= 7], [-1, 1, 0]),
    "piecewise of a number": lambda at, x, s: np.piecewise(s, [s < 2, s > 5], [-1, 1, 0]),
    "gradient": lambda at, x, s: np.gradient(x[:3], [s, s * 2, s * 3]),
    "isin": lambda at, x, s: np.isin([x[0], x[1]], x[1:]),
    "assignment": lambda at, x, s: x.__setitem__(slice(4), [s, 1, s, s]),
    "assignment of rows": lambda at, x, s: x.reshape(3, 4).__setitem__(at, [x[:4] * 1, x[4:8] * 1]),
    "put": lambda at, x, s: np.put(x, [1, 2], [s, s]),
    "putmask": lambda at, x, s: np.putmask(x, x > 3, [s, 5]),
    "place": lambda at, x, s: np.place(x, x > 3, [s, 5]),
    "fill_diagonal": lambda at, x, s: np.fill_diagonal(x.reshape(3, 4), [s, 1, s]),
}


@pytest.mark.parametrize("call", LISTS.values(), ids=LISTS)
def test_lists_with_device_arrays_are_not_copied_to_the_host(call):
    at, host = slice(1, None), X.copy()
    device, number = cuda.to_device(X), np.array(3.0)
    expected = call(at, host, number)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = call(at, device, cuda.to_device(number))
        except TypeError as refused:
            assert "use np.stack" in str(refused)
            return
    if expected is not None:
        np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(device, host)


def test_lists_that_contain_themselves_are_refused():
    x = cuda.to_device(X)
    lists = [], [], [x]
    lists[0].append(lists[0])
    lists[1].extend([lists[1], lists[1]])
    lists[2].append(lists[2])
    for one in lists:
        for call in (
            lambda: x.__setitem__(slice(None), one),  # noqa: B023
            lambda: np.put(x, [0], one),  # noqa: B023
            lambda: cuda.linspace(one, 1, 3),  # noqa: B023
        ):
            with pytest.raises(
                ValueError,
                match="nested more than 64 deep|setting an array element with a sequence",
            ):
                call()
